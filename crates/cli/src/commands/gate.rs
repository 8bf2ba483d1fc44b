//! `tracelens gate` and `tracelens gate save`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use answers::numbers::{counted, decimal, grouped, plain, unit_of_time};
use answers::{GateReader, Notice, is_baseline_file};
use perf_gate::{
    Gate, GatedMetric, LedgerLine, Metric, Part, Recording, THRESHOLDS_TEMPLATE, Thresholds, Verdict,
    write_baseline,
};
use report_writers::terminal::{Color, Style, TextCell, TextColumn, table};
use serde_json::json;

use crate::arguments::gate::{GateArguments, KeptRecordings, SaveArguments};
use crate::console;
use crate::context::Context;
use crate::destinations::{check_destinations, save};
use crate::error::Failure;
use crate::progress::with_progress;
use crate::summary::WIDEST;
use crate::wrapping::wrap;

/// Culprits that are printed.
const MOST_ROWS: usize = 12;
/// Where a thresholds file is written if nothing else is said.
const CONFIG: &str = "gate.toml";

pub(crate) fn run(arguments: &GateArguments, context: &Context<'_>) -> Result<(), Failure> {
    if arguments.init {
        return write_template(arguments.config.as_deref().unwrap_or(Path::new(CONFIG)));
    }
    let sources: Vec<PathBuf> =
        arguments.baseline.iter().chain(&arguments.candidate).chain(&arguments.config).cloned().collect();
    let markdown = arguments.markdown.iter().map(|path| ("markdown", path.as_path()));
    let junit = arguments.junit.iter().map(|path| ("junit", path.as_path()));
    check_destinations(&sources, markdown.chain(junit))?;
    let thresholds = thresholds(arguments)?;
    let is_module = |gated: &GatedMetric| matches!(gated.metric, Metric::Module(_));
    let modules = arguments.recordings.modules || thresholds.metrics.iter().any(is_module);
    let files = [&arguments.baseline, &arguments.candidate];
    let [baseline, candidate] = read(files, &arguments.recordings, modules, arguments.answer.is_json())?;
    let allowed: BTreeSet<_> = arguments.allow.iter().copied().collect();
    let gate = Gate::new(baseline, candidate, &thresholds, &allowed)?;
    if let Some(path) = &arguments.markdown {
        save(path, |file| file.write_all(gate.to_markdown().as_bytes()))?;
    }
    if let Some(path) = &arguments.junit {
        let failed = |source| Failure::File { path: path.clone(), source };
        let text = gate.to_junit().map_err(failed)?;
        save(path, |file| file.write_all(text.as_bytes()))?;
    }
    match arguments.answer.is_json() {
        true => {
            let answer = context.about_runs(&arguments.baseline, &arguments.candidate);
            context.print(&answer.with_gate(&gate).map_err(std::io::Error::from)?)?;
        }
        false => console::print(text(&gate, context.style()))?,
    }
    outcome(&gate)
}

/// What the exit code says.
fn outcome(gate: &Gate) -> Result<(), Failure> {
    match (gate.verdict, gate.lets_through()) {
        (_, Some(true)) => Ok(()),
        (Verdict::Fail, _) => Err(Failure::Slower),
        (_, Some(false)) => Err(Failure::NotKnownToPass),
        (Verdict::NotComparable, None) => Err(Failure::NotComparable),
        (_, None) => Err(Failure::NotTold),
    }
}

pub(crate) fn save_baseline(arguments: &SaveArguments, context: &Context<'_>) -> Result<(), Failure> {
    // A baseline may be read and written again with more recordings.
    let recordings: Vec<PathBuf> =
        arguments.files.iter().filter(|file| !is_baseline_file(file)).cloned().collect();
    check_destinations(&recordings, [("baseline", arguments.output.as_path())])?;
    let modules = arguments.recordings.modules;
    let [read] = read([&arguments.files], &arguments.recordings, modules, false)?;
    let mut seen = BTreeSet::new();
    let mut kept: Vec<Recording> = Vec::with_capacity(read.len());
    for recording in read {
        match seen.insert(recording.hash.clone()) {
            true => kept.push(recording),
            false => {
                console::warning(format_args!("{} is given more than once; one copy is kept", recording.file))
            }
        }
    }
    for recording in &kept {
        if recording.steps.duration.is_empty() {
            return Err(perf_gate::GateError::NoSteps { file: recording.file.clone() }.into());
        }
    }
    let cut_off = kept.iter().filter(|recording| recording.setup.truncated);
    let notices: Vec<Notice> =
        cut_off.map(|recording| Notice::CutOffInBaseline { file: recording.file.clone() }).collect();
    let path = save(&arguments.output, |file| write_baseline(&kept, file))?;
    let steps: usize = kept.iter().map(|recording| recording.steps.duration.len()).sum();
    let blocks = perf_gate::blocks(&kept).len();
    if arguments.answer.is_json() {
        let written = [context.name(&path)];
        let result = json!({ "written": written, "recordings": kept.len(), "steps": steps, "jobs": blocks });
        return context.print_result(context.about(&arguments.files).with_notices(&notices), &result);
    }
    notices.iter().for_each(console::diagnostic);
    console::print(format_args!(
        "wrote {}: {} with {}, counted as {}\n",
        path.display(),
        counted(kept.len(), "recording", "recordings"),
        counted(steps, "step", "steps"),
        counted(blocks, "job", "jobs"),
    ))?;
    Ok(())
}

