//! Every flag of the command line: its names, its documentation, its parsing.

pub(crate) mod advise;
pub(crate) mod answer_output;
pub(crate) mod any_report;
pub(crate) mod compare;
pub(crate) mod critical_path;
pub(crate) mod devices;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod gate;
pub(crate) mod inference;
pub(crate) mod jax;
pub(crate) mod match_blocks;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod metal;
pub(crate) mod model;
pub(crate) mod nsys;
pub(crate) mod phases;
pub(crate) mod pytorch;
pub(crate) mod ranks;
pub(crate) mod reading;
mod recorders;
mod reference;
pub(crate) mod replay;
pub(crate) mod report_output;
pub(crate) mod rocprof;
pub(crate) mod split;
pub(crate) mod table;
pub(crate) mod timings;
mod tool_names;
pub(crate) mod tree;

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use answers::envelope::{Asked, Document, InputDetails};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use flags::{choice, one_of};
use iterations::WindowOptions;

use advise::AdviseArguments;
use answer_output::{AnswerOutput, DocumentOutput, JSON_DOCUMENT};
use compare::CompareArguments;
use critical_path::CriticalPathArguments;
use diff::DiffArguments;
use doctor::DoctorArguments;
use gate::{GateArguments, SaveArguments};
use inference::InferenceArguments;
use jax::JaxArguments;
use match_blocks::MatchArguments;
use metal::MetalArguments;
use model::ModelArguments;
use nsys::NsysArguments;
use pytorch::TraceArguments;
use ranks::{CollectArguments, FuseArguments, PackArguments, RanksArguments};
pub(crate) use reference::{REFERENCES, Reference, TRACE_REFERENCES, conventions};
use replay::ReplayArguments;
use rocprof::RocprofArguments;
use split::SplitArguments;
use table::{TableArguments, WhyArguments};
use timings::TimingsForm;
use tool_names::ReferenceTool;
use tree::TreeArguments;

use crate::error::Failure;

const EXAMPLES: &str = "\
Examples:
  tracelens report trace.json.gz                             summary here, workbook beside the trace
  tracelens report trace.json.gz -o sheets                   CSV files instead of the workbook
  tracelens report trace.json.gz -o page.html                a page to view and share
  tracelens report trace.json.gz --json                      all sheets as JSON, no file
  tracelens tree trace.json.gz --name aten::mm --parents     who calls aten::mm
  tracelens model gemm --m 8192 --n 8192 --k 8192 --arch h100    FLOPs, bytes, roofline time";

const REPORT_EXAMPLES: &str = "\
Examples:
  tracelens report trace.json.gz                   summary here, workbook beside the trace
  tracelens report trace.json.gz -o page.html      a page to view and share
  tracelens report trace.json.gz -o sheets         a folder of CSV files
  tracelens report trace.json.gz --steady --json   steady iterations only, as JSON

Options accept _ or -: --topk_ops is --topk-ops. `tracelens info columns` explains the sheets.";

const SPELLINGS: &str =
    "Options accept _ or -: --topk_ops is --topk-ops. `tracelens info columns` explains the sheets.";

/// Answers from profiler traces of GPU jobs: where the time went, which operator launched which kernel.
#[derive(Parser)]
#[command(
    name = "tracelens",
    version,
    max_term_width = 110,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
struct CommandLine {
    /// Print colors on terminals that support them, unless NO_COLOR is set (auto), always, or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_parser = one_of(COLOR_CHOICES),
        default_value = "auto",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "always"
    )]
    color: ColorChoice,

    #[command(subcommand)]
    command: Command,
}

