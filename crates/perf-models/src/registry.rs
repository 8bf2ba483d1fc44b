use std::collections::HashMap;
use std::sync::LazyLock;

use crate::completed;
use crate::families::{self, BackwardWork, OpGroup, ReadModel, traffic, triton};
use crate::kernel_names::pytorch_kernel;
use crate::recorded::Recorded;
use crate::{Category, CommunicationPatterns, Family, Gap, OpCall, PerfModel, Undefined, kernel_class};

/// What the tables say of an operator.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Operator {
    /// Its name.
    pub name: &'static str,
    /// The kind of work.
    pub category: Category,
    /// Operators with the same parameters; `None` if it has no model.
    pub family: Option<Family>,
    /// Where reports show its backward work.
    pub backward_work: BackwardWork,
    /// The operator whose call of the same sequence number has the shapes that calls of this one lack.
    pub forward_call: Option<&'static str>,
    /// The text of the inference engine's step around a call ([`OpCall::annotation`]) says what its arguments do
    /// not: how long the contexts of the requests are.
    pub needs_step: bool,
    read: Option<ReadModel>,
}

/// Which rows of the tables are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tables {
    /// All of them. The functions of the same names as the methods here ask these.
    #[default]
    All,
    /// Those of operators that reports of other tools model, too, with what these say of them.
    Common,
}

/// The operators of some tables in their order, each name once.
#[derive(Default)]
struct Listed {
    operators: Vec<Operator>,
    positions: HashMap<&'static str, usize>,
}

impl Listed {
    fn new(tables: Tables) -> Self {
        let mut listed = Self::default();
        let (ours, shared): (Vec<&OpGroup>, Vec<&OpGroup>) =
            families::groups().partition(|group| group.is_ours);
        let ours = ours.into_iter().filter(|_| tables == Tables::All);
        for group in shared.into_iter().chain(ours) {
            group.rows.iter().for_each(|row| listed.add(group, row));
        }
        listed
    }

    /// Adds a row; one of ours takes the place of that which TraceLens has.
    fn add(&mut self, group: &OpGroup, row: &families::Row) {
        let operator = Operator {
            name: row.name,
            category: group.category,
            family: group.family,
            backward_work: row.backward_work,
            forward_call: row.forward_call,
            needs_step: row.needs_step,
            read: row.read,
        };
        match self.positions.get(row.name) {
            Some(&position) => self.operators[position] = operator,
            None => {
                self.positions.insert(row.name, self.operators.len());
                self.operators.push(operator);
            }
        }
    }

    fn get(&self, name: &str) -> Option<&Operator> {
        self.operators.get(*self.positions.get(name)?)
    }
}

static ALL: LazyLock<Listed> = LazyLock::new(|| Listed::new(Tables::All));
static COMMON: LazyLock<Listed> = LazyLock::new(|| Listed::new(Tables::Common));

