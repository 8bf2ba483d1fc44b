//! Traces split into files, and the files read again.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // test code: fail loudly, tell when skipping

mod composite;
mod copied_text;
mod failures;
mod recorded;
mod splitting;
mod step_members;
