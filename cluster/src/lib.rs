#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod answer;
mod engine;
mod error;
mod query;
mod tables;

pub use answer::{Options, answer};
pub use engine::{Engine, UnknownEngine};
pub use error::Error;
pub use query::{Query, SHIPPED, ShippedQuery};
