//! Which files may be read.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use answers::envelope::{Input, InputDetails, Role};
use sheets::{Cell, Column, Table, TableColumn, TableError};
use thiserror::Error as ThisError;

use crate::refusal::Refusal;

/// Why there are no roots.
#[derive(Debug, ThisError, miette::Diagnostic)]
#[non_exhaustive]
pub enum RootError {
    /// No root was named.
    #[error("no folder given")]
    #[diagnostic(code("roots/none"), help("pass folders with recordings as --root DIR"))]
    None,
    /// A root cannot be used.
    #[error("{path}: cannot be a root: {source}", path = .path.display())]
    #[diagnostic(code("roots/folder"), help("pass a readable folder"))]
    Folder {
        /// The root.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Folders whose files may be read.
#[derive(Clone, Debug)]
pub struct Roots {
    folders: Vec<PathBuf>,
    most_bytes: u64,
}

/// A file that may be read, as it was when that was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Its path without links.
    pub(crate) path: PathBuf,
    /// What tells it from another of this path.
    stamp: Stamp,
}

/// What changes when a file is changed or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Device and number of the file, where the system has such.
    file: Option<(u64, u64)>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let file = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let file = None;
        Stamp { bytes: metadata.len(), modified: metadata.modified().ok(), file }
    }
}

impl Roots {
    /// These folders, in which files up to so many bytes may be read.
    ///
    /// # Errors
    /// When there is none, or one is no folder.
    pub fn new(folders: &[PathBuf], most_bytes: u64) -> Result<Self, RootError> {
        if folders.is_empty() {
            return Err(RootError::None);
        }
        let canonical = |path: &PathBuf| {
            let failed = |source| RootError::Folder { path: path.clone(), source };
            let folder = path.canonicalize().map_err(failed)?;
            match folder.is_dir() {
                true => Ok(folder),
                false => Err(failed(std::io::ErrorKind::NotADirectory.into())),
            }
        };
        Ok(Roots { folders: folders.iter().map(canonical).collect::<Result<_, _>>()?, most_bytes })
    }

    /// How many folders.
    pub(crate) fn count(&self) -> usize {
        self.folders.len()
    }

    /// The largest file that may be read, in bytes.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// The file of a path, absolute or from one of the roots, if it may be read. What is outside is refused in the same words
    /// whether it exists or not.
    pub(crate) fn file(&self, path: &str) -> Result<Allowed, Refusal> {
        let outside = || {
            Refusal::new("outside-roots", "the path is outside the folders that may be read")
                .with_help("pass a file in one of them")
        };
        let candidates: Vec<PathBuf> = match Path::new(path) {
            path if path.is_absolute() => vec![path.to_path_buf()],
            path => self.folders.iter().map(|root| root.join(path)).collect(),
        };
        let mut is_inside = false;
        for candidate in candidates {
            let Ok(canonical) = candidate.canonicalize() else {
                // A link says nothing of what it leads to. Whether it would be inside, if it existed: its folder is.
                if candidate.is_symlink() {
                    continue;
                }
                let folder = candidate.parent().and_then(|folder| folder.canonicalize().ok());
                is_inside |= folder.is_some_and(|folder| self.has(&folder));
                continue;
            };
            if !self.has(&canonical) {
                continue;
            }
            let metadata = canonical.metadata().map_err(|_| no_such_file())?;
            if !metadata.is_file() {
                return Err(Refusal::new("not-a-trace", "the path is not a regular file")
                    .with_help("pass a recording"));
            }
            if metadata.len() > self.most_bytes {
                let most = self.most_bytes;
                let text = format!("the file has {} bytes, more than the limit of {most}", metadata.len());
                return Err(
                    Refusal::new("too-large", text).with_help("start the server with a larger --max-file")
                );
            }
            return Ok(Allowed { path: canonical, stamp: Stamp::of(&metadata) });
        }
        Err(if is_inside { no_such_file() } else { outside() })
    }

