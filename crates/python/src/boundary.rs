//! The boundary to Python: what goes wrong becomes an exception, and work lets other threads of Python go on.

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

pyo3::create_exception!(
    _native,
    TraceError,
    pyo3::exceptions::PyException,
    "Base class of this library's exceptions."
);
pyo3::create_exception!(_native, ReadError, TraceError, "A file that is not a readable recording.");
pyo3::create_exception!(_native, NoDeviceEvents, TraceError, "A recording without device work.");
pyo3::create_exception!(_native, CannotAnswer, TraceError, "A question that the recordings cannot answer.");
pyo3::create_exception!(_native, NotComparable, TraceError, "Runs that cannot be compared.");
pyo3::create_exception!(_native, InternalError, TraceError, "A bug in the library; please report it.");

/// An exception with what went wrong, in attributes: its code, what to do, and which of the files it is about.
pub(crate) fn failed(error: &Error, paths: &[PathBuf]) -> PyErr {
    let (text, code, help) = (in_one_line(error), code(error), help(error));
    let path = match paths {
        [only] => Some(only.as_path()),
        _ => error.input(),
    };
    let about = About { code: &code, action: help.as_deref(), path };
    let raised = match error {
        Error::NoGpuEvents { .. } | Error::NoDevicePlane { .. } => NoDeviceEvents::new_err(text.clone()),
        Error::Ingest(_) => ReadError::new_err(text.clone()),
        Error::NothingInCommon { .. } => NotComparable::new_err(text.clone()),
        _ => TraceError::new_err(text.clone()),
    };
    about.tell(raised)
}

/// The attributes of an exception.
pub(crate) struct About<'t> {
    pub(crate) code: &'t str,
    pub(crate) action: Option<&'t str>,
    pub(crate) path: Option<&'t Path>,
}

impl About<'_> {
    pub(crate) fn tell(&self, raised: PyErr) -> PyErr {
        Python::attach(|py| {
            let value = raised.value(py);
            let path = self.path.map(|path| path.as_os_str());
            // An exception takes any attribute.
            let _ = value.setattr("code", self.code);
            let _ = value.setattr("action", self.action);
            let _ = value.setattr("path", path);
        });
        raised
    }
}

pub(crate) fn refused(error: impl std::fmt::Display) -> PyErr {
    let about = About { code: "bad-value", action: None, path: None };
    about.tell(TraceError::new_err(error.to_string()))
}

/// The same with what to do.
pub(crate) fn refused_with(message: impl std::fmt::Display, action: &str) -> PyErr {
    let about = About { code: "bad-value", action: Some(action), path: None };
    about.tell(TraceError::new_err(format!("{message}; {action}")))
}

/// What a library refuses.
pub(crate) fn refused_by(said: &dyn Diagnostic) -> PyErr {
    let (text, help) = (in_one_line(said), help(said));
    let about = About { code: "bad-value", action: help.as_deref(), path: None };
    about.tell(TraceError::new_err(text))
}

/// Does work at the boundary to Python, where a panic becomes an [`InternalError`]: what pyo3 makes of one, `except Exception`
/// misses.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(internal_error()))
}

fn internal_error() -> PyErr {
    let action = "please report this as a bug and attach the recording";
    let about = About { code: "internal", action: Some(action), path: None };
    about.tell(InternalError::new_err(format!("the library failed; {action}")))
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
