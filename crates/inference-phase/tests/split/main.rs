//! Traces split into files, and the files read again.

#![allow(clippy::unwrap_used)] // test code: fail loudly

mod composite;
mod copied_text;
mod corpus;
mod failures;
mod splitting;
mod step_members;
