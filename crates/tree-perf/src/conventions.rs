//! The rules on which reports of operators differ.

use operator_sheets::MissingPeak;
use perf_models::{PeakBasis, Tables};
use sheets::{Layout, Scope};

/// How figures are made and shown where reports of other tools differ from ours. The default is ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    /// How much a report tells.
    pub scope: Scope,
    /// Which columns tables have, and in which order.
    pub layout: Layout,
    /// Whether the timeline and the tables of work have device events whose launch is not recorded.
    pub unlinked: UnlinkedRule,
    /// What decides the kind of work of device events.
    pub categories: CategoryRule,
    /// Whether operators account for communication.
    pub communication: CommunicationRule,
    /// Which operators have a model.
    pub models: Tables,
    /// What work is held against.
    pub roofline: RooflineRule,
    /// What becomes of a roofline whose peak the architecture does not state.
    pub missing_peak: MissingPeak,
    /// Which peaks count where nobody says it.
    pub peak_basis: PeakBasis,
    /// What tells recomputed work.
    pub recompute: RecomputeRule,
    /// Which element types of collectives have a size.
    pub message_types: MessageTypes,
    /// Whether device events keep recorded ends that lie far behind the start of the next one of their queue.
    pub keep_overruns: bool,
}

/// Whether the timeline and the tables of work have device events whose launch is not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnlinkedRule {
    /// As all others: the device was busy with them.
    #[default]
    Counted,
    /// Only where [`AnalysisOptions::include_unlinked_kernels`](crate::AnalysisOptions::include_unlinked_kernels) asks for
    /// them, in the timeline alone.
    LeftOut,
}

/// What decides the kind of work of device events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CategoryRule {
    /// What each device event does: an operator that does work of several kinds is divided among them.
    #[default]
    EachKernel,
    /// The operator's name, else its first kernel, for all that the operator launched.
    FirstKernel,
}

/// Whether operators account for communication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommunicationRule {
    /// As for all other work.
    #[default]
    Included,
    /// The tables of operators leave it out.
    LeftOut,
}

/// What work is held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RooflineRule {
    /// What ran: a copy against its link, products in FP32 against the units that the kernel's name tells, and a cache explains
    /// what is faster than the memory.
    #[default]
    Executed,
    /// What the model of the operator says, copies included.
    Model,
}

/// What tells recomputed work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecomputeRule {
    /// Python frames, and forward calls that run in the backward pass.
    #[default]
    FramesAndCalls,
    /// Python frames alone.
    Frames,
}

/// Which element types of collectives have a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageTypes {
    /// All whose size is known.
    #[default]
    All,
    /// All but `Char` and the types of FP8.
    WithoutCharAndFp8,
}

impl Conventions {
    pub(crate) fn is_full(&self) -> bool {
        self.scope == Scope::Full
    }

    pub(crate) fn counts_unlinked(&self) -> bool {
        self.unlinked == UnlinkedRule::Counted
    }

    pub(crate) fn divides_by_kernel(&self) -> bool {
        self.categories == CategoryRule::EachKernel
    }

    pub(crate) fn includes_communication(&self) -> bool {
        self.communication == CommunicationRule::Included
    }

    pub(crate) fn judges_executed_work(&self) -> bool {
        self.roofline == RooflineRule::Executed
    }
}
