//! The sheets of a report, and the list of them.

pub(crate) mod ops;

use std::borrow::Cow;
use std::collections::BTreeMap;

use sheets::columns::tenstorrent::{COUNT, GROUP, TIME_SUM};
use sheets::{Chart, ChartShape, Column, ColumnKind, Excerpt, Role, Scope, Sheet, Unit};

use crate::advice::{Finding, findings};
use crate::devices::{DeviceLoad, OpImbalance, device_loads, imbalances};
use crate::op::{Bound, OpCategory};
use crate::report::MetalReport;
use crate::stacked::{FlopsSpread, StackedGroup, stacked};

/// The sheets of a report, in order.
#[must_use]
pub fn metal_sheets<'a>() -> Vec<Sheet<'a, MetalReport>> {
    vec![ops::sheet(), categories(), summary(), advice(), devices(), imbalance()]
}

/// Rows of a first page.
const SHOWN: usize = 5;

/// Device time by category, of all devices.
fn categories<'a>() -> Sheet<'a, MetalReport> {
    /// A category with how many operations it has and their time in µs, and the time of all.
    type Row = (OpCategory, usize, f64, f64);
    const CATEGORY: Column = Column::text(
        "Op Category",
        "Compute, communication (between devices), tensor manipulation (of layout and shape), data movement, host, or unknown.",
    );
    const PERCENT: Column =
        Column::percent("Device %", "Share of the device time of all operations, in percent.")
            .with_role(Role::Headline);
    Sheet::with_context(
        "categories",
        "Device time by category of operation, all devices combined, most time first.",
        [
            CATEGORY.field(|(category, ..): &Row| category.in_words().into()),
            COUNT.field(|&(_, count, ..): &Row| count.into()),
            TIME_SUM.field(|&(.., time, _): &Row| time.into()),
            PERCENT.field(|&(.., time, all): &Row| (all > 0.0).then(|| time / all * 100.0).into()),
        ],
        |report: &'a MetalReport| {
            let mut sums: BTreeMap<OpCategory, (usize, f64)> = BTreeMap::new();
            for (category, op) in report.ops.iter().filter_map(|op| Some((op.category?, op))) {
                let (count, time) = sums.entry(category).or_default();
                *count += 1;
                *time += op.device_time_us.unwrap_or(0.0);
            }
            let all = report.totals.device_time_us;
            let rows = sums.into_iter().map(|(category, (count, time))| (category, count, time, all));
            let mut rows: Vec<Row> = rows.collect();
            rows.sort_by(|a, b| b.2.total_cmp(&a.2));
            // The reference has no such sheet.
            (!rows.is_empty() && report.options.conventions.scope == Scope::Full).then_some(((), rows))
        },
    )
    .with_excerpt(Excerpt::new(
        SHOWN,
        [
            ("category", CATEGORY),
            ("operations", COUNT),
            ("device µs", TIME_SUM),
            ("% of device time", PERCENT),
        ],
    ))
}

