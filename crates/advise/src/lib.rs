#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod advice;
mod facts;
mod finding;
mod kernel_family;
mod late_launches;
mod rule;
mod rules;
mod target;

pub use advice::{Advice, Recording};
pub use facts::{
    Call, Copied, Facts, Hold, HoldKind, Idle, IdleCause, Input, LeastTime, Machine, Operator, RecordingGap,
    Serving, ServingStep, Work,
};
pub use finding::{Alternative, Bucket, Confidence, EvidenceRow, Finding, Gain, KernelShare};
pub use rule::{Claim, Inspection, Limits, Part, Rule, Slot};
pub use rules::{known_rules, rules};
pub use target::target_us;
