//! Tracks: the rows of a Perfetto trace and what their descriptors tell.

use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;

use super::slice::{Lane, stream_of};
use crate::wire::{Message, Wire};

/// Deepest nesting of tracks; a chain of parents that goes on is a circle.
const MOST_ANCESTORS: usize = 64;

#[derive(Debug, Default)]
struct Track {
    parent: Option<u64>,
    pid: Option<i64>,
    tid: Option<i64>,
    stream: Option<u64>,
    /// The process that wrote slices of the track, for tracks that belong to none.
    writer: Option<i64>,
}

/// All tracks by their id, in the order in which the trace names them first.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    tracks: IndexMap<u64, Track, DefaultHashBuilder>,
}

impl Tracks {
    /// Number of the track with an id.
    pub(super) fn number(&mut self, uuid: u64) -> u32 {
        let track = self.tracks.entry(uuid);
        let number = track.index() as u32;
        track.or_default();
        number
    }

    /// Takes note of who writes to a track.
    pub(super) fn written_by(&mut self, track: u32, pid: Option<i64>) {
        let writer = &mut self.tracks[track as usize].writer;
        *writer = writer.or(pid);
    }

    /// Takes a descriptor; one of a known track tells more of it.
    pub(super) fn describe(&mut self, mut descriptor: Message<'_>) -> Wire<()> {
        let mut uuid = None;
        let mut told = Track::default();
        while let Some(field) = descriptor.next_field()? {
            match field.number {
                1 => uuid = Some(descriptor.unsigned(field)?),
                2 | 10 | 13 => told.stream = stream_of(&descriptor.text(field)?),
                3 => told.pid = first_numbers(descriptor.message(field, "ProcessDescriptor")?)?[0],
                4 => {
                    [told.pid, told.tid] = first_numbers(descriptor.message(field, "ThreadDescriptor")?)?;
                }
                5 => told.parent = Some(descriptor.unsigned(field)?),
                _ => {}
            }
        }
        if let Some(uuid) = uuid {
            let number = self.number(uuid);
            let track = &mut self.tracks[number as usize];
            track.parent = told.parent.or(track.parent);
            track.pid = told.pid.or(track.pid);
            track.tid = told.tid.or(track.tid);
            track.stream = told.stream.or(track.stream);
        }
        Ok(())
    }

    /// Process, thread and stream of every track: its own, or those of its nearest ancestor that has one. A track
    /// of a process counts as its main thread's.
    pub(super) fn lanes(&self) -> Vec<Lane> {
        let ancestors = |track: &'_ Track| {
            let parent = |uuid: u64| self.tracks.get_index_of(&uuid);
            let mut chain = Vec::new();
            let mut next = track.parent.and_then(parent);
            while let Some(number) = next.filter(|_| chain.len() < MOST_ANCESTORS) {
                chain.push(number);
                next = self.tracks[number].parent.and_then(parent);
            }
            chain
        };
        let lane = |track: &Track| {
            let chain = ancestors(track);
            let all = || std::iter::once(track).chain(chain.iter().map(|&number| &self.tracks[number]));
            let pid = all().find_map(|track| track.pid).or(track.writer);
            let tid = all().find_map(|track| track.tid.or(track.pid)).or(track.writer);
            Lane { pid, tid, stream: all().find_map(|track| track.stream) }
        };
        self.tracks.values().map(lane).collect()
    }
}

/// The integers of fields 1 and 2.
fn first_numbers(mut message: Message<'_>) -> Wire<[Option<i64>; 2]> {
    let mut numbers = [None; 2];
    while let Some(field) = message.next_field()? {
        match field.number {
            1 => numbers[0] = Some(message.signed(field)?),
            // Of a process this is the command line.
            2 if matches!(field.value, crate::wire::Value::Varint(_)) => {
                numbers[1] = Some(message.signed(field)?)
            }
            _ => {}
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracks(described: &[(u64, Track)]) -> Vec<Lane> {
        let mut tracks = Tracks::default();
        for (uuid, track) in described {
            let number = tracks.number(*uuid);
            let Track { parent, pid, tid, stream, writer } = *track;
            tracks.tracks[number as usize] = Track { parent, pid, tid, stream, writer };
        }
        tracks.lanes()
    }

    #[test]
    fn a_track_belongs_to_its_nearest_ancestor() {
        let lanes = tracks(&[
            (1, Track { pid: Some(10), ..Track::default() }),
            (2, Track { parent: Some(1), tid: Some(11), ..Track::default() }),
            (3, Track { parent: Some(2), stream: Some(4), ..Track::default() }),
            (4, Track { parent: Some(99), writer: Some(7), ..Track::default() }),
            (5, Track { parent: Some(5), ..Track::default() }),
        ]);
        let lane = |pid, tid, stream| Lane { pid, tid, stream };
        assert_eq!(
            lanes,
            [
                lane(Some(10), Some(10), None),
                lane(Some(10), Some(11), None),
                lane(Some(10), Some(11), Some(4)),
                lane(Some(7), Some(7), None),
                lane(None, None, None),
            ]
        );
    }
}
