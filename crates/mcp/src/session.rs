//! Recordings that were read and are held, by handles.

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use answers::envelope::{self, Answer, Asked, Input, InputDetails, Role, Tool};
use answers::model::chosen_architecture;
use answers::{Analysed, AnyReporter, Report, Reporter, Run};
use iterations::Window;
use trace_ingest::ReadOptions;

use crate::options::{ExtensionFile, Options};
use crate::protocol::Following;
use crate::refusal::Refusal;
use crate::roots::{Allowed, Roots};

/// Digits of a handle.
const HANDLE_DIGITS: usize = 12;

/// A recording that was read.
pub(crate) struct Held {
    /// By which it is named: the same for the same file and the same options.
    pub(crate) handle: String,
    /// The file, as it was when it was read.
    pub(crate) file: Allowed,
    /// Files beside it that were read with it.
    beside: Vec<Allowed>,
    /// What it was read by: the hash of the file, and the options.
    key: String,
    /// What figures are held against, where that was chosen.
    architecture: Option<String>,
    /// What answers say of it.
    pub(crate) input: Input,
    pub(crate) report: Report,
    /// About how much memory it takes.
    pub(crate) bytes: u64,
}

impl Held {
    /// Whether all files that it was read from are as they were.
    fn is_unchanged(&self) -> bool {
        self.file.is_unchanged() && self.beside.iter().all(Allowed::is_unchanged)
    }
}

/// The recordings that are held, the least recently used first.
pub(crate) struct Session {
    tool: Tool,
    roots: Roots,
    most_bytes: u64,
    most_traces: usize,
    extension: Option<Arc<ExtensionFile>>,
    held: Mutex<VecDeque<Arc<Held>>>,
    /// Of the call that reads a recording, whether it was given up: one reads at a time, so that two callers do not read it
    /// twice, and nobody waits for a call that has ended.
    reading: Mutex<Option<Arc<AtomicBool>>>,
    /// Handles that were given up, with the paths that they were of.
    gone: Mutex<VecDeque<(String, String)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to read, until it is dropped.
struct Turn<'s>(&'s Session, &'s Arc<AtomicBool>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(&self.0.reading).take_if(|reading| Arc::ptr_eq(reading, self.1));
    }
}

impl Session {
    pub(crate) fn new(options: &Options) -> Self {
        Session {
            tool: options.tool.clone(),
            roots: options.roots.clone(),
            most_bytes: options.most_memory,
            most_traces: options.most_traces.max(1),
            extension: options.extension.clone(),
            held: Mutex::default(),
            reading: Mutex::default(),
            gone: Mutex::default(),
        }
    }

    /// An answer to a question about inputs, without content.
    pub(crate) fn answer(&self, asked: &Asked, inputs: Vec<Input>) -> Answer<'static> {
        Answer::new(self.tool.clone(), asked.clone(), inputs)
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// What is held, the least recently used first.
    pub(crate) fn all(&self) -> Vec<Arc<Held>> {
        lock(&self.held).iter().cloned().collect()
    }

    /// The recording of a handle or of a path, or a part of it, with the tables of waits where they are asked for. What is
    /// not held is read.
    pub(crate) fn part(
        &self,
        trace: &str,
        window: Option<Window>,
        waits: bool,
        following: &Following<'_>,
    ) -> Result<Arc<Held>, Refusal> {
        let whole = self.get(trace, following)?;
        if window.is_none() && !waits {
            return Ok(whole);
        }
        let (file, architecture) = (whole.file.clone(), whole.architecture.as_deref());
        self.read(file, architecture, window, waits, following).map(|(held, _)| held)
    }

    /// The file of a handle or of a path.
    pub(crate) fn file(&self, trace: &str) -> Result<Allowed, Refusal> {
        let held = self.all().into_iter().find(|held| held.handle == trace);
        held.map_or_else(|| self.roots.file(trace), |held| Ok(held.file.clone()))
    }

