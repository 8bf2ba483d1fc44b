//! Options of the analysis of a `rocprofv3` profile.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use operator_sheets::KernelOptions;
use regex::Regex;
use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{KernelNames, SourceFormat};

use crate::conventions::Conventions;

/// Options of an analysis and of the sheets made from it. The defaults are those of the report.
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    feature = "clap",
    derive(clap::Args),
    command(next_help_heading = "Analysis", rename_all = "snake_case")
)]
pub struct RocprofOptions {
    /// Omit kernel_summary and kernel_summary_by_category
    #[cfg_attr(feature = "clap", arg(long))]
    pub disable_kernel_summary: bool,

    /// Sheets of individual kernels.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub kernels: KernelOptions,

    /// Kernel names: without namespace, template arguments and parameters (truncated), with them (formatted), plus the
    /// code object's suffix (demangled), or the symbol (mangled). Kernels of one name share a row [default: truncated;
    /// formatted in the tables of Perfetto traces]
    #[cfg_attr(feature = "clap", arg(long, value_parser = flags::one_of(KERNEL_NAMES), value_name = "NAMES"))]
    pub kernel_names: Option<KernelNames>,

    /// Tables of Perfetto traces.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub pftrace: PftraceOptions,

    /// Which conventions to follow where reports of other tools differ from ours.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub conventions: Conventions,
}

#[cfg(feature = "clap")]
const KERNEL_NAMES: &[(&str, KernelNames)] = &[
    ("truncated", KernelNames::Truncated),
    ("formatted", KernelNames::Formatted),
    ("demangled", KernelNames::Demangled),
    ("mangled", KernelNames::Mangled),
];

/// Kernels with which XLA checks buffers during autotuning; their time is not the program's.
const CHECKER_OF_TUNING: &str = r"(?:^|\W)redzone_checker_kernel(?:\W|$)";

/// Options of the tables that are known from Perfetto traces. The defaults are those of TraceLens. All but the first say
/// how the tables are made, and need it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "clap",
    derive(clap::Args),
    command(next_help_heading = "Tables of Perfetto traces", rename_all = "snake_case")
)]
pub struct PftraceOptions {
    /// Add category_summary, xla_top, pftrace_kernel_summary, hip_summary, api_kernel_summary and
    /// memory_copy_by_copy_bytes, whatever the format of the profile
    #[cfg_attr(feature = "clap", arg(long))]
    pub pftrace_tables: bool,

    /// Merge kernels whose names differ only in digits
    #[cfg_attr(feature = "clap", arg(long, requires = "pftrace_tables"))]
    pub merge_kernels: bool,

    /// Ignore launches and calls of threads with ids below N
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().min_tid, requires = "pftrace_tables", allow_negative_numbers = true))]
    pub min_tid: i64,

    /// Ignore launches and calls of threads with ids above N
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().max_tid, requires = "pftrace_tables", allow_negative_numbers = true))]
    pub max_tid: i64,

    /// Ignore kernels and HIP calls shorter than this, except in xla_top
    #[cfg_attr(feature = "clap", arg(long, value_name = "NS", default_value_t = Self::default().min_event_ns, requires = "pftrace_tables", allow_negative_numbers = true))]
    pub min_event_ns: i64,

    /// Omit pftrace_kernel_summary
    #[cfg_attr(feature = "clap", arg(long, requires = "pftrace_tables"))]
    pub no_kernel_summary: bool,

    /// Add collectives to pftrace_kernel_summary
    #[cfg_attr(feature = "clap", arg(long, requires = "pftrace_tables"))]
    pub kernel_summary_include_rccl: bool,

    /// Base of percentages in pftrace_kernel_summary: kernel time (total), or kernel time without collectives (compute)
    #[cfg_attr(feature = "clap", arg(long, value_name = "WHAT", default_value = "total", value_parser = flags::one_of(BASELINES), requires = "pftrace_tables"))]
    pub kernel_summary_baseline: KernelBaseline,

    /// Group pftrace_kernel_summary by kernel and launch configuration (config), or by kernel (name)
    #[cfg_attr(feature = "clap", arg(long, value_name = "BY", default_value = "config", value_parser = flags::one_of(KERNEL_GROUPINGS), requires = "pftrace_tables"))]
    pub kernel_summary_group: KernelGrouping,

    /// Omit hip_summary
    #[cfg_attr(feature = "clap", arg(long, requires = "pftrace_tables"))]
    pub no_hip_summary: bool,

    /// Group hip_summary by these columns
    #[cfg_attr(feature = "clap", arg(long, value_name = "BY", default_value = "name", value_parser = flags::one_of(HIP_GROUPINGS), requires = "pftrace_tables"))]
    pub hip_summary_group: HipGrouping,

    /// Rows of xla_top
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().top_xla, requires = "pftrace_tables"))]
    pub top_xla: usize,

    /// Omit kernels whose names match this regular expression from api_kernel_summary; an empty one keeps all [default:
    /// redzone_checker_kernel as a word]
    #[cfg_attr(feature = "clap", arg(long, value_name = "REGEX", value_parser = flags::expression::<KernelPattern>(), default_value_t = KernelPattern::checker_of_tuning(), hide_default_value = true, requires = "pftrace_tables"))]
    pub exclude_kernel_regex: KernelPattern,

    /// Count a call once per kernel it launched, not only for the first
    #[cfg_attr(feature = "clap", arg(long, requires = "pftrace_tables"))]
    pub allow_multi_kernel_per_api: bool,

    /// Add HIP calls that launch nothing to api_kernel_summary
    #[cfg_attr(feature = "clap", arg(long, requires = "pftrace_tables"))]
    pub include_nonlaunch_apis: bool,
}

