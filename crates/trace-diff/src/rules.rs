//! Which tables of reports are compared: what a row is known by, which column is its time.

use crate::keys::KeyKind;

/// What the rows of a table are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Parts of the span of the timeline.
    Timeline,
    /// Kinds of work.
    Category,
    /// Operators, instructions, or operations of a chip, by name.
    Operator,
    /// Operators with their arguments.
    Call,
    /// Operators by the parameters of their performance model.
    Model,
    /// Kernels.
    Kernel,
}

/// A key column under the names that reports give it, and what its cells are.
type Key = (&'static [&'static str], KeyKind);

/// A time column under the name of a report, and the µs of its unit.
type Time = (&'static str, f64);

/// How tables of one form are compared.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) subject: Subject,
    /// Names of the table in reports; the first is that of the comparison. Where a report has several, the last counts.
    pub(crate) sheets: &'static [&'static str],
    /// The first one every such table has.
    pub(crate) keys: &'static [Key],
    /// The key that rows without a counterpart may differ in.
    pub(crate) relaxed: Option<&'static str>,
    pub(crate) times: &'static [Time],
    /// Without any a row is a call, but in a timeline.
    pub(crate) calls: &'static [&'static str],
    /// Mean, standard deviation, least and largest time of a call in µs, as far as there are columns of them.
    pub(crate) spread: [&'static [&'static str]; 4],
}

impl Rule {
    /// The name of the table in comparisons.
    pub(crate) fn title(&self) -> &'static str {
        self.sheets.first().copied().unwrap_or_default()
    }

    /// Headers of the keys in comparisons.
    pub(crate) fn key_names(&self) -> Vec<&'static str> {
        self.keys.iter().filter_map(|(names, _)| names.first().copied()).collect()
    }
}

const NAME: Key = (&["name"], KeyKind::Operator);
const ARGUMENTS: [Key; 4] = [
    (&["Input type"], KeyKind::Literal),
    (&["Input Dims"], KeyKind::Literal),
    (&[STRIDES], KeyKind::Literal),
    (&[VALUES], KeyKind::Literal),
];
const STRIDES: &str = "Input Strides";
const VALUES: &str = "Concrete Inputs";
/// Keys in which calls of like programs may differ.
pub(crate) const ALIKE_WITHOUT: [&str; 2] = [STRIDES, VALUES];
const NO_SPREAD: [&[&str]; 4] = [&[]; 4];
const KERNEL_TIME: [&[&str]; 4] = [
    &["Kernel Time (µs)_mean"],
    &["Kernel Time (µs)_std"],
    &["Kernel Time (µs)_min"],
    &["Kernel Time (µs)_max"],
];

