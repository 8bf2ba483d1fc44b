//! What the sheets say of small traces, one file per topic.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "../common/mod.rs"]
mod common;
mod fixture;

mod call_stacks;
mod collectives;
mod column_reference;
mod conservation;
mod golden;
mod gpu_timeline;
mod incomplete_traces;
mod kernel_overlap;
mod kernel_summary;
mod launchers;
mod operators;
mod pseudo_operators;
mod recompute;
mod rooflines;
mod short_kernels;
mod unified;
