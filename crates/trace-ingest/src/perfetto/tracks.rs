//! Tracks: the rows of a Perfetto trace and what their descriptors tell.

use std::borrow::Cow;

use crate::index_set::IndexSet;
use crate::wire::{Message, Value, Wire};

/// Deepest nesting of tracks; a chain of parents that goes on is a circle.
const MOST_ANCESTORS: usize = 64;

/// What a packet tells of a track.
#[derive(Debug, Default)]
pub(crate) struct Descriptor<'a> {
    uuid: Option<u64>,
    parent: Option<u64>,
    pub(crate) pid: Option<i64>,
    pub(crate) tid: Option<i64>,
    /// Name of the track itself.
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) process_name: Option<Cow<'a, str>>,
    pub(crate) thread_name: Option<Cow<'a, str>>,
}

pub(super) fn read_descriptor(mut message: Message<'_>) -> Wire<Descriptor<'_>> {
    let mut told = Descriptor::default();
    while let Some(field) = message.next_field()? {
        match field.number {
            1 => told.uuid = Some(message.unsigned(field)?),
            2 | 10 | 13 => told.name = Some(message.text(field)?),
            3 => {
                let mut process = message.message(field, "ProcessDescriptor")?;
                while let Some(field) = process.next_field()? {
                    match field.number {
                        1 => told.pid = Some(process.signed(field)?),
                        6 => told.process_name = Some(process.text(field)?),
                        _ => {}
                    }
                }
            }
            4 => {
                let mut thread = message.message(field, "ThreadDescriptor")?;
                while let Some(field) = thread.next_field()? {
                    match (field.number, field.value) {
                        (1, _) => told.pid = Some(thread.signed(field)?),
                        (2, Value::Varint(_)) => told.tid = Some(thread.signed(field)?),
                        (5, _) => told.thread_name = Some(thread.text(field)?),
                        _ => {}
                    }
                }
            }
            5 => told.parent = Some(message.unsigned(field)?),
            _ => {}
        }
    }
    Ok(told)
}

/// A track, with what the reader keeps of it.
#[derive(Debug, Default)]
pub(crate) struct Track<T> {
    parent: Option<u64>,
    pub(crate) pid: Option<i64>,
    pub(crate) tid: Option<i64>,
    pub(crate) own: T,
}

/// All tracks by their id, in the order in which the trace names them first.
#[derive(Debug)]
pub(crate) struct Tracks<T> {
    ids: IndexSet<u64>,
    /// By the position of the id.
    tracks: Vec<Track<T>>,
}

impl<T> Default for Tracks<T> {
    fn default() -> Self {
        Tracks { ids: IndexSet::default(), tracks: Vec::new() }
    }
}

impl<T: Default> Tracks<T> {
    /// Number of the track with an id.
    pub(crate) fn number(&mut self, uuid: u64) -> u32 {
        let (number, is_new) = self.ids.insert(uuid);
        if is_new {
            self.tracks.push(Track::default());
        }
        number as u32
    }

    /// Id of the track with a number.
    pub(crate) fn uuid(&self, number: u32) -> Option<u64> {
        self.ids.get(number as usize).copied()
    }

    /// What the reader keeps of a track.
    pub(crate) fn own(&mut self, number: u32) -> &mut T {
        &mut self.tracks[number as usize].own
    }

    /// Takes a descriptor; one of a known track tells more of it. `None` where it does not say of which.
    pub(crate) fn describe(&mut self, told: &Descriptor<'_>) -> Option<&mut Track<T>> {
        let number = self.number(told.uuid?);
        let track = &mut self.tracks[number as usize];
        track.parent = told.parent.or(track.parent);
        track.pid = told.pid.or(track.pid);
        track.tid = told.tid.or(track.tid);
        Some(track)
    }

    pub(crate) fn len(&self) -> u32 {
        self.tracks.len() as u32
    }

    /// A track and its ancestors, the nearest first.
    pub(crate) fn line(&self, number: u32) -> impl Iterator<Item = &Track<T>> + Clone {
        let parent = |track: &&Track<T>| self.tracks.get(self.ids.position(&track.parent?)?);
        std::iter::successors(self.tracks.get(number as usize), parent).take(1 + MOST_ANCESTORS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_belongs_to_its_nearest_ancestor() {
        let mut tracks: Tracks<()> = Tracks::default();
        for (uuid, parent, pid, tid) in [
            (1, None, Some(10), None),
            (2, Some(1), None, Some(11)),
            (3, Some(2), None, None),
            (4, Some(99), None, None),
            (5, Some(5), None, None),
        ] {
            tracks.describe(&Descriptor { uuid: Some(uuid), parent, pid, tid, ..Descriptor::default() });
        }
        let row = |number| {
            let line = tracks.line(number);
            (line.clone().find_map(|track| track.pid), line.clone().find_map(|track| track.tid))
        };
        let rows: Vec<_> = (0..tracks.len()).map(row).collect();
        let (of_process, of_thread) = ((Some(10), None), (Some(10), Some(11)));
        assert_eq!(rows, [of_process, of_thread, of_thread, (None, None), (None, None)]);
        assert_eq!(tracks.line(4).count(), 1 + MOST_ANCESTORS);
    }
}
