//! Standard input as a file: what the path `-` stands for.
//!
//! A process has one and can read it once only, while a recording is recognised before it is read, and some are read twice.
//! So its content is kept from the first reading on, for whoever reads in this process.

use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use trace_ingest::{FileContent, IngestError, MemoryFile, ReadOptions, recognise};

/// By so many bytes the kind of a recording is known.
const HEAD: u64 = 1 << 20;
/// What is taken of what begins like no recording: other files that commands read are smaller.
const MOST_UNKNOWN: u64 = 256 << 20;

struct StandardInput;

impl FileContent for StandardInput {
    fn bytes(&self) -> io::Result<&[u8]> {
        static CONTENT: OnceLock<Result<Vec<u8>, io::ErrorKind>> = OnceLock::new();
        let content = CONTENT.get_or_init(|| {
            let (mut input, mut bytes) = (io::stdin().lock(), Vec::new());
            let read = input.by_ref().take(HEAD).read_to_end(&mut bytes);
            let begins = MemoryFile { path: Path::new("-"), content: &&bytes[..] };
            let begins = ReadOptions { in_memory: Some(begins), ..ReadOptions::default() };
            let most = match recognise(Path::new("-"), &begins) {
                Err(IngestError::UnknownFormat { .. }) => MOST_UNKNOWN,
                _ => u64::MAX,
            };
            let read = read.and_then(|_| input.take(most).read_to_end(&mut bytes));
            read.map(|_| bytes).map_err(|error| error.kind())
        });
        content.as_deref().map_err(|&kind| kind.into())
    }
}

/// How recordings are read, standard input among them.
pub(crate) fn reading() -> ReadOptions<'static> {
    let file = MemoryFile { path: Path::new("-"), content: &StandardInput };
    ReadOptions { in_memory: Some(file), ..ReadOptions::default() }
}
