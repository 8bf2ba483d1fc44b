//! Where the time and memory of a run go, stage by stage: `--timings`.
//!
//! A stage begins where the one before it ends, so that nothing between two stages is lost. What comes before the
//! first and after the last (arguments, giving memory back) is unaccounted for.

use std::fmt::Write;
use std::time::{Duration, Instant};

use answers::numbers::{decimal, grouped};
use answers::{Stage, Watch};
use serde::Serialize;

use crate::arguments::timings::TimingsForm;

/// In the order of a run.
const STAGES: [Stage; 5] = [Stage::Read, Stage::Analysis, Stage::Sheets, Stage::Write, Stage::Terminal];

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Read => "read",
        Stage::Analysis => "tree and analysis",
        Stage::Sheets => "sheets",
        Stage::Write => "write",
        Stage::Terminal => "terminal",
    }
}

/// Takes the times of a run, or nothing: then its methods look at no clock.
#[derive(Default)]
pub(crate) struct Timings {
    recording: Option<Recording>,
}

struct Recording {
    form: TimingsForm,
    started: Instant,
    /// The stage that the run is in, and since when.
    current: Option<(Stage, Instant)>,
    spent: [Option<Spent>; STAGES.len()],
    events: u64,
}

/// What a stage took, however often the run was in it.
#[derive(Clone, Copy, Default)]
struct Spent {
    time: Duration,
    peak_memory: Option<u64>,
}

impl Timings {
    /// Begins with the run; off without a form.
    pub(crate) fn new(form: Option<TimingsForm>) -> Self {
        let recording = form.map(|form| Recording {
            form,
            started: Instant::now(),
            current: None,
            spent: Default::default(),
            events: 0,
        });
        Timings { recording }
    }

    /// Ends the stage that the run is in.
    pub(crate) fn end(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.end(Instant::now());
        }
    }

    /// What is to be printed after the run; `None` when off, and of a run that ended before its first stage.
    pub(crate) fn finish(self) -> Option<String> {
        let mut recording = self.recording?;
        let now = Instant::now();
        recording.end(now);
        let breakdown = recording.breakdown(now);
        if breakdown.stages.is_empty() {
            return None;
        }
        match recording.form {
            TimingsForm::Text => Some(breakdown.text()),
            TimingsForm::Json => serde_json::to_string(&breakdown).ok(),
        }
    }
}

impl Watch for Timings {
    fn begin(&mut self, stage: Stage) {
        if let Some(recording) = &mut self.recording {
            let now = Instant::now();
            recording.end(now);
            recording.current = Some((stage, now));
        }
    }

    fn count_events(&mut self, events: usize) {
        if let Some(recording) = &mut self.recording {
            recording.events += events as u64;
        }
    }
}

impl Recording {
    fn end(&mut self, now: Instant) {
        if let Some((stage, since)) = self.current.take() {
            let spent = self.spent[stage as usize].get_or_insert_default();
            spent.time += now - since;
            spent.peak_memory = peak_memory();
        }
    }

    fn breakdown(&self, now: Instant) -> Breakdown {
        let per_second = |time: Duration| {
            let rate = self.events as f64 / time.as_secs_f64();
            (self.events > 0 && rate.is_finite()).then_some(rate)
        };
        let stages: Vec<StageTime> = STAGES
            .into_iter()
            .zip(self.spent)
            .filter_map(|(stage, spent)| {
                let Spent { time, peak_memory } = spent?;
                let (seconds, events_per_second) = (time.as_secs_f64(), per_second(time));
                Some(StageTime { stage, seconds, events_per_second, peak_memory_bytes: peak_memory })
            })
            .collect();
        let whole = now - self.started;
        let accounted: Duration = self.spent.iter().flatten().map(|spent| spent.time).sum();
        Breakdown {
            events: self.events,
            stages,
            unaccounted_seconds: whole.saturating_sub(accounted).as_secs_f64(),
            whole_seconds: whole.as_secs_f64(),
            events_per_second: per_second(whole),
            peak_memory_bytes: peak_memory(),
        }
    }
}

/// The times of a run. The stages and what is unaccounted for add up to the whole.
#[derive(Serialize)]
struct Breakdown {
    events: u64,
    /// In the order of a run; those that it did not come to are left out.
    stages: Vec<StageTime>,
    unaccounted_seconds: f64,
    whole_seconds: f64,
    events_per_second: Option<f64>,
    peak_memory_bytes: Option<u64>,
}

