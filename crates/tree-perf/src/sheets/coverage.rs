//! How much of the device's time the rooflines speak of.

use std::collections::BTreeMap;

use gpu_timeline::busy_time;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, Unit, shared};
use crate::device::interval;
use crate::frame::FrameBuilder;
use crate::sheet::Sheet;
use crate::unified::UnifiedRow;
use operator_sheets::OpCategory;

/// One row per operator and what is known of it.
pub(crate) const SHEET: Sheet = Sheet {
    name: "coverage",
    current_name: "coverage",
    description: "What the rooflines speak of and what they leave out: all device time, linked to an operator or not, by operator, and whether a model has figures for it that the device can reach.",
    columns: &[
        Column::new(
            "status",
            ColumnKind::Text,
            "modelled: a model has FLOPs and bytes; above peak: the same, but the calls were faster than the architecture allows, so that the model, the recorded arguments or the architecture is wrong; partly modelled: FLOPs but no bytes, see reason; unmodelled: no figures, see reason; communication: collectives, whose time depends on other ranks; unlinked: the launch is not in the trace.",
        ),
        Column::new(
            "name",
            ColumnKind::Text,
            "Operator; for communication and unlinked device events the kernel.",
        ),
        Column::new(
            "op category",
            ColumnKind::Text,
            "Kind of work of the operator; empty where no operator is known.",
        ),
        Column::new(
            "operation_count",
            ColumnKind::Count,
            "Calls of the operator; device events where no operator is known.",
        ),
        Column::new(
            "Kernel Time (µs)_sum",
            ColumnKind::Number(Unit::Microseconds),
            "Sum over calls of the union of the spans of a call's device events, in µs.",
        ),
        shared::SHARE_OF_KERNEL_TIME,
        shared::CUMULATIVE,
        Column::new(
            "reason",
            ColumnKind::Text,
            "Why FLOPs or bytes are missing; empty where there are both.",
        ),
    ],
    chart: None,
    build,
};

/// What is known of an operator's work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Status {
    Modelled,
    AbovePeak,
    PartlyModelled,
    Unmodelled,
    Communication,
    Unlinked,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Status::Modelled => "modelled",
            Status::AbovePeak => "above peak",
            Status::PartlyModelled => "partly modelled",
            Status::Unmodelled => "unmodelled",
            Status::Communication => "communication",
            Status::Unlinked => "unlinked",
        }
    }
}

type Key = (Status, String, Option<OpCategory>, Option<String>);

fn build(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    if analysis.is_gpu_only() || analysis.device_event_count() == 0 {
        return Ok(None);
    }
    let mut groups: BTreeMap<Key, (i64, i64)> = BTreeMap::new();
    let mut add = |key: Key, calls: i64, time: i64| {
        let (count, sum) = groups.entry(key).or_default();
        *count += calls;
        *sum += time;
    };
    // By ids first: what is said of calls that a model answers alike is put into words once.
    let mut of_rows: HashMap<_, (&UnifiedRow, i64, i64)> = HashMap::new();
    for row in analysis.unified_rows() {
        let status = match &row.figures {
            None => Status::Unmodelled,
            Some(figures) if figures.bytes.is_none() => Status::PartlyModelled,
            Some(figures) if figures.percent_of_roofline().is_some_and(|share| share > 100.0) => {
                Status::AbovePeak
            }
            Some(_) => Status::Modelled,
        };
        let key = (status, row.name(analysis), &row.category, row.answer());
        let (_, calls, time) = of_rows.entry(key).or_insert((row, 0, 0));
        *calls += 1;
        *time += row.time;
    }
    for ((status, name, category, ..), (row, calls, time)) in of_rows {
        add(
            (status, name.text(analysis).into_owned(), Some(category.clone()), row.reason(analysis)),
            calls,
            time,
        );
    }
    let trace = analysis.trace();
    let mut scratch = Vec::new();
    for (position, &event) in analysis.device.ids.iter().enumerate() {
        // Fused operators of inference engines communicate inside a modelled operator, which is charged.
        if analysis.charged_device_events().contains(event) {
            continue;
        }
        let status = match analysis.device.linked[position] {
            true => Status::Communication,
            false => Status::Unlinked,
        };
        let time = busy_time([interval(trace, event)], &mut scratch);
        add((status, trace.name(event).to_owned(), None, None), 1, time);
    }
    let mut rows: Vec<(Key, (i64, i64))> = groups.into_iter().collect();
    rows.sort_by_key(|((status, ..), (_, time))| (*status, std::cmp::Reverse(*time)));

    let mut frame = FrameBuilder::default();
    frame.text("status", rows.iter().map(|((status, ..), _)| Some(status.as_str())));
    frame.text("name", rows.iter().map(|((_, name, ..), _)| Some(name)));
    frame.text(
        "op category",
        rows.iter().map(|((_, _, category, _), _)| category.as_ref().map(OpCategory::as_str)),
    );
    frame.integer("operation_count", rows.iter().map(|(_, (count, _))| Some(*count)));
    frame.float("Kernel Time (µs)_sum", rows.iter().map(|(_, (_, time))| Some(analysis.us(*time))));
    frame.shares(rows.iter().map(|(_, (_, time))| *time));
    frame.text("reason", rows.iter().map(|((_, _, _, reason), _)| reason.as_deref()));
    frame.finish().map(Some)
}
