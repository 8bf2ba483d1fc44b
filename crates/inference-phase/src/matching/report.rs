//! The match report as files.

use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use trace_ingest::Trace;

use super::pairing::{BlockMatch, MatchNote, Matches, distance_terms};
use crate::split::{SplitError, SplitOutput, SplitStep, StepWork, WindowLoad, csv_cell, window_file};
use crate::step::Phase;

/// One of the two traces.
#[derive(Clone, Copy)]
pub struct MatchSide<'s> {
    /// The trace file.
    pub path: &'s Path,
    /// What was read from it.
    pub trace: &'s Trace,
    /// Its steps.
    pub steps: &'s [SplitStep],
}

/// The files that the blocks of one trace go to, in the order of the matches; `side` is 0 for the first trace and 1
/// for the second.
#[must_use]
pub fn match_outputs(pairs: &[BlockMatch], side: usize, steps: &[SplitStep], base: &str) -> Vec<SplitOutput> {
    let output = |(index, pair): (usize, &BlockMatch)| {
        let block = &pair.blocks[side];
        let load = WindowLoad::new(steps[block.steps.clone()].iter().map(|step| &step.work));
        let (phase, letter) = (phase_name(pair.phase), LETTERS[side]);
        let [a, b] = [&pair.blocks[0], &pair.blocks[1]].map(|block| block.index);
        let label = format!("{phase}_best_A{a}_B{b}_{letter}");
        let path = PathBuf::from(phase).join(window_file(&label, &load, base));
        SplitOutput { index, path, steps: block.steps.clone().collect(), load, mix: None }
    };
    pairs.iter().enumerate().map(output).collect()
}

const LETTERS: [&str; 2] = ["A", "B"];

/// The name that reports use for the phase of a block.
#[must_use]
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Prefill => "prefill_only",
        Phase::Mixed => "prefilldecode",
        Phase::Decode => "decode_only",
        Phase::Unknown => "unknown",
    }
}

/// What the reports of a match say, and where they are.
#[derive(Clone, Debug)]
pub struct MatchReport {
    /// The files.
    pub written: Vec<PathBuf>,
    /// The matches, as `match_report.json` has them.
    pub pairs: Vec<Value>,
    /// Why phases have no match, as `match_notes.json` has it.
    pub notes: Vec<Value>,
}

/// Names of the files that [`write_report`] writes.
pub const REPORT: [&str; 3] = ["match_report.json", "match_report.csv", "match_notes.json"];

/// Writes `match_report.json`, `match_notes.json` and, if anything matches, `match_report.csv`. `paths` are the files
/// of both traces, per match.
pub fn write_report(
    matches: &Matches,
    sides: [MatchSide<'_>; 2],
    paths: &[[PathBuf; 2]],
    directory: &Path,
) -> Result<MatchReport, SplitError> {
    let rows: Vec<Row> = matches
        .pairs
        .iter()
        .zip(paths)
        .enumerate()
        .map(|(id, (pair, paths))| Row {
            id,
            pair,
            sides: [0, 1].map(|at| Side::new(pair, at, sides[at], &paths[at])),
        })
        .collect();
    let pairs: Vec<Value> = rows.iter().map(Row::to_json).collect();
    let notes: Vec<Value> = matches.notes.iter().map(note_json).collect();
    let mut written = Vec::new();
    let mut write = |name: &str, content: io::Result<Vec<u8>>| {
        let path = directory.join(name);
        let outcome =
            content.and_then(|content| atomic_file::write_with(&path, |file| file.write_all(&content)));
        outcome.map_err(|source| SplitError::Write { path: path.clone(), source })?;
        written.push(path);
        Ok::<(), SplitError>(())
    };
    let [report_json, report_csv, notes_json] = REPORT;
    write(report_json, pretty(&pairs))?;
    if !rows.is_empty() {
        write(report_csv, csv(&rows))?;
    }
    write(notes_json, pretty(&notes))?;
    Ok(MatchReport { written, pairs, notes })
}

/// The distance with six digits, as reports show it.
#[must_use]
pub fn shown_distance(distance: &[f64]) -> Vec<f64> {
    distance.iter().map(|&term| rounded(term, 1e6)).collect()
}

fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round_ties_even() / scale
}

fn pretty(rows: &[Value]) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(rows)?;
    text.push(b'\n');
    Ok(text)
}

fn note_json(note: &MatchNote) -> Value {
    let [a, b] = note.eligible;
    json!({
        "phase": phase_name(note.phase),
        "reason": note.reason(),
        "eligible_A": a,
        "eligible_B": b,
        "same_size_pairs": note.same_size,
    })
}

struct Row<'s> {
    id: usize,
    pair: &'s BlockMatch,
    sides: [Side<'s>; 2],
}