#[derive(Serialize)]
struct StageTime {
    stage: Stage,
    seconds: f64,
    /// All events of the run over the time of the stage.
    events_per_second: Option<f64>,
    /// Most memory that the process held until the stage ended last; `None` where the system does not say.
    peak_memory_bytes: Option<u64>,
}

impl Breakdown {
    fn text(&self) -> String {
        let mut text =
            format!("{:<18}{:>12}{:>8}{:>16}{:>20}", "stage", "time", "%", "events/s", "peak memory so far");
        let mut line = |name: &str, seconds: f64, rate: Option<f64>, peak: Option<u64>| {
            let share = if self.whole_seconds > 0.0 { seconds / self.whole_seconds * 100.0 } else { 0.0 };
            let time = format!("{} ms", decimal(seconds * 1e3, 3));
            let share = decimal(share, 1);
            let rate = rate.map_or(String::new(), |rate| decimal(rate, 0));
            let peak =
                peak.map_or(String::new(), |bytes| format!("{} MiB", decimal(bytes as f64 / 1_048_576.0, 1)));
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "\n{}",
                format!("{name:<18}{time:>12}{share:>8}{rate:>16}{peak:>20}").trim_end()
            );
        };
        for one in &self.stages {
            line(name(one.stage), one.seconds, one.events_per_second, one.peak_memory_bytes);
        }
        line("unaccounted", self.unaccounted_seconds, None, None);
        line("whole", self.whole_seconds, self.events_per_second, self.peak_memory_bytes);
        let _ = write!(text, "\n{} events", grouped(self.events.into()));
        text
    }
}

/// The most memory that this process has held, in bytes; Linux keeps count.
fn peak_memory() -> Option<u64> {
    parse_peak(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn parse_peak(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording of a run that began at 0 ms and went through stages that begin at these milliseconds.
    fn recording(begins: &[(Stage, u64)], end: u64) -> Breakdown {
        let started = Instant::now();
        let at = |ms: u64| started + Duration::from_millis(ms);
        let form = TimingsForm::Json;
        let mut run = Recording { form, started, current: None, spent: Default::default(), events: 1000 };
        for &(stage, ms) in begins {
            run.end(at(ms));
            run.current = Some((stage, at(ms)));
        }
        run.end(at(end));
        // Three more until the process ends.
        run.breakdown(at(end + 3))
    }

    #[test]
    fn stages_and_the_rest_add_up_to_the_whole() {
        let run =
            recording(&[(Stage::Read, 2), (Stage::Analysis, 12), (Stage::Read, 20), (Stage::Sheets, 25)], 65);
        let times: Vec<(Stage, f64)> =
            run.stages.iter().map(|one| (one.stage, (one.seconds * 1e3).round())).collect();
        // Reading came twice and writing never.
        assert_eq!(times, [(Stage::Read, 15.0), (Stage::Analysis, 8.0), (Stage::Sheets, 40.0)]);
        assert!((run.unaccounted_seconds - 0.005).abs() < 1e-9 && (run.whole_seconds - 0.068).abs() < 1e-9);
        assert!(run.stages[2].events_per_second.is_some_and(|rate| (rate - 25_000.0).abs() < 1e-3));
    }

    #[test]
    fn the_text_has_a_line_per_stage() {
        let run = recording(&[(Stage::Read, 0), (Stage::Analysis, 10)], 17);
        let text = run.text();
        let first: Vec<&str> = text.lines().filter_map(|line| line.get(..18)).map(str::trim_end).collect();
        assert_eq!(first, ["stage", "read", "tree and analysis", "unaccounted", "whole"], "{text}");
        assert!(text.contains("10.000 ms    50.0         100,000"), "{text}");
        assert!(text.contains("  events/s  peak memory so far\n"), "{text}");
        assert!(text.ends_with("1,000 events"), "{text}");
    }

    #[test]
    fn without_the_flag_nothing_is_taken() {
        let mut timings = Timings::new(None);
        timings.begin(Stage::Read);
        timings.count_events(7);
        timings.end();
        assert_eq!(timings.finish(), None);
        assert_eq!(Timings::new(Some(TimingsForm::Text)).finish(), None, "no stage was begun");
    }

    #[test]
    fn peak_memory_is_that_of_the_status_file() {
        assert_eq!(parse_peak("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2 << 20));
        assert_eq!(parse_peak("VmRSS:\t 1 kB\n"), None);
        assert_eq!(parse_peak("VmHWM:\t many kB\n"), None);
        assert_eq!(peak_memory().is_some(), cfg!(target_os = "linux"));
    }
}
