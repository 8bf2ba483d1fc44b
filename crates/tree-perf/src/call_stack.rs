//! Call stacks of operators in a cell, the Python function through which the program reached one, and the
//! `nn.Module`s around it.

use std::borrow::Cow;

use sheets::Nested;
use trace_ingest::{Category, EventId};
use trace2tree::{CallStackOptions, Caller, TraceTree, frame_function, is_framework_wrapper, module_class};

use crate::IndexSet;

const NOT_FOUND: &str = "Not found";

/// Where no module is around a call.
const NO_MODULE: &str = "NA";

/// Modules are frames with this in their names.
const MODULES: CallStackOptions<'_> =
    CallStackOptions { filter: Some(&["nn.Module"]), follow_forward: false };

/// The nearest module around a call without the number that tells instances apart, `NA` if there is none.
pub(crate) fn parent_module(tree: &TraceTree, call: EventId) -> &str {
    tree.parent_module(call).map_or(NO_MODULE, |module| module_class(tree.trace().name(module)))
}

/// The call and the modules around it from the inside out.
pub(crate) fn module_call_stack(tree: &TraceTree, call: EventId) -> Nested {
    let names = tree.call_stack(call, &MODULES);
    Nested::List(names.into_iter().map(|name| Nested::Text(name.into_owned())).collect())
}

/// Frames from the outermost to the kernels of an operator: one list for one kernel; for several the common frames
/// followed by a list per distinct rest.
pub(crate) fn call_stack(tree: &TraceTree, operator: EventId, kernels: &[EventId]) -> Nested {
    let paths: IndexSet<Vec<Cow<'_, str>>> =
        kernels.iter().map(|&kernel| kernel_path(tree, operator, kernel)).collect();
    let paths = Vec::from_iter(paths);
    match &paths[..] {
        [] => Nested::Text(NOT_FOUND.to_owned()),
        [path] => list(path, &[]),
        [first, rest @ ..] => {
            let shared = rest.iter().fold(first.len(), |shared, path| {
                first.iter().zip(path).take(shared).take_while(|(a, b)| a == b).count()
            });
            let tails: Vec<&[Cow<'_, str>]> = paths.iter().map(|path| &path[shared..]).collect();
            list(&first[..shared], &tails)
        }
    }
}

/// The Python function through which the program reached an operator: the first frame inside it that bears
/// its name, else the nearest frame around it that is no wrapper of the framework.
pub(crate) fn entry_point(tree: &TraceTree, operator: EventId, kernels: &[EventId]) -> String {
    let found = kernels.first().and_then(|&kernel| {
        let path = kernel_path(tree, operator, kernel);
        entry_point_of(&path, tree.trace().name(operator)).map(str::to_owned)
    });
    found.unwrap_or_else(|| NOT_FOUND.to_owned())
}

fn entry_point_of<'p>(path: &'p [Cow<'_, str>], operator: &str) -> Option<&'p str> {
    let position_of = |name: &str| path.iter().rposition(|frame| frame == name);
    let at = position_of(operator).or_else(|| position_of(without_trailing_number(operator)))?;
    let operation = operator.rsplit("::").next().unwrap_or(operator);
    let operation = without_trailing_number(operation).to_lowercase();
    let inward = path[at + 1..]
        .iter()
        .find(|frame| frame.contains(".py") && frame_function(frame).to_lowercase().contains(&operation));
    let outward =
        || path[..at].iter().rev().find(|frame| frame.contains(".py") && !is_framework_wrapper(frame));
    inward.or_else(outward).map(AsRef::as_ref)
}

/// Names from the root to a kernel: operators, modules and frames, numbers of instances removed.
fn kernel_path<'t>(tree: &'t TraceTree, operator: EventId, kernel: EventId) -> Vec<Cow<'t, str>> {
    let trace = tree.trace();
    let kept = |event: EventId| {
        let name = trace.name(event);
        trace.events().category(event) == Category::CPU_OP
            || ["nn.Module", "::", "/"].iter().any(|part| name.contains(part))
    };
    let mut path: Vec<Cow<'t, str>> = Vec::new();
    tree.visit_callers(kernel, |caller| match caller {
        Caller::Event(event) if event == operator || kept(event) => {
            path.push(without_numbers(trace.name(event)));
        }
        Caller::Event(_) => {}
        Caller::Frame(frame) => path.push(Cow::Borrowed(frame)),
    });
    path.reverse();
    path.push(Cow::Borrowed(trace.name(kernel)));
    path
}

/// The name with every `_` and digits removed: instances of one frame are one.
fn without_numbers(name: &str) -> Cow<'_, str> {
    let numbered = name.as_bytes().windows(2).any(|pair| pair[0] == b'_' && pair[1].is_ascii_digit());
    if !numbered {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('_') {
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(&rest[..at + usize::from(digits == 0)]);
        rest = &rest[at + 1 + digits..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn without_trailing_number(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match stem.strip_suffix('_') {
        Some(stem) if stem.len() + 1 < name.len() => stem,
        _ => name,
    }
}

/// Names, followed by lists of names.
fn list(names: &[Cow<'_, str>], tails: &[&[Cow<'_, str>]]) -> Nested {
    let names = names.iter().map(|name| Nested::Text(name.to_string()));
    Nested::List(names.chain(tails.iter().map(|tail| list(tail, &[]))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path<'a>(frames: &[&'a str]) -> Vec<Cow<'a, str>> {
        frames.iter().map(|frame| Cow::Borrowed(*frame)).collect()
    }

    #[test]
    fn the_entry_point_is_inside_else_around_the_operator() {
        for (frames, operator, found) in [
            (
                &["user.py(1): addmm_triton", "aten::addmm_triton"][..],
                "aten::addmm_triton_340",
                Some("user.py(1): addmm_triton"),
            ),
            (
                &["user.py(1): run", "aten::addmm", "torch/functional.py(5): addmm", "k"],
                "aten::addmm",
                Some("torch/functional.py(5): addmm"),
            ),
            (
                &["user.py(1): run", "torch/_ops.py(9): __call__", "aten::mm", "k"],
                "aten::mm",
                Some("user.py(1): run"),
            ),
            (&["torch/nn/modules/module.py(1): _call_impl", "<built-in x.py>", "aten::mm"], "aten::mm", None),
            (&["user.py(3): wrapper", "aten::mm"], "aten::mm", None),
            (&["user.py(3): run"], "aten::mm", None),
        ] {
            assert_eq!(entry_point_of(&path(frames), operator), found, "{frames:?}");
        }
    }

    #[test]
    fn numbers_of_instances_are_removed() {
        for (name, expected) in [
            ("nn.Module: Linear_12", "nn.Module: Linear"),
            ("aten::conv_2d_3", "aten::convd"),
            ("a_1_2b", "ab"),
            ("plain_name_", "plain_name_"),
            ("x_", "x_"),
        ] {
            assert_eq!(without_numbers(name), expected);
        }
        assert_eq!(without_trailing_number("op_340"), "op");
        assert_eq!(without_trailing_number("op_"), "op_");
        assert_eq!(without_trailing_number("op"), "op");
    }

    #[test]
    fn several_kernels_share_their_common_frames() {
        let (a, b) = (path(&["k1"]), path(&["inner", "k2"]));
        assert_eq!(list(&path(&["f", "it's"]), &[]).to_string(), r#"['f', "it's"]"#);
        assert_eq!(list(&path(&["f"]), &[&a, &b]).to_string(), "['f', ['k1'], ['inner', 'k2']]");
        assert_eq!(list(&[], &[&a]).to_string(), "[['k1']]");
    }
}
