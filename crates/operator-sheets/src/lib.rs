#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod bound;
mod call_figures;
mod category;
pub mod durations;
mod figures;
mod iterations;
mod kernel_list;
mod nested;
mod options;
mod roofline;
mod short_kernel_histogram;
mod timeline;
mod unclassified;

pub use bound::{Bound, Headline, IdleFor, TimeShares};
pub use call_figures::{CallFigures, absence, rate_fields, roofline_fields, work_fields};
pub use category::{BACKWARD, FORWARD, OpCategory, without_direction};
pub use figures::{Classified, Evaluated, Figures, MissingPeak, Work};
pub use iterations::{
    DevicePart, Iterated, IterationWork, iteration_groups_sheet, iterations_per_device_sheet,
    iterations_sheet, per_iteration,
};
pub use kernel_list::{KernelList, ListedKernel, duration_statistics, round2};
pub use nested::{nested_argument, nested_parameters, nested_value};
pub use options::KernelOptions;
pub use roofline::{
    BestRates, Roof, RooflineCall, RooflinePoint, RooflineShares, Rooflines, roofline_points_sheet,
    roofline_sheet,
};
pub use short_kernel_histogram::short_kernel_histogram;
pub use timeline::kinds_of_time;
pub use unclassified::{Unclassified, Whole};