impl Tables {
    fn listed(self) -> &'static Listed {
        match self {
            Tables::All => &ALL,
            Tables::Common => &COMMON,
        }
    }

    /// Every operator in the tables.
    pub fn operators(self) -> impl Iterator<Item = Operator> {
        self.listed().operators.iter().copied()
    }

    /// What the tables say of the operator of this name.
    ///
    /// SGLang numbers the operators that it names itself, call site by call site: `sglang_profiler::gemm_17` is
    /// the operator `sglang_profiler::gemm`. A name that stands in the tables as it is keeps its number.
    #[must_use]
    pub fn operator(self, name: &str) -> Option<&'static Operator> {
        let listed = self.listed();
        listed.get(name).or_else(|| listed.get(without_running_number(name)?))
    }

    /// The category of an operator of this name; never fails.
    ///
    /// `first_kernel` is the name of the first kernel that the operator launched, if it is known to have
    /// launched any. It decides only where the name says nothing; see the [crate's documentation](crate).
    ///
    /// Cheap, but not free: a caller that meets a name many times should keep the answer.
    #[must_use]
    pub fn op_category(self, name: &str, first_kernel: Option<&str>) -> Category {
        self.operator(name)
            .map(|operator| operator.category)
            .or_else(|| category_of_prefix(name))
            .or_else(|| category_of_unclaimed_kernel(name))
            .or_else(|| first_kernel.and_then(pytorch_kernel))
            .unwrap_or(Category::Other)
    }

    /// The family of the operator of this name; `None` if it has no model.
    ///
    /// The running number that SGLang puts behind the names of its operators does not count.
    ///
    /// Kernels that TorchInductor generated have a model without a family: their names are open-ended.
    #[must_use]
    pub fn family(self, name: &str) -> Option<Family> {
        self.operator(name)?.family
    }

    /// The names of the operators of a family.
    pub fn ops_of_family(self, family: Family) -> impl Iterator<Item = &'static str> {
        self.operators().filter(move |operator| operator.family == Some(family)).map(|operator| operator.name)
    }

    /// Whether [`model`](Self::model) has a model for operators of this name; a call may still lack what the model
    /// needs. For names that no table has ([`decides_by_kernels`](Self::decides_by_kernels)) it may find none.
    #[must_use]
    pub fn has_model(self, name: &str) -> bool {
        self.reader(name).is_some() || self.decides_by_kernels(name)
    }

    /// Whether the kernels of a call alone say if there is a model for it: operators of PyTorch that no table has. It
    /// is meant for the operator that launched them, not for those around it.
    #[must_use]
    pub fn decides_by_kernels(self, name: &str) -> bool {
        self == Tables::All && traffic::is_open(name) && self.operator(name).is_none()
    }

    /// How the model of operators of this name is read.
    fn reader(self, name: &str) -> Option<ReadModel> {
        let generated =
            || triton::is_generated_kernel(name).then_some(ReadModel::Call(triton::generated_kernel));
        self.operator(name).and_then(|operator| operator.read).or_else(generated)
    }

    /// The model of an operator call, read out of its recorded arguments.
    ///
    /// With all tables, what old recorders leave out is completed first: the strides of contiguous tensors where there
    /// are none, which the model's assumption says.
    ///
    /// # Errors
    ///
    /// When no model knows the name, or when the arguments do not say what the model needs.
    pub fn model(self, call: &OpCall<'_>) -> Result<Box<dyn PerfModel>, Undefined> {
        let by_kernels = || self.decides_by_kernels(call.name).then_some(ReadModel::Call(traffic::by_kernel));
        let unknown =
            || Undefined { gap: Gap::NoModel, reason: "no performance model for this operator".into() };
        let reader = self.reader(call.name).or_else(by_kernels).ok_or_else(unknown)?;
        Ok(Box::new(match self {
            Tables::All => completed::read(reader, call),
            Tables::Common => reader.read(call).map(Recorded::into_tracelens),
        }?))
    }
}

/// As [`Tables::operators`].
pub fn operators() -> impl Iterator<Item = Operator> {
    Tables::All.operators()
}

/// As [`Tables::operator`].
#[must_use]
pub fn operator(name: &str) -> Option<&'static Operator> {
    Tables::All.operator(name)
}

/// As [`Tables::op_category`].
#[must_use]
pub fn op_category(name: &str, first_kernel: Option<&str>) -> Category {
    Tables::All.op_category(name, first_kernel)
}

/// As [`Tables::family`].
#[must_use]
pub fn family(name: &str) -> Option<Family> {
    Tables::All.family(name)
}

/// As [`Tables::ops_of_family`].
pub fn ops_of_family(family: Family) -> impl Iterator<Item = &'static str> {
    Tables::All.ops_of_family(family)
}

/// As [`Tables::has_model`].
#[must_use]
pub fn has_model(name: &str) -> bool {
    Tables::All.has_model(name)
}

/// As [`Tables::model`].
///
/// # Errors
///
/// When no model knows the name, or when the arguments do not say what the model needs.
pub fn model(call: &OpCall<'_>) -> Result<Box<dyn PerfModel>, Undefined> {
    Tables::All.model(call)
}

fn without_running_number(name: &str) -> Option<&str> {
    if !name.starts_with("sglang_profiler::") {
        return None;
    }
    let (operator, number) = name.rsplit_once('_')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(operator)
}

