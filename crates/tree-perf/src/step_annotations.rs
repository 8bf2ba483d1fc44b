//! The step of an inference engine that an operator ran in.

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use perf_models::{IterationAnnotation, operators};
use trace_ingest::{Category, EventId, StringId, Trace};
use trace2tree::annotate;

/// The text of the step around every operator whose row says that it needs it, and around operators whose names
/// begin like one of `more`: of the annotations
/// around the operator the innermost that has the token counts of a step, one on the operator's thread before
/// those of other threads, else the outermost.
pub(crate) fn step_annotations(trace: &Trace, more: &[&str]) -> HashMap<EventId, StringId> {
    let built_in = operators().filter(|operator| operator.needs_step).map(|operator| operator.name);
    let prefixes: Vec<&str> = built_in.chain(more.iter().copied()).collect();
    let annotated = annotate(trace, &prefixes);
    if annotated.is_empty() {
        return HashMap::new();
    }
    let steps = Steps::new(trace);
    let events = trace.events();
    annotated
        .into_iter()
        .filter_map(|found| {
            let step = steps.around(trace, found.event).or(found.annotation)?;
            Some((found.event, events.name(step)))
        })
        .collect()
}

/// Annotations of the host with the token counts of a step, by start.
struct Steps {
    steps: Vec<EventId>,
    /// Latest end of the steps up to each.
    latest_end: Vec<i64>,
}

impl Steps {
    fn new(trace: &Trace) -> Self {
        let events = trace.events();
        let mut known: HashMap<StringId, bool> = HashMap::new();
        let mut has_counts = |name: StringId| {
            *known.entry(name).or_insert_with(|| {
                IterationAnnotation::parse(trace.text(name))
                    .is_some_and(|step| step.chunk_statistics().is_some())
            })
        };
        let mut steps: Vec<EventId> = events
            .ids()
            .filter(|&event| events.category(event) == Category::USER_ANNOTATION)
            .filter(|&event| has_counts(events.name(event)))
            .collect();
        steps.sort_few_by_key(|&step| events.start(step));
        let latest_end = steps
            .iter()
            .scan(i64::MIN, |latest, &step| {
                *latest = events.end(step).max(*latest);
                Some(*latest)
            })
            .collect();
        Steps { steps, latest_end }
    }

    /// The step that starts last of those around an event; engines in other threads have steps of their own, which
    /// count where the event's thread has none.
    fn around(&self, trace: &Trace, event: EventId) -> Option<EventId> {
        let events = trace.events();
        let (start, end) = (events.start(event), events.end(event));
        let begun = self.steps.partition_point(|&step| events.start(step) <= start);
        let around = || {
            (0..begun)
                .rev()
                .take_while(|&position| self.latest_end[position] > end)
                .map(|position| self.steps[position])
                .filter(|&step| events.end(step) > end)
        };
        let is_own = |step: &EventId| events.track(*step) == events.track(event);
        around().find(is_own).or_else(|| around().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_ingest::{EventArguments, TraceBuilder};

    const STEP: &str = "execute_1_context_1(sq64sk64sqsq4096sqsk4096)_generation_0(sq0sk0sqsq0sqsk0)";
    const LATER: &str = "step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]";
    const NATIVE: &str = "execute_context_1(64)_generation_6(6)";

    /// The annotation that an operator from 100 to 110 gets, among spans `(category, name, start, end)`.
    fn around(operator: &str, annotations: &[(Category, &str, i64, i64)]) -> Option<String> {
        let mut builder = TraceBuilder::new();
        let (host, other) = (builder.track(1, 1), builder.track(1, 2));
        let none = EventArguments::default;
        for &(category, name, start, end) in annotations {
            builder.event(category, name, other, start, end - start, none());
        }
        let operator = builder.event(Category::CPU_OP, operator, host, 100, 10, none());
        let trace = builder.finish();
        step_annotations(&trace, &["mine"]).get(&operator).map(|&name| trace.text(name).to_owned())
    }

    #[test]
    fn the_innermost_step_with_token_counts_wins() {
        const HOST: Category = Category::USER_ANNOTATION;
        let attention = "vllm::unified_attention_with_output";
        for (annotations, expected) in [
            (&[(HOST, "ProfilerStep#3", 0, 500), (HOST, STEP, 50, 200)][..], Some(STEP)),
            (&[(HOST, STEP, 0, 500), (HOST, LATER, 50, 200)], Some(LATER)),
            // Ends with the operator, or starts after it: not around it.
            (&[(HOST, STEP, 0, 500), (HOST, LATER, 50, 110)], Some(STEP)),
            (&[(HOST, STEP, 0, 500), (HOST, LATER, 101, 200)], Some(STEP)),
            (&[(HOST, STEP, 0, 90)], None),
            // Without token counts the outermost is as good as any.
            (&[(HOST, "ProfilerStep#3", 0, 500), (HOST, NATIVE, 50, 200)], Some("ProfilerStep#3")),
            // What the device ran may be of another step than what the host launches.
            (&[(Category::GPU_USER_ANNOTATION, LATER, 60, 200), (HOST, STEP, 50, 200)], Some(STEP)),
            (&[(Category::GPU_USER_ANNOTATION, LATER, 60, 200)], Some(LATER)),
        ] {
            assert_eq!(around(attention, annotations).as_deref(), expected, "{annotations:?}");
        }
    }

    #[test]
    fn a_step_of_the_own_thread_comes_before_those_of_other_engines() {
        let mut builder = TraceBuilder::new();
        let (host, other) = (builder.track(1, 1), builder.track(1, 2));
        let none = EventArguments::default;
        builder.event(Category::USER_ANNOTATION, STEP, host, 0, 500, none());
        builder.event(Category::USER_ANNOTATION, LATER, other, 50, 300, none());
        let attention = "vllm::unified_attention_with_output";
        let operators =
            [host, other].map(|track| builder.event(Category::CPU_OP, attention, track, 100, 10, none()));
        let trace = builder.finish();
        let found = step_annotations(&trace, &[]);
        let steps = operators.map(|operator| found.get(&operator).map(|&name| trace.text(name)));
        assert_eq!(steps, [Some(STEP), Some(LATER)]);
    }

    #[test]
    fn only_operators_that_need_a_step_get_one() {
        let step = [(Category::USER_ANNOTATION, STEP, 0, 500)];
        let names = ["aiter::pa_decode_gluon", "pseudo_mla_decode_fwd", "mine", "aten::mm"];
        let annotated = names.map(|name| around(name, &step).is_some());
        assert_eq!(annotated, [true, true, true, false]);
    }
}
