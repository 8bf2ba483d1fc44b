//! Figures of operators, from worked examples to those of other tools, in one program.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // helpers of tests

mod all_operators;
mod attention_and_experts;
mod bytes_by_enumeration;
mod call;
mod corpus_cases;
mod corpus_categories;
mod readme;
mod serving_operators;
mod training_operators;
mod worked_examples;