const COLOR_CHOICES: &[(&str, ColorChoice)] =
    &[("auto", ColorChoice::Auto), ("always", ColorChoice::Always), ("never", ColorChoice::Never)];

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Report where time and memory go in a recording of any kind
    #[command(after_help = REPORT_EXAMPLES)]
    Report,
    /// Report on a PyTorch trace
    #[command(after_help = SPELLINGS)]
    Pytorch(Box<TraceArguments>),
    /// Report on inference, with prefill and decode: vLLM, SGLang, ATOM, diffusion
    #[command(after_help = inference::EXAMPLES)]
    Inference(Box<InferenceArguments>),
    /// Report on an XPlane profile (*.xplane.pb): JAX, TensorFlow, PyTorch/XLA on GPUs and TPUs
    #[command(after_help = jax::EXAMPLES)]
    Jax(Box<JaxArguments>),
    /// Report on a recording of NVIDIA Nsight Systems: the SQLite database that `nsys export` writes
    #[command(after_help = nsys::EXAMPLES)]
    Nsys(Box<NsysArguments>),
    /// Report on a profile of AMD's rocprofv3: JSON, CSV, rocpd or Perfetto
    #[command(after_help = rocprof::EXAMPLES)]
    Rocprof(Box<RocprofArguments>),
    /// Report on Tenstorrent operations: the CSV of tt-metal's profiler (ops_perf_results_*.csv)
    #[command(after_help = metal::EXAMPLES, infer_long_args = true)]
    Metal(Box<MetalArguments>),
    /// Rank what to change first, with evidence and possible gain
    #[command(after_help = advise::EXAMPLES)]
    Advise(Box<AdviseArguments>),
    /// Reduce each rank's trace to small tables that `ranks` can read
    #[command(name = "ranks collect", after_help = ranks::COLLECT_EXAMPLES)]
    RanksCollect(CollectArguments),
    /// Pack the tables of many ranks into fewer files
    #[command(name = "ranks pack")]
    RanksPack(PackArguments),
    /// Report on a job of many ranks: which rank holds the others back, and why
    #[command(after_help = ranks::RANKS_EXAMPLES)]
    Ranks(Box<RanksArguments>),
    /// Merge the traces of a job's ranks into one, on one clock, for a viewer
    #[command(after_help = ranks::FUSE_EXAMPLES)]
    Fuse(Box<FuseArguments>),
    /// Compare runs: what became slower or faster, what is new or gone
    #[command(after_help = compare::EXAMPLES)]
    Compare(Box<CompareArguments>),
    /// Align the call trees of two runs: which modules, operators and kernels differ
    #[command(after_help = diff::EXAMPLES)]
    Diff(Box<DiffArguments>),
    /// Fail CI when a change makes a job slower
    #[command(after_help = gate::EXAMPLES)]
    Gate(Box<GateArguments>),
    /// Save a baseline for `gate`
    #[command(name = "gate save", after_help = gate::SAVE_EXAMPLES)]
    GateSave(Box<SaveArguments>),
    /// Find what a step waited for, and what a faster operator would save
    #[command(after_help = critical_path::EXAMPLES, visible_alias = "path")]
    CriticalPath(Box<CriticalPathArguments>),
    /// Print the call tree of a trace: operators, launches, kernels
    Tree(TreeArguments),
    /// Print rows of one table of a report, filtered and sorted
    #[command(after_help = table::TABLE_EXAMPLES)]
    Table(TableArguments),
    /// Explain one operator, kernel, module or event: time, waits, share of the roofline
    #[command(after_help = table::WHY_EXAMPLES)]
    Why(WhyArguments),
    /// Check a recording for problems that make figures unreliable
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(DoctorArguments),
    /// Split a trace into steps, its steady state, or phases
    #[command(after_help = split::EXAMPLES)]
    Split(SplitArguments),
    /// Find steps of two traces that do the same work
    #[command(name = "split match", after_help = match_blocks::EXAMPLES)]
    SplitMatch(MatchArguments),
    /// Write a program that reruns and times operators of a trace
    #[command(after_help = replay::EXAMPLES)]
    Replay(ReplayArguments),
    /// Compute FLOPs, bytes and roofline time of an operation, without a trace
    #[command(args_conflicts_with_subcommands = true, arg_required_else_help = true, after_help = model::EXAMPLES)]
    Model(ModelArguments),
    /// Create or check a file with your own models, categories or tree passes
    #[command(after_help = EXTENSION_EXAMPLES)]
    Extension(ExtensionArguments),
    /// List the bundled GPU architectures and their peaks
    Archs {
        #[command(flatten)]
        document: DocumentOutput,
    },
    /// Explain the columns of the sheets; print the skill for agents
    Info,
    /// Explain the columns of the sheets
    #[command(name = "info columns")]
    InfoColumns {
        /// Explain only this sheet, such as ops_all
        sheet: Option<String>,

        /// Print the handbook's page of all columns as Markdown
        #[arg(long, conflicts_with_all = ["sheet", "json"])]
        markdown: bool,

        #[command(flatten)]
        document: DocumentOutput,
    },
    /// Print the JSON schema of --json answers, or of `gate save` files
    Schema {
        /// Document whose schema to print
        #[arg(value_parser = document_parser(), value_name = "DOCUMENT", default_value = "answer")]
        document: Document,
    },
    /// Serve recordings to an agent over the Model Context Protocol
    #[cfg(feature = "mcp")]
    #[command(after_help = mcp::EXAMPLES)]
    Mcp(mcp::McpArguments),
    /// Print a skill (SKILL.md) that tells an agent how to use these answers
    #[cfg(feature = "mcp")]
    #[command(name = "info skill")]
    InfoSkill,
    /// Print a completion script for a shell
    Completions {
        /// Shell for which to print the script
        shell: Shell,
    },
    /// Print a manual page: tracelens man | man -l -
    Man {
        /// Print the page of this subcommand instead
        #[arg(num_args = 0..=2)]
        command: Vec<String>,
    },
}

const EXTENSION_EXAMPLES: &str = "Examples:
  tracelens extension --init my.toml           # a table: no interpreter needed
  tracelens extension --init my.py             # a Python file, with a pass over the call tree
  tracelens extension --check my.py            # load it without a trace and list what it registers
  tracelens report trace.json --extension_file my.py";

