//! Columns that several sheets share.

pub(crate) use operator_sheets::columns as shared;
pub use sheets::{Column, ColumnKind, Unit};
