//! The sheets of the phases, and the labels that they are made from.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test helper may stop at a fault

mod conservation;
mod corpus;
mod corpus_reference;
mod engine;
mod table;
