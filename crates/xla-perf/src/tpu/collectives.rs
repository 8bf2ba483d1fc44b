//! Exchanges among cores, each with the cores that took part.

use std::collections::BTreeMap;

use gpu_timeline::SortFew;
use sheets::ColumnKind::{Number, Whole};
use sheets::Unit::{Bytes, GigabytesPerSecond};
use sheets::{Column, Role, Sheet};
use trace_ingest::Picoseconds;

use super::analysis::TpuAnalysis;
use super::category;
use super::profile::{PicoSpan, TpuOp};
use super::rates::ratio;
use crate::JaxAnalysis;
use crate::brackets::parts;
use crate::sheet::tpu_sheet;

/// One exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveRow<'a> {
    /// The operation.
    pub op: &'a TpuOp,
    /// Number of its program.
    pub program: u64,
    /// Position among the exchanges of the operation, from 0.
    pub index: usize,
    /// Who exchanges with whom, as the instruction has it; empty when it does not say.
    pub replica_groups: &'a str,
    /// The cores that took part, with their times by the clock of the device.
    pub cores: Vec<(u32, PicoSpan)>,
}

impl CollectiveRow<'_> {
    /// Bytes that each core moved to and from its memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.op.raw_bytes.unwrap_or(self.op.bytes)
    }

    /// From the last core's start to the first core's end: time in which all took part.
    #[must_use]
    pub fn shared_time(&self) -> Picoseconds {
        let last_start = self.cores.iter().map(|core| core.1.start).max().unwrap_or_default();
        let first_end = self.cores.iter().map(|core| core.1.end()).min().unwrap_or_default();
        first_end.without(last_start)
    }

    /// Between the first start and the last.
    #[must_use]
    pub fn start_skew(&self) -> Picoseconds {
        spread(self.cores.iter().map(|core| core.1.start))
    }

    /// Between the first end and the last.
    #[must_use]
    pub fn end_skew(&self) -> Picoseconds {
        spread(self.cores.iter().map(|core| core.1.end()))
    }

    /// Shortest and longest time of a core.
    #[must_use]
    pub fn time_range(&self) -> (Picoseconds, Picoseconds) {
        let times = self.cores.iter().map(|core| core.1.duration);
        (times.clone().min().unwrap_or_default(), times.max().unwrap_or_default())
    }

    /// Bytes of one core over the shortest time of a core, which is the one that waited least, in GB/s.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        ratio(self.bytes() as f64 * 1e3, self.time_range().0.0 as f64)
    }
}

fn spread(times: impl Iterator<Item = Picoseconds> + Clone) -> Picoseconds {
    let range = times.clone().min().zip(times.max());
    range.map_or(Picoseconds(0), |(first, last)| last - first)
}

/// The exchanges by start of their first core. Executions of one operation on several cores are one exchange when they
/// overlap in time, because no core gets out of an exchange before all got in.
#[must_use]
pub fn tpu_collectives<'a>(analysis: &'a TpuAnalysis) -> Vec<CollectiveRow<'a>> {
    let profile = &analysis.profile;
    let mut by_op: BTreeMap<(u64, &'a str), Vec<Part<'a>>> = BTreeMap::new();
    for core in &profile.cores {
        for execution in &core.executions {
            let op = &profile.ops[execution.op];
            let Some(key) = op.key().filter(|_| category::is_collective(&op.category)) else { continue };
            by_op.entry(key).or_default().push(Part { core: core.ordinal, span: execution.span, op });
        }
    }
    let mut rows: Vec<CollectiveRow<'a>> = Vec::new();
    for ((program, _), mut parts) in by_op {
        parts.sort_few_by_key(|part| (part.span.start, part.core));
        let first = rows.len();
        for part in parts {
            match rows[first..].last_mut().filter(|row| part.joins(row)) {
                Some(row) => row.cores.push((part.core, part.span)),
                None => rows.push(CollectiveRow {
                    op: part.op,
                    program,
                    index: rows.len() - first,
                    replica_groups: replica_groups(&part.op.expression),
                    cores: vec![(part.core, part.span)],
                }),
            }
        }
    }
    rows.sort_few_by_key(|row| row.cores.first().map_or(0, |core| core.1.start.0));
    rows
}

/// What one core did of an exchange.
struct Part<'a> {
    core: u32,
    span: PicoSpan,
    op: &'a TpuOp,
}

impl Part<'_> {
    fn joins(&self, row: &CollectiveRow<'_>) -> bool {
        row.cores.iter().all(|&(core, span)| {
            let overlaps = self.span.start <= span.end() && span.start <= self.span.end();
            overlaps && core != self.core
        })
    }
}