    /// The recording of a handle, or of a path, which is opened if need be.
    pub(crate) fn get(&self, trace: &str, following: &Following<'_>) -> Result<Arc<Held>, Refusal> {
        if let Some(held) = self.touch(|held| held.handle == trace) {
            return self.fresh(held);
        }
        let is_handle = trace.len() == HANDLE_DIGITS && trace.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_handle && self.roots.file(trace).is_err() {
            let was =
                lock(&self.gone).iter().find(|(handle, _)| handle == trace).map(|(_, path)| path.clone());
            let (text, help) = match was {
                Some(path) => (format!("the recording {path} is no longer open"), "open it again"),
                None => ("no open recording has this handle".to_owned(), "open its file"),
            };
            return Err(Refusal::new("unknown-trace", text).with_help(help));
        }
        self.open(trace, None, following).map(|(held, _)| held)
    }

    /// Opens a file, or finds it opened; with the handles that had to go for it.
    pub(crate) fn open(
        &self,
        path: &str,
        architecture: Option<&str>,
        following: &Following<'_>,
    ) -> Result<(Arc<Held>, Vec<String>), Refusal> {
        self.read(self.roots.file(path)?, architecture, None, false, following)
    }

    /// Waits until nobody else reads.
    fn turn<'s>(&'s self, stop: &'s Arc<AtomicBool>) -> Result<Turn<'s>, Refusal> {
        const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
        while !stop.load(Ordering::Relaxed) {
            let mut reading = lock(&self.reading);
            if reading.as_ref().is_none_or(|reading| reading.load(Ordering::Relaxed)) {
                *reading = Some(stop.clone());
                return Ok(Turn(self, stop));
            }
            drop(reading);
            thread::sleep(BETWEEN_LOOKS);
        }
        Err(Refusal::timeout())
    }

    /// Reads a file, or a part of it, or finds that held.
    fn read(
        &self,
        file: Allowed,
        architecture: Option<&str>,
        window: Option<Window>,
        waits: bool,
        following: &Following<'_>,
    ) -> Result<(Arc<Held>, Vec<String>), Refusal> {
        let _only_one_reads = self.turn(following.stop)?;
        let unreadable =
            |_| Refusal::new("no-such-file", "the file cannot be read").with_help("check its permissions");
        let hash = File::open(&file.path).and_then(envelope::sha256).map_err(unreadable)?;
        // Other options, another report.
        let mut part = window.as_ref().map(|window| format!(" {window:?}")).unwrap_or_default();
        part.push_str(if waits { " waits" } else { "" });
        let of = format!("{hash} {}{part}", architecture.unwrap_or_default());
        let key = envelope::sha256(of.as_bytes()).map_err(unreadable)?;
        if let Some(held) = self.touch(|held| held.key == key && held.file == file && held.is_unchanged()) {
            return Ok((held, Vec::new()));
        }
        let chosen =
            chosen_architecture(None, architecture).map_err(|error| Refusal::of("bad-value", &error))?;
        let extension = self.extension.as_ref().map(|file| file.load()).transpose();
        let reporter = AnyReporter {
            architecture: chosen,
            kernel_summary: true,
            modules: true,
            waits,
            window,
            extension: extension.map_err(|error| Refusal::of("bad-extension", &error))?,
            ..AnyReporter::default()
        };
        let found: Mutex<Vec<Result<Allowed, Refusal>>> = Mutex::default();
        let may_be_read = |path: &Path| {
            let allowed = self.beside(path).transpose();
            let may = matches!(allowed, Some(Ok(_)));
            lock(&found).extend(allowed);
            may
        };
        let reading = ReadOptions { beside: Some(&may_be_read), ..following.reading() };
        let mut run = Run { reading, ..Run::default() };
        let report = reporter.report(std::slice::from_ref(&file.path), &mut run);
        let beside = std::mem::take(&mut *lock(&found)).into_iter().collect::<Result<Vec<_>, _>>()?;
        let report = report.map_err(|error| Refusal::from_answer(&error))?;
        let mut of = key.clone();
        for file in &beside {
            of += &File::open(&file.path).and_then(envelope::sha256).map_err(unreadable)?;
        }
        let mut handle = match beside.is_empty() {
            true => of,
            false => envelope::sha256(of.as_bytes()).map_err(unreadable)?,
        };
        handle.truncate(HANDLE_DIGITS);
        if !file.is_unchanged() || !beside.iter().all(Allowed::is_unchanged) {
            return Err(
                Refusal::new("stale-trace", "the file changed while it was read").with_help("open it again")
            );
        }
        let mut input = Input::of(&file.path, Role::Trace, 1, InputDetails::default());
        input.sha256 = Some(hash);
        let (bytes, architecture) = (memory_of(&report), architecture.map(ToOwned::to_owned));
        let held = Arc::new(Held { handle, file, beside, key, architecture, input, report, bytes });
        Ok((held.clone(), self.hold(held)))
    }

