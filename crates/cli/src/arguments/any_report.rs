//! `tracelens report`: of the options of all recorders those of the recorder whose recording it is count.

use std::path::{Path, PathBuf};

use answers::envelope::Asked;
use trace_ingest::RecordingKind;

use super::recorders::{has, recorders};
use super::{Given, Reference, long_name};
use crate::error::Failure;

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
    let recorder_entry = recorders.iter().find(|(known, ..)| *known == recorder_of(kind));
    given.asked(|id| recorder_entry.is_some_and(|(.., options)| has(options, id)))
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
