//! Finds the way through text that arrives in file order, and hands what it finds to a sink.
//!
//! The assembler is the only place that knows where in the file it is. A run that was parsed ahead on
//! another thread is used when the list of events is open exactly where the run begins; any other text
//! is parsed here. So parsing ahead can be wrong about where events begin without ever being wrong in the
//! result.

use super::facts::known_key;
use super::run::RunEnd;
use crate::json::scanner::{BYTE_ORDER_MARK, Fault, Scanner, unescape};
use crate::json::skipped_value::SkippedValue;
use crate::warning::Warning;

/// Longest single event or known top-level value, in bytes. Real ones are thousands of times smaller; a
/// file that claims a larger one is damaged or hostile, and must not fill the memory.
const LONGEST_VALUE: usize = 64 << 20;

/// What is wrong with a `traceEvents` that holds something else.
pub(crate) const EVENTS_NOT_A_LIST: &str = "'traceEvents' must be a list";

/// Where in the file the assembler is.
#[derive(Debug)]
enum State {
    /// Before the first character.
    Start,
    /// Between the members of the top-level object.
    TopLevel,
    /// In the value of a top-level member that nobody needs, which is not kept.
    Skipping(SkippedValue),
    /// In the list of events, between two of them.
    Events,
    /// After the end of the trace.
    Done,
}

/// Why a text cannot be read as a Kineto trace.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It contains no list of events.
    NotATrace {
        detail: String,
        /// In bytes of text.
        offset: u64,
    },
    /// Its events are more than ids can name.
    TooManyEvents,
}

/// What becomes of the text that the assembler finds.
pub(crate) trait Sink {
    /// Takes the value of a known top-level member.
    fn fact(&mut self, key: &'static str, value: &[u8]);

    /// Takes text that begins between two entries of the event list, at `offset` of the whole text.
    fn entries(&mut self, text: &[u8], offset: u64) -> Result<RunEnd, Refusal>;

    /// Takes note of text behind the end of the trace, stretch by stretch.
    fn trailing(&mut self, text: &[u8]);

    /// Whether it is of use to go on.
    fn wants_more(&self) -> bool {
        true
    }
}

/// Text behind the end of a trace.
#[derive(Default)]
pub(crate) struct TrailingText {
    /// Bytes but for white space.
    pub(crate) bytes: u64,
    /// Keys of phases, which events of a trace have and little else has.
    phases: u64,
    /// The end of the last stretch, where a key may begin.
    last: Vec<u8>,
}

impl TrailingText {
    const PHASE: &'static [u8] = b"\"ph\"";

    pub(crate) fn add(&mut self, text: &[u8]) {
        self.bytes += text.iter().filter(|byte| !byte.is_ascii_whitespace()).count() as u64;
        let keep = Self::PHASE.len() - 1;
        let (head, _) = text.split_at(text.len().min(keep));
        self.last.extend(head);
        let phases = |text: &[u8]| memchr::memmem::find_iter(text, Self::PHASE).count() as u64;
        self.phases += phases(&self.last) + phases(text);
        let seen = if text.len() > keep { text } else { &self.last };
        self.last = seen[seen.len().saturating_sub(keep)..].to_vec();
    }

    /// The warning of this text, if there is any.
    pub(crate) fn warning(&self) -> Option<Warning> {
        let TrailingText { bytes, phases: events, .. } = *self;
        match (bytes, events) {
            (0, _) => None,
            (_, 0) => Some(Warning::TrailingText { bytes }),
            _ => Some(Warning::SecondTrace { bytes, events }),
        }
    }
}

/// How the text ended.
pub(crate) struct Ending {
    /// The trace was closed.
    pub(crate) complete: bool,
    /// Bytes of text that were used.
    pub(crate) used: u64,
    /// Bytes at the end that were not: the beginning of an entry or member that does not end.
    pub(crate) unused: u64,
}

pub(crate) struct Assembler<S> {
    state: State,
    /// The trace is a bare list of events: its end is the end of the trace.
    bare_list: bool,
    /// Text that was read but is not used yet: an entry or top-level member whose end is still to come.
    carry: Vec<u8>,
    /// So long the carry becomes before its end is looked for again: twice as long as it was without one. Looking into
    /// all of it with each stretch would take time by the square of its length.
    enough: usize,
    /// Bytes of text used so far, the carry excluded.
    offset: u64,
    events_found: bool,
    lacks_event_list: bool,
    keys: Vec<String>,
    sink: S,
}

impl<S: Sink> Assembler<S> {
    pub(crate) fn new(sink: S) -> Self {
        Assembler {
            state: State::Start,
            bare_list: false,
            carry: Vec::new(),
            enough: 0,
            offset: 0,
            events_found: false,
            lacks_event_list: false,
            keys: Vec::new(),
            sink,
        }
    }

