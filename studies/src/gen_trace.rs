//! Synthetic recordings of any length: Kineto's traces of training a transformer on one of several devices, or of
//! an inference engine's steps; runs recorded by `rocprofv3` ([`rocprof`]); operations listed by tt-metal ([`metal`]).
//!
//! Of Kineto's traces, a *plan* says what the program does (`forward`, `backward`, `step`, `serving`, `diffusion`,
//! `recommender`, with the names of `kernels` and `flavour` and the sizes of `model`), the *player* gives it times and
//! numbers, a *segment* is what was recorded in one stretch of it and writes itself. A program (`training`, `serving`,
//! `diffusion`, `recommender`) plays one plan after the other and says where its iterations begin and end: the
//! [`Truth`] about the trace. Memory is that of one segment, whatever the length of the trace.

mod allocator;
mod backward;
mod diffusion;
mod document;
mod flavour;
mod forward;
mod kernels;
mod kineto_pftrace;
mod metal;
mod model;
mod nsys;
mod placed;
mod plan;
mod player;
mod protobuf;
mod recommender;
mod recording;
mod requests;
mod rocprof;
mod segment;
mod serving;
mod signature;
mod step;
#[cfg(test)]
mod tests;
mod training;
mod truth;
pub(crate) mod tuned;

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use testdata::{json, random};

use crate::{Outcome, StudyResult};
pub(crate) use flavour::Flavour;
use json::Layout;
pub(crate) use truth::{Inserted, Stretch, TrueIteration, Truth};

/// Size and kind of the trace.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Events to write: exactly so many, at least 100; the program is cut there
    #[arg(long)]
    events: Option<u64>,
    /// Steps, or images, of a Kineto trace: the program is recorded to its end [default: a few, by the seed]
    #[arg(long, conflicts_with = "events", value_parser = clap::value_parser!(u64).range(1..))]
    steps: Option<u64>,
    /// Whose trace to imitate; rocprof and metal have only one
    #[arg(long, value_enum)]
    flavour: Option<Flavour>,
    /// What the recorded program does
    #[arg(long, value_enum, default_value_t)]
    workload: Recorded,
    /// Seed of the random numbers: the same seed gives the same bytes
    #[arg(long)]
    seed: u64,
    /// Format of a rocprof run [default: json]
    #[arg(long, value_enum)]
    format: Option<rocprof::Format>,
    /// Writes a Kineto trace in other forms, too, into the directory --out: as pftrace, run.json.gz, run.k1.pftrace.gz,
    /// run.k2.pftrace and run.k3.pftrace, with device times as these have them; as nsys, run.json.gz and run.sqlite, or
    /// the database alone into a file --out whose name ends in .sqlite
    #[arg(long = "as", value_enum, requires = "out", conflicts_with = "format")]
    also: Option<AlsoAs>,
    /// File to write, compressed when its name ends in .gz; of CSV, the directory [default: standard output]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Whether Python's frames are recorded [default: true]
    #[arg(long, action = clap::ArgAction::Set)]
    python_frames: Option<bool>,
    /// No line breaks and no blanks between the fields of events, instead of Kineto's layout
    #[arg(long)]
    compact: bool,
    /// Leaves out all marks of a Kineto trace: steps, annotations, and their device sides
    #[arg(long)]
    unmarked: bool,
    /// What to plant in a Kineto trace, several with commas between them
    #[arg(long, value_enum, value_delimiter = ',')]
    plant: Vec<Plant>,
    /// File for what a Kineto trace shows, as JSON: host span, level, device time and phase of each iteration
    #[arg(long)]
    truth: Option<PathBuf>,
}

/// What a trace can have beside the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Plant {
    /// Samples of the device's power and clock, a millisecond apart.
    Counters,
    /// Each step keeps a block of 4 MiB for ever.
    Leak,
    /// One in forty allocations and deallocations is not in the trace.
    LostMemoryEvents,
}

/// What is planted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Plants {
    counters: bool,
    leak: bool,
    loses_memory_events: bool,
}

