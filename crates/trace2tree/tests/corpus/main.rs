//! Trees of the recorded traces of the corpus.

#![allow(clippy::unwrap_used)] // test code: fail loudly

mod corpus_queries;
mod corpus_tree_parity;

use trace_ingest::{ReadOptions, Trace, read_path};

/// Reads a recorded trace; `None` where it is absent.
fn read(file: &str) -> Option<Trace> {
    Some(read_path(&testdata::corpus(file)?, &ReadOptions::default()).unwrap())
}
