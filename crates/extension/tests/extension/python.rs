//! Models, members and messages of Python files.

use extension::{Extension, Form, Python};
use perf_models::{Family, Gap, OpCall, Value};
use tree_perf::AnalysisExtension;

use super::{answer, load, no_python, refusal, with_attention_call};

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
    if no_python() {
        return;
    }
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
    if no_python() {
        return;
    }
    let extension = load(
        r#"
from TraceLens.PerfModel import *
from TraceLens import PerfModel

class mm(PerfModel.GEMM):
    def get_param_details(self, event):
        return {"M": 40960, "N": 6144, "K": 1536, "bias": False, "dtype_A_B": ("c10::BFloat16", "c10::BFloat16")}

class unary(UnaryElementwise):
    def get_param_details(self, event):
        return {"op_shape": (4, 8), "dtype_in_out": ("float", None)}

class binary(BinaryElementwise):
    def get_param_details(self, event):
        return {"shape_in1": (1, 559, 64), "shape_in2": (), "dtype_in1_in2_out": ("float", "double", None)}

class layer_norm(Normalization):
    def get_param_details(self, event):
        return {"op_shape": (4, 197, 768), "dtype_in_out": ("c10::BFloat16", None), "num_channels": 768,
                "has_bias": True, "is_affine": True, "is_training": True}

class plain:
    category = "NORM_fwd"
    def __init__(self, event, arch=None, python_path=None):
        self.n = event["args"]["Input Dims"][0][1] * event["args"]["topk"]
    def flops(self): return self.n
    def bytes(self): return None

perf_model_extension = {c.__name__: c for c in (mm, unary, binary, layer_norm)}
perf_model_extension["op"] = plain
"#,
    );
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
fn a_function_sees_the_call_and_gives_figures_of_its_own() {
    if no_python() {
        return;
    }
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
    if no_python() {
        return;
    }
    for (body, expected) in [
        ("return event.dims[9]", "my.py:3: IndexError: tuple index out of range"),
        ("return event.shape", "my.py:3: AttributeError: an event has no shape; it has name, args"),
        ("fail('only two dimensions')", "my.py:3: only two dimensions"),
        ("raise ValueError('no')", "my.py:3: ValueError: no"),
        ("assert len(event.dims) == 2", "my.py:3: AssertionError: assert len(event.dims) == 2"),
        ("import no_such_module", "my.py:3: ModuleNotFoundError: No module named 'no_such_module'"),
        ("return 5", "my.py: the function for op must return model(…), work(…) or None, found a int"),
        ("return model('gem')", "my.py:3: there is no model family \"gem\"; there are gemm, grouped_gemm"),
        ("return model('gemm', m = 1)", "my.py:3: gemm needs the parameter \"n\""),
        ("return model('gemm', M = 1)", "my.py:3: gemm has no parameter \"M\"; it has m, n, k, dtype"),
        (
            "return model('gemm', m = -1, n = 1, k = 1, dtype = 'float')",
            "my.py:3: gemm needs a whole number of at least 0 as m, found -1",
        ),
        (
            "return work(flops = -1, category = 'x')",
            "my.py:3: flops must be a number of at least 0, found -1",
        ),
        (
            "return work(flops = float('nan'), category = 'x')",
            "my.py:3: flops must be a number of at least 0",
        ),
        ("return work(flops = f, category = 'x')", "my.py:3: TypeError: flops must be a number, text, flag"),
        ("return work(spec = 'fast', category = 'x')", "my.py:3: spec must be like \"matrix_bf16\""),
        ("return work(category = 5)", "my.py:3: the category is missing"),
        ("return element_size('nothing')", "my.py:3: element type \"nothing\" has no known size"),
        ("return f(event)", "my.py:3: functions call each other too deeply"),
        ("raise SystemExit(3)", "my.py:3: SystemExit: 3"),
        (
            "from TraceLens.PerfModel import Nothing\n    class A(Nothing): pass",
            "my.py:4: ImportError: TraceLens.PerfModel.Nothing is not there in tracelens; there are BinaryElementwise,",
        ),
    ] {
        let found = reason(&format!("def f(event):\n    {body}"));
        assert!(found.starts_with(expected), "{body}: {found}");
    }
    for (body, expected) in [
        ("return None", "my.py has no figures for this call"),
        ("raise NotImplementedError('in training')", "my.py:3: NotImplementedError: in training"),
    ] {
        let undefined = answer(&of_function(&format!("def f(event):\n    {body}"))).unwrap_err();
        assert_eq!((undefined.gap, undefined.reason.as_ref()), (Gap::NoFormula, expected));
    }
}

#[test]
fn a_failure_while_loading_names_its_line() {
    if no_python() {
        return;
    }
    for (text, expected) in [
        ("x = 1\ny = x // 0", "my.py:2: ZeroDivisionError: integer division or modulo by zero (in loading)"),
        ("x = 1\ny = torch", "my.py:2: NameError: name 'torch' is not defined (in loading)"),
        ("x = (1\n", "my.py:1: SyntaxError: '(' was never closed (in loading)"),
        ("def f():\n    raise KeyError('a')\n\nf()", "my.py:2: KeyError: 'a' (in loading)"),
        (
            "import os\nos._exit(3)",
            "my.py: the process of the file ended without an answer (exit status: 3) (in loading)",
        ),
        ("\nexit(4)", "my.py:2: SystemExit: 4 (in loading)"),
        (
            "\nperf_model_extension = [1]",
            "my.py:2: perf_model_extension must be a dict from operator name to function, or to class with a category, \
             found a list (in loading)",
        ),
        (
            "perf_model_extension = {'a': 1}",
            "my.py:1: perf_model_extension must be a dict from operator name to function, or to class with a category, \
             found a int for a (in loading)",
        ),
        (
            "class A: pass\nperf_model_extension = {'a': A}",
            "my.py:2: perf_model_extension must be a dict from operator name to function, or to class with a category, \
             found a type for a (in loading)",
        ),
        (
            "op_category_extension = {1: 'GEMM'}",
            "my.py:1: op_category_extension must be a dict from operator name to category, found the key 1 (in loading)",
        ),
        (
            "dict_cat2names_extension = {'GEMM': 'x'}",
            "my.py:1: dict_cat2names_extension must be a dict from sheet to list of operator names, found a str for \
             GEMM (in loading)",
        ),
        (
            "tree_postprocess_extension = 'x'",
            "my.py:1: tree_postprocess_extension must be a function of the tree, found a str (in loading)",
        ),
    ] {
        assert_eq!(refusal("my.py", text), expected);
    }
}

#[test]
fn members_without_effect_and_prints_are_shown() {
    if no_python() {
        return;
    }
    let extension = load(
        "import logging, sys\nget_additional_dataframes_extension = None\nprint('loaded', 1)\nperf_models_extension = {}\n\
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
            "my.py:2: get_additional_dataframes_extension has no effect: extension files cannot add tables",
            "my.py:4: perf_models_extension has no effect: a file may define perf_model_extension, \
             op_category_extension, dict_cat2names_extension, tree_postprocess_extension",
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
    if no_python() {
        return;
    }
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
