//! The sheets of two trees that were aligned.

use std::borrow::Borrow;

use sheets::names;
use sheets::{Column, ColumnKind, Nested, Role, Sheet, Unit, percent};
use trace_ingest::{EventId, TimeUnit};
use trace2tree::TraceTree;

use crate::repeated::repeated_sheet;

use super::align::{A, B, Relation};
use super::classes::RepeatedWork;
use super::ledger::{LedgerItem, LedgerLine};
use super::outline::{NONE, NodeKind};
use super::unit_groups::UnitGroup;
use super::{Confidence, TreeDiff};

/// The sheets of two aligned trees, in order.
#[must_use]
pub fn tree_diff_sheets<'a, T: Borrow<TraceTree> + Send + Sync + 'a>() -> Vec<Sheet<'a, TreeDiff<T>>> {
    vec![ledger(), repeated_sheet("", TreeDiff::repeated_parts), units(), classes(), map()]
}

const SPEEDUP: &str = "Time in A / time in B: above 1, B is faster.";

fn speedup(times: [i64; 2]) -> Option<f64> {
    (times[B] > 0).then(|| times[A] as f64 / times[B] as f64)
}

fn ledger<'a, T: Borrow<TraceTree> + Send + Sync + 'a>() -> Sheet<'a, TreeDiff<T>> {
    type Row = (LedgerLine, TimeUnit, i64, bool);
    let fields = [
        Column::text(
            "item",
            "Device activity: computation by category, exposed communication and copies, or none. Every instant between the first and the last device event counts once.",
        )
        .field(|(line, ..): &Row| line.item.name().into()),
        Column::microseconds("a_us", "Time in A.")
            .with_role(Role::Headline)
            .field(|(line, unit, ..): &Row| unit.to_microseconds(line.times[A]).into()),
        Column::microseconds("b_us", "Time in B.")
            .with_role(Role::Headline)
            .field(|(line, unit, ..): &Row| unit.to_microseconds(line.times[B]).into()),
        Column::microseconds(
            "delta_us",
            "Time in B minus time in A: above 0, B takes longer. The rows add up exactly to the total.",
        )
        .with_role(Role::Headline)
        .field(|(line, unit, ..): &Row| unit.to_microseconds(line.delta()).into()),
        Column::percent("percent_of_total_a", "delta_us as a share of A's total time.")
            .field(|&(line, _, total, cut): &Row| percent(line.delta(), total).filter(|_| !cut).into()),
        Column::new(
            "speedup",
            ColumnKind::Number(Unit::One),
            "Time in A / time in B: above 1, B is faster. Empty if the recordings cover different amounts of work.",
        )
        .field(|&(line, .., cut): &Row| speedup(line.times).filter(|_| !cut).into()),
    ];
    Sheet::new(
        names::DIFF_LEDGER,
        "Where the total times of two runs differ, largest difference first.",
        fields,
        |diff: &'a TreeDiff<T>| {
            let lines = diff.ledger();
            let total =
                lines.iter().find(|line| line.item == LedgerItem::Total).map_or(0, |line| line.times[A]);
            let cut = diff.is_cut_differently();
            lines.into_iter().map(|line| (line, diff.time_unit(), total, cut)).collect()
        },
    )
}

/// A group of units with what its cells need of the run.
struct UnitRow {
    group: UnitGroup,
    unit: TimeUnit,
    uids: [Option<u32>; 2],
    total: i64,
}

