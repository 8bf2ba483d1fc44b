//! Differences that are meant.

use std::collections::BTreeSet;

use super::sheet::{ADDED_COLUMN, Comparison, Difference};

/// Differences that are meant. Every case, sheet, name and column of them must occur; ` | ` stands between several.
#[derive(Debug)]
struct Meant {
    cases: String,
    sheets: String,
    /// Names in the rows; `*` is any text before or behind what is meant.
    names: String,
    /// How the names of the columns begin; `rows` for whole rows.
    columns: String,
    /// With the page and number of the reference's fault in the specification.
    #[expect(dead_code, reason = "for the reader")]
    why: String,
}

impl Meant {
    /// From lines `field: value`; a line that is indented goes on with the one before it.
    fn read(lines: &str) -> Meant {
        let lines = lines.replace("\n    ", " ");
        let field = |name: &str| {
            let mut fields = lines.lines().filter_map(|line| line.split_once(':'));
            let (_, value) =
                fields.find(|field| field.0 == name).unwrap_or_else(|| panic!("no {name}: {lines}"));
            value.trim().to_owned()
        };
        let [cases, sheets, names, columns, why] = ["cases", "sheets", "names", "columns", "why"].map(field);
        Meant { cases, sheets, names, columns, why }
    }

    /// What of this a difference shows, or nothing when it is another difference.
    fn shown(&self, case: &str, sheet: &str, name: &str, column: &str) -> Option<[&str; 4]> {
        let is = |listed: &&str| match listed.split_once('*') {
            Some((before, behind)) => name.starts_with(before) && name.ends_with(behind),
            None => *listed == name,
        };
        Some([
            self.cases.split(" | ").find(|&listed| listed == case)?,
            self.sheets.split(" | ").find(|&listed| listed == sheet)?,
            self.names.split(" | ").find(is)?,
            self.columns.split(" | ").find(|&listed| column.starts_with(listed))?,
        ])
    }

    fn everything(&self) -> impl Iterator<Item = &str> {
        [&self.cases, &self.sheets, &self.names, &self.columns]
            .into_iter()
            .flat_map(|listed| listed.split(" | "))
    }
}

/// Comparisons held against what is meant.
pub(crate) struct Verdicts {
    meant: Vec<Meant>,
    /// Columns that the reference does not have.
    added_columns: &'static [&'static str],
    met: Vec<BTreeSet<String>>,
    pub(crate) exact: usize,
    pub(crate) clock: usize,
    wrong: Vec<String>,
}

impl Verdicts {
    /// `meant` is a list of what is meant, with an empty line between two; it may begin with lines of comments.
    pub(crate) fn new(meant: &str, added_columns: &'static [&'static str]) -> Self {
        let listed =
            meant.trim_end().split("\n\n").filter(|lines| !lines.is_empty() && !lines.starts_with('#'));
        let meant: Vec<Meant> = listed.map(Meant::read).collect();
        let met = vec![BTreeSet::new(); meant.len()];
        Verdicts { meant, added_columns, met, exact: 0, clock: 0, wrong: Vec::new() }
    }

    pub(crate) fn add(&mut self, case: &str, sheet: &str, comparison: Comparison) {
        self.exact += comparison.exact;
        self.clock += comparison.clock;
        for Difference { column, name, what } in comparison.differences {
            if what == ADDED_COLUMN && self.added_columns.contains(&column.as_str()) {
                continue;
            }
            let shown = self.meant.iter().map(|meant| meant.shown(case, sheet, &name, &column));
            match shown.zip(&mut self.met).find_map(|(shown, met)| Some((shown?, met))) {
                Some((shown, met)) => met.extend(shown.map(str::to_owned)),
                None => self.wrong.push(format!("{case} {sheet} [{column}] {name}: {what}")),
            }
        }
    }

    /// The differences that are not meant, and what is meant and does not differ.
    pub(crate) fn wrong(mut self) -> Vec<String> {
        for (meant, met) in self.meant.iter().zip(self.met) {
            for what in meant.everything().filter(|what| !met.contains(*what)) {
                self.wrong.push(format!("listed, but no difference has {what}: {meant:?}"));
            }
        }
        self.wrong
    }
}
