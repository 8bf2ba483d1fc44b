//! Kinds of kernel that the tables of Perfetto traces tell apart.

/// Kind of kernel, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum KernelClass {
    /// Collectives.
    Rccl,
    /// Matrix products of a library.
    Gemm,
    /// Backward attention of Composable Kernel, cuDNN or the third generation of AMD's assembly.
    AttentionBackward,
    /// Forward attention of Composable Kernel or cuDNN.
    AttentionForward,
    /// Copies and fills that run as kernels.
    Copy,
    /// Helpers of Transformer Engine.
    TransformerEngine,
    /// Forward attention of AITER.
    AiterForward,
    /// Backward attention of AITER.
    AiterBackward,
    /// Fills of the runtime.
    FillBuffer,
    /// All others, most of them fusions of XLA.
    Xla,
}

/// Texts of each class in lower case; the first class with a text in the name counts. Fills stand behind copies and
/// AITER behind the other attention kernels, so a name with both texts belongs to the earlier one.
const TEXTS: [(KernelClass, &[&str]); 9] = [
    (KernelClass::Rccl, &["rccl", "nccl", "cross_device_reduce"]),
    (KernelClass::Gemm, &["cublaslt", "cijk", "gemm", "nvjet"]),
    (KernelClass::AttentionBackward, &["fmhabwd", "kernel_func", "flash_bprop"]),
    (KernelClass::AttentionForward, &["fmhafwd", "flash_fprop"]),
    (KernelClass::Copy, &["copy", "memcpy", "memset"]),
    (KernelClass::TransformerEngine, &["transformer_engine"]),
    (KernelClass::AiterForward, &["aiter::fmha_fwd"]),
    (KernelClass::AiterBackward, &["aiter::fmha_bwd"]),
    (KernelClass::FillBuffer, &["fillbuffer"]),
];

impl KernelClass {
    /// Class of a kernel; letters compare without regard to case.
    pub(super) fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let has = |texts: &[&str]| texts.iter().any(|text| name.contains(text));
        TEXTS.iter().find(|(_, texts)| has(texts)).map_or(KernelClass::Xla, |&(class, _)| class)
    }

    /// Label of its row.
    pub(super) fn label(self) -> &'static str {
        match self {
            KernelClass::Rccl => "rccl",
            KernelClass::Gemm => "gemm",
            KernelClass::AttentionBackward => "ckbwd",
            KernelClass::AttentionForward => "ckfwd",
            KernelClass::Copy => "memcpy/memset",
            KernelClass::TransformerEngine => "te",
            KernelClass::AiterForward => "aiterfwd",
            KernelClass::AiterBackward => "aiterbwd",
            KernelClass::FillBuffer => "fillBuffer",
            KernelClass::Xla => "xla",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KernelClass;

    #[test]
    fn names_decide_the_class() {
        for (name, label) in [
            ("ncclRing", "rccl"),
            ("void vllm::cross_device_reduce_1stage<8>", "rccl"),
            ("Cijk_AB", "gemm"),
            ("nvjet_tst_128x8", "gemm"),
            ("FmhaBwd_kernel_func", "ckbwd"),
            ("kernel_func_bwd", "ckbwd"),
            ("FmhaFwd_x", "ckfwd"),
            ("memcpyDtoH", "memcpy/memset"),
            ("__amd_rocclr_copyBuffer.kd", "memcpy/memset"),
            ("transformer_engine::copy_kernel", "memcpy/memset"),
            ("transformer_engine_linear", "te"),
            ("aiter::fmha_fwd_x", "aiterfwd"),
            ("aiter::fmha_bwd_x", "aiterbwd"),
            ("fillBuffer_x", "fillBuffer"),
            ("__amd_rocclr_fillBufferAligned.kd", "fillBuffer"),
            ("xla_fusion", "xla"),
            ("attn_fwd.kd", "xla"),
            ("", "xla"),
        ] {
            assert_eq!(KernelClass::of(name).label(), label, "{name}");
        }
    }

    #[test]
    fn a_collective_of_a_sum_is_a_collective() {
        assert_eq!(KernelClass::of("ncclDevKernel_AllReduce_Sum_f32_copy"), KernelClass::Rccl);
    }
}
