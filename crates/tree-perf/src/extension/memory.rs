//! How much memory a script's values may take.
//!
//! The interpreter looks at its heap once in a thousand calls and passes of loops, and never while one of its own
//! functions runs, while `"a" * 10000000000` is a single one. So a script is changed before it is compiled
//! ([`rewrite`]): operators and functions that can make much of little are asked for through functions of ours, which
//! know the size of the result before it is made ([`operators`], [`calls`]).
//!
//! What stays is what takes time and no memory, such as the comparison of two lists that hold themselves many times:
//! a single call of a builtin function is not interrupted. Entries that statements put into a dict one by one are
//! bounded by the number of steps.

pub(super) mod calls;
pub(super) mod operators;
mod printed;
pub(super) mod rewrite;

use std::cell::{Cell, RefCell};

use starlark::eval::Evaluator;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value as ScriptValue};

use super::host::{Host, complain};
use printed::printed;

/// All names of the functions that a script is changed to call begin like this; a script's own do not.
pub(super) const RESERVED: &str = "_tracelens_";

/// Parts of all memory that one text may have.
const TEXT: usize = 64;

/// Bytes of an element of a list, and of an entry of a dict or a set with what the table keeps free.
const ELEMENT: u64 = 8;
const ENTRY: u64 = 64;

/// Digits of the largest number: the product of a thousand dimensions fits.
const MOST_DIGITS: u64 = 20_000;

/// What an evaluation holds and may hold, in bytes.
pub(super) struct Memory {
    most: usize,
    /// Dicts and sets, which the interpreter keeps beside its heap. They only grow: it collects no garbage while a
    /// function runs.
    beside: Cell<u64>,
    /// The bound that ended the evaluation.
    refused: RefCell<Option<String>>,
}

impl Memory {
    pub(super) fn new(most: usize) -> Self {
        Memory { most, beside: Cell::new(0), refused: RefCell::default() }
    }

    /// The memory of an evaluation.
    fn of<'a>(eval: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a Memory> {
        Ok(&Host::of(eval)?.memory)
    }

    /// The bound that ended the evaluation, if one did.
    pub(super) fn refused(&self) -> Option<String> {
        self.refused.borrow().clone()
    }

    fn refuse(&self, reason: String) -> starlark::Error {
        *self.refused.borrow_mut() = Some(reason.clone());
        complain(reason)
    }

    /// Fails where the script holds too much once it holds `bytes` more.
    pub(super) fn room(&self, heap: Heap<'_>, bytes: u64) -> starlark::Result<()> {
        let held = (heap.peak_allocated_bytes() as u64).saturating_add(self.beside.get());
        if held.saturating_add(bytes) > self.most as u64 {
            return Err(self.refuse(format!("the script holds more than {} MiB", self.most >> 20)));
        }
        Ok(())
    }

    /// Room for a text.
    fn text(&self, heap: Heap<'_>, bytes: u64) -> starlark::Result<()> {
        let most = self.most / TEXT;
        if bytes > most as u64 {
            return Err(self.refuse(format!("a text would be longer than {} KiB", most >> 10)));
        }
        self.room(heap, bytes)
    }

    /// Room for what `values` are as a text.
    fn printed<'v>(&self, heap: Heap<'v>, values: &[ScriptValue<'v>], times: u64) -> starlark::Result<()> {
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

    /// Room for so many elements of so many bytes; they are counted one by one in a builtin function, which bounds
    /// the time, too.
    fn elements(&self, heap: Heap<'_>, count: u64, bytes: u64) -> starlark::Result<()> {
        self.room(heap, count.saturating_mul(bytes))
    }

    /// Counts entries that a dict or a set has got.
    fn count_beside(&self, heap: Heap<'_>, entries: u64) -> starlark::Result<()> {
        if entries == 0 {
            return Ok(());
        }
        self.beside.set(self.beside.get().saturating_add(ENTRY * entries));
        self.room(heap, 0)
    }

    /// Fails for numbers of too many digits.
    fn digits(&self, digits: u64) -> starlark::Result<()> {
        match digits > MOST_DIGITS {
            true => Err(self.refuse(format!("a number would have more than {MOST_DIGITS} digits"))),
            false => Ok(()),
        }
    }
}

/// Elements of a list or a tuple.
fn items<'v>(value: ScriptValue<'v>) -> Option<&'v [ScriptValue<'v>]> {
    match ListRef::from_value(value) {
        Some(list) => Some(list.content()),
        None => TupleRef::from_value(value).map(TupleRef::content),
    }
}

/// Elements of anything that has some; 0 of others.
fn length(value: ScriptValue<'_>) -> u64 {
    value.length().map_or(0, |length| length.max(0) as u64)
}

/// Whether a value is a dict or a set.
fn is_table(value: ScriptValue<'_>) -> bool {
    DictRef::from_value(value).is_some() || value.get_type() == "set"
}

/// Entries of a dict or a set; 0 of others.
fn entries(value: ScriptValue<'_>) -> u64 {
    if is_table(value) { length(value) } else { 0 }
}

fn whole(value: ScriptValue<'_>) -> Option<i64> {
    i64::unpack_value(value).ok().flatten()
}

/// Digits of a whole number, or `None` for other values. Those of 64 bits need no look at the digits.
fn digits_of(value: ScriptValue<'_>) -> Option<u64> {
    match whole(value) {
        Some(number) => Some(u64::from(number.unsigned_abs().checked_ilog10().unwrap_or(0)) + 1),
        None => (value.get_type() == "int").then(|| value.to_repr().len() as u64),
    }
}
