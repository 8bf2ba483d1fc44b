//! One line that shows how a whole divides into parts.

use unicode_width::UnicodeWidthStr;

use super::style::{Color, Style};

/// A part of a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment<'a> {
    /// What the part is.
    pub label: &'a str,
    /// Its share of the whole, 0 to 1.
    pub fraction: f64,
    /// Its colour, where colours may be used.
    pub color: Color,
}

/// Marks that tell parts apart without colour.
const UNICODE_MARKS: [char; 4] = ['█', '▓', '▒', '░'];
const ASCII_MARKS: [char; 6] = ['#', '=', '-', '+', ':', '.'];

/// A stacked bar of `style.width` cells, then a legend with each part's label and percentage,
/// on as many lines as it needs; every line ends in `\n`.
///
/// Cells are shared out by largest remainder, so they always add up to the width, and ties go to
/// the earlier part. Fractions that do not add up to 1 are scaled for the bar; the legend shows
/// them as given. Negative and non-finite fractions count as 0. Without any part the bar is
/// blank.
#[must_use]
pub fn bar(segments: &[Segment<'_>], style: Style) -> String {
    let fractions: Vec<f64> = segments.iter().map(|segment| segment.fraction).collect();
    let mut text = String::new();
    let mut used = 0;
    for (position, cells) in share_out(&fractions, style.width).into_iter().enumerate() {
        let run = mark(position, style).to_string().repeat(cells);
        text.push_str(&style.paint(&run, segments[position].color));
        used += cells;
    }
    text.push_str(&" ".repeat(style.width - used));
    text.push('\n');

    let mut line_width = 0;
    for (position, segment) in segments.iter().enumerate() {
        let label = format!(" {} {:.1}%", segment.label, segment.fraction * 100.0);
        let entry_width = 1 + label.width();
        if line_width > 0 && line_width + 2 + entry_width > style.width {
            text.push('\n');
            line_width = 0;
        } else if line_width > 0 {
            text.push_str("  ");
            line_width += 2;
        }
        text.push_str(&style.paint(&mark(position, style).to_string(), segment.color));
        text.push_str(&label);
        line_width += entry_width;
    }
    if line_width > 0 {
        text.push('\n');
    }
    text
}

/// The character of the part at `position`: full blocks where colour tells parts apart.
fn mark(position: usize, style: Style) -> char {
    match (style.unicode, style.colored) {
        (true, true) => '█',
        (true, false) => UNICODE_MARKS[position % UNICODE_MARKS.len()],
        (false, true) => '#',
        (false, false) => ASCII_MARKS[position % ASCII_MARKS.len()],
    }
}

/// Divides `cells` in proportion to `fractions` by largest remainder (Hamilton's method).
fn share_out(fractions: &[f64], cells: usize) -> Vec<usize> {
    let usable = |fraction: f64| if fraction.is_finite() && fraction > 0.0 { fraction } else { 0.0 };
    let total: f64 = fractions.iter().map(|&fraction| usable(fraction)).sum();
    if total == 0.0 {
        return vec![0; fractions.len()];
    }
    let quotas: Vec<f64> =
        fractions.iter().map(|&fraction| usable(fraction) / total * cells as f64).collect();
    let mut shares: Vec<usize> = quotas.iter().map(|quota| quota.floor() as usize).collect();
    let mut by_remainder: Vec<usize> = (0..quotas.len()).filter(|&part| quotas[part] > 0.0).collect();
    // Stable, so that ties go to the earlier part.
    by_remainder.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
    let missing = cells.saturating_sub(shares.iter().sum());
    for part in by_remainder.into_iter().cycle().take(missing) {
        shares[part] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_shared_by_largest_remainder() {
        let cases: &[(&[f64], usize, &[usize])] = &[
            (&[0.9, 0.1], 10, &[9, 1]),
            (&[1.0, 1.0, 1.0], 10, &[4, 3, 3]),
            (&[0.5, 0.25, 0.25], 2, &[1, 1, 0]),
            (&[0.001, 0.999], 10, &[0, 10]),
            (&[0.2, 0.2], 9, &[5, 4]),
            (&[-1.0, f64::NAN, 0.5, f64::INFINITY], 4, &[0, 0, 4, 0]),
            (&[0.0, 0.0], 10, &[0, 0]),
            (&[1e-300, 1e-300], 3, &[2, 1]),
            (&[], 10, &[]),
            (&[1.0], 0, &[0]),
        ];
        for (fractions, cells, shares) in cases {
            assert_eq!(&share_out(fractions, *cells), shares, "{fractions:?}");
        }
    }

    fn segments() -> [Segment<'static>; 3] {
        [
            Segment { label: "computation", fraction: 0.914, color: Color::Green },
            Segment { label: "exposed communication", fraction: 0.0, color: Color::Yellow },
            Segment { label: "idle", fraction: 0.086, color: Color::Red },
        ]
    }

    #[test]
    fn the_bar_is_exactly_as_wide_as_asked() {
        for width in 0..200 {
            for (colored, unicode) in [(true, true), (true, false), (false, true), (false, false)] {
                let text = bar(&segments(), Style { width, colored, unicode });
                let line = text.lines().next().unwrap();
                let plain: String = line
                    .split('\u{1b}')
                    .enumerate()
                    .map(|(position, part)| match position {
                        0 => part,
                        _ => part.split_once('m').unwrap().1,
                    })
                    .collect();
                assert_eq!(plain.width(), width);
            }
        }
    }

    #[test]
    fn parts_are_told_apart_without_colour() {
        let text = bar(&segments(), Style { width: 70, colored: false, unicode: false });
        let expected = format!(
            "{}{}\n# computation 91.4%  = exposed communication 0.0%  - idle 8.6%\n",
            "#".repeat(64),
            "-".repeat(6)
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn colour_replaces_the_marks() {
        let text = bar(&segments()[..1], Style { width: 3, colored: true, unicode: true });
        assert_eq!(text, "\u{1b}[32m███\u{1b}[0m\n\u{1b}[32m█\u{1b}[0m computation 91.4%\n");
    }

    #[test]
    fn no_parts_give_a_blank_bar() {
        assert_eq!(bar(&[], Style { width: 3, colored: false, unicode: true }), "   \n");
    }
}
