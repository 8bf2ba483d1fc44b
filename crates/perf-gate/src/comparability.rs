//! Whether recordings are of the same work on the same machine, so that their times may be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use gpu_timeline::{LINKED_ENOUGH, SortFew, likeness, median};
use serde::Serialize;
use sheets::numbers::decimal;

use crate::recording::{Recording, Setup};

/// Something that has to be alike in recordings that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckName {
    /// The kind of recording.
    Recorder,
    /// Model of the device.
    Device,
    /// Number of devices.
    DeviceCount,
    /// Ranks of the job.
    WorldSize,
    /// The rank that was recorded.
    Rank,
    /// Operators with the shapes and types of their arguments, and how often each is called in a step.
    Workload,
    /// Floating-point operations of a step.
    Flops,
    /// Share of the tokens that belong to prompts.
    Prefill,
    /// Requests at a time.
    BatchSize,
    /// Options of the profiler, which cost time.
    Options,
    /// Whether the file is complete.
    Truncated,
    /// Whether the launches of the device work were recorded.
    Linked,
    /// Faults of the recording.
    Faults,
    /// Versions of drivers, runtimes and libraries.
    Versions,
    /// Whether steps become slower or faster while they are recorded.
    Trend,
}

impl CheckName {
    /// All, in the order of the report.
    pub const ALL: [CheckName; 15] = [
        CheckName::Recorder,
        CheckName::Device,
        CheckName::DeviceCount,
        CheckName::WorldSize,
        CheckName::Rank,
        CheckName::Workload,
        CheckName::Flops,
        CheckName::Prefill,
        CheckName::BatchSize,
        CheckName::Options,
        CheckName::Truncated,
        CheckName::Linked,
        CheckName::Faults,
        CheckName::Versions,
        CheckName::Trend,
    ];

    /// Whether it can refuse a comparison; the others only warn.
    #[must_use]
    pub fn can_refuse(self) -> bool {
        !matches!(self, CheckName::Faults | CheckName::Versions | CheckName::Trend)
    }

    /// Its name on the command line and in outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            CheckName::Recorder => "recorder",
            CheckName::Device => "device",
            CheckName::DeviceCount => "device_count",
            CheckName::WorldSize => "world_size",
            CheckName::Rank => "rank",
            CheckName::Workload => "workload",
            CheckName::Flops => "flops",
            CheckName::Prefill => "prefill",
            CheckName::BatchSize => "batch_size",
            CheckName::Options => "options",
            CheckName::Truncated => "truncated",
            CheckName::Linked => "linked",
            CheckName::Faults => "faults",
            CheckName::Versions => "versions",
            CheckName::Trend => "trend",
        }
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no check which refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a check that can refuse a comparison; choose one of {known}", known = refusing())]
pub struct UnknownCheck(String);

fn refusing() -> String {
    let names = CheckName::ALL.into_iter().filter(|check| check.can_refuse()).map(CheckName::as_str);
    names.collect::<Vec<_>>().join(", ")
}

impl FromStr for CheckName {
    type Err = UnknownCheck;

    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let known = CheckName::ALL.into_iter().find(|check| check.as_str() == text && check.can_refuse());
        known.ok_or_else(|| UnknownCheck(text.to_owned()))
    }
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// A difference that leaves the comparison possible.
    Warn,
    /// A difference that would forbid it, and that the user allows.
    Allowed,
    /// A difference that forbids it.
    Refuse,
}

impl CheckOutcome {
    /// Its name in outputs for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            CheckOutcome::Warn => "warning",
            CheckOutcome::Allowed => "allowed",
            CheckOutcome::Refuse => "refused",
        }
    }
}

/// The version that a recording is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// That which others are held against.
    Baseline,
    /// That which is examined.
    Candidate,
}

impl Side {
    /// Its name in outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Side::Baseline => "baseline",
            Side::Candidate => "candidate",
        }
    }
}

