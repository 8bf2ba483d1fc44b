//! The operations, one row each.

use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::metal::{OpRow, SubDevice, Tensor};
use tree_perf::{Column, ColumnKind, FrameBuilder, Sheet, Unit};

use crate::advice::exceeds;
use crate::csv::{advice_cell, op_code, profiler_ideal_us};
use crate::op::Op;
use crate::report::MetalReport;

const COLUMNS: &[Column] = &[
    Column::new(
        "ID",
        ColumnKind::Identifier,
        "Line of the operation in the profiler's file, the header being line 1; lines of a second file follow on those of the first.",
    ),
    Column::new(
        "Total %",
        ColumnKind::Number(Unit::Percent),
        "Device time and gap of the operation, of those of all rows, in percent: (Device Time + Op-to-Op Gap) / (sum of both) × 100.",
    ),
    Column::new(
        "Bound",
        ColumnKind::Text,
        "What bounds the operation: DRAM or FLOP (at least 65 % of the chip's), BOTH, or SLOW (neither); HOST for operations of the host; empty where the model has no figures.",
    ),
    Column::new(
        "OP Code",
        ColumnKind::Text,
        "Operation with the sizes of what it computes: M x K x N, behind b={…} the batch.",
    ),
    Column::new(
        "Device",
        ColumnKind::Identifier,
        "Device of the row; of several that were put together, the one whose figures are shown.",
    ),
    Column::new(
        "Device Time",
        ColumnKind::Number(Unit::Microseconds),
        "Time on the device in µs; of an operation on several devices the longest, of a collective their mean; empty where the profiler's figure cannot be right.",
    ),
    Column::new(
        "Op-to-Op Gap",
        ColumnKind::Number(Unit::Microseconds),
        "Time in µs from the end of the device's operation before to the start of this one.",
    ),
    Column::new(
        "Cores",
        ColumnKind::Count,
        "Cores that it ran on; of DRAM-sharded products the cores that feed from the DRAM banks.",
    ),
    Column::new(
        "DRAM",
        ColumnKind::Number(Unit::One),
        "Rate in 1e9 bytes per second: the operation's inputs and outputs (of matrix products inputs 0 and 1 and output 0), as far as they lie in DRAM, each once, with padding, divided by the device time.",
    ),
    Column::new(
        "DRAM %",
        ColumnKind::Number(Unit::Percent),
        "DRAM divided by the chip's peak bandwidth, in percent.",
    ),
    Column::new(
        "FLOPs",
        ColumnKind::Number(Unit::One),
        "Rate in 1e12 operations per second: 2·M·K·N·batch divided by the device time.",
    ),
    Column::new(
        "FLOPs %",
        ColumnKind::Number(Unit::Percent),
        "FLOPs divided by what the operation's cores reach at its math fidelity, in percent.",
    ),
    Column::new("Math Fidelity", ColumnKind::Text, "Math fidelity and datatypes: inputs => output."),
    Column::new("Output Datatype", ColumnKind::Text, "Datatype of output 0."),
    Column::new("Input 0 Datatype", ColumnKind::Text, "Datatype of input 0."),
    Column::new("Input 1 Datatype", ColumnKind::Text, "Datatype of input 1."),
    Column::new(
        "DRAM Sharded",
        ColumnKind::Flag,
        "Whether the weights are spread over the banks of the DRAM.",
    ),
    Column::new(
        "Input 0 Memory",
        ColumnKind::Text,
        "Where input 0 lies: number, buffer (DRAM or L1) and layout.",
    ),
    Column::new("Inner Dim Block Size", ColumnKind::Count, "in0_block_w of the program config, in tiles."),
    Column::new("Output Subblock H", ColumnKind::Count, "out_subblock_h of the program config, in tiles."),
    Column::new("Output Subblock W", ColumnKind::Count, "out_subblock_w of the program config, in tiles."),
    Column::new(
        "Global Call Count",
        ColumnKind::Identifier,
        "Number of the call times 1024, plus the device.",
    ),
    Column::new("Sub Device ID", ColumnKind::Text, "Part of the device that the operation was confined to."),
    Column::new("Available Cores", ColumnKind::Count, "Cores that the operation could have run on."),
    Column::new(
        "Op Category",
        ColumnKind::Text,
        "Compute, CCL (communication of devices), TM (tensor manipulation), DM (data movement), Host or Other; signposts have none.",
    ),
    Column::new(
        "Bound Analysis",
        ColumnKind::Text,
        "Figures that the operation's model has: full (DRAM and FLOPs), flops_only, dram_only or none.",
    ),
    Column::new("Advice", ColumnKind::Text, "What to try, items parted by •."),
    Column::new("Raw OP Code", ColumnKind::Text, "Operation as the profiler names it."),
    Column::new(
        "Device %",
        ColumnKind::Number(Unit::Percent),
        "Device time of the operation, of that of all rows, in percent; gaps do not count.",
    ),
    Column::new("Merged Rows", ColumnKind::Count, "Rows of other devices that the row stands for too."),
    Column::new(
        "Host Duration",
        ColumnKind::Number(Unit::Microseconds),
        "Time in µs that the host spent on the call.",
    ),
    Column::new(
        "Profiler Ideal Time",
        ColumnKind::Number(Unit::Microseconds),
        "Time in µs that the profiler's own model holds to be possible; empty where it has none.",
    ),
    Column::new(
        "Profiler DRAM %",
        ColumnKind::Number(Unit::Percent),
        "Share of the DRAM bandwidth in percent as the profiler gives it.",
    ),
    Column::new(
        "Above Roofline",
        ColumnKind::Flag,
        "Whether DRAM % or FLOPs % is above 100: then the model does not fit the operation, or the chip is another.",
    ),
];

