#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod advice;
pub mod agent;
mod facts;
mod finding;
#[cfg(test)]
mod fixture;
mod kernel_family;
mod late_launches;
mod markdown;
mod product;
mod rows;
mod rule;
mod rules;
mod sheet;
mod shift;
mod target;

pub use advice::{Advice, Recording};
pub use facts::{
    Call, Copied, DataChange, Facts, Hold, HoldKind, Idle, IdleCause, Input, LeastTime, Machine, Operator,
    Program, RecordingGap, Regression, Serving, ServingStep, Step, Work,
};
pub use finding::{Alternative, Bucket, Confidence, Doubt, EvidenceRow, Finding, Gain, KernelShare};
pub use product::{Product, Tile};
pub use rule::{Claim, Inspection, Limits, Part, Rule, Slot};
pub use rules::{is_known_rule, rules};
pub use sheet::{ADVICE, advice_sheet};
pub use target::target_us;
