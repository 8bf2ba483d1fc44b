//! The operations, one row each.

use std::borrow::Cow;

use sheets::columns::tenstorrent::{OP, TIME};
use sheets::{Cell, Column, ColumnKind, Field, Role, Sheet, Unit};
use trace_ingest::metal::{OpRow, SubDevice, Tensor};

use crate::advice::{advice_of, exceeds};
use crate::op::{Bound, Op, OpCategory, OpKind};
use crate::report::MetalReport;

pub(crate) const OUTPUT_DATATYPE: Column =
    Column::text("Output Datatype", "Datatype of output 0.").with_role(Role::Detail);
pub(crate) const INPUT_0_DATATYPE: Column =
    Column::text("Input 0 Datatype", "Datatype of input 0.").with_role(Role::Detail);
pub(crate) const INPUT_1_DATATYPE: Column =
    Column::text("Input 1 Datatype", "Datatype of input 1.").with_role(Role::Detail);
pub(crate) const CALL_COUNT: Column = Column::identifier("Global Call Count", "Call number × 1024 + device.");
pub(crate) const ADVICE: Column =
    Column::text("Advice", "Suggestions, separated by •.").with_role(Role::Detail);
pub(crate) const RAW_OP_CODE: Column =
    Column::text("Raw OP Code", "Operation, as named by the profiler.").with_role(Role::Provenance);

/// An operation and its row of the profiler's file.
type Row<'a> = (&'a Op, &'a OpRow);

pub(crate) fn sheet<'a>() -> Sheet<'a, MetalReport> {
    Sheet::with_context(
        "ops",
        "Operations in execution order, one row each.",
        columns_of_tt_perf_report().into_iter().chain(own_columns()),
        |report: &'a MetalReport| {
            let row = |op: &'a Op| Some((op, report.table.rows.get(op.row as usize)?));
            let rows: Vec<Row<'a>> = report.ops.iter().filter_map(row).collect();
            (!rows.is_empty()).then_some((report, rows))
        },
    )
}

