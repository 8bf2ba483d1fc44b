//! What engine steps say of the iterations that they are in.

use iterations::{Iteration, Span, ThreadSpans};
use operator_sheets::IterationWork;
use perf_models::{AnnotationKind, IterationAnnotation};
use trace_ingest::Trace;

use crate::step::Step;

/// What an engine did in each of these iterations: a step belongs to the iteration of its thread that holds its
/// middle, so that boundaries may differ a little. Iterations without a step have no phase; tokens are known where those
/// of all steps of the iteration are.
#[must_use]
pub fn work_of_iterations(trace: &Trace, steps: &[Step], iterations: &[Iteration]) -> Vec<IterationWork> {
    let mut spans = ThreadSpans::new(trace);
    for (index, &Iteration { track, start, end, .. }) in iterations.iter().enumerate() {
        if let Some(track) = track {
            spans.push(track, Span { start, end, index });
        }
    }
    let mut found = vec![IterationWork::default(); iterations.len()];
    for step in steps {
        let middle = step.start + step.end.saturating_sub(step.start) / 2;
        let Some(span) = step.track.and_then(|track| spans.find(track, middle)) else { continue };
        let work = &mut found[span.index];
        if let Some(images) = step.annotation.and_then(|annotation| images(trace.name(annotation))) {
            work.samples = Some(work.samples.unwrap_or(0).saturating_add(images));
            continue;
        }
        let phase = step.phase.as_str();
        let tokens = step.load.tokens();
        work.tokens = match work.phases.is_empty() {
            true => tokens,
            false => work.tokens.zip(tokens).map(|(all, own)| all.saturating_add(own)),
        };
        if !work.phases.contains(&phase) {
            work.phases.push(phase);
        }
    }
    found
}

/// Images that an annotation of a diffusion engine names.
fn images(annotation: &str) -> Option<i64> {
    let annotation = IterationAnnotation::parse(annotation)?;
    (annotation.kind == AnnotationKind::DiffusionNative).then_some(annotation.batch_size)
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, TraceBuilder};
    use trace2tree::{TraceTree, TreeOptions};

    use super::*;
    use crate::detect::DetectOptions;
    use crate::step::Steps;

    #[test]
    fn iterations_have_the_phases_and_tokens_of_their_steps() {
        let mut builder = TraceBuilder::new();
        let (engine, other) = (builder.track(1, 1), builder.track(1, 2));
        for (name, start) in [
            ("execute_context_2(100)_generation_0(0)", 0),
            ("execute_context_1(50)_generation_2(2)", 100),
            ("execute_context_0(0)_generation_3(3)", 200),
            ("execute_context_0(0)_generation_3(3)", 300),
            // Of how many tokens it does not say.
            ("step[EXTEND bs=2]", 400),
            ("execute_diffusion_2_256x256", 500),
        ] {
            builder.event(Category::USER_ANNOTATION, name, engine, start, 90, EventArguments::default());
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        let steps = Step::annotated(tree.trace());
        assert_eq!(Steps::detect(&tree, &DetectOptions::default()).steps(), steps);
        let iteration = |track, start, end| Iteration { number: None, track, start, end, whole: true };
        let iterations = [
            // It begins a little before its step and ends before that does.
            iteration(Some(engine), -10, 80),
            iteration(Some(other), 0, 500),
            iteration(None, 0, 500),
            iteration(Some(engine), 80, 380),
            iteration(Some(engine), 380, 490),
            iteration(Some(engine), 490, 500),
            iteration(Some(engine), 500, 590),
        ];
        let work = |phases: &[&'static str], tokens| IterationWork {
            phases: phases.to_vec(),
            tokens,
            ..IterationWork::default()
        };
        assert_eq!(
            work_of_iterations(tree.trace(), &steps, &iterations),
            [
                work(&["Prefill"], Some(100)),
                work(&[], None),
                work(&[], None),
                work(&["Mixed", "Decode"], Some(58)),
                work(&["Prefill"], None),
                work(&[], None),
                IterationWork { samples: Some(2), ..IterationWork::default() },
            ]
        );
    }
}
