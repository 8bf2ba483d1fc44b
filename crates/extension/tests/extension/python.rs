//! Models, members and messages of Python files.

use extension::{Extension, Form, Python};
use perf_models::{Family, Gap, OpCall, Value};
use tree_perf::AnalysisExtension;

use super::fixture::{Fixture, shapes};
use super::{answer, dims, load, refusal, rows, texts, with_attention_call};

const MY_ATTENTION: &str = include_str!("../../../../examples/extensions/my_attention.py");
const FOR_TRACELENS: &str = include_str!("files/attention_tracelens.py");

/// A file whose function `f` models `op`.
fn of_function(text: &str) -> Extension {
    load(&format!("from tracelens import *\n{text}\nperf_model_extension = {{'op': f}}"))
}

fn reason(text: &str) -> String {
    let undefined = answer(&of_function(text)).unwrap_err();
    assert_eq!(undefined.gap, Gap::Arguments, "{undefined}");
    undefined.reason.into_owned()
}

#[test]
fn a_fork_of_attention_is_modelled_with_other_argument_positions() {
    let Some(_) = testdata::python3() else { return };
    for text in [MY_ATTENTION, FOR_TRACELENS] {
        let extension = Extension::load("my_attention.py", text, &Python::default()).unwrap();
        assert_eq!(extension.form(), Form::Python);
        let model = with_attention_call(|call| extension.model(call)).unwrap().unwrap();
        let figures = [model.model.flops(), model.model.bytes()];
        assert_eq!(figures, [Ok(274_877_906_944.0), Ok(167_772_160.0)]);
        let backward = [model.model.backward_flops(), model.model.backward_bytes()];
        assert_eq!(backward, [Ok(687_197_913_088.0), Ok(268_435_456.0)]);
        assert_eq!(model.model.compute_spec().unwrap().to_string(), "matrix_bf16");
        assert_eq!((model.family, model.category.as_str()), (Some(Family::Sdpa), "SDPA_fwd"));
        assert!(extension.model(&OpCall { name: "aten::mm", ..OpCall::default() }).is_none());
        assert_eq!(extension.modelled(), ["my_attention::forward"]);
    }
}

#[test]
fn classes_of_tracelens_have_the_figures_of_its_documentation() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(include_str!("files/classes_of_tracelens.py"));
    for (name, flops, bytes, spec, family) in [
        ("mm", 773_094_113_280.0, 648_019_968.0, "matrix_bf16", Family::Gemm),
        ("unary", 32.0, 256.0, "vector_fp32", Family::UnaryElementwise),
        ("binary", 35_776.0, 286_216.0, "vector_fp32", Family::BinaryElementwise),
        ("layer_norm", 3_030_528.0, 2_429_952.0, "vector_bf16", Family::Normalization),
    ] {
        let model = extension.model(&OpCall { name, ..OpCall::default() }).unwrap().unwrap();
        assert_eq!((model.model.flops(), model.model.bytes()), (Ok(flops), Ok(bytes)), "{name}");
        assert_eq!(model.model.compute_spec().unwrap().to_string(), spec);
        assert_eq!(model.family, Some(family));
    }
    let plain = answer(&extension).unwrap();
    assert_eq!((plain.model.flops(), plain.category.as_str()), (Ok(16.0), "NORM_fwd"));
    assert_eq!(plain.model.bytes().unwrap_err().reason, "the extension gives no bytes");
}

#[test]
fn classes_of_single_operators_have_the_built_in_model() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(include_str!("files/classes_of_operators.py"));
    let bf16 = texts(&["c10::BFloat16"; 6]);
    let (query, key) = (&[2, 4096, 32, 128][..], &[2, 4096, 8, 128][..]);
    let attention = dims(&[query, key, key, &[], &[], &[]]);
    let product = dims(&[&[20, 512], &[512, 1024]]);
    let sum = dims(&[&[1024], &[20, 512], &[512, 1024]]);
    let strides = dims(&[&[1, 1], &[1, 1], &[1, 1], &[], &[], &[]]);
    let concrete = texts(&["", "", "", "0.0", "", "True"]);
    for (name, dims, flops, bytes) in [
        ("mm", &product, 20_971_520.0, 1_110_016.0),
        ("with_output", &product, 20_971_520.0, 1_111_016.0),
        ("half", &product, 10_485_760.0, 549_888.0),
        // Multiplied by zero, as input 3 says, nothing is added.
        ("my::addmm", &sum, 20_992_000.0, 1_110_016.0),
        ("flash", &attention, 274_877_906_944.0, 167_772_160.0),
        ("fork", &attention, 549_755_813_888.0, 167_772_160.0),
    ] {
        let call = OpCall {
            name,
            dims: Some(dims),
            types: Some(&bf16),
            strides: Some(&strides),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        let model = extension.model(&call).unwrap().unwrap();
        assert_eq!((model.model.flops(), model.model.bytes()), (Ok(flops), Ok(bytes)), "{name}");
        assert_eq!(model.model.compute_spec().unwrap().to_string(), "matrix_bf16");
    }
    let without_step =
        extension.model(&OpCall { name: "unified", dims: Some(&attention), ..OpCall::default() });
    let reason = without_step.unwrap().unwrap_err().reason;
    assert!(reason.starts_with("my.py"), "{reason}");
}

