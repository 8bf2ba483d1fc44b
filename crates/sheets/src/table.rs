//! A table of a report: typed columns, what they mean, and at most one chart.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use thiserror::Error;

use crate::caveat::{Absence, Caveat};
use crate::cell::{Cell, Nested};
use crate::chart::{Chart, ChartShape};
use crate::column::{Column, ColumnKind, Layout, Role, Verdict};
use crate::excerpt::Excerpt;
use crate::figure::Figure;
use crate::title::{title, with_titles};

/// A table that cannot be made as described.
#[derive(Debug, Error, PartialEq, Eq, miette::Diagnostic)]
#[non_exhaustive]
pub enum TableError {
    /// The name cannot be a file name.
    #[error("`{name}` is not a valid table name")]
    #[diagnostic(
        code("name"),
        help(
            "use 1 to 250 bytes, no / \\ : * ? \" < > | or control characters, and no dot or space at either end"
        )
    )]
    Name {
        /// The refused name.
        name: String,
    },
    /// Two columns have the same name.
    #[error("table `{table}` has two columns named `{column}`")]
    #[diagnostic(code("duplicate-column"), help("rename one"))]
    DuplicateColumn {
        /// The table.
        table: String,
        /// The name of the second column.
        column: String,
    },
    /// Columns differ in length.
    #[error("column `{column}` of table `{table}` has {cells} cells, but the first column has {rows}")]
    #[diagnostic(code("column-length"), help("give each column one cell per row"))]
    ColumnLength {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Cells of the column.
        cells: usize,
        /// Cells of the first column.
        rows: usize,
    },
    /// A chart names a column that the table lacks.
    #[error("chart `{chart}` needs column `{column}`, which table `{table}` lacks")]
    #[diagnostic(code("chart-column"))]
    ChartColumn {
        /// The table.
        table: String,
        /// The chart's title.
        chart: &'static str,
        /// The missing column.
        column: &'static str,
    },
    /// A chart draws a column that holds no numbers.
    #[error("chart `{chart}` cannot draw column `{column}` of table `{table}`: it is not numeric")]
    #[diagnostic(code("chart-values"))]
    ChartValues {
        /// The table.
        table: String,
        /// The chart's title.
        chart: &'static str,
        /// The column.
        column: &'static str,
    },
}

/// A named table.
#[derive(Clone, Debug)]
pub struct Table {
    name: String,
    pub(crate) description: Cow<'static, str>,
    columns: Vec<TableColumn>,
    chart: Option<Chart>,
    pub(crate) excerpt: Option<Excerpt>,
    pub(crate) layout: Layout,
    /// Whether its headers are the names of its columns.
    pub(crate) keeps_names: bool,
    caveats: Vec<Arc<Caveat>>,
}

impl Table {
    /// A table without a chart. `name` becomes the name of the workbook's sheet and of the CSV file, and the key in
    /// JSON.
    ///
    /// # Errors
    /// When `name` cannot name a file, two columns have one name, or columns differ in length.
    pub fn new(name: impl Into<String>, columns: Vec<TableColumn>) -> Result<Self, TableError> {
        let name = name.into();
        if !names_a_file(&name) {
            return Err(TableError::Name { name });
        }
        let rows = columns.first().map_or(0, TableColumn::len);
        let mut names = HashSet::with_capacity(columns.len());
        for column in &columns {
            let column_name = || column.name.to_string();
            if !names.insert(column.name()) {
                return Err(TableError::DuplicateColumn { table: name, column: column_name() });
            }
            if column.len() != rows {
                let cells = column.len();
                return Err(TableError::ColumnLength { table: name, column: column_name(), cells, rows });
            }
        }
        Ok(Table {
            name,
            description: Cow::Borrowed(""),
            columns,
            chart: None,
            excerpt: None,
            layout: Layout::default(),
            keeps_names: false,
            caveats: Vec::new(),
        })
    }

    /// The same table with a chart.
    ///
    /// # Errors
    /// When the chart names a column of this table that is missing, or draws one that holds no numbers.
    pub fn with_chart(self, chart: Chart) -> Result<Self, TableError> {
        let (any, numbers) = chart.columns();
        self.check_chart_columns(chart.title, &any, &numbers)?;
        Ok(Table { chart: Some(chart), ..self })
    }

