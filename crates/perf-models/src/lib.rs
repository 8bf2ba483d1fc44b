#![doc = include_str!("../README.md")]

mod category;
mod families;
mod family;
mod registry;

pub use category::Category;
pub use family::Family;
pub use registry::{family, op_category, ops_of_family, registered_category};
