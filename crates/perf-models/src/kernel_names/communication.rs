//! Names of kernels that communicate, and of those that the ROCm runtime copies and fills memory with.

use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::AhoCorasick;

use super::{COLLECTIVE_LIBRARIES, CUSTOM_ALL_REDUCE, has, readable, without_arguments, words};

/// Names of the kernels that communicate with other devices.
///
/// A kernel communicates when its name contains a pattern; ASCII letters compare without regard to case. The default
/// patterns are those of the libraries in this file, and the words for collectives in names that say nothing else
/// ([`CommunicationPatterns::is_guess`]).
///
/// A search runs over the whole name: callers that meet the same name many times should keep the
/// answer per distinct name.
///
/// ```
/// use perf_models::CommunicationPatterns;
///
/// let patterns = CommunicationPatterns::default().with_collective("my_ring_sum", "allreduce");
/// let name = "my_ring_sum_kernel<bf16>";
/// assert!(patterns.is_communication(name));
/// assert_eq!(patterns.collective(name), Some("allreduce"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicationPatterns {
    /// They decide before what this file knows.
    patterns: Vec<Pattern>,
    /// What this file knows of libraries and collectives decides where no pattern does.
    knows_libraries: bool,
    any: AnyWord,
}

/// Finds in one pass over a name whether it has any of the patterns or words, which most names have not. Made from the
/// patterns when it is first asked for, once for all clones; `None` where they are too many for it.
#[derive(Clone, Debug, Default)]
struct AnyWord(Arc<OnceLock<Option<AhoCorasick>>>);

impl PartialEq for AnyWord {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for AnyWord {}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// In lower case.
    text: String,
    collective: Option<String>,
}

/// What a name says of communication.
struct Evidence<'a> {
    collective: Option<&'a str>,
    /// Only a word for a collective says it.
    is_guess: bool,
}

/// Parts of the names of kernels that libraries communicate with, and the collective that a part says.
const LIBRARIES: [(&str, Option<&str>); 34] = [
    // NCCL and RCCL: ncclDevKernel_AllReduce_…, rcclGenericKernel.
    ("nccl", None),
    ("rccl", None),
    // The libraries of other devices, and what Ascend calls its operations: hccl::all_reduce, xccl::allreduce,
    // hcom_allReduce__….
    ("hccl", None),
    ("xccl", None),
    ("hcom_", None),
    // Tasks of Ascend that wait for another device, where the operation that they are part of is not recorded.
    ("notify wait", None),
    ("notify_wait", None),
    // The custom all-reduce of vLLM, SGLang and AITER.
    (CUSTOM_ALL_REDUCE, Some("allreduce")),
    ("reduce_scatter_cross_device", Some("reducescatter")),
    ("allgather_lastdim", Some("allgather")),
    // Quick-reduce of vLLM and SGLang for ROCm (quickreduce::allreduce_prototype_twoshot).
    ("quick_reduce", Some("allreduce")),
    ("quickreduce", Some("allreduce")),
    // Symmetric memory of PyTorch (torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu).
    ("multimem_all_gather", Some("allgather")),
    ("multimem_", Some("allreduce")),
    ("one_shot_all_reduce", Some("allreduce")),
    ("two_shot_all_reduce", Some("allreduce")),
    // TensorRT-LLM and FlashInfer (trtllm_allreduce_fusion, oneShotAllReduceKernel).
    ("oneshotallreduce", Some("allreduce")),
    ("twoshotallreduce", Some("allreduce")),
    ("allreduce_fusion", Some("allreduce")),
    // SGLang's and AITER's all-reduce fused with a normalization.
    ("ar_fusion", Some("allreduce")),
    ("ar_rms", Some("allreduce")),
    // NVSHMEM and rocSHMEM.
    ("nvshmem", None),
    ("rocshmem", None),
    // Microsoft's MSCCL++.
    ("mscclpp", None),
    ("msccl", None),
    // The userbuffers of Transformer Engine and TensorRT-LLM (kuserbuffers_pushsend, userbuffers_fp16_sum_inplace_gpu_rw).
    ("userbuffers", None),
    // Instructions of XLA (all-reduce-start.3). Names of functions have no hyphens.
    ("all-reduce", Some("allreduce")),
    ("all-gather", Some("allgather")),
    ("reduce-scatter", Some("reducescatter")),
    ("all-to-all", Some("alltoall")),
    ("collective-permute", None),
    ("collective-broadcast", Some("broadcast")),
    ("async-collective", None),
    // The exchange of splits before PyTorch's all_to_all_vdev.
    ("exchangesplitandoffset", None),
];

