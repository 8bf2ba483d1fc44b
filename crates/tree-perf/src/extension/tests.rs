use std::time::Duration;

use perf_models::{Family, Gap, OpCall, Undefined, Value};
use trace_ingest::{ArgumentValue, Category, EventArguments, EventId, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

use super::{Extension, ExtensionError, Limits, ScriptModel};

const MY_ATTENTION: &str = include_str!("../../../../examples/extensions/my_attention.star");
const MEGATRON: &str = include_str!("../../../../examples/extensions/megatron_te_v2.star");

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
fn answer(script: &str) -> Result<ScriptModel, Undefined> {
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
    let ScriptModel { model, family, category } = extension.model(&call).unwrap().unwrap();
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
    let ScriptModel { model, family, category } = answer(script).unwrap();
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
        ("return event.shape", "my.star:1: Object of type `struct` has no attribute `shape`"),
        ("fail('only two dimensions')", "my.star:1: only two dimensions"),
        ("return 5", "my.star: the function for op must return model(…), work(…) or None, found a int"),
        ("return model('gem')", "my.star:1: there is no model family \"gem\"; there are gemm, grouped_gemm"),
        ("return model('gemm', m = 1)", "my.star:1: gemm needs the parameter \"n\""),
        ("return model('gemm', M = 1)", "my.star:1: gemm has no parameter \"M\"; it has m, n, k, dtype"),
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
    let limits = Limits { steps: 10_000, memory_bytes: 1 << 20, ..Limits::default() };
    let error = |text: &str, limits| Extension::load_with("my.star", text, limits).unwrap_err().to_string();
    assert_eq!(
        error("x = 1\nfor i in range(1000000000):\n    x = i", limits),
        "my.star:3: the script made 10000 calls and passes of loops without an end (in loading); look for a loop or \
         recursion that does not end"
    );
    assert_eq!(
        error("def f(n):\n    return f(n + 1)\nf(0)", limits),
        "my.star:2: functions call each other too deeply (in loading); look for a loop or recursion that does not end"
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
             `model`, `work`, `prod` and `element_size` are there without one; to be changed, too: lines 3 (`class`)",
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
        "dict_cat2names_extension = {'GEMM': ['a']}\nprint('loaded', 1)\nperf_models_extension = {}\n\
         def f(event):\n    print(event.name)\n    return None\nperf_model_extension = {'b': f, 'a': f}",
    );
    for name in ["b", "a", "b"] {
        let _ = extension.model(&OpCall { name, ..OpCall::default() });
    }
    let notices: Vec<_> = extension.notices().iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        [
            "my.star:1: dict_cat2names_extension has no effect: it is deprecated; give categories with \
             op_category_extension or category=",
            "my.star:3: perf_models_extension has no effect: a script may define perf_model_extension, \
             op_category_extension, tree_postprocess_extension",
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

/// A trace of operators on thread 1 with launches below them; times in µs.
struct Fixture(TraceBuilder);

impl Fixture {
    fn event(
        &mut self,
        category: Category,
        name: &str,
        tid: i64,
        at: (i64, i64),
        arguments: EventArguments,
    ) -> EventId {
        let track = self.0.track(1, tid);
        self.0.event(category, name, track, at.0 * 1000, at.1 * 1000, arguments)
    }

    fn op(
        &mut self,
        name: &str,
        tid: i64,
        at: (i64, i64),
        sequence_number: Option<i64>,
        lists: [Option<ArgumentValue>; 4],
    ) -> EventId {
        let signature = Some(self.0.signature(lists));
        let arguments = EventArguments { signature, sequence_number, ..EventArguments::default() };
        self.event(Category::CPU_OP, name, tid, at, arguments)
    }

    fn kernel(&mut self, name: &str, tid: i64, at: i64, correlation: i64) -> EventId {
        let arguments = EventArguments { correlation: Some(correlation), ..EventArguments::default() };
        self.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", tid, (at, 2), arguments);
        let arguments = EventArguments { device: Some(0), stream: Some(7), ..arguments };
        self.event(Category::KERNEL, name, 70, (at + 1000, 10), arguments)
    }

    fn tree(self) -> TraceTree {
        TraceTree::build(self.0.finish(), &TreeOptions::default())
    }
}

fn fixture() -> Fixture {
    Fixture(TraceBuilder::new())
}

fn list(items: impl IntoIterator<Item = ArgumentValue>) -> ArgumentValue {
    ArgumentValue::List(items.into_iter().collect())
}

fn shapes(shapes: &[&[i64]]) -> Option<ArgumentValue> {
    Some(list(shapes.iter().map(|shape| list(shape.iter().map(|&size| ArgumentValue::Int(size))))))
}

fn words(words: &[&str]) -> Option<ArgumentValue> {
    Some(list(words.iter().map(|word| ArgumentValue::Text((*word).into()))))
}

fn two_kernels() -> TraceTree {
    let mut fixture = fixture();
    fixture.op("moe", 1, (0, 100), Some(6), [shapes(&[&[4]]), None, None, None]);
    fixture.kernel("up", 1, 10, 1);
    fixture.kernel("down", 1, 20, 2);
    fixture.tree()
}

#[test]
fn a_tree_is_walked_and_gets_operators() {
    let extension = load(
        "
def tree_postprocess_extension(tree):
    for op in tree.events_by_name('moe'):
        kernels = tree.gpu_events(op)
        inserted = [tree.isolate(kernel, 'pseudo_' + kernel.name, args = {'part': kernel.name}) for kernel in kernels]
        tree.wrap_children(op, 'all parts', sequence_number = 9)
        top = tree.insert_above(op, 'top', donor = op)
        tree.set_arg(inserted[0], 'topk', 2)
        print([e.name for e in tree.ancestors(kernels[0])], tree.parent(top), op.dims, op.sequence_number)
        print([e.name for e in tree.children(op)], [(e.name, e.args) for e in tree.events_by_name('pseudo_up')])
        print([r.name for r in tree.roots()], tree.operator(kernels[1]).name, len(tree.descendants(top)))
",
    );
    let mut tree = two_kernels();
    let done = extension.postprocess(&mut tree).unwrap();
    let printed: Vec<_> = done.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        printed,
        [
            "my.star: [\"cudaLaunchKernel\", \"pseudo_up\", \"all parts\", \"moe\", \"top\"] None ((4,),) 6",
            "my.star: [\"all parts\"] [(\"pseudo_up\", {\"part\": \"up\", \"topk\": 2})]",
            "my.star: [\"top\"] pseudo_down 8",
        ]
    );
    let [inserted] = tree.find_by_name("pseudo_up") else { panic!("one operator") };
    assert_eq!(done.attributes[inserted], [("topk".to_owned(), Value::Int(2))]);
    assert_eq!(tree.device_events(*inserted).len(), 1);
    assert!(tree.is_pseudo_operator(*inserted));
    let mut again = two_kernels();
    assert_eq!(extension.postprocess(&mut again).unwrap(), done);
    assert_eq!(again.trace().events().len(), tree.trace().events().len());
}

#[test]
fn insertions_that_cannot_be_made_are_refused_where_they_are_asked_for() {
    for (body, expected) in [
        (
            "tree.isolate(tree.roots()[0], 'p')",
            "event 0 (moe) is not a device event with a launch in the tree",
        ),
        (
            "tree.insert_above(tree.gpu_events(tree.roots()[0])[0], 'p')",
            "event 2 (up) is not a host event of the tree",
        ),
        (
            "tree.wrap_children(tree.children(tree.roots()[0])[0], 'p')",
            "event 1 (cudaLaunchKernel) has no host children to wrap",
        ),
        ("tree.children(struct(id = 77))", "the tree has no event 77"),
        ("tree.children('moe')", "expected an event of the tree, found a string"),
        ("tree.set_arg(tree.roots()[0], 'x', tree.roots)", "an argument cannot be a function"),
        ("fail('no such luck')", "no such luck"),
    ] {
        let extension = load(&format!("def tree_postprocess_extension(tree):\n    {body}"));
        let mut tree = two_kernels();
        let error = extension.postprocess(&mut tree).unwrap_err().to_string();
        assert_eq!(error, format!("my.star:2: {expected} (in tree_postprocess_extension)"));
        assert_eq!(tree.trace().events().len(), 5);
    }
    let endless = load("def tree_postprocess_extension(tree):\n    tree_postprocess_extension(tree)");
    assert!(matches!(endless.postprocess(&mut two_kernels()), Err(ExtensionError::Limit { .. })));
    assert_eq!(load("x = 1").postprocess(&mut two_kernels()).unwrap(), Default::default());
}

/// `_Linear` with its kernel, and its backward with two.
fn linear_layer() -> TraceTree {
    let mut fixture = fixture();
    let lists = [
        shapes(&[&[1024, 512], &[20, 512], &[], &[], &[]]),
        words(&["c10::BFloat16", "c10::BFloat16", "", "", ""]),
        None,
        words(&["", "", "", "", "False"]),
    ];
    fixture.op("_Linear", 1, (0, 100), Some(3), lists);
    fixture.kernel("nvjet_y", 1, 10, 1);
    let none = [None, None, None, None];
    fixture.op("autograd::engine::evaluate_function: _LinearBackward", 2, (500, 100), Some(3), none.clone());
    fixture.op("_LinearBackward", 2, (501, 90), Some(3), none);
    fixture.kernel("nvjet_x", 2, 510, 2);
    fixture.kernel("nvjet_w", 2, 520, 3);
    fixture.kernel("bias", 2, 530, 4);
    fixture.tree()
}

#[test]
fn megatron_layers_get_their_three_matrix_multiplications() {
    let extension = Extension::load("megatron_te_v2.star", MEGATRON).unwrap();
    let mut tree = linear_layer();
    assert_eq!(extension.postprocess(&mut tree).unwrap().notices, []);
    for (name, kernel) in [
        ("_Linear_yfwd_mm", "nvjet_y"),
        ("_LinearBackward_xgrad_mm", "nvjet_x"),
        ("_LinearBackward_wgrad_mm", "nvjet_w"),
    ] {
        let [event] = *tree.find_by_name(name) else { panic!("{name}") };
        let kernels: Vec<_> =
            tree.device_events(event).iter().map(|&event| tree.trace().name(event)).collect();
        assert_eq!(kernels, [kernel]);
        assert_eq!(tree.trace().events().sequence_number(event), Some(3));
        let attributes: Vec<(&str, Value)> = tree
            .pseudo_attributes(event)
            .iter()
            .map(|(name, value)| (name.as_str(), crate::models::value(value)))
            .collect();
        let call = OpCall { name, attributes: &attributes, ..OpCall::default() };
        let model = extension.model(&call).unwrap().unwrap().model;
        assert_eq!((model.flops(), model.bytes()), (Ok(20_971_520.0), Ok(1_110_016.0)), "{name}");
        assert!(model.backward_flops().is_err());
    }
}

#[test]
fn megatron_operators_have_the_figures_of_their_families() {
    let extension = Extension::load("megatron_te_v2.star", MEGATRON).unwrap();
    let bf16 = texts(&["c10::BFloat16"; 12]);
    let (query, key) = (&[4096, 2, 32, 128][..], &[4096, 2, 8, 128][..]);
    let none = &[][..];
    let attention = dims(&[none, none, none, none, none, none, none, none, none, query, key, key]);
    let input = &[2048, 4, 2048][..];
    for (name, dims, flops, bytes) in [
        ("FusedAttnFunc", attention, 274_877_906_944.0, 167_772_160.0),
        ("LayerNormFn", dims(&[input, &[2048], none]), 83_898_368.0, 67_129_344.0),
        ("LayerNormFnBackward", dims(&[input]), 150_994_944.0, 100_675_584.0),
        ("GroupedGemm", dims(&[&[4096, 1024], &[8, 2048, 1024]]), 17_179_869_184.0, 58_720_256.0),
    ] {
        let concrete = texts(&["", "", "", "True"]);
        let call = OpCall {
            name,
            dims: Some(&dims),
            types: Some(&bf16),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        let model = extension.model(&call).unwrap().unwrap().model;
        assert_eq!((model.flops(), model.bytes()), (Ok(flops), Ok(bytes)), "{name}");
    }
    let backward = OpCall { name: "_LayerNormLinearBackward", types: Some(&bf16), ..OpCall::default() };
    let reason = extension.model(&backward).unwrap().unwrap_err().reason;
    assert!(reason.ends_with("the forward operator, which has the shapes, was not found"), "{reason}");
    let attributes =
        [("_ln_input_shape", Value::tuple([2048, 4, 2048])), ("_ln_weight_shape", Value::tuple([2048]))];
    let model = extension.model(&OpCall { attributes: &attributes, ..backward }).unwrap().unwrap().model;
    assert_eq!(model.flops(), Ok(150_994_944.0));
    assert_eq!(extension.category("GroupedGemmBackward"), Some("GroupedGEMM_bwd"));
}
