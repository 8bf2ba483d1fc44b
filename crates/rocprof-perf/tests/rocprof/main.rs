//! Recorded profiles of rocprofv3.
#![allow(clippy::unwrap_used)] // helpers of tests

mod corpus;
mod windows;
