//! What the sheets leave out.

use std::fmt;

/// Something of the trace that a sheet does not show although a reader might look for it there.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// Short kernels whose operator has no recorded arguments are no part of the short-kernel details.
    ShortKernelsWithoutArguments {
        /// How many.
        count: usize,
        /// Sum of their durations in µs.
        time_us: f64,
    },
    /// Calls with another number of kernels than the first call of their row in the operator sheet are no part
    /// of the row's list of kernels.
    CallsOutsideKernelLists {
        /// How many.
        calls: usize,
        /// How many calls the sheet has.
        of: usize,
    },
    /// Pseudo operators of one kind were not inserted.
    PassFailed {
        /// Name of the pass.
        pass: String,
        /// What it lacks.
        reason: String,
    },
    /// Something that an extension says, such as what its script prints.
    ExtensionSays {
        /// The text, with its origin.
        text: String,
    },
    /// A part of an extension has no effect.
    ExtensionWithoutEffect {
        /// Which part, where, and why.
        reason: String,
    },
    /// An extension's rule on the tree failed; the tree is as it was then.
    ExtensionRuleFailed {
        /// Where and why.
        reason: String,
    },
    /// An extension has a model for these calls but could not read them: they have no figures.
    ExtensionModelFailed {
        /// Where and why.
        reason: String,
        /// How many.
        calls: usize,
    },
    /// Kernels count as communication for a word in their names alone.
    CommunicationGuessed {
        /// How many.
        kernels: usize,
        /// Sum of their durations in µs.
        time_us: f64,
        /// Name of the first of them.
        example: String,
    },
    /// The sheets of memory do not say which modules own it.
    MemoryWithoutModules {
        /// Whether the Python frames of the recording, which name modules, were read.
        were_read: bool,
    },
    /// No range or operator has the name that the iterations of the sheet of budgets were to have.
    NoRangeOfName {
        /// The name.
        name: String,
    },
    /// Sheets of memory were asked for and the trace has no allocations.
    NoMemory,
    /// Allocations that do not say how much is allocated in all are in no figure of memory.
    MemoryWithoutTotals {
        /// How many.
        count: usize,
    },
    /// Nothing that was asked for in HTA's sequences of kernels launches three kernels or more.
    NoSequences {
        /// The part of a name that operators were chosen by.
        part: String,
    },
    /// Calls have no roofline, or one of their bytes alone, because the architecture states no peak for what they do.
    PeaksMissing {
        /// Name of the architecture.
        architecture: String,
        /// Unit and precision with the number of calls, by name.
        calls: Vec<(String, usize)>,
        /// Whether they are held against the bandwidth.
        have_bytes: bool,
    },
}

impl Notice {
    /// Whether it is about what the user added to the analysis, not about the trace.
    #[must_use]
    pub fn is_of_extension(&self) -> bool {
        match self {
            Notice::ExtensionSays { .. }
            | Notice::ExtensionWithoutEffect { .. }
            | Notice::ExtensionRuleFailed { .. }
            | Notice::ExtensionModelFailed { .. } => true,
            Notice::ShortKernelsWithoutArguments { .. }
            | Notice::CallsOutsideKernelLists { .. }
            | Notice::PassFailed { .. }
            | Notice::CommunicationGuessed { .. }
            | Notice::MemoryWithoutModules { .. }
            | Notice::NoMemory
            | Notice::NoRangeOfName { .. }
            | Notice::MemoryWithoutTotals { .. }
            | Notice::NoSequences { .. }
            | Notice::PeaksMissing { .. } => false,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::ShortKernelsWithoutArguments { count, time_us } => write!(
                f,
                "{count} short kernels ({time_us:.3} µs) are in the histogram but not in the short-kernel details: \
                 no operator with recorded arguments launched them"
            ),
            Notice::CallsOutsideKernelLists { calls, of } => write!(
                f,
                "{calls} of {of} calls are in the counts and times of ops_all but not in its lists of kernels: \
                 they launched another number of kernels than the first call of their row; \
                 group by the number of kernels to tell them apart"
            ),
            Notice::PassFailed { pass, reason } => {
                write!(f, "pseudo operators of {pass} were not inserted: {reason}")
            }
            Notice::ExtensionSays { text } => f.write_str(text),
            Notice::ExtensionWithoutEffect { reason } => f.write_str(reason),
            Notice::ExtensionRuleFailed { reason } => {
                write!(f, "{reason}; the report is of the tree as it was then")
            }
            Notice::ExtensionModelFailed { reason, calls } => {
                let noun = if *calls == 1 { "call has" } else { "calls have" };
                write!(f, "{calls} {noun} no figures: {reason}")
            }
            Notice::CommunicationGuessed { kernels, time_us, example } => {
                let noun = if *kernels == 1 { "kernel counts" } else { "kernels count" };
                write!(
                    f,
                    "{kernels} {noun} as communication for a word in the name alone ({time_us:.3} µs), such as {example}"
                )
            }
            Notice::MemoryWithoutModules { were_read } => f.write_str(match were_read {
                false => {
                    "memory_owners and memory_blocks name no modules: the Python frames of the recording were not read"
                }
                true => "the trace has no frames of modules; record it with with_stack=True",
            }),
            Notice::NoMemory => {
                f.write_str("the trace has no allocations; record it with profile_memory=True")
            }
            Notice::NoRangeOfName { name } => write!(
                f,
                "no range or operator is called {name}: time_budget has no iterations (nvtx_ranges, annotations or ops_summary have the names)"
            ),
            Notice::MemoryWithoutTotals { count } => {
                let noun = if *count == 1 { "allocation is" } else { "allocations are" };
                write!(
                    f,
                    "{count} {noun} in no figure of memory: the recorder did not say how much was allocated in all"
                )
            }
            Notice::NoSequences { part } => write!(
                f,
                "hta_frequent_kernel_sequences is left out: no operator with {part:?} in its name launches three kernels or more"
            ),
            Notice::PeaksMissing { architecture, calls, have_bytes } => {
                write!(f, "the architecture {architecture} states no peak for")?;
                for (position, (spec, calls)) in calls.iter().enumerate() {
                    let separator = if position > 0 { "," } else { "" };
                    write!(f, "{separator} {spec} ({calls} calls)")?;
                }
                f.write_str(match have_bytes {
                    true => ": these calls are held against the bandwidth alone",
                    false => ": these calls have no roofline",
                })
            }
        }
    }
}