/// Device time by operation, memory or category.
pub(crate) fn summary<'a>() -> Sheet<'a, MetalReport> {
    const MEAN: Column = Column::percent("Mean FLOPs", "Mean of FLOPs %.");
    const PERCENT: Column = Column::percent(
        "Total %",
        "Share of the device time of all groups on the same device; of all groups if devices are merged.",
    )
    .with_role(Role::Headline);
    const DEVICE: Column =
        Column::identifier("Device", "Device number; empty if devices are merged.").with_role(Role::Name);
    const WEIGHTED: Column = Column::percent(
        "Weighted Mean FLOPs",
        "Mean of FLOPs % weighted by device time: Σ(FLOPs % × time) / Σ time.",
    );
    const BUFFER: Column =
        Column::text("Buffer", "Memory kind of the first input (DRAM, L1 or HOST), if grouped by memory.")
            .with_role(Role::Detail);
    let flops = |column: Column, figure: fn(&FlopsSpread) -> Option<f64>| {
        column
            .per("operation")
            .field(move |group: &StackedGroup| group.flops.as_ref().and_then(figure).into())
    };
    let fields = [
        PERCENT.field(|group: &StackedGroup| group.percent.into()),
        GROUP.field(|group: &StackedGroup| group.name.as_str().into()),
        DEVICE.field(|group: &StackedGroup| group.device.into()),
        TIME_SUM.field(|group: &StackedGroup| group.time_us.into()),
        COUNT.field(|group: &StackedGroup| group.count.into()),
        Column::text("Op Category", "Category of the first operation.")
            .with_role(Role::Detail)
            .field(|group: &StackedGroup| group.category.map(OpCategory::as_str).into()),
        flops(
            Column::percent("Min FLOPs", "Lowest FLOPs % among operations that have one.")
                .spread_of(MEAN.name),
            |flops| Some(flops.min),
        ),
        flops(Column::percent("Max FLOPs", "Highest FLOPs %.").spread_of(MEAN.name), |flops| Some(flops.max)),
        flops(MEAN, |flops| Some(flops.mean)),
        flops(
            Column::percent(
                "Std FLOPs",
                "Sample standard deviation (n − 1) of FLOPs %; empty for one operation.",
            )
            .spread_of(MEAN.name),
            |flops| flops.std,
        ),
        flops(WEIGHTED, |flops| flops.weighted_mean),
        BUFFER.field(|group: &StackedGroup| group.buffer.as_deref().into()),
    ];
    Sheet::new(
        "summary",
        "Device time by operation, by operation and its first input's memory, or by category, most time first; per device unless devices are merged.",
        fields,
        stacked,
    )
    .with_chart(Chart::new(
        "Device time",
        GROUP.name,
        TIME_SUM.name,
        "device time (µs)",
        ChartShape::Bars(10),
    ))
    .with_excerpt(
        Excerpt::new(
            SHOWN,
            [
                ("operation", GROUP),
                ("calls", COUNT),
                ("device µs", TIME_SUM),
                ("% of device time", PERCENT),
                ("% of peak FLOPs", WEIGHTED),
            ],
        )
        .told_by([("memory", BUFFER), ("device", DEVICE)]),
    )
}

