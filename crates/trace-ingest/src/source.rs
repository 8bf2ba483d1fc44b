//! From a file to the text in it: how to read, opening, decompressing, unpacking.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[cfg(feature = "zip")]
use crc32fast::Hasher;

use crate::error::IngestError;
use crate::format::Format;
use crate::gzip::{self, GzipText};
use crate::warning::Warning;

/// How far reading has come, in bytes of the file (compressed, if it is).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub bytes: u64,
    /// Size of the file; 0 of a stream, whose size is not known.
    pub total: u64,
}

/// How to read a trace. The defaults suit every use.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// Threads that parse; `None` takes as many as the machine has. The result is the same for any number.
    pub threads: Option<usize>,
    /// Called every now and then from a thread that reads.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Set from another thread, it ends reading with [`IngestError::Stopped`].
    pub stop: Option<&'a AtomicBool>,
    /// Leave out Python frames, often most events of a trace with stacks: in Kineto JSON complete events of
    /// category `python_function`, where the phase stands before the category, as profilers write it; in PyTorch's Perfetto
    /// traces all slices of this category. They keep their
    /// place in the numbering of entries, see [`crate::Trace::skipped_frames`].
    pub skip_python_frames: bool,
    /// What of exports of Nsight Systems.
    pub nsys: NsysReading<'a>,
    /// A file that is in memory. Every reader that is given its path takes it from there.
    pub in_memory: Option<MemoryFile<'a>>,
    /// Formats beside those of this crate.
    pub formats: &'a [&'a Format],
    /// Whether a file may be read that stands beside the named one and belongs to it, such as another table of a run; the
    /// recording is read without it otherwise. All may be if this is not set.
    pub beside: Option<&'a (dyn Fn(&Path) -> bool + Sync)>,
}

/// The content of a file that is not in the file system, and the path that stands for it, in messages too.
#[derive(Clone, Copy)]
pub struct MemoryFile<'a> {
    /// Such as `-`, which messages call standard input ([`is_standard_input`]).
    pub path: &'a Path,
    /// Its bytes, compressed or not.
    pub content: &'a dyn FileContent,
}

/// Bytes that may be fetched when a reader first asks for them.
pub trait FileContent: Sync {
    /// All of them.
    fn bytes(&self) -> io::Result<&[u8]>;
}

impl FileContent for &[u8] {
    fn bytes(&self) -> io::Result<&[u8]> {
        Ok(self)
    }
}

/// What is read of an export of Nsight Systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct NsysReading<'a> {
    /// Read the calls of the operating system (table `OSRT_API`), as events of category `os_runtime`. There may be more of
    /// them than of all else.
    pub os_calls: bool,
    /// Which of the names of a kernel.
    pub kernel_names: NsysKernelNames,
    /// Element type that all tensors of operators are taken to have, as PyTorch spells it (`c10::BFloat16`): NVTX ranges
    /// record shapes alone.
    pub element_type: Option<&'a str>,
    /// Keep the texts of ranges as recorded ([`crate::NvtxRange::text`]), where the number of the call makes most distinct.
    pub whole_texts: bool,
    /// Leave out what other processes did than the one of this packed number of machine and process
    /// ([`crate::nsys::Session::processes`]).
    pub process: Option<u64>,
}

/// Names of kernels in an export of Nsight Systems. Where one is missing, the next in this order that is there stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NsysKernelNames {
    /// With template arguments and parameters.
    #[default]
    Demangled,
    /// The function alone.
    Short,
    /// As the linker knows it.
    Mangled,
}

impl<'a> ReadOptions<'a> {
    /// The content of the file, if it is in memory.
    pub(crate) fn memory(&self, path: &Path) -> Option<io::Result<&'a [u8]>> {
        self.in_memory.filter(|file| file.path == path).map(|file| file.content.bytes())
    }

    /// Number of threads to parse with, at least one.
    pub fn thread_count(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(available).max(1)
    }

    /// Whether who asked no longer wants the answer.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// How much of a text a format sees to recognise it, in bytes.
const HEAD: usize = 64 << 10;

/// Compression in compression in compression: a trace has one layer, an upload may add a second.
const MOST_LAYERS: usize = 4;

/// How much larger unpacked text may be than the part of the file that it comes from, all layers together. Traces are
/// ten to forty times larger; gzip cannot do more than about 1030 times, zstd and layers can do any.
const MOST_EXPANSION: u64 = 256;

