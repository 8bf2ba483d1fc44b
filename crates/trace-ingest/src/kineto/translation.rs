//! From the ids of a run to those of the trace, and from the JSON text of argument lists to their values.

use hashbrown::HashMap;

use super::run::{LocalMetadata, LocalRowId, Run};
use crate::argument::{ArgumentId, ArgumentValue, Signature, SignatureId};
use crate::category::{Category, KNOWN};
use crate::json::number::integer;
use crate::json::scanner::{Fault, RawValue, Scanner, unescape};
use crate::string_table::StringId;
use crate::trace::Trace;
use crate::track_table::{RowId, Track, TrackId};

/// Reused buffers that map a run's local ids to the trace's.
#[derive(Default)]
pub(crate) struct Translation {
    pub(crate) strings: Vec<StringId>,
    categories: Vec<Category>,
    pub(crate) tracks: Vec<TrackId>,
    argument_lists: Vec<ArgumentId>,
    pub(crate) signatures: Vec<SignatureId>,
    /// Raw text of argument lists seen in earlier runs.
    known_lists: HashMap<Box<[u8]>, ArgumentId>,
}

impl Translation {
    /// Interns the distinct texts, tracks and argument lists of a run.
    pub(crate) fn load(&mut self, run: &Run, trace: &mut Trace, invalid_utf8: &mut u64) {
        self.strings.clear();
        self.strings.extend(run.strings.iter().map(|raw| match std::str::from_utf8(raw) {
            Ok(text) if !raw.contains(&b'\\') => trace.strings.intern(text),
            _ => {
                let (text, lossy) = unescape(raw);
                let known = trace.strings.find(&text);
                *invalid_utf8 += u64::from(lossy && known.is_none());
                known.unwrap_or_else(|| trace.strings.intern(&text))
            }
        }));

        self.categories.clear();
        for &name in &run.categories {
            let text = trace.strings.get(self.strings[name as usize]).to_string();
            self.categories.push(trace.intern_category(&text));
        }

        self.tracks.clear();
        for &(pid, tid) in &run.tracks {
            let track = Track { pid: self.row_id(pid), tid: self.row_id(tid) };
            self.tracks.push(trace.tracks.intern(track));
        }

        self.argument_lists.clear();
        for raw in run.argument_lists.iter() {
            let id = match self.known_lists.get(raw) {
                Some(&id) => id,
                None => {
                    let id = trace.signatures.intern_argument(parse_argument(raw));
                    self.known_lists.insert(raw.into(), id);
                    id
                }
            };
            self.argument_lists.push(id);
        }

        self.signatures.clear();
        for lists in &run.signatures {
            let [dims, types, strides, concrete] =
                lists.map(|list| list.map(|list| self.argument_lists[list as usize]));
            self.signatures.push(trace.signatures.intern(Signature { dims, types, strides, concrete }));
        }
    }

    pub(crate) fn category(&self, local: u16) -> Category {
        match (local as usize).checked_sub(KNOWN.len()) {
            None => Category(local),
            Some(other) => self.categories[other],
        }
    }

    fn row_id(&self, local: LocalRowId) -> RowId {
        match local {
            LocalRowId::Missing => RowId::Missing,
            LocalRowId::Number(number) => RowId::Number(number),
            LocalRowId::Text(text) => RowId::Text(self.strings[text as usize]),
        }
    }

    /// Whether the metadata event is of a known kind.
    pub(crate) fn append_metadata(&self, metadata: &LocalMetadata, trace: &mut Trace) -> bool {
        let pid = self.row_id(metadata.pid);
        let track = Track { pid, tid: self.row_id(metadata.tid) };
        let Some(value) = metadata.value.map(|value| self.strings[value as usize]) else { return false };
        let number = integer(trace.strings.get(value).as_bytes());
        match trace.strings.get(self.strings[metadata.name as usize]) {
            "process_name" => trace.tracks.process_mut(pid).name = Some(value),
            "process_labels" => trace.tracks.process_mut(pid).labels = Some(value),
            "process_sort_index" => trace.tracks.process_mut(pid).sort_index = number,
            "thread_name" => trace.tracks.thread_mut(track).name = Some(value),
            "thread_sort_index" => trace.tracks.thread_mut(track).sort_index = number,
            _ => return false,
        }
        true
    }
}

/// Deepest nesting of an operator's arguments; a tensor list takes three levels.
pub(crate) const DEEPEST_ARGUMENT: usize = 64;

/// An argument list as a value. What is nested too deeply or is no JSON is kept as its text, so that
/// nothing that tells two calls apart is lost.
pub(crate) fn parse_argument(raw: &[u8]) -> ArgumentValue {
    // The scanner works on text that goes on, and a bare value needs a delimiter to end at.
    let mut text = raw.to_vec();
    text.push(b',');
    let mut scanner = Scanner::new(&text);
    argument(&mut scanner, 0)
        .unwrap_or_else(|_| ArgumentValue::Text(String::from_utf8_lossy(raw).into_owned()))
}

fn argument(scanner: &mut Scanner<'_>, depth: usize) -> Result<ArgumentValue, Fault> {
    if scanner.peek()? == b'[' {
        if depth == DEEPEST_ARGUMENT {
            return Err(Fault::Malformed("arguments are nested too deeply"));
        }
        scanner.position += 1;
        let mut items = Vec::new();
        loop {
            if scanner.accept(b']')? {
                return Ok(ArgumentValue::List(items));
            }
            items.push(argument(scanner, depth + 1)?);
            if !scanner.accept(b',')? {
                scanner.expect(b']', "expected a comma or a closing bracket after a value")?;
                return Ok(ArgumentValue::List(items));
            }
        }
    }
    Ok(match scanner.value()? {
        RawValue::Null => ArgumentValue::Null,
        RawValue::Text(raw) => ArgumentValue::Text(unescape(raw).0),
        RawValue::Bare(b"true") => ArgumentValue::Bool(true),
        RawValue::Bare(b"false") => ArgumentValue::Bool(false),
        RawValue::Bare(number) | RawValue::Nested(number) => {
            let text = String::from_utf8_lossy(number);
            match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(value), _) => ArgumentValue::Int(value),
                (_, Ok(value)) => ArgumentValue::Float(value),
                _ => ArgumentValue::Text(text.into_owned()),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::Sequence;

    #[test]
    fn argument_lists_parse_to_values() {
        for (raw, tuple) in [
            ("[]", "()"),
            ("[[1, 2], [], [[3], [4]]]", "((1, 2), (), ((3,), (4,)))"),
            (r#"["float", "", null, true]"#, "('float', '', None, True)"),
            ("[1.5, 1e3, NaN,]", "(1.5, 1000.0, nan)"),
            (r#"[{"a": 1}]"#, r#"('{"a": 1}',)"#),
        ] {
            assert_eq!(parse_argument(raw.as_bytes()).display(Sequence::Tuple).to_string(), tuple);
        }
    }

    #[test]
    fn arguments_nested_too_deeply_stay_text() {
        let raw = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(parse_argument(raw.as_bytes()), ArgumentValue::Text(raw));
    }
}
