//! Stats: the named values of events, kinds of events and planes.

use std::borrow::Cow;
use std::ops::Range;

use super::id_table::IdTable;
use crate::wire::{Message, Wire};

/// Value of a stat.
#[derive(Clone, Debug, PartialEq)]
pub enum StatValue<'a> {
    /// A number.
    Double(f64),
    /// An integer.
    Unsigned(u64),
    /// An integer.
    Signed(i64),
    /// A text.
    Text(Cow<'a, str>),
    /// A message or other data.
    Bytes(Cow<'a, [u8]>),
}

impl StatValue<'_> {
    /// The value as a number of any kind; texts are not read.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            StatValue::Double(value) => Some(value),
            StatValue::Unsigned(value) => Some(value as f64),
            StatValue::Signed(value) => Some(value as f64),
            StatValue::Text(_) | StatValue::Bytes(_) => None,
        }
    }

    /// The value as an unsigned integer, if it is one that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            StatValue::Unsigned(value) => Some(value),
            StatValue::Signed(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// The value as a signed integer, if it is one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            StatValue::Signed(value) => Some(value),
            StatValue::Unsigned(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }

    /// The 64 bits of an integer, whatever its sign: for ids, which profilers write either way.
    pub fn as_id(&self) -> Option<u64> {
        match *self {
            StatValue::Unsigned(value) => Some(value),
            StatValue::Signed(value) => Some(value as u64),
            _ => None,
        }
    }

    /// The text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            StatValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The data.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            StatValue::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value with its text or data copied.
    pub fn into_owned(self) -> StatValue<'static> {
        match self {
            StatValue::Double(value) => StatValue::Double(value),
            StatValue::Unsigned(value) => StatValue::Unsigned(value),
            StatValue::Signed(value) => StatValue::Signed(value),
            StatValue::Text(text) => StatValue::Text(Cow::Owned(text.into_owned())),
            StatValue::Bytes(bytes) => StatValue::Bytes(Cow::Owned(bytes.into_owned())),
        }
    }
}

/// A stat as the file has it.
#[derive(Clone, Debug)]
pub(crate) struct RawStat {
    /// In the plane's table of stats.
    pub(crate) metadata_id: i64,
    pub(crate) value: RawValue,
}

/// Value of a [`RawStat`]; texts and data are where they lie.
#[derive(Clone, Debug)]
pub(crate) enum RawValue {
    Missing,
    Double(f64),
    Unsigned(u64),
    Signed(i64),
    Text(Range<usize>),
    Bytes(Range<usize>),
    Reference(i64),
}

#[inline(always)]
pub(crate) fn read_stat(mut message: Message<'_>) -> Wire<RawStat> {
    let mut stat = RawStat { metadata_id: 0, value: RawValue::Missing };
    // Profilers write the name, then the value, which mostly is an integer.
    if let Some(id) = message.integer_if_next(1) {
        stat.metadata_id = id as i64;
    }
    if let Some(value) = message.integer_if_next(4) {
        stat.value = RawValue::Signed(value as i64);
    } else if let Some(value) = message.integer_if_next(3) {
        stat.value = RawValue::Unsigned(value);
    } else if let Some(value) = message.integer_if_next(7) {
        stat.value = RawValue::Reference(value as i64);
    }
    while let Some(field) = message.next_field()? {
        match field.number {
            1 => stat.metadata_id = message.signed(field)?,
            2 => stat.value = RawValue::Double(message.double(field)?),
            3 => stat.value = RawValue::Unsigned(message.unsigned(field)?),
            4 => stat.value = RawValue::Signed(message.signed(field)?),
            5 => stat.value = RawValue::Text(message.span(field)?),
            6 => stat.value = RawValue::Bytes(message.span(field)?),
            7 => stat.value = RawValue::Reference(message.signed(field)?),
            _ => {}
        }
    }
    Ok(stat)
}

/// What the stats of a plane are called. References to texts are names of the same table.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatNames {
    pub(crate) table: IdTable,
    pub(crate) names: Vec<Box<str>>,
}

impl StatNames {
    /// Name of a stat, or text of a reference; empty when the table has no such entry.
    pub(crate) fn name(&self, id: i64) -> &str {
        self.table.find(id).map_or("", |index| &self.names[index])
    }

    /// The value with its text resolved. `None` for a stat without a value.
    pub(crate) fn resolve<'a>(&'a self, bytes: &'a [u8], value: RawValue) -> Option<StatValue<'a>> {
        Some(match value {
            RawValue::Missing => return None,
            RawValue::Double(value) => StatValue::Double(value),
            RawValue::Unsigned(value) => StatValue::Unsigned(value),
            RawValue::Signed(value) => StatValue::Signed(value),
            RawValue::Text(span) => StatValue::Text(String::from_utf8_lossy(&bytes[span])),
            RawValue::Bytes(span) => StatValue::Bytes(Cow::Borrowed(&bytes[span])),
            RawValue::Reference(id) => StatValue::Text(Cow::Borrowed(self.name(id))),
        })
    }

    /// The named stats in field `stats_field` of the message whose tag stands at `offset`. The message was read once
    /// before, so it has no fault; if it had, the stats would end there.
    pub(crate) fn stats_of<'a>(
        &'a self,
        bytes: &'a [u8],
        offset: usize,
        stats_field: u32,
    ) -> impl Iterator<Item = (&'a str, StatValue<'a>)> {
        let mut message = Message::at_field(bytes, offset, "XStat").ok();
        std::iter::from_fn(move || {
            loop {
                let fields = message.as_mut()?;
                let field = fields.next_field().ok()??;
                if field.number != stats_field {
                    continue;
                }
                let stat = read_stat(fields.message(field, "XStat").ok()?).ok()?;
                if let Some(value) = self.resolve(bytes, stat.value) {
                    return Some((self.name(stat.metadata_id), value));
                }
            }
        })
    }
}
