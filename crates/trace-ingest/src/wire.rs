//! The protobuf wire format, read where it lies: no copy, no allocation, every length checked against the
//! enclosing message before it is used.

use std::borrow::Cow;
use std::ops::Range;

/// What is wrong with a message, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Byte of the decompressed file.
    pub(crate) offset: usize,
    /// Type of the message.
    pub(crate) message: &'static str,
    /// Number of the field; 0 when it could not be read.
    pub(crate) field: u32,
    /// What was found.
    pub(crate) detail: &'static str,
}

/// The fault is boxed because it is rare: results of fields stay small.
pub(crate) type Wire<T> = Result<T, Box<Fault>>;

/// Value of a field as the wire gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// Integers, enums, booleans.
    Varint(u64),
    /// Doubles.
    Fixed64(u64),
    /// Texts, bytes, messages, packed lists: from where to where in the file.
    Delimited(usize, usize),
    /// Four bytes, which no known field has.
    Fixed32,
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    pub(crate) value: Value,
    /// Where its tag lies in the file.
    pub(crate) offset: usize,
}

/// A message in the bytes of a file: hands out its fields one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Message<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    name: &'static str,
}

impl<'a> Message<'a> {
    /// The message that lies in `range` of `bytes`. `name` is for errors.
    pub(crate) fn new(bytes: &'a [u8], range: Range<usize>, name: &'static str) -> Self {
        let end = range.end.min(bytes.len());
        Message { bytes, at: range.start.min(end), end, name }
    }

    /// The message that is the value of the field whose tag stands at `offset`.
    #[inline]
    pub(crate) fn at_field(bytes: &'a [u8], offset: usize, name: &'static str) -> Wire<Self> {
        let mut outer = Message::new(bytes, offset..bytes.len(), name);
        match outer.next_field()? {
            Some(field) => outer.message(field, name),
            None => outer.fault(offset, 0, "the file ends where a message was expected"),
        }
    }

    /// Goes on at `offset`, which lies in the message.
    pub(crate) fn resume_at(mut self, offset: usize) -> Self {
        self.at = offset.clamp(self.at, self.end);
        self
    }

    #[cold]
    fn fault<T>(&self, offset: usize, field: u32, detail: &'static str) -> Wire<T> {
        Err(Box::new(Fault { offset, message: self.name, field, detail }))
    }