    /// A file that stands beside one that is read, if it may be read with that: as if it were named itself, and through no link.
    ///
    /// # Errors
    /// When it is too large.
    pub(crate) fn beside(&self, path: &Path) -> Result<Option<Allowed>, Refusal> {
        match path.to_str().map(|path| self.roots.file(path)) {
            Some(Err(refusal)) if refusal.code == "too-large" => {
                Err(Refusal { input: Some(path.to_path_buf()), ..refusal })
            }
            Some(Ok(file)) => Ok(Some(file).filter(|file| file.path == path)),
            _ => Ok(None),
        }
    }

    /// Whether [`beside`](Self::beside) allows a file.
    pub(crate) fn may_read(&self, path: &Path) -> bool {
        matches!(self.beside(path), Ok(Some(_)))
    }

    /// Gives up a recording; how much memory that frees.
    pub(crate) fn close(&self, handle: &str) -> Option<u64> {
        let mut held = lock(&self.held);
        let at = held.iter().position(|held| held.handle == handle)?;
        let closed = held.remove(at)?;
        self.note_gone(&closed);
        Some(closed.bytes)
    }

    fn touch(&self, is_wanted: impl Fn(&Held) -> bool) -> Option<Arc<Held>> {
        let mut held = lock(&self.held);
        let at = held.iter().position(|held| is_wanted(held))?;
        let found = held.remove(at)?;
        held.push_back(found.clone());
        Some(found)
    }

    fn fresh(&self, held: Arc<Held>) -> Result<Arc<Held>, Refusal> {
        match held.is_unchanged() {
            true => Ok(held),
            false => {
                self.close(&held.handle);
                Err(Refusal::new("stale-trace", "the file changed after it was opened")
                    .with_help("open it again"))
            }
        }
    }

    /// Holds a recording, and gives up the least recently used while there are too many.
    fn hold(&self, new: Arc<Held>) -> Vec<String> {
        let mut held = lock(&self.held);
        held.push_back(new);
        let mut evicted = Vec::new();
        let bytes = |held: &VecDeque<Arc<Held>>| held.iter().map(|held| held.bytes).sum::<u64>();
        while held.len() > 1 && (held.len() > self.most_traces || bytes(&held) > self.most_bytes) {
            let Some(old) = held.pop_front() else { break };
            self.note_gone(&old);
            evicted.push(old.handle.clone());
        }
        evicted
    }

    fn note_gone(&self, held: &Held) {
        /// Handles that are remembered after they are gone.
        const MOST_GONE: usize = 64;
        let mut gone = lock(&self.gone);
        gone.push_back((held.handle.clone(), held.input.file.clone()));
        while gone.len() > MOST_GONE {
            gone.pop_front();
        }
    }
}

