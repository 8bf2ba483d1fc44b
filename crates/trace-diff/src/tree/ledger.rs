//! Where the difference of the total times is: a line for each thing that the device can do, which add up exactly.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use gpu_timeline::{Activity, Breakdown, DeviceEvent, Interval, SortFew};
use perf_models::{MemoryKernel, rocm_memory_kernel};
use trace_ingest::Category;
use trace2tree::TraceTree;

use super::{DiffOptions, TreeDiff, labels};

/// What a line of the ledger is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LedgerItem {
    /// Time with kernels of this kind of work, or memory fills. While kernels of several kinds run at once, the time
    /// counts for the first of these by name.
    Computation(&'static str),
    /// Time with collectives and without computation.
    ExposedCommunication,
    /// Time with copies alone.
    ExposedCopies,
    /// Time without any device event, between the first and the last.
    Idle,
    /// Such time in which the device may have been busy: the recording does not tell.
    Unrecorded,
    /// Time from the start of the first to the end of the last device event.
    Total,
}

impl LedgerItem {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            LedgerItem::Computation(category) => format!("computation: {category}"),
            LedgerItem::ExposedCommunication => "exposed communication".to_owned(),
            LedgerItem::ExposedCopies => "exposed memory copies".to_owned(),
            LedgerItem::Idle => "idle".to_owned(),
            LedgerItem::Unrecorded => "not recorded".to_owned(),
            LedgerItem::Total => "total".to_owned(),
        }
    }
}

/// A line of the ledger. Times are in [`TreeDiff::time_unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerLine {
    /// What it is about.
    pub item: LedgerItem,
    /// Its time in A and in B.
    pub times: [i64; 2],
}

impl LedgerLine {
    /// How much longer B takes.
    #[must_use]
    pub fn delta(&self) -> i64 {
        self.times[1].saturating_sub(self.times[0])
    }
}

impl<T: Borrow<TraceTree>> TreeDiff<T> {
    /// The lines of the ledger, the largest difference first, and the total last. The others add up to it, on each side
    /// and so in their differences.
    #[must_use]
    pub fn ledger(&self) -> Vec<LedgerLine> {
        let mut lines: BTreeMap<LedgerItem, [i64; 2]> = BTreeMap::new();
        let mut total = [0, 0];
        for (side, tree) in self.trees().into_iter().enumerate() {
            for (item, breakdown) in breakdown(tree, &self.options, self.scales[side]) {
                lines.entry(item).or_default()[side] += breakdown.busy;
                lines.entry(LedgerItem::Idle).or_default()[side] += breakdown.idle;
                if breakdown.unrecorded > 0 {
                    lines.entry(LedgerItem::Unrecorded).or_default()[side] += breakdown.unrecorded;
                }
                total[side] += breakdown.total;
            }
        }
        let mut lines: Vec<LedgerLine> =
            lines.into_iter().map(|(item, times)| LedgerLine { item, times }).collect();
        lines.sort_few_by_key(|line| std::cmp::Reverse(line.delta().saturating_abs()));
        lines.push(LedgerLine { item: LedgerItem::Total, times: total });
        lines
    }
}

/// Every instant of a run, given to one line.
fn breakdown(tree: &TraceTree, options: &DiffOptions, scale: i64) -> BTreeMap<LedgerItem, Breakdown> {
    let trace = tree.trace();
    let events = trace.events();
    let scaled = |time: i64| time.saturating_mul(scale);
    let mut items = hashbrown::HashMap::new();
    let device = events.ids().filter(|&event| events.category(event).is_device());
    let parts = device.map(|event| {
        let key = (events.name(event), events.category(event));
        let (item, activity) =
            *items.entry(key).or_insert_with(|| item(trace.text(key.0), events.category(event), options));
        (DeviceEvent::new(scaled(events.start(event)), scaled(events.end(event)), activity), item)
    });
    let unrecorded = &tree.unrecorded().time;
    let unrecorded = unrecorded.iter().map(|gap| Interval::between(scaled(gap.start), scaled(gap.end)));
    Breakdown::by_part(parts, None, &unrecorded.collect())
}

/// The line of a device event, by the rules of the timelines of reports.
fn item(name: &str, category: Category, options: &DiffOptions) -> (LedgerItem, Activity) {
    let communication = &options.communication;
    let memory_kernel = if category == Category::KERNEL { rocm_memory_kernel(name) } else { None };
    match () {
        () if category == Category::GPU_MEMCPY || memory_kernel == Some(MemoryKernel::Copy) => {
            (LedgerItem::ExposedCopies, Activity::Memcpy)
        }
        () if memory_kernel.is_none() && communication.is_communication(name) => {
            (LedgerItem::ExposedCommunication, Activity::Communication)
        }
        () => (LedgerItem::Computation(labels::device_category(name, communication)), Activity::Computation),
    }
}
