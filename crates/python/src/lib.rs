//! `pytracelens._native`: reports, tables and answers for Python. The package around it is in `python/pytracelens`.

mod analysis;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use answers::envelope::{Answer, Asked, Input, Role, code_of};
use answers::model::chosen_architecture;
use answers::{
    Analysed, AnyReporter, DiffReporter, Error, GateReader, Report, Reporter, Run, TreeQuery, TreeStart,
    WhyError, table_named,
};
use perf_gate::{Gate, Thresholds};
use polars::prelude::CompatLevel;
use polars_arrow::array::{Array, StructArray};
use polars_arrow::datatypes::{ArrowDataType, Field};
use polars_arrow::ffi::export_iterator;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use report_writers::{CsvDirectory, Workbook, Writer, write_json};
use sheets::Unit;
use trace_ingest::{Progress, ReadOptions};

pyo3::create_exception!(_native, TraceError, pyo3::exceptions::PyException, "A question that has no answer.");
pyo3::create_exception!(_native, ReadError, TraceError, "A file that cannot be read as a recording.");
pyo3::create_exception!(_native, NoDeviceEvents, TraceError, "A recording in which no device did anything.");
pyo3::create_exception!(_native, NotComparable, TraceError, "Runs that cannot be compared.");
pyo3::create_exception!(_native, InternalError, TraceError, "A fault of the library; please report it.");

/// An exception with the code of what went wrong.
fn failed(error: &Error) -> PyErr {
    let (text, code) = (error.to_string(), code_of(error));
    let raised = match error {
        Error::NoGpuEvents { .. } | Error::NoDevicePlane { .. } => NoDeviceEvents::new_err(text),
        Error::Ingest(_) => ReadError::new_err(text),
        Error::NothingInCommon { .. } => NotComparable::new_err(text),
        _ => TraceError::new_err(text),
    };
    with_code(raised, &code)
}

fn with_code(raised: PyErr, code: &str) -> PyErr {
    Python::attach(|py| {
        // An exception takes any attribute.
        let _ = raised.value(py).setattr("code", code);
    });
    raised
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    with_code(TraceError::new_err(error.to_string()), "bad-value")
}

