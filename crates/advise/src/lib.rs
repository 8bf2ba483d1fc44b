#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod advice;
mod facts;
mod finding;
#[cfg(test)]
mod fixture;
mod late_launches;
mod markdown;
mod product;
mod rule;
mod rules;
mod sheet;
mod shift;
mod target;

pub use advice::{Advice, Recording};
pub use facts::{
    AttentionSpeed, Call, Copied, DataChange, EvidenceSheets, Facts, Hold, Input, LeastTime, Machine,
    Message, Operator, Pace, Program, RecordingGap, SheetColumn, Step, Work,
};
pub use finding::{
    Alternative, Bucket, Confidence, Doubt, EvidenceRow, Finding, Gain, KernelShare, Limits, means_rule,
};
pub use late_launches::{Blame, LateLaunch};
pub use product::{Product, Tile};
pub use rule::{Claim, Inspection, Part, Rule, Slot, probable};
pub use rules::rule_names;
pub use sheet::{ADVICE, advice_sheet};
