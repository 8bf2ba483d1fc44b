//! Flags of `tracelens table` and `tracelens why`.

use std::cmp::Ordering;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use answers::{Condition, Order, RowQuery, Test, Value};
use clap::Args;

use super::answer_output::AnswerOutput;
use super::reading::ReadingArguments;

pub(crate) const TABLE_EXAMPLES: &str = "\
Examples:
  tracelens table trace.json.gz                        the tables of the report, with their sizes
  tracelens table trace.json.gz ops_summary --top 5    the first rows of one table
  tracelens table trace.json.gz ops_summary --where 'name contains mm' --sort count
  tracelens table trace.json.gz kernel_summary --where 'kernel time (µs) gt 100'

Conditions: COLUMN eq|ne|lt|le|gt|ge|contains|starts VALUE, COLUMN in VALUE,VALUE or COLUMN null.
contains and starts ignore case.";

pub(crate) const WHY_EXAMPLES: &str = "\
Examples:
  tracelens why trace.json.gz aten::mm                 its cost, kernels, callers, and the waits before it
  tracelens why trace.json.gz SelfAttention --json     the same for a module, as JSON
  tracelens why trace.json.gz 1234                     the same for the event with this UID (see ops_all)";

#[derive(Args)]
pub(crate) struct TableArguments {
    /// Recording of any kind that `tracelens report` reads
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Table to print; without it, the tables are listed. Besides these, modules (by device time) and device_timeline (one by
    /// one) of a trace
    #[arg(value_name = "TABLE")]
    pub(crate) table: Option<String>,

    /// Columns to show, comma-separated. Repeatable [default: the first that are not empty]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "table")]
    select: Vec<String>,

    /// Show only rows that meet this condition. Repeatable: all must hold
    #[arg(long = "where", value_name = "CONDITION", value_parser = condition, requires = "table")]
    conditions: Vec<Condition>,

    /// Sort by this column, largest first; COLUMN:asc for smallest first. Repeatable: later ones break ties
    #[arg(long, value_name = "COLUMN", value_parser = order, requires = "table")]
    sort: Vec<Order>,

    /// Rows to show
    #[arg(long, value_name = "N", default_value = "20", requires = "table")]
    top: NonZeroUsize,

    /// Rows to skip at the start
    #[arg(long, value_name = "N", default_value = "0", requires = "table")]
    skip: usize,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

impl TableArguments {
    /// The rows that are asked for.
    pub(crate) fn query(&self) -> RowQuery {
        RowQuery {
            columns: self.select.clone(),
            conditions: self.conditions.clone(),
            order: self.sort.clone(),
            skip: self.skip,
            top: self.top.get(),
        }
    }
}

#[derive(Args)]
pub(crate) struct WhyArguments {
    /// Recording of any kind that `tracelens report` reads
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Name of an operator, kernel or module, or UID of an event
    #[arg(value_name = "TARGET")]
    pub(crate) target: String,

    /// Entries to show per list
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) top: NonZeroUsize,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// `COLUMN OPERATOR VALUE`. Columns have spaces in their names, so the operator is looked for.
fn condition(text: &str) -> Result<Condition, String> {
    use Ordering::{Equal, Greater, Less};
    let of = |column: &str, test| Ok(Condition { column: column.trim().to_owned(), test });
    if let Some(column) = text.strip_suffix(" null") {
        return of(column, Test::Null);
    }
    const OPERATORS: [&str; 9] = ["eq", "ne", "lt", "le", "gt", "ge", "contains", "starts", "in"];
    let places = OPERATORS.iter().filter_map(|name| Some((text.find(&format!(" {name} "))?, *name)));
    let Some((place, name)) = places.min() else {
        return Err(format!("expected COLUMN OPERATOR VALUE with one of {} or null", OPERATORS.join(", ")));
    };
    let (column, given) = (&text[..place], &text[place + name.len() + 2..]);
    let number = |orders| match given.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Test::Number(orders, number)),
        _ => Err(format!("{name} compares numbers; {given:?} is not a number")),
    };
    let test = match name {
        "eq" => Test::Equal(value(given)),
        "ne" => Test::NotEqual(value(given)),
        "lt" => number(&[Less])?,
        "le" => number(&[Less, Equal])?,
        "gt" => number(&[Greater])?,
        "ge" => number(&[Greater, Equal])?,
        "contains" => Test::Contains(given.to_owned()),
        "starts" => Test::Starts(given.to_owned()),
        _ => Test::In(given.split(',').map(value).collect()),
    };
    of(column, test)
}

fn value(text: &str) -> Value {
    match text {
        "true" | "True" => Value::Flag(true),
        "false" | "False" => Value::Flag(false),
        text => match text.parse::<f64>() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::Text(text.to_owned()),
        },
    }
}

fn order(text: &str) -> Result<Order, String> {
    let (column, descending) = match text.strip_suffix(":asc") {
        Some(column) => (column, false),
        None => (text.strip_suffix(":desc").unwrap_or(text), true),
    };
    match column {
        "" => Err("expected a column name".to_owned()),
        column => Ok(Order { column: column.to_owned(), descending }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_name_columns_with_spaces() {
        let parsed = condition("Kernel Time (µs)_sum gt 100").unwrap();
        assert_eq!(parsed.column, "Kernel Time (µs)_sum");
        assert_eq!(parsed.test, Test::Number(&[Ordering::Greater], 100.0));
        assert_eq!(
            condition("name eq aten::mm").unwrap().test,
            Test::Equal(Value::Text("aten::mm".to_owned()))
        );
        assert_eq!(condition("bound null").unwrap().test, Test::Null);
        let either = Test::In(vec![Value::Text("a".to_owned()), Value::Number(2.0)]);
        assert_eq!(condition("x in a,2").unwrap().test, either);
        assert!(condition("name aten::mm").is_err() && condition("calls gt many").is_err());
    }

    #[test]
    fn orders_are_the_largest_first() {
        assert_eq!(order("a b").unwrap(), Order { column: "a b".to_owned(), descending: true });
        assert_eq!(order("a:asc").unwrap(), Order { column: "a".to_owned(), descending: false });
    }
}
