//! Rows of a table that were asked for: columns, conditions, order, page.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::SortFew;
use report_writers::terminal::truncate_middle;
use report_writers::{JsonTable, Report};
use sheets::{Cell, Role, Table, TableColumn, TableError};
use thiserror::Error as ThisError;

/// Most columns that are shown where none are named.
const MOST_PRESET_COLUMNS: usize = 10;

/// Which part of a table to give. Columns are given by their names or by their titles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowQuery {
    /// Columns in this order, each once; where none are named, the first that are neither folded away nor empty, those
    /// that rows are chosen and sorted by, and what tells apart rows that look alike.
    pub columns: Vec<String>,
    /// Conditions that a row has to meet, all of them.
    pub conditions: Vec<Condition>,
    /// Order of the rows, the most important column first; where none is named, that of the table.
    pub order: Vec<Order>,
    /// Rows that meet the conditions and are passed over.
    pub skip: usize,
    /// Rows to give at most.
    pub top: usize,
}

/// What the cell of a column has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The column.
    pub column: String,
    /// What is asked of its cells.
    pub test: Test,
}

/// What is asked of a cell. A cell without a value meets none of these but [`Test::Null`] and [`Test::NotEqual`].
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It is this value.
    Equal(Value),
    /// It is anything else.
    NotEqual(Value),
    /// It compares with a number in one of these ways.
    Number(&'static [Ordering], f64),
    /// Its text has this in it, in upper or lower case.
    Contains(String),
    /// Its text starts so, in upper or lower case.
    Starts(String),
    /// It is one of these.
    In(Vec<Value>),
    /// It has no value.
    Null,
}

/// A value to compare a cell with.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A number.
    Number(f64),
    /// A flag.
    Flag(bool),
}

/// An order of rows by a column. Cells without a value come last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The column.
    pub column: String,
    /// The largest first.
    pub descending: bool,
}

/// The rows that were asked for.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The rows in the columns that were asked for.
    pub table: Table,
    /// How many rows meet the conditions.
    pub total: usize,
    /// Where the next page starts; `None` on the last.
    pub next: Option<usize>,
    /// Names of the columns that they are sorted by.
    pub sort: Vec<String>,
}

/// Why there are no rows.
#[derive(Debug, ThisError, miette::Diagnostic)]
#[non_exhaustive]
pub enum RowError {
    /// The report has no such table.
    #[error("this report has no table {name:?}")]
    #[diagnostic(code("rows/unknown-table"), help("{}", nearest_names(.near)))]
    UnknownTable {
        /// What was asked for.
        name: String,
        /// The most similar names.
        near: Vec<String>,
    },
    /// The report has no rows for a table that other recordings or options give.
    #[error("this report has no rows for table {name:?}")]
    #[diagnostic(code("rows/absent-table"), help("tracelens info columns {name} says what it needs"))]
    AbsentTable {
        /// The table.
        name: String,
    },
    /// The table has no such column.
    #[error("table {table:?} has no column {name:?}")]
    #[diagnostic(code("rows/unknown-column"), help("{}", nearest_names(.near)))]
    UnknownColumn {
        /// The table.
        table: String,
        /// What was asked for.
        name: String,
        /// The most similar names.
        near: Vec<String>,
    },
    /// A column of text or lists is compared as a number.
    #[error("column {column:?} of table {table:?} is not numeric, so it cannot be compared with a number")]
    #[diagnostic(code("rows/no-numbers"), help("use eq, ne, contains, starts, in or null"))]
    NoNumbers {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// The part of the table is no table.
    #[error(transparent)]
    #[diagnostic(code("rows/table"))]
    Table(
        #[from]
        #[diagnostic_source]
        TableError,
    ),
}

/// What to look for instead of a name that nothing has.
#[must_use]
pub fn nearest_names(near: &[String]) -> String {
    match near {
        [] => "give the name of an operator, a kernel or a module".to_owned(),
        _ => {
            let names: Vec<String> =
                near.iter().map(|name| format!("{:?}", truncate_middle(name, LONGEST_NAME, true))).collect();
            format!("the nearest names are {}", names.join(", "))
        }
    }
}

/// Characters of a name in a list of them.
pub(crate) const LONGEST_NAME: usize = 60;

/// The name that is most like another, if any is much like it.
pub fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    /// Likeness below which two names have nothing to do with each other.
    const ALIKE: f64 = 0.8;
    let names = names.into_iter().map(|name| (likeness(wanted, name), name));
    let nearest = names.filter(|(likeness, _)| *likeness >= ALIKE).max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.map(|(_, name)| name)
}

