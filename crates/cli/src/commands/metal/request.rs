//! The arguments of the report, validated.

use metal_perf::{GroupBy, MetalOptions};
use reference_tools::tt_perf_report;
use report_writers::terminal::{Frame, Style};

use crate::arguments::metal::MetalArguments;
use crate::console;
use crate::context::Context;

/// What the engine is asked to do.
pub(super) fn options(arguments: &MetalArguments) -> MetalOptions {
    let mut options = arguments.options.clone();
    if arguments.compat {
        options.conventions = tt_perf_report().tenstorrent;
    }
    if arguments.terminal.no_stack_by_in0 {
        options.group_by = GroupBy::Op;
    }
    options
}

/// Options that do nothing because of others.
pub(super) fn without_effect(arguments: &MetalArguments, context: &Context<'_>) -> Vec<String> {
    let output = &arguments.output;
    let terminal = &arguments.terminal;
    let prints_page = output.csv.is_none() && !output.tables.answer.is_json() && !output.tables.quiet;
    let prints_table = prints_page && (output.tables.verbose || arguments.compat);
    let given = [
        (
            terminal.hide_minor && !prints_table,
            "--hide-minor",
            "without -v, which prints the table of operations",
        ),
        (context.given.has("color") && terminal.no_color, "--color", "with --no-color"),
        (
            arguments.options.occurrence.is_some() && arguments.compat,
            "--occurrence",
            "with --compat, which takes the first occurrence",
        ),
    ];
    let given = given.into_iter().filter(|(given, ..)| *given);
    given.map(|(_, option, why)| format!("{option} has no effect {why}")).collect()
}

/// How the terminal is written to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// The width is that of tables: lines that are not for a terminal may have any.
    pub(super) style: Style,
    pub(super) frame: Frame,
    /// Where lines of text break.
    pub(super) text_width: usize,
    /// Whether minor rows are left out.
    pub(super) hides_minor: bool,
}

impl Screen {
    pub(super) fn new(arguments: &MetalArguments, style: Style) -> Self {
        let terminal = &arguments.terminal;
        let compat = arguments.compat;
        let width = console::terminal_width().filter(|_| !compat).unwrap_or(usize::MAX);
        Screen {
            style: Style { width, unicode: style.unicode && !compat, ..style },
            frame: if compat { Frame::Rule } else { Frame::Boxes },
            text_width: style.width,
            // Without colour nothing else sets them apart.
            hides_minor: terminal.hide_minor || !(style.colored || compat),
        }
    }
}
