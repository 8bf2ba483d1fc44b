//! Mixture of experts.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::MoeFused,
        Category::MoeFused,
        &["pseudo_op::moe_aiter_fused_1stage", "aiter::fmoe_fp8_blockscale_g1u1", "aiter::fmoe_g1u1"],
    ),
    OpGroup::modelled(
        Family::MoeUnfused,
        Category::MoeUnfused,
        &[
            "aiter::moe_cktile2stages_gemm1_ck",
            "aiter::moe_cktile2stages_gemm2_ck",
            "aiter::ck_moe_stage1",
            "aiter::ck_moe_stage2",
            "pseudo_op::moe_triton_unfused_up",
            "pseudo_op::moe_triton_unfused_down",
            "pseudo_op::moe_gptq_awq_up",
            "pseudo_op::moe_gptq_awq_down",
            "pseudo_op::moe_flydsl_stage1",
            "pseudo_op::moe_flydsl_stage2",
            "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel",
        ],
    ),
    OpGroup::modelled(
        Family::MoeAuxiliary,
        Category::MoeAuxiliary,
        &[
            "aiter::biased_grouped_topk_hip",
            "aiter::moe_sorting_fwd",
            "aiter::mxfp4_moe_sort_hip",
            "aiter::topk_softplus",
            "sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts",
        ],
    ),
    OpGroup::modelled(
        Family::MoeCommunication,
        Category::MoeCommunicationForward,
        &["MoEDispatch", "MoECombine"],
    ),
    OpGroup::category_only(
        Category::MoeAuxiliary,
        &[
            "aiter::moe_sorting_opus_fwd",
            "aiter::moe_align_block_size",
            "_moe_C::moe_align_block_size",
            "aiter::fused_moe_->_fused_dynamic_mxfp4_quant_moe_sort_kernel (Synthetic Op)",
            "aiter::moe_sum",
            "aiter::topk_softmax",
            "aiter::topk_softmax_asm",
            "aiter::topk_sigmoid",
            "aiter::grouped_topk",
            "aiter::moe_fused_gate",
        ],
    ),
    OpGroup::category_only(
        Category::MoeCommunicationForward,
        &["TokenPermuteMaskMap", "_OperationFuserAutogradFunction"],
    ),
    OpGroup::category_only(
        Category::MoeCommunicationBackward,
        &[
            "MoEDispatchBackward",
            "MoECombineBackward",
            "TokenPermuteMaskMapBackward",
            "_OperationFuserAutogradFunctionBackward",
        ],
    ),
];