impl Row<'_> {
    fn to_json(&self) -> Value {
        let phase = self.pair.phase;
        let mut row = Map::new();
        row.insert("match_id".into(), self.id.into());
        row.insert("phase".into(), phase_name(phase).into());
        row.insert("num_steps".into(), self.sides[0].range.len().into());
        row.insert("distance".into(), shown_distance(&self.pair.distance).into());
        row.insert("distance_terms".into(), distance_terms(phase).into());
        for (letter, side) in LETTERS.iter().zip(&self.sides) {
            row.insert(format!("Trace{letter}"), side.to_json());
        }
        row.into()
    }
}

/// One trace's half of a match.
struct Side<'s> {
    block_index: usize,
    of: MatchSide<'s>,
    range: Range<usize>,
    run_length: usize,
    truncated: bool,
    path: &'s Path,
    means: [f64; 6],
}

impl<'s> Side<'s> {
    fn new(pair: &'s BlockMatch, at: usize, of: MatchSide<'s>, path: &'s Path) -> Self {
        let block = &pair.blocks[at];
        let works = || of.steps[block.steps.clone()].iter().map(|step| &step.work);
        let mean = |term: fn(&StepWork) -> i64| {
            let sum: f64 = works().map(|work| term(work) as f64).sum();
            rounded(sum / block.steps.len().max(1) as f64, 1e3)
        };
        let means = [
            mean(|work| work.context_requests),
            mean(|work| work.generation_requests),
            mean(|work| work.statistics.unwrap_or_default().context.queries),
            mean(|work| work.statistics.unwrap_or_default().context.keys),
            mean(|work| work.statistics.unwrap_or_default().generation.queries),
            mean(|work| work.statistics.unwrap_or_default().generation.keys),
        ];
        let (block_index, truncated) = (block.index, block.is_truncated());
        let (range, run_length) = (block.steps.clone(), block.run_length);
        Side { block_index, of, range, run_length, truncated, path, means }
    }

    fn to_json(&self) -> Value {
        let step = |position: usize| {
            let SplitStep { annotation, work, .. } = &self.of.steps[position];
            let statistics = work.statistics.unwrap_or_default();
            json!({
                "step": position,
                "name": annotation.map(|annotation| self.of.trace.name(annotation)),
                "num_context": work.context_requests,
                "num_generation": work.generation_requests,
                "c_sq": statistics.context.queries,
                "c_sk": statistics.context.keys,
                "g_sq": statistics.generation.queries,
                "g_sk": statistics.generation.keys,
            })
        };
        let [context, generation, c_sq, c_sk, g_sq, g_sk] = self.means;
        json!({
            "block_index": self.block_index,
            "trace": self.of.path.to_string_lossy(),
            "output_path": self.path.to_string_lossy(),
            "avg_context_requests": context,
            "avg_generation_requests": generation,
            "avg_c_sq": c_sq,
            "avg_c_sk": c_sk,
            "avg_g_sq": g_sq,
            "avg_g_sk": g_sk,
            "start": self.range.start,
            "end": self.range.end,
            "num_steps": self.range.len(),
            "original_num_steps": self.run_length,
            "truncated": self.truncated,
            "steps": self.range.clone().map(step).collect::<Vec<_>>(),
        })
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = vec![
            csv_cell(&self.of.path.to_string_lossy()),
            self.block_index.to_string(),
            self.range.start.to_string(),
            self.range.end.to_string(),
            self.run_length.to_string(),
            self.truncated.to_string(),
        ];
        cells.extend(self.means.map(|mean| mean.to_string()));
        cells.push(csv_cell(&self.path.to_string_lossy()));
        cells
    }
}

fn csv(rows: &[Row<'_>]) -> io::Result<Vec<u8>> {
    const SIDE_COLUMNS: [&str; 13] = [
        "trace",
        "block_index",
        "start",
        "end",
        "original_num_steps",
        "truncated",
        "avg_c_req",
        "avg_g_req",
        "avg_c_sq",
        "avg_c_sk",
        "avg_g_sq",
        "avg_g_sk",
        "output_path",
    ];
    let mut header = ["match_id", "phase", "num_steps", "distance"].map(str::to_string).to_vec();
    for letter in LETTERS {
        header.extend(SIDE_COLUMNS.map(|name| format!("Trace{letter}_{name}")));
    }
    let mut out = Vec::new();
    writeln!(out, "{}", header.join(","))?;
    for row in rows {
        let distance: Vec<String> =
            shown_distance(&row.pair.distance).iter().map(ToString::to_string).collect();
        let mut cells = vec![
            row.id.to_string(),
            phase_name(row.pair.phase).to_string(),
            row.sides[0].range.len().to_string(),
            distance.join("|"),
        ];
        row.sides.iter().for_each(|side| cells.extend(side.cells()));
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(out)
}
