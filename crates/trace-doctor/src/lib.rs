#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod diagnosis;
mod facts;
mod finding;
mod rules;
mod sheet;

#[cfg(test)]
mod recording;

pub use diagnosis::{Diagnosis, SHEET_NAME};
pub use finding::{Elsewhere, Finding, Harm, Place, Rule, Severity};
pub use rules::RULES;
pub use sheet::recording_sheet;
