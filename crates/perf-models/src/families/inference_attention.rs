//! Attention of inference engines, over a key-value cache.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::InferenceAttention,
        Category::InferenceAttention,
        &[
            "vllm::unified_attention_with_output",
            "vllm::gdn_attention_core",
            "aiter::mha_varlen_fwd",
            "aiter::fmha_v3_varlen_fwd",
            "aiter::mha_batch_prefill",
            "aiter::pa_decode_gluon",
            "aiter::pa_sparse_prefill_opus_fwd",
            "aiter::linear_attention_with_output_base",
            "sglang_profiler::attention_paged_attention_ragged",
            "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd",
            "pseudo_mla_decode_fwd",
            "pseudo_mla_prefill_fwd",
            "pseudo_v4_paged_decode_swa",
            "pseudo_v4_paged_decode_csa",
            "pseudo_v4_paged_decode_hca",
            "sglang::store_cache",
        ],
    ),
    OpGroup::category_only(
        Category::InferenceAttention,
        &[
            "_C_cache_ops::reshape_and_cache_flash",
            "_C_cache_ops::concat_and_cache_mla",
            "hipModuleLaunchKernel->kv_indices_generate_kernel (Synthetic Op)",
            "aiter::get_mla_metadata_v1",
            "aiter::indexer_score_topk",
            "aiter::v4_attention_with_output->_update_compressor_states_kernel (Synthetic Op)",
            "aiter::v4_attention_with_output->_swa_write_kernel (Synthetic Op)",
            "aiter::v4_attention_with_output->fused_compress_attn_D512_RD64_R4_OVL_SS8_KB32_rmsbf16_pf_flydsl (Synthetic Op)",
            "aiter::v4_attention_with_output->fused_compress_attn_D128_RD64_R4_OVL_SS8_KB32_Q_ue8m0_psh_rmsbf16_pf_flydsl (Synthetic Op)",
            "aiter::v4_attention_with_output->hca_compress_forward_D512_R128_NW4_SL256_S128_flydsl (Synthetic Op)",
            "aiter::v4_attention_with_output->hca_compress_forward_D512_R128_NW8_SL128_S128_flydsl (Synthetic Op)",
        ],
    ),
];
