//! From the bytes of a file to a [`Profile`].

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::appender::{Appender, Place, Refusal};
use super::categories::line_role;
use super::derived::{DerivedLines, is_derived_thread};
use super::kinds::KindRole;
use super::probe::probe;
use super::profile::{Line, Plane, PlaneKind, Profile};
use super::programs::{FileBytes, Programs};
use super::rows::{LineContext, Noticed, Row, add_pool_regions, read_rows, sort_rows};
use super::scan::{PlaneScan, read_text, scan_plane};
use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::format::Format;
use crate::recording::Recording;
use crate::source::{TextSource, file_name};
use crate::track_table::{RowId, Track};
use crate::wire::{Message, Wire};

/// The viewer's process number of the host's threads.
const HOST_PROCESS: i64 = 701;
/// The viewer's process number of the first custom plane.
const CUSTOM_PROCESS: i64 = 501;
/// A line that the viewer leaves out.
const HIDDEN_LINE: &str = "Async XLA Ops";

/// What users call the format.
const NAME: &str = "XPlane protobuf";

/// Longest message, in bytes: protobuf allows less than 2 GiB, and a file is one message.
const LONGEST_MESSAGE: u64 = i32::MAX as u64;

pub(crate) const FORMAT: Format = Format {
    name: NAME,
    kind: RecordingKind::XPlane,
    probe,
    read: |path, source, _| read_source(path, source).map(|profile| Recording::XPlane(Box::new(profile))),
};

pub(super) fn read_source(path: &Path, source: TextSource<'_>) -> Result<Profile, IngestError> {
    let mut bytes = Vec::new();
    // One byte more shows that the message is too long.
    if let Err(error) = source.text.take(LONGEST_MESSAGE + 1).read_to_end(&mut bytes) {
        return Err(IngestError::Damaged {
            path: path.to_path_buf(),
            format: NAME,
            field: "the compressed data".to_string(),
            offset: bytes.len() as u64,
            detail: error.to_string(),
        });
    }
    let mut profile = profile_from_bytes(path, bytes)?;
    profile.trace.warnings.splice(0..0, source.warnings);
    Ok(profile)
}

fn check_length(path: &Path, length: u64) -> Result<(), IngestError> {
    if length > LONGEST_MESSAGE {
        let (what, limit) = ("its protobuf message", "2 GiB".to_string());
        return Err(IngestError::TooLong { path: path.to_path_buf(), what, limit });
    }
    Ok(())
}

/// Reads an XPlane profile that is in memory, decompressed. The file name of `path` gives
/// [`Profile::host`].
///
/// # Errors
/// When the profile is damaged, as in [`read_profile`](super::read_profile).
pub fn profile_from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Profile, IngestError> {
    check_length(path, bytes.len() as u64)?;
    decode(path, bytes)
}

fn decode(path: &Path, bytes: Vec<u8>) -> Result<Profile, IngestError> {
    let bytes = FileBytes(Arc::new(bytes));
    decode_space(host_name(path), bytes).map_err(|refusal| match refusal {
        Refusal::Fault(fault) => IngestError::Damaged {
            path: path.to_path_buf(),
            format: NAME,
            field: fault.place(),
            offset: fault.offset as u64,
            detail: fault.detail.to_string(),
        },
        Refusal::TooManyEvents => IngestError::TooManyEvents { path: path.to_path_buf(), limit: u32::MAX },
    })
}

/// A file's name without the endings of the format and of compression.
fn host_name(path: &Path) -> String {
    let mut name = file_name(path);
    for ending in [".gz", ".zst", ".zip", ".pb", ".xplane"] {
        if let Some(rest) = name.strip_suffix(ending) {
            name.truncate(rest.len());
        }
    }
    name
}

fn decode_space(host: String, bytes: FileBytes) -> Result<Profile, Refusal> {
    let mut profile = Profile { host, bytes: bytes.clone(), ..Profile::default() };
    profile.programs = Programs::new(bytes.clone());
    let mut invalid_utf8 = 0;
    let scans = scan_space(&mut profile, &bytes, &mut invalid_utf8)?;
    let mut appender = Appender::new(profile, scans);
    append_events(&mut appender)?;
    appender.faults.invalid_utf8 += invalid_utf8;
    Ok(appender.finish())
}

