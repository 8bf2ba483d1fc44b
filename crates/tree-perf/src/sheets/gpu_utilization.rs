//! How busy each device was over time.

use sheets::{Column, Role, Sheet, percent};

use crate::analysis::Analysis;
use crate::gaps::Utilization;

/// Parts of the time of a device, as in the rule `gpu_time_util` of `nsys analyze`.
const PARTS: usize = 30;

/// One row per device and part of its time.
pub(super) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let fields = [
        Column::identifier("device", "Index of the device.")
            .with_role(Role::Name)
            .field(|row: &Utilization| row.device.into()),
        Column::identifier("part", "Interval number, from 0.")
            .with_role(Role::Name)
            .field(|row: &Utilization| row.part.into()),
        Column::milliseconds("Start (ms)", "Start of the interval, relative to the recording's start.")
            .field_in(|analysis: &&Analysis, row: &Utilization| analysis.ms(row.time.start).into()),
        Column::milliseconds("Length (ms)", "Length of the interval.")
            .field_in(|analysis: &&Analysis, row: &Utilization| analysis.ms(row.time.length()).into()),
        Column::milliseconds("Busy (ms)", "Time with at least one kernel, copy or fill running.")
            .field_in(|analysis: &&Analysis, row: &Utilization| analysis.ms(row.busy).into()),
        Column::milliseconds(
            "Summed (ms)",
            "Sum of kernel, copy and fill times; concurrent ones each count.",
        )
        .field_in(|analysis: &&Analysis, row: &Utilization| analysis.ms(row.summed).into()),
        Column::percent("Utilization (%)", "Busy time as a share of the interval.")
            .with_role(Role::Headline)
            .field(|row: &Utilization| percent(row.busy, row.time.length()).into()),
        Column::percent(
            "Summed Utilization (%)",
            "Summed time as a share of the interval; above 100 if work runs concurrently.",
        )
        .field(|row: &Utilization| percent(row.summed, row.time.length()).into()),
    ];
    Sheet::with_context(
        "gpu_utilization",
        "Utilization of each device in 30 equal intervals from its first start to its last end; needs --waits.",
        fields,
        |analysis: &'a Analysis| {
            let is_asked = analysis.options().waits && analysis.options().conventions.is_full();
            let rows = if is_asked { analysis.utilizations(PARTS) } else { Vec::new() };
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
}
