//! Synthetic runs as `rocprofv3` records them, one run in each of its formats.
//!
//! `program` plays a program on two GPUs into a `run`, whose records the formats write; `kernels` has the names.

mod csv;
mod json;
mod kernels;
mod pftrace;
mod program;
mod rocpd;
mod run;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

/// An output format of the profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One document: `*_results.json`.
    Json,
    /// A directory of tables: `*_trace.csv`. Has no sizes of copies and no times of the profiler itself.
    Csv,
    /// An SQLite database: `*_results.db`.
    Rocpd,
    /// Perfetto's packets: `*_results.pftrace`. Has no counters and no allocations.
    Pftrace,
}

/// Fewest records that a run can have: allocations of both GPUs and a marker.
const FEWEST_EVENTS: u64 = 100;

/// Writes a run to one file or, as CSV, into a directory, which is made. `events` are calls, markers, dispatches,
/// copies and allocations together.
pub(super) fn write_to(path: &Path, format: Format, events: u64, seed: u64) -> Result<(), Box<dyn Error>> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    match format {
        Format::Json | Format::Pftrace => {
            super::write_file(path, |out| write(format, events, seed, out))?;
        }
        Format::Csv => {
            let run = play(events, seed)?;
            fs::create_dir_all(path).map_err(|error| named(&error))?;
            csv::write(&run, path).map_err(|error| named(&error))?;
        }
        Format::Rocpd => {
            let run = play(events, seed)?;
            // A database that is there would be added to.
            if path.exists() {
                fs::remove_file(path).map_err(|error| named(&error))?;
            }
            rocpd::write(&run, path).map_err(|error| named(&error))?;
        }
    }
    Ok(())
}

/// Writes a run as a stream of bytes, which only two of the formats are.
pub(super) fn write(
    format: Format,
    events: u64,
    seed: u64,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let run = play(events, seed)?;
    let mut out = std::io::BufWriter::new(out);
    match format {
        Format::Json => json::write(&run, &mut out)?,
        Format::Pftrace => pftrace::write(&run, &mut out)?,
        Format::Csv | Format::Rocpd => {
            return Err("this format needs a place to write to: name it with --out".into());
        }
    }
    Ok(out.flush()?)
}

fn play(events: u64, seed: u64) -> Result<run::Run, Box<dyn Error>> {
    if events < FEWEST_EVENTS {
        return Err(format!("a run has at least {FEWEST_EVENTS} events").into());
    }
    Ok(program::run(events, seed))
}
