//! `tracelens replay`: operators of a recording as files that run them again.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::slice;

use answers::numbers::{counted, decimal, grouped};
use answers::{OperatorsToReplay, ReplayOptions, ReplayedOperator, operators_to_replay};
use op_replay::{Entry, to_json, to_python};
use report_writers::terminal::{Style, TextColumn, table};
use serde::Serialize;
use sheets::escaped;

use crate::arguments::replay::ReplayArguments;
use crate::console;
use crate::context::Context;
use crate::destinations::{check_destinations, check_directory, refuse_foreign_files};
use crate::error::Failure;
use crate::progress::with_progress;
use crate::summary::WIDEST;
use crate::wrapping::wrap;

pub(crate) fn run(arguments: &ReplayArguments, context: &Context<'_>) -> Result<(), Failure> {
    if let Some(directory) = &arguments.output_dir {
        check_directory(directory)?;
    }
    let options = ReplayOptions {
        choice: arguments.choice(),
        max_bytes: arguments.max_bytes,
        tree: arguments.reading.tree_options(),
    };
    let found = with_progress(arguments.answer.is_json(), &arguments.reading, |reading| {
        operators_to_replay(&arguments.file, &options, reading)
    })?;
    let replayable: Vec<Entry> = found.operators.iter().filter_map(|of| of.verdict.clone().ok()).collect();
    let written = match &arguments.output_dir {
        Some(directory) if !replayable.is_empty() => write(directory, &replayable, arguments)?,
        _ => Vec::new(),
    };
    if arguments.answer.is_json() {
        let operators = found.operators.iter().map(|operator| Verdict::new(operator, &found)).collect();
        let document = Document { times_of: times_of(&found), operators };
        let answer = context.about(slice::from_ref(&arguments.file)).with_notices(&found.notices);
        context.print_result(answer, &document)?;
    } else {
        console::print(text(&found, replayable.len(), &written, context.style()))?;
    }
    found.notices.iter().for_each(console::diagnostic);
    match (replayable.is_empty(), &arguments.output_dir) {
        (true, Some(_)) => Err(Failure::NothingToReplay { path: arguments.file.clone() }),
        _ => Ok(()),
    }
}

fn write(directory: &Path, entries: &[Entry], arguments: &ReplayArguments) -> Result<Vec<PathBuf>, Failure> {
    let failed = |path: &Path, source| Failure::File { path: path.to_path_buf(), source };
    let invalid = |error: serde_json::Error| failed(directory, error.into());
    let files = [("replay.json", to_json(entries)), ("replay.py", to_python(entries))]
        .map(|(name, text)| (directory.join(name), text));
    check_destinations(
        slice::from_ref(&arguments.file),
        files.iter().filter(|(path, _)| path.exists()).map(|(path, _)| ("replay", path.as_path())),
    )?;
    if !arguments.force {
        refuse_foreign_files(directory, files.iter().filter_map(|(path, _)| path.file_name()))?;
    }
    fs::create_dir_all(directory).map_err(|source| failed(directory, source))?;
    let mut written = Vec::new();
    for (path, text) in files {
        let text = text.map_err(invalid)?;
        atomic_file::write_with(&path, |file| file.write_all(text.as_bytes()))
            .map_err(|source| failed(&path, source))?;
        written.push(path);
    }
    Ok(written)
}

fn times_of(found: &OperatorsToReplay) -> &'static str {
    if found.is_host_time { "host" } else { "device" }
}

/// `yes`, `assumed` or `no`, as in JSON.
fn verdict(operator: &ReplayedOperator) -> &'static str {
    match &operator.verdict {
        Ok(entry) if entry.assumed.is_empty() => "yes",
        Ok(_) => "assumed",
        Err(_) => "no",
    }
}

/// Share in percent that an operator has of the time of all.
fn share(operator: &ReplayedOperator, found: &OperatorsToReplay) -> Option<f64> {
    (found.total_us > 0.0).then(|| 100.0 * operator.time_us / found.total_us)
}

fn text(found: &OperatorsToReplay, replayable: usize, written: &[PathBuf], style: Style) -> String {
    let median = |operator: &ReplayedOperator| {
        let entry = operator.verdict.as_ref().ok()?;
        if found.is_host_time { entry.host_median_us } else { entry.median_us }
    };
    let columns = [
        TextColumn::left("operator", |operator: &ReplayedOperator| operator.name.clone()),
        TextColumn::left("arguments", |operator: &ReplayedOperator| {
            operator.verdict.as_ref().map(|entry| entry.operation.arguments_in_short()).unwrap_or_default()
        }),
        TextColumn::right("calls", |operator: &ReplayedOperator| grouped(operator.count.into())),
        TextColumn::right("median µs", move |operator: &ReplayedOperator| {
            median(operator).map(|us| decimal(us, 2)).unwrap_or_default()
        }),
        TextColumn::right(
            if found.is_host_time { "% of host time" } else { "% of device time" },
            |operator| share(operator, found).map(|share| decimal(share, 1)).unwrap_or_default(),
        ),
        TextColumn::left("replay", verdict).kept(),
    ];
    let mut out = table(&columns, &found.operators, style);
    let width = style.width.min(WIDEST);
    let mut remarks: Vec<(String, usize)> = Vec::new();
    for operator in &found.operators {
        let said = match &operator.verdict {
            Ok(entry) => entry.assumed.iter().map(|what| format!("assumed: {what}")).collect(),
            Err(refusal) => vec![refusal.to_string()],
        };
        for remark in said.into_iter().map(|remark| format!("{}: {remark}", operator.name)) {
            match remarks.iter_mut().find(|(said, _)| *said == remark) {
                Some((_, times)) => *times += 1,
                None => remarks.push((remark, 1)),
            }
        }
    }
    if !remarks.is_empty() {
        out.push('\n');
    }
    for (remark, times) in &remarks {
        let times = if *times > 1 { format!(" ({times} rows)") } else { String::new() };
        wrap(&format!("{remark}{times}"), "", "  ", width, &mut out);
    }
    let of = counted(found.operators.len(), "operator", "operators");
    out.push_str(&format!("\n{replayable} of {of} can be replayed"));
    match written.last() {
        Some(program) => {
            let names: Vec<_> =
                written.iter().map(|path| escaped(&path.to_string_lossy()).into_owned()).collect();
            let program = escaped(&program.to_string_lossy()).into_owned();
            out.push_str(&format!(
                "; wrote {}\nrun them where PyTorch is installed: python {program}\n",
                names.join(", ")
            ));
        }
        None => out.push_str("; -o DIR writes a program that replays them\n"),
    }
    if style.unicode { out } else { out.replace('µ', "u") }
}

#[derive(Serialize)]
struct Document<'a> {
    /// `device` or `host`.
    times_of: &'static str,
    operators: Vec<Verdict<'a>>,
}

#[derive(Serialize)]
struct Verdict<'a> {
    name: &'a str,
    uid: Option<u32>,
    count: u64,
    time_us: f64,
    share_percent: Option<f64>,
    replay: &'static str,
    /// Why not.
    reason: Option<String>,
    entry: Option<&'a Entry>,
}

impl<'a> Verdict<'a> {
    fn new(operator: &'a ReplayedOperator, found: &OperatorsToReplay) -> Self {
        Verdict {
            name: &operator.name,
            uid: operator.uid,
            count: operator.count,
            time_us: operator.time_us,
            share_percent: share(operator, found),
            replay: verdict(operator),
            reason: operator.verdict.as_ref().err().map(ToString::to_string),
            entry: operator.verdict.as_ref().ok(),
        }
    }
}
