//! The file that a fused trace is written to.

use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use atomic_file::{AtomicFile, PendingFile};
use flate2::GzBuilder;

/// How the file is compressed, by the ending of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// `None` for a name that ends otherwise.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let endings =
            [(".json", Compression::None), (".json.gz", Compression::Gzip), (".json.zst", Compression::Zstd)];
        endings.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, compression)| compression)
    }
}

/// Text that is handed to the thread at a time, in bytes.
const BLOCK: usize = 1 << 20;

/// Blocks that wait for the thread.
const QUEUE: usize = 2;

/// Marks the file, so that it may be replaced: as the first member, in the header of gzip, and in a frame that readers of
/// zstd skip.
const PROGRAM: &str = "tracelens";

/// A trace that grows. A thread compresses and writes what is ready.
#[derive(Debug)]
pub struct FusedFile {
    block: Vec<u8>,
    /// Facts that came after the first entry.
    tail: Vec<u8>,
    entries: u64,
    list_begun: bool,
    blocks: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<io::Result<PendingFile>>>,
}

impl FusedFile {
    pub(crate) fn create(path: &Path, compression: Compression) -> io::Result<Self> {
        let file = AtomicFile::create(path)?;
        let (blocks, received) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("fused trace".to_owned())
            .spawn(move || write(&received, file, compression))?;
        Ok(FusedFile {
            block: format!("{{\"writtenBy\": \"{PROGRAM}\",\n").into_bytes(),
            tail: Vec::new(),
            entries: 0,
            list_begun: false,
            blocks: Some(blocks),
            thread: Some(thread),
        })
    }

    /// Adds a top-level member; `value` is JSON.
    pub fn add_fact(&mut self, key: &str, value: &[u8]) {
        let member = [b"\"", key.as_bytes(), b"\": ", value].concat();
        if self.list_begun {
            self.tail.extend_from_slice(b",\n");
            self.tail.extend_from_slice(&member);
        } else {
            self.block.extend_from_slice(&member);
            self.block.extend_from_slice(b",\n");
        }
    }

    /// Adds an entry, a JSON object, to the event list.
    pub fn add_entry(&mut self, text: &[u8]) -> io::Result<()> {
        self.begin_list();
        self.block.extend_from_slice(if self.entries == 0 { b"\n" } else { b",\n" });
        self.block.extend_from_slice(text);
        self.entries += 1;
        if self.block.len() < BLOCK {
            return Ok(());
        }
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK + BLOCK / 8));
        self.send(block)
    }

    fn begin_list(&mut self) {
        if !self.list_begun {
            self.list_begun = true;
            self.block.extend_from_slice(b"\"traceEvents\": [");
        }
    }

    fn send(&mut self, block: Vec<u8>) -> io::Result<()> {
        match &self.blocks {
            Some(blocks) if blocks.send(block).is_ok() => Ok(()),
            // The thread has ended, which it does before its time only where it cannot write.
            _ => self.join().and(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn join(&mut self) -> io::Result<PendingFile> {
        self.blocks = None;
        let thread = self.thread.take().ok_or(io::ErrorKind::BrokenPipe)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Ends the trace and puts the file in its place.
    pub fn commit(mut self) -> io::Result<()> {
        self.begin_list();
        let mut block = std::mem::take(&mut self.block);
        block.extend_from_slice(b"\n]");
        block.append(&mut self.tail);
        block.extend_from_slice(b"}\n");
        self.send(block)?;
        self.join()?.commit()
    }
}

impl Drop for FusedFile {
    fn drop(&mut self) {
        // The thread removes the unfinished file; the program may end as soon as this returns.
        if self.thread.is_some() {
            let _ = self.join();
        }
    }
}

fn write(
    blocks: &Receiver<Vec<u8>>,
    mut file: AtomicFile,
    compression: Compression,
) -> io::Result<PendingFile> {
    /// What zstd's own program takes.
    const ZSTD_LEVEL: i32 = 3;
    match compression {
        Compression::None => blocks.iter().try_for_each(|block| file.write_all(&block))?,
        Compression::Gzip => {
            let mut encoder = GzBuilder::new().comment(PROGRAM).write(file, flate2::Compression::default());
            blocks.iter().try_for_each(|block| encoder.write_all(&block))?;
            file = encoder.finish()?;
        }
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(file, ZSTD_LEVEL)?;
            blocks.iter().try_for_each(|block| encoder.write_all(&block))?;
            file = encoder.finish()?;
            const SKIPPED: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
            let length = (PROGRAM.len() as u32).to_le_bytes();
            file.write_all(&[&SKIPPED, &length, PROGRAM.as_bytes()].concat())?;
        }
    }
    file.finish()
}
