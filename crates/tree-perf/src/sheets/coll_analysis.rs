//! Collective communication by kind and size.

use gpu_timeline::{Activity, Summary};
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::{Category as EventCategory, Collective, EventId, StringId};

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::sheet::Sheet;

/// One row per kind of collective.
pub(crate) const SHEET: Sheet = Sheet {
    name: "coll_analysis",
    current_name: "coll_analysis",
    description: "Kernels of collective communication (those with a correlation or External id) by process group, collective, type, size and stream, most time first; left out with --disable_coll_analysis and when there are none.",
    columns: &[
        Column::new(
            "rank",
            ColumnKind::Identifier,
            "Rank of the recorded process (distributedInfo.rank); 0 when the trace does not say.",
        ),
        Column::new(
            "Process Group Name",
            ColumnKind::Text,
            "Process group; where the trace names none, all if it names none anywhere and uses one stream, else Unknown_Group.",
        ),
        Column::new("Process Group Ranks", ColumnKind::Nested, "Ranks of the group."),
        Column::new(
            "Collective name",
            ColumnKind::Text,
            "Collective, such as allreduce; for custom kernels by their name.",
        ),
        Column::new("Group size", ColumnKind::Count, "Number of ranks of the group."),
        Column::new("dtype", ColumnKind::Text, "Element type."),
        Column::new("In msg nelems", ColumnKind::Count, "Elements that the rank gives."),
        Column::new("Out msg nelems", ColumnKind::Count, "Elements that the rank gets."),
        Column::new("In split size", ColumnKind::Nested, "Elements given to each rank, for uneven splits."),
        Column::new("Out split size", ColumnKind::Nested, "Elements got from each rank, for uneven splits."),
        Column::new("stream", ColumnKind::Identifier, "Stream of the kernel."),
        Column::new(
            "In msg size (MB)_first",
            ColumnKind::Number(Unit::Mebibytes),
            "Size given in MiB: In msg nelems times the size of dtype, divided by 1024².",
        ),
        Column::new(
            "Out msg size (MB)_first",
            ColumnKind::Number(Unit::Mebibytes),
            "Size got in MiB: Out msg nelems times the size of dtype, divided by 1024².",
        ),
        Column::new(
            "dur_sum",
            ColumnKind::Number(Unit::Microseconds),
            "Sum of the kernels' durations in µs, waiting for other ranks included.",
        ),
        Column::new("dur_mean", ColumnKind::Number(Unit::Microseconds), "Mean duration in µs."),
        Column::new(
            "dur_std",
            ColumnKind::Number(Unit::Microseconds),
            "Standard deviation (of a sample, n − 1) of the durations in µs; empty for one kernel.",
        ),
        Column::new("dur_min", ColumnKind::Number(Unit::Microseconds), "Shortest duration in µs."),
        Column::new("dur_max", ColumnKind::Number(Unit::Microseconds), "Longest duration in µs."),
        Column::new("operation_count", ColumnKind::Count, "Number of kernels."),
    ],
    chart: None,
    build,
};

/// What tells two kinds of collective apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'a> {
    /// Without its name.
    collective: Collective,
    /// Name of the collective; where the trace has none, that of a custom collective by its kernel.
    name: Option<&'a str>,
    stream: Option<i64>,
}

