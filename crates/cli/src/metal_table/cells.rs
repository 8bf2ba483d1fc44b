//! What the cells of an operation say, and in which colour.

use metal_perf::{Bound, Counts, HIGH_GAP_US, MetalReport, Op, OpKind, Verdict, fidelity_verdict};
use trace_ingest::metal::{SubDevice, Tensor};

use super::grid::{Align, Cell, GridColumn, Priority};
use super::ink::{Ink, of_label};
use crate::numbers::{counted, decimal, grouped};

/// Fewer cores are few, unless they are half of those that there are.
const FEW_CORES: u32 = 10;

/// The columns of a report's operations.
pub(crate) struct OpColumns<'a> {
    report: &'a MetalReport,
    has_sub_devices: bool,
    has_budgets: bool,
}

impl<'a> OpColumns<'a> {
    pub(crate) fn new(report: &'a MetalReport) -> Self {
        let row = |op: &Op| report.table.rows.get(op.row as usize);
        let has_sub_devices =
            report.ops.iter().any(|op| row(op).is_some_and(|row| row.sub_device != SubDevice::None));
        let mut budgets =
            report.ops.iter().filter(|op| op.kind != OpKind::Signpost).map(|op| op.available_cores);
        let first = budgets.next();
        let has_budgets = has_sub_devices || budgets.any(|budget| Some(budget) != first);
        OpColumns { report, has_sub_devices, has_budgets }
    }

    pub(crate) fn columns(&self) -> Vec<GridColumn> {
        let column = |header, align, priority| GridColumn { header, align, least: 0, priority };
        let number = |header, order| column(header, Align::Right, Priority::Dropped(order));
        let mut columns =
            vec![column("ID", Align::Right, Priority::Kept), number("Total %", 3), number("Bound", 2)];
        if !self.report.options.compat {
            columns.insert(2, number("Device %", 6));
        }
        columns.push(column("OP Code", Align::Left, Priority::Shortened));
        columns.push(GridColumn { least: 7, ..number("Device", 10) });
        columns.extend(self.has_sub_devices.then(|| number("Sub Device ID", 9)));
        columns.push(column("Device Time", Align::Right, Priority::Kept));
        columns.push(number("Op-to-Op Gap", 1));
        columns.push(number("Cores", 5));
        columns.extend(self.has_budgets.then(|| number("Available Cores", 7)));
        columns.extend([number("DRAM", 12), number("DRAM %", 4), number("FLOPs", 11), number("FLOPs %", 4)]);
        columns.push(number("Math Fidelity", 8));
        columns
    }

    /// Whether an operation is too short to matter.
    pub(crate) fn is_minor(&self, op: &Op) -> bool {
        op.kind != OpKind::Host
            && op.total_percent.is_some_and(|share| share < self.report.options.min_percentage)
    }

    pub(crate) fn row(&self, op: &Op) -> Vec<Cell> {
        let compat = self.report.options.compat;
        let mut cells = vec![self.id(op), share(op.total_percent)];
        if !compat {
            cells.push(share(op.device_percent));
        }
        let [dram_ink, flops_ink] = bound_inks(op, compat);
        cells.push(Cell::new(op.bound.map_or("", |bound| bound.as_str()), bound_ink(op.bound, compat)));
        cells.push(self.name(op));
        cells.push(Cell::new(op.device.map_or(String::new(), |device| decimal(device.into(), 0)), None));
        if self.has_sub_devices {
            cells.push(self.sub_device(op));
        }
        cells.push(unit(op.device_time_us, 0, "μs", None));
        let gap_ink = op.gap_us.filter(|gap| *gap > HIGH_GAP_US).map(|_| Ink::Red);
        cells.push(unit(op.gap_us, 0, "μs", gap_ink));
        cells.push(Cell::new(count(op.cores), cores_ink(op)));
        if self.has_budgets {
            let budget = (op.kind != OpKind::Signpost).then_some(op.available_cores);
            cells.push(Cell::new(count(budget), None));
        }
        cells.push(unit(op.dram_gb_per_s, 0, "GB/s", dram_ink));
        cells.push(self.reached(op.dram_percent, dram_ink));
        cells.push(unit(op.tflop_per_s, 1, "TFLOPs", flops_ink));
        cells.push(self.reached(op.flops_percent, flops_ink));
        cells.push(Cell::new(op.math_fidelity.clone(), self.fidelity_ink(op)));
        if self.is_minor(op) {
            cells.iter_mut().for_each(|cell| cell.ink = Some(Ink::Grey));
        }
        cells
    }

    /// The line below the operations.
    pub(crate) fn total(&self) -> Vec<Cell> {
        let report = self.report;
        let totals = &report.totals;
        let columns = self.columns();
        let mut cells: Vec<Cell> = columns
            .iter()
            .map(|column| {
                let text = match column.header {
                    "Total %" => "100.0 %".to_owned(),
                    "OP Code" => counts_text(report),
                    "Device Time" => micros_text(totals.device_time_us, 0),
                    "Op-to-Op Gap" => micros_text(totals.gap_us, 0),
                    "DRAM" => totals.dram_gb_per_s.map_or(String::new(), |rate| decimal(rate, 0) + " GB/s"),
                    "DRAM %" => totals.dram_percent.map_or(String::new(), |share| percent_text(share, 1)),
                    _ => String::new(),
                };
                Cell::new(text, None)
            })
            .collect();
        cells.iter_mut().for_each(|cell| cell.ink = Some(Ink::Grey));
        cells
    }

