//! Captures merged into replays: folders and traces of all kinds, and recorded ones.
#![allow(clippy::unwrap_used)] // test code: fail loudly

mod corpus;
mod folder;
mod merge;
mod streams;
mod trace;
