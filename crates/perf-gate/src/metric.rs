//! What of a recording is gated.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::recording::{Recording, Unit};

/// A figure that every step of a recording has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// How long the device takes for a step, waiting included.
    StepWall,
    /// Time in which the device works.
    GpuBusy,
    /// Time in which nothing runs.
    Idle,
    /// Time with communication and nothing else.
    ExposedCommunication,
    /// Kernels, copies and fills. They are counted, not timed.
    KernelCount,
    /// Kernel time of an operator.
    Op(String),
    /// Kernel time of what ran in an `nn.Module` of this name.
    Module(String),
    /// Time of a kernel.
    Kernel(String),
}

/// A text that names no metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a metric; choose step_wall, gpu_busy, idle, exposed_comm, kernel_count, op:NAME, module:NAME or kernel:NAME"
)]
pub struct UnknownMetric(String);

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        let named = |kind: fn(String) -> Metric, name: &str| match name {
            "" => Err(UnknownMetric(text.to_owned())),
            name => Ok(kind(name.to_owned())),
        };
        match (text, text.split_once(':')) {
            ("step_wall", _) => Ok(Metric::StepWall),
            ("gpu_busy", _) => Ok(Metric::GpuBusy),
            ("idle", _) => Ok(Metric::Idle),
            ("exposed_comm", _) => Ok(Metric::ExposedCommunication),
            ("kernel_count", _) => Ok(Metric::KernelCount),
            (_, Some(("op", name))) => named(Metric::Op, name),
            (_, Some(("module", name))) => named(Metric::Module, name),
            (_, Some(("kernel", name))) => named(Metric::Kernel, name),
            _ => Err(UnknownMetric(text.to_owned())),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::StepWall => f.write_str("step_wall"),
            Metric::GpuBusy => f.write_str("gpu_busy"),
            Metric::Idle => f.write_str("idle"),
            Metric::ExposedCommunication => f.write_str("exposed_comm"),
            Metric::KernelCount => f.write_str("kernel_count"),
            Metric::Op(name) => write!(f, "op:{name}"),
            Metric::Module(name) => write!(f, "module:{name}"),
            Metric::Kernel(name) => write!(f, "kernel:{name}"),
        }
    }
}

impl Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Metric {
    /// Whether it counts what is not timed, so that no statistics are needed.
    #[must_use]
    pub fn is_count(&self) -> bool {
        matches!(self, Metric::KernelCount)
    }

    /// Its values in the steps of a recording that count: nanoseconds, or a number of kernels.
    #[must_use]
    pub fn values(&self, recording: &Recording, warmup: usize) -> Vec<i64> {
        let steps = recording.counted_steps(warmup);
        let unit_times = |is_meant: &dyn Fn(&Unit) -> bool| -> Vec<i64> {
            let meant: Vec<&Unit> = recording.units.iter().filter(|unit| is_meant(unit)).collect();
            steps.clone().map(|step| meant.iter().map(|unit| unit.kernel_time[step]).sum()).collect()
        };
        match self {
            Metric::StepWall => recording.steps.duration[steps].to_vec(),
            Metric::GpuBusy => {
                let (durations, idle) = (&recording.steps.duration, &recording.idle);
                steps.map(|step| durations[step] - idle[step]).collect()
            }
            Metric::Idle => recording.idle[steps].to_vec(),
            Metric::ExposedCommunication => recording.exposed_communication[steps].to_vec(),
            Metric::KernelCount => recording.kernels[steps].iter().map(|&count| i64::from(count)).collect(),
            Metric::Op(name) | Metric::Module(name) | Metric::Kernel(name) => {
                unit_times(&|unit| self.name_in(unit) == Some(name))
            }
        }
    }

    /// The name of the work that it measures; `None` if it measures all work.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Metric::Op(name) | Metric::Module(name) | Metric::Kernel(name) => Some(name),
            _ => None,
        }
    }

    /// What a unit of work is called where the metric names work.
    pub(crate) fn name_in<'u>(&self, unit: &'u Unit) -> Option<&'u str> {
        match self {
            Metric::Op(_) => Some(&unit.op),
            Metric::Module(_) => Some(&unit.module),
            Metric::Kernel(_) => Some(&unit.kernel),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::recording_of;

    #[test]
    fn metrics_are_read_as_they_are_written() {
        for text in
            ["step_wall", "gpu_busy", "idle", "exposed_comm", "kernel_count", "op:aten::mm", "module:a:b"]
        {
            assert_eq!(text.parse::<Metric>().unwrap().to_string(), text);
        }
        for text in ["", "op:", "wall", "op", "category:GEMM"] {
            assert!(text.parse::<Metric>().is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_those_of_the_steps_that_count() {
        let mut recording = recording_of(&[("aten::mm", &[10, 20, 30]), ("aten::add", &[1, 2, 3])]);
        recording.idle = vec![5, 6, 7];
        for step in 0..3 {
            recording.steps.duration[step] += recording.idle[step];
        }
        for (metric, expected) in [
            (Metric::StepWall, [28, 40]),
            (Metric::GpuBusy, [22, 33]),
            (Metric::Idle, [6, 7]),
            (Metric::ExposedCommunication, [0, 0]),
            (Metric::KernelCount, [2, 2]),
            (Metric::Op("aten::add".to_owned()), [2, 3]),
            (Metric::Kernel("kernel of aten::mm".to_owned()), [20, 30]),
            (Metric::Module("Linear".to_owned()), [0, 0]),
        ] {
            assert_eq!(metric.values(&recording, 1), expected, "{metric}");
        }
    }
}
