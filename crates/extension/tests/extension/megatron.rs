//! Extensions for Megatron with Transformer Engine 2: ours, rule by rule, and one that is written for TraceLens.

use extension::{Extension, Python};
use perf_models::{OpCall, Value};
use trace_ingest::ArgumentValue;
use trace2tree::{TraceTree, TreeOptions};
use tree_perf::AnalysisExtension;

use super::fixture::{Fixture, shapes, unified_rows, words};
use super::{dims, texts};

const MEGATRON: &str = include_str!("../../../../examples/extensions/megatron_te_v2.py");

const FOR_TRACELENS: &str = include_str!("files/megatron_tracelens.py");

fn megatron() -> Extension {
    Extension::load("megatron_te_v2.py", MEGATRON, &Python::default()).unwrap()
}

fn for_tracelens() -> Extension {
    Extension::load("megatron_tracelens.py", FOR_TRACELENS, &Python::default()).unwrap()
}

const NONE: [Option<ArgumentValue>; 4] = [const { None }; 4];

/// What `_Linear` records of weight and input.
fn linear_lists(types: &[&str; 2], weight: &[i64], input: &[i64], fp8: &str) -> [Option<ArgumentValue>; 4] {
    [
        shapes(&[weight, input, &[], &[], &[]]),
        words(&[types[0], types[1], "", "", ""]),
        None,
        words(&["", "", "", "", fp8]),
    ]
}

fn bf16_linear(fp8: &str) -> [Option<ArgumentValue>; 4] {
    linear_lists(&["c10::BFloat16"; 2], &[1024, 512], &[20, 512], fp8)
}

/// A layer with its kernels on thread 1 at a time, and its backward on thread 2.
fn layer(
    fixture: &mut Fixture,
    name: &str,
    number: i64,
    lists: [Option<ArgumentValue>; 4],
    forward: &[(&str, i64)],
    backward: &[(&str, i64)],
) {
    let at = 1000 * number;
    fixture.op(name, 1, (at, 100), Some(number), lists);
    kernels(fixture, 1, at + 10, forward);
    let function = format!("autograd::engine::evaluate_function: {name}Backward");
    fixture.op(&function, 2, (50_000 + at, 100), Some(number), NONE);
    let gradient = [shapes(&[&[20, 1024]]), words(&["c10::BFloat16"]), None, None];
    fixture.op(&format!("{name}Backward"), 2, (50_001 + at, 90), Some(number), gradient);
    kernels(fixture, 2, 50_010 + at, backward);
}

fn kernels(fixture: &mut Fixture, tid: i64, at: i64, kernels: &[(&str, i64)]) {
    for (position, &(name, duration)) in (0..).zip(kernels) {
        fixture.kernel(name, tid, at + 5 * position, duration);
    }
}

fn value(argument: &ArgumentValue) -> Value {
    match argument {
        ArgumentValue::Int(value) => Value::Int(*value),
        ArgumentValue::Text(text) => Value::Text(text.clone()),
        ArgumentValue::List(items) => Value::List(items.iter().map(value).collect()),
        other => panic!("{other:?}"),
    }
}

/// Inserted operators by name: name, shapes, types, and the kernels that they launch.
fn inserted(tree: &TraceTree) -> Vec<(String, String, String, Vec<&str>)> {
    let trace = tree.trace();
    let text = |id| {
        let mut text = String::new();
        value(trace.signatures().argument(id)).write_literal(&mut text).unwrap();
        text
    };
    let mut all: Vec<_> = trace
        .events()
        .ids()
        .filter(|&event| tree.is_pseudo_operator(event))
        .map(|event| {
            let lists = trace.signatures().get(trace.events().signature(event).unwrap());
            assert_eq!([lists.strides, lists.concrete].map(|id| text(id.unwrap())), ["[]", "[]"]);
            let kernels = tree.device_events(event).iter().map(|&kernel| trace.name(kernel)).collect();
            let [dims, types] = [lists.dims, lists.types].map(|id| text(id.unwrap()));
            (trace.name(event).to_owned(), dims, types, kernels)
        })
        .collect();
    all.sort();
    all
}

/// The tree after the script's rule, and what the rule said.
fn after(fixture: Fixture) -> (TraceTree, Vec<String>) {
    after_rule_of(&megatron(), fixture)
}

fn after_rule_of(extension: &Extension, fixture: Fixture) -> (TraceTree, Vec<String>) {
    let mut tree = fixture.tree();
    let done = extension.change_tree(&mut tree).unwrap();
    (tree, done.notices.iter().map(ToString::to_string).collect())
}

