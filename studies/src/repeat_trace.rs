//! A recorded Kineto trace several times in a row, as if its program had gone on: a large trace that is real.
//!
//! The text stays as it is but for numbers: each copy starts after the one before it ends, and its correlations,
//! flows, sequence numbers and Python frames have ids of their own.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::{Outcome, StudyResult};

/// What to repeat.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Trace to repeat: JSON, plain or gzip
    trace: PathBuf,
    /// How often its events are to be in the new one
    #[arg(long, default_value = "6", value_parser = clap::value_parser!(u32).range(1..))]
    copies: u32,
    /// Where to write it, as plain JSON
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> StudyResult {
    write_copies(&arguments.trace, arguments.copies, &arguments.out)?;
    Ok(Outcome::Good)
}

/// Writes the trace so many times over.
pub(crate) fn write_copies(trace: &Path, copies: u32, out: &Path) -> Result<(), Box<dyn Error>> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    let mut text = Vec::new();
    File::open(trace).and_then(|mut file| file.read_to_end(&mut text)).map_err(failed(trace))?;
    if text.starts_with(&[0x1f, 0x8b]) {
        let mut inflated = Vec::new();
        flate2::read::MultiGzDecoder::new(&text[..]).read_to_end(&mut inflated).map_err(failed(trace))?;
        text = inflated;
    }
    let recording = Recording::of(&text).ok_or_else(|| format!("{}: has no traceEvents", trace.display()))?;
    let mut output = BufWriter::new(File::create(out).map_err(failed(out))?);
    recording.write(copies, &mut output).and_then(|()| output.flush()).map_err(failed(out))?;
    Ok(())
}

/// Numbers that differ from copy to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shifted {
    Time,
    Id,
}

fn shifted(key: &[u8]) -> Option<Shifted> {
    match key {
        b"ts" => Some(Shifted::Time),
        b"correlation" | b"External id" | b"id" | b"Python id" | b"Python parent id" | b"Sequence number" => {
            Some(Shifted::Id)
        }
        _ => None,
    }
}

/// A whole number in the text; of a time the part before the point.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Number {
    place: Range<usize>,
    value: i64,
    kind: Shifted,
}

struct Recording<'t> {
    text: &'t [u8],
    /// The elements of `traceEvents`.
    events: Range<usize>,
    numbers: Vec<Number>,
    /// From the start of a copy to that of the next, in µs.
    period: i64,
    /// More than any id.
    ids: i64,
}

impl<'t> Recording<'t> {
    fn of(text: &'t [u8]) -> Option<Self> {
        let mut scanner = Scanner { text, at: 0, depth: 0 };
        let mut events = None;
        while let Some(key) = scanner.next_key() {
            if key == b"traceEvents" && scanner.depth == 1 {
                events = scanner.list();
                break;
            }
        }
        let events = events?;
        scanner.at = events.start;
        let (mut numbers, mut longest) = (Vec::new(), 0);
        while let Some(key) = scanner.next_key().filter(|_| scanner.at < events.end) {
            let Some((place, value)) = scanner.whole_number() else { continue };
            if key == b"dur" {
                longest = longest.max(value);
            }
            if let Some(kind) = shifted(key)
                && value > 0
            {
                numbers.push(Number { place, value, kind });
            }
        }
        let of = |kind| numbers.iter().filter(move |number| number.kind == kind).map(|number| number.value);
        let times = of(Shifted::Time).min().zip(of(Shifted::Time).max());
        let period = times.map_or(0, |(first, last)| last - first + longest + 1000);
        let ids = of(Shifted::Id).max().unwrap_or(0) + 1;
        Some(Recording { text, events, numbers, period, ids })
    }

    fn write(&self, copies: u32, out: &mut impl Write) -> std::io::Result<()> {
        out.write_all(&self.text[..self.events.start])?;
        for copy in 0..i64::from(copies) {
            if copy > 0 {
                out.write_all(b",")?;
            }
            let mut written = self.events.start;
            for Number { place, value, kind } in &self.numbers {
                let shift = match kind {
                    Shifted::Time => self.period,
                    Shifted::Id => self.ids,
                };
                out.write_all(&self.text[written..place.start])?;
                write!(out, "{}", value + copy * shift)?;
                written = place.end;
            }
            out.write_all(&self.text[written..self.events.end])?;
        }
        out.write_all(&self.text[self.events.end..])
    }
}

/// Goes through JSON key by key.
struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    /// Open brackets.
    depth: usize,
}

impl<'t> Scanner<'t> {
    /// The next key of an object; the scanner is behind its colon.
    fn next_key(&mut self) -> Option<&'t [u8]> {
        while let Some(&byte) = self.text.get(self.at) {
            self.at += 1;
            match byte {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.checked_sub(1)?,
                b'"' => {
                    let start = self.at;
                    self.skip_string();
                    let string = &self.text[start..self.at.saturating_sub(1).max(start)];
                    self.skip_space();
                    if self.text.get(self.at) == Some(&b':') {
                        self.at += 1;
                        return Some(string);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn skip_string(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }

    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// The digits that come next and what they say.
    fn whole_number(&mut self) -> Option<(Range<usize>, i64)> {
        self.skip_space();
        let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let place = self.at..self.at + digits;
        let value = std::str::from_utf8(&self.text[place.clone()]).ok()?.parse().ok()?;
        Some((place, value))
    }

    /// The elements of the list that comes next, without its brackets; `None` if none does, or it has no end.
    fn list(&mut self) -> Option<Range<usize>> {
        self.skip_space();
        let outside = self.depth;
        let start = self.at + 1;
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                b'"' => self.skip_string(),
                _ => {}
            }
            if self.depth <= outside {
                let is_list = self.text[start - 1] == b'[' && byte == b']';
                return is_list.then_some(start..self.at - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn copies_follow_each_other_with_ids_of_their_own() {
        let trace = json!({
            "deviceProperties": [{"id": 7}],
            "traceEvents": [
                {"ph": "X", "name": "a \"ts\": 5 ]", "ts": 100.25, "dur": 40, "args": {"External id": 3, "list": ["[1]"]}},
                {"ph": "s", "id": 9, "ts": 110, "args": {"Python parent id": null}},
            ],
            "ts": 4,
        });
        let text = serde_json::to_vec_pretty(&trace).unwrap();
        let recording = Recording::of(&text).unwrap();
        assert_eq!((recording.period, recording.ids), (110 - 100 + 40 + 1000, 10));
        let mut out = Vec::new();
        recording.write(3, &mut out).unwrap();
        let repeated: Value = serde_json::from_slice(&out).unwrap();
        let of = |pointer: &str| repeated.pointer(pointer).unwrap().clone();
        assert_eq!(repeated["traceEvents"].as_array().map(Vec::len), Some(6));
        assert_eq!((of("/ts"), of("/deviceProperties/0/id")), (json!(4), json!(7)));
        assert_eq!((of("/traceEvents/0/ts"), of("/traceEvents/2/ts")), (json!(100.25), json!(1150.25)));
        assert_eq!(of("/traceEvents/4/args/External id"), json!(23));
        assert_eq!((of("/traceEvents/5/id"), of("/traceEvents/5/ts")), (json!(29), json!(2210)));
        assert_eq!(of("/traceEvents/4/name"), json!("a \"ts\": 5 ]"));
        let mut once = Vec::new();
        recording.write(1, &mut once).unwrap();
        assert_eq!(once, text);
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        for text in ["", "[]", "{}", r#"{"a": {"traceEvents": []}}"#, r#"{"traceEvents": 3"#] {
            assert!(Recording::of(text.as_bytes()).is_none(), "{text}");
        }
    }
}
