//! Prefill and decode of LLM inference told apart in profiler traces.
//!
//! A phase is a property of an engine *step*: every device event has the phase of the step whose host range its
//! launch lies in, never one guessed from a kernel's name.
//!
//! [`Steps::detect`] finds the steps and decides each by the surest of these that knows: the engine's annotations, its
//! Python frames, tokens against rows of logits, names and shapes of attention, the replay of captured graphs, and as a
//! last resort names and frequencies. Every step says what decided it and how sure that is; what cannot be told is
//! [`Phase::Unknown`], and no device time is lost.
//!
//! ```
//! use inference_phase::{DetectOptions, Phase, Source, Steps};
//! use trace_ingest::{Category, EventArguments, TraceBuilder};
//! use trace2tree::{TraceTree, TreeOptions};
//!
//! let mut builder = TraceBuilder::new();
//! let (thread, stream) = (builder.track(1, 1), builder.track(0, 7));
//! let linked = EventArguments { correlation: Some(1), ..EventArguments::default() };
//! let text = "step[DECODE bs=32]";
//! builder.event(Category::USER_ANNOTATION, text, thread, 0, 50_000, EventArguments::default());
//! builder.event(Category::CUDA_RUNTIME, "cudaGraphLaunch", thread, 10_000, 5_000, linked);
//! // The device runs behind: its time says nothing of the step.
//! let kernel = builder.event(Category::KERNEL, "gemm", stream, 90_000, 7_000, linked);
//!
//! let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
//! let steps = Steps::detect(&tree, &DetectOptions::default());
//! assert_eq!(steps.phase_of(kernel), Phase::Decode);
//! assert_eq!(steps.steps()[0].source, Source::Annotation);
//! assert_eq!(steps.steps()[0].load.generation_requests, Some(32));
//! ```

pub mod capture;
mod detect;
pub mod matching;
pub mod methods;
mod phase;
#[cfg(feature = "sheets")]
pub mod sheets;
pub mod split;
mod step;
mod steps;

pub use detect::DetectOptions;
pub use phase::Phase;
pub use step::{Load, Source, Step};
pub use steps::{StepLinks, Steps};
