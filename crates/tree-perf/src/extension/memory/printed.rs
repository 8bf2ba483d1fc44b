//! How long a value is as a text.

use starlark::values::dict::DictRef;
use starlark::values::structs::StructRef;
use starlark::values::{Heap, Value as ScriptValue};

use super::{digits_of, items};

/// Values in values that are written; each level takes stack.
const DEEPEST: usize = 200;

/// Bytes of a number, a name of a function and their like.
const SHORT: u64 = 32;

/// Bytes around an element.
const AROUND: u64 = 4;

/// Bytes of `value` as a text, `None` when they are more than `most` or when it is nested too deeply. A list that
/// holds itself ends by that, too. What is written with escapes may be a few times as long.
pub(super) fn printed<'v>(value: ScriptValue<'v>, heap: Heap<'v>, most: u64) -> Option<u64> {
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
