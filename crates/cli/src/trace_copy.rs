//! Copies of a trace with more in them, written beside the tables of its report.

use std::path::{Path, PathBuf};

use multi_rank::FuseOutput;
use trace_ingest::{ReadOptions, is_standard_input};

use crate::console;
use crate::destinations::{check_destinations, copyable, refuse_foreign};
use crate::error::Failure;

/// Where a copy goes, if one is asked for.
pub(crate) struct TraceCopy<'a> {
    output: Option<FuseOutput>,
    reading: ReadOptions<'a>,
}

impl TraceCopy<'_> {
    /// Refuses destinations that cannot be written or, unless `forced`, hold a file of somebody else, and recordings that
    /// cannot be read a second time; `option` is what asks for the copy.
    pub(crate) fn new(
        option: &str,
        output: Option<&Path>,
        recordings: &[PathBuf],
        reading: ReadOptions<'static>,
        forced: bool,
    ) -> Result<Self, Failure> {
        let output = output.map(FuseOutput::new).transpose().map_err(answers::Error::from)?;
        if output.is_some() && recordings.iter().any(|file| is_standard_input(file)) {
            let instead = "reads the trace twice, which standard input does not allow; pass a file";
            return Err(Failure::Arguments(format!("{option} {instead}")));
        }
        if output.is_some() {
            recordings.iter().try_for_each(|file| copyable(file, format!("omit {option}")))?;
        }
        let destination = output.as_ref().map(|output| ("trace", output.path()));
        check_destinations(recordings, destination)?;
        if !forced {
            refuse_foreign(destination)?;
        }
        Ok(TraceCopy { output, reading })
    }

    /// Has the copy written, if one is asked for. `write` returns how many entries are not JSON and were left out.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&FuseOutput, &ReadOptions<'_>) -> Result<u64, answers::Error>,
    ) -> Vec<Result<PathBuf, Failure>> {
        let Some(output) = &self.output else { return Vec::new() };
        let written = write(output, &self.reading).map(|unusable| {
            if unusable > 0 {
                console::warning(format_args!(
                    "non-JSON entries omitted from {}: {unusable}",
                    output.path().display()
                ));
            }
            output.path().to_path_buf()
        });
        vec![written.map_err(Failure::from)]
    }
}
