//! What an operation moves and computes, from its row.

mod call;
mod memory;
mod products;

use trace_ingest::metal::{OpRow, OpType, OpsTable, Tensor};

use self::call::{Call, Modelled};
use crate::attributes::program_config;
use crate::chips::Chip;
use crate::conventions::kind_by_name;
use crate::op::{Analysed, HOST_MARK, Op, OpCategory, OpKind, category};
use crate::options::MetalOptions;
use crate::timing::{PreviousRow, duration_ns, gap_us, is_valid};

/// What holds for all rows of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelContext<'a> {
    /// The chip whose peaks count.
    pub(crate) chip: &'static Chip,
    /// Cores of an operation whose row does not say how many it could use.
    pub(crate) worker_cores: u32,
    pub(crate) options: &'a MetalOptions,
}

/// Which model an operation has, by what its name contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    SparseMatmul,
    Matmul,
    Conv,
    Halo,
    Other,
}

impl Model {
    fn of(name: &str) -> Model {
        if name.contains("Matmul") {
            if name.contains("SparseMatmul") { Model::SparseMatmul } else { Model::Matmul }
        } else if name.contains("OptimizedConvNew") || name.contains("Conv2d") {
            Model::Conv
        } else if name.contains("HaloDeviceOperation") {
            Model::Halo
        } else {
            Model::Other
        }
    }
}

/// The row of the report that a row of the table becomes, but for shares and bounds, which need the other rows.
/// `merged_duration_ns` takes the place of the row's duration where it stands for the rows of other devices too.
pub(crate) fn model_op(
    table: &OpsTable,
    row: u32,
    merged_duration_ns: Option<Option<f64>>,
    previous: Option<&PreviousRow>,
    context: &ModelContext<'_>,
) -> Op {
    let Some(source) = table.rows.get(row as usize) else { return Op { row, ..Op::default() } };
    let name = table.text(source.op_code);
    let options = context.options;
    let by_name = options.conventions.kinds_by_name;
    let kind = if by_name { kind_by_name(source, name) } else { kind(source, name) };
    let duration = merged_duration_ns.unwrap_or_else(|| duration_ns(source, options.duration));
    let valid = is_valid(duration, source.op_to_op_ns);
    let config = program_config(table.text(source.attributes));
    let mut op = Op {
        row,
        id: source.id,
        kind,
        label: name.to_owned(),
        raw_op_code: source.op_code,
        device: source.device,
        device_time_us: duration.filter(|_| valid).map(|duration| duration / 1000.0),
        gap_us: gap_us(source.op_to_op_ns, valid, previous),
        invalid_duration: !valid && (kind == OpKind::Device || kind == OpKind::Host && by_name),
        cores: source.core_count,
        available_cores: source.available_cores.unwrap_or(context.worker_cores),
        inner_block_width: config.inner_block_width,
        out_subblock_h: config.out_subblock_h,
        out_subblock_w: config.out_subblock_w,
        ..Op::default()
    };
    if source.op_type == OpType::Signpost {
        op.label = format!("{name} (signpost)");
        op.device_time_us = None;
        op.invalid_duration = false;
        return op;
    }
    let model = if kind == OpKind::Device || by_name { Model::of(name) } else { Model::Other };
    let call = Call {
        table,
        name,
        attributes: table.text(source.attributes),
        inputs: table.inputs(source),
        outputs: table.outputs(source),
        options,
    };
    let modelled = match model {
        Model::SparseMatmul => products::sparse(&call),
        Model::Matmul => products::dense(&call),
        Model::Conv => products::convolution(&call),
        Model::Halo => memory::halo(&call),
        Model::Other if kind == OpKind::Device => memory::unmodelled(&call),
        Model::Other => Modelled::default(),
    };
    let product = matches!(model, Model::SparseMatmul | Model::Matmul | Model::Conv);
    op.math_fidelity = math_fidelity(&call, source, product);
    let seconds = duration.filter(|duration| valid && *duration > 0.0).map(|duration| duration * 1e-9);
    set_figures(&mut op, &modelled, table.text(source.fidelity), seconds, context);
    if !modelled.sizes.is_empty() {
        op.label = format!("{name} {}", modelled.sizes);
    }
    if kind == OpKind::Host {
        op.host_time_us = source.host_duration_ns.map(|duration| duration / 1000.0);
        if op.analysed != Analysed::Full {
            op.device_time_us = None;
        }
    }
    op.category = match kind {
        OpKind::Device => Some(category(&op.label, options.conventions.listed_attention_only)),
        OpKind::Host => Some(OpCategory::Host),
        OpKind::Signpost => None,
    };
    op
}

/// What the row is, by its type.
fn kind(row: &OpRow, name: &str) -> OpKind {
    match row.op_type {
        OpType::Signpost => OpKind::Signpost,
        OpType::PythonFallback | OpType::Cpu => OpKind::Host,
        OpType::Other if name.contains(HOST_MARK) => OpKind::Host,
        _ => OpKind::Device,
    }
}

fn set_figures(
    op: &mut Op,
    modelled: &Modelled,
    fidelity: &str,
    seconds: Option<f64>,
    context: &ModelContext<'_>,
) {
    op.analysed = modelled.analysed;
    op.sparse = modelled.sparse;
    op.dram_sharded = modelled.dram_sharded;
    if modelled.dram_sharded {
        op.cores = Some(context.chip.dram_sharded_cores);
    }
    let Some(seconds) = seconds else { return };
    if let Some(bytes) = modelled.bytes {
        op.bytes = Some(bytes);
        // A product that leaves DRAM alone uses 0% of its bandwidth, so that arithmetic is what may bound it.
        let is_blank = context.options.conventions.blank_without_traffic;
        if bytes > 0.0 || (!is_blank && modelled.analysed == Analysed::Full) {
            let rate = bytes / seconds / 1e9;
            op.dram_gb_per_s = Some(rate);
            op.dram_percent = Some(rate / context.chip.dram_gb_per_s * 100.0);
        }
    }
    if let Some(flops) = modelled.flops {
        let rate = flops / seconds;
        op.tflop_per_s = Some(rate / 1e12);
        op.flops_percent = context
            .chip
            .tflops_per_core(fidelity)
            .zip(op.cores.filter(|cores| *cores > 0))
            .map(|(peak, cores)| rate / (peak * 1e12 * f64::from(cores)) * 100.0);
    }
}

/// Fidelity and datatypes, short; what is blank is left out.
fn math_fidelity(call: &Call<'_>, row: &OpRow, product: bool) -> String {
    let datatype =
        |tensor: Option<&Tensor>| tensor.map_or("", |tensor| short(call.table.text(tensor.datatype)));
    let inputs = [datatype(call.inputs.first()), datatype(call.inputs.get(1))];
    let output = datatype(call.outputs.first());
    let inputs: Vec<&str> = inputs.into_iter().filter(|name| !name.is_empty()).collect();
    let mut text = if product {
        format!("{} {}", call.table.text(row.fidelity), inputs.join(" x "))
    } else {
        inputs.join(", ")
    };
    if !output.is_empty() {
        text.push_str(" => ");
        text.push_str(output);
    }
    text.trim().to_owned()
}

fn short(datatype: &str) -> &str {
    match datatype {
        "FLOAT32" => "FP32",
        "BFLOAT16" => "BF16",
        "BFLOAT8_B" => "BFP8",
        "BFLOAT4_B" => "BFP4",
        other => other,
    }
}

#[cfg(test)]
mod tests;
