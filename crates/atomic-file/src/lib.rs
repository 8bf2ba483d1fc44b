#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod unfinished;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use unfinished::{Removed, UnfinishedFolder, remove_unfinished};

/// A file that is being written and takes its place on [`commit`](Self::commit).
#[derive(Debug)]
pub struct AtomicFile {
    output: BufWriter<File>,
    // Dropped after `output`, so that the file is closed when it is removed.
    pending: PendingFile,
}

impl AtomicFile {
    /// Makes a temporary file beside `destination`.
    ///
    /// # Errors
    /// When `destination` is a directory or may not be written, or when its folder is missing or takes no files.
    pub fn create(destination: &Path) -> io::Result<Self> {
        let (pending, file) = PendingFile::create(destination)?;
        Ok(AtomicFile { output: BufWriter::new(file), pending })
    }

    /// Writes what is still in memory and closes the file, which waits for [`PendingFile::commit`].
    pub fn finish(mut self) -> io::Result<PendingFile> {
        self.output.flush()?;
        Ok(self.pending)
    }

    /// Ends the file and puts it in its place.
    ///
    /// # Errors
    /// When it cannot be written or renamed; the destination is then as it was.
    pub fn commit(self) -> io::Result<()> {
        self.finish()?.commit()
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Writes a whole file by `write`.
///
/// # Errors
/// When `write` fails or the file cannot be made or renamed; the destination is then as it was.
pub fn write_with(
    destination: &Path,
    write: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = AtomicFile::create(destination)?;
    write(&mut file)?;
    file.commit()
}

/// A file that waits, closed, to take its place. Dropped before that, it is removed.
#[derive(Debug)]
pub struct PendingFile {
    /// What the caller named.
    destination: PathBuf,
    /// Where the content is until then; the destination itself where that is no regular file.
    path: PathBuf,
    /// What to rename it to, links followed; `None` where nothing is to be renamed.
    target: Option<PathBuf>,
}

impl PendingFile {
    /// Makes an empty temporary file beside `destination`; the file is open for writing.
    ///
    /// # Errors
    /// Those of [`AtomicFile::create`].
    pub fn create(destination: &Path) -> io::Result<(Self, File)> {
        let existing = match fs::metadata(destination) {
            Ok(metadata) => Some(metadata),
            // A link that leads nowhere, too: the link is replaced.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = match &existing {
            Some(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(destination)?;
                let destination = destination.to_owned();
                return Ok((PendingFile { path: destination.clone(), destination, target: None }, file));
            }
            Some(_) => {
                // A file that the user may not write must not be replaced either.
                OpenOptions::new().write(true).open(destination)?;
                fs::canonicalize(destination)?
            }
            None if destination.file_name().is_none() => return Err(io::ErrorKind::InvalidInput.into()),
            None => destination.to_owned(),
        };
        let folder = match target.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let (path, file) = unfinished::create_in(folder)?;
        let pending = PendingFile { destination: destination.to_owned(), path, target: Some(target) };
        if let Some(metadata) = existing {
            fs::set_permissions(&pending.path, metadata.permissions())?;
        }
        Ok((pending, file))
    }

    /// Where the file is to be.
    #[must_use]
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Where the content is to be written until [`commit`](Self::commit).
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// When it cannot be renamed; the destination is then as it was.
    pub fn commit(mut self) -> io::Result<()> {
        if let Some(target) = &self.target {
            unfinished::rename(&self.path, target)?;
            self.target = None;
        }
        Ok(())
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if self.target.is_some() {
            unfinished::remove(&self.path);
        }
    }
}
