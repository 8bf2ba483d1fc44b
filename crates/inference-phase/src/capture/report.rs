//! What became of every graph launch.

use std::collections::BTreeMap;
use std::fmt;

use trace_ingest::EventId;

use super::align::{Mismatch, Pairing};

/// What [`merge`](super::merge()) did, launch by launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// The graph launches, by start.
    pub launches: Vec<GraphLaunch>,
}

/// One graph launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLaunch {
    /// The call.
    pub launch: EventId,
    /// Annotation of the engine step that made it.
    pub step: Option<EventId>,
    /// Number of kernels, copies and fills that it started.
    pub device_events: usize,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a graph launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its device events hang below the calls that they were captured from.
    Merged {
        /// Index in [`CaptureLibrary::files`](super::CaptureLibrary::files).
        file: usize,
        /// Which capture of the file, counted from 0.
        capture: usize,
        /// How device events and calls were paired.
        pairing: Pairing,
        /// Pairs that rest on order and number alone, because no name was recorded for the call.
        unverified: usize,
    },
    /// It is as it was.
    Skipped(SkipReason),
}

/// Why a graph launch is as it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// No device event of it was recorded, or they were moved elsewhere before.
    NoDeviceEvents,
    /// No step is annotated around it, and the folder has captures of several sizes.
    NoStep,
    /// No capture is as large as its step.
    NoCaptureOfSize {
        /// Tokens of the step.
        tokens: i64,
    },
    /// The captures of its size could not be read, or there are none in their files.
    NoCaptures,
    /// The capture has several graphs, and not as many as the step launches.
    GraphCount {
        /// Graph launches of the step.
        launches: usize,
        /// Graphs of the capture.
        captures: usize,
    },
    /// Its device events are not those of the capture.
    Mismatch(Mismatch),
    /// Only captures of another size have as many calls, and no names that would speak for one of them.
    Unnamed,
    /// The tree could not be edited; what it said.
    NotEdited(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::NoDeviceEvents => f.write_str("no device event was recorded for the launch"),
            SkipReason::NoStep => {
                f.write_str("no engine step is annotated around the launch to choose the size of the capture by")
            }
            SkipReason::NoCaptureOfSize { tokens } => {
                write!(f, "no capture is large enough for a step of {tokens} tokens")
            }
            SkipReason::NoCaptures => f.write_str("the capture's trace has no usable capture"),
            SkipReason::GraphCount { launches, captures } => {
                write!(f, "the step launches {launches} graphs, its capture has {captures}")
            }
            SkipReason::Mismatch(Mismatch::Counts) => {
                f.write_str("the device events do not match the captured calls in number")
            }
            SkipReason::Mismatch(Mismatch::Names) => {
                f.write_str("the device events do not match the captured calls by name")
            }
            SkipReason::Mismatch(Mismatch::Unnamed) => f.write_str(
                "the device events ran on several streams, and the capture does not name the launched kernels",
            ),
            SkipReason::Unnamed => {
                f.write_str("no kernel names tell which of the captures of other sizes was launched")
            }
            SkipReason::NotEdited(error) => write!(f, "the tree could not be edited: {error}"),
        }
    }
}

impl MergeReport {
    /// Number of launches that were merged.
    #[must_use]
    pub fn merged(&self) -> usize {
        self.launches.iter().filter(|launch| launch.is_merged()).count()
    }

    /// Number of device events of all launches.
    #[must_use]
    pub fn device_events(&self) -> usize {
        self.launches.iter().map(|launch| launch.device_events).sum()
    }

    /// Number of device events that have got the call that they were captured from.
    #[must_use]
    pub fn merged_device_events(&self) -> usize {
        let merged = self.launches.iter().filter(|launch| launch.is_merged());
        merged.map(|launch| launch.device_events).sum()
    }

    /// Number of these that no name speaks for, only their place among the others.
    #[must_use]
    pub fn unverified_device_events(&self) -> usize {
        let unverified = |launch: &GraphLaunch| match launch.outcome {
            Outcome::Merged { unverified, .. } => unverified,
            Outcome::Skipped(_) => 0,
        };
        self.launches.iter().map(unverified).sum()
    }

    /// Why launches are as they were, with the number of launches for each reason, the most frequent first.
    #[must_use]
    pub fn skipped(&self) -> Vec<(SkipReason, usize)> {
        let mut counts: BTreeMap<&SkipReason, usize> = BTreeMap::new();
        for launch in &self.launches {
            if let Outcome::Skipped(reason) = &launch.outcome {
                *counts.entry(reason).or_default() += 1;
            }
        }
        let mut counts: Vec<(SkipReason, usize)> =
            counts.into_iter().map(|(reason, count)| (reason.clone(), count)).collect();
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        counts
    }
}

impl GraphLaunch {
    /// Whether its device events hang below the calls that they were captured from.
    #[must_use]
    pub fn is_merged(&self) -> bool {
        matches!(self.outcome, Outcome::Merged { .. })
    }
}
