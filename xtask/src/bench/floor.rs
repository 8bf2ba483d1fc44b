//! The least that reading a trace takes, measured by the program in `benches/floor`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::median;

/// Longest text of which a tape is made, in bytes: the tape and its text take some ten times that in memory.
const TAPE_LIMIT: u64 = 1 << 30;

/// Seconds on one thread, in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Floor {
    pub(super) text_bytes: u64,
    /// libdeflate; `None` of a plain file.
    pub(super) inflate_seconds: Option<f64>,
    /// `simd_json::to_tape`.
    pub(super) tape_seconds: Option<f64>,
    /// Why there is no tape.
    pub(super) tape_refused: Option<String>,
}

impl Floor {
    /// Both together; `None` when a part is not known.
    pub(super) fn seconds(&self) -> Option<f64> {
        Some(self.inflate_seconds.unwrap_or(0.0) + self.tape_seconds?)
    }
}

/// What `floor` prints.
#[derive(Deserialize)]
struct Measured {
    text_bytes: u64,
    inflate_seconds: Option<Vec<f64>>,
    tape_seconds: Option<Vec<f64>>,
    tape_refused: Option<String>,
}

/// Builds the program; it has a workspace of its own, but no target folder.
pub(super) fn build(root: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = root.join("target");
    let manifest = root.join("benches/floor/Cargo.toml");
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target)
        .status()?;
    match built.success() {
        true => Ok(target.join("release").join(format!("floor{}", std::env::consts::EXE_SUFFIX))),
        false => Err("benches/floor does not build".into()),
    }
}

pub(super) fn measure(binary: &Path, trace: &Path, runs: u32) -> Result<Floor, Box<dyn Error>> {
    let limit = TAPE_LIMIT.to_string();
    let output = Command::new(binary).arg(trace).args([runs.to_string(), limit]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().into());
    }
    Ok(floor(serde_json::from_slice(&output.stdout)?))
}

fn floor(measured: Measured) -> Floor {
    Floor {
        text_bytes: measured.text_bytes,
        inflate_seconds: measured.inflate_seconds.and_then(median),
        tape_seconds: measured.tape_seconds.and_then(median),
        tape_refused: measured.tape_refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_the_median_of_both_parts() {
        let of = |text: &str| floor(serde_json::from_str(text).unwrap());
        let gzip = of(
            r#"{"text_bytes": 9, "inflate_seconds": [3.0, 1.0, 2.0], "tape_seconds": [0.5], "tape_refused": null}"#,
        );
        assert_eq!(gzip.seconds(), Some(2.5));
        let plain =
            of(r#"{"text_bytes": 9, "inflate_seconds": null, "tape_seconds": [0.5], "tape_refused": null}"#);
        assert_eq!(plain.seconds(), Some(0.5));
        let refused =
            of(r#"{"text_bytes": 9, "inflate_seconds": [1.0], "tape_seconds": null, "tape_refused": "NaN"}"#);
        assert_eq!((refused.seconds(), refused.tape_refused.as_deref()), (None, Some("NaN")));
    }
}
