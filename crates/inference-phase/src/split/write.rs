//! Writes the planned files in one pass over the trace.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;

use atomic_file::PendingFile;
use trace_ingest::{EntryVisitor, RawEntry, ReadOptions, TrackId, visit_entries};
use trace2tree::TraceTree;

use super::error::SplitError;
use super::gzip::Compressors;
use super::gzip::GzipFile;
use super::membership::Membership;
use super::plan::SplitOutput;

/// Text that waits to be compressed, over all files.
const WAITING: usize = 64 << 20;

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where.
    pub path: PathBuf,
    /// Entries of its event list.
    pub entries: u64,
    /// Entries that are not in it because they cannot be made valid JSON.
    pub unusable: u64,
}

/// Writes the files of `outputs`, in their order, below `directory`, each a Kineto trace of its own: what `trace`
/// (the file that `tree` was read from) says of the recording, the events of the steps with the arrows between
/// them, and the names of processes and threads. The text of entries is copied.
///
/// Files take their places when all are written, one after the other. On failure before that every file is as it was.
/// When one cannot take its place, it and those behind it are as they were, and those before it are new. Folders that
/// were made for the files stay.
///
/// Nothing else of the trace is copied; above all not the environment of the machine that recorders dump.
///
/// # Errors
/// When the trace cannot be read or is not the one of `tree` any more, or when a file cannot be written.
pub fn write_outputs(
    trace: &Path,
    tree: &TraceTree,
    membership: &Membership,
    outputs: &[SplitOutput],
    directory: &Path,
    options: &ReadOptions<'_>,
) -> Result<Vec<Written>, SplitError> {
    let failed = |path: &Path, source| SplitError::Write { path: path.to_path_buf(), source };
    let mut files = Vec::new();
    let mut paths = Vec::new();
    for output in outputs {
        let path = directory.join(&output.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| failed(parent, source))?;
        }
        files.push(GzipFile::create(&path).map_err(|source| failed(&path, source))?);
        paths.push(path);
    }
    let mut outputs_by_step =
        vec![Vec::new(); outputs.iter().flat_map(|output| &output.steps).max().map_or(0, |step| step + 1)];
    for (output, number) in outputs.iter().zip(0..) {
        output.steps.iter().for_each(|&step| outputs_by_step[step].push(number));
    }
    let (entries, (parts, finished)) = thread::scope(|scope| {
        let mut copier = Copier {
            tree,
            membership,
            outputs_by_step,
            everywhere: (0..files.len()).collect(),
            parts: Parts {
                most_waiting: (WAITING / files.len().max(1)).clamp(16 << 10, 1 << 20),
                parts: files.iter().map(|_| Part::default()).collect(),
                compressors: Compressors::start(scope, files, options.thread_count()),
            },
            head: b"{".to_vec(),
            tail: Vec::new(),
            has_head: false,
            open_begins: HashMap::new(),
        };
        let entries = visit_entries(trace, options, &mut copier)?;
        Ok::<_, SplitError>((entries, copier.finish()?))
    })?;
    if entries != tree.trace().entries() {
        return Err(SplitError::Changed { path: trace.to_path_buf() });
    }
    for file in finished {
        let path = file.destination().to_path_buf();
        file.commit().map_err(|source| failed(&path, source))?;
    }
    let written = paths.into_iter().zip(parts).map(|(path, part)| Written {
        path,
        entries: part.entries,
        unusable: part.unusable,
    });
    Ok(written.collect())
}

/// Copies each entry to the files that it belongs to.
struct Copier<'s, 'scope> {
    tree: &'s TraceTree,
    membership: &'s Membership,
    /// Files by step.
    outputs_by_step: Vec<Vec<usize>>,
    /// All files.
    everywhere: Vec<usize>,
    parts: Parts<'scope>,
    /// The text before the event list: an opening brace and facts, each with a comma.
    head: Vec<u8>,
    /// Facts behind the event list, each with a comma before it.
    tail: Vec<u8>,
    has_head: bool,
    /// Steps of the `B` entries whose `E` is still to come.
    open_begins: HashMap<TrackId, Vec<Option<usize>>>,
}

