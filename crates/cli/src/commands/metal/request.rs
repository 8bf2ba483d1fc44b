//! The arguments of the report, validated.

use std::path::{Path, PathBuf};

use metal_perf::{CollectiveTime, DurationSource, MetalOptions};
use report_writers::terminal::{Frame, Style};

use crate::arguments::metal::{self as asked, MetalArguments};
use crate::arguments::report_output::Output;
use crate::console;
use crate::error::Failure;
use crate::report_request::check_destination;

/// What the engine is asked to do.
pub(super) fn options(arguments: &MetalArguments) -> MetalOptions {
    let (rows, figures, terminal) = (&arguments.rows, &arguments.figures, &arguments.terminal);
    MetalOptions {
        compat: figures.compat,
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
        collective_time: match figures.collective_time {
            asked::CollectiveTime::Mean => CollectiveTime::Mean,
            asked::CollectiveTime::Min => CollectiveTime::Min,
            asked::CollectiveTime::Max => CollectiveTime::Max,
        },
        duration: match figures.duration {
            asked::Duration::Kernel => DurationSource::Kernel,
            asked::Duration::Fw => DurationSource::Firmware,
        },
        active_experts: figures.active_experts,
        group_by: terminal.group_by(),
        min_percentage: terminal.min_percentage,
    }
}

/// Refuses destinations that cannot be written, or are one of the files that are read.
pub(super) fn check_destinations(arguments: &MetalArguments, outputs: &[Output]) -> Result<(), Failure> {
    let output = &arguments.output;
    let files = [&output.csv, &output.summary_file, &output.summary_svg];
    let files = files.into_iter().flatten().map(|path| ("file", path.as_path()));
    let tables = outputs.iter().map(|(writer, path)| (writer.name(), path.as_path()));
    let read: Vec<&Path> =
        arguments.files.iter().chain(&arguments.figures.baseline).map(PathBuf::as_path).collect();
    for (writer, destination) in tables.chain(files) {
        for path in &read {
            check_destination(writer, destination, path)?;
        }
    }
    Ok(())
}

/// Options that do nothing for want of others.
pub(super) fn without_effect(arguments: &MetalArguments) -> Vec<String> {
    let output = &arguments.output;
    let terminal = &arguments.terminal;
    let prints_table = output.csv.is_none() && !output.tables.json && !output.tables.quiet;
    let given = [
        (output.raw_op_codes && output.csv.is_none(), "--raw-op-codes", "without --csv"),
        (output.classic_colors && output.summary_svg.is_none(), "--classic-colors", "without --summary-svg"),
        (terminal.hide_minor && !prints_table, "--hide-minor", "where no table is printed"),
        (terminal.color && terminal.no_color, "--color", "with --no-color"),
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
        let colored = !terminal.no_color && (terminal.color || style.colored);
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
