//! The operators that launched device work, with what they launched.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use gpu_timeline::{Interval, busy_time};
use operator_sheets::OpCategory;
use perf_models::CommunicationPatterns;
use trace_ingest::{EventId, Trace};
use trace2tree::TraceTree;

use crate::IndexMap;
use crate::conventions::{CategoryRule, Conventions};
use crate::device::interval;
use crate::models::Models;

/// One operator call that launched device work itself; a runtime call where no operator did. The base of
/// the operator sheets.
pub(crate) struct Launcher {
    pub(crate) event: EventId,
    /// Time in which at least one of its own device events ran.
    pub(crate) direct_time: i64,
    /// The same over everything below it.
    pub(crate) subtree_time: i64,
    kernels: Range<u32>,
    parts: Range<u32>,
}

/// The work of one kind that a launcher did. The times of its parts add up to its own.
pub(crate) struct LauncherPart {
    pub(crate) event: EventId,
    pub(crate) category: OpCategory,
    /// Time in which at least one device event of the part ran; what ran beside events of other parts counts for the
    /// one that started first.
    pub(crate) direct_time: i64,
    /// The same; that of the first part has what operators inside launched, too.
    pub(crate) subtree_time: i64,
    kernels: Range<u32>,
}

/// An operator call that launched device work itself; a runtime call where no operator did.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LauncherRow<'a> {
    /// The operator or call.
    pub event: EventId,
    /// Time in which at least one of its own device events ran, in the trace's unit.
    pub direct_time: i64,
    /// What it launched itself, by start; with the figures of TraceLens communication is left out.
    pub kernels: &'a [EventId],
}

/// The work of one kind that a launcher did. The times of its parts add up to its own.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LauncherWork<'a> {
    /// The operator or call.
    pub event: EventId,
    /// Kind of work, such as `GEMM`.
    pub category: &'a str,
    /// Whether it is the launcher's first: one part of each launcher is.
    pub is_first: bool,
    /// Time in which at least one device event of the part ran, in the trace's unit; what ran beside events of other
    /// parts counts for the one that started first.
    pub direct_time: i64,
    /// The same; that of the first part has what operators inside launched, too.
    pub subtree_time: i64,
    /// Its device events.
    pub kernels: &'a [EventId],
}

/// All launchers, by their start.
pub(crate) struct Launchers {
    launchers: Vec<Launcher>,
    /// Parts of the launchers, those of each by the start of their first device event.
    parts: Vec<LauncherPart>,
    /// Positions of the launchers, by their event.
    by_event: Vec<u32>,
    /// Device events of the launchers, each launcher's by their start, and those of parts.
    kernels: Vec<EventId>,
}

impl Launchers {
    pub(crate) fn find(
        tree: &TraceTree,
        communication: &CommunicationPatterns,
        models: &Models,
        conventions: &Conventions,
    ) -> Self {
        let trace = tree.trace();
        let included = conventions.includes_communication();
        let found = tree.kernel_launchers(|name| included || !communication.is_communication(name));
        let mut all = Launchers {
            launchers: Vec::with_capacity(found.len()),
            parts: Vec::with_capacity(found.len()),
            by_event: (0..found.len() as u32).collect(),
            kernels: Vec::new(),
        };
        let mut scratch = Vec::new();
        let nested = nested_times(tree, found.launchers());
        for (event, kernels) in found.iter() {
            let first = all.kernels.len();
            all.kernels.extend_from_slice(kernels);
            all.kernels[first..].sort_by_key(|&kernel| trace.events().start(kernel));
            let kernels = &all.kernels[first..];
            let below = tree.device_events(event);
            let mut busy = |of: &[EventId]| busy_time(of.iter().map(|&id| interval(trace, id)), &mut scratch);
            let direct_time = busy(kernels);
            let only_own = below.len() == 1 && below == kernels;
            let launcher = Launcher {
                event,
                direct_time,
                subtree_time: match nested.get(&event) {
                    Some(&time) => time,
                    None if only_own => direct_time,
                    None => busy(below),
                },
                kernels: first as u32..all.kernels.len() as u32,
                parts: 0..0,
            };
            let categories: Vec<OpCategory> = match conventions.categories {
                CategoryRule::FirstKernel => vec![models.category(tree, event, kernels.first().copied())],
                CategoryRule::EachKernel => {
                    kernels.iter().map(|&kernel| models.work(tree, event, kernel)).collect()
                }
            };
            all.push(trace, launcher, &categories);
        }
        all.by_event.sort_unstable_by_key(|&position| all.launchers[position as usize].event);
        all
    }

