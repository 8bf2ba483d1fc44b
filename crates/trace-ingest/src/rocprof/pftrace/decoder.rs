//! The way through a trace, packet by packet.

use std::io::Read;
use std::path::Path;

use flate2::read::ZlibDecoder;
use hashbrown::HashMap;

use super::arguments::Key;
use super::clocks::{BOOT, Clocks, is_local, take_snapshot};
use super::collector::{Collector, Outcome};
use super::event::{EventKind, read_event};
use super::packets::{End, LONGEST_PACKET, Packets};
use super::pairing::Pairing;
use super::sequence::Sequence;
use super::slice::Slice;
use super::tracks::Tracks;
use crate::error::IngestError;
use crate::rocprof::profile::{Profile, SourceFormat};
use crate::warning::{RecordFault, Warning};
use crate::wire::{Message, Wire};

/// What users call the format.
const NAME: &str = "Perfetto";

/// Compressed packets in compressed packets; writers never nest them.
const MOST_LAYERS: usize = 3;

/// How much the compressed packets of one packet may grow to, at all depths together, in bytes.
const LARGEST_INFLATED: u64 = 1 << 30;

/// Records of one kind that could not be read.
#[derive(Default)]
struct Malformed {
    count: u64,
    first: String,
}

impl Malformed {
    fn add(&mut self, detail: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = detail();
        }
        self.count += 1;
    }

    fn warning(self, list: &str) -> (u64, Warning) {
        let Malformed { count, first: detail } = self;
        (count, Warning::MalformedRecords { list: list.to_string(), count, detail })
    }
}

/// Reads traces.
#[derive(Default)]
pub(super) struct Decoder {
    collector: Collector,
    /// By machine and number.
    sequences: HashMap<(u32, u32), Sequence>,
    clocks: Clocks,
    tracks: Tracks,
    pairing: Pairing,
    lost: u64,
    malformed: Malformed,
    compressed: Malformed,
    without_time: u64,
}

/// Fields of a packet that say how to read the others.
#[derive(Default)]
struct Head {
    timestamp: Option<u64>,
    clock: Option<u32>,
    sequence: u32,
    machine: u32,
    flags: u64,
    dropped: bool,
    pid: Option<i64>,
}

impl Decoder {
    /// Reads a whole trace.
    ///
    /// # Errors
    /// When it begins with what is no packet, holds one that is too long, or is another program's.
    pub(super) fn read(mut self, path: &Path, content: impl Read) -> Result<Profile, IngestError> {
        let mut packets = Packets::new(content);
        let mut any = false;
        let end = loop {
            let offset = packets.offset();
            match packets.next_packet() {
                Ok(packet) => {
                    any = true;
                    let mut budget = LARGEST_INFLATED;
                    self.packet(packet, offset, 0, &mut budget);
                }
                Err(end) => break end,
            }
        };
        let damaged = |offset, detail: String| IngestError::Damaged {
            path: path.to_path_buf(),
            format: NAME,
            field: "Trace.packet".to_string(),
            offset,
            detail,
        };
        match end {
            End::Complete => {}
            End::Truncated { lost } => self.collector.warn(1, Warning::Truncated { bytes_lost: lost }),
            End::Damaged(error) => {
                self.collector
                    .warn(1, Warning::DamagedCompression { bytes_read: None, detail: error.to_string() });
            }
            End::Broken { offset, detail } if !any => return Err(damaged(offset, detail.to_string())),
            End::Broken { offset, detail } => {
                let lost = packets.offset() - offset + packets.drain();
                let detail = format!("{detail} at byte {offset}; the {lost} bytes from there on are lost");
                let list = "Trace.packet".to_string();
                self.collector.warn(1, Warning::MalformedRecords { list, count: 1, detail });
            }
            End::TooLong { offset, length } => {
                let limit = LONGEST_PACKET >> 20;
                return Err(damaged(
                    offset,
                    format!("a packet of {length} bytes is above the limit of {limit} MiB"),
                ));
            }
        }
        self.finish(path)
    }

    fn finish(mut self, path: &Path) -> Result<Profile, IngestError> {
        let unopened = self.pairing.finish(&mut self.collector);
        let collector = &mut self.collector;
        for (list, malformed) in
            [("Trace.packet", self.malformed), ("TracePacket.compressed_packets", self.compressed)]
        {
            let (count, warning) = malformed.warning(list);
            collector.warn(count, warning);
        }
        for (count, detail) in [
            (unopened, "ends of slices without a begin"),
            (self.without_time, "ends of slices without a time"),
        ] {
            let (list, detail) = ("TracePacket.track_event".to_string(), detail.to_string());
            collector.warn(count, Warning::MalformedRecords { list, count, detail });
        }
        collector.warn(self.lost, Warning::Records { fault: RecordFault::LostPacket, count: self.lost });
        let lanes = self.tracks.lanes();
        self.collector.finish(path, SourceFormat::Pftrace, &lanes)
    }