/// Does work without the interpreter's lock on a thread of its own, while this one looks for signals and tells how far
/// reading has come; what either raises ends the work.
fn without_lock<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    threads: Option<usize>,
    work: impl FnOnce(ReadOptions<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let far: std::sync::Mutex<Option<Progress>> = std::sync::Mutex::new(None);
    let note = |progress: Progress| {
        if let Ok(mut far) = far.lock() {
            *far = Some(progress);
        }
    };
    py.detach(|| {
        std::thread::scope(|scope| {
            let reading =
                ReadOptions { threads, stop: Some(&stop), progress: Some(&note), ..ReadOptions::default() };
            let worker = scope.spawn(move || work(reading));
            let mut raised = None;
            while !worker.is_finished() {
                std::thread::park_timeout(Duration::from_millis(2));
                let now = far.lock().ok().and_then(|mut far| far.take());
                let looked = Python::attach(|py| {
                    py.check_signals()?;
                    if let (Some(tell), Some(now)) = (progress, now) {
                        tell.call1(py, (now.bytes, now.total))?;
                    }
                    Ok(())
                });
                if let Err(error) = looked {
                    stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            }
            match (worker.join(), raised) {
                (_, Some(raised)) => Err(raised),
                (Ok(outcome), None) => outcome.map_err(|error| failed(&error)),
                (Err(_), None) => {
                    let text = "the library failed; please report this as a bug with the recording";
                    Err(with_code(InternalError::new_err(text), "internal"))
                }
            }
        })
    })
}

/// A table of a report.
#[pyclass(frozen, module = "pytracelens._native")]
struct Table(sheets::Table);

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    fn __len__(&self) -> usize {
        self.0.height()
    }

    /// Name, unit (or None) and meaning of each column.
    fn described(&self) -> Vec<(String, Option<&'static str>, &'static str)> {
        let columns = self.0.columns().iter();
        columns
            .map(|column| {
                (column.name().to_owned(), column.kind().unit().map(Unit::symbol), column.description())
            })
            .collect()
    }

    /// The cells of a row as texts.
    fn texts(&self, row: usize) -> Vec<String> {
        self.0.columns().iter().map(|column| column.cell(row).text().into_owned()).collect()
    }

    /// The rows as a stream of the Arrow C interface. Texts are `large_string`; units and meanings are in the metadata of the
    /// fields.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A wish that a producer may leave unfulfilled.
        drop(requested_schema);
        let frame = self.0.to_dataframe().map_err(refused)?;
        let fields: Vec<Field> = frame
            .columns()
            .iter()
            .zip(self.0.columns())
            .map(|(field, column)| {
                let mut metadata = polars_arrow::datatypes::Metadata::new();
                metadata.insert("description".into(), column.description().into());
                if let Some(unit) = column.kind().unit() {
                    metadata.insert("unit".into(), unit.symbol().into());
                }
                let field = field.field().to_arrow(CompatLevel::oldest());
                field.with_metadata(metadata)
            })
            .collect();
        let data_type = ArrowDataType::Struct(fields.clone());
        let chunks: Vec<Box<dyn Array>> = frame
            .iter_chunks(CompatLevel::oldest(), true)
            .map(|chunk| {
                let (length, arrays) = (chunk.len(), chunk.into_arrays());
                Box::new(StructArray::new(data_type.clone(), length, arrays, None)) as Box<dyn Array>
            })
            .collect();
        let field = Field::new("".into(), data_type, false);
        let stream = export_iterator(Box::new(chunks.into_iter().map(Ok)), field);
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// A report that was made.
#[pyclass(frozen, module = "pytracelens._native")]
struct NativeReport {
    report: Arc<Report>,
    paths: Vec<PathBuf>,
    command: &'static str,
}

impl NativeReport {
    fn answer(&self) -> Answer<'_> {
        let inputs = match self.paths.as_slice() {
            [baseline, candidate] => vec![
                Input::of(baseline, Role::Baseline, 1, true),
                Input::of(candidate, Role::Candidate, 2, true),
            ],
            paths => Input::all(paths, Role::Trace, true),
        };
        Answer::new(Asked { name: self.command.to_owned(), options: Vec::new() }, inputs)
    }

    fn write_csvs(&self, path: &Path) -> PyResult<()> {
        CsvDirectory.write(&self.report.tables, path).map(|_| ()).map_err(refused)
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(refused)
}

#[pymethods]
impl NativeReport {
    /// Names of the tables, in order.
    fn names(&self) -> Vec<String> {
        self.report.tables.tables().iter().map(|table| table.name().to_owned()).collect()
    }

    /// A table.
    fn table(&self, name: &str) -> PyResult<Table> {
        let table = table_named(self.report.tables.tables(), name);
        table.map(|table| Table(table.clone())).map_err(|error| PyKeyError::new_err(error.to_string()))
    }

    /// The answer as JSON, without its tables.
    fn answer_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let mut answer = self.answer().of_report(&self.report);
            answer.tables.clear();
            json(&answer)
        })
    }

    /// All that is known of one thing, as JSON.
    fn why_json(&self, target: &str, top: usize) -> PyResult<String> {
        let why = self.report.why(target, top).map_err(|error| match error {
            WhyError::Unknown { .. } => PyKeyError::new_err(error.to_string()),
            error => refused(error),
        })?;
        json(&why)
    }

    /// A part of the call tree.
    #[pyo3(signature = (uid, name, callers, depth, min_us, top))]
    fn tree(
        &self,
        uid: Option<u32>,
        name: Option<String>,
        callers: bool,
        depth: usize,
        min_us: f64,
        top: usize,
    ) -> PyResult<Table> {
        let Analysed::Trace(analysis) = &self.report.analysis else {
            return Err(refused("this recording has no call tree; its tables have what is known"));
        };
        let start = match (uid, name) {
            (Some(uid), _) => TreeStart::Uid(uid),
            (None, Some(name)) => TreeStart::Name(name),
            (None, None) => TreeStart::Roots,
        };
        let found = TreeQuery { start, callers, depth, min_us, top }.table(analysis).map_err(refused)?;
        found.map(|(table, _)| Table(table)).ok_or_else(|| PyKeyError::new_err("the tree has no such event"))
    }

    /// Writes a file of comma-separated values per table into a directory.
    fn save_csvs(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.write_csvs(&path))
    }

    /// Writes the report, by the ending of the path: .xlsx, .json, .html, or a directory of CSV files.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let tables = &self.report.tables;
        py.detach(|| match ending.as_deref() {
            Some("xlsx") => Workbook.write(tables, &path).map(|_| ()).map_err(refused),
            Some("html") => answers::page(&self.report, &[]).write(tables, &path).map_err(refused),
            Some("json") => {
                let answer = self.answer().of_report(&self.report);
                atomic_file::write_with(&path, |file| write_json(&answer, file)).map_err(|error| {
                    let path = path.display();
                    refused(format!(
                        "{path}: cannot be written: {error}; check that you may write to its folder"
                    ))
                })
            }
            None => self.write_csvs(&path),
            Some(other) => {
                let instead = "end the name in .xlsx, .json or .html, or name a directory";
                Err(refused(format!("{}: .{other} is no format of reports; {instead}", path.display())))
            }
        })
    }
}

