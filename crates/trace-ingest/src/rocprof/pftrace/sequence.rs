//! What packets of one writer rely on: texts that are written once and then named by number, the default track and
//! clock, and clocks of the writer's own.

use hashbrown::HashMap;

use super::arguments::Key;
use super::clocks::Clocks;
use super::collector::Collector;
use crate::string_table::StringId;
use crate::wire::{Message, Wire};

/// Which packets of a sequence can be understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Continuity {
    /// None that relies on others: where the sequence began is not in the file.
    #[default]
    NotBegun,
    /// All.
    Whole,
    /// None that relies on others: packets were lost.
    Broken,
}

/// State of a sequence of packets.
#[derive(Default)]
pub(super) struct Sequence {
    continuity: Continuity,
    pub(super) categories: HashMap<u64, StringId>,
    pub(super) names: HashMap<u64, StringId>,
    /// Names of annotations; those of no use are there without a key.
    pub(super) keys: HashMap<u64, Option<Key>>,
    pub(super) texts: HashMap<u64, StringId>,
    pub(super) clock: Option<u32>,
    pub(super) track: Option<u64>,
    pub(super) clocks: Clocks,
}

impl Sequence {
    /// Begins anew: the writer repeats everything from here on.
    pub(super) fn restart(&mut self) {
        self.continuity = Continuity::Whole;
        self.categories.clear();
        self.names.clear();
        self.keys.clear();
        self.texts.clear();
        (self.clock, self.track) = (None, None);
        self.clocks.clear();
    }

    /// Takes note of a loss.
    pub(super) fn lose(&mut self) {
        self.continuity = Continuity::Broken;
    }

    /// Whether a packet that relies on earlier ones can be understood.
    pub(super) fn is_whole(&self) -> bool {
        self.continuity == Continuity::Whole
    }

    /// Takes new defaults.
    pub(super) fn take_defaults(&mut self, mut defaults: Message<'_>) -> Wire<()> {
        (self.clock, self.track) = (None, None);
        while let Some(field) = defaults.next_field()? {
            match field.number {
                58 => self.clock = u32::try_from(defaults.unsigned(field)?).ok(),
                11 => {
                    let mut events = defaults.message(field, "TrackEventDefaults")?;
                    while let Some(field) = events.next_field()? {
                        if field.number == 11 {
                            self.track = Some(events.unsigned(field)?);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes texts.
    pub(super) fn take_interned(&mut self, mut interned: Message<'_>, collector: &mut Collector) -> Wire<()> {
        while let Some(field) = interned.next_field()? {
            if !matches!(field.number, 1..=3 | 29) {
                continue;
            }
            let mut entry = interned.message(field, "InternedData entry")?;
            let (mut id, mut text) = (0, &[][..]);
            while let Some(field) = entry.next_field()? {
                match field.number {
                    1 => id = entry.unsigned(field)?,
                    2 => text = entry.bytes(field)?,
                    _ => {}
                }
            }
            match field.number {
                1 => drop(self.categories.insert(id, collector.intern_bytes(text))),
                2 => drop(self.names.insert(id, collector.intern_bytes(text))),
                3 => drop(self.keys.insert(id, Key::from_name(text))),
                _ => drop(self.texts.insert(id, collector.intern_bytes(text))),
            }
        }
        Ok(())
    }
}
