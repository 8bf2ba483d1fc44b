//! The columns of operations on the terminal: what each says, and in which colour.

use metal_perf::{Bound, Counts, HIGH_GAP_US, MetalReport, Op, OpKind, Verdict};
use report_writers::terminal::{Color, TextCell, TextColumn};
use sheets::Layout;
use trace_ingest::metal::SubDevice;

use answers::numbers::{counted, decimal, grouped};

/// Fewer cores are few, unless they are half of those available.
const FEW_CORES: u32 = 10;

/// The columns of the operations of a report.
pub(super) fn op_columns(report: &MetalReport) -> Vec<TextColumn<'_, Op>> {
    let compat = report.options.conventions.layout == Layout::Listed;
    let totals = &report.totals;
    let row = |op: &Op| report.table.rows.get(op.row as usize);
    let has_sub_devices =
        report.ops.iter().any(|op| row(op).is_some_and(|row| row.sub_device != SubDevice::None));
    let mut budgets = report.ops.iter().filter(|op| op.kind != OpKind::Signpost).map(|op| op.available_cores);
    let first = budgets.next();
    let has_budgets = has_sub_devices || budgets.any(|budget| Some(budget) != first);

    let mut columns = vec![
        TextColumn::right("ID", |op: &Op| op.id.to_string()),
        TextColumn::right("Total %", move |op: &Op| share(op.total_percent, compat))
            .droppable(3)
            .with_total(percent_text(100.0, 1, compat)),
    ];
    if !compat {
        columns.push(TextColumn::right("Device %", |op: &Op| share(op.device_percent, false)).droppable(6));
    }
    columns.extend([
        TextColumn::right("Bound", move |op: &Op| {
            TextCell::new(op.bound.map_or("", Bound::as_str), bound_color(op.bound, compat))
        })
        .droppable(2),
        TextColumn::left("OP Code", |op: &Op| name(report, op)).with_total(counts_text(report)),
        TextColumn::right("Device", |op: &Op| count(op.device)).droppable(10),
    ]);
    if has_sub_devices {
        let sub_device = |op: &Op| match report.table.rows.get(op.row as usize).map(|row| row.sub_device) {
            Some(SubDevice::Number(number)) => number.to_string(),
            Some(SubDevice::Text(text)) => report.table.text(text).to_owned(),
            Some(SubDevice::None) | None => String::new(),
        };
        columns.push(TextColumn::right("Sub Device ID", sub_device).droppable(9));
    }
    columns.extend([
        TextColumn::right("Device Time", |op: &Op| unit(op.device_time_us, 0, "μs"))
            .with_total(micros_text(totals.device_time_us, 0)),
        TextColumn::right("Op-to-Op Gap", |op: &Op| {
            let is_high = op.gap_us.is_some_and(|gap| gap > HIGH_GAP_US);
            TextCell::new(unit(op.gap_us, 0, "μs"), is_high.then_some(Color::Red))
        })
        .droppable(1)
        .with_total(micros_text(totals.gap_us, 0)),
        TextColumn::right("Cores", |op: &Op| TextCell::new(count(op.cores), cores_color(op))).droppable(5),
    ]);
    if has_budgets {
        let budget = |op: &Op| count((op.kind != OpKind::Signpost).then_some(op.available_cores));
        columns.push(TextColumn::right("Available Cores", budget).droppable(7));
    }
    let dram = move |op: &Op| bound_colors(op, compat)[0];
    let flops = move |op: &Op| bound_colors(op, compat)[1];
    columns.extend([
        TextColumn::right("DRAM", move |op: &Op| TextCell::new(unit(op.dram_gb_per_s, 0, "GB/s"), dram(op)))
            .droppable(12)
            .with_total(unit(totals.dram_gb_per_s, 0, "GB/s")),
        TextColumn::right("DRAM %", move |op: &Op| reached(op.dram_percent, dram(op), compat))
            .droppable(4)
            .with_total(share(totals.dram_percent, compat)),
        TextColumn::right("FLOPs", move |op: &Op| {
            TextCell::new(unit(op.tflop_per_s, 1, "TFLOPs"), flops(op))
        })
        .droppable(11),
        TextColumn::right("FLOPs %", move |op: &Op| reached(op.flops_percent, flops(op), compat))
            .droppable(4),
        TextColumn::right("Math Fidelity", |op: &Op| {
            TextCell::new(op.math_fidelity.clone(), fidelity_color(report, op))
        })
        .droppable(8),
    ]);
    let muted = |op: &Op, color: Option<Color>| if is_minor(report, op) { Some(Color::Gray) } else { color };
    columns.into_iter().map(|column| column.recolored(muted)).collect()
}

/// Whether an operation is too short to matter: little of all time and, as gaps may be most of that, little of device
/// time.
pub(super) fn is_minor(report: &MetalReport, op: &Op) -> bool {
    let least = report.options.min_percentage;
    let holds_device_time = op.device_percent.is_some_and(|share| share >= least)
        && report.options.conventions.layout != Layout::Listed;
    op.kind != OpKind::Host && op.total_percent.is_some_and(|share| share < least) && !holds_device_time
}

fn name(report: &MetalReport, op: &Op) -> TextCell {
    match op.kind {
        OpKind::Signpost => {
            TextCell::new(format!("🪧 {}", report.table.text(op.raw_op_code)), Some(Color::White))
        }
        _ => labelled(&op.label),
    }
}

