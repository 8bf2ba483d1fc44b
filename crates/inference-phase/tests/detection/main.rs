//! Detection of steps and their phases, on traces made for it and on recorded ones.
#![allow(clippy::unwrap_used)] // helpers of tests

mod adversarial;
mod conservation;
mod corpus;
mod engine;
mod engines;
