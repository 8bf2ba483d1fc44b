//! A folder of capture traces: its list (`execution_details.json`), and what each trace was captured for.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use perf_models::graph_capture;
use serde_json::Value;
use trace_ingest::{
    ArgumentValue, Category, EventId, IngestError, ReadOptions, SignatureId, Trace, is_plain_name, read_path,
};
use trace2tree::{TraceTree, TreeOptions};

use super::windows::{CaptureWindow, windows};

/// Why a folder of captures cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CaptureError {
    /// The folder, or the list of captures in it, cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    #[diagnostic(code("captures/io"), help("check the path and its permissions"))]
    Io {
        /// Folder or file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The path is no folder.
    #[error("{path}: is not a folder", path = .path.display())]
    #[diagnostic(code("captures/not-a-folder"), help("pass the folder with the graph capture traces"))]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// The list of captures is not what it should be.
    #[error("{path}: {detail}; expected a list of {{\"file\", \"batch_size\", \"mode\"}}", path = .path.display())]
    #[diagnostic(code("captures/details"), help("delete the file; all traces are then read instead"))]
    Details {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
}

/// What was got over in a folder of captures.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CaptureWarning {
    /// The folder has no trace in it.
    #[error("{folder}: has no trace (*.json, *.json.gz, *.json.zst, *.zip)", folder = .folder.display())]
    #[diagnostic(code("captures"), severity(Warning))]
    NoTraces {
        /// The folder.
        folder: PathBuf,
    },
    /// An entry of the list of captures cannot be used.
    #[error("{path}: entry {index} skipped: {detail}", path = .path.display())]
    #[diagnostic(code("captures"), severity(Warning))]
    Entry {
        /// The list.
        path: PathBuf,
        /// Which entry, counted from 0.
        index: usize,
        /// What is wrong.
        detail: String,
    },
    /// A trace cannot be read.
    #[error(transparent)]
    #[diagnostic(code("captures"), severity(Warning), forward(0))]
    Unreadable(#[from] IngestError),
    /// A trace has no finished capture in it.
    #[error("{path}: has no graph capture", path = .path.display())]
    #[diagnostic(code("captures"), severity(Warning))]
    NoCapture {
        /// The trace.
        path: PathBuf,
    },
}

/// File name of the list of captures in their folder.
pub const EXECUTION_DETAILS: &str = "execution_details.json";

/// One captured trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFile {
    /// File name in the folder.
    pub file: String,
    /// What the graphs were captured for, in the unit that the engine counts its captures in: tokens or requests.
    /// `None` when nothing says it.
    pub batch_size: Option<i64>,
    /// Whether the list or an annotation says `batch_size`. Otherwise it is the first dimension of most operands, which
    /// finds the captures of a replay as well but may be something else.
    pub is_batch_size_stated: bool,
    /// How much of a step a graph covers.
    pub mode: CaptureMode,
}

/// How much of a step a captured graph covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// One graph is the whole step.
    Full,
    /// One graph for each piece between operators that cannot be captured, such as attention.
    Piecewise,
    /// What else an engine calls it. Which of the two it is, the number of captures in the trace says.
    Other(String),
}

impl CaptureMode {
    /// The mode of this name.
    #[must_use]
    pub fn from_name(name: &str) -> CaptureMode {
        match name {
            "FULL" => CaptureMode::Full,
            "PIECEWISE" => CaptureMode::Piecewise,
            other => CaptureMode::Other(other.to_owned()),
        }
    }

    /// The mode of a trace with this many captures.
    #[must_use]
    pub fn from_count(captures: usize) -> CaptureMode {
        if captures <= 1 { CaptureMode::Full } else { CaptureMode::Piecewise }
    }
}

impl fmt::Display for CaptureMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CaptureMode::Full => "FULL",
            CaptureMode::Piecewise => "PIECEWISE",
            CaptureMode::Other(name) => name,
        })
    }
}

/// Files and entries that cannot be used.
type Listed = (Vec<CaptureFile>, Vec<Arc<CaptureWarning>>);

/// Reads the list of captures in a folder; `None` when there is none.
fn read_list(folder: &Path) -> Result<Option<Listed>, CaptureError> {
    let path = folder.join(EXECUTION_DETAILS);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(CaptureError::Io { path, source }),
    };
    let wrong = |detail: String| CaptureError::Details { path: path.clone(), detail };
    let list: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("is not JSON ({error})")))?;
    let Value::Array(entries) = list else { return Err(wrong("is not a list".to_owned())) };
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        match capture_file(entry).and_then(|file| match folder.join(&file.file).is_file() {
            true => Ok(file),
            false => Err(format!("there is no file {:?} in the folder", file.file)),
        }) {
            Ok(file) => files.push(file),
            Err(detail) => {
                warnings.push(Arc::new(CaptureWarning::Entry { path: path.clone(), index, detail }))
            }
        }
    }
    Ok(Some((files, warnings)))
}

