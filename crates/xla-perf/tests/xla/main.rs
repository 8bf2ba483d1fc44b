//! Profiles of XLA programs: recorded ones of the corpus, and small ones of TPUs by hand.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "../../../tree-perf/tests/common/table.rs"]
mod common;

mod command_buffers;
mod corpus;
mod tpu;
