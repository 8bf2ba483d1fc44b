//! Profiles of XLA programs: what JAX, TensorFlow and PyTorch/XLA record.
//!
//! [`JaxAnalysis`] has what all sheets are made from: the profile, its compiled programs, and what ran on its GPUs,
//! kernel by kernel, instruction by instruction, execution by execution. [`jax_sheets`] lists the sheets of a GPU
//! profile.

mod analysis;
pub mod collectives;
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
mod sheets;
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
pub use sheets::jax_sheets;
