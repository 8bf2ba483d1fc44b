//! The sheets of a recording: in our names and units, and as `nsys stats` has them.

mod own;
mod stats;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{SortFew, Summary};
use hashbrown::HashSet;
use trace_ingest::{Category, StringId};

pub use self::own::nsys_sheets;
pub use self::stats::nsys_stats_sheets;
use crate::analysis::{NsysAnalysis, Thread};
use crate::ranges::RangeName;

/// Ranges with one name. Times are ns.
struct RangeSum {
    label: String,
    is_start_end: bool,
    /// Of the ranges themselves, on the host.
    host: Summary,
    /// Of the projections of those with device work.
    projected: Option<Summary>,
    /// Host time of those with device work.
    host_with_work: i64,
    operations: u64,
    operation_time: i64,
    own_operation_time: i64,
    /// Sums over those with device work.
    levels: u64,
    children: u64,
}

impl RangeSum {
    fn style(&self) -> &'static str {
        if self.is_start_end { "StartEnd" } else { "PushPop" }
    }

    /// Ranges with device work.
    fn with_work(&self) -> usize {
        self.projected.map_or(0, |projected| projected.count)
    }

    /// Mean over the ranges with device work.
    fn mean(&self, sum: u64) -> Option<f64> {
        let count = self.with_work();
        (count > 0).then(|| sum as f64 / count as f64)
    }
}

/// Ranges by name and style, by host time.
fn range_sums(analysis: &NsysAnalysis<'_>) -> Vec<RangeSum> {
    let ranges = analysis.ranges();
    let mut groups: BTreeMap<RangeName, Vec<u32>> = BTreeMap::new();
    for (instance, position) in ranges.instances.iter().zip(0..) {
        groups.entry(RangeName::of(analysis.trace(), instance.event)).or_default().push(position);
    }
    let sum = |(name, positions): (RangeName, Vec<u32>)| {
        let of = || positions.iter().map(|&position| &ranges.instances[position as usize]);
        let with_work = || of().filter(|instance| instance.projection.is_some());
        let host: Vec<i64> = of().map(|instance| analysis.duration(instance.event)).collect();
        let projected: Vec<i64> = with_work().map(|instance| instance.projected()).collect();
        Some(RangeSum {
            label: ranges.label(analysis.trace(), *positions.first()?),
            is_start_end: name.is_start_end,
            host: Summary::from_values(&host)?,
            projected: Summary::from_values(&projected),
            host_with_work: with_work().map(|instance| analysis.duration(instance.event)).sum(),
            operations: of().map(|instance| u64::from(instance.operations)).sum(),
            operation_time: of().map(|instance| instance.operation_time).sum(),
            own_operation_time: of().map(|instance| instance.own_operation_time).sum(),
            levels: with_work().map(|instance| u64::from(instance.level)).sum(),
            children: with_work().map(|instance| u64::from(instance.children)).sum(),
        })
    };
    let mut sums: Vec<RangeSum> = groups.into_iter().filter_map(sum).collect();
    sums.sort_few_by(|a, b| {
        (b.host.sum, &a.label, a.is_start_end).cmp(&(a.host.sum, &b.label, b.is_start_end))
    });
    sums
}

/// Kernels of one name in the ranges of one name and thread. Times are ns.
struct RangeKernels<'a> {
    label: String,
    is_start_end: bool,
    thread: Thread,
    /// Ranges in which the kernel was launched.
    ranges: usize,
    kernel: &'a str,
    durations: Summary,
    /// Time of those whose innermost range it is.
    own_time: i64,
}

/// Kernels by every range that they were launched in, most time first.
fn range_kernels<'a>(analysis: &'a NsysAnalysis<'_>) -> Vec<RangeKernels<'a>> {
    #[derive(Default)]
    struct Group {
        first: u32,
        ranges: HashSet<u32>,
        durations: Vec<i64>,
        own_time: i64,
    }
    let (ranges, trace) = (analysis.ranges(), analysis.trace());
    let mut groups = BTreeMap::<_, Group>::new();
    ranges.for_each_launch(analysis.trace(), analysis.device_work(), |around, launched| {
        let kernels = launched.iter().map(|&work| analysis.device_work()[work as usize].event);
        for event in kernels.filter(|&event| trace.events().category(event) == Category::KERNEL) {
            for &range in around {
                let instance = &ranges.instances[range as usize];
                let name = RangeName::of(analysis.trace(), instance.event);
                let key = (name, analysis.thread(instance.event), analysis.name(event));
                let group = groups.entry(key).or_insert_with(|| Group { first: range, ..Group::default() });
                group.ranges.insert(range);
                group.durations.push(analysis.duration(event));
                if around.last() == Some(&range) {
                    group.own_time += analysis.duration(event);
                }
            }
        }
    });
    let row = |((name, thread, kernel), group): ((RangeName, Thread, StringId), Group)| {
        Some(RangeKernels {
            label: ranges.label(analysis.trace(), group.first),
            is_start_end: name.is_start_end,
            thread,
            ranges: group.ranges.len(),
            kernel: trace.text(kernel),
            durations: Summary::from_values(&group.durations)?,
            own_time: group.own_time,
        })
    };
    let mut rows: Vec<RangeKernels<'a>> = groups.into_iter().filter_map(row).collect();
    rows.sort_few_by(|a, b| {
        let key = |row: &RangeKernels<'a>| (Reverse(row.durations.sum), row.thread, row.kernel);
        (Reverse(a.durations.sum), &a.label, key(a)).cmp(&(Reverse(b.durations.sum), &b.label, key(b)))
    });
    rows
}
