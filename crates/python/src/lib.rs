//! `pytracelens._native`: reports, tables and answers for Python. The package around it is in `python/pytracelens`.

mod analysis;
mod boundary;
mod perf_model;
mod rows;
mod table;
mod timeline;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use answers::envelope::{Answer, Asked, Input, InputDetails, Role};
use answers::model::{RecordedCalls, chosen_architecture};
use answers::{
    Analysed, AnyReporter, DiffReporter, Error, GateReader, RanksReporter, Report, Reporter, Run,
    TraceReporter, TreeQuery, TreeStart, WhyError, table_named,
};
use multi_rank::JobOptions;
use perf_gate::{Gate, Thresholds, Verdict};
use perf_models::Precision;
use pyo3::prelude::*;
use report_writers::{CsvDirectory, Workbook, Writer, write_json};
use tracelens::TOOL;

use crate::analysis::NativeAnalysis;
use crate::boundary::{
    CannotAnswer, NotComparable, Told, failed, guarded, refused, refused_by, refused_with, unknown,
    unknown_by, without_lock,
};
use crate::rows::AskedCondition;
use crate::table::Table;

/// A report that was made.
#[pyclass(frozen, module = "pytracelens._native")]
struct NativeReport {
    report: Arc<Report>,
    paths: Vec<PathBuf>,
    command: &'static str,
}

/// What inputs of answers say of their files.
const HASHED: InputDetails = InputDetails { hash: true, full_path: false };

impl NativeReport {
    fn answer(&self, details: InputDetails) -> Answer<'_> {
        let inputs = match self.paths.as_slice() {
            [baseline, candidate] if self.command == "diff" => vec![
                Input::of(baseline, Role::Baseline, 1, details),
                Input::of(candidate, Role::Candidate, 2, details),
            ],
            paths => Input::all(paths, Role::Trace, details),
        };
        Answer::new(TOOL, Asked { name: self.command.to_owned(), options: Vec::new() }, inputs)
    }

    fn sheet(&self, name: &str) -> PyResult<&sheets::Table> {
        table_named(&self.report.tables, name).map_err(rows::no_rows)
    }

    fn write_csvs(&self, path: &Path) -> PyResult<()> {
        CsvDirectory.write(&self.report.tables, path).map(|_| ()).map_err(refused)
    }
}

