//! Recordings of Nsight Systems: those of the corpus beside reference tables, those of this project, and small ones by hand.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "../../../tree-perf/tests/common/table.rs"]
mod common;

mod corpus;
mod graphs;
mod properties;
mod recorded;
mod stats;

use std::path::Path;

use common::Table;
use nsys_perf::{NsysAnalysis, NsysOptions, nsys_sheets, nsys_stats_sheets};
use trace_ingest::{NsysKernelNames, NsysReading, ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

fn tree(path: &Path, kernel_names: NsysKernelNames) -> TraceTree {
    let nsys = NsysReading { kernel_names, ..NsysReading::default() };
    let reading = ReadOptions { nsys, ..ReadOptions::default() };
    TraceTree::build(read_path(path, &reading).unwrap(), &TreeOptions::default())
}

/// A sheet as text; without rows it is left out.
fn table(tree: &TraceTree, name: &str) -> Option<Table> {
    let analysis = NsysAnalysis::new(tree, NsysOptions::default());
    let sheets: Vec<_> = nsys_sheets().into_iter().chain(nsys_stats_sheets()).collect();
    let sheet =
        sheets.into_iter().find(|sheet| sheet.name == name).unwrap_or_else(|| panic!("no sheet {name}"));
    sheet.table(&analysis).unwrap().map(|table| Table::new(&table))
}
