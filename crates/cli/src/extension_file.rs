//! Extension files that arguments name.

use std::fs;
use std::path::Path;

use extension::{Extension, Form, Python};

use crate::error::Failure;

/// Reads an extension file: its name, its text, and the Python that is to run it.
pub(crate) fn read(path: &Path, python: Option<&Path>) -> Result<(String, String, Python), Failure> {
    // Who has a file of a form that is not read any more is told so before anything else.
    Form::of(&path.to_string_lossy())?;
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::Input { path: path.to_path_buf(), detail: error.to_string() })?;
    let python = Python {
        program: python.map_or_else(|| Python::default().program, Path::to_path_buf),
        ..Python::default()
    };
    Ok((path.to_string_lossy().into_owned(), text, python))
}

/// Loads an extension file for a report.
pub(crate) fn load(path: &Path, python: Option<&Path>) -> Result<Extension, Failure> {
    let (path, text, python) = read(path, python)?;
    Ok(Extension::load(&path, &text, &python)?)
}
