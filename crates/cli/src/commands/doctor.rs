//! `tracelens doctor`: what is wrong with recordings.

use std::fmt::Write as _;
use std::path::Path;

use answers::Notice;
use answers::numbers::counted;
use report_writers::terminal::Style;
use serde::Serialize;
use sheets::escaped;
use trace_doctor::{Diagnosis, Finding, Severity};
use trace_ingest::{ReadOptions, RecordingKind, TimeUnit, TraceFacts, read_path};
use trace2tree::{TraceTree, TreeOptions};

use crate::arguments::doctor::DoctorArguments;
use crate::console;
use crate::context::Context;
use crate::error::Failure;
use crate::progress::ReadingProgress;
use crate::standard_input;
use crate::summary::WIDEST;
use crate::wrapping::wrap;

/// A recording with what is wrong with it.
struct Examined {
    name: String,
    /// What reading it got over.
    notices: Vec<Notice>,
    /// Form of the file.
    format: &'static str,
    entries: u32,
    diagnosis: Diagnosis,
}

pub(crate) fn run(arguments: &DoctorArguments, context: &Context<'_>) -> Result<(), Failure> {
    let mut examined = Vec::new();
    let mut failure = None;
    for path in &arguments.files {
        match examine(path, arguments, context) {
            Ok(recording) => examined.push(recording),
            // The others are examined all the same; the last failure ends the run.
            Err(error) => failure.replace(error).iter().for_each(console::error),
        }
    }
    // There is nothing to show of files of which none can be examined.
    if examined.is_empty()
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    if arguments.answer.is_json() {
        let files: Vec<File<'_>> = examined.iter().map(File::new).collect();
        let notices = examined.iter().flat_map(|recording| &recording.notices);
        let answer = context.about(&arguments.files).with_notices(notices);
        context.print_result(answer, &Document { files })?;
    } else {
        console::print(blocks(&examined, context.style()))?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let reached = |recording: &&Examined| arguments.fail_on.is_reached(recording.diagnosis.worst());
    match examined.iter().filter(reached).count() {
        0 => Ok(()),
        unsound => Err(Failure::Unsound { unsound, of: examined.len() }),
    }
}

fn examine(path: &Path, arguments: &DoctorArguments, context: &Context<'_>) -> Result<Examined, Failure> {
    let progress = ReadingProgress::new(arguments.answer.is_json());
    let update = |state| progress.update(state);
    let threads = arguments.threads.map(Into::into);
    let options = ReadOptions { threads, progress: Some(&update), ..standard_input::reading() };
    let trace = read_path(path, &options)?;
    let name = context.name(path);
    let (entries, format) = (trace.entries(), format(trace.facts()));
    let notices = Notice::all_of_reading(path, &trace);
    let diagnosis = Diagnosis::new(&TraceTree::build(trace, &TreeOptions::default()));
    Ok(Examined { name, notices, format, entries, diagnosis })
}

/// Form of a file, by what its reader tells of the recorder.
fn format(facts: &TraceFacts) -> &'static str {
    match facts.recorder.kind {
        Some(RecordingKind::Nsys) => "nsys",
        Some(RecordingKind::Rocprof) => "rocprofv3",
        Some(RecordingKind::XPlane) => "xplane",
        _ if facts.recorder.uncut_device_times => "kineto-json",
        _ => "kineto-pftrace",
    }
}

/// A block per recording: its name, then its findings, each with its remedy below it.
fn blocks(examined: &[Examined], style: Style) -> String {
    /// Where the text of a finding begins: behind its rule and severity.
    const INDENT: &str = "              ";
    let width = style.width.min(WIDEST);
    let mut out = String::new();
    for (position, Examined { name, diagnosis, .. }) in examined.iter().enumerate() {
        if position > 0 {
            out.push('\n');
        }
        let findings = match diagnosis.worst() {
            None => "no findings".to_owned(),
            Some(worst) => {
                format!("{}, worst: {worst}", counted(diagnosis.findings.len(), "finding", "findings"))
            }
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}: {findings}", escaped(name));
        for Finding { rule, remedy, severity, text, .. } in &diagnosis.findings {
            wrap(text, &format!("  {:<4}{:<8}", rule.id, severity.as_str()), INDENT, width, &mut out);
            if *severity > Severity::Info {
                wrap(remedy, INDENT, INDENT, width, &mut out);
            }
        }
    }
    if style.unicode { out } else { out.replace('µ', "u") }
}

#[derive(Serialize)]
struct Document<'a> {
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    name: &'a str,
    format: &'static str,
    events: u32,
    span_ns: i128,
    device_ns: i128,
    worst: Option<&'static str>,
    findings: Vec<FindingRecord<'a>>,
    guarded: Vec<Guarded>,
    skipped: Vec<Skipped>,
}

#[derive(Serialize)]
struct FindingRecord<'a> {
    rule: &'static str,
    severity: &'static str,
    count: u64,
    of: Option<u64>,
    time_ns: Option<i128>,
    guarded: u64,
    first: Option<First>,
    text: &'a str,
    remedy: &'static str,
    spoils: Vec<&'static str>,
}

#[derive(Serialize)]
struct First {
    uid: u32,
    ts_ns: i128,
}

#[derive(Serialize)]
struct Guarded {
    rule: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct Skipped {
    rule: &'static str,
    reason: &'static str,
}

impl<'a> File<'a> {
    fn new(examined: &'a Examined) -> Self {
        let Examined { name, format, entries, diagnosis, .. } = examined;
        let ns = |time: i64| nanoseconds(diagnosis.time_unit, time);
        let record = |finding: &'a Finding| FindingRecord {
            rule: finding.rule.id,
            severity: finding.severity.as_str(),
            count: finding.count,
            of: finding.of,
            time_ns: finding.time.map(ns),
            guarded: finding.guarded,
            first: finding.first.map(|place| First { uid: place.uid, ts_ns: ns(place.start) }),
            text: &finding.text,
            remedy: finding.remedy,
            spoils: finding.rule.spoils().collect(),
        };
        let guarded = diagnosis.guarded.iter().map(|&(rule, count)| Guarded { rule: rule.id, count });
        let skipped = diagnosis.skipped.iter().map(|&(rule, reason)| Skipped { rule: rule.id, reason });
        File {
            name,
            format,
            events: *entries,
            span_ns: ns(diagnosis.span),
            device_ns: ns(diagnosis.device_time),
            worst: diagnosis.worst().map(Severity::as_str),
            findings: diagnosis.findings.iter().map(record).collect(),
            guarded: guarded.collect(),
            skipped: skipped.collect(),
        }
    }
}

fn nanoseconds(unit: TimeUnit, time: i64) -> i128 {
    i128::from(time) * 1000 / i128::from(unit.per_microsecond())
}
