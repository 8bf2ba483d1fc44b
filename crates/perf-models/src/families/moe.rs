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

use super::{OpGroup, named, op};
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
            op("pseudo_op::moe_aiter_fused_1stage", |call| fused_or_flydsl(call, Fused)),
            op("aiter::fmoe_fp8_blockscale_g1u1", fused_given_output),
            op("aiter::fmoe_g1u1", fused_given_output),
        ],
    ),
    // Hidden states, both weights, weights and numbers of the experts of each token: both projections and what is
    // between them.
    OpGroup::ours(
        Family::MoeFused,
        Category::MoeFused,
        &[
            op("vllm::inplace_fused_experts", |call| fused_or_flydsl(call, Fused)),
            op("vllm::outplace_fused_experts", |call| fused_or_flydsl(call, Fused)),
            op("vllm::rocm_aiter_fused_moe", |call| fused_or_flydsl(call, Fused)),
            op("sglang::inplace_fused_experts", |call| fused_or_flydsl(call, Fused)),
            op("sglang::outplace_fused_experts", |call| fused_or_flydsl(call, Fused)),
        ],
    ),
    OpGroup::modelled(
        Family::MoeUnfused,
        Category::MoeUnfused,
        &[
            op("aiter::moe_cktile2stages_gemm1_ck", cktile_stage1),
            op("aiter::moe_cktile2stages_gemm2_ck", cktile_stage2),
            op("aiter::ck_moe_stage1", ck_stage1),
            op("aiter::ck_moe_stage2", ck_stage2),
            op("pseudo_op::moe_triton_unfused_up", |call| triton(call, Up)),
            op("pseudo_op::moe_triton_unfused_down", |call| triton(call, Down)),
            op("pseudo_op::moe_gptq_awq_up", gptq_up),
            op("pseudo_op::moe_gptq_awq_down", gptq_down),
            op("pseudo_op::moe_flydsl_stage1", |call| fused_or_flydsl(call, Up)),
            op("pseudo_op::moe_flydsl_stage2", |call| fused_or_flydsl(call, Down)),
            op("sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", expert_matmul),
        ],
    ),
    OpGroup::modelled(
        Family::MoeAuxiliary,
        Category::MoeAuxiliary,
        &[
            op("aiter::biased_grouped_topk_hip", routing_operands),
            op("aiter::moe_sorting_fwd", routing_operands),
            op("aiter::mxfp4_moe_sort_hip", routing_operands),
            op("aiter::topk_softplus", topk_softplus),
            op(
                "sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts",
                append_shared_experts,
            ),
        ],
    ),
    OpGroup::modelled(
        Family::MoeCommunication,
        Category::MoeCommunicationForward,
        &[op("MoEDispatch", expert_tokens), op("MoECombine", expert_tokens)],
    ),
    OpGroup::category_only(
        Category::MoeAuxiliary,
        &[
            named("aiter::moe_sorting_opus_fwd"),
            named("aiter::moe_align_block_size"),
            named("_moe_C::moe_align_block_size"),
            named("aiter::fused_moe_->_fused_dynamic_mxfp4_quant_moe_sort_kernel (Synthetic Op)"),
            named("aiter::moe_sum"),
            named("aiter::topk_softmax"),
            named("aiter::topk_softmax_asm"),
            named("aiter::topk_sigmoid"),
            named("aiter::grouped_topk"),
            named("aiter::moe_fused_gate"),
        ],
    ),
    OpGroup::category_only(
        Category::MoeCommunicationForward,
        &[named("TokenPermuteMaskMap"), named("_OperationFuserAutogradFunction")],
    ),
    OpGroup::category_only(
        Category::MoeCommunicationBackward,
        &[
            named("MoEDispatchBackward"),
            named("MoECombineBackward"),
            named("TokenPermuteMaskMapBackward"),
            named("_OperationFuserAutogradFunctionBackward"),
        ],
    ),
];
