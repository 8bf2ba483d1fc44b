//! What the sheets say of small traces, one file per topic.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "../common/mod.rs"]
mod common;
mod fixture;

mod call_stacks;
mod captured;
mod charts;
mod collectives;
mod conservation;
mod corpus;
mod counters;
mod extensions;
mod golden;
mod gpu_timeline;
mod hardware_counters;
mod held_against;
mod host_ops;
mod incomplete_traces;
mod inference;
mod kernel_overlap;
mod kernel_summary;
mod launchers;
mod memory;
mod operators;
mod pseudo_operators;
mod recompute;
mod roofline;
mod rooflines;
mod sanity_check;
mod short_kernels;
mod time_budget;
mod unified;
mod waits;
