//! From the packets of a trace to slices.

use std::io::Read;
use std::path::Path;

use super::arguments::Key;
use super::collector::{Collector, Outcome, RecordId};
use super::event::{Texts, read_event};
use super::slice::{Lane, Slice, stream_of};
use crate::error::IngestError;
use crate::perfetto::{
    Content, Descriptor, EventKind, Packet, Pairing, Reader, Tracks, Walked, read_entry, walk,
};
use crate::rocprof::profile::{Profile, SourceFormat};
use crate::source::Expansion;
use crate::warning::{RecordFault, Warning};
use crate::wire::{Message, Wire};

/// Reads a trace.
///
/// # Errors
/// When it begins with what is no packet, holds one that is too long, or is another program's.
pub(super) fn read(path: &Path, content: impl Read, expansion: &Expansion) -> Result<Profile, IngestError> {
    let Walked { reader, unfounded, warnings, .. } = walk(path, content, expansion, Decoder::default())?;
    let lanes = reader.lanes();
    let Decoder { mut collector, pairing, lost, without_time, .. } = reader;
    warnings.into_iter().for_each(|warning| collector.warn(1, warning));
    let unopened = pairing.finish(|record, end| match end {
        Some(end) => collector.close(record, end),
        None => collector.count_unclosed(),
    });
    for (count, detail) in
        [(unopened, "slice ends without a matching start"), (without_time, "slice ends without a time")]
    {
        let (list, detail) = ("TracePacket.track_event".to_string(), detail.to_string());
        collector.warn(count, Warning::MalformedRecords { list, count, detail });
    }
    let lost = unfounded + lost;
    collector.warn(lost, Warning::Records { fault: RecordFault::LostPacket, count: lost });
    collector.finish(path, SourceFormat::Pftrace, &lanes)
}

/// What is known of a track beside its process and thread.
#[derive(Debug, Default)]
struct Queue {
    stream: Option<u64>,
    /// The process that wrote slices of the track, for tracks that belong to none.
    writer: Option<i64>,
}

/// Makes slices of the events of tracks.
#[derive(Default)]
struct Decoder {
    collector: Collector,
    tracks: Tracks<Queue>,
    pairing: Pairing<RecordId>,
    /// Events whose texts were lost.
    lost: u64,
    without_time: u64,
}

impl Reader for Decoder {
    type Interned = Texts;

    const READS_UNFOUNDED: bool = false;

    fn intern(&mut self, mut data: Message<'_>, texts: &mut Texts) -> Wire<()> {
        while let Some(field) = data.next_field()? {
            if !matches!(field.number, 1..=3 | 29) {
                continue;
            }
            let (id, text) = read_entry(data.message(field, "InternedData entry")?)?;
            match field.number {
                1 => drop(texts.categories.insert(id, self.collector.intern_bytes(text))),
                2 => drop(texts.names.insert(id, self.collector.intern_bytes(text))),
                3 => drop(texts.keys.insert(id, Key::from_name(text))),
                _ => drop(texts.values.insert(id, self.collector.intern_bytes(text))),
            }
        }
        Ok(())
    }

    fn describe(&mut self, descriptor: Descriptor<'_>) {
        let Some(track) = self.tracks.describe(&descriptor) else { return };
        let stream = descriptor.name.as_deref().and_then(stream_of);
        track.own.stream = stream.or(track.own.stream);
    }

    fn packet(&mut self, packet: &Packet<'_>, texts: &Texts) -> Wire<()> {
        let Content::TrackEvent(message) = &packet.content else { return Ok(()) };
        let event = read_event(message, texts, &mut self.collector)?;
        let track = self.tracks.number(event.head.track.or(packet.track).unwrap_or(0));
        let time = event.head.time.or(packet.time);
        match event.head.kind {
            EventKind::Other => return Ok(()),
            EventKind::End => {
                match time {
                    Some(time) => self.pairing.end(track, time),
                    None => self.without_time += 1,
                }
                return Ok(());
            }
            EventKind::Begin | EventKind::Instant => {}
        }
        let writer = &mut self.tracks.own(track).writer;
        *writer = writer.or(packet.pid);
        let instant = event.head.kind == EventKind::Instant;
        let mut open = None;
        if event.lacks_text {
            self.lost += 1;
        } else {
            let slice = Slice {
                lane: track,
                category: event.category,
                name: event.name,
                start: time,
                end: time.filter(|_| instant),
                arguments: &event.arguments,
            };
            if let Outcome::Open(record) = self.collector.slice(&slice) {
                open = Some(record);
            }
        }
        if !instant {
            // Without a time of its own a begin stands where the slice says that it starts.
            let begin = time.or_else(|| event.arguments.integer(Key::Begin));
            match (begin, open) {
                (Some(begin), open) => self.pairing.begin(track, begin, open),
                (None, _) => self.pairing.begin(track, 0, None),
            }
        }
        Ok(())
    }
}

impl Decoder {
    /// Process, thread and stream of every track: its own, or those of its nearest ancestor that has one. A track
    /// of a process counts as its main thread's.
    fn lanes(&self) -> Vec<Lane> {
        let lane = |number: u32| {
            let line = self.tracks.line(number);
            let writer = line.clone().next().and_then(|track| track.own.writer);
            let pid = line.clone().find_map(|track| track.pid).or(writer);
            let tid = line.clone().find_map(|track| track.tid.or(track.pid)).or(writer);
            Lane { pid, tid, stream: line.clone().find_map(|track| track.own.stream) }
        };
        (0..self.tracks.len()).map(lane).collect()
    }
}
