//! The temporary files of this process.
//!
//! They are made, renamed and removed under one lock, so that whoever holds it knows them all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Removes every temporary file of this process: for handlers of Ctrl-C, which end the process while the result
/// lives. Must not be called inside a signal handler proper, only on a thread that waits for signals.
pub fn remove_unfinished() -> Removed {
    let mut files = files();
    while let Some(path) = files.pop_first() {
        // The program ends; nobody could be told.
        let _ = fs::remove_file(path);
    }
    Removed { _files: files }
}

/// Makes a file of a name that no other file has.
///
/// The name says nothing of the destination's, which may be as long as names can be.
pub(crate) fn create_in(folder: &Path) -> io::Result<(PathBuf, File)> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let mut files = files();
    loop {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".unfinished-{}-{number}.tmp", process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => {
                files.insert(path.clone());
                return Ok((path, file));
            }
            // Of a process that was killed, or of one on another machine that shares the folder.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
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
