//! The trees of two runs, node by node: what is the same work, and where the time went that one takes longer.

mod align;
mod classes;
mod device_rows;
mod labels;
mod ledger;
mod likeness;
mod merged_text;
mod outline;
mod replays;
mod sequences;
mod sheets;
mod unit_groups;
mod units;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod quality;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;

use hashbrown::HashMap;
use perf_models::CommunicationPatterns;
use trace_ingest::{Category, EventId, TimeUnit};
use trace2tree::TraceTree;

use crate::compare::mostly_differs;
use crate::names::NameClasses;
use crate::repeated::{Repeated, RepeatedPart};

use align::{A, Aligner, Alignment, B};
use labels::Labels;
use outline::{Level, Outline};
use units::{Unit, units};

pub use align::{Confidence, Relation};
pub use classes::RepeatedWork;
pub use device_rows::{UnitWork, device_rows_sheet};
pub use ledger::{LedgerItem, LedgerLine};
pub use likeness::Likeness;
pub use outline::NodeKind;
pub use sheets::tree_diff_sheets;
pub use unit_groups::UnitGroup;
pub use units::UnitStatus;

/// How two trees are compared.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// Names that stand for the same operator.
    pub names: NameClasses,
    /// Names of kernels that communicate.
    pub communication: CommunicationPatterns,
}

/// The trees of two runs, A and B, with their matches and differences. A is what B is held against.
pub struct TreeDiff<T = TraceTree> {
    trees: [T; 2],
    options: DiffOptions,
    time_unit: TimeUnit,
    /// What times of each run are multiplied with.
    scales: [i64; 2],
    labels: Labels,
    outlines: [Outline; 2],
    alignment: Alignment,
    units: Vec<Unit>,
    is_cut_differently: bool,
    repeated_parts: Vec<RepeatedPart>,
}

impl<T: Borrow<TraceTree>> TreeDiff<T> {
    /// Aligns the trees. They are not changed.
    #[must_use]
    pub fn new(a: T, b: T, options: DiffOptions) -> Self {
        let trees = [a, b];
        let time_units = trees.each_ref().map(|tree| tree.borrow().trace().time_unit());
        let time_unit = if time_units[A] == time_units[B] { time_units[A] } else { TimeUnit::Picoseconds };
        let scales = time_units.map(|unit| time_unit.per_microsecond() / unit.per_microsecond());
        let mut labels = Labels::default();
        let outlines = [A, B].map(|side| {
            Outline::new(
                trees[side].borrow(),
                &options.names,
                &options.communication,
                scales[side],
                &mut labels,
            )
        });
        let alignment = align(outlines.each_ref());
        let units = units(outlines.each_ref(), &alignment);
        let is_cut_differently = has_different_call_counts(trees.each_ref().map(Borrow::borrow), &outlines);
        TreeDiff {
            trees,
            options,
            time_unit,
            scales,
            labels,
            outlines,
            alignment,
            units,
            is_cut_differently,
            repeated_parts: Vec::new(),
        }
    }

    /// Says what the recordings repeat, A's and B's.
    pub fn know_repeated(&mut self, parts: [&[Repeated]; 2]) {
        self.repeated_parts = RepeatedPart::pairs(parts, &self.options.names);
    }

    /// What both repeat, as far as that was [said](Self::know_repeated).
    #[must_use]
    pub fn repeated_parts(&self) -> &[RepeatedPart] {
        &self.repeated_parts
    }

    /// Whether most of what both runs call, by its kernel time, they call another number of times, and they are not known to
    /// have as many steps: the recordings are cut differently, and their whole times say nothing of each other.
    #[must_use]
    pub fn is_cut_differently(&self) -> bool {
        self.is_cut_differently
    }

    /// The trees of A and B.
    #[must_use]
    pub fn trees(&self) -> [&TraceTree; 2] {
        self.trees.each_ref().map(Borrow::borrow)
    }

