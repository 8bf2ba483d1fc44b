//! The operators, functions and methods that can make much of little, with a bound on what they make.
//!
//! `[0] * 2000000000` must end in an error, because a failed allocation ends the process. The interpreter cannot
//! promise that: it checks its heap once in a thousand calls and passes of loops, never within one of its own
//! functions, and not at all for dicts and sets, which are outside its heap. So every operator, function and method that
//! can make much of little goes through this module, which knows the size of the result before it is made:
//!
//! - operators and methods, because the script is rewritten to call the functions of [`metering`]
//!   ([`metered_source`](crate::metered_source));
//! - functions, because the script gets [`Bounded`] ones in place of the interpreter's;
//! - everything else adds little at a time, and the heap is checked before each statement, in each pass of a
//!   comprehension and in each call of a lambda.
//!
//! With the account ([`memory`](crate::memory)) and the rewriting this is much code, but nothing shorter keeps the
//! promise: a bound on the sizes of ranges would refuse loops that end early, a check of the heap alone comes too late,
//! and a library must not put a limit of the operating system on the process that uses it.
//!
//! Work that takes time and no memory, such as the comparison of two lists that contain themselves many times, is not
//! bounded: a single call of a builtin function is not interrupted. Entries that statements put into a dict one by one
//! are bounded by the number of steps.

// The derive of `ProvidesStaticType` implements starlark's unsafe trait of types with lifetimes.
#![allow(unsafe_code)]

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::collections::SmallMap;
use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::{Arguments, Evaluator};
use starlark::typing::Ty;
use starlark::values::tuple::UnpackTuple;
use starlark::values::typing::TypeCompiled;
use starlark::values::{
    FrozenValue, Heap, NoSerialize, StarlarkPagable, StarlarkValue, StringValue, Value as ScriptValue,
    starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use crate::error::complain;
use crate::host::Host;
use crate::memory::{ELEMENT, ENTRY, Memory, digits_of, entries, is_table, items, length, whole};

/// Names of the functions that a rewritten script calls begin like this; a script's own do not.
pub(crate) const RESERVED: &str = "_tracelens_";

/// The memory of an evaluation.
fn memory<'a>(eval: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a Memory> {
    Ok(&Host::from_evaluator(eval)?.memory)
}

/// Asks for the memory of a text or a list repeated `times` times; false for values that `*` does not repeat.
fn repeated<'v>(
    value: ScriptValue<'v>,
    times: ScriptValue<'v>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<bool> {
    let Some(times) = whole(times) else { return Ok(false) };
    let times = times.max(0) as u64;
    let memory = memory(eval)?;
    if let Some(text) = value.unpack_str() {
        memory.text(eval.heap(), times.saturating_mul(text.len() as u64))?;
    } else if let Some(items) = items(value) {
        memory.elements(eval.heap(), times.saturating_mul(items.len() as u64), ELEMENT)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// How the results of a function grow with what it is given.
#[derive(Clone, Copy, Debug)]
enum Growth {
    /// Like the text of the values.
    Printed,
    /// Like a number of as many digits as the text.
    Digits,
    /// Not at all, but the result may be a method, which has to be called where it stands.
    Methods,
    /// Like the shortest value, with a part of each in each element.
    Rows,
    /// Like the elements, with a position for each.
    Pairs,
    /// Like the elements, as entries of a table.
    Entries,
    /// Like the elements. Functions that only go through them are here too, to bound their time.
    Elements,
}

/// Functions that go through all of what they are given, or make a text of it.
const FUNCTIONS: [(&str, Growth); 21] = [
    ("all", Growth::Elements),
    ("any", Growth::Elements),
    ("dict", Growth::Entries),
    ("enumerate", Growth::Pairs),
    ("fail", Growth::Printed),
    ("filter", Growth::Elements),
    ("getattr", Growth::Methods),
    ("int", Growth::Digits),
    ("list", Growth::Elements),
    ("map", Growth::Elements),
    ("max", Growth::Elements),
    ("min", Growth::Elements),
    ("print", Growth::Printed),
    ("prod", Growth::Elements),
    ("repr", Growth::Printed),
    ("reversed", Growth::Elements),
    ("set", Growth::Entries),
    ("sorted", Growth::Elements),
    ("str", Growth::Printed),
    ("tuple", Growth::Elements),
    ("zip", Growth::Rows),
];

/// Methods of texts, lists, dicts and sets that give more than their receiver, or as much again.
pub(crate) const METHODS: [&str; 24] = [
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
    let (memory, heap) = (memory(eval)?, eval.heap());
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
            // A value that is named in the text may occur many times; others occur once.
            let mut fields = text.split('{').skip(1).filter(|field| !field.is_empty());
            let is_repeated = fields.any(|field| !field.starts_with(['}', '!']));
            memory.printed(heap, &values, if is_repeated { text.matches('{').count() as u64 } else { 1 })
        }
        _ => memory.elements(heap, bytes, PIECES),
    }
}

