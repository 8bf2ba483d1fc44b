//! Calls of instructions that a row of a sheet stands for, and the columns of their times and figures.

use gpu_timeline::Summary;
use perf_models::ComputeSpec;
use trace_ingest::EventId;

use super::ops_summary::stem;
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::executions::Call;
use crate::operators::Operator;
use gpu_timeline::Spread;
use operator_sheets::{AGGREGATES, Figures};
use operator_sheets::{KernelList, ListedKernel};

/// Calls of one row, by their first kernel's uid; never empty.
pub(crate) struct CallGroup<'a> {
    pub(crate) calls: Vec<&'a Call>,
}

impl<'a> CallGroup<'a> {
    /// The instruction of the first call.
    pub(crate) fn operator(&self, analysis: &'a JaxAnalysis) -> &'a Operator {
        &analysis.operators()[self.calls[0].operator]
    }

    /// Sum over calls of the time in which at least one kernel of the call ran, in picoseconds.
    pub(crate) fn time(&self) -> i64 {
        self.calls.iter().map(|call| call.time).sum()
    }

    pub(super) fn times(&self) -> Vec<i64> {
        self.calls.iter().map(|call| call.time).collect()
    }

    /// Name of the first call's instruction without its number.
    pub(crate) fn name(&self, analysis: &'a JaxAnalysis) -> &'a str {
        stem(&self.operator(analysis).name)
    }

    /// The first kernel.
    pub(crate) fn first(&self, analysis: &JaxAnalysis) -> EventId {
        let first = self.calls[0].kernels.iter().min().copied().unwrap_or_default();
        analysis.device_events()[first].event
    }

    /// UID of the first kernel.
    pub(super) fn uid(&self, analysis: &JaxAnalysis) -> Option<i64> {
        Some(i64::from(analysis.trace().events().uid(self.first(analysis))))
    }

    /// Calls in executions of a program that are not warm-up, and in none.
    pub(super) fn steady(&self, analysis: &JaxAnalysis) -> Vec<&'a Call> {
        let is_warm_up =
            |call: &Call| call.execution.is_some_and(|execution| analysis.executions()[execution].is_warm_up);
        self.calls.iter().copied().filter(|call| !is_warm_up(call)).collect()
    }

    /// The calls' work held against their times; `None` where there are no FLOPs.
    pub(crate) fn figures(&self, analysis: &'a JaxAnalysis) -> impl Iterator<Item = Option<Figures>> {
        self.calls.iter().map(move |call| figures(analysis, call))
    }

    /// The calls' kernels, position by position.
    pub(super) fn kernels(&self, analysis: &JaxAnalysis) -> KernelList {
        let listed = |&at: &usize| {
            let event = &analysis.device_events()[at];
            ListedKernel { stream: Some(event.stream), ..ListedKernel::of(analysis.trace(), event.event) }
        };
        KernelList::summarise(analysis.trace(), self.calls.iter().map(|call| &call.kernels[..]), listed)
    }
}

/// The work of a call held against its time; `None` where there are no FLOPs.
pub(super) fn figures(analysis: &JaxAnalysis, call: &Call) -> Option<Figures> {
    let operator = &analysis.operators()[call.operator];
    let work = &operator.work.as_ref()?.forward;
    Figures::of(work, operator.spec(), analysis.us(call.time), analysis.architecture())
}

/// Groups the calls that the keywords keep by a key, most time first.
pub(super) fn call_groups<'a, Key: Eq + std::hash::Hash>(
    analysis: &'a JaxAnalysis,
    key: impl Fn(&'a Call) -> Option<Key>,
) -> Vec<CallGroup<'a>> {
    let mut positions = hashbrown::HashMap::new();
    let mut groups: Vec<CallGroup<'a>> = Vec::new();
    for call in analysis.calls().iter().filter(|call| analysis.keeps(call.operator)) {
        let Some(key) = key(call) else { continue };
        let position = *positions.entry(key).or_insert(groups.len());
        match groups.get_mut(position) {
            Some(group) => group.calls.push(call),
            None => groups.push(CallGroup { calls: vec![call] }),
        }
    }
    // They are in the order of their first calls, which decides between equal times.
    groups.sort_by_key(|group| std::cmp::Reverse(group.time()));
    groups
}

/// Statistics of durations in the order of the columns, with the name of the column's last part.
pub(super) const DURATIONS: [&str; 6] = ["mean", "median", "std", "min", "max", "sum"];

/// Appends a column per statistic of durations: `<column>_<statistic>`, in µs.
pub(super) fn append_durations(
    frame: &mut FrameBuilder,
    analysis: &JaxAnalysis,
    column: &str,
    durations: &[Vec<i64>],
) {
    for statistic in DURATIONS {
        append_duration(frame, analysis, column, statistic, durations);
    }
}