impl Plants {
    fn from_asked(asked: &[Plant]) -> Self {
        Plants {
            counters: asked.contains(&Plant::Counters),
            leak: asked.contains(&Plant::Leak),
            loses_memory_events: asked.contains(&Plant::LostMemoryEvents),
        }
    }
}

/// Another form of Kineto's traces than JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum AlsoAs {
    /// Perfetto traces, as recorders of July, August and September 2026 write them.
    Pftrace,
    /// A database as Nsight Systems exports it.
    Nsys,
}

/// What was recorded, and by which profiler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Recorded {
    /// Training of a transformer.
    #[default]
    Training,
    /// The same with several backward passes for each update of the parameters.
    TrainingAccumulation,
    /// The same with an evaluation after every few steps.
    TrainingEvaluation,
    /// The same with a pause after every few steps, in which the parameters are saved.
    TrainingCheckpoint,
    /// The same with a first step that loads data and sets everything up.
    TrainingSlowStart,
    /// Training of a recommender: tables of embeddings on several ranks, all-to-all, perceptrons.
    Recommender,
    /// Images by diffusion: several denoising steps for each.
    Diffusion,
    /// Answers to requests: an inference engine's annotated steps of prefill, decode by captured graphs, and both.
    Serving,
    /// The same with a constant number of requests, each answered one replaced by another.
    ServingSteady,
    /// The same with agents: prefixes that grow, pauses for tools, batches of changing size.
    ServingAgentic,
    /// Training on two GPUs, recorded by rocprofv3 in one of its formats.
    Rocprof,
    /// A decoder on four Tenstorrent chips, as tt-metal's CSV of operations.
    Metal,
}

impl Recorded {
    /// What Kineto has recorded; `None` of another profiler's.
    fn kineto_workload(self) -> Option<Workload> {
        match self {
            Recorded::Training => Some(Workload::Training),
            Recorded::TrainingAccumulation => Some(Workload::TrainingAccumulation),
            Recorded::TrainingEvaluation => Some(Workload::TrainingEvaluation),
            Recorded::TrainingCheckpoint => Some(Workload::TrainingCheckpoint),
            Recorded::TrainingSlowStart => Some(Workload::TrainingSlowStart),
            Recorded::Recommender => Some(Workload::Recommender),
            Recorded::Diffusion => Some(Workload::Diffusion),
            Recorded::Serving => Some(Workload::Serving),
            Recorded::ServingSteady => Some(Workload::ServingSteady),
            Recorded::ServingAgentic => Some(Workload::ServingAgentic),
            Recorded::Rocprof | Recorded::Metal => None,
        }
    }
}

/// What a program recorded by Kineto does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Trains a transformer.
    Training,
    TrainingAccumulation,
    TrainingEvaluation,
    TrainingCheckpoint,
    TrainingSlowStart,
    /// Trains a recommender.
    Recommender,
    /// Makes images.
    Diffusion,
    /// Answers requests in rounds that are alike.
    Serving,
    ServingSteady,
    ServingAgentic,
}

impl Workload {
    /// All of them, in the order of the help.
    pub(crate) const ALL: [Workload; 10] = [
        Workload::Training,
        Workload::TrainingAccumulation,
        Workload::TrainingEvaluation,
        Workload::TrainingCheckpoint,
        Workload::TrainingSlowStart,
        Workload::Recommender,
        Workload::Diffusion,
        Workload::Serving,
        Workload::ServingSteady,
        Workload::ServingAgentic,
    ];

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Workload::Training => "training",
            Workload::TrainingAccumulation => "training-accumulation",
            Workload::TrainingEvaluation => "training-evaluation",
            Workload::TrainingCheckpoint => "training-checkpoint",
            Workload::TrainingSlowStart => "training-slow-start",
            Workload::Recommender => "recommender",
            Workload::Diffusion => "diffusion",
            Workload::Serving => "serving",
            Workload::ServingSteady => "serving-steady",
            Workload::ServingAgentic => "serving-agentic",
        }
    }
}