/// A percentage of what the chip can do. More than all of it shows that the model does not fit the operation.
fn reached(percent: Option<f64>, color: Option<Color>, compat: bool) -> TextCell {
    match percent {
        Some(value) if value > 100.0 && !compat => {
            TextCell::new(share(percent, compat) + " !", Some(Color::Red))
        }
        _ => TextCell::new(share(percent, compat), color),
    }
}

fn fidelity_color(report: &MetalReport, op: &Op) -> Option<Color> {
    let is_judged = op.label.contains("Matmul") || op.label.contains("OptimizedConvNew");
    if !is_judged || op.math_fidelity.is_empty() {
        return None;
    }
    let judged = report.fidelity_verdict(op);
    Some(match judged.map(|judged| judged.verdict) {
        Some(Verdict::Sufficient) => Color::Green,
        Some(Verdict::TooHigh) => Color::Red,
        Some(Verdict::TooLow) => Color::Cyan,
        _ => Color::White,
    })
}

/// How many rows there are; where some are not shown, how many of how many.
fn counts_text(report: &MetalReport) -> String {
    let Counts { device_ops, host_ops, signposts } = report.window_counts;
    let shown = report.shown_counts;
    if report.options.conventions.layout == Layout::Listed {
        return format!("{device_ops} device ops, {host_ops} host ops, {signposts} signposts");
    }
    let of = |shown: usize, all: usize, one: &str, several: &str| {
        let total = counted(all, one, several);
        if shown == all { total } else { format!("{} of {total}", grouped(shown as u128)) }
    };
    [
        of(shown.device_ops, device_ops, "device op", "device ops"),
        of(shown.host_ops, host_ops, "host op", "host ops"),
        of(shown.signposts, signposts, "signpost", "signposts"),
    ]
    .join(", ")
}

pub(super) fn micros_text(value: f64, places: usize) -> String {
    // A sum of nothing is −0.
    decimal(value + 0.0, places) + " μs"
}

/// A percentage, such as `12.3%`; tt-perf-report has a space before the sign.
pub(super) fn percent_text(value: f64, places: usize, compat: bool) -> String {
    decimal(value, places) + if compat { " %" } else { "%" }
}

pub(super) fn count(value: Option<u32>) -> String {
    value.map_or(String::new(), |value| grouped(value.into()))
}

/// A number with its unit; empty without one.
fn unit(value: Option<f64>, places: usize, unit: &str) -> String {
    value.map_or(String::new(), |value| format!("{} {unit}", decimal(value, places)))
}

fn share(percent: Option<f64>, compat: bool) -> String {
    percent.map_or(String::new(), |value| percent_text(value, 1, compat))
}

fn bound_color(bound: Option<Bound>, compat: bool) -> Option<Color> {
    match bound? {
        Bound::Dram | Bound::Flop => Some(Color::Green),
        Bound::Both => (!compat).then_some(Color::Green),
        Bound::Slow => Some(Color::Yellow),
        Bound::Host => Some(Color::Red),
    }
}

/// Colours of the columns of DRAM and of FLOPs: green for what is used well, yellow for what there is room in.
fn bound_colors(op: &Op, compat: bool) -> [Option<Color>; 2] {
    match op.bound {
        Some(Bound::Dram) => [Some(Color::Green), None],
        Some(Bound::Flop) => [None, Some(Color::Green)],
        Some(Bound::Both) if !compat => [Some(Color::Green); 2],
        Some(Bound::Slow) if op.dram_percent > op.flops_percent => [Some(Color::Yellow), None],
        Some(Bound::Slow) => [None, Some(Color::Yellow)],
        Some(Bound::Both | Bound::Host) | None => [None; 2],
    }
}

fn cores_color(op: &Op) -> Option<Color> {
    let Some(cores) = op.cores else { return Some(Color::Gray) };
    if op.dram_sharded {
        Some(Color::Green)
    } else if cores < FEW_CORES && f64::from(cores) < f64::from(op.available_cores) / 2.0 {
        Some(Color::Red)
    } else {
        (cores == op.available_cores).then_some(Color::Green)
    }
}

/// Colours of operations: the first part that a label contains decides.
const OPERATIONS: [(&str, Color); 12] = [
    ("(torch)", Color::Red),
    ("Matmul", Color::Magenta),
    ("OptimizedConvNew", Color::Orange),
    ("Conv2d", Color::Orange),
    ("LayerNorm", Color::Cyan),
    ("AllGather", Color::Cyan),
    ("AllReduce", Color::Cyan),
    ("ScaledDotProductAttentionDecode", Color::Blue),
    ("ScaledDotProductAttentionGQADecode", Color::Blue),
    ("NlpCreateHeadsDeviceOperation", Color::Blue),
    ("NLPConcatHeadsDecodeDeviceOperation", Color::Blue),
    ("UpdateCache", Color::Blue),
];

/// The label of an operation in its colour.
pub(super) fn labelled(label: &str) -> TextCell {
    let color =
        OPERATIONS.iter().find(|(part, _)| label.contains(part)).map_or(Color::White, |(_, color)| *color);
    TextCell::new(label, Some(color))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_that_a_label_contains_decides_its_colour() {
        for (label, color) in [
            ("AllGatherMatmulDeviceOperation 32 x 64 x 32", Color::Magenta),
            ("Matmul (torch)", Color::Red),
            ("Conv2dDeviceOperation 8 x 8 x 8", Color::Orange),
            ("AllGatherAsyncDeviceOperation", Color::Cyan),
            ("PagedUpdateCacheDeviceOperation", Color::Blue),
            ("Transpose", Color::White),
        ] {
            assert_eq!(labelled(label).color, Some(color), "{label}");
        }
    }
}