#[derive(Args)]
pub(crate) struct ExtensionArguments {
    /// Write a commented template: a table if NAME ends in .toml, a Python file if it ends in .py
    #[arg(long, value_name = "NAME", required_unless_present = "check", conflicts_with_all = ["check", "python"])]
    pub(crate) init: Option<PathBuf>,

    /// Load this extension file without a trace and list what it registers
    #[arg(long, value_name = "FILE")]
    pub(crate) check: Option<PathBuf>,

    /// Python interpreter for .py files [default: python3 on PATH]
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) document: DocumentOutput,
}

/// The options on a subcommand's command line.
#[derive(Default)]
pub(crate) struct Given {
    /// The subcommand as clap knows it.
    command: clap::Command,
    matches: ArgMatches,
    /// Whether the program was called by the name of a tool of TraceLens or of tt-perf-report.
    pub(crate) as_reference_tool: bool,
}

/// Options that do nothing without another.
const NEEDS: [(&str, &str); 21] = [
    ("topk_short_kernels", "short_kernel_study"),
    ("short_kernel_threshold_us", "short_kernel_study"),
    ("short_kernel_histogram_bins", "short_kernel_study"),
    ("kernel_wait_threshold_us", "waits"),
    ("min_gap_us", "waits"),
    ("queue_limit", "waits"),
    ("topk_kernels", "kernel_details"),
    ("decode_threshold", "inference_phase_analysis"),
    ("max_num_seqs", "inference_phase_analysis"),
    ("phase_detection_method", "inference_phase_analysis"),
    ("phase_legacy", "inference_phase_analysis"),
    ("min_tid", "pftrace_tables"),
    ("max_tid", "pftrace_tables"),
    ("min_event_ns", "pftrace_tables"),
    ("kernel_summary_baseline", "pftrace_tables"),
    ("kernel_summary_group", "pftrace_tables"),
    ("hip_summary_group", "pftrace_tables"),
    ("top_xla", "pftrace_tables"),
    ("exclude_kernel_regex", "pftrace_tables"),
    ("raw_op_codes", "csv"),
    ("classic_colors", "summary_svg"),
];

impl Given {
    /// The options as those of one report.
    pub(crate) fn arguments<A: FromArgMatches>(&self) -> Result<A, Failure> {
        A::from_arg_matches(&self.matches).map_err(|error| Failure::Arguments(error.to_string()))
    }

    /// Whether the option with this field name was given.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.matches.try_contains_id(id).unwrap_or(false)
            && self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// The names of the given options' fields.
    pub(crate) fn ids(&self) -> impl Iterator<Item = String> {
        self.matches.ids().map(|id| id.as_str().to_owned()).filter(|id| self.has(id))
    }

    /// The options that say what the report is, as they were given: none that name the files that it is made from or
    /// goes to, or that say how it is printed.
    pub(crate) fn described(&self) -> Vec<String> {
        self.options(
            |_, source| source == ValueSource::CommandLine,
            InputDetails { full_path: true, hash: false },
        )
    }

    /// Options that say what an answer is and that are wanted by their id and where they come from, with the files that they
    /// name as `details` say.
    fn options(&self, is_wanted: impl Fn(&str, ValueSource) -> bool, details: InputDetails) -> Vec<String> {
        const ABOUT_FILES_AND_PRINTING: [&str; 37] = [
            "file",
            "files",
            "first",
            "second",
            "folder",
            "recordings",
            "candidate",
            "trace_dir",
            "trace_pattern",
            "trace_glob",
            "kept",
            "jobs",
            "profile_json_path",
            "profile_path",
            "merged_tree",
            "overlay",
            "counter_trace",
            "html",
            "markdown",
            "junit",
            "output",
            "named",
            "force",
            "out",
            "json",
            "page_rows",
            "page_start",
            "stamp",
            "no_hash",
            "full_paths",
            "strict",
            "fail_on",
            "quiet",
            "timings",
            "threads",
            "color",
            "no_color",
        ];
        let is_about_answer = |id: &str| {
            let is_output = id.starts_with("output_") || id.ends_with("_svg");
            !is_output && !ABOUT_FILES_AND_PRINTING.contains(&id)
        };
        let (command, matches) = self.innermost();
        let written = |arg: &clap::Arg| {
            let id = arg.get_id().as_str();
            let source =
                matches.try_contains_id(id).unwrap_or(false).then(|| matches.value_source(id)).flatten()?;
            if !is_about_answer(id) || !is_wanted(id, source) {
                return None;
            }
            let names_files = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
            let text = |value: &OsStr| match names_files {
                true => details.name_of(Path::new(value)),
                false => value.to_string_lossy().into_owned(),
            };
            let values = matches.get_raw(id)?.map(text).collect::<Vec<_>>().join(" ");
            match (arg.get_long(), arg.get_action().takes_values()) {
                (None, _) => Some(values),
                (Some(long), true) => Some(format!("--{long} {values}")),
                (Some(long), false) => (source == ValueSource::CommandLine).then(|| format!("--{long}")),
            }
        };
        command.get_arguments().filter_map(written).collect()
    }

