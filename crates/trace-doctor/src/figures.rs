//! Figures of reports that faults of a recording spoil, and the columns that show them.

use sheets::{ColumnKind, Unit};

/// What a rule that fires does to figures of reports.
#[derive(Clone, Copy, Debug)]
pub enum Harm {
    /// Nothing.
    None,
    /// They are not to be relied on.
    Unreliable(&'static [&'static Figures]),
    /// They are missing: columns are empty and sheets are left out.
    Missing(&'static [&'static Figures]),
    /// Some are missing, and those that are left are not to be relied on.
    Partial(&'static [&'static Figures]),
}

impl Harm {
    /// The figures.
    #[must_use]
    pub const fn figures(self) -> &'static [&'static Figures] {
        match self {
            Harm::None => &[],
            Harm::Unreliable(figures) | Harm::Missing(figures) | Harm::Partial(figures) => figures,
        }
    }

    /// Whether figures that are there are not to be relied on.
    #[must_use]
    pub const fn makes_unreliable(self) -> bool {
        matches!(self, Harm::Unreliable(_) | Harm::Partial(_))
    }

    /// Whether it explains that figures are missing.
    #[must_use]
    pub const fn explains_absence(self) -> bool {
        matches!(self, Harm::Missing(_) | Harm::Partial(_))
    }
}

/// Figures of one kind.
#[derive(Debug)]
pub struct Figures {
    /// What they are called: the name of a sheet, or words such as `queue times`.
    pub name: &'static str,
    /// Where reports of traces show them; nowhere for figures of other reports.
    pub shown: &'static [Columns],
}

impl Figures {
    /// Whether every sheet that there may be shows such figures.
    pub(crate) fn are_everywhere(&self) -> bool {
        self.shown.iter().any(|columns| columns.sheet == "*" && !matches!(columns.which, Which::Named(_)))
    }
}

/// Columns of sheets.
#[derive(Debug)]
pub struct Columns {
    /// The sheet: a name, in which one `*` stands for any characters.
    pub sheet: &'static str,
    /// Which of its columns.
    pub which: Which,
}

/// Which columns of a sheet.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// The sheet as a whole, whatever its columns say.
    Sheet,
    /// Columns of numbers that identify nothing.
    Numbers,
    /// Times and rates.
    Times,
    /// Columns of these names, in each of which one `*` stands for any characters.
    Named(&'static [&'static str]),
}

impl Columns {
    /// Whether they are of a sheet of this name.
    #[must_use]
    pub fn is_of(&self, sheet: &str) -> bool {
        matches(self.sheet, sheet)
    }

    /// The name of the sheet, where it is only one.
    #[must_use]
    pub fn only_sheet(&self) -> Option<&'static str> {
        (!self.sheet.contains('*')).then_some(self.sheet)
    }
}

impl Which {
    /// Whether a column with this name and kind is one of them; of a whole sheet none is.
    #[must_use]
    pub fn selects(self, name: &str, kind: ColumnKind) -> bool {
        match self {
            Which::Sheet => false,
            Which::Numbers => kind.is_numeric() && kind != ColumnKind::Identifier,
            Which::Times => kind.unit().is_some_and(rests_on_time),
            Which::Named(names) => names.iter().any(|pattern| matches(pattern, name)),
        }
    }
}

const fn rests_on_time(unit: Unit) -> bool {
    matches!(
        unit,
        Unit::Nanoseconds
            | Unit::Microseconds
            | Unit::Milliseconds
            | Unit::GigabytesPerSecond
            | Unit::GibibytesPerSecond
            | Unit::TerabytesPerSecond
            | Unit::GigaflopsPerSecond
            | Unit::TeraflopsPerSecond
            | Unit::TeraopsPerSecond
    )
}

/// Whether a name is a pattern's, in which one `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.strip_prefix(start).is_some_and(|rest| rest.len() >= end.len() && rest.ends_with(end))
        }
    }
}

/// Figures that no sheet of a trace's report shows.
const fn elsewhere(name: &'static str) -> Figures {
    Figures { name, shown: &[] }
}

const fn figures(name: &'static str, shown: &'static [Columns]) -> Figures {
    Figures { name, shown }
}

const fn columns(sheet: &'static str, which: Which) -> Columns {
    Columns { sheet, which }
}

/// Device time of operators, and what is derived from it.
const KERNEL_TIMES: Which = Which::Named(&[
    "total_direct_kernel_time*",
    "total_subtree_kernel_time*",
    "Kernel Time*",
    "Percentage (%)",
    "Cumulative Percentage (%)",
    "per iteration (ms)",
    "num_kernels",
    "TB/s*",
    "TFLOPS/s*",
    "Pct Roofline*",
    "overlap_pct*",
]);
/// Those of them that the sheets of operator families have.
const KERNEL_TIMES_OF_FAMILIES: Which =
    Which::Named(&["Kernel Time*", "num_kernels", "TB/s*", "TFLOPS/s*", "Pct Roofline*", "overlap_pct*"]);
const TIMELINE: Which = Which::Named(&["time ms", "percent", "per iteration (ms)"]);
const IDLE_CAUSES_TIMES: Which =
    Which::Named(&["idle_ms", "percent of *", "per iteration (ms)", "longest_us"]);
