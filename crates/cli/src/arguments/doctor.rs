//! Flags of `tracelens doctor`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use flags::one_of;
use trace_doctor::Severity;

use super::answer_output::AnswerOutput;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens doctor trace.json.gz                     what is wrong with the recording, and what to do about it
  tracelens doctor rocprof_output/                   the same for output of rocprofv3 or nsys export
  tracelens doctor *.json.gz --json                  many files, for programs
  tracelens doctor trace.json --fail-on warning      exit code 3 when some figures cannot be trusted";

#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Recordings of any profiler that records events: plain, gzip, zstd or zip, or a folder of rocprofv3 CSV files; -
    /// reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    /// Exit with code 3 if a finding is at least this severe
    #[arg(long = "fail-on", value_name = "SEVERITY", default_value = "error", value_parser = one_of(FAIL_ON))]
    pub(crate) fail_on: FailOn,

    /// Reader threads; they do not affect the output [default: one per processor]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Severity at which the run fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailOn {
    AtLeast(Severity),
    Never,
}

const FAIL_ON: &[(&str, FailOn)] = &[
    ("error", FailOn::AtLeast(Severity::Error)),
    ("warning", FailOn::AtLeast(Severity::Warning)),
    ("note", FailOn::AtLeast(Severity::Note)),
    ("never", FailOn::Never),
];

impl FailOn {
    /// Whether a recording with this worst finding makes the run fail.
    pub(crate) fn is_reached(self, worst: Option<Severity>) -> bool {
        match self {
            FailOn::AtLeast(least) => worst >= Some(least),
            FailOn::Never => false,
        }
    }
}
