//! Answers against plain Rust over the same tables, on each engine; what ends a query; the command.

mod ballista;
mod command;
mod job;
mod shipped_queries;
