//! Options of the analysis of a `rocprofv3` profile.

use std::num::NonZeroUsize;
use std::str::FromStr;

use regex::Regex;
use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{KernelNames, SourceFormat};

use crate::conventions::Conventions;

/// Options of an analysis and of the sheets made from it. The defaults are those of the report.
#[derive(Clone, Debug)]
pub struct RocprofOptions {
    /// Leave out the sheets `kernel_summary` and `kernel_summary_by_category`.
    pub disable_kernel_summary: bool,
    /// Add a sheet with a row per dispatch.
    pub kernel_details: bool,
    /// Add the sheets of kernels shorter than the threshold.
    pub short_kernel_study: bool,
    /// Kernels shorter than this are short, in µs.
    pub short_kernel_threshold_us: f64,
    /// Bins of the histogram of short kernels.
    pub short_kernel_histogram_bins: NonZeroUsize,
    /// Rows of `kernel_details` from the top; all when `None`.
    pub topk_kernels: Option<usize>,
    /// Which of a kernel's names the sheets show. Kernels with the same name share a row.
    pub kernel_names: KernelNames,
    /// How figures are made and shown where reports differ.
    pub conventions: Conventions,
    /// Options of the tables that are made of Perfetto traces; no such table when `None`.
    pub pftrace: Option<PftraceOptions>,
}

impl Default for RocprofOptions {
    fn default() -> Self {
        RocprofOptions {
            disable_kernel_summary: false,
            kernel_details: false,
            short_kernel_study: false,
            short_kernel_threshold_us: 10.0,
            short_kernel_histogram_bins: NonZeroUsize::MIN.saturating_add(99),
            topk_kernels: None,
            kernel_names: KernelNames::default(),
            conventions: Conventions::default(),
            pftrace: None,
        }
    }
}

/// Kernels of XLA that check buffers while it tunes itself; what they take says nothing of the program.
const CHECKER_OF_TUNING: &str = r"(?:^|\W)redzone_checker_kernel(?:\W|$)";

/// Options of the tables that are known from Perfetto traces. The defaults are those of TraceLens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PftraceOptions {
    /// Which of a kernel's names the tables show and the pattern is held against. `None`: as a Perfetto trace has
    /// them, which is as it was recorded if the profile is one, else the formatted name.
    pub kernel_names: Option<KernelNames>,
    /// Kernels whose names differ in digits only count as one.
    pub merge_kernels: bool,
    /// Lowest number of a thread whose kernels and HIP calls count.
    pub min_tid: i64,
    /// Highest number of such a thread.
    pub max_tid: i64,
    /// Shortest kernel or HIP call that counts, except in the table of other kernels.
    pub min_event: Nanoseconds,
    /// Leave the kernel table out.
    pub no_kernel_summary: bool,
    /// Collectives have rows in the kernel table.
    pub kernel_summary_include_rccl: bool,
    /// What the percentages of the kernel table are of.
    pub kernel_summary_baseline: KernelBaseline,
    /// What makes a row of the kernel table.
    pub kernel_summary_group: KernelGrouping,
    /// Leave the table of HIP calls out.
    pub no_hip_summary: bool,
    /// What makes a row of the table of HIP calls.
    pub hip_summary_group: HipGrouping,
    /// Rows of the table of other kernels.
    pub top_xla: usize,
    /// Kernels that are left out of the table of API calls and their kernels.
    pub exclude_kernel_pattern: Option<KernelPattern>,
    /// A call counts with each kernel that it launched; else with the first that began.
    pub allow_multi_kernel_per_api: bool,
    /// HIP calls that are not known to launch something have rows too.
    pub include_nonlaunch_apis: bool,
}

impl Default for PftraceOptions {
    fn default() -> Self {
        PftraceOptions {
            kernel_names: None,
            merge_kernels: false,
            min_tid: -1_000_000_000,
            max_tid: 1_000_000_000,
            min_event: Nanoseconds(5_000),
            no_kernel_summary: false,
            kernel_summary_include_rccl: false,
            kernel_summary_baseline: KernelBaseline::default(),
            kernel_summary_group: KernelGrouping::default(),
            no_hip_summary: false,
            hip_summary_group: HipGrouping::default(),
            top_xla: 30,
            exclude_kernel_pattern: KernelPattern::checker_of_tuning(),
            allow_multi_kernel_per_api: false,
            include_nonlaunch_apis: false,
        }
    }
}

