#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod names;

pub use names::NameClasses;
