//! The packets of a trace, one after the other, through a window that holds one of them.

use std::io::{self, BufRead, BufReader, Read};

/// Longest packet, in bytes. Real ones are thousands of times smaller; a file that claims a larger one is damaged or
/// hostile, and must not fill the memory.
pub(super) const LONGEST_PACKET: u64 = 256 << 20;

/// Bytes that are read from the source at a time.
const WINDOW: usize = 256 << 10;

/// Number of the field of `Trace` that holds the packets.
const PACKET: u64 = 1;

/// How the packets end.
#[derive(Debug)]
pub(super) enum End {
    /// Behind the last one.
    Complete,
    /// In the middle of one.
    Truncated {
        /// Bytes of it that are there.
        lost: u64,
    },
    /// At what is no packet; where the next one would begin cannot be told.
    Broken {
        /// Where, in bytes of the content.
        offset: u64,
        /// What was found.
        detail: &'static str,
    },
    /// At a packet above [`LONGEST_PACKET`].
    TooLong {
        /// Where, in bytes of the content.
        offset: u64,
        /// The length that it claims, in bytes.
        length: u64,
    },
    /// The source cannot be read further.
    Damaged(io::Error),
}

pub(super) struct Packets<R> {
    source: BufReader<R>,
    /// Bytes read so far.
    offset: u64,
    packet: Vec<u8>,
}

impl<R: Read> Packets<R> {
    pub(super) fn new(source: R) -> Self {
        Packets { source: BufReader::with_capacity(WINDOW, source), offset: 0, packet: Vec::new() }
    }

    /// Bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next packet; fields of other numbers are stepped over.
    pub(super) fn next_packet(&mut self) -> Result<&[u8], End> {
        loop {
            let start = self.offset;
            if self.source.fill_buf().map_err(End::Damaged)?.is_empty() {
                return Err(End::Complete);
            }
            let tag = self.varint(start)?;
            let broken = |detail| Err(End::Broken { offset: start, detail });
            let length = match tag & 7 {
                _ if tag >> 3 == 0 || tag >> 3 > u64::from(u32::MAX) => {
                    return broken("a field number is out of range");
                }
                0 => {
                    self.varint(start)?;
                    continue;
                }
                1 => 8,
                2 => self.varint(start)?,
                5 => 4,
                _ => return broken("a field has an unknown wire type"),
            };
            if tag == PACKET << 3 | 2 {
                if length > LONGEST_PACKET {
                    return Err(End::TooLong { offset: start, length });
                }
                self.packet.clear();
                let read = (&mut self.source).take(length).read_to_end(&mut self.packet);
                self.offset += self.packet.len() as u64;
                read.map_err(End::Damaged)?;
                if (self.packet.len() as u64) < length {
                    return Err(End::Truncated { lost: self.offset - start });
                }
                return Ok(&self.packet);
            }
            let skipped =
                io::copy(&mut (&mut self.source).take(length), &mut io::sink()).map_err(End::Damaged)?;
            self.offset += skipped;
            if skipped < length {
                return Err(End::Truncated { lost: self.offset - start });
            }
        }
    }

    /// A number of the field that begins at `start`.
    fn varint(&mut self, start: u64) -> Result<u64, End> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.source.fill_buf().map_err(End::Damaged)?.first() else {
                return Err(End::Truncated { lost: self.offset - start });
            };
            self.source.consume(1);
            self.offset += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(End::Broken { offset: start, detail: "a number is too long" })
    }

    /// Reads what is left and counts it, in bytes.
    pub(super) fn drain(&mut self) -> u64 {
        io::copy(&mut self.source, &mut io::sink()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(content: &[u8]) -> (Vec<usize>, End) {
        let mut packets = Packets::new(content);
        let mut lengths = Vec::new();
        loop {
            match packets.next_packet() {
                Ok(packet) => lengths.push(packet.len()),
                Err(end) => return (lengths, end),
            }
        }
    }

    #[test]
    fn packets_are_found_between_other_fields() {
        let content = [0x0a, 1, 9, 0x10, 0x80, 1, 0x1a, 2, 7, 7, 0x0a, 0, 0x25, 1, 2, 3, 4, 0x0a, 2, 1, 2];
        let (lengths, end) = lengths(&content);
        assert_eq!(lengths, [1, 0, 2]);
        assert!(matches!(end, End::Complete));
    }

    #[test]
    fn the_end_is_told() {
        assert!(matches!(lengths(&[0x0a, 1, 9, 0x0a, 5, 1]).1, End::Truncated { lost: 3 }));
        assert!(matches!(lengths(&[0x0a, 1, 9, 0x0a]).1, End::Truncated { lost: 1 }));
        assert!(matches!(lengths(&[0x0a, 1, 9, 0x0b]).1, End::Broken { offset: 3, .. }));
        assert!(matches!(lengths(&[0x0a, 1, 9, 0x00]).1, End::Broken { offset: 3, .. }));
        assert!(matches!(lengths(&[0xff; 12]).1, End::Broken { offset: 0, .. }));
        let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1];
        assert!(matches!(lengths(&huge).1, End::TooLong { offset: 0, length: 0xffff_ffff }));
    }
}
