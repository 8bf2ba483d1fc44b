//! PyTorch's Kineto profiler: Chrome trace-event JSON with Kineto's categories and arguments.

mod append;
mod argument;
mod assemble;
mod boundary;
mod facts;
mod faults;
mod number;
mod pipeline;
mod run;
mod scanner;
mod translation;

use std::path::Path;

use memchr::memmem;

use assemble::Refusal;

use crate::error::IngestError;
use crate::format::{Certainty, Format, ReadOptions};
use crate::source::TextSource;
use crate::trace::Trace;

/// Reader of Kineto JSON.
pub(crate) struct Kineto;

impl Format for Kineto {
    fn name(&self) -> &'static str {
        "PyTorch/Kineto JSON"
    }

    fn probe(&self, head: &[u8]) -> Certainty {
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let has = |key: &str| memmem::find(text, key.as_bytes()).is_some();
        match text.first() {
            Some(b'{' | b'[') if has("\"traceEvents\"") => Certainty::Certain,
            Some(b'{') if has("\"schemaVersion\"") || has("\"deviceProperties\"") => Certainty::Likely,
            Some(b'[') if has("\"ph\"") => Certainty::Likely,
            // The event list may come after more top-level text than a probe sees.
            Some(b'{' | b'[') => Certainty::Possible,
            _ => Certainty::No,
        }
    }

    fn read(
        &self,
        path: &Path,
        source: TextSource<'_>,
        options: &ReadOptions<'_>,
    ) -> Result<Trace, IngestError> {
        let outcome = pipeline::read_text(source.text, options.thread_count(), pipeline::BLOCK);
        let path = || path.to_path_buf();
        let mut trace = outcome.map_err(|refusal| match refusal {
            Refusal::NotATrace { detail, offset } => IngestError::NoEvents { path: path(), detail, offset },
            Refusal::TooManyEvents => IngestError::TooManyEvents { path: path(), limit: u32::MAX },
        })?;
        trace.warnings.splice(0..0, source.warnings);
        Ok(trace)
    }
}
