//! `tracelens jax`.

use std::path::{Path, PathBuf};

use gpu_timeline::CommunicationPatterns;
use report_writers::{Json, writer_by_name};
use trace_ingest::xplane::{PlaneKind, Profile, read_profile};
use trace_ingest::{IngestError, ReadOptions, Warning, formats};
use tree_perf::jax::{CopyKernels, JaxAnalysis, JaxFigures, JaxOptions};

use crate::architecture_choice::chosen;
use crate::arguments::jax::{JaxArguments, JaxOutput};
use crate::console;
use crate::error::Failure;
use crate::jax_summary::{self, Notes};
use crate::progress::ReadingProgress;
use crate::report_request::{check_destination, default_workbook};
use crate::tables;

pub(crate) fn run(arguments: &JaxArguments) -> Result<(), Failure> {
    let asked = &arguments.analysis;
    if asked.enable_origami {
        let instead =
            "times of matrix products are not simulated here; the roofline columns say the least time";
        return Err(Failure::Unsupported { option: "--enable-origami", instead });
    }
    let path = arguments.profile();
    let outputs = outputs(&path, &arguments.output);
    for (writer, destination) in &outputs {
        check_destination(writer, destination, &path)?;
    }
    let patterns = asked.communication_pattern.iter();
    let options = JaxOptions {
        architecture: chosen(asked.gpu_arch_json_path.as_deref(), asked.gpu_arch_platform.as_deref())?,
        keyword_filters: asked.kernel_metadata_keyword_filters.clone(),
        figures: if asked.parity { JaxFigures::Reference } else { JaxFigures::Correct },
        copy_kernels: match asked.rebucket_copy_kernels {
            true => CopyKernels::Memcpy,
            false => CopyKernels::Computation,
        },
        communication: patterns
            .fold(CommunicationPatterns::default(), |all, pattern| all.with_pattern(pattern)),
        gpus_per_node: asked.gpus_per_node.get(),
    };
    let profile = read(&path, arguments.output.quiet)?;
    if !profile.planes.iter().any(is_device) {
        return Err(no_device(&path, &profile));
    }
    let analysis = JaxAnalysis::new(profile, options);
    let title = path.file_name().unwrap_or_default().to_string_lossy();
    let report = tables::jax_report(&analysis, &title)?;
    let mut notes = Notes::of(&analysis);
    // What can be written is written and shown even if something else cannot.
    let mut pending: Vec<Failure> = Vec::new();
    for (writer, destination) in &outputs {
        // The names are those of the registry.
        let Some(writer) = writer_by_name(writer) else { continue };
        match writer.write(&report, destination) {
            Ok(written) => {
                notes.wrote(destination, written.paths.len());
                notes.warnings.extend(written.warnings.iter().map(ToString::to_string));
            }
            Err(error) => pending.push(error.into()),
        }
    }
    if arguments.output.json {
        console::write_with(|out| Json.write_to(&report, out))?;
        notes.warnings.iter().for_each(console::warning);
    } else if !arguments.output.quiet {
        console::print(jax_summary::text(&analysis, &report, &notes, console::style()))?;
    }
    // The last one is for the caller, who prints it too.
    let last = pending.pop();
    pending.iter().for_each(console::error);
    last.map_or(Ok(()), Err)
}

/// The workbook goes beside the profile when nothing else is asked for.
fn outputs(profile: &Path, asked: &JaxOutput) -> Vec<(&'static str, PathBuf)> {
    let mut outputs = Vec::new();
    outputs.extend(asked.output_xlsx_path.clone().map(|path| ("xlsx", path)));
    outputs.extend(asked.output_csvs_dir.clone().map(|path| ("csv", path)));
    outputs.extend(asked.output_json_path.clone().map(|path| ("json", path)));
    if outputs.is_empty() && !asked.json {
        outputs.push(("xlsx", default_workbook(profile)));
    }
    outputs
}

fn read(path: &Path, quiet: bool) -> Result<Profile, Failure> {
    let progress = ReadingProgress::new(quiet);
    let update = |state| progress.update(state);
    let options = ReadOptions { threads: None, progress: Some(&update) };
    read_profile(path, &options).map_err(|error| match error {
        IngestError::Directory { path } => {
            let profiles = profiles_below(&path);
            Failure::ProfileDirectory { path, profiles }
        }
        IngestError::UnknownFormat { path, found, .. } => {
            let is_other = formats().iter().any(|format| format.name() == found);
            let (found, advice) = match is_other {
                true => (format!("it is a trace of the format {found}"), "`tracelens report` reads it"),
                false => (
                    format!("found {found}"),
                    "jax.profiler.trace(DIR) writes DIR/plugins/profile/<time>/<host>.xplane.pb",
                ),
            };
            Failure::NoXPlane { path, found, advice: advice.to_owned() }
        }
        error => error.into(),
    })
}

/// Profiles named in an error at most.
const NAMED: usize = 4;

/// The profiles in a directory that a profiler writes to, as a text.
fn profiles_below(directory: &Path) -> String {
    let entries = |directory: &Path| {
        let found = std::fs::read_dir(directory).into_iter().flatten();
        let mut paths: Vec<PathBuf> = found.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        paths
    };
    let is_profile =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".xplane.pb"));
    let runs = entries(&directory.join("plugins/profile"));
    let found = entries(directory).into_iter().chain(runs.iter().flat_map(|run| entries(run)));
    let found: Vec<String> = found.filter(is_profile).map(|path| path.display().to_string()).collect();
    match found.len() {
        0 => "profilers write plugins/profile/<time>/<host>.xplane.pb, and it has none of these".to_owned(),
        count if count > NAMED => format!("{} … ({count} in all)", found[..NAMED].join(", ")),
        _ => found.join(", "),
    }
}

fn is_device(plane: &trace_ingest::xplane::Plane) -> bool {
    matches!(plane.kind, PlaneKind::Gpu { .. } | PlaneKind::Tpu { .. })
}

fn no_device(path: &Path, profile: &Profile) -> Failure {
    let is_loss =
        |warning: &Warning| matches!(warning, Warning::Truncated { .. } | Warning::DamagedCompression { .. });
    let lost = match profile.trace.warnings().iter().any(is_loss) {
        true => " (devices may be in the part of the file that is lost)",
        false => "",
    };
    let names: Vec<&str> = profile.planes.iter().map(|plane| plane.name.as_str()).collect();
    let planes = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    Failure::NoDevicePlane { path: path.to_path_buf(), planes, lost: lost.to_owned() }
}