/// Jaro-Winkler similarity without regard to upper and lower case, 0 to 1.
fn likeness(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(&a.to_lowercase(), &b.to_lowercase())
}

/// The three most similar of these names, the most similar first, each once.
pub fn did_you_mean<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let names: BTreeSet<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    // Those that have it in them come first.
    let part = |name: &str| f64::from(u8::from(name.to_lowercase().contains(&wanted.to_lowercase())));
    let mut near: Vec<(f64, &str)> =
        names.into_iter().map(|name| (part(name) + likeness(wanted, name), name)).collect();
    near.sort_few_by(|a, b| b.0.total_cmp(&a.0));
    near.truncate(3);
    near.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// The table of this name, or the only one whose name contains it.
///
/// # Errors
/// [`RowError::UnknownTable`] and [`RowError::AbsentTable`].
pub fn table_named<'t>(report: &'t Report, name: &str) -> Result<&'t Table, RowError> {
    let tables = report.tables();
    let only = || {
        let mut containing = tables.iter().filter(|table| table.name().contains(name));
        containing.next().filter(|_| containing.next().is_none())
    };
    let found = tables.iter().find(|table| table.name() == name).or_else(only);
    found.ok_or_else(|| match report.absent_names().find(|&absent| absent == name) {
        Some(name) => RowError::AbsentTable { name: name.to_owned() },
        None => RowError::UnknownTable {
            name: name.to_owned(),
            near: did_you_mean(name, tables.iter().map(Table::name)),
        },
    })
}

impl RowQuery {
    /// The part of a table that this asks for.
    ///
    /// # Errors
    /// When the table lacks a column that is named, or a number is compared with one that holds none.
    pub fn rows(&self, table: &Table) -> Result<Rows, RowError> {
        let names: Vec<&str> = table.columns().iter().map(TableColumn::name).collect();
        let headers = table.headers();
        let find = |name: &str| {
            let named = names.iter().position(|known| *known == name);
            let position = named.or_else(|| headers.iter().position(|header| header == name));
            position.ok_or_else(|| RowError::UnknownColumn {
                table: table.name().to_owned(),
                name: name.to_owned(),
                near: did_you_mean(name, names.iter().copied().chain(headers.iter().map(AsRef::as_ref))),
            })
        };
        let conditions = self.conditions.iter().map(|condition| {
            let column = &table.columns()[find(&condition.column)?];
            if matches!(condition.test, Test::Number(..)) && !column.kind().is_numeric() {
                let (table, column) = (table.name().to_owned(), condition.column.clone());
                return Err(RowError::NoNumbers { table, column });
            }
            Ok((column, &condition.test))
        });
        let conditions: Vec<(&TableColumn, &Test)> = conditions.collect::<Result<_, _>>()?;
        let order =
            self.order.iter().map(|order| Ok((&table.columns()[find(&order.column)?], order.descending)));
        let order: Vec<(&TableColumn, bool)> = order.collect::<Result<_, RowError>>()?;
        let mut rows: Vec<usize> = (0..table.height())
            .filter(|&row| conditions.iter().all(|(column, test)| test.is_met_by(&column.cell(row))))
            .collect();
        if !order.is_empty() {
            let compare = |&a: &usize, &b: &usize| {
                let by = |&(column, descending): &(&TableColumn, bool)| {
                    in_order(&column.cell(a), &column.cell(b), descending)
                };
                order.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            };
            rows.sort_by(compare);
        }
        let total = rows.len();
        let end = self.skip.saturating_add(self.top).min(total);
        let shown = rows.get(self.skip.min(total)..end).unwrap_or_default();
        let next = (end < total && !shown.is_empty()).then_some(end);
        let sort = order.iter().map(|(column, _)| column.name().to_owned()).collect();
        let columns = match self.columns.as_slice() {
            [] => {
                let asked = conditions.iter().map(|(column, _)| column);
                let asked = asked.chain(order.iter().map(|(column, _)| column)).map(|column| column.name());
                preset(table, asked, shown)
            }
            named => {
                let mut columns: Vec<usize> =
                    named.iter().map(|name| find(name)).collect::<Result<_, _>>()?;
                let mut seen = BTreeSet::new();
                columns.retain(|&column| seen.insert(column));
                columns
            }
        };
        Ok(Rows { table: table.part(&columns, shown)?, total, next, sort })
    }