fn build(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    if !analysis.options().collective_analysis || analysis.is_gpu_only() {
        return Ok(None);
    }
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let kernels: Vec<EventId> = (0..analysis.device.len())
        .filter(|&position| analysis.device.activity[position] == Activity::Communication)
        .map(|position| analysis.device.ids[position])
        .filter(|&id| events.category(id) == EventCategory::KERNEL)
        .filter(|&id| events.correlation(id).or(events.external_id(id)).is_some())
        .collect();
    if kernels.is_empty() {
        return Ok(None);
    }
    let text = |id: Option<StringId>| id.map(|id| trace.text(id));
    let mut order = Vec::new();
    let mut groups: HashMap<Key<'_>, Vec<i64>> = HashMap::new();
    for &kernel in &kernels {
        let collective = events.arguments().collective.get(kernel.index()).unwrap_or_default();
        let name =
            text(collective.name).or_else(|| analysis.options().communication.collective(trace.name(kernel)));
        // What varies between kernels of one kind does not tell kinds apart.
        let collective = Collective {
            name: None,
            group_description: None,
            rank: None,
            global_rank_start: None,
            global_rank_stride: None,
            ..collective
        };
        let key = Key { collective, name, stream: events.stream(kernel) };
        groups.entry(key).or_insert_with(|| {
            order.push(key);
            Vec::new()
        });
        if let Some(durations) = groups.get_mut(&key) {
            durations.push(events.duration(kernel));
        }
    }
    let mut rows: Vec<(Key<'_>, Summary)> =
        order.into_iter().filter_map(|key| Some((key, Summary::of(&groups[&key])?))).collect();
    // Equal times: by the key columns in their order.
    rows.sort_by_key(|(key, summary)| {
        let Key { collective, name, stream } = key;
        let group = (text(collective.group_name), text(collective.group_ranks), *name, collective.group_size);
        let sizes = (text(collective.dtype), collective.in_elements, collective.out_elements);
        let splits = (text(collective.in_split_size), text(collective.out_split_size));
        (std::cmp::Reverse(summary.sum), group, sizes, splits, *stream)
    });

    let streams = rows.iter().map(|(key, _)| key.stream).collect::<std::collections::BTreeSet<_>>();
    let no_group_anywhere = rows.iter().all(|(key, _)| key.collective.group_name.is_none());
    let unknown_group = if no_group_anywhere && streams.len() <= 1 { "all" } else { "Unknown_Group" };
    let rank = trace.facts().distributed.as_ref().and_then(|distributed| distributed.rank).unwrap_or(0);
    let us = |time: f64| time / trace.time_unit().per_microsecond() as f64;

    let mut frame = FrameBuilder::default();
    let of = |part: fn(&Collective) -> Option<StringId>| {
        rows.iter().map(move |(key, _)| text(part(&key.collective)))
    };
    let count = |part: fn(&Collective) -> Option<i64>| rows.iter().map(move |(key, _)| part(&key.collective));
    let size = |part: fn(&Collective) -> Option<i64>| {
        rows.iter().map(move |(key, _)| {
            let bytes = element_size(text(key.collective.dtype)?)?;
            Some(part(&key.collective)? as f64 * bytes / (1024.0 * 1024.0))
        })
    };
    frame.integer("rank", rows.iter().map(|_| Some(rank)));
    frame.text("Process Group Name", of(|c| c.group_name).map(|name| Some(name.unwrap_or(unknown_group))));
    frame.text("Process Group Ranks", of(|c| c.group_ranks));
    frame.text("Collective name", rows.iter().map(|(key, _)| key.name));
    frame.integer("Group size", count(|c| c.group_size));
    frame.text("dtype", of(|c| c.dtype));
    frame.integer("In msg nelems", count(|c| c.in_elements));
    frame.integer("Out msg nelems", count(|c| c.out_elements));
    frame.text("In split size", of(|c| c.in_split_size));
    frame.text("Out split size", of(|c| c.out_split_size));
    frame.integer("stream", rows.iter().map(|(key, _)| key.stream));
    frame.float("In msg size (MB)_first", size(|c| c.in_elements));
    frame.float("Out msg size (MB)_first", size(|c| c.out_elements));
    frame.float("dur_sum", rows.iter().map(|(_, summary)| Some(us(summary.sum as f64))));
    frame.float("dur_mean", rows.iter().map(|(_, summary)| Some(us(summary.mean))));
    frame.float("dur_std", rows.iter().map(|(_, summary)| summary.sample_std.map(us)));
    frame.float("dur_min", rows.iter().map(|(_, summary)| Some(us(summary.min as f64))));
    frame.float("dur_max", rows.iter().map(|(_, summary)| Some(us(summary.max as f64))));
    frame.integer("operation_count", rows.iter().map(|(_, summary)| Some(summary.count as i64)));
    frame.finish().map(Some)
}

/// Bytes of an element of the types that collectives name.
fn element_size(dtype: &str) -> Option<f64> {
    Some(match dtype {
        "Double" | "Long" => 8.0,
        "Float" | "Int" => 4.0,
        "BFloat16" | "Half" | "Short" => 2.0,
        "Bool" | "Byte" => 1.0,
        _ => return None,
    })
}