    /// Adds a launcher, the last of whose kernels stand at the end, with a part for each of the categories of its
    /// kernels.
    fn push(&mut self, trace: &Trace, launcher: Launcher, categories: &[OpCategory]) {
        let first = self.parts.len();
        let Launcher { event, direct_time, subtree_time, .. } = launcher;
        let own = launcher.kernels.clone();
        match categories {
            [category, others @ ..] if others.iter().all(|other| other == category) => {
                let category = category.clone();
                self.parts.push(LauncherPart { event, category, direct_time, subtree_time, kernels: own });
            }
            _ => {
                let mut parts: IndexMap<&OpCategory, (i64, Vec<EventId>)> = IndexMap::default();
                let mut covered = i64::MIN;
                for (&kernel, category) in self.kernels(&launcher).iter().zip(categories) {
                    let Interval { start, end } = interval(trace, kernel);
                    let (time, kernels) = parts.entry(category).or_default();
                    *time += (end - start.max(covered)).max(0);
                    covered = covered.max(end);
                    kernels.push(kernel);
                }
                let mut inner_operators_time = subtree_time - direct_time;
                for (category, (direct_time, kernels)) in parts {
                    let start = self.kernels.len() as u32;
                    self.kernels.extend(kernels);
                    self.parts.push(LauncherPart {
                        event,
                        category: category.clone(),
                        direct_time,
                        subtree_time: direct_time + std::mem::take(&mut inner_operators_time),
                        kernels: start..self.kernels.len() as u32,
                    });
                }
            }
        }
        let parts = first as u32..self.parts.len() as u32;
        self.launchers.push(Launcher { parts, ..launcher });
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Launcher> + Clone {
        self.launchers.iter()
    }

    pub(crate) fn all_parts(&self) -> impl ExactSizeIterator<Item = &LauncherPart> + Clone {
        self.parts.iter()
    }

    /// The parts of a launcher; at least one.
    pub(crate) fn parts(&self, launcher: &Launcher) -> &[LauncherPart] {
        &self.parts[launcher.parts.start as usize..launcher.parts.end as usize]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.launchers.is_empty()
    }

    /// What a launcher launched itself, by start.
    pub(crate) fn kernels(&self, launcher: &Launcher) -> &[EventId] {
        self.slice(&launcher.kernels)
    }

    /// The device events of a part, by start.
    pub(crate) fn kernels_of_part(&self, part: &LauncherPart) -> &[EventId] {
        self.slice(&part.kernels)
    }

    fn slice(&self, range: &Range<u32>) -> &[EventId] {
        &self.kernels[range.start as usize..range.end as usize]
    }

    pub(crate) fn event_launcher(&self, event: EventId) -> Option<&Launcher> {
        let launcher = |position: u32| &self.launchers[position as usize];
        let at = self.by_event.binary_search_by_key(&event, |&position| launcher(position).event).ok()?;
        Some(launcher(self.by_event[at]))
    }
}

/// The time in which something ran that a launcher or one inside it launched, of all launchers, where they are nested so deep
/// that to take the device events of each would be to take all of them many times over; else nothing.
fn nested_times(tree: &TraceTree, launchers: &[EventId]) -> HashMap<EventId, i64> {
    /// How often a device event may be taken on average.
    const TIMES: usize = 16;
    let device = tree.linked_device_events();
    let positions = |event: EventId| tree.device_positions(event);
    if launchers.iter().map(|&event| positions(event).len()).sum::<usize>() <= TIMES * device.len() {
        return HashMap::new();
    }
    // From the back, those inside before those around them.
    let mut inside_first: Vec<(Range<usize>, EventId)> =
        launchers.iter().map(|&event| (positions(event), event)).collect();
    inside_first.sort_by_key(|(below, _)| (Reverse(below.start), below.end));
    let mut times = HashMap::new();
    let mut open: Vec<(Range<usize>, Union)> = Vec::new();
    for (below, event) in inside_first {
        let first = open.iter().rposition(|(inner, _)| inner.start >= below.end).map_or(0, |at| at + 1);
        let mut inner: Vec<(Range<usize>, Union)> = open.drain(first..).collect();
        let largest = (0..inner.len()).max_by_key(|&at| inner[at].1.spans.len());
        let mut union = largest.map(|at| std::mem::take(&mut inner[at].1)).unwrap_or_default();
        let mut from = below.start;
        // They are open from the last to the first.
        for (part, other) in inner.into_iter().rev() {
            device[from..part.start].iter().for_each(|&id| union.add(interval(tree.trace(), id)));
            other.spans.into_iter().for_each(|(start, end)| union.add(Interval::between(start, end)));
            from = part.end;
        }
        device[from..below.end].iter().for_each(|&id| union.add(interval(tree.trace(), id)));
        times.insert(event, union.length);
        open.push((below, union));
    }
    times
}

/// Time that is covered, as spans that do not touch.
#[derive(Default)]
struct Union {
    spans: BTreeMap<i64, i64>,
    length: i64,
}

impl Union {
    fn add(&mut self, Interval { mut start, mut end }: Interval) {
        while let Some((&other, &until)) =
            self.spans.range(..=end).next_back().filter(|(_, until)| **until >= start)
        {
            self.spans.remove(&other);
            self.length -= until - other;
            (start, end) = (start.min(other), end.max(until));
        }
        if end > start {
            self.spans.insert(start, end);
            self.length += end - start;
        }
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, TraceBuilder};