const FORWARD: [(&str, i64); 1] = [("nvjet_y", 10)];
const BACKWARD: [(&str, i64); 3] = [("nvjet_x", 10), ("nvjet_w", 10), ("bias", 10)];

#[test]
fn a_layer_gets_three_matrix_multiplications_with_shapes_of_their_own() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    layer(&mut fixture, "_Linear", 3, bf16_linear("False"), &FORWARD, &BACKWARD);
    let (tree, said) = after(fixture);
    assert_eq!(said, [""; 0]);
    let types = "['c10::BFloat16', 'c10::BFloat16']".to_owned();
    let row =
        |name: &str, dims: &str, kernel| (name.to_owned(), dims.to_owned(), types.clone(), vec![kernel]);
    assert_eq!(
        inserted(&tree),
        [
            row("_LinearBackward_wgrad_mm", "[[1024, 20], [20, 512]]", "nvjet_w"),
            row("_LinearBackward_xgrad_mm", "[[20, 1024], [1024, 512]]", "nvjet_x"),
            row("_Linear_yfwd_mm", "[[20, 512], [512, 1024]]", "nvjet_y"),
        ]
    );
    for event in tree.trace().events().ids().filter(|&event| tree.is_pseudo_operator(event)) {
        assert_eq!(tree.trace().events().sequence_number(event), Some(3));
        let kernel = tree.device_events(event)[0];
        assert_eq!(tree.kernel_launcher(kernel), Some(event));
    }
}

#[test]
fn the_multiplications_have_the_figures_of_their_shapes() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    layer(&mut fixture, "_Linear", 3, bf16_linear("False"), &FORWARD, &BACKWARD);
    layer(&mut fixture, "_Linear", 4, bf16_linear("True"), &FORWARD, &BACKWARD);
    let flops = 2.0 * 20.0 * 1024.0 * 512.0;
    let bytes = |factor: f64| move |m: f64, n: f64, k: f64| factor * (m * k + k * n) + 2.0 * m * n;
    let rows = |bytes: &dyn Fn(f64, f64, f64) -> f64| {
        [
            ("_Linear_yfwd_mm".to_owned(), 10.0, Some((flops, bytes(20.0, 1024.0, 512.0)))),
            ("_LinearBackward_xgrad_mm".to_owned(), 10.0, Some((flops, bytes(20.0, 512.0, 1024.0)))),
            ("_LinearBackward_wgrad_mm".to_owned(), 10.0, Some((flops, bytes(1024.0, 512.0, 20.0)))),
        ]
    };
    let bf16 = rows(&bytes(2.0));
    assert!(bf16.iter().all(|row| row.2 == Some((20_971_520.0, 1_110_016.0))));
    let mut found = unified(fixture);
    found.retain(|row| row.2.is_some());
    let mut expected = [bf16, rows(&bytes(1.0))].concat();
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(found, expected);
}

/// Name, device time in µs, and FLOPs and bytes.
type UnifiedRow = (String, f64, Option<(f64, f64)>);

/// The rows of the unified table, in the order of names.
fn unified(fixture: Fixture) -> Vec<UnifiedRow> {
    let rows = unified_rows(fixture, megatron()).into_iter();
    rows.map(|(name, _, time, figures)| (name, time, figures)).collect()
}

#[test]
fn fp8_layers_say_so() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    layer(&mut fixture, "_Linear", 3, bf16_linear("True"), &FORWARD, &BACKWARD);
    let (tree, _) = after(fixture);
    assert!(inserted(&tree).iter().all(|row| row.2 == "['fp8', 'fp8']"));
}

#[test]
fn kernels_of_matrix_multiplications_are_told_by_their_names() {
    let Some(_) = testdata::python3() else { return };
    for (name, is_gemm) in [
        ("nvjet_tst_128x64", true),
        ("RR_GEMM_TN_bf16", true),
        ("Cijk_Ailk_Bljk_BBS", true),
        ("my nvjet", false),
        ("my_RR_GEMM_x", false),
        ("Cijk_Bljk_Ailk", false),
        ("_A_B_C", false),
        ("cublas_gemm", false),
    ] {
        let mut fixture = Fixture::default();
        layer(&mut fixture, "_Linear", 1, bf16_linear("False"), &[(name, 10), ("other", 10)], &BACKWARD);
        assert_eq!(!inserted(&after(fixture).0).is_empty(), is_gemm, "{name}");
    }
}

