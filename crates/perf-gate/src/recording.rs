//! What a gate keeps of a recording: the times of its steps, what each unit of work took in them, and what makes it
//! comparable with others.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Units kept one by one; the others are summed up.
pub const MOST_UNITS: usize = 500;

/// Steps whose times are kept.
pub const MOST_STEPS: usize = 256;

/// A recording of one version of a program. All times are in nanoseconds, per step in the order of
/// [`Recording::steps`].
///
/// Every nanosecond of a step belongs to one part: a unit's computation or copy, exposed communication, or idle time.
/// So the parts add up to the step, and their changes to the step's change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recording {
    /// Name of the file.
    pub file: String,
    /// Hash of the bytes on disk, in hexadecimal digits.
    pub hash: String,
    /// The job it was recorded in, if the user gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Hash of the host name, if recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// When it was recorded, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<i64>,
    /// How it was recorded.
    pub setup: Setup,
    /// The workload, for comparison with others.
    pub workload: Workload,
    /// The complete steps, at most [`MOST_STEPS`].
    pub steps: Steps,
    /// The units of work with the most time, at most [`MOST_UNITS`].
    pub units: Vec<Unit>,
    /// All other units combined.
    pub rest: Rest,
    /// Exposed communication of each step.
    pub exposed_communication: Vec<i64>,
    /// Idle time of each step.
    pub idle: Vec<i64>,
    /// Number of kernels, copies and fills in each step.
    pub kernels: Vec<u32>,
}

/// Recorder, options and machine of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Kind of the recording, such as `an event trace`.
    pub recorder: String,
    /// Names of the devices that worked.
    pub devices: Vec<String>,
    /// Rank in a distributed job.
    pub rank: Option<i64>,
    /// Number of ranks in the job.
    pub world_size: Option<i64>,
    /// Profiler options, where recorded.
    pub options: BTreeMap<String, bool>,
    /// Versions of drivers, runtimes and libraries, where recorded.
    pub versions: BTreeMap<String, String>,
    /// Whether units name their `nn.Module`.
    pub modules: bool,
    /// Whether part of the file is lost.
    pub truncated: bool,
    /// Percentage of device time in events whose launch was recorded.
    pub linked_percent: f64,
    /// Problems that make figures unreliable, one sentence each.
    pub faults: Vec<String>,
}

/// The workload per step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Calls of each operator with device work, by a hash of its name and its arguments' shapes and types.
    pub calls: BTreeMap<String, f64>,
    /// Floating-point operations covered by performance models.
    pub flops: Option<f64>,
    /// Percentage of tokens that belong to prompts, for inference engines.
    pub prefill_percent: Option<f64>,
    /// Concurrent requests, for inference engines.
    pub batch_size: Option<f64>,
}

/// The steps of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steps {
    /// Kind of step, such as `step`.
    pub kind: String,
    /// Evidence for the steps, such as `recorded steps`.
    pub evidence: String,
    /// Number of recorded steps.
    pub recorded: usize,
    /// Index of each step among the recorded steps.
    pub index: Vec<usize>,
    /// Length of each step on the device: the sum of its parts.
    pub duration: Vec<i64>,
}

/// A unit of work: one kernel of one operator, with one set of arguments, in one module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unit {
    /// Name of the operator; empty if no operator launched the kernel.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub op: String,
    /// Shapes of its arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dims: String,
    /// Types of its arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub types: String,
    /// Its `nn.Module`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub module: String,
    /// Name of the kernel or copy.
    pub kernel: String,
    /// Number of calls of the operator per step.
    pub calls: f64,
    /// Total duration in each step.
    pub kernel_time: Vec<i64>,
    /// Its own part of each step: like [`Unit::kernel_time`], but overlapping time counts toward only one unit. Null if
    /// both are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_time: Option<Vec<i64>>,
}

impl Unit {
    /// Its own part of each step.
    #[must_use]
    pub fn own_time(&self) -> &[i64] {
        self.own_time.as_deref().unwrap_or(&self.kernel_time)
    }

    /// Its name in the ledger: the operator, or the kernel without one.
    #[must_use]
    pub fn name(&self) -> &str {
        if self.op.is_empty() { &self.kernel } else { &self.op }
    }
}

/// The remaining units, combined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rest {
    /// Their number.
    pub units: usize,
    /// Their own part of each step.
    pub own_time: Vec<i64>,
}

