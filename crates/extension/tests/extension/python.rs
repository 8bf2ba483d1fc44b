//! Models, members and messages of Python files.

use extension::{Extension, Form, Python};
use perf_models::{Family, Gap, OpCall, Value};
use tree_perf::AnalysisExtension;

use super::fixture::{Fixture, shapes};
use super::{answer, dims, load, refusal, texts, with_attention_call};

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
fn classes_of_single_operators_have_the_built_in_model() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(
        r#"
from TraceLens.PerfModel.perf_model import aten_mm, flash_attention
from TraceLens.PerfModel.extensions import vllm_unified_attention_with_output as unified, mla_decode_fwd
from TraceLens.PerfModel.torch_op_mapping import op_to_perf_model_class_map

assert mla_decode_fwd.category == "InferenceAttention" and "my::op" not in op_to_perf_model_class_map

class with_output(aten_mm):
    def bytes(self):
        return super().bytes() + 1000

class half(aten_mm):
    @staticmethod
    def get_param_details(event):
        details = aten_mm.get_param_details(event)
        details["M"] //= 2
        return details
    def bytes(self):
        return super().bytes(bpe_mat1=1, bpe_mat2=1, bpe_bias=1, bpe_output=2)

class fork(flash_attention):
    def get_param_details(self, event):
        return {**super().get_param_details(event), "causal": False}

op_to_perf_model_class_map["my::addmm"] = op_to_perf_model_class_map["aten::addmm"]
perf_model_extension = {"mm": aten_mm, "with_output": with_output, "half": half, "flash": flash_attention, "fork": fork,
                        "unified": unified}
"#,
    );
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
        ("my::addmm", &sum, 20_992_000.0, 1_112_064.0),
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
    for (body, reason) in [
        (
            "return [1]",
            "get_additional_dataframes_extension must return a dict from name to table, found a list",
        ),
        (
            "return {'x': 1}",
            "the table x must be a list of dicts, a dict of lists or a data frame, found a int",
        ),
        ("return {'a/b': []}", "`a/b` cannot name a table"),
        ("return {'x': {'a': [1], 'b': []}}", "column `b` of table `x` has 0 cells and the first column 1"),
        ("tree.nothing()", "my.py:2: AttributeError: the tree has no nothing"),
    ] {
        let extension = load(&format!(
            "def get_additional_dataframes_extension(tree):
    {body}"
        ));
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
    let Some(_) = testdata::python3() else { return };
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
