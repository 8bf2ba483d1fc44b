//! `tracelens report`: the options of the reports of all recorders. Those of the recorder whose recording it is count.

use std::path::{Path, PathBuf};

use answers::envelope::Asked;
use clap::{Args, Command};
use trace_ingest::RecordingKind;

use super::answer_output::json_document;
use super::jax::JaxArguments;
use super::metal::MetalArguments;
use super::pytorch::TraceArguments;
use super::rocprof::RocprofArguments;
use super::{Given, Reference, long_name};
use crate::error::Failure;

/// What help calls the recordings of each kind, and the options of their report.
fn recorders() -> [(RecordingKind, &'static str, Command); 4] {
    let none = || Command::new("report");
    [
        (RecordingKind::Trace, "PyTorch traces", TraceArguments::augment_args(none())),
        (RecordingKind::XPlane, "XPlane profiles", JaxArguments::augment_args(none())),
        (RecordingKind::Rocprof, "rocprofv3 profiles", RocprofArguments::augment_args(none())),
        (RecordingKind::TenstorrentOps, "Tenstorrent operations", MetalArguments::augment_args(none())),
    ]
}

fn has(options: &Command, id: &str) -> bool {
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
            "tracelens: the figures of TraceLens where ours differ. hta, of PyTorch traces: the tables of Holistic \
             Trace Analysis too, with its figures (sheets hta_…)",
        )
    });
    command.mut_arg("output_xlsx_path", |arg| {
        arg.help(
            "Write the workbook here [default: <input>_perf_report.xlsx beside the input, unless another output is \
             named; none for Tenstorrent operations]",
        )
    })
}

/// The first of the recordings.
pub(crate) fn first_recording(given: &Given) -> Option<&Path> {
    let files = ["files", "profile_json_path"];
    files.iter().find_map(|id| given.matches.get_one::<PathBuf>(id)).map(PathBuf::as_path)
}

/// The recorder whose options the report of a recording has: that of exports of Nsight Systems is the one of PyTorch traces.
fn recorder_of(kind: RecordingKind) -> RecordingKind {
    if kind == RecordingKind::Nsys { RecordingKind::Trace } else { kind }
}

/// What is asked of a recording of this kind.
pub(crate) fn asked(given: &Given, kind: RecordingKind) -> Asked {
    let recorders = recorders();
    let of_kind = recorders.iter().find(|(known, ..)| *known == recorder_of(kind));
    given.asked(|id| of_kind.is_some_and(|(.., options)| has(options, id)))
}

/// Refuses options that only reports of other recorders have.
pub(crate) fn check(given: &Given, kind: RecordingKind, path: &Path) -> Result<(), Failure> {
    let recorders = recorders();
    let asks_for_hta = given.matches.try_get_one("parity").ok().flatten() == Some(&Reference::Hta);
    if asks_for_hta && kind != RecordingKind::Trace {
        return Err(Failure::OptionOfOtherRecorder {
            option: "--parity hta".to_owned(),
            of: recorders[0].1.to_owned(),
            path: path.to_path_buf(),
            kind,
        });
    }
    let options_of = recorder_of(kind);
    for option in given.ids() {
        let of = || recorders.iter().filter(|(.., options)| has(options, &option));
        // Those of no recorder are the program's.
        if of().next().is_some() && of().all(|(known, ..)| *known != options_of) {
            let of: Vec<&str> = of().map(|(_, name, _)| *name).collect();
            return Err(Failure::OptionOfOtherRecorder {
                option: long_name("report", &option),
                of: of.join(" and "),
                path: path.to_path_buf(),
                kind,
            });
        }
    }
    Ok(())
}
