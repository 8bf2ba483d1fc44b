//! Achieved rates of the operators of one family, by their parameters: one pair of sheets per family.

use std::sync::Arc;

use gpu_timeline::busy_time;
use hashbrown::HashMap;
use perf_models::{ComputeSpec, Family, Value};
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::{EventId, Sequence};
use trace2tree::EventSet;

use crate::analysis::Analysis;
use crate::call_overlap::{CallOverlap, NameLists, append_overlap, overlap_of};
use crate::column::{Column, ColumnKind, shared};
use crate::device::interval;
use crate::figures::{AGGREGATES, Figures, Spread};
use crate::frame::FrameBuilder;
use crate::kernel_list::{KernelList, ListedKernel};
use crate::models::{Evaluated, Evaluation};
use crate::places::Places;
use crate::sheet::Sheet;

/// What every sheet of a family may have.
static COLUMNS: &[Column] = &[
    shared::OP_NAME,
    Column::new(
        "overlapping_kernel_names_first",
        ColumnKind::Literal,
        "Kernels of other operators that ran at the same time on another stream for at least 1 µs, by start; in the sheets of overlap only.",
    ),
    Column::new(
        "param: …",
        ColumnKind::Text,
        "A parameter of the family's model, such as M, N, K of a matrix product; one column per parameter, and calls are grouped by all of them.",
    ),
    Column::new(
        "num_kernels",
        ColumnKind::Count,
        "Device events of one call; with --group_by_num_kernels only.",
    ),
    shared::IS_RECOMPUTE,
    Column::new(
        "GFLOPS_first",
        ColumnKind::Ratio,
        "Floating-point operations of one call in units of 1e9; a multiply-add counts as two.",
    ),
    Column::new(
        "Data Moved (MB)_first",
        ColumnKind::Mebibytes,
        "Bytes that one call has to move at least (every input and output once), divided by 1024².",
    ),
    Column::new(
        "FLOPS/Byte_first",
        ColumnKind::Ratio,
        "Arithmetic intensity: floating-point operations per byte.",
    ),
    Column::new(
        "TB/s_mean",
        ColumnKind::Ratio,
        "Mean over calls of the achieved bandwidth: bytes over kernel time, in units of 1e12 bytes per second.",
    ),
    Column::new("TB/s_median", ColumnKind::Ratio, "Median over calls of the achieved bandwidth."),
    Column::new(
        "TB/s_std",
        ColumnKind::Ratio,
        "Standard deviation (of a sample, n − 1) over calls of the achieved bandwidth; empty for one call.",
    ),
    Column::new("TB/s_min", ColumnKind::Ratio, "Smallest achieved bandwidth of a call."),
    Column::new("TB/s_max", ColumnKind::Ratio, "Largest achieved bandwidth of a call."),
    Column::new(
        "TFLOPS/s_mean",
        ColumnKind::Ratio,
        "Mean over calls of the achieved rate: floating-point operations over kernel time, in units of 1e12 per second.",
    ),
    Column::new("TFLOPS/s_median", ColumnKind::Ratio, "Median over calls of the achieved rate."),
    Column::new(
        "TFLOPS/s_std",
        ColumnKind::Ratio,
        "Standard deviation (of a sample, n − 1) over calls of the achieved rate; empty for one call.",
    ),
    Column::new("TFLOPS/s_min", ColumnKind::Ratio, "Smallest achieved rate of a call."),
    Column::new("TFLOPS/s_max", ColumnKind::Ratio, "Largest achieved rate of a call."),
    Column::new(
        "process_name_first",
        ColumnKind::Text,
        "Process of the first call; Unknown when the trace does not name it.",
    ),
    Column::new("process_label_first", ColumnKind::Text, "Label of that process."),
    Column::new("thread_name_first", ColumnKind::Text, "Thread of the first call."),
    Column::new(
        "Compute Spec",
        ColumnKind::Text,
        "Peak that the work is held against: matrix or vector unit and precision; empty where none is stated for the element types.",
    ),
    Column::new(
        "Roofline Time (µs)_first",
        ColumnKind::Microseconds,
        "Least time in µs that the work takes on the architecture: the larger of floating-point operations over peak rate and bytes over peak bandwidth; left out without an architecture.",
    ),
    Column::new(
        "Roofline Bound_first",
        ColumnKind::Text,
        "Which of the two is larger: COMPUTE_BOUND or MEMORY_BOUND.",
    ),
    Column::new(
        "Pct Roofline_mean",
        ColumnKind::Percent,
        "Mean over calls of roofline time over kernel time, in percent; above 100 the model or the recorded arguments are wrong.",
    ),
    Column::new(
        "Pct Roofline_median",
        ColumnKind::Percent,
        "Median over calls of roofline time over kernel time, in percent.",
    ),
    Column::new(
        "Pct Roofline_std",
        ColumnKind::Percent,
        "Standard deviation (of a sample, n − 1) over calls of roofline time over kernel time, in percent; empty for one call.",
    ),
    Column::new(
        "Pct Roofline_min",
        ColumnKind::Percent,
        "Smallest roofline time over kernel time of a call, in percent.",
    ),
    Column::new(
        "Pct Roofline_max",
        ColumnKind::Percent,
        "Largest roofline time over kernel time of a call, in percent.",
    ),
    Column::new(
        "kernel_details__summarize_kernel_stats",
        ColumnKind::Literal,
        "Device events of a call, position by position by start, with count, total, mean, median, standard deviation (of a population, n), minimum and maximum over calls in µs; calls with another number of device events than the first do not count.",
    ),
    Column::new(
        "trunc_kernel_details",
        ColumnKind::Literal,
        "The same with names cut at 64 characters, stream and mean to 0.01 µs.",
    ),
    Column::new(
        "overlapping_kernels_details__summarize_kernel_stats",
        ColumnKind::Literal,
        "Overlapping kernels with the mean share of the call's run time that each ran beside, and their durations over calls in µs.",
    ),
    Column::new(
        "trunc_overlapping_kernels_details",
        ColumnKind::Literal,
        "The same with names cut at 64 characters, stream and mean to 0.01 µs.",
    ),
    Column::new(
        "overlap_pct_mean",
        ColumnKind::Ratio,
        "Mean over calls of the overlap: for each kernel the time that something ran beside it, summed and divided by the union of the call's kernels, to 0.01.",
    ),
    Column::new("overlap_pct_median", ColumnKind::Ratio, "Median over calls of the overlap, to 0.01."),
    Column::new(
        "overlap_pct_std",
        ColumnKind::Ratio,
        "Standard deviation (of a sample, n − 1) over calls of the overlap, to 0.01; 0 for one call.",
    ),
    Column::new("overlap_pct_min", ColumnKind::Ratio, "Smallest overlap of a call."),
    Column::new("overlap_pct_max", ColumnKind::Ratio, "Largest overlap of a call."),
    Column::new("Input Dims_first", ColumnKind::Literal, "Shapes of the inputs of the first call."),
    Column::new("Input type_first", ColumnKind::Literal, "Element types of the inputs of the first call."),
    Column::new(
        "Input Strides_first",
        ColumnKind::Literal,
        "Strides of the inputs of the first call, in elements.",
    ),
    Column::new(
        "Concrete Inputs_first",
        ColumnKind::Literal,
        "Values of the inputs of the first call that are no tensors, as texts.",
    ),
    Column::new(
        "Kernel Time (µs)_mean",
        ColumnKind::Microseconds,
        "Mean over calls, in µs, of the union of the spans of all device events below a call (in sheets of backward work: below its backward operators).",
    ),
    Column::new(
        "Kernel Time (µs)_median",
        ColumnKind::Microseconds,
        "Median over calls of the kernel time in µs.",
    ),
    Column::new(
        "Kernel Time (µs)_std",
        ColumnKind::Microseconds,
        "Standard deviation (of a sample, n − 1) over calls of the kernel time in µs; empty for one call.",
    ),
    Column::new("Kernel Time (µs)_min", ColumnKind::Microseconds, "Smallest kernel time of a call in µs."),
    Column::new("Kernel Time (µs)_max", ColumnKind::Microseconds, "Largest kernel time of a call in µs."),
    Column::new(
        "Kernel Time (µs)_sum",
        ColumnKind::Microseconds,
        "Sum over calls of the kernel time in µs. A wrapper and the operator inside it are rows of their own with the same kernels: do not add rows up, see unified_perf_summary for that.",
    ),
    Column::new("name_count", ColumnKind::Count, "Calls of the row."),
    Column::new("UID_first", ColumnKind::Identifier, "Index in the trace's event list of the first call."),
    Column::new(
        "nested",
        ColumnKind::Flag,
        "Whether all calls of the row lie inside other calls of the same sheet, such as aten::native_layer_norm inside aten::layer_norm: their kernels are those of the outer calls, and sums over the sheet have to leave the row out.",
    ),
    Column::new(
        "note",
        ColumnKind::Text,
        "What the figures assume because the trace does not record it; empty where nothing is assumed.",
    ),
];

