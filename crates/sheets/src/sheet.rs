//! A sheet: all that is known of a table of a report before a recording is read, and the function that makes it.

use std::borrow::Cow;
use std::collections::HashSet;

use gpu_timeline::SortFew;

use crate::chart::Chart;
use crate::column::{Column, ColumnKind, Layout, by_role};
use crate::excerpt::Excerpt;
use crate::field::Field;
use crate::figure::{Figure, Figures};
use crate::table::{Table, TableColumn, TableError};

type Fill<'a, A> = Box<dyn Fn(&'a A, Layout) -> Option<Vec<TableColumn>> + Send + Sync + 'a>;

/// A table of a report, made from an analysis `A`, which it may borrow from.
pub struct Sheet<'a, A> {
    /// Name in the report.
    pub name: Cow<'static, str>,
    /// Name that the reference tool gives it, where that is another.
    pub reference_name: Option<&'static str>,
    /// What one row is, in one sentence.
    pub description: Cow<'static, str>,
    /// All columns that it may have in either layout, in the order of [`Layout::Listed`]. One named `<prefix>: …`
    /// stands for any number of columns.
    pub columns: Vec<Column>,
    /// Picture that goes with it.
    pub chart: Option<Chart>,
    /// What a summary shows of it.
    pub excerpt: Option<Excerpt>,
    /// Whether it is a table of another tool, whose headers are the names of its columns in either layout.
    pub keeps_names: bool,
    /// What all its numbers show.
    figures: Figures,
    /// What its sums of device time show.
    figures_of_sums: Figures,
    fill: Fill<'a, A>,
    /// The sheet that stands in where this one is left out.
    stand_in: Option<Box<Sheet<'a, A>>>,
}

impl<'a, A> Sheet<'a, A> {
    /// A sheet of rows that need nothing else. Without rows it is left out of the report.
    pub fn new<R: 'a>(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        fields: impl IntoIterator<Item = Field<(), R>>,
        rows: impl Fn(&'a A) -> Vec<R> + Send + Sync + 'a,
    ) -> Self {
        Self::with_context(name, description, fields, move |analysis| {
            Some(((), rows(analysis))).filter(|(_, rows)| !rows.is_empty())
        })
    }

