//! Which rows of a table Python asks for.

use std::cmp::Ordering::{Equal, Greater, Less};

use answers::{Condition, Order, RowError, RowQuery, Test, Value};
use pyo3::prelude::*;

use crate::boundary::{refused_by, refused_with, unknown_by};

/// Column, operator and what is compared with; nothing with `null`.
pub(crate) type AskedCondition = (String, String, Option<Given>);

/// What cells are compared with.
#[derive(FromPyObject)]
pub(crate) enum Given {
    One(GivenValue),
    Several(Vec<GivenValue>),
}

#[derive(FromPyObject)]
pub(crate) enum GivenValue {
    Flag(bool),
    Number(f64),
    Text(String),
}

impl From<GivenValue> for Value {
    fn from(given: GivenValue) -> Self {
        match given {
            GivenValue::Flag(flag) => Value::Flag(flag),
            GivenValue::Number(number) => Value::Number(number),
            GivenValue::Text(text) => Value::Text(text),
        }
    }
}

/// The question; without named columns it is for all. An order is a column, with whether the largest come first.
pub(crate) fn query(
    table: &sheets::Table,
    select: Option<Vec<String>>,
    conditions: Vec<AskedCondition>,
    sort: Vec<(String, bool)>,
    top: Option<usize>,
) -> PyResult<RowQuery> {
    let every = || table.columns().iter().map(|column| column.name().to_owned()).collect();
    Ok(RowQuery {
        columns: select.unwrap_or_else(every),
        conditions: conditions.into_iter().map(condition).collect::<PyResult<_>>()?,
        order: sort.into_iter().map(|(column, descending)| Order { column, descending }).collect(),
        skip: 0,
        top: top.unwrap_or(usize::MAX),
    })
}

fn condition((column, operator, given): AskedCondition) -> PyResult<Condition> {
    let test = match (operator.as_str(), given) {
        ("eq", Some(Given::One(value))) => Test::Equal(value.into()),
        ("ne", Some(Given::One(value))) => Test::NotEqual(value.into()),
        ("lt", Some(Given::One(GivenValue::Number(number)))) => Test::Number(&[Less], number),
        ("le", Some(Given::One(GivenValue::Number(number)))) => Test::Number(&[Less, Equal], number),
        ("gt", Some(Given::One(GivenValue::Number(number)))) => Test::Number(&[Greater], number),
        ("ge", Some(Given::One(GivenValue::Number(number)))) => Test::Number(&[Greater, Equal], number),
        ("contains", Some(Given::One(GivenValue::Text(text)))) => Test::Contains(text),
        ("starts", Some(Given::One(GivenValue::Text(text)))) => Test::Starts(text),
        ("in", Some(Given::Several(values))) => Test::In(values.into_iter().map(Into::into).collect()),
        ("null", None) => Test::Null,
        _ => {
            return Err(refused_with(
                format_args!("invalid condition on {column:?}"),
                "write (column, operator, value): eq or ne with a value, lt, le, gt or ge with a number, \
                 contains or starts with a string, in with a list, null with None",
            ));
        }
    };
    Ok(Condition { column, test })
}

/// Why there are no rows: a name that there is not is a wrong key.
pub(crate) fn no_rows(error: RowError) -> PyErr {
    match error {
        RowError::UnknownTable { .. } | RowError::UnknownColumn { .. } => unknown_by(&error),
        error => refused_by(&error),
    }
}
