//! Writes small Perfetto traces, field by field.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// A message in the making.
#[derive(Clone, Default)]
pub(crate) struct Message(Vec<u8>);

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

impl Message {
    pub(crate) fn number(mut self, field: u32, value: u64) -> Self {
        varint(&mut self.0, u64::from(field) << 3);
        varint(&mut self.0, value);
        self
    }

    pub(crate) fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        varint(&mut self.0, u64::from(field) << 3 | 2);
        varint(&mut self.0, value.len() as u64);
        self.0.extend(value);
        self
    }

    pub(crate) fn message(self, field: u32, value: Message) -> Self {
        self.bytes(field, &value.0)
    }
}

/// Value of an annotation.
#[derive(Clone, Copy)]
pub(crate) enum Annotation {
    Unsigned(u64),
    Signed(i64),
    Text(&'static str),
    Pointer(u64),
}

/// A packet. What comes first of it may be wrong for a decoder that relies on the order of fields: the event stands
/// before the texts that it names.
#[derive(Clone)]
pub(crate) struct Packet {
    fields: Message,
    event: Option<Message>,
}

impl Packet {
    pub(crate) fn new(sequence: u64) -> Packet {
        Packet { fields: Message::default().number(10, sequence), event: None }
    }

    fn with(mut self, change: impl FnOnce(Message) -> Message) -> Packet {
        self.fields = change(self.fields);
        self
    }

    pub(crate) fn bytes(self, field: u32, value: &[u8]) -> Packet {
        self.with(|fields| fields.bytes(field, value))
    }

    /// The writer begins anew.
    pub(crate) fn cleared(self) -> Packet {
        self.with(|fields| fields.number(13, 1))
    }

    /// Relies on what came before.
    pub(crate) fn relying(self) -> Packet {
        self.with(|fields| fields.number(13, 2))
    }

    /// Packets before it were lost.
    pub(crate) fn dropped(self) -> Packet {
        self.with(|fields| fields.number(42, 1))
    }

    /// Tells the texts of number `id`: a category and a name.
    pub(crate) fn interned(self, id: u64, category: &str, name: &str) -> Packet {
        let text = |text: &str| Message::default().number(1, id).bytes(2, text.as_bytes());
        self.with(|fields| {
            fields.message(12, Message::default().message(1, text(category)).message(2, text(name)))
        })
    }

    /// Number, time, whether packets tell distances, nanoseconds per tick.
    pub(crate) fn clocks(self, clocks: &[(u64, u64, bool, u64)]) -> Packet {
        let snapshot =
            clocks.iter().fold(Message::default(), |snapshot, &(number, time, incremental, multiplier)| {
                let clock = Message::default().number(1, number).number(2, time);
                snapshot.message(1, clock.number(3, u64::from(incremental)).number(4, multiplier))
            });
        self.with(|fields| fields.message(6, snapshot))
    }

    pub(crate) fn process_track(self, uuid: u64, pid: u64) -> Packet {
        let process = Message::default().number(1, pid).bytes(2, b"python");
        self.with(|fields| fields.message(60, Message::default().number(1, uuid).message(3, process)))
    }

    pub(crate) fn thread_track(self, uuid: u64, parent: u64, pid: u64, tid: u64) -> Packet {
        let thread = Message::default().number(1, pid).number(2, tid);
        let track = Message::default().number(1, uuid).number(5, parent).message(4, thread);
        self.with(|fields| fields.message(60, track))
    }

    pub(crate) fn named_track(self, uuid: u64, parent: u64, name: &str) -> Packet {
        let track = Message::default().number(1, uuid).number(5, parent).bytes(2, name.as_bytes());
        self.with(|fields| fields.message(60, track))
    }

    /// Puts the packet's event on a track.
    pub(crate) fn on(mut self, track: u64) -> Packet {
        self.event = self.event.map(|event| event.number(11, track));
        self
    }

    /// The packet as a field of the trace.
    pub(crate) fn framed(self) -> Vec<u8> {
        let Packet { fields, event } = self;
        let mut packet = event.map_or_else(Message::default, |event| Message::default().message(11, event));
        packet.0.extend(fields.0);
        Message::default().message(1, packet).0
    }
}

/// An event of a track.
pub(crate) struct Event(Message);

impl Event {
    fn new(kind: u64) -> Event {
        Event(Message::default().number(9, kind))
    }

    pub(crate) fn begin(category: &str, name: &str) -> Event {
        Event(Event::new(1).0.bytes(22, category.as_bytes()).bytes(23, name.as_bytes()))
    }

    /// A begin whose category (in a packed list) and name are told by number.
    pub(crate) fn begin_interned(id: u64) -> Event {
        Event(Event::new(1).0.bytes(3, &[id as u8]).number(10, id))
    }

    pub(crate) fn instant(category: &str, name: &str) -> Event {
        Event(Event::new(3).0.bytes(22, category.as_bytes()).bytes(23, name.as_bytes()))
    }

    pub(crate) fn end() -> Event {
        Event::new(2)
    }

    pub(crate) fn on(self, track: u64) -> Event {
        Event(self.0.number(11, track))
    }

    pub(crate) fn with(self, name: &str, value: Annotation) -> Event {
        let annotation = match value {
            Annotation::Unsigned(value) => Message::default().number(3, value),
            Annotation::Signed(value) => Message::default().number(4, value as u64),
            Annotation::Text(value) => Message::default().bytes(6, value.as_bytes()),
            Annotation::Pointer(value) => Message::default().number(7, value),
        };
        Event(self.0.message(4, annotation.bytes(10, name.as_bytes())))
    }

    /// The event at a time since boot, in nanoseconds.
    pub(crate) fn packet(self, time: i64) -> Packet {
        self.packet_on(6, time as u64)
    }

    /// The event at a time of a clock.
    pub(crate) fn packet_on(self, clock: u64, timestamp: u64) -> Packet {
        let packet = Packet::new(1).with(|fields| fields.number(8, timestamp).number(58, clock));
        Packet { event: Some(self.0), ..packet }
    }
}

pub(crate) fn trace(packets: impl IntoIterator<Item = Packet>) -> Vec<u8> {
    packets.into_iter().flat_map(Packet::framed).collect()
}

/// Compressed bytes.
pub(crate) fn zlib(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A packet that holds those of a trace, compressed.
pub(crate) fn compressed(content: &[u8]) -> Packet {
    Packet { fields: Message::default().bytes(50, &zlib(content)), event: None }
}
