//! The sheets of the phases, and the labels that they are made from.

mod conservation;
mod corpus;
mod corpus_reference;
mod engine;
mod table;