/// Reads everything but events.
fn scan_space(profile: &mut Profile, bytes: &[u8], invalid_utf8: &mut u64) -> Wire<Vec<PlaneScan>> {
    let mut space = Message::new(bytes, 0..bytes.len(), "XSpace");
    let mut scans = Vec::new();
    while let Some(field) = space.next_field()? {
        match field.number {
            1 => {
                let plane = space.message(field, "XPlane")?;
                scans.push(scan_plane(bytes, plane, scans.len(), &mut profile.trace.strings)?);
            }
            2 => profile.errors.push(read_text(&space, field, invalid_utf8)?),
            3 => profile.notes.push(read_text(&space, field, invalid_utf8)?),
            4 => profile.hostnames.push(read_text(&space, field, invalid_utf8)?),
            _ => {}
        }
    }
    Ok(scans)
}

/// The viewer's process number of a plane; `None` when it does not show the plane.
fn process_of(scan: &PlaneScan, any_gpu: bool) -> Option<i64> {
    if scan.name.starts_with("/device:GPU:") || (!any_gpu && scan.name.starts_with("/device:TPU:")) {
        Some(scan.id.wrapping_add(1))
    } else if scan.name.starts_with("/device:CUSTOM:") {
        Some(scan.id.wrapping_add(CUSTOM_PROCESS))
    } else {
        (scan.name == "/host:CPU").then_some(HOST_PROCESS)
    }
}

/// The viewer's thread number of a line: its low 32 bits.
fn thread_of(id: i64) -> i64 {
    id & 0xFFFF_FFFF
}

/// Something that has a place in the viewer's order of threads.
enum Source {
    /// A line of a plane.
    Line { plane: usize, line: usize },
    /// A derived line of a GPU's plane, counted from the first.
    Derived { plane: usize, slot: usize },
}

/// Sources of the events that the viewer shows, thread by thread, and of those that it leaves out.
type Arrangement = (Vec<Vec<Source>>, Vec<Source>);

/// Describes planes and lines in the profile and brings the lines into the viewer's order.
fn arrange(appender: &mut Appender) -> Arrangement {
    let Appender { profile, scans, roles, derived, .. } = appender;
    let any_gpu = scans.iter().any(|scan| scan.name.starts_with("/device:GPU:"));
    let mut shown: BTreeMap<(i64, i64), Vec<Source>> = BTreeMap::new();
    let mut hidden = Vec::new();
    for (plane, scan) in scans.iter_mut().enumerate() {
        let process = process_of(scan, any_gpu);
        let trace = &mut profile.trace;
        let pid = match process {
            Some(process) => RowId::Number(process),
            None => RowId::Text(trace.strings.intern(&scan.name)),
        };
        if scan.lines.iter().any(|line| line.events > 0) {
            let name = trace.strings.intern(&format!("{} {}", profile.host, scan.name));
            trace.tracks.process_mut(pid).name = Some(name);
        }
        let (mut lines, mut line_roles) = (Vec::new(), Vec::new());
        for (index, line) in scan.lines.iter().enumerate() {
            let thread = thread_of(line.id);
            let track = Track { pid, tid: RowId::Number(thread) };
            if line.events > 0 {
                trace.tracks.thread_mut(track).name = Some(trace.strings.intern(&line.name));
            }
            line_roles.push(line_role(scan.kind, &line.name, trace));
            let track = trace.tracks.intern(track);
            let (events, aggregated) = (Vec::with_capacity(line.events), Vec::new());
            lines.push(Line { id: line.id, name: line.name.clone(), track, events, aggregated });
            let source = Source::Line { plane, line: index };
            match process {
                Some(process) if line.name != HIDDEN_LINE => {
                    shown.entry((process, thread)).or_default().push(source);
                }
                _ => hidden.push(source),
            }
        }
        let origin = process.filter(|_| matches!(scan.kind, PlaneKind::Gpu { .. })).zip(busiest_line(scan));
        if let Some((process, _)) = origin {
            for (slot, thread) in DerivedLines::threads().enumerate() {
                shown.entry((process, thread)).or_default().push(Source::Derived { plane, slot });
            }
        }
        derived.push(origin.map(|(_, line)| (line, DerivedLines::default())));
        roles.push(line_roles);
        let (name, stats) = (std::mem::take(&mut scan.name), std::mem::take(&mut scan.stats));
        profile.planes.push(Plane { id: scan.id, name, kind: scan.kind, stats, lines });
    }
    (shown.into_values().collect(), hidden)
}

