//! Comparison of sheets with tables that another tool wrote.

mod doubles;
mod literal;
mod sheet;
mod timeline;
mod verdict;

pub(crate) use sheet::{ADDED_COLUMN, Comparison, Difference, Reference};
