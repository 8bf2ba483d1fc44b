//! The report of a recording of any kind.

use std::path::PathBuf;

use extension::Extension;
use iterations::{Window, WindowError};
use perf_models::Architecture;
use trace_ingest::{RecordingKind, recognise};
use trace2tree::TreeOptions;
use tree_perf::AnalysisOptions;
use xla_perf::JaxOptions;

use crate::error::Error;
use crate::report::{Report, Reporter, Run};
use crate::rocprof::RocprofReporter;
use crate::tenstorrent::TenstorrentReporter;
use crate::trace::TraceReporter;
use crate::xla::XlaReporter;

/// Makes the report of recordings of any kind, told by the content of the first, with the options that kinds share and
/// otherwise their defaults.
#[derive(Default)]
pub struct AnyReporter {
    /// What the device can do; `None` is the device that the recording names.
    pub architecture: Option<Architecture>,
    /// How trees are built: what finds the launch of a device event, and whether recorded ends are kept.
    pub tree: TreeOptions,
    /// Whether a trace has the sheet of kernels, which others always have.
    pub kernel_summary: bool,
    /// Whether to tell the modules and lines of the program that work belongs to. Reads Python frames.
    pub modules: bool,
    /// Whether a trace has the sheets on idle causes, launch delays and queues, and copies.
    pub waits: bool,
    /// The part of the recording that the report is of, where it is not all.
    pub window: Option<Window>,
    /// Models, categories and a tree pass of the user's own; only traces have use for them.
    pub extension: Option<Extension>,
}

impl Reporter for AnyReporter {
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        let AnyReporter { architecture, tree, kernel_summary, modules, waits, window, extension } = self;
        let Some(first) = paths.first() else { return Err(Error::NoRecording) };
        match recognise(first, &run.reading)? {
            RecordingKind::Trace | RecordingKind::Nsys => {
                let analysis = AnalysisOptions {
                    architecture,
                    link_by: tree.link_by,
                    keep_overruns: tree.keep_overruns,
                    kernel_summary,
                    waits,
                    ..AnalysisOptions::default()
                };
                TraceReporter { analysis, modules, window, extension, ..TraceReporter::default() }
                    .report(paths, run)
            }
            RecordingKind::XPlane => {
                let analysis = JaxOptions { architecture, ..JaxOptions::default() };
                XlaReporter { analysis, window, ..XlaReporter::default() }.report(paths, run)
            }
            RecordingKind::Rocprof => {
                let keep_overruns = tree.keep_overruns;
                RocprofReporter { window, keep_overruns, ..RocprofReporter::default() }.report(paths, run)
            }
            RecordingKind::TenstorrentOps if window.is_some() => {
                let reason = "select part of a Tenstorrent recording by operation id";
                let error = WindowError::NoSteps { reason: reason.to_owned() };
                Err(Error::Window { path: first.clone(), error })
            }
            RecordingKind::TenstorrentOps => TenstorrentReporter::default().report(paths, run),
        }
    }
}
