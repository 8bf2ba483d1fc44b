//! Writing trace events as text, by hand: tens of millions of them, in bounded memory.

use std::io::{self, Write};

/// Bytes gathered before they are handed to the file.
const BUFFER: usize = 1 << 18;

/// How the JSON is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One event over several lines, as Kineto writes it.
    Lines,
    /// No line breaks, and no blanks between the fields of an event.
    Compact,
}

impl Layout {
    /// Between two fields.
    pub fn comma(self) -> &'static str {
        match self {
            Layout::Lines => ", ",
            Layout::Compact => ",",
        }
    }

    /// Between a key and its value.
    pub fn colon(self) -> &'static str {
        match self {
            Layout::Lines => ": ",
            Layout::Compact => ":",
        }
    }
}

/// Writes the elements of `traceEvents` one after another.
pub struct EventWriter<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    layout: Layout,
    events: u64,
    after_field: bool,
    line_break: Option<&'static str>,
}

impl<'w> EventWriter<'w> {
    /// A writer into this file or buffer.
    pub fn new(out: &'w mut dyn Write, layout: Layout) -> Self {
        let buffer = Vec::with_capacity(BUFFER + (BUFFER >> 2));
        Self { out, buffer, layout, events: 0, after_field: false, line_break: None }
    }

    /// How its events are laid out.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Events written so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Text around the events. In the compact layout the caller's line breaks and indentation go.
    pub fn text(&mut self, text: &str) {
        match self.layout {
            Layout::Lines => self.buffer.extend_from_slice(text.as_bytes()),
            Layout::Compact => {
                for line in text.lines() {
                    self.buffer.extend_from_slice(line.trim().as_bytes());
                }
            }
        }
    }

    /// Starts an event.
    pub fn begin(&mut self) -> &mut Self {
        if self.events > 0 {
            self.buffer.push(b',');
        }
        self.events += 1;
        if self.layout == Layout::Lines {
            self.buffer.extend_from_slice(if self.events > 1 { b"\n  " } else { b"  " });
        }
        self.buffer.push(b'{');
        self.after_field = false;
        self.next_line("\n    ")
    }

    /// Ends an event and hands what has gathered to the file.
    pub fn end(&mut self) -> io::Result<()> {
        if self.layout == Layout::Lines {
            self.buffer.extend_from_slice(b"\n  ");
        }
        self.buffer.push(b'}');
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Starts the event's `args`.
    pub fn begin_args(&mut self) -> &mut Self {
        self.line();
        self.key("args");
        self.buffer.push(b'{');
        self.after_field = false;
        self.next_line("\n      ")
    }

    /// Ends the event's `args`.
    pub fn end_args(&mut self) -> &mut Self {
        self.line_break = None;
        if self.layout == Layout::Lines {
            self.buffer.extend_from_slice(b"\n    ");
        }
        self.buffer.push(b'}');
        self.after_field = true;
        self
    }

    /// The next field starts a new line.
    pub fn line(&mut self) -> &mut Self {
        self.next_line("\n    ")
    }

    fn next_line(&mut self, indent: &'static str) -> &mut Self {
        if self.layout == Layout::Lines {
            self.line_break = Some(indent);
        }
        self
    }

    fn separate(&mut self) {
        let on_new_line = self.line_break.take();
        if self.after_field {
            let comma = if on_new_line.is_some() { "," } else { self.layout.comma() };
            self.buffer.extend_from_slice(comma.as_bytes());
        }
        self.buffer.extend_from_slice(on_new_line.unwrap_or_default().as_bytes());
        self.after_field = true;
    }

    fn key(&mut self, key: &str) {
        self.separate();
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(key.as_bytes());
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(self.layout.colon().as_bytes());
    }

    /// A text.
    pub fn text_field(&mut self, key: &str, value: &str) -> &mut Self {
        self.key(key);
        push_quoted(&mut self.buffer, value);
        self
    }

    /// A whole number.
    pub fn integer(&mut self, key: &str, value: i64) -> &mut Self {
        self.key(key);
        if value < 0 {
            self.buffer.push(b'-');
        }
        push_digits(&mut self.buffer, value.unsigned_abs());
        self
    }

    /// A whole number that is not negative.
    pub fn count(&mut self, key: &str, value: u64) -> &mut Self {
        self.key(key);
        push_digits(&mut self.buffer, value);
        self
    }

    /// Nanoseconds, written as microseconds with three decimals.
    pub fn time(&mut self, key: &str, nanoseconds: u64) -> &mut Self {
        self.key(key);
        push_digits(&mut self.buffer, nanoseconds / 1000);
        let rest = nanoseconds % 1000;
        let decimals = [rest / 100, rest / 10 % 10, rest % 10].map(|digit| b'0' + digit as u8);
        self.buffer.push(b'.');
        self.buffer.extend_from_slice(&decimals);
        self
    }

    /// A value that is JSON already.
    pub fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        self.key(key);
        self.buffer.extend_from_slice(json.as_bytes());
        self
    }

    /// Fields that are JSON already, in this writer's layout; nothing for an empty text.
    pub fn raw_fields(&mut self, json: &str) -> &mut Self {
        if !json.is_empty() {
            self.separate();
            self.buffer.extend_from_slice(json.as_bytes());
        }
        self
    }

    /// `[a, b, c]`.
    pub fn triple(&mut self, key: &str, values: [u64; 3]) -> &mut Self {
        self.key(key);
        for (index, value) in values.into_iter().enumerate() {
            let before = if index == 0 { "[" } else { self.layout.comma() };
            self.buffer.extend_from_slice(before.as_bytes());
            push_digits(&mut self.buffer, value);
        }
        self.buffer.push(b']');
        self
    }

    /// Hands everything gathered to the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

fn push_digits(buffer: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[start..]);
}

/// A JSON string. The names written here hold no control characters.
fn push_quoted(buffer: &mut Vec<u8>, text: &str) {
    buffer.push(b'"');
    for byte in text.bytes() {
        if matches!(byte, b'"' | b'\\') {
            buffer.push(b'\\');
        }
        buffer.push(byte);
    }
    buffer.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_event(layout: Layout) -> String {
        let mut out = Vec::new();
        let mut writer = EventWriter::new(&mut out, layout);
        writer.begin().text_field("name", "a \"b\"").integer("pid", -1).line().time("ts", 12_034_005);
        writer.begin_args().triple("grid", [1, 20, 0]).raw_fields("").count("n", 0).end_args();
        writer.end().and_then(|()| writer.flush()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_layout_is_that_of_kineto() {
        assert_eq!(
            one_event(Layout::Lines),
            "  {\n    \"name\": \"a \\\"b\\\"\", \"pid\": -1,\n    \"ts\": 12034.005,\n    \"args\": {\n      \
             \"grid\": [1, 20, 0], \"n\": 0\n    }\n  }"
        );
    }

    #[test]
    fn compact_layout_has_no_blanks() {
        assert_eq!(
            one_event(Layout::Compact),
            r#"{"name":"a \"b\"","pid":-1,"ts":12034.005,"args":{"grid":[1,20,0],"n":0}}"#
        );
    }
}
