/// What a profiler says an event on the device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceEventKind {
    /// A kernel (Kineto category `kernel`).
    Kernel,
    /// A memory copy (Kineto category `gpu_memcpy`).
    Memcpy,
    /// A memory fill (Kineto category `gpu_memset`).
    Memset,
}

/// What the device is doing during an event, as a [`Breakdown`](crate::Breakdown) counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// Kernels that are no collectives, and memory fills.
    Computation,
    /// Collectives: exchange with other devices.
    Communication,
    /// Copies between host and device or within a device.
    Memcpy,
}

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
/// use gpu_timeline::{Activity, CommunicationPatterns, DeviceEventKind};
///
/// let patterns = CommunicationPatterns::default().with_collective("multimem_all_reduce", "allreduce");
/// let name = "multimem_all_reduce_kernel<bf16>";
/// assert_eq!(patterns.classify(DeviceEventKind::Kernel, name), Activity::Communication);
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
        Self::libraries_only().with_collective("cross_device_reduce", "allreduce")
    }
}

impl CommunicationPatterns {
    /// Only the collective libraries: `nccl` and `rccl`. The start of a list that replaces the
    /// default custom collectives.
    #[must_use]
    pub fn libraries_only() -> Self {
        Self { patterns: Vec::new() }.with_pattern("rccl").with_pattern("nccl")
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

    /// What the device is doing during an event of this kind and name.
    ///
    /// First match: a recorded copy is a copy whatever its name; a *kernel* that older ROCm releases
    /// used for copying is a copy, one for filling is computation; then communication by name; then
    /// computation.
    #[must_use]
    pub fn classify(&self, kind: DeviceEventKind, name: &str) -> Activity {
        match kind {
            DeviceEventKind::Memcpy => Activity::Memcpy,
            DeviceEventKind::Kernel if is_rocm_copy_kernel(name) => Activity::Memcpy,
            DeviceEventKind::Kernel if is_rocm_fill_kernel(name) => Activity::Computation,
            _ if self.is_communication(name) => Activity::Communication,
            _ => Activity::Computation,
        }
    }
}

/// Copies that older ROCm profilers recorded as kernels: the runtime's blit kernels and the
/// names of DMA copies, with or without the suffix of a kernel descriptor (`.kd`).
fn is_rocm_copy_kernel(name: &str) -> bool {
    let name = without_descriptor_suffix(name);
    if let Some(direction) = name.strip_prefix("MEMORY_COPY_") {
        return matches!(direction, "HOST_TO_DEVICE" | "DEVICE_TO_HOST" | "DEVICE_TO_DEVICE");
    }
    name.strip_prefix("__amd_rocclr_copyBuffer")
        .is_some_and(|variant| matches!(variant, "" | "Rect" | "Aligned" | "RectAligned"))
}

/// Fills that older ROCm profilers recorded as kernels.
fn is_rocm_fill_kernel(name: &str) -> bool {
    matches!(without_descriptor_suffix(name), "__amd_rocclr_fillBuffer" | "__amd_rocclr_fillBufferAligned")
}

fn without_descriptor_suffix(name: &str) -> &str {
    name.strip_suffix(".kd").unwrap_or(name)
}

/// `needle` is not empty.
fn contains_ignoring_case(haystack: &str, needle: &str) -> bool {
    haystack.as_bytes().windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::Activity::{Communication, Computation, Memcpy};
    use super::*;

    #[test]
    fn events_are_classified_by_kind_then_name() {
        use DeviceEventKind as Kind;
        let cases = [
            (Kind::Kernel, "ncclDevKernel_AllReduce", Communication),
            (Kind::Kernel, "void rcclGenericKernel<1>", Communication),
            (Kind::Kernel, "Cross_Device_Reduce_1stage", Communication),
            (Kind::Kernel, "my_nccl_thing", Communication),
            (Kind::Kernel, "NCCL", Communication),
            (Kind::Memset, "ncclMemset", Communication),
            (Kind::Kernel, "MEMORY_COPY_HOST_TO_DEVICE", Memcpy),
            (Kind::Kernel, "MEMORY_COPY_HOST_TO_DEVICE.kd", Memcpy),
            (Kind::Kernel, "MEMORY_COPY_DEVICE_TO_HOST", Memcpy),
            (Kind::Kernel, "MEMORY_COPY_DEVICE_TO_DEVICE.kd", Memcpy),
            (Kind::Kernel, "__amd_rocclr_copyBuffer", Memcpy),
            (Kind::Kernel, "__amd_rocclr_copyBuffer.kd", Memcpy),
            (Kind::Kernel, "__amd_rocclr_copyBufferRect", Memcpy),
            (Kind::Kernel, "__amd_rocclr_copyBufferAligned", Memcpy),
            (Kind::Kernel, "__amd_rocclr_copyBufferRectAligned.kd", Memcpy),
            (Kind::Kernel, "MEMORY_COPY_PEER", Computation),
            (Kind::Kernel, "memory_copy_host_to_device", Computation),
            (Kind::Kernel, "__amd_rocclr_copyBufferAlignedRect", Computation),
            (Kind::Kernel, "__amd_rocclr_copyBuffer.kd.kd", Computation),
            (Kind::Kernel, "prefix __amd_rocclr_copyBuffer", Computation),
            (Kind::Kernel, "__amd_rocclr_fillBuffer", Computation),
            (Kind::Kernel, "__amd_rocclr_fillBufferAligned.kd", Computation),
            (Kind::Kernel, "__amd_rocclr_fillBufferAligned2", Computation),
            (Kind::Memset, "__amd_rocclr_copyBuffer", Computation),
            (Kind::Memset, "Memset (Device)", Computation),
            (Kind::Memcpy, "nccl", Memcpy),
            (Kind::Memcpy, "", Memcpy),
            (Kind::Kernel, "", Computation),
            (Kind::Kernel, "nc", Computation),
            (Kind::Kernel, "triton_per_fused__to_copy_sum_2.kd", Computation),
            (Kind::Kernel, "void at::native::split_with_sizes_copy_out_contiguous", Computation),
            (Kind::Kernel, "MyCustomCopyKernel", Computation),
            (Kind::Kernel, "memcpy_my_thing", Computation),
        ];
        let patterns = CommunicationPatterns::default();
        for (kind, name, expected) in cases {
            assert_eq!(patterns.classify(kind, name), expected, "{kind:?} {name:?}");
        }
    }

    #[test]
    fn added_patterns_widen_communication_but_not_the_rocm_copies() {
        let name = "void quickreduce::Quick_Reduce_twoshot";
        let default = CommunicationPatterns::default();
        assert!(!default.is_communication(name));
        let widened = default.with_pattern("quick_reduce").with_pattern("ROCCLR");
        assert!(widened.is_communication(name));
        assert_eq!(widened.classify(DeviceEventKind::Kernel, "__amd_rocclr_copyBuffer"), Memcpy);
        assert_eq!(widened.classify(DeviceEventKind::Kernel, "__amd_rocclr_fillBuffer"), Computation);
        assert_eq!(widened.classify(DeviceEventKind::Kernel, "__amd_rocclr_other"), Communication);
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
