//! The first look at a plane: its tables, its facts, and where its lines lie. A plane's lines stand in
//! front of the tables that explain them, and a line's number behind its events, so both are looked up
//! before any event is read; events are stepped over.

use std::ops::Range;

use super::facts::{Facts, StatReader};
use super::id_table::IdTable;
use super::profile::{EventMetadata, METADATA_STATS, PlaneKind};
use super::stat::{RawStat, StatNames, StatValue, read_stat};
use crate::string_table::{StringTable, lossy};
use crate::wire::{Field, Message, Wire};

/// A plane, its events still unread.
pub(crate) struct PlaneScan {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) kind: PlaneKind,
    pub(crate) lines: Vec<LineScan>,
    pub(crate) stats: Vec<(String, StatValue<'static>)>,
    pub(crate) stat_names: StatNames,
    pub(crate) stat_reader: StatReader,
    /// Kinds of events in file order, with what their own stats say.
    pub(crate) kinds: Vec<(EventMetadata, Facts)>,
}

/// A line, its events still unread.
pub(crate) struct LineScan {
    pub(crate) span: Range<usize>,
    /// Number to show.
    pub(crate) id: i64,
    /// Name to show.
    pub(crate) name: String,
    pub(crate) timestamp_ns: i64,
    pub(crate) events: usize,
}

/// Reads text and counts what was not UTF-8.
pub(crate) fn read_text(message: &Message<'_>, field: Field, invalid_utf8: &mut u64) -> Wire<String> {
    Ok(lossy(message.bytes(field)?, invalid_utf8).into_owned())
}

/// Looks over a plane. `index` is its position among the planes.
pub(crate) fn scan_plane(
    bytes: &[u8],
    mut plane: Message<'_>,
    index: usize,
    strings: &mut StringTable,
) -> Wire<PlaneScan> {
    let (mut id, mut name, mut invalid_utf8) = (0, String::new(), 0);
    let (mut lines, mut kind_entries, mut stats) = (Vec::new(), Vec::new(), Vec::<RawStat>::new());
    let (mut stat_ids, mut names) = (Vec::new(), Vec::new());
    while let Some(field) = plane.next_field()? {
        match field.number {
            1 => id = plane.signed(field)?,
            2 => name = read_text(&plane, field, &mut invalid_utf8)?,
            3 => {
                lines.push(scan_line(plane.message(field, "XLine")?, plane.span(field)?, &mut invalid_utf8)?)
            }
            4 => kind_entries.push(plane.map_entry(field, "XPlane.event_metadata")?),
            5 => {
                let (key, value) = plane.map_entry(field, "XPlane.stat_metadata")?;
                let text = match value {
                    Some(offset) => stat_name(bytes, offset, &mut invalid_utf8)?,
                    None => String::new(),
                };
                stat_ids.push(key);
                names.push(text.into_boxed_str());
            }
            6 => stats.push(read_stat(plane.message(field, "XStat")?)?),
            _ => {}
        }
    }
    let stat_names = StatNames { table: IdTable::new(stat_ids.into_iter()), names };
    let mut stat_reader = StatReader::new(&stat_names);
    let mut kinds = Vec::with_capacity(kind_entries.len());
    for (key, offset) in kind_entries {
        let mut kind = EventMetadata { id: key, plane: index, position: None, ..EventMetadata::default() };
        let mut facts = Facts::default();
        if let Some(offset) = offset {
            kind.position = Some(offset as u64);
            let mut message = Message::at_field(bytes, offset, "XEventMetadata")?;
            while let Some(field) = message.next_field()? {
                match field.number {
                    2 => kind.name = read_text(&message, field, &mut invalid_utf8)?,
                    4 => kind.display_name = read_text(&message, field, &mut invalid_utf8)?,
                    METADATA_STATS => {
                        let stat = read_stat(message.message(field, "XStat")?)?;
                        stat_reader.note(&mut facts, stat, &stat_names, bytes, strings);
                    }
                    _ => {}
                }
            }
        }
        kinds.push((kind, facts));
    }
    stat_reader.invalid_utf8 += invalid_utf8;
    let mut named = Vec::with_capacity(stats.len());
    for stat in stats {
        if let Some(value) = stat_names.resolve(bytes, stat.value) {
            named.push((stat_names.name(stat.metadata_id).to_string(), value.into_owned()));
        }
    }
    let kind = plane_kind(&name);
    Ok(PlaneScan { id, kind, name, lines, stats: named, stat_names, stat_reader, kinds })
}