#[test]
fn tables_of_a_file_are_tables_of_the_report() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(
        r#"
class Frame:
    def to_dict(self, orient):
        assert orient == "list"
        return {"ratio": [0.5, float("nan")], "flag": [True, None]}

def get_additional_dataframes_extension(tree):
    rows = [{"name": event.name, "kernels": len(tree.gpu_events(event)), "shape": event.dims} for event in tree.roots()]
    return {"by root": rows, "frame": Frame(), "mixed": {"value": [1, "x"]}}
"#,
    );
    let mut fixture = Fixture::default();
    fixture.op("moe", 1, (0, 100), None, [shapes(&[&[4, 2]]), None, None, None]);
    fixture.kernel("up", 1, 10, 10);
    let tree = fixture.tree();
    let shown: Vec<String> = extension
        .tables(&tree)
        .iter()
        .map(|table| {
            let column = |column: &sheets::TableColumn| {
                let cells: Vec<_> = column.cells().map(|cell| cell.text().into_owned()).collect();
                format!("{} {:?}: {}", column.name(), column.kind(), cells.join(", "))
            };
            format!("{}: {}", table.name(), table.columns().iter().map(column).collect::<Vec<_>>().join("; "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "by root: name Text: moe; kernels Whole(One): 1; shape Text: ((4, 2),)",
            "frame: ratio Number(One): 0.5, ; flag Flag: True, ",
            "mixed: value Text: 1, x",
        ]
    );
    for (body, reason) in rows(include_str!("files/dataframes_refused.txt")) {
        let extension = load(&format!("def get_additional_dataframes_extension(tree):\n    {body}"));
        assert!(extension.tables(&tree).is_empty());
        let notices = extension.notices();
        assert!(notices[0].to_string().contains(reason), "{notices:?}");
    }
}

#[test]
fn a_function_sees_the_call_and_gives_figures_of_its_own() {
    let Some(_) = testdata::python3() else { return };
    let model = answer(&of_function(
        "
def f(event):
    n = prod(event.dims[0])
    assert event['args']['Input Dims'] == [[4, 8]] and event.annotation is None
    return work(flops = n * event.args['topk'], bytes = n * element_size(event.types[0]), category = 'mine',
                spec = 'vector_fp32', backward_flops = 3.5,
                params = {'kernel': event.kernels[0], 'shape': event.dims[0], 'forward': event.forward})
",
    ))
    .unwrap();
    let figures = [model.model.flops(), model.model.bytes(), model.model.backward_flops()];
    assert_eq!(figures, [Ok(64.0), Ok(128.0), Ok(3.5)]);
    assert_eq!(
        model.model.backward_bytes().unwrap_err().reason,
        "the extension gives no bytes of the backward pass"
    );
    assert_eq!(model.model.compute_spec().unwrap().to_string(), "vector_fp32");
    assert_eq!(
        model.model.parameters(),
        [("kernel", Value::from("k")), ("shape", Value::tuple([4, 8])), ("forward", Value::None)]
    );
    assert_eq!((model.family, model.category.as_str()), (None, "mine"));
    let gemm = answer(&of_function(
        "def f(event): return model('gemm', m = 4 / 2, n = 3, k = 5, dtype = 'float', category = 'x', backward = False)",
    ))
    .unwrap();
    assert_eq!((gemm.model.flops(), gemm.category.as_str()), (Ok(60.0), "x"));
}

#[test]
fn a_call_that_a_function_cannot_read_has_no_figures_and_a_reason() {
    let Some(_) = testdata::python3() else { return };
    for (body, expected) in rows(include_str!("files/calls_refused.txt")) {
        let found = reason(&format!("def f(event):\n    {body}"));
        assert!(found.starts_with(expected), "{body}: {found}");
    }
    for (body, expected) in [
        ("return None", "my.py returned no figures for this call"),
        ("raise NotImplementedError('in training')", "my.py:3: NotImplementedError: in training"),
    ] {
        let undefined = answer(&of_function(&format!("def f(event):\n    {body}"))).unwrap_err();
        assert_eq!((undefined.gap, undefined.reason.as_ref()), (Gap::NoFormula, expected));
    }
}

#[test]
fn a_failure_while_loading_names_its_line() {
    let Some(_) = testdata::python3() else { return };
    for (text, expected) in rows(include_str!("files/files_refused.txt")) {
        assert_eq!(refusal("my.py", &text), expected, "{text}");
    }
}

#[test]
fn members_without_effect_and_prints_are_shown() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(
        "import logging, sys\n\nprint('loaded', 1)\nperf_models_extension = {}\n\
         def f(event):\n    print(event.name, end = '')\n    logging.warning('warned')\n    return None\n\
         perf_model_extension = {'b': f, 'a': f}\nprint('é\\n\\n', file = sys.stderr, end = '')",
    );
    for name in ["b", "a", "b"] {
        let _ = extension.model(&OpCall { name, ..OpCall::default() });
    }
    let notices: Vec<_> = extension.notices().iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        [
            "my.py:4: perf_models_extension has no effect: a file may define perf_model_extension, \
             op_category_extension, dict_cat2names_extension, tree_postprocess_extension, \
             get_additional_dataframes_extension",
            "my.py: loaded 1",
            "my.py: é",
            "my.py: ",
            "my.py: bWARNING:root:warned",
            "my.py: aWARNING:root:warned",
        ]
    );
}

#[test]
fn a_call_is_asked_for_once() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(
        "from tracelens import work\ncount = 0\ndef f(event):\n    global count\n    count += 1\n    \
         return work(flops = count, category = 'x')\nperf_model_extension = {n: f for n in 'abc'}",
    );
    let names = ["a", "b", "a", "c", "b"];
    let calls = names.map(|name| OpCall { name, ..OpCall::default() });
    extension.prepare(&calls);
    let flops = calls.map(|call| extension.model(&call).unwrap().unwrap().model.flops().unwrap());
    assert_eq!(flops, [1.0, 2.0, 1.0, 3.0, 2.0]);
}
