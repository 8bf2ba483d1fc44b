//! Mixture of experts.

mod auxiliary;
mod communication;
mod expert_matmul;
mod layout;
mod model;
mod weights;

pub use auxiliary::{RoutingOperands, SharedExpertAppend, TopkSoftplus};
pub use communication::ExpertTokens;
pub use expert_matmul::ExpertMatmul;
pub use model::{ExpertLayer, ExpertStage};

use super::OpGroup;
use crate::{Category, Family};
use auxiliary::{append_shared_experts, routing_operands, topk_softplus};
use communication::expert_tokens;
use expert_matmul::expert_matmul;
use layout::{
    ck_stage1, ck_stage2, cktile_stage1, cktile_stage2, fused_given_output, fused_or_flydsl, gptq_down,
    gptq_up, triton,
};
use model::ExpertStage::{Down, Fused, Up};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::MoeFused,
        Category::MoeFused,
        &[
            ("pseudo_op::moe_aiter_fused_1stage", |call| fused_or_flydsl(call, Fused)),
            ("aiter::fmoe_fp8_blockscale_g1u1", fused_given_output),
            ("aiter::fmoe_g1u1", fused_given_output),
        ],
    ),
    OpGroup::modelled(
        Family::MoeUnfused,
        Category::MoeUnfused,
        &[
            ("aiter::moe_cktile2stages_gemm1_ck", cktile_stage1),
            ("aiter::moe_cktile2stages_gemm2_ck", cktile_stage2),
            ("aiter::ck_moe_stage1", ck_stage1),
            ("aiter::ck_moe_stage2", ck_stage2),
            ("pseudo_op::moe_triton_unfused_up", |call| triton(call, Up)),
            ("pseudo_op::moe_triton_unfused_down", |call| triton(call, Down)),
            ("pseudo_op::moe_gptq_awq_up", gptq_up),
            ("pseudo_op::moe_gptq_awq_down", gptq_down),
            ("pseudo_op::moe_flydsl_stage1", |call| fused_or_flydsl(call, Up)),
            ("pseudo_op::moe_flydsl_stage2", |call| fused_or_flydsl(call, Down)),
            ("sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", expert_matmul),
        ],
    ),
    OpGroup::modelled(
        Family::MoeAuxiliary,
        Category::MoeAuxiliary,
        &[
            ("aiter::biased_grouped_topk_hip", routing_operands),
            ("aiter::moe_sorting_fwd", routing_operands),
            ("aiter::mxfp4_moe_sort_hip", routing_operands),
            ("aiter::topk_softplus", topk_softplus),
            ("sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts", append_shared_experts),
        ],
    ),
    OpGroup::modelled(
        Family::MoeCommunication,
        Category::MoeCommunicationForward,
        &[("MoEDispatch", expert_tokens), ("MoECombine", expert_tokens)],
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
