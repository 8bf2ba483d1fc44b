//! The table of strings: the texts that rows refer to by their ids.
//!
//! It may have millions of strings, among them the environment and the output of the program, and events refer to few of
//! them. So each is looked up when an event first refers to it, and no others are read.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::tables::{STRINGS, Tables};
use crate::sqlite::{Broken, Texts};
use crate::string_table::StringId;
use crate::trace::Trace;
use crate::warning::{RecordFault, Warning};

/// Bytes of a text that are kept.
pub(super) const LONGEST_TEXT: usize = 1 << 20;

const COLUMNS: [&str; 2] = ["id", "value"];

pub(super) struct Strings {
    source: Source,
    /// The strings that were asked for.
    known: HashMap<i64, Option<StringId>>,
    /// Faults of these, and of all other texts.
    pub(super) faults: TextFaults,
    /// What went wrong with looking one up.
    broken: Option<Broken>,
}

/// Where the texts are.
enum Source {
    /// In the file, by their ids.
    File(Texts),
    /// In memory: tables that other programs made are not ordered by id.
    Memory(HashMap<i64, Box<[u8]>>),
}

impl Strings {
    /// Opens the table. The warnings get its rows that cannot be read.
    pub(super) fn open(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Strings, Broken> {
        let source = match tables.texts(STRINGS, COLUMNS[0], COLUMNS[1])? {
            Some(texts) => Source::File(texts),
            None => {
                let mut texts = HashMap::new();
                warnings.extend(tables.rows(STRINGS, &COLUMNS, &COLUMNS, |row| {
                    let id = row.required(0)?;
                    texts.extend(row.text(1).map(|text| (id, Box::from(text))));
                    Ok(())
                })?);
                Source::Memory(texts)
            }
        };
        Ok(Strings { source, known: HashMap::new(), faults: TextFaults::default(), broken: None })
    }

    pub(super) fn get(&mut self, tables: &Tables<'_>, trace: &mut Trace, id: i64) -> Option<StringId> {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let bytes = match &mut self.source {
            Source::Memory(texts) => texts.get(&id).map(|text| &text[..]),
            Source::File(texts) => match tables.text(texts, id) {
                Ok(text) => text,
                Err(failure) => {
                    self.broken.get_or_insert(Broken { table: STRINGS.to_string(), failure });
                    None
                }
            },
        };
        let text = bytes.map(|bytes| trace.intern(&self.faults.clipped(bytes)));
        self.known.insert(id, text);
        text
    }

    /// What went wrong so far.
    pub(super) fn check(&mut self) -> Result<(), Broken> {
        self.broken.take().map_or(Ok(()), Err)
    }
}

/// Texts that are not as they should be.
#[derive(Clone, Copy, Default)]
pub(super) struct TextFaults {
    cut: u64,
    invalid: u64,
}

impl TextFaults {
    /// A text of at most [`LONGEST_TEXT`]; its faults are counted.
    pub(super) fn clipped<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, str> {
        let is_cut = bytes.len() > LONGEST_TEXT;
        self.cut += u64::from(is_cut);
        let kept = &bytes[..bytes.len().min(LONGEST_TEXT)];
        match std::str::from_utf8(kept) {
            Ok(text) => Cow::Borrowed(text),
            // A letter that the cut goes through is not at fault.
            Err(error) if is_cut && error.error_len().is_none() => {
                String::from_utf8_lossy(&kept[..error.valid_up_to()])
            }
            Err(_) => {
                self.invalid += 1;
                String::from_utf8_lossy(kept)
            }
        }
    }

    /// Adds those of other texts.
    pub(super) fn add(&mut self, other: TextFaults) {
        self.cut += other.cut;
        self.invalid += other.invalid;
    }

    /// The warnings of these texts.
    pub(super) fn warnings(self) -> impl Iterator<Item = Warning> {
        let TextFaults { cut, invalid } = self;
        let cut = (cut > 0).then_some(Warning::Records { fault: RecordFault::LongText, count: cut });
        let invalid = (invalid > 0).then_some(Warning::InvalidUtf8 { count: invalid });
        cut.into_iter().chain(invalid)
    }
}