impl Growth {
    /// Fails where a function that grows like this would make too much.
    fn check<'v>(
        self,
        given: &[ScriptValue<'v>],
        named: &SmallMap<StringValue<'v>, ScriptValue<'v>>,
        eval: &Evaluator<'v, '_, '_>,
    ) -> starlark::Result<()> {
        let (memory, heap) = (memory(eval)?, eval.heap());
        let lengths = given.iter().map(|&value| length(value));
        match self {
            Growth::Printed => {
                let values: Vec<_> = given.iter().chain(named.values()).copied().collect();
                memory.printed(heap, &values, 1)
            }
            Growth::Digits => {
                let text = given.first().and_then(|text| text.unpack_str());
                memory.digits(text.map_or(0, |text| text.len() as u64))
            }
            Growth::Methods => match (given, given.get(1).and_then(|name| name.unpack_str())) {
                ([receiver, ..], Some(name)) if METHODS.contains(&name) => unbound(*receiver, name),
                _ => Ok(()),
            },
            Growth::Rows => {
                let rows = lengths.min().unwrap_or(0);
                memory.elements(heap, rows, PAIR.saturating_add(ELEMENT * given.len() as u64))
            }
            Growth::Pairs => memory.elements(heap, lengths.sum(), PAIR),
            Growth::Entries => memory.elements(heap, lengths.sum(), ENTRY),
            Growth::Elements => memory.elements(heap, lengths.sum(), 2 * ELEMENT),
        }
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

/// A function of the interpreter that asks for memory before it is called.
#[derive(Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagable)]
struct Bounded {
    /// Its place in [`FUNCTIONS`].
    position: usize,
    function: FrozenValue,
}

starlark_simple_value!(Bounded);

impl fmt::Display for Bounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FUNCTIONS[self.position].0)
    }
}

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for Bounded {
    fn invoke(
        &self,
        _: ScriptValue<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        let given: Vec<_> = arguments.positions(eval.heap())?.collect();
        let named = arguments.names_map()?;
        let (_, growth) = FUNCTIONS[self.position];
        growth.check(&given, &named, eval)?;
        let named: Vec<_> = named.iter().map(|(name, &value)| (name.as_str(), value)).collect();
        let made = eval.eval_function(self.function.to_value(), &given, &named)?;
        if matches!(growth, Growth::Entries) {
            memory(eval)?.count_beside(eval.heap(), entries(made))?;
        }
        Ok(made)
    }

    /// `list`, `str` and their like are types, too.
    fn eval_type(&self) -> Option<Ty> {
        let function = self.function;
        Heap::temp(|heap| {
            let compiled = TypeCompiled::new(function.to_value(), heap);
            compiled.ok().map(|compiled| compiled.as_ty().clone())
        })
    }

    fn at(&self, index: ScriptValue<'v>, heap: Heap<'v>) -> starlark::Result<ScriptValue<'v>> {
        self.function.to_value().at(index, heap)
    }
}

/// The functions of a script: those of `all`, the ones that can make much of little bounded.
pub(crate) fn bounded(all: &Globals) -> Globals {
    let mut builder = GlobalsBuilder::new();
    builder.frozen_heap().add_reference(all.heap());
    for (name, function) in all.iter() {
        match FUNCTIONS.iter().position(|(known, _)| *known == name) {
            Some(position) => {
                let bounded = builder.alloc(Bounded { position, function });
                builder.set(name, bounded);
                if name == "getattr" {
                    builder.set("_tracelens_getattr", bounded);
                }
            }
            None => builder.set(name, function),
        }
    }
    builder.with(metering).build()
}

