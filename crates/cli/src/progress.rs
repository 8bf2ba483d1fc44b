//! A progress bar for reading, on a terminal, for files that take over a second.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trace_ingest::{Progress, ReadOptions, Trace, read_path};

use crate::arguments::reading::ReadingArguments;
use crate::console;
use crate::error::Failure;

const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Reads as the arguments say, and shows how far reading has come unless `quiet`.
pub(crate) fn with_progress<T>(
    quiet: bool,
    arguments: &ReadingArguments,
    read: impl FnOnce(&ReadOptions<'_>) -> T,
) -> T {
    let progress = ReadingProgress::new(quiet);
    let update = |state| progress.update(state);
    read(&ReadOptions { progress: Some(&update), ..arguments.options() })
}

/// Reads a trace, and says what reading got over unless `quiet`.
pub(crate) fn read_trace(path: &Path, quiet: bool, arguments: &ReadingArguments) -> Result<Trace, Failure> {
    let trace = with_progress(quiet, arguments, |options| read_path(path, options))?;
    if !quiet {
        trace.warnings().iter().for_each(console::diagnostic);
    }
    Ok(trace)
}

/// Shows how far reading has come.
pub(crate) struct ReadingProgress {
    started: Instant,
    wanted: bool,
    /// Drawn nowhere at first, so that its rate is right when it is shown.
    bar: OnceLock<ProgressBar>,
    shown: Once,
}

impl ReadingProgress {
    /// Shows nothing when `quiet` or when standard error is no terminal.
    pub(crate) fn new(quiet: bool) -> Self {
        let wanted = !quiet && std::io::stderr().is_terminal();
        ReadingProgress { started: Instant::now(), wanted, bar: OnceLock::new(), shown: Once::new() }
    }

    /// Takes note of how far reading has come.
    pub(crate) fn update(&self, progress: Progress) {
        if !self.wanted {
            return;
        }
        let bar = self.bar.get_or_init(|| hidden_bar(progress.total));
        if bar.is_finished() {
            bar.reset();
        }
        bar.set_length(progress.total);
        bar.set_position(progress.bytes);
        if self.started.elapsed() >= SHOWN_AFTER {
            self.shown.call_once(|| bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
    }

    /// Takes the bar away; more reading shows it again.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for ReadingProgress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn hidden_bar(total: u64) -> ProgressBar {
    let template =
        "reading {bar:24} {binary_bytes}/{binary_total_bytes} ({binary_bytes_per_sec}, {eta} left)";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden()).with_style(style)
}