    /// Whether the table has the columns that a chart of this title names, numeric ones where it draws numbers.
    ///
    /// # Errors
    /// When it has not.
    pub fn check_chart_columns(
        &self,
        chart: &'static str,
        any: &[&'static str],
        numbers: &[&'static str],
    ) -> Result<(), TableError> {
        for &column in any.iter().chain(numbers) {
            let table = || self.name.clone();
            let Some(found) = self.column(column) else {
                return Err(TableError::ChartColumn { table: table(), chart, column });
            };
            if numbers.contains(&column) && !found.kind().is_numeric() {
                return Err(TableError::ChartValues { table: table(), chart, column });
            }
        }
        Ok(())
    }

    /// The same table with the names of its columns as headers.
    #[must_use]
    pub fn keeping_names(self) -> Self {
        Table { keeps_names: true, ..self }
    }

    /// The same table under another name.
    ///
    /// # Errors
    /// When `name` cannot name a file.
    pub fn renamed(self, name: &str) -> Result<Self, TableError> {
        if !names_a_file(name) {
            return Err(TableError::Name { name: name.to_owned() });
        }
        Ok(Table { name: name.to_owned(), ..self })
    }

    /// These columns and rows, by their places, in this order. The chart stays behind: it is of the whole table.
    ///
    /// # Errors
    /// When a column is named twice.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn part(&self, columns: &[usize], rows: &[usize]) -> Result<Self, TableError> {
        let columns = columns.iter().map(|&column| self.columns[column].part(rows)).collect();
        let part = Table::new(self.name.clone(), columns)?;
        let (description, caveats) = (self.description.clone(), self.caveats.clone());
        Ok(Table { description, layout: self.layout, keeps_names: self.keeps_names, caveats, ..part })
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its rows are, as the sheet says it; empty where the table was made without one.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// What readers see above the columns, in order: titles, and names in the tables of other tools. Of two columns with
    /// one title both show their names.
    #[must_use]
    pub fn headers(&self) -> Vec<Cow<'_, str>> {
        if self.keeps_names {
            return self.columns.iter().map(|column| column.name().into()).collect();
        }
        let titles: Vec<Cow<'_, str>> = self.columns.iter().map(TableColumn::title).collect();
        let mut counts: HashMap<&str, usize> = HashMap::with_capacity(titles.len());
        titles.iter().for_each(|title| *counts.entry(title).or_default() += 1);
        let is_alone: Vec<bool> = titles.iter().map(|title| counts[title.as_ref()] == 1).collect();
        let headers = titles.into_iter().zip(is_alone).zip(&self.columns);
        headers
            .map(|((title, is_alone), column)| if is_alone { title } else { column.name().into() })
            .collect()
    }

    /// What its columns mean, in order, with the headers of other columns where it names them.
    #[must_use]
    pub fn explanations(&self) -> Vec<Cow<'static, str>> {
        let headers = self.headers();
        let names = self.columns.iter().map(TableColumn::name);
        let titled: Vec<(&str, &str)> = names.zip(headers.iter().map(AsRef::as_ref)).collect();
        self.columns.iter().map(|column| with_titles(column.description(), &titled)).collect()
    }

    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Number of rows.
    #[must_use]
    pub fn height(&self) -> usize {
        self.columns.first().map_or(0, TableColumn::len)
    }

    /// Which columns it has, and in what order.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The chart, if there is one.
    #[must_use]
    pub fn chart(&self) -> Option<&Chart> {
        self.chart.as_ref()
    }

    /// What a reader has to know of the table as a whole.
    #[must_use]
    pub fn caveats(&self) -> &[Arc<Caveat>] {
        &self.caveats
    }

    /// Adds what a reader has to know of the table as a whole.
    pub fn add_caveat(&mut self, caveat: &Arc<Caveat>) {
        add_once(&mut self.caveats, caveat);
    }

