//! An operator that a script inserts.

use perf_models::Value;
use starlark::collections::SmallMap;
use starlark::values::dict::DictRef;
use starlark::values::{UnpackValue, Value as ScriptValue};
use trace_ingest::{ArgumentValue, EventId};
use trace2tree::{EditError, PseudoOperator, TreeEdit};

use super::events::event_id;
use crate::extension::values::{from_script, to_argument};

/// Where an operator is inserted.
#[derive(Clone, Copy)]
pub(super) enum Position {
    Above,
    Isolating,
    AroundChildren,
}

/// An operator with its place.
pub(super) struct Insertion {
    pub(super) position: Position,
    /// The event that it is inserted above, inside of, or that it isolates.
    pub(super) event: EventId,
    name: String,
    given: Given,
}

/// What a script gives an operator that it inserts, all on request.
#[derive(Default)]
pub(super) struct Given {
    pub(super) donor: Option<EventId>,
    sequence_number: Option<i64>,
    lists: [Option<ArgumentValue>; 4],
    attributes: Vec<(String, ArgumentValue)>,
}

/// What can be given, the four lists of arguments last and in their order.
const NAMES: [&str; 7] = ["donor", "sequence_number", "args", "dims", "types", "strides", "concrete"];
const FIRST_LIST: usize = 3;

impl Given {
    /// Reads the named arguments of a script's call; `None` counts as not given.
    pub(super) fn read(named: SmallMap<String, ScriptValue<'_>>) -> Result<Given, String> {
        let mut given = Given::default();
        for (name, value) in named {
            let Some(position) = NAMES.iter().position(|known| *known == name) else {
                return Err(format!("there is no argument {name:?}; there are {}", NAMES.join(", ")));
            };
            if value.is_none() {
                continue;
            }
            let wrong = |expected: &str| format!("{name} must be {expected}, found a {}", value.get_type());
            match (name.as_str(), position.checked_sub(FIRST_LIST)) {
                ("donor", _) => given.donor = Some(event_id(value)?),
                ("sequence_number", _) => {
                    let number = i64::unpack_value(value).ok().flatten();
                    given.sequence_number = Some(number.ok_or_else(|| wrong("a whole number"))?);
                }
                (_, Some(list)) => {
                    let items = from_script(value).map_err(|found| format!("{name} cannot have {found}"))?;
                    if !matches!(items, Value::List(_) | Value::Tuple(_)) {
                        return Err(wrong("a list"));
                    }
                    given.lists[list] = Some(to_argument(&items));
                }
                (_, None) => {
                    let labelled = DictRef::from_value(value).ok_or_else(|| wrong("a dict"))?;
                    given.attributes = labelled.iter().map(attribute).collect::<Result<_, _>>()?;
                }
            }
        }
        Ok(given)
    }
}

fn attribute((label, value): (ScriptValue<'_>, ScriptValue<'_>)) -> Result<(String, ArgumentValue), String> {
    let Some(label) = label.unpack_str() else {
        return Err(format!("args must have texts as keys, found a {}", label.get_type()));
    };
    let value = from_script(value).map_err(|found| format!("args[{label:?}] cannot be {found}"))?;
    Ok((label.to_owned(), to_argument(&value)))
}

impl Insertion {
    pub(super) fn new(position: Position, event: EventId, name: &str, given: Given) -> Self {
        Insertion { position, event, name: name.to_owned(), given }
    }

    pub(super) fn carry_out(self, edit: &mut TreeEdit<'_>) -> Result<(), EditError> {
        let Given { donor, sequence_number, lists, attributes } = self.given;
        let operator = PseudoOperator { name: &self.name, donor, sequence_number, lists, attributes };
        match self.position {
            Position::Above => edit.insert_above(self.event, operator),
            Position::Isolating => edit.isolate(self.event, operator),
            Position::AroundChildren => edit.wrap_children(self.event, operator),
        }
        .map(|_| ())
    }
}
