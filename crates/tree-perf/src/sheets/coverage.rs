//! How much of the device's time the rooflines speak of.

use std::collections::BTreeMap;

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use operator_sheets::OpCategory;
use sheets::columns::{CUMULATIVE, KERNEL_TIME_SUM, OP_CATEGORY, SHARE_OF_KERNEL_TIME};
use sheets::names::COVERAGE;
use sheets::{Column, Figure, Role, Sheet, shares};

use crate::analysis::Analysis;
use crate::call_groups::CountedCall;
use crate::derived::UnifiedRow;
use crate::unified::Status;

/// What the calls of a row have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    status: Status,
    name: String,
    category: Option<OpCategory>,
    reason: Option<String>,
}

struct Row {
    key: Key,
    calls: i64,
    time: i64,
}

/// One row per operator and what is known of it.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let [share, running] = shares(SHARE_OF_KERNEL_TIME, CUMULATIVE, |row: &Row| row.time);
    let fields = [
        Column::text(
            "status",
            "modelled: a model gives FLOPs and bytes, or the copy size is recorded; in cache: a model gives them, but calls were faster than memory bandwidth allows, at a rate possible for a cache that could hold their bytes; above peak: calls were faster than the architecture allows, so the model, the recorded arguments or the architecture is wrong; bytes not known: FLOPs only, see reason; arguments not recorded: the trace lacks the model's inputs, or the work was launched outside any operator, see reason; no model: no performance model covers the operator; copies: memory copies and fills without a model; communication: collectives, whose time depends on other ranks; unlinked: the launch is not in the trace.",
        )
        .field(|row: &Row| row.key.status.as_str().into()),
        Column::text(
            "name",
            "Operator; for unlinked device events, the kernel.",
        )
        .field(|row: &Row| row.key.name.as_str().into()),
        OP_CATEGORY
            .described("Category of the operator; empty if no operator is known.")
            .field(|row: &Row| row.key.category.as_ref().map(OpCategory::as_str).into()),
        Column::count(
            "operation_count",
            "Number of calls of the operator, or of device events if the operator is unknown.",
        )
        .field(|row: &Row| row.calls.into()),
        KERNEL_TIME_SUM
            .described("Device time of a call, overlaps counted once, summed over calls.")
            .field_in(|analysis: &&Analysis, row: &Row| analysis.us(row.time).into()),
        share,
        running,
        Column::text("reason", "Reason for missing FLOPs or bytes; empty if both are known.").with_role(Role::Detail)
            .field(|row: &Row| row.key.reason.as_deref().into()),
    ];
    Sheet::with_context(
        COVERAGE,
        "How much of the device time the rooflines cover: all device time, linked to an operator or not, by status and operator.",
        fields,
        |analysis| Some((analysis, rows(analysis)?)),
    ).with_sums_showing(&[Figure::Coverage, Figure::AllOfTheDevice])
}

fn rows(analysis: &Analysis) -> Option<Vec<Row>> {
    if analysis.is_gpu_only() || analysis.device_event_count() == 0 {
        return None;
    }
    let mut groups: BTreeMap<Key, (i64, i64)> = BTreeMap::new();
    let mut add = |key: Key, calls: i64, time: i64| {
        let (count, sum) = groups.entry(key).or_default();
        *count += calls;
        *sum += time;
    };
    // By ids first: what is said of calls that a model answers alike is put into words once.
    let mut row_sums: HashMap<_, (&UnifiedRow, i64, i64)> = HashMap::new();
    for row in analysis.unified_rows() {
        let status = row.status(analysis);
        let key = (status, row.name(analysis), &row.category, row.answer());
        let (_, calls, time) = row_sums.entry(key).or_insert((row, 0, 0));
        *calls += 1;
        *time += row.time;
    }
    for ((status, name, category, ..), (row, calls, time)) in row_sums {
        let (name, reason) = (
            name.text(analysis).into_owned(),
            row.undefined(analysis).map(|undefined| undefined.to_string()),
        );
        add(Key { status, name, category: Some(category.clone()), reason }, calls, time);
    }
    for (status, event) in analysis.uncharged_device_events() {
        let events = analysis.trace().events();
        let name = analysis.trace().name(event).to_owned();
        add(Key { status, name, category: None, reason: None }, 1, events.duration(event));
    }
    let row = |(key, (calls, time))| Row { key, calls, time };
    let mut rows: Vec<Row> = groups.into_iter().map(row).collect();
    // Stable: rows of equal time stay in the order of their keys.
    rows.sort_few_by_key(|row| (row.key.status, std::cmp::Reverse(row.time)));
    Some(rows)
}
