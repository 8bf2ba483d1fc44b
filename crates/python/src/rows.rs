//! Which rows of a table Python asks for.

use std::cmp::Ordering::{Equal, Greater, Less};

use answers::{Condition, Order, RowError, RowQuery, Test, Value};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::refused;

/// The columns, conditions, order and number of the rows.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AskedRows {
    select: Option<Vec<String>>,
    /// Column, operator and what is compared with; nothing with `null`.
    r#where: Vec<(String, String, Option<Given>)>,
    /// Columns, with whether the largest come first.
    sort: Vec<(String, bool)>,
    top: Option<usize>,
}

/// What cells are compared with.
#[derive(FromPyObject)]
enum Given {
    One(GivenValue),
    Several(Vec<GivenValue>),
}

#[derive(FromPyObject)]
enum GivenValue {
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

impl AskedRows {
    /// The question; without named columns it is for all.
    pub(crate) fn query(self, table: &sheets::Table) -> PyResult<RowQuery> {
        let every = || table.columns().iter().map(|column| column.name().to_owned()).collect();
        Ok(RowQuery {
            columns: self.select.unwrap_or_else(every),
            conditions: self.r#where.into_iter().map(condition).collect::<PyResult<_>>()?,
            order: self.sort.into_iter().map(|(column, descending)| Order { column, descending }).collect(),
            skip: 0,
            top: self.top.unwrap_or(usize::MAX),
        })
    }
}

fn condition((column, operator, given): (String, String, Option<Given>)) -> PyResult<Condition> {
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
            return Err(refused(format!(
                "the condition on {column:?} cannot be understood; write (column, operator, value): eq or ne with a value, \
                 lt, le, gt or ge with a number, contains or starts with a text, in with a list, null with None"
            )));
        }
    };
    Ok(Condition { column, test })
}

/// Why there are no rows: a name that there is not is a wrong key.
pub(crate) fn no_rows(error: RowError) -> PyErr {
    match error {
        RowError::UnknownTable { .. } | RowError::UnknownColumn { .. } => {
            PyKeyError::new_err(error.to_string())
        }
        error => refused(error),
    }
}