/// Reads a recording and makes its report.
#[pyfunction]
#[pyo3(signature = (path, arch, threads, python_frames, progress))]
fn read(
    py: Python<'_>,
    path: PathBuf,
    arch: Option<&str>,
    threads: Option<usize>,
    python_frames: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeReport> {
    let architecture = chosen_architecture(None, arch).map_err(|error| failed(&error))?;
    let reporter =
        AnyReporter { architecture, kernel_summary: true, modules: python_frames, ..AnyReporter::default() };
    let paths = vec![path];
    let report = without_lock(py, progress.as_ref(), threads, |reading| {
        reporter.report(&paths, &mut Run { reading, ..Run::default() })
    })?;
    Ok(NativeReport { report: Arc::new(report), paths, command: "report" })
}

/// Aligns the call trees of two recordings, the baseline first.
#[pyfunction]
#[pyo3(signature = (baseline, candidate, progress))]
fn diff(
    py: Python<'_>,
    baseline: PathBuf,
    candidate: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeReport> {
    let paths = vec![baseline, candidate];
    let report = without_lock(py, progress.as_ref(), None, |reading| {
        DiffReporter::default().report(&paths, &mut Run { reading, ..Run::default() })
    })?;
    Ok(NativeReport { report: Arc::new(report), paths, command: "diff" })
}

/// Whether candidates are slower than baselines, as JSON.
#[pyfunction]
#[pyo3(signature = (baseline, candidate, slower_by_pct))]
fn gate_json(
    py: Python<'_>,
    baseline: Vec<PathBuf>,
    candidate: Vec<PathBuf>,
    slower_by_pct: Option<f64>,
) -> PyResult<String> {
    let thresholds = match slower_by_pct {
        None => Thresholds::default(),
        Some(percent) if (0.0..=1_000.0).contains(&percent) => {
            Thresholds::default().with_slower_by(percent / 100.0)
        }
        Some(percent) => return Err(refused(format!("slower_by_pct is {percent}; it goes from 0 to 1000"))),
    };
    let sides = without_lock(py, None, None, |reading| {
        let read = |paths: &[PathBuf]| {
            let mut recordings = Vec::new();
            for path in paths {
                recordings.extend(GateReader::default().read(path, &reading)?);
            }
            Ok::<_, Error>(recordings)
        };
        Ok([read(&baseline)?, read(&candidate)?])
    })?;
    let [baseline, candidate] = sides;
    let gate = Gate::new(baseline, candidate, &thresholds, &Default::default()).map_err(refused)?;
    json(&gate.to_json().map_err(refused)?)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Table>()?;
    module.add_class::<NativeReport>()?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(diff, module)?)?;
    module.add_function(wrap_pyfunction!(gate_json, module)?)?;
    module.add_class::<analysis::NativeAnalysis>()?;
    module.add_function(wrap_pyfunction!(analysis::analyse, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::report, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::breakdown, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::modelled_operators, module)?)?;
    for (name, error) in [
        ("TraceError", py.get_type::<TraceError>()),
        ("ReadError", py.get_type::<ReadError>()),
        ("NoDeviceEvents", py.get_type::<NoDeviceEvents>()),
        ("NotComparable", py.get_type::<NotComparable>()),
        ("InternalError", py.get_type::<InternalError>()),
    ] {
        module.add(name, error)?;
    }
    Ok(())
}
