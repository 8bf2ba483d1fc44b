//! The profiler's output formats.

use std::path::Path;

use super::profile::Profile;
use super::{csv, json, pftrace, rocpd};
use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::format::{Certainty, Format};
use crate::perfetto::{Recorder, recorder};
use crate::recording::Recording;
use crate::source::{ReadOptions, TextSource};
use crate::sqlite::is_database;

const fn format(
    name: &'static str,
    probe: fn(&[u8]) -> Certainty,
    read: fn(&Path, TextSource<'_>, &ReadOptions<'_>) -> Result<Recording, IngestError>,
) -> Format {
    Format { name, kind: RecordingKind::Rocprof, probe, read }
}

pub(crate) const JSON: Format = format(json::NAME, json::probe, |path, source, options| {
    json::read(path, source, options).map(Recording::from)
});
pub(crate) const CHROME_JSON: Format =
    format("Chrome JSON of a rocprofv3 Perfetto trace", json::chrome::probe, |path, source, _| {
        pftrace::read_chrome(path, source).map(Recording::from)
    });
/// Of all Perfetto traces that are not another reader's; those of other programs are refused by what they hold.
pub(crate) const PERFETTO: Format = format(
    "rocprofv3 Perfetto trace",
    |head| Certainty::certain_if(recorder(head).is_some_and(|by| by != Some(Recorder::PyTorch))),
    |path, source, _| pftrace::read(path, source).map(Recording::from),
);
/// Of all databases; those of other programs are refused by their tables. SQLite opens the file itself.
pub(crate) const ROCPD: Format = format(
    "rocpd database",
    |head| Certainty::certain_if(is_database(head)),
    |path, _, options| rocpd::read(path, options).map(Recording::from),
);
/// Read together with the files beside it; one that is in memory or comes as a stream has none.
pub(crate) const CSV: Format = format(
    "rocprofv3 CSV",
    |head| Certainty::certain_if(csv::is_trace(head)),
    |path, source, options| csv::read_file(path, source, options).map(Recording::from),
);

impl From<Profile> for Recording {
    fn from(profile: Profile) -> Self {
        Recording::Rocprof(Box::new(profile))
    }
}
