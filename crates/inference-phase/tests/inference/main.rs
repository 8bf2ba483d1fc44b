//! The phases of inference on traces made for the tests and on recorded ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)] // test code: fail loudly

mod capture;
mod detection;
mod held_out;
#[cfg(feature = "sheets")]
mod sheets;
mod split;
