//! Flags of `tracelens ranks collect`, `tracelens ranks pack`, `tracelens ranks` and `tracelens fuse`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use flags::{expression, one_of, one_of_explained};
use iterations::Indices;
use multi_rank::{ClockMode, FusedEvents, JobOptions, Members, RankPattern};
use perf_models::CommunicationPatterns;

use super::answer_output::{AnswerOutput, FilesOutput};
use super::report_output::{ReportOutput, SheetNaming};
use super::{REFERENCES, Reference};

pub(crate) const COLLECT_EXAMPLES: &str = "\
Examples:
  tracelens ranks collect rank*.json.gz --out tables          tables of all ranks; existing ones are kept
  tracelens ranks collect rank7.json.gz --out tables          one rank; run it in each process, with any launcher
  tracelens ranks collect host*.xplane.pb --out tables        XPlane profiles: all hosts of a job at once
  tracelens ranks tables                                      report on the job from the tables

Options accept _ or -.";

pub(crate) const RANKS_EXAMPLES: &str = "\
Examples:
  tracelens ranks rank*.json.gz                             which rank holds up the job
  tracelens ranks 'job/**/*.pt.trace.json.gz'               a pattern; ** matches folders
  tracelens ranks rank*.json.gz --tables tables             keep the tables: the next report reads no trace
  tracelens ranks tables --output_csvs_dir sheets           from tables of `tracelens ranks collect`, as CSV files
  tracelens ranks host0.xplane.pb host1.xplane.pb           XLA programs: the profiles of all hosts, or their folder

Each GPU of a profile is a rank, numbered from 0 across the hosts in the order given.
Options accept _ or -. `tracelens info columns` explains the sheets.";

pub(crate) const FUSE_EXAMPLES: &str = "\
Examples:
  tracelens fuse rank*.json.gz -o job.json.gz               all ranks in one trace, for Perfetto
  tracelens fuse rank*.json.gz --ranks 0,8 -o two.json.gz   two ranks, on one clock
  tracelens fuse rank*.json.gz --steps 3..5 -o few.json.gz  three steps: calls and what they launched
  tracelens fuse tables --filter comm -o comm.json.zst      collectives, from the traces behind the tables

Processes are named RANK r - GPU and RANK r - CPU, and args.rank of an event is its rank. Ids are unique across
ranks; args.pid_raw, args.correlation_raw and so on hold the originals. Options accept _ or -.";

#[derive(Args)]
pub(crate) struct CollectArguments {
    /// Recordings of ranks, XPlane profiles of all hosts of a job, or path patterns
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) recordings: Vec<PathBuf>,

    /// Folder for the job, with a subfolder of tables (Parquet) per rank
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Also keep every device event and every outermost host call, in a table called events
    #[arg(long = "keep-events")]
    pub(crate) keep_events: bool,

    /// Add the tables queue (launch queue lengths), membw (copy rates) and critical_path
    #[arg(long)]
    pub(crate) waits: bool,

    #[command(flatten)]
    pub(crate) mapping: MappingArguments,

    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,
}

#[derive(Args)]
pub(crate) struct PackArguments {
    /// Folder of a job, written by `tracelens ranks collect`
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) answer: FilesOutput,
}

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct MappingArguments {
    /// Number of recordings to read at the same time [default: one per processor]
    #[arg(long, alias = "max_workers", value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Also count as communication all kernels whose names contain this text. Repeatable
    #[arg(long = "communication-pattern", value_name = "TEXT")]
    communication_pattern: Vec<String>,
}

impl MappingArguments {
    pub(crate) fn options(&self) -> answers::MapOptions {
        let usual = CommunicationPatterns::default();
        let patterns = self.communication_pattern.iter();
        answers::MapOptions {
            communication: patterns.fold(usual, |patterns, pattern| patterns.with_pattern(pattern)),
            jobs: self.jobs.map(NonZeroUsize::get),
            ..answers::MapOptions::default()
        }
    }
}

#[derive(Args)]
pub(crate) struct RanksArguments {
    #[command(flatten)]
    pub(crate) recordings: Recordings,

    #[command(flatten)]
    pub(crate) output: RanksOutput,

    #[command(flatten)]
    pub(crate) mapping: MappingArguments,

    #[command(flatten)]
    pub(crate) analysis: RanksAnalysis,
}

/// The recordings and their ranks.
#[derive(Args)]
pub(crate) struct Recordings {
    #[command(flatten)]
    pub(crate) sources: Sources,

