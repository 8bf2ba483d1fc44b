//! Many gzip files that grow at the same time, compressed on several threads.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use atomic_file::PendingFile;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};

use super::error::SplitError;

/// Compressed bytes that a file is given at a time, at least.
const ROOM: usize = 64 << 10;

/// A gzip file that is open only while something is added to it.
///
/// A trace of a thousand steps becomes a thousand files, more than a process may have open, and a compressor
/// takes 300 KiB. So text is compressed in pieces, each independent of those before it, by one compressor for
/// all files; together the pieces are one ordinary gzip member.
#[derive(Debug)]
pub(crate) struct GzipFile {
    pending: PendingFile,
    checksum: Crc,
}

/// Compresses pieces for any number of files.
pub(crate) struct Deflater {
    compress: Compress,
    out: Vec<u8>,
}

impl Deflater {
    pub(crate) fn new() -> Self {
        Deflater { compress: Compress::new(Compression::default(), false), out: Vec::new() }
    }

    /// The text compressed, ending at a byte.
    fn piece(&mut self, text: &[u8], flush: FlushCompress) -> io::Result<&[u8]> {
        self.compress.reset();
        self.out.clear();
        loop {
            self.out.reserve(ROOM);
            let used = usize::try_from(self.compress.total_in()).map_err(io::Error::other)?;
            let status = self.compress.compress_vec(&text[used..], &mut self.out, flush)?;
            let has_room = self.out.len() < self.out.capacity();
            let all_used = self.compress.total_in() == text.len() as u64;
            if status == Status::StreamEnd || all_used && has_room && flush != FlushCompress::Finish {
                return Ok(&self.out);
            }
        }
    }
}

impl GzipFile {
    /// Begins the file that is to be at `path`.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let (pending, mut file) = PendingFile::create(path)?;
        // Deflate, with a comment, no name, no time, unknown system. The comment says who wrote the file.
        file.write_all(&[0x1f, 0x8b, 8, 0x10, 0, 0, 0, 0, 0, 255])?;
        file.write_all(b"tracelens\0")?;
        Ok(GzipFile { pending, checksum: Crc::new() })
    }

    pub(crate) fn destination(&self) -> &Path {
        self.pending.destination()
    }

    pub(crate) fn add(&mut self, text: &[u8], deflater: &mut Deflater) -> io::Result<()> {
        self.checksum.update(text);
        append(self.pending.path(), deflater.piece(text, FlushCompress::Full)?)
    }

    /// Adds the last text and ends the file, which is then to be put in its place.
    pub(crate) fn finish(mut self, text: &[u8], deflater: &mut Deflater) -> io::Result<PendingFile> {
        self.checksum.update(text);
        append(self.pending.path(), deflater.piece(text, FlushCompress::Finish)?)?;
        let [sum, length] = [self.checksum.sum(), self.checksum.amount()].map(u32::to_le_bytes);
        append(self.pending.path(), &[sum, length].concat())?;
        Ok(self.pending)
    }
}

fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(bytes)
}

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

#[cfg(test)]
mod gzip_file_tests {
    use std::io::Read;

    use flate2::bufread::GzDecoder;

    use super::*;

    #[test]
    fn pieces_are_one_member_that_any_reader_takes() {
        let directory = tempfile::tempdir().unwrap();
        let mut deflater = Deflater::new();
        let texts = ["a".repeat(500_000), String::new(), noise(300_000), "end".to_string()];
        let [mut one, mut other] =
            ["one", "other"].map(|name| GzipFile::create(&directory.path().join(name)).unwrap());
        for text in &texts[..3] {
            one.add(text.as_bytes(), &mut deflater).unwrap();
            other.add(b"x", &mut deflater).unwrap();
        }
        one.finish(texts[3].as_bytes(), &mut deflater).unwrap().commit().unwrap();
        other.finish(b"", &mut deflater).unwrap().commit().unwrap();
        for (name, expected) in [("one", texts.concat()), ("other", "xxx".to_string())] {
            let bytes = std::fs::read(directory.path().join(name)).unwrap();
            let (mut rest, mut text) = (&bytes[..], String::new());
            GzDecoder::new(&mut rest).read_to_string(&mut text).unwrap();
            assert!(text == expected && rest.is_empty(), "{name}");
        }
    }

    /// Text that hardly compresses.
    fn noise(length: usize) -> String {
        let mut state = 1u64;
        let mut letter = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + (state >> 33) as u8 % 94)
        };
        (0..length).map(|_| letter()).collect()
    }
}
