//! A column together with the function that fills it.

use gpu_timeline::Spread;

use crate::caveat::Absence;
use crate::cell::Cell;
use crate::column::{Column, ColumnKind, Layout};
use crate::figure::Figure;
use crate::table::TableColumn;

type Condition<C> = Box<dyn Fn(&C) -> bool + Send + Sync>;
type Why<C, R> = Box<dyn Fn(&C, &R) -> Option<Absence> + Send + Sync>;
type Columns<C, R> = Box<dyn Fn(Column, &C, &[&R], &mut Vec<TableColumn>) + Send + Sync>;

/// The function that gives the cells of a column. A trait object of it has one method of its own, one of `Fn` three; there
/// are more than a thousand columns.
trait CellOf<C, R> {
    fn cell<'r>(&self, context: &'r C, row: &'r R) -> Cell<'r>;
}

impl<C, R, F: for<'r> Fn(&'r C, &'r R) -> Cell<'r>> CellOf<C, R> for F {
    fn cell<'r>(&self, context: &'r C, row: &'r R) -> Cell<'r> {
        self(context, row)
    }
}

/// How a field is filled.
enum Fill<C, R> {
    /// One column, cell by cell.
    Cells(Box<dyn CellOf<C, R> + Send + Sync>),
    /// One column or more, all rows at once.
    Columns(Columns<C, R>),
}

/// A column and where its cells come from: what all rows of the sheet share, `C`, and a row `R`.
///
/// ```
/// use sheets::{Column, Sheet};
///
/// const KERNEL: Column = Column::text("name", "Kernel.");
/// const COUNT: Column = Column::count("count", "How often it ran.");
/// type Row = (String, i64);
/// let fields = [
///     KERNEL.field(|(name, _): &Row| name.as_str().into()),
///     COUNT.field(|(_, count): &Row| (*count).into()),
/// ];
/// let rows: Vec<Row> = vec![("gemm".to_owned(), 2)];
/// let sheet = Sheet::new("kernels", "Kernels by name.", fields, |rows: &Vec<Row>| rows.clone());
/// let table = sheet.table(&rows)?.ok_or("no rows")?;
/// assert_eq!(table.column(COUNT.name).map(|column| column.cell(0)), Some(2.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Field<C, R> {
    pub(crate) column: Column,
    condition: Option<Condition<C>>,
    /// Asked in order why a cell is empty.
    whys: Vec<Why<C, R>>,
    fill: Fill<C, R>,
}

impl Column {
    /// The column, filled from each row.
    pub fn field<C, R>(
        self,
        value: impl for<'r> Fn(&'r R) -> Cell<'r> + Send + Sync + 'static,
    ) -> Field<C, R> {
        self.field_in(move |_, row| value(row))
    }

    /// The column, filled from each row and what all rows of the sheet share.
    pub fn field_in<C, R>(
        self,
        value: impl for<'r> Fn(&'r C, &'r R) -> Cell<'r> + Send + Sync + 'static,
    ) -> Field<C, R> {
        Field { column: self, condition: None, whys: Vec::new(), fill: Fill::Cells(Box::new(value)) }
    }
}

impl<C, R> Field<C, R> {
    /// Columns that only the rows and what they share tell, such as one per statistic that was asked for. `fill` appends
    /// them; `column` is named for all of them.
    pub fn from_columns(
        column: Column,
        fill: impl Fn(Column, &C, &[&R], &mut Vec<TableColumn>) + Send + Sync + 'static,
    ) -> Self {
        Field { column, condition: None, whys: Vec::new(), fill: Fill::Columns(Box::new(fill)) }
    }

    /// The same field, which says of empty cells why they are empty, where what it was told before has no reason.
    #[must_use]
    pub fn because(mut self, why: impl Fn(&C, &R) -> Option<Absence> + Send + Sync + 'static) -> Self {
        self.whys.push(Box::new(why));
        self
    }

    /// The same field in one layout only ([`Column::only_in`]).
    #[must_use]
    pub fn only_in(self, layout: Layout) -> Self {
        Field { column: self.column.only_in(layout), ..self }
    }