    /// The subcommand, or the one of it that was chosen, such as a model.
    fn innermost(&self) -> (&clap::Command, &ArgMatches) {
        let (mut command, mut matches) = (&self.command, &self.matches);
        while let Some((name, inner)) = matches.subcommand()
            && let Some(chosen) = command.find_subcommand(name)
        {
            (command, matches) = (chosen, inner);
        }
        (command, matches)
    }

    /// What is asked, for the answer as JSON, with the options that have a default. `is_relevant` leaves out options by
    /// their id that mean nothing to it.
    pub(crate) fn asked(&self, is_relevant: impl Fn(&str) -> bool) -> Asked {
        let has_effect = |id: &str| !NEEDS.iter().any(|(option, needed)| *option == id && !self.has(needed));
        let is_wanted = |id: &str, source| match source {
            ValueSource::DefaultValue => is_relevant(id) && has_effect(id),
            _ => true,
        };
        let mut options = self.options(is_wanted, self.answer_output().files.details());
        options.sort();
        let name = self.command.get_name();
        let name = TWO_WORDS.iter().find(|(now, _)| *now == name).map_or(name, |(_, before)| *before);
        Asked { name: name.to_owned(), options }
    }

    /// How to write the answer as JSON.
    pub(crate) fn answer_output(&self) -> AnswerOutput {
        AnswerOutput::given_in(self.innermost().1)
    }

    /// Those of the options that were given, as they are written.
    pub(crate) fn names(&self, ids: &[&str]) -> Vec<String> {
        ids.iter().filter(|id| self.has(id)).map(|id| format!("--{id}")).collect()
    }

    /// When to print colours.
    pub(crate) fn color(&self) -> ColorChoice {
        let has_none = self.matches.try_get_one("no_color").ok().flatten().copied().unwrap_or(false);
        let asked = || self.matches.try_get_one("color").ok().flatten().copied().unwrap_or_default();
        if has_none { ColorChoice::Never } else { asked() }
    }

    /// How to print the run's times, if asked for.
    pub(crate) fn timings(&self) -> Option<TimingsForm> {
        self.matches.try_get_one("timings").ok().flatten().copied()
    }

    /// Notes on options that have no effect without others.
    pub(crate) fn without_effect(&self, subcommand: &str) -> Vec<String> {
        let lost = NEEDS.iter().filter(|(option, needed)| self.has(option) && !self.has(needed));
        let name = |id| long_name(subcommand, id);
        lost.map(|(option, needed)| format!("{} has no effect without {}", name(option), name(needed)))
            .collect()
    }
}

/// An option as written on the command line.
pub(crate) fn long_name(subcommand: &str, id: &str) -> String {
    let command = command_for(Some(subcommand.as_ref()));
    let args = command.find_subcommand(subcommand).into_iter().flat_map(clap::Command::get_arguments);
    let long = args.filter(|arg| arg.get_id() == id).find_map(clap::Arg::get_long).unwrap_or(id);
    format!("--{long}")
}

/// Joins options whose value may be left out, so that clap wants `=` before it, with a value that stands behind them:
/// people write these as they write other values.
fn join_optional_values(arguments: &mut Vec<OsString>) {
    let is_pair = |pair: &[OsString]| match pair[0].to_str() {
        Some("--parity") => TRACE_REFERENCES.iter().any(|(name, _)| pair[1] == *name),
        Some("--color") => COLOR_CHOICES.iter().any(|(name, _)| pair[1] == *name),
        _ => false,
    };
    while let Some(position) = arguments.windows(2).position(is_pair) {
        let value = arguments.remove(position + 1);
        arguments[position].push("=");
        arguments[position].push(value);
    }
}

/// Parses the name of a document with a schema.
fn document_parser() -> impl TypedValueParser<Value = Document> {
    choice(Document::ALL.map(|document| (PossibleValue::new(document.name()), document)).to_vec())
}

/// The command as completion scripts see it: both spellings of every option, and the names that options and arguments
/// take from lists which are not clap's.
pub(crate) fn command_to_complete() -> clap::Command {
    let architectures: Vec<&'static str> =
        perf_models::architectures().map(|architecture| &*architecture.name).collect();
    let mut sheets: Vec<String> =
        answers::known_sheets().into_iter().map(|sheet| sheet.name.into()).collect();
    sheets.sort_unstable();
    sheets.dedup();
    completed(nested(&command()), &architectures, &sheets)
}

fn completed(command: clap::Command, architectures: &[&'static str], sheets: &[String]) -> clap::Command {
    let names = |arg: clap::Arg| match arg.get_id().as_str() {
        "gpu_arch_platform" => arg.value_parser(PossibleValuesParser::new(architectures)),
        // Of `model`; that of `metal` names a chip.
        "arch" if arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&"gpu_arch_platform")) => {
            arg.value_parser(PossibleValuesParser::new(architectures))
        }
        "sheet" => arg.value_parser(PossibleValuesParser::new(sheets)),
        _ => arg,
    };
    let spelled = |arg: clap::Arg| match other_spelling(&arg) {
        Some(spelling) => arg.visible_alias(spelling),
        None => arg,
    };
    let command = command.mut_args(|arg| spelled(names(arg)));
    command.mut_subcommands(|subcommand| completed(subcommand, architectures, sheets))
}

