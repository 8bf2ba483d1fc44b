//! Text that a thread of its own reads and decompresses while another one parses it.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::source::read_full;

/// Text per block, in bytes: large enough that handing it over costs nothing, small enough to stay in the cache.
const BLOCK: usize = 256 << 10;

/// Blocks that circulate between the two threads.
const BLOCKS: usize = 4;

/// A text in blocks, read on this thread or ahead on another one.
pub(crate) enum Blocks<'a> {
    Here(Box<dyn Read + Send + 'a>),
    Ahead { filled: Receiver<(Vec<u8>, io::Result<()>)>, free: Sender<Vec<u8>> },
}

/// Hands the text of a source to `consume`. With more than one thread it is read ahead.
pub(crate) fn read_ahead<'a, T>(
    mut source: Box<dyn Read + Send + 'a>,
    threads: usize,
    consume: impl FnOnce(Blocks<'a>) -> T,
) -> T {
    if threads <= 1 {
        return consume(Blocks::Here(source));
    }
    let (free, free_blocks) = channel();
    let (filled_blocks, filled) = channel();
    for _ in 0..BLOCKS {
        // Cannot fail: the other end of the channel is held here.
        let _ = free.send(Vec::new());
    }
    thread::scope(|scope| {
        scope.spawn(move || {
            // A closed channel means that nobody wants more.
            while let Ok(mut block) = free_blocks.recv() {
                let outcome = fill(&mut source, &mut block);
                let last = block.is_empty() || outcome.is_err();
                if filled_blocks.send((block, outcome)).is_err() || last {
                    break;
                }
            }
        });
        consume(Blocks::Ahead { filled, free })
    })
}

impl Blocks<'_> {
    /// Appends the next block to `text`. Nothing is appended at the end of the text; an error is damage of the
    /// source, in front of which something may have been appended.
    pub(crate) fn append_to(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Blocks::Here(source) => fill_behind(source, text),
            Blocks::Ahead { filled, free } => {
                // Closed after the last block.
                let Ok((block, outcome)) = filled.recv() else { return Ok(()) };
                text.extend_from_slice(&block);
                // The reader may have finished; then the block is not needed any more.
                let _ = free.send(block);
                outcome
            }
        }
    }
}

fn fill(source: &mut dyn Read, block: &mut Vec<u8>) -> io::Result<()> {
    block.clear();
    fill_behind(source, block)
}

fn fill_behind(source: &mut dyn Read, text: &mut Vec<u8>) -> io::Result<()> {
    let start = text.len();
    text.resize(start + BLOCK, 0);
    let (length, outcome) = read_full(source, &mut text[start..]);
    text.truncate(start + length);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails after its text.
    struct Damaged<'t>(&'t [u8]);

    impl Read for Damaged<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "bad block"));
            }
            self.0.read(buffer)
        }
    }

    fn whole(source: Box<dyn Read + Send + '_>, threads: usize) -> (Vec<u8>, Option<String>) {
        read_ahead(source, threads, |mut blocks| {
            let mut text = Vec::new();
            loop {
                let before = text.len();
                match blocks.append_to(&mut text) {
                    Err(error) => return (text, Some(error.to_string())),
                    Ok(()) if text.len() == before => return (text, None),
                    Ok(()) => {}
                }
            }
        })
    }

    #[test]
    fn the_text_is_the_same_on_any_number_of_threads() {
        let text: Vec<u8> = (0..3 * BLOCK + 17).map(|index| (index % 251) as u8).collect();
        for threads in [1, 2] {
            assert_eq!(whole(Box::new(&text[..]), threads), (text.clone(), None));
            let damaged = whole(Box::new(Damaged(&text)), threads);
            assert_eq!(damaged, (text.clone(), Some("bad block".to_string())));
        }
    }

    #[test]
    fn a_reader_that_nobody_wants_more_of_ends() {
        let first = read_ahead(Box::new(io::repeat(7)), 2, |mut blocks| {
            let mut text = Vec::new();
            blocks.append_to(&mut text).map(|()| text[0])
        });
        assert_eq!(first.ok(), Some(7));
    }
}
