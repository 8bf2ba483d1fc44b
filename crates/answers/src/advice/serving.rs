//! The rules on the steps of an inference engine.

use std::sync::Arc;

use advise::{Blame, Bucket, Claim, Confidence, Facts, Inspection, Part, Program, Rule, Slot, probable};
use gpu_timeline::{Interval, lower_median};
use inference_phase::{Phase, Step};
use trace2tree::is_graph_launch;
use tree_perf::Analysis;

use super::trace_rules::TraceRules;

pub(super) const RULES: TraceRules = TraceRules {
    ids: &[DECODE_LAUNCH, PREFILL_STARVED, BATCH_SMALL],
    make: |examined| {
        let Some(steps) = engine_steps(examined.run) else { return Vec::new() };
        let steps: Arc<[EngineStep]> = steps.into();
        vec![
            Box::new(DecodeLaunch(Arc::clone(&steps))),
            Box::new(PrefillStarved(Arc::clone(&steps))),
            Box::new(BatchSmall(steps)),
        ]
    },
};

const DECODE_LAUNCH: &str = "DECODE-LAUNCH";
const PREFILL_STARVED: &str = "PREFILL-STARVED";
const BATCH_SMALL: &str = "BATCH-SMALL";

/// A step of an inference engine.
#[derive(Clone, Copy, Debug)]
struct EngineStep {
    /// When the host launched its work.
    time: Interval,
    /// Whether it only decodes.
    decodes: bool,
    /// Requests in its batch, where that is recorded.
    requests: Option<u64>,
    /// Whether a graph was replayed in it.
    graph: bool,
}

/// The steps of an inference engine by its annotations, by start; `None` of other programs and without annotations.
fn engine_steps(analysis: &Analysis) -> Option<Vec<EngineStep>> {
    if analysis.iterations().detected().program() != iterations::Program::LanguageModel {
        return None;
    }
    let (trace, tree) = (analysis.trace(), analysis.tree());
    let events = trace.events();
    let mut graphs: Vec<i64> = tree
        .host_events()
        .iter()
        .filter(|&&event| events.category(event).is_launch_api() && is_graph_launch(trace.name(event)))
        .map(|&event| events.start(event))
        .collect();
    graphs.sort_unstable();
    let steps = Step::annotated(trace);
    let steps = steps.iter().map(|step| {
        let first = graphs.partition_point(|&launch| launch < step.start);
        let load = &step.load;
        let requests = load.context_requests.unwrap_or(0).checked_add(load.generation_requests.unwrap_or(0));
        EngineStep {
            time: Interval::between(step.start, step.end),
            decodes: step.phase == Phase::Decode,
            requests: requests.and_then(|count| u64::try_from(count).ok()).filter(|&count| count > 0),
            graph: graphs.get(first).is_some_and(|&launch| launch < step.end),
        }
    });
    Some(steps.collect()).filter(|steps: &Vec<EngineStep>| !steps.is_empty())
}

/// Decode steps of an inference engine that wait for launches.
struct DecodeLaunch(Arc<[EngineStep]>);

/// Decode steps with so few requests that the weights are read for little work.
struct BatchSmall(Arc<[EngineStep]>);

/// Requests whose prompts wait for others.
struct PrefillStarved(Arc<[EngineStep]>);

/// Requests of a decode step below which reading the weights takes most of its time on any of today's devices: their
/// ridges lie above 100 operations a byte, and a weight is used twice for each request.
const SMALL_BATCH: u64 = 32;
/// Share of decode steps with a small batch that is worth saying.
const MOSTLY: f64 = 0.5;

/// The step that a launch lies in.
fn step_at(steps: &[EngineStep], launch: i64) -> Option<usize> {
    let before = steps.partition_point(|step| step.time.start <= launch);
    before.checked_sub(1).filter(|&step| launch < steps[step].time.end)
}

/// By step: when the host launched the first work of it.
fn first_launches(facts: &Facts, steps: &[EngineStep]) -> Vec<Option<i64>> {
    let mut first: Vec<Option<i64>> = vec![None; steps.len()];
    for launch in facts.works.iter().filter_map(|work| work.event.launch) {
        if let Some(step) = step_at(steps, launch) {
            first[step] = Some(first[step].map_or(launch, |first| first.min(launch)));
        }
    }
    first
}

impl Rule for DecodeLaunch {
    fn id(&self) -> &'static str {
        DECODE_LAUNCH
    }

    fn what(&self) -> &'static str {
        "launch-bound decode steps"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "replay decode steps as CUDA or HIP graphs (enforce_eager off, capture sizes that cover the batches), and \
         schedule the next step while this one runs (async scheduling)"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let steps = &self.0;
        let first = first_launches(facts, steps);
        let mut parts = Vec::new();
        for late in look.late_launches().iter().filter(|late| late.blame != Blame::Busy) {
            let Some(launch) = look.work(facts.idle[late.idle as usize].event).event.launch else { continue };
            let Some(step) = step_at(steps, launch) else { continue };
            let engine_step = &steps[step];
            // Before the first launch the engine prepares the step, whatever it launches then.
            if engine_step.decodes && !engine_step.graph && first[step] != Some(launch) {
                parts.push(Part { slot: Slot::Idle(late.idle), mid: late.time });
            }
        }
        let decodes = steps.iter().filter(|step| step.decodes);
        let (all, graphs) = (decodes.clone().count(), decodes.filter(|step| step.graph).count());
        if parts.is_empty() {
            return Vec::new();
        }
        let claim = Claim::new(format!("{} of {all} decode steps without a graph", all - graphs), parts)
            .with_range(0.75, 1.0)
            .with_evidence(format!("{graphs} of {all} decode steps replay a graph"))
            .with_row(facts.sheets.idle_causes, "host_wait");
        vec![claim]
    }
}

