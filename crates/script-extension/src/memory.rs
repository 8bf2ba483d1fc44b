//! How much memory a script's values take, and how much they may.

use std::cell::{Cell, RefCell};

use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value as ScriptValue};

use crate::error::complain;

/// One text may have the memory of all values divided by this.
const TEXT: usize = 64;

/// Bytes of an element of a list, and of an entry of a dict or a set with what the table keeps free.
pub(crate) const ELEMENT: u64 = 8;
pub(crate) const ENTRY: u64 = 64;

/// Digits of the largest number: the product of a thousand dimensions fits.
const MOST_DIGITS: u64 = 20_000;

/// What an evaluation holds and may hold, in bytes.
pub(crate) struct Memory {
    most: usize,
    /// Dicts and sets, which the interpreter keeps beside its heap. They only grow: it collects no garbage while a
    /// function runs.
    beside: Cell<u64>,
    /// The bound that ended the evaluation.
    refused: RefCell<Option<String>>,
}

impl Memory {
    pub(crate) fn new(most: usize) -> Self {
        Memory { most, beside: Cell::new(0), refused: RefCell::default() }
    }

    /// The bound that ended the evaluation, if one did.
    pub(crate) fn refused(&self) -> Option<String> {
        self.refused.borrow().clone()
    }

    fn refuse(&self, reason: String) -> starlark::Error {
        *self.refused.borrow_mut() = Some(reason.clone());
        complain(reason)
    }

    /// Fails where the script holds too much once it holds `bytes` more.
    pub(crate) fn room(&self, heap: Heap<'_>, bytes: u64) -> starlark::Result<()> {
        let held = (heap.peak_allocated_bytes() as u64).saturating_add(self.beside.get());
        if held.saturating_add(bytes) > self.most as u64 {
            return Err(self.refuse(format!("the script holds more than {} MiB", self.most >> 20)));
        }
        Ok(())
    }

    /// Room for a text.
    pub(crate) fn text(&self, heap: Heap<'_>, bytes: u64) -> starlark::Result<()> {
        let most = self.most / TEXT;
        if bytes > most as u64 {
            return Err(self.refuse(format!("a text would be longer than {} KiB", most >> 10)));
        }
        self.room(heap, bytes)
    }

    /// Room for what `values` are as a text.
    pub(crate) fn printed<'v>(
        &self,
        heap: Heap<'v>,
        values: &[ScriptValue<'v>],
        times: u64,
    ) -> starlark::Result<()> {
        let most = (self.most / TEXT) as u64;
        let mut bytes: u64 = 0;
        for &value in values {
            let of_value = printed(value, heap, most).ok_or_else(|| {
                let most = most >> 10;
                self.refuse(format!("a value is longer than {most} KiB as a text, or nested too deeply"))
            })?;
            bytes = bytes.saturating_add(of_value);
        }
        self.text(heap, bytes.saturating_mul(times))
    }

    /// Room for `count` elements of `bytes` each. Builtin functions go through elements one by one, so this bounds their
    /// time, too.
    pub(crate) fn elements(&self, heap: Heap<'_>, count: u64, bytes: u64) -> starlark::Result<()> {
        self.room(heap, count.saturating_mul(bytes))
    }

    /// Counts entries that a dict or a set has got.
    pub(crate) fn count_beside(&self, heap: Heap<'_>, entries: u64) -> starlark::Result<()> {
        if entries == 0 {
            return Ok(());
        }
        self.beside.set(self.beside.get().saturating_add(ENTRY * entries));
        self.room(heap, 0)
    }

    /// Fails for numbers of too many digits.
    pub(crate) fn digits(&self, digits: u64) -> starlark::Result<()> {
        match digits > MOST_DIGITS {
            true => Err(self.refuse(format!("a number would have more than {MOST_DIGITS} digits"))),
            false => Ok(()),
        }
    }
}

/// Elements of a list or a tuple.
pub(crate) fn items<'v>(value: ScriptValue<'v>) -> Option<&'v [ScriptValue<'v>]> {
    match ListRef::from_value(value) {
        Some(list) => Some(list.content()),
        None => TupleRef::from_value(value).map(TupleRef::content),
    }
}

/// Elements of anything that has some; 0 of others.
pub(crate) fn length(value: ScriptValue<'_>) -> u64 {
    value.length().map_or(0, |length| length.max(0) as u64)
}

/// Whether a value is a dict or a set.
pub(crate) fn is_table(value: ScriptValue<'_>) -> bool {
    DictRef::from_value(value).is_some() || value.get_type() == "set"
}

/// Entries of a dict or a set; 0 of others.
pub(crate) fn entries(value: ScriptValue<'_>) -> u64 {
    if is_table(value) { length(value) } else { 0 }
}

pub(crate) fn whole(value: ScriptValue<'_>) -> Option<i64> {
    i64::unpack_value(value).ok().flatten()
}

/// Digits of a whole number, or `None` for other values. Those of 64 bits need no look at the digits.
pub(crate) fn digits_of(value: ScriptValue<'_>) -> Option<u64> {
    match whole(value) {
        Some(number) => Some(u64::from(number.unsigned_abs().checked_ilog10().unwrap_or(0)) + 1),
        None => (value.get_type() == "int").then(|| value.to_repr().len() as u64),
    }
}

/// Values in values that are written; each level takes stack.
const DEEPEST: usize = 200;

/// Bytes of a number, a name of a function and their like.
const SHORT: u64 = 32;

/// Bytes around an element.
const AROUND: u64 = 4;

/// Bytes of `value` as a text, `None` when they are more than `most` or when it is nested too deeply. A list that
/// holds itself ends by that, too. What is written with escapes may be a few times as long.
fn printed<'v>(value: ScriptValue<'v>, heap: Heap<'v>, most: u64) -> Option<u64> {
    let mut bytes: u64 = 0;
    let mut left = vec![(value, 0)];
    while let Some((value, depth)) = left.pop() {
        let deeper = depth + 1;
        bytes += AROUND;
        if let Some(text) = value.unpack_str() {
            bytes += text.len() as u64;
        } else if let Some(items) = items(value) {
            // Those to come count before they are put down: a list may hold one list many times.
            if AROUND * (left.len() + items.len()) as u64 > most {
                return None;
            }
            left.extend(items.iter().map(|&item| (item, deeper)));
        } else if let Some(dict) = DictRef::from_value(value) {
            left.extend(dict.iter().flat_map(|(key, value)| [(key, deeper), (value, deeper)]));
        } else if let Some(fields) = StructRef::from_value(value) {
            bytes += SHORT * fields.iter().len() as u64;
            left.extend(fields.iter().map(|(_, value)| (value, deeper)));
        } else if value.get_type() == "set" {
            left.extend(value.iterate(heap).ok()?.map(|item| (item, deeper)));
        } else {
            bytes += digits_of(value).unwrap_or(0).max(SHORT);
        }
        if bytes + AROUND * left.len() as u64 > most || depth > DEEPEST {
            return None;
        }
    }
    Some(bytes)
}