    /// The next field, or `None` at the end of the message.
    #[inline(always)]
    pub(crate) fn next_field(&mut self) -> Wire<Option<Field>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let offset = self.at;
        let tag = self.varint(0)?;
        let Some(number) = u32::try_from(tag >> 3).ok().filter(|&number| number != 0) else {
            return self.fault(offset, 0, "a field number is out of range");
        };
        let value = match tag & 7 {
            0 => Value::Varint(self.varint(number)?),
            1 => Value::Fixed64(u64::from_le_bytes(self.fixed(number)?)),
            2 => {
                let (start, end) = self.length(number, offset)?;
                self.at = end;
                Value::Delimited(start, end)
            }
            5 => {
                self.fixed::<4>(number)?;
                Value::Fixed32
            }
            _ => return self.fault(offset, number, "the field has an unknown wire type"),
        };
        Ok(Some(Field { number, value, offset }))
    }

    /// The integer of field `number` if that field comes next, as it does where profilers write fields in
    /// order; otherwise nothing was read, and [`Message::next_field`] tells what comes. `number` is below 16.
    #[inline(always)]
    pub(crate) fn integer_if_next(&mut self, number: u8) -> Option<u64> {
        let tag = self.at;
        if tag >= self.end || self.bytes[tag] != number << 3 {
            return None;
        }
        self.at = tag + 1;
        let value = self.short_varint();
        if value.is_none() {
            self.at = tag;
        }
        value
    }

    /// Where the tag of field `number` stands if that field comes next and is text, bytes or a message.
    /// `number` is below 16.
    #[inline(always)]
    pub(crate) fn next_delimited(&self, number: u8) -> Option<usize> {
        (self.at < self.end && self.bytes[self.at] == number << 3 | 2).then_some(self.at)
    }

    /// Steps over fields `number`, each text, bytes or a message shorter than 128 bytes, as long as one comes
    /// next, and says over how many. `number` is below 16.
    #[inline(always)]
    pub(crate) fn skip_short(&mut self, number: u8) -> usize {
        let mut count = 0;
        while let Some([tag, length, ..]) = self.bytes[self.at..self.end].first_chunk::<2>() {
            let next = self.at + 2 + usize::from(*length);
            if *tag != number << 3 | 2 || *length >= 0x80 || next > self.end {
                break;
            }
            self.at = next;
            count += 1;
        }
        count
    }

    /// A length and the span behind it, which must lie within the message.
    #[inline(always)]
    fn length(&mut self, number: u32, offset: usize) -> Wire<(usize, usize)> {
        let length = self.varint(number)?;
        let left = self.end - self.at;
        match usize::try_from(length) {
            Ok(length) if length <= left => Ok((self.at, self.at + length)),
            _ if self.end == self.bytes.len() => self.fault(offset, number, "its length exceeds the file"),
            _ => self.fault(offset, number, "its length exceeds the enclosing message"),
        }
    }

    #[inline(always)]
    fn varint(&mut self, number: u32) -> Wire<u64> {
        match self.short_varint() {
            Some(value) => Ok(value),
            None => self.long_varint(number),
        }
    }

    /// A number of one byte, as most are, or of up to eight, put together without a loop. Nothing is read of
    /// longer ones, and at the end of the file.
    #[inline(always)]
    fn short_varint(&mut self) -> Option<u64> {
        let start = self.at;
        if start < self.end && self.bytes[start] < 0x80 {
            self.at = start + 1;
            return Some(u64::from(self.bytes[start]));
        }
        if let Some(&chunk) = self.bytes[start..].first_chunk() {
            let word = u64::from_le_bytes(chunk);
            // The lowest byte without a continuation bit is the last.
            let stops = !word & 0x8080_8080_8080_8080;
            let length = stops.trailing_zeros() as usize / 8 + 1;
            if stops != 0 && length <= self.end - start {
                self.at = start + length;
                let kept = word & (u64::MAX >> (64 - 8 * length)) & 0x7f7f_7f7f_7f7f_7f7f;
                let pairs = (kept & 0x007f_007f_007f_007f) | ((kept & 0x7f00_7f00_7f00_7f00) >> 1);
                let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
                return Some((fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4));
            }
        }
        None
    }

    #[cold]
    fn long_varint(&mut self, number: u32) -> Wire<u64> {
        let start = self.at;
        let text = &self.bytes[start..self.end];
        let mut value = 0u64;
        for (index, &byte) in text.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.at = start + index + 1;
                return Ok(value);
            }
        }
        let detail =
            if text.len() < 10 { "the message ends within a number" } else { "a number is too long" };
        self.fault(start, number, detail)
    }

    #[inline]
    fn fixed<const N: usize>(&mut self, number: u32) -> Wire<[u8; N]> {
        match self.bytes[self.at..self.end].first_chunk() {
            Some(&chunk) => {
                self.at += N;
                Ok(chunk)
            }
            None => self.fault(self.at, number, "the message ends within a number"),
        }
    }

    /// The next number of a packed list, or `None` at its end.
    #[cfg(feature = "kineto")]
    pub(crate) fn next_packed(&mut self) -> Wire<Option<u64>> {
        if self.at >= self.end { Ok(None) } else { self.varint(0).map(Some) }
    }

    /// The bytes of the field's text, bytes or message.
    pub(crate) fn bytes(&self, field: Field) -> Wire<&'a [u8]> {
        self.span(field).map(|span| &self.bytes[span])
    }

    #[inline]
    pub(crate) fn unsigned(&self, field: Field) -> Wire<u64> {
        match field.value {
            Value::Varint(value) => Ok(value),
            _ => self.fault(field.offset, field.number, "expected an integer"),
        }
    }

    /// The field's integer; negative ones are stored as their 64-bit complement.
    #[inline]
    pub(crate) fn signed(&self, field: Field) -> Wire<i64> {
        self.unsigned(field).map(|value| value as i64)
    }

    #[inline]
    pub(crate) fn double(&self, field: Field) -> Wire<f64> {
        match field.value {
            Value::Fixed64(value) => Ok(f64::from_bits(value)),
            _ => self.fault(field.offset, field.number, "expected a double"),
        }
    }

    /// The eight bytes of the field as an integer.
    #[cfg(feature = "kineto")]
    pub(crate) fn fixed64(&self, field: Field) -> Wire<u64> {
        match field.value {
            Value::Fixed64(value) => Ok(value),
            _ => self.fault(field.offset, field.number, "expected eight bytes"),
        }
    }

    /// Where the field's text, bytes or message lies.
    #[inline]
    pub(crate) fn span(&self, field: Field) -> Wire<Range<usize>> {
        match field.value {
            Value::Delimited(start, end) => Ok(start..end),
            _ => self.fault(field.offset, field.number, "expected text, bytes or a message"),
        }
    }

    #[inline]
    pub(crate) fn message(&self, field: Field, name: &'static str) -> Wire<Message<'a>> {
        self.span(field).map(|span| Message::new(self.bytes, span, name))
    }

    /// The field's text; bytes that are not UTF-8 become `U+FFFD`.
    pub(crate) fn text(&self, field: Field) -> Wire<Cow<'a, str>> {
        self.span(field).map(|span| String::from_utf8_lossy(&self.bytes[span]))
    }

    /// A fault of the field's value.
    pub(crate) fn refuse<T>(&self, field: Field, detail: &'static str) -> Wire<T> {
        self.fault(field.offset, field.number, detail)
    }

    /// The key and the place of the value of a map's entry.
    pub(crate) fn map_entry(&self, field: Field, name: &'static str) -> Wire<(i64, Option<usize>)> {
        let mut entry = self.message(field, name)?;
        let (mut key, mut value) = (0, None);
        while let Some(field) = entry.next_field()? {
            match field.number {
                1 => key = entry.signed(field)?,
                2 => {
                    entry.span(field)?;
                    value = Some(field.offset);
                }
                _ => {}
            }
        }
        Ok((key, value))
    }
}

