//! Which tables of reports are compared: what a row is known by, which column is its time.

use sheets::columns::{self, hlo, kernels, rocprof_kernels, tenstorrent};
use sheets::names;

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
    (&[columns::INPUT_TYPE.name], KeyKind::Literal),
    (&[columns::INPUT_DIMS.name], KeyKind::Literal),
    (&[STRIDES], KeyKind::Literal),
    (&[VALUES], KeyKind::Literal),
];
const STRIDES: &str = columns::INPUT_STRIDES.name;
const VALUES: &str = columns::CONCRETE_INPUTS.name;
/// Keys in which calls of like programs may differ.
pub(crate) const ALIKE_WITHOUT: [&str; 2] = [STRIDES, VALUES];
const NO_SPREAD: [&[&str]; 4] = [&[]; 4];
const KERNEL_TIME: [&[&str]; 4] = [
    &[columns::KERNEL_TIME.mean.name],
    &[columns::KERNEL_TIME.std.name],
    &[columns::KERNEL_TIME.min.name],
    &[columns::KERNEL_TIME.max.name],
];

/// The tables that are compared, the whole before its parts.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        subject: Subject::Timeline,
        // The second is the mean over the GPUs of a profile, which the first has one by one.
        sheets: &[names::GPU_TIMELINE, names::GPU_EVENTS_AVERAGES],
        keys: &[(&["type"], KeyKind::Name)],
        relaxed: None,
        times: &[(columns::TIME_MS.name, 1e3)],
        calls: &[],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Category,
        sheets: &[
            names::OPS_SUMMARY_BY_CATEGORY,
            names::KERNEL_SUMMARY_BY_CATEGORY,
            names::KERNEL_LAUNCHERS_SUMMARY_BY_CATEGORY,
        ],
        keys: &[(&[columns::OP_CATEGORY.name], KeyKind::Name)],
        relaxed: None,
        times: &[(columns::DIRECT_MS.name, 1e3), (columns::HOST_US.name, 1.0)],
        calls: &["Count"],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Operator,
        sheets: &[names::OPS_SUMMARY, names::KERNEL_LAUNCHERS_SUMMARY],
        keys: &[NAME],
        relaxed: None,
        times: &[(columns::DIRECT_MS.name, 1e3), (columns::HOST_US.name, 1.0)],
        calls: &["Count"],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Operator,
        sheets: &[names::HLO_STATS],
        keys: &[(&[hlo::OP_NAME.name], KeyKind::Name)],
        relaxed: None,
        times: &[(hlo::SELF_TIME.name, 1.0)],
        calls: &[hlo::OCCURRENCES.name],
        spread: NO_SPREAD,
    },
    // Of Tenstorrent operations: by operation, and by operation and sizes.
    Rule {
        subject: Subject::Category,
        sheets: &["summary"],
        keys: &[(&[tenstorrent::GROUP.name], KeyKind::Name)],
        relaxed: None,
        times: &[(tenstorrent::TIME_SUM.name, 1.0)],
        calls: &[tenstorrent::COUNT.name],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Operator,
        sheets: &["ops"],
        keys: &[(&[tenstorrent::OP.name], KeyKind::Name)],
        relaxed: None,
        times: &[(tenstorrent::TIME.name, 1.0)],
        calls: &[],
        spread: NO_SPREAD,
    },
    Rule {
        subject: Subject::Call,
        sheets: &[names::OPS_ALL, names::OPS_UNIQUE_ARGS, names::KERNEL_LAUNCHERS_UNIQUE_ARGS],
        keys: &[NAME, ARGUMENTS[0], ARGUMENTS[1], ARGUMENTS[2], ARGUMENTS[3]],
        relaxed: Some(STRIDES),
        times: &[(columns::DIRECT_US_SUM.name, 1.0), (columns::HOST_US.name, 1.0)],
        calls: &[columns::OPERATION_COUNT.name],
        spread: [
            &[columns::DIRECT_US.mean.name],
            &[columns::DIRECT_US.std.name],
            &[columns::DIRECT_US.min.name],
            &[columns::DIRECT_US.max.name],
        ],
    },
    Rule {
        subject: Subject::Call,
        sheets: &[names::UNIFIED_PERF_SUMMARY],
        keys: &[NAME, ARGUMENTS[0], ARGUMENTS[1], ARGUMENTS[2], ARGUMENTS[3]],
        relaxed: Some(STRIDES),
        times: &[(columns::KERNEL_TIME_SUM.name, 1.0), (columns::HOST_US.name, 1.0)],
        calls: &[columns::OPERATION_COUNT.name],
        spread: KERNEL_TIME,
    },
    Rule {
        subject: Subject::Kernel,
        sheets: &[names::KERNEL_SUMMARY],
        keys: &[(&[kernels::KERNEL_NAME.name, "name"], KeyKind::Name)],
        relaxed: None,
        times: &[(kernels::DURATION_SUM.name, 1.0), (rocprof_kernels::TOTAL.name, 1e3)],
        calls: &[kernels::DURATION_COUNT.name, "Count"],
        spread: [
            &[kernels::DURATION_MEAN.name, rocprof_kernels::MEAN.name],
            &[rocprof_kernels::STD.name],
            &[kernels::DURATION_MIN.name, rocprof_kernels::MIN.name],
            &[kernels::DURATION_MAX.name, rocprof_kernels::MAX.name],
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
    times: &[(columns::KERNEL_TIME_SUM.name, 1.0), (columns::HOST_US.name, 1.0)],
    calls: &[columns::NAME_COUNT.name],
    spread: KERNEL_TIME,
};

/// How the columns of parameters begin.
pub(crate) const PARAMETER: &str = "param: ";

/// Rates that are means over calls.
pub(crate) const RATES: [&str; 2] = [columns::TFLOPS_PER_S.mean.name, columns::TB_PER_S.mean.name];

/// What ends the names of tables of one phase of inference.
const PHASES: [&str; 4] = ["_prefill", "_decode", "_mixed", "_unknown"];

/// The table with the number of steps, where the report has none with each of them.
pub(crate) const STEPS: &str = names::ITERATION_GROUPS;

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
    let is_modelled =
        headers.any(|header| header == columns::NAME_COUNT.name || header.starts_with(PARAMETER));
    is_modelled.then(|| (sheet.to_owned(), &MODELLED))
}

/// Whether a report may leave the table out because it has nothing to show there.
pub(crate) fn may_be_absent(title: &str, rule: &Rule) -> bool {
    rule.subject == Subject::Model || PHASES.iter().any(|phase| title.ends_with(phase))
}

/// Whether a comparison has use for a table of a report.
#[must_use]
pub fn is_compared(sheet: &str, headers: &[String]) -> bool {
    [STEPS, names::ITERATIONS].contains(&sheet)
        || rule_of(sheet, headers.iter().map(String::as_str)).is_some()
}
