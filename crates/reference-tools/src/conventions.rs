//! The conventions of other tools.

use multi_rank::{
    BandwidthRule, ClockMode, LabelRule, MetadataRule, Pairing, RankColumns, Rounding, ShareRule,
    SynchronisingRule, TieRule,
};
use operator_sheets::MissingPeak;
use perf_models::{PeakBasis, Tables};
use rocprof_perf::{
    Cumulation, KernelCategories, LaunchRule, OverlapRule, Processes, TimeUnits, TimelineRule,
};
use sheets::{Layout, Scope};
use tree_perf::{CategoryRule, CommunicationRule, MessageTypes, RecomputeRule, RooflineRule, UnlinkedRule};
use xla_perf::WorkRule;

/// The conventions of each kind of report. The default is ours.
#[derive(Clone, Debug, Default)]
pub struct Conventions {
    /// Of traces.
    pub traces: tree_perf::Conventions,
    /// Of XPlane profiles.
    pub xla: xla_perf::Conventions,
    /// Of rocprofv3 profiles.
    pub rocprof: rocprof_perf::Conventions,
    /// Of jobs of many ranks.
    pub ranks: multi_rank::Conventions,
    /// Of Tenstorrent's operations.
    pub tenstorrent: metal_perf::Conventions,
    /// Of critical paths.
    pub critical_path: critical_path::Conventions,
}

/// Those of TraceLens 171dd747, where it is known to be wrong, too.
#[must_use]
pub fn tracelens() -> Conventions {
    Conventions {
        traces: tree_perf::Conventions {
            scope: Scope::Core,
            layout: Layout::Listed,
            unlinked: UnlinkedRule::LeftOut,
            categories: CategoryRule::FirstKernel,
            communication: CommunicationRule::LeftOut,
            models: Tables::Common,
            roofline: RooflineRule::Model,
            missing_peak: MissingPeak::NoRoofline,
            peak_basis: PeakBasis::Achievable,
            recompute: RecomputeRule::Frames,
            message_types: MessageTypes::WithoutCharAndFp8,
            keep_overruns: true,
        },
        xla: xla_perf::Conventions {
            scope: Scope::Core,
            layout: Layout::Listed,
            work: WorkRule::LibraryKernel,
            peak_basis: PeakBasis::Achievable,
        },
        rocprof: rocprof_perf::Conventions {
            scope: Scope::Core,
            layout: Layout::Listed,
            categories: KernelCategories::Short,
            units: TimeUnits::AThousandthBelow,
            processes: Processes::First,
            cumulation: Cumulation::AsFound,
            overlap: OverlapRule::Pairs,
            launches: LaunchRule::Number,
            timeline: TimelineRule::Processes,
            unknown_agent: Some("0"),
        },
        ranks: multi_rank::Conventions {
            scope: Scope::Core,
            layout: Layout::Listed,
            pairing: Some(Pairing::Position),
            clock: Some(ClockMode::Raw),
            metadata: MetadataRule::Recorded,
            labels: LabelRule::GroupName,
            synchronising: SynchronisingRule::Listed,
            bandwidth: BandwidthRule::Any,
            ties: TieRule::ByOrder,
            shares: ShareRule::Job,
            rounding: Rounding::Tenths,
            rank_columns: RankColumns::Always,
        },
        ..Conventions::default()
    }
}

/// Those of tt-perf-report 1.4.1, where it is held to be wrong, too.
#[must_use]
pub fn tt_perf_report() -> Conventions {
    Conventions {
        tenstorrent: metal_perf::Conventions {
            scope: Scope::Core,
            layout: Layout::Listed,
            first_signposts: true,
            merges_by_front: true,
            plain_csv: true,
            kinds_by_name: true,
            traffic_of_matmul_only: true,
            blank_without_traffic: true,
            one_product_per_convolution: true,
            absent_is_on: true,
            one_timeline: true,
            silent_above_hundred: true,
            drops_unplaced: true,
            short_host_names: true,
            listed_attention_only: true,
            no_buffers: true,
            weighs_all_devices: true,
            keeps_grid_if_both_bound: true,
            fidelity_with_config_only: true,
        },
        ..Conventions::default()
    }
}

/// Those of Holistic Trace Analysis 0.5.0 about critical paths, where it is held to be wrong, too. Its tables are
/// [`hta_sheets`](crate::hta_sheets).
#[must_use]
pub fn hta() -> Conventions {
    Conventions {
        critical_path: critical_path::Conventions {
            ignores_locks: true,
            keeps_threads_apart: true,
            links_any_gap: true,
            subtracts_overlap: true,
            one_work_per_call: true,
            ignores_instant_calls: true,
            merges_devices: true,
            ignores_operators_on_streams: true,
            closes_innermost: true,
            unqueued_calls: &["cuLaunchKernelEx"],
        },
        ..Conventions::default()
    }
}