/// Faults in the figures of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    /// A list's length is not the number of steps.
    #[error("{list} has {found} values for {steps} steps")]
    Length {
        /// The list.
        list: &'static str,
        /// Its length.
        found: usize,
        /// The steps.
        steps: usize,
    },
    /// The parts of a step are not the step.
    #[error("the parts of step {step} add up to {sum} ns, but the step takes {duration} ns")]
    Sum {
        /// Index of the step.
        step: usize,
        /// Sum of the parts.
        sum: i128,
        /// The step.
        duration: i64,
    },
    /// A time, a count or a share is below 0 or not a number.
    #[error("{list} has a value that is negative or not a number")]
    Range {
        /// The list.
        list: &'static str,
    },
    /// More is kept than a recording may have.
    #[error("{list} has {found} entries, more than the limit of {most}")]
    TooMany {
        /// The list.
        list: &'static str,
        /// Its length.
        found: usize,
        /// The most that it may have.
        most: usize,
    },
}

impl Recording {
    /// Checks that all lists are of the same steps and that the parts of each step add up to it.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check(&self) -> Result<(), Inconsistent> {
        let steps = self.steps.duration.len();
        let limits = [("steps", steps, MOST_STEPS), ("units", self.units.len(), MOST_UNITS)];
        if let Some(&(list, found, most)) = limits.iter().find(|&&(_, found, most)| found > most) {
            return Err(Inconsistent::TooMany { list, found, most });
        }
        let times = [
            ("steps.duration", &self.steps.duration),
            ("rest.own_time", &self.rest.own_time),
            ("exposed_communication", &self.exposed_communication),
            ("idle", &self.idle),
        ];
        let unit_lists = self.units.iter().flat_map(|unit| {
            let own = unit.own_time.iter().map(|own| ("units.own_time", own));
            own.chain([("units.kernel_time", &unit.kernel_time)])
        });
        for (list, values) in times.into_iter().chain(unit_lists) {
            if values.len() != steps {
                return Err(Inconsistent::Length { list, found: values.len(), steps });
            }
            if values.iter().any(|&value| value < 0) {
                return Err(Inconsistent::Range { list });
            }
        }
        for (list, found) in [("steps.index", self.steps.index.len()), ("kernels", self.kernels.len())] {
            if found != steps {
                return Err(Inconsistent::Length { list, found, steps });
            }
        }
        let is_amount = |value: &f64| value.is_finite() && *value >= 0.0;
        let amounts = [self.workload.flops, self.workload.prefill_percent, self.workload.batch_size];
        let all_amounts = amounts.iter().flatten().chain(self.workload.calls.values());
        if !all_amounts.chain(self.units.iter().map(|unit| &unit.calls)).all(is_amount) {
            return Err(Inconsistent::Range { list: "workload" });
        }
        if !is_amount(&self.setup.linked_percent) {
            return Err(Inconsistent::Range { list: "setup.linked_percent" });
        }
        for (step, &duration) in self.steps.duration.iter().enumerate() {
            let parts = [&self.rest.own_time, &self.exposed_communication, &self.idle];
            let part_times = parts.into_iter().map(|part| i128::from(part[step]));
            let unit_times = self.units.iter().map(|unit| i128::from(unit.own_time()[step]));
            let sum = part_times.chain(unit_times).sum();
            if sum != i128::from(duration) {
                return Err(Inconsistent::Sum { step, sum, duration });
            }
        }
        Ok(())
    }

    /// Places of the steps that count: all but the first `warmup` that were recorded. A recording of fewer steps counts
    /// with its last one.
    #[must_use]
    pub fn counted_steps(&self, warmup: usize) -> std::ops::Range<usize> {
        let steps = self.steps.duration.len();
        let first = self.steps.index.partition_point(|&index| index < warmup);
        first.min(steps.saturating_sub(1))..steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::recording;

    #[test]
    fn parts_add_up_to_steps() {
        let sound = recording(&[100, 101, 102, 103]);
        assert_eq!(sound.check(), Ok(()));
        let mut longer = sound.clone();
        longer.idle[2] += 1;
        assert!(matches!(longer.check(), Err(Inconsistent::Sum { step: 2, .. })));
        let mut shorter = sound.clone();
        shorter.idle.pop();
        assert_eq!(shorter.check(), Err(Inconsistent::Length { list: "idle", found: 3, steps: 4 }));
        let mut below = sound;
        below.units[0].kernel_time[0] = -1;
        assert_eq!(below.check(), Err(Inconsistent::Range { list: "units.kernel_time" }));
    }

    #[test]
    fn warm_up_is_left_out_unless_nothing_else_is_there() {
        let mut recorded = recording(&[100, 101, 102]);
        assert_eq!(recorded.counted_steps(1), 1..3);
        assert_eq!(recorded.counted_steps(7), 2..3);
        // The first was cut off and is not among them.
        recorded.steps.index = vec![1, 2, 3];
        assert_eq!(recorded.counted_steps(1), 0..3);
    }
}
