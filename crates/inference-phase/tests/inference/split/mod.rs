//! Traces split into files, and the files read again.

mod composite;
mod copied_text;
mod corpus;
mod failures;
mod splitting;
mod step_members;
