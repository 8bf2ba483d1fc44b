#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod caveat;
mod cell;
mod chart;
mod column;
pub mod columns;
mod escape;
mod excerpt;
mod field;
mod figure;
pub mod names;
pub mod numbers;
mod sheet;
mod table;
mod title;

pub use caveat::{Absence, AbsenceCode, Caveat};
pub use cell::{Cell, Nested};
pub use chart::{Chart, ChartShape, ScatterPoints};
pub use column::{Column, ColumnKind, Layout, Role, Scope, Unit, Verdict};
pub use escape::{escaped, is_obeyed, markdown_text};
pub use excerpt::Excerpt;
pub use field::{Field, Statistics, percent, shares, shares_of};
pub use figure::{Figure, Figures};
pub use python_literal::{float_text, write_float};
pub use sheet::Sheet;
pub use table::{Table, TableColumn, TableError, names_a_file};
pub use title::{title, with_titles};