/// What a kernel or fill does for the operator that launched it; never fails.
///
/// Kernels that communicate do so for any operator. The work of an operator that the tables know is that of the
/// tables: a fill before a matrix multiplication is part of it. For all others (compiled functions, launches of
/// graphs, custom autograd functions, bare launches) the kernel's own name says what it does, and where it says
/// nothing the operator's.
///
/// Cheap, but not free: a caller that meets names many times should keep the answer.
#[must_use]
pub fn work_category(operator: &str, kernel: &str, communication: &CommunicationPatterns) -> Category {
    if communication.is_communication(kernel) {
        return Category::Communication;
    }
    let tables = op_category(operator, None);
    let communicates = matches!(tables, Category::CustomCollective | Category::RecordParamComms);
    match tables {
        Category::Other => {}
        _ if communicates => {}
        category => return category,
    }
    let by_name = |name| kernel_class(name, communication).map(|class| class.category);
    let by_kernel = by_name(kernel).filter(|&category| category != Category::Other);
    let otherwise = || match communicates {
        true => Some(Category::Communication),
        // An operator that is named for communication, too, does other work with kernels that do not communicate.
        false => by_name(operator).filter(|&category| category != Category::Communication),
    };
    by_kernel.or_else(otherwise).unwrap_or(Category::Other)
}

fn category_of_prefix(name: &str) -> Option<Category> {
    if name.starts_with("triton") {
        Some(Category::Triton)
    } else if name.starts_with("record_param_comms") {
        Some(Category::RecordParamComms)
    } else {
        None
    }
}

