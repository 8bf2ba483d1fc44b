//! What exists only to equal TraceLens: its phase detection methods and its kernel categories, exactly as they are, for
//! comparison with its reports. Nothing else needs this module.

mod kernel_category;
mod phases;
mod quantile;
mod regions;

pub use kernel_category::kernel_category;
pub use phases::{Call, Method, phases};
pub(crate) use regions::counted_regions;
