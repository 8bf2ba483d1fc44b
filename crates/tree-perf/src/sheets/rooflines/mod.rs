//! Achieved rates of the operators of one family, by their parameters: one pair of sheets per family.

mod columns;
mod extension_sheet;
mod groups;
mod members;
mod parameters;
mod table;

use perf_models::Family;
use polars::prelude::{DataFrame, PolarsResult};

use crate::analysis::Analysis;
use crate::call_overlap::NameLists;
use crate::options::ReportLayout;
use crate::sheet::Sheet;

use columns::COLUMNS;
use groups::{Group, SheetRows, grouped_calls};
use members::Subject;
use table::table;

pub use extension_sheet::ExtensionSheet;
pub(crate) use extension_sheet::extension_sheets;
pub(crate) use members::SheetMembers;

macro_rules! sheet {
    ($name:literal, $family:ident, $direction:ident, $what:literal) => {
        [
            Sheet {
                name: $name,
                current_name: $name,
                description: concat!($what, ": operators of the family by their parameters, with FLOPs, bytes, achieved rates and distance from the roofline, most kernel time first."),
                columns: COLUMNS,
                chart: None,
                build: |analysis| build(analysis, &Subject::Family(Family::$family), Direction::$direction, false),
            },
            Sheet {
                name: concat!($name, "_kl_overlap"),
                current_name: concat!($name, "_kl_overlap"),
                description: concat!($what, ", with calls told apart by the kernels that ran at the same time on other streams; with --include_overlap_info only."),
                columns: COLUMNS,
                chart: None,
                build: |analysis| build(analysis, &Subject::Family(Family::$family), Direction::$direction, true),
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
/// The same under the name that the report of inference engines gives it.
static NORMALIZATION_OF_INFERENCE: Together = sheet!(
    "Normalization_fwd",
    Normalization,
    Combined,
    "Batch, layer, group, instance and RMS normalization, of the inference report"
);
static REDUCE: Apart = pair!("Reduce_fwd", "Reduce_bwd", Reduce, "Reductions");

/// The sheets of all families, in the order of reports.
pub(crate) fn sheets(layout: ReportLayout) -> [&'static [Sheet]; 22] {
    let normalization = match layout {
        ReportLayout::Standard => &NORMALIZATION,
        ReportLayout::Inference => &NORMALIZATION_OF_INFERENCE,
    };
    [
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
        normalization,
        &REDUCE,
    ]
}

/// Which rows a sheet of a family shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
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

fn build(
    analysis: &Analysis,
    subject: &Subject,
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
        Direction::Combined => {
            sheet.extend(grouped_calls(analysis, subject, false, with_overlap, &mut name_lists))
        }
        Direction::Forward => {
            let mut forward = grouped_calls(analysis, subject, false, with_overlap, &mut name_lists);
            forward.groups.retain(|group| !is_backward(analysis, group));
            sheet.extend(forward);
        }
        Direction::Backward => {
            let mut linked = grouped_calls(analysis, subject, true, with_overlap, &mut name_lists);
            linked.groups.retain(|group| !is_one_of(analysis, group, BACKWARD_ELSEWHERE));
            let mut own = grouped_calls(analysis, subject, false, with_overlap, &mut name_lists);
            own.groups.retain(|group| is_backward(analysis, group));
            sheet.extend(linked);
            sheet.extend(own);
        }
    }
    if sheet.groups.is_empty() {
        return Ok(None);
    }
    sheet.count_nested(analysis);
    sheet.groups.truncate(analysis.options().topk_roofline_ops.unwrap_or(usize::MAX));
    table(analysis, &sheet, with_overlap.then_some(&name_lists)).map(Some)
}

/// Whether the group's operator is backward work itself.
fn is_backward(analysis: &Analysis, group: &Group) -> bool {
    let (models, operator) = (analysis.models(), group.rows[0].operator);
    match models.is_extended(analysis.tree(), operator) {
        true => {
            let category = models.category_by_extension(analysis.tree(), operator);
            category.is_some_and(|category| category.is_backward())
        }
        false => is_one_of(analysis, group, BACKWARD_OPERATORS),
    }
}

fn is_one_of(analysis: &Analysis, group: &Group, names: &[&str]) -> bool {
    names.contains(&analysis.trace().name(group.rows[0].operator))
}
