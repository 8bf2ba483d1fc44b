#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod detect;
mod level;
mod program;
mod reason;

pub use detect::{DetectOptions, Iterations};
pub use level::{Evidence, Iteration, Level, LevelKind};
pub use program::Program;
pub use reason::Reason;