fn write_template(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        let (detail, help) = ("it already exists".into(), "choose another with --config".into());
        return Err(Failure::Destination { path: path.to_path_buf(), detail, help });
    }
    check_destinations(&[], [("thresholds", path)])?;
    save(path, |file| file.write_all(THRESHOLDS_TEMPLATE.as_bytes()))?;
    console::print(format_args!("wrote {}\n", path.display()))?;
    Ok(())
}

fn thresholds(arguments: &GateArguments) -> Result<Thresholds, Failure> {
    let mut thresholds = match &arguments.config {
        None => Thresholds::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::Input { path: path.clone(), detail: error.to_string() })?;
            let today =
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
            Thresholds::parse(&text, today.cast_signed())
                .map_err(|error| Failure::Thresholds { path: path.clone(), error })?
        }
    };
    let slower_by = arguments.slower_by.unwrap_or(thresholds.defaults.slower_by);
    thresholds = thresholds.with_slower_by(slower_by);
    thresholds.defaults.rule_out = arguments.rule_out.unwrap_or(thresholds.defaults.rule_out);
    thresholds.inconclusive = arguments.inconclusive.unwrap_or(thresholds.inconclusive);
    if !arguments.metrics.is_empty() {
        let mut metrics = arguments.metrics.clone();
        metrics.sort();
        metrics.dedup();
        thresholds.metrics = metrics.into_iter().map(GatedMetric::new).collect();
    }
    Ok(thresholds)
}

/// The recordings of some lists of files, each with its job.
fn read<const LISTS: usize>(
    lists: [&Vec<PathBuf>; LISTS],
    arguments: &KeptRecordings,
    modules: bool,
    quiet: bool,
) -> Result<[Vec<Recording>; LISTS], Failure> {
    let reader = GateReader { modules, tree: arguments.reading.tree_options() };
    let mut found = [const { Vec::new() }; LISTS];
    let mut named = vec![false; arguments.jobs.len()];
    with_progress(quiet, &arguments.reading, |reading| -> Result<(), Failure> {
        for (files, found) in lists.into_iter().zip(&mut found) {
            for path in files {
                let mut recordings = reader.read(path, reading)?;
                for recording in &mut recordings {
                    for (job, named) in arguments.jobs.iter().zip(&mut named) {
                        if job.is_of(path, &recording.file) {
                            recording.job = Some(job.id.clone());
                            *named = true;
                        }
                    }
                    if arguments.separate_jobs {
                        recording.job = Some(recording.hash.clone());
                    }
                }
                found.append(&mut recordings);
            }
        }
        Ok(())
    })?;
    match arguments.jobs.iter().zip(named).find(|(_, named)| !named) {
        Some((job, _)) => {
            let file = job.file.display();
            Err(Failure::Arguments(format!("--job {file}={}: no recording is named {file}", job.id)))
        }
        None => Ok(found),
    }
}

