//! Jobs of many ranks: generated, worked by hand, of hosts with a profile each, and fused to one trace.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test helper may stop at a fault

mod fused;
mod generated;
mod host_profiles;
mod worked_examples;

/// What an error says, and what to do.
fn said(error: &multi_rank::Error) -> String {
    format!("{error}; {}", miette::Diagnostic::help(error).unwrap())
}