/// A recording and the side that it is of.
type Sided<'a> = (Side, &'a Recording);

/// A difference between recordings, or a fault of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What is checked.
    pub check: CheckName,
    /// What follows.
    pub outcome: CheckOutcome,
    /// Side of the recording.
    pub side: Side,
    /// The recording, by its file.
    pub file: String,
    /// What was found, as a sentence without its full stop.
    pub found: String,
}

/// How like the workloads of two sides are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Likeness {
    /// Calls that both have over calls that either has, weighted Jaccard index: 1 where they are the same.
    pub calls: f64,
    /// Floating-point operations per step of the candidate over those of the baseline, where models know both.
    pub flops_ratio: Option<f64>,
}

/// What was found by all checks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparability {
    /// The differences, a row for each check and recording.
    pub checks: Vec<Check>,
    /// The least likeness of a recording to the first of the baseline.
    pub likeness: Option<Likeness>,
}

impl Comparability {
    /// Whether a difference forbids the comparison.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.checks.iter().any(|check| check.outcome == CheckOutcome::Refuse)
    }

    /// Compares all recordings of both sides with the first of the baseline. Recordings whose steps change by more than
    /// the share `slower_by` from first to last are warned of. What is in `allowed` warns and does not refuse.
    #[must_use]
    pub fn new(
        baseline: &[Recording],
        candidate: &[Recording],
        allowed: &BTreeSet<CheckName>,
        (slower_by, warmup): (f64, usize),
    ) -> Comparability {
        let mut found = Comparability::default();
        let Some(first) = baseline.first() else { return found };
        let baseline_sides = baseline.iter().map(|recording| (Side::Baseline, recording));
        let candidate_sides = candidate.iter().map(|recording| (Side::Candidate, recording));
        for (position, sided) in baseline_sides.chain(candidate_sides).enumerate() {
            found.examine(sided, (slower_by, warmup));
            if position > 0 {
                found.compare(first, sided);
            }
        }
        for check in &mut found.checks {
            if check.outcome == CheckOutcome::Refuse && allowed.contains(&check.check) {
                check.outcome = CheckOutcome::Allowed;
            }
        }
        found.checks.sort_few_by_key(|check| (std::cmp::Reverse(check.outcome), check.check));
        found
    }

    fn add(&mut self, check: CheckName, outcome: CheckOutcome, (side, recording): Sided<'_>, found: String) {
        self.checks.push(Check { check, outcome, side, file: recording.file.clone(), found });
    }

    /// What is wrong with a recording by itself.
    fn examine(&mut self, sided: Sided<'_>, (slower_by, warmup): (f64, usize)) {
        let recording = sided.1;
        let setup = &recording.setup;
        if setup.truncated {
            let found = "part of the file is lost".to_owned();
            self.add(CheckName::Truncated, CheckOutcome::Refuse, sided, found);
        }
        if setup.linked_percent < LINKED_ENOUGH {
            let found = format!(
                "launches were recorded for only {}% of device time, expected at least {LINKED_ENOUGH}%",
                decimal(setup.linked_percent, 1)
            );
            self.add(CheckName::Linked, CheckOutcome::Refuse, sided, found);
        }
        for fault in &setup.faults {
            self.add(CheckName::Faults, CheckOutcome::Warn, sided, fault.clone());
        }
        let trend = trend(&recording.steps.duration[recording.counted_steps(warmup)]);
        if trend.abs() > slower_by {
            let sign = if trend > 0.0 { "+" } else { "" };
            let change = decimal(100.0 * trend, 1);
            let found = format!("step time changes by {sign}{change}% from the first step to the last");
            self.add(CheckName::Trend, CheckOutcome::Warn, sided, found);
        }
    }

    /// How a recording differs from the first of the baseline.
    fn compare(&mut self, first: &Recording, sided: Sided<'_>) {
        use CheckOutcome::{Refuse, Warn};
        let recording = sided.1;
        let (a, b) = (&first.setup, &recording.setup);
        let was = |a: &str, b: &str| format!("{b}, baseline {a}");
        if a.recorder != b.recorder {
            self.add(CheckName::Recorder, Refuse, sided, was(&a.recorder, &b.recorder));
        }
        let models = |devices: &[String]| {
            let distinct: BTreeSet<&str> = devices.iter().map(String::as_str).collect();
            distinct.into_iter().collect::<Vec<_>>().join(", ")
        };
        match (a.devices.is_empty(), b.devices.is_empty()) {
            (true, true) => {}
            (false, false) => {
                let [models_a, models_b] = [&a.devices, &b.devices].map(|devices| models(devices));
                if models_a != models_b {
                    self.add(CheckName::Device, Refuse, sided, was(&models_a, &models_b));
                }
                let [count_a, count_b] = [a.devices.len(), b.devices.len()].map(|count| count.to_string());
                if count_a != count_b {
                    self.add(CheckName::DeviceCount, Refuse, sided, was(&count_a, &count_b));
                }
            }
            _ => {
                let found = "one of the recordings does not name its devices".to_owned();
                self.add(CheckName::Device, Warn, sided, found);
            }
        }
        for (check, value_a, value_b) in
            [(CheckName::WorldSize, a.world_size, b.world_size), (CheckName::Rank, a.rank, b.rank)]
        {
            let text =
                |value: Option<i64>| value.map_or("not recorded".to_owned(), |value| value.to_string());
            if value_a != value_b {
                self.add(check, Refuse, sided, was(&text(value_a), &text(value_b)));
            }
        }
        let workload = (&first.workload, &recording.workload);
        let likeness = Likeness {
            calls: likeness_of(&workload.0.calls, &workload.1.calls),
            flops_ratio: workload.0.flops.zip(workload.1.flops).and_then(|(a, b)| ratio(a, b)),
        };
        let least = |known: Option<Likeness>| known.is_none_or(|known| likeness.calls < known.calls);
        if least(self.likeness) {
            self.likeness = Some(likeness);
        }
        let found =
            || format!("{} of the calls have the same operator and arguments", share_text(likeness.calls));
        match likeness.calls {
            calls if calls < 0.5 => self.add(CheckName::Workload, Refuse, sided, found()),
            calls if calls < 0.95 => self.add(CheckName::Workload, Warn, sided, found()),
            _ => {}
        }
        match (workload.0.flops, workload.1.flops) {
            (Some(value_a), Some(value_b)) if differs(value_a, value_b) > 0.01 => {
                let giga = |flops: f64| format!("{} GFLOP", decimal(flops / 1e9, 3));
                let found = format!("{} per step, baseline {}", giga(value_b), giga(value_a));
                self.add(CheckName::Flops, Refuse, sided, found);
            }
            (Some(_), None) | (None, Some(_)) => {
                let found = "FLOPs are known for only one of the recordings".to_owned();
                self.add(CheckName::Flops, Warn, sided, found);
            }
            _ => {}
        }
        let serving = [
            (
                CheckName::Prefill,
                workload.0.prefill_percent.zip(workload.1.prefill_percent),
                ("%", "of tokens are prompt tokens"),
                // Of shares, their difference.
                (|a: f64, b: f64| (a - b).abs() / 100.0) as fn(f64, f64) -> f64,
            ),
            (
                CheckName::BatchSize,
                workload.0.batch_size.zip(workload.1.batch_size),
                ("", "requests at a time"),
                differs as fn(f64, f64) -> f64,
            ),
        ];
        for (check, values, (unit, what), difference) in serving {
            let Some((value_a, value_b)) = values else { continue };
            let found =
                || format!("{}{unit} {what}, baseline {}{unit}", decimal(value_b, 1), decimal(value_a, 1));
            match difference(value_a, value_b) {
                by if by > 0.05 => self.add(check, Refuse, sided, found()),
                by if by > 0.01 => self.add(check, Warn, sided, found()),
                _ => {}
            }
        }
        let names: BTreeSet<&String> = a.options.keys().chain(b.options.keys()).collect();
        for name in names {
            let text = |value: bool| if value { "on" } else { "off" };
            match (a.options.get(name), b.options.get(name)) {
                (Some(&value_a), Some(&value_b)) if value_a != value_b => {
                    let found = format!("{name} is {}", was(text(value_a), text(value_b)));
                    self.add(CheckName::Options, Refuse, sided, found);
                }
                (Some(_), None) | (None, Some(_)) => {
                    let found = format!("one of the recordings does not say whether {name} was on");
                    self.add(CheckName::Options, Warn, sided, found);
                }
                _ => {}
            }
        }
        let names: BTreeSet<&String> = a.versions.keys().chain(b.versions.keys()).collect();
        let changed = names.into_iter().filter_map(|name| {
            let version =
                |setup: &Setup| setup.versions.get(name).map_or("not recorded", String::as_str).to_owned();
            let (value_a, value_b) = (version(a), version(b));
            (value_a != value_b).then(|| format!("{name} ({value_a} → {value_b})"))
        });
        let changed: Vec<String> = changed.collect();
        if !changed.is_empty() {
            self.add(CheckName::Versions, Warn, sided, format!("changed: {}", changed.join(", ")));
        }
    }
}

