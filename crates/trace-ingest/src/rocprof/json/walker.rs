//! The way through a text that is never held as a whole: a window moves over it, record by record.
//!
//! Kineto's reader does not serve here: it knows one list of events, recognised by their own keys, at the end of one
//! path. A profile has lists of records five levels deep, in which only the list says what a record is. What makes
//! this file long is the way back from damage, so that a bad record costs itself alone. Reading the text into memory
//! first would save the window alone, some fifty lines, and cost the size of the file: the whole report of 37.5 MB
//! with 43,915 dispatches takes 0.07 s and 30 MB as it is.

use memchr::memchr2_iter;

use crate::json::scanner::{BYTE_ORDER_MARK, Fault, Scan, Scanner, unescape};
use crate::json::skipped_value::SkippedValue;
use crate::read_ahead::Blocks;

/// Longest single record, in bytes. Real ones are a thousand times smaller; a file that claims a larger one is
/// damaged or hostile, and must not fill the memory.
const LONGEST_RECORD: usize = 64 << 20;

/// Text that is looked at around a place to say whether a record begins there, in bytes.
const SURROUNDINGS: usize = 256;

/// Members that stand beside lists of records.
const MEMBERS: &[&str] = &[
    "metadata",
    "agents",
    "counters",
    "strings",
    "code_objects",
    "kernel_symbols",
    "host_functions",
    "summary",
    "callback_records",
    "buffer_records",
    "counter_collection",
    "kernel_dispatch",
    "hip_api",
    "hsa_api",
    "marker_api",
    "rccl_api",
    "memory_copy",
    "memory_allocation",
    "scratch_memory",
    "rocdecode_api",
    "rocjpeg_api",
    "pc_sample_host_trap",
    "pc_sample_stochastic",
];

/// Why the text cannot be walked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It ends.
    Cut,
    /// It is not JSON here.
    Malformed(&'static str),
    /// A record has no end within [`LONGEST_RECORD`].
    TooLong,
}

pub(super) type Walk<T> = Result<T, Stop>;

/// What became of the records of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Records that were read.
    pub(super) read: u64,
    /// Records that could not be.
    pub(super) malformed: u64,
    /// Where the first of these begins, in bytes of the text, and what is wrong with it.
    pub(super) first: Option<(u64, &'static str)>,
}

/// What stood where an object or list should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Entered,
    Null,
    Other,
}

