//! In which arithmetic a kernel multiplies FP32 matrices.

use super::has;
use crate::{ComputeSpec, ComputeUnit, Precision};

/// The arithmetic in which a kernel for FP32 matrices multiplies, as far as its name says: `matrix_tf32`, or
/// `vector_fp32` for kernels of NVIDIA's libraries that leave the tensor cores alone, as their names (SGEMM, SIMT,
/// GEMV) say. Whether TF32 may be used is a setting of the program, which recorders do not write down.
#[must_use]
pub fn fp32_matrix_spec(kernel: &str) -> Option<ComputeSpec> {
    // CUTLASS: FP32 operands and the tensor cores' instruction of 16×8×8 are TF32.
    const TF32: [&str; 3] = ["tf32", "xf32", "tensorop_s1688"];
    const WITHOUT_MATRIX_UNITS: [&str; 5] = ["sgemm", "scudnn", "_simt_", "f32f32_f32f32_f32", "gemv"];
    let lower = kernel.to_ascii_lowercase();
    if has(&lower, &TF32) {
        return Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: Precision::Tf32 });
    }
    has(&lower, &WITHOUT_MATRIX_UNITS)
        .then_some(ComputeSpec { unit: ComputeUnit::Vector, precision: Precision::Fp32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_tf32_from_full_fp32() {
        let cases = [
            ("ampere_sgemm_32x32_sliced1x4_tn", "vector_fp32"),
            ("volta_sgemm_128x32_nt", "vector_fp32"),
            ("volta_scudnn_128x64_relu_interior_nn_v1", "vector_fp32"),
            (
                "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, true, true>(int)",
                "vector_fp32",
            ),
            (
                "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(cutlass_80_simt_sgemm_128x32_8x5_nn_align1::Params)",
                "vector_fp32",
            ),
            (
                "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>",
                "vector_fp32",
            ),
            ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3", "vector_fp32"),
            ("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32", "matrix_tf32"),
            ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>", "matrix_tf32"),
            (
                "void xmma_new::gemm::kernel<xmma_new::Ampere_hmma_tf32_traits<unsigned int, float>>",
                "matrix_tf32",
            ),
            ("Cijk_Ailk_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT16x16x128_MI16x16x1", ""),
            ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTN", ""),
            ("", ""),
        ];
        for (kernel, expected) in cases {
            let found = fp32_matrix_spec(kernel).map_or(String::new(), |spec| spec.to_string());
            assert_eq!(found, expected, "{kernel}");
        }
    }
}
