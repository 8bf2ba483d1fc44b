//! Whether a text looks like an XPlane profile. The format has no magic number: it is a protobuf message
//! whose first field is a plane.

use crate::format::Certainty;
use crate::wire::{Message, Value, probe_field};

/// Beginnings of plane names that profilers write.
const KNOWN_PLANES: &[&str] =
    &["/device:", "/host:", "/virtualdevice:", "Task Environment", "Host CPUs", "Syscalls", "#Chip"];

/// How sure it is that a text that begins with `head` is a profile.
pub(crate) fn probe(head: &[u8]) -> Certainty {
    let mut at = 0;
    // Errors, warnings and host names may stand before the first plane.
    loop {
        match probe_field(head, at) {
            Some((2..=4, _, end)) if end < head.len() => at = end,
            Some((1, start, end)) => return probe_plane(head, start, end.min(head.len())),
            _ => return Certainty::No,
        }
    }
}

/// A plane begins with its number, if that is not zero, and its name.
fn probe_plane(head: &[u8], start: usize, end: usize) -> Certainty {
    let mut plane = Message::new(head, start..end, "XPlane");
    let mut fields = std::iter::from_fn(|| plane.next_field().ok().flatten());
    let mut first = fields.next();
    if matches!(first, Some(field) if field.number == 1 && matches!(field.value, Value::Varint(_))) {
        first = fields.next();
    }
    let Some((2, Value::Delimited(start, end))) = first.map(|field| (field.number, field.value)) else {
        return Certainty::No;
    };
    match std::str::from_utf8(&head[start..end]) {
        Ok(name) if KNOWN_PLANES.iter().any(|known| name.starts_with(known)) => Certainty::Likely,
        Ok(name) if !name.is_empty() && !name.contains(char::is_control) => Certainty::Possible,
        _ => Certainty::No,
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::super::proto::{XPlane, XSpace};
    use super::*;

    fn space(name: &str, id: i64, hostname: Option<&str>) -> Vec<u8> {
        let plane = XPlane { id, name: name.to_string(), ..XPlane::default() };
        let hostnames = hostname.map(str::to_string).into_iter().collect();
        // Concatenated messages are one message: this puts the host names first.
        let mut bytes = XSpace { hostnames, ..XSpace::default() }.encode_to_vec();
        bytes.extend(XSpace { planes: vec![plane], ..XSpace::default() }.encode_to_vec());
        bytes
    }

    #[test]
    fn a_plane_that_profilers_write_is_likely_and_another_possible() {
        assert_eq!(probe(&space("/device:GPU:0", 0, None)), Certainty::Likely);
        assert_eq!(probe(&space("/device:TPU:7", 26, None)), Certainty::Likely);
        assert_eq!(probe(&space("/host:metadata", 0, Some("worker"))), Certainty::Likely);
        assert_eq!(probe(&space("my plane", 1, None)), Certainty::Possible);
    }

    #[test]
    fn a_plane_longer_than_the_head_is_recognised() {
        let mut bytes = vec![0x0a, 0xff, 0xff, 0x7f, 0x12, 0x09];
        bytes.extend(b"/host:CPU");
        bytes.extend([0x1a, 0x80]);
        assert_eq!(probe(&bytes), Certainty::Likely);
    }

    #[test]
    fn other_texts_are_not_profiles() {
        let others: [&[u8]; 7] = [
            b"",
            b"\n",
            b"{\"traceEvents\": []}",
            b"\n{\"traceEvents\": []}",
            b"\n\n[{\"ph\": \"X\"}]",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x12\x05hello",
        ];
        for text in others {
            assert_eq!(probe(text), Certainty::No, "{text:?}");
        }
    }
}
