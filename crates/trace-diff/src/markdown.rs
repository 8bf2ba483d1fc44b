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
    if let [whole_a, whole_b] = wholes[..] {
        let _ = writeln!(
            out,
            "**{}{per_step}** in {}, **{}{per_step}** in {} ({})\n",
            duration(whole_a),
            text(a),
            duration(whole_b),
            text(b),
            share(whole_b - whole_a, whole_a)
        );
        out.push_str("| time category | change | of total |\n| --- | ---: | ---: |\n");
        for (step, delta) in steps.iter().filter_map(|step| Some((step, step.delta_us?))) {
            let _ = writeln!(out, "| {} | {} | {} |", text(&step.name), signed(delta), share(delta, whole_a));
        }
    }
    for notice in &comparison.notices {
        let _ = writeln!(out, "\n> {}", text(&notice.to_string()));
    }
    for part in &comparison.repeated {
        let [count_a, count_b] = part.counts;
        let [median_a, median_b] = part.median_us;
        let change = share(part.delta_us(), median_a);
        let _ = writeln!(
            out,
            "\n{}, median time per occurrence: {} in {} ({count_a} times), {} in {} ({count_b}), {change}",
            text(&part.name),
            duration(median_a),
            text(a),
            duration(median_b),
            text(b)
        );
    }
    let Some(table) = comparison.ranked_table() else { return out };
    let is_told = |row: &&Row| row.delta_us() != 0.0 && !(comparison.is_cut_differently && row.is_noise());
    let changed = || table.rows.iter().filter(is_told);
    if changed().next().is_some() {
        let per_call = if comparison.is_cut_differently { " per call" } else { "" };
        let _ = writeln!(out, "\n| {}{per_call} | | {} | {} | change | |", table.sheet, text(a), text(b));
        out.push_str("| --- | --- | ---: | ---: | ---: | ---: |\n");
    }
    for row in changed().take(MOST_ROWS) {
        let time = |side: usize| {
            let lacks = [Status::New, Status::Gone][side] == row.status;
            if lacks { String::new() } else { duration(row.figures[side].time_us) }
        };
        let status = if matches!(row.status, Status::Both(_)) { "" } else { row.status.as_str() };
        let (delta, time_a) = (row.delta_us(), row.figures[0].time_us);
        let (name, change, share) = (text(row.name()), signed(delta), share(delta, time_a));
        let _ = writeln!(out, "| {name} | {status} | {} | {} | {change} | {share} |", time(0), time(1));
    }
    let more = changed().count().saturating_sub(MOST_ROWS);
    if more > 0 && comparison.is_cut_differently {
        let _ = writeln!(out, "\nand {more} more");
    } else if more > 0 {
        let left: f64 = changed().skip(MOST_ROWS).map(Row::delta_us).sum();
        let _ = writeln!(out, "\nand {more} more with {}", signed(left));
    }
    out
}

fn signed(us: f64) -> String {
    with_sign(us, duration(us))
}

/// What is added has a plus, unless it rounds to nothing.
fn with_sign(value: f64, text: String) -> String {
    let is_something = text.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    if value > 0.0 && is_something { format!("+{text}") } else { text }
}

/// A change as a share; nothing of nothing.
fn share(delta: f64, whole: f64) -> String {
    match crate::compare::percent(delta, whole) {
        Some(percent) => with_sign(percent, format!("{}%", decimal(percent, 1))),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounds_to_nothing_has_no_sign() {
        for (delta, text) in [(5.0, "+5.0%"), (-5.0, "-5.0%"), (0.04, "0.0%"), (-0.04, "0.0%"), (0.0, "0.0%")]
        {
            assert_eq!(share(delta, 100.0), text);
        }
        assert_eq!(share(1.0, 0.0), "");
    }
}
