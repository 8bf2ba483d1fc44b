#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod diagnosis;
mod facts;
mod figures;
mod finding;
mod rules;
mod sheet;

#[cfg(test)]
mod recording;

pub use diagnosis::Diagnosis;
pub use figures::{Columns, Figures, Harm, Which};
pub use finding::{Finding, Place, Severity};
pub use rules::{RULES, Rule};
pub use sheet::{SHEET_NAME, recording_sheet};