const KERNELS: Which = Which::Named(&["Kernel duration*", "Percent of*"]);

pub(crate) static OPS_SUMMARY: Figures =
    figures("ops_summary", &[columns("ops_summary", KERNEL_TIMES), columns("ops_summary_*", KERNEL_TIMES)]);
pub(crate) static OPS_ALL: Figures =
    figures("ops_all", &[columns("ops_all", KERNEL_TIMES), columns("ops_all_*", KERNEL_TIMES)]);
pub(crate) static UNIFIED: Figures = figures(
    "unified_perf_summary",
    &[
        columns("unified_perf_summary", KERNEL_TIMES),
        columns("unified_perf_summary_*", KERNEL_TIMES),
        columns("*", KERNEL_TIMES_OF_FAMILIES),
    ],
);
pub(crate) static COVERAGE: Figures = figures("coverage", &[columns("coverage", KERNEL_TIMES)]);
pub(crate) static SHARES_OF_DEVICE_TIME: Figures = figures(
    "shares of device time",
    &[columns("kernel_summary*", Which::Named(&["Percent of*"])), columns("roofline_points", KERNEL_TIMES)],
);
pub(crate) static GPU_TIMELINE: Figures =
    figures("gpu_timeline", &[columns("gpu_timeline", TIMELINE), columns("gpu_timeline_*", TIMELINE)]);

pub(crate) static ALL_AFTER_THE_LAST: Figures =
    figures("everything after the last time that was read", &[columns("*", Which::Sheet)]);
pub(crate) static EVERY_TIME: Figures = figures("every time", &[columns("*", Which::Times)]);
pub(crate) static NAMES: Figures = elsewhere("names");
pub(crate) static SHORT_KERNELS: Figures = figures(
    "kernels under 10 µs",
    &[
        columns("short_kernels_all_details", Which::Times),
        columns("kernel_summary*", Which::Named(&["Kernel duration (µs)_min"])),
    ],
);
pub(crate) static GAPS: Figures = figures(
    "gaps",
    &[
        columns("idle_causes*", IDLE_CAUSES_TIMES),
        columns("launch_delay", Which::Times),
        columns("frequent_sequences", Which::Named(&["gaps_ms"])),
    ],
);
pub(crate) static OVERLAP: Figures = figures(
    "overlap",
    &[columns("overlap_matrix", Which::Times), columns("*", Which::Named(&["overlap_pct*"]))],
);
pub(crate) static SUMS_OVER_SHORT_EVENTS: Figures =
    figures("sums over short events", &[columns("short_kernels_all_details", Which::Times)]);
pub(crate) static SPAN: Figures =
    figures("span", &[columns("gpu_timeline*", TIMELINE), columns("idle_causes*", IDLE_CAUSES_TIMES)]);
pub(crate) static IDLE_TIME: Figures = figures(
    "idle time",
    &[
        columns("gpu_timeline*", TIMELINE),
        columns("idle_causes*", IDLE_CAUSES_TIMES),
        columns("iterations", Which::Named(&["idle (ms)"])),
    ],
);
pub(crate) static IDLE_TIME_AT_THE_END: Figures = elsewhere("idle time at the end");
pub(crate) static SUMS_OF_DEVICE_TIME: Figures = figures(
    "sums of device time",
    &[
        columns("ops_*", KERNEL_TIMES),
        columns("unified_perf_summary*", KERNEL_TIMES),
        columns("coverage", KERNEL_TIMES),
        columns("roofline_points", KERNEL_TIMES),
        columns("*", KERNEL_TIMES_OF_FAMILIES),
        columns("kernel_summary*", KERNELS),
        columns("phase_summary", Which::Named(&["kernel_time_us", "percent_of_kernel_time"])),
        columns("coll_analysis", Which::Times),
    ],
);
pub(crate) static BUSY_TIME: Figures = figures(
    "busy time",
    &[
        columns("overlap_matrix", Which::Named(&["busy_ms"])),
        columns("annotations", Which::Named(&["device_ms"])),
        columns("iterations", Which::Named(&["busy (ms)", "computation (ms)", "idle (ms)"])),
    ],
);
pub(crate) static MEMORY_OWNERS: Figures =
    figures("memory_owners", &[columns("memory_owners", Which::Numbers)]);
pub(crate) static MEMORY_BLOCKS: Figures =
    figures("memory_blocks", &[columns("memory_blocks", Which::Numbers)]);
pub(crate) static MEMORY_SUMMARY: Figures =
    figures("memory_summary", &[columns("memory_summary", Which::Numbers)]);
pub(crate) static MEMORY_TIMELINE: Figures =
    figures("memory_timeline", &[columns("memory_timeline", Which::Numbers)]);
