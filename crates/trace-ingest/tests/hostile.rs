//! Files made to exhaust the machine: each ends in an error, or in a trace with a warning, with a bounded amount of
//! memory. The largest amount that was ever allocated is measured, so the tests run one after the other.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test helper may stop at a fault

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use trace_ingest::{IngestError, ReadOptions, read_path};

/// Counts the bytes that are allocated now, and the most that ever were since the last reset.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is left to the system's allocator.
#[allow(unsafe_code)] // an allocator cannot be written without
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: usize = 1 << 20;

/// Runs `read` and returns what it gave and the most memory it took at a time, in MiB.
fn measured<T>(read: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let outcome = read();
    (outcome, MOST.load(Ordering::Relaxed).saturating_sub(before) / MIB)
}

/// One test at a time measures.
static TURN: Mutex<()> = Mutex::new(());

/// Reads a file on one thread and on several: its error, once the memory is checked.
#[track_caller]
fn refused<T>(
    path: &Path,
    most: usize,
    read: impl Fn(&Path, &ReadOptions<'_>) -> Result<T, IngestError>,
) -> String {
    refused_on(&[1, 3], path, most, read)
}

/// The same on these numbers of threads.
#[track_caller]
fn refused_on<T>(
    threads: &[usize],
    path: &Path,
    most: usize,
    read: impl Fn(&Path, &ReadOptions<'_>) -> Result<T, IngestError>,
) -> String {
    let mut errors = Vec::new();
    for &threads in threads {
        let options = ReadOptions { threads: Some(threads), ..ReadOptions::default() };
        let (outcome, taken) = measured(|| read(path, &options).map(drop));
        let error = outcome.expect_err("a hostile file was read").to_string();
        assert!(taken <= most, "{taken} MiB were taken to say: {error}");
        assert!(error.len() < 1000, "{error}");
        errors.push(error);
    }
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    errors.remove(0)
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    /// A file of `begin` and then `part` over and over, `length` bytes.
    fn repeated(&self, name: &str, begin: &[u8], part: &[u8], length: usize) -> PathBuf {
        let path = self.0.path().join(name);
        repeat(BufWriter::new(File::create(&path).unwrap()), begin, part, length);
        path
    }

    /// The same, compressed with gzip.
    fn packed(&self, name: &str, begin: &[u8], part: &[u8], length: usize) -> PathBuf {
        let path = self.0.path().join(name);
        let encoder = GzEncoder::new(File::create(&path).unwrap(), Compression::default());
        repeat(encoder, begin, part, length).finish().unwrap();
        path
    }
}

fn repeat<W: Write>(mut to: W, begin: &[u8], part: &[u8], length: usize) -> W {
    let parts = part.repeat(MIB / part.len() + 1);
    to.write_all(begin).unwrap();
    io::copy(&mut Endless { parts: &parts, at: 0 }.take(length as u64), &mut to).unwrap();
    to.flush().unwrap();
    to
}

struct Endless<'p> {
    parts: &'p [u8],
    at: usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = (&self.parts[self.at..]).read(buffer)?;
        self.at = (self.at + read) % self.parts.len();
        Ok(read)
    }
}

/// Longest single value is 64 MiB; it is held while more of it is looked for.
const ONE_VALUE: usize = 300;