/// A window over a text.
pub(super) struct Walker<'a> {
    blocks: Blocks<'a>,
    text: Vec<u8>,
    position: usize,
    /// Where in the whole text the window begins, in bytes.
    offset: u64,
    ended: bool,
    /// Where the last complete record or member ended, in bytes of the whole text.
    pub(super) used: u64,
    /// How reading the source broke off, if it did.
    pub(super) damage: Option<String>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(blocks: Blocks<'a>) -> Self {
        Walker { blocks, text: Vec::new(), position: 0, offset: 0, ended: false, used: 0, damage: None }
    }

    /// Skips the mark that a text may begin with.
    pub(super) fn skip_byte_order_mark(&mut self) {
        while self.text.len() < BYTE_ORDER_MARK.len() && self.more().is_ok() {}
        if self.text.starts_with(BYTE_ORDER_MARK) {
            self.position = BYTE_ORDER_MARK.len();
        }
    }

    /// Where in the whole text the next byte stands.
    pub(super) fn offset(&self) -> u64 {
        self.offset + self.position as u64
    }

    /// Goes to the end of the text; how much of it was not used, in bytes.
    pub(super) fn drain(&mut self) -> u64 {
        loop {
            self.position = self.text.len();
            if self.more().is_err() {
                return self.offset() - self.used;
            }
        }
    }

    /// Moves the window on: forgets what is behind, reads at least one more block.
    fn more(&mut self) -> Walk<()> {
        if self.ended {
            return Err(Stop::Cut);
        }
        let kept = self.text.len() - self.position;
        if kept > LONGEST_RECORD {
            return Err(Stop::TooLong);
        }
        self.text.drain(..self.position);
        self.offset += self.position as u64;
        self.position = 0;
        // As much again as is there, or a long record would be scanned anew for every block.
        while self.text.len() == kept || self.text.len() < 2 * kept {
            let before = self.text.len();
            if let Err(error) = self.blocks.append_to(&mut self.text) {
                self.damage = Some(error.to_string());
                self.ended = true;
            }
            self.ended |= self.text.len() == before;
            if self.ended {
                break;
            }
        }
        if self.text.len() == kept { Err(Stop::Cut) } else { Ok(()) }
    }

    /// Reads something that stands next and moves behind it. `read` is called again from the start when the window
    /// ends too early.
    #[inline]
    pub(super) fn step<T>(&mut self, mut read: impl FnMut(&mut Scanner<'_>) -> Scan<T>) -> Walk<T> {
        loop {
            let mut scanner = Scanner { text: &self.text, position: self.position };
            match read(&mut scanner) {
                Ok(value) => {
                    self.position = scanner.position;
                    return Ok(value);
                }
                Err(Fault::Malformed(detail)) => return Err(Stop::Malformed(detail)),
                Err(Fault::Incomplete) => self.more()?,
            }
        }
    }

    /// The next byte that is not white space, which is not consumed.
    pub(super) fn peek(&mut self) -> Walk<u8> {
        self.step(|scanner| scanner.peek())
    }

    /// Skips a value of any length.
    pub(super) fn skip(&mut self) -> Walk<()> {
        self.peek()?;
        let mut value = SkippedValue::default();
        loop {
            if let Some(length) = value.skip(&self.text[self.position..]) {
                self.position += length;
                return Ok(());
            }
            self.position = self.text.len();
            self.more()?;
        }
    }

    /// Enters an object or list; anything else is skipped.
    fn enter(&mut self, bracket: u8) -> Walk<Container> {
        match self.peek()? {
            byte if byte == bracket => {
                self.position += 1;
                Ok(Container::Entered)
            }
            byte => {
                self.skip()?;
                Ok(if byte == b'n' { Container::Null } else { Container::Other })
            }
        }
    }

    /// Goes through the members of an object of any length; `member` consumes the value.
    pub(super) fn object(&mut self, member: &mut dyn FnMut(&mut Self, &str) -> Walk<()>) -> Walk<Container> {
        let found = self.enter(b'{')?;
        if found != Container::Entered {
            return Ok(found);
        }
        while self.peek()? != b'}' {
            let key = self.step(|scanner| scanner.key().map(|key| unescape(key).0))?;
            member(self, &key)?;
            self.leave_value(b'}', "expected a comma or the end of an object")?;
        }
        self.position += 1;
        Ok(found)
    }

    /// Goes through a list whose elements may be of any length; `element` consumes one.
    pub(super) fn list(&mut self, element: &mut dyn FnMut(&mut Self) -> Walk<()>) -> Walk<Container> {
        let found = self.enter(b'[')?;
        if found != Container::Entered {
            return Ok(found);
        }
        while self.peek()? != b']' {
            element(self)?;
            self.leave_value(b']', "expected a comma or the end of a list")?;
        }
        self.position += 1;
        Ok(found)
    }

    fn leave_value(&mut self, end: u8, message: &'static str) -> Walk<()> {
        self.used = self.offset();
        match self.peek()? {
            b',' => self.position += 1,
            byte if byte == end => {}
            _ => return Err(Stop::Malformed(message)),
        }
        Ok(())
    }

    /// Goes through a list of records, each read by `read` and handed to `keep`, both with `state`. A record that
    /// cannot be read is counted, and reading goes on with the next one. `read` may be called several times for a
    /// record, `keep` is called once.
    pub(super) fn records<S, T>(
        &mut self,
        tally: &mut Tally,
        state: &mut S,
        mut read: impl FnMut(&mut S, &mut Scanner<'_>) -> Scan<T>,
        mut keep: impl FnMut(&mut S, T),
    ) -> Walk<()> {
        let start = self.offset();
        match self.enter(b'[')? {
            Container::Entered => {}
            Container::Null => return Ok(()),
            Container::Other => {
                tally.malformed(start, "expected a list");
                return Ok(());
            }
        }
        // First keys of the last good record and of the one that is being read: by these records are found again.
        let (mut usual_key, mut key) = (None, None);
        loop {
            match self.peek()? {
                b']' => {
                    self.position += 1;
                    return Ok(());
                }
                b',' => {
                    self.position += 1;
                    continue;
                }
                _ => {}
            }
            self.first_key(&mut key);
            let start = self.offset();
            let outcome = self.step(|scanner| read(state, scanner)).and_then(|record| match self.peek() {
                Ok(b',' | b']') | Err(Stop::Cut) => Ok(record),
                Ok(_) if self.is_damaged_comma(key.as_deref()) => {
                    self.position += 1;
                    Ok(record)
                }
                _ => Err(Stop::Malformed("expected a comma or the end of a list")),
            });
            let stop = match outcome {
                Ok(record) => {
                    tally.read += 1;
                    self.used = self.offset();
                    std::mem::swap(&mut usual_key, &mut key);
                    keep(state, record);
                    continue;
                }
                Err(stop) => stop,
            };
            let position = self.position;
            match (self.recover(usual_key.as_deref().or(key.as_deref())), stop) {
                (Err(_), Stop::Cut) => {
                    self.position = position;
                    return Err(Stop::Cut);
                }
                (Err(_), Stop::TooLong) => return Err(Stop::TooLong),
                (recovered, Stop::Malformed(detail)) => {
                    tally.malformed(start, detail);
                    recovered?;
                }
                // A lost bracket or quote makes a record seem to go on through all that come behind it.
                (Ok(()), Stop::Cut | Stop::TooLong) => tally.malformed(start, "the record has no end"),
            }
        }
    }

    /// Takes the first key of the record that stands next, if it begins with one. The buffer is used again.
    fn first_key(&mut self, key: &mut Option<Vec<u8>>) {
        let mut buffer = key.take().unwrap_or_default();
        buffer.clear();
        let found = self.step(|scanner| {
            let start = scanner.position;
            scanner.expect(b'{', "expected an object")?;
            buffer.extend_from_slice(scanner.key()?);
            scanner.position = start;
            Ok(())
        });
        *key = found.is_ok().then_some(buffer);
    }

    /// Whether the byte that stands next should be a comma: a record begins behind it.
    fn is_damaged_comma(&mut self, first_key: Option<&[u8]>) -> bool {
        let begins_record = self.step(|scanner| {
            let mut behind = Scanner { text: scanner.text, position: scanner.position + 1 };
            Ok(behind.accept(b'{')? && first_key == Some(behind.key()?))
        });
        begins_record == Ok(true)
    }

    /// Moves from a record that cannot be read to the next one, or to the end of the list.
    fn recover(&mut self, first_key: Option<&[u8]>) -> Walk<()> {
        let mut from = self.position + 1;
        loop {
            if let Some(at) = next_place(&self.text, from, first_key) {
                self.position = at;
                return Ok(());
            }
            // What begins at the end of the window shows only in the next one.
            let next = from.max(self.text.len().saturating_sub(SURROUNDINGS));
            let kept = next.saturating_sub(SURROUNDINGS).max(self.position).min(self.text.len());
            self.position = kept;
            self.more()?;
            from = next - kept;
        }
    }
}

impl Tally {
    pub(super) fn malformed(&mut self, offset: u64, detail: &'static str) {
        self.malformed += 1;
        self.first.get_or_insert((offset, detail));
    }
}

/// Where, from `from` on, a record begins or a list ends.
fn next_place(text: &[u8], from: usize, first_key: Option<&[u8]>) -> Option<usize> {
    memchr2_iter(b'{', b']', text.get(from..)?).map(|at| from + at).find(|&at| {
        let near = &text[..text.len().min(at + SURROUNDINGS)];
        let mut behind = Scanner { text: near, position: at + 1 };
        match text[at] {
            b'{' => {
                let is_usual = |key: &[u8]| first_key.is_none_or(|usual| usual == key);
                follows_a_record(&text[..at]) && behind.key().is_ok_and(is_usual)
            }
            _ => ends_a_list(behind).unwrap_or(false),
        }
    })
}

/// Inside a string the quotes of a key would be escaped. Objects inside a record stand behind a colon; where that is
/// damaged to a comma, a key stands before it.
fn follows_a_record(before: &[u8]) -> bool {
    match before.trim_ascii_end().strip_suffix(b",").map(<[u8]>::trim_ascii_end) {
        Some([.., end, b'"']) => !end.is_ascii_alphabetic(),
        Some(before) => !before.is_empty(),
        None => false,
    }
}

/// A list of records ends before a member that stands beside such lists, or closes the last of them.
fn ends_a_list(mut behind: Scanner<'_>) -> Scan<bool> {
    if behind.accept(b',')? {
        let key = behind.key()?;
        return Ok(MEMBERS.iter().any(|known| known.as_bytes() == key));
    }
    Ok(behind.accept(b'}')? && behind.accept(b'}')?)
}

#[cfg(test)]
mod tests {
    use super::super::values::{members, unsigned};
    use super::*;
    use crate::read_ahead::read_ahead;

    /// The members `n` of a list of records, what became of them, and how walking ended.
    fn numbers(text: &str) -> (Vec<u64>, Tally, Walk<()>) {
        read_ahead(Box::new(text.as_bytes()), 1, |blocks| {
            let (mut walker, mut tally, mut found) = (Walker::new(blocks), Tally::default(), Vec::new());
            let read = |_: &mut Vec<u64>, scanner: &mut Scanner<'_>| {
                let mut number = 0;
                members(scanner, |key, scanner| {
                    match key {
                        b"n" => number = unsigned(scanner)?.unwrap_or_default(),
                        _ => scanner.value().map(drop)?,
                    }
                    Ok(())
                })?;
                Ok(number)
            };
            let end = walker.records(&mut tally, &mut found, read, Vec::push);
            (found, tally, end)
        })
    }

    #[test]
    fn a_bad_record_costs_itself_alone() {
        for (text, expected, malformed) in [
            (r#"[{"n":1},{"n":2},{"n":3}]"#, &[1, 2, 3][..], 0),
            ("[ {\"n\" : 1 } ,\n {\"n\":2},]", &[1, 2], 0),
            (r#"[{"n":1},{"n"x2},{"n":3}]"#, &[1, 3], 1),
            (r#"[{"n":1},{"n":2,"m":[},{"n":3}]"#, &[1, 3], 1),
            (r#"[{"n":1},{"n":2,"m":{},{"n":3}]"#, &[1, 3], 1),
            (r#"[{"n":1},{"n":2,"m":"},{"n":3},{"n":4}]"#, &[1, 3, 4], 1),
            (r#"[{"n":1},x"n":2},{"n":3}]"#, &[1, 3], 1),
            (r#"[{"n":1},{"n":"two"},{"n":"3"}]"#, &[1, 3], 1),
            (r#"[{"n":1},{"n":2}}2,"m":{"n":9}},{"n":3}]"#, &[1, 3], 1),
            (r#"[{"n":1},{"n":2,"m":{],"hip_api":[{"n":3},{"n":4}]"#, &[1], 1),
            ("[]", &[], 0),
            ("null,", &[], 0),
            ("7,", &[], 1),
        ] {
            let (found, tally, end) = numbers(text);
            assert_eq!((&found[..], tally.malformed, end), (expected, malformed, Ok(())), "{text}");
        }
    }

    #[test]
    fn a_list_that_is_cut_off_keeps_every_complete_record() {
        let text = r#"[{"n":1},{"n":2},{"n":3}"#;
        for length in 1..=text.len() {
            let (found, tally, end) = numbers(&text[..length]);
            assert_eq!(found.len(), text[..length].matches('}').count(), "{length}");
            assert_eq!((tally.malformed, end), (0, Err(Stop::Cut)), "{length}");
        }
    }

    #[test]
    fn records_are_found_across_windows() {
        let record = |number: usize| format!(r#"{{"n":{number},"m":"{}"}}"#, "x".repeat(number % 3000));
        let mut records: Vec<String> = (0..2000).map(record).collect();
        let (whole, ..) = numbers(&format!("[{}]", records.join(",")));
        assert!(whole.iter().copied().eq(0..2000));
        for number in [3, 700, 1500] {
            records[number] = records[number].replacen(':', "{", 1);
        }
        let (found, tally, end) = numbers(&format!("[{}]", records.join(",")));
        assert_eq!((found.len(), tally.malformed, end), (1997, 3, Ok(())));
        assert_eq!(tally.first.map(|(_, detail)| detail), Some("expected a colon after a key"));
    }
}
