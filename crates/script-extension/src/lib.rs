#![doc = include_str!("../README.md")]

mod bounded;
mod builtins;
mod error;
mod extension;
mod families;
mod host;
mod interpreter;
mod limits;
mod members;
mod memory;
mod metered_source;
mod tree;
mod tree_methods;
mod values;

pub use error::{ExtensionError, Place};
pub use extension::Extension;
pub use limits::Limits;