macro_rules! sheet {
    ($name:literal, $family:ident, $direction:ident, $what:literal) => {
        [
            Sheet {
                name: $name,
                current_name: $name,
                description: concat!($what, ": operators of the family by their parameters, with FLOPs, bytes, achieved rates and distance from the roofline, most kernel time first."),
                columns: COLUMNS,
                chart: None,
                build: |analysis| build(analysis, Family::$family, Direction::$direction, false),
            },
            Sheet {
                name: concat!($name, "_kl_overlap"),
                current_name: concat!($name, "_kl_overlap"),
                description: concat!($what, ", with calls told apart by the kernels that ran at the same time on other streams; with --include_overlap_info only."),
                columns: COLUMNS,
                chart: None,
                build: |analysis| build(analysis, Family::$family, Direction::$direction, true),
            },
        ]
    };
}

macro_rules! pair {
    ($forward:literal, $backward:literal, $family:ident, $what:literal) => {{
        let [forward, forward_overlap] = sheet!($forward, $family, Forward, $what);
        let [backward, backward_overlap] = sheet!($backward, $family, Backward, $what);
        [forward, backward, forward_overlap, backward_overlap]
    }};
}

/// Sheets of families whose forward and backward operators stand together.
type Together = [Sheet; 2];
/// Sheets of families with a sheet per direction.
type Apart = [Sheet; 4];