/// Unpacked text that any file may have, however small it is, in bytes.
const ALWAYS_UNPACKED: u64 = 256 << 20;

/// The decompressed text of a file, as a stream.
pub struct TextSource<'a> {
    pub(crate) head: Vec<u8>,
    pub(crate) text: Box<dyn Read + Send + 'a>,
    /// Whether there may be files beside it.
    #[cfg_attr(not(feature = "rocprof"), allow(dead_code))]
    pub(crate) is_on_disk: bool,
    /// Faults that did not stop opening.
    pub(crate) warnings: Vec<Warning>,
    /// Whether reading `text` broke off because it is too much; known when reading is over.
    pub(crate) expansion: Expansion,
}

impl TextSource<'_> {
    /// The beginning of the text, up to 64 KiB of it, by which formats recognise it. Reading begins there, too.
    pub fn head(&self) -> &[u8] {
        &self.head
    }
}

impl Read for TextSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.text.read(buffer)
    }
}

/// How much was read from a file, and whether what it unpacks to is more than [`MOST_EXPANSION`] allows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expansion {
    packed: Arc<AtomicU64>,
    exceeded: Arc<AtomicBool>,
}

impl Expansion {
    /// What reading came to, unless it broke off because the text is too much.
    ///
    /// # Errors
    /// `outcome`'s, and [`IngestError::TooLong`].
    pub(crate) fn end<T>(&self, path: &Path, outcome: Result<T, IngestError>) -> Result<T, IngestError> {
        if !self.exceeded.load(Ordering::Relaxed) {
            return outcome;
        }
        let (what, limit) = ("its decompressed text", format!("{MOST_EXPANSION} times its size"));
        Err(IngestError::TooLong { path: path.to_path_buf(), what, limit })
    }

    /// Bytes that what was read so far may unpack to: so many of any file, however small it is.
    #[cfg_attr(not(any(feature = "kineto", feature = "rocprof")), allow(dead_code))]
    pub(crate) fn limit(&self, always: u64) -> u64 {
        self.packed.load(Ordering::Relaxed).saturating_mul(MOST_EXPANSION).max(always)
    }

    /// Unpacked text that ends with an error where it becomes too much.
    fn limited<'a>(&self, source: impl Read + Send + 'a) -> Box<dyn Read + Send + 'a> {
        Box::new(Limited { source, bytes: 0, expansion: self.clone() })
    }
}

/// Opens `path` and looks through compression to the text.
pub(crate) fn open<'a>(path: &Path, options: &ReadOptions<'a>) -> Result<TextSource<'a>, IngestError> {
    let (file, total) = open_packed(path, options)?;
    let source = unpack(path, file, total, options)?;
    Ok(TextSource { is_on_disk: options.memory(path).is_none(), ..source })
}

/// Looks through the compression of a file, of `total` bytes, to the text.
pub(crate) fn unpack<'a>(
    path: &Path,
    packed: impl Read + Send + 'a,
    total: u64,
    options: &ReadOptions<'a>,
) -> Result<TextSource<'a>, IngestError> {
    let mut warnings = Vec::new();
    let expansion = Expansion::default();
    let packed =
        Counting { source: packed, bytes: 0, total, options: *options, packed: expansion.packed.clone() };
    let mut text: Box<dyn Read + Send + 'a> = Box::new(packed);
    for layer in 0..MOST_LAYERS {
        let (head, outcome) = read_head(&mut text);
        if head.is_empty() {
            return Err(match outcome {
                Err(source) => IngestError::Io { path: path.to_path_buf(), source },
                Ok(()) => IngestError::Empty { path: path.to_path_buf() },
            });
        }
        // An error behind the head comes up again when reading gets there; to be sure it does, it is put
        // behind the head here.
        let ending: Box<dyn Read + Send + 'a> = match outcome {
            Ok(()) => text,
            Err(error) => Box::new(Failing(Some(error))),
        };
        let whole = Cursor::new(head.clone()).chain(ending);
        text = if head.starts_with(&gzip::MAGIC) {
            expansion.limited(GzipText::new(whole))
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            expansion.limited(zstd_text(path, whole)?)
        } else if is_archive(&head) && layer == 0 {
            open_member(path, options, &expansion, &mut warnings)?
        } else {
            let text = Box::new(whole);
            return Ok(TextSource { head, text, is_on_disk: false, warnings, expansion });
        };
    }
    let detail = format!("has more than {MOST_LAYERS} layers of compression");
    Err(IngestError::Archive { path: path.to_path_buf(), detail })
}