impl EntryVisitor for Copier<'_, '_> {
    fn fact(&mut self, key: &'static str, value: &[u8]) -> ControlFlow<()> {
        let member = [b"\"", key.as_bytes(), b"\": ", value].concat();
        if self.has_head {
            self.tail.extend_from_slice(b",\n");
            self.tail.extend_from_slice(&member);
        } else {
            self.head.extend_from_slice(&member);
            self.head.extend_from_slice(b",\n");
        }
        ControlFlow::Continue(())
    }

    fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()> {
        self.write_head();
        // Metadata belongs to no time, so to every file; so does what says no time.
        let is_timeless = entry.phase == Some(b'M') || entry.time.is_none();
        let numbers = if is_timeless {
            &self.everywhere[..]
        } else {
            match self.step_of(&entry).and_then(|step| self.outputs_by_step.get(step)) {
                Some(numbers) => numbers,
                None => return ControlFlow::Continue(()),
            }
        };
        self.parts.copy(&entry, numbers)
    }
}

impl Copier<'_, '_> {
    fn step_of(&mut self, entry: &RawEntry<'_>) -> Option<usize> {
        let trace = self.tree.trace();
        let event = trace.events().find_uid(entry.uid);
        let step = match event {
            Some(event) => self.membership.step_of(event),
            // Ends are found as they were when the trace was read: the last open one on the track.
            None if entry.phase == Some(b'E') => {
                let open = self.open_begins.get_mut(&entry.track(trace)?)?;
                open.pop().flatten()
            }
            None => self.membership.step_of_entry(entry, self.tree),
        };
        if let (Some(event), Some(b'B')) = (event, entry.phase) {
            self.open_begins.entry(trace.events().track(event)).or_default().push(step);
        }
        step
    }

    fn write_head(&mut self) {
        if !self.has_head {
            self.has_head = true;
            self.head.extend_from_slice(b"\"traceEvents\": [");
            for part in &mut self.parts.parts {
                part.waiting.extend_from_slice(&self.head);
            }
        }
    }

    /// Ends the files, which are then to be put in their places.
    fn finish(mut self) -> Result<(Vec<Part>, Vec<PendingFile>), SplitError> {
        self.write_head();
        let ending = [b"\n]", &self.tail[..], b"}\n"].concat();
        let Parts { mut parts, compressors, .. } = self.parts;
        for (number, part) in parts.iter_mut().enumerate() {
            let mut text = std::mem::take(&mut part.waiting);
            text.extend_from_slice(&ending);
            if !compressors.add(number, text, true) {
                break;
            }
        }
        Ok((parts, compressors.finish()?))
    }
}

/// A file that grows.
#[derive(Default)]
struct Part {
    /// Text that waits to be compressed.
    waiting: Vec<u8>,
    entries: u64,
    unusable: u64,
}

struct Parts<'scope> {
    parts: Vec<Part>,
    /// Text that waits at most, per file.
    most_waiting: usize,
    compressors: Compressors<'scope>,
}

impl Parts<'_> {
    /// Adds an entry to the files with these numbers; breaks off when one cannot be written.
    fn copy(&mut self, entry: &RawEntry<'_>, numbers: &[usize]) -> ControlFlow<()> {
        if numbers.is_empty() {
            return ControlFlow::Continue(());
        }
        let text = entry.valid_json();
        for &number in numbers {
            let part = &mut self.parts[number];
            let Some(text) = &text else {
                part.unusable += 1;
                continue;
            };
            part.waiting.extend_from_slice(if part.entries == 0 { b"\n" } else { b",\n" });
            part.waiting.extend_from_slice(text);
            part.entries += 1;
            if part.waiting.len() >= self.most_waiting
                && !self.compressors.add(number, std::mem::take(&mut part.waiting), false)
            {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}
