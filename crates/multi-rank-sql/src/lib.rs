#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(feature = "cluster")]
mod answer;
#[cfg(feature = "cluster")]
mod engine;
#[cfg(feature = "cluster")]
mod error;
mod query;
#[cfg(feature = "cluster")]
mod tables;

#[cfg(feature = "cluster")]
pub use answer::{Options, answer};
#[cfg(feature = "cluster")]
pub use engine::{Engine, UnknownEngine};
#[cfg(feature = "cluster")]
pub use error::Error;
pub use query::{Query, SHIPPED, ShippedQuery};
