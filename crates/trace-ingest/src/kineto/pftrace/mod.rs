//! PyTorch's profiler: Perfetto traces, which it writes for names with `.pftrace`.
//!
//! What the host did are slices: all begins of a group, then all ends in the same order ([`slices`]). What the device did
//! are slices, too, in the first files; later ones have an event of a type of its own for it. Arguments are named as in
//! JSON, so that the columns are filled by the same table of names.

mod annotations;
mod builder;
mod interned;
mod slices;

use std::path::Path;

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::format::{Certainty, Format};
use crate::perfetto::{Recorder, recorder};
use crate::recording::Recording;
use crate::source::{ReadOptions, TextSource};

/// Perfetto traces of PyTorch's profiler.
pub(crate) const FORMAT: Format = Format {
    name: "PyTorch Perfetto trace",
    kind: RecordingKind::Trace,
    probe: |head| Certainty::certain_if(recorder(head) == Some(Some(Recorder::PyTorch))),
    read,
};

fn read(path: &Path, source: TextSource<'_>, options: &ReadOptions<'_>) -> Result<Recording, IngestError> {
    let mut trace = builder::read(path, source.text, &source.expansion, options.skip_python_frames)?;
    trace.warnings.splice(0..0, source.warnings);
    Ok(Recording::Trace(Box::new(trace)))
}
