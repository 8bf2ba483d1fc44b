//! What reference tools print of recordings of the corpus and of small ones, against what is printed in their manner.

// A test that fails says why by its panic.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../../tree-perf/tests/common/table.rs"]
mod common;
#[path = "../../../trace-diff/tests/comparison/sides.rs"]
mod sides;

mod hta;
mod hta_critical_path;
mod tracelens_comparison;
mod tt_perf_report;
