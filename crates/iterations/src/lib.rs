#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod detect;
mod device_runs;
mod division;
mod level;
mod measure;
mod program;
mod reason;
mod threads;
mod window;
mod window_options;

pub use detect::{DetectOptions, Iterations};
pub use division::{Division, Part};
pub use level::{Evidence, Iteration, Level, LevelKind, with_article};
pub use measure::{Figures, Group, Mark, Measured, MeasuredIterations};
pub use program::Program;
pub use reason::Reason;
pub use threads::{Owners, Span, ThreadSpans};
pub use window::{NamedRange, Selected, Window, WindowError, host_ranges};
pub use window_options::{Indices, TimeRange, WindowOptions};
