//! Compiled programs: what their instructions cost, made by hand, recorded and damaged.

#![allow(clippy::unwrap_used)] // a test helper may stop at a fault

mod costs;
mod program_probe;
mod recorded;
