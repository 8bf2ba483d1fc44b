//! The table form.

use extension::{Extension, Form, Python};
use perf_models::{Family, OpCall, Value};
use tree_perf::AnalysisExtension;

use super::{answer, dims, refusal, rows, texts, with_attention_call};

fn load(text: &str) -> Extension {
    // A table needs no Python.
    let python = Python { program: "/no/such/python".into(), ..Python::default() };
    let extension = Extension::load("my.toml", text, &python).unwrap();
    assert_eq!(extension.form(), Form::Table);
    extension
}

#[test]
fn an_operator_is_modelled_as_a_built_in_one_over_other_inputs() {
    let extension = load(
        r#"
        [operator."my_attention::forward"]
        like = "flash_attn::_flash_attn_forward"
        inputs = [1, 2, 3, -1, -1, 6]
        concrete = { 3 = "'0.0'", 5 = "concrete[6]" }
        [categories]
        "my_attention::backward" = "SDPA_bwd"
        [sheets]
        forks = ["my_attention::forward"]
        "#,
    );
    let model = with_attention_call(|call| extension.model(call)).unwrap().unwrap();
    assert_eq!((model.model.flops(), model.model.bytes()), (Ok(274_877_906_944.0), Ok(167_772_160.0)));
    assert_eq!((model.family, model.category.as_str()), (Some(Family::Sdpa), "SDPA_fwd"));
    assert_eq!(extension.modelled(), ["my_attention::forward"]);
    assert_eq!(extension.categories(), [("my_attention::backward", "SDPA_bwd")]);
    assert_eq!(extension.sheet_members(), [("forks", "my_attention::forward")]);
    assert_eq!(extension.sheets("my_attention::forward"), ["forks"]);
    assert!(!extension.changes_tree() && extension.notices().is_empty());
    assert!(extension.model(&OpCall { name: "aten::mm", ..OpCall::default() }).is_none());
}

#[test]
fn types_of_the_built_in_operator_can_be_others() {
    let (shapes, types) = (dims(&[&[20, 512], &[512, 1024]]), texts(&["float"; 2]));
    let call = OpCall { name: "op", dims: Some(&shapes), types: Some(&types), ..OpCall::default() };
    let bytes = |table: &str| load(table).model(&call).unwrap().unwrap().model.bytes().unwrap();
    let plain = bytes("[operator.op]\nlike = 'aten::mm'");
    let half =
        bytes("[operator.op]\nlike = 'aten::mm'\ntypes = { 0 = \"'c10::Half'\", 1 = \"'c10::Half'\" }");
    assert_eq!((plain, half), (2.0 * half, plain / 2.0));
}

#[test]
fn figures_are_expressions() {
    let extension = load(
        r#"
        [operator.op]
        flops = "args['topk'] * prod(dims[0])"
        bytes = "prod(dims[0]) * size(types[0])"
        spec = "vector_fp32"
        category = "mine"
        sheet = "own"
        backward_flops = 3.5
        parameters = { kernel = "kernels[0]", rows = "dims[0][0]", half = 0.5 }
        "#,
    );
    let model = answer(&extension).unwrap();
    let figures = [model.model.flops(), model.model.bytes(), model.model.backward_flops()];
    assert_eq!(figures, [Ok(64.0), Ok(128.0), Ok(3.5)]);
    assert_eq!(
        model.model.backward_bytes().unwrap_err().reason,
        "the extension gives no bytes of the backward pass"
    );
    assert_eq!(model.model.compute_spec().unwrap().to_string(), "vector_fp32");
    let parameters = [("half", Value::Float(0.5)), ("kernel", "k".into()), ("rows", Value::Int(4))];
    assert_eq!(model.model.parameters(), parameters);
    assert_eq!((model.family, model.category.as_str()), (None, "mine"));
    assert_eq!(extension.sheets("op"), ["own"]);
}

