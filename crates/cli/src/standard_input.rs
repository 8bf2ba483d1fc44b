//! Standard input as a file: what the path `-` stands for.
//!
//! A process has one and can read it once only, while a recording is recognised before it is read, and some are read twice.
//! So its content is kept from the first reading on, for whoever reads in this process.

use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use trace_ingest::{FileContent, MemoryFile, ReadOptions};

struct StandardInput;

impl FileContent for StandardInput {
    fn bytes(&self) -> io::Result<&[u8]> {
        static CONTENT: OnceLock<Result<Vec<u8>, io::ErrorKind>> = OnceLock::new();
        let content = CONTENT.get_or_init(|| {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes).map_err(|error| error.kind())
        });
        content.as_deref().map_err(|&kind| kind.into())
    }
}

/// How recordings are read, standard input among them.
pub(crate) fn reading() -> ReadOptions<'static> {
    let file = MemoryFile { path: Path::new("-"), content: &StandardInput };
    ReadOptions { in_memory: Some(file), ..ReadOptions::default() }
}
