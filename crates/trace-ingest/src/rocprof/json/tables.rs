//! The file's own tables of names. Numbers of kinds and operations change from release to release, so they mean
//! nothing without these.

use hashbrown::HashMap;

use crate::string_table::{StringId, StringTable};

/// A kind or operation of a record as the record has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Label {
    #[default]
    Missing,
    /// Position in a table.
    Number(u32),
    Text(StringId),
}

/// Kind and operation of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Labels {
    pub(super) kind: Label,
    pub(super) operation: Label,
}

/// A kind of records with the names of its operations.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: StringId,
    pub(super) operations: Vec<StringId>,
}

/// The tables of a process.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) kinds: Vec<Kind>,
    /// Texts of markers by correlation number.
    pub(super) markers: HashMap<u64, StringId>,
    /// Texts of sampled instructions.
    pub(super) instructions: Vec<StringId>,
}

impl Tables {
    fn kind(&self, label: Label) -> Option<&Kind> {
        match label {
            Label::Missing => None,
            Label::Number(number) => self.kinds.get(number as usize),
            Label::Text(name) => self.kinds.iter().find(|kind| kind.name == name),
        }
    }

    /// Name of the kind, if it has one.
    pub(super) fn kind_name(&self, labels: Labels) -> Option<StringId> {
        match labels.kind {
            Label::Text(name) => Some(name),
            label => self.kind(label).map(|kind| kind.name),
        }
    }

    /// Number of the operation in its table, 0 when it is in none.
    pub(super) fn operation_number(&self, labels: Labels) -> u32 {
        match labels.operation {
            Label::Missing => 0,
            Label::Number(number) => number,
            Label::Text(name) => self
                .kind(labels.kind)
                .and_then(|kind| kind.operations.iter().position(|&operation| operation == name))
                .map_or(0, |position| position as u32),
        }
    }

    /// Name of the operation. One that is in no table is named by its number, one that the record does not have is
    /// `unknown`.
    pub(super) fn operation_name(&self, labels: Labels, strings: &mut StringTable) -> StringId {
        match labels.operation {
            Label::Text(name) => name,
            Label::Number(number) => self
                .kind(labels.kind)
                .and_then(|kind| kind.operations.get(number as usize).copied())
                .unwrap_or_else(|| strings.intern(&format!("unknown_operation_{number}"))),
            Label::Missing => strings.intern("unknown"),
        }
    }
}
