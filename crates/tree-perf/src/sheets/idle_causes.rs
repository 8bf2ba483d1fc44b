//! Why devices and streams had nothing to run.

use operator_sheets::per_iteration;
use sheets::columns::WAITED_FOR;
use sheets::names::IDLE_CAUSES;
use sheets::{Column, Field, Figure, Role, Sheet, percent};

use crate::analysis::Analysis;
use crate::derived::{IdleRow, IdleRows};

/// One row per device, cause and what was waited for.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    Sheet::with_context(
        IDLE_CAUSES,
        "Why a device was idle: time from its first start to its last end with no stream busy, by cause, most time first; needs --waits. The times of a device add up to its idle time. Includes device events without a launch.",
        [DEVICE.field(|row: &IdleRow| row.device.into())].into_iter().chain(fields()),
        |analysis| rows(analysis, |rows| &rows.per_device),
    ).showing(&[Figure::CausesOfIdleTime])
}

/// The same per stream.
pub(crate) fn sheet_per_stream<'a>() -> Sheet<'a, Analysis> {
    let stream_field =
        [DEVICE.field(|row: &IdleRow| row.device.into()), STREAM.field(|row: &IdleRow| row.stream.into())];
    Sheet::with_context(
        "idle_causes_per_stream",
        "Why a stream was idle: time from its first start to its last end when it was not busy, by cause, most time first; needs --waits. The times of a stream add up to its span minus its busy time. Excludes streams with one event.",
        stream_field.into_iter().chain(fields()),
        |analysis| rows(analysis, |rows| &rows.per_stream),
    ).showing(&[Figure::CausesOfIdleTime])
}

const WAITS: &[Figure] = &[Figure::Gaps, Figure::Span, Figure::IdleTime];

pub(super) const DEVICE: Column =
    Column::identifier("device", "Index of the device; empty if not recorded.").with_role(Role::Name);
pub(super) const STREAM: Column =
    Column::identifier("stream", "Stream on the device; empty if not recorded.").with_role(Role::Name);

fn rows(analysis: &Analysis, choose: fn(&IdleRows) -> &Vec<IdleRow>) -> Option<(&Analysis, Vec<IdleRow>)> {
    let rows = choose(analysis.idle_rows()?);
    (!rows.is_empty()).then(|| (analysis, rows.clone()))
}

fn fields<'a>() -> Vec<Field<&'a Analysis, IdleRow>> {
    vec![
        Column::text(
            "cause",
            "Reason for the idle time, the first that applies: unlinked (the launch of the event that ended the wait is not in the trace), host_wait (the launch began after the previous work ended), kernel_wait (already launched, wait shorter than --kernel_wait_threshold_us), dependency_wait (already launched, longer wait), not_recorded (the device may have been busy: launches without recorded device events, or time between two profiler cycles).",
        )
        .field(|row: &IdleRow| row.cause.name().into()),
        Column::text(
            "reason",
            "For a host_wait, what the launching thread did between the end of the previous work and the launch: data_loader, copy, sync (such calls took at least half of the time, or the copy or synchronization was running when the work ended), allocation (calls that allocate or free memory took at least half), initialisation (at least half was taken by calls that were the first of their name, or that took at least a millisecond and 20 times the usual time: loading kernels, setting up libraries), operator (an operator that launched nothing took at least half of a wait of 1 ms or more), profiler (the profiler blocked the host for at least half of the wait), graph_launch (anything else before a graph launch), other. For a dependency_wait: other_stream (an event of another stream ended during the wait), graph_launch, copy, launch (the launching call was still running), sync (a synchronization on the launching thread ended during the wait), unknown. Inferred from times.",
        )
        .field(|row: &IdleRow| row.cause.reason().into()),
        WAITED_FOR
        .field_in(|analysis: &&Analysis, row: &IdleRow| {
            row.waited_for.map(|name| analysis.trace().text(name)).into()
        }),
        Column::milliseconds("idle_ms", "Wait time.").showing(WAITS)
            .with_role(Role::Headline)
            .field_in(|analysis: &&Analysis, row: &IdleRow| analysis.ms(row.time).into()),
        Column::percent("percent of idle", "Share of all wait time of the stream or device.").showing(WAITS)
            .with_role(Role::Headline)
            .field(|row: &IdleRow| percent(row.time, row.idle).into()),
        Column::percent(
            "percent of span",
            "Share of the time from first start to last end of the stream or device.",
        ).showing(WAITS)
        .field(|row: &IdleRow| percent(row.time, row.span).into()),
        per_iteration(WAITS, |row: &IdleRow| row.time as f64),
        Column::count("waits", "Number of waits: one before each event except the first, including zero-length waits.")
            .field(|row: &IdleRow| row.waits.into()),
        Column::microseconds("longest_us", "Longest wait.").showing(WAITS)
            .per("wait")
            .field_in(|analysis: &&Analysis, row: &IdleRow| analysis.us(row.longest).into()),
    ]
}
