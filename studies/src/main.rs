//! Studies of tracelens, run in the root of the repository as `cargo study <study>`.
//!
//! | study | what it does |
//! | --- | --- |
//! | `gen-trace` | writes a synthetic recording of any size, the same bytes for the same seed, with the truth about it: Kineto's traces of training, diffusion, recommenders and serving, as JSON and as Perfetto traces; rocprofv3's runs, tt-metal's operations |
//! | `gen-ranks` | writes the recordings of a job of many ranks, or their tables, with faults by switch and the truth about them |
//! | `repeat-trace` | writes a recorded Kineto trace several times in a row, as one larger trace |
//! | `phase-bench` | scores the prefill and decode detector on recorded traces against their annotations |
//! | `iteration-bench` | scores the detector of iterations on generated runs, as recorded and without marks |
//! | `gate-experiment` | false alarms and detection of the rule of `tracelens gate` and of simpler ones, on drawn runs |
//! | `faults` | scores `tracelens advise` on generated traces of tuned programs with planted faults: what it finds, what it makes up, how far its gains are from the truth |
//! | `absences` | scores what `tracelens report` says of runs whose records are lost or wrong, and of waits of known cause, for four recorders |
//! | `mcp-bench` | how long an agent waits for the server, and for the program started anew |
//! | `evals` | how often an agent answers questions about recordings rightly, with the skill and without |
//!
//! A study prints what it found and ends with exit code 1 when a gate was missed.

mod absences;
mod evals;
mod faults;
mod gate_experiment;
mod gen_ranks;
mod gen_trace;
mod iteration_bench;
mod mcp_bench;
mod phase_bench;
mod repeat_trace;
mod score_table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

/// Studies of tracelens: generators of recordings, and how good the answers are.
#[derive(Parser)]
#[command(name = "cargo study", bin_name = "cargo study")]
struct Arguments {
    #[command(subcommand)]
    study: Study,
}

#[derive(Subcommand)]
enum Study {
    /// Write a synthetic recording: a Kineto trace of one of ten programs, a run of rocprofv3, operations of tt-metal.
    GenTrace(gen_trace::Arguments),
    /// Write the recordings of a training job of many ranks with its truth: layouts, clocks, faults.
    GenRanks(gen_ranks::Arguments),
    /// Write a recorded Kineto trace several times in a row, with ids of its own for each copy.
    RepeatTrace(repeat_trace::Arguments),
    /// Score the prefill and decode detector on recorded traces.
    PhaseBench(phase_bench::Arguments),
    /// Score the detector of iterations on generated runs.
    IterationBench(iteration_bench::Arguments),
    /// Score the rule of the gate, and simpler ones, on drawn runs.
    GateExperiment(gate_experiment::Arguments),
    /// Score `tracelens advise` on traces with planted faults.
    Faults(faults::Arguments),
    /// Score `tracelens report` on runs with lost records, and with waits of known cause.
    Absences(absences::Arguments),
    /// Measure how long an agent waits for the server, and for the program started for every question.
    McpBench(mcp_bench::Arguments),
    /// Ask an agent about recordings, with the skill and without, and count right answers.
    Evals(evals::Arguments),
}

/// What a study found, apart from failing to run at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Good,
    Bad,
}

/// Result of a study; the error is for a person, nothing branches on it.
type StudyResult = Result<Outcome, Box<dyn Error>>;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().study {
        Study::GenTrace(arguments) => gen_trace::run(&arguments),
        Study::GenRanks(arguments) => gen_ranks::run(&arguments),
        Study::RepeatTrace(arguments) => repeat_trace::run(&arguments),
        Study::PhaseBench(arguments) => phase_bench::run(&arguments),
        Study::IterationBench(arguments) => iteration_bench::run(&arguments),
        Study::GateExperiment(arguments) => Ok(gate_experiment::run(&arguments)),
        Study::Faults(arguments) => faults::run(&arguments, &repository()),
        Study::Absences(arguments) => absences::run(&arguments, &repository()),
        Study::McpBench(arguments) => mcp_bench::run(&arguments, &repository()),
        Study::Evals(arguments) => evals::run(&arguments, &repository()),
    };
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// The folder of the repository that the studies were built in.
fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Builds the program as `profile` says, and returns its path.
fn build_program(root: &Path, profile: &str) -> Result<PathBuf, Box<dyn Error>> {
    let arguments = ["build", "--profile", profile, "--quiet", "--package", "tracelens"];
    if !Command::new("cargo").args(arguments).current_dir(root).status()?.success() {
        return Err("the program does not build".into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let binary = format!("tracelens{}", std::env::consts::EXE_SUFFIX);
    Ok(root.join(target).join(profile).join(binary))
}