/// Where a trace ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// After exactly so many events, wherever the program is then.
    Events(u64),
    /// After so many steps, or as many as the seed says.
    Steps(Option<u64>),
}

/// A program and the seed of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) workload: Workload,
    pub(crate) seed: u64,
}

impl Run {
    /// Flavours and frames take turns, so that a few seeds show all four combinations.
    fn flavour(self) -> Flavour {
        if self.seed.is_multiple_of(2) { Flavour::Cuda } else { Flavour::Rocm }
    }

    fn has_python_frames(self) -> bool {
        (self.seed / 2).is_multiple_of(2)
    }

    /// The command that writes the same trace.
    pub(crate) fn command(self, is_marked: bool) -> String {
        let flavour = match self.flavour() {
            Flavour::Cuda => "cuda",
            Flavour::Rocm => "rocm",
        };
        let unmarked = if is_marked { "" } else { " --unmarked" };
        format!(
            "cargo study gen-trace --workload {} --flavour {flavour} --python-frames {} --compact{unmarked} --seed {}",
            self.workload.name(),
            self.has_python_frames(),
            self.seed
        )
    }
}

/// What a trace is made from.
#[derive(Debug, Clone, Copy)]
struct Options {
    length: Length,
    flavour: Flavour,
    workload: Workload,
    seed: u64,
    python_frames: bool,
    layout: Layout,
    is_marked: bool,
    plants: Plants,
}

/// Writes the trace.
pub(crate) fn run(arguments: &Arguments) -> StudyResult {
    let Some(workload) = arguments.workload.kineto_workload() else { return run_other(arguments) };
    if arguments.format.is_some() {
        return Err("--format is for --workload rocprof: other traces are Kineto's".into());
    }
    let options = Options {
        length: arguments.events.map_or(Length::Steps(arguments.steps), Length::Events),
        flavour: arguments.flavour.ok_or("--flavour says whose trace to imitate: cuda or rocm")?,
        workload,
        seed: arguments.seed,
        python_frames: arguments.python_frames.unwrap_or(true),
        layout: if arguments.compact { Layout::Compact } else { Layout::Lines },
        is_marked: !arguments.unmarked,
        plants: Plants::from_asked(&arguments.plant),
    };
    if let (Some(also), Some(out)) = (arguments.also, &arguments.out) {
        if options.flavour != Flavour::Cuda || arguments.truth.is_some() || !arguments.plant.is_empty() {
            return Err("--as is for --flavour cuda, and without --truth and --plant".into());
        }
        let written = match also {
            AlsoAs::Pftrace => write_all_forms(options, out),
            AlsoAs::Nsys => write_nsys(options, out),
        };
        return written.map(|()| Outcome::Good);
    }
    let truth = match &arguments.out {
        None => generate(options, &mut io::stdout().lock())?,
        Some(path) => write_file(path, |out| generate(options, out))?,
    };
    if let Some(path) = &arguments.truth {
        write_file(path, |out| Ok(truth.write(workload.name(), options.seed, out)?))?;
    }
    Ok(Outcome::Good)
}

/// Writes the trace of a whole run, which the seed chooses, and says what happened in it.
pub(crate) fn write_run(run: Run, is_marked: bool, out: &mut dyn Write) -> Result<Truth, Box<dyn Error>> {
    let Run { workload, seed } = run;
    let (length, layout) = (Length::Steps(None), Layout::Compact);
    let (flavour, python_frames) = (run.flavour(), run.has_python_frames());
    let plants = Plants::default();
    generate(Options { length, flavour, workload, seed, python_frames, layout, is_marked, plants }, out)
}

