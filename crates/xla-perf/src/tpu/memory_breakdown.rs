//! The compiler's account of which memories an operation uses: a protobuf message
//! `{1: repeated {1: enum direction, 2: uint64 memory, 3: uint64 bytes}}` in the statistics of TPU operations.

use super::profile::{AccessKind, MemoryAccess, MemorySpace};

/// The entries of a message; those after a place where it is damaged are missing.
pub(super) fn memory_breakdown(message: &[u8]) -> Vec<MemoryAccess> {
    let entries = Fields(message).filter_map(|field| match field {
        (1, Value::Message(entry)) => Some(access(entry)),
        _ => None,
    });
    entries.collect()
}

fn access(entry: &[u8]) -> MemoryAccess {
    let mut access = MemoryAccess { space: MemorySpace::Other(0), kind: AccessKind::Unknown, bytes: 0 };
    for field in Fields(entry) {
        match field {
            (1, Value::Number(1)) => access.kind = AccessKind::Read,
            (1, Value::Number(2)) => access.kind = AccessKind::Write,
            (2, Value::Number(space)) => access.space = MemorySpace::of_number(space),
            (3, Value::Number(bytes)) => access.bytes = bytes,
            _ => {}
        }
    }
    access
}

enum Value<'m> {
    Number(u64),
    Message(&'m [u8]),
    /// Eight or four bytes, which no field of these messages has.
    Fixed,
}

/// The fields of a message with their numbers; ends where the message ends or breaks the format.
struct Fields<'m>(&'m [u8]);

impl<'m> Iterator for Fields<'m> {
    type Item = (u64, Value<'m>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Message(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        Some((key >> 3, value))
    }
}

impl<'m> Fields<'m> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: usize) -> Option<&'m [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_written_bytes_of_a_memory() {
        // {{1: 1, 2: 1, 3: 5368709120}, {1: 2, 2: 3, 3: 7}}
        let message = [0x0a, 10, 8, 1, 16, 1, 24, 0x80, 0x80, 0x80, 0x80, 0x14, 0x0a, 6, 8, 2, 16, 3, 24, 7];
        let read = MemoryAccess { space: MemorySpace::Hbm, kind: AccessKind::Read, bytes: 5_368_709_120 };
        let written = MemoryAccess { space: MemorySpace::Vmem, kind: AccessKind::Write, bytes: 7 };
        assert_eq!(memory_breakdown(&message), [read, written]);
        assert_eq!(memory_breakdown(&message[..14]), [read]);
        assert_eq!(memory_breakdown(&[]), []);
        assert_eq!(memory_breakdown(&[0x0b, 0xff]), []);
    }
}
