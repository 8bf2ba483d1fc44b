//! Iterations of programs that were played into recordings.

mod bad_input;
mod marks;
mod program;
mod properties;
mod sequences;
mod training;
