//! Events of tracks: begins and ends of slices with their annotations.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::arguments::{Arguments, Key, Scalar};
use super::collector::Collector;
use crate::perfetto::{EventHead, EventKind, each_number};
use crate::string_table::StringId;
use crate::wire::{Field, Message, Wire};

/// Texts that packets refer to by number.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) categories: HashMap<u64, StringId>,
    pub(super) names: HashMap<u64, StringId>,
    /// Names of annotations; those of no use are there without a key.
    pub(super) keys: HashMap<u64, Option<Key>>,
    pub(super) values: HashMap<u64, StringId>,
}

pub(super) struct TrackEvent<'a> {
    pub(super) head: EventHead,
    pub(super) category: StringId,
    pub(super) name: StringId,
    pub(super) arguments: Arguments<'a>,
    /// A text that it names by number was never told.
    pub(super) lacks_text: bool,
}

pub(super) fn read_event<'a>(
    message: &Message<'a>,
    texts: &Texts,
    collector: &mut Collector,
) -> Wire<TrackEvent<'a>> {
    let mut event = TrackEvent {
        head: EventHead::read(message.clone())?,
        category: StringId::EMPTY,
        name: StringId::EMPTY,
        arguments: Arguments::default(),
        lacks_text: false,
    };
    if !matches!(event.head.kind, EventKind::Begin | EventKind::Instant) {
        return Ok(event);
    }
    let mut fields = message.clone();
    let mut categories = Categories::default();
    while let Some(field) = fields.next_field()? {
        match field.number {
            3 => {
                each_number(&fields, field, |id| match texts.categories.get(&id) {
                    Some(&category) => categories.add(category, collector),
                    None => event.lacks_text = true,
                })?;
            }
            22 => {
                let category = collector.intern_bytes(fields.bytes(field)?);
                categories.add(category, collector);
            }
            10 => match texts.names.get(&fields.unsigned(field)?) {
                Some(&name) => event.name = name,
                None => event.lacks_text = true,
            },
            23 => event.name = collector.intern_bytes(fields.bytes(field)?),
            4 => {
                let annotation = fields.message(field, "DebugAnnotation")?;
                read_annotation(annotation, texts, collector, &mut event)?;
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
    texts: &Texts,
    collector: &mut Collector,
    event: &mut TrackEvent<'a>,
) -> Wire<()> {
    let mut key = None;
    let mut value = None;
    while let Some(field) = annotation.next_field()? {
        match field.number {
            1 => match texts.keys.get(&annotation.unsigned(field)?) {
                Some(&known) => key = known,
                None => event.lacks_text = true,
            },
            10 => key = Key::from_name(annotation.bytes(field)?),
            2..=7 | 9 | 17 => value = Some(field),
            _ => {}
        }
    }
    if let (Some(key), Some(field)) = (key, value) {
        event.arguments.set(key, read_value(&annotation, field, texts, collector, &mut event.lacks_text)?);
    }
    Ok(())
}

fn read_value<'a>(
    annotation: &Message<'a>,
    field: Field,
    texts: &Texts,
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
        17 => match texts.values.get(&annotation.unsigned(field)?) {
            Some(&text) => Scalar::Text(Cow::Owned(collector.text(text).to_string())),
            None => {
                *lacks_text = true;
                Scalar::Absent
            }
        },
        _ => Scalar::Unsigned(annotation.unsigned(field)?),
    })
}