    /// As many columns as `names` gives with the rows, such as one per parameter of a model. They share a
    /// description; `column` is named for all of them (`param: …`). `value` takes the position of the name.
    pub fn each(
        column: Column,
        names: impl Fn(&C) -> Vec<String> + Send + Sync + 'static,
        value: impl for<'r> Fn(&'r C, &'r R, usize) -> Cell<'r> + Send + Sync + 'static,
    ) -> Self {
        Self::from_columns(column, move |column, context, rows, columns| {
            for (position, name) in names(context).into_iter().enumerate() {
                let cells = rows.iter().map(|row| value(context, row, position));
                columns.push(TableColumn::named(name, column, cells));
            }
        })
    }

    /// A column whose kind what the rows share decides, such as a reference tool's figures in another unit.
    pub fn with_kind(
        column: Column,
        kind: impl Fn(&C) -> ColumnKind + Send + Sync + 'static,
        value: impl for<'r> Fn(&'r C, &'r R) -> Cell<'r> + Send + Sync + 'static,
    ) -> Self {
        Self::from_columns(column, move |column, context, rows, columns| {
            let column = Column { kind: kind(context), ..column };
            columns.push(TableColumn::new(column, rows.iter().map(|row| value(context, row))));
        })
    }

    /// The field, where the condition holds: a column that an option asks for, or that the recording has figures for.
    #[must_use]
    pub fn when(self, condition: impl Fn(&C) -> bool + Send + Sync + 'static) -> Self {
        Field { condition: Some(Box::new(condition)), ..self }
    }

    /// Appends the column, or columns, of some rows, where the layout has them.
    pub(crate) fn append(&self, context: &C, rows: &[&R], layout: Layout, columns: &mut Vec<TableColumn>) {
        let Some(column) = self.column.in_layout(layout) else { return };
        if self.condition.as_ref().is_none_or(|condition| condition(context)) {
            let first = columns.len();
            match &self.fill {
                Fill::Cells(value) => {
                    columns.push(TableColumn::new(column, rows.iter().map(|row| value.cell(context, row))));
                }
                Fill::Columns(fill) => fill(column, context, rows, columns),
            }
            if !self.whys.is_empty() {
                let why = |row: usize| self.whys.iter().find_map(|why| why(context, rows[row]));
                columns[first..].iter_mut().for_each(|column| column.explain(&why));
            }
        }
    }
}

/// `part / whole * 100`; `None` when there is no whole.
#[must_use]
pub fn percent(part: i64, whole: i64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64 * 100.0)
}

/// A column with the share of each row in the sum over all rows, in percent, and one with its running sum, from exact
/// integers.
pub fn shares<C, R>(
    share: Column,
    running: Column,
    value: impl Fn(&R) -> i64 + Copy + Send + Sync + 'static,
) -> [Field<C, R>; 2] {
    let total = move |_: &C, rows: &[&R]| rows.iter().map(|row| value(row)).sum();
    shares_of(share, running, total, value)
}

/// [`shares`] in a whole that is not the sum of the rows, because the sheet does not show all of them.
pub fn shares_of<C, R>(
    share: Column,
    running: Column,
    total: impl Fn(&C, &[&R]) -> i64 + Copy + Send + Sync + 'static,
    value: impl Fn(&R) -> i64 + Copy + Send + Sync + 'static,
) -> [Field<C, R>; 2] {
    [
        Field::from_columns(share, move |share, context, rows, columns| {
            let total = total(context, rows);
            let cells = rows.iter().map(|row| percent(value(row), total).into());
            columns.push(TableColumn::new(share, cells));
        }),
        Field::from_columns(running, move |running, context, rows, columns| {
            let total = total(context, rows);
            let cells = rows.iter().scan(0, |sum, row| {
                *sum += value(row);
                Some(percent(*sum, total).into())
            });
            columns.push(TableColumn::new(running, cells));
        }),
    ]
}