static GEMM: Together = sheet!("GEMM", Gemm, Combined, "Matrix products");
static SDPA: Apart = pair!("SDPA_fwd", "SDPA_bwd", Sdpa, "Scaled dot-product attention");
static CONV: Apart = pair!("CONV_fwd", "CONV_bwd", Conv, "Convolutions");
static INFERENCE_ATTENTION: Apart = pair!(
    "InferenceAttention_fwd",
    "InferenceAttention_bwd",
    InferenceAttention,
    "Attention over the key-value cache of an inference engine"
);
static BINARY: Together =
    sheet!("BinaryElementwise", BinaryElementwise, Combined, "Elementwise operations on two inputs");
static GROUPED_GEMM: Apart =
    pair!("GroupedGEMM_fwd", "GroupedGEMM_bwd", GroupedGemm, "Matrix products in groups");
static MOE_COMMUNICATION: Apart = pair!(
    "MoE_comm_fwd",
    "MoE_comm_bwd",
    MoeCommunication,
    "Dispatch and combination of a mixture of experts"
);
static STATE_SPACE: Apart = pair!("SSM_fwd", "SSM_bwd", StateSpace, "State-space models");
static ROPE: Apart = pair!("RoPE_fwd", "RoPE_bwd", Rope, "Rotary position embedding");
static CROSS_ENTROPY: Apart = pair!("CrossEntropy_fwd", "CrossEntropy_bwd", CrossEntropy, "Cross entropy");
static UNARY: Together =
    sheet!("UnaryElementwise", UnaryElementwise, Combined, "Elementwise operations on one input");
static MOE_FUSED: Apart =
    pair!("MoE_fused_fwd", "MoE_fused_bwd", MoeFused, "Mixtures of experts in one kernel");
static MOE_UNFUSED: Apart =
    pair!("MoE_unfused_fwd", "MoE_unfused_bwd", MoeUnfused, "Matrix products of a mixture of experts");
static MOE_AUXILIARY: Apart =
    pair!("MoE_aux_fwd", "MoE_aux_bwd", MoeAuxiliary, "Routing and sorting of a mixture of experts");
static RMS_NORM: Apart =
    pair!("RMSNorm_fwd", "RMSNorm_bwd", RmsNorm, "RMS normalization of inference engines");
