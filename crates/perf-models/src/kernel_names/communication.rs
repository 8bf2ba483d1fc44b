//! Names of kernels that communicate, and of those that the ROCm runtime copies and fills memory with.

use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::AhoCorasick;

use super::{COLLECTIVE_LIBRARIES, CUSTOM_ALL_REDUCE, has};

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
    patterns: Vec<Pattern>,
    /// Words for collectives decide where no pattern does.
    guesses: bool,
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

/// Parts of the names of kernels that libraries communicate with, and the collective that a part says.
const LIBRARIES: [(&str, Option<&str>); 25] = [
    // NCCL and RCCL: ncclDevKernel_AllReduce_…, rcclGenericKernel.
    ("nccl", None),
    ("rccl", None),
    // The libraries of other devices, and what Ascend calls its operations: hccl::all_reduce, xccl::allreduce,
    // hcom_allReduce__….
    ("hccl", None),
    ("xccl", None),
    ("hcom_", None),
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
    // DeepEP: dispatch and combine of experts.
    ("deep_ep", None),
    // Microsoft's MSCCL++.
    ("mscclpp", None),
    ("msccl", None),
    // AMD's MORI: dispatch and combine of experts.
    ("mori::", None),
];

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
        static DEFAULT: LazyLock<CommunicationPatterns> = LazyLock::new(|| {
            let none = CommunicationPatterns { patterns: Vec::new(), guesses: true, any: AnyWord::default() };
            let libraries = LIBRARIES.iter();
            libraries.fold(none, |all, &(text, collective)| all.with(text, collective.map(str::to_owned)))
        });
        DEFAULT.clone()
    }
}

impl CommunicationPatterns {
    /// Only the collective libraries: `nccl` and `rccl`. The start of a list that replaces the
    /// default custom collectives.
    #[must_use]
    pub fn libraries_only() -> Self {
        let none = Self { patterns: Vec::new(), guesses: false, any: AnyWord::default() };
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
        if !self.has_any_word(name) {
            return false;
        }
        let lower = name.to_ascii_lowercase();
        self.known(&lower).next().is_some() || self.guess(&lower).is_some()
    }

    /// Whether a name has any pattern or word for a collective.
    fn has_any_word(&self, name: &str) -> bool {
        let any = self.any.0.get_or_init(|| {
            let patterns = self.patterns.iter().map(|pattern| pattern.text.as_str());
            let words = patterns.chain(COLLECTIVES.iter().map(|&(word, _)| word));
            AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()
        });
        any.as_ref().is_none_or(|any| any.is_match(name))
    }

    /// Whether a kernel of this name is taken for communication for a word in it alone, such as `all_gather`; no
    /// pattern knows it.
    #[must_use]
    pub fn is_guess(&self, name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        self.known(&lower).next().is_none() && self.guess(&lower).is_some()
    }

    /// The collective that a kernel of this name implements, by the first pattern that matches and
    /// says so, or by a word for it; `None` for the kernels of collective libraries, whose traces name it elsewhere.
    #[must_use]
    pub fn collective(&self, name: &str) -> Option<&str> {
        let lower = name.to_ascii_lowercase();
        let mut known = self.known(&lower).peekable();
        if known.peek().is_none() {
            return self.guess(&lower);
        }
        known.find_map(|pattern| pattern.collective.as_deref())
    }

    /// The patterns that a name in lower case has.
    fn known<'a>(&'a self, lower: &str) -> impl Iterator<Item = &'a Pattern> {
        self.patterns.iter().filter(move |pattern| lower.contains(&pattern.text))
    }

    /// What a word in a name in lower case says.
    fn guess(&self, lower: &str) -> Option<&'static str> {
        let word = || COLLECTIVES.iter().find(|(word, _)| lower.contains(word));
        let (_, collective) = self.guesses.then(word)??;
        (!has(lower, &WITHIN_A_DEVICE)).then_some(*collective)
    }
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
