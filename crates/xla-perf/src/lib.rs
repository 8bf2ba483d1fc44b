#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod analysis;
pub mod collectives;
pub mod details;
mod device_events;
mod executions;
mod findings;
#[cfg(test)]
mod fixture;
mod gpu;
mod operators;
mod programs;
mod report;
mod rooflines;
pub mod tpu;
mod tracelens;

pub use analysis::{CopyKernels, Gpu, JaxAnalysis, JaxFigures, JaxOptions};
pub use device_events::DeviceEvent;
pub use executions::{Call, Execution};
pub use findings::{JaxFinding, JaxNotice, jax_finding};
pub use operators::{Operator, Program, Record};
pub use report::jax_sheets;