    /// Whether columns of the table show figures of this kind, or may do ([`Figure::is_in_any_sheet`]).
    #[must_use]
    pub fn shows(&self, figure: Figure) -> bool {
        figure.is_in_any_sheet() || self.columns.iter().any(|column| column.shows(figure))
    }

    /// Adds what a reader has to know of some of the columns.
    pub fn add_caveat_to(&mut self, caveat: &Arc<Caveat>, is_affected: impl Fn(&TableColumn) -> bool) {
        for column in &mut self.columns {
            if is_affected(column) {
                add_once(&mut column.caveats, caveat);
            }
        }
    }

    /// What a summary shows of the table, if it does.
    #[must_use]
    pub fn excerpt(&self) -> Option<&Excerpt> {
        self.excerpt.as_ref()
    }

    /// Gives a column of the excerpt another header, such as one with the unit that the figures have in this report.
    pub fn rename_in_excerpt(&mut self, header: &str, other: &'static str) {
        let columns = self.excerpt.iter_mut().flat_map(|excerpt| &mut excerpt.columns);
        columns.filter(|(known, _)| *known == header).for_each(|(known, _)| *known = other);
    }

    /// The rows that bars and columns of the chart show, in order: all of them without a chart.
    #[must_use]
    pub fn chart_rows(&self) -> Vec<usize> {
        let rows = 0..self.height();
        match self.chart.map(|chart| (chart.categories, chart.shape)) {
            Some((_, ChartShape::Bars(most) | ChartShape::Grouped { rows: most, .. })) => {
                rows.take(most).collect()
            }
            Some((categories, ChartShape::Stacked { parts, .. })) => {
                let Some(names) = self.column(categories) else { return Vec::new() };
                rows.filter(|&row| parts.contains(&names.cell(row).text().as_ref())).collect()
            }
            _ => rows.collect(),
        }
    }

    /// The table as a DataFrame: texts, lists and records as String, flags as Boolean, whole numbers as Int64, other
    /// numbers as Float64, each nullable.
    ///
    /// # Errors
    /// None that is known: names and lengths were checked.
    #[cfg(feature = "polars")]
    pub fn to_dataframe(&self) -> polars::prelude::PolarsResult<polars::prelude::DataFrame> {
        use polars::prelude::{Column, DataFrame, NamedFrom, Series};
        let series = |column: &TableColumn| {
            let name = column.name().into();
            match &column.values {
                Values::Text(texts) => Series::new(name, texts.iter().collect::<Vec<Option<&str>>>()),
                Values::Nested(_) => {
                    let texts = column.cells().map(|cell| match cell {
                        Cell::Missing => None,
                        cell => Some(cell.text().into_owned()),
                    });
                    Series::new(name, texts.collect::<Vec<Option<String>>>())
                }
                Values::Flag(flags) => Series::new(name, flags),
                Values::Whole(numbers) => Series::new(name, numbers),
                Values::Number(numbers) => {
                    let known = numbers.iter().map(|&number| (!number.is_nan()).then_some(number));
                    Series::new(name, known.collect::<Vec<Option<f64>>>())
                }
            }
        };
        DataFrame::new_infer_height(self.columns.iter().map(|column| Column::from(series(column))).collect())
    }
}

fn add_once(caveats: &mut Vec<Arc<Caveat>>, caveat: &Arc<Caveat>) {
    if !caveats.contains(caveat) {
        caveats.push(Arc::clone(caveat));
    }
}

/// Whether `name` is a plain file stem on every common file system.
#[must_use]
pub fn names_a_file(name: &str) -> bool {
    let reserved = |c: char| c.is_control() || r#"/\:*?"<>|"#.contains(c);
    !name.is_empty()
        && !name.contains(reserved)
        && !name.starts_with([' ', '.'])
        && !name.ends_with([' ', '.'])
        // ".csv" must still fit a 255-byte file name.
        && name.len() <= 250
}

/// A column with its cells.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// That of `column`, or one that is only known with the rows.
    name: Cow<'static, str>,
    pub(crate) column: Column,
    caveats: Vec<Arc<Caveat>>,
    /// Why cells are empty, by row, where the sheet says it.
    absences: Vec<(usize, Absence)>,
    values: Values,
}