/// The command with those of two words below the command that is their first word, as a shell sees them.
fn nested(command: &clap::Command) -> clap::Command {
    let (two_words, one_word): (Vec<_>, Vec<_>) =
        command.get_subcommands().cloned().partition(|subcommand| subcommand.get_name().contains(' '));
    let whole = clap::Command::new("tracelens").args(command.get_arguments()).subcommands(one_word);
    two_words.into_iter().fold(whole, |whole, subcommand| {
        let name = subcommand.get_name().to_owned();
        let (first, second) = name.split_once(' ').unwrap_or_default();
        whole
            .mut_subcommand(first, |parent| parent.subcommand(subcommand.name(second.to_owned()).alias(None)))
    })
}

/// The command as clap knows it, every option under its own spelling and with `-` and `_` exchanged.
pub(crate) fn command() -> clap::Command {
    command_for(None)
}

/// The same, where the subcommand is known, with no other one: to make all of them ready takes longer than to read a small
/// recording.
fn command_for(called: Option<&OsStr>) -> clap::Command {
    // Reports of recordings alone write a workbook unless something else is asked for.
    let with_optional_workbook = |command: clap::Command| {
        command.mut_arg("output_xlsx_path", |arg| arg.help("Write the tables as a workbook to this file"))
    };
    // Windows are by signposts.
    let metal = |metal: clap::Command| {
        let metal = with_optional_workbook(metal);
        WindowOptions::NAMES.into_iter().fold(metal, |metal, id| metal.mut_arg(id, |arg| arg.hide(true)))
    };
    // Reports judge what they say in any form; the other answers are made for JSON.
    let strict = |command: clap::Command| {
        let has = |id| command.get_arguments().any(|arg| arg.get_id() == id);
        match has("strict") && !has("output_xlsx_path") {
            true => command.mut_arg("strict", |arg| arg.requires(JSON_DOCUMENT)),
            false => command,
        }
    };
    let adjusted = |command: clap::Command| match command.get_name() {
        "metal" => metal(command),
        "ranks" | "critical-path" | "compare" | "diff" => with_optional_workbook(command),
        "report" => recorders::with_all_options(command),
        _ => command,
    };
    let whole = CommandLine::command();
    let grouped = groups(&whole);
    let mut whole = with_two_words(whole);
    let is_called = |command: &clap::Command| {
        called.is_some_and(|called| {
            command.get_name() == called || command.get_all_aliases().any(|alias| alias == called)
        })
    };
    if whole.get_subcommands().any(is_called) {
        whole = whole.mut_subcommands(|command| match is_called(&command) {
            true => command,
            false => clap::Command::new(command.get_name().to_owned()),
        });
    }
    with_short_help(with_both_spellings(
        whole
            .help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{grouped}Options:\n{{options}}{{after-help}}"))
            .mut_subcommands(|command| match called.is_none() || is_called(&command) {
                true => strict(adjusted(command)),
                false => command,
            }),
    ))
}

/// Options that `-h` shows, by their ids; a command with few options shows all.
const FREQUENT: &[&str] = &[
    "named",
    "output",
    "out",
    "output_dir",
    "json",
    "html",
    "verbose",
    "quiet",
    "steady",
    "iterations",
    "waits",
    "memory",
    "gpu_arch_platform",
    "extension_file",
    "names",
    "same",
    "steps",
    "fail_on",
    "merged_tree",
    "capture_folder",
    "annotation",
    "without",
    "scale",
    "baseline",
    "candidate",
    "config",
    "init",
    "slower_by",
    "metrics",
    "markdown",
    "junit",
    "rules",
    "kept",
    "name",
    "parents",
    "depth",
    "min_time",
    "uid",
    "all",
    "fields",
    "ranks",
    "filter",
    "num_steps",
    "find_steady_state",
    "divide_phases",
    "representatives",
    "store_single_iteration",
    "help",
];
/// Options beside which `-h` leaves out those that are not [`FREQUENT`].
const FEW: usize = 14;

/// Gives each command a short help: the options that people use, and two examples.
fn with_short_help(command: clap::Command) -> clap::Command {
    let is_shown = |arg: &clap::Arg| FREQUENT.contains(&arg.get_id().as_str()) || arg.is_positional();
    let command = command.mut_subcommands(with_short_help);
    if command.get_arguments().filter(|arg| !arg.is_hide_set()).count() <= FEW {
        return command;
    }
    let whole = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let is_example = |line: &&str| line.starts_with("  tracelens");
    let two: Vec<&str> = whole.lines().filter(is_example).take(2).collect();
    let all = format!("`tracelens {} --help` lists all options.", command.get_name());
    let also = whole.find(SEE_ALSO).map_or(String::new(), |at| format!("\n\n{}", &whole[at..]));
    let short = match two[..] {
        [] => all + &also,
        _ => format!("Examples:\n{}\n\n{all}{also}", two.join("\n")),
    };
    let command = command.mut_args(|arg| if is_shown(&arg) { arg } else { arg.hide_short_help(true) });
    command.after_help(short).after_long_help(whole)
}