    use super::*;

    #[test]
    fn times_of_launchers_in_launchers_are_those_of_all_that_is_below() {
        const DEPTH: i64 = 150;
        let mut builder = TraceBuilder::new();
        let (host, device) = (builder.track(1, 1), builder.track(0, 7));
        let linked = |at: i64| EventArguments { correlation: Some(at), ..EventArguments::default() };
        for at in 0..DEPTH {
            let name = format!("op {at}");
            builder.event(
                Category::CPU_OP,
                &name,
                host,
                10 * at,
                10_000 - 20 * at,
                EventArguments::default(),
            );
            // Two each: before and behind the operator inside.
            for (side, start) in [10 * at + 1, 10_000 - 10 * at - 5].into_iter().enumerate() {
                let id = 2 * at + side as i64 + 1;
                builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, start, 1, linked(id));
                // In no order, some beside each other, some apart.
                let (start, duration) = (20_000 + id * 7_919 % 1_009 * 10, id % 5 * 7);
                builder.event(Category::KERNEL, "k", device, start, duration, linked(id));
            }
        }
        let tree = TraceTree::build(builder.finish(), &trace2tree::TreeOptions::default());
        let found = tree.kernel_launchers(|_| true);
        let times = nested_times(&tree, found.launchers());
        assert_eq!(times.len(), DEPTH as usize);
        for &launcher in found.launchers() {
            let below = tree.device_events(launcher).iter().map(|&id| interval(tree.trace(), id));
            assert_eq!(times[&launcher], busy_time(below, &mut Vec::new()), "{launcher:?}");
        }
        assert!(nested_times(&tree, &found.launchers()[..10]).is_empty(), "ten are not many");
    }
}
