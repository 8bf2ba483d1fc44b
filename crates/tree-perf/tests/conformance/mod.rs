//! Comparison of sheets with tables that another tool wrote.

mod doubles;
mod literal;
mod meant;
mod sheet;
mod timeline;
mod verdict;

pub(crate) use meant::{Meant, Verdicts};
pub(crate) use sheet::{Comparison, Reference};
