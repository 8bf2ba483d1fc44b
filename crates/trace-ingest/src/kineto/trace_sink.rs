//! Makes a trace of what the assembler finds.

use super::append::{Appender, TooManyEvents};
use super::assemble::{Ending, Refusal, Sink};
use super::facts::read_fact;
use super::run::{Run, RunEnd};
use crate::trace::Trace;
use crate::warning::Warning;

/// The trace so far.
pub(crate) struct TraceSink {
    run: Run,
    appender: Appender,
}

impl Sink for TraceSink {
    fn fact(&mut self, key: &'static str, value: &[u8]) {
        let trace = &mut self.appender.trace;
        read_fact(key, value, &mut trace.facts, &mut trace.warnings);
    }

    fn entries(&mut self, text: &[u8], offset: u64) -> Result<RunEnd, Refusal> {
        self.run.clear();
        let end = self.run.parse(text);
        self.appender.append(&self.run, offset)?;
        Ok(end)
    }

    fn trailing(&mut self, bytes: u64) {
        self.appender.faults.trailing += bytes;
    }
}

impl TraceSink {
    /// An empty trace, with Python frames or without.
    pub(crate) fn new(skip_frames: bool) -> Self {
        TraceSink { run: Run::new(skip_frames), appender: Appender::default() }
    }

    /// Appends a run that begins at `offset` of the text.
    pub(crate) fn append(&mut self, run: &Run, offset: u64) -> Result<(), TooManyEvents> {
        self.appender.append(run, offset)
    }

    /// The trace, once all text was taken. `damage` tells how reading broke off, if it did.
    pub(crate) fn finish(mut self, ending: &Ending, damage: Option<String>) -> Trace {
        self.appender.close_begins();
        let mut warnings = Vec::new();
        match damage {
            Some(detail) => {
                let bytes_read = ending.used + ending.unused;
                warnings.push(Warning::DamagedCompression { bytes_read, detail });
            }
            None if !ending.complete => warnings.push(Warning::Truncated { bytes_lost: ending.unused }),
            None => {}
        }
        let Appender { mut trace, faults, .. } = self.appender;
        faults.report(&mut warnings);
        trace.warnings.extend(warnings);
        trace.rebase();
        trace
    }
}
