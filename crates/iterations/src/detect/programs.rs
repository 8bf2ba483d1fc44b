//! Runs of compiled programs on devices that execute nothing else.

use hashbrown::HashMap;
use trace_ingest::{RowId, Trace};

use super::Found;
use crate::level::{Evidence, Iteration, Level, LevelKind};
use crate::reason::Reason;

/// Category of a TPU's executions of a program.
const MODULE: &str = "xla_module";
/// Programs that take a smaller share of the device's time, such as those that fill arrays, are passed over.
const LEAST_SHARE: f64 = 0.05;

/// A run: name of the program, start, end.
type Run<'t> = (&'t str, i64, i64);

/// Runs of the XLA programs that take most of the time of the busiest device, at least two.
pub(crate) fn runs(trace: &Trace) -> Found {
    let mut found = Found::default();
    if trace.strings().find(MODULE).is_none() {
        return found;
    }
    let mut of_device: HashMap<RowId, Vec<Run<'_>>> = HashMap::new();
    let events = trace.events();
    for event in events.ids().filter(|&event| trace.category_name(events.category(event)) == MODULE) {
        let device = trace.tracks().get(events.track(event)).pid;
        let run = (program_name(trace.name(event)), events.start(event), events.end(event));
        of_device.entry(device).or_default().push(run);
    }
    let time = |runs: &[Run<'_>]| runs.iter().map(|(_, start, end)| end - start).sum::<i64>();
    let busiest = of_device.into_iter().max_by_key(|(device, runs)| (time(runs), std::cmp::Reverse(*device)));
    let Some((_, mut runs)) = busiest else { return found };
    let total = time(&runs);
    let mut by_name: HashMap<&str, i64> = HashMap::new();
    for (name, start, end) in &runs {
        *by_name.entry(name).or_default() += end - start;
    }
    let of_name = |name: &str| by_name.get(name).copied().unwrap_or(0);
    runs.retain(|(name, ..)| of_name(name) as f64 >= LEAST_SHARE * total as f64);
    runs.sort_by_key(|&(_, start, end)| (start, end));
    let Some(&(most, ..)) =
        runs.iter().max_by_key(|(name, start, _)| (of_name(name), std::cmp::Reverse(*start)))
    else {
        return found;
    };
    if runs.len() < 2 {
        found.failure = Some(Reason::SinglePass(None));
        return found;
    }
    let share = time(&runs) as f64 / total.max(1) as f64;
    let iterations =
        runs.iter().map(|&(_, start, end)| Iteration { number: None, track: None, start, end, whole: true });
    let level = Level {
        kind: LevelKind::ProgramRun,
        name: most.to_owned(),
        evidence: Evidence::RecordedSteps,
        confidence: 0.9 * share,
        first: 0,
        iterations: iterations.collect(),
    };
    found.add_steps(level, Reason::ProgramRuns(most.to_owned()));
    found
}

/// `jit_step(9646411105960254074)` is `jit_step`.
fn program_name(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_ingest::{EventArguments, TraceBuilder};

    fn found(runs: &[(&str, i64, i64, i64)]) -> Found {
        let mut builder = TraceBuilder::new();
        let module = builder.category(MODULE);
        for &(name, device, start, duration) in runs {
            let track = builder.track(device, 2);
            builder.event(module, name, track, start, duration, EventArguments::default());
        }
        super::runs(&builder.finish())
    }

    #[test]
    fn runs_of_the_programs_that_take_the_time_are_iterations_of_one_device() {
        let runs = [
            ("jit_fill(1)", 3, 0, 1),
            ("jit_step(2)", 3, 10, 100),
            ("jit_step(2)", 4, 12, 90),
            ("jit_step(2)", 3, 120, 100),
        ];
        let (level, reason) = found(&runs).steps.unwrap();
        assert_eq!((level.kind, level.name.as_str()), (LevelKind::ProgramRun, "jit_step"));
        assert_eq!(level.iterations.iter().map(|run| run.start).collect::<Vec<_>>(), [10, 120]);
        assert_eq!(reason, Reason::ProgramRuns("jit_step".to_owned()));
    }

    #[test]
    fn one_run_is_no_iteration() {
        let found = found(&[("jit_step(2)", 3, 10, 100)]);
        assert!(found.steps.is_none());
        assert_eq!(found.failure, Some(Reason::SinglePass(None)));
    }
}
