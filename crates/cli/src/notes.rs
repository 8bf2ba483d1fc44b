//! What is said around the figures of a report.

use std::path::Path;

use report_writers::terminal::{Color, Style};
use tree_perf::Notice;

use crate::wrapping::wrap;

/// Warnings, and what was written.
#[derive(Default)]
pub(crate) struct Notes {
    /// Device time that is not in the operators' figures.
    pub(crate) left_out: Option<String>,
    pub(crate) warnings: Vec<String>,
    /// What the extension said and what went wrong in it; for standard error, whatever goes to standard output.
    pub(crate) of_extension: Vec<Notice>,
    written: Vec<String>,
}

impl Notes {
    pub(crate) fn of_warnings(warnings: Vec<String>) -> Self {
        Notes { warnings, ..Notes::default() }
    }

    pub(crate) fn wrote(&mut self, destination: &Path, files: usize) {
        let count = if destination.is_dir() { format!(" ({files} files)") } else { String::new() };
        self.written.push(format!("wrote {}{count}", destination.display()));
    }

    /// The end of a summary: the warnings, and what was written.
    pub(crate) fn write(&self, out: &mut String, style: Style) {
        if !(self.warnings.is_empty() && self.written.is_empty()) {
            out.push('\n');
        }
        write_warnings(out, &self.warnings, style);
        for written in &self.written {
            out.push_str(written);
            out.push('\n');
        }
    }
}

pub(crate) fn write_warnings(out: &mut String, warnings: &[String], style: Style) {
    for warning in warnings {
        let mut lines = String::new();
        wrap(&format!("warning: {warning}"), "", "  ", style.width, &mut lines);
        // Painted afterwards: colours have no width.
        out.push_str(&lines.replacen("warning:", &style.paint("warning:", Color::Yellow), 1));
    }
}