/// The cells, stored by the kind of the column.
#[derive(Clone, Debug)]
enum Values {
    Text(Texts),
    Nested(Vec<Option<Nested>>),
    Flag(Vec<Option<bool>>),
    Whole(Vec<Option<i64>>),
    /// NaN where there is no figure.
    Number(Vec<f64>),
}

impl TableColumn {
    /// A column with these cells. A whole number in a column of numbers becomes one; any other cell that does not fit
    /// the kind of the column is a fault of the caller and counts as missing.
    pub fn new<'r>(column: Column, cells: impl IntoIterator<Item = Cell<'r>>) -> Self {
        Self::named(column.name, column, cells)
    }

    /// The same under a name that is only known with the rows, such as that of a model's parameter.
    pub fn named<'r>(
        name: impl Into<Cow<'static, str>>,
        column: Column,
        cells: impl IntoIterator<Item = Cell<'r>>,
    ) -> Self {
        Self::of_cells(name.into(), column, &mut cells.into_iter())
    }

    /// Takes the cells from a trait object: the program has one loop then, and not one for each of more than a thousand
    /// columns.
    fn of_cells(name: Cow<'static, str>, column: Column, cells: &mut dyn Iterator<Item = Cell<'_>>) -> Self {
        let room = cells.size_hint().0;
        let mut values = match column.kind {
            ColumnKind::Text => Values::Text(Texts::default()),
            ColumnKind::Nested | ColumnKind::Names => Values::Nested(Vec::with_capacity(room)),
            ColumnKind::Flag => Values::Flag(Vec::with_capacity(room)),
            ColumnKind::Identifier | ColumnKind::Count | ColumnKind::Whole(_) => {
                Values::Whole(Vec::with_capacity(room))
            }
            ColumnKind::Number(_) => Values::Number(Vec::with_capacity(room)),
        };
        let are_names = column.kind == ColumnKind::Names;
        for cell in cells {
            values.push(column.name, if are_names { cell.into_names() } else { cell });
        }
        let cut = match &values {
            Values::Text(Texts { cut, .. }) if *cut > 0 => Some(Caveat {
                brief: format!("texts cut to {SHORT} characters: {cut}"),
                text: format!(
                    "Texts cut to {SHORT} characters: {cut}. All texts of the column together have more than {} MiB.",
                    MOST_TEXT >> 20
                ),
            }),
            _ => None,
        };
        let caveats = cut.map(Arc::new).into_iter().collect();
        TableColumn { name, column, caveats, absences: Vec::new(), values }
    }

    /// What JSON and options call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The header in our own layout ([`title`]). Names of columns that no sheet describes, such as those of an extension,
    /// are what their authors want to read.
    #[must_use]
    pub fn title(&self) -> Cow<'_, str> {
        match self.column.name {
            "" => self.name().into(),
            _ => title(&self.name, self.column.kind, self.column.per).into(),
        }
    }

    /// What the cells are.
    #[must_use]
    pub fn kind(&self) -> ColumnKind {
        self.column.kind
    }

    /// What it is there for.
    #[must_use]
    pub fn role(&self) -> Role {
        self.column.role
    }

    /// Which cells are good and which bad.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.column.verdict
    }

    /// Whether it is part of what tells rows apart: a name, or [`Column::distinguishes`].
    #[must_use]
    pub fn is_key(&self) -> bool {
        self.column.role == Role::Name || self.column.distinguishes
    }

    /// Whether rows share what they count ([`Column::overlaps`]).
    #[must_use]
    pub fn overlaps(&self) -> bool {
        self.column.overlaps
    }

    /// Whether it shows figures of this kind.
    #[must_use]
    pub fn shows(&self, figure: Figure) -> bool {
        self.column.shows(figure)
    }

    /// What the figure is of, where it is not of all that the row stands for ([`Column::per`]).
    #[must_use]
    pub fn per(&self) -> Option<&'static str> {
        self.column.per
    }

    /// What its figure is called ([`Column::series`]).
    pub(crate) fn series(&self) -> &'static str {
        self.column.series
    }

    /// What the column means, in one sentence.
    #[must_use]
    pub fn description(&self) -> &'static str {
        self.column.description
    }

    /// What a reader has to know before relying on it, in this report.
    #[must_use]
    pub fn caveats(&self) -> &[Arc<Caveat>] {
        &self.caveats
    }

    /// Why a cell is empty, where the sheet says it.
    #[must_use]
    pub fn absence(&self, row: usize) -> Option<&Absence> {
        let at = self.absences.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        self.absences.get(at).map(|(_, absence)| absence)
    }

    /// Says why cells are empty; `why` is asked about those that are.
    pub(crate) fn explain(&mut self, why: &dyn Fn(usize) -> Option<Absence>) {
        let empty = (0..self.len()).filter(|&row| self.cell(row) == Cell::Missing);
        self.absences = empty.filter_map(|row| Some((row, why(row)?))).collect();
    }

    /// Whether all its cells are missing.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.cells().all(|cell| cell == Cell::Missing)
    }

    /// Number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Text(texts) => texts.ends.len(),
            Values::Nested(values) => values.len(),
            Values::Flag(flags) => flags.len(),
            Values::Whole(numbers) => numbers.len(),
            Values::Number(numbers) => numbers.len(),
        }
    }

    /// Whether it has no cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell in a row; missing beyond the last one.
    #[must_use]
    pub fn cell(&self, row: usize) -> Cell<'_> {
        match &self.values {
            Values::Text(texts) => texts.get(row).into(),
            Values::Nested(values) => values.get(row).and_then(Option::as_ref).into(),
            Values::Flag(flags) => flags.get(row).copied().flatten().into(),
            Values::Whole(numbers) => numbers.get(row).copied().flatten().into(),
            Values::Number(numbers) => numbers.get(row).copied().filter(|number| !number.is_nan()).into(),
        }
    }

    /// The same column with the cells of these rows.
    fn part(&self, rows: &[usize]) -> Self {
        let values = match &self.values {
            Values::Text(texts) => {
                let mut part = Texts::default();
                rows.iter().for_each(|&row| part.push(texts.get(row)));
                Values::Text(part)
            }
            Values::Nested(values) => Values::Nested(rows.iter().map(|&row| values[row].clone()).collect()),
            Values::Flag(flags) => Values::Flag(rows.iter().map(|&row| flags[row]).collect()),
            Values::Whole(numbers) => Values::Whole(rows.iter().map(|&row| numbers[row]).collect()),
            Values::Number(numbers) => Values::Number(rows.iter().map(|&row| numbers[row]).collect()),
        };
        let absence = |(at, &row): (usize, &usize)| Some((at, self.absence(row)?.clone()));
        let absences = rows.iter().enumerate().filter_map(absence).collect();
        TableColumn { name: self.name.clone(), caveats: self.caveats.clone(), absences, values, ..*self }
    }

    /// About how much memory the texts of its cells take, in bytes.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        match &self.values {
            Values::Text(texts) => texts.text.len(),
            Values::Nested(values) => values.iter().flatten().map(Nested::text_bytes).sum(),
            _ => 0,
        }
    }

    /// The cells, in order.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = Cell<'_>> {
        (0..self.len()).map(|row| self.cell(row))
    }
}

