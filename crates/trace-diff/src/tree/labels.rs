//! Names as both runs have them: without what changes from run to run, and with one name for the same work.

use perf_models::{CommunicationPatterns, kernel_class};
use trace_ingest::{ArgumentValue, Sequence, StringId, StringTable};
use trace2tree::{is_graph_launch, module_class};
use twox_hash::XxHash64;

use crate::keys::type_name;
use crate::names::NameClasses;

/// Category of device events whose names say nothing of their work.
pub(super) const OTHER: &str = "other";

/// A hash of the bytes alone, so that both runs, in either order, give the same.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

/// Handle of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LabelId(StringId);

/// The labels of both runs. Equal ids mean equal text.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    texts: StringTable,
}

impl Labels {
    pub(super) fn intern(&mut self, text: &str) -> LabelId {
        LabelId(self.texts.intern(text))
    }

    pub(crate) fn text(&self, label: LabelId) -> &str {
        self.texts.get(label.0)
    }
}

/// Name of an operator without addresses and keys of compiler caches; operators of one class have one name.
pub(super) fn operator(name: &str, classes: &NameClasses) -> String {
    without_run(classes.canonical(name))
}

/// Name of the frame of a module without the number of the instance.
pub(super) fn module(name: &str) -> String {
    without_run(module_class(name))
}

/// Calls that start the same kind of device work have one name, whichever runtime or driver they are of.
pub(super) fn call(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    match () {
        () if is_graph_launch(name) => "<graph launch>".to_owned(),
        () if has("launch") && has("kernel") => "<launch>".to_owned(),
        () if has("memcpy") => "<memcpy>".to_owned(),
        () if has("memset") => "<memset>".to_owned(),
        () => without_run(name),
    }
}

/// What the name of a device event says that it does.
pub(super) fn device_category(name: &str, communication: &CommunicationPatterns) -> &'static str {
    kernel_class(name, communication).map_or(OTHER, |class| class.category.as_str())
}

/// Shortest word that is a key and not a name: those of the compiler's cache have 52 characters.
const KEY_LENGTH: usize = 40;

/// A name without addresses (`0xXXXX` instead) and without keys of caches (`<key>`).
fn without_run(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        rest = after;
        let digits = word.strip_prefix("0x").unwrap_or_default();
        out.push_str(match () {
            () if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit()) => "0xXXXX",
            () if is_word(first)
                && word.len() >= KEY_LENGTH
                && word.bytes().any(|b| b.is_ascii_digit())
                && !word.bytes().any(|b| b.is_ascii_uppercase()) =>
            {
                "<key>"
            }
            () => word,
        });
    }
    out
}

/// Hash of the shapes and element types of a call, types under one name each.
pub(super) fn inputs(dims: Option<&ArgumentValue>, types: Option<&ArgumentValue>) -> u64 {
    let mut text = String::new();
    if let Some(dims) = dims {
        text = dims.display(Sequence::Tuple).to_string();
    }
    for name in types.and_then(ArgumentValue::as_list).into_iter().flatten() {
        text.push('\0');
        match name.as_text() {
            Some(name) => text.push_str(&type_name(name)),
            None => text.push_str(&name.display(Sequence::Tuple).to_string()),
        }
    }
    hash(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_changes_from_run_to_run() {
        let key = "fk3qzsxw7uwm5y2dd5aqkqv2yz4m3x6sgyzr5rvgi5e7kmdhcq2w";
        for (name, expected) in [
            ("foo 0xDEADBEEF", "foo 0xXXXX".to_owned()),
            ("aten::mm", "aten::mm".to_owned()),
            ("0x", "0x".to_owned()),
            ("aten::miopen_convolution", "aten::cudnn_convolution".to_owned()),
            (&format!("## Call CompiledFxGraph {key} ##"), "## Call CompiledFxGraph <key> ##".to_owned()),
        ] {
            assert_eq!(operator(name, &NameClasses::default()), expected, "{name}");
        }
        assert_eq!(module("nn.Module: Linear_3"), "nn.Module: Linear");
    }

    #[test]
    fn launches_of_all_runtimes_have_one_name() {
        for (name, expected) in [
            ("hipLaunchKernel", "<launch>"),
            ("cudaLaunchKernelExC_ptsz", "<launch>"),
            ("hipExtModuleLaunchKernel", "<launch>"),
            ("cudaLaunchCooperativeKernel", "<launch>"),
            ("cuLaunchKernelEx", "<launch>"),
            ("hipMemcpyWithStream", "<memcpy>"),
            ("cudaMemcpyAsync", "<memcpy>"),
            ("cudaMemsetAsync", "<memset>"),
            ("hipGraphLaunch", "<graph launch>"),
            ("cudaStreamSynchronize", "cudaStreamSynchronize"),
        ] {
            assert_eq!(call(name), expected, "{name}");
        }
    }

    #[test]
    fn inputs_of_old_and_new_releases_are_equal() {
        let texts = |names: &[&str]| {
            ArgumentValue::List(names.iter().map(|&name| ArgumentValue::Text(name.to_owned())).collect())
        };
        let (old, new, other) = (texts(&["long", "int"]), texts(&["long int", "int"]), texts(&["long int"]));
        assert_eq!(inputs(None, Some(&old)), inputs(None, Some(&new)));
        assert_ne!(inputs(None, Some(&new)), inputs(None, Some(&other)));
        assert_ne!(inputs(Some(&ArgumentValue::Int(1)), None), inputs(None, None));
    }
}
