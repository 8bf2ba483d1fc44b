//! A reference table and what differs from it.

use std::collections::BTreeMap;
use std::path::Path;

use super::literal::Value;
use super::verdict::{Verdict, judge};
use crate::common::Table;

/// Columns that identify a row, by the reference's name of the sheet. Sheets of modelled operators are told
/// by their parameters, see [`PARAMETER`]; rows of other sheets are compared in order.
const KEYS: &[(&str, &[&str])] = &[
    ("gpu_timeline", &["type"]),
    ("ops_summary_by_category", &["op category", "parent_module"]),
    ("ops_summary", &["name", "parent_module"]),
    ("ops_unique_args", CALL),
    ("unified_perf_summary", CALL),
    ("kernel_summary", &["Parent op category", "Parent cpu_op", "Kernel name", "Kernel stream", "name"]),
    ("kernel_summary_by_category", &["op category"]),
    ("kernel_details", &["dispatch_id"]),
    (
        "short_kernels_summary",
        &["Parent cpu_op", "Input dims", "Input strides", "Concrete Inputs", "Kernel name", "name"],
    ),
];

/// Columns that identify a row of calls with the same arguments.
const CALL: &[&str] = &[
    "name",
    "op category",
    "parent_module",
    "Input Dims",
    "Input type",
    "Input Strides",
    "Concrete Inputs",
    "thread_name",
    "num_kernels",
];

/// Columns of parameters identify a row of a sheet of modelled operators.
const PARAMETER: &str = "param: ";

/// What a column is that only we have.
pub(crate) const ADDED_COLUMN: &str = "a column that the reference lacks";

/// A table that another tool wrote.
pub(crate) struct Reference {
    name: String,
    pub(crate) headers: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// How a sheet compares with its reference.
#[derive(Default)]
pub(crate) struct Comparison {
    pub(crate) exact: usize,
    pub(crate) clock: usize,
    pub(crate) differences: Vec<Difference>,
}

/// A cell, row or column that is not that of the reference.
pub(crate) struct Difference {
    /// Column of the cell; `rows` or `columns` where a whole row or column is meant.
    pub(crate) column: String,
    /// Name in the row, where it has one.
    pub(crate) name: String,
    pub(crate) what: String,
}

impl Comparison {
    pub(crate) fn differ(&mut self, column: &str, name: &str, what: String) {
        self.differences.push(Difference { column: column.to_owned(), name: name.to_owned(), what });
    }
}

impl Reference {
    pub(crate) fn read(path: &Path) -> Reference {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path).unwrap();
        let headers: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let rows =
            reader.records().map(|record| record.unwrap().iter().map(Value::of_cell).collect()).collect();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        Reference { name, headers, rows }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn compare(&self, ours: &Table) -> Comparison {
        let mut comparison = Comparison::default();
        let columns: Vec<(usize, usize)> = self
            .headers
            .iter()
            .enumerate()
            .filter_map(|(at, header)| {
                let ours = ours.headers.iter().position(|ours| ours == header);
                if ours.is_none() {
                    comparison.differ("columns", "", format!("{header} is missing"));
                }
                Some((at, ours?))
            })
            .collect();
        for extra in ours.headers.iter().filter(|header| !self.headers.contains(header)) {
            comparison.differ(extra, "", ADDED_COLUMN.to_owned());
        }
        let ours: Vec<Vec<Value>> = ours
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| Value::of_cell(cell.as_deref().unwrap_or(""))).collect())
            .collect();
        for (reference, ours) in self.pairs(&columns, &ours, &mut comparison) {
            for &(at, ours_at) in &columns {
                let column = &self.headers[at];
                let (cell, our_cell) = (&reference[at], &ours[ours_at]);
                match judge(column, cell, our_cell, self.mean(column, reference)) {
                    Verdict::Exact => comparison.exact += 1,
                    Verdict::Clock => comparison.clock += 1,
                    Verdict::Wrong => {
                        let what = format!("reference {cell:?}, ours {our_cell:?}");
                        comparison.differ(column, &self.name_in(reference), what);
                    }
                }
            }
        }
        comparison
    }

    /// Rows that belong together, by key where the sheet has one.
    fn pairs<'r>(
        &'r self,
        columns: &[(usize, usize)],
        ours: &'r [Vec<Value>],
        comparison: &mut Comparison,
    ) -> Vec<(&'r [Value], &'r [Value])> {
        let key_columns: Vec<(usize, usize)> = match KEYS.iter().find(|(name, _)| *name == self.name) {
            Some((_, keys)) => {
                columns.iter().copied().filter(|&(at, _)| keys.contains(&self.headers[at].as_str())).collect()
            }
            None if self.headers.iter().any(|header| header.starts_with(PARAMETER)) => {
                let is_key = |header: &str| header == "name" || header.starts_with(PARAMETER);
                columns.iter().copied().filter(|&(at, _)| is_key(&self.headers[at])).collect()
            }
            None => Vec::new(),
        };
        let mut groups: BTreeMap<Vec<String>, [Vec<&[Value]>; 2]> = BTreeMap::new();
        for row in &self.rows {
            let key = key_columns.iter().map(|&(at, _)| row[at].key()).collect();
            groups.entry(key).or_default()[0].push(row);
        }
        for row in ours {
            let key = key_columns.iter().map(|&(_, at)| row[at].key()).collect();
            groups.entry(key).or_default()[1].push(row);
        }
        let mut pairs = Vec::new();
        let mut alone: [Vec<&[Value]>; 2] = [Vec::new(), Vec::new()];
        for [mut reference, mut ours] in groups.into_values() {
            let both = reference.len().min(ours.len());
            alone[0].extend(reference.split_off(both));
            alone[1].extend(ours.split_off(both));
            pairs.extend(reference.into_iter().zip(ours));
        }
        // Rows whose parameters differ are those of the same first call.
        let [mut reference, mut ours] = alone;
        let first_call = columns.iter().find(|&&(at, _)| self.headers[at] == "UID_first");
        if let Some(&(at, ours_at)) = first_call {
            reference.retain(|row| {
                let same = ours.iter().position(|ours| ours[ours_at].key() == row[at].key());
                pairs.extend(same.map(|position| (*row, ours.remove(position))));
                same.is_none()
            });
        }
        let our_name = columns.iter().find(|&&(at, _)| self.headers[at] == "name").map(|&(_, at)| at);
        for row in reference {
            comparison.differ("rows", &self.name_in(row), format!("only in the reference: {row:?}"));
        }
        for row in ours {
            let name = our_name.map(|at| row[at].text()).unwrap_or_default();
            comparison.differ("rows", &name, format!("not in the reference: {row:?}"));
        }
        pairs
    }

    /// What names a row of operators.
    fn name_in(&self, row: &[Value]) -> String {
        let at = self.headers.iter().position(|header| header == "name");
        at.map(|at| row[at].text()).unwrap_or_default()
    }

    fn mean(&self, column: &str, row: &[Value]) -> Option<f64> {
        if !column.contains("std") {
            return None;
        }
        let column = column.replace("std", "mean");
        match row[self.headers.iter().position(|header| *header == column)?] {
            Value::Number(mean) => Some(mean),
            _ => None,
        }
    }
}