impl Values {
    fn push(&mut self, column: &str, cell: Cell<'_>) {
        let fits = matches!(
            (&*self, &cell),
            (_, Cell::Missing)
                | (Values::Nested(_) | Values::Text(_), _)
                | (Values::Flag(_), Cell::Flag(_))
                | (Values::Whole(_), Cell::Whole(_))
                | (Values::Number(_), Cell::Whole(_) | Cell::Number(_))
        );
        debug_assert!(fits, "a cell of column `{column}` is not of the column's kind: {cell:?}");
        match self {
            Values::Text(texts) => match cell {
                Cell::Missing => texts.push(None),
                cell => texts.push(Some(&cell.text())),
            },
            Values::Nested(values) => values.push(match cell {
                Cell::Missing => None,
                Cell::Flag(flag) => Some(Nested::Flag(flag)),
                Cell::Whole(value) => Some(Nested::Whole(value)),
                Cell::Number(value) => Some(Nested::Number(value)),
                Cell::Text(text) => Some(Nested::Text(text.into_owned())),
                Cell::Nested(value) => Some(value.into_owned()),
            }),
            Values::Flag(flags) => flags.push(match cell {
                Cell::Flag(flag) => Some(flag),
                _ => None,
            }),
            Values::Whole(numbers) => numbers.push(match cell {
                Cell::Whole(value) => Some(value),
                _ => None,
            }),
            Values::Number(numbers) => numbers.push(match cell {
                Cell::Number(value) => value,
                Cell::Whole(value) => value as f64,
                _ => f64::NAN,
            }),
        }
    }
}