/// A share for people: never rounded up to all.
fn share_text(share: f64) -> String {
    format!("{}%", decimal((1000.0 * share).floor() / 10.0, 1))
}

/// How alike the calls of two recordings are; those without any are alike.
fn likeness_of(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> f64 {
    let calls = a.iter().map(|(call, &count)| (call, count));
    likeness(calls, b.iter().map(|(call, &count)| (call, count))).unwrap_or(1.0)
}

fn ratio(of: f64, value: f64) -> Option<f64> {
    (of > 0.0).then(|| value / of)
}

/// How far two amounts are apart, as a share of the larger.
fn differs(a: f64, b: f64) -> f64 {
    ratio(a.max(b), (a - b).abs()).unwrap_or(0.0)
}

/// How much the last step is longer than the first, as a share of the median: the median slope between any two steps
/// (Theil and Sen), which single slow steps do not move.
fn trend(durations: &[i64]) -> f64 {
    /// A slope between few steps is chance.
    const FEWEST: usize = 5;
    if durations.len() < FEWEST {
        return 0.0;
    }
    let pairs = (0..durations.len()).flat_map(|from| (from + 1..durations.len()).map(move |to| (from, to)));
    // In picoseconds, so that integers are exact enough.
    let mut slopes: Vec<i64> = pairs
        .map(|(from, to)| {
            let change = i128::from(durations[to]) - i128::from(durations[from]);
            i64::try_from(1000 * change / (to - from) as i128).unwrap_or(i64::MAX)
        })
        .collect();
    let (Some(slope), Some(usual)) = (median(&mut slopes), median(&mut durations.to_vec())) else {
        return 0.0;
    };
    ratio(usual, slope / 1000.0 * (durations.len() - 1) as f64).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{recording, recording_of};

    fn checked(baseline: &Recording, candidate: &Recording) -> Vec<(CheckName, CheckOutcome)> {
        let found = Comparability::new(
            std::slice::from_ref(baseline),
            std::slice::from_ref(candidate),
            &BTreeSet::new(),
            (0.02, 1),
        );
        found.checks.iter().map(|check| (check.check, check.outcome)).collect()
    }

    #[test]
    fn every_difference_is_found_and_nothing_else() {
        use CheckOutcome::{Refuse, Warn};
        type Change = fn(&mut Recording);
        let mut a = recording_of(&[("aten::mm", &[10, 10, 10]), ("aten::add", &[1, 1, 1])]);
        a.workload.flops = Some(1e9);
        a.workload.prefill_percent = Some(20.0);
        a.workload.batch_size = Some(32.0);
        a.setup.options.insert("record_shapes".to_owned(), true);
        a.setup.versions.insert("CUDA driver".to_owned(), "13.0".to_owned());
        assert_eq!(checked(&a, &a), []);
        let cases: [(Change, CheckName, CheckOutcome); 19] = [
            (|b| b.setup.recorder = "a rocprofv3 profile".to_owned(), CheckName::Recorder, Refuse),
            (|b| b.setup.devices = vec!["AMD Instinct MI300X".to_owned()], CheckName::Device, Refuse),
            (|b| b.setup.devices.clear(), CheckName::Device, Warn),
            (|b| b.setup.devices.push("NVIDIA H100".to_owned()), CheckName::DeviceCount, Refuse),
            (|b| b.setup.world_size = Some(8), CheckName::WorldSize, Refuse),
            (|b| b.setup.rank = Some(1), CheckName::Rank, Refuse),
            (|b| _ = b.workload.calls.insert("aten::mul".to_owned(), 9.0), CheckName::Workload, Refuse),
            (|b| _ = b.workload.calls.insert("aten::mul".to_owned(), 0.2), CheckName::Workload, Warn),
            (|b| b.workload.flops = Some(1.02e9), CheckName::Flops, Refuse),
            (|b| b.workload.flops = None, CheckName::Flops, Warn),
            (|b| b.workload.prefill_percent = Some(27.0), CheckName::Prefill, Refuse),
            (|b| b.workload.prefill_percent = Some(22.0), CheckName::Prefill, Warn),
            (|b| b.workload.batch_size = Some(30.0), CheckName::BatchSize, Refuse),
            (|b| _ = b.setup.options.insert("record_shapes".to_owned(), false), CheckName::Options, Refuse),
            (|b| b.setup.options.clear(), CheckName::Options, Warn),
            (|b| b.setup.truncated = true, CheckName::Truncated, Refuse),
            (|b| b.setup.linked_percent = 94.0, CheckName::Linked, Refuse),
            (|b| b.setup.faults.push("events are lost".to_owned()), CheckName::Faults, Warn),
            (|b| b.setup.versions.clear(), CheckName::Versions, Warn),
        ];
        for (change, check, outcome) in cases {
            let mut b = a.clone();
            change(&mut b);
            assert_eq!(checked(&a, &b), [(check, outcome)]);
        }
        let drifting = recording(&[100, 100, 101, 102, 103, 104]);
        assert_eq!(checked(&drifting, &drifting), [(CheckName::Trend, Warn); 2]);
    }

    #[test]
    fn what_is_allowed_warns() {
        let a = recording(&[100, 100]);
        let mut b = a.clone();
        b.setup.devices = vec!["AMD Instinct MI300X".to_owned()];
        let sides = (std::slice::from_ref(&a), std::slice::from_ref(&b));
        let refused = Comparability::new(sides.0, sides.1, &BTreeSet::new(), (0.02, 1));
        assert!(refused.is_refused());
        let allowed = BTreeSet::from([CheckName::Device]);
        let found = Comparability::new(sides.0, sides.1, &allowed, (0.02, 1));
        assert!(!found.is_refused());
        assert_eq!(found.checks[0].outcome, CheckOutcome::Allowed);
        assert_eq!(found.checks[0].found, "AMD Instinct MI300X, baseline NVIDIA H100");
        assert!("versions".parse::<CheckName>().is_err() && "flops".parse::<CheckName>().is_ok());
    }

    #[test]
    fn a_trend_is_not_one_slow_step() {
        assert_eq!(trend(&[100, 100, 900, 100, 100, 100]), 0.0);
        assert!((trend(&[100, 101, 102, 103, 104]) - 4.0 / 102.0).abs() < 1e-12);
        assert_eq!(trend(&[1, 2, 3]), 0.0);
    }
}