    fn id(&self, op: &Op) -> Cell {
        let digits = op.id.to_string();
        // The tool that came before leaves room for marks between thousands that it does not print.
        let room = if self.report.options.compat { decimal(op.id.into(), 0).len() - digits.len() } else { 0 };
        Cell::new(" ".repeat(room) + &digits, None)
    }

    fn name(&self, op: &Op) -> Cell {
        match op.kind {
            OpKind::Signpost => {
                Cell::new(format!("🪧 {}", self.report.table.text(op.raw_op_code)), Some(Ink::White))
            }
            _ => Cell::new(op.label.clone(), Some(of_label(&op.label))),
        }
    }

    fn sub_device(&self, op: &Op) -> Cell {
        let table = &self.report.table;
        let text = match table.rows.get(op.row as usize).map(|row| row.sub_device) {
            Some(SubDevice::Number(number)) => number.to_string(),
            Some(SubDevice::Text(text)) => table.text(text).to_owned(),
            Some(SubDevice::None) | None => String::new(),
        };
        Cell::new(text, None)
    }

    /// A percentage of what the chip can do. More than all of it shows that the model does not fit the operation.
    fn reached(&self, percent: Option<f64>, ink: Option<Ink>) -> Cell {
        match percent {
            Some(value) if value > 100.0 && !self.report.options.compat => {
                Cell::new(percent_text(value, 1) + " !", Some(Ink::Red))
            }
            Some(value) => Cell::new(percent_text(value, 1), ink),
            None => Cell::default(),
        }
    }

    fn fidelity_ink(&self, op: &Op) -> Option<Ink> {
        let is_judged = op.label.contains("Matmul") || op.label.contains("OptimizedConvNew");
        if !is_judged || op.math_fidelity.is_empty() {
            return None;
        }
        let table = &self.report.table;
        let row = table.rows.get(op.row as usize)?;
        let datatype = |tensor: Option<&Tensor>| tensor.map_or("", |tensor| table.text(tensor.datatype));
        let [activations, weights] = [0, 1].map(|place| datatype(table.inputs(row).get(place)));
        let output = datatype(table.outputs(row).first());
        let judged = fidelity_verdict(table.text(row.fidelity), activations, weights, output);
        Some(match judged.map(|judged| judged.verdict) {
            Some(Verdict::Sufficient) => Ink::Green,
            Some(Verdict::TooHigh) => Ink::Red,
            Some(Verdict::TooLow) => Ink::Cyan,
            _ => Ink::White,
        })
    }
}

/// How many rows there are; where some are not shown, how many of how many.
fn counts_text(report: &MetalReport) -> String {
    let Counts { device_ops, host_ops, signposts } = report.window_counts;
    let shown = report.shown_counts;
    if report.options.compat {
        return format!("{device_ops} device ops, {host_ops} host ops, {signposts} signposts");
    }
    let of = |shown: usize, all: usize, one: &str, several: &str| {
        let all_of_them = counted(all, one, several);
        if shown == all { all_of_them } else { format!("{} of {all_of_them}", grouped(shown as u128)) }
    };
    [
        of(shown.device_ops, device_ops, "device op", "device ops"),
        of(shown.host_ops, host_ops, "host op", "host ops"),
        of(shown.signposts, signposts, "signpost", "signposts"),
    ]
    .join(", ")
}

pub(crate) fn decimal_text(value: Option<f64>, places: usize) -> String {
    value.map_or(String::new(), |value| decimal(value, places))
}

pub(crate) fn micros_text(value: f64, places: usize) -> String {
    // A sum of nothing is −0.
    decimal(value + 0.0, places) + " μs"
}

pub(crate) fn percent_text(value: f64, places: usize) -> String {
    decimal(value, places) + " %"
}

fn count(value: Option<u32>) -> String {
    decimal_text(value.map(f64::from), 0)
}

fn share(percent: Option<f64>) -> Cell {
    Cell::new(percent.map_or(String::new(), |value| percent_text(value, 1)), None)
}

fn unit(value: Option<f64>, places: usize, unit: &str, ink: Option<Ink>) -> Cell {
    match value {
        Some(value) => Cell::new(format!("{} {unit}", decimal(value, places)), ink),
        None => Cell::default(),
    }
}

fn bound_ink(bound: Option<Bound>, compat: bool) -> Option<Ink> {
    match bound? {
        Bound::Dram | Bound::Flop => Some(Ink::Green),
        Bound::Both => (!compat).then_some(Ink::Green),
        Bound::Slow => Some(Ink::Yellow),
        Bound::Host => Some(Ink::Red),
    }
}

/// Colours of the columns of DRAM and of FLOPs: green for what is used well, yellow for what there is room in.
fn bound_inks(op: &Op, compat: bool) -> [Option<Ink>; 2] {
    match op.bound {
        Some(Bound::Dram) => [Some(Ink::Green), None],
        Some(Bound::Flop) => [None, Some(Ink::Green)],
        Some(Bound::Both) if !compat => [Some(Ink::Green); 2],
        Some(Bound::Slow) if op.dram_percent > op.flops_percent => [Some(Ink::Yellow), None],
        Some(Bound::Slow) => [None, Some(Ink::Yellow)],
        Some(Bound::Both | Bound::Host) | None => [None; 2],
    }
}

fn cores_ink(op: &Op) -> Option<Ink> {
    let Some(cores) = op.cores else { return Some(Ink::Grey) };
    if op.dram_sharded {
        Some(Ink::Green)
    } else if cores < FEW_CORES && f64::from(cores) < f64::from(op.available_cores) / 2.0 {
        Some(Ink::Red)
    } else {
        (cores == op.available_cores).then_some(Ink::Green)
    }
}
