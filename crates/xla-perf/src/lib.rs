#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod analysis;
pub mod collectives;
mod convert;
pub mod details;
mod device_events;
mod executions;
mod finding;
mod host_executions;
mod kernel_category;
mod notice;
mod operator_category;
mod operators;
mod options;
mod programs;
mod record;
mod reference_model;
mod roofs;
mod segmentation;
mod gpu;
pub mod tpu;

pub use analysis::{Gpu, JaxAnalysis};
pub use device_events::DeviceEvent;
pub use executions::{Call, Execution};
pub use finding::{JaxFinding, jax_finding};
pub use kernel_category::KernelCategory;
pub use notice::JaxNotice;
pub use operators::{Operator, Program};
pub use options::{CopyKernels, JaxFigures, JaxOptions};
pub use record::Record;
pub use gpu::jax_sheets;
