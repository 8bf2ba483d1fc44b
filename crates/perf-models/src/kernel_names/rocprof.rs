//! What TraceLens takes the kernels of rocprofv3 profiles for, for comparison with its reports.

use super::{CUSTOM_ALL_REDUCE, Rule, first_rule, label};

/// TraceLens's parts of names in the order in which they are tried: communication last, and no exceptions.
const TRACELENS_RULES: [Rule<&str>; 8] = [
    ("GEMM", "", &["gemm", "matmul", "cijk"]),
    ("Elementwise", "", &["elementwise"]),
    ("Reduction", "", &["reduce", "sum"]),
    ("Convolution", "", &["conv"]),
    ("Normalization", "", &["norm"]),
    ("Attention", "", &["flash", "attn", "fmha"]),
    ("Memory", "", &["copy", "memcpy"]),
    ("COMM", "", &["rccl", "nccl", CUSTOM_ALL_REDUCE]),
];

/// The category that TraceLens gives a kernel of this name.
#[must_use]
pub fn tracelens_rocprof_category(name: &str) -> &'static str {
    first_rule(&TRACELENS_RULES, &name.to_lowercase()).unwrap_or("Other")
}

/// Kind of a kernel in the tables of Perfetto traces, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PftraceKernel {
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
const PFTRACE_RULES: [Rule<PftraceKernel>; 9] = [
    (PftraceKernel::Rccl, "rccl", &["rccl", "nccl", CUSTOM_ALL_REDUCE]),
    (PftraceKernel::Gemm, "gemm", &["cublaslt", "cijk", "gemm", "nvjet"]),
    (PftraceKernel::AttentionBackward, "ckbwd", &["fmhabwd", "kernel_func", "flash_bprop"]),
    (PftraceKernel::AttentionForward, "ckfwd", &["fmhafwd", "flash_fprop"]),
    (PftraceKernel::Copy, "memcpy/memset", &["copy", "memcpy", "memset"]),
    (PftraceKernel::TransformerEngine, "te", &["transformer_engine"]),
    (PftraceKernel::AiterForward, "aiterfwd", &["aiter::fmha_fwd"]),
    (PftraceKernel::AiterBackward, "aiterbwd", &["aiter::fmha_bwd"]),
    (PftraceKernel::FillBuffer, "fillBuffer", &["fillbuffer"]),
];

impl PftraceKernel {
    /// Kind of a kernel; letters compare without regard to case.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        first_rule(&PFTRACE_RULES, &name.to_ascii_lowercase()).unwrap_or(Self::Xla)
    }

    /// Label of its row.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        label(&PFTRACE_RULES, self).unwrap_or("xla")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_tracelens_follow_any_part_of_the_name() {
        for (name, expected) in [
            ("Cijk_gemm", "GEMM"),
            ("vectorized_elementwise_kernel", "Elementwise"),
            ("conv2d_fwd", "Convolution"),
            ("layer_norm_kernel", "Normalization"),
            ("flash_attn_fwd", "Attention"),
            ("MemcpyDtoD", "Memory"),
            ("ncclBroadcast", "COMM"),
            ("", "Other"),
            ("ncclKernel_AllReduce_RING_LL_Sum_float", "Reduction"),
            ("cross_device_reduce_1stage", "Reduction"),
            ("allgather_lastdim", "Other"),
            ("wrapped_convert", "Convolution"),
            ("__amd_rocclr_fillBufferAligned.kd", "Other"),
            ("FlashAttnNorm", "Normalization"),
            ("paged_attention_ll4mi_reduce_kernel", "Reduction"),
            ("normal_kernel", "Normalization"),
            ("nvjet_hsh_128x256", "Other"),
            ("consumer_loop", "Reduction"),
        ] {
            assert_eq!(tracelens_rocprof_category(name), expected, "{name}");
        }
    }

    #[test]
    fn names_decide_the_kind_in_tables_of_perfetto_traces() {
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
            assert_eq!(PftraceKernel::from_name(name).as_str(), label, "{name}");
        }
    }

    #[test]
    fn a_collective_of_a_sum_is_a_collective() {
        assert_eq!(PftraceKernel::from_name("ncclDevKernel_AllReduce_Sum_f32_copy"), PftraceKernel::Rccl);
    }
}
