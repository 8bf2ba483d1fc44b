//! Names of kernels that communicate, and of those that the ROCm runtime copies and fills memory with.

use super::{COLLECTIVE_LIBRARIES, CUSTOM_ALL_REDUCE, contains_ignoring_case};

/// Names of the kernels that communicate with other devices.
///
/// A kernel communicates when its name contains a pattern; ASCII letters compare without regard to
/// case. The default patterns are those of the collective libraries NCCL and RCCL (`nccl`, `rccl`)
/// and of the custom all-reduce kernel of inference engines (`cross_device_reduce`). Kernels of
/// other libraries (`quick_reduce`, `multimem_all_reduce`, `nvshmem`, ...) count as computation
/// unless patterns for them are added.
///
/// A search runs over the whole name: callers that meet the same name many times should keep the
/// answer per distinct name.
///
/// ```
/// use perf_models::CommunicationPatterns;
///
/// let patterns = CommunicationPatterns::default().with_collective("multimem_all_reduce", "allreduce");
/// let name = "multimem_all_reduce_kernel<bf16>";
/// assert!(patterns.is_communication(name));
/// assert_eq!(patterns.collective(name), Some("allreduce"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicationPatterns {
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    text: String,
    collective: Option<String>,
}

impl Default for CommunicationPatterns {
    fn default() -> Self {
        Self::libraries_only().with_collective(CUSTOM_ALL_REDUCE, "allreduce")
    }
}

impl CommunicationPatterns {
    /// Only the collective libraries: `nccl` and `rccl`. The start of a list that replaces the
    /// default custom collectives.
    #[must_use]
    pub fn libraries_only() -> Self {
        let none = Self { patterns: Vec::new() };
        COLLECTIVE_LIBRARIES.iter().fold(none, |all, library| all.with_pattern(library))
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
            self.patterns.push(Pattern { text: pattern.to_owned(), collective });
        }
        self
    }

    /// Whether a kernel of this name communicates with other devices.
    #[must_use]
    pub fn is_communication(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| contains_ignoring_case(name, &pattern.text))
    }

    /// The collective that a kernel of this name implements, by the first pattern that matches and
    /// says so; `None` for the kernels of collective libraries, whose traces name it elsewhere.
    #[must_use]
    pub fn collective(&self, name: &str) -> Option<&str> {
        self.patterns
            .iter()
            .filter(|pattern| contains_ignoring_case(name, &pattern.text))
            .find_map(|pattern| pattern.collective.as_deref())
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
    fn added_patterns_widen_communication() {
        let name = "void quickreduce::Quick_Reduce_twoshot";
        let default = CommunicationPatterns::default();
        assert!(!default.is_communication(name));
        assert!(default.with_pattern("quick_reduce").is_communication(name));
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