    /// Number of ranks; a missing recording is an error
    #[arg(long = "world_size", value_name = "N", conflicts_with = "recordings")]
    pub(crate) world_size: Option<NonZeroU32>,

    /// Regular expression that finds the rank in a recording's path: in its group named rank, else in its first group
    /// [default: the recorded rank, else rank<N> in the path]
    #[arg(long = "rank_regex", value_name = "REGEX", value_parser = expression::<RankPattern>())]
    pub(crate) rank_regex: Option<RankPattern>,
}

/// The recordings, named in one of several ways.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Sources {
    /// Recordings of ranks, XPlane profiles of all hosts, path patterns, or a folder written by `tracelens ranks
    /// collect`
    #[arg(value_name = "TRACE")]
    pub(crate) recordings: Vec<PathBuf>,

    /// Folder of recordings; with --world_size, only files named rank<N>_trace.json
    #[arg(long = "trace_dir", value_name = "DIR")]
    pub(crate) trace_dir: Option<PathBuf>,

    /// Path of the recordings, with * for the rank; needs --world_size
    #[arg(long = "trace_pattern", value_name = "PATH", requires = "world_size")]
    pub(crate) trace_pattern: Option<String>,

    /// Path pattern of the recordings; ** matches folders
    #[arg(long = "trace_glob", value_name = "PATTERN")]
    pub(crate) trace_glob: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RanksOutput {
    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    #[command(flatten)]
    pub(crate) naming: SheetNaming,

    /// Draw how late each rank was in each step (SVG)
    #[arg(long = "step_svg", value_name = "FILE")]
    pub(crate) step_svg: Option<PathBuf>,

    /// Keep the tables of the ranks in this folder and reuse those already there
    #[arg(long = "tables", value_name = "DIR")]
    pub(crate) kept: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct RanksAnalysis {
    #[command(flatten)]
    pub(crate) options: JobOptions,

    /// Reproduce TraceLens figures known to be wrong: collectives are matched by position in the recording, clocks are
    /// not aligned
    #[arg(
        long,
        value_name = "TOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "tracelens",
        value_parser = one_of(REFERENCES)
    )]
    pub(crate) parity: Option<Reference>,

    // What the tool whose place the subcommand takes has, and which changes nothing: its sheets of details are always
    // there, and recordings are always read side by side.
    #[arg(long = "detailed_analysis", hide = true)]
    detailed_analysis: bool,
    #[arg(long = "use_multiprocessing", hide = true)]
    use_multiprocessing: bool,
}

#[derive(Args)]
pub(crate) struct FuseArguments {
    #[command(flatten)]
    pub(crate) recordings: Recordings,

    /// Write the trace to this file: .json, .json.gz or .json.zst
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Overwrite an existing file even if tracelens did not write it
    #[arg(long)]
    pub(crate) force: bool,

    /// Only these ranks, such as 0,8,16 or 0-7
    #[arg(long, value_name = "LIST", value_parser = ranks)]
    pub(crate) ranks: Option<Members>,

    /// Only these steps, numbered as in the sheet step_times: 3, 3..5 (3 to 5), or 3:6 (6 excluded)
    #[arg(long, value_name = "RANGE")]
    pub(crate) steps: Option<Indices>,

    /// Events to write
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = one_of_explained(EVENTS))]
    pub(crate) filter: FusedEvents,

    /// Align host clocks by the ends of collectives (align), or keep recorded times (raw)
    #[arg(long, value_name = "HOW", default_value = "align", value_parser = one_of(ClockMode::NAMES))]
    pub(crate) clock: ClockMode,

    /// Include Python stack frames
    #[arg(long = "python-frames", alias = "include_pyfunc")]
    pub(crate) python_frames: bool,

    /// Keep the tables of the ranks in this folder and reuse those already there
    #[arg(long = "tables", value_name = "DIR")]
    pub(crate) kept: Option<PathBuf>,

    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    #[command(flatten)]
    pub(crate) mapping: MappingArguments,
}

/// Ranks of a list such as `0,8-15`.
fn ranks(text: &str) -> Result<Members, String> {
    let ranks = Members::from_ranges(text).filter(|ranks| !ranks.is_empty());
    ranks.ok_or_else(|| "expected rank numbers, such as 0,8,16, or ranges, such as 0-7".to_owned())
}

const EVENTS: &[(&str, &str, FusedEvents)] = &[
    ("all", "", FusedEvents::All),
    ("gpu", "device events", FusedEvents::Device),
    (
        "comm",
        "collective kernels, their launches, and the host operators that issue them",
        FusedEvents::Communication,
    ),
];