/// Whether a file that begins so is a zip archive.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04")
}

#[cfg(feature = "zstd")]
fn zstd_text<'a>(path: &Path, packed: impl Read + Send + 'a) -> Result<impl Read + Send + 'a, IngestError> {
    let failed = |source| IngestError::Io { path: path.to_path_buf(), source };
    zstd::stream::read::Decoder::new(packed).map_err(failed)
}

#[cfg(not(feature = "zstd"))]
fn zstd_text<R: Read>(path: &Path, _: R) -> Result<R, IngestError> {
    Err(IngestError::NotCompiled { path: path.to_path_buf(), what: "compressed with zstd", feature: "zstd" })
}

/// Whether a path stands for standard input: `-`. A file of this name is `./-`. What it contains is for the program to say
/// ([`ReadOptions::in_memory`]).
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What is packed: a file, on disk or in memory.
trait Packed: Read + Seek + Send {}

impl<P: Read + Seek + Send> Packed for P {}

/// The bytes of a file as they are, and how many there are.
fn open_packed<'a>(
    path: &Path,
    options: &ReadOptions<'a>,
) -> Result<(Box<dyn Packed + 'a>, u64), IngestError> {
    let failed = |source| IngestError::Io { path: path.to_path_buf(), source };
    if let Some(content) = options.memory(path) {
        let bytes = content.map_err(failed)?;
        return Ok((Box::new(Cursor::new(bytes)), bytes.len() as u64));
    }
    let metadata = std::fs::metadata(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound if path.to_string_lossy().contains(['*', '?', '[']) => {
            IngestError::Pattern { path: path.to_path_buf() }
        }
        _ => failed(source),
    })?;
    if metadata.is_dir() {
        return Err(IngestError::Directory { path: path.to_path_buf(), recordings: recordings_below(path) });
    }
    Ok((Box::new(File::open(path).map_err(failed)?), metadata.len()))
}

/// The beginning of a stream, and how reading it ended.
pub(crate) fn read_head(source: &mut dyn Read) -> (Vec<u8>, io::Result<()>) {
    let mut head = vec![0; HEAD];
    let (length, outcome) = read_full(source, &mut head);
    head.truncate(length);
    (head, outcome)
}

/// Fills a buffer as far as the source has bytes: how many, and how reading broke off if it did.
pub(crate) fn read_full(source: &mut dyn Read, buffer: &mut [u8]) -> (usize, io::Result<()>) {
    let mut length = 0;
    while length < buffer.len() {
        match source.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (length, Err(error)),
        }
    }
    (length, Ok(()))
}

#[cfg(not(feature = "zip"))]
fn open_member<'a>(
    path: &Path,
    _: &ReadOptions<'a>,
    _: &Expansion,
    _: &mut Vec<Warning>,
) -> Result<Box<dyn Read + Send + 'a>, IngestError> {
    Err(IngestError::NotCompiled { path: path.to_path_buf(), what: "a zip archive", feature: "zip" })
}

/// The trace in a zip archive: its first member whose name ends in `.json`, `.xplane.pb` or `.pftrace` (or one
/// of these and `.gz`), else its first file.
#[cfg(feature = "zip")]
fn open_member<'a>(
    path: &Path,
    options: &ReadOptions<'a>,
    expansion: &Expansion,
    warnings: &mut Vec<Warning>,
) -> Result<Box<dyn Read + Send + 'a>, IngestError> {
    let archive_error = |detail: String| IngestError::Archive { path: path.to_path_buf(), detail };
    let damaged =
        |error: zip::result::ZipError| archive_error(format!("the zip archive cannot be read ({error})"));
    let failed = |source| IngestError::Io { path: path.to_path_buf(), source };

    let mut archive = zip::ZipArchive::new(open_packed(path, options)?.0).map_err(damaged)?;
    let files: Vec<String> = archive
        .file_names()
        .flatten()
        .filter(|name| !name.ends_with('/'))
        .map(|name| name.to_string())
        .collect();
    let Some(chosen) = files.iter().find(|name| is_trace(name)).or_else(|| files.first()) else {
        return Err(archive_error("the zip archive is empty".to_string()));
    };
    if files.len() > 1 {
        warnings.push(Warning::OtherArchiveMembers { read: chosen.clone(), ignored: files.len() as u64 - 1 });
    }
    let (start, size, method, checksum) = {
        let member = archive.by_name(chosen).map_err(damaged)?;
        if member.encrypted() {
            return Err(archive_error(format!("member {chosen:?} of the zip archive is encrypted")));
        }
        let start =
            member.data_start().ok_or_else(|| archive_error("the zip archive has no data".to_string()))?;
        (start, member.compressed_size(), member.compression(), member.crc32())
    };
    let mut file = open_packed(path, options)?.0;
    file.seek(io::SeekFrom::Start(start)).map_err(failed)?;
    let counter = expansion.packed.clone();
    let packed =
        Counting { source: file.take(size), bytes: 0, total: size, options: *options, packed: counter };
    let sum = Hasher::new();
    match method {
        zip::CompressionMethod::Stored => Ok(Box::new(Checked { source: packed, sum, checksum })),
        zip::CompressionMethod::Deflated => {
            let source = flate2::read::DeflateDecoder::new(packed);
            Ok(expansion.limited(Checked { source, sum, checksum }))
        }
        other => Err(archive_error(format!(
            "member {chosen:?} is compressed with {other}, which is not supported"
        ))),
    }
}

