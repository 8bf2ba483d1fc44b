//! The built program, run as a user runs it.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test helper may stop at a fault

mod bad_input;
mod model;
mod options;
mod outputs;
mod program;
mod rooflines;
mod secrets;
mod shell;
mod trace;
mod tree;
