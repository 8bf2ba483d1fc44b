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
  tracelens ranks collect rank*.json.gz --out tables                  tables of all ranks; those that are there are kept
  tracelens ranks collect rank7.json.gz --out tables                  one rank, as a step of any launcher
  tracelens ranks collect host*.xplane.pb --out tables                XPlane profiles: those of all hosts of a job at once
  tracelens ranks tables                                    the report of the job from the tables

Options may be written with _ or with -.";

pub(crate) const RANKS_EXAMPLES: &str = "\
Examples:
  tracelens ranks rank*.json.gz                             which rank holds up the job
  tracelens ranks 'job/**/*.pt.trace.json.gz'               a pattern; ** stands for folders
  tracelens ranks rank*.json.gz --tables tables             keep the tables: the next report reads no trace
  tracelens ranks tables --output_csvs_dir sheets           from tables of `tracelens ranks collect`, as CSV files
  tracelens ranks host0.xplane.pb host1.xplane.pb           XLA programs: the profiles of all hosts, or their folder

Each GPU of a profile is a rank: numbered on from 0 over the hosts in the order in which they are named.
Options may be written with _ or with -. `tracelens info columns` explains the sheets.";

pub(crate) const FUSE_EXAMPLES: &str = "\
Examples:
  tracelens fuse rank*.json.gz -o job.json.gz               all ranks in one trace, for Perfetto
  tracelens fuse rank*.json.gz --ranks 0,8 -o two.json.gz   two of them, on the clock that all agree on
  tracelens fuse rank*.json.gz --steps 3..5 -o few.json.gz  three steps: their calls and what these launched
  tracelens fuse tables --filter comm -o comm.json.zst      collectives, from the traces that the tables are of

Processes are called RANK r - GPU and RANK r - CPU, and every event has its rank in args.rank. Ids of different ranks
differ; args.pid_raw, args.correlation_raw and so on are what they were. Options may be written with _ or with -.";

#[derive(Args)]
pub(crate) struct CollectArguments {
    /// Recordings of ranks, the XPlane profiles of all hosts of a job, or patterns of their paths
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) recordings: Vec<PathBuf>,

    /// Folder of the job: gets a folder of tables (Parquet) for each rank
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Keep what the device did and the outermost calls of the host one by one, in a table events
    #[arg(long = "keep-events")]
    pub(crate) keep_events: bool,

    /// Say what was waited for: tables queue, membw (rates of copies) and critical_path
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
    /// Folder of a job, as `tracelens ranks collect` wrote it
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
    /// Recordings that are read at the same time [default: as many as the machine has processors]
    #[arg(long, alias = "max_workers", value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Kernels with this text in their names communicate, too; may be given several times
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

    /// Number of ranks; a recording that is missing ends the run
    #[arg(long = "world_size", value_name = "N", conflicts_with = "recordings")]
    pub(crate) world_size: Option<NonZeroU32>,

    /// Regular expression that finds the rank in the path of a recording: its group rank, else its first
    /// [default: what the recording says, else rank<N> in its path]
    #[arg(long = "rank_regex", value_name = "REGEX", value_parser = expression::<RankPattern>())]
    pub(crate) rank_regex: Option<RankPattern>,
}

/// The recordings, named in one of several ways.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Sources {
    /// Recordings of ranks, XPlane profiles of all hosts, patterns of their paths, or the folder that `tracelens ranks collect` wrote
    #[arg(value_name = "TRACE")]
    pub(crate) recordings: Vec<PathBuf>,

    /// Folder of recordings; with --world_size those that are called rank<N>_trace.json
    #[arg(long = "trace_dir", value_name = "DIR")]
    pub(crate) trace_dir: Option<PathBuf>,

    /// Path of the recordings with one * for the rank; needs --world_size
    #[arg(long = "trace_pattern", value_name = "PATH", requires = "world_size")]
    pub(crate) trace_pattern: Option<String>,

    /// Pattern of the recordings' paths; ** stands for folders
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

    /// Draw how late each rank was in each step as an SVG picture
    #[arg(long = "step_svg", value_name = "FILE")]
    pub(crate) step_svg: Option<PathBuf>,

    /// Keep the tables of the ranks in this folder, and take from it what is there
    #[arg(long = "tables", value_name = "DIR")]
    pub(crate) kept: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Analysis")]
pub(crate) struct RanksAnalysis {
    #[command(flatten)]
    pub(crate) options: JobOptions,

    /// Give the figures of TraceLens where it is known to be wrong: collectives are matched by their place in the
    /// recording, clocks are taken as they are
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

    /// The trace to write: .json, .json.gz or .json.zst
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// These ranks only, such as 0,8,16 or 0-7
    #[arg(long, value_name = "LIST", value_parser = ranks)]
    pub(crate) ranks: Option<Members>,

    /// These steps only, by their numbers in the sheet step_times: 3, 3..5 (from 3 to 5), or 3:6 as Python counts
    #[arg(long, value_name = "RANGE")]
    pub(crate) steps: Option<Indices>,

    /// Which events
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = one_of_explained(EVENTS))]
    pub(crate) filter: FusedEvents,

    /// Bring the clocks of hosts together by the ends of collectives (align), or take times as they are (raw)
    #[arg(long, value_name = "HOW", default_value = "align", value_parser = one_of(ClockMode::NAMES))]
    pub(crate) clock: ClockMode,

    /// With the frames of Python stacks
    #[arg(long = "python-frames", alias = "include_pyfunc")]
    pub(crate) python_frames: bool,

    /// Keep the tables of the ranks in this folder, and take from it what is there
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
    ranks
        .ok_or_else(|| "expected numbers of ranks with commas between them, or ranges such as 0-7".to_owned())
}

const EVENTS: &[(&str, &str, FusedEvents)] = &[
    ("all", "", FusedEvents::All),
    ("gpu", "what devices did", FusedEvents::Device),
    (
        "comm",
        "kernels of collectives, what launched them, and the host's collectives",
        FusedEvents::Communication,
    ),
];