static SAMPLING: Apart = pair!("elementwise_fwd", "elementwise_bwd", Sampling, "Sampling of tokens");
static GROUP_QUANT: Apart = pair!("GroupQuant_fwd", "GroupQuant_bwd", GroupQuant, "Quantization in groups");
static FUSED_ROPE: Apart = pair!(
    "FusedRoPE_fwd",
    "FusedRoPE_bwd",
    FusedRope,
    "Rotary position embedding fused with the upkeep of a cache"
);
static CUSTOM_COLLECTIVE: Apart = pair!(
    "CustomCollective_fwd",
    "CustomCollective_bwd",
    CustomCollective,
    "Collectives of inference engines"
);
static HYPER_CONNECTION: Apart =
    pair!("mHC_fwd", "mHC_bwd", HyperConnection, "Manifold-constrained hyper-connections");
static NORMALIZATION: Together =
    sheet!("Normalization", Normalization, Combined, "Batch, layer, group, instance and RMS normalization");
static REDUCE: Apart = pair!("Reduce_fwd", "Reduce_bwd", Reduce, "Reductions");

/// The sheets of all families, in the order of reports.
pub(crate) static SHEETS: [&[Sheet]; 22] = [
    &GEMM,
    &SDPA,
    &CONV,
    &INFERENCE_ATTENTION,
    &BINARY,
    &GROUPED_GEMM,
    &MOE_COMMUNICATION,
    &STATE_SPACE,
    &ROPE,
    &CROSS_ENTROPY,
    &UNARY,
    &MOE_FUSED,
    &MOE_UNFUSED,
    &MOE_AUXILIARY,
    &RMS_NORM,
    &SAMPLING,
    &GROUP_QUANT,
    &FUSED_ROPE,
    &CUSTOM_COLLECTIVE,
    &HYPER_CONNECTION,
    &NORMALIZATION,
    &REDUCE,
];

/// Which rows a sheet of a family shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Forward and backward operators alike, each by its own figures.
    Combined,
    /// Forward work: operators by their own figures.
    Forward,
    /// Backward work: forward operators by the figures of their backward pass, then backward operators.
    Backward,
}

/// Operators that are backward work themselves and stand in the backward sheet by their own figures.
const BACKWARD_OPERATORS: &[&str] = &[
    "flash_attn::_flash_attn_varlen_backward",
    "aten::convolution_backward",
    "ConvBias_Backward",
    "ConvBiasReLU_Backward",
];

/// Forward operators whose backward pass is an operator of its own, which would count twice.
const BACKWARD_ELSEWHERE: &[&str] = &[
    "aten::convolution",
    "aten::miopen_convolution",
    "aten::cudnn_convolution",
    "ConvBias_",
    "ConvBiasReLU_",
];

/// Serves prefill and decode only; it has no backward pass.
const NEVER_BACKWARD: &str = "vllm::unified_attention_with_output";

/// One call with its figures.
struct Row {
    operator: EventId,
    evaluation: Arc<Evaluation>,
    figures: Figures,
    device_events: Vec<EventId>,
    overlap: (Option<u32>, CallOverlap),
}

impl Row {
    fn evaluated(&self) -> Option<&Evaluated> {
        self.evaluation.as_ref().as_ref().ok()
    }
}

/// Calls of one row of the sheet: same operator, same parameters.
struct Group {
    /// Parameters as text, by the sheet's parameter columns.
    parameters: Vec<Option<String>>,
    rows: Vec<Row>,
    /// All calls lie inside other calls of the sheet.
    nested: bool,
}

impl Group {
    fn time_us(&self) -> f64 {
        self.rows.iter().map(|row| row.figures.time_us).sum()
    }
}

pub(crate) fn build(
    analysis: &Analysis,
    family: Family,
    direction: Direction,
    with_overlap: bool,
) -> PolarsResult<Option<DataFrame>> {
    let nothing_ran = analysis.is_gpu_only() || analysis.device_event_count() == 0;
    if nothing_ran || (with_overlap && !analysis.options().include_overlap_info) {
        return Ok(None);
    }
    let mut name_lists = NameLists::default();
    let mut sheet = SheetRows::default();
    match direction {
        Direction::Combined => sheet.extend(groups(analysis, family, false, with_overlap, &mut name_lists)),
        Direction::Forward => {
            let mut forward = groups(analysis, family, false, with_overlap, &mut name_lists);
            forward.groups.retain(|group| !is_one_of(analysis, group, BACKWARD_OPERATORS));
            sheet.extend(forward);
        }
        Direction::Backward => {
            let mut linked = groups(analysis, family, true, with_overlap, &mut name_lists);
            linked.groups.retain(|group| !is_one_of(analysis, group, BACKWARD_ELSEWHERE));
            let mut own = groups(analysis, family, false, with_overlap, &mut name_lists);
            own.groups.retain(|group| is_one_of(analysis, group, BACKWARD_OPERATORS));
            sheet.extend(linked);
            sheet.extend(own);
        }
    }
    if sheet.groups.is_empty() {
        return Ok(None);
    }
    sheet.mark_nested(analysis);
    sheet.groups.truncate(analysis.options().topk_roofline_ops.unwrap_or(usize::MAX));
    frame(analysis, &sheet, with_overlap.then_some(&name_lists)).map(Some)
}

