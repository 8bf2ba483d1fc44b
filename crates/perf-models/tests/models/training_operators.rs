//! What holds for the models of matrix multiplication, convolution, normalization, element-wise operators,
//! reductions, state-space models and cross-entropy.

use perf_models::{Gap, OpCall, Value, model};

use crate::call::{Call, figures};

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
    let shown: Vec<String> =
        read.parameters().iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        shown.join(" "),
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
        Call::new("aten::convolution", "4,8,16,16 8,4,3,3 -", "bf16").with(&[
            (3, "[2, 1]"),
            (4, "[1, 0]"),
            (5, "[1, 1]"),
            (6, "False"),
            (7, "[0, 0]"),
            (8, "2"),
        ]),
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
