//! The way through a trace, packet by packet.

use std::io::Read;
use std::path::Path;

use flate2::read::ZlibDecoder;
use hashbrown::HashMap;

use super::clocks::{BOOT, Clocks, is_local, take_snapshot};
use super::packets::{End, LONGEST_PACKET, Packets};
use super::sequence::Sequence;
use super::tracks::{Descriptor, read_descriptor};
use crate::error::IngestError;
use crate::source::Expansion;
use crate::warning::Warning;
use crate::wire::{Message, Wire};

/// What users call the format.
const NAME: &str = "Perfetto";

/// Compressed packets in compressed packets; writers never nest them.
const MOST_LAYERS: usize = 3;

/// How much the compressed packets of any trace may grow to, at all depths together, in bytes; those of larger files to as
/// much as other compressed text.
const ALWAYS_INFLATED: u64 = 64 << 20;

/// What the packets of one recorder say.
pub(crate) trait Reader {
    /// What a writer names once, for packets that refer to it by number.
    type Interned: Default;

    /// Whether packets are of use although others that they rely on were lost.
    const READS_UNFOUNDED: bool;

    /// Takes what a packet names for later ones.
    fn intern(&mut self, data: Message<'_>, interned: &mut Self::Interned) -> Wire<()>;

    /// Takes what a packet tells of a track.
    fn describe(&mut self, descriptor: Descriptor<'_>);

    /// Takes what a packet was written for.
    fn packet(&mut self, packet: &Packet<'_>, interned: &Self::Interned) -> Wire<()>;
}

/// What a packet was written for, and where and when it was.
pub(crate) struct Packet<'a> {
    /// In nanoseconds since boot, if the packet tells it.
    pub(crate) time: Option<i64>,
    /// The process that wrote it, if the packet tells it.
    pub(crate) pid: Option<i64>,
    /// The writer's track, for events that name none.
    pub(crate) track: Option<u64>,
    /// What the clocks of boot and of day showed at one moment, in nanoseconds, where the trace tells it before.
    pub(crate) boot_and_day: Option<[i64; 2]>,
    pub(crate) content: Content<'a>,
}

/// What packets are written for, with the message that says it.
pub(crate) enum Content<'a> {
    TrackEvent(Message<'a>),
    RenderStage(Message<'a>),
    Counters(Message<'a>),
}

/// A trace behind its end.
pub(crate) struct Walked<R> {
    pub(crate) reader: R,
    /// Packets that rely on others which were lost.
    pub(crate) unfounded: u64,
    /// How the trace ended, and what could not be read of it.
    pub(crate) warnings: Vec<Warning>,
}

/// Hands the packets of a trace to the reader of its recorder.
///
/// # Errors
/// When it begins with what is no packet, or holds one of more than 256 MiB.
pub(crate) fn walk<R: Reader>(
    path: &Path,
    content: impl Read,
    expansion: &Expansion,
    reader: R,
) -> Result<Walked<R>, IngestError> {
    let mut walk = Walk {
        reader,
        sequences: HashMap::new(),
        clocks: Clocks::default(),
        unfounded: 0,
        malformed: Malformed::default(),
        compressed: Malformed::default(),
        inflated: 0,
    };
    let mut packets = Packets::new(content);
    let mut any = false;
    let end = loop {
        let offset = packets.offset();
        match packets.next_packet() {
            Ok(packet) => {
                any = true;
                let mut budget = expansion.limit(ALWAYS_INFLATED).saturating_sub(walk.inflated);
                let before = budget;
                walk.packet(packet, offset, 0, &mut budget);
                walk.inflated += before - budget;
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
    let mut warnings = Vec::new();
    match end {
        End::Complete => {}
        End::Truncated { lost } => warnings.push(Warning::Truncated { bytes_lost: lost }),
        End::Damaged(error) => {
            let detail = error.to_string();
            warnings.push(Warning::DamagedCompression { bytes_read: None, detail });
        }
        End::Broken { offset, detail } if !any => return Err(damaged(offset, detail.to_string())),
        End::Broken { offset, detail } => {
            let lost = packets.offset() - offset + packets.drain();
            let detail = format!("{detail} at byte {offset}; the {lost} bytes after it are lost");
            let list = "Trace.packet".to_string();
            warnings.push(Warning::MalformedRecords { list, count: 1, detail });
        }
        End::TooLong { offset, length } => {
            let limit = LONGEST_PACKET >> 20;
            return Err(damaged(
                offset,
                format!("a packet of {length} bytes exceeds the limit of {limit} MiB"),
            ));
        }
    }
    let Walk { reader, unfounded, malformed, compressed, .. } = walk;
    warnings.extend(malformed.warning("Trace.packet"));
    warnings.extend(compressed.warning("TracePacket.compressed_packets"));
    Ok(Walked { reader, unfounded, warnings })
}

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

    fn warning(self, list: &str) -> Option<Warning> {
        let Malformed { count, first: detail } = self;
        (count > 0).then(|| Warning::MalformedRecords { list: list.to_string(), count, detail })
    }
}

struct Walk<R: Reader> {
    reader: R,
    /// By machine and number.
    sequences: HashMap<(u32, u32), Sequence<R::Interned>>,
    clocks: Clocks,
    unfounded: u64,
    malformed: Malformed,
    compressed: Malformed,
    /// What compressed packets have unpacked to, in bytes.
    inflated: u64,
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

impl<R: Reader> Walk<R> {
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
            self.unfounded += 1;
            if !R::READS_UNFOUNDED {
                return Ok(());
            }
        }
        let (mut content, mut compressed) = (None, None);
        let mut fields = message;
        while let Some(field) = fields.next_field()? {
            match field.number {
                6 => {
                    let snapshot = fields.message(field, "ClockSnapshot")?;
                    take_snapshot(snapshot, &mut self.clocks, &mut sequence.clocks)?;
                }
                11 => content = Some(Content::TrackEvent(fields.message(field, "TrackEvent")?)),
                12 => self.reader.intern(fields.message(field, "InternedData")?, &mut sequence.interned)?,
                50 => compressed = Some(fields.bytes(field)?),
                52 => content = Some(Content::Counters(fields.message(field, "GpuCounterEvent")?)),
                53 => content = Some(Content::RenderStage(fields.message(field, "GpuRenderStageEvent")?)),
                59 => sequence.take_defaults(fields.message(field, "TracePacketDefaults")?)?,
                60 => {
                    self.reader.describe(read_descriptor(fields.message(field, "TrackDescriptor")?)?);
                }
                _ => {}
            }
        }
        if let Some(compressed) = compressed {
            self.inflate(compressed, offset, depth, budget);
        }
        let sequence = self.sequences.entry((head.machine, head.sequence)).or_default();
        // Every timestamp moves its clock, whatever the packet holds.
        let clock = head.clock.or(sequence.clock).unwrap_or(BOOT);
        let time = head.timestamp.and_then(|timestamp| {
            let clocks = if is_local(clock) { &mut sequence.clocks } else { &mut self.clocks };
            clocks.time(clock, timestamp)
        });
        let Some(content) = content else { return Ok(()) };
        let (track, boot_and_day) = (sequence.track, self.clocks.boot_and_day());
        let packet = Packet { time, pid: head.pid, track, boot_and_day, content };
        self.reader.packet(&packet, &sequence.interned)
    }

    /// Takes the packets in a compressed packet.
    fn inflate(&mut self, compressed: &[u8], offset: u64, depth: usize, budget: &mut u64) {
        if depth == MOST_LAYERS {
            self.compressed
                .add(|| format!("packet at byte {offset}: more than {MOST_LAYERS} layers of compression"));
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
                *budget = 0;
                break "it unpacks to far more than a trace would".to_string();
            }
            *budget -= used;
            break match end {
                None => continue,
                Some(End::Complete) => return,
                Some(End::Truncated { .. }) => "its content ends within a packet".to_string(),
                Some(End::Broken { detail, .. }) => detail.to_string(),
                Some(End::TooLong { length, .. }) => {
                    format!("a packet of {length} bytes exceeds the limit of {} MiB", LONGEST_PACKET >> 20)
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