#[test]
fn a_value_without_an_end_is_refused() {
    let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
    let place = Place::new();
    // Several threads join such a value as one does.
    let (one, several): (&[usize], &[usize]) = (&[1], &[1, 3]);
    for (begin, part, threads) in [
        (&br#"{"traceEvents": [{"ph": "X", "name": ""#[..], &b"x"[..], several),
        (br#"{"traceEvents": [{"ph": "X", "args": {"a": "#, b"[", one),
        (br#"{"traceEvents": [{"ph": "X", "args": {"a": "#, b"{\"a\":", one),
        (br#"{"traceEvents": [{"ph": "X", "ts": "#, b"1", several),
        (br#"{"schemaVersion": "#, b"[", one),
        (b"{\"", b"traceEvents", several),
    ] {
        let path = place.repeated("trace.json", begin, part, 66 * MIB);
        let error = refused_on(threads, &path, ONE_VALUE, read_path);
        assert!(error.contains("a single value exceeds 64 MiB"), "{error}");
    }
}

#[test]
fn brackets_in_what_nobody_needs_take_no_memory() {
    let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
    let path = Place::new();
    let path = path.repeated("trace.json", br#"{"traceEvents_": "#, b"[{\"a\":", 24 * MIB);
    let error = refused(&path, 16, read_path);
    assert!(error.contains("the text ends before the list of events begins"), "{error}");
}

/// Text that compresses about a thousand times; it is found out after 256 MiB.
const BOMB: usize = 400 * MIB;

const BOMB_MESSAGE: &str = "its decompressed text exceeds 256 times its size";

#[test]
fn a_file_that_unpacks_to_far_more_than_a_trace_is_refused() {
    let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
    let place = Place::new();
    for (begin, part) in
        [(&br#"{"metadata": ""#[..], &b"x"[..]), (br#"{"traceEvents": ["#, b" "), (b"[", b",")]
    {
        let path = place.packed("bomb.json.gz", begin, part, BOMB);
        assert!(refused(&path, 64, read_path).contains(BOMB_MESSAGE));
    }
}

#[test]
fn layers_of_compression_count_together() {
    let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
    let place = Place::new();
    let path = place.packed("inner.json.gz", br#"{"metadata": ""#, b"x", BOMB);
    let inner = std::fs::read(&path).unwrap();
    let outer = place.0.path().join("outer.json.gz");
    let mut encoder = GzEncoder::new(File::create(&outer).unwrap(), Compression::best());
    encoder.write_all(&inner).unwrap();
    encoder.finish().unwrap();
    assert!(refused(&outer, 64, read_path).contains(BOMB_MESSAGE));

    let zipped = place.0.path().join("bomb.zip");
    let mut zip = zip::ZipWriter::new(File::create(&zipped).unwrap());
    zip.start_file("../../trace.json", zip::write::SimpleFileOptions::default()).unwrap();
    let _ = repeat(&mut zip, br#"{"metadata": ""#, b"x", BOMB);
    zip.finish().unwrap();
    assert!(refused(&zipped, 64, read_path).contains(BOMB_MESSAGE));
    // Members are read where they lie: their names lead nowhere.
    let mut names: Vec<_> =
        std::fs::read_dir(place.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["bomb.zip", "inner.json.gz", "outer.json.gz"]);
}

#[cfg(feature = "xplane")]
#[test]
fn lengths_that_no_profile_has_are_refused() {
    let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
    let place = Place::new();
    let plane =
        [&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x12, 0x09][..], b"/host:CPU"].concat();
    let path = place.repeated("host.xplane.pb", &plane, b"\x1a\x00", MIB);
    let read = |path: &Path, options: &ReadOptions<'_>| trace_ingest::xplane::read_profile(path, options);
    let error = refused(&path, 16, read);
    assert!(error.contains("its length exceeds the file"), "{error}");
}

#[cfg(feature = "rocprof")]
mod rocprof {
    use super::*;
    use trace_ingest::rocprof::read_profile;

    #[test]
    fn profiles_without_an_end_are_refused() {
        let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
        let place = Place::new();
        let begin = br#"{"rocprofiler-sdk-tool": [{"agents": [{"name": ""#;
        let path = place.repeated("a_results.json", begin, b"x", 130 * MIB);
        let error = refused(&path, 500, read_profile);
        assert!(error.contains("it does not end within 64 MiB"), "{error}");

        let path = place.packed("b_results.json.gz", br#"{"rocprofiler-sdk-tool": [{"x": "#, b"[", BOMB);
        assert!(refused(&path, 64, read_profile).contains(BOMB_MESSAGE));
        assert!(refused(&path, 64, read_path).contains(BOMB_MESSAGE));
    }

    #[test]
    fn packets_of_absurd_length_are_refused() {
        let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
        let place = Place::new();
        let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f];
        let path = place.repeated("a_results.pftrace", &huge, b"\0", MIB);
        let error = refused(&path, 16, read_profile);
        assert!(error.contains("Not a valid rocprofv3 file"), "{error}");
        // Behind packets that show what the file is.
        let packet = [0x0a, 0x06, 0x40, 0x01, 0x50, 0x01, 0x68, 0x01];
        let path =
            place.repeated("b_results.pftrace", &[&packet[..], &packet, &packet, &huge].concat(), b"\0", MIB);
        let (outcome, taken) = measured(|| read_profile(&path, &ReadOptions::default()));
        assert!(taken <= 16, "{taken} MiB");
        match outcome {
            Ok(profile) => assert!(!profile.warnings.is_empty()),
            Err(error) => assert!(error.to_string().contains("exceeds the limit of 256 MiB"), "{error}"),
        }
    }

    const HEADER: &[u8] =
        b"\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_Name\",\
        \"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"";

    #[test]
    fn tables_of_too_many_columns_are_refused() {
        let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
        let place = Place::new();
        let path = place.repeated("run_kernel_trace.csv", HEADER, b",c", 2_000_000);
        let error = refused(&path, 150, read_profile);
        assert!(error.contains("the header exceeds 16384 columns"), "{error}");
    }

    #[test]
    fn a_row_without_an_end_is_a_warning() {
        let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
        let place = Place::new();
        let row = "\n\"KERNEL_DISPATCH\",\"Agent 1\",1,1,1,1,\"k\",1,100,200\n\"KERNEL";
        let begin = [HEADER, row.as_bytes()].concat();
        let path = place.repeated("run_kernel_trace.csv", &begin, b"x\n", 40 * MIB);
        let (profile, taken) = measured(|| read_profile(&path, &ReadOptions::default()).unwrap());
        assert!(taken <= 32, "{taken} MiB");
        assert_eq!(profile.dispatches.len(), 1);
        let warnings: Vec<String> = profile.warnings.iter().map(ToString::to_string).collect();
        assert!(
            warnings.iter().any(|warning| warning.contains("a row does not end within 4 MiB")),
            "{warnings:?}"
        );
    }
}

#[cfg(feature = "metal")]
mod metal {
    use super::*;
    use trace_ingest::metal::read_ops;

    const HEADER: &[u8] = b"OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES";

    fn read(path: &Path, _: &ReadOptions<'_>) -> Result<(), IngestError> {
        read_ops(&[path.to_path_buf()], &ReadOptions::default()).map(drop)
    }

    #[test]
    fn tables_of_a_million_columns_and_headers_without_an_end_are_refused() {
        let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
        let place = Place::new();
        let path = place.repeated("ops.csv", HEADER, b",c", 2_000_000);
        let error = refused(&path, 150, read);
        assert!(error.contains("the header exceeds 16384 columns"), "{error}");

        let path = place.repeated("ops.csv", HEADER, b",\"", 40 * MIB);
        let error = refused(&path, 150, read);
        assert!(error.contains("the header exceeds 4 MiB"), "{error}");
    }

    #[test]
    fn a_row_without_an_end_keeps_those_before() {
        let _turn = TURN.lock().unwrap_or_else(|poison| poison.into_inner());
        let place = Place::new();
        let begin = [HEADER, b"\nMatmul,tt_dnn_device,1,0,{}\n\""].concat();
        let path = place.repeated("ops.csv", &begin, b"x\n", 40 * MIB);
        let (table, taken) = measured(|| read_ops(&[path], &ReadOptions::default()).unwrap());
        assert!(taken <= 32, "{taken} MiB");
        assert_eq!(table.rows.len(), 1);
        let warnings: Vec<String> = table.warnings.iter().map(ToString::to_string).collect();
        assert!(
            warnings.iter().any(|warning| warning.contains("a row does not end within 4 MiB")),
            "{warnings:?}"
        );
    }
}
