//! Reads the text in blocks, parses blocks on several threads, assembles them in order.
//!
//! One thread reads (and decompresses) into blocks of about a mebibyte, each cut where an event probably
//! ends. Workers parse blocks into runs. The calling thread takes the runs in file order. Blocks and runs
//! are buffers that circulate: touching new memory costs more than parsing, so a file of any size goes
//! through the same few.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use super::append::TraceSink;
use super::assemble::{Assembler, Ending, Refusal, Sink};
use super::boundary::last_event_start;
use super::run::{Run, RunEnd};
use crate::queue::next_of;
use crate::source::read_full;
use crate::trace::Trace;

/// Text per block, in bytes. Large enough that a block's fixed costs vanish, small enough to stay in the
/// cache.
pub(crate) const BLOCK: usize = 1 << 20;

/// A block on its way: text, then the run parsed from it.
#[derive(Default)]
struct Block {
    number: u64,
    text: BlockText,
    run: Run,
    end: RunEnd,
}

/// Text in a buffer that is used again: bytes behind it are of blocks before, so that no block is zeroed first.
#[derive(Default)]
struct BlockText {
    buffer: Vec<u8>,
    length: usize,
}

impl BlockText {
    fn as_bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// Room for `more` bytes behind the text.
    fn room(&mut self, more: usize) -> &mut [u8] {
        let needed = self.length + more;
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        &mut self.buffer[self.length..needed]
    }
}

/// The first block is this part of the others. It doubles from block to block, so that short files too keep several
/// threads busy and touch little memory.
const PART_OF_FIRST_BLOCK: usize = 8;

/// Cuts a stream of text into blocks.
struct BlockReader<R> {
    source: R,
    /// Text of a block, in bytes.
    block: usize,
    /// Text of the next block.
    next: usize,
    /// Text behind the last cut, the beginning of the next block.
    rest: Vec<u8>,
    finished: bool,
}

impl<R: Read> BlockReader<R> {
    fn new(source: R, block: usize) -> Self {
        let block = block.max(2);
        BlockReader {
            source,
            block,
            next: (block / PART_OF_FIRST_BLOCK).max(2),
            rest: Vec::new(),
            finished: false,
        }
    }

    /// Fills `text` with the next block. `false` at the end of the text; an error is damage of the source,
    /// after which `text` holds what was still read.
    fn fill(&mut self, text: &mut BlockText) -> (bool, io::Result<()>) {
        text.length = 0;
        text.room(self.rest.len()).copy_from_slice(&self.rest);
        text.length = self.rest.len();
        self.rest.clear();
        let mut outcome = Ok(());
        if !self.finished {
            let wanted = text.length.max(self.next / 2) + self.next / 2;
            self.next = (2 * self.next).min(self.block);
            let room = text.room(wanted - text.length);
            let (read, end) = read_full(&mut self.source, room);
            self.finished = read < room.len();
            text.length += read;
            outcome = end;
            if !self.finished
                && let Some(cut) = last_event_start(text.as_bytes())
            {
                self.rest.extend_from_slice(&text.as_bytes()[cut..]);
                text.length = cut;
            }
        }
        (text.length > 0, outcome)
    }
}

/// Reads a Kineto trace from its text, in blocks of about `block` bytes, with `threads` parsing threads, without its
/// Python frames or with them.
pub(crate) fn read_text(
    source: impl Read + Send,
    threads: usize,
    block: usize,
    skip_frames: bool,
) -> Result<Trace, Refusal> {
    let reader = BlockReader::new(source, block);
    if threads <= 1 {
        let (sink, ending, damage) = read_here(reader, TraceSink::new(skip_frames))?;
        Ok(sink.finish(&ending, damage))
    } else {
        read_threaded(reader, threads, skip_frames)
    }
}

/// Hands the text to a sink, in blocks of about `block` bytes, on this thread. Returns the sink, and how the text
/// ended and broke off.
pub(crate) fn read_into<S: Sink>(
    source: impl Read,
    sink: S,
    block: usize,
) -> Result<(S, Ending, Option<String>), Refusal> {
    let reader = BlockReader::new(source, block);
    read_here(reader, sink)
}

/// The sink, and how the text ended and broke off.
fn read_here<S: Sink>(
    mut reader: BlockReader<impl Read>,
    sink: S,
) -> Result<(S, Ending, Option<String>), Refusal> {
    let mut assembler = Assembler::new(sink);
    let mut text = BlockText::default();
    let mut damage = None;
    loop {
        let (more, outcome) = reader.fill(&mut text);
        if let Err(error) = outcome {
            damage = Some(error.to_string());
        }
        if !more || !assembler.wants_more() {
            let (sink, ending) = assembler.finish(damage.as_deref())?;
            return Ok((sink, ending, damage));
        }
        assembler.take(text.as_bytes())?;
    }
}