fn units<'a, T: Borrow<TraceTree> + Send + Sync + 'a>() -> Sheet<'a, TreeDiff<T>> {
    type Row = UnitRow;
    let fields = [
        Column::text("operator_a", "Operator in A, or several adjacent ones. Empty if only in B.")
            .field(|row: &Row| row.group.names[A].as_str().into()),
        Column::text("operator_b", "Operator in B; empty if only in A.")
            .field(|row: &Row| row.group.names[B].as_str().into()),
        Column::text("module", "Enclosing modules, outermost first; empty if none are recorded.")
            .field(|row: &Row| row.group.module().into()),
        Column::text("call_site", "Source line of the first operator: the nearest caller outside PyTorch. Empty without Python frames.")
            .with_role(Role::Detail)
            .field(|row: &Row| row.group.call_site.as_str().into()),
        Column::text(
            "status",
            "same-kernels: the same code runs the same kernels; changed-kernels: the same code runs different kernels, or more or fewer; changed-structure: different code in the same place; moved: the same code in a different place; only-A and only-B: found in one run only.",
        )
        .with_role(Role::Detail)
        .field(|row: &Row| row.group.status.as_str().into()),
        Column::text(
            "confidence",
            "Certainty of the operators' match. certain: no other candidate; likely: other candidates are equally similar; possible: similar, not identical. For several units, the lowest certainty. Empty without a match.",
        )
        .with_role(Role::Detail)
        .field(|row: &Row| row.group.confidence.map(Confidence::as_str).into()),
        Column::count("units", "Number of places with this difference.").field(|row: &Row| row.group.count.into()),
        Column::microseconds("busy_a_us", "Busy time in A, with at least one device event of the unit running, summed over units.")
            .with_role(Role::Headline)
            .field(|row: &Row| row.unit.to_microseconds(row.group.busy[A]).into()),
        Column::microseconds("busy_b_us", "Busy time in B, counted in the same way.")
            .with_role(Role::Headline)
            .field(|row: &Row| row.unit.to_microseconds(row.group.busy[B]).into()),
        Column::microseconds("delta_us", "Busy time in B minus busy time in A: above 0, B takes longer.")
            .with_role(Role::Headline)
            .field(|row: &Row| row.unit.to_microseconds(row.group.delta()).into()),
        Column::percent("percent_of_busy_a", "delta_us as a share of A's busy time summed over all units.")
            .field(|row: &Row| percent(row.group.delta(), row.total).into()),
        Column::new("speedup", ColumnKind::Number(Unit::One), SPEEDUP)
            .field(|row: &Row| speedup(row.group.busy).into()),
        Column::count("device_events_a", "Number of kernels, copies and fills in A.").field(|row: &Row| row.group.events[A].into()),
        Column::count("device_events_b", "Number of kernels, copies and fills in B.").field(|row: &Row| row.group.events[B].into()),
        Column::text("inputs_a", "Shapes and types of the first operator in A.")
            .with_role(Role::Detail)
            .field(|row: &Row| row.group.inputs[A].as_str().into()),
        Column::text("inputs_b", "Shapes and types of the first operator in B.")
            .with_role(Role::Detail)
            .field(|row: &Row| row.group.inputs[B].as_str().into()),
        Column::names("kernels_a", "Names of the first eight kernels in A.")
            .field(|row: &Row| Nested::Names(row.group.kernels[A].clone()).into()),
        Column::names("kernels_b", "Names of the first eight kernels in B.")
            .field(|row: &Row| Nested::Names(row.group.kernels[B].clone()).into()),
        Column::identifier("uid_a", "Index of the first operator in A's event list.").field(|row: &Row| row.uids[A].into()),
        Column::identifier("uid_b", "Index of the first operator in B's event list.").field(|row: &Row| row.uids[B].into()),
    ];
    Sheet::new(
        names::DIFF_UNITS,
        "Work whose time differs between A and B, largest difference first. Every device event of both runs is in exactly one unit: its launching operator, matched with an operator of the other run, or work found in one run only.",
        fields,
        |diff: &'a TreeDiff<T>| {
            let groups = diff.unit_groups();
            let total = groups.iter().fold(0_i64, |sum, group| sum.saturating_add(group.busy[A]));
            let unit = diff.time_unit();
            let rows =
                groups.into_iter().map(|group| UnitRow { uids: diff.uids(group.first), group, unit, total });
            rows.collect()
        },
    )
}

/// A class with what its cells need of the run.
struct ClassRow {
    number: usize,
    work: RepeatedWork,
    unit: TimeUnit,
    names: [String; 2],
    uids: [Option<u32>; 2],
}

