//! Ids of several recordings, made to differ.

use hashbrown::HashMap;

/// Ids that are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdKind {
    /// Of processes.
    Process,
    /// Of launches, arrows, operators: what ties events together.
    Link,
    /// Of Python frames.
    Frame,
}

const KINDS: [IdKind; 3] = [IdKind::Process, IdKind::Link, IdKind::Frame];

impl IdKind {
    /// Highest id that every reader takes as it is.
    const fn limit(self) -> u64 {
        match self {
            // Viewers keep processes in 32 bits, some of them with a sign.
            IdKind::Process | IdKind::Frame => i32::MAX as u64,
            // Numbers of JSON are doubles in a browser.
            IdKind::Link => (1 << 53) - 1,
        }
    }

    /// What an argument holds, if it is an id within its recording. Those that all ranks share, such as `Seq`, stay.
    pub(crate) fn from_argument(key: &[u8]) -> Option<IdKind> {
        match key {
            b"correlation"
            | b"External id"
            | b"external id"
            | b"Ev Idx"
            | b"Record function id"
            | b"Sequence number"
            | b"graph id"
            | b"graph node id"
            | b"wait_on_cuda_event_id"
            | b"wait_on_cuda_event_record_corr_id" => Some(IdKind::Link),
            b"Python id" | b"Python parent id" | b"Python module id" => Some(IdKind::Frame),
            _ => None,
        }
    }
}

/// The highest ids of recordings, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Highest([u64; KINDS.len()]);

impl Highest {
    pub(crate) fn add(&mut self, kind: IdKind, id: u64) {
        let highest = &mut self.0[kind as usize];
        *highest = id.max(*highest);
    }
}

/// New ids, by kind.
#[derive(Debug)]
pub(crate) struct Ids([Numbering; KINDS.len()]);

/// How the ids of a kind become different from those of the other recordings.
#[derive(Debug)]
enum Numbering {
    /// Those of the recording in place n are raised by n times the distance.
    Spaced { distance: u64, offset: u64 },
    /// They are counted anew, as there is no room for distances.
    Counted { next: u64, known: HashMap<u64, u64> },
}

impl Ids {
    /// For recordings in places up to `last_place`.
    pub(crate) fn new(highest: &Highest, last_place: u64) -> Self {
        Ids(KINDS.map(|kind| Numbering::new(highest.0[kind as usize], last_place, kind.limit())))
    }

    /// Turns to the recording in this place.
    pub(crate) fn turn_to(&mut self, place: u64) {
        for numbering in &mut self.0 {
            match numbering {
                Numbering::Spaced { distance, offset } => *offset = distance.saturating_mul(place),
                Numbering::Counted { known, .. } => known.clear(),
            }
        }
    }

    pub(crate) fn new_id(&mut self, kind: IdKind, old: u64) -> u64 {
        match &mut self.0[kind as usize] {
            Numbering::Spaced { offset, .. } => old.saturating_add(*offset),
            Numbering::Counted { next, known } => *known.entry(old).or_insert_with(|| {
                *next += 1;
                *next - 1
            }),
        }
    }

    /// What is added to the ids of the recording at hand; `None` where they are counted anew.
    pub(crate) fn offset(&self, kind: IdKind) -> Option<u64> {
        match self.0[kind as usize] {
            Numbering::Spaced { offset, .. } => Some(offset),
            Numbering::Counted { .. } => None,
        }
    }
}

impl Numbering {
    fn new(highest: u64, last_place: u64, limit: u64) -> Self {
        // A digit more than the highest id has, so that the rank can be read off the new one.
        let digits = highest.checked_ilog10().map_or(0, |log| log + 1);
        let distances = [10_u64.checked_pow(digits + 1), highest.checked_add(1)];
        let fits = |distance: &u64| {
            let last = distance.checked_mul(last_place).and_then(|offset| offset.checked_add(highest));
            last.is_some_and(|last| last <= limit)
        };
        match distances.into_iter().flatten().find(fits) {
            Some(distance) => Numbering::Spaced { distance, offset: 0 },
            None => Numbering::Counted { next: 0, known: HashMap::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(highest: u64, last_place: u64) -> Ids {
        let mut of_kinds = Highest::default();
        KINDS.iter().for_each(|&kind| of_kinds.add(kind, highest));
        Ids::new(&of_kinds, last_place)
    }

    #[test]
    fn distances_have_a_digit_more_than_the_highest_id() {
        for (highest, distance) in [(100, 10_000), (42, 1_000), (7, 100), (9, 100), (10, 1_000), (0, 10)] {
            let mut ids = ids(highest, 1);
            ids.turn_to(1);
            assert_eq!(ids.offset(IdKind::Link), Some(distance), "{highest}");
        }
        // Of 100 ranks with processes up to 4,194,304 the last would be beyond 2^31, but for distances without room.
        let mut tight = ids(4_194_304, 99);
        tight.turn_to(1);
        assert_eq!(tight.offset(IdKind::Process), Some(4_194_305));
        assert_eq!(tight.offset(IdKind::Link), Some(100_000_000));
        assert_eq!(ids(u64::MAX, 1).offset(IdKind::Link), None);
    }

    proptest! {
        #[test]
        fn ids_of_different_recordings_differ_and_those_of_one_stay_apart(
            recordings in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![0_u64..50, 0_u64..10_000_000, any::<u64>()], 0..20), 1..6),
        ) {
            let mut highest = Highest::default();
            recordings.iter().flatten().for_each(|&id| highest.add(IdKind::Process, id));
            let mut ids = Ids::new(&highest, recordings.len() as u64 - 1);
            let mut known: HashMap<u64, (usize, u64)> = HashMap::new();
            for (place, recording) in recordings.iter().enumerate() {
                ids.turn_to(place as u64);
                for &old in recording {
                    let new = ids.new_id(IdKind::Process, old);
                    prop_assert!(new <= IdKind::Process.limit());
                    prop_assert_eq!(*known.entry(new).or_insert((place, old)), (place, old));
                }
            }
        }
    }
}