#[test]
fn layers_that_the_rule_does_not_fit_are_left_and_counted() {
    let Some(_) = testdata::python3() else { return };
    let bf16 = ["c10::BFloat16"; 2];
    let wrong = "instead of 1 and 2 (2 times)";
    for (lists, forward, backward, said) in [
        (
            bf16_linear("False"),
            &[("nvjet_a", 10), ("nvjet_b", 10)][..],
            &BACKWARD[..],
            format!("_Linear: 2 forward and 2 backward matrix multiplications {wrong}"),
        ),
        (
            bf16_linear("False"),
            &FORWARD,
            &BACKWARD[1..],
            format!("_Linear: 1 forward and 1 backward matrix multiplications {wrong}"),
        ),
        (
            linear_lists(&bf16, &[1024, 512], &[20, 256], "False"),
            &FORWARD,
            &BACKWARD,
            "_Linear: input (20, 256) and weight (1024, 512) do not fit (2 times)".to_owned(),
        ),
        (
            linear_lists(&["float", "c10::BFloat16"], &[1024, 512], &[20, 512], "False"),
            &FORWARD,
            &BACKWARD,
            "_Linear: input (20, 512) and weight (1024, 512) do not fit (2 times)".to_owned(),
        ),
        (NONE, &FORWARD, &BACKWARD, "_Linear: input None and weight None do not fit (2 times)".to_owned()),
    ] {
        let mut fixture = Fixture::default();
        for number in [1, 2] {
            layer(&mut fixture, "_Linear", number, lists.clone(), forward, backward);
        }
        let (tree, notices) = after(fixture);
        assert_eq!(notices, [format!("megatron_te_v2.py: {said}")]);
        assert_eq!(inserted(&tree), []);
    }
}

#[test]
fn nothing_is_inserted_where_the_multiplications_are_operators() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    layer(&mut fixture, "_Linear", 1, bf16_linear("False"), &FORWARD, &BACKWARD);
    fixture.op("tex_ts::te_gemm_ts", 1, (90_000, 10), None, NONE);
    let (tree, said) = after(fixture);
    assert_eq!((inserted(&tree), said.len()), (vec![], 0));
}

#[test]
fn a_layer_is_split_once() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    layer(&mut fixture, "_Linear", 1, bf16_linear("False"), &FORWARD, &BACKWARD);
    let (mut tree, _) = after(fixture);
    megatron().change_tree(&mut tree).unwrap();
    assert_eq!(inserted(&tree).len(), 3);
}

/// Two layers that run again and then backward under a checkpoint, all on thread 2 and without numbers.
fn checkpoint(backwards: i64) -> Fixture {
    let mut fixture = Fixture::default();
    fixture.op("CheckpointFunctionBackward", 2, (0, 10_000), None, NONE);
    for (index, rows) in [(0, 20), (1, 40)] {
        let lists = linear_lists(&["c10::BFloat16"; 2], &[1024, 512], &[rows, 512], "False");
        fixture.op("_Linear", 2, (100 + 100 * index, 50), None, lists);
        fixture.kernel(["nvjet_y0", "nvjet_y1"][index as usize], 2, 110 + 100 * index, 10);
    }
    fixture.op("inside", 2, (5000, 4000), None, NONE);
    for index in 0..backwards {
        fixture.op("_LinearBackward", 2, (5100 + 100 * index, 50), None, NONE);
        let names = [("nvjet_x1", "nvjet_w1"), ("nvjet_x0", "nvjet_w0")][index as usize];
        kernels(&mut fixture, 2, 5110 + 100 * index, &[(names.0, 10), (names.1, 10)]);
    }
    fixture
}

#[test]
fn layers_under_a_checkpoint_have_their_backwards_in_reverse_order() {
    let Some(_) = testdata::python3() else { return };
    let (tree, said) = after(checkpoint(2));
    assert_eq!(said, [""; 0]);
    let (forward, backward) = (tree.find_by_name("_Linear"), tree.find_by_name("_LinearBackward"));
    assert_eq!(tree.backward_events(forward[0]), [backward[1]]);
    assert_eq!(tree.backward_events(forward[1]), [backward[0]]);
    let found: Vec<_> = inserted(&tree).into_iter().map(|row| (row.1, row.3[0])).collect();
    let row = |dims: &str, kernel| (dims.to_owned(), kernel);
    assert_eq!(
        found,
        [
            row("[[1024, 20], [20, 512]]", "nvjet_w0"),
            row("[[1024, 40], [40, 512]]", "nvjet_w1"),
            row("[[20, 1024], [1024, 512]]", "nvjet_x0"),
            row("[[40, 1024], [1024, 512]]", "nvjet_x1"),
            row("[[20, 512], [512, 1024]]", "nvjet_y0"),
            row("[[40, 512], [512, 1024]]", "nvjet_y1"),
        ]
    );
}

