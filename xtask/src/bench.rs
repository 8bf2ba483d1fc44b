//! Time and memory of the whole program against the least that reading takes, over sizes.
//!
//! Everything is measured in one run of the chore, because figures of several drift apart. The program runs as its
//! users run it, trace in and CSV files out. The *floor* is inflating (libdeflate) and finding the structure of the
//! JSON (simd-json's tape), one after the other on one thread, in memory: a reader that does nothing else.

mod floor;
mod input;
mod instructions;
mod plot;
mod process;
mod table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ChoreResult, Outcome, build_program};
use floor::Floor;
use input::Input;
use process::{Program, Run};

/// What to measure with, and how often.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Runs of each trace, of which the median counts
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Sizes of the generated traces in events
    #[arg(long, value_name = "N,N…", value_delimiter = ',', default_values_t = [100_000, 1_000_000])]
    events: Vec<u64>,
    /// A generated trace of ten million events too: 3 GB of text
    #[arg(long)]
    large: bool,
    /// Instead of times, count the instructions of a report of a million events by what they are for, and hold them against
    /// budgets; needs valgrind, and a binary with symbols
    #[arg(long, conflicts_with_all = ["runs", "events", "large", "corpus", "svg"])]
    instructions: bool,
    /// Instead of all else, hold a report of a million events against Python's json.loads of the same text; needs python3
    #[arg(long, conflicts_with_all = ["instructions", "events", "large", "corpus", "svg"])]
    yardstick: bool,
    /// Binary to run [default: build what is published; for --instructions, what `cargo build --release` makes]
    #[arg(long)]
    bin: Option<PathBuf>,
    /// Folder of the corpus [default: $TRACE_CORPUS, else ../shared/corpus beside the workspace]
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Folder of the generated traces, kept between runs [default: target/bench-traces]
    #[arg(long)]
    cache: Option<PathBuf>,
    /// Picture of the times over the sizes [default: benches/scaling.svg]
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The size for `--instructions`.
const MEDIUM: u64 = 1_000_000;
/// The largest size, for `--large`.
const LARGE: u64 = 10_000_000;

/// What was measured of a trace.
struct Row {
    input: Input,
    run: Run,
    floor: Floor,
}

/// Measures, prints the table and draws the picture; bad when a trace could not be measured.
pub(crate) fn run(arguments: &Arguments, root: &Path) -> ChoreResult {
    let mut sizes = arguments.events.clone();
    sizes.extend(arguments.large.then_some(LARGE));
    sizes.sort_unstable();
    sizes.dedup();
    let binary = match &arguments.bin {
        Some(binary) => {
            std::fs::canonicalize(binary).map_err(|error| format!("{}: {error}", binary.display()))?
        }
        None => build_program(root, if arguments.instructions { "release" } else { "dist" })?,
    };
    let cache = arguments.cache.clone().unwrap_or_else(|| root.join("target/bench-traces"));
    let write = |arguments: &[&str], out: &Path| input::write_by_study(root, arguments, out);
    if arguments.instructions || arguments.yardstick {
        let generated = input::generated(&cache, &[MEDIUM], &write)?;
        let trace = &generated.first().ok_or("no trace was generated")?.path;
        return match arguments.instructions {
            true => instructions::run(&binary, trace, MEDIUM),
            false => yardstick(&Program::new(binary)?, trace, arguments.runs),
        };
    }
    let floor = floor::build(root)?;
    let corpus = arguments.corpus.clone().unwrap_or_else(testdata::corpus_folder);
    let mut inputs = input::generated(&cache, &sizes, &write)?;
    let recorded = input::recorded(&corpus);
    inputs.extend(input::repeated(&cache, &recorded, &write)?);
    inputs.extend(recorded);

    let program = Program::new(binary)?;
    if !program.knows_usage() {
        eprintln!(
            "bench: no GNU time at /usr/bin/time: processor time is left out, memory is what the program says"
        );
    }
    let mut rows = Vec::new();
    let mut failed = 0;
    for input in inputs {
        let path = input.path.clone();
        match measure(input, &program, &floor, arguments.runs) {
            Ok(row) => rows.push(row),
            Err(error) => {
                failed += 1;
                eprintln!("bench: {}: {error}", path.display());
            }
        }
    }
    print!("{}", table::markdown(&rows, arguments.runs));
    let picture = arguments.svg.clone().unwrap_or_else(|| root.join("benches/scaling.svg"));
    if let Some(svg) = plot::svg(&rows)? {
        std::fs::write(&picture, svg).map_err(|error| format!("{}: {error}", picture.display()))?;
        eprintln!("bench: wrote {}", picture.display());
    }
    Ok(if failed == 0 { Outcome::Good } else { Outcome::Bad })
}