/// How much memory a report takes, rather more than less: itself, the cells of its tables, and the events of its trace.
fn memory_of(report: &Report) -> u64 {
    /// Of a report, however small its recording: held by the server, recordings of 1,525 to 3,060 events took 1.5 to 2.7 MB each
    /// (`VmRSS` of /proc after opening 2, 18 and 64 of them).
    const REPORT: u64 = 2 << 20;
    /// Of a cell, its text apart.
    const CELL: u64 = 24;
    /// Of an event. While its report was made, a trace of 732,646 took 273 bytes each at the peak
    /// (`/usr/bin/time -v tracelens report big.json --json`); held, it takes less.
    const EVENT: u64 = 280;
    let tables = report.tables.tables().iter();
    let cells: u64 = tables.clone().map(|table| (table.height() * table.columns().len()) as u64).sum();
    let texts: usize = tables.flat_map(|table| table.columns()).map(|column| column.text_bytes()).sum();
    let events = match &report.analysis {
        Analysed::Trace(analysis, _) => analysis.trace().events().len() as u64,
        _ => cells,
    };
    REPORT + cells * CELL + texts as u64 + events * EVENT
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;

    fn session(folder: &Path, most_bytes: u64) -> Session {
        Session::new(&Options {
            tool: Tool::with_features(&["mcp"]),
            roots: Roots::new(&[folder.to_path_buf()], most_bytes).unwrap(),
            most_characters: 1 << 20,
            most_memory: 1 << 30,
            most_traces: 4,
            timeout: Duration::from_secs(60),
            extension: None,
        })
    }

    const GENERATED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated");

    #[cfg(unix)]
    #[test]
    fn files_beside_the_named_one_are_held_to_the_same_rules() {
        let place = tempfile::tempdir().unwrap();
        let (root, outside) = (place.path().join("root"), place.path().join("outside"));
        for folder in [&root, &outside] {
            std::fs::create_dir(folder).unwrap();
        }
        const CALLS: &str = "4242_hip_api_trace.csv";
        for file in std::fs::read_dir(Path::new(GENERATED).join("rocprof/csv")).unwrap() {
            let file = file.unwrap();
            let is_calls = file.file_name() == CALLS;
            let folder = if is_calls { &outside } else { &root };
            std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
        std::os::unix::fs::symlink(outside.join(CALLS), root.join(CALLS)).unwrap();
        let following = Following { stop: &Arc::default(), progress: &|_| () };
        let open = |session: &Session| session.open("4242_kernel_trace.csv", None, &following);
        let text = |held: &Held| {
            let tables = held.report.tables.tables().iter().flat_map(|table| table.columns());
            tables.flat_map(|column| column.cells()).map(|cell| cell.text().into_owned()).collect::<String>()
        };
        let session = self::session(&root, 1 << 30);
        let without = open(&session).unwrap().0;
        assert!(!text(&without).contains("hipLaunchKernel"));
        assert!(!without.beside.is_empty());
        // A file of the folder itself is read, and belongs to what the handle means.
        std::fs::remove_file(root.join(CALLS)).unwrap();
        std::fs::copy(outside.join(CALLS), root.join(CALLS)).unwrap();
        let session = self::session(&root, 1 << 30);
        let with = open(&session).unwrap().0;
        assert!(text(&with).contains("hipLaunchKernel"));
        assert_ne!(with.handle, without.handle);
        std::fs::write(root.join(CALLS), "changed").unwrap();
        assert_eq!(session.get(&with.handle, &following).map(|_| ()).unwrap_err().code, "stale-trace");
        std::fs::write(root.join(CALLS), "x".repeat(200_000)).unwrap();
        let refused = open(&self::session(&root, 100_000)).map(|_| ()).unwrap_err();
        assert_eq!(refused.code, "too-large", "{refused:?}");
    }

    #[test]
    fn nobody_waits_for_a_call_that_was_given_up() {
        let session = session(Path::new(GENERATED), 1 << 30);
        let (stuck, stop): (Arc<AtomicBool>, Arc<AtomicBool>) = Default::default();
        let turn = session.turn(&stuck).unwrap();
        let waiting = thread::scope(|scope| {
            let waiting = scope.spawn(|| session.turn(&stop).map(|_| ()));
            stop.store(true, Ordering::Relaxed);
            waiting.join().unwrap()
        });
        assert_eq!(waiting.unwrap_err().code, "timeout");
        stuck.store(true, Ordering::Relaxed);
        stop.store(false, Ordering::Relaxed);
        let next = session.turn(&stop).unwrap();
        drop(turn);
        assert!(lock(&session.reading).is_some(), "the turn of the other call");
        drop(next);
        assert!(lock(&session.reading).is_none());
    }

    #[test]
    fn a_call_that_is_stopped_reads_no_further_and_holds_nothing() {
        let session = session(Path::new(GENERATED), 1 << 30);
        let stop = Arc::new(AtomicBool::new(true));
        let following = Following { stop: &stop, progress: &|_| () };
        let refused = session.open("cuda_training_step.json.gz", None, &following).map(|_| ()).unwrap_err();
        assert_eq!(refused.code, "timeout", "{refused:?}");
        assert!(session.all().is_empty());
        stop.store(false, Ordering::Relaxed);
        let (held, evicted) = session.open("cuda_training_step.json.gz", None, &following).unwrap();
        assert!(evicted.is_empty());
        let again = session.open("cuda_training_step.json.gz", None, &following).unwrap().0;
        assert!(Arc::ptr_eq(&held, &again), "it is read once");
        let other = session.open("cuda_training_step.json.gz", Some("H200"), &following).unwrap().0;
        assert_ne!(held.handle, other.handle, "other peaks, another report");
    }
}
