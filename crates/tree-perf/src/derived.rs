//! What several sheets are made from: computed from an analysis when it is first asked for, and kept in it.
//!
//! These are values only, so that [`Analysis`](crate::Analysis) can keep them and the modules that compute them can
//! stand above it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use gpu_timeline::{Breakdown, WaitCause};
use operator_sheets::{Figures, OpCategory, Roof};
use perf_models::{Category, Family};
use trace_ingest::{EventId, StringId};
use trace2tree::EventSet;

use crate::gap_causes::GapCauses;
use crate::memory::MemoryUse;
use crate::models::AnswerId;

/// Each is filled by the module that computes it.
#[derive(Default)]
pub(crate) struct Derived {
    pub(crate) unified: OnceLock<Vec<UnifiedRow>>,
    pub(crate) charged: OnceLock<EventSet>,
    pub(crate) unlinked: OnceLock<Vec<UnlinkedEvent>>,
    pub(crate) timelines_of_devices: OnceLock<Vec<DeviceTimeline>>,
    pub(crate) roofs: OnceLock<Vec<Roof>>,
    pub(crate) roofline_members: OnceLock<RooflineMembers>,
    /// Calls that the lists of kernels leave out.
    pub(crate) calls_outside_lists: OnceLock<usize>,
    pub(crate) idle: OnceLock<IdleRows>,
    pub(crate) gap_causes: OnceLock<GapCauses>,
    pub(crate) host_operators: OnceLock<Vec<HostOperator>>,
    /// `None` where memory was not recorded.
    pub(crate) memory: OnceLock<Option<MemoryUse>>,
}

/// A device event whose launch is not recorded.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UnlinkedEvent {
    /// The event.
    pub event: EventId,
    /// Kind of work, as its name says.
    pub class: Category,
    /// Whether it was launched before the recording began: its correlation id is smaller than that of any recorded call, or it
    /// ran before all others of its queue whose launch is recorded, and the recording has no call with its correlation.
    pub is_from_before: bool,
}

impl UnlinkedEvent {
    /// What stands for the operator in tables.
    pub(crate) fn operator(&self) -> &'static str {
        if self.is_from_before { "(launched before recording)" } else { "(launch not recorded)" }
    }
}

/// What a device did in its window.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DeviceTimeline {
    /// The device, by its index.
    pub device: i64,
    /// The window in parts that add up to it.
    pub breakdown: Breakdown,
    /// Whether the window is that of several devices of one process: from the first start on any of them to the last end.
    pub shares_window: bool,
}

/// The waits of a stream or a device that have one cause and waited for calls or kernels of one name. Times are in the
/// trace's unit.
#[derive(Clone, Copy)]
pub(crate) struct IdleRow {
    pub(crate) device: Option<i64>,
    /// `None` in rows of devices, and of events that name no stream.
    pub(crate) stream: Option<i64>,
    pub(crate) cause: WaitCause,
    /// The call of the host, the event of the other stream, or the operator that launched late.
    pub(crate) waited_for: Option<StringId>,
    /// Those without length included.
    pub(crate) waits: usize,
    pub(crate) time: i64,
    pub(crate) longest: i64,
    /// Time of all waits of the stream or device.
    pub(crate) idle: i64,
    /// From its first start to its last end.
    pub(crate) span: i64,
}

/// The waits of all devices and streams.
pub(crate) struct IdleRows {
    pub(crate) per_device: Vec<IdleRow>,
    pub(crate) per_stream: Vec<IdleRow>,
}

/// An operator that the host ran.
pub(crate) struct HostOperator {
    pub(crate) operator: EventId,
    /// Its duration without those of the operators directly inside it on its thread, in the trace's time unit.
    pub(crate) self_time: i64,
    /// Kind of work by its name.
    pub(crate) category: OpCategory,
}

/// Where the figures of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FiguresFrom {
    /// The operator's own model.
    Own,
    /// The backward figures of this forward operator's model: the row is its only backward operator.
    BackwardOf(EventId),
    /// No model.
    Nowhere,
}

/// One operator with the device events that it is charged.
pub(crate) struct ChargedOperator {
    pub(crate) operator: EventId,
    /// In file order of their launches.
    pub(crate) device_events: Vec<EventId>,
    pub(crate) figures: FiguresFrom,
    /// The row stands for one device event of an operator that does more; the event names the row too.
    pub(crate) is_leftover: bool,
}

/// One operator with the device events that it accounts for, and the figures of its model.
pub(crate) struct UnifiedRow {
    pub(crate) charged: ChargedOperator,
    pub(crate) category: OpCategory,
    /// Time in which at least one of the device events ran.
    pub(crate) time: i64,
    /// Whether the device events are recorded copies, whose size says more than a model.
    pub(crate) is_copy: bool,
    /// What the model says; `None` where there is none.
    pub(crate) answer: Option<AnswerId>,
    pub(crate) figures: Option<Figures>,
}

/// What a sheet is about: operators of a built-in family, or those that an extension puts under a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Family(Family),
    Own(Arc<str>),
}

/// The operators that an extension puts in sheets.
#[derive(Default)]
pub(crate) struct RooflineMembers {
    pub(crate) calls: BTreeMap<Subject, Vec<EventId>>,
    /// Names whose sheets the extension decides; they stand in no others.
    pub(crate) decided: BTreeSet<StringId>,
}
