//! Synthetic Kineto traces: training of a transformer on one of several devices, or steps of an inference engine,
//! of any length.
//!
//! A *plan* says what the program does (`forward`, `backward`, `step`, `serving`, with the names of
//! `kernels` and `flavour` and the sizes of `model`), the *player* gives it times and numbers, a
//! *segment* is what was recorded in one stretch of it and writes itself. Memory is that of one
//! segment, whatever the length of the trace.

mod backward;
mod document;
mod flavour;
mod forward;
mod json;
mod kernels;
mod model;
mod plan;
mod player;
mod random;
mod recording;
mod segment;
mod serving;
mod signature;
mod step;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

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
    /// Whose trace to imitate
    #[arg(long, value_enum)]
    flavour: Flavour,
    /// What the recorded program does
    #[arg(long, value_enum, default_value_t)]
    workload: Workload,
    /// Seed of the random numbers: the same seed gives the same bytes
    #[arg(long)]
    seed: u64,
    /// File to write, compressed when its name ends in .gz [default: standard output]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Whether Python's frames are recorded
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    python_frames: bool,
    /// No line breaks and no blanks between the fields of events, instead of Kineto's layout
    #[arg(long)]
    compact: bool,
}

/// What a recorded program does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Workload {
    /// Trains a transformer.
    #[default]
    Training,
    /// Answers requests: an inference engine's annotated steps of prefill, decode by captured graphs, and both.
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
    let options = Options {
        events: arguments.events,
        flavour: arguments.flavour,
        workload: arguments.workload,
        seed: arguments.seed,
        python_frames: arguments.python_frames,
        layout: if arguments.compact { Layout::Compact } else { Layout::Lines },
    };
    match &arguments.out {
        None => generate(options, &mut io::stdout().lock())?,
        Some(path) => {
            let named = |error: io::Error| format!("{}: {error}", path.display());
            let mut file = File::create(path).map_err(named)?;
            if path.extension().is_some_and(|extension| extension == "gz") {
                // No time and no name in the header: the same trace is the same file.
                let mut zip = GzBuilder::new().mtime(0).write(file, Compression::default());
                generate(options, &mut zip)?;
                zip.finish().and_then(|mut file| file.flush()).map_err(named)?;
            } else {
                generate(options, &mut file)?;
            }
        }
    }
    Ok(Outcome::Good)
}

/// Writes one trace, exactly `options.events` events long.
fn generate(options: Options, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    if options.events < recording::FEWEST_EVENTS {
        return Err(format!("a trace has at least {} events", recording::FEWEST_EVENTS).into());
    }
    recording::record(options, out).map_err(|error| format!("the trace cannot be written: {error}").into())
}