/// Texts end to end: a column costs three allocations, however many cells it has.
#[derive(Clone, Debug, Default)]
struct Texts {
    text: String,
    /// Where the text of each row ends.
    ends: Vec<usize>,
    is_missing: Vec<bool>,
    /// Texts that were cut.
    cut: usize,
}

/// Text of a column from which on long ones are cut, in bytes: one name in each of many rows makes much of a small file.
const MOST_TEXT: usize = 64 << 20;
/// Characters that are kept of those.
const SHORT: usize = 1_000;

impl Texts {
    fn push(&mut self, text: Option<&str>) {
        let text_or_none = text.unwrap_or_default();
        let kept = match self.text.len() > MOST_TEXT && text_or_none.len() > SHORT {
            true => text_or_none.char_indices().nth(SHORT).map(|(end, _)| &text_or_none[..end]),
            false => None,
        };
        self.text.push_str(kept.unwrap_or(text_or_none));
        if kept.is_some() {
            self.text.push('…');
            self.cut += 1;
        }
        self.ends.push(self.text.len());
        self.is_missing.push(text.is_none());
    }

    fn get(&self, row: usize) -> Option<&str> {
        if *self.is_missing.get(row)? {
            return None;
        }
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        Some(&self.text[start..self.ends[row]])
    }

