//! Reading profiles.

use std::path::Path;

use trace_ingest::xplane::{PlaneKind, Profile, read_profile};
use trace_ingest::{ReadOptions, Warning};

use crate::error::Failure;
use crate::progress::ReadingProgress;

/// Reads a profile that records a device.
pub(super) fn read(path: &Path, quiet: bool) -> Result<Profile, Failure> {
    let progress = ReadingProgress::new(quiet);
    let update = |state| progress.update(state);
    let options = ReadOptions { threads: None, progress: Some(&update), ..ReadOptions::default() };
    let profile = read_profile(path, &options)?;
    match profile.planes.iter().any(is_device) {
        true => Ok(profile),
        false => Err(no_device(path, &profile)),
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
