//! Reports compared as a program that uses the crate does it.

// A test that fails says why by its panic.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod joining;
mod reading;
mod sides;
mod trees_of_corpus;
