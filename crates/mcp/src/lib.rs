#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod offers;
mod options;
mod protocol;
mod refusal;
mod roots;
mod server;
mod session;
mod text;
mod tools;

pub use options::{ExtensionFile, Options};
pub use protocol::ServeError;
pub use roots::{RootError, Roots};
pub use server::serve;

/// What agents should know of answers from traces: a skill in the form of agentskills.io.
pub const SKILL: &str = include_str!("../skills/gpu-trace-analysis/SKILL.md");
