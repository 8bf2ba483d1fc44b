//! Recorded profiles of rocprofv3.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "../../../tree-perf/tests/common/table.rs"]
mod common;
#[path = "../../../tree-perf/tests/conformance/mod.rs"]
mod conformance;

mod corpus;
mod windows;
