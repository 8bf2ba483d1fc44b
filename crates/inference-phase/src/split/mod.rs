//! Splits a trace into traces of single steps, of a window of the steady state, of windows that together have the mix of
//! all steps, or of runs of one phase.
//!
//! 1. [`steps`] finds the steps: engine annotations or, where there are none, the program's iterations; [`Alike`] says
//!    which of them do the same.
//! 2. [`plan`] chooses which steps make a file.
//! 3. [`Membership::new`] says which step each event belongs to.
//! 4. [`write_outputs`] copies the events' text, in one pass over the trace file for all files.
//! 5. [`execution_details`] and [`write_details`] say what the files hold.

mod error;
mod gzip;
mod membership;
mod mix;
mod plan;
mod steps;
mod summary;
mod windows;
mod write;

pub use error::SplitError;
pub use membership::{DeviceWork, Membership};
pub use mix::{MixDistance, MixWindow, StepShape, distance, mix_windows};
pub(crate) use plan::window_file;
pub use plan::{MixOptions, SplitOptions, SplitOutput, SplitPlan, WindowOptions, base_name, plan};
pub use steps::{Alike, FoundSteps, ShownBy, SplitStep, StepWork, annotated_steps, steps};
pub(crate) use summary::csv_cell;
pub use summary::{DETAILS, ExecutionDetails, details_json, execution_details, write_details};
pub use windows::{RegionRule, ServerLoad, SteadyWindows, WindowLoad, steady_regions, steady_windows};
pub use write::{Written, write_outputs};
