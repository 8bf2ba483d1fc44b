//! The boundary to Python: what goes wrong becomes an exception, and work lets other threads of Python go on.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use answers::Error;
use answers::diagnostic::{code, help, in_one_line};
use miette::Diagnostic;
use pyo3::prelude::*;
use trace_ingest::{Progress, ReadOptions};

pyo3::import_exception!(pytracelens._errors, TraceError);
pyo3::import_exception!(pytracelens._errors, ReadError);
pyo3::import_exception!(pytracelens._errors, NoDeviceEvents);
pyo3::import_exception!(pytracelens._errors, CannotAnswer);
pyo3::import_exception!(pytracelens._errors, NotComparable);
pyo3::import_exception!(pytracelens._errors, UnknownName);
pyo3::import_exception!(pytracelens._errors, InternalError);

/// What exceptions are made of: message, code, what to do, and which of the files it is about.
pub(crate) type Told = (String, String, Option<String>, Option<OsString>);

/// Advice that names a command, and what Python has in its place.
const CALLS: [(&str, &str); 4] = [
    ("use `tracelens compare`", "use pytracelens.diff"),
    ("save it again with `tracelens gate save`", "save it again, or pass the recordings"),
    ("use `tracelens ranks` to report on the job", "use pytracelens.read_many to report on the job"),
    ("use `tracelens jax` for TPUs", "use pytracelens.read for TPUs"),
];

fn told(text: String, code: String, help: Option<String>, path: Option<&Path>) -> Told {
    let in_calls =
        |text: String| CALLS.iter().fold(text, |text, (command, call)| text.replace(command, call));
    (in_calls(text), code, help.map(in_calls), path.map(|path| path.as_os_str().to_owned()))
}

/// An exception with what went wrong, in attributes.
pub(crate) fn failed(error: &Error, paths: &[PathBuf]) -> PyErr {
    let path = match paths {
        [only] => Some(only.as_path()),
        _ => error.input(),
    };
    let told = told(in_one_line(error), code(error), help(error), path);
    match error {
        Error::NoGpuEvents { .. } | Error::NoDevicePlane { .. } => NoDeviceEvents::new_err(told),
        Error::Ingest(_) => ReadError::new_err(told),
        Error::NothingInCommon { .. } => NotComparable::new_err(told),
        _ => TraceError::new_err(told),
    }
}

pub(crate) fn refused(error: impl std::fmt::Display) -> PyErr {
    TraceError::new_err(told(error.to_string(), "bad-value".to_owned(), None, None))
}

/// The same with what to do.
pub(crate) fn refused_with(message: impl std::fmt::Display, action: &str) -> PyErr {
    let text = format!("{message}; {action}");
    TraceError::new_err(told(text, "bad-value".to_owned(), Some(action.to_owned()), None))
}

/// What a library refuses.
pub(crate) fn refused_by(said: &dyn Diagnostic) -> PyErr {
    TraceError::new_err(told(in_one_line(said), "bad-value".to_owned(), help(said), None))
}

/// Why a model has no figure.
pub(crate) fn refused_by_reason(undefined: perf_models::Undefined) -> PyErr {
    refused(undefined.reason)
}

/// A name that there is not, with the code of what says so.
pub(crate) fn unknown_by(said: &dyn Diagnostic) -> PyErr {
    UnknownName::new_err(told(in_one_line(said), "unknown-name".to_owned(), help(said), None))
}

/// The same in words.
pub(crate) fn unknown(message: impl std::fmt::Display, action: Option<&str>) -> PyErr {
    let text = action.map_or_else(|| message.to_string(), |action| format!("{message}; {action}"));
    UnknownName::new_err(told(text, "unknown-name".to_owned(), action.map(str::to_owned), None))
}

/// Does work at the boundary to Python, where a panic becomes an [`InternalError`]: what pyo3 makes of one, `except Exception`
/// misses.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(internal_error()))
}

fn internal_error() -> PyErr {
    let action = "please report this as a bug and attach the recording";
    let text = format!("the library failed; {action}");
    InternalError::new_err(told(text, "internal".to_owned(), Some(action.to_owned()), None))
}

/// Signal poll interval: long enough that threads waiting for the interpreter's lock keep it, and short enough for
/// whoever presses Ctrl-C.
const LOOKED_AFTER: Duration = Duration::from_millis(10);

/// Does work without the interpreter's lock on a thread of its own, while this one looks for signals and tells how far
/// reading has come; what either raises ends the work.
pub(crate) fn without_lock<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    threads: Option<usize>,
    paths: &[PathBuf],
    work: impl FnOnce(ReadOptions<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let far: std::sync::Mutex<Option<Progress>> = std::sync::Mutex::new(None);
    let note = |progress: Progress| {
        if let Ok(mut far) = far.lock() {
            *far = Some(progress);
        }
    };
    let outcome = guarded(|| {
        py.detach(|| {
            std::thread::scope(|scope| {
                let reading = ReadOptions {
                    threads,
                    stop: Some(&stop),
                    progress: Some(&note),
                    ..ReadOptions::default()
                };
                let (working, over) = mpsc::channel::<()>();
                let worker = scope.spawn(move || {
                    // Let go at the end, however that comes.
                    let _working = working;
                    work(reading)
                });
                let mut raised = None;
                loop {
                    let is_over = over.recv_timeout(LOOKED_AFTER) != Err(RecvTimeoutError::Timeout);
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
                    if is_over {
                        break;
                    }
                }
                match (worker.join(), raised) {
                    (_, Some(raised)) => Err(raised),
                    (Ok(outcome), None) => Ok(outcome),
                    (Err(_), None) => Err(internal_error()),
                }
            })
        })
    })?;
    outcome.map_err(|error| failed(&error, paths))
}
