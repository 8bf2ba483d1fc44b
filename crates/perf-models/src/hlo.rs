//! Programs that XLA compiled: their instructions as plain structs, and what each costs.
//!
//! Everything here can be made by hand and needs no profile: an [`HloModule`] of [`HloComputation`]s of
//! [`HloInstruction`]s with [`Shape`]s. [`InstructionRef::cost`] answers how many operations an instruction
//! takes and how many bytes it moves, as a [`HloCost`] that [`Roofline`](crate::Roofline) takes like any
//! other model.

mod backend_config;
mod collective;
mod cost;
mod dimension_numbers;
mod element_type;
mod kind;
mod module;
mod replica_groups;
mod shape;

pub use cost::HloCost;
pub use dimension_numbers::{ConvolutionDimensionNumbers, DotDimensionNumbers, Window, WindowDimension};
pub use element_type::ElementType;
pub use kind::HloKind;
pub use module::{HloComputation, HloInstruction, HloModule, InstructionRef, OpMetadata};
pub use replica_groups::ReplicaGroups;
pub use shape::{ArrayShape, Layout, Shape};