    /// Takes a packet that begins at `offset` of the content. What is wrong in it costs the packet.
    fn packet(&mut self, packet: &[u8], offset: u64, depth: usize, budget: &mut u64) {
        if let Err(fault) = self.try_packet(packet, offset, depth, budget) {
            self.malformed.add(|| format!("packet at byte {offset}: {}: {}", fault.place(), fault.detail));
        }
    }

    fn try_packet(&mut self, packet: &[u8], offset: u64, depth: usize, budget: &mut u64) -> Wire<()> {
        let message = Message::new(packet, 0..packet.len(), "TracePacket");
        let head = read_head(message.clone())?;
        let sequence = self.sequences.entry((head.machine, head.sequence)).or_default();
        if head.flags & 1 != 0 {
            sequence.restart();
        } else if head.dropped {
            sequence.lose();
        }
        if head.flags & 2 != 0 && !sequence.is_whole() {
            self.lost += 1;
            return Ok(());
        }
        let (mut event, mut compressed) = (None, None);
        let mut fields = message;
        while let Some(field) = fields.next_field()? {
            match field.number {
                6 => {
                    let snapshot = fields.message(field, "ClockSnapshot")?;
                    take_snapshot(snapshot, &mut self.clocks, &mut sequence.clocks)?;
                }
                11 => event = Some(fields.message(field, "TrackEvent")?),
                12 => {
                    let interned = fields.message(field, "InternedData")?;
                    sequence.take_interned(interned, &mut self.collector)?;
                }
                50 => compressed = Some(fields.bytes(field)?),
                59 => sequence.take_defaults(fields.message(field, "TracePacketDefaults")?)?,
                60 => self.tracks.describe(fields.message(field, "TrackDescriptor")?)?,
                _ => {}
            }
        }
        if let Some(compressed) = compressed {
            self.inflate(compressed, offset, depth, budget);
        }
        // Every timestamp moves its clock, whatever the packet holds.
        let clock = head.clock.or_else(|| self.sequence(&head).clock).unwrap_or(BOOT);
        let time = head.timestamp.and_then(|timestamp| {
            let sequence = self.sequences.entry((head.machine, head.sequence)).or_default();
            let clocks = if is_local(clock) { &mut sequence.clocks } else { &mut self.clocks };
            clocks.time(clock, timestamp)
        });
        match event {
            Some(event) => self.event(&event, &head, time),
            None => Ok(()),
        }
    }

    fn sequence(&mut self, head: &Head) -> &mut Sequence {
        self.sequences.entry((head.machine, head.sequence)).or_default()
    }

    fn event(&mut self, message: &Message<'_>, head: &Head, time: Option<i64>) -> Wire<()> {
        let sequence = self.sequences.entry((head.machine, head.sequence)).or_default();
        let event = read_event(message, sequence, &mut self.collector)?;
        let track = self.tracks.number(event.track.or(sequence.track).unwrap_or(0));
        let time = event.time.or(time);
        match event.kind {
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
        self.tracks.written_by(track, head.pid);
        let instant = event.kind == EventKind::Instant;
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

    /// Takes the packets in a compressed packet.
    fn inflate(&mut self, compressed: &[u8], offset: u64, depth: usize, budget: &mut u64) {
        if depth == MOST_LAYERS {
            self.compressed
                .add(|| format!("packet at byte {offset}: compressed more than {MOST_LAYERS} times over"));
            return;
        }
        let mut packets = Packets::new(ZlibDecoder::new(compressed));
        let detail = loop {
            let before = packets.offset();
            let end = match packets.next_packet() {
                Ok(packet) => {
                    self.packet(packet, offset, depth + 1, budget);
                    None
                }
                Err(end) => Some(end),
            };
            let used = packets.offset() - before;
            if used > *budget {
                break format!("its content is above the limit of {} MiB", LARGEST_INFLATED >> 20);
            }
            *budget -= used;
            break match end {
                None => continue,
                Some(End::Complete) => return,
                Some(End::Truncated { .. }) => "its content ends in the middle of a packet".to_string(),
                Some(End::Broken { detail, .. }) => detail.to_string(),
                Some(End::TooLong { length, .. }) => {
                    format!("a packet of {length} bytes is above the limit of {} MiB", LONGEST_PACKET >> 20)
                }
                Some(End::Damaged(error)) => error.to_string(),
            };
        };
        self.compressed.add(|| format!("packet at byte {offset}: {detail}"));
    }
}

fn read_head(mut message: Message<'_>) -> Wire<Head> {
    let mut head = Head::default();
    while let Some(field) = message.next_field()? {
        match field.number {
            8 => head.timestamp = Some(message.unsigned(field)?),
            10 => head.sequence = message.unsigned(field)? as u32,
            13 => head.flags |= message.unsigned(field)?,
            41 => head.flags |= u64::from(message.unsigned(field)? != 0),
            42 => head.dropped = message.unsigned(field)? != 0,
            58 => head.clock = u32::try_from(message.unsigned(field)?).ok(),
            79 => head.pid = Some(message.signed(field)?).filter(|&pid| pid > 0),
            98 => head.machine = message.unsigned(field)? as u32,
            _ => {}
        }
    }
    Ok(head)
}
