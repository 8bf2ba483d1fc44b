//! The architecture that figures are held against.

use std::path::Path;

use perf_models::{Architecture, architectures};

use crate::error::Failure;

/// The architecture that was named, by file or by name; `None` where neither was.
pub(crate) fn chosen(file: Option<&Path>, name: Option<&str>) -> Result<Option<Architecture>, Failure> {
    match (file, name) {
        (Some(path), _) => from_file(path).map(Some),
        (None, Some(name)) => bundled(name).map(Some),
        (None, None) => Ok(None),
    }
}

fn from_file(path: &Path) -> Result<Architecture, Failure> {
    let failed = |detail: String| Failure::ArchitectureFile { path: path.to_path_buf(), detail };
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    Architecture::from_json(&text).map_err(|error| failed(error.to_string()))
}

fn bundled(name: &str) -> Result<Architecture, Failure> {
    perf_models::architecture(name).cloned().ok_or_else(|| {
        let known: Vec<&str> = architectures().map(|known| known.name.as_str()).collect();
        Failure::UnknownArchitecture { name: name.to_string(), known: known.join(", ") }
    })
}
