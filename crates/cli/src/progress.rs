//! A progress bar for reading, on a terminal, for files that take over a second.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use trace_ingest::Progress;

const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Shows how far reading has come.
pub(crate) struct ReadingProgress {
    started: Instant,
    wanted: bool,
    bar: OnceLock<ProgressBar>,
}

impl ReadingProgress {
    /// Shows nothing when `quiet` or when standard error is no terminal.
    pub(crate) fn new(quiet: bool) -> Self {
        let wanted = !quiet && std::io::stderr().is_terminal();
        ReadingProgress { started: Instant::now(), wanted, bar: OnceLock::new() }
    }

    /// Takes note of how far reading has come.
    pub(crate) fn update(&self, progress: Progress) {
        if !self.wanted || self.started.elapsed() < SHOWN_AFTER {
            return;
        }
        self.bar.get_or_init(|| bar(progress.total)).set_position(progress.bytes);
    }
}

impl Drop for ReadingProgress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u64) -> ProgressBar {
    let template =
        "reading {bar:30} {binary_bytes}/{binary_total_bytes} ({binary_bytes_per_sec}, {eta} left)";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style)
}