/// A member of an archive that fails at its end where it is not what was packed.
#[cfg(feature = "zip")]
struct Checked<R> {
    source: R,
    sum: Hasher,
    checksum: u32,
}

#[cfg(feature = "zip")]
impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.sum.update(&buffer[..read]);
        if read == 0 && !buffer.is_empty() && self.sum.clone().finalize() != self.checksum {
            return Err(gzip::corrupt("corrupt zip member does not have a matching checksum"));
        }
        Ok(read)
    }
}

/// Whether a file is named as traces are.
fn is_trace(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    [".json", ".xplane.pb", ".pftrace"].iter().any(|ending| name.ends_with(ending))
}

/// The last part of a path, in which `\u{fffd}` stands for what is not UTF-8; `stdin` for standard input.
pub(crate) fn file_name(path: &Path) -> String {
    if is_standard_input(path) {
        return "stdin".to_string();
    }
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Files of a directory that are named as recordings are, and those of the runs below it where JAX and TensorFlow put
/// their profiles. Sorted by path.
fn recordings_below(directory: &Path) -> Vec<PathBuf> {
    let entries = |directory: &Path| {
        let found = std::fs::read_dir(directory).into_iter().flatten();
        found.filter_map(|entry| Some(entry.ok()?.path())).collect::<Vec<PathBuf>>()
    };
    let is_recording = |path: &PathBuf| {
        let name = file_name(path);
        let name = name.strip_suffix(".zst").unwrap_or(&name);
        is_trace(name) || name.ends_with("_results.db") || name.starts_with("ops_perf_results")
    };
    let runs = entries(&directory.join("plugins/profile"));
    let found = entries(directory).into_iter().chain(runs.iter().flat_map(|run| entries(run)));
    let mut recordings: Vec<PathBuf> = found.filter(is_recording).collect();
    recordings.sort();
    recordings
}

/// Whether an error of reading comes from damaged compression: what was read before is sound.
#[cfg(any(feature = "metal", feature = "rocprof"))]
pub(crate) fn is_damage(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    matches!(kind, UnexpectedEof | InvalidData | InvalidInput | Other)
}

/// Reports how much was read.
struct Counting<'a, R> {
    source: R,
    bytes: u64,
    total: u64,
    options: ReadOptions<'a>,
    packed: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.options.is_stopped() {
            // A file that ends here; `open_one_of` says why.
            return Ok(0);
        }
        let read = self.source.read(buffer)?;
        self.bytes += read as u64;
        self.packed.fetch_add(read as u64, Ordering::Relaxed);
        if let Some(progress) = self.options.progress {
            progress(Progress { bytes: self.bytes, total: self.total });
        }
        Ok(read)
    }
}

/// Text that is unpacked, up to [`MOST_EXPANSION`].
struct Limited<R> {
    source: R,
    bytes: u64,
    expansion: Expansion,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.bytes += read as u64;
        if self.bytes > ALWAYS_UNPACKED && self.bytes > self.expansion.limit(ALWAYS_UNPACKED) {
            self.expansion.exceeded.store(true, Ordering::Relaxed);
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "unpacks to far more than a trace would",
            ));
        }
        Ok(read)
    }
}

/// Whether a name out of data is that of something in a folder, which no path is that leads elsewhere.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let is_one = matches!(components.next(), Some(Component::Normal(only)) if only == name);
    is_one && components.next().is_none() && !name.contains(['/', '\\', '\0'])
}

/// Fails with the error that was met before.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
