//! Flags of `tracelens gate` and `tracelens gate save`.

use std::path::{Path, PathBuf};

use clap::Args;
use flags::one_of_explained;
use perf_gate::{CheckName, Inconclusive, Metric};

use super::answer_output::AnswerOutput;
use super::reading::ReadingArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens gate --baseline main.json.gz --candidate patch.json.gz           is the patch slower? exit code 3 if it is
  tracelens gate --baseline a1.json a2.json a3.json --candidate b1.json b2.json b3.json --separate-jobs
  tracelens gate save a1.json a2.json a3.json -o main.json                    keep what later gates need of recordings
  tracelens gate --baseline main.json --candidate b.json --config gate.toml --markdown gate.md --junit gate.xml
  tracelens gate --init                                                      a thresholds file, explained: gate.toml

Exit codes: 0 passed or improved, 3 slower, 4 the recordings do not tell, 5 they are not of the same work on the same
machine; 1 and 2 are faults of the program and of what it was given.";

pub(crate) const SAVE_EXAMPLES: &str = "\
Examples:
  tracelens gate save trace.json.gz -o main.json                      what a gate needs of a recording
  tracelens gate save main.json new.json.gz -o main.json              adds a recording: from six jobs on, noise is measured
  tracelens gate save *.json.gz --job 'a.json.gz=night 1' -o main.json";

#[derive(Args)]
pub(crate) struct GateArguments {
    /// Recordings of the version that others are held against, or files of `tracelens gate save`
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "init")]
    pub(crate) baseline: Vec<PathBuf>,

    /// Recordings of the version that is examined, or files of `tracelens gate save`
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "init")]
    pub(crate) candidate: Vec<PathBuf>,

    /// Thresholds (TOML); --init writes one that explains itself
    #[arg(long, value_name = "FILE", help_heading = "Thresholds")]
    pub(crate) config: Option<PathBuf>,

    /// Write a thresholds file with the defaults to --config [default: gate.toml], and end
    #[arg(
        long,
        conflicts_with_all = ["baseline", "candidate", "AnswerOutput", "FilesOutput", "DocumentOutput"],
        help_heading = "Thresholds"
    )]
    pub(crate) init: bool,

    /// The least slow-down that fails [default: 1.75%]
    #[arg(long = "slower-by", value_name = "PERCENT", value_parser = share, help_heading = "Thresholds")]
    pub(crate) slower_by: Option<f64>,

    /// The slow-down that a pass rules out [default: 5%]
    #[arg(long = "rule-out", value_name = "PERCENT", value_parser = share, help_heading = "Thresholds")]
    pub(crate) rule_out: Option<f64>,

    /// Gate this instead of what --config says: step_wall, gpu_busy, idle, exposed_comm, kernel_count, op:NAME, module:NAME
    /// or kernel:NAME; may be given several times [default: step_wall]
    #[arg(long = "metric", value_name = "METRIC", value_parser = metric, help_heading = "Thresholds")]
    pub(crate) metrics: Vec<Metric>,

    /// What is made of recordings that do not tell
    #[arg(long, value_name = "OUTCOME", value_parser = one_of_explained(INCONCLUSIVE), help_heading = "Thresholds")]
    pub(crate) inconclusive: Option<Inconclusive>,

    /// Differences that warn and do not refuse the comparison, with commas between them: recorder, device, device_count,
    /// world_size, rank, workload, flops, prefill, batch_size, options, truncated, linked
    #[arg(long, value_name = "CHECK", value_delimiter = ',', value_parser = check, help_heading = "Recordings")]
    pub(crate) allow: Vec<CheckName>,

    #[command(flatten)]
    pub(crate) recordings: KeptRecordings,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    /// Write the verdict as Markdown, for a pull request
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write the verdict as JUnit XML, for systems that show tests
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct SaveArguments {
    /// Recordings of one version; files of this command add what they keep
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Write the baseline here: JSON, some kilobytes for each step of a recording
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    #[command(flatten)]
    pub(crate) recordings: KeptRecordings,
}

/// How recordings are read and which of them count as one.
#[derive(Args)]
pub(crate) struct KeptRecordings {
    /// The job that a recording is of: those of one job count as one. FILE is the name of the recording; may be given
    /// several times [default: recordings of one host within ten minutes]
    #[arg(long = "job", value_name = "FILE=ID", value_parser = job, conflicts_with = "separate_jobs", help_heading = "Recordings")]
    pub(crate) jobs: Vec<Job>,

    /// Each recording is of a job of its own
    #[arg(long = "separate-jobs", help_heading = "Recordings")]
    pub(crate) separate_jobs: bool,

    /// Tell the nn.Module that work ran in; reads Python frames, which takes longer. All recordings have to be read with it
    #[arg(long, help_heading = "Recordings")]
    pub(crate) modules: bool,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// A recording and the job that it is of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) file: PathBuf,
    pub(crate) id: String,
}

impl Job {
    /// Whether a recording that was read from a path, and is called by this name, is meant.
    pub(crate) fn is_of(&self, path: &Path, name: &str) -> bool {
        self.file == path || self.file == Path::new(name)
    }
}

const INCONCLUSIVE: &[(&str, &str, Inconclusive)] = &[
    ("pass", "they pass", Inconclusive::Pass),
    ("warn", "exit code 4", Inconclusive::Warn),
    ("fail", "they fail", Inconclusive::Fail),
];

fn share(text: &str) -> Result<f64, String> {
    perf_gate::share(text)
        .ok_or_else(|| "expected a percentage above 0 and up to 1000, such as 2%".to_owned())
}

fn metric(text: &str) -> Result<Metric, String> {
    text.parse().map_err(|error: perf_gate::UnknownMetric| error.to_string())
}

fn check(text: &str) -> Result<CheckName, String> {
    text.parse().map_err(|error: perf_gate::UnknownCheck| error.to_string())
}

fn job(text: &str) -> Result<Job, String> {
    match text.rsplit_once('=') {
        Some((file, id)) if !file.is_empty() && !id.is_empty() => {
            Ok(Job { file: file.into(), id: id.to_owned() })
        }
        _ => Err("expected a file and the job that it is of, such as a.json.gz=build-17".to_owned()),
    }
}