/// `left * right`
pub(crate) fn times<'v>(
    left: ScriptValue<'v>,
    right: ScriptValue<'v>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<ScriptValue<'v>> {
    operate(left, "*", right, eval)
}

/// `left operator right`, for the operators that can make much of little: `*`, `+`, `%` and `<<`.
fn operate<'v>(
    left: ScriptValue<'v>,
    operator: &str,
    right: ScriptValue<'v>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<ScriptValue<'v>> {
    let (memory, heap) = (memory(eval)?, eval.heap());
    match operator {
        "*" => {
            if !repeated(left, right, eval)?
                && !repeated(right, left, eval)?
                && let (Some(of_left), Some(of_right)) = (digits_of(left), digits_of(right))
            {
                memory.digits(of_left + of_right)?;
            }
            left.mul(right, heap)
        }
        "+" => {
            if let (Some(first), Some(second)) = (left.unpack_str(), right.unpack_str()) {
                memory.text(heap, (first.len() + second.len()) as u64)?;
            } else if let (Some(first), Some(second)) = (items(left), items(right)) {
                memory.elements(heap, (first.len() + second.len()) as u64, ELEMENT)?;
            }
            left.add(right, heap)
        }
        // Of a text, a format with the values for it.
        "%" => {
            if let Some(format) = left.unpack_str() {
                memory.text(heap, format.len() as u64)?;
                // A name of a dict may occur many times; a value of a tuple occurs once.
                let times = if format.contains("%(") { format.matches('%').count() as u64 } else { 1 };
                memory.printed(heap, &[right], times)?;
            }
            left.percent(right, heap)
        }
        _ => {
            if let (Some(digits), Some(by)) = (digits_of(left), whole(right)) {
                memory.digits(digits.saturating_add(by.max(0) as u64 / 3))?;
            }
            left.left_shift(right, heap)
        }
    }
}

/// What a rewritten script calls.
#[starlark_module]
fn metering(builder: &mut GlobalsBuilder) {
    /// `left operator right`
    fn _tracelens_operator<'v>(
        #[starlark(require = pos)] left: ScriptValue<'v>,
        #[starlark(require = pos)] operator: &str,
        #[starlark(require = pos)] right: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        operate(left, operator, right, eval)
    }

    /// `value[first:last:step]`, which makes no more than `value` is; the interpreter prints it wrongly.
    fn _tracelens_slice<'v>(
        #[starlark(require = pos)] value: ScriptValue<'v>,
        #[starlark(require = pos)] first: ScriptValue<'v>,
        #[starlark(require = pos)] last: ScriptValue<'v>,
        #[starlark(require = pos)] step: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        let [first, last, step] = [first, last, step].map(|part| (!part.is_none()).then_some(part));
        value.slice(first, last, step, eval.heap())
    }

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
        let named: Vec<_> = named.iter().map(|(name, &value)| (name.as_str(), value)).collect();
        let made = eval.eval_function(function, &given.items, &named)?;
        let grown = entries(receiver).saturating_sub(before);
        let of_result = if MAKING_SETS.contains(&method) { entries(made) } else { 0 };
        memory(eval)?.count_beside(eval.heap(), grown + of_result)?;
        Ok(made)
    }

    /// A value that all elements are taken of: `*values`, `list += values`.
    fn _tracelens_taken<'v>(
        #[starlark(require = pos)] values: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        memory(eval)?.elements(eval.heap(), length(values), 2 * ELEMENT)?;
        Ok(values)
    }

    /// A dict or set that was made, or that another one takes all entries of.
    fn _tracelens_made<'v>(
        #[starlark(require = pos)] made: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        memory(eval)?.count_beside(eval.heap(), entries(made))?;
        Ok(made)
    }

    /// A condition that always holds, for where many values are made without a statement between them.
    fn _tracelens_room<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
        memory(eval)?.room(eval.heap(), 0)?;
        Ok(true)
    }
}