    /// Takes the next stretch of text.
    pub(crate) fn take(&mut self, text: &[u8]) -> Result<(), Refusal> {
        if self.carry.is_empty() {
            return self.use_text(text);
        }
        self.carry.extend_from_slice(text);
        if self.carry.len() < self.enough {
            return Ok(());
        }
        self.use_carry()
    }

    fn use_carry(&mut self) -> Result<(), Refusal> {
        let carry = std::mem::take(&mut self.carry);
        self.use_text(&carry)
    }

    /// Takes the next stretch of text, of which a run was parsed as if it began between two events. `append` hands
    /// that run to the sink; `end` is how it ended.
    pub(crate) fn take_parsed(
        &mut self,
        text: &[u8],
        end: RunEnd,
        append: impl FnOnce(&mut S, u64) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if !matches!(self.state, State::Events) || !self.carry.is_empty() {
            return self.take(text);
        }
        append(&mut self.sink, self.offset)?;
        let used = self.leave_run(end, text.len());
        self.offset += used as u64;
        self.use_text(&text[used..])
    }

    fn use_text(&mut self, text: &[u8]) -> Result<(), Refusal> {
        let mut rest = text;
        while !rest.is_empty() {
            let used = match &mut self.state {
                State::Start => self.use_start(rest)?,
                State::TopLevel => self.use_top_level(rest)?,
                State::Skipping(value) => match value.skip(rest) {
                    Some(used) => {
                        self.state = State::TopLevel;
                        Some(used)
                    }
                    None => {
                        self.offset += rest.len() as u64;
                        return Ok(());
                    }
                },
                State::Events => {
                    let end = self.sink.entries(rest, self.offset)?;
                    // Without progress the entry at the beginning goes on behind the text.
                    Some(self.leave_run(end, rest.len())).filter(|&used| used > 0)
                }
                State::Done => {
                    self.sink.trailing(rest);
                    self.offset += rest.len() as u64;
                    return Ok(());
                }
            };
            let Some(used) = used else { return self.keep(rest) };
            self.offset += used as u64;
            rest = &rest[used..];
        }
        Ok(())
    }

    /// Takes note of how a run of `length` bytes ended; how much of it is used.
    fn leave_run(&mut self, end: RunEnd, length: usize) -> usize {
        match end {
            RunEnd::Open => length,
            RunEnd::Inside(at) => at,
            RunEnd::Closed(at) => {
                self.state = if self.bare_list { State::Done } else { State::TopLevel };
                at
            }
        }
    }

    /// Keeps text whose end is still to come.
    fn keep(&mut self, text: &[u8]) -> Result<(), Refusal> {
        if text.len() > LONGEST_VALUE {
            let detail = format!("a single value exceeds {} MiB", LONGEST_VALUE >> 20);
            return Err(Refusal::NotATrace { detail, offset: self.offset });
        }
        self.carry.extend_from_slice(text);
        self.enough = (2 * text.len()).min(LONGEST_VALUE + 1);
        Ok(())
    }

    /// Reads the opening bracket. Like [`Self::use_top_level`] it returns how much of the text it
    /// used, `None` when it needs more.
    fn use_start(&mut self, text: &[u8]) -> Result<Option<usize>, Refusal> {
        if BYTE_ORDER_MARK.starts_with(text) {
            return Ok(None);
        }
        let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut scanner = Scanner { text, position: mark };
        let Ok(byte) = scanner.peek() else { return Ok(Some(text.len())) };
        self.state = match byte {
            b'{' => State::TopLevel,
            b'[' => {
                (self.bare_list, self.events_found) = (true, true);
                State::Events
            }
            _ => {
                let detail = "the text begins with neither { nor [".to_string();
                return Err(Refusal::NotATrace { detail, offset: self.offset + scanner.position as u64 });
            }
        };
        Ok(Some(scanner.position + 1))
    }

