//! `execution_details.json`: the captures of a folder.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::{CaptureError, CaptureWarning};

/// File name of the list of captures in their folder.
pub const EXECUTION_DETAILS: &str = "execution_details.json";

/// One captured trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFile {
    /// File name in the folder.
    pub file: String,
    /// What the graphs were captured for, in the unit that the engine counts its captures in: tokens or requests.
    /// `None` when nothing says it.
    pub batch_size: Option<i64>,
    /// How much of a step a graph covers.
    pub mode: CaptureMode,
}

/// How much of a step a captured graph covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// One graph is the whole step.
    Full,
    /// One graph for each piece between operators that cannot be captured, such as attention.
    Piecewise,
    /// What else an engine calls it. Which of the two it is, the number of captures in the trace says.
    Other(String),
}

impl CaptureMode {
    /// The mode of this name.
    #[must_use]
    pub fn named(name: &str) -> CaptureMode {
        match name {
            "FULL" => CaptureMode::Full,
            "PIECEWISE" => CaptureMode::Piecewise,
            other => CaptureMode::Other(other.to_owned()),
        }
    }

    /// The mode of a trace with this many captures.
    #[must_use]
    pub fn of_captures(captures: usize) -> CaptureMode {
        if captures <= 1 { CaptureMode::Full } else { CaptureMode::Piecewise }
    }
}

impl fmt::Display for CaptureMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CaptureMode::Full => "FULL",
            CaptureMode::Piecewise => "PIECEWISE",
            CaptureMode::Other(name) => name,
        })
    }
}

/// What the list of captures in a folder says.
#[derive(Debug)]
pub(super) struct Details {
    pub(super) files: Vec<CaptureFile>,
    pub(super) warnings: Vec<CaptureWarning>,
}

/// Reads the list of captures in a folder; `None` when there is none.
pub(super) fn read(folder: &Path) -> Result<Option<Details>, CaptureError> {
    let path = folder.join(EXECUTION_DETAILS);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(CaptureError::Io { path, source }),
    };
    let wrong = |detail: String| CaptureError::Details { path: path.clone(), detail };
    let list: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("is not JSON ({error})")))?;
    let Value::Array(entries) = list else { return Err(wrong("is not a list".to_owned())) };
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        match capture_file(entry).and_then(|file| match folder.join(&file.file).is_file() {
            true => Ok(file),
            false => Err(format!("there is no file {:?} in the folder", file.file)),
        }) {
            Ok(file) => files.push(file),
            Err(detail) => warnings.push(CaptureWarning::Entry { path: path.clone(), index, detail }),
        }
    }
    Ok(Some(Details { files, warnings }))
}

fn capture_file(entry: &Value) -> Result<CaptureFile, String> {
    let field = |name: &str| entry.get(name).unwrap_or(&Value::Null);
    let file = field("file").as_str().ok_or_else(|| format!("file is {}", field("file")))?;
    let batch_size = match field("batch_size") {
        Value::Null => None,
        size => Some(size.as_i64().ok_or_else(|| format!("batch_size is {size}, not an integer"))?),
    };
    let mode = field("mode").as_str().ok_or_else(|| format!("mode is {}", field("mode")))?;
    Ok(CaptureFile { file: file.to_owned(), batch_size, mode: CaptureMode::named(mode) })
}

/// Writes the list of captures into their folder.
pub(super) fn write(folder: &Path, files: &[CaptureFile]) -> Result<PathBuf, CaptureError> {
    let path = folder.join(EXECUTION_DETAILS);
    let write = atomic_file::write_with(&path, |file| file.write_all(text(files).as_bytes()));
    write.map_err(|source| CaptureError::Io { path: path.clone(), source })?;
    Ok(path)
}

fn text(files: &[CaptureFile]) -> String {
    let entry = |file: &CaptureFile| {
        let fields = [
            ("file", Value::from(file.file.as_str())),
            ("batch_size", Value::from(file.batch_size)),
            ("mode", Value::from(file.mode.to_string())),
        ];
        let lines: Vec<String> =
            fields.iter().map(|(name, value)| format!("    \"{name}\": {value}")).collect();
        format!("  {{\n{}\n  }}", lines.join(",\n"))
    };
    match files {
        [] => "[]".to_owned(),
        files => format!("[\n{}\n]", files.iter().map(entry).collect::<Vec<_>>().join(",\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(details: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(EXECUTION_DETAILS), details).unwrap();
        for file in ["a.json", "b.json.gz"] {
            fs::write(folder.path().join(file), "{}").unwrap();
        }
        folder
    }

    fn file(name: &str, batch_size: Option<i64>, mode: CaptureMode) -> CaptureFile {
        CaptureFile { file: name.to_owned(), batch_size, mode }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let files = vec![
            file("a.json", Some(32), CaptureMode::Full),
            file("b.json.gz", None, CaptureMode::Other("DECODE \"x\"".to_owned())),
        ];
        let folder = folder("");
        let path = write(folder.path(), &files).unwrap();
        assert_eq!(
            fs::read_to_string(path).unwrap(),
            "[\n  {\n    \"file\": \"a.json\",\n    \"batch_size\": 32,\n    \"mode\": \"FULL\"\n  },\n  {\n    \
             \"file\": \"b.json.gz\",\n    \"batch_size\": null,\n    \"mode\": \"DECODE \\\"x\\\"\"\n  }\n]"
        );
        let read = read(folder.path()).unwrap().unwrap();
        assert_eq!((read.files, read.warnings.len()), (files, 0));
        assert_eq!(text(&[]), "[]");
    }

    #[test]
    fn entries_that_cannot_be_used_are_left_out_and_told() {
        let folder = folder(
            r#"[{"file": "a.json", "batch_size": "bad", "mode": "FULL"}, {"file": "b.json.gz", "batch_size": 8,
            "mode": "PIECEWISE", "more": 1}, {"file": "gone.json", "batch_size": 8, "mode": "FULL"}, 7,
            {"file": "a.json", "batch_size": 1.5, "mode": "FULL"}, {"file": "a.json", "batch_size": 1}]"#,
        );
        let Details { files, warnings } = read(folder.path()).unwrap().unwrap();
        assert_eq!(files, [file("b.json.gz", Some(8), CaptureMode::Piecewise)]);
        let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let endings = [
            "entry 0 is left out: batch_size is \"bad\", not an integer",
            "entry 2 is left out: there is no file \"gone.json\" in the folder",
            "entry 3 is left out: file is null",
            "entry 4 is left out: batch_size is 1.5, not an integer",
            "entry 5 is left out: mode is null",
        ];
        assert_eq!(said.len(), endings.len());
        for (said, ending) in said.iter().zip(endings) {
            assert!(said.ends_with(ending), "{said}");
        }
    }

    #[test]
    fn a_list_that_is_none_is_an_error_and_no_list_is_none() {
        for (details, detail) in [("{}", "is not a list"), ("[", "is not JSON")] {
            let error = read(folder(details).path()).unwrap_err().to_string();
            assert!(error.contains(detail) && error.contains(EXECUTION_DETAILS), "{error}");
        }
        assert!(read(tempfile::tempdir().unwrap().path()).unwrap().is_none());
    }
}