/// What the help lists, by what people want. The reports of single recorders are spellings of `report`, and not listed.
const GROUPS: &[(&str, &[&str])] = &[
    ("Look", &["report", "advise", "why", "table", "tree", "doctor", "inference"]),
    ("Compare", &["compare", "diff", "gate"]),
    ("Many ranks", &["ranks", "fuse"]),
    ("Inside a step", &["critical-path", "split", "replay"]),
    ("Without a trace", &["model", "archs", "extension"]),
    ("For programs", &["mcp", "info", "schema", "completions", "man"]),
];

/// Commands of two words, with the spelling that each had before. That goes on working, and is the command's name in JSON.
const TWO_WORDS: &[(&str, &str)] = &[
    ("gate save", "baseline"),
    ("ranks collect", "map"),
    ("ranks pack", "pack"),
    ("split match", "match"),
    ("info columns", "columns"),
    ("info skill", "skill"),
];

/// The help of a subcommand.
pub(crate) fn help(subcommand: &str) -> String {
    let mut command = command();
    command.build();
    let subcommand = command.find_subcommand_mut(subcommand);
    subcommand.map(|subcommand| subcommand.render_help().to_string()).unwrap_or_default()
}

/// The list of subcommands in their groups.
fn groups(command: &clap::Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        text.push_str(&listed(command, names.iter().copied()));
        text.push('\n');
    }
    text
}

/// A line for each of these subcommands.
fn listed<'n>(command: &clap::Command, names: impl Iterator<Item = &'n str>) -> String {
    let known = names.filter_map(|name| command.find_subcommand(name));
    let line = |subcommand: &clap::Command| {
        let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
        format!("  {:<14} {about}\n", subcommand.get_name())
    };
    known.map(line).collect()
}

/// Begins the list of commands of two words in the help of the command that is their first word.
const SEE_ALSO: &str = "See also:";

/// Gives commands of two words their other spellings, and lists them in the help of the command that is their first word.
fn with_two_words(mut command: clap::Command) -> clap::Command {
    let mut below: Vec<(&str, String)> = Vec::new();
    for (name, before) in TWO_WORDS {
        let (first, _) = name.split_once(' ').unwrap_or_default();
        let line = listed(&command, std::iter::once(*name));
        match below.last_mut() {
            Some((last, lines)) if *last == first => lines.push_str(&line),
            _ => below.push((first, line)),
        }
        if command.find_subcommand(name).is_some() {
            command = command.mut_subcommand(name, |command| {
                command.aliases([before.to_string(), name.replace(' ', "-")])
            });
        }
    }
    for (first, lines) in below {
        command = command.mut_subcommand(first, |command| {
            let examples = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
            command.after_help(format!("{examples}{SEE_ALSO}\n{lines}"))
        });
    }
    command
}

/// Where the command stands among the arguments: behind options.
fn place_of_command(arguments: &[OsString]) -> Option<usize> {
    let is_word = |argument: &OsString| !argument.to_string_lossy().starts_with('-');
    arguments.iter().skip(1).position(is_word).map(|at| at + 1)
}

/// Joins the words of a command that has two.
fn join_two_words(arguments: &mut Vec<OsString>) {
    let Some(mut at) = place_of_command(arguments) else { return };
    at += usize::from(arguments[at] == "help");
    if let [first, second, ..] = &arguments[at..] {
        let name = format!("{} {}", first.to_string_lossy(), second.to_string_lossy());
        if TWO_WORDS.iter().any(|(known, _)| *known == name) {
            arguments.splice(at..at + 2, [OsString::from(name)]);
        }
    }
}

/// The earlier spelling of a command, and what it is called now, where the arguments have such a spelling.
pub(crate) fn renamed_in(arguments: &[OsString]) -> Option<(&OsStr, &'static str)> {
    let called = arguments.get(place_of_command(arguments)?)?;
    let (now, _) = TWO_WORDS.iter().find(|(_, before)| called == *before)?;
    Some((called, now))
}

fn with_both_spellings(command: clap::Command) -> clap::Command {
    let exchanged = |arg: clap::Arg| match other_spelling(&arg) {
        Some(spelling) => arg.alias(spelling),
        None => arg,
    };
    command.mut_args(exchanged).mut_subcommands(with_both_spellings)
}

/// The name of an option with `-` and `_` exchanged, where it has any.
fn other_spelling(arg: &clap::Arg) -> Option<String> {
    match arg.get_long()? {
        long if long.contains('_') => Some(long.replace('_', "-")),
        long if long.contains('-') => Some(long.replace('-', "_")),
        _ => None,
    }
}

/// What is printed in place of an answer: help, the version, or what is wrong with the arguments.
#[derive(Debug)]
pub(crate) struct Stop {
    error: clap::Error,
    command: Option<String>,
}

