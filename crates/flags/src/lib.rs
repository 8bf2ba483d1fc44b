#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};

/// Takes one of these names for the value that it stands for.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    values: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    choice(values.iter().map(|(name, value)| (PossibleValue::new(*name), *value)).collect())
}

/// The same where help explains the names, or some of them: those whose note is not empty.
pub fn one_of_explained<T: Copy + Send + Sync + 'static>(
    values: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let known = |name, note: &'static str| match note {
        "" => PossibleValue::new(name),
        note => PossibleValue::new(name).help(note),
    };
    choice(values.iter().map(|(name, note, value)| (known(*name, note), *value)).collect())
}

/// Takes one of these values by its name.
pub fn choice<T: Copy + Send + Sync + 'static>(
    values: Vec<(PossibleValue, T)>,
) -> impl TypedValueParser<Value = T> {
    let names: Vec<PossibleValue> = values.iter().map(|(name, _)| name.clone()).collect();
    PossibleValuesParser::new(names).try_map(move |name| {
        let chosen = values.iter().find(|(known, _)| known.get_name() == name);
        chosen.map(|(_, value)| *value).ok_or("not one of the names")
    })
}

/// Takes a finite number that is right. `expected` completes the error: "expected a number …".
pub fn number(expected: &'static str, is_right: fn(f64) -> bool) -> impl TypedValueParser<Value = f64> {
    StringValueParser::new().try_map(move |text| match text.parse::<f64>() {
        Ok(value) if value.is_finite() && is_right(value) => Ok(value),
        _ => Err(format!("expected a number {expected}")),
    })
}

/// Takes a time of 0 µs or more.
pub fn microseconds() -> impl TypedValueParser<Value = f64> {
    number("of microseconds, 0 or more", |value| value >= 0.0)
}

/// Takes a regular expression, or a value that has one. The error says what expressions cannot have, and what to write
/// instead.
pub fn expression<T>() -> impl TypedValueParser<Value = T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: Display,
{
    StringValueParser::new().try_map(|text| {
        text.parse::<T>().map_err(|error| {
            format!(
                "{error}\nexpected a regular expression without look-around, back-references and \\p{{…}}; \
                 use \\w, \\d or ranges such as [a-z]"
            )
        })
    })
}