/// Instructions of XLA that send to and receive from one device.
const POINT_TO_POINT: [&str; 4] = ["send", "send-done", "recv", "recv-done"];

/// Words of the names of kernels that exchange tokens between the devices of experts: the namespace of a library, or the
/// stem of its functions. `dispatch` and `combine` alone prove nothing.
const EXPERT_EXCHANGE: [&str; 14] = [
    // DeepEP, whatever namespace others put it in: deep_ep::internode, dpsk::ep::intranode, uccl::internode_ll.
    " deep ep ",
    " internode ",
    " intranode ",
    " uccl ",
    " hybrid ep ",
    " nccl ep ",
    " mooncake ",
    " pplx ",
    " mori ",
    // MORI's functions: EpDispatchIntraNodeKernel, EpCombineSyncBarrier.
    " ep dispatch",
    " ep combine",
    // FlashInfer and TensorRT-LLM: moeA2ADispatchKernel.
    " moe a2 adispatch ",
    " moe a2 acombine ",
    // DeepGEMM: dispatch, both products and combine in one kernel.
    " mega moe ",
];

/// Texts of which one stands in every name with these words.
const EXPERT_STEMS: [&str; 12] = [
    "deep_ep", "deepep", "node", "uccl", "hybrid", "nccl", "mooncake", "pplx", "mori", "dispatch", "combine",
    "mega",
];

/// The same words, without a library, in the anonymous namespace that pplx-kernels have theirs in.
const UNNAMED_EXPERT_EXCHANGE: [&str; 2] =
    ["(anonymous namespace)::dispatchkernel", "(anonymous namespace)::combinekernel"];

/// What functions of these libraries are called that stay on the device: they prepare what is sent and put together what
/// came.
const LOCAL_TO_THE_DEVICE: [&str; 12] = [
    " layout ",
    " epilogue ",
    "permute",
    " scan ",
    " staging ",
    " convert",
    " pad ",
    " combine all ",
    " local expert",
    " routing map ",
    " prob",
    " expected value",
];

/// Whether a kernel is what a library that exchanges tokens between the devices of experts does on one device. `own` are
/// the words outside of template arguments.
pub(super) fn prepares_exchange(own: &str) -> bool {
    has(own, &EXPERT_EXCHANGE) && has(own, &LOCAL_TO_THE_DEVICE)
}

/// Words for collectives. A kernel that has one may well communicate.
const COLLECTIVES: [(&str, &str); 9] = [
    ("allreduce", "allreduce"),
    ("all_reduce", "allreduce"),
    ("reducescatter", "reducescatter"),
    ("reduce_scatter", "reducescatter"),
    ("allgather", "allgather"),
    ("all_gather", "allgather"),
    ("alltoall", "alltoall"),
    ("all_to_all", "alltoall"),
    ("all2all", "alltoall"),
];

/// What a name with a word for a collective is about if it is no exchange between devices: a reduction within a block or
/// wave, PyTorch's own copies around collectives, code that TorchInductor generated.
const WITHIN_A_DEVICE: [&str; 7] = ["block", "warp", "wave", "subgroup", "at::native", "triton_", "copy"];

impl Default for CommunicationPatterns {
    fn default() -> Self {
        static DEFAULT: LazyLock<CommunicationPatterns> = LazyLock::new(|| CommunicationPatterns {
            patterns: Vec::new(),
            knows_libraries: true,
            any: AnyWord::default(),
        });
        DEFAULT.clone()
    }
}

impl CommunicationPatterns {
    /// Only the collective libraries: `nccl` and `rccl`. The start of a list that replaces the
    /// default custom collectives.
    #[must_use]
    pub fn libraries_only() -> Self {
        let none = Self { patterns: Vec::new(), knows_libraries: false, any: AnyWord::default() };
        COLLECTIVE_LIBRARIES.iter().fold(none, |all, library| all.with_pattern(library))
    }

    /// Those of TraceLens: the collective libraries and the custom all-reduce of inference engines.
    #[must_use]
    pub fn tracelens() -> Self {
        Self::libraries_only().with_collective(CUSTOM_ALL_REDUCE, "allreduce")
    }

    /// Adds a pattern for kernels whose collective is not known from their name.
    ///
    /// An empty pattern is ignored, because it would match every kernel.
    #[must_use]
    pub fn with_pattern(self, pattern: &str) -> Self {
        self.with(pattern, None)
    }

