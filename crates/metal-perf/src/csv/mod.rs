//! The report as CSV files.

mod cell;
mod summary;

pub use summary::write_summary_csv;

use std::io::{self, Write};

use trace_ingest::metal::{OpRow, SubDevice};

use crate::advice::{advice_of, exceeds};
use crate::op::{Op, OpKind};
use crate::report::MetalReport;
use cell::Line;

/// What the file of operations holds besides the columns that it always has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// A column with the advice on each operation.
    pub advice: bool,
    /// A column with the operation's name as the profiler wrote it.
    pub raw_op_codes: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions { advice: true, raw_op_codes: false }
    }
}

/// Names of the columns that are always there, in order.
pub(crate) const COLUMNS: [&str; 26] = [
    "ID",
    "Total %",
    "Bound",
    "OP Code",
    "Device",
    "Device Time",
    "Op-to-Op Gap",
    "Cores",
    "DRAM",
    "DRAM %",
    "FLOPs",
    "FLOPs %",
    "Math Fidelity",
    "Output Datatype",
    "Input 0 Datatype",
    "Input 1 Datatype",
    "DRAM Sharded",
    "Input 0 Memory",
    "Inner Dim Block Size",
    "Output Subblock H",
    "Output Subblock W",
    "Global Call Count",
    "Sub Device ID",
    "Available Cores",
    "Op Category",
    "Bound Analysis",
];

/// Names of the columns behind those, which the tool that came before does not have.
const OWN_COLUMNS: [&str; 6] =
    ["Device %", "Merged Rows", "Host Duration", "Profiler Ideal Time", "Profiler DRAM %", "Above Roofline"];

/// Writes the operations, a line each, with all digits: times in µs, `DRAM` in 1e9 bytes per second, `FLOPs` in 1e12
/// operations per second. Lines end with CR LF.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_csv(report: &MetalReport, options: CsvOptions, out: &mut impl Write) -> io::Result<()> {
    let compat = report.options.compat;
    let mut line = Line::new(out, "\r\n");
    let optional = [(options.advice, "Advice"), (options.raw_op_codes, "Raw OP Code")];
    let optional = optional.into_iter().filter(|(shown, _)| *shown).map(|(_, name)| name);
    let own = OWN_COLUMNS.into_iter().filter(|_| !compat);
    for name in COLUMNS.into_iter().chain(optional).chain(own) {
        line.text(name)?;
    }
    line.end()?;
    // A column of whole numbers with a gap is one of fractions to the tool that came before.
    let fractional_calls = compat && report.table.rows.iter().any(|row| row.global_call_count.is_none());
    for op in &report.ops {
        let Some(row) = report.table.rows.get(op.row as usize) else { continue };
        op_cells(&mut line, report, op, row, fractional_calls)?;
        if options.advice {
            line.text(&advice_cell(report, op))?;
        }
        if options.raw_op_codes {
            line.text(report.table.text(op.raw_op_code))?;
        }
        if !compat {
            own_cells(&mut line, op, row)?;
        }
        line.end()?;
    }
    Ok(())
}

/// The columns that are always there.
fn op_cells<W: Write>(
    line: &mut Line<'_, W>,
    report: &MetalReport,
    op: &Op,
    row: &OpRow,
    fractional_calls: bool,
) -> io::Result<()> {
    let table = &report.table;
    line.whole(Some(op.id))?;
    line.float(op.total_percent)?;
    line.text(op.bound.map_or("", |bound| bound.as_str()))?;
    line.text(&op_code(op))?;
    line.whole(op.device)?;
    line.float(op.device_time_us)?;
    line.float(op.gap_us)?;
    line.whole(op.cores)?;
    line.float(op.dram_gb_per_s)?;
    line.float(op.dram_percent)?;
    line.float(op.tflop_per_s)?;
    line.float(op.flops_percent)?;
    line.text(&op.math_fidelity)?;
    let [input_0, input_1] = [0, 1].map(|place| table.inputs(row).get(place));
    let datatypes = [
        (table.outputs(row).first(), table.has.output_0_datatype),
        (input_0, table.has.input_0_datatype),
        (input_1, table.has.input_1_datatype),
    ];
    for (tensor, has_column) in datatypes {
        let datatype = tensor.map_or("", |tensor| table.text(tensor.datatype));
        let blank = if report.options.compat && has_column { "nan" } else { "" };
        line.text(if datatype.is_empty() { blank } else { datatype })?;
    }
    line.flag(op.dram_sharded)?;
    line.text(input_0.map_or("", |tensor| table.text(tensor.memory)))?;
    line.whole(op.inner_block_width)?;
    line.whole(op.out_subblock_h)?;
    line.whole(op.out_subblock_w)?;
    match row.global_call_count {
        Some(count) if fractional_calls => line.float(Some(count as f64))?,
        None if fractional_calls => line.text("nan")?,
        count => line.whole(count)?,
    }
    match row.sub_device {
        SubDevice::None => line.empty()?,
        SubDevice::Number(number) => line.whole(Some(number))?,
        SubDevice::Text(text) => line.text(table.text(text))?,
    }
    line.whole(Some(op.available_cores))?;
    line.text(op.category.map_or("", |category| category.as_str()))?;
    line.text(op.analysed.as_str())
}

/// The columns that the tool that came before does not have.
fn own_cells<W: Write>(line: &mut Line<'_, W>, op: &Op, row: &OpRow) -> io::Result<()> {
    line.float(op.device_percent)?;
    line.whole(Some(op.merged_rows.len() as i64))?;
    line.float(row.host_duration_ns.map(|ns| ns / 1e3))?;
    line.float(profiler_ideal_us(row))?;
    line.float(row.dram_util_percent)?;
    line.flag(exceeds(op))
}

/// Name of an operation; that of a signpost says what it is.
pub(crate) fn op_code(op: &Op) -> std::borrow::Cow<'_, str> {
    if op.kind == OpKind::Signpost && !op.label.ends_with(SIGNPOST_MARK) {
        return format!("{}{SIGNPOST_MARK}", op.label).into();
    }
    op.label.as_str().into()
}

const SIGNPOST_MARK: &str = " (signpost)";

/// Advice on an operation in one text.
pub(crate) fn advice_cell(report: &MetalReport, op: &Op) -> String {
    let items: Vec<String> = advice_of(report, op).iter().map(ToString::to_string).collect();
    items.join(" • ")
}

/// Time in µs that the profiler's own model holds to be possible; it writes 1 ns where it has no model.
pub(crate) fn profiler_ideal_us(row: &OpRow) -> Option<f64> {
    row.pm_ideal_ns.filter(|&ns| ns > 1.0).map(|ns| ns / 1e3)
}