fn no_tree() -> PyErr {
    refused_with("this recording has no call tree", "use its tables")
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
        guarded(|| Table::from_sheet(self.sheet(name)?))
    }

    /// The rows of a table that meet conditions, in an order.
    #[pyo3(signature = (name, select, conditions, sort, top))]
    fn rows(
        &self,
        name: &str,
        select: Option<Vec<String>>,
        conditions: Vec<AskedCondition>,
        sort: Vec<(String, bool)>,
        top: Option<usize>,
    ) -> PyResult<Table> {
        guarded(|| {
            let sheet = self.sheet(name)?;
            let query = rows::query(sheet, select, conditions, sort, top)?;
            Table::from_sheet(&query.rows(sheet).map_err(rows::no_rows)?.table)
        })
    }

    /// The answer as JSON, without its tables.
    fn answer_json(&self, py: Python<'_>) -> PyResult<String> {
        let answer = || {
            let mut answer = self.answer(HASHED).with_report(&self.report);
            answer.tables.clear();
            json(&answer)
        };
        guarded(|| py.detach(answer))
    }

    /// The warnings of the answer as JSON, for which files are not hashed.
    fn warnings_json(&self, py: Python<'_>) -> PyResult<String> {
        guarded(|| py.detach(|| json(&self.answer(InputDetails::default()).about(&self.report).warnings)))
    }

    /// The inputs of the answer as JSON, for which files are not hashed.
    fn inputs_json(&self, py: Python<'_>) -> PyResult<String> {
        guarded(|| py.detach(|| json(&self.answer(InputDetails::default()).about(&self.report).inputs)))
    }

    /// All that is known of one thing, as JSON.
    fn why_json(&self, py: Python<'_>, target: &str, top: usize) -> PyResult<String> {
        guarded(|| {
            let why = py.detach(|| self.report.why(target, top)).map_err(|error| match error {
                WhyError::Unknown { .. } | WhyError::Several { .. } => unknown_by(&error),
                error => refused_by(&error),
            })?;
            json(&why)
        })
    }

    /// The trace behind the report, with its tree.
    fn analysis(&self) -> PyResult<NativeAnalysis> {
        NativeAnalysis::from_report(&self.report).ok_or_else(no_tree)
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
        let Analysed::Trace(analysis, _) = &self.report.analysis else { return Err(no_tree()) };
        let start = match (uid, name) {
            (Some(uid), _) => TreeStart::Uid(uid),
            (None, Some(name)) => TreeStart::Name(name),
            (None, None) => TreeStart::Roots,
        };
        let query = TreeQuery { start, callers, depth, min_us };
        guarded(|| match query.table(analysis).map_err(refused)? {
            Some(table) => {
                let query = rows::query(&table, None, Vec::new(), Vec::new(), Some(top))?;
                Table::from_sheet(&query.rows(&table).map_err(rows::no_rows)?.table)
            }
            None => Err(unknown("the tree has no such event", Some("tree.find lists events by name"))),
        })
    }

    /// Writes a file of comma-separated values per table into a directory.
    fn save_csvs(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        guarded(|| py.detach(|| self.write_csvs(&path)))
    }

    /// Writes the report, by the ending of the path: .xlsx, .json, .html, or a directory of CSV files.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let tables = &self.report.tables;
        let write = || match ending.as_deref() {
            Some("xlsx") => Workbook.write(tables, &path).map(|_| ()).map_err(refused),
            Some("html") => answers::page(&self.report, &[]).write(tables, &path).map_err(refused),
            Some("json") => {
                let answer = self.answer(HASHED).with_report(&self.report);
                atomic_file::write_with(&path, |file| write_json(&answer, file)).map_err(|error| {
                    let path = path.display();
                    refused_with(
                        format_args!("cannot write {path}: {error}"),
                        "check that its folder is writable",
                    )
                })
            }
            None => self.write_csvs(&path),
            Some(other) => {
                let instead = "use a name ending in .xlsx, .json or .html, or a directory";
                Err(refused_with(
                    format_args!("{}: .{other} is not a report format", path.display()),
                    instead,
                ))
            }
        };
        guarded(|| py.detach(write))
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
    let architecture = chosen_architecture(None, arch).map_err(|error| failed(&error, &[]))?;
    let reporter =
        AnyReporter { architecture, kernel_summary: true, modules: python_frames, ..AnyReporter::default() };
    let paths = vec![path];
    let report = without_lock(py, progress.as_ref(), threads, &paths, |reading| {
        reporter.report(&paths, &mut Run { reading, ..Run::default() })
    })?;
    Ok(NativeReport { report: Arc::new(report), paths, command: "report" })
}

/// Makes the report of a trace with the options in a JSON document.
#[pyfunction]
fn report(py: Python<'_>, path: PathBuf, asked: &str) -> PyResult<NativeReport> {
    let analysis = analysis::options(asked)?;
    let paths = vec![path];
    let report = without_lock(py, None, None, &paths, |reading| {
        let reporter = TraceReporter { analysis, ..TraceReporter::default() };
        reporter.report(&paths, &mut Run { reading, ..Run::default() })
    })?;
    Ok(NativeReport { report: Arc::new(report), paths, command: "report" })
}

/// Makes the report of a job from the recordings of its ranks.
#[pyfunction]
#[pyo3(signature = (paths, threads, statistics = None))]
fn read_ranks(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    threads: Option<usize>,
    statistics: Option<Vec<String>>,
) -> PyResult<NativeReport> {
    let mut analysis = JobOptions::default();
    if let Some(statistics) = statistics {
        let statistics = statistics.iter().map(|name| name.parse());
        analysis.agg_metrics = statistics.collect::<Result<_, _>>().map_err(refused)?;
    }
    let report = without_lock(py, None, threads, &paths, |reading| {
        RanksReporter { analysis, count_devices: true, ..RanksReporter::default() }
            .report(&paths, &mut Run { reading, ..Run::default() })
    })?;
    Ok(NativeReport { report: Arc::new(report), paths, command: "ranks" })
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
    let report = without_lock(py, progress.as_ref(), None, &paths, |reading| {
        DiffReporter::default().report(&paths, &mut Run { reading, ..Run::default() })
    })?;
    Ok(NativeReport { report: Arc::new(report), paths, command: "diff" })
}

