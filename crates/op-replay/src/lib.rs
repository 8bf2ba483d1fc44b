#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod contents;
mod element_type;
mod known_schemas;
mod operation;
mod recorded;
mod replay_file;
mod schema;

pub use known_schemas::{overloads, schemas_of};
pub use operation::{Operation, Refusal};
pub use recorded::SeenTensors;
pub use replay_file::{Entry, to_json, to_python};
pub use schema::{BaseType, Parameter, ParameterType, Schema, SchemaError};
