//! Which member of an entry comes next, predicted by the entries before.
//!
//! A recorder writes entries of one kind in one form: between two values stand the same comma, white space, key and colon
//! each time. The predictor remembers these bytes for each value that they followed. Where the text has them again, the
//! scanner goes to the next value without looking for quotes, and the key need not be told from others: equal bytes at an
//! equal place mean what they meant before.

use super::arguments::Argument;
use super::samples::memory_argument;

/// What a member of an entry, or of its arguments, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// The closing brace: no member.
    End,
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Timestamp,
    Duration,
    Id,
    Arguments,
    Argument(Argument),
    /// What metadata says of a process or thread.
    Metadata,
    /// Position among the arguments of a step of the memory allocator.
    Memory(u8),
    Other,
}

impl Key {
    /// The key of a member of an entry.
    pub(super) fn of_entry(key: &[u8]) -> Key {
        match key {
            b"ph" => Key::Phase,
            b"cat" => Key::Category,
            b"name" => Key::Name,
            b"pid" => Key::Pid,
            b"tid" => Key::Tid,
            b"ts" => Key::Timestamp,
            b"dur" => Key::Duration,
            b"id" => Key::Id,
            b"args" => Key::Arguments,
            _ => Key::Other,
        }
    }

    /// The key of a member of an entry's arguments.
    pub(super) fn of_arguments(key: &[u8]) -> Key {
        match Argument::from_key(key) {
            Some(argument) => Key::Argument(argument),
            None if matches!(key, b"name" | b"labels" | b"sort_index") => Key::Metadata,
            None => memory_argument(key).map_or(Key::Other, Key::Memory),
        }
    }
}

/// A position in an entry: after its opening brace or after a value. Where other members came before, it is another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u16);

/// The longest text between two values that is remembered, in bytes, in words of eight.
const WORDS: usize = 6;
const LONGEST: usize = 8 * WORDS;

/// Places that are remembered. Entries of about twenty kinds have some hundred.
const PLACES: usize = 1 << 10;

/// How many predictions are tried at a place, the one that was right last first.
const TRIED: usize = 8;

struct Known {
    /// The text before the place, since the place before it; behind it zeros.
    text: [u64; WORDS],
    /// Which bits of these are text.
    mask: [u64; WORDS],
    length: usize,
    key: Key,
    /// The place after this one that was right last, and the next of those after the same place as this one.
    after: Place,
    beside: Place,
}

impl Known {
    #[inline(always)]
    fn stands_in(&self, window: &[u8; LONGEST]) -> bool {
        let words = window.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let known = self.text.iter().zip(&self.mask);
        words.zip(known).fold(0, |different, (word, (text, mask))| different | (word & mask) ^ text) == 0
    }
}

/// See the module.
pub(super) struct KeyPredictor {
    places: Vec<Known>,
}

impl KeyPredictor {
    /// Behind the brace of an entry.
    pub(super) const ENTRY: Place = Place(0);
    /// Behind the brace of an entry's arguments.
    pub(super) const ARGUMENTS: Place = Place(1);
    /// Where nothing is predicted.
    const NOWHERE: Place = Place(u16::MAX);

    pub(super) fn new() -> Self {
        let start = || Known {
            text: [0; WORDS],
            mask: [0; WORDS],
            length: 0,
            key: Key::Other,
            after: Self::NOWHERE,
            beside: Self::NOWHERE,
        };
        KeyPredictor { places: vec![start(), start()] }
    }

    /// The next place if the text goes on as it did there before; with its key, and how long what stands before its value is.
    #[inline(always)]
    pub(super) fn predict(&mut self, place: Place, text: &[u8]) -> Option<(Place, Key, usize)> {
        let window = text.first_chunk()?;
        let first = self.places.get(usize::from(place.0))?.after;
        let known = self.places.get(usize::from(first.0))?;
        if known.stands_in(window) {
            return Some((first, known.key, known.length));
        }
        self.predict_another(place, first, window)
    }