    fn use_top_level(&mut self, text: &[u8]) -> Result<Option<usize>, Refusal> {
        match self.try_top_level(text) {
            Ok(used) => Ok(Some(used)),
            Err(Fault::Incomplete) => Ok(None),
            // Nothing can be said about where the next member begins, so this is the end of what is read.
            // With events in hand the rest is a loss to report, without them the file is no trace.
            Err(Fault::Malformed(_)) if self.events_found => {
                self.state = State::Done;
                Ok(Some(0))
            }
            Err(Fault::Malformed(detail)) => Err(Refusal::NotATrace {
                detail: format!("the text is not JSON: {detail}"),
                offset: self.offset,
            }),
        }
    }

    fn try_top_level(&mut self, text: &[u8]) -> Result<usize, Fault> {
        let mut scanner = Scanner::new(text);
        if scanner.accept(b',')? {
            return Ok(scanner.position);
        }
        if scanner.accept(b'}')? {
            self.state = State::Done;
            return Ok(scanner.position);
        }
        let key = scanner.key()?;
        let first = scanner.peek()?;
        if key == b"traceEvents" && first == b'[' {
            self.state = State::Events;
            self.events_found = true;
            return Ok(scanner.position + 1);
        }
        self.lacks_event_list |= key == b"traceEvents";
        if let Some(key) = known_key(key) {
            let start = scanner.position;
            scanner.value()?;
            self.sink.fact(key, &text[start..scanner.position]);
            return Ok(scanner.position);
        }
        if self.keys.len() < 8 {
            self.keys.push(unescape(key).0.chars().take(40).collect());
        }
        self.state = State::Skipping(SkippedValue::default());
        Ok(scanner.position)
    }

    /// Whether it is of use to go on.
    pub(crate) fn wants_more(&self) -> bool {
        self.sink.wants_more()
    }

    /// The sink, once all text was taken. `damage` tells how reading broke off, if it did.
    pub(crate) fn finish(mut self, damage: Option<&str>) -> Result<(S, Ending), Refusal> {
        self.use_carry()?;
        if !self.events_found {
            let detail = match (&self.state, self.keys.is_empty()) {
                (State::Done, _) if self.lacks_event_list => EVENTS_NOT_A_LIST.to_string(),
                (State::Done, true) => "the top-level object has no \"traceEvents\" list".to_string(),
                (State::Done, false) => {
                    format!(
                        "the top-level object has no \"traceEvents\" list; it begins with {}",
                        self.keys.join(", ")
                    )
                }
                _ => match damage {
                    Some(damage) => format!("the text ends before the list of events begins ({damage})"),
                    None => "the text ends before the list of events begins".to_string(),
                },
            };
            return Err(Refusal::NotATrace { detail, offset: self.offset });
        }
        let complete = matches!(self.state, State::Done);
        let ending = Ending { complete, used: self.offset, unused: self.carry.len() as u64 };
        Ok((self.sink, ending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the bytes of entries that it is given.
    struct Counted(usize);

    impl Sink for Counted {
        fn fact(&mut self, _: &'static str, _: &[u8]) {}

        fn entries(&mut self, text: &[u8], _: u64) -> Result<RunEnd, Refusal> {
            self.0 += text.len();
            let end = text.iter().position(|&byte| byte == b'}');
            Ok(end.map_or(RunEnd::Inside(0), |end| RunEnd::Closed(end + 1)))
        }

        fn trailing(&mut self, _: &[u8]) {}
    }

    #[test]
    fn an_entry_of_many_stretches_is_looked_at_a_few_times() {
        let mut assembler = Assembler::new(Counted(0));
        assembler.take(b"[{").unwrap();
        let stretches = 1000;
        for _ in 0..stretches {
            assembler.take(&[b' '; 100]).unwrap();
        }
        assembler.take(b"}").unwrap();
        let (Counted(bytes), ending) = assembler.finish(None).unwrap();
        assert!(bytes < 4 * 100 * stretches, "{bytes}");
        assert_eq!((ending.complete, ending.used, ending.unused), (true, 3 + 100 * stretches as u64, 0));
    }
}
