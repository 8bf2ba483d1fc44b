//! Interned text: every distinct name, category or label of a trace is stored once.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Handle of an interned string. Equal ids mean equal text within one [`StringTable`]. The default is the empty string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StringId(pub(crate) u32);

impl StringId {
    /// The empty string, present in every table.
    pub const EMPTY: StringId = StringId(0);

    /// Position in the table: ids are dense, so a `Vec` indexed by this is a map from string to value.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Append-only table of distinct strings.
#[derive(Clone, Debug)]
pub struct StringTable {
    text: String,
    /// End offset of string `i` in `text`; string 0 is empty.
    ends: Vec<usize>,
    lookup: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Default for StringTable {
    fn default() -> Self {
        let mut table = StringTable {
            text: String::new(),
            ends: Vec::new(),
            lookup: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        };
        table.intern("");
        table
    }
}

impl StringTable {
    /// Id of `text`, added when it is new.
    pub fn intern(&mut self, text: &str) -> StringId {
        let hash = self.hasher.hash_one(text);
        if let Some(&id) = self.lookup.find(hash, |&id| slice(&self.text, &self.ends, id) == text) {
            return StringId(id);
        }
        let id = self.ends.len() as u32;
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let (all, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        self.lookup.insert_unique(hash, id, |&other| hasher.hash_one(slice(all, ends, other)));
        StringId(id)
    }

    /// Id of `text` if it occurs in the table.
    pub fn find(&self, text: &str) -> Option<StringId> {
        let hash = self.hasher.hash_one(text);
        self.lookup.find(hash, |&id| slice(&self.text, &self.ends, id) == text).map(|&id| StringId(id))
    }

    /// The text behind `id`.
    pub fn get(&self, id: StringId) -> &str {
        slice(&self.text, &self.ends, id.0)
    }

    /// Number of distinct strings, the empty one included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether only the empty string is present.
    pub fn is_empty(&self) -> bool {
        self.ends.len() <= 1
    }

    /// What `classify` says of every string, by position.
    pub fn classify<T>(&self, classify: impl FnMut(&str) -> T) -> Vec<T> {
        let texts = (0..self.ends.len() as u32).map(|id| slice(&self.text, &self.ends, id));
        texts.map(classify).collect()
    }

    /// All strings in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (StringId, &str)> {
        (0..self.ends.len() as u32).map(|id| (StringId(id), slice(&self.text, &self.ends, id)))
    }
}

/// Answers of one function about strings of a table. A trace has few names of one kind among many strings, so each
/// answer is computed when it is first asked for, once.
#[derive(Clone, Debug)]
pub struct PerString<'t, T, F = fn(&str) -> T> {
    strings: &'t StringTable,
    answer: F,
    known: Vec<Option<T>>,
}

impl<'t, T, F: Fn(&str) -> T> PerString<'t, T, F> {
    /// No answers yet.
    pub fn new(strings: &'t StringTable, answer: F) -> Self {
        PerString { strings, answer, known: std::iter::repeat_with(|| None).take(strings.len()).collect() }
    }

    /// The answer about this string.
    pub fn get(&mut self, id: StringId) -> &T {
        self.known[id.index()].get_or_insert_with(|| (self.answer)(self.strings.get(id)))
    }
}

/// A text that should be UTF-8. Other bytes become `U+FFFD`, and the text is counted as invalid.
#[cfg(any(feature = "xplane", feature = "kineto"))]
pub(crate) fn lossy<'b>(bytes: &'b [u8], invalid: &mut u64) -> std::borrow::Cow<'b, str> {
    let text = String::from_utf8_lossy(bytes);
    *invalid += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
    text
}

fn slice<'t>(text: &'t str, ends: &[usize], id: u32) -> &'t str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &text[start..ends[id]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_text_gets_equal_ids_and_text_comes_back() {
        let mut table = StringTable::default();
        let mm = table.intern("aten::mm");
        let add = table.intern("aten::add");
        assert_eq!(table.intern("aten::mm"), mm);
        assert_ne!(mm, add);
        assert_eq!((table.get(mm), table.get(add)), ("aten::mm", "aten::add"));
        assert_eq!(table.find("aten::add"), Some(add));
        assert_eq!(table.find("aten::sub"), None);
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn empty_string_is_always_id_zero() {
        let mut table = StringTable::default();
        assert!(table.is_empty());
        assert_eq!(table.intern(""), StringId::EMPTY);
        assert_eq!(table.get(StringId::EMPTY), "");
    }
}