fn capture_file(entry: &Value) -> Result<CaptureFile, String> {
    let field = |name: &str| entry.get(name).unwrap_or(&Value::Null);
    let file = field("file").as_str().ok_or_else(|| format!("file is {}", field("file")))?;
    if !is_plain_name(file) {
        return Err(format!("file is {file:?}, expected the name of a file in the folder"));
    }
    let batch_size = match field("batch_size") {
        Value::Null => None,
        size => Some(size.as_i64().ok_or_else(|| format!("batch_size is {size}, not an integer"))?),
    };
    let mode = field("mode").as_str().ok_or_else(|| format!("mode is {}", field("mode")))?;
    let (file, mode) = (file.to_owned(), CaptureMode::from_name(mode));
    Ok(CaptureFile { file, batch_size, is_batch_size_stated: batch_size.is_some(), mode })
}

/// The list of captures as text. A batch size that nothing states is null.
fn text(files: &[CaptureFile]) -> String {
    let entry = |file: &CaptureFile| {
        let fields = [
            ("file", Value::from(file.file.as_str())),
            ("batch_size", Value::from(file.batch_size.filter(|_| file.is_batch_size_stated))),
            ("mode", Value::from(file.mode.to_string())),
        ];
        let lines: Vec<String> =
            fields.iter().map(|(name, value)| format!("    \"{name}\": {value}")).collect();
        format!("  {{\n{}\n  }}", lines.join(",\n"))
    };
    match files {
        [] => "[]".to_owned(),
        files => format!("[\n{}\n]", files.iter().map(entry).collect::<Vec<_>>().join(",\n")),
    }
}

/// Batch size and mode of a trace of captures.
///
/// vLLM and others put an annotation (`capture_256_FULL`) around each dummy run that they capture. When all
/// annotations name one size, or there are as many of them as dummy runs of vLLM, the first one states it. A trace
/// without has the size that is the first dimension of most operands, and the mode that the number of captures says;
/// so has the mode that an annotation does not give as `FULL` or `PIECEWISE`.
fn classify(file: String, trace: &Trace) -> CaptureFile {
    let mode = CaptureMode::from_count(capture_count(trace));
    let annotations = annotations(trace);
    let one_size = annotations.windows(2).all(|pair| pair[0].0 == pair[1].0);
    match annotations.first() {
        Some((size, name)) if one_size || annotations.len() == dummy_runs(trace) => {
            let named = CaptureMode::from_name(name);
            let mode = if matches!(named, CaptureMode::Other(_)) { mode } else { named };
            CaptureFile { file, batch_size: Some(*size), is_batch_size_stated: true, mode }
        }
        _ => {
            let batch_size = most_frequent_first_dimension(trace);
            CaptureFile { file, batch_size, is_batch_size_stated: false, mode }
        }
    }
}

/// Sizes and modes of the annotations around captures, by start.
fn annotations(trace: &Trace) -> Vec<(i64, &str)> {
    let events = trace.events();
    let mut found: Vec<(i64, EventId, (i64, &str))> = events
        .ids()
        .filter(|&event| events.category(event) == Category::USER_ANNOTATION)
        .filter_map(|event| Some((events.start(event), event, graph_capture(trace.name(event))?)))
        .collect();
    found.sort_unstable_by_key(|&(start, event, _)| (start, event));
    found.into_iter().map(|(_, _, capture)| capture).collect()
}

/// Number of calls that begin a capture.
fn capture_count(trace: &Trace) -> usize {
    let events = trace.events();
    let begins = trace.strings().classify(|name| name.contains("StreamBeginCapture"));
    let is_begin = |event: &EventId| {
        events.category(*event) == Category::CUDA_RUNTIME && begins[events.name(*event).index()]
    };
    events.ids().filter(is_begin).count()
}

/// Number of Python frames in which vLLM runs the model on nothing, as it does to capture it.
fn dummy_runs(trace: &Trace) -> usize {
    const FILE: &str = "vllm/v1/worker/gpu_model_runner.py(";
    let dummy = trace.strings().classify(|name| {
        let after = name.find(FILE).map(|at| &name[at + FILE.len()..]);
        after.is_some_and(|line| {
            let end = line.trim_start_matches(|c: char| c.is_ascii_digit());
            end.len() < line.len() && end.starts_with("): _dummy_run")
        })
    });
    trace.events().ids().filter(|&event| dummy[trace.events().name(event).index()]).count()
}

