//! Writes XPlane files by hand.

/// Value of a statistic.
#[derive(Clone)]
pub(crate) enum Stat {
    Number(u64),
    Signed(i64),
    Double(f64),
    Text(&'static str),
    Bytes(Vec<u8>),
}

/// A protobuf message in the making.
#[derive(Clone, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn double(mut self, field: u64, value: f64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }
}

/// A plane in the making.
pub(crate) struct Plane {
    message: Message,
    stat_names: Vec<&'static str>,
    kinds: u64,
}

/// An event: kind, start and length in nanoseconds, statistics.
pub(crate) type Event = (u64, u64, u64, Vec<(&'static str, Stat)>);

impl Plane {
    pub(crate) fn new(id: u64, name: &str) -> Self {
        let message = Message::default().number(1, id).bytes(2, name.as_bytes());
        Plane { message, stat_names: Vec::new(), kinds: 0 }
    }

    fn encoded(&mut self, name: &'static str, value: &Stat) -> Vec<u8> {
        let at = self.stat_names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.stat_names.push(name);
            self.stat_names.len() - 1
        });
        let stat = Message::default().number(1, at as u64 + 1);
        let stat = match value {
            Stat::Double(value) => stat.double(2, *value),
            Stat::Number(value) => stat.number(3, *value),
            Stat::Signed(value) => stat.number(4, *value as u64),
            Stat::Text(text) => stat.bytes(5, text.as_bytes()),
            Stat::Bytes(bytes) => stat.bytes(6, bytes),
        };
        stat.0
    }

    pub(crate) fn stat(mut self, name: &'static str, value: Stat) -> Self {
        let stat = self.encoded(name, &value);
        self.message = self.message.bytes(6, &stat);
        self
    }

    /// Adds a kind of events; kinds are numbered from 1.
    pub(crate) fn kind(&mut self, name: &str, display: &str, stats: &[(&'static str, Stat)]) -> u64 {
        self.kinds += 1;
        let mut kind = Message::default().number(1, self.kinds).bytes(2, name.as_bytes());
        kind = kind.bytes(4, display.as_bytes());
        for (name, value) in stats {
            let stat = self.encoded(name, value);
            kind = kind.bytes(5, &stat);
        }
        let entry = Message::default().number(1, self.kinds).bytes(2, &kind.0);
        self.message = std::mem::take(&mut self.message).bytes(4, &entry.0);
        self.kinds
    }

    pub(crate) fn line(&mut self, id: u64, name: &str, events: &[Event]) {
        let mut line = Message::default().number(1, id).bytes(2, name.as_bytes());
        for (kind, start, length, stats) in events {
            let mut event =
                Message::default().number(1, *kind).number(2, start * 1000).number(3, length * 1000);
            for (name, value) in stats {
                let stat = self.encoded(name, value);
                event = event.bytes(4, &stat);
            }
            line = line.bytes(4, &event.0);
        }
        self.message = std::mem::take(&mut self.message).bytes(3, &line.0);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let mut message = self.message;
        for (at, name) in self.stat_names.iter().enumerate() {
            let number = at as u64 + 1;
            let stat = Message::default().number(1, number).bytes(2, name.as_bytes());
            let entry = Message::default().number(1, number).bytes(2, &stat.0);
            message = message.bytes(5, &entry.0);
        }
        message.0
    }
}

pub(crate) fn file(planes: Vec<Plane>) -> Vec<u8> {
    let mut space = Message::default();
    for plane in planes {
        space = space.bytes(1, &plane.finish());
    }
    space.0
}

/// The compiler's account of memories: direction (1 read, 2 write), memory (1 high-bandwidth, 3 vector), bytes.
pub(crate) fn breakdown(entries: &[(u64, u64, u64)]) -> Stat {
    let mut message = Message::default();
    for &(direction, memory, bytes) in entries {
        let entry = Message::default().number(1, direction).number(2, memory).number(3, bytes);
        message = message.bytes(1, &entry.0);
    }
    Stat::Bytes(message.0)
}