fn columns_of_tt_perf_report<'a>() -> [Field<&'a MetalReport, Row<'a>>; 28] {
    [
        Column::identifier(
        "ID",
        "Line of the operation in the profiler's file (the header is line 1); numbering continues in a second file.",
    ).with_role(Role::Name).field(|(op, _): &Row<'_>| op.id.into()),
        Column::percent(
        "Total %",
        "Share of all rows' device time and gaps: (Device Time + Op-to-Op Gap) / (sum of both) × 100.",
    ).with_role(Role::Headline).field(|(op, _): &Row<'_>| op.total_percent.into()),
        Column::text(
        "Bound",
        "What bounds the operation: DRAM or FLOP (at least 65% of the chip's peak), BOTH, or SLOW (neither); HOST for host operations; empty if the model has no figures.",
    ).with_role(Role::Headline).field(|(op, _): &Row<'_>| op.bound.map(Bound::as_str).into()),
        OP.field(|(op, _): &Row<'_>| op_code(op).into()),
        Column::identifier(
        "Device",
        "Number of the device; in a merged row, of the device whose figures are shown.",
    ).with_role(Role::Name).field(|(op, _): &Row<'_>| op.device.into()),
        TIME.field(|(op, _): &Row<'_>| op.device_time_us.into()),
        Column::microseconds(
        "Op-to-Op Gap",
        "Time in µs from the end of the device's previous operation to the start of this one.",
    ).with_role(Role::Headline).field(|(op, _): &Row<'_>| op.gap_us.into()),
        Column::count(
        "Cores",
        "Number of cores used; for DRAM-sharded matmuls, number of cores fed from the DRAM banks.",
    ).field(|(op, _): &Row<'_>| op.cores.into()),
        Column::new(
        "DRAM",
        ColumnKind::Number(Unit::GigabytesPerSecond),
        "Rate in GB/s (10⁹ bytes): inputs and outputs in DRAM (for matmuls, inputs 0 and 1 and output 0), each counted once with padding, divided by device time.",
    ).field(|(op, _): &Row<'_>| op.dram_gb_per_s.into()),
        Column::percent(
        "DRAM %",
        "DRAM rate as a share of the chip's peak bandwidth.",
    ).field(|(op, _): &Row<'_>| op.dram_percent.into()),
        Column::new(
        "FLOPs",
        ColumnKind::Number(Unit::TeraflopsPerSecond),
        "Rate in TFLOP/s: 2·M·K·N·batch / device time.",
    ).field(|(op, _): &Row<'_>| op.tflop_per_s.into()),
        Column::percent(
        "FLOPs %",
        "FLOP rate as a share of the cores' peak at the operation's math fidelity.",
    ).field(|(op, _): &Row<'_>| op.flops_percent.into()),
        Column::text("Math Fidelity", "Math fidelity and datatypes: inputs => output.").with_role(Role::Detail).field(|(op, _): &Row<'_>| known(&op.math_fidelity).into()),
        OUTPUT_DATATYPE.field_in(|report: &&MetalReport, (_, row): &Row<'_>| datatype(report, report.table.outputs(row).first())),
        INPUT_0_DATATYPE.field_in(|report: &&MetalReport, (_, row): &Row<'_>| datatype(report, report.table.inputs(row).first())),
        INPUT_1_DATATYPE.field_in(|report: &&MetalReport, (_, row): &Row<'_>| datatype(report, report.table.inputs(row).get(1))),
        Column::flag(
        "DRAM Sharded",
        "Whether weights are sharded across DRAM banks.",
    ).field(|(op, _): &Row<'_>| op.dram_sharded.into()),
        Column::text(
        "Input 0 Memory",
        "Location of input 0: device number, buffer (DRAM or L1) and layout.",
    ).with_role(Role::Detail).field_in(|report: &&MetalReport, (_, row): &Row<'_>| report.table.inputs(row).first().and_then(|input| known(report.table.text(input.memory))).into()),
        Column::count("Inner Dim Block Size", "in0_block_w of the program config, in tiles.").with_role(Role::Detail).field(|(op, _): &Row<'_>| op.inner_block_width.into()),
        Column::count("Output Subblock H", "out_subblock_h of the program config, in tiles.").with_role(Role::Detail).field(|(op, _): &Row<'_>| op.out_subblock_h.into()),
        Column::count("Output Subblock W", "out_subblock_w of the program config, in tiles.").with_role(Role::Detail).field(|(op, _): &Row<'_>| op.out_subblock_w.into()),
        CALL_COUNT.field(|(_, row): &Row<'_>| row.global_call_count.into()),
        Column::text("Sub Device ID", "Sub-device to which the operation was confined.").with_role(Role::Detail).field_in(|report: &&MetalReport, (_, row): &Row<'_>| match row.sub_device { SubDevice::None => Cell::Missing, SubDevice::Number(number) => number.to_string().into(), SubDevice::Text(text) => known(report.table.text(text)).into(), }),
        Column::count("Available Cores", "Number of cores available to the operation.").with_role(Role::Detail).field(|(op, _): &Row<'_>| op.available_cores.into()),
        Column::text(
        "Op Category",
        "Compute, CCL (inter-device communication), TM (tensor manipulation), DM (data movement), Host or Other; empty for signposts.",
    ).with_role(Role::Detail).field(|(op, _): &Row<'_>| op.category.map(OpCategory::as_str).into()),
        Column::text(
        "Bound Analysis",
        "Figures that the operation's model provides: full (DRAM and FLOPs), flops_only, dram_only or none.",
    ).with_role(Role::Provenance).field(|(op, _): &Row<'_>| op.analysed.as_str().into()),
        ADVICE.field_in(|report: &&MetalReport, (op, _): &Row<'_>| Some(advice_cell(report, op)).filter(|advice| !advice.is_empty()).into()),
        RAW_OP_CODE.field_in(|report: &&MetalReport, (op, _): &Row<'_>| report.table.text(op.raw_op_code).into()),
    ]
}

/// Columns that tt-perf-report lacks.
fn own_columns<'a>() -> [Field<&'a MetalReport, Row<'a>>; OWN_COLUMNS] {
    [
        Column::percent(
        "Device %",
        "Device time as a share of the device time of all rows, excluding gaps.",
    ).field(|(op, _): &Row<'_>| op.device_percent.into()),
        Column::count("Merged Rows", "Number of other devices' rows merged into this one.").with_role(Role::Detail).field(|(op, _): &Row<'_>| op.merged_rows.len().into()),
        Column::microseconds(
        "Host Duration",
        "Host time of the call in µs.",
    ).field(|(_, row): &Row<'_>| row.host_duration_ns.map(|ns| ns / 1e3).into()),
        Column::microseconds(
        "Profiler Ideal Time",
        "Minimum time in µs by the profiler's own model; empty if not modeled.",
    ).with_role(Role::Detail).field(|(_, row): &Row<'_>| profiler_ideal_us(row).into()),
        Column::percent(
        "Profiler DRAM %",
        "Share of the DRAM bandwidth, as reported by the profiler.",
    ).with_role(Role::Detail).field(|(_, row): &Row<'_>| row.dram_util_percent.into()),
        Column::flag(
        "Above Roofline",
        "Whether DRAM % or FLOPs % exceeds 100: the model does not fit the operation, or the assumed chip is wrong.",
    ).field(|(op, _): &Row<'_>| exceeds(op).into()),
    ]
}

/// How many columns behind the others tt-perf-report lacks.
pub(crate) const OWN_COLUMNS: usize = 6;

fn known(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn datatype<'r>(report: &'r MetalReport, tensor: Option<&Tensor>) -> Cell<'r> {
    tensor.and_then(|tensor| known(report.table.text(tensor.datatype))).into()
}

/// Name of an operation; that of a signpost says what it is.
pub(super) fn op_code(op: &Op) -> Cow<'_, str> {
    if op.kind == OpKind::Signpost && !op.label.ends_with(SIGNPOST_MARK) {
        return format!("{}{SIGNPOST_MARK}", op.label).into();
    }
    op.label.as_str().into()
}

const SIGNPOST_MARK: &str = " (signpost)";

/// Advice on an operation in one text.
fn advice_cell(report: &MetalReport, op: &Op) -> String {
    let items: Vec<String> = advice_of(report, op).iter().map(ToString::to_string).collect();
    items.join(" • ")
}

/// Time in µs that the profiler's own model holds to be possible; it writes 1 ns where it has no model.
fn profiler_ideal_us(row: &OpRow) -> Option<f64> {
    row.pm_ideal_ns.filter(|&ns| ns > 1.0).map(|ns| ns / 1e3)
}
