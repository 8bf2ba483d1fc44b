//! Detection of steps and their phases, on traces made for it and on recorded ones.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // helpers of tests

mod adversarial;
mod conservation;
mod engine;
mod engines;
mod recorded;
