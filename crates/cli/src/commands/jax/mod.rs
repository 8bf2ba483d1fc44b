//! `tracelens jax`.

mod reading;
mod run_of_nodes;

use std::path::Path;

use perf_models::CommunicationPatterns;
use report_writers::{Report, Workbook};
use xla_perf::{CopyKernels, JaxAnalysis, JaxFigures, JaxOptions};

use crate::architecture_choice::chosen;
use crate::arguments::jax::{JaxAnalysisArguments, JaxArguments};
use crate::console;
use crate::error::Failure;
use crate::jax_summary;
use crate::notes::Notes;
use crate::report_files::{RooflinePicture, end_with, show, write_tables};
use crate::report_request::{check_destination, default_workbook};
use crate::rooflines::Rooflines;
use crate::tables;
use crate::timings::{Stage, Timings};

pub(crate) fn run(arguments: &JaxArguments, timings: &mut Timings) -> Result<(), Failure> {
    if arguments.analysis.enable_origami {
        let instead =
            "times of matrix products are not simulated here; the roofline columns say the least time";
        return Err(Failure::Unsupported { option: "--enable-origami", instead });
    }
    match arguments.profiles() {
        [path] => of_profile(path, arguments, timings),
        paths => run_of_nodes::report(paths, arguments, timings),
    }
}

fn of_profile(path: &Path, arguments: &JaxArguments, timings: &mut Timings) -> Result<(), Failure> {
    let output = &arguments.output;
    let mut outputs = output.tables.destinations();
    if outputs.is_empty() && output.roofline_svg.is_none() && !output.tables.json {
        outputs.push((&Workbook, default_workbook(path)));
    }
    let pictures = output.roofline_svg.iter().map(|picture| ("svg", picture));
    for (writer, destination) in outputs.iter().map(|(writer, path)| (writer.name(), path)).chain(pictures) {
        check_destination(writer, destination, path)?;
    }
    let options = options(&arguments.analysis)?;
    timings.begin(Stage::Read);
    let profile = reading::read(path, output.tables.quiet)?;
    timings.count_events(profile.trace.events().len());
    timings.begin(Stage::Analysis);
    let analysis = JaxAnalysis::new(profile, options);
    timings.begin(Stage::Sheets);
    let title = path.file_name().unwrap_or_default().to_string_lossy();
    let report = tables::jax_report(&analysis, &title)?;
    let mut notes = Notes::of_warnings(jax_summary::warnings(&analysis));
    if arguments.analysis.gpus_per_node.is_some() {
        notes.warnings.push("--gpus_per_node has no effect on one profile: its GPUs are one host's".into());
    }
    timings.begin(Stage::Write);
    // What can be written is written and shown even if something else cannot.
    let mut pending = write_tables(&report, &outputs, &mut notes);
    if let Some(destination) = &output.roofline_svg {
        pending.extend(draw_rooflines(&analysis, &title, &report, destination, &mut notes).err());
    }
    timings.begin(Stage::Terminal);
    show(&output.tables, &report, &notes, || {
        jax_summary::text(&analysis, &report, &notes, console::style())
    })?;
    timings.end();
    end_with(pending)
}

/// The picture of GPUs; TPUs have a sheet.
fn draw_rooflines(
    analysis: &JaxAnalysis,
    title: &str,
    report: &Report,
    destination: &Path,
    notes: &mut Notes,
) -> Result<(), Failure> {
    if analysis.has_tpus() && analysis.gpus().is_empty() {
        let why = "--roofline_svg writes nothing: it draws what ran on GPUs; the sheet roofline_model has what \
                   ran on TPUs";
        notes.warnings.push(why.to_owned());
        return Ok(());
    }
    let rooflines = Rooflines::of_instructions(report);
    let (roofs, architecture) = (analysis.roofs(), analysis.architecture());
    let rooflines = rooflines.as_ref();
    let picture = RooflinePicture { rooflines, roofs, architecture, title, recording: "profile" };
    picture.write(destination, notes)
}

/// What an analysis is asked to do.
fn options(asked: &JaxAnalysisArguments) -> Result<JaxOptions, Failure> {
    let patterns = asked.communication_pattern.iter();
    let defaults = JaxOptions::default();
    Ok(JaxOptions {
        architecture: chosen(asked.gpu_arch_json_path.as_deref(), asked.gpu_arch_platform.as_deref())?,
        keyword_filters: asked.kernel_metadata_keyword_filters.clone(),
        figures: if asked.parity { JaxFigures::Reference } else { JaxFigures::Correct },
        copy_kernels: match asked.rebucket_copy_kernels {
            true => CopyKernels::Memcpy,
            false => CopyKernels::Computation,
        },
        communication: patterns
            .fold(CommunicationPatterns::default(), |all, pattern| all.with_pattern(pattern)),
        gpus_per_node: asked.gpus_per_node.map_or(defaults.gpus_per_node, Into::into),
    })
}
