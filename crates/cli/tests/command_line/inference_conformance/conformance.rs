//! Comparison of sheets with tables that another tool wrote.

#[path = "../../../../tree-perf/tests/conformance/literal.rs"]
mod literal;
#[path = "../../../../tree-perf/tests/conformance/meant.rs"]
mod meant;
#[path = "../../../../tree-perf/tests/conformance/sheet.rs"]
mod sheet;
#[path = "../../../../tree-perf/tests/conformance/verdict.rs"]
mod verdict;

pub(crate) use meant::{Meant, Verdicts};
pub(crate) use sheet::{Comparison, Reference};
