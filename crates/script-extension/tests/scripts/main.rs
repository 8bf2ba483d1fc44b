//! Extension scripts: what they may define, what they are refused for, and what they do to trees and reports.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::time::Duration;

use perf_models::{Family, Gap, OpCall, Undefined, Value};
use script_extension::{Extension, ExtensionError, Limits};
use tree_perf::{AnalysisExtension, ExtensionModel};

mod damaged;
mod fixture;
mod megatron;
mod memory;
#[path = "../script_probe/mod.rs"]
mod script_probe;
mod tree;

const MY_ATTENTION: &str = include_str!("../../../../examples/extensions/my_attention.star");

fn load(text: &str) -> Extension {
    Extension::load("my.star", text).unwrap()
}

fn refusal(text: &str) -> String {
    match Extension::load("my.star", text) {
        Ok(_) => format!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

/// The answer of a script to a call of `op` with one input.
fn answer(script: &str) -> Result<ExtensionModel, Undefined> {
    let call = OpCall {
        name: "op",
        dims: Some(&[Value::tuple([4, 8])]),
        types: Some(&["float".into()]),
        attributes: &[("topk", 2.into())],
        kernels: &["k"],
        ..OpCall::default()
    };
    load(&format!("{script}\nperf_model_extension = {{'op': f}}")).model(&call).unwrap()
}

fn reason(script: &str) -> String {
    let undefined = answer(script).unwrap_err();
    assert_eq!(undefined.gap, Gap::Arguments, "{undefined}");
    undefined.reason.into_owned()
}

fn dims(shapes: &[&[i64]]) -> Vec<Value> {
    shapes.iter().map(|shape| Value::from(*shape)).collect()
}

fn texts(items: &[&str]) -> Vec<Value> {
    items.iter().map(|item| Value::from(*item)).collect()
}

#[test]
fn a_fork_of_attention_is_modelled_with_other_argument_positions() {
    let extension = Extension::load("my_attention.star", MY_ATTENTION).unwrap();
    let (query, key) = (&[2, 4096, 32, 128][..], &[2, 4096, 8, 128][..]);
    let call = OpCall {
        name: "my_attention::forward",
        dims: Some(&dims(&[query, query, key, key, &[], &[], &[]])),
        types: Some(&texts(&["c10::BFloat16"; 7])),
        concrete: Some(&texts(&["", "", "", "", "", "", "True"])),
        ..OpCall::default()
    };
    let ExtensionModel { model, family, category } = extension.model(&call).unwrap().unwrap();
    assert_eq!((model.flops(), model.bytes()), (Ok(274_877_906_944.0), Ok(167_772_160.0)));
    assert_eq!((family, category.as_str()), (Some(Family::Sdpa), "SDPA_fwd"));
    assert_eq!(extension.category("my_attention::backward"), Some("SDPA_bwd"));
    assert_eq!(extension.category("aten::mm"), None);
    assert!(extension.model(&OpCall { name: "aten::mm", ..OpCall::default() }).is_none());
    assert_eq!(extension.modelled().collect::<Vec<_>>(), ["my_attention::forward"]);
}

#[test]
fn a_function_sees_the_call_and_gives_figures_of_its_own() {
    let script = "
def f(event):
    n = prod(event.dims[0])
    return work(flops = n * event.args['topk'], bytes = n * element_size(event.types[0]), category = 'mine',
                spec = 'vector_fp32', backward_flops = 3.5,
                params = {'kernel': event.kernels[0], 'shape': event.dims[0], 'forward': event.forward})
";
    let ExtensionModel { model, family, category } = answer(script).unwrap();
    assert_eq!((model.flops(), model.bytes(), model.backward_flops()), (Ok(64.0), Ok(128.0), Ok(3.5)));
    assert_eq!(
        model.backward_bytes().unwrap_err().reason,
        "the extension script gives no bytes of the backward pass"
    );
    assert_eq!(model.compute_spec().unwrap().to_string(), "vector_fp32");
    assert_eq!(
        model.parameters(),
        [("kernel", Value::from("k")), ("shape", Value::tuple([4, 8])), ("forward", Value::None)]
    );
    assert_eq!((family, category.as_str()), (None, "mine"));
}

#[test]
fn every_family_can_be_named() {
    for (call, flops) in [
        ("'gemm', m = 2, n = 3, k = 5, dtype = 'float', bias = True, batch = 7", 7.0 * (60.0 + 6.0)),
        ("'gemm', m = 4 / 2, n = 3, k = 5, dtype = 'float', category = 'x', backward = False", 60.0),
        ("'grouped_gemm', m = 2, n = 3, k = 5, groups = 2, dtype = 'float'", 60.0),
        ("'attention', batch = 1, query_length = 2, query_heads = 1, head_dim = 4, dtype = 'float'", 64.0),
        ("'convolution', shape = (1, 1, 4), filter_shape = (1, 1, 2), dtype = 'float'", 12.0),
        ("'normalization', shape = event.dims[0], dtype = 'float'", 6.0 * 8.0 + 5.0 * 32.0),
        (
            "'normalization_backward', shape = event.dims[0], dtype = 'float', output_mask = [True]",
            9.0 * 32.0,
        ),
    ] {
        let model = answer(&format!("def f(event): return model({call})")).unwrap().model;
        assert_eq!(model.flops(), Ok(flops), "{call}");
    }
    let script = "def f(event): return model('cross_entropy', shape = event.dims[0], dtype = 'float')";
    assert!(answer(script).unwrap().model.flops().unwrap() > 0.0);
}

#[test]
fn a_call_that_a_function_cannot_read_has_no_figures_and_a_reason() {
    for (body, expected) in [
        ("return event.dims[9]", "my.star:1: Index"),
        (
            "return event.shape",
            "my.star:1: Object of type `struct` has no attribute `shape`; a call has name, dims, types, strides, \
             concrete, args, kernels, annotation, forward",
        ),
        ("fail('only two dimensions')", "my.star:1: only two dimensions"),
        ("return 5", "my.star: the function for op must return model(…), work(…) or None, found a int"),
        ("return model('gem')", "my.star:1: there is no model family \"gem\"; there are gemm, grouped_gemm"),
        ("return model('gemm', m = 1)", "my.star:1: gemm needs the parameter \"n\""),
        ("return model('gemm', M = 1)", "my.star:1: gemm has no parameter \"M\"; it has m, n, k, dtype"),
        (
            "return model('gemm', m = 1, n = 1, k = 1, dtype = 'float', activation = 'swish')",
            "my.star:1: gemm needs one of relu, sigmoid, tanh, silu, gelu, gelu_tanh as activation, found 'swish'",
        ),
        (
            "return model('gemm', m = -1, n = 1, k = 1, dtype = 'float')",
            "my.star:1: gemm needs a whole number of at least 0 as m, found -1",
        ),
        (
            "return work(flops = -1, category = 'x')",
            "my.star:1: work needs a number of at least 0 as flops, found -1",
        ),
        ("return work(spec = 'fast', category = 'x')", "my.star:1: spec must be like \"matrix_bf16\""),
        ("return element_size('nothing')", "my.star:1: element type \"nothing\" has no known size"),
        ("return f(event)", "my.star:1: functions call each other too deeply"),
    ] {
        let found = reason(&format!("def f(event): {body}"));
        assert!(found.starts_with(expected), "{body}: {found}");
    }
    let undefined = answer("def f(event): return None").unwrap_err();
    assert_eq!(
        (undefined.gap, undefined.reason.as_ref()),
        (Gap::NoFormula, "my.star has no figures for this call")
    );
}

#[test]
fn a_model_that_runs_on_is_stopped() {
    let found = reason("def f(event):\n  for a in range(1000000):\n    for b in range(1000000):\n      pass");
    assert_eq!(found, "my.star:3: the script made 1000000 calls and passes of loops without an end");
    let found = reason("def f(event): return [1 for a in range(1000000) for b in range(1000000)]");
    assert!(found.contains("without an end"), "{found}");
}

#[test]
fn a_script_that_does_not_end_is_an_error() {
    let limits = Limits { loading_steps: 10_000, memory_bytes: 1 << 20, ..Limits::default() };
    let error = |text: &str, limits| Extension::load_with("my.star", text, limits).unwrap_err().to_string();
    assert_eq!(
        error("x = 1\nfor i in range(1000000000):\n    x = i", limits),
        "my.star:3: the script made 10000 calls and passes of loops without an end (in loading); look for a loop or \
         recursion that does not end, or a value that grows too large"
    );
    assert_eq!(
        error("def f(n):\n    return f(n + 1)\nf(0)", limits),
        "my.star:2: functions call each other too deeply (in loading); look for a loop or recursion \
         that does not end, or a value that grows too large"
    );
    let grown =
        error("x = ['a']\nfor i in range(5000):\n    x.append('abcdefghijklmnop' * 100 + str(i))", limits);
    assert!(grown.contains("the script holds more than 1 MiB"), "{grown}");
    let hurried = Limits { time: Duration::from_millis(20), ..Limits::default() };
    let late = error("for i in range(1000000000):\n    pass", hurried);
    assert!(late.contains("the script ran longer than 0.02 s"), "{late}");
    let long = error(&"#".repeat(1 << 20), limits);
    assert!(long.contains("a script may have 256 KiB, not 1024"), "{long}");
}

#[test]
fn deep_nesting_does_not_end_the_program() {
    for text in [
        format!("x = {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("x = {}1", "1 + ".repeat(60_000)),
        format!("x = {}1", "-".repeat(200_000)),
        format!("x = {}[]{}", "[".repeat(100_000), "]".repeat(100_000)),
    ] {
        // Whether it is accepted is the interpreter's business.
        let _ = Extension::load("my.star", &text);
    }
}

#[test]
fn python_that_is_not_starlark_is_named_with_what_to_write_instead() {
    for (text, expected) in [
        (
            "import torch\n\nclass MyGemm(GEMM):\n    pass\n",
            "my.star:1: `import` is Python but not Starlark, the language of extension scripts; remove the import: \
             `model`, `work`, `prod` and `element_size` are there without one; to be changed, too: line 3 (`class`)",
        ),
        (
            "def f(e):\n    try:\n        pass\n    except KeyError:\n        pass\n",
            "my.star:2: `try` is Python",
        ),
        ("def f(e):\n    while True:\n        pass\n", "my.star:2: `while` is Python"),
        ("def f(e):\n    with open('x') as y:\n        pass\n", "my.star:2: `with` is Python"),
        ("def f(e):\n    raise ValueError('x')\n", "my.star:2: `raise` is Python"),
        ("def f(e):\n    if e is None:\n        pass\n", "my.star:2: `is None` is Python"),
        ("def f(e):\n    return e.n ** 2\n", "my.star:2: `**` is Python"),
        ("def f(e):\n    return f'{e.name:>20}'\n", "my.star:2: `f'` is Python"),
        ("def f(e):\n    assert e.n\n", "my.star:2: `assert` is Python"),
        ("@cached\ndef f(e):\n    pass\n", "my.star:1: `@` is Python"),
        ("def f(e) return 1", "my.star:1: Parse error"),
        (
            "def f(e):\n\treturn 1\n        return 2\n",
            "my.star:2: Parse error: tabs are not allowed; indent with spaces",
        ),
    ] {
        let error = refusal(text);
        assert!(error.starts_with(expected), "{text}\n{error}");
        assert!(matches!(Extension::load("my.star", text), Err(ExtensionError::Syntax { .. })));
    }
    load("def f(e: dict[str, int]) -> int:\n    name = 'a'\n    return f'{name} {e.name}'\n");
}

#[test]
fn a_failure_while_loading_names_its_line() {
    assert_eq!(refusal("x = 1\ny = x // 0"), "my.star:2: Floor division by zero: 1 // 0 (in loading)");
    let unknown = refusal("x = 1\ny = torch");
    assert!(unknown.starts_with("my.star:2: Variable `torch` not found"), "{unknown}");
    let early = refusal("model('gemm', m = 1, n = 1, k = 1, dtype = 'float')\nopen('/etc/passwd')");
    assert!(early.starts_with("my.star:2: Variable `open` not found"), "{early}");
}

#[test]
fn members_of_another_form_are_refused() {
    for (text, expected) in [
        (
            "\nperf_model_extension = [1]",
            "my.star:2: perf_model_extension must be a dict from operator name to function, found a list",
        ),
        (
            "perf_model_extension = {'a': 1}",
            "my.star:1: perf_model_extension must be a dict from operator name to function, found a int for a",
        ),
        (
            "op_category_extension = {1: 'GEMM'}",
            "my.star:1: op_category_extension must be a dict from operator name to category, found the key 1",
        ),
        (
            "dict_cat2names_extension = ['x']",
            "my.star:1: dict_cat2names_extension must be a dict from sheet to list of operator names, found a list",
        ),
        (
            "dict_cat2names_extension = {'GEMM': 'x'}",
            "my.star:1: dict_cat2names_extension must be a dict from sheet to list of operator names, found a string for GEMM",
        ),
        (
            "dict_cat2names_extension = {'GEMM': [1]}",
            "my.star:1: dict_cat2names_extension must be a dict from sheet to list of operator names, found a list for GEMM",
        ),
        (
            "tree_postprocess_extension = 'x'",
            "my.star:1: tree_postprocess_extension must be a function of the tree, found a string",
        ),
    ] {
        assert_eq!(refusal(text), expected);
    }
}

#[test]
fn members_without_effect_and_prints_are_shown() {
    let extension = load(
        "get_additional_dataframes_extension = None\nprint('loaded', 1)\nperf_models_extension = {}\n\
         def f(event):\n    print(event.name)\n    return None\nperf_model_extension = {'b': f, 'a': f}",
    );
    for name in ["b", "a", "b"] {
        let _ = extension.model(&OpCall { name, ..OpCall::default() });
    }
    let notices: Vec<_> = extension.notices().iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        [
            "my.star:1: get_additional_dataframes_extension has no effect: scripts cannot add tables",
            "my.star:3: perf_models_extension has no effect: a script may define perf_model_extension, \
             op_category_extension, dict_cat2names_extension, tree_postprocess_extension",
            "my.star: loaded 1",
            "my.star: a",
            "my.star: b",
        ]
    );
}

#[test]
fn answers_do_not_depend_on_order_or_thread() {
    let script = "seen = []\ndef f(event):\n    seen.append(event.name)\n    return work(flops = len(seen), category = 'x')";
    assert!(reason(script).contains("Immutable"), "what a script defined is frozen");
    let extension = load(
        "def f(event): return work(flops = hash(event.name) % 97, category = 'x')\nperf_model_extension = {n: f for n in 'abcdefgh'.elems()}",
    );
    let ask =
        |name: &str| extension.model(&OpCall { name, ..OpCall::default() }).unwrap().unwrap().model.flops();
    let names: Vec<String> = "abcdefgh".chars().map(String::from).collect();
    let alone: Vec<_> = names.iter().map(|name| ask(name)).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = names.iter().map(|name| scope.spawn(|| ask(name))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}
