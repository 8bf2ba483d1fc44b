//! Operators that can make much of little: the functions that a script calls instead.

use std::collections::HashMap;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value as ScriptValue;

use super::{ELEMENT, Memory, digits_of, items, whole};

/// The operators with the functions that stand for them.
pub(in crate::extension) fn replacements() -> HashMap<String, String> {
    [
        ("*", "_tracelens_times"),
        ("+", "_tracelens_plus"),
        ("%", "_tracelens_percent"),
        ("<<", "_tracelens_shifted"),
    ]
    .map(|(operator, function)| (operator.to_owned(), function.to_owned()))
    .into()
}

/// Room for a text or a list so many times.
fn repeated<'v>(
    value: ScriptValue<'v>,
    times: ScriptValue<'v>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<bool> {
    let Some(times) = whole(times) else { return Ok(false) };
    let times = times.max(0) as u64;
    let memory = Memory::of(eval)?;
    if let Some(text) = value.unpack_str() {
        memory.text(eval.heap(), times.saturating_mul(text.len() as u64))?;
    } else if let Some(items) = items(value) {
        memory.elements(eval.heap(), times.saturating_mul(items.len() as u64), ELEMENT)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

#[starlark_module]
pub(in crate::extension) fn operators(builder: &mut GlobalsBuilder) {
    /// `left * right`
    fn _tracelens_times<'v>(
        #[starlark(require = pos)] left: ScriptValue<'v>,
        #[starlark(require = pos)] right: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        if !repeated(left, right, eval)?
            && !repeated(right, left, eval)?
            && let (Some(of_left), Some(of_right)) = (digits_of(left), digits_of(right))
        {
            Memory::of(eval)?.digits(of_left + of_right)?;
        }
        left.mul(right, eval.heap())
    }

    /// `left + right`
    fn _tracelens_plus<'v>(
        #[starlark(require = pos)] left: ScriptValue<'v>,
        #[starlark(require = pos)] right: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        if let (Some(first), Some(second)) = (left.unpack_str(), right.unpack_str()) {
            Memory::of(eval)?.text(eval.heap(), (first.len() + second.len()) as u64)?;
        } else if let (Some(first), Some(second)) = (items(left), items(right)) {
            Memory::of(eval)?.elements(eval.heap(), (first.len() + second.len()) as u64, ELEMENT)?;
        }
        left.add(right, eval.heap())
    }

    /// `left % right`: of a text, a format with the values for it.
    fn _tracelens_percent<'v>(
        #[starlark(require = pos)] left: ScriptValue<'v>,
        #[starlark(require = pos)] right: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        if let Some(format) = left.unpack_str() {
            let memory = Memory::of(eval)?;
            memory.text(eval.heap(), format.len() as u64)?;
            // A name of a dict may be asked for again and again; what is in a tuple stands once.
            let times = if format.contains("%(") { format.matches('%').count() as u64 } else { 1 };
            memory.printed(eval.heap(), &[right], times)?;
        }
        left.percent(right, eval.heap())
    }

    /// `left << right`
    fn _tracelens_shifted<'v>(
        #[starlark(require = pos)] left: ScriptValue<'v>,
        #[starlark(require = pos)] right: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        if let (Some(digits), Some(by)) = (digits_of(left), whole(right)) {
            Memory::of(eval)?.digits(digits.saturating_add(by.max(0) as u64 / 3))?;
        }
        left.left_shift(right, eval.heap())
    }
}
