use gpu_timeline::lower_median;

use crate::facts::{Facts, Program, Serving};
use crate::finding::{Bucket, Confidence};
use crate::late_launches::Blame;
use crate::rule::{Claim, Inspection, Part, Rule, Slot, probable};

/// Decode steps of an inference engine that wait for launches.
pub(super) struct DecodeLaunch;

/// Decode steps with so few requests that the weights are read for little work.
pub(super) struct BatchSmall;

/// Requests whose prompts wait for others.
pub(super) struct PrefillStarved;

/// Requests of a decode step below which reading the weights takes most of its time on any of today's devices: their
/// ridges lie above 100 operations a byte, and a weight is used twice for each request.
const SMALL_BATCH: u64 = 32;
/// Share of decode steps with a small batch that is worth saying.
const MOSTLY: f64 = 0.5;

fn serving(facts: &Facts) -> Option<&Serving> {
    facts.serving.as_ref().filter(|serving| !serving.steps.is_empty())
}

/// The step that a launch lies in.
fn step_at(serving: &Serving, launch: i64) -> Option<usize> {
    let before = serving.steps.partition_point(|step| step.time.start <= launch);
    before.checked_sub(1).filter(|&step| launch < serving.steps[step].time.end)
}

/// By step: when the host launched the first work of it.
fn first_launches(facts: &Facts, serving: &Serving) -> Vec<Option<i64>> {
    let mut first: Vec<Option<i64>> = vec![None; serving.steps.len()];
    for launch in facts.works.iter().filter_map(|work| work.event.launch) {
        if let Some(step) = step_at(serving, launch) {
            first[step] = Some(first[step].map_or(launch, |first| first.min(launch)));
        }
    }
    first
}

impl Rule for DecodeLaunch {
    fn id(&self) -> &'static str {
        "DECODE-LAUNCH"
    }

    fn what(&self) -> &'static str {
        "decode steps wait for launches"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "replay decode steps from CUDA or HIP graphs (enforce_eager off, capture sizes that cover the batches), schedule the next step \
         while this one runs (asynchronous scheduling)"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let Some(serving) = serving(facts) else { return Vec::new() };
        let first = first_launches(facts, serving);
        let mut parts = Vec::new();
        for late in look.late_launches().iter().filter(|late| late.blame != Blame::Busy) {
            let Some(launch) = look.work(facts.idle[late.idle as usize].event).event.launch else { continue };
            let Some(step) = step_at(serving, launch) else { continue };
            let of_step = &serving.steps[step];
            // Before the first launch the engine prepares the step, whatever it launches then.
            if of_step.decodes && !of_step.graph && first[step] != Some(launch) {
                parts.push(Part { slot: Slot::Idle(late.idle), mid: late.time });
            }
        }
        let decodes = serving.steps.iter().filter(|step| step.decodes);
        let (all, graphs) = (decodes.clone().count(), decodes.filter(|step| step.graph).count());
        if parts.is_empty() {
            return Vec::new();
        }
        let claim = Claim::new(format!("{} of {all} decode steps", all - graphs), parts)
            .with_range(0.75, 1.0)
            .with_evidence(format!("{graphs} of {all} decode steps replay a graph"))
            .with_row(facts.sheets.idle_causes, "host_wait");
        vec![claim]
    }
}

impl Rule for BatchSmall {
    fn id(&self) -> &'static str {
        "BATCH-SMALL"
    }

    fn what(&self) -> &'static str {
        "decode steps of few requests: the time of reading the weights is shared by few"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "serve more requests at once (max_num_seqs, memory of the key-value cache), or use the time with speculative decoding"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let Some(serving) = serving(look.facts) else { return Vec::new() };
        let requests: Vec<u64> =
            serving.steps.iter().filter(|step| step.decodes).filter_map(|step| step.requests).collect();
        let small = requests.iter().filter(|&&count| count < SMALL_BATCH).count();
        let Some(middle) = lower_median(requests.iter().copied()) else { return Vec::new() };
        if (small as f64) < MOSTLY * requests.len() as f64 {
            return Vec::new();
        }
        let text = format!(
            "{small} of {} decode steps have fewer than {SMALL_BATCH} requests, {middle} in the middle one; throughput grows almost with \
             the batch until then",
            requests.len(),
        );
        vec![
            Claim::without_time(Bucket::Computation, "decode")
                .with_confidence(Confidence::Medium)
                .with_evidence(text),
        ]
    }
}

impl Rule for PrefillStarved {
    fn id(&self) -> &'static str {
        "PREFILL-STARVED"
    }

    fn what(&self) -> &'static str {
        "prompts wait behind other work: the device is idle before steps that take them in"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "take prompts in with the decode steps (chunked prefill), prepare them (tokenisation, scheduling) while the device works"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let Some(serving) = serving(facts) else { return Vec::new() };
        let first = first_launches(facts, serving);
        let mut parts = Vec::new();
        for late in look.late_launches() {
            let launch = look.work(facts.idle[late.idle as usize].event).event.launch;
            let starts_prefill = launch
                .and_then(|launch| step_at(serving, launch))
                .is_some_and(|step| !serving.steps[step].decodes && first[step] == launch);
            if starts_prefill && matches!(late.blame, Blame::Slow | Blame::Busy) {
                parts.push(Part { slot: Slot::Idle(late.idle), mid: probable(late.time) });
            }
        }
        if parts.is_empty() {
            return Vec::new();
        }
        let waits = parts.len();
        vec![Claim::new("steps with prompts", parts).with_confidence(Confidence::Medium).with_evidence(
            format!("the device waits for its host before {waits} steps that take prompts in"),
        )]
    }
}
