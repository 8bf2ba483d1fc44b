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

pub use diagnosis::{Diagnosis, SHEET_NAME};
pub use finding::{Finding, Place, Rule, Severity};
pub use harm::Harm;
pub use rules::RULES;
pub use sheet::recording_sheet;