impl Stop {
    /// Whether the arguments are wrong, and it is not help or the version that was asked for.
    pub(crate) fn is_wrong_usage(&self) -> bool {
        self.error.use_stderr()
    }

    /// The text without colours.
    pub(crate) fn text(&self) -> String {
        self.error.render().to_string()
    }

    /// The subcommand, if the arguments name one.
    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// Prints it, with colours where they are wanted.
    pub(crate) fn print(&self) -> io::Result<()> {
        self.error.print()
    }

    pub(crate) fn exit_code(&self) -> u8 {
        if self.is_wrong_usage() { 2 } else { 0 }
    }
}

/// Parses the arguments, the program's name first.
///
/// # Errors
///
/// On help, version and wrong usage.
pub(crate) fn parse(mut arguments: Vec<OsString>) -> Result<(Command, Given), Stop> {
    join_optional_values(&mut arguments);
    // Help and errors of clap are printed before its options are known.
    let is_choice = |(name, _): &&(&str, ColorChoice)| {
        arguments.iter().any(|argument| argument.to_str() == Some(&format!("--color={name}")))
    };
    let color = COLOR_CHOICES.iter().find(is_choice).map_or(ColorChoice::Auto, |(_, choice)| *choice);
    let name = arguments.first().map(Path::new).and_then(Path::file_stem);
    let tool = name.and_then(ReferenceTool::from_name);
    let as_reference_tool = tool.is_some();
    match &tool {
        Some(tool) => arguments.insert(1, tool.subcommand.into()),
        None => join_two_words(&mut arguments),
    }
    let called = place_of_command(&arguments).map(|at| arguments[at].as_os_str());
    let is_version = matches!(&arguments[..], [_, only] if only == "--version" || only == "-V");
    let mut command = match is_version {
        // To say it needs no subcommand.
        true => clap::Command::new("tracelens").version(env!("CARGO_PKG_VERSION")),
        false => command_for(called),
    };
    command = command.color(color);
    if let Some(tool) = tool {
        command = command.mut_subcommand(tool.subcommand, |subcommand| tool.take_place(subcommand));
    }
    let parsed = command.try_get_matches_from_mut(&arguments).and_then(|matches| {
        let asked = CommandLine::from_arg_matches(&matches)?.command;
        let given = matches
            .subcommand()
            .and_then(|(name, matches)| {
                let (command, matches) = (command.find_subcommand(name)?.clone(), matches.clone());
                Some(Given { command, matches, as_reference_tool })
            })
            .unwrap_or_default();
        Ok((asked, given))
    });
    parsed.map_err(|error| {
        let command = arguments.get(1).and_then(|name| name.to_str()).filter(|name| !name.starts_with('-'));
        Stop { error: with_tip(error, &arguments), command: command.map(str::to_owned) }
    })
}