/// The statistics of one figure over the calls of a row, or what else it has several of, a column each. [`statistics!`](crate::statistics) makes one.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// Arithmetic mean.
    pub mean: Column,
    /// Median.
    pub median: Column,
    /// Standard deviation of a sample.
    pub std: Column,
    /// Smallest value.
    pub min: Column,
    /// Largest value.
    pub max: Column,
}

impl Statistics {
    /// The same columns, which show these kinds of figures ([`Column::showing`]).
    #[must_use]
    pub const fn showing(self, figures: &'static [Figure]) -> Self {
        Statistics {
            mean: self.mean.showing(figures),
            median: self.median.showing(figures),
            std: self.std.showing(figures),
            min: self.min.showing(figures),
            max: self.max.showing(figures),
        }
    }

    /// Fields of all five, in this order, from the figure's spread in each row.
    pub fn fields<C, R>(
        self,
        spread: impl Fn(&R) -> &Spread + Copy + Send + Sync + 'static,
    ) -> [Field<C, R>; 5] {
        [
            self.mean.field(move |row| spread(row).mean.into()),
            self.median.field(move |row| spread(row).median.into()),
            self.std
                .field(move |row| spread(row).std.into())
                .because(move |_, row| Absence::of_deviation(spread(row))),
            self.min.field(move |row| spread(row).min.into()),
            self.max.field(move |row| spread(row).max.into()),
        ]
    }
}

/// The columns `<name>_mean`, `_median`, `_std`, `_min` and `_max` of a figure: the beginning of their names, their
/// kind, what the figure is called, and its definition, which the mean states. They are over the calls of a row, or over
/// what a fifth argument says, in the singular.
#[macro_export]
macro_rules! statistics {
    ($name:literal, $kind:expr, $figure:literal, $definition:literal) => {
        $crate::statistics!($name, $kind, $figure, $definition, "call")
    };
    ($name:literal, $kind:expr, $figure:literal, $definition:literal, $one:literal) => {
        $crate::Statistics {
            mean: $crate::Column::new(
                concat!($name, "_mean"),
                $kind,
                concat!("Mean over ", $one, "s of ", $figure, ": ", $definition, "."),
            )
            .per($one),
            median: $crate::Column::new(
                concat!($name, "_median"),
                $kind,
                concat!("Median over ", $one, "s of ", $figure, "."),
            )
            .spread_of(concat!($name, "_mean"))
            .per($one),
            std: $crate::Column::new(
                concat!($name, "_std"),
                $kind,
                concat!(
                    "Sample standard deviation (n − 1) over ",
                    $one,
                    "s of ",
                    $figure,
                    "; empty for a single ",
                    $one,
                    "."
                ),
            )
            .spread_of(concat!($name, "_mean"))
            .per($one),
            min: $crate::Column::new(
                concat!($name, "_min"),
                $kind,
                concat!("Minimum over ", $one, "s of ", $figure, "."),
            )
            .spread_of(concat!($name, "_mean"))
            .per($one),
            max: $crate::Column::new(
                concat!($name, "_max"),
                $kind,
                concat!("Maximum over ", $one, "s of ", $figure, "."),
            )
            .spread_of(concat!($name, "_mean"))
            .per($one),
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{Cell, Column, ColumnKind, Field, Sheet, Unit};

    #[test]
    fn what_the_rows_share_decides_the_kind_of_a_column() {
        const TIME: Column = Column::new("time", ColumnKind::Number(Unit::Microseconds), "");
        let kind = |&whole: &bool| if whole { ColumnKind::Whole(Unit::Nanoseconds) } else { TIME.kind };
        let field = || {
            Field::with_kind(TIME, kind, |&whole, &time: &i64| match whole {
                true => time.into(),
                false => (time as f64 / 1e3).into(),
            })
        };
        for (whole, cell) in [(true, Cell::Whole(1_500)), (false, Cell::Number(1.5))] {
            let sheet = Sheet::with_context("t", "", [field()], move |_: &()| Some((whole, vec![1_500])));
            assert_eq!(sheet.table(&()).unwrap().unwrap().columns()[0].cell(0), cell);
        }
    }
}
