#![doc = include_str!("../README.md")]

mod error;
mod expression;
mod extension;
mod families;
mod loaded;
mod python;
mod table;
mod work;

pub use error::{ExtensionError, Place};
pub use extension::{Extension, Form};
pub use python::{Limits, Python};