/// A report beside what Python takes to parse the text of its trace: a measure that anyone can repeat.
fn yardstick(program: &Program, trace: &Path, runs: u32) -> ChoreResult {
    const PARSE: &str = "import json, sys, time\ntext = open(sys.argv[1], 'rb').read()\nstart = time.perf_counter()\n\
                         json.loads(text)\nprint(time.perf_counter() - start)";
    let (mut ours, mut python) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        ours.push(program.run(trace)?.wall_seconds);
        let output = Command::new("python3").args(["-c", PARSE]).arg(trace).output()?;
        let seconds = String::from_utf8_lossy(&output.stdout).trim().parse::<f64>();
        python.push(seconds.map_err(|_| format!("python3: {}", String::from_utf8_lossy(&output.stderr)))?);
    }
    let (ours, python) = (median(ours).unwrap_or_default(), median(python).unwrap_or_default());
    println!(
        "report {ours:.3} s, json.loads {python:.3} s, {:.1} times as long; medians of {runs}",
        python / ours
    );
    Ok(Outcome::Good)
}

fn measure(input: Input, program: &Program, floor: &Path, runs: u32) -> Result<Row, Box<dyn Error>> {
    // One more, so that the file is in memory.
    program.run(&input.path)?;
    let measured = (0..runs).map(|_| program.run(&input.path)).collect::<Result<Vec<Run>, _>>()?;
    let floor = floor::measure(floor, &input.path, runs)?;
    Ok(Row { input, run: middle(&measured), floor })
}

/// The median of each figure.
fn middle(runs: &[Run]) -> Run {
    let of = |figure: fn(&Run) -> Option<f64>| median(runs.iter().filter_map(figure).collect());
    Run {
        wall_seconds: of(|run| Some(run.wall_seconds)).unwrap_or_default(),
        user_seconds: of(|run| run.user_seconds),
        system_seconds: of(|run| run.system_seconds),
        // The most, as for every peak.
        peak_bytes: runs.iter().filter_map(|run| run.peak_bytes).max(),
        stage_seconds: std::array::from_fn(|stage| {
            median(runs.iter().map(|run| run.stage_seconds[stage]).collect()).unwrap_or_default()
        }),
        events: runs.first().map_or(0, |run| run.events),
    }
}

/// The middle value; of an even number the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    match values.len() % 2 {
        0 => Some((values[half - 1] + upper) / 2.0),
        _ => Some(upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of a generated trace whose figures are those of one run on a quiet machine, rounded.
    pub(super) fn row(series: &'static str, events: u64) -> Row {
        let scale = events as f64 / 1e6;
        let input =
            Input { name: format!("generated, {series}"), path: PathBuf::new(), series: Some(series) };
        let run = Run {
            wall_seconds: 0.5 * scale,
            user_seconds: Some(0.6 * scale),
            system_seconds: Some(0.1 * scale),
            peak_bytes: Some(events * 130),
            stage_seconds: [0.3, 0.05, 0.1, 0.025].map(|seconds| seconds * scale),
            events,
        };
        let floor = Floor {
            text_bytes: events * 300,
            inflate_seconds: (series == "gzip").then_some(0.15 * scale),
            tape_seconds: Some(0.25 * scale),
            tape_refused: None,
        };
        Row { input, run, floor }
    }

    #[test]
    fn medians_are_middle_values() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        let runs = [(1.0, Some(7)), (9.0, Some(9)), (2.0, None)].map(|(wall_seconds, peak_bytes)| Run {
            wall_seconds,
            peak_bytes,
            ..Run::default()
        });
        assert_eq!(middle(&runs), Run { wall_seconds: 2.0, peak_bytes: Some(9), ..Run::default() });
    }
}