#[test]
fn every_family_can_be_named() {
    for (family, parameters, flops) in [
        ("gemm", "m = 2, n = 3, k = 5, dtype = \"'float'\", bias = true, batch = 7", 7.0 * (60.0 + 6.0)),
        ("grouped_gemm", "m = 2, n = 3, k = 5, groups = 2, dtype = \"types[0]\"", 60.0),
        (
            "attention",
            "batch = 1, query_length = 2, query_heads = 1, head_dim = \"dims[0][0]\", dtype = \"types[0]\"",
            64.0,
        ),
        ("convolution", "shape = [1, 1, 4], filter_shape = [1, 1, 2], dtype = \"types[0]\"", 12.0),
        ("normalization", "shape = \"dims[0]\", dtype = \"types[0]\"", 6.0 * 8.0 + 5.0 * 32.0),
        (
            "normalization_backward",
            "shape = \"dims[0]\", dtype = \"types[0]\", output_mask = [true]",
            9.0 * 32.0,
        ),
    ] {
        let table =
            format!("[operator.op]\nfamily = '{family}'\nparameters = {{ {parameters} }}\nbackward = false");
        let model = answer(&load(&table)).unwrap().model;
        assert_eq!(model.flops(), Ok(flops), "{table}");
        assert!(model.backward_flops().is_err());
    }
}

#[test]
fn what_a_table_cannot_say_is_refused_with_its_line() {
    for (table, expected) in rows(include_str!("files/tables_refused.txt")) {
        let found = refusal("my.toml", &table);
        assert!(found.starts_with(expected), "{table}: {found}");
        assert!(found.ends_with(" (in loading)"), "{found}");
    }
}

#[test]
fn a_call_that_a_table_cannot_read_has_no_figures_and_a_reason() {
    for (operator, expected) in [
        ("category = 'x'\nflops = 'dims[9]'", "my.toml:3: index 9 is out of range for a list of 1"),
        ("category = 'x'\nflops = '0 - 1'", "my.toml:3: flops must be finite and not negative, found -1"),
        (
            "category = 'x'\nflops = '2 ** 5000'",
            "my.toml:3: flops must be finite and not negative, found inf",
        ),
        ("family = 'gemm'\nparameters = { m = 1 }", "my.toml:1: gemm needs the parameter \"n\""),
        ("like = 'aten::mm'", "my.toml:1: as aten::mm: Input Dims[1] is missing"),
    ] {
        let found = answer(&load(&format!("[operator.op]\n{operator}"))).unwrap_err().reason;
        assert_eq!(found, expected);
    }
}

/// Pieces that change what a table says, or how much of it.
const PIECES: [&str; 12] = [
    "((((((((",
    " ** 9999999",
    "-",
    "[",
    "]",
    "\"",
    "'",
    " if 1 else ",
    "\u{0}",
    "\u{1f600}",
    "[-9223372036854775808]",
    "\n",
];

/// Pseudo-random numbers (SplitMix64): the same damage in every run and on every machine.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) as usize
}

#[test]
fn damaged_tables_are_refused_or_answer() {
    let (mut state, mut loaded, mut refused) = (1, 0, 0);
    for _ in 0..2000 {
        let mut text: Vec<char> = Form::Table.start().chars().collect();
        for _ in 0..1 + next(&mut state) % 3 {
            let at = next(&mut state) % (text.len() + 1);
            let length = (next(&mut state) % 40).min(text.len() - at);
            match next(&mut state) % 2 {
                0 => drop(text.splice(at..at, PIECES[next(&mut state) % PIECES.len()].chars())),
                _ => drop(text.drain(at..at + length)),
            }
        }
        let text: String = text.into_iter().collect();
        match Extension::load("my.toml", &text, &Python::default()) {
            Err(error) => {
                refused += 1;
                assert!(error.to_string().starts_with("my.toml:"), "{error}");
            }
            Ok(extension) => {
                loaded += 1;
                for name in extension.modelled() {
                    let _ = extension.model(&OpCall { name, ..OpCall::default() });
                }
            }
        }
    }
    assert!(loaded > 100 && refused > 100, "{loaded} loaded, {refused} refused");
}