    /// Unit of the times of both runs.
    #[must_use]
    pub fn time_unit(&self) -> TimeUnit {
        self.time_unit
    }

    /// The kernel time of A and of B: the sum of the durations of their device events.
    #[must_use]
    pub fn kernel_time(&self) -> [i64; 2] {
        self.outlines
            .each_ref()
            .map(|outline| outline.duration.iter().fold(0_i64, |sum, &time| sum.saturating_add(time)))
    }

    /// How much of the kernel time of A and of B is of device events that are matched, with at least this confidence.
    #[must_use]
    pub fn matched_time(&self, confidence: Confidence) -> [i64; 2] {
        [A, B].map(|side| {
            let outline = &self.outlines[side];
            let matched = outline.device_nodes().filter(|&node| {
                self.alignment.mate(side, node).is_some()
                    && self.alignment.confidence[side][node as usize] >= confidence
            });
            matched.fold(0_i64, |sum, node| sum.saturating_add(outline.duration[node as usize]))
        })
    }

    /// Name of a node as its run has it; of threads and streams what they are.
    fn name(&self, side: usize, node: u32) -> &str {
        let kind = self.outlines[side].kind(node);
        match self.event(side, node) {
            Some(event) if !matches!(kind, NodeKind::Thread | NodeKind::Stream) => {
                self.trees[side].borrow().trace().name(event)
            }
            _ => self.labels.text(self.outlines[side].label[node as usize]),
        }
    }

    fn event(&self, side: usize, node: u32) -> Option<EventId> {
        self.outlines[side].event.get(node as usize).copied().flatten()
    }
}

/// Matches the nodes of two outlines.
fn align(sides: [&Outline; 2]) -> Alignment {
    // Equal sequences of matches may be found in several ways. Which one is found must not depend on which run is
    // named first, so the order is one that the runs themselves give.
    let swapped = sides[A].exact(0) > sides[B].exact(0);
    let ordered = if swapped { [sides[B], sides[A]] } else { sides };
    let (mut alignment, mut sequences) = Aligner::new(ordered).run();
    replays::align(ordered, &mut alignment, &mut sequences);
    if swapped {
        alignment.mate.swap(A, B);
        alignment.relation.swap(A, B);
        alignment.confidence.swap(A, B);
        alignment.gap.swap(A, B);
    }
    alignment
}

/// What [`TreeDiff::is_cut_differently`] says.
fn has_different_call_counts(trees: [&TraceTree; 2], outlines: &[Outline; 2]) -> bool {
    let steps = trees.map(|tree| {
        let (trace, events) = (tree.trace(), tree.trace().events());
        let is_step = |&event: &EventId| {
            events.category(event) == Category::USER_ANNOTATION
                && trace.name(event).starts_with("ProfilerStep#")
        };
        events.ids().filter(is_step).count()
    });
    if steps[A] > 0 && steps[A] == steps[B] {
        return false;
    }
    // Without operators, kernels are what is called.
    let has_operators = |outline: &Outline| outline.kind.contains(&NodeKind::Operator);
    let kind = if outlines.iter().all(has_operators) { NodeKind::Operator } else { NodeKind::Device };
    let mut calls: HashMap<u64, [(usize, i64); 2]> = HashMap::new();
    for (side, outline) in outlines.iter().enumerate() {
        let before = outline.device_time_before();
        for node in (0..outline.len() as u32).filter(|&node| outline.kind(node) == kind) {
            let subtree = outline.subtree(node);
            let sums = calls.entry(outline.key(node, Level::Own)).or_default();
            let time = before[subtree.end as usize] - before[subtree.start as usize];
            sums[side] = (sums[side].0 + 1, sums[side].1 + time);
        }
    }
    mostly_differs(calls.into_values().map(|[a, b]| {
        let differs = (a.0 > 0 && b.0 > 0).then_some(a.0 != b.0);
        ((a.1 + b.1) as f64, differs)
    }))
}
