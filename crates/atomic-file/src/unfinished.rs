//! The temporary files of this process.
//!
//! They are made, renamed and removed under one lock, so that whoever holds it knows them all.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The set is whole after every step, so a panic beside it does no harm.
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No temporary file is left, and none is made or renamed while this lives: threads that try to wait.
#[derive(Debug)]
#[must_use = "files may be made again as soon as this is dropped"]
pub struct Removed {
    _files: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// Removes every temporary file and folder of this process: for handlers of Ctrl-C, which end the process while the result
/// lives. Must not be called inside a signal handler proper, only on a thread that waits for signals.
pub fn remove_unfinished() -> Removed {
    let mut files = files();
    while let Some(path) = files.pop_first() {
        // The program ends; nobody could be told. Threads may still add to a folder.
        let _ = fs::remove_file(&path);
        for _ in 0..20 {
            if fs::symlink_metadata(&path).is_err() || fs::remove_dir_all(&path).is_ok() {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
    Removed { _files: files }
}

/// Makes something of a name that no other file has.
///
/// The name says nothing of the destination's, which may be as long as names can be.
fn make_in<T>(folder: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    static LOOKED_INTO: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut files = files();
    if LOOKED_INTO.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_path_buf()) {
        remove_old(folder);
    }
    loop {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{PREFIX}{}-{number}{ENDING}", process::id()));
        match make(&path) {
            Ok(made) => {
                files.insert(path.clone());
                return Ok((path, made));
            }
            // Of a process that was killed, or of one on another machine that shares the folder.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

const PREFIX: &str = ".unfinished-";
const ENDING: &str = ".tmp";

/// Removes what processes that were killed have left in a folder. Those that still run may be on other machines: what has
/// not changed for so long is nobody's.
fn remove_old(folder: &Path) {
    const OLD: Duration = Duration::from_secs(24 * 60 * 60);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(ENDING));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_ours = numbers.and_then(|numbers| numbers.split_once('-'));
        let is_ours = is_ours.is_some_and(|(process, number)| is_number(process) && is_number(number));
        // Of a link itself, which is neither.
        let Some(metadata) = entry.metadata().ok().filter(|_| is_ours) else { continue };
        let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
        // What cannot be removed is no fault of this run.
        let _ = match age.is_some_and(|age| age > OLD) {
            true if metadata.is_file() => fs::remove_file(entry.path()),
            true if metadata.is_dir() => fs::remove_dir_all(entry.path()),
            _ => Ok(()),
        };
    }
}

pub(crate) fn create_in(folder: &Path) -> io::Result<(PathBuf, File)> {
    make_in(folder, |path| OpenOptions::new().write(true).create_new(true).open(path))
}

/// A folder that is removed with all that is in it when this is dropped or the program is ended by a signal.
#[derive(Debug)]
pub struct UnfinishedFolder(PathBuf);

impl UnfinishedFolder {
    /// Makes one in a folder. A private one is for its owner alone.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create_in(folder: &Path, is_private: bool) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        if is_private {
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        }
        #[cfg(not(unix))]
        let _ = (is_private, &mut builder);
        make_in(folder, |path| builder.create(path)).map(|(path, ())| UnfinishedFolder(path))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Renames it, and leaves it there.
    ///
    /// # Errors
    /// When it cannot be renamed; it is removed then.
    pub fn rename(self, destination: &Path) -> io::Result<()> {
        rename(&self.0, destination)
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        let mut files = files();
        // The failure that made the folder superfluous is the one to report.
        if files.remove(&self.0) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

pub(crate) fn rename(path: &Path, destination: &Path) -> io::Result<()> {
    let mut files = files();
    fs::rename(path, destination)?;
    files.remove(path);
    Ok(())
}

pub(crate) fn remove(path: &Path) {
    let mut files = files();
    // The failure that made the file superfluous is the one to report.
    let _ = fs::remove_file(path);
    files.remove(path);
}
