//! What the sheets leave out.

use sheets::numbers::counted;

/// Something of the trace that a sheet does not show although a reader might look for it there.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
pub enum Notice {
    /// Short kernels whose operator has no recorded arguments are no part of the short-kernel details.
    #[error(
        "{count} short kernels ({time_us:.3} µs) are in the histogram but not in the short-kernel details: no operator with recorded arguments launched them"
    )]
    #[diagnostic(code("analysis/short-kernels-without-arguments"), severity(Warning))]
    ShortKernelsWithoutArguments {
        /// How many.
        count: usize,
        /// Sum of their durations in µs.
        time_us: f64,
    },
    /// Calls with a different number of kernels than the first call of their row in the operator sheet are no part
    /// of the row's list of kernels.
    #[error(
        "{calls} of {of} calls are in the counts and times of ops_all but not in its kernel lists: the number of kernels varies within a row"
    )]
    #[diagnostic(
        code("analysis/calls-outside-kernel-lists"),
        severity(Warning),
        help("group by the number of kernels to separate them")
    )]
    CallsOutsideKernelLists {
        /// How many.
        calls: usize,
        /// How many calls the sheet has.
        of: usize,
    },
    /// Pseudo operators of one kind were not inserted.
    #[error("pseudo operators of {pass} were not inserted: {reason}")]
    #[diagnostic(code("analysis/pass-failed"), severity(Warning))]
    PassFailed {
        /// Name of the pass.
        pass: String,
        /// What it lacks.
        reason: String,
    },
    /// Something that an extension says, such as what its script prints.
    #[error("{text}")]
    #[diagnostic(code("analysis/extension-says"), severity(Warning))]
    ExtensionSays {
        /// The text, with its origin.
        text: String,
    },
    /// A part of an extension has no effect.
    #[error("{reason}")]
    #[diagnostic(code("analysis/extension-without-effect"), severity(Warning))]
    ExtensionWithoutEffect {
        /// Which part, where, and why.
        reason: String,
    },
    /// An extension's rule on the tree failed; the tree is as it was then.
    #[error("{reason}; the report shows the call tree as it was when the rule failed")]
    #[diagnostic(code("analysis/extension-rule-failed"), severity(Warning))]
    ExtensionRuleFailed {
        /// Where and why.
        reason: String,
    },
    /// An extension has a model for these calls but could not read them: they have no figures.
    #[error("{calls} {} no figures: {reason}", if *.calls == 1 { "call has" } else { "calls have" })]
    #[diagnostic(code("analysis/extension-model-failed"), severity(Warning))]
    ExtensionModelFailed {
        /// Where and why.
        reason: String,
        /// How many.
        calls: usize,
    },
    /// Kernels count as communication for a word in their names alone.
    #[error("{kernels} {} as communication by name only ({time_us:.3} µs), such as {example}", if *.kernels == 1 { "kernel counts" } else { "kernels count" })]
    #[diagnostic(code("analysis/communication-guessed"), severity(Warning))]
    CommunicationGuessed {
        /// How many.
        kernels: usize,
        /// Sum of their durations in µs.
        time_us: f64,
        /// Name of the first of them.
        example: String,
    },
    /// The sheets of memory do not say which modules own it, for the recording names none.
    #[error("the trace has no module frames")]
    #[diagnostic(
        code("analysis/memory-without-modules"),
        severity(Warning),
        help("record it with with_stack=True")
    )]
    MemoryWithoutModules,
    /// The same because the Python frames, which name modules, were not read.
    #[error("memory_owners and memory_blocks have no modules: Python frames were not read")]
    #[diagnostic(code("analysis/memory-without-modules"), severity(Warning))]
    MemoryWithoutFrames,
    /// No range or operator has the name that the iterations of the sheet of budgets were to have.
    #[error(
        "no range or operator is named {name}: time_budget has no iterations (see nvtx_ranges, annotations or ops_summary for names)"
    )]
    #[diagnostic(code("analysis/no-range-of-name"), severity(Warning))]
    NoRangeOfName {
        /// The name.
        name: String,
    },
    /// Sheets of memory were asked for and the trace has no allocations.
    #[error("the trace has no allocations")]
    #[diagnostic(code("analysis/no-memory"), severity(Warning), help("record it with profile_memory=True"))]
    NoMemory,
    /// Allocations that do not say how much is allocated in all are in no figure of memory.
    #[error("{count} {} missing from memory figures: the total allocated memory was not recorded", if *.count == 1 { "allocation is" } else { "allocations are" })]
    #[diagnostic(code("analysis/memory-without-totals"), severity(Warning))]
    MemoryWithoutTotals {
        /// How many.
        count: usize,
    },
    /// Nothing that was asked for in HTA's sequences of kernels launches three kernels or more.
    #[error(
        "hta_frequent_kernel_sequences is omitted: no operator with {part:?} in its name launches three or more kernels"
    )]
    #[diagnostic(code("analysis/no-sequences"), severity(Warning))]
    NoSequences {
        /// The part of a name that operators were chosen by.
        part: String,
    },
    /// Calls have no roofline, or one of their bytes alone, because the architecture states no peak for what they do.
    #[error("architecture {architecture} has no peak for {}: these calls {}", listed(.calls), if *.have_bytes { "are compared with bandwidth only" } else { "have no roofline" })]
    #[diagnostic(code("analysis/peaks-missing"), severity(Warning))]
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
    pub fn is_extension_notice(&self) -> bool {
        match self {
            Notice::ExtensionSays { .. }
            | Notice::ExtensionWithoutEffect { .. }
            | Notice::ExtensionRuleFailed { .. }
            | Notice::ExtensionModelFailed { .. } => true,
            Notice::ShortKernelsWithoutArguments { .. }
            | Notice::CallsOutsideKernelLists { .. }
            | Notice::PassFailed { .. }
            | Notice::CommunicationGuessed { .. }
            | Notice::MemoryWithoutModules
            | Notice::MemoryWithoutFrames
            | Notice::NoMemory
            | Notice::NoRangeOfName { .. }
            | Notice::MemoryWithoutTotals { .. }
            | Notice::NoSequences { .. }
            | Notice::PeaksMissing { .. } => false,
        }
    }
}

/// Units and precisions with the number of calls.
fn listed(calls: &[(String, usize)]) -> String {
    let listed: Vec<String> =
        calls.iter().map(|(spec, calls)| format!("{spec} ({})", counted(*calls, "call", "calls"))).collect();
    listed.join(", ")
}
