//! What the rules read off Python frames, and what they say where frames are missing.

use trace_ingest::{Category, EventId};

use crate::pass::PassError;
use crate::tree::TraceTree;

/// A frame's name, taken apart: `aiter/mla.py(42): mla_decode_fwd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameName<'n> {
    /// Path of the file when a line number follows it.
    pub(super) file: Option<&'n str>,
    pub(super) function: &'n str,
}

impl<'n> FrameName<'n> {
    pub(super) fn parse(name: &'n str) -> Option<Self> {
        let (place, function) = name.rsplit_once(':')?;
        let file =
            place.strip_suffix(')').and_then(|place| place.rsplit_once('(')).and_then(|(file, line)| {
                let is_line = !line.is_empty() && line.bytes().all(|digit| digit.is_ascii_digit());
                is_line.then_some(file)
            });
        Some(FrameName { file, function: function.trim_start() })
    }

    /// Whether the function's name is this word, whatever follows it.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.function
            .strip_prefix(word)
            .is_some_and(|rest| !rest.starts_with(|letter: char| letter == '_' || letter.is_alphanumeric()))
    }

    pub(super) fn is_in(&self, file: &str) -> bool {
        self.file.is_some_and(|path| path.ends_with(file))
    }
}

/// The Python frames whose name `wanted` accepts, in pre-order. A name is judged once.
pub(super) fn frames(tree: &TraceTree, wanted: impl Fn(FrameName<'_>) -> bool) -> Vec<EventId> {
    let events = tree.trace().events();
    let is_wanted = tree.trace().strings().classify(|name| FrameName::parse(name).is_some_and(&wanted));
    let is_frame = |event: &EventId| events.category(*event) == Category::PYTHON_FUNCTION;
    tree.host_events()
        .iter()
        .copied()
        .filter(is_frame)
        .filter(|&event| is_wanted[events.name(event).index()])
        .collect()
}

/// Makes sure that a rule about `operator` can see Python frames. Whether to run the rule: not on a trace
/// without the operator.
///
/// # Errors
/// [`PassError::Unmet`] when the operator is there and no frame is.
pub(super) fn require_frames(tree: &TraceTree, operator: &str) -> Result<bool, PassError> {
    if tree.find_by_name(operator).is_empty() {
        return Ok(false);
    }
    let events = tree.trace().events();
    let is_frame = |&event: &EventId| events.category(event) == Category::PYTHON_FUNCTION;
    let lacking = match tree.options().python_frames {
        true if tree.host_events().iter().any(is_frame) => return Ok(true),
        true => "the trace was recorded",
        false => "the tree was built",
    };
    Err(PassError::Unmet(format!("the parts of {operator} need Python frames, but {lacking} without them")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_name_is_file_line_and_function() {
        let parse = |name| FrameName::parse(name).map(|frame| (frame.file, frame.function));
        assert_eq!(parse("aiter/mla.py(42): mla_decode_fwd"), Some((Some("aiter/mla.py"), "mla_decode_fwd")));
        assert_eq!(parse("a.py(4):f"), Some((Some("a.py"), "f")));
        assert_eq!(parse("a.py(x): f"), Some((None, "f")));
        assert_eq!(parse("nn.Module: Linear_3"), Some((None, "Linear_3")));
        assert_eq!(parse("<built-in method run>"), None);
    }

    #[test]
    fn a_word_ends_where_no_letter_digit_or_underscore_follows() {
        let is_word = |name| FrameName::parse(name).is_some_and(|frame| frame.is_word("attn"));
        assert!(is_word("a.py(1): attn") && is_word("a.py(1): attn <jit>"));
        assert!(!is_word("a.py(1): attn_2") && !is_word("a.py(1): attention") && !is_word("a.py(1): fattn"));
    }
}
