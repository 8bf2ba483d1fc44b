//! Reading profiles, and what there is to say of files that are none.

use std::path::{Path, PathBuf};

use trace_ingest::xplane::{PlaneKind, Profile, read_profile};
use trace_ingest::{IngestError, ReadOptions, Warning, formats};

use crate::error::Failure;
use crate::progress::ReadingProgress;
use crate::readers::reader_of;

/// Reads a profile that records a device.
pub(super) fn read(path: &Path, quiet: bool) -> Result<Profile, Failure> {
    let progress = ReadingProgress::new(quiet);
    let update = |state| progress.update(state);
    let options = ReadOptions { threads: None, progress: Some(&update), ..ReadOptions::default() };
    let profile = read_profile(path, &options).map_err(|error| match error {
        IngestError::Directory { path } => {
            let profiles = profiles_below(&path);
            Failure::ProfileDirectory { path, profiles }
        }
        IngestError::UnknownFormat { path, found, .. } => {
            let is_other = formats().iter().any(|format| format.name() == found);
            let (found, advice) = match is_other {
                true => (format!("it is a trace of the format {found}"), reader_of(&found)),
                false => (
                    format!("found {found}"),
                    "jax.profiler.trace(DIR) writes DIR/plugins/profile/<time>/<host>.xplane.pb",
                ),
            };
            Failure::NoXPlane { path, found, advice: advice.to_owned() }
        }
        error => error.into(),
    })?;
    match profile.planes.iter().any(is_device) {
        true => Ok(profile),
        false => Err(no_device(path, &profile)),
    }
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