impl PftraceOptions {
    /// Which of the names of a profile's kernels the tables show.
    pub(crate) fn names_of(&self, source: SourceFormat) -> KernelNames {
        self.kernel_names.unwrap_or(match source {
            // The name of a slice is the demangled one, with the suffix of the code object if it has that.
            SourceFormat::Pftrace | SourceFormat::ChromeJson => KernelNames::Demangled,
            _ => KernelNames::Formatted,
        })
    }
}

/// What the percentages of the kernel table are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelBaseline {
    /// The time of all kernels.
    #[default]
    Total,
    /// The time of all kernels but collectives.
    Compute,
}

/// What makes a row of the kernel table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelGrouping {
    /// A kernel with a launch configuration.
    #[default]
    Config,
    /// A kernel.
    Name,
}

/// What makes a row of the table of HIP calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HipGrouping {
    /// A function.
    #[default]
    Name,
    /// A function on a stream.
    NameStream,
    /// A function with the number of its operation.
    NameOp,
    /// A function on a stream with the number of its operation.
    NameStreamOp,
}

impl HipGrouping {
    /// Whether streams have rows of their own.
    pub(crate) fn by_stream(self) -> bool {
        matches!(self, HipGrouping::NameStream | HipGrouping::NameStreamOp)
    }

    /// Whether numbers of operations do.
    pub(crate) fn by_operation(self) -> bool {
        matches!(self, HipGrouping::NameOp | HipGrouping::NameStreamOp)
    }
}

/// A regular expression that matches anywhere in a kernel's name; letters compare with regard to case.
#[derive(Clone, Debug)]
pub struct KernelPattern(Regex);

impl KernelPattern {
    fn checker_of_tuning() -> Option<Self> {
        CHECKER_OF_TUNING.parse().ok()
    }

    /// Whether a kernel of this name is meant.
    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    /// The regular expression.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for KernelPattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for KernelPattern {}

impl FromStr for KernelPattern {
    type Err = KernelPatternError;

    fn from_str(pattern: &str) -> Result<Self, KernelPatternError> {
        let error = |error: regex::Error| KernelPatternError {
            pattern: pattern.to_owned(),
            reason: error.to_string(),
        };
        Regex::new(pattern).map(KernelPattern).map_err(error)
    }
}

/// A regular expression that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is no regular expression without look-around and back-references: {reason}")]
pub struct KernelPatternError {
    /// The expression.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_pattern_matches_the_checker_as_a_word_only() {
        let pattern = PftraceOptions::default().exclude_kernel_pattern.unwrap();
        for (name, is_meant) in [
            ("redzone_checker_kernel", true),
            ("xla::redzone_checker_kernel(unsigned char*)", true),
            ("redzone_checker_kernel.kd", true),
            ("my_redzone_checker_kernel", false),
            ("redzone_checker_kernel2", false),
            ("Redzone_Checker_Kernel", false),
            ("", false),
        ] {
            assert_eq!(pattern.matches(name), is_meant, "{name}");
        }
    }

    #[test]
    fn patterns_of_the_user_are_searched_anywhere() {
        let pattern: KernelPattern = "^attn|Cijk_.*_MT128".parse().unwrap();
        assert!(pattern.matches("attn_fwd.kd") && pattern.matches("x Cijk_Ailk_MT128x64"));
        assert!(!pattern.matches("flash_attn"));
        assert_eq!(pattern.as_str(), "^attn|Cijk_.*_MT128");
    }

    #[test]
    fn a_pattern_that_cannot_be_used_says_why() {
        let error = "(unclosed".parse::<KernelPattern>().unwrap_err();
        assert!(
            error.to_string().contains("(unclosed") && error.reason.contains("unclosed group"),
            "{error}"
        );
        assert!("(?=ahead)".parse::<KernelPattern>().is_err());
    }
}