    #[cfg(feature = "polars")]
    fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.ends.len()).map(|row| self.get(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Unit;

    const NAME: Column = Column::new("name", ColumnKind::Text, "");
    const MS: Column = Column::new("ms", ColumnKind::Number(Unit::Milliseconds), "");

    fn names(names: &[&'static str]) -> TableColumn {
        TableColumn::new(NAME, names.iter().map(|&name| name.into()))
    }

    fn times(times: &[f64]) -> TableColumn {
        TableColumn::new(MS, times.iter().map(|&time| time.into()))
    }

    #[test]
    fn one_long_name_in_all_rows_is_cut() {
        let long = "é".repeat(1 << 20);
        let column = TableColumn::new(NAME, (0..100).map(|_| long.as_str().into()));
        let bytes: usize = column.cells().map(|cell| cell.text().len()).sum();
        assert!(bytes < MOST_TEXT + (4 << 20), "{bytes}");
        assert_eq!(column.cell(0).text(), long);
        assert_eq!(column.text_bytes(), bytes);
        assert_eq!(column.cell(99).text().chars().count(), SHORT + 1);
        assert!(
            column.caveats()[0].text.starts_with("Texts cut to 1000 characters: 67."),
            "{:?}",
            column.caveats()
        );
        assert!(names(&["a", "b"]).caveats().is_empty());
    }

    #[test]
    fn names_that_cannot_be_files_are_refused() {
        for name in ["", "a/b", "..", "a\nb", "what?", " x", "x."] {
            assert_eq!(Table::new(name, Vec::new()).unwrap_err(), TableError::Name { name: name.into() });
        }
        for name in ["gpu_timeline", "BinaryElementwise_fwd", "µ-bench (2)"] {
            assert!(Table::new(name, Vec::new()).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn columns_of_one_name_or_of_different_lengths_are_refused() {
        let twice = Table::new("t", vec![names(&["x"]), names(&["y"])]).unwrap_err();
        assert!(matches!(twice, TableError::DuplicateColumn { .. }), "{twice}");
        let short = Table::new("t", vec![names(&["x", "y"]), times(&[1.0])]).unwrap_err();
        assert!(matches!(short, TableError::ColumnLength { cells: 1, rows: 2, .. }), "{short}");
    }

    #[test]
    fn cells_come_back_as_they_went_in() {
        let nested = Nested::List(vec![Nested::Whole(1)]);
        let cells = || {
            vec![
                (ColumnKind::Text, Cell::from("µ")),
                (ColumnKind::Text, Cell::from("")),
                (ColumnKind::Nested, Cell::from(&nested)),
                (ColumnKind::Flag, Cell::from(false)),
                (ColumnKind::Count, Cell::from(7_i64)),
                (ColumnKind::Number(Unit::One), Cell::from(0.5)),
            ]
        };
        for (kind, cell) in cells() {
            let column =
                TableColumn::new(Column::new("c", kind, ""), [Cell::Missing, cell.clone(), Cell::Missing]);
            assert_eq!(column.cells().collect::<Vec<_>>(), [Cell::Missing, cell, Cell::Missing], "{kind:?}");
        }
        assert_eq!(times(&[f64::NAN]).cell(0), Cell::Missing);
    }

    #[test]
    fn caveats_are_those_of_the_columns_that_they_are_about() {
        let mut table = Table::new("t", vec![names(&["x"]), times(&[f64::NAN])]).unwrap();
        let caveat = |brief: &str| Arc::new(Caveat { brief: brief.to_owned(), text: String::new() });
        let unreliable = caveat("unreliable");
        for _ in 0..2 {
            table.add_caveat_to(&unreliable, |column| column.name() == "ms");
        }
        table.add_caveat(&caveat("of all"));
        assert_eq!(table.column("ms").unwrap().caveats(), [unreliable]);
        assert!(table.column("name").unwrap().caveats().is_empty());
        assert_eq!(table.renamed("u").unwrap().caveats()[0].brief, "of all");
    }

    #[test]
    fn blank_columns_have_no_cell() {
        assert!(times(&[f64::NAN, f64::NAN]).is_blank() && times(&[]).is_blank());
        assert!(!times(&[f64::NAN, 0.0]).is_blank() && !names(&[""]).is_blank());
    }

    #[test]
    fn charts_must_name_numeric_columns_of_the_table() {
        let table = || Table::new("t", vec![names(&["x"]), times(&[1.0])]).unwrap();
        let chart = |categories, values| Chart::new("c", categories, values, "", ChartShape::Bars(9));
        assert!(table().with_chart(chart("name", "ms")).is_ok());
        for (categories, values) in [("nome", "ms"), ("name", "us")] {
            let refused = table().with_chart(chart(categories, values)).unwrap_err();
            assert!(matches!(refused, TableError::ChartColumn { .. }), "{refused}");
        }
        let refused = table().with_chart(chart("ms", "name")).unwrap_err();
        assert!(matches!(refused, TableError::ChartValues { .. }), "{refused}");
    }

    #[test]
    fn charts_show_the_rows_that_they_ask_for() {
        let rows = |shape| {
            let columns = vec![names(&["a", "b", "c", "d"]), times(&[1.0, 2.0, 3.0, 4.0])];
            let chart = Chart::new("c", "name", "ms", "", shape);
            Table::new("t", columns).unwrap().with_chart(chart).unwrap().chart_rows()
        };
        assert_eq!(rows(ChartShape::Bars(2)), [0, 1]);
        assert_eq!(rows(ChartShape::Bars(9)), [0, 1, 2, 3]);
        let parts = &["b", "d", "c", "z"];
        assert_eq!(rows(ChartShape::Stacked { parts, per: None }), [1, 2, 3]);
    }

    #[cfg(feature = "polars")]
    #[test]
    fn a_table_is_a_dataframe() {
        let frame = Table::new("t", vec![names(&["x", "y"]), times(&[1.0, f64::NAN])]).unwrap();
        let frame = frame.to_dataframe().unwrap();
        assert_eq!(frame.get_column_names(), ["name", "ms"]);
        assert_eq!(frame.column("ms").unwrap().null_count(), 1);
    }
}
