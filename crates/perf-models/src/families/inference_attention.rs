//! Attention of inference engines, over a key-value cache.

mod gated_delta;
mod layout;
mod model;
mod sparse;
mod store_cache;

pub use gated_delta::GatedDeltaAttention;
pub use model::InferenceAttention;
pub use sparse::SparsePrefillAttention;
pub use store_cache::KeyValueStore;

use super::{BackwardWork, OpGroup, named, op};
use crate::{Category, Family};
use gated_delta::gated_delta;
use layout::{
    KeyLengths, latent, paged_decode, paged_ragged, tilelang_sparse, unified, variable_length,
    with_value_tensor,
};
use sparse::{Selection, deepseek_v4, sparse_prefill};
use store_cache::store_cache;

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::InferenceAttention,
        Category::InferenceAttention,
        &[
            op("vllm::unified_attention_with_output", unified)
                .needs_step()
                .backward_work(BackwardWork::NotCounted),
            op("vllm::gdn_attention_core", gated_delta).needs_step(),
            op("aiter::mha_varlen_fwd", |call| variable_length(call, &KeyLengths::MHA_VARLEN)).needs_step(),
            op("aiter::fmha_v3_varlen_fwd", |call| variable_length(call, &KeyLengths::FMHA_V3_VARLEN))
                .needs_step(),
            op("aiter::mha_batch_prefill", |call| variable_length(call, &KeyLengths::BATCH_PREFILL))
                .needs_step(),
            op("aiter::pa_decode_gluon", paged_decode).needs_step(),
            op("aiter::pa_sparse_prefill_opus_fwd", sparse_prefill),
            op("aiter::linear_attention_with_output_base", gated_delta),
            op("sglang_profiler::attention_paged_attention_ragged", paged_ragged).needs_step(),
            op("sglang_profiler::tilelang_kernel_tilelang_sparse_fwd", tilelang_sparse).needs_step(),
            op("pseudo_mla_decode_fwd", latent).needs_step(),
            op("pseudo_mla_prefill_fwd", with_value_tensor).needs_step(),
            op("pseudo_v4_paged_decode_swa", |call| deepseek_v4(call, Selection::Window)).needs_step(),
            op("pseudo_v4_paged_decode_csa", |call| deepseek_v4(call, Selection::CompressedTopk))
                .needs_step(),
            op("pseudo_v4_paged_decode_hca", |call| deepseek_v4(call, Selection::HeavilyCompressed))
                .needs_step(),
            op("sglang::store_cache", store_cache),
        ],
    ),
    OpGroup::category_only(
        Category::InferenceAttention,
        &[
            named("_C_cache_ops::reshape_and_cache_flash"),
            named("_C_cache_ops::concat_and_cache_mla"),
            named("hipModuleLaunchKernel->kv_indices_generate_kernel (Synthetic Op)"),
            named("aiter::get_mla_metadata_v1"),
            named("aiter::indexer_score_topk"),
            named("aiter::v4_attention_with_output->_update_compressor_states_kernel (Synthetic Op)"),
            named("aiter::v4_attention_with_output->_swa_write_kernel (Synthetic Op)"),
            named(
                "aiter::v4_attention_with_output->fused_compress_attn_D512_RD64_R4_OVL_SS8_KB32_rmsbf16_pf_flydsl (Synthetic Op)",
            ),
            named(
                "aiter::v4_attention_with_output->fused_compress_attn_D128_RD64_R4_OVL_SS8_KB32_Q_ue8m0_psh_rmsbf16_pf_flydsl (Synthetic Op)",
            ),
            named(
                "aiter::v4_attention_with_output->hca_compress_forward_D512_R128_NW4_SL256_S128_flydsl (Synthetic Op)",
            ),
            named(
                "aiter::v4_attention_with_output->hca_compress_forward_D512_R128_NW8_SL128_S128_flydsl (Synthetic Op)",
            ),
        ],
    ),
];