/// A trace where the subcommand belongs, and more files than a subcommand reads, as a pattern gives them.
fn with_tip(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let first = arguments.get(1);
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => first
            .map(Path::new)
            .filter(|path| path.is_file())
            .map(|trace| format!("for a report on this file, use `tracelens report {}`", trace.display())),
        ErrorKind::UnknownArgument => {
            first.and_then(|subcommand| too_many_files(&error, subcommand.to_str()?))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Subcommands that read so many recordings and no more.
const READ: [(&str, &str); 3] = [
    ("tree", "one recording: pass one, or run it once for each recording"),
    ("split", "one trace: pass one, or run it once for each trace"),
    ("split match", "two traces, A and B: pass two"),
];

/// What to do where a subcommand was given more files than it reads.
fn too_many_files(error: &clap::Error, subcommand: &str) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    let (_, reads) = READ.iter().find(|(name, _)| *name == subcommand && !argument.starts_with('-'))?;
    Some(format!("`tracelens {subcommand}` reads {reads}"))
}

#[cfg(test)]
mod tests {
    use trace2tree::LinkBy;

    use super::*;

    fn try_parse(arguments: &[&str]) -> Result<Command, clap::Error> {
        let matches = command().try_get_matches_from(std::iter::once(&"tracelens").chain(arguments))?;
        CommandLine::from_arg_matches(&matches).map(|line| line.command)
    }

    #[test]
    fn the_command_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_help_lists_all_commands_but_other_spellings_of_report() {
        let command = command();
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let left_out: Vec<&str> = names.iter().copied().filter(|name| !listed.contains(name)).collect();
        let of_two_words: Vec<&str> = TWO_WORDS.iter().map(|(name, _)| *name).collect();
        let is_report = |name: &&str| ["pytorch", "jax", "nsys", "rocprof", "metal"].contains(name);
        let rest: Vec<&str> =
            left_out.into_iter().filter(|name| !is_report(name) && !of_two_words.contains(name)).collect();
        assert!(rest.is_empty(), "{rest:?}");
        assert!(cfg!(not(feature = "mcp")) || listed.iter().all(|name| names.contains(name)));
    }

    #[test]
    fn the_short_help_has_twelve_options_and_two_examples() {
        for mut subcommand in command().get_subcommands().cloned() {
            let help = subcommand.render_help().to_string();
            let options = help.lines().filter(|line| line.trim_start().starts_with('-')).count();
            let examples = help.lines().filter(|line| line.starts_with("  tracelens ")).count();
            // -h and --color are on every command.
            assert!(options <= FEW + 2, "{options} options: {help}");
            let has_more = subcommand.get_arguments().any(clap::Arg::is_hide_short_help_set);
            assert!(!has_more || examples <= 2 && help.contains("lists all options"), "{help}");
        }
    }

    #[test]
    fn commands_with_json_have_all_options_of_it() {
        fn check(command: &clap::Command, names: &mut Vec<String>) {
            let has = |id: &&str| command.get_arguments().any(|arg| arg.get_id() == id);
            if has(&"json") {
                let lacking: Vec<&str> =
                    ["stamp", "no_hash", "full_paths", "strict"].into_iter().filter(|id| !has(id)).collect();
                match (command.get_name(), &lacking[..]) {
                    (_, []) => {}
                    // It reads no recordings.
                    ("ranks pack", ["strict"]) => {}
                    (name, lacking) => {
                        assert_eq!(lacking, ["no_hash", "full_paths", "strict"], "{name}");
                        names.push(name.to_owned());
                    }
                }
            }
            command.get_subcommands().for_each(|command| check(command, names));
        }
        let mut of_no_file = Vec::new();
        check(&command(), &mut of_no_file);
        let models = command().find_subcommand("model").map_or(0, |model| model.get_subcommands().count());
        assert_eq!(of_no_file.len(), models + 3, "archs, columns, extension and the models: {of_no_file:?}");
    }

    #[test]
    fn every_option_is_understood_in_both_spellings() {
        for option in ["--output_csvs_dir", "--output-csvs-dir"] {
            let Ok(Command::Pytorch(arguments)) = try_parse(&["pytorch", "t.json", option, "out"]) else {
                panic!("{option}")
            };
            let destinations = arguments.output.tables.destinations();
            let named: Vec<_> = destinations.iter().map(|(writer, path)| (writer.name(), path)).collect();
            assert_eq!(named, [("csv", &"out".into())]);
        }
        for option in ["--link-by", "--link_by"] {
            let Ok(Command::Pytorch(arguments)) = try_parse(&["pytorch", "t.json", option, "flow"]) else {
                panic!("{option}")
            };
            assert_eq!(arguments.reading.link_by, LinkBy::Flow);
        }
    }

    #[test]
    fn the_trace_is_named_once() {
        let trace = |arguments: &[&str]| match try_parse(arguments) {
            Ok(Command::Pytorch(arguments)) => Some(arguments.recordings.paths().to_vec()),
            _ => None,
        };
        assert_eq!(trace(&["pytorch", "t.json"]), Some(vec!["t.json".into()]));
        assert_eq!(trace(&["pytorch", "--profile_json_path", "t.json"]), Some(vec!["t.json".into()]));
        assert_eq!(trace(&["pytorch", "t.json", "--profile-json-path", "u.json"]), None);
        assert_eq!(trace(&["pytorch"]), None);
    }

    #[test]
    fn without_a_flag_an_option_has_the_default_of_its_library() {
        for name in ["pytorch", "jax", "nsys", "rocprof", "metal", "ranks"] {
            let (options, default) = match try_parse(&[name, "t"]) {
                Ok(Command::Pytorch(given)) => (
                    format!("{:?}", given.analysis.options),
                    format!("{:?}", tree_perf::AnalysisOptions::default()),
                ),
                Ok(Command::Jax(given)) => (
                    format!("{:?}", given.analysis.options),
                    format!("{:?}", xla_perf::JaxOptions::default()),
                ),
                Ok(Command::Nsys(given)) => (
                    format!("{:?}", given.recorder.sheets),
                    format!("{:?}", nsys_perf::NsysOptions::default()),
                ),
                Ok(Command::Rocprof(given)) => {
                    (format!("{:?}", given.options), format!("{:?}", rocprof_perf::RocprofOptions::default()))
                }
                Ok(Command::Metal(given)) => {
                    (format!("{:?}", given.options), format!("{:?}", metal_perf::MetalOptions::default()))
                }
                Ok(Command::Ranks(given)) => (
                    format!("{:?}", given.analysis.options),
                    format!("{:?}", multi_rank::JobOptions::default()),
                ),
                _ => panic!("{name}"),
            };
            assert_eq!(options, default, "{name}");
        }
    }

    #[test]
    fn thresholds_are_checked() {
        for (value, valid) in [("5", true), ("2.5", true), ("-1", false), ("NaN", false), ("x", false)] {
            let argument = format!("--micro_idle_thresh_us={value}");
            assert_eq!(try_parse(&["report", "t", &argument]).is_ok(), valid, "{value}");
        }
        assert!(try_parse(&["report", "t", "--short_kernel_histogram_bins", "0"]).is_err());
    }
}
