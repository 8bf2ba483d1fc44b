//! Who wrote a kernel, and whether it only changes the layout of data: by texts that names of such kernels have in
//! recordings of NVIDIA and AMD devices.

use super::has;

/// Libraries with the texts of their kernels' names. The first text found decides: generated kernels and those of
/// libraries that build on others come before what they are built on.
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

/// Texts in names of kernels that bring data into another order and compute nothing.
const LAYOUT_CHANGES: [&str; 8] = [
    "batched_transpose",
    "nchwToNhwc",
    "nhwcToNchw",
    "nchw2nhwc",
    "nhwc2nchw",
    "transpose_nchw",
    "transpose_readWrite",
    "permute",
];

/// What the name of a kernel or an operator says of who wrote it and what it is for.
///
/// ```
/// use perf_models::KernelWords;
///
/// let words = KernelWords::from_name("Cijk_Ailk_Bljk_BBS_BH_MT128x128x32");
/// assert_eq!((words.library, words.changes_layout), (Some("Tensile"), false));
/// assert!(KernelWords::from_name("void cudnn::ops::nchwToNhwcKernel<__half, __half, float>").changes_layout);
/// assert_eq!(KernelWords::from_name("nvjet_tst_128x64_64x8_1x2_h_bz_TNT").library, Some("cuBLAS"));
/// assert_eq!(KernelWords::from_name("my_kernel").library, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelWords {
    /// The library that a kernel comes from.
    pub library: Option<&'static str>,
    /// Whether it only brings data into another order.
    pub changes_layout: bool,
    /// Whether a compiler made it, which has fused what it could.
    pub is_generated: bool,
    /// Whether it is a softmax.
    pub is_softmax: bool,
}

impl KernelWords {
    /// What a name says.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        KernelWords {
            library: LIBRARIES.iter().find(|(_, texts)| has(name, texts)).map(|&(library, _)| library),
            changes_layout: has(name, &LAYOUT_CHANGES),
            is_generated: name.starts_with("triton_"),
            is_softmax: name.contains("softmax"),
        }
    }
}