/// One row per operation.
pub(super) const SHEET: Sheet<MetalReport> =
    Sheet::new("ops", "Operations in their order, a row each.", COLUMNS, build);

fn build(report: &MetalReport) -> PolarsResult<Option<DataFrame>> {
    let table = &report.table;
    let rows: Vec<(&Op, &OpRow)> =
        report.ops.iter().filter_map(|op| Some((op, table.rows.get(op.row as usize)?))).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let ops = || rows.iter().map(|&(op, _)| op);
    let of_file = || rows.iter().map(|&(_, row)| row);
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let input = |row: &OpRow, place: usize| table.inputs(row).get(place).copied();
    let datatype = |tensor: Option<Tensor>| tensor.and_then(|tensor| known(table.text(tensor.datatype)));
    let mut frame = FrameBuilder::default();
    frame.integer("ID", ops().map(|op| Some(op.id.into())));
    frame.float("Total %", ops().map(|op| op.total_percent));
    frame.text("Bound", ops().map(|op| op.bound.map(|bound| bound.as_str())));
    frame.text("OP Code", ops().map(|op| Some(op_code(op))));
    frame.integer("Device", ops().map(|op| op.device.map(Into::into)));
    frame.float("Device Time", ops().map(|op| op.device_time_us));
    frame.float("Op-to-Op Gap", ops().map(|op| op.gap_us));
    frame.integer("Cores", ops().map(|op| op.cores.map(Into::into)));
    frame.float("DRAM", ops().map(|op| op.dram_gb_per_s));
    frame.float("DRAM %", ops().map(|op| op.dram_percent));
    frame.float("FLOPs", ops().map(|op| op.tflop_per_s));
    frame.float("FLOPs %", ops().map(|op| op.flops_percent));
    frame.text("Math Fidelity", ops().map(|op| known(&op.math_fidelity)));
    frame.text("Output Datatype", of_file().map(|row| datatype(table.outputs(row).first().copied())));
    frame.text("Input 0 Datatype", of_file().map(|row| datatype(input(row, 0))));
    frame.text("Input 1 Datatype", of_file().map(|row| datatype(input(row, 1))));
    frame.flag("DRAM Sharded", ops().map(|op| op.dram_sharded));
    frame.text(
        "Input 0 Memory",
        of_file().map(|row| input(row, 0).and_then(|input| known(table.text(input.memory)))),
    );
    frame.integer("Inner Dim Block Size", ops().map(|op| op.inner_block_width.map(Into::into)));
    frame.integer("Output Subblock H", ops().map(|op| op.out_subblock_h.map(Into::into)));
    frame.integer("Output Subblock W", ops().map(|op| op.out_subblock_w.map(Into::into)));
    frame.integer("Global Call Count", of_file().map(|row| row.global_call_count));
    frame.text(
        "Sub Device ID",
        of_file().map(|row| match row.sub_device {
            SubDevice::None => None,
            SubDevice::Number(number) => Some(number.to_string()),
            SubDevice::Text(text) => known(table.text(text)),
        }),
    );
    frame.integer("Available Cores", ops().map(|op| Some(op.available_cores.into())));
    frame.text("Op Category", ops().map(|op| op.category.map(|category| category.as_str())));
    frame.text("Bound Analysis", ops().map(|op| Some(op.analysed.as_str())));
    frame.text("Advice", ops().map(|op| known(&advice_cell(report, op))));
    frame.text("Raw OP Code", ops().map(|op| Some(table.text(op.raw_op_code))));
    frame.float("Device %", ops().map(|op| op.device_percent));
    frame.integer("Merged Rows", ops().map(|op| Some(op.merged_rows.len() as i64)));
    frame.float("Host Duration", of_file().map(|row| row.host_duration_ns.map(|ns| ns / 1e3)));
    frame.float("Profiler Ideal Time", of_file().map(profiler_ideal_us));
    frame.float("Profiler DRAM %", of_file().map(|row| row.dram_util_percent));
    frame.flag("Above Roofline", ops().map(exceeds));
    frame.finish().map(Some)
}