/// Writes a trace as JSON and in the forms of Perfetto traces into a directory.
fn write_all_forms(options: Options, folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut document = Vec::new();
    generate(options, &mut document)?;
    let run = kineto_pftrace::Run::new(&document)?;
    std::fs::create_dir_all(folder)?;
    write_file(&folder.join("run.json.gz"), |out| Ok(run.write_json(out)?))?;
    for form in kineto_pftrace::Form::ALL {
        write_file(&folder.join(form.file_name()), |out| Ok(run.write(form, out)?))?;
    }
    Ok(())
}

/// Writes a run as an export of Nsight Systems: into a file, or into a directory beside the JSON of the same run.
fn write_nsys(options: Options, out: &Path) -> Result<(), Box<dyn Error>> {
    if out.extension().is_some_and(|extension| extension == "sqlite") {
        let mut export = nsys::Database::create(out)?;
        generate_with(options, &mut io::sink(), Some(&mut export))?;
        return Ok(export.finish()?);
    }
    std::fs::create_dir_all(out)?;
    let mut export = nsys::Database::create(&out.join("run.sqlite"))?;
    write_file(&out.join("run.json.gz"), |json| generate_with(options, json, Some(&mut export)))?;
    Ok(export.finish()?)
}

/// Writes what another profiler than Kineto recorded.
fn run_other(arguments: &Arguments) -> StudyResult {
    let kineto_options = [
        ("--flavour", arguments.flavour.is_some()),
        ("--python-frames", arguments.python_frames.is_some()),
        ("--compact", arguments.compact),
        ("--steps", arguments.steps.is_some()),
        ("--unmarked", arguments.unmarked),
        ("--plant", !arguments.plant.is_empty()),
        ("--truth", arguments.truth.is_some()),
        ("--as", arguments.also.is_some()),
    ];
    let is_metal = arguments.workload == Recorded::Metal;
    if let Some((option, _)) = kineto_options.into_iter().find(|(_, given)| *given) {
        let workload = if is_metal { "metal" } else { "rocprof" };
        return Err(format!("{option} is for Kineto's traces, not for --workload {workload}").into());
    }
    let events = arguments.events.ok_or("--events says how long a recording of another profiler is")?;
    let seed = arguments.seed;
    if is_metal {
        if arguments.format.is_some() {
            return Err("--format is for --workload rocprof: operations of tt-metal are CSV".into());
        }
        match &arguments.out {
            None => metal::write(events, seed, &mut io::stdout().lock())?,
            Some(path) => write_file(path, |out| metal::write(events, seed, out))?,
        }
        return Ok(Outcome::Good);
    }
    let format = arguments.format.unwrap_or(rocprof::Format::Json);
    match &arguments.out {
        None => rocprof::write(format, events, seed, &mut io::stdout().lock())?,
        Some(path) => rocprof::write_to(path, format, events, seed)?,
    }
    Ok(Outcome::Good)
}

/// Writes a file, compressed when its name ends in `.gz`.
fn write_file<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Box<dyn Error>>,
) -> Result<T, Box<dyn Error>> {
    let named = |error: io::Error| format!("{}: {error}", path.display());
    let mut file = File::create(path).map_err(named)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        // No time and no name in the header: the same trace is the same file.
        let mut zip = GzBuilder::new().mtime(0).write(file, Compression::default());
        let written = write(&mut zip)?;
        zip.finish().and_then(|mut file| file.flush()).map_err(named)?;
        Ok(written)
    } else {
        write(&mut file)
    }
}

/// Writes one trace and says what happened in it.
fn generate(options: Options, out: &mut dyn Write) -> Result<Truth, Box<dyn Error>> {
    generate_with(options, out, None)
}

/// Writes one trace, and the same run as an export of Nsight Systems.
fn generate_with(
    options: Options,
    out: &mut dyn Write,
    export: Option<&mut nsys::Database>,
) -> Result<Truth, Box<dyn Error>> {
    if matches!(options.length, Length::Events(events) if events < recording::FEWEST_EVENTS) {
        return Err(format!("a trace has at least {} events", recording::FEWEST_EVENTS).into());
    }
    recording::record(options, out, export)
        .map_err(|error| format!("the trace cannot be written: {error}").into())
}
