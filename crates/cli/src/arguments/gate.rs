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
  tracelens gate save a1.json a2.json a3.json -o main.json                    save a baseline for later gates
  tracelens gate --baseline main.json --candidate b.json --config gate.toml --markdown gate.md --junit gate.xml
  tracelens gate --init                                                      write a commented thresholds file, gate.toml

Exit codes: 0 passed or improved, 3 slower, 4 inconclusive, 5 not comparable (different work or
machine); 1 internal error, 2 invalid input.";

pub(crate) const SAVE_EXAMPLES: &str = "\
Examples:
  tracelens gate save trace.json.gz -o main.json                      save a baseline
  tracelens gate save main.json new.json.gz -o main.json              add a recording; with six jobs or more, noise is measured
  tracelens gate save *.json.gz --job 'a.json.gz=night 1' -o main.json";

#[derive(Args)]
pub(crate) struct GateArguments {
    /// Recordings of the baseline version, or files of `tracelens gate save`
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "init")]
    pub(crate) baseline: Vec<PathBuf>,

    /// Recordings of the version under test, or files of `tracelens gate save`
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "init")]
    pub(crate) candidate: Vec<PathBuf>,

    /// Thresholds file (TOML); --init writes a commented one
    #[arg(long, value_name = "FILE", help_heading = "Thresholds")]
    pub(crate) config: Option<PathBuf>,

    /// Write the default thresholds to --config [default: gate.toml] and exit
    #[arg(
        long,
        conflicts_with_all = ["baseline", "candidate", "AnswerOutput", "FilesOutput", "DocumentOutput"],
        help_heading = "Thresholds"
    )]
    pub(crate) init: bool,

    /// Smallest slowdown that fails [default: 1.75%]
    #[arg(long = "slower-by", value_name = "PERCENT", value_parser = share, help_heading = "Thresholds")]
    pub(crate) slower_by: Option<f64>,

    /// Pass only if a slowdown this large can be ruled out [default: 5%]
    #[arg(long = "rule-out", value_name = "PERCENT", value_parser = share, help_heading = "Thresholds")]
    pub(crate) rule_out: Option<f64>,

    /// Metric to gate instead of those in --config: step_wall, gpu_busy, idle, exposed_comm, kernel_count, op:NAME,
    /// module:NAME or kernel:NAME. Repeatable [default: step_wall]
    #[arg(long = "metric", value_name = "METRIC", value_parser = metric, help_heading = "Thresholds")]
    pub(crate) metrics: Vec<Metric>,

    /// Outcome of an inconclusive comparison [default: warn]
    #[arg(long, value_name = "OUTCOME", value_parser = one_of_explained(INCONCLUSIVE), help_heading = "Thresholds")]
    pub(crate) inconclusive: Option<Inconclusive>,

    /// Differences to warn about instead of refusing the comparison, comma-separated: recorder, device, device_count,
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

    /// Write the verdict as JUnit XML, for CI
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct SaveArguments {
    /// Recordings of one version, or saved baselines to add them to
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Write the baseline to this file: JSON, a few kilobytes per recorded step
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    #[command(flatten)]
    pub(crate) recordings: KeptRecordings,
}

/// How recordings are read and which count as one.
#[derive(Args)]
pub(crate) struct KeptRecordings {
    /// Job of a recording; recordings of one job count as one. Repeatable. Example: a.json.gz=build-17 [default:
    /// recordings of one host within ten minutes are one job]
    #[arg(long = "job", value_name = "FILE=ID", value_parser = job, conflicts_with = "separate_jobs", help_heading = "Recordings")]
    pub(crate) jobs: Vec<Job>,

    /// Treat each recording as a job of its own
    #[arg(long = "separate-jobs", help_heading = "Recordings")]
    pub(crate) separate_jobs: bool,

    /// Distinguish work by nn.Module; reads Python frames, which is slower. Use it for all recordings or none
    #[arg(long, help_heading = "Recordings")]
    pub(crate) modules: bool,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// A recording and its job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) file: PathBuf,
    pub(crate) id: String,
}

impl Job {
    /// Whether this means the recording of this path or name.
    pub(crate) fn is_of(&self, path: &Path, name: &str) -> bool {
        self.file == path || self.file == Path::new(name)
    }
}

const INCONCLUSIVE: &[(&str, &str, Inconclusive)] = &[
    ("pass", "passes, exit code 0", Inconclusive::Pass),
    ("warn", "exit code 4", Inconclusive::Warn),
    ("fail", "fails, exit code 3", Inconclusive::Fail),
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
        _ => Err("expected a file and its job, such as a.json.gz=build-17".to_owned()),
    }
}