fn is_one_of(analysis: &Analysis, group: &Group, names: &[&str]) -> bool {
    names.contains(&analysis.trace().name(group.rows[0].operator))
}

/// Groups with the parameter columns that they have.
#[derive(Default)]
struct SheetRows {
    parameters: Vec<&'static str>,
    groups: Vec<Group>,
}

impl SheetRows {
    /// Adds groups behind those here, under the union of the parameter columns.
    fn extend(&mut self, more: SheetRows) {
        for name in
            more.parameters.iter().filter(|name| !self.parameters.contains(name)).copied().collect::<Vec<_>>()
        {
            self.parameters.push(name);
        }
        let width = self.parameters.len();
        self.groups.iter_mut().for_each(|group| group.parameters.resize(width, None));
        let places: Vec<Option<usize>> = self
            .parameters
            .iter()
            .map(|name| more.parameters.iter().position(|other| other == name))
            .collect();
        self.groups.extend(more.groups.into_iter().map(|mut group| Group {
            parameters: places.iter().map(|&place| group.parameters[place?].take()).collect(),
            ..group
        }));
    }

    /// Finds the groups whose calls all lie inside other calls of the sheet.
    fn mark_nested(&mut self, analysis: &Analysis) {
        let tree = analysis.tree();
        let mut calls = EventSet::with_capacity(analysis.trace().events().len());
        for row in self.groups.iter().flat_map(|group| &group.rows) {
            calls.insert(row.operator);
        }
        let lies_inside = |row: &Row| tree.ancestors(row.operator).any(|above| calls.contains(above));
        for group in &mut self.groups {
            group.nested = group.rows.iter().all(lies_inside);
        }
    }
}

/// The calls of the family's operators that have figures, grouped, most time first.
fn groups(
    analysis: &Analysis,
    family: Family,
    backward: bool,
    with_overlap: bool,
    name_lists: &mut NameLists,
) -> SheetRows {
    let rows = rows(analysis, family, backward, with_overlap, name_lists);
    let mut parameters: Vec<&'static str> = Vec::new();
    for row in &rows {
        for (name, _) in row.evaluated().map_or(&[][..], |evaluated| &evaluated.parameters) {
            if !parameters.contains(name) {
                parameters.push(name);
            }
        }
    }
    let texts = parameter_texts(&rows, &parameters);

    let options = analysis.options();
    let events = analysis.trace().events();
    // Calls that only differ in what ran beside them stand together: by time and first call of them all.
    let mut together = HashMap::new();
    let mut of_all: Vec<(f64, u32)> = Vec::new();
    let mut index = HashMap::new();
    let mut groups: Vec<(usize, Group)> = Vec::new();
    for (row, parameters) in rows.into_iter().zip(texts) {
        let key = (
            events.name(row.operator),
            parameters.clone(),
            options.group_by_num_kernels.then_some(row.device_events.len()),
            analysis.is_recompute(row.operator),
        );
        let same = *together.entry(key).or_insert_with(|| {
            of_all.push((0.0, events.uid(row.operator)));
            of_all.len() - 1
        });
        of_all[same].0 += row.figures.time_us;
        let at = *index.entry((same, row.overlap.0)).or_insert_with(|| {
            groups.push((same, Group { parameters, rows: Vec::new(), nested: false }));
            groups.len() - 1
        });
        groups[at].1.rows.push(row);
    }
    // Stable: calls came in file order, so of equal groups the first in the file comes first.
    groups.sort_by(|(same_a, a), (same_b, b)| {
        let ((time_a, first_a), (time_b, first_b)) = (of_all[*same_a], of_all[*same_b]);
        time_b
            .total_cmp(&time_a)
            .then(first_a.cmp(&first_b))
            .then_with(|| b.time_us().total_cmp(&a.time_us()))
    });
    SheetRows { parameters, groups: groups.into_iter().map(|(_, group)| group).collect() }
}