/// Kernels that no row of their own stands for are listed as `<operator>-><kernel> (Synthetic Op)`.
///
/// The names of some engines' kernels hold numbers that differ from model to model, so these are told by
/// their parts; a name that stands in the tables as a whole was found before.
fn category_of_unclaimed_kernel(name: &str) -> Option<Category> {
    let (operator, kernel) = name.strip_suffix(" (Synthetic Op)")?.rsplit_once("->")?;
    let is = |start: &str, end: &str| kernel.starts_with(start) && kernel.ends_with(end);
    if is("aiter::allgather_lastdim<", "") {
        return Some(Category::CustomCollective);
    }
    if operator != "aiter::v4_attention_with_output" {
        return None;
    }
    if is("_inverse_rope_", "_kernel") || is("qk_norm_rope_", "_flydsl") || is("hca_norm_rope_", "_flydsl") {
        Some(Category::FusedRope)
    } else if is("fused_compress_attn_", "_flydsl") || is("hca_compress_forward_", "_flydsl") {
        Some(Category::InferenceAttention)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shapes_are_those_of_an_operator_in_the_tables() {
        for operator_without_shapes in operators().filter(|operator| operator.forward_call.is_some()) {
            let forward = operator_without_shapes.forward_call.and_then(operator).unwrap();
            assert_eq!(forward.family, operator_without_shapes.family);
        }
    }

    #[test]
    fn every_name_stands_in_one_row() {
        for is_ours in [false, true] {
            let mut seen = HashSet::new();
            let groups = families::groups().filter(|group| group.is_ours == is_ours);
            for row in groups.flat_map(|group| group.rows) {
                assert!(seen.insert(row.name), "{} is listed twice", row.name);
            }
        }
        for tables in [Tables::All, Tables::Common] {
            let names: Vec<&str> = tables.operators().map(|operator| operator.name).collect();
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        }
    }

    #[test]
    fn rows_of_ours_take_the_place_of_others_and_are_not_in_the_tables_of_tracelens() {
        const ROWS: &[families::Row] = &[families::named("aten::a"), families::named("aten::b")];
        let [shared, ours] = [(Category::Other, ROWS, false), (Category::Softmax, &ROWS[1..], true)]
            .map(|(category, rows, is_ours)| OpGroup { category, family: None, rows, is_ours });
        let mut listed = Listed::default();
        for group in [&shared, &ours] {
            group.rows.iter().for_each(|row| listed.add(group, row));
        }
        let found: Vec<_> =
            listed.operators.iter().map(|operator| (operator.name, operator.category)).collect();
        assert_eq!(found, [("aten::a", Category::Other), ("aten::b", Category::Softmax)]);
        assert_eq!(listed.get("aten::b").map(|operator| operator.category), Some(Category::Softmax));

        for group in families::groups().filter(|group| group.is_ours) {
            for row in group.rows {
                let [all, theirs] = [Tables::All, Tables::Common].map(|tables| tables.operator(row.name));
                assert_eq!(all.map(|operator| operator.category), Some(group.category), "{}", row.name);
                assert!(theirs.is_none_or(|operator| operator.family.is_none()), "{}", row.name);
            }
        }
    }

    #[test]
    fn a_category_alone_is_no_model() {
        for (name, expected) in [
            ("aten::mm", true),
            ("sglang_profiler::quant_dynamic_mxfp4_quant_7", true),
            ("triton_poi_fused_add_0", true),
            ("triton_tem_fused_mm_0", false),
            ("aiter::moe_sum", false),
            ("my::operator", false),
        ] {
            assert_eq!(has_model(name), expected, "{name}");
            let known = model(&OpCall { name, ..OpCall::default() });
            assert_eq!(!matches!(known, Err(Undefined { gap: Gap::NoModel, .. })), expected, "{name}");
        }
    }

    #[test]
    fn names_decide_before_kernels() {
        const ELEMENTWISE: Option<&str> = Some("void at::native::elementwise_kernel<128, 2>");
        let cases = [
            ("aten::mm", ELEMENTWISE, "GEMM"),
            ("_LinearBackward_wgrad_mm", None, "GEMM"),
            ("primus_turbo::grouped_gemm_variable_k_impl", None, "GroupedGEMM_fwd"),
            ("aten::_scaled_dot_product_flash_attention", None, "SDPA_fwd"),
            ("aten::_scaled_dot_product_flash_attention_backward", None, "SDPA_bwd"),
            ("flash_attn::_flash_attn_varlen_backward", None, "SDPA_bwd"),
            ("aiter::mha_bwd", None, "SDPA_bwd"),
            ("vllm::unified_attention_with_output", None, "InferenceAttention"),
            ("sglang::store_cache", None, "InferenceAttention"),
            ("aten::miopen_convolution", None, "CONV_fwd"),
            ("aten::convolution_backward", None, "CONV_bwd"),
            ("ConvBiasReLU_Backward", None, "CONV_bwd"),
            ("aten::miopen_batch_norm", None, "NORM_fwd"),
            ("aten::cudnn_rms_norm_backward", None, "NORM_bwd"),
            ("aten::_fused_rms_norm", None, "NORM_fwd"),
            ("primus::fused_ln_modulate_backward", None, "NORM_bwd"),
            ("aiter::rms_norm", None, "RMSNorm"),
            ("aten::copy_", None, "elementwise"),
            ("aten::threshold_backward", None, "elementwise"),
            ("aiter::mixed_sample_outer_exponential", None, "elementwise"),
            ("aten::cumsum", ELEMENTWISE, "reduce"),
            ("aiter::dynamic_per_tensor_quant", None, "GroupQuant"),
            ("aiter::fused_dynamic_mx_quant_moe_sort_hip", None, "GroupQuant"),
            ("aiter::fused_dynamic_mxfp4_quant_moe_sort_hip", None, "MoE_aux"),
            ("aiter::fmoe_g1u1", None, "MoE_fused"),
            ("pseudo_op::moe_gptq_awq_down", None, "MoE_unfused"),
            ("_moe_C::moe_align_block_size", None, "MoE_aux"),
            ("MoECombine", None, "MoE_comm_fwd"),
            ("TokenPermuteMaskMapBackward", None, "MoE_comm_bwd"),
            ("MambaSplitConv1dScanCombinedFn", None, "SSM_fwd"),
            ("DaoAILab::_causal_conv1d_bwd_cpp", None, "SSM_bwd"),
            ("aiter::fused_qk_rope_cat_and_cache_mla", None, "RoPE_fwd"),
            ("FusedRoPEFuncBackward", None, "RoPE_bwd"),
            ("aiter::v4_attention_with_output->_inverse_rope_gptj_kernel (Synthetic Op)", None, "FusedRoPE"),
            (
                "aiter::v4_attention_with_output->qk_norm_rope_H16_D512_RD64_flydsl (Synthetic Op)",
                None,
                "FusedRoPE",
            ),
            (
                "aiter::v4_attention_with_output->hca_norm_rope_scatter_D128_RD64_R128_KB1_flydsl (Synthetic Op)",
                None,
                "FusedRoPE",
            ),
            (
                "aiter::v4_attention_with_output->hca_compress_forward_D512_R64_NW2_flydsl (Synthetic Op)",
                None,
                "InferenceAttention",
            ),
            ("aiter::v4_attention_with_output->_swa_write_kernel (Synthetic Op)", None, "InferenceAttention"),
            ("aiter::v4_attention_with_output->Cijk_Alik_Bljk (Synthetic Op)", None, "other"),
            ("my::attention->qk_norm_rope_H16_flydsl (Synthetic Op)", None, "other"),
            (
                "sglang::gather->aiter::allgather_lastdim<std::bfloat16_t, 8>(aiter::RankData*) (Synthetic Op)",
                None,
                "CustomCollective",
            ),
            ("sglang::gather->aiter::allgather_lastdim<std::bfloat16_t, 8>", None, "other"),
            // SGLang numbers its operators.
            ("sglang_profiler::fp8_utils_gemm_a8w8_blockscale_17", None, "GEMM"),
            ("sglang_profiler::quant_dynamic_mxfp4_quant_0", None, "GroupQuant"),
            ("sglang_profiler::quant_dynamic_mxfp4_quant_1_0", None, "other"),
            ("sglang_profiler::quant_dynamic_mxfp4_quant_", None, "other"),
            ("sglang_profiler::quant_dynamic_mxfp4_quant_x", None, "other"),
            ("aiter::silu_and_mul_3", None, "other"),
            ("CrossEntropyFunction", None, "CrossEntropy_fwd"),
            ("CrossEntropyFunctionBackward", None, "CrossEntropy_bwd"),
            ("_C_custom_ar::all_reduce", None, "CustomCollective"),
            ("aiter::mhc_post", None, "mHC"),
            ("triton_poi_fused_add_0", ELEMENTWISE, "triton"),
            ("tritonfoo", None, "triton"),
            ("record_param_comms", ELEMENTWISE, "record_param_comms"),
            ("my_triton_kernel", None, "other"),
            ("aten::linear", None, "other"),
            ("aten::mm ", None, "other"),
            ("", None, "other"),
        ];
        for (name, kernel, expected) in cases {
            assert_eq!(op_category(name, kernel).as_str(), expected, "{name:?}");
        }
    }

    #[test]
    fn kernels_of_pytorch_decide_where_the_name_does_not() {
        let cases = [
            ("void at::native::vectorized_elementwise_kernel<4>", "elementwise"),
            ("void at::native::(anonymous namespace)::reduce_kernel<512, 1>", "reduce"),
            ("void at::native::reduce_elementwise_kernel", "elementwise"),
            ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel", "multi_tensor_apply"),
            ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<reduce>", "reduce"),
            ("void at::native::index_kernel", "other"),
            ("at::native::elementwise_kernel", "other"),
            ("void at_cuda_detail::cub::DeviceReduceKernel", "other"),
            ("void (anonymous namespace)::elementwise_kernel", "other"),
            ("", "other"),
        ];
        for (kernel, expected) in cases {
            assert_eq!(op_category("aten::unheard_of", Some(kernel)).as_str(), expected, "{kernel:?}");
        }
    }

    #[test]
    fn family_and_category_are_different_questions() {
        let cases = [
            ("aiter::dynamic_per_token_scaled_quant", Some(Family::BinaryElementwise), Category::GroupQuant),
            (
                "aiter::fused_dynamic_mxfp4_quant_moe_sort_hip",
                Some(Family::GroupQuant),
                Category::MoeAuxiliary,
            ),
            ("aiter::fused_qk_rope_concat_and_cache_mla", Some(Family::FusedRope), Category::RopeForward),
            ("aiter::_groupnorm_run", Some(Family::Normalization), Category::NormForward),
            ("aten::cudnn_convolution", None, Category::ConvForward),
        ];
        for (name, expected_family, expected_category) in cases {
            assert_eq!(family(name), expected_family, "{name}");
            assert_eq!(operator(name).map(|operator| operator.category), Some(expected_category), "{name}");
        }
        assert_eq!(family("triton_poi_fused_add_0"), None);
        assert_eq!(family("sglang_profiler::gemm_kernels_flydsl_hgemm_42"), Some(Family::Gemm));
    }

    proptest! {
        #[test]
        fn a_kernel_never_overrules_a_registered_name(position: prop::sample::Index, kernel in ".*") {
            let registered: Vec<Operator> = operators().collect();
            let Operator { name, category, .. } = *position.get(&registered);
            prop_assert_eq!(op_category(name, Some(&kernel)), category);
            prop_assert_eq!(op_category(name, None), category);
        }
    }
}