    /// Adds a pattern for kernels that implement `collective` (`allreduce`, `allgather`, ...).
    ///
    /// An empty pattern is ignored, because it would match every kernel.
    #[must_use]
    pub fn with_collective(self, pattern: &str, collective: &str) -> Self {
        self.with(pattern, Some(collective.to_owned()))
    }

    fn with(mut self, pattern: &str, collective: Option<String>) -> Self {
        if !pattern.is_empty() {
            self.patterns.push(Pattern { text: pattern.to_ascii_lowercase(), collective });
            self.any = AnyWord::default();
        }
        self
    }

    /// Whether a kernel of this name communicates with other devices.
    #[must_use]
    pub fn is_communication(&self, name: &str) -> bool {
        self.evidence(name).is_some()
    }

    /// Whether a kernel of this name is taken for communication for a word in it alone, such as `all_gather`; no
    /// pattern knows it.
    #[must_use]
    pub fn is_guess(&self, name: &str) -> bool {
        self.evidence(name).is_some_and(|evidence| evidence.is_guess)
    }

    /// The collective that a kernel of this name implements, by the first pattern that matches and
    /// says so, or by a word for it; `None` for the kernels of collective libraries, whose traces name it elsewhere.
    #[must_use]
    pub fn collective(&self, name: &str) -> Option<&str> {
        self.evidence(name)?.collective
    }

    /// Whether a name has any text that [`evidence`](Self::evidence) rests on.
    fn may_communicate(&self, name: &str) -> bool {
        let any = self.any.0.get_or_init(|| {
            let patterns = self.patterns.iter().map(|pattern| pattern.text.as_str());
            let known = || {
                let libraries = LIBRARIES.iter().map(|&(text, _)| text);
                let words = COLLECTIVES.iter().map(|&(word, _)| word);
                libraries.chain(words).chain(POINT_TO_POINT).chain(EXPERT_STEMS)
            };
            let known = self.knows_libraries.then(known).into_iter().flatten();
            AhoCorasick::builder().ascii_case_insensitive(true).build(patterns.chain(known)).ok()
        });
        any.as_ref().is_none_or(|any| any.is_match(name))
    }

    fn evidence(&self, name: &str) -> Option<Evidence<'_>> {
        if !self.may_communicate(name) {
            return None;
        }
        let lower = name.to_ascii_lowercase();
        let mut patterns = self.patterns.iter().filter(|pattern| lower.contains(&pattern.text)).peekable();
        if patterns.peek().is_some() {
            let collective = patterns.find_map(|pattern| pattern.collective.as_deref());
            return Some(Evidence { collective, is_guess: false });
        }
        self.knows_libraries.then(|| known(name, &lower))?
    }
}

/// What this file knows of a name, which in lower case is `lower`.
fn known(name: &str, lower: &str) -> Option<Evidence<'static>> {
    let certain = |collective| Some(Evidence { collective, is_guess: false });
    let readable = readable(name);
    let own = words(&without_arguments(&readable));
    if has(&own, &EXPERT_EXCHANGE) {
        return if prepares_exchange(&own) { None } else { certain(None) };
    }
    let mut libraries = LIBRARIES.iter().filter(|(text, _)| lower.contains(text)).peekable();
    if libraries.peek().is_some() {
        return certain(libraries.find_map(|&(_, collective)| collective));
    }
    let instruction = lower.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit());
    let unnamed = readable.strip_prefix("void ").unwrap_or(&readable).to_ascii_lowercase();
    if POINT_TO_POINT.contains(&instruction)
        || UNNAMED_EXPERT_EXCHANGE.iter().any(|start| unnamed.starts_with(start))
    {
        return certain(None);
    }
    let (_, collective) = COLLECTIVES.iter().find(|(word, _)| lower.contains(word))?;
    (!has(lower, &WITHIN_A_DEVICE)).then_some(Evidence { collective: Some(collective), is_guess: true })
}

/// What a kernel of the ROCm runtime does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKernel {
    /// Copies it.
    Copy,
    /// Fills it.
    Fill,
}

