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
  tracelens doctor rocprof_output/                   the same of what rocprofv3 or nsys export wrote
  tracelens doctor *.json.gz --json                  the same of many files, for programs
  tracelens doctor trace.json --fail-on warning      exit code 3 when some figures cannot be trusted";

#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// The recordings, of any profiler whose recordings are traces: plain, gzip, zstd or zip, or a folder of rocprofv3's
    /// CSV files; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    /// End with exit code 3 when a finding is at least so severe
    #[arg(long = "fail-on", value_name = "SEVERITY", default_value = "error", value_parser = one_of(FAIL_ON))]
    pub(crate) fail_on: FailOn,

    /// Threads that read; the output is the same for any number [default: as many as the machine has]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Which findings make the run fail.
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
