//! Events of tracks: begins and ends of slices with their annotations.

use std::borrow::Cow;

use super::arguments::{Arguments, Key, Scalar};
use super::collector::Collector;
use super::sequence::Sequence;
use crate::string_table::StringId;
use crate::wire::{Field, Message, Value, Wire};

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Begin,
    End,
    Instant,
    /// A value of a counter, a state, or a kind that is not known.
    Other,
}

/// An event of a track.
pub(super) struct TrackEvent<'a> {
    pub(super) kind: EventKind,
    /// Id of the track, if the event tells it.
    pub(super) track: Option<u64>,
    /// Time in nanoseconds, if the event tells it apart from its packet.
    pub(super) time: Option<i64>,
    pub(super) category: StringId,
    pub(super) name: StringId,
    pub(super) arguments: Arguments<'a>,
    /// A text that it names by number was never told.
    pub(super) lacks_text: bool,
}

/// Reads an event.
pub(super) fn read_event<'a>(
    message: &Message<'a>,
    sequence: &Sequence,
    collector: &mut Collector,
) -> Wire<TrackEvent<'a>> {
    let mut event = TrackEvent {
        kind: EventKind::Other,
        track: None,
        time: None,
        category: StringId::EMPTY,
        name: StringId::EMPTY,
        arguments: Arguments::default(),
        lacks_text: false,
    };
    let mut first = message.clone();
    while let Some(field) = first.next_field()? {
        match field.number {
            9 => {
                event.kind = match first.unsigned(field)? {
                    1 => EventKind::Begin,
                    2 => EventKind::End,
                    3 => EventKind::Instant,
                    _ => EventKind::Other,
                }
            }
            11 => event.track = Some(first.unsigned(field)?),
            16 => event.time = first.signed(field)?.checked_mul(1000),
            _ => {}
        }
    }
    if !matches!(event.kind, EventKind::Begin | EventKind::Instant) {
        return Ok(event);
    }
    let mut fields = message.clone();
    let mut categories = Categories::default();
    while let Some(field) = fields.next_field()? {
        match field.number {
            3 => {
                let mut add = |id| match sequence.categories.get(&id) {
                    Some(&category) => categories.add(category, collector),
                    None => event.lacks_text = true,
                };
                match field.value {
                    Value::Varint(id) => add(id),
                    _ => {
                        let mut packed = fields.message(field, "TrackEvent.category_iids")?;
                        while let Some(id) = packed.next_packed()? {
                            add(id);
                        }
                    }
                }
            }
            22 => {
                let category = collector.intern_bytes(fields.bytes(field)?);
                categories.add(category, collector);
            }
            10 => match sequence.names.get(&fields.unsigned(field)?) {
                Some(&name) => event.name = name,
                None => event.lacks_text = true,
            },
            23 => event.name = collector.intern_bytes(fields.bytes(field)?),
            4 => {
                let annotation = fields.message(field, "DebugAnnotation")?;
                read_annotation(annotation, sequence, collector, &mut event)?;
            }
            _ => {}
        }
    }
    event.category = categories.joined.unwrap_or(StringId::EMPTY);
    Ok(event)
}

/// Categories of an event, as one text with commas.
#[derive(Default)]
struct Categories {
    joined: Option<StringId>,
}

impl Categories {
    fn add(&mut self, category: StringId, collector: &mut Collector) {
        self.joined = Some(match self.joined {
            Some(before) => {
                let joined = format!("{},{}", collector.text(before), collector.text(category));
                collector.intern(&joined)
            }
            None => category,
        });
    }
}

/// Reads an annotation into the event's arguments, if it is of use.
fn read_annotation<'a>(
    mut annotation: Message<'a>,
    sequence: &Sequence,
    collector: &mut Collector,
    event: &mut TrackEvent<'a>,
) -> Wire<()> {
    let mut key = None;
    let mut value = None;
    while let Some(field) = annotation.next_field()? {
        match field.number {
            1 => match sequence.keys.get(&annotation.unsigned(field)?) {
                Some(&known) => key = known,
                None => event.lacks_text = true,
            },
            10 => key = Key::from_name(annotation.bytes(field)?),
            2..=7 | 9 | 17 => value = Some(field),
            _ => {}
        }
    }
    if let (Some(key), Some(field)) = (key, value) {
        event.arguments.set(key, read_value(&annotation, field, sequence, collector, &mut event.lacks_text)?);
    }
    Ok(())
}

fn read_value<'a>(
    annotation: &Message<'a>,
    field: Field,
    sequence: &Sequence,
    collector: &mut Collector,
    lacks_text: &mut bool,
) -> Wire<Scalar<'a>> {
    Ok(match field.number {
        4 => Scalar::Signed(annotation.signed(field)?),
        5 => Scalar::Float(annotation.double(field)?),
        6 | 9 => {
            let text = annotation.text(field)?;
            if matches!(text, Cow::Owned(_)) {
                collector.count_invalid_utf8();
            }
            Scalar::Text(text)
        }
        17 => match sequence.texts.get(&annotation.unsigned(field)?) {
            Some(&text) => Scalar::Text(Cow::Owned(collector.text(text).to_string())),
            None => {
                *lacks_text = true;
                Scalar::Absent
            }
        },
        _ => Scalar::Unsigned(annotation.unsigned(field)?),
    })
}