    /// A sheet of rows with what they share; `None` leaves it out of the report.
    pub fn with_context<C: 'a, R: 'a>(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        fields: impl IntoIterator<Item = Field<C, R>>,
        rows: impl Fn(&'a A) -> Option<(C, Vec<R>)> + Send + Sync + 'a,
    ) -> Self {
        let fields: Vec<Field<C, R>> = fields.into_iter().collect();
        let columns = fields.iter().map(|field| field.column).collect();
        let fill = move |analysis, layout| {
            let (context, rows) = rows(analysis)?;
            let rows: Vec<&R> = rows.iter().collect();
            let mut columns = Vec::with_capacity(fields.len());
            for field in &fields {
                field.append(&context, &rows, layout, &mut columns);
            }
            Some(columns)
        };
        Sheet {
            name: name.into(),
            reference_name: None,
            description: description.into(),
            columns,
            chart: None,
            excerpt: None,
            keeps_names: false,
            figures: Figures::NONE,
            figures_of_sums: Figures::NONE,
            fill: Box::new(fill),
            stand_in: None,
        }
    }

    /// The same sheet with the name that the reference tool gives it.
    #[must_use]
    pub fn known_as(self, reference_name: &'static str) -> Self {
        Sheet { reference_name: Some(reference_name), ..self }
    }

    /// The same sheet as a table of another tool: its headers are the names of its columns in either layout.
    #[must_use]
    pub fn keeping_names(self) -> Self {
        Sheet { keeps_names: true, ..self }
    }

    /// The same sheet with a picture, which a table without rows lacks.
    #[must_use]
    pub fn with_chart(self, chart: Chart) -> Self {
        Sheet { chart: Some(chart), ..self }
    }

    /// The same sheet, whose first rows a summary shows.
    #[must_use]
    pub fn with_excerpt(self, excerpt: Excerpt) -> Self {
        Sheet { excerpt: Some(excerpt), ..self }
    }

    /// The same sheet, all numbers of which show these kinds of figures beside those of their columns; numbers that
    /// identify something do not.
    #[must_use]
    pub fn showing(self, figures: &'static [Figure]) -> Self {
        Sheet { figures: Figures::new(figures), ..self }.marked()
    }

    /// The same sheet, the sums of device time in which show these kinds of figures, too: [`Column`]s that show
    /// [`Figure::SumsOfDeviceTime`].
    #[must_use]
    pub fn with_sums_showing(self, figures: &'static [Figure]) -> Self {
        Sheet { figures_of_sums: Figures::new(figures), ..self }.marked()
    }

    /// With the sheet's figures in its descriptions of columns.
    fn marked(mut self) -> Self {
        for position in 0..self.columns.len() {
            self.columns[position].figures = self.figures_of(&self.columns[position]);
        }
        self
    }

    /// What a column of the sheet shows.
    fn figures_of(&self, column: &Column) -> Figures {
        let is_number = column.kind.is_numeric() && column.kind != ColumnKind::Identifier;
        let of_sheet = if is_number { self.figures } else { Figures::NONE };
        match column.shows(Figure::SumsOfDeviceTime) {
            true => column.figures.union(of_sheet).union(self.figures_of_sums),
            false => column.figures.union(of_sheet),
        }
    }

    /// The same sheet with the rows and columns of another where a condition holds, such as an option that asks for the
    /// figures of another tool. The other may have no columns that this one does not describe.
    #[must_use]
    pub fn replaced_by(self, other: Sheet<'a, A>, when: impl Fn(&A) -> bool + Send + Sync + 'a) -> Self
    where
        A: 'a,
    {
        let (fill, replacement) = (self.fill, other.fill);
        let fill = move |analysis, layout| match when(analysis) {
            true => replacement(analysis, layout),
            false => fill(analysis, layout),
        };
        Sheet { fill: Box::new(fill), ..self }
    }

    /// The same sheet; where it is left out, the other stands under its name with columns, picture and excerpt of its own.
    #[must_use]
    pub fn or(self, other: Sheet<'a, A>) -> Self {
        let is_new = |column: &Column| !self.columns.iter().any(|known| known.name == column.name);
        let added: Vec<Column> = other.columns.iter().filter(|column| is_new(column)).copied().collect();
        let columns = self.columns.into_iter().chain(added).collect();
        let (name, description) = (self.name.clone(), self.description.clone());
        Sheet { columns, stand_in: Some(Box::new(Sheet { name, description, ..other })), ..self }
    }

    /// The table of a recording in the layout of our own; `None` when there is nothing to show.
    ///
    /// # Errors
    /// Those of [`Sheet::table_in`].
    pub fn table(&self, analysis: &'a A) -> Result<Option<Table>, TableError> {
        self.table_in(analysis, Layout::default())
    }

    /// The table of a recording; `None` when there is nothing to show.
    ///
    /// # Errors
    /// When the name cannot name a table, two columns have one name or the chart needs a column that is not there,
    /// which is a fault of the sheet.
    pub fn table_in(&self, analysis: &'a A, layout: Layout) -> Result<Option<Table>, TableError> {
        let Some(mut columns) = (self.fill)(analysis, layout) else {
            return self.stand_in.as_ref().map_or(Ok(None), |other| other.table_in(analysis, layout));
        };
        for column in &mut columns {
            column.column.figures = self.figures_of(&column.column);
        }
        let columns = match layout {
            Layout::Roles => by_role(columns, |column| (column.role(), column.series(), column.kind())),
            Layout::Listed => columns,
        };
        let mut table = Table::new(self.name.as_ref(), columns)?;
        table.layout = layout;
        table.keeps_names = self.keeps_names || layout == Layout::Listed;
        table.description = self.description.clone();
        table.excerpt = self.excerpt.clone();
        match self.chart {
            Some(chart) if table.height() > 0 => table.with_chart(chart).map(Some),
            _ => Ok(Some(table)),
        }
    }

    /// All columns in the order of [`Layout::Roles`], those that only the reference's layout has at the end; each name
    /// once.
    #[must_use]
    pub fn columns_by_role(&self) -> Vec<Column> {
        let mut columns = by_role(self.columns.clone(), |column| (column.role, column.series, column.kind));
        columns.sort_few_by_key(|column| column.only_in == Some(Layout::Listed));
        let mut names = HashSet::new();
        columns.retain(|column| names.insert(column.name));
        columns
    }

    /// Whether columns of the sheet show figures of this kind.
    #[must_use]
    pub fn shows(&self, figure: Figure) -> bool {
        self.columns.iter().any(|column| column.shows(figure))
    }

    /// The description of a column of this sheet's table.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        let of_family =
            |column: &&Column| column.name.strip_suffix('…').is_some_and(|prefix| name.starts_with(prefix));
        self.columns.iter().find(|column| column.name == name).or_else(|| self.columns.iter().find(of_family))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Cell, Column, Layout, Nested, Role, Sheet, Table};

    /// A sheet with a column that each layout has in another unit, and a list of names.
    fn table(layout: Layout) -> Table {
        fn kinds(_: &i64) -> Cell<'_> {
            let names = ["GEMM", "other"].map(|name| Nested::Text(name.to_owned()));
            Nested::List(names.into()).into()
        }
        let fields = [
            Column::microseconds("time_us", "").only_in(Layout::Listed).field(|&us: &i64| (us as f64).into()),
            Column::names("kinds", "").field(kinds),
            Column::milliseconds("time_ms", "")
                .with_role(Role::Headline)
                .only_in(Layout::Roles)
                .field(|&us: &i64| (us as f64 / 1e3).into()),
            Column::text("name", "").field(|us: &i64| us.to_string().into()),
        ];
        let rows = vec![1500];
        let sheet = Sheet::new("t", "", fields, |rows: &Vec<i64>| rows.clone());
        let names: Vec<&str> = sheet.columns_by_role().iter().map(|column| column.name).collect();
        assert_eq!(names, ["name", "time_ms", "kinds", "time_us"]);
        sheet.table_in(&rows, layout).unwrap().unwrap()
    }

    #[test]
    fn each_layout_has_its_columns_in_its_order_and_its_form_of_lists() {
        for (layout, header, cells) in [
            (Layout::Roles, "name time_ms kinds", ["1500", "1.5", "GEMM, other"]),
            (Layout::Listed, "time_us kinds name", ["1500.0", "['GEMM', 'other']", "1500"]),
        ] {
            let table = table(layout);
            assert_eq!(table.layout(), layout);
            let names: Vec<&str> = table.columns().iter().map(|column| column.name()).collect();
            assert_eq!(names.join(" "), header);
            let texts: Vec<String> =
                table.columns().iter().map(|column| column.cell(0).text().into_owned()).collect();
            assert_eq!(texts, cells);
        }
    }
}
