//! Operators of a graph replay, taken from the recording of its capture.
//!
//! An engine captures its forward pass as a graph once and replays it in every step. A trace of a replay has one
//! host call, the graph launch, for hundreds of kernels: no operator, no shape. A trace of the capture has all of
//! them and no kernel. [`merge`] puts the recorded calls of the capture below the graph launches of the replay, each
//! kernel below the call that it was captured from.
//!
//! ```no_run
//! use inference_phase::capture::{CaptureLibrary, merge};
//! use trace_ingest::{ReadOptions, read_path};
//! use trace2tree::{TraceTree, TreeOptions};
//!
//! let reading = ReadOptions::default();
//! let trace = read_path("decode.json.gz".as_ref(), &reading)?;
//! let mut tree = TraceTree::build(trace, &TreeOptions { python_frames: true, ..TreeOptions::default() });
//! let mut captures = CaptureLibrary::open("capture_traces".as_ref(), &reading)?;
//! let report = merge(&mut tree, &mut captures, &reading);
//! for (reason, launches) in report.skipped() {
//!     println!("{launches} graph launches are as they were: {reason}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod align;
mod library;
mod merge;
mod replays;
mod windows;

pub use align::{Mismatch, Pairing};
pub use library::{
    CaptureError, CaptureFile, CaptureLibrary, CaptureMode, CaptureWarning, EXECUTION_DETAILS,
};
pub use merge::{GraphLaunch, MergeReport, Outcome, SkipReason, merge};
