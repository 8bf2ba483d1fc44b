//! Traces with planted faults, and scores of what is found in them.
//!
//! A *case* ([`cases`]) is a program that keeps its device busy with none to three faults in it. The truth is a replay:
//! the same plan without a fault is what the program would have done, and the difference of the two spans is what can be
//! gained. [`kinds`] says which rules are right about which fault, [`score`] counts.

mod cases;
mod kinds;
mod score;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;

use crate::{Outcome, StudyResult, build_program};
use cases::Case;
use score::{Found, Scores};

/// Which cases, and who is asked about them.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Traces to make
    #[arg(long, default_value = "100")]
    cases: NonZeroU64,
    /// Number of the first case, to look at one alone
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Seed of programs, faults and strengths: the same seed gives the same traces
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder to keep the traces in, with truth.md, which says what was planted
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Program whose `advise` is judged [default: builds the release binary]
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Writes the traces and the truth, and judges nothing
    #[arg(long, requires = "keep", conflicts_with = "binary")]
    only_write: bool,
    /// Cases at a time
    #[arg(long, default_value = "2")]
    threads: NonZeroU64,
}

/// What the findings have to reach, as shares.
const LEAST_RECALL: f64 = 0.95;
const LEAST_PRECISION: f64 = 0.95;
const LEAST_GAINS: f64 = 0.9;
const LEAST_CLEAN: f64 = 1.0;

/// Who says what is wrong with a trace.
type Ask<'a> = dyn Fn(&Path) -> Result<Vec<Found>, Box<dyn Error>> + Sync + 'a;

/// Makes the cases, asks about each, and says how good the answers are.
pub(crate) fn run(arguments: &Arguments, root: &Path) -> StudyResult {
    let passing = tempfile::tempdir()?;
    let folder = arguments.keep.as_deref().unwrap_or(passing.path());
    std::fs::create_dir_all(folder)?;
    if arguments.only_write {
        let judged = judge_all(arguments, folder, &|_| Ok(Vec::new()))?;
        print!("{}", truth(&judged));
        std::fs::write(folder.join("truth.md"), truth(&judged))?;
        return Ok(Outcome::Good);
    }
    let binary = arguments.binary.clone().map_or_else(|| build_program(root, "release"), Ok)?;
    let judged = judge_all(arguments, folder, &|trace| ask_binary(&binary, trace))?;
    if arguments.keep.is_some() {
        std::fs::write(folder.join("truth.md"), truth(&judged))?;
    }
    let mut scores = Scores::default();
    for Judged { number, case, findings } in &judged {
        scores.judge(*number, case, findings);
    }
    print!("{}", scores.markdown());
    let is_good = scores.recall() >= LEAST_RECALL
        && scores.precision() >= LEAST_PRECISION
        && scores.gains() >= LEAST_GAINS
        && scores.clean() >= LEAST_CLEAN;
    Ok(if is_good { Outcome::Good } else { Outcome::Bad })
}

/// A case with the findings about it.
struct Judged {
    number: u64,
    case: Case,
    findings: Vec<Found>,
}

/// Makes every case and asks about it, several at a time; the order of the answers is that of the cases.
fn judge_all(arguments: &Arguments, folder: &Path, ask: &Ask<'_>) -> Result<Vec<Judged>, Box<dyn Error>> {
    let next = AtomicU64::new(arguments.first);
    let end = arguments.first + arguments.cases.get();
    let work = || {
        let mut judged = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= end {
                return Ok(judged);
            }
            // What went wrong is said by a text: errors do not all cross threads.
            judged.push(judge_one(arguments, folder, number, ask).map_err(|error| error.to_string())?);
        }
    };
    let mut all: Vec<Judged> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..arguments.threads.get()).map(|_| scope.spawn(work)).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a case panicked".to_owned())?);
        joined.collect::<Result<Vec<Vec<Judged>>, String>>()
    })?
    .into_iter()
    .flatten()
    .collect();
    all.sort_by_key(|judged| judged.number);
    Ok(all)
}

fn judge_one(
    arguments: &Arguments,
    folder: &Path,
    number: u64,
    ask: &Ask<'_>,
) -> Result<Judged, Box<dyn Error>> {
    let case = Case::draw(arguments.seed, number);
    let path = folder.join(format!("case_{number:04}.json"));
    std::fs::write(&path, case.trace()?).map_err(|error| format!("{}: {error}", path.display()))?;
    let findings = ask(&path).map_err(|error| format!("case {number} {}: {error}", score::about(&case)))?;
    if arguments.keep.is_none() {
        std::fs::remove_file(&path)?;
    }
    Ok(Judged { number, case, findings })
}

/// What `tracelens advise --json` writes, as far as it is judged.
#[derive(Deserialize)]
struct Answer {
    result: Document,
}

#[derive(Deserialize)]
struct Document {
    files: Vec<Advised>,
}

#[derive(Deserialize)]
struct Advised {
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    rule: String,
    gain: Option<Gain>,
    share_percent: Option<f64>,
}

#[derive(Deserialize)]
struct Gain {
    mid_us: f64,
}

/// What the program says about a trace.
fn ask_binary(binary: &Path, trace: &Path) -> Result<Vec<Found>, Box<dyn Error>> {
    let output = Command::new(binary).args(["advise", "--json"]).arg(trace).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    let answer: Answer = serde_json::from_slice(&output.stdout)?;
    let findings = answer.result.files.into_iter().flat_map(|file| file.findings);
    Ok(findings
        .map(|Finding { rule, gain, share_percent }| Found {
            rule,
            mid_us: gain.map_or(0.0, |gain| gain.mid_us),
            share: share_percent.unwrap_or_default() / 100.0,
        })
        .collect())
}

/// The truth as Markdown.
fn truth(judged: &[Judged]) -> String {
    let mut text = String::from("| case | span in µs | faults |\n| ---: | ---: | --- |\n");
    for Judged { number, case, .. } in judged {
        text += &format!("| {number} | {} | {} |\n", case.span_ns / 1_000, score::about(case));
    }
    text
}