/// The integer that is the first dimension of most operands; of equally frequent ones the one met first.
fn most_frequent_first_dimension(trace: &Trace) -> Option<i64> {
    let events = trace.events();
    let mut firsts_by_signature: HashMap<SignatureId, Vec<i64>> = HashMap::new();
    // How often, and in which order they were met.
    let mut counts: HashMap<i64, (usize, usize)> = HashMap::new();
    for event in events.ids().filter(|&event| events.category(event) == Category::CPU_OP) {
        let Some(signature) = events.signature(event) else { continue };
        let firsts = firsts_by_signature.entry(signature).or_insert_with(|| {
            let dims = trace.argument(event, |signature| signature.dims);
            dims.map(first_dimensions).unwrap_or_default()
        });
        for &mut first in firsts {
            let met = counts.len();
            counts.entry(first).or_insert((0, met)).0 += 1;
        }
    }
    let (size, _) = counts.into_iter().max_by_key(|&(_, (count, met))| (count, std::cmp::Reverse(met)))?;
    Some(size)
}

fn first_dimensions(dims: &ArgumentValue) -> Vec<i64> {
    let operands = dims.as_list().unwrap_or_default();
    operands.iter().filter_map(|operand| operand.as_list()?.first()?.as_int()).collect()
}

/// The capture traces of a folder. Each is read when a replay first needs it, and once; of what is read, only the
/// captured calls are kept.
#[derive(Debug)]
pub struct CaptureLibrary {
    folder: PathBuf,
    files: Vec<CaptureFile>,
    is_listed: bool,
    /// Captures of each file; `None` until it is read.
    captures: Vec<Option<Vec<CaptureWindow>>>,
    warnings: Vec<Arc<CaptureWarning>>,
}

impl CaptureLibrary {
    /// Opens a folder. What each trace was captured for, `execution_details.json` in it says. Without that file the
    /// traces (`*.json`, `*.json.gz`, `*.json.zst`, `*.zip`; not those in folders of the folder) are read
    /// and classified: by the annotations that engines put around captures, else by shapes and number of captures.
    ///
    /// # Errors
    /// When the folder cannot be read, or the list in it is malformed. A trace or an entry that cannot be used is a
    /// warning ([`CaptureLibrary::warnings`]).
    pub fn open(folder: &Path, reading: &ReadOptions<'_>) -> Result<CaptureLibrary, CaptureError> {
        let failed = |source| CaptureError::Io { path: folder.to_path_buf(), source };
        if !fs::metadata(folder).map_err(failed)?.is_dir() {
            return Err(CaptureError::NotAFolder { path: folder.to_path_buf() });
        }
        let listed = read_list(folder)?;
        let mut library = CaptureLibrary {
            folder: folder.to_path_buf(),
            files: Vec::new(),
            is_listed: listed.is_some(),
            captures: Vec::new(),
            warnings: Vec::new(),
        };
        if let Some((files, warnings)) = listed {
            library.captures.resize_with(files.len(), || None);
            (library.files, library.warnings) = (files, warnings);
            return Ok(library);
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            names.extend(entry.file_name().into_string().ok().filter(|name| is_trace(name, &entry.path())));
        }
        names.sort_few();
        if names.is_empty() {
            library.warnings.push(Arc::new(CaptureWarning::NoTraces { folder: folder.to_path_buf() }));
        }
        for file in names {
            match read(folder, file, reading) {
                Ok((file, captures)) => {
                    library.warn_if_empty(&file.file, &captures);
                    library.files.push(file);
                    library.captures.push(Some(captures));
                }
                Err(error) => library.warnings.push(Arc::new(error.into())),
            }
        }
        Ok(library)
    }

    /// The captured traces.
    #[must_use]
    pub fn files(&self) -> &[CaptureFile] {
        &self.files
    }

    /// Whether `execution_details.json` said what they are, rather than the traces themselves.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// What was got over, reading traces later included.
    #[must_use]
    pub fn warnings(&self) -> &[Arc<CaptureWarning>] {
        &self.warnings
    }

    /// Writes what is known of the traces in the form of `execution_details.json`: as that file in their folder it saves
    /// the next use from reading all of them. A batch size that neither a list nor an annotation states is null.
    pub fn write_details(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(text(&self.files).as_bytes())
    }

