//! Functions and methods that can make much of little: what a script calls instead.

use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value as ScriptValue;
use starlark::values::tuple::UnpackTuple;

use super::super::host::complain;
use super::{ELEMENT, ENTRY, Memory, RESERVED, entries, is_table, items, length};

/// Functions that go through all of what they are given, or make a text of it.
pub(super) const FUNCTIONS: [&str; 21] = [
    "all",
    "any",
    "dict",
    "enumerate",
    "fail",
    "filter",
    "getattr",
    "int",
    "list",
    "map",
    "max",
    "min",
    "print",
    "prod",
    "repr",
    "reversed",
    "set",
    "sorted",
    "str",
    "tuple",
    "zip",
];

/// Methods of texts, lists, dicts and sets that give more than their receiver, or as much again.
pub(super) const METHODS: [&str; 24] = [
    "add",
    "capitalize",
    "codepoints",
    "difference",
    "elems",
    "extend",
    "format",
    "intersection",
    "items",
    "join",
    "keys",
    "lower",
    "partition",
    "replace",
    "rpartition",
    "rsplit",
    "setdefault",
    "split",
    "splitlines",
    "symmetric_difference",
    "title",
    "union",
    "update",
    "upper",
];

/// Methods that make a set.
const MAKING_SETS: [&str; 4] = ["difference", "intersection", "symmetric_difference", "union"];

/// Bytes of the pieces of a text, for each of its bytes: one character takes a value of its own and an element.
const PIECES: u64 = 40;

/// Bytes of an element with its position.
const PAIR: u64 = 48;

/// Whether a value has methods of the interpreter, and not fields that a script or the tool gave it.
fn has_methods(value: ScriptValue<'_>) -> bool {
    value.unpack_str().is_some() || items(value).is_some() || is_table(value)
}

/// Fails where a method of `receiver` would make too much.
fn check_method<'v>(
    receiver: ScriptValue<'v>,
    method: &str,
    given: &[ScriptValue<'v>],
    named: &SmallMap<String, ScriptValue<'v>>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<()> {
    let (memory, heap) = (Memory::of(eval)?, eval.heap());
    let Some(text) = receiver.unpack_str() else {
        if !has_methods(receiver) {
            return Ok(());
        }
        let given = given.iter().map(|&value| length(value)).sum::<u64>() + named.len() as u64;
        return match (method, items(receiver)) {
            ("extend", Some(_)) => memory.elements(heap, given, ELEMENT),
            ("update" | "setdefault" | "add", _) => memory.elements(heap, given.max(1), ENTRY),
            _ => memory.elements(heap, given.saturating_add(length(receiver)), ENTRY),
        };
    };
    let bytes = text.len() as u64;
    match (method, given) {
        ("join", [parts]) => {
            let parts = items(*parts).unwrap_or_default();
            let of_parts: u64 =
                parts.iter().filter_map(|part| part.unpack_str()).map(|part| part.len() as u64).sum();
            memory.text(heap, bytes.saturating_mul(parts.len() as u64).saturating_add(of_parts))
        }
        ("replace", [old, new, ..]) => {
            let (Some(old), Some(new)) = (old.unpack_str(), new.unpack_str()) else { return Ok(()) };
            let found = text.matches(old).count() as u64;
            memory.text(heap, bytes.saturating_add(found.saturating_mul(new.len() as u64)))
        }
        ("format", _) => {
            let values: Vec<_> = given.iter().chain(named.values()).copied().collect();
            memory.text(heap, bytes)?;
            memory.printed(heap, &values, text.matches('{').count() as u64)
        }
        _ => memory.elements(heap, bytes, PIECES),
    }
}

/// Fails where a function would make too much.
fn check_function<'v>(
    function: &str,
    given: &[ScriptValue<'v>],
    named: &SmallMap<String, ScriptValue<'v>>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<()> {
    let (memory, heap) = (Memory::of(eval)?, eval.heap());
    let lengths = given.iter().map(|&value| length(value));
    match function {
        "str" | "repr" | "print" | "fail" => {
            let values: Vec<_> = given.iter().chain(named.values()).copied().collect();
            memory.printed(heap, &values, 1)
        }
        "int" => memory
            .digits(given.first().and_then(|text| text.unpack_str()).map_or(0, |text| text.len() as u64)),
        "getattr" => match given {
            [receiver, name, ..] if name.unpack_str().is_some_and(|name| METHODS.contains(&name)) => {
                unbound(*receiver, name.unpack_str().unwrap_or_default())
            }
            _ => Ok(()),
        },
        "zip" => {
            let rows = lengths.min().unwrap_or(0);
            memory.elements(heap, rows, PAIR.saturating_add(ELEMENT * given.len() as u64))
        }
        "enumerate" => memory.elements(heap, lengths.sum(), PAIR),
        "dict" | "set" => memory.elements(heap, lengths.sum(), ENTRY),
        // Those of texts are other texts' pieces.
        _ => memory.elements(heap, lengths.sum(), 2 * ELEMENT),
    }
}

