//! Whether a text looks like a Perfetto trace. The format has no magic number, and other protobuf profiles begin with
//! the same byte: what tells it apart are the fields of its packets.

use crate::wire::{Field, Message, Value, probe_field};

/// How many packets are looked at.
const PACKETS: usize = 16;
/// After this many packets what comes behind them may be damaged.
const ENOUGH: usize = 2;

/// Whether a text that begins with `head` is a trace.
pub(super) fn is_perfetto(head: &[u8]) -> bool {
    let mut at = 0;
    for number in 0..PACKETS {
        if at == head.len() {
            return number > 0;
        }
        let Some((1, start, end)) = probe_field(head, at) else {
            // The head may end within the length; what is no packet at all is told by its first byte.
            return number >= ENOUGH || number > 0 && head[at] == 0x0a && head.len() - at < 10;
        };
        let whole = end <= head.len();
        let borders = whole && head.get(end).is_none_or(|&next| next == 0x0a);
        let is_track = borders && describes_track(head, start, end);
        if !is_track && !is_packet(head, start, end.min(head.len()), whole) {
            return number >= ENOUGH;
        }
        if !whole {
            return true;
        }
        at = end;
    }
    true
}

/// Whether the fields from `start` to `end` are those of a packet; all of them if it is `whole`.
fn is_packet(head: &[u8], start: usize, end: usize, whole: bool) -> bool {
    let mut packet = Message::new(head, start..end, "TracePacket");
    // Every packet has a time, a writer or other packets in it, and those fields have numbers that other profiles do
    // not reach.
    let mut known = false;
    loop {
        let field = match packet.next_field() {
            Ok(Some(field)) => field,
            Ok(None) => return known,
            Err(_) => return known && !whole,
        };
        let is_number = matches!(field.value, Value::Varint(_));
        let is_bytes = matches!(field.value, Value::Delimited(..));
        match field.number {
            // The time, the writer's number, its process.
            8 | 10 | 79 if is_number => known = true,
            50 if is_bytes => known = true,
            3 | 13 | 41 | 42 | 58 | 87 | 98 if is_number => {}
            6 | 11 | 12 | 59 | 60 if is_bytes => {}
            3 | 6 | 8 | 10..=13 | 41 | 42 | 50 | 58..=60 | 79 | 87 | 98 => return false,
            _ => {}
        }
    }
}

/// Whether the packet from `start` to `end` is the description of a track and nothing else. Some recorders write neither
/// time nor writer beside it.
fn describes_track(head: &[u8], start: usize, end: usize) -> bool {
    let mut packet = Message::new(head, start..end, "TracePacket");
    let is_track = |field: Field| field.number == 60 && matches!(field.value, Value::Delimited(..));
    matches!(packet.next_field(), Ok(Some(field)) if is_track(field))
        && matches!(packet.next_field(), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_told_from_other_messages() {
        let cases: [(&[u8], bool); 14] = [
            (&[0x0a, 4, 0x40, 5, 0x50, 1], true),
            // The second packet ends behind the head.
            (&[0x0a, 4, 0x40, 5, 0x50, 1, 0x0a, 9, 0x40, 5, 0x50], true),
            (&[0x0a, 4, 0x40, 5, 0x50, 1, 0x0a], true),
            // Damage behind one packet, and behind two.
            (&[0x0a, 2, 0x50, 1, 0xff, 0xff], false),
            (&[0x0a, 2, 0x50, 1, 0x0a, 2, 0x50, 1, 0xff, 0xff], true),
            // Tracks alone; then what is no packet; then beside an unknown field.
            (&[0x0a, 5, 0xe2, 3, 2, 8, 1, 0x0a, 5, 0xe2, 3, 2, 8, 2], true),
            (&[0x0a, 5, 0xe2, 3, 2, 8, 1, 0x12, 0], false),
            (&[0x0a, 7, 0xe2, 3, 2, 8, 1, 0x12, 0], false),
            // A plane: number, name.
            (&[0x0a, 6, 0x08, 1, 0x12, 2, b'/', b'd'], false),
            // Nothing but bytes of an unknown field.
            (&[0x0a, 2, 0x12, 0], false),
            (&[0x0a, 4, 0x40, 5, 0x52, 0], false),
            (b"\n{\"traceEvents\": []}", false),
            (&[0x0a], false),
            (&[], false),
        ];
        for (head, expected) in cases {
            assert_eq!(is_perfetto(head), expected, "{head:x?}");
        }
    }
}
