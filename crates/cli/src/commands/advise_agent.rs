//! `tracelens advise --compat agent`: the files of TraceLens's agent.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use advise::agent::AgentReport;
use answers::Advisor;
use serde::Serialize;
use trace_ingest::ReadOptions;

use super::report::{check_destinations, save};
use crate::arguments::advise::AdviseArguments;
use crate::console;
use crate::error::Failure;
use crate::progress::ReadingProgress;
use crate::standard_input;

/// Writes the agent's files of one trace: `priority_data.json` alone where a JSON file is named or nothing, all of them
/// where a directory is.
pub(super) fn run(advisor: &Advisor, arguments: &AdviseArguments) -> Result<(), Failure> {
    let [path] = &arguments.files[..] else {
        return Err(Failure::OneTraceOfAgent { given: arguments.files.len() });
    };
    let destination = arguments.output.as_deref();
    let file = destination.filter(|path| names_file(path));
    check_destinations(&arguments.files, file.map(|path| ("json", path)))?;
    if let Some(directory) = destination.filter(|path| !names_file(path)) {
        super::report::check_directory(directory)?;
    }
    let progress = ReadingProgress::new(destination.is_none());
    let update = |state| progress.update(state);
    let threads = arguments.reading.threads.map(Into::into);
    let reading = ReadOptions { threads, progress: Some(&update), ..standard_input::reading() };
    let (report, notices) = advisor.agent_report(path, &reading)?;
    for notice in notices {
        console::warning(format_args!("{notice}"));
    }
    let Some(destination) = destination else {
        return Ok(console::write_with(|out| write_json(out, &report.priorities))?);
    };
    let written = match file {
        Some(file) => vec![save(file, |out| write_json(out, &report.priorities))?],
        None => save_all(&report, destination, path)?,
    };
    let text: Vec<String> = written.iter().map(|path| format!("wrote {}\n", path.display())).collect();
    Ok(console::print(text.concat())?)
}

/// Writes one of the files.
type Writing<'r> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'r>;

fn names_file(path: &Path) -> bool {
    !path.is_dir() && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

fn write_json(out: &mut dyn Write, document: &(impl Serialize + ?Sized)) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

/// The files as the agent places them.
fn save_all(report: &AgentReport, directory: &Path, read: &Path) -> Result<Vec<PathBuf>, Failure> {
    let data = directory.join("category_data");
    let metrics = |category: &str| data.join(format!("{category}_metrics.json"));
    let mut files: Vec<(PathBuf, Writing<'_>)> = vec![
        (directory.join("priority_data.json"), Box::new(|out| write_json(out, &report.priorities))),
        (data.join("category_manifest.json"), Box::new(|out| write_json(out, &report.manifest))),
        (data.join("fusion_candidates.json"), Box::new(|out| write_json(out, &report.candidates))),
        (metrics("cpu_idle"), Box::new(|out| write_json(out, &report.cpu_idle))),
    ];
    for category in &report.categories {
        files.push((metrics(&category.category), Box::new(move |out| write_json(out, category))));
    }
    if let Some(fusion) = &report.fusion {
        files.push((metrics("kernel_fusion"), Box::new(move |out| write_json(out, fusion))));
    }
    std::fs::create_dir_all(&data).map_err(|source| Failure::File { path: data.clone(), source })?;
    check_destinations(&[read.to_path_buf()], files.iter().map(|(path, _)| ("json", path.as_path())))?;
    files.into_iter().map(|(path, write)| save(&path, |file| write(file))).collect()
}
