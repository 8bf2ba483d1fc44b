//! The options of the reports of all recorders.

use clap::{Args, Command};
use trace_ingest::RecordingKind;

use super::answer_output::json_document;
use super::jax::JaxArguments;
use super::metal::MetalArguments;
use super::pytorch::TraceArguments;
use super::rocprof::RocprofArguments;

/// What help calls the recordings of each kind, and the options of their report.
pub(super) fn recorders() -> [(RecordingKind, &'static str, Command); 4] {
    let none = || Command::new("report");
    [
        (RecordingKind::Trace, "PyTorch traces", TraceArguments::augment_args(none())),
        (RecordingKind::XPlane, "XPlane profiles", JaxArguments::augment_args(none())),
        (RecordingKind::Rocprof, "rocprofv3 profiles", RocprofArguments::augment_args(none())),
        (RecordingKind::TenstorrentOps, "Tenstorrent operations", MetalArguments::augment_args(none())),
    ]
}

pub(super) fn has(options: &Command, id: &str) -> bool {
    options.get_arguments().any(|known| known.get_id() == id)
}

/// The command with the options of all recorders; those of one recorder alone are under its heading.
pub(super) fn with_all_options(mut command: Command) -> Command {
    let recorders = recorders();
    for (_, name, options) in &recorders {
        for arg in options.get_arguments() {
            let id = arg.get_id().as_str();
            if has(&command, id) {
                continue;
            }
            let is_shared = recorders.iter().filter(|(.., options)| has(options, id)).count() > 1;
            let arg = arg.clone();
            command = command.arg(if is_shared { arg } else { arg.help_heading(*name) });
        }
    }
    command = command.group(json_document());
    command = command.mut_arg("parity", |arg| {
        arg.help(
            "tracelens: use TraceLens's figures where ours differ. hta (PyTorch traces): add the tables of \
             Holistic Trace Analysis (sheets hta_…)",
        )
    });
    command.mut_arg("output_xlsx_path", |arg| {
        arg.help(
            "Write the workbook to this file [default: <input>_perf_report.xlsx beside the input, unless \
             another output is named; none for Tenstorrent operations]",
        )
    })
}