/// What kernels of the ROCm runtime do that older profilers recorded like kernels of the program: the runtime's blit
/// kernels and the names of DMA copies, with or without the suffix of a kernel descriptor (`.kd`).
#[must_use]
pub fn rocm_memory_kernel(name: &str) -> Option<MemoryKernel> {
    let name = name.strip_suffix(".kd").unwrap_or(name);
    if let Some(direction) = name.strip_prefix("MEMORY_COPY_") {
        return matches!(direction, "HOST_TO_DEVICE" | "DEVICE_TO_HOST" | "DEVICE_TO_DEVICE")
            .then_some(MemoryKernel::Copy);
    }
    match name.strip_prefix("__amd_rocclr_")? {
        "copyBuffer" | "copyBufferRect" | "copyBufferAligned" | "copyBufferRectAligned" => {
            Some(MemoryKernel::Copy)
        }
        "fillBuffer" | "fillBufferAligned" => Some(MemoryKernel::Fill),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_and_runtime_kernels_are_known_by_name() {
        use MemoryKernel::{Copy, Fill};
        let patterns = CommunicationPatterns::default();
        for (name, communicates, memory) in [
            ("ncclDevKernel_AllReduce", true, None),
            ("void rcclGenericKernel<1>", true, None),
            ("hccl::all_reduce", true, None),
            ("hcom_broadcast__123_0", true, None),
            ("Notify Wait", true, None),
            ("Cross_Device_Reduce_1stage", true, None),
            ("my_nccl_thing", true, None),
            ("NCCL", true, None),
            ("MEMORY_COPY_HOST_TO_DEVICE", false, Some(Copy)),
            ("MEMORY_COPY_HOST_TO_DEVICE.kd", false, Some(Copy)),
            ("MEMORY_COPY_DEVICE_TO_HOST", false, Some(Copy)),
            ("MEMORY_COPY_DEVICE_TO_DEVICE.kd", false, Some(Copy)),
            ("__amd_rocclr_copyBuffer", false, Some(Copy)),
            ("__amd_rocclr_copyBuffer.kd", false, Some(Copy)),
            ("__amd_rocclr_copyBufferRect", false, Some(Copy)),
            ("__amd_rocclr_copyBufferAligned", false, Some(Copy)),
            ("__amd_rocclr_copyBufferRectAligned.kd", false, Some(Copy)),
            ("MEMORY_COPY_PEER", false, None),
            ("memory_copy_host_to_device", false, None),
            ("__amd_rocclr_copyBufferAlignedRect", false, None),
            ("__amd_rocclr_copyBuffer.kd.kd", false, None),
            ("prefix __amd_rocclr_copyBuffer", false, None),
            ("__amd_rocclr_fillBuffer", false, Some(Fill)),
            ("__amd_rocclr_fillBufferAligned.kd", false, Some(Fill)),
            ("__amd_rocclr_fillBufferAligned2", false, None),
            ("", false, None),
            ("nc", false, None),
            ("triton_per_fused__to_copy_sum_2.kd", false, None),
            ("void at::native::split_with_sizes_copy_out_contiguous", false, None),
            ("MyCustomCopyKernel", false, None),
            ("memcpy_my_thing", false, None),
        ] {
            assert_eq!(patterns.is_communication(name), communicates, "{name:?}");
            assert_eq!(rocm_memory_kernel(name), memory, "{name:?}");
        }
    }

    #[test]
    fn kernels_of_libraries_and_of_symmetric_memory_communicate() {
        let default = CommunicationPatterns::default();
        for (name, collective) in [
            ("void multimem_all_reduce_kernel<c10::BFloat16>(x)", Some("allreduce")),
            ("void two_shot_all_reduce_kernel<float, 16, 8>", Some("allreduce")),
            ("void c10d::symmetric_memory::one_shot_all_reduce_kernel<float>", Some("allreduce")),
            ("void quickreduce::allreduce_prototype_twoshot<Codec>", Some("allreduce")),
            ("aiter::allreduce_fusion_kernel_1stage", Some("allreduce")),
            (
                "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<x>",
                Some("allreduce"),
            ),
            ("void tensorrt_llm::kernels::oneShotAllReduceKernel<half, 8>", Some("allreduce")),
            ("void aiter::allgather_lastdim<std::bfloat16_t, 8>", Some("allgather")),
            ("reduce_scatter_cross_device_store", Some("reducescatter")),
            ("nvshmemi_transfer_rma_p2p", None),
            ("void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)", None),
            ("_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8ELi768EEEvPT_", None),
            ("mscclpp::allreduce_nvls_kernel", None),
        ] {
            assert!(default.is_communication(name) && !default.is_guess(name), "{name}");
            assert_eq!(default.collective(name), collective, "{name}");
        }
        assert!(!CommunicationPatterns::tracelens().is_communication("multimem_all_reduce_kernel"));
    }

    #[test]
    fn kernels_that_exchange_tokens_of_experts_communicate() {
        let default = CommunicationPatterns::default();
        for name in [
            "void dpsk::ep::internode::cached_notify<false>(int, int, int)",
            "void mine::ep::intranode::notify_dispatch<8>(int const*)",
            "void deep_ep::elastic::hybrid_dispatch_impl<(bool)1, (int)7168>(void*)",
            "_ZN4dpsk2ep12internode_ll8dispatchILb1ELi7168EEEvPv",
            "void uccl::internode::dispatch<false, 8>(int4*)",
            "void hybrid_ep::dispatch_kernel<x>(x)",
            "void hybrid_ep::device_sync_kernel()",
            "nccl_ep_jit_ht_dispatch_kernel",
            "void mooncake::combine<true, 7168>(void*)",
            "EpDispatchIntraNodeKernel_bf16",
            "EpCombineSyncBarrier",
            "mori_ep_combine_tdm_bf16_ws8_h7168_k8_64x16",
            "mori_shmem_barrier_all_block",
            "void (anonymous namespace)::dispatchKernel<10u, true, false>(int)",
            "_ZN12_GLOBAL__N_113combineKernelILj10EEEvPi",
            "void tensorrt_llm::kernels::moe_alltoall::moeA2ADispatchKernel<x>(x)",
            "exchangeSplitAndOffset_2d",
            "void deep_gemm::sm100_fp8_mega_moe_impl<1, 2>(int)",
            "kuserbuffers_pushsend(int*, int*)",
            "void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int, int, int)",
            "all-reduce-start.3",
            "reduce-scatter.1",
            "ragged-all-to-all.2",
            "collective-permute-done.12",
            "send-done.4",
        ] {
            assert!(default.is_communication(name) && !default.is_guess(name), "{name}");
        }
        for name in [
            "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)",
            "void deep_ep::elastic::combine_reduce_epilogue_impl<8>(void*)",
            "void hybrid_ep::unpermute_kernel<bf16>(x)",
            "nccl_ep_jit_ht_scan_kernel",
            "void mori_ConvertDispatchOutput<x>(x)",
            "moeA2APrepareDispatchKernel",
            "flash_fwd_splitkv_combine_kernel",
            "flash_fwd_mla_combine_kernel",
            "deepep_permute_triton_kernel",
            "dispatch_work_kernel",
            "combine",
            "void f<deep_ep::internode::X>(deep_ep::Config)",
            "sendrecv_free",
            "reduce.1",
            "copy-start.2",
        ] {
            assert!(!default.is_communication(name), "{name}");
        }
        assert_eq!(default.collective("all-gather-start.7"), Some("allgather"));
        assert!(
            !CommunicationPatterns::tracelens().is_communication("void deep_ep::intranode::combine<x>()")
        );
        let named = default.with_pattern("get_dispatch_layout");
        assert!(named.is_communication("void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)"));
    }

    #[test]
    fn a_word_for_a_collective_is_a_guess() {
        let default = CommunicationPatterns::default();
        let name = "my_all_gather_kernel<8>";
        assert!(default.is_communication(name) && default.is_guess(name));
        assert_eq!(default.collective(name), Some("allgather"));
        let named = default.with_pattern("my_all_gather");
        assert!(named.is_communication(name) && !named.is_guess(name));
        for within in [
            "warp_all_reduce_kernel",
            "BlockAllReduceSum",
            "triton_poi_fused_all_gather_into_tensor_0",
            "void at::native::split_with_sizes_copy_out_contiguous_no_cast_kernel<all_gather>",
        ] {
            assert!(!named.is_communication(within), "{within}");
        }
    }

    #[test]
    fn custom_collectives_name_their_collective() {
        let default = CommunicationPatterns::default();
        assert_eq!(default.collective("vllm::Cross_Device_Reduce_2stage<bf16>"), Some("allreduce"));
        assert_eq!(default.collective("ncclDevKernel_AllReduce"), None);
        assert_eq!(default.collective("gemm"), None);

        let replaced =
            CommunicationPatterns::libraries_only().with_collective("all_gather_lastdim", "allgather");
        assert!(!replaced.is_communication("cross_device_reduce_1stage"));
        assert!(replaced.is_communication("ncclKernel"));
        assert_eq!(replaced.collective("nccl_ALL_gather_lastdim"), Some("allgather"));
    }

    #[test]
    fn an_empty_pattern_is_ignored() {
        assert!(!CommunicationPatterns::default().with_pattern("").is_communication("gemm"));
    }
}
