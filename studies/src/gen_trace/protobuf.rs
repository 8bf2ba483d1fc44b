//! Writing protobuf, field by field.

/// A message in the making.
#[derive(Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
    /// Lengths of 128 and more take four bytes: writers that do not know a length leave room for it.
    has_padded_lengths: bool,
}

impl Message {
    /// A message that writes all but the shortest lengths in four bytes.
    pub(super) fn with_padded_lengths() -> Self {
        Message { has_padded_lengths: true, ..Message::default() }
    }

    /// What was written.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(super) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub(super) fn fixed(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3 | 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn double(&mut self, field: u64, value: f64) -> &mut Self {
        self.fixed(field, value.to_bits())
    }

    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        let length = bytes.len() as u64;
        if self.has_padded_lengths && length >= 0x80 {
            let digit = |shift: u32| (length >> shift) as u8 & 0x7f;
            self.bytes.extend([digit(0) | 0x80, digit(7) | 0x80, digit(14) | 0x80, digit(21)]);
        } else {
            self.varint(length);
        }
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(super) fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    pub(super) fn message(&mut self, field: u64, message: &Message) -> &mut Self {
        self.bytes(field, &message.bytes)
    }
}