/// What to change, one row per item of advice.
fn advice<'a>() -> Sheet<'a, MetalReport> {
    /// A finding, an item of advice, ID and name of its first operation.
    type Row<'a> = (Finding, String, Option<(u32, Cow<'a, str>)>);
    let fields = [
        Column::text("finding", "Kind of problem.")
            .field(|(finding, ..): &Row<'_>| finding.title().into()),
        Column::identifier("ID", "ID of the operation, or of the first if there are several.").with_role(Role::Name)
            .field(|(.., op): &Row<'_>| op.as_ref().map(|&(id, _)| id).into()),
        Column::text("OP Code", "Operation name.")
            .field(|(.., op): &Row<'_>| op.as_ref().map(|(_, name)| name.as_ref()).into()),
        Column::count("operations", "Number of affected operations.")
            .field(|(finding, ..): &Row<'_>| finding.ops().len().into()),
        Column::text("Bound", "What bounds the operation; given for matmuls only.").with_role(Role::Detail).field(
            |(finding, ..): &Row<'_>| match finding {
                Finding::MatrixProduct { bound, .. } => bound.map(Bound::as_str).into(),
                _ => None::<&str>.into(),
            },
        ),
        Column::text("advice", "Suggested change.").with_role(Role::Detail).distinguishing()
            .field(|(_, advice, _): &Row<'_>| advice.into()),
        Column::microseconds(
            "saving at most (µs)",
            "Upper bound of the saving. Host operations: their host time. Gaps: the sum of (gap − 6 µs). Matmuls: time × (1 − max(DRAM %, FLOPs %) / 100); several items for one matmul repeat the same saving, which counts only once.",
        ).with_role(Role::Headline)
        .field(|(finding, ..): &Row<'_>| finding.at_most_us().into()),
    ];
    Sheet::new(
        "advice",
        "Suggested changes, one row per item; if an item concerns several operations, the row shows the first.",
        fields,
        |report: &'a MetalReport| {
            let rows = |finding: Finding| {
                let op = finding.ops().first().and_then(|&position| report.ops.get(position));
                let op = op.map(|op| (op.id, ops::op_code(op)));
                let items: Vec<String> = match &finding {
                    Finding::MatrixProduct { advice, .. } => advice.iter().map(ToString::to_string).collect(),
                    _ => vec![finding.to_string()],
                };
                items.into_iter().map(move |item| (finding.clone(), item, op.clone()))
            };
            findings(report).into_iter().flat_map(rows).collect()
        },
    )
}

/// How busy each device was.
fn devices<'a>() -> Sheet<'a, MetalReport> {
    let fields = [
        Column::identifier("Device", "Device.").with_role(Role::Name)
            .field(|load: &DeviceLoad| load.device.into()),
        Column::count("Op Count", "Number of operations on the device.")
            .field(|load: &DeviceLoad| load.count.into()),
        Column::microseconds("Device Time Sum", "Sum of operation times in µs; overlapping operations each count.")
            .field(|load: &DeviceLoad| load.time_us.into()),
        Column::microseconds("Gap Sum", "Sum of the gaps before operations in µs, excluding the gap before the first operation.")
            .field(|load: &DeviceLoad| load.gap_us.into()),
        Column::microseconds(
            "Busy Time",
            "Time in µs with at least one operation running: union of firmware cycles divided by the clock; empty if cycles were not recorded.",
        )
        .field(|load: &DeviceLoad| load.busy_us.into()),
        Column::microseconds(
            "Idle Time",
            "Idle time in µs between the first and the last operation; empty if cycles were not recorded.",
        )
        .field(|load: &DeviceLoad| load.idle_us.into()),
        Column::new(
            "Clock (MHz)",
            ColumnKind::Number(Unit::Megahertz),
            "Firmware cycles divided by firmware duration.",
        )
        .field(|load: &DeviceLoad| load.clock_mhz.into()),
    ];
    Sheet::new(
        "devices",
        "Work per device in the rows shown; merged operations count toward each of their devices.",
        fields,
        device_loads,
    )
}

const MEAN_TIME: Column = Column::microseconds("Mean Time", "Mean time in µs.").per("device");

/// How evenly devices shared the work.
fn imbalance<'a>() -> Sheet<'a, MetalReport> {
    let fields = [
        Column::identifier("ID", "Line of this row in the profiler's file.").with_role(Role::Name).field_in(
            |report: &&MetalReport, one: &OpImbalance| report.ops.get(one.op).map(|op| op.id).into(),
        ),
        Column::text("OP Code", "Operation.").field_in(|report: &&MetalReport, one: &OpImbalance| {
            report.ops.get(one.op).map(|op| op.label.as_str()).into()
        }),
        Column::count("Devices", "Number of devices with a recorded time for the operation.")
            .field(|one: &OpImbalance| one.devices.into()),
        Column::microseconds("Min Time", "Shortest time in µs.")
            .spread_of(MEAN_TIME.name)
            .per("device")
            .field(|one: &OpImbalance| one.min_us.into()),
        MEAN_TIME.field(|one: &OpImbalance| one.mean_us.into()),
        Column::microseconds("Max Time", "Longest time in µs.")
            .spread_of(MEAN_TIME.name)
            .per("device")
            .field(|one: &OpImbalance| one.max_us.into()),
        Column::identifier("Slowest Device", "Device with the longest time.")
            .with_role(Role::Detail)
            .field(|one: &OpImbalance| one.slowest.into()),
        Column::percent("Imbalance %", "Excess of the slowest device over the mean: (max / mean − 1) × 100.")
            .field(|one: &OpImbalance| one.imbalance_percent.into()),
    ];
    Sheet::with_context(
        "imbalance",
        "Operations that ran on several devices, in execution order, with the spread of their times.",
        fields,
        |report: &'a MetalReport| {
            let rows = imbalances(report);
            (!rows.is_empty()).then_some((report, rows))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{Line, report};
    use crate::options::MetalOptions;

    #[test]
    fn a_call_of_two_devices_is_in_every_sheet_of_figures() {
        let line = |device| Line { device: Some(device), call: Some(0), ..Line::op("Matmul") };
        let report = report(&[line(0), line(1)], MetalOptions::default());
        let rows = |name: &str| {
            let sheets = metal_sheets();
            let sheet = sheets.iter().find(|sheet| sheet.name == name).unwrap();
            sheet.table(&report).unwrap().map(|table| table.height())
        };
        for (name, expected) in
            [("ops", 1), ("categories", 1), ("summary", 1), ("devices", 2), ("imbalance", 1)]
        {
            assert_eq!(rows(name), Some(expected), "{name}");
        }
    }
}