    /// The same as answers have it.
    ///
    /// # Errors
    /// Those of [`RowQuery::rows`].
    pub fn json(&self, table: &Table) -> Result<JsonTable<'static>, RowError> {
        let Rows { table: rows, total, next, sort } = self.rows(table)?;
        Ok(JsonTable::part(table, rows, total, next, sort))
    }
}

/// The columns of these rows where none are named: the first that are neither folded away nor empty, those that rows are
/// chosen and sorted by, and what tells apart rows that look alike.
fn preset<'t>(table: &Table, asked: impl Iterator<Item = &'t str>, rows: &[usize]) -> Vec<usize> {
    let mut columns = first_columns(table);
    let known = table.columns();
    let places = asked.filter_map(|name| known.iter().position(|column| column.name() == name));
    for place in places.filter(|&place| !known[place].is_blank()) {
        if !columns.contains(&place) {
            columns.push(place);
        }
    }
    // What a row is called, and behind that what it comes from.
    let is_label = |place: &usize| known[*place].is_key();
    let origins = (0..known.len()).filter(|&place| known[place].role() == Role::Provenance);
    let more: Vec<usize> = (0..known.len()).filter(is_label).chain(origins).collect();
    let mut labels: Vec<usize> = columns.iter().copied().filter(is_label).collect();
    for place in more {
        let alike = alike(table, &labels, rows);
        let differs = |group: &Vec<usize>| {
            let cell = |row: usize| known[place].cell(row).text().into_owned();
            group.iter().any(|&row| cell(row) != cell(group[0]))
        };
        if !columns.contains(&place) && alike.iter().any(differs) {
            columns.push(place);
            labels.push(place);
        }
    }
    columns
}

/// Rows with the same cells in these columns, where there are several.
fn alike(table: &Table, columns: &[usize], rows: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for &row in rows {
        let cells = columns.iter().map(|&place| table.columns()[place].cell(row).text().into_owned());
        groups.entry(cells.collect()).or_default().push(row);
    }
    groups.into_values().filter(|rows| rows.len() > 1).collect()
}

fn first_columns(table: &Table) -> Vec<usize> {
    let shown = |(_, column): &(usize, &TableColumn)| !column.role().is_folded() && !column.is_blank();
    let columns: Vec<usize> = table
        .columns()
        .iter()
        .enumerate()
        .filter(shown)
        .map(|(at, _)| at)
        .take(MOST_PRESET_COLUMNS)
        .collect();
    if columns.is_empty() { (0..table.columns().len().min(MOST_PRESET_COLUMNS)).collect() } else { columns }
}

/// How cells follow each other; those without a value come last either way.
fn in_order(a: &Cell<'_>, b: &Cell<'_>, descending: bool) -> Ordering {
    let turned = |order: Ordering| if descending { order.reverse() } else { order };
    match (a, b) {
        (Cell::Missing, Cell::Missing) => Ordering::Equal,
        (Cell::Missing, _) => Ordering::Greater,
        (_, Cell::Missing) => Ordering::Less,
        (Cell::Whole(a), Cell::Whole(b)) => turned(a.cmp(b)),
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => turned(a.total_cmp(&b)),
            _ => turned(a.text().cmp(&b.text())),
        },
    }
}

fn number(cell: &Cell<'_>) -> Option<f64> {
    match *cell {
        Cell::Number(number) => Some(number),
        Cell::Whole(number) => Some(number as f64),
        _ => None,
    }
}

