//! What exists only to equal TraceLens: its phase detection methods exactly as they are, for
//! comparison with its reports. Nothing else needs this module.

mod phases;

pub use phases::{Call, Method, phases};