pub(crate) static MEMORY_STEPS: Figures = figures("memory_steps", &[columns("memory_steps", Which::Numbers)]);
pub(crate) static SURVIVORS: Figures = figures(
    "survivors of memory_steps",
    &[columns("memory_steps", Which::Named(&["survivors_bytes", "largest_survivor"]))],
);
pub(crate) static ROOFLINES: Figures = figures(
    "rooflines",
    &[
        columns("roofline", Which::Numbers),
        columns("roofline_points", Which::Numbers),
        columns("*", Which::Named(&["Pct Roofline*", "Roofline Time*"])),
    ],
);
pub(crate) static FLOPS: Figures = figures(
    "FLOPs",
    &[columns("*", Which::Named(&["GFLOPS*", "Data Moved*", "FLOPS/Byte*", "TFLOPS/s*", "TB/s*"]))],
);
pub(crate) static MODULES: Figures =
    figures("modules", &[columns("ops_*", Which::Named(&["parent_module"]))]);
pub(crate) static CALL_STACKS: Figures =
    figures("call stacks", &[columns("*", Which::Named(&["call_stack*"]))]);
pub(crate) static MODULES_OF_MEMORY: Figures =
    figures("modules of memory_owners", &[columns("memory_blocks", Which::Named(&["module"]))]);
pub(crate) static ALL_BUT_FRAMES: Figures = elsewhere("everything but Python frames");
pub(crate) static ALL_OF_THE_DEVICE: Figures = figures(
    "everything about the device",
    &[
        columns("gpu_timeline", TIMELINE),
        columns("ops_all", KERNEL_TIMES),
        columns("coverage", KERNEL_TIMES),
        columns("roofline", Which::Numbers),
        columns("roofline_points", Which::Numbers),
    ],
);
pub(crate) static CRITICAL_PATH: Figures = figures(
    "critical path",
    &[
        columns("critical_path", Which::Named(&["path_us", "path_percent", "longest_us"])),
        columns("critical_path_segments", Which::Named(&["duration_us"])),
        columns("critical_path_what_if", Which::Named(&["predicted_us", "saved_us", "saved_percent"])),
    ],
);
pub(crate) static COLLECTIVES: Figures =
    figures("coll_analysis", &[columns("coll_analysis", Which::Numbers)]);
pub(crate) static TABLES_OF_RANKS: Figures = elsewhere("tables of ranks");
pub(crate) static STEP_TIMES: Figures = elsewhere("step times");
/// Those of reports leave out what is not steady.
pub(crate) static MEANS_OVER_STEPS: Figures = elsewhere("means over steps");
pub(crate) static OPEN_SPANS: Figures =
    figures("lengths of annotations", &[columns("annotations", Which::Named(&["length_*"]))]);
pub(crate) static GRAPH_REPLAYS: Figures =
    figures("graph_replays", &[columns("graph_replays", Which::Numbers)]);
pub(crate) static QUEUE_TIMES: Figures = figures("queue times", &[columns("queue_length*", Which::Numbers)]);
pub(crate) static LAUNCH_DELAYS: Figures = figures(
    "launch delays",
    &[
        columns("launch_delay", Which::Named(&["launch_delay_*", "start_to_start_*"])),
        columns("launch_delay_histogram", Which::Numbers),
        columns("kernel_details", Which::Named(&["launch_delay_*"])),
    ],
);
pub(crate) static CAUSES_OF_IDLE_TIME: Figures =
    figures("causes of idle time", &[columns("idle_causes*", Which::Numbers)]);
pub(crate) static TIMES_OF_FRAMES: Figures = elsewhere("times of Python frames");
pub(crate) static OVERLAP_OF_COPIES: Figures = figures(
    "overlap of copies",
    &[columns("overlap_matrix", Which::Named(&["with_copy_ms", "with_both_ms", "alone_ms"]))],
);
pub(crate) static HOST_TIMES: Figures = figures(
    "host times",
    &[
        columns("host_ops", Which::Times),
        columns(
            "*",
            Which::Named(&[
                "host_us",
                "host_total_us",
                "host_percent",
                "call_us_*",
                "total_duration_us",
                "mean_duration_us",
                "duration_us_*",
                "host duration (ms)",
            ]),
        ),
    ],
);
pub(crate) static COPIES_BY_DIRECTION: Figures = elsewhere("copies by direction");
pub(crate) static OVERLAP_ON_A_STREAM: Figures = elsewhere("overlap on a stream");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, matched) in [
            ("ops_all", "ops_all", true),
            ("ops_all", "ops_all_kl_overlap", false),
            ("ops_*", "ops_all", true),
            ("*", "", true),
            ("a*b", "ab", true),
            ("ab*b", "ab", false),
            ("percent of *", "percent of idle", true),
        ] {
            assert_eq!(matches(pattern, name), matched, "{pattern} {name}");
        }
    }

    #[test]
    fn columns_are_chosen_by_name_or_kind() {
        let ms = ColumnKind::Number(Unit::Milliseconds);
        assert!(Which::Times.selects("any", ms) && Which::Numbers.selects("any", ms));
        assert!(!Which::Times.selects("count", ColumnKind::Count));
        assert!(!Which::Numbers.selects("id", ColumnKind::Identifier));
        assert!(TIMELINE.selects("time ms", ms) && !TIMELINE.selects("type", ColumnKind::Text));
        assert!(!Which::Sheet.selects("any", ms));
    }
}
