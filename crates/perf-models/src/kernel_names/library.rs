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

/// The library that a kernel comes from, as far as its name tells.
///
/// ```
/// use perf_models::kernel_library;
///
/// assert_eq!(kernel_library("Cijk_Ailk_Bljk_BBS_BH_MT128x128x32"), Some("Tensile"));
/// assert_eq!(kernel_library("nvjet_tst_128x64_64x8_1x2_h_bz_TNT"), Some("cuBLAS"));
/// assert_eq!(kernel_library("my_kernel"), None);
/// ```
#[must_use]
pub fn kernel_library(kernel: &str) -> Option<&'static str> {
    LIBRARIES.iter().find(|(_, texts)| has(kernel, texts)).map(|&(library, _)| library)
}

/// Whether a kernel only brings data into another order.
///
/// ```
/// use perf_models::changes_layout;
///
/// assert!(changes_layout("void cudnn::ops::nchwToNhwcKernel<__half, __half, float>"));
/// assert!(!changes_layout("nvjet_tst_128x64_64x8_1x2_h_bz_TNT"));
/// ```
#[must_use]
pub fn changes_layout(kernel: &str) -> bool {
    has(kernel, &LAYOUT_CHANGES)
}
