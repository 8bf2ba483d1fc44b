#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod capture;
mod detect;
pub mod matching;
pub mod methods;
#[cfg(feature = "sheets")]
pub mod sheets;
pub mod split;
mod step;
pub mod tracelens;

pub use detect::DetectOptions;
pub use step::{Load, Phase, Source, Step, StepLinks, Steps};
