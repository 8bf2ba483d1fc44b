#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod advice;
mod align;
mod attributes;
mod chips;
mod conventions;
mod csv;
mod derive;
mod devices;
mod fidelity;
mod filters;
mod hardware;
mod merge;
mod model;
mod notice;
mod op;
mod options;
mod report;
mod sheets;
mod stacked;
mod timing;
mod window;

#[cfg(test)]
mod hand_made;

pub use advice::{Advice, Finding, HIGH_GAP_US, USUAL_GAP_US, advice_of, findings};
pub use chips::{Chip, UnknownChip, chip, chips};
pub use conventions::Conventions;
pub use csv::{CsvOptions, write_csv, write_summary_csv};
pub use derive::Totals;
pub use devices::{DeviceLoad, OpImbalance, device_loads, imbalances};
pub use fidelity::{Fidelity, FidelityHint, FidelityVerdict, Verdict};
pub use filters::IdRangeError;
pub use notice::{MetalNotice, SignpostMark};
pub use op::{Analysed, Bound, Counts, Op, OpCategory, OpKind, SparseBatches};
pub use options::{CollectiveTime, DurationSource, GroupBy, IdRange, MetalError, MetalOptions};
pub use report::MetalReport;
pub use sheets::metal_sheets;
pub use stacked::{FlopsSpread, StackedGroup, stacked};