fn read_threaded(
    mut reader: BlockReader<impl Read + Send>,
    threads: usize,
    skip_frames: bool,
) -> Result<Trace, Refusal> {
    // Every worker holds one block, the reader one, the assembler one, and as many wait.
    let blocks = 2 * threads + 2;
    let (free_sender, free) = channel::<Box<Block>>();
    let (filled_sender, filled) = channel::<Box<Block>>();
    let (parsed_sender, parsed) = channel::<Box<Block>>();
    let filled = Arc::new(Mutex::new(filled));
    for _ in 0..blocks {
        // Cannot fail: the other end of the channel is held here.
        let block = Block { run: Run::new(skip_frames), ..Block::default() };
        let _ = free_sender.send(Box::new(block));
    }
    thread::scope(|scope| {
        let reading = scope.spawn(move || -> Option<String> {
            let mut damage = None;
            let mut number = 0;
            // A closed channel means that the assembler gave up.
            while let Ok(mut block) = free.recv() {
                let (more, outcome) = reader.fill(&mut block.text);
                if let Err(error) = outcome {
                    damage = Some(error.to_string());
                }
                block.number = number;
                number += 1;
                if !more || filled_sender.send(block).is_err() {
                    break;
                }
            }
            damage
        });
        for _ in 0..threads {
            let (filled, parsed_sender) = (Arc::clone(&filled), parsed_sender.clone());
            scope.spawn(move || parse_blocks(&filled, &parsed_sender));
        }
        drop((filled, parsed_sender));

        let mut assembler = Assembler::new(TraceSink::new(skip_frames));
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        while let Ok(block) = parsed.recv() {
            waiting.insert(block.number, block);
            while let Some(block) = waiting.remove(&next) {
                let append = |sink: &mut TraceSink, offset| sink.append(&block.run, offset);
                assembler.take_parsed(block.text.as_bytes(), block.end, append)?;
                next += 1;
                // The reader may have finished; then the block is not needed any more.
                let _ = free_sender.send(block);
            }
        }
        drop(free_sender);
        let damage = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (sink, ending) = assembler.finish(damage.as_deref())?;
        Ok(sink.finish(&ending, damage))
    })
}