/// Appends one of these columns.
pub(super) fn append_duration(
    frame: &mut FrameBuilder,
    analysis: &JaxAnalysis,
    column: &str,
    statistic: &str,
    durations: &[Vec<i64>],
) {
    let unit = analysis.trace().time_unit().per_microsecond() as f64;
    let value = |durations: &Vec<i64>| Some(figure(&Summary::of(durations)?, statistic)? / unit);
    frame.float(&format!("{column}_{statistic}"), durations.iter().map(value));
}

fn figure(summary: &Summary, statistic: &str) -> Option<f64> {
    match statistic {
        "mean" => Some(summary.mean),
        "median" => Some(summary.median),
        "std" => summary.sample_std,
        "min" => Some(summary.min as f64),
        "max" => Some(summary.max as f64),
        _ => Some(summary.sum as f64),
    }
}

/// Appends `GFLOPS`, `Data Moved (MB)` and `FLOPS/Byte` of the first call with figures.
pub(super) fn append_work(
    frame: &mut FrameBuilder,
    analysis: &JaxAnalysis,
    groups: &[CallGroup<'_>],
    suffix: &str,
) {
    let first = |figure: &'static dyn Fn(&Figures) -> Option<f64>| {
        groups.iter().map(move |group| group.figures(analysis).flatten().find_map(|figures| figure(&figures)))
    };
    frame.float(&format!("GFLOPS{suffix}"), first(&|figures| Some(figures.gflops())));
    frame.float(&format!("Data Moved (MB){suffix}"), first(&Figures::mebibytes));
    frame.float(&format!("FLOPS/Byte{suffix}"), first(&Figures::intensity));
}

/// Appends the statistics over calls of achieved bandwidth and rate.
pub(super) fn append_rates(frame: &mut FrameBuilder, analysis: &JaxAnalysis, groups: &[CallGroup<'_>]) {
    append_spread(frame, analysis, groups, "TB/s", Figures::tb_per_s);
    append_spread(frame, analysis, groups, "TFLOPS/s", |figures| {
        figures.tflops_per_s().filter(|_| figures.flops > 0.0)
    });
}

/// Appends the peak, and with an architecture the columns of the roofline.
pub(super) fn append_roofline(frame: &mut FrameBuilder, analysis: &JaxAnalysis, groups: &[CallGroup<'_>]) {
    let spec = |group: &CallGroup<'_>| group.operator(analysis).spec().as_ref().map(ComputeSpec::to_string);
    frame.text("Compute Spec", groups.iter().map(spec));
    if analysis.architecture().is_none() {
        return;
    }
    let roofline =
        |group: &CallGroup<'_>| group.figures(analysis).flatten().find_map(|figures| figures.roofline);
    frame.float("Roofline Time (µs)_first", groups.iter().map(|group| Some(roofline(group)?.time_us())));
    frame.text("Roofline Bound_first", groups.iter().map(|group| Some(roofline(group)?.bound().to_string())));
    append_spread(frame, analysis, groups, "Pct Roofline", Figures::percent_of_roofline);
}

fn append_spread(
    frame: &mut FrameBuilder,
    analysis: &JaxAnalysis,
    groups: &[CallGroup<'_>],
    column: &str,
    figure: impl Fn(&Figures) -> Option<f64>,
) {
    let spread = |group: &CallGroup<'_>| Spread::of(group.figures(analysis).map(|figures| figure(&figures?)));
    let spreads: Vec<Spread> = groups.iter().map(spread).collect();
    frame.statistics(column, &spreads, &AGGREGATES);
}

/// Appends the calls in warm-up executions and the mean time of the others, in µs.
pub(super) fn append_warm_up(frame: &mut FrameBuilder, analysis: &JaxAnalysis, groups: &[CallGroup<'_>]) {
    let steady: Vec<Vec<&Call>> = groups.iter().map(|group| group.steady(analysis)).collect();
    let warm_up = groups.iter().zip(&steady).map(|(group, steady)| group.calls.len() - steady.len());
    frame.integer("warm_up_count", warm_up.map(|count| Some(count as i64)));
    let unit = analysis.trace().time_unit().per_microsecond() as f64;
    let mean = |calls: &Vec<&Call>| {
        let times: Vec<i64> = calls.iter().map(|call| call.time).collect();
        Some(Summary::of(&times)?.mean / unit)
    };
    frame.float("Steady Kernel Time (µs)_mean", steady.iter().map(mean));
}
