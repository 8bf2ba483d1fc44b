#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod diagnosis;
mod facts;
mod finding;
mod harm;
mod rules;
mod sheet;

#[cfg(test)]
mod recording;

pub use diagnosis::Diagnosis;
pub use finding::{Finding, Place, Severity};
pub use harm::Harm;
pub use rules::{RULES, Rule};
pub use sheet::{SHEET_NAME, recording_sheet};
