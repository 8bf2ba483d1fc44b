//! The built program, run as a user runs it.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test helper may stop at a fault

mod advise;
mod advise_corpus;
mod answers;
mod bad_input;
#[path = "../../../tree-perf/tests/common/mod.rs"]
mod common;
mod compare;
mod critical_path;
mod diff;
mod doctor;
mod extensions;
mod field_corpus;
mod field_kinds_corpus;
mod first_page;
mod gate;
mod handbook;
mod hostile;
mod inference;
mod inference_conformance;
mod inputs;
mod jax;
mod jax_hosts;
mod match_blocks;
#[cfg(feature = "mcp")]
mod mcp;
mod metal;
mod model;
mod nsys;
mod options;
mod output_safety;
mod outputs;
#[cfg(unix)]
mod page;
mod pftrace;
mod phases;
mod program;
mod ranks;
mod ranks_of_hosts;
mod replay;
mod replay_corpus;
mod rocprof;
mod rooflines;
mod secrets;
mod shell;
mod split;
mod steps;
mod timings;
mod trace;
mod tree;
mod windows;
mod xplane;