#[test]
fn python_frames_under_a_checkpoint_change_nothing() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = checkpoint(2);
    fixture.python("recompute", 2, (50, 4000));
    let mut tree =
        TraceTree::build(fixture.finish(), &TreeOptions { python_frames: true, ..TreeOptions::default() });
    megatron().change_tree(&mut tree).unwrap();
    assert_eq!(inserted(&tree).len(), 6);
}

#[test]
fn a_checkpoint_with_other_numbers_of_forwards_and_backwards_is_left() {
    let Some(_) = testdata::python3() else { return };
    let (tree, said) = after(checkpoint(1));
    assert_eq!(inserted(&tree), []);
    assert_eq!(
        said,
        [
            "megatron_te_v2.py: _Linear: 2 forward but 1 backward under a checkpoint (1 times)",
            "megatron_te_v2.py: _Linear: 1 forward and 0 backward matrix multiplications instead of 1 and 2 \
             (2 times)",
        ]
    );
}

#[test]
fn links_that_numbers_tell_are_kept_under_a_checkpoint() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    fixture.op("CheckpointFunctionBackward", 2, (0, 10_000), None, NONE);
    fixture.op("_Linear", 2, (100, 50), Some(9), bf16_linear("False"));
    fixture.op("_LinearBackward", 2, (5100, 50), None, NONE);
    let function = fixture.op("autograd::engine::evaluate_function: x", 3, (9000, 50), Some(9), NONE);
    let (tree, _) = after(fixture);
    assert_eq!(tree.backward_events(tree.find_by_name("_Linear")[0]), [function]);
}

/// The layer of 04b: kernels of 15 and 50 µs forward, 60, 70 and 25 µs backward.
fn normalizing_layer(fixture: &mut Fixture) {
    let none = &[][..];
    let lists = [
        shapes(&[&[2048, 4, 2048], &[2048], none, &[6144, 2048], none, none, none, none]),
        words(&["c10::BFloat16", "c10::BFloat16", "", "c10::BFloat16", "", "", "", ""]),
        None,
        words(&["", "", "", "", "", "", "", "False"]),
    ];
    let forward = [("ln", 15), ("nvjet_y", 50)];
    layer(fixture, "_LayerNormLinear", 1, lists, &forward, &[("nvjet_x", 60), ("nvjet_w", 70), ("ln", 25)]);
}

#[test]
fn a_normalizing_layer_is_a_normalization_beside_its_multiplications() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    normalizing_layer(&mut fixture);
    let gemm_flops = 2.0 * 8192.0 * 2048.0 * 6144.0;
    let gemm_bytes = 2.0 * (8192.0 * 2048.0 + 2048.0 * 6144.0 + 8192.0 * 6144.0);
    let gemm = Some((gemm_flops, gemm_bytes));
    let row = |name: &str, time, figures| (name.to_owned(), time, figures);
    assert_eq!(
        unified(fixture),
        [
            row("_LayerNormLinear", 15.0, Some((83_898_368.0, 67_178_496.0))),
            row("_LayerNormLinearBackward", 25.0, Some((150_994_944.0, 100_737_024.0))),
            row("_LayerNormLinearBackward_wgrad_mm", 70.0, gemm),
            row("_LayerNormLinearBackward_xgrad_mm", 60.0, gemm),
            row("_LayerNormLinear_yfwd_mm", 50.0, gemm),
        ]
    );
}

