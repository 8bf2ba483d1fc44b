#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod analysis;
mod brackets;
pub mod collectives;
mod details;
mod device_events;
mod executions;
mod findings;
#[cfg(test)]
mod fixture;
mod gpu;
mod library_kernels;
mod operators;
mod options;
mod programs;
mod report;
mod rooflines;
mod sheet;
pub mod tpu;

pub use analysis::{Gpu, JaxAnalysis};
pub use device_events::{GpuEvent, gpus_at_work};
pub use executions::{Call, Execution};
pub use findings::{JaxFinding, JaxNotice, jax_finding};
pub use operators::{Operator, Program, Record};
pub use options::{Conventions, JaxOptions, WorkRule};
pub use report::jax_sheets;

/// A map in the order in which its keys were first seen.
pub(crate) type IndexMap<K, V> = indexmap::IndexMap<K, V, hashbrown::DefaultHashBuilder>;

/// A set in the order in which its members were first seen.
pub(crate) type IndexSet<T> = indexmap::IndexSet<T, hashbrown::DefaultHashBuilder>;
