#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod category;
pub mod columns;
mod figures;
mod kernel_list;
mod roofline;
mod short_kernel_histogram;

pub use category::{BACKWARD, FORWARD, OpCategory, without_direction};
pub use figures::{AGGREGATES, Classified, Evaluated, Figures, Work};
pub use kernel_list::{KernelList, ListedKernel, round2};
pub use roofline::{Roof, RooflinePoint, roof_of};
pub use short_kernel_histogram::short_kernel_histogram;
