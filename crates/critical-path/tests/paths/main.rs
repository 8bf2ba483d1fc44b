//! Critical paths of recordings: real, damaged, and of programs whose timing is simulated.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests

mod conventions;
mod corpus;
mod damaged;
mod simulated;