impl Rule for BatchSmall {
    fn id(&self) -> &'static str {
        BATCH_SMALL
    }

    fn what(&self) -> &'static str {
        "decode batch too small to amortize reading the weights"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "serve more requests at once (max_num_seqs, KV cache memory), or use speculative decoding"
    }

    fn claims(&self, _: &Inspection<'_>) -> Vec<Claim> {
        let steps = &self.0;
        let requests: Vec<u64> =
            steps.iter().filter(|step| step.decodes).filter_map(|step| step.requests).collect();
        let small = requests.iter().filter(|&&count| count < SMALL_BATCH).count();
        let Some(middle) = lower_median(requests.iter().copied()) else { return Vec::new() };
        if (small as f64) < MOSTLY * requests.len() as f64 {
            return Vec::new();
        }
        let text = format!(
            "{small} of {} decode steps have fewer than {SMALL_BATCH} requests (median {middle}); below \
             that, throughput grows almost linearly with batch size",
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
        PREFILL_STARVED
    }

    fn what(&self) -> &'static str {
        "idle before prefill steps"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "mix prompts into decode steps (chunked prefill), and prepare them (tokenization, scheduling) while \
         the device is busy"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let steps = &self.0;
        let first = first_launches(facts, steps);
        let mut parts = Vec::new();
        for late in look.late_launches() {
            let launch = look.work(facts.idle[late.idle as usize].event).event.launch;
            let starts_prefill = launch
                .and_then(|launch| step_at(steps, launch))
                .is_some_and(|step| !steps[step].decodes && first[step] == launch);
            if starts_prefill && matches!(late.blame, Blame::Slow | Blame::Busy) {
                parts.push(Part { slot: Slot::Idle(late.idle), mid: probable(late.time) });
            }
        }
        if parts.is_empty() {
            return Vec::new();
        }
        let waits = parts.len();
        vec![
            Claim::new("prefill steps", parts)
                .with_confidence(Confidence::Medium)
                .with_evidence(format!("the device waits for the host before {waits} prefill steps")),
        ]
    }
}

#[cfg(test)]
mod tests {
    use advise::{Advice, Limits, Work};
    use gpu_timeline::{Activity, Breakdown, DeviceEvent, HostActivity, Wait, WaitCause};

    use super::*;

    /// Steps of 200 µs, each with two kernels. The host launches the second 60 µs after the first has ended.
    fn facts(steps: i64) -> Facts {
        let mut facts = Facts { units_per_us: 1000, names: vec!["kernel".to_owned()], ..Facts::default() };
        let mut works = Vec::new();
        for start in (0..steps).map(|step| step * 200_000) {
            for (launch, start, end) in
                [(start, start, start + 100_000), (start + 160_000, start + 160_000, start + 200_000)]
            {
                let event = DeviceEvent::new(start, end, Activity::Computation).launched(Some(launch));
                let uid = works.len() as u32;
                works.push(Work {
                    event,
                    name: 0,
                    launched: None,
                    call: None,
                    exposed: 0,
                    uid,
                    copy: None,
                    message: None,
                });
            }
            let span = Interval::between(start + 100_000, start + 160_000);
            let (event, cause) = (works.len() as u32 - 1, WaitCause::Host(HostActivity::Other));
            facts.idle.push(Wait { span, event, cause, waited_for: None });
        }
        facts.breakdown = Breakdown::from_events(works.iter().map(|work| work.event), None).unwrap();
        Facts { works: Work::charged(works), ..facts }
    }

    fn step(at: i64, decodes: bool, graph: bool) -> EngineStep {
        let time = Interval::between(at * 200_000, (at + 1) * 200_000);
        EngineStep { time, decodes, requests: Some(4), graph }
    }

    #[test]
    fn decode_steps_wait_for_launches_unless_a_graph_has_them() {
        let facts = facts(4);
        let steps: Arc<[EngineStep]> =
            [step(0, true, false), step(1, true, true), step(2, false, false), step(3, true, false)].into();
        let rules: [&dyn Rule; 3] = [
            &DecodeLaunch(Arc::clone(&steps)),
            &PrefillStarved(Arc::clone(&steps)),
            &BatchSmall(Arc::clone(&steps)),
        ];
        let advice = Advice::with_rules(&facts, &Limits::default(), &(), &rules);
        let found = |rule: &str| advice.findings.iter().find(|finding| finding.rule == rule);
        let late = found(DECODE_LAUNCH).unwrap();
        // Two steps, less the microsecond that a device takes between any two kernels.
        assert!((late.gain.unwrap().mid_us - 2.0 * 59.0).abs() < 0.1, "{late:#?}");
        assert_eq!(late.subject, "2 of 3 decode steps without a graph");
        assert!(found(PREFILL_STARVED).is_none(), "the first work of each step starts at once");
        assert!(found(BATCH_SMALL).unwrap().evidence[0].starts_with("3 of 3 decode steps"));
    }

    #[test]
    fn the_rules_are_those_that_are_listed() {
        let steps: Arc<[EngineStep]> = [step(0, true, false)].into();
        let rules: [&dyn Rule; 3] =
            [&DecodeLaunch(Arc::clone(&steps)), &PrefillStarved(Arc::clone(&steps)), &BatchSmall(steps)];
        assert_eq!(rules.map(|rule| rule.id()), RULES.ids);
    }
}