    /// The captures of a file, in order; none when it cannot be read.
    pub(super) fn captures(&mut self, file: usize, reading: &ReadOptions<'_>) -> &[CaptureWindow] {
        if self.captures[file].is_none() {
            let name = self.files[file].file.clone();
            let captures = match read(&self.folder, name.clone(), reading) {
                Ok((_, captures)) => {
                    self.warn_if_empty(&name, &captures);
                    captures
                }
                Err(error) => {
                    self.warnings.push(Arc::new(error.into()));
                    Vec::new()
                }
            };
            self.captures[file] = Some(captures);
        }
        self.read_captures(file)
    }

    /// The captures of a file that was read already.
    pub(super) fn read_captures(&self, file: usize) -> &[CaptureWindow] {
        self.captures.get(file).and_then(Option::as_deref).unwrap_or_default()
    }

    fn warn_if_empty(&mut self, file: &str, captures: &[CaptureWindow]) {
        if captures.is_empty() {
            self.warnings.push(Arc::new(CaptureWarning::NoCapture { path: self.folder.join(file) }));
        }
    }
}

fn is_trace(name: &str, path: &Path) -> bool {
    let endings = [".json", ".json.gz", ".json.zst", ".zip"];
    name != EXECUTION_DETAILS && endings.iter().any(|ending| name.ends_with(ending)) && path.is_file()
}

/// What a trace was captured for, and its captures.
fn read(
    folder: &Path,
    file: String,
    reading: &ReadOptions<'_>,
) -> Result<(CaptureFile, Vec<CaptureWindow>), IngestError> {
    let trace = read_path(&folder.join(&file), reading)?;
    let file = classify(file, &trace);
    let tree = TraceTree::build(trace, &TreeOptions { python_frames: true, ..TreeOptions::default() });
    Ok((file, windows(&tree)))
}

#[cfg(test)]
mod details_tests {
    use super::*;

    fn folder(details: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(EXECUTION_DETAILS), details).unwrap();
        for file in ["a.json", "b.json.gz"] {
            fs::write(folder.path().join(file), "{}").unwrap();
        }
        folder
    }

    fn file(name: &str, batch_size: Option<i64>, mode: CaptureMode) -> CaptureFile {
        let is_batch_size_stated = batch_size.is_some();
        CaptureFile { file: name.to_owned(), batch_size, is_batch_size_stated, mode }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let files = vec![
            file("a.json", Some(32), CaptureMode::Full),
            file("b.json.gz", None, CaptureMode::Other("DECODE \"x\"".to_owned())),
        ];
        let folder = folder("");
        let path = folder.path().join(EXECUTION_DETAILS);
        fs::write(&path, text(&files)).unwrap();
        assert_eq!(
            fs::read_to_string(path).unwrap(),
            "[\n  {\n    \"file\": \"a.json\",\n    \"batch_size\": 32,\n    \"mode\": \"FULL\"\n  },\n  {\n    \
             \"file\": \"b.json.gz\",\n    \"batch_size\": null,\n    \"mode\": \"DECODE \\\"x\\\"\"\n  }\n]"
        );
        let (read, warnings) = read_list(folder.path()).unwrap().unwrap();
        assert_eq!((read, warnings.len()), (files, 0));
        assert_eq!(text(&[]), "[]");
    }

    #[test]
    fn entries_that_cannot_be_used_are_left_out_and_told() {
        let folder = folder(
            r#"[{"file": "a.json", "batch_size": "bad", "mode": "FULL"}, {"file": "b.json.gz", "batch_size": 8,
            "mode": "PIECEWISE", "more": 1}, {"file": "gone.json", "batch_size": 8, "mode": "FULL"}, 7,
            {"file": "a.json", "batch_size": 1.5, "mode": "FULL"}, {"file": "a.json", "batch_size": 1}]"#,
        );
        let (files, warnings) = read_list(folder.path()).unwrap().unwrap();
        assert_eq!(files, [file("b.json.gz", Some(8), CaptureMode::Piecewise)]);
        let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let endings = [
            "entry 0 skipped: batch_size is \"bad\", not an integer",
            "entry 2 skipped: there is no file \"gone.json\" in the folder",
            "entry 3 skipped: file is null",
            "entry 4 skipped: batch_size is 1.5, not an integer",
            "entry 5 skipped: mode is null",
        ];
        assert_eq!(said.len(), endings.len());
        for (said, ending) in said.iter().zip(endings) {
            assert!(said.ends_with(ending), "{said}");
        }
    }

    #[test]
    fn names_that_lead_out_of_the_folder_are_skipped() {
        let outside = tempfile::NamedTempFile::new().unwrap();
        for name in [outside.path().to_str().unwrap(), "./a.json", "../x.json", "..", ""] {
            let details = format!(r#"[{{"file": "{name}", "mode": "FULL"}}]"#);
            let (files, warnings) = read_list(folder(&details).path()).unwrap().unwrap();
            assert!(files.is_empty(), "{name}");
            assert!(warnings[0].to_string().contains("expected the name of a file"), "{}", warnings[0]);
        }
    }

    #[test]
    fn a_list_that_is_none_is_an_error_and_no_list_is_none() {
        for (details, detail) in [("{}", "is not a list"), ("[", "is not JSON")] {
            let error = read_list(folder(details).path()).unwrap_err().to_string();
            assert!(error.contains(detail) && error.contains(EXECUTION_DETAILS), "{error}");
        }
        assert!(read_list(tempfile::tempdir().unwrap().path()).unwrap().is_none());
    }
}