/// The tables that are compared, the whole before its parts.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        subject: Subject::Timeline,
        // The second is the mean over the GPUs of a profile, which the first has one by one.
        sheets: &["gpu_timeline", "gpu_events_averages"],
        keys: &[(&["type"], KeyKind::Name)],
        relaxed: None,
        times: &[("time ms", 1e3)],
        calls: &[],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Category,
        sheets: &[
            "ops_summary_by_category",
            "kernel_summary_by_category",
            "kernel_launchers_summary_by_category",
        ],
        keys: &[(&["op category"], KeyKind::Name)],
        relaxed: None,
        times: &[("total_direct_kernel_time_ms", 1e3), ("host_us", 1.0)],
        calls: &["Count"],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Operator,
        sheets: &["ops_summary", "kernel_launchers_summary"],
        keys: &[NAME],
        relaxed: None,
        times: &[("total_direct_kernel_time_ms", 1e3), ("host_us", 1.0)],
        calls: &["Count"],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Operator,
        sheets: &["hlo_stats"],
        keys: &[(&["HLO op name"], KeyKind::Name)],
        relaxed: None,
        times: &[("Total self time (us)", 1.0)],
        calls: &["#Occurrences"],
        spread: NO_SPREAD,
    },
    // Of Tenstorrent operations: by operation, and by operation and sizes.
    Rule {
        subject: Subject::Category,
        sheets: &["summary"],
        keys: &[(&["Op Code"], KeyKind::Name)],
        relaxed: None,
        times: &[("Device Time Sum", 1.0)],
        calls: &["Op Count"],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Operator,
        sheets: &["ops"],
        keys: &[(&["OP Code"], KeyKind::Name)],
        relaxed: None,
        times: &[("Device Time", 1.0)],
        calls: &[],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Call,
        sheets: &["ops_all", "ops_unique_args", "kernel_launchers_unique_args"],
        keys: &[NAME, ARGUMENTS[0], ARGUMENTS[1], ARGUMENTS[2], ARGUMENTS[3]],
        relaxed: Some(STRIDES),
        times: &[("total_direct_kernel_time_sum", 1.0), ("host_us", 1.0)],
        calls: &["operation_count"],
        spread: [
            &["total_direct_kernel_time_mean"],
            &["total_direct_kernel_time_std"],
            &["total_direct_kernel_time_min"],
            &["total_direct_kernel_time_max"],
        ],
    },
    Rule {
        subject: Subject::Call,
        sheets: &["unified_perf_summary"],
        keys: &[NAME, ARGUMENTS[0], ARGUMENTS[1], ARGUMENTS[2], ARGUMENTS[3]],
        relaxed: Some(STRIDES),
        times: &[("Kernel Time (µs)_sum", 1.0), ("host_us", 1.0)],
        calls: &["operation_count"],
        spread: KERNEL_TIME,
    },
    Rule {
        subject: Subject::Kernel,
        sheets: &["kernel_summary"],
        keys: &[(&["Kernel name", "name"], KeyKind::Name)],
        relaxed: None,
        times: &[("Kernel duration (µs)_sum", 1.0), ("Total Kernel Time (ms)", 1e3)],
        calls: &["Kernel duration (µs)_count", "Count"],
        spread: [
            &["Kernel duration (µs)_mean", "Mean Kernel Time (µs)"],
            &["Std Kernel Time (µs)"],
            &["Kernel duration (µs)_min", "Min Kernel Time (µs)"],
            &["Kernel duration (µs)_max", "Max Kernel Time (µs)"],
        ],
    },
];

/// Tables of operators with the figures of a performance model, whatever they are called. The columns named `param: …`
/// are keys, too.
pub(crate) const MODELLED: Rule = Rule {
    subject: Subject::Model,
    sheets: &[],
    keys: &[NAME],
    relaxed: None,
    times: &[("Kernel Time (µs)_sum", 1.0), ("host_us", 1.0)],
    calls: &["name_count"],
    spread: KERNEL_TIME,
};

/// How the columns of parameters begin.
pub(crate) const PARAMETER: &str = "param: ";

/// Rates that are means over calls.
pub(crate) const RATES: [&str; 2] = ["TFLOPS/s_mean", "TB/s_mean"];

/// What ends the names of tables of one phase of inference.
const PHASES: [&str; 4] = ["_prefill", "_decode", "_mixed", "_unknown"];

/// The table with the number of steps.
pub(crate) const STEPS: &str = "iteration_groups";

/// How a table is compared, and under which name; `None` where it is not.
pub(crate) fn rule_of<'h>(
    sheet: &str,
    headers: impl IntoIterator<Item = &'h str>,
) -> Option<(String, &'static Rule)> {
    let phase = PHASES.into_iter().find(|phase| sheet.ends_with(phase)).unwrap_or_default();
    let plain = sheet.strip_suffix(phase).unwrap_or(sheet);
    if let Some(rule) = RULES.iter().find(|rule| rule.sheets.contains(&plain)) {
        return Some((format!("{}{phase}", rule.title()), rule));
    }
    let mut headers = headers.into_iter();
    let is_modelled = headers.any(|header| header == "name_count" || header.starts_with(PARAMETER));
    is_modelled.then(|| (sheet.to_owned(), &MODELLED))
}

/// Whether a report may leave the table out because it has nothing to show there.
pub(crate) fn may_be_absent(title: &str, rule: &Rule) -> bool {
    rule.subject == Subject::Model || PHASES.iter().any(|phase| title.ends_with(phase))
}

/// Whether a comparison has use for a table of a report.
#[must_use]
pub fn is_compared(sheet: &str, headers: &[String]) -> bool {
    sheet == STEPS || rule_of(sheet, headers.iter().map(String::as_str)).is_some()
}
