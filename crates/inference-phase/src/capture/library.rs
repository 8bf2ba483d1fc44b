//! A folder of capture traces.

use std::fs;
use std::path::{Path, PathBuf};

use trace_ingest::{IngestError, ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

use super::classify::classify;
use super::details::{self, CaptureFile, CaptureMode, Details, EXECUTION_DETAILS};
use super::error::{CaptureError, CaptureWarning};
use super::windows::{CaptureWindow, windows};

/// The capture traces of a folder. Each is read when a replay first needs it, and once; of what is read, only the
/// captured calls are kept.
#[derive(Debug)]
pub struct CaptureLibrary {
    folder: PathBuf,
    files: Vec<CaptureFile>,
    is_listed: bool,
    /// Captures of each file; `None` until it is read.
    captures: Vec<Option<Vec<CaptureWindow>>>,
    warnings: Vec<CaptureWarning>,
}

impl CaptureLibrary {
    /// Opens a folder. What each trace was captured for, `execution_details.json` in it says. Without that file the
    /// traces (`*.json`, `*.json.gz`, `*.json.zst`, `*.zip`; not those in folders of the folder) are read
    /// and classified: by the annotations that engines put around captures, else by shapes and number of captures.
    ///
    /// # Errors
    /// When the folder cannot be read, or the list in it is malformed. A trace or an entry that cannot be used is a
    /// warning ([`CaptureLibrary::warnings`]).
    pub fn open(folder: &Path, reading: &ReadOptions<'_>) -> Result<CaptureLibrary, CaptureError> {
        let failed = |source| CaptureError::Io { path: folder.to_path_buf(), source };
        if !fs::metadata(folder).map_err(failed)?.is_dir() {
            return Err(CaptureError::NotAFolder { path: folder.to_path_buf() });
        }
        if let Some(Details { files, warnings }) = details::read(folder)? {
            let captures = files.iter().map(|_| None).collect();
            return Ok(CaptureLibrary {
                folder: folder.to_path_buf(),
                files,
                is_listed: true,
                captures,
                warnings,
            });
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            names.extend(entry.file_name().into_string().ok().filter(|name| is_trace(name, &entry.path())));
        }
        names.sort_unstable();
        let mut library = CaptureLibrary {
            folder: folder.to_path_buf(),
            files: Vec::new(),
            is_listed: false,
            captures: Vec::new(),
            warnings: Vec::new(),
        };
        if names.is_empty() {
            library.warnings.push(CaptureWarning::NoTraces { folder: folder.to_path_buf() });
        }
        for file in names {
            match read(&folder.join(&file), reading) {
                Ok((batch_size, mode, captures)) => {
                    library.warn_if_empty(&file, &captures);
                    library.files.push(CaptureFile { file, batch_size, mode });
                    library.captures.push(Some(captures));
                }
                Err(error) => library.warnings.push(error.into()),
            }
        }
        Ok(library)
    }

    /// The captured traces.
    #[must_use]
    pub fn files(&self) -> &[CaptureFile] {
        &self.files
    }

    /// Whether `execution_details.json` said what they are, rather than the traces themselves.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// What was got over, reading traces later included.
    #[must_use]
    pub fn warnings(&self) -> &[CaptureWarning] {
        &self.warnings
    }

    /// Writes what was found out about the traces as `execution_details.json` into the folder, so that the next use
    /// need not read all of them. A folder that has the file keeps it as it is. Returns the path when it is written.
    ///
    /// # Errors
    /// [`CaptureError::Io`].
    pub fn save(&self) -> Result<Option<PathBuf>, CaptureError> {
        match self.is_listed || self.files.is_empty() {
            true => Ok(None),
            false => details::write(&self.folder, &self.files).map(Some),
        }
    }

    /// The captures of a file, in order; none when it cannot be read.
    pub(super) fn captures(&mut self, file: usize, reading: &ReadOptions<'_>) -> &[CaptureWindow] {
        if self.captures[file].is_none() {
            let name = self.files[file].file.clone();
            let captures = match read(&self.folder.join(&name), reading) {
                Ok((_, _, captures)) => {
                    self.warn_if_empty(&name, &captures);
                    captures
                }
                Err(error) => {
                    self.warnings.push(error.into());
                    Vec::new()
                }
            };
            self.captures[file] = Some(captures);
        }
        self.read_captures(file)
    }

    /// The captures of a file that was read already.
    pub(super) fn read_captures(&self, file: usize) -> &[CaptureWindow] {
        self.captures.get(file).and_then(Option::as_deref).unwrap_or_default()
    }

    fn warn_if_empty(&mut self, file: &str, captures: &[CaptureWindow]) {
        if captures.is_empty() {
            self.warnings.push(CaptureWarning::NoCapture { path: self.folder.join(file) });
        }
    }
}

fn is_trace(name: &str, path: &Path) -> bool {
    let endings = [".json", ".json.gz", ".json.zst", ".zip"];
    name != EXECUTION_DETAILS && endings.iter().any(|ending| name.ends_with(ending)) && path.is_file()
}

/// What a trace was captured for, and its captures.
fn read(
    path: &Path,
    reading: &ReadOptions<'_>,
) -> Result<(Option<i64>, CaptureMode, Vec<CaptureWindow>), IngestError> {
    let trace = read_path(path, reading)?;
    let (batch_size, mode) = classify(&trace);
    let tree = TraceTree::build(trace, &TreeOptions { python_frames: true, ..TreeOptions::default() });
    Ok((batch_size, mode, windows(&tree)))
}
