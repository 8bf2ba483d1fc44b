//! What the recorder writes beside a slice's name, into the columns of its arguments.

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::argument::{ArgumentId, ArgumentValue, Sequence, Signature};
use crate::event_table::{LaunchGeometry, PythonFrame};
use crate::json::number::integer;
use crate::kineto::arguments::Argument;
use crate::kineto::rare_arguments::{RareArguments, RareField, RareText};
use crate::kineto::translation::DEEPEST_ARGUMENT;
use crate::trace::{EventArguments, Trace};
use crate::wire::{Message, Wire};

#[derive(Clone, Debug)]
enum Value<'a> {
    /// Nothing, or an empty list or object: the file has the same for these.
    Empty,
    /// `null` in JSON.
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// An annotation whose elements are values.
    List(Message<'a>),
    /// An annotation whose entries have names and values.
    Object(Message<'a>),
}

/// Name and value of an annotation; elements of lists have no name.
fn read_annotation<'a>(message: &Message<'a>) -> Wire<(&'a [u8], Value<'a>)> {
    let (mut name, mut value) = (&[][..], Value::Empty);
    let mut fields = message.clone();
    while let Some(field) = fields.next_field()? {
        match field.number {
            2 => value = Value::Bool(fields.unsigned(field)? != 0),
            4 => value = Value::Integer(fields.signed(field)?),
            5 => value = Value::Float(fields.double(field)?),
            6 => {
                let text = fields.text(field)?;
                value = if text == "null" { Value::Null } else { Value::Text(text) };
            }
            10 => name = fields.bytes(field)?,
            11 => value = Value::Object(message.clone()),
            12 => value = Value::List(message.clone()),
            _ => {}
        }
    }
    Ok((name, value))
}

impl Value<'_> {
    fn integer(&self) -> Option<i64> {
        match self {
            Value::Integer(value) => Some(*value),
            Value::Text(text) => integer(text.trim().as_bytes()),
            _ => None,
        }
    }

    /// As JSON's reader has it.
    fn argument(&self, depth: usize) -> Wire<ArgumentValue> {
        Ok(match self {
            Value::Empty => ArgumentValue::List(Vec::new()),
            Value::Null => ArgumentValue::Null,
            Value::Bool(value) => ArgumentValue::Bool(*value),
            Value::Integer(value) => ArgumentValue::Int(*value),
            Value::Float(value) => ArgumentValue::Float(*value),
            Value::Text(text) => ArgumentValue::Text(text.clone().into_owned()),
            Value::List(list) => {
                let mut items = Vec::new();
                each_part(list, 12, depth, |_, item| {
                    items.push(item.argument(depth + 1)?);
                    Ok(())
                })?;
                ArgumentValue::List(items)
            }
            // Objects are kept as their text.
            Value::Object(_) => ArgumentValue::Text(self.json(depth)?),
        })
    }

    /// As JSON without blanks.
    fn json(&self, depth: usize) -> Wire<String> {
        let mut parts = Vec::new();
        Ok(match self {
            Value::Empty => "[]".to_string(),
            Value::Null => "null".to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => value.to_string(),
            Value::Text(text) => serde_json::Value::from(&**text).to_string(),
            Value::List(list) => {
                each_part(list, 12, depth, |_, item| {
                    parts.push(item.json(depth + 1)?);
                    Ok(())
                })?;
                format!("[{}]", parts.join(","))
            }
            Value::Object(object) => {
                each_part(object, 11, depth, |name, value| {
                    let name = serde_json::Value::from(&*String::from_utf8_lossy(name));
                    parts.push(format!("{name}:{}", value.json(depth + 1)?));
                    Ok(())
                })?;
                format!("{{{}}}", parts.join(","))
            }
        })
    }

    /// The extents of up to three dimensions; what is missing is 1.
    fn dimensions(&self) -> Wire<[u32; 3]> {
        let mut extents = [1; 3];
        if let Value::List(list) = self {
            let mut places = extents.iter_mut();
            each_part(list, 12, 0, |_, item| {
                if let Some(place) = places.next() {
                    *place = item.integer().and_then(|extent| u32::try_from(extent).ok()).unwrap_or(1);
                }
                Ok(())
            })?;
        }
        Ok(extents)
    }
}

/// Names and values of the annotations in fields `number` of an annotation.
fn each_part<'a>(
    annotation: &Message<'a>,
    number: u32,
    depth: usize,
    mut take: impl FnMut(&'a [u8], Value<'a>) -> Wire<()>,
) -> Wire<()> {
    let mut fields = annotation.clone();
    while let Some(field) = fields.next_field()? {
        if field.number == number {
            if depth == DEEPEST_ARGUMENT {
                return fields.refuse(field, "arguments are nested too deeply");
            }
            let (name, value) = read_annotation(&fields.message(field, "DebugAnnotation")?)?;
            take(name, value)?;
        }
    }
    Ok(())
}

/// Argument lists by the bytes that they were read from: most calls repeat those of a call before.
#[derive(Default)]
pub(super) struct KnownLists(HashMap<Box<[u8]>, ArgumentId>);

