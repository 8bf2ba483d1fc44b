//! Comparison of sheets with tables that another tool wrote.
#![allow(dead_code, unused_imports)] // each test program uses a part

mod literal;
mod meant;
mod sheet;
mod verdict;

pub(crate) use meant::Verdicts;
pub(crate) use sheet::{Comparison, Reference};
