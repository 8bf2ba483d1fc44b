//! From the time of A to that of B, part by part.

use crate::compare::{Comparison, Joined, TOTAL};
use crate::rules::Subject;

/// Parts of the device's computation that are named; the rest is one.
const MOST_PARTS: usize = 12;

/// The time of a run, or a part of the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The run, or the part.
    pub name: String,
    /// Time of a run in µs.
    pub whole_us: Option<f64>,
    /// Time of B less time of A in the part, in µs.
    pub delta_us: Option<f64>,
    /// The lower end of the step in µs.
    pub base_us: Option<f64>,
}

/// The time of A, the parts of the difference, and the time of B. The parts add up to the difference: what kinds of work
/// do at the same time, and what belongs to none of them, is a part of its own. Without a timeline the parts are those of
/// the table of kinds, or of operators. Empty where there is no time at all, and of recordings that are cut differently.
#[must_use]
pub fn waterfall(comparison: &Comparison) -> Vec<Step> {
    if comparison.is_cut_differently {
        return Vec::new();
    }
    let timeline_times = |kind: &str| {
        comparison.part_of_timeline(kind).map(|row| [row.figures[0].time_us, row.figures[1].time_us])
    };
    let by_kind = comparison.about(Subject::Category);
    let (wholes, parts) = match (timeline_times(TOTAL), by_kind.or_else(|| comparison.main_table())) {
        (Some(wholes), kinds) => (wholes, parts_of_span(&timeline_times, kinds)),
        (None, Some(table)) => {
            let wholes = [table.totals[0].time_us, table.totals[1].time_us];
            (wholes, parts_of_table(table, wholes[1] - wholes[0]))
        }
        (None, None) => return Vec::new(),
    };
    let whole = |side: usize| Step {
        name: comparison.names[side].clone(),
        whole_us: Some(wholes[side]),
        delta_us: None,
        base_us: None,
    };
    let mut level = wholes[0];
    let step = |(name, delta): (String, f64)| {
        let before = level;
        level += delta;
        Step { name, whole_us: None, delta_us: Some(delta), base_us: Some(before.min(level)) }
    };
    let mut steps = vec![whole(0)];
    steps.extend(parts.into_iter().filter(|(_, delta)| *delta != 0.0).map(step));
    steps.push(whole(1));
    steps
}

/// Parts of the span of a timeline. What is not named by the timeline is a part, too.
fn parts_of_span(
    timeline_times: &dyn Fn(&str) -> Option<[f64; 2]>,
    kinds: Option<&Joined>,
) -> Vec<(String, f64)> {
    /// Parts of a span that do not overlap, as reports of traces and of rocprofv3 profiles name them.
    const PARTS: [(&str, &str); 5] = [
        ("computation_time", "computation"),
        ("kernel", "kernels"),
        ("exposed_comm_time", "exposed communication"),
        ("exposed_memcpy_time", "exposed copies"),
        ("idle_time", "idle"),
    ];
    let delta = |[a, b]: [f64; 2]| b - a;
    let gap = timeline_times(TOTAL).map_or(0.0, delta);
    let mut parts = Vec::new();
    for (kind, name) in PARTS {
        let Some(change) = timeline_times(kind).map(delta) else { continue };
        match kinds {
            Some(table) if kind == PARTS[0].0 => parts.extend(parts_of_table(table, change)),
            _ => parts.push((name.to_owned(), change)),
        }
    }
    let named: f64 = parts.iter().map(|(_, change)| change).sum();
    parts.push((OTHER.to_owned(), rounded_away(gap - named, gap)));
    parts
}

const OTHER: &str = "other";

/// The largest changes of a table, and the rest up to `whole`.
fn parts_of_table(table: &Joined, whole: f64) -> Vec<(String, f64)> {
    let named = table.rows.iter().take(MOST_PARTS).map(|row| (row.name().to_owned(), row.delta_us()));
    let mut parts: Vec<(String, f64)> = named.collect();
    let named_change: f64 = parts.iter().map(|(_, change)| change).sum();
    let shown = table.rows.len().min(MOST_PARTS);
    let left: f64 = table.rows[shown..].iter().map(crate::compare::Row::delta_us).sum();
    parts.push(("other kinds of work".to_owned(), left));
    parts.push((
        "overlap and uncategorized work".to_owned(),
        rounded_away(whole - named_change - left, whole),
    ));
    parts
}

/// A difference of sums, zero where it is nothing but their rounding.
fn rounded_away(difference: f64, of: f64) -> f64 {
    if difference.abs() <= 1e-9 * of.abs().max(1.0) { 0.0 } else { difference }
}
