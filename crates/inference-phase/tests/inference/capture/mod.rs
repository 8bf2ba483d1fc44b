//! Captures merged into replays: folders and traces of all kinds, and recorded ones.

mod corpus;
mod folder;
mod merge;
mod streams;
mod trace;