fn rows(
    analysis: &Analysis,
    family: Family,
    backward: bool,
    with_overlap: bool,
    name_lists: &mut NameLists,
) -> Vec<Row> {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let mut calls: Vec<EventId> = perf_models::ops_of_family(family)
        .filter(|&name| !(backward && name == NEVER_BACKWARD))
        .flat_map(|name| tree.find_by_name(name).iter().copied())
        .collect();
    calls.sort_unstable();
    let mut scratch = Vec::new();
    calls
        .into_iter()
        .filter_map(|operator| {
            let mut device_events: Vec<EventId> = match backward {
                false => tree.device_events(operator).to_vec(),
                true => {
                    // Only operators that a backward links to themselves, though figures are of all below.
                    if tree.backward_events(operator).is_empty() {
                        return None;
                    }
                    let links = tree.backward_events_of_subtree(operator);
                    let mut all: Vec<EventId> =
                        links.iter().flat_map(|&link| tree.device_events(link)).copied().collect();
                    all.sort_unstable();
                    all.dedup();
                    all
                }
            };
            device_events.sort_by_key(|&event| trace.events().start(event));
            let evaluation = analysis.models().evaluate(tree, operator);
            let evaluated = (*evaluation).as_ref().ok()?;
            let work = if backward { &evaluated.backward } else { &evaluated.forward };
            let time = busy_time(device_events.iter().map(|&event| interval(trace, event)), &mut scratch);
            let figures = Figures::of(work, evaluated.spec, analysis.us(time), analysis.architecture())?;
            let overlap = match with_overlap {
                true => overlap_of(analysis, analysis.overlaps(), &device_events, name_lists),
                false => (None, CallOverlap::default()),
            };
            Some(Row { operator, evaluation, figures, device_events, overlap })
        })
        .collect()
}

