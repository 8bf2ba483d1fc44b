//! Iterations of programs that were played into recordings, and of real ones.

#![allow(clippy::unwrap_used)] // a test helper may stop at a fault

mod bad_input;
mod corpus;
mod marks;
mod program;
mod properties;
mod sequences;
mod training;
