//! What events of tracks have in common.

use crate::wire::{Field, Message, Value, Wire};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Begin,
    End,
    Instant,
    /// A value of a counter, a state, or a kind that is not known.
    Other,
}

/// What has to be known of an event before its other fields are of use.
pub(crate) struct EventHead {
    pub(crate) kind: EventKind,
    /// Id of the track, if the event tells it.
    pub(crate) track: Option<u64>,
    /// Time in nanoseconds, if the event tells it apart from its packet.
    pub(crate) time: Option<i64>,
}

impl EventHead {
    /// Reads it from an event.
    pub(crate) fn read(mut message: Message<'_>) -> Wire<EventHead> {
        let mut head = EventHead { kind: EventKind::Other, track: None, time: None };
        while let Some(field) = message.next_field()? {
            match field.number {
                9 => {
                    head.kind = match message.unsigned(field)? {
                        1 => EventKind::Begin,
                        2 => EventKind::End,
                        3 => EventKind::Instant,
                        _ => EventKind::Other,
                    }
                }
                11 => head.track = Some(message.unsigned(field)?),
                16 => head.time = message.signed(field)?.checked_mul(1000),
                _ => {}
            }
        }
        Ok(head)
    }
}

/// The integers of a repeated field, which writers put into fields of their own or together into one.
pub(crate) fn each_number(message: &Message<'_>, field: Field, mut take: impl FnMut(u64)) -> Wire<()> {
    match field.value {
        Value::Varint(number) => take(number),
        _ => {
            let mut packed = message.message(field, "a packed list")?;
            while let Some(number) = packed.next_packed()? {
                take(number);
            }
        }
    }
    Ok(())
}
