//! A reference table and what differs from it.

use std::collections::BTreeMap;
use std::path::Path;

use super::literal::Value;
use super::verdict::{Verdict, judge};
use crate::common::Table;

/// Columns that identify a row, by the reference's name of the sheet. Rows of other sheets are compared in
/// order.
const KEYS: &[(&str, &[&str])] = &[
    ("gpu_timeline", &["type"]),
    ("ops_summary_by_category", &["op category"]),
    ("ops_summary", &["name"]),
    (
        "ops_unique_args",
        &[
            "name",
            "op category",
            "Input Dims",
            "Input type",
            "Input Strides",
            "Concrete Inputs",
            "thread_name",
        ],
    ),
    ("kernel_summary", &["Parent op category", "Parent cpu_op", "Kernel name", "Kernel stream"]),
    (
        "short_kernels_summary",
        &["Parent cpu_op", "Input dims", "Input strides", "Concrete Inputs", "Kernel name"],
    ),
];

/// A table that another tool wrote.
pub(crate) struct Reference {
    name: String,
    headers: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// How a sheet compares with its reference.
#[derive(Default)]
pub(crate) struct Comparison {
    pub(crate) exact: usize,
    pub(crate) clock: usize,
    /// `(column, what)`; what is no cell has the column `rows` or `columns`.
    pub(crate) differences: Vec<(String, String)>,
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
                    comparison.differences.push(("columns".to_owned(), format!("{header} is missing")));
                }
                Some((at, ours?))
            })
            .collect();
        for extra in ours.headers.iter().filter(|header| !self.headers.contains(header)) {
            comparison.differences.push((extra.clone(), "a column that the reference lacks".to_owned()));
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
                    Verdict::Wrong => comparison
                        .differences
                        .push((column.clone(), format!("reference {cell:?}, ours {our_cell:?}"))),
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
        for (key, [reference, ours]) in groups {
            if reference.len() != ours.len() {
                let counts = format!("{} in the reference, {} of ours: {key:?}", reference.len(), ours.len());
                comparison.differences.push(("rows".to_owned(), counts));
            }
            pairs.extend(reference.into_iter().zip(ours));
        }
        pairs
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
