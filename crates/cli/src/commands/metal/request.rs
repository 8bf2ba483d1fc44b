//! The arguments of the report, validated.

use metal_perf::{Conventions, MetalOptions};
use reference_tools::tt_perf_report;
use report_writers::terminal::{Frame, Style};

use crate::arguments::Given;
use crate::arguments::metal::MetalArguments;
use crate::console;

/// What the engine is asked to do.
pub(super) fn options(arguments: &MetalArguments) -> MetalOptions {
    let (rows, figures, terminal) = (&arguments.rows, &arguments.figures, &arguments.terminal);
    MetalOptions {
        conventions: if figures.compat { tt_perf_report().tenstorrent } else { Conventions::default() },
        start_signpost: rows.start_signpost.clone(),
        end_signpost: rows.end_signpost.clone(),
        occurrence: rows.occurrence.map(Into::into),
        ignore_signposts: rows.ignore_signposts,
        print_signposts: rows.print_signposts,
        id_range: rows.id_range,
        arch: figures.arch.clone(),
        tracing_mode: rows.tracing_mode,
        no_host_ops: rows.no_host_ops,
        merge_devices: !rows.no_merge_devices,
        collective_time: figures.collective_time,
        duration: figures.duration,
        active_experts: figures.active_experts,
        group_by: terminal.group_by(),
        min_percentage: terminal.min_percentage,
    }
}

/// Options that do nothing because of others.
pub(super) fn without_effect(arguments: &MetalArguments, given: &Given) -> Vec<String> {
    let output = &arguments.output;
    let terminal = &arguments.terminal;
    let prints_table = output.csv.is_none() && !output.tables.answer.is_json() && !output.tables.quiet;
    let given = [
        (terminal.hide_minor && !prints_table, "--hide-minor", "where no table is printed"),
        (given.has("color") && terminal.no_color, "--color", "with --no-color"),
        (
            arguments.rows.occurrence.is_some() && arguments.figures.compat,
            "--occurrence",
            "with --compat, which takes the first",
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
    pub(super) fn new(arguments: &MetalArguments) -> Self {
        let style = console::style();
        let terminal = &arguments.terminal;
        let colored = !terminal.no_color && style.colored;
        let compat = arguments.figures.compat;
        let width = console::terminal_width().filter(|_| !compat).unwrap_or(usize::MAX);
        Screen {
            style: Style { width, colored, unicode: style.unicode && !compat },
            frame: if compat { Frame::Rule } else { Frame::Boxes },
            text_width: style.width,
            // Without colour nothing else sets them apart.
            hides_minor: terminal.hide_minor || !(colored || compat),
        }
    }
}
