//! In which arithmetic a kernel multiplies FP32 matrices.

use super::has;
use crate::{ComputeSpec, ComputeUnit, Precision};

/// The arithmetic in which a kernel for FP32 matrices multiplies, as far as its name says: `matrix_tf32`; that of 16-bit
/// numbers, where the operator is recorded with the FP32 tensors that autocast converts inside it; or `vector_fp32` for kernels
/// of NVIDIA's libraries that leave the tensor cores alone, as their names (SGEMM, SIMT, GEMV) say. Whether TF32 may be used
/// is a setting of the program, which recorders do not write down.
#[must_use]
pub fn fp32_matrix_spec(kernel: &str) -> Option<ComputeSpec> {
    // CUTLASS: FP32 operands and the tensor cores' instruction of 16×8×8 are TF32.
    const TF32: [&str; 3] = ["tf32", "xf32", "tensorop_s1688"];
    const WITHOUT_MATRIX_UNITS: [&str; 5] = ["sgemm", "scudnn", "_simt_", "f32f32_f32f32_f32", "gemv"];
    let lower = kernel.to_ascii_lowercase();
    if let Some(precision) = half_precision(&lower) {
        let unit = if has(&lower, &["gemv"]) { ComputeUnit::Vector } else { ComputeUnit::Matrix };
        return Some(ComputeSpec { unit, precision });
    }
    if has(&lower, &TF32) {
        return Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: Precision::Tf32 });
    }
    has(&lower, &WITHOUT_MATRIX_UNITS)
        .then_some(ComputeSpec { unit: ComputeUnit::Vector, precision: Precision::Fp32 })
}

/// The 16-bit type of a kernel's operands, as its name says: a part such as `fp16` (cuBLAS, MIOpen, CUTLASS), `f16f16` (xmma),
/// `h16816gemm` (an instruction for halves), `nvjet_hsh` or, behind Tensile's indices, `HHS`; or a template's first type.
fn half_precision(lower: &str) -> Option<Precision> {
    let parts = || lower.split(|c: char| !c.is_ascii_alphanumeric());
    let part_precision = |part: &str| match part {
        "fp16" | "f16" | "f16f16" => Some(Precision::Fp16),
        "bf16" | "bf16bf16" => Some(Precision::Bf16),
        _ => {
            let instruction = part
                .strip_prefix('h')
                .is_some_and(|rest| ["884", "1688", "16816"].iter().any(|extents| rest.starts_with(extents)));
            instruction.then_some(Precision::Fp16)
        }
    };
    // The type of the first operand comes first.
    let letter_precision = |part: &str| match part.as_bytes().first()? {
        b'h' => Some(Precision::Fp16),
        b't' | b'b' => Some(Precision::Bf16),
        _ => None,
    };
    let part_behind = |name: &str| parts().skip_while(move |part| *part != name).nth(1);
    let nvjet_precision = || part_behind("nvjet").filter(|part| part.len() == 3).and_then(letter_precision);
    let tensile_precision = || {
        let types = lower.strip_prefix("cijk_")?.split('_').nth(2)?;
        matches!(types, "hhs" | "hss" | "hb" | "hbh" | "bbs" | "bss" | "bbh")
            .then(|| letter_precision(types))?
    };
    let template_precision = || {
        let types = [("__half", Precision::Fp16), ("__nv_bfloat16", Precision::Bf16)];
        let is_product = has(lower, &["gemv", "gemm"]);
        types.into_iter().find(|(name, _)| is_product && lower.contains(name)).map(|(_, precision)| precision)
    };
    nvjet_precision()
        .or_else(tensile_precision)
        .or_else(|| parts().find_map(part_precision))
        .or_else(template_precision)
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
            ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTN", "matrix_bf16"),
            ("nvjet_hsh_64x8_64x16_1x2_v_bz_TNT", "matrix_fp16"),
            ("nvjet_sss_64x8_64x16_1x2_v_bz_TNT", ""),
            ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn", "matrix_fp16"),
            ("turing_fp16_s1688gemm_fp16_256x64_ldg8_f2f_tn", "matrix_fp16"),
            (
                "void cutlass::Kernel<cutlass_75_tensorop_s1688gemm_f16_128x128_nn_align8>(Params)",
                "matrix_fp16",
            ),
            (
                "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_32x6_nn_align8>",
                "matrix_bf16",
            ),
            ("volta_h884gemm_128x64_ldg8_nn", "matrix_fp16"),
            (
                "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x64",
                "matrix_fp16",
            ),
            ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "matrix_bf16"),
            ("miopenSp3AsmConv_v30_3_1_gfx9_fp16_dot2_edc_f3x2_stride1", "matrix_fp16"),
            ("Cijk_Ailk_Bljk_HHS_BH_Bias_HA_S_SAV_MT64x64x32_MI16x16x1", "matrix_fp16"),
            ("Cijk_Alik_Bljk_BBS_BH_MT64x16x64_MI16x16x1", "matrix_bf16"),
            (
                "void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false>",
                "vector_fp16",
            ),
            ("", ""),
        ];
        for (kernel, expected) in cases {
            let found = fp32_matrix_spec(kernel).map_or(String::new(), |spec| spec.to_string());
            assert_eq!(found, expected, "{kernel}");
        }
    }
}