/// The groups in an instruction's text: `{{0,1},{2,3}}` or `[4,2]<=[2,4]T(1,0)`.
fn replica_groups(expression: &str) -> &str {
    let Some((_, text)) = expression.split_once("replica_groups=") else { return "" };
    parts(text).next().unwrap_or_default().trim_end()
}

/// The table as a sheet.
pub(super) fn collectives_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let fields = [
        Column::text("Program id", "Program number.")
            .with_role(Role::Provenance)
            .field(|row: &CollectiveRow<'_>| row.program.to_string().into()),
        Column::text("HLO op category", "Kind of collective.")
            .field(|row: &CollectiveRow<'_>| row.op.category.as_str().into()),
        Column::text("HLO op name", "Operation name.")
            .field(|row: &CollectiveRow<'_>| row.op.name.as_str().into()),
        Column::count("Index", "Position among the operation's executions, from 0.")
            .with_role(Role::Name)
            .field(|row: &CollectiveRow<'_>| (row.index as u64).into()),
        Column::nested(
            "Replica groups",
            "Groups of devices that exchange data with each other, as in the instruction.",
        )
        .field(|row: &CollectiveRow<'_>| row.replica_groups.into()),
        Column::text("Shape", "Result shape on one core.")
            .with_role(Role::Detail)
            .field(|row: &CollectiveRow<'_>| row.op.shape.as_str().into()),
        Column::text("Cores", "Numbers of the participating devices.").with_role(Role::Detail).field(
            |row: &CollectiveRow<'_>| {
                let mut cores: Vec<u32> = row.cores.iter().map(|core| core.0).collect();
                cores.sort_unstable();
                let cores: Vec<String> = cores.iter().map(u32::to_string).collect();
                cores.join(", ").into()
            },
        ),
        Column::microseconds("Start (us)", "Start on the first core.").field(|row: &CollectiveRow<'_>| {
            row.cores.iter().map(|core| core.1.start).min().map(Picoseconds::to_microseconds).into()
        }),
        Column::microseconds(
            "Shortest time (us)",
            "Time on the fastest core, which waited least for others.",
        )
        .per("core")
        .field(|row: &CollectiveRow<'_>| row.time_range().0.to_microseconds().into()),
        Column::microseconds("Longest time (us)", "Time on the slowest core.")
            .per("core")
            .field(|row: &CollectiveRow<'_>| row.time_range().1.to_microseconds().into()),
        Column::microseconds(
            "Shared time (us)",
            "From the last start to the first end, while all cores take part.",
        )
        .field(|row: &CollectiveRow<'_>| row.shared_time().to_microseconds().into()),
        Column::microseconds("Start skew (us)", "From the first start to the last start.")
            .field(|row: &CollectiveRow<'_>| row.start_skew().to_microseconds().into()),
        Column::microseconds("End skew (us)", "From the first end to the last end.")
            .field(|row: &CollectiveRow<'_>| row.end_skew().to_microseconds().into()),
        Column::new("Bytes per core", Whole(Bytes), "Bytes that one core moved to and from its memory.")
            .per("core")
            .field(|row: &CollectiveRow<'_>| row.bytes().into()),
        Column::new("Bandwidth (GB/s)", Number(GigabytesPerSecond), "Bytes per core / shortest time.")
            .per("core")
            .field(|row: &CollectiveRow<'_>| row.bandwidth().into()),
        Column::text("Framework op name", "Framework operation that the instruction implements.")
            .with_role(Role::Detail)
            .field(|row: &CollectiveRow<'_>| row.op.framework.as_str().into()),
    ];
    tpu_sheet(
        "tpu_collectives",
        "Collectives among the tensor cores of this host, in order, by the device's clock. Executions of one operation on several cores count as one collective if they overlap in time.",
        fields,
        tpu_collectives,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replica_groups_end_with_their_brackets() {
        for (expression, groups) in [
            (
                "%a = f32[] all-reduce(%p), replica_groups=[4,2]<=[2,4]T(1,0), to_apply=%r",
                "[4,2]<=[2,4]T(1,0)",
            ),
            ("%a = f32[] all-reduce(%p), replica_groups={{0,1},{2,3}}, to_apply=%r", "{{0,1},{2,3}}"),
            ("%a = f32[] all-reduce(%p), replica_groups={}", "{}"),
            ("%a = f32[] all-reduce(%p)", ""),
        ] {
            assert_eq!(replica_groups(expression), groups);
        }
    }
}