#[cfg(test)]
mod classify_tests {
    use super::*;
    use trace_ingest::{EventArguments, TraceBuilder};

    enum Part<'p> {
        Annotation(&'p str),
        Frame(&'p str),
        Operator(&'p [&'p [i64]]),
        Begin,
    }
    use Part::{Annotation, Begin, Frame, Operator};

    const DUMMY: &str = "/opt/vllm/v1/worker/gpu_model_runner.py(42): _dummy_run";

    fn of(parts: &[Part<'_>]) -> (Option<i64>, CaptureMode) {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        for (at, part) in parts.iter().enumerate() {
            let list = |items: Vec<ArgumentValue>| ArgumentValue::List(items);
            let (category, name, signature) = match part {
                Annotation(name) => (Category::USER_ANNOTATION, *name, None),
                Frame(name) => (Category::PYTHON_FUNCTION, *name, None),
                Begin => (Category::CUDA_RUNTIME, "hipStreamBeginCapture", None),
                Operator(shapes) => {
                    let shape = |shape: &&[i64]| list(shape.iter().map(|&d| ArgumentValue::Int(d)).collect());
                    let dims = list(shapes.iter().map(shape).collect());
                    (Category::CPU_OP, "aten::mm", Some(builder.signature([Some(dims), None, None, None])))
                }
            };
            let arguments = EventArguments { signature, ..EventArguments::default() };
            builder.event(category, name, track, at as i64 * 10, 5, arguments);
        }
        let file = classify(String::new(), &builder.finish());
        (file.batch_size, file.mode)
    }

    #[test]
    fn without_annotation_shapes_say_the_size_and_captures_the_mode() {
        let mm = Operator(&[&[4, 8], &[8, 16]]);
        assert_eq!(of(&[Frame(DUMMY), Begin, mm]), (Some(4), CaptureMode::Full), "4 was met before 8");
        let operators = [Begin, Begin, Operator(&[&[4, 8], &[8, 16], &[]]), Operator(&[&[8]])];
        assert_eq!(of(&operators), (Some(8), CaptureMode::Piecewise));
        assert_eq!(of(&[]), (None, CaptureMode::Full));
    }

    #[test]
    fn the_first_annotation_says_both_when_each_dummy_run_has_one() {
        let parts =
            [Frame(DUMMY), Annotation("capture_256_PIECEWISE"), Frame(DUMMY), Annotation("capture_8_FULL")];
        assert_eq!(of(&parts), (Some(256), CaptureMode::Piecewise));
        let sizes_of_more_runs = [Frame(DUMMY), Annotation("capture_256_FULL"), Annotation("capture_8_FULL")];
        assert_eq!(of(&sizes_of_more_runs), (None, CaptureMode::Full));
    }

    #[test]
    fn a_mode_of_another_name_follows_from_the_captures() {
        let decode = Annotation("capture_32_DECODE");
        assert_eq!(of(&[decode, Begin]), (Some(32), CaptureMode::Full));
        assert_eq!(
            of(&[Annotation("capture_256_mixed_prefill"), Begin, Begin]),
            (Some(256), CaptureMode::Piecewise)
        );
    }

    #[test]
    fn other_frames_are_no_dummy_runs() {
        for name in ["vllm/v1/worker/gpu_model_runner.py(): _dummy_run", "gpu_model_runner.py(4): _dummy_run"]
        {
            let parts =
                [Frame(name), Annotation("capture_256_FULL"), Frame(DUMMY), Annotation("capture_8_FULL")];
            assert_eq!(of(&parts).0, None, "{name}");
        }
    }
}
