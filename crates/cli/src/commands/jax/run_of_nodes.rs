//! Several profiles: the nodes of a run, of which the report has the collectives.

use std::path::{Path, PathBuf};

use report_writers::Workbook;
use xla_perf::JaxAnalysis;
use xla_perf::collectives::CollectiveAnalysis;

use super::{options, reading};
use crate::arguments::jax::JaxArguments;
use crate::console;
use crate::error::Failure;
use crate::jax_summary;
use crate::notes::Notes;
use crate::report_files::{end_with, show, write_tables};
use crate::report_request::{check_destination, workbook_beside};
use crate::tables;
use crate::timings::{Stage, Timings};

/// The report of the profiles of a run's nodes, in the order of the nodes.
pub(super) fn report(
    paths: &[PathBuf],
    arguments: &JaxArguments,
    timings: &mut Timings,
) -> Result<(), Failure> {
    if let Some(option) = of_one_profile(arguments) {
        return Err(Failure::SeveralProfiles { option });
    }
    if let Some(path) = named_twice(paths) {
        return Err(Failure::SameProfile { path: path.clone() });
    }
    let Some(first) = paths.first() else { return Ok(()) };
    let output = &arguments.output.tables;
    let mut outputs = output.destinations();
    if outputs.is_empty() && !output.json {
        outputs.push((&Workbook, workbook_beside(first, "_collectives")));
    }
    for (writer, destination) in &outputs {
        paths.iter().try_for_each(|path| check_destination(writer.name(), destination, path))?;
    }
    let options = options(&arguments.analysis)?;
    let mut nodes = Vec::with_capacity(paths.len());
    for path in paths {
        timings.begin(Stage::Read);
        let profile = reading::read(path, output.quiet)?;
        timings.count_events(profile.trace.events().len());
        timings.begin(Stage::Analysis);
        let analysis = JaxAnalysis::new(profile, options.clone());
        check_gpus(path, &analysis, options.gpus_per_node)?;
        nodes.push(analysis);
    }
    let collectives =
        CollectiveAnalysis::from_profiles(&nodes.iter().collect::<Vec<_>>(), options.gpus_per_node);
    if collectives.slices.is_empty() {
        return Err(Failure::NoCollectives { profiles: paths.len() });
    }
    timings.begin(Stage::Sheets);
    let report = tables::collectives_report(&collectives, &title(first, paths.len() - 1))?;
    let of_node = |(path, analysis): (&PathBuf, &JaxAnalysis)| {
        let said = jax_summary::warnings(analysis).into_iter();
        said.map(|warning| format!("{}: {warning}", path.display())).collect::<Vec<_>>()
    };
    let warnings = paths.iter().zip(&nodes).flat_map(of_node).collect();
    let mut notes = Notes::of_warnings(warnings);
    timings.begin(Stage::Write);
    let pending = write_tables(&report, &outputs, &mut notes);
    timings.begin(Stage::Terminal);
    show(output, &report, &notes, || {
        jax_summary::text_of_run(paths.len(), &collectives, &report, &notes, console::style())
    })?;
    timings.end();
    end_with(pending)
}

/// An option that was given although it is of no use here.
fn of_one_profile(arguments: &JaxArguments) -> Option<&'static str> {
    let asked = &arguments.analysis;
    let options = [
        ("--roofline_svg", arguments.output.roofline_svg.is_some()),
        ("--kernel_metadata_keyword_filters", !asked.kernel_metadata_keyword_filters.is_empty()),
        ("--gpu_arch_json_path", asked.gpu_arch_json_path.is_some()),
        ("--gpu_arch_platform", asked.gpu_arch_platform.is_some()),
        ("--parity", asked.parity),
    ];
    options.into_iter().find_map(|(option, given)| given.then_some(option))
}

/// A path that leads to the same file as one before it.
fn named_twice(paths: &[PathBuf]) -> Option<&PathBuf> {
    let same = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let files: Vec<PathBuf> = paths.iter().map(|path| same(path)).collect();
    (1..paths.len()).find(|&at| files[..at].contains(&files[at])).map(|at| &paths[at])
}

/// Ranks of two hosts coincide where one has more GPUs than it is said to have.
fn check_gpus(path: &Path, analysis: &JaxAnalysis, gpus_per_node: u32) -> Result<(), Failure> {
    let last = analysis.gpus().iter().map(|gpu| gpu.pid - 1).max();
    match last.filter(|&gpu| gpu >= i64::from(gpus_per_node)) {
        Some(gpu) => Err(Failure::MoreGpus { path: path.to_path_buf(), gpu, gpus_per_node }),
        None => Ok(()),
    }
}

fn title(first: &Path, others: usize) -> String {
    let first = first.file_name().unwrap_or_default().to_string_lossy();
    format!("collectives of {first} and {others} more")
}
