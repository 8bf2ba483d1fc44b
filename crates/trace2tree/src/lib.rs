#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod annotation;
mod backward;
mod busy_time;
mod call_stack;
mod capture_span;
mod device_time;
mod display;
mod edit;
mod event_set;
mod flow_linking;
mod forward_thread;
mod full_queue;
mod graft;
#[cfg(feature = "petgraph")]
mod graph;
mod id_index;
mod iterations;
mod launchers;
mod layout;
mod linking;
mod lookup;
mod missing_work;
mod modules;
mod names;
mod nesting;
mod overruns;
mod pass;
mod passes;
mod period;
mod pseudo_operators;
mod recompute;
mod row;
mod tree;
mod unrecorded;
mod warning;

#[cfg(test)]
mod fixture;

pub use trace_ingest;

pub use annotation::{Annotated, annotate};
pub use backward::LinkBackwardBy;
pub use busy_time::busy_time;
pub use call_stack::{CallStackOptions, Caller, frame_function, is_framework_wrapper};
pub use capture_span::{CaptureSpan, capture_spans};
pub use device_time::DeviceTimes;
pub use display::{OperatorField, PrintOptions, ShownText};
pub use edit::{EditError, EventLabel, PseudoOperator, TreeEdit};
pub use event_set::EventSet;
pub use graft::{Graft, RecordedCalls};
#[cfg(feature = "petgraph")]
pub use graph::{EdgeKind, GraphNode};
pub use iterations::{Iteration, iteration_roots};
pub use launchers::KernelLaunchers;
pub use linking::LinkBy;
pub use modules::ModuleTime;
pub use names::{CallKind, HostWait, is_graph_launch, is_module_frame, module_class, module_name};
pub use pass::{PassError, TreePass, run_passes};
pub use passes::{insert_pseudo_operators, normalise_names, pseudo_operator_passes};
pub use tree::{TraceTree, TreeOptions};
pub use unrecorded::{LostLaunches, Overruns, Unrecorded};
pub use warning::{TreeStatistics, TreeWarning};