fn parse_blocks(filled: &Mutex<Receiver<Box<Block>>>, parsed: &Sender<Box<Block>>) {
    while let Some(mut block) = next_of(filled) {
        let Block { text, run, end, .. } = &mut *block;
        run.clear();
        *end = run.parse(text.as_bytes());
        if parsed.send(block).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every event of a trace with every argument, and every warning, as text.
    fn fingerprint(trace: &Trace) -> Vec<String> {
        let mut lines: Vec<String> = trace
            .events()
            .ids()
            .map(|id| {
                let event = trace.events().get(id);
                let arguments = trace.argument(id, |signature| signature.dims);
                format!(
                    "{} {} {:?} {} {:?} {} {} {:?} {:?} {arguments:?}",
                    event.uid,
                    trace.name(id),
                    event.phase,
                    trace.category_name(event.category),
                    trace.tracks().get(event.track),
                    event.start,
                    event.duration,
                    trace.events().correlation(id),
                    trace.events().arguments().geometry.get(id.index()),
                )
            })
            .collect();
        lines.push(format!("{} {:?} {:?}", trace.entries(), trace.flows(), trace.facts()));
        lines.extend(trace.warnings().iter().map(ToString::to_string));
        lines
    }

    fn read(text: &[u8], threads: usize, block: usize) -> Result<Vec<String>, String> {
        read_text(text, threads, block, false)
            .map(|trace| fingerprint(&trace))
            .map_err(|refusal| format!("{refusal:?}"))
    }

    /// Text of a trace with `count` events, in which the event list is neither first nor last.
    fn sample(count: usize) -> String {
        let mut text =
            String::from(r#"{"schemaVersion": 1, "other": [{"ph": "X"}, {"name": "}"}], "traceEvents": ["#);
        for number in 0..count {
            let comma = if number == 0 { "" } else { "," };
            let (start, length) = (1000 + number * 10, number % 7);
            text += &match number % 5 {
                0 => format!(
                    r#"{comma} {{"ph": "X", "cat": "kernel", "name": "k{}", "pid": 0, "tid": 7, "ts": {start}.25, "dur": {length},
                    "args": {{"correlation": {number}, "grid": [1, {number}, 3], "block": [64, 1, 1], "list": [{{"name": 1}}, {{"name": 2}}]}}}}"#,
                    number % 3
                ),
                1 => format!(r#"{comma}{{"ph":"B","cat":"cpu_op","name":"b","pid":1,"tid":2,"ts":{start}}}"#),
                2 => format!(r#"{comma}{{"ph":"E","pid":1,"tid":2,"ts":{start}}}"#),
                3 => format!(
                    r#"{comma}{{"ph":"s","cat":"ac2g","id":{number},"pid":1,"tid":"main","ts":{start}}}"#
                ),
                _ => format!(
                    r#"{comma}{{"ph":"X","cat":"cpu_op","name":"op \u00e9","pid":1,"tid":2,"ts":"{start}","dur":1.5,
                    "args":{{"Input Dims":[[{},2],[]],"External id":{number}}}}}"#,
                    number % 4
                ),
            };
        }
        text + r#"], "traceName": "t", "deviceProperties": [{"id": 0}, {"id": 1}]}"#
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn threads_and_block_size_do_not_change_the_result(count in 0usize..60, threads in 2usize..5, block in 2usize..3000) {
            let text = sample(count);
            let whole = read(text.as_bytes(), 1, 1 << 20);
            prop_assert!(whole.is_ok());
            prop_assert_eq!(read(text.as_bytes(), threads, block), whole.clone());
            prop_assert_eq!(read(text.as_bytes(), 1, block), whole);
        }

        #[test]
        fn threads_do_not_change_what_is_made_of_damaged_text(count in 1usize..40, at in 0usize..4000, byte in any::<u8>(), threads in 2usize..4, block in 100usize..3000) {
            let mut text = sample(count).into_bytes();
            let at = at % text.len();
            text[at] = byte;
            prop_assert_eq!(read(&text, threads, block), read(&text, 1, block));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:a-z0-9 \\\\]{0,300}", threads in 1usize..3, block in 2usize..200) {
            let _ = read(text.as_bytes(), threads, block);
            let _ = read(format!("{{\"traceEvents\":[{text}").as_bytes(), threads, block);
        }
    }

    #[test]
    fn frames_are_skipped_on_request_and_keep_their_numbers() {
        let text = br#"{"traceEvents": [
            {"ph": "X", "cat": "python_function", "name": "a }\"]", "ts": 1, "dur": 9, "args": {"Python id": 1, "l": [{}]}},
            {"ph": "X", "cat": "cpu_op", "name": "op", "ts": 2, "dur": 1},
            {"ph": "X", "name": "b", "cat": "python_function", "ts": 3, "dur": 1, "args": {"x": 3 3}},
            {"cat": "python_function", "ph": "X", "name": "kept", "ts": 4, "dur": 1},
            {"ph": "B", "cat": "python_function", "name": "open", "pid": 1, "ts": 5}, {"ph": "E", "pid": 1, "ts": 6},
            {"ph": "X", "cat": "python_function" , },
            {"ph": "X", "cat": "python_function", "name": "cut"#;
        for (threads, block) in [(1, 1 << 20), (2, 100), (3, 40)] {
            let trace = read_text(&text[..], threads, block, true).ok().unwrap();
            let events = trace.events();
            let kept: Vec<(u32, &str)> = events.ids().map(|id| (events.uid(id), trace.name(id))).collect();
            assert_eq!(kept, [(1, "op"), (3, "kept"), (4, "open")], "{threads} threads");
            assert_eq!((trace.skipped_frames(), trace.entries()), (3, 7));
            let all = read_text(&text[..], threads, block, false).ok().unwrap();
            assert_eq!((all.skipped_frames(), all.entries()), (0, 7));
        }
    }

    /// Fails after its text, like a decompressor that meets damage.
    struct Damaged<'t>(&'t [u8]);

    impl Read for Damaged<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "bad block"));
            }
            self.0.read(buffer)
        }
    }

    #[test]
    fn damage_of_the_source_keeps_what_was_read_and_is_reported() {
        let text = sample(20);
        for threads in [1, 3] {
            let cut = text.len() / 2;
            let trace = read_text(Damaged(&text.as_bytes()[..cut]), threads, 64, false).ok().unwrap();
            assert!(trace.entries() >= 8);
            let warnings: Vec<_> = trace.warnings().iter().map(ToString::to_string).collect();
            assert!(
                warnings[0].contains("bad block") && warnings[0].contains(&cut.to_string()),
                "{warnings:?}"
            );
        }
    }
}
