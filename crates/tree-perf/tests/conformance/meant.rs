//! Differences that are meant.

use std::collections::BTreeSet;

use super::sheet::{ADDED_COLUMN, Comparison, Difference};

/// Differences that are meant. Every case, sheet, name and column of them must occur; ` | ` stands between several.
#[derive(Debug)]
pub(crate) struct Meant {
    pub(crate) cases: &'static str,
    pub(crate) sheets: &'static str,
    /// Names in the rows; `*` is any text before or behind what is meant.
    pub(crate) names: &'static str,
    /// How the names of the columns begin; `rows` for whole rows.
    pub(crate) columns: &'static str,
    /// With the page and number of the reference's fault in the specification.
    #[expect(dead_code, reason = "for the reader")]
    pub(crate) why: &'static str,
}

impl Meant {
    /// What of this a difference shows, or nothing when it is another difference.
    fn shown(&self, case: &str, sheet: &str, name: &str, column: &str) -> Option<[&'static str; 4]> {
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

    fn everything(&self) -> impl Iterator<Item = &'static str> {
        [self.cases, self.sheets, self.names, self.columns].into_iter().flat_map(|listed| listed.split(" | "))
    }
}

/// Comparisons held against what is meant.
pub(crate) struct Verdicts {
    meant: &'static [Meant],
    /// Columns that the reference does not have.
    added_columns: &'static [&'static str],
    met: Vec<BTreeSet<&'static str>>,
    pub(crate) exact: usize,
    pub(crate) clock: usize,
    wrong: Vec<String>,
}

impl Verdicts {
    pub(crate) fn new(meant: &'static [Meant], added_columns: &'static [&'static str]) -> Self {
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
                Some((shown, met)) => met.extend(shown),
                None => self.wrong.push(format!("{case} {sheet} [{column}] {name}: {what}")),
            }
        }
    }

    /// The differences that are not meant, and what is meant and does not differ.
    pub(crate) fn wrong(mut self) -> Vec<String> {
        for (meant, met) in self.meant.iter().zip(self.met) {
            for what in meant.everything().filter(|what| !met.contains(what)) {
                self.wrong.push(format!("listed, but no difference has {what}: {meant:?}"));
            }
        }
        self.wrong
    }
}