/// The field at `at` of a text whose beginning is `head`, where it is text, bytes or a message and its number is below
/// 16: number, and begin and end of the content. The end may lie behind what is there.
pub(crate) fn probe_field(head: &[u8], at: usize) -> Option<(u8, usize, usize)> {
    let &tag = head.get(at).filter(|&tag| tag & 0x87 == 2)?;
    let mut length = 0usize;
    for (index, &byte) in head.get(at + 1..)?.iter().take(9).enumerate() {
        length |= usize::from(byte & 0x7f).checked_shl(7 * index as u32)?;
        if byte < 0x80 {
            let start = at + 2 + index;
            return Some((tag >> 3, start, start.saturating_add(length)));
        }
    }
    None
}

impl Fault {
    /// The broken field as the format's documentation calls it, such as `XLine.events`.
    pub(crate) fn place(&self) -> String {
        let name = match (self.message, self.field) {
            ("XSpace", 1) => "planes",
            ("XSpace", 2) => "errors",
            ("XSpace", 3) => "warnings",
            ("XSpace", 4) => "hostnames",
            ("XPlane" | "XLine" | "XEventMetadata" | "XStatMetadata", 1) => "id",
            ("XPlane" | "XLine" | "XEventMetadata" | "XStatMetadata", 2) => "name",
            ("XPlane", 3) => "lines",
            ("XPlane", 4) => "event_metadata",
            ("XPlane", 5) => "stat_metadata",
            ("XPlane", 6) | ("XEvent", 4) | ("XEventMetadata", 5) => "stats",
            ("XLine", 3) => "timestamp_ns",
            ("XLine", 4) => "events",
            ("XLine", 10) => "display_id",
            ("XLine", 11) | ("XEventMetadata", 4) => "display_name",
            ("XEvent" | "XStat", 1) => "metadata_id",
            ("XEvent", 2) => "offset_ps",
            ("XEvent", 3) => "duration_ps",
            ("XEvent", 5) => "num_occurrences",
            ("XStat", 2) => "double_value",
            ("XStat", 3) => "uint64_value",
            ("XStat", 4) => "int64_value",
            ("XStat", 5) => "str_value",
            ("XStat", 6) => "bytes_value",
            ("XStat", 7) => "ref_value",
            (message, 0) => return format!("a field of {message}"),
            (message, number) => return format!("field {number} of {message}"),
        };
        format!("{}.{name}", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Wire<Vec<(u32, usize)>> {
        let mut message = Message::new(bytes, 0..bytes.len(), "XEvent");
        let mut fields = Vec::new();
        while let Some(field) = message.next_field()? {
            fields.push((field.number, field.offset));
        }
        Ok(fields)
    }

    #[test]
    fn fields_of_every_wire_type_are_stepped_over() {
        let bytes =
            [0x08, 0x96, 0x01, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x22, 2, 9, 9, 0x2d, 1, 2, 3, 4, 0x80, 0x01, 5];
        assert_eq!(fields(&bytes), Ok(vec![(1, 0), (2, 3), (4, 12), (5, 16), (16, 21)]));
    }

    #[test]
    fn negative_numbers_take_ten_bytes() {
        let bytes = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let mut message = Message::new(&bytes, 0..bytes.len(), "XEvent");
        let field = message.next_field().unwrap().unwrap();
        assert_eq!(message.signed(field), Ok(-1));
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for bits in 0..64 {
            for value in [1u64 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                let mut bytes = vec![0x08];
                prost::encoding::encode_varint(value, &mut bytes);
                for padding in [0, 12] {
                    let length = bytes.len();
                    let mut padded = bytes.clone();
                    padded.extend(vec![0xff; padding]);
                    let mut message = Message::new(&padded, 0..length, "XEvent");
                    let field = message.next_field().unwrap().unwrap();
                    assert_eq!(message.unsigned(field), Ok(value));
                    assert!(message.next_field().unwrap().is_none());
                    let mut cut = Message::new(&padded, 0..length - 1, "XEvent");
                    assert!(cut.next_field().is_err(), "{value}");
                }
            }
        }
    }

    #[test]
    fn a_fault_names_its_place() {
        let cases: [(&[u8], usize, &str, &str); 6] = [
            (&[0x08, 0x80], 1, "XEvent.metadata_id", "ends within a number"),
            (&[0x18, 1, 0x22, 5, 0], 2, "XEvent.stats", "exceeds the file"),
            (
                &[0x22, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
                0,
                "XEvent.stats",
                "exceeds the file",
            ),
            (
                &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
                1,
                "XEvent.metadata_id",
                "too long",
            ),
            (&[0x00, 0x00], 0, "a field of XEvent", "out of range"),
            (&[0x1b], 0, "XEvent.duration_ps", "wire type"),
        ];
        for (bytes, offset, place, detail) in cases {
            let fault = fields(bytes).unwrap_err();
            assert_eq!((fault.offset, fault.place().as_str()), (offset, place), "{bytes:?}");
            assert!(fault.detail.contains(detail), "{bytes:?}: {}", fault.detail);
        }
    }

    #[test]
    fn a_known_field_of_another_type_is_a_fault() {
        let bytes = [0x08, 1];
        let mut message = Message::new(&bytes, 0..2, "XPlane");
        let field = message.next_field().unwrap().unwrap();
        let fault = message.span(field).unwrap_err();
        assert_eq!((fault.place().as_str(), fault.offset), ("XPlane.id", 0));
        assert!(message.double(field).is_err() && message.unsigned(field).is_ok());
    }
}
