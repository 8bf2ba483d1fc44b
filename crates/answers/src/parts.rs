//! The tables of a report: parts that each know their place among the others, made on several threads.

use gpu_timeline::SortFew;
use sheets::{Layout, Sheet, Table};

use crate::error::Error;
use crate::parallel::map_in_order;

/// Whose names the sheets have where TraceLens documents one and writes another, and whose columns they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SheetNames {
    /// The documented names. Columns are in the order of our own layout ([`Layout::Roles`]).
    #[default]
    Documented,
    /// Those that TraceLens writes at present, with its columns in its order, its categories of the kernels of
    /// rocprofv3 and without `overview`.
    Current,
}

impl SheetNames {
    /// The layout of the tables: that of the report's conventions, or the one that goes with the names.
    pub(crate) fn layout(self, conventional_layout: Layout) -> Layout {
        match self {
            SheetNames::Documented => conventional_layout,
            SheetNames::Current => Layout::Listed,
        }
    }

    fn of<'s, A>(self, sheet: &'s Sheet<'_, A>) -> &'s str {
        match (self, sheet.reference_name) {
            (SheetNames::Current, Some(name)) => name,
            _ => &sheet.name,
        }
    }
}

/// Where a table stands among the others. Those of one place are in the order in which they were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Advice,
    Sheets,
    /// Behind the last summary of operators.
    Phases,
    FurtherSheets,
    /// Of another tool.
    Reference,
    /// Of the recorder.
    Recorder,
    /// This recording and another one.
    Comparison,
    Extension,
}

type Work<'a> = Box<dyn Fn() -> Result<Vec<Table>, Error> + Sync + 'a>;

/// Tables to make.
#[derive(Default)]
pub(crate) struct Parts<'a> {
    /// Of sheets without rows for a first page, only these are made; all of them where this is `None`.
    only: Option<Vec<&'static str>>,
    works: Vec<(Place, Work<'a>)>,
    /// The names of all tables that there may be.
    known: Vec<String>,
}

impl<'a> Parts<'a> {
    /// Tables for a first page: of sheets without rows for it, only these are made.
    pub(crate) fn for_first_page(names: Vec<&'static str>) -> Self {
        Parts { only: Some(names), ..Parts::default() }
    }

    /// Adds tables that `work` makes, after what was added before has begun.
    pub(crate) fn add(&mut self, place: Place, work: impl Fn() -> Result<Vec<Table>, Error> + Sync + 'a) {
        self.works.push((place, Box::new(work)));
    }

    /// Adds what tables share or the first page needs.
    pub(crate) fn add_work(&mut self, work: impl Fn() + Sync + 'a) {
        self.add(Place::Sheets, move || {
            work();
            Ok(Vec::new())
        });
    }

    /// Adds sheets of an analysis.
    pub(crate) fn add_sheets<A: Sync>(
        &mut self,
        place: Place,
        analysis: &'a A,
        sheets: impl IntoIterator<Item = Sheet<'a, A>>,
        (names, layout): (SheetNames, Layout),
    ) {
        for sheet in sheets {
            self.know([SheetNames::Documented, SheetNames::Current].map(|names| names.of(&sheet).to_owned()));
            if let Some(only) = &self.only
                && sheet.excerpt.is_none()
                && !only.iter().any(|name| *name == sheet.name)
            {
                continue;
            }
            self.add(place, move || {
                let table = sheet.table_in(analysis, layout)?;
                Ok(table.map(|table| table.renamed(names.of(&sheet))).transpose()?.into_iter().collect())
            });
        }
    }

    /// Takes note of names that tables may have.
    pub(crate) fn know(&mut self, names: impl IntoIterator<Item = String>) {
        self.known.extend(names);
    }

    /// The tables in their order, and the names of all that there may be. `check` may refuse to go on.
    pub(crate) fn make(
        self,
        threads: usize,
        check: impl Fn() -> Result<(), Error> + Sync,
    ) -> Result<(Vec<Table>, Vec<String>), Error> {
        let made = map_in_order(&self.works, threads, |(place, work)| {
            check()?;
            Ok::<_, Error>((*place, work()?))
        });
        let mut made = made.into_iter().collect::<Result<Vec<_>, _>>()?;
        made.sort_few_by_key(|(place, _)| *place);
        Ok((made.into_iter().flat_map(|(_, tables)| tables).collect(), self.known))
    }
}