/// Fails for a method of the interpreter that is not called where it stands.
fn unbound(receiver: ScriptValue<'_>, method: &str) -> starlark::Result<()> {
    match has_methods(receiver) {
        true => {
            Err(complain(format!("{method} of a {} has to be called where it stands", receiver.get_type())))
        }
        false => Ok(()),
    }
}

/// Calls a function of the script's or the interpreter's with what was given.
fn call<'v>(
    function: ScriptValue<'v>,
    given: &[ScriptValue<'v>],
    named: &SmallMap<String, ScriptValue<'v>>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<ScriptValue<'v>> {
    let named: Vec<(&str, ScriptValue<'v>)> =
        named.iter().map(|(name, &value)| (name.as_str(), value)).collect();
    eval.eval_function(function, given, &named)
}

/// The names by which a script says which function or method it means.
pub(in crate::extension) fn names(builder: &mut GlobalsBuilder) {
    for name in FUNCTIONS.into_iter().chain(METHODS) {
        builder.set(&format!("{RESERVED}{name}"), name);
    }
}

#[starlark_module]
pub(in crate::extension) fn calls(builder: &mut GlobalsBuilder) {
    /// `receiver.method(…)`
    fn _tracelens_method<'v>(
        #[starlark(require = pos)] receiver: ScriptValue<'v>,
        #[starlark(require = pos)] method: &str,
        #[starlark(args)] given: UnpackTuple<ScriptValue<'v>>,
        #[starlark(kwargs)] named: SmallMap<String, ScriptValue<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        check_method(receiver, method, &given.items, &named, eval)?;
        let function = receiver.get_attr_error(method, eval.heap())?;
        let before = entries(receiver);
        let made = call(function, &given.items, &named, eval)?;
        let grown = entries(receiver).saturating_sub(before);
        let of_result = if MAKING_SETS.contains(&method) { entries(made) } else { 0 };
        Memory::of(eval)?.count_beside(eval.heap(), grown + of_result)?;
        Ok(made)
    }

    /// `receiver.method` that is not called.
    fn _tracelens_field<'v>(
        #[starlark(require = pos)] receiver: ScriptValue<'v>,
        #[starlark(require = pos)] method: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        unbound(receiver, method)?;
        receiver.get_attr_error(method, eval.heap())
    }

    /// `function(…)`, whatever the script means by its name.
    fn _tracelens_function<'v>(
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] function: ScriptValue<'v>,
        #[starlark(args)] given: UnpackTuple<ScriptValue<'v>>,
        #[starlark(kwargs)] named: SmallMap<String, ScriptValue<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        check_function(name, &given.items, &named, eval)?;
        let made = call(function, &given.items, &named, eval)?;
        if name == "dict" || name == "set" {
            Memory::of(eval)?.count_beside(eval.heap(), entries(made))?;
        }
        Ok(made)
    }

    /// A value that all elements are taken of: `*values`, `list += values`.
    fn _tracelens_taken<'v>(
        #[starlark(require = pos)] values: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        Memory::of(eval)?.elements(eval.heap(), length(values), 2 * ELEMENT)?;
        Ok(values)
    }

    /// A value that is written into a text.
    fn _tracelens_written<'v>(
        #[starlark(require = pos)] value: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        Memory::of(eval)?.printed(eval.heap(), &[value], 1)?;
        Ok(value)
    }

    /// A dict that was made.
    fn _tracelens_made<'v>(
        #[starlark(require = pos)] made: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        Memory::of(eval)?.count_beside(eval.heap(), entries(made))?;
        Ok(made)
    }

    /// A condition of a comprehension, which is looked at in each of its passes.
    fn _tracelens_room<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
        Memory::of(eval)?.room(eval.heap(), 0)?;
        Ok(true)
    }
}