impl Default for PftraceOptions {
    fn default() -> Self {
        PftraceOptions {
            pftrace_tables: false,
            merge_kernels: false,
            min_tid: -1_000_000_000,
            max_tid: 1_000_000_000,
            min_event_ns: 5_000,
            no_kernel_summary: false,
            kernel_summary_include_rccl: false,
            kernel_summary_baseline: KernelBaseline::default(),
            kernel_summary_group: KernelGrouping::default(),
            no_hip_summary: false,
            hip_summary_group: HipGrouping::default(),
            top_xla: 30,
            exclude_kernel_regex: KernelPattern::checker_of_tuning(),
            allow_multi_kernel_per_api: false,
            include_nonlaunch_apis: false,
        }
    }
}

#[cfg(feature = "clap")]
const BASELINES: &[(&str, KernelBaseline)] =
    &[("total", KernelBaseline::Total), ("compute", KernelBaseline::Compute)];

#[cfg(feature = "clap")]
const KERNEL_GROUPINGS: &[(&str, KernelGrouping)] =
    &[("config", KernelGrouping::Config), ("name", KernelGrouping::Name)];

#[cfg(feature = "clap")]
const HIP_GROUPINGS: &[(&str, HipGrouping)] = &[
    ("name", HipGrouping::Name),
    ("name+stream", HipGrouping::NameStream),
    ("name+op", HipGrouping::NameOp),
    ("name+stream+op", HipGrouping::NameStreamOp),
];

impl PftraceOptions {
    /// Shortest kernel or HIP call that counts, but in the table of other kernels.
    pub(crate) fn min_event(&self) -> Nanoseconds {
        Nanoseconds(self.min_event_ns)
    }
}

impl RocprofOptions {
    /// Options of the tables that are known from Perfetto traces, where those are asked for.
    pub(crate) fn pftrace(&self) -> Option<&PftraceOptions> {
        self.pftrace.pftrace_tables.then_some(&self.pftrace)
    }

    /// Which of the names of a profile's kernels these tables show.
    pub(crate) fn names_of_pftrace(&self, source: SourceFormat) -> KernelNames {
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

/// A regular expression that matches anywhere in a kernel's name; letters compare with regard to case. An empty one matches
/// no name.
#[derive(Clone, Debug)]
pub struct KernelPattern {
    pattern: Cow<'static, str>,
    /// Compiled when it is first matched: every start of the program makes the default.
    compiled: OnceLock<Option<Regex>>,
}

impl KernelPattern {
    fn checker_of_tuning() -> Self {
        KernelPattern { pattern: CHECKER_OF_TUNING.into(), compiled: OnceLock::new() }
    }

    /// Whether a kernel of this name is meant.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let compile = || (!self.pattern.is_empty()).then(|| Regex::new(&self.pattern).ok()).flatten();
        self.compiled.get_or_init(compile).as_ref().is_some_and(|pattern| pattern.is_match(name))
    }

    /// The regular expression.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }
}

impl fmt::Display for KernelPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
        if pattern == CHECKER_OF_TUNING {
            return Ok(KernelPattern::checker_of_tuning());
        }
        let compiled = if pattern.is_empty() { None } else { Some(Regex::new(pattern).map_err(error)?) };
        Ok(KernelPattern { pattern: pattern.to_owned().into(), compiled: compiled.into() })
    }
}

/// A regular expression that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a regular expression: {reason}")]
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
        let pattern = PftraceOptions::default().exclude_kernel_regex;
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
        assert!(!"".parse::<KernelPattern>().unwrap().matches("attn_fwd.kd"));
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