fn classes<'a, T: Borrow<TraceTree> + Send + Sync + 'a>() -> Sheet<'a, TreeDiff<T>> {
    type Row = ClassRow;
    fn us(row: &Row, time: f64) -> f64 {
        time / row.unit.per_microsecond() as f64
    }
    let fields = [
        Column::identifier("class", "Row number.").field(|row: &Row| row.number.into()),
        Column::identifier("within", "Row number of the smallest enclosing part, such as an operator's layer; empty for the outermost.")
            .field(|row: &Row| row.work.within.into()),
        Column::text("name_a", "Operator or module in A.")
            .field(|row: &Row| row.names[A].as_str().into()),
        Column::text("name_b", "Operator or module in B.")
            .field(|row: &Row| row.names[B].as_str().into()),
        Column::count("count", "Number of occurrences in both runs, matched pairwise; if the recordings cover different amounts of work, the number in A.")
            .field(|row: &Row| row.work.times[A].count.into()),
        Column::count("count_b", "Number of occurrences in B, for recordings that cover different amounts of work.")
            .field(|row: &Row| row.work.times[B].count.into())
            .when(|diff: &&'a TreeDiff<T>| diff.is_cut_differently()),
        Column::microseconds(
            "delta_us",
            "Kernel time of all occurrences, B − A; if the recordings cover different amounts of work, the \
             difference of the medians multiplied by count. Rows nest: a layer includes the difference of \
             its operators.",
        )
        .with_role(Role::Headline)
        .field(|row: &Row| row.unit.to_microseconds(row.work.delta).into()),
        Column::microseconds(
            "mean_a_us",
            "Mean kernel time per occurrence in A: the sum of the durations of all its device events.",
        )
        .with_role(Role::Headline)
        .per("occurrence")
        .field(|row: &Row| us(row, row.work.times[A].mean).into()),
        Column::microseconds("mean_b_us", "Mean kernel time per occurrence in B.")
            .with_role(Role::Headline)
            .per("occurrence")
            .field(|row: &Row| us(row, row.work.times[B].mean).into()),
        Column::microseconds("std_a_us", "Sample standard deviation of the kernel time per occurrence in A.")
            .per("occurrence")
            .field(|row: &Row| row.work.times[A].sample_std.map(|std| us(row, std)).into()),
        Column::microseconds("std_b_us", "Sample standard deviation of the kernel time per occurrence in B.")
            .per("occurrence")
            .field(|row: &Row| row.work.times[B].sample_std.map(|std| us(row, std)).into()),
        Column::new(
            "welch_t",
            ColumnKind::Number(Unit::One),
            "Difference of the means in standard errors (Welch's t); empty if neither run varies.",
        )
        .field(|row: &Row| row.work.welch_t.into()),
        Column::flag(
            "is_noise",
            "Whether the means differ by less than two standard errors, or by less than 1% of A's mean.",
        )
        .field(|row: &Row| row.work.is_noise().into()),
        Column::identifier("uid_a", "Index of the first occurrence in A's event list.")
            .field(|row: &Row| row.uids[A].into()),
        Column::identifier("uid_b", "Index of the first occurrence in B's event list.")
            .field(|row: &Row| row.uids[B].into()),
    ];
    Sheet::with_context(
        names::DIFF_CLASSES,
        "Parts that repeat in both runs with the same operators and shapes, such as a model's layers, and whether A and B differ by more than the occurrences vary.",
        fields,
        |diff: &'a TreeDiff<T>| {
            let unit = diff.time_unit();
            let rows = diff.repeated_work().into_iter().enumerate().map(|(number, work)| ClassRow {
                number,
                names: diff.names_of_work(&work).map(ToOwned::to_owned),
                uids: diff.uids(work.first.map(Some)),
                work,
                unit,
            });
            Some((diff, rows.collect()))
        },
    )
}

/// A node of either run, or a match of two.
struct MapRow {
    kind: &'static str,
    names: [Option<String>; 2],
    uids: [Option<u32>; 2],
    relation: Option<Relation>,
    confidence: Option<Confidence>,
    durations: Option<[Option<f64>; 2]>,
}

