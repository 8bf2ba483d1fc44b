//! Compresses and writes files on threads of their own.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use atomic_file::PendingFile;

use super::gzip_file::{Deflater, GzipFile};
use super::write::SplitError;

/// Pieces that wait for a thread.
const QUEUE: usize = 2;

/// Text for a file, in order.
struct Piece {
    file: usize,
    text: Vec<u8>,
    is_last: bool,
}

/// The threads. Each has files of its own, so that a file's pieces stay in order.
pub(crate) struct Compressors<'scope> {
    queues: Vec<SyncSender<Piece>>,
    threads: Vec<ScopedJoinHandle<'scope, Result<Vec<PendingFile>, SplitError>>>,
}

impl<'scope> Compressors<'scope> {
    /// Starts up to so many threads for the files, which have their positions for numbers.
    pub(crate) fn start(scope: &'scope Scope<'scope, '_>, files: Vec<GzipFile>, threads: usize) -> Self {
        let threads = threads.clamp(1, files.len().max(1));
        let mut shares: Vec<HashMap<usize, GzipFile>> = (0..threads).map(|_| HashMap::new()).collect();
        for (number, file) in files.into_iter().enumerate() {
            shares[number % threads].insert(number, file);
        }
        let start = |share| {
            let (queue, pieces) = sync_channel(QUEUE);
            (queue, scope.spawn(move || compress(&pieces, share)))
        };
        let (queues, threads) = shares.into_iter().map(start).unzip();
        Compressors { queues, threads }
    }

    /// Adds text to a file; `false` when its thread has failed.
    pub(crate) fn add(&self, file: usize, text: Vec<u8>, is_last: bool) -> bool {
        let queue = &self.queues[file % self.queues.len()];
        queue.send(Piece { file, text, is_last }).is_ok()
    }

    /// Waits until everything is written; the files, which are to be put in their places, in any order.
    pub(crate) fn finish(self) -> Result<Vec<PendingFile>, SplitError> {
        drop(self.queues);
        let mut outcome = Ok(Vec::new());
        for thread in self.threads {
            let ended: Result<Vec<PendingFile>, SplitError> =
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and_then(|mut files: Vec<_>| {
                files.append(&mut ended?);
                Ok(files)
            });
        }
        outcome
    }
}

fn compress(
    pieces: &Receiver<Piece>,
    mut files: HashMap<usize, GzipFile>,
) -> Result<Vec<PendingFile>, SplitError> {
    let mut finished = Vec::new();
    let mut deflater = Deflater::new();
    for Piece { file: number, text, is_last } in pieces {
        let failed = |path: &Path, source: io::Error| SplitError::Write { path: path.to_owned(), source };
        if is_last {
            if let Some(file) = files.remove(&number) {
                let path = file.destination().to_owned();
                finished.push(file.finish(&text, &mut deflater).map_err(|source| failed(&path, source))?);
            }
        } else if let Some(file) = files.get_mut(&number) {
            file.add(&text, &mut deflater).map_err(|source| failed(file.destination(), source))?;
        }
    }
    Ok(finished)
}
