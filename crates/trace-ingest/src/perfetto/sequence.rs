//! What packets of one writer rely on: what is named once and then referred to by number, the default track and clock,
//! and clocks of the writer's own.

use super::clocks::Clocks;
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
pub(super) struct Sequence<I> {
    continuity: Continuity,
    pub(super) interned: I,
    pub(super) clock: Option<u32>,
    pub(super) track: Option<u64>,
    pub(super) clocks: Clocks,
}

impl<I: Default> Sequence<I> {
    /// Begins anew: the writer repeats everything from here on.
    pub(super) fn restart(&mut self) {
        *self = Sequence { continuity: Continuity::Whole, ..Sequence::default() };
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
}

/// Number and text of an entry of interned data.
pub(crate) fn read_entry(mut entry: Message<'_>) -> Wire<(u64, &[u8])> {
    let (mut id, mut text) = (0, &[][..]);
    while let Some(field) = entry.next_field()? {
        match field.number {
            1 => id = entry.unsigned(field)?,
            2 => text = entry.bytes(field)?,
            _ => {}
        }
    }
    Ok((id, text))
}
