//! What the profiler did to the program, and what it did not know.

use sheets::numbers::{counted, decimal, duration, grouped};
use trace_ingest::{EventId, PerString};

use crate::facts::{Facts, Tally};
use crate::finding::{Found, Severity, Verdict};

pub(super) fn overhead(facts: &Facts<'_>) -> Verdict {
    let overhead = &facts.census.overhead;
    let found = (overhead.count > 0).then(|| {
        let share = overhead.time as f64 / facts.span().max(1) as f64 * 100.0;
        let severity = match overhead.time * 100 >= facts.span() {
            true => Severity::Warning,
            false => Severity::Info,
        };
        let text = format!(
            "the profiler itself took {} ({}% of the recording)",
            duration(facts.microseconds(overhead.time)),
            decimal(share, 3)
        );
        Found::tally(severity, overhead, text)
    });
    found.into()
}

pub(super) fn stacks(facts: &Facts<'_>) -> Verdict {
    let (frames, operators) = (facts.census.python_frames, facts.census.operators.count);
    let found = (operators > 0 && frames >= 5 * operators).then(|| {
        let text = format!(
            "recording stacks ({} Python frames per operator) slowed the host",
            decimal(frames as f64 / operators as f64, 1)
        );
        Found { of: Some(operators), ..Found::new(Severity::Info, frames, text) }
    });
    found.into()
}

pub(super) fn unknown_names(facts: &Facts<'_>) -> Verdict {
    const UNKNOWN: [&str; 4] = ["", "unknown", "<unknown>", "invalid"];
    let is_unknown = |name: &str| UNKNOWN.iter().any(|unknown| name.eq_ignore_ascii_case(unknown));
    let mut known = PerString::new(facts.trace.strings(), is_unknown);
    let named = facts.calls.iter().map(|call| call.event).chain(facts.device.iter().copied());
    let mut without: Vec<EventId> = named.filter(|&event| *known.get(facts.events.name(event))).collect();
    without.sort_unstable();
    let tally = Tally::of(facts.events, without);
    let found = (tally.count > 0).then(|| {
        let of = facts.calls.len() + facts.device.len();
        let text = format!(
            "the recorder had no name for {} of {}",
            grouped(tally.count.into()),
            counted(of, "call or device event", "calls and device events")
        );
        Found { of: Some(of as u64), ..Found::tally(Severity::Note, &tally, text) }
    });
    found.into()
}

pub(super) fn metric_kernels(facts: &Facts<'_>) -> Verdict {
    let metrics = &facts.census.kernel_metrics;
    let found = (metrics.count > 0).then(|| {
        let text = format!(
            "{} metrics of other kernels ({})",
            counted(metrics.count as usize, "kernel represents", "kernels represent"),
            duration(facts.microseconds(metrics.time))
        );
        Found::tally(Severity::Info, metrics, text)
    });
    found.into()
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments};

    use crate::Severity;
    use crate::recording::Recording;

    #[test]
    fn the_profilers_own_time_is_a_warning_from_a_hundredth_on() {
        let seen = |length: f64| {
            let mut recording = Recording::new();
            recording.operator("a", (0.0, 1000.0));
            recording.host("overhead", "Buffer Flush", (100.0, length), EventArguments::default());
            let diagnosis = recording.diagnosis();
            diagnosis.find("O1").map(|found| (found.severity, found.count, found.time))
        };
        assert_eq!(seen(10.0), Some((Severity::Warning, 1, Some(10_000))));
        assert_eq!(seen(9.0), Some((Severity::Info, 1, Some(9_000))));
    }

    #[test]
    fn stacks_show_where_there_are_five_frames_per_operator() {
        let seen = |frames: i32| {
            let mut recording = Recording::new();
            recording.operator("a", (0.0, 1.0));
            let frame = |at| (f64::from(at), 1.0);
            (0..frames).for_each(|at| {
                recording.host("python_function", "f", frame(at), EventArguments::default());
            });
            recording.diagnosis().find("O2").map(|found| (found.severity, found.count))
        };
        assert_eq!((seen(5), seen(4)), (Some((Severity::Info, 5)), None));
    }

    #[test]
    fn names_that_the_recorder_did_not_know_are_counted() {
        let mut recording = Recording::new();
        recording.launches(1, 2);
        recording.call("INVALID", (500.0, 1.0), 8);
        recording.kernel("", (600.0, 1.0), 9);
        recording.operator("unknown", (700.0, 1.0));
        let diagnosis = recording.diagnosis();
        let found = diagnosis.find("N1").unwrap();
        assert_eq!((found.severity, found.count, found.of), (Severity::Note, 2, Some(6)));
    }

    #[test]
    fn kernels_that_are_metrics_repeat_others() {
        let mut recording = Recording::new();
        recording.device(Category::KERNEL_METRICS, "metrics: gemm", 7, (0.0, 1.0), EventArguments::default());
        recording.kernel("gemm", (0.0, 1.0), 1);
        let diagnosis = recording.diagnosis();
        let found = diagnosis.find("N2").unwrap();
        assert_eq!((found.severity, found.count), (Severity::Info, 1));
    }
}
