//! Detection of steps and their phases, on traces made for it and on recorded ones.

mod adversarial;
mod conservation;
mod corpus;
mod engine;
mod engines;
