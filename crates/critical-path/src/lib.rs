#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod analysis;
mod class;
mod conventions;
mod dag;
mod fault;
mod graph;
mod graph_dependencies;
mod graph_replays;
mod lists;
mod overlay;
mod recorded;
mod replay;
mod segments;
#[cfg(feature = "sheets")]
mod sheets;
mod wall;

pub use analysis::{CriticalPath, PathGroup, PathMode, PathOptions, PathPart, WhatIf};
pub use class::PathClass;
pub use conventions::Conventions;
pub use dag::{DagEdge, DagEdgeKind, DagPath, DagSegment, QUEUED_CALLS};
pub use fault::Fault;
pub use graph_replays::{Dependencies, GraphReplay, GraphReplays};
pub use recorded::{NoSuchAnnotation, Recorded, Scope};
pub use replay::{Replay, Replayed, Scaling};
#[cfg(feature = "sheets")]
pub use sheets::{critical_path_sheets, graph_replays_sheet};
pub use wall::PathSegment;