/// The arguments of an event so far.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) event: EventArguments,
    rare: RareArguments,
    signature: Signature,
    python: [Option<u32>; 3],
    sizes: [Option<[u32; 3]>; 2],
    /// Whether `copy kind` is among them, which copies have.
    pub(super) has_copy_kind: bool,
    /// Whether `cbid` is among them, which calls have.
    pub(super) has_callback_id: bool,
}

impl Arguments {
    /// Takes an annotation of a slice.
    pub(super) fn take(
        &mut self,
        message: &Message<'_>,
        bytes: &[u8],
        trace: &mut Trace,
        known: &mut KnownLists,
    ) -> Wire<()> {
        let (name, value) = read_annotation(message)?;
        let Some(argument) = Argument::from_key(name) else {
            self.has_copy_kind |= name == b"copy kind";
            self.has_callback_id |= name == b"cbid";
            return Ok(());
        };
        match argument {
            Argument::Signature(part) => {
                if !matches!(value, Value::Empty | Value::List(_)) {
                    return Ok(());
                }
                let list = match known.0.get(bytes) {
                    Some(&list) => list,
                    None => {
                        let list = trace.signatures.intern_argument(value.argument(0)?);
                        known.0.insert(bytes.into(), list);
                        list
                    }
                };
                let Signature { dims, types, strides, concrete } = &mut self.signature;
                *[dims, types, strides, concrete][usize::from(part)] = Some(list);
            }
            Argument::Grid => self.sizes[0] = Some(value.dimensions()?),
            Argument::Block => self.sizes[1] = Some(value.dimensions()?),
            Argument::Finished => self.event.unfinished = matches!(value, Value::Bool(false)).then_some(()),
            Argument::Rare(field) => {
                let text = match &value {
                    Value::Empty | Value::Null => return Ok(()),
                    Value::Text(text) => text.clone(),
                    Value::List(_) if field.is_shown() => {
                        value.argument(0)?.display(Sequence::Tuple).to_string().into()
                    }
                    value => value.json(0)?.into(),
                };
                self.set_rare(field, &text, trace);
            }
            argument => self.set_integer(argument, value.integer()),
        }
        Ok(())
    }

    /// Takes an argument whose value is written as text.
    pub(super) fn take_text(&mut self, name: &[u8], text: &str, trace: &mut Trace) {
        match Argument::from_key(name) {
            Some(Argument::Rare(field)) => self.set_rare(field, text, trace),
            Some(argument) => self.set_integer(argument, integer(text.trim().as_bytes())),
            None => {}
        }
    }

    fn set_rare(&mut self, field: RareField, text: &str, trace: &mut Trace) {
        let id = trace.intern(text);
        field.set(&mut self.rare, RareText { id, text: text.trim().as_bytes() });
    }

    fn set_integer(&mut self, argument: Argument, value: Option<i64>) {
        let place = match argument {
            Argument::ExternalId => &mut self.event.external_id,
            Argument::Correlation => &mut self.event.correlation,
            Argument::Device => &mut self.event.device,
            Argument::Stream => &mut self.event.stream,
            Argument::SequenceNumber => &mut self.event.sequence_number,
            Argument::ForwardThread => &mut self.event.forward_thread,
            Argument::Python(part) => {
                self.python[usize::from(part)] = value.and_then(|value| u32::try_from(value).ok());
                return;
            }
            Argument::Signature(_)
            | Argument::Grid
            | Argument::Block
            | Argument::Finished
            | Argument::Rare(_) => return,
        };
        *place = value;
    }

    /// Sets how a kernel was launched.
    pub(super) fn set_launch(&mut self, grid: [u32; 3], block: [u32; 3], registers: Option<u32>) {
        self.sizes = [Some(grid), Some(block)];
        self.rare.geometry.registers_per_thread = registers;
    }

    /// Whether it says how a kernel was launched.
    pub(super) fn has_grid(&self) -> bool {
        self.sizes[0].is_some()
    }

    /// Whether it says how much was moved.
    pub(super) fn has_bytes(&self) -> bool {
        self.rare.transfer.bytes.is_some()
    }

    /// Whether it says what was waited for.
    pub(super) fn is_synchronization(&self) -> bool {
        self.rare.synchronization.kind.is_some()
    }

    /// Whether it is that of a Python frame.
    pub(super) fn is_python_frame(&self) -> bool {
        self.python[0].is_some()
    }

    pub(super) fn finish(self, trace: &mut Trace) -> EventArguments {
        let rare = self.rare.into_arguments();
        let geometry = rare.geometry.unwrap_or_default();
        let [grid, block] = self.sizes.map(|sizes| sizes.unwrap_or([1; 3]));
        let has_geometry = rare.geometry.is_some() || self.sizes.iter().any(Option::is_some);
        let [id, parent, module] = self.python;
        let has_signature = self.signature != Signature::default();
        EventArguments {
            external_id: self.event.external_id,
            correlation: self.event.correlation,
            device: self.event.device,
            stream: self.event.stream,
            sequence_number: self.event.sequence_number,
            forward_thread: self.event.forward_thread,
            unfinished: self.event.unfinished,
            signature: has_signature.then(|| trace.signatures.intern(self.signature)),
            python_frame: (self.python != [None; 3]).then_some(PythonFrame { id, parent, module }),
            geometry: has_geometry.then_some(LaunchGeometry { grid, block, ..geometry }),
            ..rare
        }
    }
}