impl Test {
    fn is_met_by(&self, cell: &Cell<'_>) -> bool {
        let text = || cell.text().to_lowercase();
        match self {
            Test::Null => *cell == Cell::Missing,
            Test::NotEqual(value) => !value.is(cell),
            _ if *cell == Cell::Missing => false,
            Test::Equal(value) => value.is(cell),
            Test::In(values) => values.iter().any(|value| value.is(cell)),
            Test::Number(orders, than) => number(cell)
                .and_then(|number| number.partial_cmp(than))
                .is_some_and(|order| orders.contains(&order)),
            Test::Contains(part) => text().contains(&part.to_lowercase()),
            Test::Starts(start) => text().starts_with(&start.to_lowercase()),
        }
    }
}

impl Value {
    fn is(&self, cell: &Cell<'_>) -> bool {
        match (self, cell) {
            (Value::Flag(flag), Cell::Flag(cell)) => flag == cell,
            (Value::Number(value), _) => number(cell) == Some(*value),
            (Value::Text(text), cell) => *cell != Cell::Missing && cell.text() == text.as_str(),
            (Value::Flag(_), _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use sheets::{Column, ColumnKind, Unit};

    use super::*;
    use crate::diagnostic::in_one_line;

    fn table() -> Table {
        let rows =
            [("mm", Some(3), 1.5), ("add", None, 4.0), ("MM_out", Some(1), f64::NAN), ("mul", Some(9), 4.0)];
        let time = Column::new("time", ColumnKind::Number(Unit::Microseconds), "Time.");
        Table::new(
            "ops",
            vec![
                TableColumn::new(Column::text("name", "Name."), rows.map(|row| row.0.into())),
                TableColumn::new(
                    Column::count("calls", "Calls."),
                    rows.map(|row| row.1.map(i64::from).into()),
                ),
                TableColumn::new(time, rows.map(|row| row.2.into())),
            ],
        )
        .unwrap()
    }

    fn names(query: &RowQuery) -> Vec<String> {
        let rows = query.rows(&table()).unwrap();
        rows.table.columns()[0].cells().map(|cell| cell.text().into_owned()).collect()
    }

    fn all() -> RowQuery {
        RowQuery { top: 10, ..RowQuery::default() }
    }

    fn condition(column: &str, test: Test) -> RowQuery {
        RowQuery { conditions: vec![Condition { column: column.to_owned(), test }], ..all() }
    }

    #[test]
    fn conditions_choose_rows_and_missing_cells_meet_none_but_null() {
        assert_eq!(names(&condition("name", Test::Contains("mm".to_owned()))), ["mm", "MM_out"]);
        assert_eq!(names(&condition("name", Test::Starts("M".to_owned()))), ["mm", "MM_out", "mul"]);
        assert_eq!(names(&condition("calls", Test::Null)), ["add"]);
        assert_eq!(
            names(&condition("calls", Test::Number(&[Ordering::Less, Ordering::Equal], 3.0))),
            ["mm", "MM_out"]
        );
        assert_eq!(names(&condition("calls", Test::NotEqual(Value::Number(3.0)))), ["add", "MM_out", "mul"]);
        assert_eq!(names(&condition("time", Test::Equal(Value::Number(4.0)))), ["add", "mul"]);
        let either = Test::In(vec![Value::Text("add".to_owned()), Value::Text("mul".to_owned())]);
        assert_eq!(names(&condition("name", either)), ["add", "mul"]);
    }

    #[test]
    fn rows_come_in_the_order_of_several_columns_and_those_without_a_value_last() {
        let order = |columns: &[(&str, bool)]| RowQuery {
            order: columns
                .iter()
                .map(|&(column, descending)| Order { column: column.to_owned(), descending })
                .collect(),
            ..all()
        };
        assert_eq!(names(&order(&[("time", true), ("name", false)])), ["add", "mul", "mm", "MM_out"]);
        assert_eq!(names(&order(&[("time", false), ("name", true)])), ["mm", "mul", "add", "MM_out"]);
        assert_eq!(names(&order(&[("calls", true)])), ["mul", "mm", "MM_out", "add"]);
    }

    #[test]
    fn pages_have_every_row_once() {
        let mut query = RowQuery { top: 3, ..RowQuery::default() };
        let first = query.rows(&table()).unwrap();
        assert_eq!((first.total, first.table.height(), first.next), (4, 3, Some(3)));
        query.skip = 3;
        let last = query.rows(&table()).unwrap();
        assert_eq!((last.total, last.table.height(), last.next), (4, 1, None));
        query.skip = 9;
        assert_eq!(query.rows(&table()).unwrap().table.height(), 0);
    }

    #[test]
    fn columns_come_as_named() {
        for time in ["time", "time (µs)"] {
            let order = vec![Order { column: time.to_owned(), descending: false }];
            let query = RowQuery { columns: vec![time.to_owned(), "name".to_owned()], order, ..all() };
            let rows = query.rows(&table()).unwrap();
            let columns: Vec<&str> = rows.table.columns().iter().map(TableColumn::name).collect();
            assert_eq!((columns, rows.sort), (vec!["time", "name"], vec!["time".to_owned()]));
        }
    }

    #[test]
    fn what_is_asked_of_rows_and_what_tells_them_apart_is_shown() {
        let few = |name: &'static str| Column::count(name, "A figure.").with_role(Role::Detail);
        let text = |name: &'static str, cells: [&str; 3]| {
            TableColumn::new(Column::text(name, name), cells.map(|cell| cell.to_owned().into()))
        };
        let kernels = text("kernels", ["k", "k", "m"]);
        let key = |column: Column| column.with_role(Role::Name);
        let name = TableColumn::new(key(Column::text("name", "Name.")), ["mm", "mm", "add"].map(Into::into));
        let shapes =
            TableColumn::new(key(Column::text("shapes", "Shapes.")), ["8x8", "16x16", "8x8"].map(Into::into));
        const FIGURES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
        let figures = FIGURES.map(|name| TableColumn::new(few(name), [1, 2, 3].map(|of: i64| of.into())));
        let columns = [name].into_iter().chain(figures).chain([kernels, shapes]).collect();
        let table = Table::new("ops", columns).unwrap();
        let shown = |query: RowQuery| -> String {
            let rows = query.rows(&table).unwrap().table;
            let names: Vec<&str> = rows.columns().iter().map(TableColumn::name).collect();
            names.join(" ")
        };
        assert_eq!(shown(RowQuery { top: 1, ..all() }), "name a b c d e f g h i");
        assert_eq!(shown(all()), "name a b c d e f g h i shapes");
        let order = vec![Order { column: "l".to_owned(), descending: true }];
        let only = condition("kernels", Test::Contains("k".to_owned())).conditions;
        let asked = RowQuery { order, conditions: only, ..all() };
        assert_eq!(shown(asked), "name a b c d e f g h i kernels l shapes");
    }

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let known = ["gpu_timeline", "ops_summary", "ops_all", "kernel_summary"];
        for (name, meant) in [
            ("ops_al", Some("ops_all")),
            ("OPS_SUMMARY", Some("ops_summary")),
            ("kernels_summary", Some("kernel_summary")),
            ("timeline of the GPU", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), meant, "{name}");
        }
    }

    #[test]
    fn wrong_names_are_answered_with_the_nearest() {
        let query = RowQuery { columns: vec!["tiem".to_owned()], ..all() };
        let error = in_one_line(&query.rows(&table()).unwrap_err());
        assert!(error.contains("the nearest names are \"time\""), "{error}");
        let report = Report::new("job", vec![table()]).unwrap().with_known_names(["ops", "phase_summary"]);
        let error = in_one_line(&table_named(&report, "phase_summary").unwrap_err());
        assert!(error.contains("info columns phase_summary"), "{error}");
        let error = in_one_line(&table_named(&report, "opz").unwrap_err());
        assert!(error.contains("\"ops\""), "{error}");
        // A part is enough where no other name contains it.
        assert_eq!(table_named(&report, "op").unwrap().name(), "ops");
        let error = condition("name", Test::Number(&[Ordering::Less], 1.0)).rows(&table()).unwrap_err();
        assert!(matches!(error, RowError::NoNumbers { .. }), "{error}");
    }
}
