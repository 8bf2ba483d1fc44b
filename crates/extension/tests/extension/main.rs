//! Extension files of both forms: what they may define, what they are refused for, and what they do to trees and
//! reports.
#![allow(clippy::unwrap_used)] // helpers of tests

use extension::{Extension, Python};
use perf_models::{OpCall, Undefined, Value};
use tree_perf::{AnalysisExtension, ExtensionModel};

mod fixture;
mod limits;
mod megatron;
mod python;
mod table;
mod tree;

fn load(text: &str) -> Extension {
    Extension::load("my.py", text, &Python::default()).unwrap()
}

/// Why a file of this name and text is refused.
fn refusal(path: &str, text: &str) -> String {
    refusal_with(path, text, &Python::default())
}

fn refusal_with(path: &str, text: &str, python: &Python) -> String {
    match Extension::load(path, text, python) {
        Ok(_) => format!("accepted: {text}"),
        Err(error) => match miette::Diagnostic::help(&error) {
            Some(help) => format!("{error}; {help}"),
            None => error.to_string(),
        },
    }
}

/// The answer of an extension to a call of `op` with one input.
fn answer(extension: &Extension) -> Result<ExtensionModel, Undefined> {
    let call = OpCall {
        name: "op",
        dims: Some(&[Value::tuple([4, 8])]),
        types: Some(&["float".into()]),
        attributes: &[("topk", 2.into())],
        kernels: &["k"],
        ..OpCall::default()
    };
    extension.model(&call).unwrap()
}

/// The rows of a file of `files`: what an extension says or does, and what is answered, with ` => ` between. `\n` in what
/// it says is a line break; the file begins with a comment.
fn rows(table: &str) -> impl Iterator<Item = (String, &str)> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let (said, answer) = row.split_once(" => ").unwrap_or_else(|| panic!("no => in {row}"));
        (said.replace("\\n", "\n"), answer)
    })
}

fn dims(shapes: &[&[i64]]) -> Vec<Value> {
    shapes.iter().map(|shape| Value::from(*shape)).collect()
}

fn texts(items: &[&str]) -> Vec<Value> {
    items.iter().map(|item| Value::from(*item)).collect()
}

/// The call of a fork of flash-attention that takes the output first.
fn with_attention_call<T>(asked: impl FnOnce(&OpCall<'_>) -> T) -> T {
    let (query, key) = (&[2, 4096, 32, 128][..], &[2, 4096, 8, 128][..]);
    asked(&OpCall {
        name: "my_attention::forward",
        dims: Some(&dims(&[query, query, key, key, &[], &[], &[]])),
        types: Some(&texts(&["c10::BFloat16"; 7])),
        strides: Some(&dims(&[&[], &[16_777_216, 4096, 128, 1], &[], &[], &[], &[], &[]])),
        concrete: Some(&texts(&["", "", "", "", "", "", "True"])),
        ..OpCall::default()
    })
}

#[test]
fn other_files_are_refused_with_what_to_do() {
    let star = refusal("my.star", "perf_model_extension = {}");
    assert!(star.starts_with("my.star: extension files end in .toml or .py; Starlark"), "{star}");
    assert!(star.contains("rename the file to .py, put `from tracelens import model"), "{star}");
    let other = refusal("my.json", "{}");
    assert!(other.contains("`tracelens extension --init my.toml`"), "{other}");
    let python = Python { program: "/no/such/python".into(), ..Python::default() };
    let none = refusal_with("my.py", "", &python);
    assert!(
        none.starts_with("my.py needs Python, but \"/no/such/python\" cannot be started: No such file"),
        "{none}"
    );
    assert!(none.contains("write the extension in TOML"), "{none}");
}

#[test]
fn the_files_to_start_from_load() {
    for (form, path) in [(extension::Form::Table, "start.toml"), (extension::Form::Python, "start.py")] {
        if form == extension::Form::Python && testdata::python3().is_none() {
            continue;
        }
        let extension = Extension::load(path, form.start(), &Python::default()).unwrap();
        let model = with_attention_call(|call| extension.model(call)).unwrap().unwrap();
        assert_eq!(
            (model.model.flops(), model.model.bytes()),
            (Ok(274_877_906_944.0), Ok(167_772_160.0)),
            "{path}"
        );
        assert_eq!(model.category, "SDPA_fwd");
        assert_eq!(extension.category("my_attention::backward"), Some("SDPA_bwd"));
        let swiglu = OpCall {
            name: "my::swiglu",
            dims: Some(&dims(&[&[4, 1024]])),
            types: Some(&texts(&["c10::BFloat16"])),
            ..OpCall::default()
        };
        let model = extension.model(&swiglu).unwrap().unwrap().model;
        assert_eq!((model.flops(), model.bytes()), (Ok(16384.0), Ok(24576.0)), "{path}");
        assert_eq!(model.parameters(), [("shape", model.parameters()[0].1.clone())]);
    }
}
