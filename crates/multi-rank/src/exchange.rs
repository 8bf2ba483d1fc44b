//! The kernels of all ranks, collective by collective, in bounded memory.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use crate::error::Error;

/// A collective on one rank. Times are nanoseconds on the clock of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) lane: u32,
    pub(crate) recording: u32,
    /// Row of its first kernel in the rank's table.
    pub(crate) row: u32,
    pub(crate) signature: u32,
    pub(crate) kernels: u32,
    /// Step of its rank; −1 outside of steps.
    pub(crate) step: i32,
    /// Whether the device computed for most of it, so that a late rank is not made even by it.
    pub(crate) overlapped: bool,
    /// What identifies the collective in its lane.
    pub(crate) index: i64,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

const BYTES: usize = 52;

impl Entry {
    fn key(&self) -> (u32, i64, u32, i64) {
        (self.lane, self.index, self.recording, self.start)
    }

    fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let step = self.step.cast_unsigned();
        let overlapped = u32::from(self.overlapped);
        let small = [self.lane, self.recording, self.row, self.signature, self.kernels, step, overlapped];
        for (place, number) in bytes.chunks_exact_mut(4).zip(small) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        for (place, number) in bytes[28..].chunks_exact_mut(8).zip([self.index, self.start, self.end]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let small = |at: usize| {
            let mut number = [0; 4];
            number.copy_from_slice(&bytes[4 * at..4 * at + 4]);
            u32::from_le_bytes(number)
        };
        let large = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[28 + 8 * at..36 + 8 * at]);
            i64::from_le_bytes(number)
        };
        Entry {
            lane: small(0),
            recording: small(1),
            row: small(2),
            signature: small(3),
            kernels: small(4),
            step: small(5).cast_signed(),
            overlapped: small(6) > 0,
            index: large(0),
            start: large(1),
            end: large(2),
        }
    }
}

/// Entries that are kept in memory before they go to a file.
const IN_MEMORY: usize = 1 << 20;

/// Files that are merged at once.
const OPEN_FILES: usize = 128;

/// Entries, sorted in runs of which all but the last are files without a name.
#[derive(Debug)]
pub(crate) struct Runs {
    files: Vec<File>,
    last: Vec<Entry>,
    in_memory: usize,
}

impl Default for Runs {
    fn default() -> Self {
        Self::with_memory(IN_MEMORY)
    }
}

impl Runs {
    fn with_memory(entries: usize) -> Self {
        Runs { files: Vec::new(), last: Vec::new(), in_memory: entries.max(1) }
    }

    pub(crate) fn push(&mut self, entry: Entry) -> Result<(), Error> {
        self.last.push(entry);
        if self.last.len() >= self.in_memory {
            self.spill().map_err(Error::write(std::env::temp_dir()))
        } else {
            Ok(())
        }
    }

    fn spill(&mut self) -> io::Result<()> {
        self.last.sort_unstable_by_key(Entry::key);
        let entries = std::mem::take(&mut self.last);
        self.files.push(written(entries.into_iter().map(Ok))?);
        if self.files.len() >= OPEN_FILES {
            let files = std::mem::take(&mut self.files);
            self.files.push(written(Merge::new(files, Vec::new())?)?);
        }
        Ok(())
    }

    /// Hands out the entries of one collective after the other, in the order of lanes and indices, those of a collective
    /// by recording and start.
    pub(crate) fn for_each(mut self, mut each: impl FnMut(&[Entry])) -> Result<(), Error> {
        let error = |source| Error::io(std::env::temp_dir())(source);
        self.last.sort_unstable_by_key(Entry::key);
        let mut together: Vec<Entry> = Vec::new();
        for entry in Merge::new(self.files, self.last).map_err(error)? {
            let entry = entry.map_err(error)?;
            if together.first().is_some_and(|first| (first.lane, first.index) != (entry.lane, entry.index)) {
                each(&together);
                together.clear();
            }
            together.push(entry);
        }
        if !together.is_empty() {
            each(&together);
        }
        Ok(())
    }
}

/// A file of entries, at its beginning.
fn written(entries: impl Iterator<Item = io::Result<Entry>>) -> io::Result<File> {
    let mut output = BufWriter::new(tempfile::tempfile()?);
    for entry in entries {
        output.write_all(&entry?.to_bytes())?;
    }
    let mut file = output.into_inner().map_err(|error| error.into_error())?;
    file.rewind()?;
    Ok(file)
}

/// Entries of several sorted runs as one.
struct Merge {
    files: Vec<BufReader<File>>,
    memory: std::vec::IntoIter<Entry>,
    /// Next entry of each run, by key; the last run is that in memory.
    heads: std::collections::BinaryHeap<std::cmp::Reverse<Head>>,
}

/// The next entry of a run.
#[derive(PartialEq, Eq)]
struct Head {
    entry: Entry,
    run: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.entry.key().cmp(&other.entry.key()).then(self.run.cmp(&other.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Merge {
    fn new(files: Vec<File>, memory: Vec<Entry>) -> io::Result<Self> {
        let files: Vec<_> = files.into_iter().map(|file| BufReader::with_capacity(1 << 16, file)).collect();
        let mut merge =
            Merge { files, memory: memory.into_iter(), heads: std::collections::BinaryHeap::new() };
        for run in 0..=merge.files.len() {
            merge.advance(run)?;
        }
        Ok(merge)
    }

    fn advance(&mut self, run: usize) -> io::Result<()> {
        let entry = match self.files.get_mut(run) {
            Some(file) => next_of(file)?,
            None => self.memory.next(),
        };
        self.heads.extend(entry.map(|entry| std::cmp::Reverse(Head { entry, run })));
        Ok(())
    }
}

fn next_of(file: &mut BufReader<File>) -> io::Result<Option<Entry>> {
    let mut bytes = [0; BYTES];
    match file.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(Entry::from_bytes(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

impl Iterator for Merge {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let std::cmp::Reverse(Head { entry, run }) = self.heads.pop()?;
        Some(self.advance(run).map(|()| entry))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn collectives_come_whole_and_in_order_however_little_memory_there_is(
            keys in proptest::collection::vec((0_u32..3, -4_i64..4, 0_u32..4, -9_i64..9), 0..60),
            memory in 1_usize..70,
        ) {
            let entry = |&(lane, index, recording, start): &(u32, i64, u32, i64)| Entry {
                lane, index, recording, start, step: -1, end: start + 1, ..Entry::default()
            };
            let mut expected: Vec<Entry> = keys.iter().map(entry).collect();
            let mut runs = Runs::with_memory(memory);
            for &entry in &expected {
                runs.push(entry).unwrap();
            }
            expected.sort_by_key(Entry::key);
            let mut collectives: Vec<Vec<Entry>> = Vec::new();
            runs.for_each(|together| collectives.push(together.to_vec())).unwrap();
            prop_assert!(collectives.is_sorted_by_key(|together| (together[0].lane, together[0].index)));
            prop_assert!(collectives.windows(2).all(|two| (two[0][0].lane, two[0][0].index) != (two[1][0].lane, two[1][0].index)));
            prop_assert_eq!(collectives.concat(), expected);
        }
    }
}
