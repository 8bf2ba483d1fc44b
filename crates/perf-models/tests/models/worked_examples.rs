//! Calls with their answers, worked out by hand, and why others have none.

use std::collections::{BTreeMap, BTreeSet};

use perf_models::{Gap, OpCall, Value, model};

use crate::call::{Call, attribute, figures};

/// A line of `worked_examples.txt`: the operator, its shapes and types as in [`Call::new`], then fields of the call
/// and answers, which are named; `@` stands for a text that several lines share.
struct Example {
    line: &'static str,
    call: Call,
    /// By what they answer.
    answers: Vec<(&'static str, &'static str)>,
}

impl Example {
    fn read(line: &'static str, shared: &BTreeMap<&str, &'static str>) -> Self {
        let mut fields = line.split(" | ");
        let [name, shapes, types] = std::array::from_fn(|_| fields.next().unwrap());
        let mut example = Self { line, call: Call::new(name, shapes, types), answers: Vec::new() };
        for field in fields {
            let (field, text) = field.split_once(' ').unwrap();
            let text = shared.get(text).copied().unwrap_or(text);
            let call = std::mem::take(&mut example.call);
            example.call = match field {
                // By the index of the input.
                "scalars" => {
                    let scalars = text.split("; ").map(|scalar| scalar.split_once('=').unwrap());
                    call.with(&scalars.map(|(at, text)| (at.parse().unwrap(), text)).collect::<Vec<_>>())
                }
                // All from an input on.
                "from" => {
                    let (first, texts) = text.split_once(' ').unwrap();
                    call.scalars(first.parse().unwrap(), texts)
                }
                "step" => call.step(text),
                "kernel" => call.kernel(text),
                "argument" => {
                    let (name, value) = text.split_once('=').unwrap();
                    call.attribute(name, attribute(value))
                }
                answer => {
                    example.answers.push((answer, text));
                    call
                }
            };
        }
        example
    }

    /// What is not as it was worked out.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut compare = |what: &str, found: String, expected: &str| {
            if found != expected {
                wrong.push(format!("{}: {what} {found}, not {expected}", self.line));
            }
        };
        for &(what, expected) in &self.answers {
            let model = match self.call.read() {
                Ok(model) => model,
                Err(undefined) => {
                    let gap = match undefined.gap {
                        Gap::NoFormula => "no-formula",
                        Gap::Arguments => "unread",
                        _ => "another gap",
                    };
                    compare(gap, undefined.reason.into_owned(), if what == gap { expected } else { what });
                    continue;
                }
            };
            match what {
                // FLOPs and bytes, then those of the backward pass: sums of products; `-` is without a formula, `~`
                // to twelve digits.
                "figures" => {
                    for (found, expected) in figures(&*model).into_iter().zip(expected.split(' ')) {
                        match found {
                            Ok(found) if is_sum(found, expected) => {}
                            Ok(found) => compare(what, found.to_string(), expected),
                            Err(undefined) if undefined.gap == Gap::NoFormula => {
                                compare(what, "-".to_owned(), expected);
                            }
                            Err(undefined) => compare(what, undefined.to_string(), expected),
                        }
                    }
                }
                "spec" => {
                    let found = model.compute_spec().map_or("none".to_owned(), |spec| spec.to_string());
                    compare(what, found, expected);
                }
                "assumption" => {
                    compare(what, model.assumption().map_or("none".to_owned(), Into::into), expected);
                }
                "parameters" => {
                    let pairs = model.parameters().into_iter();
                    let pairs: Vec<_> = pairs.map(|(name, value)| format!("{name}={value}")).collect();
                    compare(what, pairs.join(", "), expected);
                }
                // The type of what is written.
                "result" => {
                    let types = model.parameters().into_iter().find(|(name, _)| *name == "dtype_in_out");
                    compare(what, types.unwrap().1.items().unwrap()[1].to_string(), expected);
                }
                // Some of the parameters.
                "shown" => {
                    for (name, expected) in expected.split("; ").map(|pair| pair.split_once('=').unwrap()) {
                        compare(name, self.call.parameter(name), expected);
                    }
                }
                _ => panic!("{}: an answer {what}", self.line),
            }
        }
        wrong
    }
}

/// Whether a figure is the sum of products that stands for it.
fn is_sum(found: f64, expected: &str) -> bool {
    let product =
        |factors: &str| factors.split('*').map(|factor| factor.parse().unwrap_or(f64::NAN)).product::<f64>();
    let sum = |text: &str| text.split('+').map(product).sum::<f64>();
    match expected.strip_prefix('~') {
        Some(near) => (found - sum(near)).abs() <= 1e-12 * sum(near),
        None => found == sum(expected),
    }
}

fn examples() -> Vec<Example> {
    let mut shared = BTreeMap::new();
    let mut examples = Vec::new();
    let lines = include_str!("worked_examples.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(": ").filter(|_| line.starts_with('@')) {
            Some((name, text)) => _ = shared.insert(name, text),
            None => examples.push(Example::read(line, &shared)),
        }
    }
    examples
}

#[test]
fn calls_have_the_answers_of_their_worked_examples() {
    let wrong: Vec<String> = examples().iter().flat_map(Example::wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_call_without_shapes_says_so() {
    let unrecorded = model(&OpCall { name: "aten::mm", ..OpCall::default() }).unwrap_err();
    assert_eq!(unrecorded.reason, "Input Dims were not recorded");
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
    ("aten::pow", &[0, 1]),
    ("aiter::silu_and_mul", &[0, 1]),
    ("aten::mean", &[0]),
    ("DaoAILab::_causal_conv1d_fwd_cpp", &[0]),
    ("MambaSplitConv1dScanCombinedFn", &[0]),
    ("CrossEntropyFunction", &[0, 1]),
    ("primus::fused_ln_modulate", &[0]),
];

#[test]
fn twice_the_batch_takes_twice_the_operations() {
    let mut checked = BTreeSet::new();
    for Example { line, mut call, answers } in examples() {
        let Some((name, inputs)) = GROWING.iter().find(|(growing, _)| *growing == call.name) else {
            continue;
        };
        if !answers.iter().any(|(what, _)| *what == "figures") {
            continue;
        }
        let flops = call.model().flops().unwrap();
        for &input in *inputs {
            if let Some(Value::Tuple(sides)) = call.dims.get_mut(input)
                && let Some(Value::Int(side)) = sides.first_mut()
            {
                *side *= 2;
            }
        }
        checked.insert(*name);
        assert_eq!(call.model().flops(), Ok(2.0 * flops), "{line}");
    }
    assert_eq!(checked.len(), GROWING.len());
}