fn scan_line(mut line: Message<'_>, span: Range<usize>, invalid_utf8: &mut u64) -> Wire<LineScan> {
    let (mut id, mut display_id, mut name, mut display_name) = (0, 0, String::new(), String::new());
    let (mut timestamp_ns, mut events) = (0, 0);
    while let Some(field) = line.next_field()? {
        match field.number {
            1 => id = line.signed(field)?,
            2 => name = read_text(&line, field, invalid_utf8)?,
            3 => timestamp_ns = line.signed(field)?,
            // Most events are short, and most fields are events.
            4 => events += 1 + line.skip_short(4),
            10 => display_id = line.signed(field)?,
            11 => display_name = read_text(&line, field, invalid_utf8)?,
            _ => {}
        }
    }
    let id = if display_id == 0 { id } else { display_id };
    let name = if display_name.is_empty() { name } else { display_name };
    Ok(LineScan { span, id, name, timestamp_ns, events })
}

fn stat_name(bytes: &[u8], offset: usize, invalid_utf8: &mut u64) -> Wire<String> {
    let mut message = Message::at_field(bytes, offset, "XStatMetadata")?;
    let mut name = String::new();
    while let Some(field) = message.next_field()? {
        if field.number == 2 {
            name = read_text(&message, field, invalid_utf8)?;
        }
    }
    Ok(name)
}

/// What a plane's name says.
fn plane_kind(name: &str) -> PlaneKind {
    let ordinal = |text: &str| if text.is_empty() { Some(0) } else { text.parse().ok() };
    if let Some(rest) = name.strip_prefix("/device:GPU:") {
        return PlaneKind::Gpu { ordinal: ordinal(rest).unwrap_or(0) };
    }
    if let Some(rest) = name.strip_prefix("/device:TPU:") {
        let (number, core) = rest.split_once(" SparseCore").map_or((rest, None), |(n, core)| (n, Some(core)));
        let core = core.map(|core| core.rsplit(' ').next().and_then(|number| number.parse().ok()));
        return match (ordinal(number), core) {
            (Some(ordinal), None) => PlaneKind::Tpu { ordinal },
            (Some(ordinal), Some(Some(core))) => PlaneKind::SparseCore { ordinal, core },
            _ => PlaneKind::Other,
        };
    }
    match name {
        "/host:CPU" => PlaneKind::HostCpu,
        "/host:metadata" => PlaneKind::Metadata,
        "Task Environment" => PlaneKind::Environment,
        _ if name.starts_with("/device:CUSTOM:") => PlaneKind::Custom,
        _ => PlaneKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_what_its_name_says() {
        for (name, kind) in [
            ("/device:GPU:0", PlaneKind::Gpu { ordinal: 0 }),
            ("/device:GPU:17", PlaneKind::Gpu { ordinal: 17 }),
            ("/device:TPU:3", PlaneKind::Tpu { ordinal: 3 }),
            ("/device:TPU:2 SparseCore 1", PlaneKind::SparseCore { ordinal: 2, core: 1 }),
            ("/device:TPU:2 SparseCore Tile 5", PlaneKind::SparseCore { ordinal: 2, core: 5 }),
            ("/device:TPU:2 Something", PlaneKind::Other),
            ("/device:CUSTOM:Megascale Trace", PlaneKind::Custom),
            ("/host:CPU", PlaneKind::HostCpu),
            ("/host:metadata", PlaneKind::Metadata),
            ("Task Environment", PlaneKind::Environment),
            ("/host:CUPTI", PlaneKind::Other),
        ] {
            assert_eq!(plane_kind(name), kind, "{name}");
        }
    }
}