fn text(gate: &Gate, style: Style) -> String {
    let mut out = String::new();
    let width = style.width.min(WIDEST);
    let color = match gate.verdict {
        Verdict::Pass | Verdict::Improved => Color::Green,
        Verdict::Fail | Verdict::NotComparable => Color::Red,
        Verdict::Inconclusive => Color::Yellow,
    };
    let mut headline = String::new();
    wrap(&gate.headline(), "", "  ", width, &mut headline);
    let verdict = gate.verdict.as_str();
    out.push_str(&headline.replacen(verdict, &style.paint(verdict, color), 1));
    wrap(&gate.basis(), "", "  ", width, &mut out);
    if gate.metrics.len() > 1 {
        out.push('\n');
        for metric in &gate.metrics {
            let line = format!("{}: {}", metric.decision.as_str(), metric.in_words());
            wrap(&line, "  ", "    ", width, &mut out);
        }
    }
    for metric in &gate.metrics {
        if let Some((until, reason)) = &metric.exception {
            let line = format!("exception for {} until {until}: {reason}", metric.metric);
            wrap(&line, "", "  ", width, &mut out);
        }
    }
    if !gate.comparability.checks.is_empty() {
        out.push('\n');
    }
    for check in &gate.comparability.checks {
        let (outcome, side) = (check.outcome.as_str(), check.side.as_str());
        let line = format!("{outcome}: {}: {side} {}: {}", check.check, check.file, check.found);
        wrap(&line, "", "  ", width, &mut out);
    }
    for remark in &gate.remarks {
        wrap(&format!("note: {remark}"), "", "  ", width, &mut out);
    }
    match gate.verdict {
        Verdict::NotComparable => {
            wrap("to compare anyway, use --allow CHECK[,CHECK]", "", "  ", width, &mut out);
        }
        Verdict::Inconclusive => {
            wrap(&format!("to decide, {}", gate.advice()), "", "  ", width, &mut out);
            let options =
                "one step decides --metric kernel_count; --inconclusive pass lets undecided changes through";
            wrap(options, "", "  ", width, &mut out);
        }
        _ => {}
    }
    if gate.verdict != Verdict::NotComparable {
        write_culprits(gate, style, &mut out);
    }
    if style.unicode {
        return out;
    }
    [("…", "..."), ("→", "->"), ("µ", "u"), ("×", "x"), ("·", "-"), ("Δ", "change")]
        .into_iter()
        .fold(out, |out, (sign, ascii)| out.replace(sign, ascii))
}

/// Where the difference of the step is.
fn write_culprits(gate: &Gate, style: Style, out: &mut String) {
    let ledger = &gate.ledger;
    let (unit, size) = unit_of_time(ledger.step_ns[0].max(ledger.step_ns[1]) as f64 / 1e3);
    let amount = move |ns: i64| decimal(ns as f64 / 1e3 / size, 3);
    let signed = move |ns: i64| format!("{}{}", if ns > 0 { "+" } else { "" }, amount(ns));
    let [a, b] = ledger.step_ns;
    let culprits = ledger.culprits();
    out.push_str(&format!(
        "\ntypical step: {} → {} {unit} ({} {unit})\n",
        amount(a),
        amount(b),
        signed(ledger.delta())
    ));
    if culprits.is_empty() {
        out.push_str("no single part of the step changed by more than its own noise\n");
        return;
    }
    let change = format!("Δ {unit}/step");
    let calls = |line: &LedgerLine| match line.calls {
        [a, b] if a == b && a > 0.0 => plain(a),
        [a, b] if a > 0.0 || b > 0.0 => format!("{} → {}", plain(a), plain(b)),
        _ => String::new(),
    };
    let module = |line: &LedgerLine| match &line.part {
        Part::Unit { module, .. } => module.clone(),
        _ => String::new(),
    };
    let mut columns = vec![TextColumn::left("culprit", |line: &LedgerLine| match &line.part {
        Part::Unit { name, dims, .. } if !dims.is_empty() => format!("{name} {dims}"),
        part => part.name().to_owned(),
    })];
    if culprits.iter().any(|line| !module(line).is_empty()) {
        columns.push(TextColumn::left("module", module).droppable(2));
    }
    columns.extend([
        TextColumn::left("kernel", |line: &LedgerLine| line.main_kernels().join(" → ")).droppable(3),
        TextColumn::left("how", |line: &LedgerLine| line.change.as_str()).kept(),
        TextColumn::right("calls", calls).droppable(1),
        TextColumn::right(&change, move |line: &LedgerLine| {
            let color = if line.delta() > 0 { Color::Red } else { Color::Green };
            TextCell::new(signed(line.delta()), Some(color))
        }),
        TextColumn::right("% of the change", |line: &LedgerLine| {
            ledger.share(line).map_or(String::new(), |share| decimal(share, 1))
        }),
    ]);
    let shown = culprits.len().min(MOST_ROWS);
    out.push_str(&table(&columns, culprits[..shown].iter().copied(), style));
    if culprits.len() > shown {
        out.push_str(&format!("… and {} more\n", grouped((culprits.len() - shown) as u128)));
    }
}