/// Whether candidates are slower than baselines, as JSON; `is_strict` refuses a verdict that is none.
#[pyfunction]
#[pyo3(signature = (baseline, candidate, slower_by_pct, is_strict))]
fn gate_json(
    py: Python<'_>,
    baseline: Vec<PathBuf>,
    candidate: Vec<PathBuf>,
    slower_by_pct: Option<f64>,
    is_strict: bool,
) -> PyResult<String> {
    let thresholds = match slower_by_pct {
        None => Thresholds::default(),
        Some(percent) if (0.0..=1_000.0).contains(&percent) => {
            Thresholds::default().with_slower_by(percent / 100.0)
        }
        Some(percent) => {
            return Err(refused_with(format_args!("slower_by_pct is {percent}"), "pass 0 to 1000"));
        }
    };
    let all = [baseline.as_slice(), &candidate].concat();
    let sides = without_lock(py, None, None, &all, |reading| {
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
    let gate = Gate::new(baseline, candidate, &thresholds, &Default::default())
        .map_err(|error| refused_by(&error))?;
    if is_strict {
        let told = |code: &str| -> Told { (gate.headline(), code.to_owned(), None, None) };
        match gate.verdict {
            Verdict::Inconclusive => return Err(CannotAnswer::new_err(told("not-told"))),
            Verdict::NotComparable => return Err(NotComparable::new_err(told("not-comparable"))),
            Verdict::Pass | Verdict::Improved | Verdict::Fail => {}
        }
    }
    json(&gate.to_json().map_err(refused)?)
}

/// The figures of an operator call that is given as JSON, as JSON.
#[pyfunction]
fn model_json(call: &str) -> PyResult<String> {
    guarded(|| json(&RecordedCalls::default().answer(call.as_bytes()).map_err(refused)?))
}

/// The figures of an operation by the arguments of `tracelens model`, as JSON, and what is odd about the file of the
/// architecture; or why there are none: message, code and what to do.
#[pyfunction]
#[allow(clippy::type_complexity)] // An answer, taken apart in Python.
fn model_by_sizes_json(
    arguments: Vec<OsString>,
) -> PyResult<(Option<(String, Option<String>)>, Option<(String, String, Option<String>)>)> {
    guarded(|| {
        Ok(match tracelens::model(arguments) {
            Ok(answer) => (Some((json(&answer.result)?, answer.warning)), None),
            Err(error) => (None, Some((error.message, error.code, error.help))),
        })
    })
}

/// The name that the sizes of an operation have for a type of data in any common spelling; `None` where it is unknown.
#[pyfunction]
fn data_type(spelling: &str) -> Option<&'static str> {
    perf_models::precision(spelling).map(Precision::as_str)
}

/// Runs the command line in a process that is its own, and gives the exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    guarded(|| {
        Ok(py.detach(|| {
            tracelens::clean_up_when_interrupted();
            tracelens::run(arguments)
        }))
    })
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Table>()?;
    module.add_class::<NativeReport>()?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(read_ranks, module)?)?;
    module.add_function(wrap_pyfunction!(diff, module)?)?;
    module.add_function(wrap_pyfunction!(gate_json, module)?)?;
    module.add_function(wrap_pyfunction!(model_json, module)?)?;
    module.add_function(wrap_pyfunction!(model_by_sizes_json, module)?)?;
    module.add_function(wrap_pyfunction!(data_type, module)?)?;
    module.add_function(wrap_pyfunction!(perf_model::gemm_work, module)?)?;
    module.add_function(wrap_pyfunction!(perf_model::attention_work, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_class::<NativeAnalysis>()?;
    module.add_function(wrap_pyfunction!(analysis::analyse, module)?)?;
    module.add_function(wrap_pyfunction!(report, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::breakdown, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::modelled_operators, module)?)?;
    module.add_function(wrap_pyfunction!(analysis::tree_diff, module)?)?;
    Ok(())
}
