//! Worked examples of matrix multiplication, convolution, normalization, element-wise operators,
//! reductions, state-space models and cross-entropy, and what holds for all of their models.

use perf_models::{Gap, OpCall, PerfModel, Value, model};

use crate::call::{Call, figures, spec};

/// Name, shapes, types, values of scalars, FLOPs, bytes, compute spec.
pub(crate) type Example =
    (&'static str, &'static str, &'static str, &'static [(usize, &'static str)], f64, f64, &'static str);

const BATCHED_A8W8: &str = "sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant";

/// Settings of a two-dimensional convolution: stride, padding, groups.
macro_rules! settings {
    ($first:literal, $stride:literal, $padding:literal, $transposed:literal, $groups:literal) => {
        &[
            ($first, $stride),
            ($first + 1, $padding),
            ($first + 2, "[1, 1]"),
            ($first + 3, $transposed),
            ($first + 4, "[0, 0]"),
            ($first + 5, $groups),
        ]
    };
}

#[rustfmt::skip]
const EXAMPLES: &[Example] = &[
    ("aten::mm", "8944,1024 1024,1024", "bf16", &[], 18_756_927_488.0, 38_731_776.0, "matrix_bf16"),
    ("aten::mm", "16,32 32,8", "float bf16", &[], 8192.0, 3584.0, "matrix_fp32"),
    ("aten::addmm", "640 888,2880 2880,640", "bf16", &[], 3_274_091_520.0, 9_939_200.0, "matrix_bf16"),
    ("aten::bmm", "16,5185,64 16,64,5185", "bf16", &[], 55_058_892_800.0, 881_532_960.0, "matrix_bf16"),
    ("aten::baddbmm", "4,128,64 4,128,32 4,32,64", "bf16", &[], 2_129_920.0, 115_200.0, "matrix_bf16"),
    // Scaled operands: eight inputs without bias, with one, and the order of PyTorch before 2.5.
    ("aten::_scaled_mm", "4096,8192 8192,1024 - - - - - -", "fp8 fp8 float float none none Scalar", &[(6, "15")], 68_719_476_736.0, 50_331_648.0, "matrix_fp8"),
    ("aten::_scaled_mm", "16,32 32,8 - - 8 - - -", "fp8 fp8 float float bf16 none Scalar", &[(6, "6")], 8320.0, 512.0 + 256.0 + 8.0 + 4.0 * 128.0, "matrix_fp8"),
    ("aten::_scaled_mm", "16,32 32,8 - - - - - -", "fp8 fp8 float float none none none Scalar", &[], 8192.0, 512.0 + 256.0 + 128.0, "matrix_fp8"),
    ("aten::_scaled_mm", "16,32 32,8 8 - - - - -", "fp8 fp8 bf16 Scalar float", &[(3, "15")], 8320.0, 512.0 + 256.0 + 8.0 + 2.0 * 128.0, "matrix_fp8"),
    ("aten::_scaled_mm", "16,32 32,8 8", "e5m2", &[], 8320.0, 1032.0, "matrix_fp8"),
    ("trtllm::cublas_scaled_mm", "16,32 32,8 - - 8 -", "fp8 fp8 float float bf16 Scalar", &[(5, "15")], 8320.0, 1032.0, "matrix_fp8"),
    ("tex_ts::te_gemm_ts", "4096,1024 - - - - 2048,1024 - - - - 2048,4096 - - - - - - - -", "fp8 none none none none fp8 none none none none bf16 none none none none none none none bf16", &[(4, "1"), (9, "0")], 17_179_869_184.0, 23_068_672.0, "matrix_fp8"),
    ("_Linear_yfwd_mm", "8192,4096 4096,1024", "fp8", &[], 68_719_476_736.0, 54_525_952.0, "matrix_fp8"),
    ("vllm::gemm_with_dynamic_quant", "128,4096 1024,2048", "bf16 uint8", &[], 1_073_741_824.0, 9_699_328.0, "matrix_bf16"),
    ("primus_turbo::hipblaslt_gemm_fp8", "4096,2048 - 1024,2048 -", "fp8 float fp8 float", &[(5, "False"), (6, "True"), (7, "False")], 17_179_869_184.0, 18_874_368.0, "matrix_fp8"),
    ("primus_turbo::hipblaslt_gemm_fp8", "4096,2048 - 1024,2048 -", "fp8 float fp8 float", &[(5, "False"), (6, "True"), (7, "True")], 17_179_869_184.0, 18_874_368.0, "matrix_fp8"),
    ("primus_turbo_cpp_extension::hipblaslt_gemm_fp4", "4096,1024 4096,64 1024,1024 1024,64", "fp4 e8m0 fp4 e8m0", &[(6, "True")], 17_179_869_184.0, 13_959_168.0, "matrix_fp4"),
    ("aiter::gemm_a4w4", "4096,1024 1024,1024 4096,64 1024,64", "fp4 fp4 e8m0 e8m0", &[], 17_179_869_184.0, 13_959_168.0, "matrix_fp4"),
    // Inference engines.
    ("aiter::gemm_a8w8_blockscale_ck", "64,7168 1536,7168 64,56 12,56", "fp8 fp8 float", &[], 1_409_286_144.0, 11_665_408.0, "matrix_fp8"),
    ("aiter::gemm_a8w8_blockscale_ck", "128,7168 1536,7168 128,56 12,56", "fp8", &[], 2_818_572_288.0, 12_320_768.0, "matrix_fp8"),
    ("aiter::gemm_a8w8_ck", "128,256 512,256", "int8", &[], 33_554_432.0, 294_912.0, "matrix_int8"),
    ("vllm::rocm_unquantized_gemm", "32,2880 5120,2880 5120", "bf16", &[], 943_882_240.0, 30_013_440.0, "matrix_bf16"),
    ("vllm::rocm_unquantized_gemm", "4,8,2880 5120,2880 5120", "bf16", &[], 943_882_240.0, 30_013_440.0, "matrix_bf16"),
    ("aiter::gemm_a16w16", "32,4096 6144,4096 -", "bf16", &[], 1_610_612_736.0, 50_987_008.0, "matrix_bf16"),
    ("aiter::gemm_a16w16", "64,7168 256,7168 256", "bf16", &[], 234_897_408.0, 4_620_800.0, "matrix_bf16"),
    ("aiter::gemm_a16w16_atomic_", "64,7168 256,7168 - 64,256", "bf16 bf16 none float", &[], 234_881_024.0, 4_653_056.0, "matrix_bf16"),
    ("aiter::gemm_a16w16_atomic_", "128,256 512,256 - 128,512", "bf16 bf16 Scalar float", &[], 33_554_432.0, 589_824.0, "matrix_bf16"),
    ("aiter::gemm_afp4wfp4_", "64,3584 256,3584", "uint8", &[], 234_881_024.0, 1_179_648.0, "matrix_fp4"),
    ("aiter::gemm_afp4wfp4_", "64,128 256,128", "uint8", &[], 8_388_608.0, 73_728.0, "matrix_fp4"),
    ("aiter::batched_gemm_a16wfp4_", "16,64,512 16,128,256", "bf16 uint8", &[], 134_217_728.0, 1_835_008.0, "matrix_fp4"),
    ("aiter::batched_gemm_a16wfp4_", "2,4,128 2,256,64", "bf16 uint8", &[], 524_288.0, 38_912.0, "matrix_fp4"),
    (BATCHED_A8W8, "64,16,512 16,128,512", "bf16 fp8", &[], 134_217_728.0, 2_359_296.0, "matrix_fp8"),
    (BATCHED_A8W8, "64,16,128 16,512,128", "bf16 fp8", &[], 134_217_728.0, 2_359_296.0, "matrix_fp8"),
    // Groups.
    ("primus_turbo::grouped_gemm", "16384,2048 8,2048,4096", "bf16", &[], 274_877_906_944.0, 335_544_320.0, "matrix_bf16"),
    ("primus_turbo_cpp_extension::ck_grouped_gemm", "16384,2048 8,4096,2048", "bf16", &[], 274_877_906_944.0, 335_544_320.0, "matrix_bf16"),
    ("primus_turbo::grouped_gemm_variable_k_impl", "16384,2048 16384,4096", "bf16", &[], 274_877_906_944.0, 218_103_808.0, "matrix_bf16"),
    // Convolution.
    ("aten::convolution", "4,3,224,224 768,3,16,16 -", "bf16", settings!(3, "[16, 16]", "[0, 0]", "False", "1"), 924_844_032.0, 3_588_096.0, "matrix_bf16"),
    ("aten::convolution", "8,64,56,56 128,32,3,3 -", "bf16", settings!(3, "[2, 2]", "[1, 1]", "False", "2"), 462_422_016.0, 4_890_624.0, "matrix_bf16"),
    ("aten::convolution", "8,64,56,56 128,64,3,3 128", "bf16", settings!(3, "[1]", "[1]", "False", "1"), 3_702_587_392.0, 9_781_504.0, "matrix_bf16"),
    ("aten::convolution", "8,64,28,28 64,32,4,4 -", "float", settings!(3, "[2, 2]", "[1, 1]", "True", "1"), 411_041_792.0, 4_947_968.0, "matrix_fp32"),
    ("aten::convolution_backward", "10,512,7,7 10,512,7,7 512,512,3,3 -", "bf16", settings!(4, "[1, 1]", "[1, 1]", "False", "1"), 4_624_220_160.0, 11_444_224.0, "matrix_bf16"),
    ("aten::convolution_backward", "10,512,7,7 10,256,14,14 512,256,1,1 -", "bf16", settings!(4, "[2, 2]", "[0, 0]", "False", "1"), 256_901_120.0, 3_534_848.0, "matrix_bf16"),
    // Normalization.
    ("aten::layer_norm", "4,197,768 - 768 768", "bf16", &[(1, "[768]")], 3_030_528.0, 2_429_952.0, "vector_bf16"),
    ("aten::native_batch_norm", "10,512,7,7 512 512", "bf16", &[(5, "True")], 1_257_472.0, 1_009_664.0, "vector_bf16"),
    ("aten::native_batch_norm", "10,512,7,7 512 512", "bf16", &[(5, "False")], 504_832.0, 1_007_616.0, "vector_bf16"),
    ("aten::native_batch_norm", "10,512,7,7 512 512", "bf16", &[], 504_832.0, 1_007_616.0, "vector_bf16"),
    ("aten::native_batch_norm_backward", "10,512,7,7 10,512,7,7 512", "bf16", &[(7, "True")], 2_257_920.0, 1_509_376.0, "vector_bf16"),
    ("aten::miopen_batch_norm_backward", "8,16,32,32 8,16,32,32 16", "float", &[], 524_336.0, 1_048_640.0, "vector_fp32"),
    ("aten::group_norm", "8,16,32,32 - 16 16", "float", &[], 655_456.0, 1_048_960.0, "vector_fp32"),
    ("aten::native_group_norm", "8,16,32,32 16 16", "float", &[], 655_456.0, 1_048_960.0, "vector_fp32"),
    ("aten::instance_norm", "8,16,32,32 16 16", "float", &[(5, "True")], 655_456.0, 1_048_960.0, "vector_fp32"),
    ("aten::native_group_norm_backward", "8,16,32,32 8,16,32,32 8,4 8,4 16", "float", &[(8, "4"), (9, "[True, True, True]")], 1_179_648.0, 1_572_928.0, "vector_fp32"),
    ("aten::native_layer_norm_backward", "8,16,32,32 8,16,32,32", "float", &[(2, "[16, 32, 32]"), (7, "[True, True, True]")], 1_179_648.0, 1_835_008.0, "vector_fp32"),
    ("aten::native_layer_norm_backward", "8,16,32,32 8,16,32,32", "float", &[(2, "[16, 32, 32]"), (7, "[True, False, False]")], 1_179_648.0, 1_638_400.0, "vector_fp32"),
    ("aten::native_layer_norm_backward", "4,8 4,8", "float", &[(2, "[8]"), (7, "[False, True, True]")], 192.0, 384.0, "vector_fp32"),
    ("aten::_fused_rms_norm", "8,16,32,32 - 32,32", "float", &[(1, "[32, 32]")], 524_544.0, 1_052_672.0, "vector_fp32"),
    ("aten::_fused_rms_norm_backward", "8,16,32,32 8,16,32,32 - 8,16,1,1 32,32", "float", &[(2, "[32, 32]"), (5, "[True, True]")], 1_310_720.0, 1_581_056.0, "vector_fp32"),
    ("aten::_fused_rms_norm_backward", "8,16,32,32 8,16,32,32 - 8,16,1,1 32,32", "float", &[(2, "[32, 32]"), (5, "[True, False]")], 1_048_576.0, 1_581_056.0, "vector_fp32"),
    ("aiter::_groupnorm_run", "1,512,32,32 512 512", "bf16", &[], 2_624_512.0, 2_103_296.0, "vector_bf16"),
    ("aiter::_groupnorm_run", "1,512,32,32 - 512 512", "bf16", &[(1, "32")], 2_624_512.0, 2_103_296.0, "vector_bf16"),
    ("primus::fused_ln_modulate", "256,2,3072", "bf16", &[], 18_874_368.0, 6_320_128.0, "vector_bf16"),
    ("primus::fused_ln_modulate_backward", "256,2,3072", "bf16", &[], 23_592_960.0, 9_478_144.0, "vector_bf16"),
    // Element by element.
    ("aten::mul", "1,559,64 -", "float double", &[], 35_776.0, 286_216.0, "vector_fp32"),
    ("aten::add_", "4,768,14,14 1,768,1,1", "bf16", &[], 602_112.0, 2_409_984.0, "vector_bf16"),
    ("aten::add", "4,197,768 1,197,768 -", "bf16", &[], 605_184.0, 2_723_328.0, "vector_bf16"),
    ("aten::mul", "4,768 4,768", "bf16 float", &[], 3072.0, 30_720.0, "vector_bf16"),
    ("aten::mul", "- 4,768", "double bf16", &[], 3072.0, 30_728.0, "vector_fp64"),
    ("aten::div", "4,8 8 4,8", "int int float", &[], 32.0, 288.0, ""),
    ("LigerSiLUMulFunction", "8192,14336 8192,14336", "bf16", &[], 117_440_512.0, 704_643_072.0, "vector_bf16"),
    ("aten::pow", "16,559,1024 -", "float long", &[], 9_158_656.0, 73_269_248.0, "vector_fp32"),
    ("aten::copy_", "1,512 1,512 -", "int int Scalar", &[], 512.0, 4096.0, ""),
    ("aten::copy_", "4,8 8", "bf16 float", &[], 32.0, 192.0, "vector_bf16"),
    ("aten::replication_pad2d", "1,16,60,60 -", "bf16", &[(1, "[1, 2, 3, 4]")], 67_536.0, 250_272.0, "vector_bf16"),
    ("aten::upsample_nearest2d", "1,512,32,32 -", "bf16", &[(1, "[64, 64]")], 2_097_152.0, 5_242_880.0, "vector_bf16"),
    ("aten::upsample_nearest2d", "1,512,32,32 - -", "bf16", &[(2, "[2., 2.]")], 2_097_152.0, 5_242_880.0, "vector_bf16"),
    ("primus_turbo::quantize_fp8_tensorwise", "4096,2048", "bf16", &[], 8_388_608.0, 25_165_824.0, "vector_bf16"),
    ("primus::quantize_mxfp4_dual", "4096,2048", "bf16", &[], 8_388_608.0, 25_690_112.0, "vector_bf16"),
    ("aiter::silu_and_mul", "4,9,256 4,9,512", "bf16 float", &[], 46_080.0, 92_160.0, "vector_fp32"),
    ("aiter::gelu_and_mul", "4,256 4,512", "bf16", &[], 8192.0, 6144.0, "vector_bf16"),
    ("aiter::gelu_tanh_and_mul", "4,256 4,512", "bf16", &[], 10_240.0, 6144.0, "vector_bf16"),
    // Reductions.
    ("aten::mean", "16,559,1024 - - -", "float", &[(1, "[-1]"), (2, "True")], 9_158_656.0, 4.0 * 16.0 * 559.0 * 1025.0, "vector_fp32"),
    ("aten::sum", "10,1000 - - -", "bf16", &[(1, "[0]"), (2, "True")], 10_000.0, 22_000.0, "vector_bf16"),
    ("aten::cumsum", "10,1000 - -", "float", &[(1, "1")], 10_000.0, 80_000.0, "vector_fp32"),
    ("aten::max", "512,512 512,512", "long", &[], 262_144.0, 6_291_456.0, ""),
    // Sequences and losses.
    ("DaoAILab::_causal_conv1d_fwd_cpp", "2,4352,4096 4352,4 4352", "bf16", &[], 285_212_672.0, 142_649_856.0, "matrix_bf16"),
    ("MambaSplitConv1dScanCombinedFn", "2,4096,8512 4352,4 4352 64 64 64", "bf16 bf16 bf16 float float bf16", &[(6, "256"), (15, "64"), (16, "1")], 35_181_821_952.0, 206_613_632.0, "matrix_bf16"),
    ("CrossEntropyFunction", "8192,1,128256 8192,1", "bf16 long", &[], 5_253_365_760.0, 2_101_444_608.0, "vector_bf16"),
];

#[test]
fn worked_examples_have_their_figures() {
    for (name, shapes, types, concrete, flops, bytes, expected) in EXAMPLES {
        let model = Call::new(name, shapes, types).with(concrete).model();
        assert_eq!((model.flops(), model.bytes()), (Ok(*flops), Ok(*bytes)), "{name} {shapes} {types}");
        assert_eq!(spec(&*model), *expected, "{name} {types}");
    }
}

fn shown(model: &dyn PerfModel) -> Vec<String> {
    model.parameters().iter().map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn parameters_show_dimensions_and_options() {
    let fp8 = [(5, "False"), (6, "True"), (7, "False")];
    let swapped = [(5, "False"), (6, "True"), (7, "True")];
    let cases: [(Call, &str); 5] = [
        (
            Call::new("aten::mm", "32768,2048 2048,8192", "bf16"),
            "M=32768, N=8192, K=2048, bias=False, stride_A=(1, 1), stride_B=(1, 1), \
             dtype_A_B=('c10::BFloat16', 'c10::BFloat16'), B=1",
        ),
        (
            Call::new("primus_turbo::hipblaslt_gemm_fp8", "4096,2048 - 1024,2048 -", "fp8 float").with(&fp8),
            "M=4096, N=1024, K=2048, bias=False, stride_A=(1, 1), stride_B=(1, 1), \
             dtype_A_B=('c10::Float8_e4m3fn', 'float'), dtype_scaleA=float, dtype_scaleB=float, B=1",
        ),
        (
            Call::new("primus_turbo::hipblaslt_gemm_fp8", "4096,2048 - 1024,2048 -", "fp8 float")
                .with(&swapped),
            "M=1024, N=4096, K=2048, bias=False, stride_A=(1, 1), stride_B=(1, 1), \
             dtype_A_B=('c10::Float8_e4m3fn', 'float'), dtype_scaleA=float, dtype_scaleB=float, B=1",
        ),
        (
            Call::new("aiter::gemm_a8w8_blockscale_ck", "64,7168 1536,7168 64,0 12,56", "fp8 fp8 float"),
            "B=1, M=64, N=1536, K=7168, bias=False, \
             dtype_A_B=('c10::Float8_e4m3fn', 'c10::Float8_e4m3fn', 'c10::bfloat16'), \
             quant_scheme=a8w8_blockscale, quant_granularity=per_block, block_k=None, block_n=128, \
             scale_dtype=float, output_shape=(64, 1536), output_dtype=c10::bfloat16",
        ),
        (
            Call::new("aten::replication_pad1d", "2,4,10 -", "float").with(&[(1, "[1, 2]")]),
            "input_shape=(2, 4, 10), output_shape=(2, 4, 13), padding=[1, 2], op_shape=(2, 4, 13), \
             dtype_in_out=('float', 'float'), stride_input=(1, 1, 1), stride_output=None",
        ),
    ];
    for (call, expected) in cases {
        assert_eq!(shown(&*call.model()).join(", "), expected, "{}", call.name);
    }
}

#[test]
fn lists_of_shapes_are_groups() {
    let list = |pairs: [[i64; 2]; 2]| Value::List(pairs.into_iter().map(Value::tuple).collect());
    let dims = [list([[100, 64], [28, 32]]), list([[64, 32], [32, 16]])];
    let types = [Value::from("c10::BFloat16"), Value::from("c10::BFloat16")];
    let call = OpCall {
        name: "primus_turbo_cpp_extension::ck_grouped_gemm_variable_k",
        dims: Some(&dims),
        types: Some(&types),
        ..OpCall::default()
    };
    let read = model(&call).unwrap();
    assert_eq!((read.flops(), read.bytes()), (Ok(438_272.0), Ok(27_008.0)));
    assert_eq!(
        shown(&*read).join(" "),
        "M=128 K=64 N=32 G=2 bpe_in=2 bpe_out=2 group_pairs=[((100, 64), (64, 32)), ((28, 32), (32, 16))]"
    );
}

#[test]
fn values_are_read_as_texts_are() {
    let texts = [
        Call::new("MambaSplitConv1dScanCombinedFn", "2,64,8512 4352,4 4352 64 64 64", "bf16").with(&[
            (6, "256"),
            (15, "64"),
            (16, "1"),
        ]),
        Call::new("aten::convolution", "4,8,16,16 8,4,3,3 -", "bf16")
            .with(settings!(3, "[2, 1]", "[1, 0]", "False", "2")),
        Call::new("aten::native_group_norm_backward", "8,16,32,32 8,16,32,32 8,4 8,4 16", "float")
            .with(&[(8, "4"), (9, "[True, True, True]")]),
        Call::new("aten::upsample_nearest2d", "1,5,32,32 -", "bf16").with(&[(1, "[64, 64]")]),
    ];
    let integers = |numbers: &[i64]| Value::List(numbers.iter().copied().map(Value::Int).collect());
    let values: [&[(usize, Value)]; 4] = [
        &[(6, 256.into()), (15, 64.into()), (16, 1.into())],
        &[(3, integers(&[2, 1])), (4, integers(&[1, 0])), (6, false.into()), (8, 2.into())],
        &[(8, 4.into()), (9, Value::List(vec![true.into(); 3]))],
        &[(1, integers(&[64, 64]))],
    ];
    for (mut call, values) in texts.into_iter().zip(values) {
        let of = |call: &Call| (figures(&*call.model()), call.model().parameters());
        let expected = of(&call);
        for (index, value) in values {
            call.concrete[*index] = value.clone();
        }
        assert_eq!(of(&call), expected, "{}", call.name);
    }
}

#[test]
fn the_first_kernel_that_tells_shows_the_transposes() {
    let call = Call::new("aten::mm", "16,32 32,8", "bf16");
    let cases: [(&[&'static str], Option<&str>); 5] = [
        (&["Cijk_Alik_Bljk_BBS_BH_MT64x16x64_MI16x16x1"], Some("(True, False)")),
        (&["splitK_reduce", "nvjet_tst_128x64_64x8_1x2_h_bz_NTN"], Some("(False, True)")),
        (&["Cijk_Axyz_Bljk_MT64x16x64"], Some("(None, False)")),
        (&["nvjet_tst_T"], None),
        (&[], None),
    ];
    for (kernels, expected) in cases {
        let parameters = Call { kernels: kernels.to_vec(), ..call.clone() }.model().parameters();
        let transpose = parameters.last().filter(|(name, _)| *name == "transpose");
        let shown = transpose.map(|(_, value)| value.to_string());
        assert_eq!(shown.as_deref(), expected, "{kernels:?}");
    }
}

#[test]
fn results_of_unrecorded_type_are_noted() {
    let cases = [
        (
            "aten::_scaled_mm",
            "16,32 32,8",
            "fp8",
            Some("result of 2 bytes an element: its type is not recorded"),
        ),
        (
            "vllm::gemm_with_dynamic_quant",
            "4,8 2,4",
            "bf16",
            Some("weight charged at the element size of the activation"),
        ),
        ("aten::mm", "16,32 32,8", "fp8", None),
    ];
    for (name, shapes, types, expected) in cases {
        let note = Call::new(name, shapes, types).model().assumption();
        assert_eq!(note.as_deref(), expected, "{name}");
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let cases = [
        ("aten::mm", "16 32,8", "bf16", Gap::Arguments, "Input Dims[0] has no dimension 1"),
        ("aten::mm", "16,32", "bf16", Gap::Arguments, "Input Dims[1] is missing"),
        ("aten::mm", "-1,32 32,8", "bf16", Gap::Arguments, "Input Dims[0] has the negative dimension -1"),
        ("aten::bmm", "16,32 32,8", "bf16", Gap::Arguments, "Input Dims[0] has 2 dimensions, not 3"),
        (
            "_Linear_yfwd_mm",
            "4,8 8,2",
            "fp8 bf16",
            Gap::Arguments,
            "Input type[0] and [1] differ: \"c10::Float8_e4m3fn\" and \"c10::BFloat16\"",
        ),
        (
            "vllm::gemm_with_dynamic_quant",
            "4,8 8 2",
            "bf16",
            Gap::Arguments,
            "Input Dims hold fewer than two matrices",
        ),
        ("aten::add", "2 3", "float", Gap::Arguments, "shapes [2] and [3] do not broadcast"),
        (
            "aten::convolution",
            "2,4 6,4 -",
            "float",
            Gap::Arguments,
            "no convolution has an input of 2 and a filter of 2 dimensions",
        ),
        (
            "aten::instance_norm_backward",
            "4,8",
            "float",
            Gap::NoFormula,
            "there is no formula for the backward pass of instance normalization",
        ),
        (
            "ConvBias_Backward",
            "4,8",
            "float",
            Gap::Arguments,
            "the forward call of the same sequence number is not known",
        ),
    ];
    for (name, shapes, types, gap, reason) in cases {
        let undefined = Call::new(name, shapes, types).read().unwrap_err();
        assert_eq!((undefined.gap, undefined.reason.as_ref()), (gap, reason), "{name} {shapes}");
    }
    let unrecorded = model(&OpCall { name: "aten::mm", ..OpCall::default() }).unwrap_err();
    assert_eq!(unrecorded.reason, "Input Dims were not recorded");
}

#[test]
fn unknown_element_types_leave_the_operations() {
    for (name, shapes) in [
        ("aten::mm", "16,32 32,8"),
        ("aten::_scaled_mm", "16,32 32,8"),
        ("aten::add", "4 4"),
        ("aten::silu", "4"),
        ("aten::sum", "4"),
        ("aten::group_norm", "4,8 - 8 8"),
        ("primus_turbo::grouped_gemm", "4,8 2,8,3"),
    ] {
        let model = Call::new(name, shapes, "ScalarList").model();
        assert!(model.flops().is_ok_and(|flops| flops > 0.0), "{name}");
        assert_eq!(model.bytes().unwrap_err().gap, Gap::DataType, "{name}");
        assert_eq!(model.compute_spec(), None, "{name}");
    }
}

/// Operators whose work grows with the first dimension of all of these inputs, whatever it is called.
const GROWING: &[(&str, &[usize])] = &[
    ("aten::mm", &[0]),
    ("aten::bmm", &[0, 1]),
    ("aten::_scaled_mm", &[0]),
    ("aiter::gemm_a16w16", &[0]),
    ("aiter::batched_gemm_a16wfp4_", &[0, 1]),
    ("primus_turbo::grouped_gemm", &[0]),
    ("aten::copy_", &[0, 1]),
    ("aten::pow", &[0]),
    ("aiter::silu_and_mul", &[0, 1]),
    ("aten::mean", &[0]),
    ("DaoAILab::_causal_conv1d_fwd_cpp", &[0]),
    ("MambaSplitConv1dScanCombinedFn", &[0]),
    ("CrossEntropyFunction", &[0, 1]),
    ("primus::fused_ln_modulate", &[0]),
];

#[test]
fn twice_the_batch_takes_twice_the_operations() {
    let mut checked = std::collections::BTreeSet::new();
    for (name, shapes, types, concrete, flops, ..) in EXAMPLES {
        let Some((_, inputs)) = GROWING.iter().find(|(growing, _)| growing == name) else { continue };
        let mut call = Call::new(name, shapes, types).with(concrete);
        for &input in *inputs {
            if let Some(Value::Tuple(sides)) = call.dims.get_mut(input)
                && let Some(Value::Int(side)) = sides.first_mut()
            {
                *side *= 2;
            }
        }
        checked.insert(*name);
        assert_eq!(call.model().flops(), Ok(2.0 * flops), "{name}");
    }
    assert_eq!(checked.len(), GROWING.len());
}
