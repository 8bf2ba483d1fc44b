//! Engines as they were never shown to the detector: their traces are written from what the engines do, with the
//! truth known from how they were written.

mod cases;
mod corpus;
mod frameworks;
mod models;
mod recorder;
mod robustness;
mod sglang;
mod vllm;
