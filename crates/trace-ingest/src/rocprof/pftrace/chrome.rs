//! Chrome's JSON that was converted from a Perfetto trace: an object with a list `traceEvents`.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

use super::arguments::{Arguments, Key, Scalar};
use super::collector::{Collector, Outcome};
use super::slice::{Lane, Slice};
use crate::error::IngestError;
use crate::index_set::IndexSet;
use crate::json::number::{integer, microseconds_to_nanoseconds};
use crate::json::scanner::{Fault, RawValue, Scan, Scanner, unescape};
use crate::kineto::event_list::{
    BLOCK, EVENTS_NOT_A_LIST, Refusal, RunEnd, Sink, TrailingText, read_into, walk,
};
use crate::rocprof::profile::{Profile, SourceFormat};
use crate::source::TextSource;
use crate::string_table::StringId;
use crate::warning::Warning;

/// Reads a trace. Times are those of the arguments `begin_ns`, `end_ns` and `delta_ns` where they are, else `ts` and
/// `dur`, which are microseconds whatever their size.
///
/// # Errors
/// When the text has no list of events, or the events are another program's.
pub(crate) fn read_chrome(path: &Path, source: TextSource<'_>) -> Result<Profile, IngestError> {
    let (events, ending, damage) =
        read_into(source.text, Events::default(), BLOCK).map_err(|refusal| match refusal {
            Refusal::NotATrace { detail, .. } => {
                let missing = if detail == EVENTS_NOT_A_LIST {
                    detail
                } else {
                    format!("missing 'traceEvents' key: {detail}")
                };
                let found = "JSON in another format".to_string();
                IngestError::NotRocprof { path: path.to_path_buf(), missing, found }
            }
            Refusal::TooManyEvents => {
                IngestError::TooManyEvents { path: path.to_path_buf(), limit: u32::MAX }
            }
        })?;
    let Events { mut collector, lanes, malformed, first_malformed, trailing, .. } = events;
    if let Some(detail) = damage {
        collector.warn(1, Warning::DamagedCompression { bytes_read: None, detail });
    } else if !ending.complete {
        collector.warn(1, Warning::Truncated { bytes_lost: ending.unused });
    }
    collector.warn(trailing.bytes, Warning::Truncated { bytes_lost: trailing.bytes });
    let (list, detail) = ("traceEvents".to_string(), first_malformed);
    collector.warn(malformed, Warning::MalformedRecords { list, count: malformed, detail });
    let lanes: Vec<Lane> = lanes.into_iter().collect();
    let mut profile = collector.finish(path, SourceFormat::ChromeJson, &lanes)?;
    profile.warnings.splice(0..0, source.warnings);
    Ok(profile)
}

/// Takes the events.
#[derive(Default)]
struct Events {
    collector: Collector,
    lanes: IndexSet<Lane>,
    malformed: u64,
    first_malformed: String,
    trailing: TrailingText,
}

impl Sink for Events {
    fn fact(&mut self, _: &'static str, _: &[u8]) {}

    fn entries(&mut self, text: &[u8], offset: u64) -> Result<RunEnd, Refusal> {
        Ok(walk(text, false, |range, parsed| {
            let start = offset + range.start as u64;
            let outcome = match parsed {
                Ok(_) => self.event(&text[range]).map_err(|fault| match fault {
                    Fault::Malformed(detail) => detail,
                    Fault::Incomplete => "the event does not end",
                }),
                Err(detail) => Err(detail),
            };
            if let Err(detail) = outcome {
                if self.malformed == 0 {
                    self.first_malformed = format!("byte {start}: {detail}");
                }
                self.malformed += 1;
            }
            ControlFlow::Continue(())
        }))
    }

    fn trailing(&mut self, text: &[u8]) {
        self.trailing.add(text);
    }
}

impl Events {
    /// Takes an event, from brace to brace.
    fn event<'t>(&mut self, text: &'t [u8]) -> Scan<()> {
        let mut scanner = Scanner::new(text);
        let null = RawValue::Null;
        let (mut phase, mut category, mut name) = (null, null, null);
        let (mut pid, mut tid, mut start, mut length) = (null, null, null, null);
        let mut arguments = Arguments::default();
        scanner.expect(b'{', "an entry is not an object")?;
        scanner.members(|scanner: &mut Scanner<'t>, key| {
            let place = match key {
                b"ph" => &mut phase,
                b"cat" => &mut category,
                b"name" => &mut name,
                b"pid" => &mut pid,
                b"tid" => &mut tid,
                b"ts" => &mut start,
                b"dur" => &mut length,
                b"args" if scanner.accept(b'{')? => {
                    return scanner.members(|scanner, key| {
                        let value = scanner.value()?;
                        if let Some(key) = Key::from_name(key) {
                            arguments.set(key, scalar(value));
                        }
                        Ok(())
                    });
                }
                _ => return scanner.value().map(|_| ()),
            };
            *place = scanner.value()?;
            Ok(())
        })?;
        // Metadata, counters, arrows, and ends (which repeat what their begins tell).
        if !matches!(phase, RawValue::Null | RawValue::Text(b"X" | b"B" | b"b" | b"i" | b"I" | b"n")) {
            return Ok(());
        }
        let time = |value: RawValue<'_>| value.number_text().and_then(microseconds_to_nanoseconds);
        let number = |value: RawValue<'_>| value.number_text().and_then(integer);
        let start = time(start);
        // A begin whose end the converter did not find has no length.
        let open = matches!(phase, RawValue::Text(b"B" | b"b"));
        let end = match (start, time(length)) {
            (Some(start), Some(length)) => start.checked_add(length),
            (start, _) => start.filter(|_| !open),
        };
        let lane = Lane { pid: number(pid), tid: number(tid), stream: None };
        let lane = self.lanes.insert(lane).0 as u32;
        let (category, name) = (self.intern(category), self.intern(name));
        let slice = Slice { lane, category, name, start, end, arguments: &arguments };
        if let Outcome::Open(_) = self.collector.slice(&slice) {
            self.collector.count_unclosed();
        }
        Ok(())
    }

    fn intern(&mut self, value: RawValue<'_>) -> StringId {
        match value {
            RawValue::Text(raw) => match plain(raw) {
                Some(text) => self.collector.intern(text),
                None => {
                    let (text, lossy) = unescape(raw);
                    if lossy {
                        self.collector.count_invalid_utf8();
                    }
                    self.collector.intern(&text)
                }
            },
            RawValue::Bare(raw) => self.collector.intern_bytes(raw),
            RawValue::Null | RawValue::Nested(_) => self.collector.intern(""),
        }
    }
}

fn plain(raw: &[u8]) -> Option<&str> {
    if raw.contains(&b'\\') { None } else { std::str::from_utf8(raw).ok() }
}

fn scalar(value: RawValue<'_>) -> Scalar<'_> {
    match value {
        RawValue::Text(raw) => Scalar::Text(plain(raw).map_or_else(|| unescape(raw).0.into(), Cow::Borrowed)),
        RawValue::Bare(b"true") => Scalar::Unsigned(1),
        RawValue::Bare(b"false") => Scalar::Unsigned(0),
        RawValue::Bare(raw) => {
            let text = std::str::from_utf8(raw).unwrap_or_default();
            match (text.parse(), text.parse(), text.parse()) {
                (Ok(value), ..) => Scalar::Signed(value),
                (_, Ok(value), _) => Scalar::Unsigned(value),
                (.., Ok(value)) => Scalar::Float(value),
                _ => Scalar::Absent,
            }
        }
        RawValue::Null | RawValue::Nested(_) => Scalar::Absent,
    }
}
