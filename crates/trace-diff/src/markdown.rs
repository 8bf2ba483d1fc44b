//! A comparison as Markdown, for pull requests.

use std::fmt::Write;

use sheets::markdown_text as text;
use sheets::numbers::{decimal, duration};

use crate::compare::{Comparison, Row, Status};
use crate::waterfall::waterfall;

/// Rows of what changed most.
const MOST_ROWS: usize = 10;

/// The parts of the difference and the largest changes, as Markdown.
#[must_use]
pub fn markdown(comparison: &Comparison) -> String {
    let [a, b] = &comparison.names;
    let mut out = format!("### {} against {}\n\n", text(b), text(a));
    let steps = waterfall(comparison);
    let wholes: Vec<f64> = steps.iter().filter_map(|step| step.whole_us).collect();
    let per_step = if comparison.steps.is_some() { " per step" } else { "" };
    // Writing to a String cannot fail.
    if let [of_a, of_b] = wholes[..] {
        let _ = writeln!(
            out,
            "**{}{per_step}** in {}, **{}{per_step}** in {} ({})\n",
            duration(of_a),
            text(a),
            duration(of_b),
            text(b),
            share(of_b - of_a, of_a)
        );
        out.push_str("| part of the time | change | of the whole |\n| --- | ---: | ---: |\n");
        for (step, delta) in steps.iter().filter_map(|step| Some((step, step.delta_us?))) {
            let _ = writeln!(out, "| {} | {} | {} |", text(&step.name), signed(delta), share(delta, of_a));
        }
    }
    let Some(table) = comparison.main_table() else { return out };
    let changed = || table.rows.iter().filter(|row| row.delta_us() != 0.0);
    if changed().next().is_some() {
        let _ = writeln!(out, "\n| {} | | {} | {} | change | |", table.sheet, text(a), text(b));
        out.push_str("| --- | --- | ---: | ---: | ---: | ---: |\n");
    }
    for row in changed().take(MOST_ROWS) {
        let time = |side: usize| {
            let lacks = [Status::New, Status::Gone][side] == row.status;
            if lacks { String::new() } else { duration(row.figures[side].time_us) }
        };
        let status = if matches!(row.status, Status::Both(_)) { "" } else { row.status.as_str() };
        let (delta, of_a) = (row.delta_us(), row.figures[0].time_us);
        let (name, change, share) = (text(row.name()), signed(delta), share(delta, of_a));
        let _ = writeln!(out, "| {name} | {status} | {} | {} | {change} | {share} |", time(0), time(1));
    }
    let more = changed().count().saturating_sub(MOST_ROWS);
    if more > 0 {
        let left: f64 = changed().skip(MOST_ROWS).map(Row::delta_us).sum();
        let _ = writeln!(out, "\nand {more} more with {}", signed(left));
    }
    out
}

fn signed(us: f64) -> String {
    format!("{}{}", if us > 0.0 { "+" } else { "" }, duration(us))
}

/// A change as a share; nothing of nothing.
fn share(delta: f64, whole: f64) -> String {
    match crate::compare::percent(delta, whole) {
        Some(percent) => format!("{}{}%", if percent > 0.0 { "+" } else { "" }, decimal(percent, 1)),
        None => String::new(),
    }
}