    /// The recordings below the roots, by path. Links are not followed, and hidden files left aside.
    pub(crate) fn recordings(&self, stop: &AtomicBool) -> Result<Table, TableError> {
        /// Files and folders that are looked at.
        const MOST: usize = 20_000;
        /// Path, format and size.
        type Found = (String, &'static str, Option<u64>);
        let mut found: Vec<Found> = Vec::new();
        let mut folders: Vec<(&Path, PathBuf)> =
            self.folders.iter().map(|root| (root.as_path(), root.clone())).collect();
        let mut looked_at = 0;
        while let Some((root, folder)) = folders.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                looked_at += 1;
                if looked_at > MOST || stop.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(kind) = entry.file_type() else { continue };
                if name.to_string_lossy().starts_with('.') {
                    continue;
                }
                if kind.is_dir() {
                    folders.push((root, path));
                } else if kind.is_file() {
                    let input = Input::of(&path, Role::Trace, 1, InputDetails::default());
                    let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                    found.extend(input.format.map(|format| (shown, format, input.bytes)));
                }
            }
        }
        found.sort_unstable();
        let column =
            |column, cell: &dyn Fn(&Found) -> Cell<'static>| TableColumn::new(column, found.iter().map(cell));
        let columns = vec![
            column(Column::text("file", "Path, relative to its root."), &|row| row.0.clone().into()),
            column(Column::text("format", "Format of the recording."), &|row| row.1.into()),
            column(Column::count("bytes", "Size of the file."), &|row| {
                row.2.map(|bytes| bytes as i64).into()
            }),
        ];
        Table::new("recordings", columns)
    }

    fn has(&self, path: &Path) -> bool {
        self.folders.iter().any(|root| path.starts_with(root))
    }
}

fn no_such_file() -> Refusal {
    Refusal::new("no-such-file", "no such file in the folders that may be read").with_help("check its name")
}

impl Allowed {
    /// Whether the path still leads to the same file with the same content, as far as its time and size tell.
    pub(crate) fn is_unchanged(&self) -> bool {
        let now = self.path.canonicalize().ok().filter(|path| *path == self.path);
        now.and_then(|path| path.metadata().ok()).is_some_and(|metadata| Stamp::of(&metadata) == self.stamp)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_regular_files_below_a_root_are_read() {
        let place = tempfile::tempdir().unwrap();
        let (root, other) = (place.path().join("root"), place.path().join("other"));
        for folder in [&root, &other] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(root.join("a.json"), "{}").unwrap();
        fs::write(root.join("large.json"), "x".repeat(100)).unwrap();
        fs::write(other.join("secret.json"), "{}").unwrap();
        let roots = Roots::new(std::slice::from_ref(&root), 50).unwrap();
        let code = |path: &str| roots.file(path).map_or_else(|refusal| refusal.code, |_| "ok");
        assert_eq!(code("a.json"), "ok");
        assert_eq!(code(root.join("a.json").to_str().unwrap()), "ok");
        assert_eq!(code("b.json"), "no-such-file");
        assert_eq!(code("large.json"), "too-large");
        assert_eq!(code("."), "not-a-trace");
        for outside in ["../other/secret.json", "../other/none.json", "/etc/passwd", "/proc/self/environ"] {
            assert_eq!(code(outside), "outside-roots", "{outside}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(other.join("secret.json"), root.join("link.json")).unwrap();
            std::os::unix::fs::symlink(other.join("none.json"), root.join("dangling.json")).unwrap();
            for link in ["link.json", "dangling.json"] {
                assert_eq!(code(link), "outside-roots", "{link}");
            }
        }
    }

    #[test]
    fn a_file_that_was_replaced_is_another() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a.json");
        fs::write(&file, "{}").unwrap();
        let roots = Roots::new(&[place.path().to_path_buf()], 50).unwrap();
        let allowed = roots.file("a.json").unwrap();
        assert!(allowed.is_unchanged());
        fs::write(&file, "{\"x\": 1}").unwrap();
        assert!(!allowed.is_unchanged());
        assert!(matches!(Roots::new(&[], 50), Err(RootError::None)));
        assert!(Roots::new(&[file], 50).is_err());
    }
}
