//! Reading JSON text as profilers write it, shared by the formats that are JSON.

mod lanes;
pub(crate) mod number;
pub(crate) mod scanner;
pub(crate) mod skipped_value;
