//! Synthetic recordings of any length: Kineto's traces of training a transformer on one of several devices, or of
//! an inference engine's steps; runs recorded by `rocprofv3` ([`rocprof`]); operations listed by tt-metal ([`metal`]).
//!
//! Of Kineto's traces, a *plan* says what the program does (`forward`, `backward`, `step`, `serving`, with the names of
//! `kernels` and `flavour` and the sizes of `model`), the *player* gives it times and numbers, a
//! *segment* is what was recorded in one stretch of it and writes itself. Memory is that of one
//! segment, whatever the length of the trace.

mod backward;
mod document;
mod flavour;
mod forward;
mod json;
mod kernels;
mod metal;
mod model;
mod plan;
mod player;
mod random;
mod recording;
mod rocprof;
mod segment;
mod serving;
mod signature;
mod step;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};

use crate::{ChoreResult, Outcome};
use flavour::Flavour;
use json::Layout;

/// Size and kind of the trace.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Events to write: exactly so many, at least 100
    #[arg(long)]
    events: u64,
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
    /// File to write, compressed when its name ends in .gz; of CSV, the directory [default: standard output]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Whether Python's frames are recorded [default: true]
    #[arg(long, action = clap::ArgAction::Set)]
    python_frames: Option<bool>,
    /// No line breaks and no blanks between the fields of events, instead of Kineto's layout
    #[arg(long)]
    compact: bool,
}

/// What was recorded, and by which profiler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Recorded {
    /// Training of a transformer.
    #[default]
    Training,
    /// Answers to requests: an inference engine's annotated steps of prefill, decode by captured graphs, and both.
    Serving,
    /// Training on two GPUs, recorded by rocprofv3 in one of its formats.
    Rocprof,
    /// A decoder on four Tenstorrent chips, as tt-metal's CSV of operations.
    Metal,
}

impl Recorded {
    /// What Kineto has recorded; `None` of another profiler's.
    fn of_kineto(self) -> Option<Workload> {
        match self {
            Recorded::Training => Some(Workload::Training),
            Recorded::Serving => Some(Workload::Serving),
            Recorded::Rocprof | Recorded::Metal => None,
        }
    }
}

/// What a program recorded by Kineto does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Trains a transformer.
    Training,
    /// Answers requests.
    Serving,
}

/// What a trace is made from.
#[derive(Debug, Clone, Copy)]
struct Options {
    events: u64,
    flavour: Flavour,
    workload: Workload,
    seed: u64,
    python_frames: bool,
    layout: Layout,
}

/// Writes the trace.
pub(crate) fn run(arguments: &Arguments) -> ChoreResult {
    let Some(workload) = arguments.workload.of_kineto() else { return run_other(arguments) };
    if arguments.format.is_some() {
        return Err("--format is for --workload rocprof: other traces are Kineto's".into());
    }
    let options = Options {
        events: arguments.events,
        flavour: arguments.flavour.ok_or("--flavour says whose trace to imitate: cuda or rocm")?,
        workload,
        seed: arguments.seed,
        python_frames: arguments.python_frames.unwrap_or(true),
        layout: if arguments.compact { Layout::Compact } else { Layout::Lines },
    };
    match &arguments.out {
        None => generate(options, &mut io::stdout().lock())?,
        Some(path) => write_file(path, |out| generate(options, out))?,
    }
    Ok(Outcome::Good)
}

/// Writes a trace of training on CUDA, of which only size and random numbers are chosen.
pub(crate) fn write_training(path: &Path, events: u64, seed: u64) -> Result<(), Box<dyn Error>> {
    let (flavour, workload, layout) = (Flavour::Cuda, Workload::Training, Layout::Lines);
    let options = Options { events, flavour, workload, seed, python_frames: true, layout };
    write_file(path, |out| generate(options, out))
}

/// Writes what another profiler than Kineto recorded.
fn run_other(arguments: &Arguments) -> ChoreResult {
    let of_kineto = [
        ("--flavour", arguments.flavour.is_some()),
        ("--python-frames", arguments.python_frames.is_some()),
        ("--compact", arguments.compact),
    ];
    let is_metal = arguments.workload == Recorded::Metal;
    if let Some((option, _)) = of_kineto.into_iter().find(|(_, given)| *given) {
        let workload = if is_metal { "metal" } else { "rocprof" };
        return Err(format!("{option} is for Kineto's traces, not for --workload {workload}").into());
    }
    let (events, seed) = (arguments.events, arguments.seed);
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
fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let named = |error: io::Error| format!("{}: {error}", path.display());
    let mut file = File::create(path).map_err(named)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        // No time and no name in the header: the same trace is the same file.
        let mut zip = GzBuilder::new().mtime(0).write(file, Compression::default());
        write(&mut zip)?;
        zip.finish().and_then(|mut file| file.flush()).map_err(named)?;
    } else {
        write(&mut file)?;
    }
    Ok(())
}

/// Writes one trace, exactly `options.events` events long.
fn generate(options: Options, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    if options.events < recording::FEWEST_EVENTS {
        return Err(format!("a trace has at least {} events", recording::FEWEST_EVENTS).into());
    }
    recording::record(options, out).map_err(|error| format!("the trace cannot be written: {error}").into())
}
