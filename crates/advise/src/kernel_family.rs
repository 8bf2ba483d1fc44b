//! What names of kernels say about who wrote them and what they do to layouts.

/// The library that a kernel comes from; the first text in the name decides. Sources: the name tables of the libraries'
/// own repositories.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("Triton", &["triton_"]),
    ("AITER", &["aiter"]),
    ("Composable Kernel", &["ck_tile", "_ZN2ck", "ck::", "FmhaFwd", "FmhaBwd"]),
    ("Tensile", &["Cijk_"]),
    ("rocBLAS", &["wvSplitK", "splitKreduce", "rocblas"]),
    ("rocPRIM", &["rocprim"]),
    ("MIOpen", &["miopen", "MIOpen", "igemm_", "batched_transpose"]),
    ("CUTLASS", &["cutlass"]),
    ("cuDNN", &["cudnn", "nchwToNhwc", "nhwcToNchw"]),
    (
        "cuBLAS",
        &["nvjet", "cublas", "gemvx", "gemv2", "sm80_xmma", "sm90_xmma", "ampere_", "volta_", "turing_"],
    ),
    ("NCCL", &["nccl", "rccl"]),
    ("PyTorch", &["at::native", "at_cuda_detail"]),
];

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The library that a kernel comes from.
    pub(crate) library: Option<&'static str>,
    /// Whether it only brings data into another order.
    pub(crate) changes_layout: bool,
    /// Whether a compiler made it, which has fused what it could.
    pub(crate) is_generated: bool,
    /// Whether it is a softmax.
    pub(crate) is_softmax: bool,
}

impl Named {
    pub(crate) fn new(name: &str) -> Self {
        Named {
            library: library(name),
            changes_layout: changes_layout(name),
            is_generated: name.starts_with("triton_"),
            is_softmax: name.contains("softmax"),
        }
    }
}

/// The library that a kernel comes from, as far as its name tells.
fn library(kernel: &str) -> Option<&'static str> {
    LIBRARIES.iter().find(|(_, texts)| texts.iter().any(|text| kernel.contains(text))).map(|&(name, _)| name)
}

/// Whether a kernel only brings data into another order.
fn changes_layout(kernel: &str) -> bool {
    const TEXTS: [&str; 8] = [
        "batched_transpose",
        "nchwToNhwc",
        "nhwcToNchw",
        "nchw2nhwc",
        "nhwc2nchw",
        "transpose_nchw",
        "transpose_readWrite",
        "permute",
    ];
    TEXTS.iter().any(|text| kernel.contains(text))
}