/// The line of a GPU that the viewer derives lines from.
fn busiest_line(scan: &PlaneScan) -> Option<usize> {
    let recorded = scan.lines.iter().enumerate();
    let recorded = recorded.filter(|(_, line)| line.events > 0 && !is_derived_thread(thread_of(line.id)));
    recorded.min_by_key(|(_, line)| (Reverse(line.events), line.id)).map(|(index, _)| index)
}

/// Appends the events of all lines to the trace.
fn append_events(appender: &mut Appender) -> Result<(), Refusal> {
    let (shown, hidden) = arrange(appender);
    let bytes = appender.profile.bytes.clone();
    let mut rows: Vec<Row> = Vec::new();
    let mut left_out: Vec<(Place, Row)> = Vec::new();
    for thread in shown {
        rows.clear();
        let (mut places, mut in_order) = (Vec::new(), true);
        for source in &thread {
            if let Source::Line { plane, line } = *source {
                let first = rows.len();
                places.push(Place { plane, line });
                let noticed =
                    append_rows(appender, &bytes, places.len() - 1, Place { plane, line }, &mut rows)?;
                in_order &= noticed.in_order && first == 0;
                if noticed.pool_tasks && appender.scans[plane].kind == PlaneKind::HostCpu {
                    if !noticed.in_order {
                        sort_rows(&mut rows[first..]);
                    }
                    add_pool_regions(&mut rows, first);
                    in_order = false;
                }
            }
        }
        if !in_order {
            sort_rows(&mut rows);
        }
        for &row in &rows {
            let place = places[row.line as usize];
            match row.role {
                _ if row.offset.is_none() => appender.count(1)?,
                KindRole::Allocation | KindRole::Hidden => left_out.push((place, row)),
                _ => appender.push(place, row)?,
            }
        }
        for source in &thread {
            if let Source::Derived { plane, slot } = *source {
                let events = appender.derived[plane].as_ref().map_or(0, |(_, lines)| lines.events(slot));
                appender.count(events)?;
            }
        }
    }
    appender.profile.shown_events = appender.profile.trace.entries;
    for &(place, row) in &left_out {
        appender.push(place, row)?;
    }
    for source in hidden {
        if let Source::Line { plane, line } = source {
            rows.clear();
            if !append_rows(appender, &bytes, 0, Place { plane, line }, &mut rows)?.in_order {
                sort_rows(&mut rows);
            }
            for &row in &rows {
                appender.push(Place { plane, line }, row)?;
            }
        }
    }
    appender.order_lines(left_out.iter().map(|(place, _)| *place));
    Ok(())
}

/// Reads where the events of a line lie.
fn append_rows(
    appender: &mut Appender,
    bytes: &[u8],
    position: usize,
    Place { plane, line }: Place,
    rows: &mut Vec<Row>,
) -> Wire<Noticed> {
    let Appender { profile, scans, kinds, base_ns, .. } = appender;
    let context = LineContext {
        bytes,
        plane,
        line: &scans[plane].lines[line],
        position: position as u32,
        base_ns: *base_ns,
    };
    read_rows(&context, kinds, rows, &mut profile.planes[plane].lines[line].aggregated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_named_after_its_file() {
        for (path, name) in [
            ("run/worker-3.xplane.pb", "worker-3"),
            ("tw003.local.xplane.pb.gz", "tw003.local"),
            ("a.xplane.pb.zst", "a"),
            ("profile", "profile"),
        ] {
            assert_eq!(host_name(Path::new(path)), name, "{path}");
        }
    }

    #[test]
    fn threads_are_numbered_by_their_low_32_bits() {
        assert_eq!(thread_of(-2_231_402_715_538_937_371), 2_104_863_205);
        assert_eq!(thread_of(-559_038_735), 3_735_928_561);
    }
}