fn map<'a, T: Borrow<TraceTree> + Send + Sync + 'a>() -> Sheet<'a, TreeDiff<T>> {
    type Row = MapRow;
    let fields = [
        Column::text("kind", "module, operator, call or device event.").field(|row: &Row| row.kind.into()),
        Column::text("name_a", "Name in A; empty if only in B.").field(|row: &Row| row.names[A].as_deref().into()),
        Column::text("name_b", "Name in B; empty if only in A.").field(|row: &Row| row.names[B].as_deref().into()),
        Column::text(
            "relation",
            "identical: everything below is equal; aligned: the same code or name in the same place; moved: the same code in a different place; replaced: similar contents; replayed: kernels in the same order, one side replayed from a graph.",
        )
        .with_role(Role::Detail)
        .field(|row: &Row| row.relation.map(Relation::as_str).into()),
        Column::text("confidence", "Certainty of the match: certain, likely or possible.")
            .with_role(Role::Detail)
            .field(|row: &Row| row.confidence.map(Confidence::as_str).into()),
        Column::microseconds("duration_a_us", "Duration of device events in A.")
            .field(|row: &Row| row.durations.and_then(|durations| durations[A]).into()),
        Column::microseconds("duration_b_us", "Duration of device events in B.")
            .field(|row: &Row| row.durations.and_then(|durations| durations[B]).into()),
        Column::identifier("uid_a", "Index in A's event list.").field(|row: &Row| row.uids[A].into()),
        Column::identifier("uid_b", "Index in B's event list.").field(|row: &Row| row.uids[B].into()),
    ];
    Sheet::new(
        names::DIFF_MAP,
        "How the events of A and B match: all modules, operators, calls and device events that lead to device work, in A's order, then those only in B.",
        fields,
        |diff: &'a TreeDiff<T>| diff.map_rows(),
    )
}

impl<T: Borrow<TraceTree>> TreeDiff<T> {
    pub(super) fn uids(&self, events: [Option<EventId>; 2]) -> [Option<u32>; 2] {
        let trees = self.trees();
        [A, B].map(|side| events[side].map(|event| trees[side].trace().events().uid(event)))
    }

    fn map_rows(&self) -> Vec<MapRow> {
        let rows_a = (0..self.outlines[A].len() as u32).map(|a| [Some(a), self.alignment.mate(A, a)]);
        let rows_b =
            (0..self.outlines[B].len() as u32).filter(|&b| self.alignment.mate[B][b as usize] == NONE);
        rows_a.chain(rows_b.map(|b| [None, Some(b)])).filter_map(|nodes| self.map_row(nodes)).collect()
    }

    fn map_row(&self, nodes: [Option<u32>; 2]) -> Option<MapRow> {
        let (side, node) = [A, B].into_iter().find_map(|side| Some((side, nodes[side]?)))?;
        let kind = match self.outlines[side].kind(node) {
            NodeKind::Root | NodeKind::Thread | NodeKind::Stream => return None,
            NodeKind::Module => "module",
            NodeKind::Operator => "operator",
            NodeKind::Call | NodeKind::GraphLaunch => "call",
            NodeKind::Device => "device event",
        };
        let [Some(a), Some(_)] = nodes else { return Some(self.row(kind, nodes, None)) };
        let at = a as usize;
        Some(self.row(kind, nodes, Some((self.alignment.relation[A][at], self.alignment.confidence[A][at]))))
    }

    fn row(
        &self,
        kind: &'static str,
        nodes: [Option<u32>; 2],
        matched: Option<(Relation, Confidence)>,
    ) -> MapRow {
        let duration = |side: usize| {
            let node = nodes[side]? as usize;
            Some(self.time_unit().to_microseconds(self.outlines[side].duration[node]))
        };
        MapRow {
            kind,
            names: [A, B].map(|side| nodes[side].map(|node| self.name(side, node).to_owned())),
            uids: self.uids([A, B].map(|side| nodes[side].and_then(|node| self.event(side, node)))),
            relation: matched.map(|(relation, _)| relation),
            confidence: matched.map(|(_, confidence)| confidence),
            durations: (kind == "device event").then(|| [A, B].map(duration)),
        }
    }
}
