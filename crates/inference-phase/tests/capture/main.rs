//! Captures merged into replays: folders and traces of all kinds, and recorded ones.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // test code: fail loudly, tell when skipping

mod corpus;
mod folder;
mod merge;
mod streams;
mod trace;