/// Parameters as text. A column of numbers in which a row has none, or which mixes whole and other numbers,
/// prints as floats throughout.
fn parameter_texts(rows: &[Row], parameters: &[&'static str]) -> Vec<Vec<Option<String>>> {
    let value = |row: &Row, name: &str| -> Option<Value> {
        let (_, value) = row.evaluated()?.parameters.iter().find(|(known, _)| *known == name)?;
        (*value != Value::None).then(|| value.clone())
    };
    let as_floats: Vec<bool> = parameters
        .iter()
        .map(|name| {
            let (mut whole, mut other, mut gaps) = (false, false, false);
            for row in rows {
                match value(row, name) {
                    None => gaps = true,
                    Some(Value::Int(_)) => whole = true,
                    Some(Value::Float(_)) => other = true,
                    Some(_) => return false,
                }
            }
            whole && (other || gaps)
        })
        .collect();
    rows.iter()
        .map(|row| {
            let texts = parameters.iter().zip(&as_floats).map(|(name, &as_float)| {
                Some(match value(row, name)? {
                    Value::Int(number) if as_float => Value::Float(number as f64).to_string(),
                    other => other.to_string(),
                })
            });
            texts.collect()
        })
        .collect()
}

fn frame(analysis: &Analysis, sheet: &SheetRows, name_lists: Option<&NameLists>) -> PolarsResult<DataFrame> {
    let trace = analysis.trace();
    let groups = &sheet.groups;
    let first = || groups.iter().map(|group| &group.rows[0]);
    let mut frame = FrameBuilder::default();
    frame.text("name", first().map(|row| Some(trace.name(row.operator))));
    if let Some(name_lists) = name_lists {
        let names = |row: &Row| row.overlap.0.map(|list| name_lists.literal(analysis, list));
        frame.text("overlapping_kernel_names_first", first().map(names));
    }
    for (position, name) in sheet.parameters.iter().enumerate() {
        let texts = groups.iter().map(|group| group.parameters[position].as_deref());
        frame.text(&format!("param: {name}"), texts);
    }
    if analysis.options().group_by_num_kernels {
        frame.integer("num_kernels", first().map(|row| Some(row.device_events.len() as i64)));
    }
    if analysis.options().detect_recompute {
        frame.flag("is_recompute", first().map(|row| analysis.is_recompute(row.operator)));
    }
    frame.float("GFLOPS_first", first().map(|row| Some(row.figures.gflops())));
    let first_known = |figure: fn(&Figures) -> Option<f64>| {
        groups.iter().map(move |group| group.rows.iter().find_map(|row| figure(&row.figures)))
    };
    frame.float("Data Moved (MB)_first", first_known(Figures::mebibytes));
    frame.float("FLOPS/Byte_first", first_known(Figures::intensity));
    spread(&mut frame, "TB/s", &AGGREGATES, groups, Figures::tb_per_s);
    spread(&mut frame, "TFLOPS/s", &AGGREGATES, groups, Figures::tflops_per_s);
    let mut places = Places::new(analysis);
    let of: Vec<u32> = first().map(|row| places.of(trace.events().track(row.operator))).collect();
    for (position, name) in
        ["process_name_first", "process_label_first", "thread_name_first"].into_iter().enumerate()
    {
        frame.text(name, of.iter().map(|&place| Some(places.texts(place)[position])));
    }
    frame.text("Compute Spec", first().map(|row| row.figures.spec.as_ref().map(ComputeSpec::to_string)));
    if analysis.architecture().is_some() {
        frame.float("Roofline Time (µs)_first", first_known(|figures| Some(figures.roofline?.time_us())));
        let bound = |row: &Row| row.figures.roofline.map(|roofline| roofline.bound().to_string());
        frame.text("Roofline Bound_first", groups.iter().map(|group| group.rows.iter().find_map(bound)));
        spread(&mut frame, "Pct Roofline", &AGGREGATES, groups, Figures::percent_of_roofline);
    }

    let lists: Vec<KernelList> = groups.iter().map(|group| kernels(analysis, group)).collect();
    frame.text(
        "kernel_details__summarize_kernel_stats",
        lists.iter().map(|list| Some(list.details(analysis))),
    );
    frame.text("trunc_kernel_details", lists.iter().map(|list| list.shortened(analysis)));
    if name_lists.is_some() {
        let overlaps: Vec<Vec<&CallOverlap>> =
            groups.iter().map(|group| group.rows.iter().map(|row| &row.overlap.1).collect()).collect();
        let details = "overlapping_kernels_details__summarize_kernel_stats";
        append_overlap(&mut frame, analysis, details, &overlaps);
    }
    let signatures = trace.signatures();
    for (position, name) in
        ["Input Dims_first", "Input type_first", "Input Strides_first", "Concrete Inputs_first"]
            .into_iter()
            .enumerate()
    {
        let list = |row: &Row| {
            let signature = signatures.get(trace.events().signature(row.operator)?);
            let lists = [signature.dims, signature.types, signature.strides, signature.concrete];
            Some(signatures.argument(lists[position]?).display(Sequence::List).to_string())
        };
        frame.text(name, groups.iter().map(|group| group.rows.iter().find_map(list)));
    }
    let time: fn(&Figures) -> Option<f64> = |figures| Some(figures.time_us);
    spread(&mut frame, "Kernel Time (µs)", &AGGREGATES, groups, time);
    frame.float("Kernel Time (µs)_sum", groups.iter().map(|group| Some(group.time_us())));
    frame.integer("name_count", groups.iter().map(|group| Some(group.rows.len() as i64)));
    frame.integer("UID_first", first().map(|row| Some(i64::from(trace.events().uid(row.operator)))));
    frame.flag("nested", groups.iter().map(|group| group.nested));
    frame.text("note", groups.iter().map(assumption));
    frame.finish()
}

fn spread(
    frame: &mut FrameBuilder,
    column: &str,
    aggregates: &[&str],
    groups: &[Group],
    figure: fn(&Figures) -> Option<f64>,
) {
    let spreads: Vec<Spread> =
        groups.iter().map(|group| Spread::of(group.rows.iter().map(|row| figure(&row.figures)))).collect();
    for aggregate in aggregates {
        frame.float(&format!("{column}_{aggregate}"), spreads.iter().map(|spread| spread.get(aggregate)));
    }
}

fn kernels(analysis: &Analysis, group: &Group) -> KernelList {
    let lists: Vec<Vec<ListedKernel>> = group
        .rows
        .iter()
        .map(|row| row.device_events.iter().map(|&event| ListedKernel::of(analysis.trace(), event)).collect())
        .collect();
    KernelList::summarise(analysis.trace(), lists.iter().map(Vec::as_slice))
}

/// What the figures of the row assume.
fn assumption(group: &Group) -> Option<&str> {
    group.rows.iter().find_map(|row| row.evaluated()?.assumption.as_deref())
}