/// Layers, checkpoints and operators of the file for TraceLens: the figures of spec page 04, section 13, and 04b.
#[test]
fn a_file_for_tracelens_runs_as_it_is() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    layer(&mut fixture, "_Linear", 3, bf16_linear("False"), &FORWARD, &BACKWARD);
    layer(&mut fixture, "_Linear", 4, bf16_linear("True"), &FORWARD, &BACKWARD);
    let (tree, said) = after_rule_of(&for_tracelens(), fixture);
    assert_eq!(said, [""; 0]);
    let of_file: Vec<_> =
        inserted(&tree).into_iter().map(|row| (row.0, row.1, row.2, row.3[0].to_owned())).collect();
    let mut fixture = Fixture::default();
    layer(&mut fixture, "_Linear", 3, bf16_linear("False"), &FORWARD, &BACKWARD);
    layer(&mut fixture, "_Linear", 4, bf16_linear("True"), &FORWARD, &BACKWARD);
    let (tree, _) = after(fixture);
    let ours: Vec<_> =
        inserted(&tree).into_iter().map(|row| (row.0, row.1, row.2, row.3[0].to_owned())).collect();
    assert_eq!((of_file.len(), &of_file), (6, &ours));

    let (tree, said) = after_rule_of(&for_tracelens(), checkpoint(2));
    assert_eq!((inserted(&tree).len(), said), (6, vec![]));
    let (tree, said) = after_rule_of(&for_tracelens(), checkpoint(1));
    assert_eq!((inserted(&tree).len(), said.len()), (0, 3), "{said:?}");

    let rows = |extension| {
        let mut fixture = Fixture::default();
        normalizing_layer(&mut fixture);
        unified_rows(fixture, extension)
    };
    let (of_file, ours) = (rows(for_tracelens()), rows(megatron()));
    assert_eq!(of_file[2..], ours[2..]);
    // TraceLens's class counts statistics of channels, ours those of rows.
    assert_eq!(of_file[0].3, Some((83_898_368.0, 67_129_344.0)));
    assert_eq!(ours[0].3, Some((83_898_368.0, 67_178_496.0)));
    assert_eq!(of_file[1].3, Some((150_994_944.0, 100_675_584.0)));
    assert_eq!(ours[1].3, Some((150_994_944.0, 100_737_024.0)));
}

#[test]
fn classes_for_tracelens_have_the_figures_of_its_families() {
    let Some(_) = testdata::python3() else { return };
    let extension = for_tracelens();
    let bf16 = texts(&["c10::BFloat16"; 12]);
    let (query, key, none) = (&[4096, 2, 32, 128][..], &[4096, 2, 8, 128][..], &[][..]);
    let attention = dims(&[none, none, none, none, none, none, none, none, none, query, key, key]);
    let strides = dims(&[none; 12]);
    let grouped = dims(&[&[4096, 1024], &[8, 2048, 1024], none, none]);
    for (name, dims, [flops, bytes], backward) in [
        ("FusedAttnFunc", &attention, [274_877_906_944.0, 167_772_160.0], Some(687_197_913_088.0)),
        ("GroupedGemm", &grouped, [17_179_869_184.0, 58_720_256.0], Some(34_359_738_368.0)),
    ] {
        let call = OpCall {
            name,
            dims: Some(dims),
            types: Some(&bf16),
            strides: Some(&strides),
            concrete: Some(&texts(&["", "", "", "True"])),
            ..OpCall::default()
        };
        let model = extension.model(&call).unwrap().unwrap();
        assert_eq!((model.model.flops(), model.model.bytes()), (Ok(flops), Ok(bytes)), "{name}");
        assert_eq!(model.model.backward_flops().ok(), backward, "{name}");
        assert_eq!(model.model.compute_spec().unwrap().to_string(), "matrix_bf16");
        assert!(model.family.is_some());
    }
    let backward = OpCall { name: "_LayerNormLinearBackward", types: Some(&bf16), ..OpCall::default() };
    let reason = extension.model(&backward).unwrap().unwrap_err().reason;
    assert!(
        reason.ends_with("ValueError: the forward operator, which has the shapes, was not found"),
        "{reason}"
    );
}

/// FLOPs, bytes, and the two of the backward pass; else the reason why there are none.
fn figures(name: &str, dims: &[Value], types: &[Value], concrete: &[Value]) -> Result<[f64; 4], String> {
    let call =
        OpCall { name, dims: Some(dims), types: Some(types), concrete: Some(concrete), ..OpCall::default() };
    let model = megatron().model(&call).unwrap().map_err(|undefined| undefined.reason.into_owned())?.model;
    Ok([model.flops(), model.bytes(), model.backward_flops(), model.backward_bytes()]
        .map(|figure| figure.unwrap_or(f64::NAN)))
}

