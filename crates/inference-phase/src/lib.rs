#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod capture;
mod detect;
pub mod matching;
pub mod methods;
mod phase;
#[cfg(feature = "sheets")]
pub mod sheets;
pub mod split;
mod step;
mod steps;

pub use detect::DetectOptions;
pub use phase::Phase;
pub use step::{Load, Source, Step};
pub use steps::{StepLinks, Steps};
