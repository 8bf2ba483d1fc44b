//! What readers without scripts see: the summary and the first bars, as markup.

use std::fmt::Write as _;
use std::io::{self, Write};

use sheets::escaped;

use super::content::{Page, PageFigure, PageFinding, StackedBar, StackedBars};

/// A text of a recording as markup shows it. Whatever stands in it, none of it is markup or ends an attribute.
#[must_use]
pub fn markup_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

pub(super) fn write(page: &Page, output: &mut impl Write) -> io::Result<()> {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write!(out, "\n<h1>{}</h1>\n", markup_text(&page.title));
    out.push_str("<p>This page needs scripts for its charts and tables. What follows is its summary.</p>\n");
    list(page.head.iter().chain(&page.statements).map(String::as_str), &mut out);
    list(page.warnings.iter().map(|warning| warning.text.as_str()), &mut out);
    let figure = |figure: &PageFigure| format!("{}: {} {}", figure.name, figure.value, figure.note);
    let figures: Vec<String> = page.figures.iter().map(figure).collect();
    list(figures.iter().map(String::as_str), &mut out);
    let finding = |finding: &PageFinding| format!("{}. {} {}", finding.rank, finding.title, finding.remedy);
    let findings: Vec<String> = page.findings.iter().map(finding).collect();
    list(findings.iter().map(String::as_str), &mut out);
    if let Some((bars, bar)) = page.bars.first().and_then(|bars| Some((bars, bars.bars.first()?))) {
        drawing(page, bars, bar, &mut out);
    }
    output.write_all(out.as_bytes())
}

fn list<'t>(lines: impl Iterator<Item = &'t str>, out: &mut String) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    out.push_str("<ul>\n");
    for line in lines {
        let _ = writeln!(out, "<li>{}</li>", markup_text(line));
    }
    out.push_str("</ul>\n");
}

/// The first bar, and a table of its parts.
fn drawing(page: &Page, bars: &StackedBars, bar: &StackedBar, out: &mut String) {
    const WIDTH: f64 = 1000.0;
    let total = bar.total_ns.max(1) as f64;
    let _ = write!(
        out,
        "<h2>{}</h2>\n<svg viewBox=\"0 0 1000 40\" width=\"100%\" role=\"img\" aria-label=\"parts as in the table\">\n",
        markup_text(&bars.title)
    );
    let mut left = 0.0;
    for (part, time) in &bar.times {
        let width = *time as f64 / total * WIDTH;
        // Without the style sheet a variable is no colour.
        let fill = bars.parts.get(*part).and_then(|name| page.kinds.get(name)).map(|kind| kind.fill.as_str());
        let fill = fill.filter(|fill| fill.starts_with('#')).unwrap_or("#999999");
        let _ = writeln!(
            out,
            "<rect x=\"{left:.2}\" y=\"0\" width=\"{width:.2}\" height=\"40\" fill=\"{fill}\"/>"
        );
        left += width;
    }
    out.push_str("</svg>\n<table>\n<tr><th>part</th><th>ms</th><th>share</th></tr>\n");
    for (part, time) in &bar.times {
        let name = bars.parts.get(*part).map_or("", String::as_str);
        let (ms, share) = (*time as f64 / 1e6, *time as f64 / total * 100.0);
        let _ = writeln!(out, "<tr><td>{}</td><td>{ms:.3}</td><td>{share:.1}%</td></tr>", markup_text(name));
    }
    out.push_str("</table>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        for (text, shown) in [
            ("aten::mm", "aten::mm"),
            (
                "</noscript><img src=x onerror='a()'>",
                "&lt;/noscript&gt;&lt;img src=x onerror=&#39;a()&#39;&gt;",
            ),
            ("a & \"b\"", "a &amp; &quot;b&quot;"),
            ("line\nbreak\u{202e}", "line\\nbreak\\u{202e}"),
        ] {
            assert_eq!(markup_text(text), shown);
        }
    }
}