#[test]
fn operators_have_the_figures_of_their_families() {
    let Some(_) = testdata::python3() else { return };
    let bf16 = texts(&["c10::BFloat16"; 12]);
    let (query, key) = (&[4096, 2, 32, 128][..], &[4096, 2, 8, 128][..]);
    let none = &[][..];
    let attention = dims(&[none, none, none, none, none, none, none, none, none, query, key, key]);
    let input = &[2048, 4, 2048][..];
    for (name, dims, flops, bytes) in [
        ("FusedAttnFunc", attention, 274_877_906_944.0, 167_772_160.0),
        ("LayerNormFn", dims(&[input, &[2048], none]), 83_898_368.0, 67_178_496.0),
        ("LayerNormFnBackward", dims(&[input]), 150_994_944.0, 100_737_024.0),
    ] {
        let [found_flops, found_bytes, ..] = figures(name, &dims, &bf16, &[]).unwrap();
        assert_eq!((found_flops, found_bytes), (flops, bytes), "{name}");
    }
    let [plain, with_bias] = [none, &[2048]]
        .map(|bias| figures("LayerNormFn", &dims(&[input, &[2048], bias]), &bf16, &[]).unwrap()[1]);
    assert_eq!(with_bias - plain, 2.0 * 2048.0, "the bias is read");
    let extension = megatron();
    assert_eq!(extension.category("FusedAttnFuncBackward"), Some("SDPA_bwd"));
    assert_eq!(extension.category("GroupedGemmBackward"), Some("GroupedGEMM_bwd"));
}

#[test]
fn grouped_multiplications_take_the_weights_either_way() {
    let Some(_) = testdata::python3() else { return };
    let types = texts(&["c10::BFloat16"; 2]);
    let figures_of = |weights: &[i64], types: &[Value], transposed: &str| {
        let concrete = texts(&["", "", "", transposed]);
        figures("GroupedGemm", &dims(&[&[4096, 1024], weights]), types, &concrete)
    };
    let expected = [17_179_869_184.0, 58_720_256.0, 34_359_738_368.0, 117_440_512.0];
    assert_eq!(figures_of(&[8, 2048, 1024], &types, "True"), Ok(expected));
    assert_eq!(figures_of(&[8, 1024, 2048], &types, "False"), Ok(expected));
    for (weights, types, transposed, reason) in [
        (&[8, 1024, 2048], types.clone(), "True", "the weights have 2048 rows, the input 1024 columns"),
        (
            &[8, 2048, 1024],
            types.clone(),
            "2",
            "input 3 must say whether the weights are transposed, found '2'",
        ),
        (
            &[8, 2048, 1024],
            texts(&["c10::BFloat16", "c10::Half"]),
            "True",
            "the factors are of the types c10::BFloat16 and c10::Half",
        ),
        (&[8, 2048, 1024], texts(&["float"; 2]), "True", "elements of float have neither 1 nor 2 bytes"),
    ] {
        let found = figures_of(weights, &types, transposed).unwrap_err();
        assert!(found.ends_with(reason), "{found}");
    }
}

#[test]
fn the_backward_of_a_grouped_multiplication_has_the_figures_of_its_forward() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    let lists = [
        shapes(&[&[4096, 1024], &[8, 2048, 1024], &[], &[]]),
        words(&["c10::BFloat16", "c10::BFloat16", "", ""]),
        None,
        words(&["", "", "", "True"]),
    ];
    layer(&mut fixture, "GroupedGemm", 1, lists, &[("k", 10)], &[("k", 30)]);
    let rows = unified_rows(fixture, megatron()).into_iter();
    assert_eq!(
        rows.map(|(name, category, _, figures)| (name, category, figures.unwrap().0)).collect::<Vec<_>>(),
        [
            ("GroupedGemm".to_owned(), "GroupedGEMM_fwd".to_owned(), 17_179_869_184.0),
            ("GroupedGemmBackward".to_owned(), "GroupedGEMM_bwd".to_owned(), 34_359_738_368.0),
        ]
    );
}

#[test]
fn the_backward_of_a_normalizing_layer_needs_its_forward() {
    let Some(_) = testdata::python3() else { return };
    let bf16 = texts(&["c10::BFloat16"]);
    let backward = OpCall { name: "_LayerNormLinearBackward", types: Some(&bf16), ..OpCall::default() };
    let extension = megatron();
    let reason = extension.model(&backward).unwrap().unwrap_err().reason;
    assert!(reason.ends_with("the forward operator, which has the shapes, was not found"), "{reason}");
    let attributes =
        [("_ln_input_shape", Value::tuple([2048, 4, 2048])), ("_ln_weight_shape", Value::tuple([2048]))];
    let model = extension.model(&OpCall { attributes: &attributes, ..backward }).unwrap().unwrap().model;
    assert_eq!(model.flops(), Ok(150_994_944.0));
}