    fn predict_another(
        &mut self,
        place: Place,
        first: Place,
        window: &[u8; LONGEST],
    ) -> Option<(Place, Key, usize)> {
        let mut before = first;
        for _ in 1..TRIED {
            let next = self.places[usize::from(before.0)].beside;
            let known = self.places.get(usize::from(next.0))?;
            if known.stands_in(window) {
                let found = (next, known.key, known.length);
                self.places[usize::from(before.0)].beside = known.beside;
                self.places[usize::from(next.0)].beside = first;
                self.places[usize::from(place.0)].after = next;
                return Some(found);
            }
            before = next;
        }
        None
    }

    /// Remembers that `text`, which ends before a value or behind a closing brace, stood after `place`. Returns the place
    /// behind it.
    pub(super) fn learn(&mut self, place: Place, text: &[u8], key: Key) -> Place {
        if text.len() > LONGEST || self.places.len() == PLACES || place == Self::NOWHERE {
            return Self::NOWHERE;
        }
        let (mut bytes, mut bits) = ([0; LONGEST], [0; LONGEST]);
        bytes[..text.len()].copy_from_slice(text);
        bits[..text.len()].fill(u8::MAX);
        let words = |bytes: &[u8; LONGEST]| {
            let mut words = [0; WORDS];
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            words
        };
        let new = Place(self.places.len() as u16);
        let before = &mut self.places[usize::from(place.0)];
        let beside = std::mem::replace(&mut before.after, new);
        let (text, mask, length) = (words(&bytes), words(&bits), text.len());
        self.places.push(Known { text, mask, length, key, after: Self::NOWHERE, beside });
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stood_behind_a_value_is_predicted_there_and_nowhere_else() {
        let mut keys = KeyPredictor::new();
        let text = |start: &[u8]| [start, &[b' '; LONGEST]].concat();
        let first = keys.learn(KeyPredictor::ENTRY, b"\"ph\": ", Key::Phase);
        let name = keys.learn(first, b", \"name\": ", Key::Name);
        let end = keys.learn(first, b"}", Key::End);
        assert_eq!(keys.predict(first, &text(b", \"name\": 1")), Some((name, Key::Name, 10)));
        assert_eq!(keys.predict(first, &text(b"}, {")), Some((end, Key::End, 1)));
        assert_eq!(keys.predict(KeyPredictor::ENTRY, &text(b"\"ph\": 1")), Some((first, Key::Phase, 6)));
        // Neither with another blank, nor at another place, nor at the end of the text.
        assert_eq!(keys.predict(first, &text(b",  \"name\": 1")), None);
        assert_eq!(keys.predict(KeyPredictor::ENTRY, &text(b", \"name\": 1")), None);
        assert_eq!(keys.predict(KeyPredictor::ARGUMENTS, &text(b"\"ph\": 1")), None);
        assert_eq!(keys.predict(first, b", \"name\": 1"), None);
        let nowhere = keys.learn(end, &[b' '; LONGEST + 1], Key::Other);
        assert_eq!(keys.predict(nowhere, &text(b"}")), None);
        assert_eq!(keys.learn(nowhere, b"}", Key::End), nowhere);
    }

    #[test]
    fn of_many_members_at_one_place_the_last_are_known() {
        let mut keys = KeyPredictor::new();
        let text = |number: usize| [format!("\"{number:04}\":").as_bytes(), &[b' '; LONGEST]].concat();
        for number in 0..2 * PLACES {
            keys.learn(KeyPredictor::ENTRY, &text(number)[..7], Key::Other);
        }
        let last = PLACES - 3;
        assert!(keys.predict(KeyPredictor::ENTRY, &text(last)).is_some());
        assert!(keys.predict(KeyPredictor::ENTRY, &text(last - TRIED + 1)).is_some());
        assert!(keys.predict(KeyPredictor::ENTRY, &text(0)).is_none());
        assert!(keys.predict(KeyPredictor::ENTRY, &text(2 * PLACES - 1)).is_none());
    }
}
