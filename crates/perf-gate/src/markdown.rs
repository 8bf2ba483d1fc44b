//! A verdict as Markdown, for pull requests.

use std::fmt::Write;

use sheets::markdown_text;
use sheets::numbers::{decimal, plain};

use crate::gate::{Gate, Verdict};
use crate::ledger::{LedgerLine, Part};

/// Characters of a document: some more are the most that a comment of GitHub may have.
const MOST_CHARACTERS: usize = 60_000;
/// Rows of culprits.
const MOST_ROWS: usize = 20;
/// Characters of a name.
const LONGEST_NAME: usize = 160;

impl Gate {
    /// The verdict, what it rests on and where the difference is, as Markdown. It begins with a comment by which a
    /// program finds the text again, to replace it.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        // Writing to a String cannot fail.
        let mut out =
            format!("<!-- tracelens-gate -->\n### Performance gate: {}\n\n", markdown_text(&self.headline()));
        let _ = writeln!(out, "{}\n", markdown_text(&self.basis()));
        if self.verdict == Verdict::Inconclusive {
            let _ = writeln!(out, "To decide, {}.\n", self.advice());
        }
        if self.metrics.len() > 1 {
            for metric in &self.metrics {
                let _ =
                    writeln!(out, "- {}: {}", metric.decision.as_str(), markdown_text(&metric.in_words()));
            }
            out.push('\n');
        }
        for metric in &self.metrics {
            if let Some((until, reason)) = &metric.exception {
                let _ = writeln!(
                    out,
                    "- exception for {} until {until}: {}",
                    code(&metric.metric.to_string()),
                    code(reason)
                );
            }
        }
        for check in &self.comparability.checks {
            let (outcome, side) = (check.outcome.as_str(), check.side.as_str());
            let _ = writeln!(
                out,
                "- {outcome}: {}: {side} {}: {}",
                check.check,
                code(&check.file),
                code(&check.found)
            );
        }
        for remark in &self.remarks {
            let _ = writeln!(out, "- {}", markdown_text(remark));
        }
        if self.verdict != Verdict::NotComparable {
            self.write_culprits(&mut out);
        }
        out
    }

    fn write_culprits(&self, out: &mut String) {
        let culprits = self.ledger.culprits();
        let ms = |ns: i64| decimal(ns as f64 / 1e6, 3);
        let signed = |ns: i64| format!("{}{}", if ns > 0 { "+" } else { "" }, ms(ns));
        let [a, b] = self.ledger.step_ns;
        let _ = writeln!(
            out,
            "\nTypical step: {} ms → {} ms ({} ms)\n",
            ms(a),
            ms(b),
            signed(self.ledger.delta())
        );
        if culprits.is_empty() {
            let _ = writeln!(out, "No single part of the step changed by more than its own noise.");
            return;
        }
        out.push_str("| culprit | module | kernel | calls | Δ ms/step | share | how |\n");
        out.push_str("| --- | --- | --- | ---: | ---: | ---: | --- |\n");
        let mut left_out = 0_usize;
        for (row, line) in culprits.iter().enumerate() {
            let text = self.row(line, &signed);
            if row < MOST_ROWS && out.len() + text.len() < MOST_CHARACTERS {
                out.push_str(&text);
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            let _ = writeln!(out, "\nand {left_out} more");
        }
    }

    fn row(&self, line: &LedgerLine, signed: &impl Fn(i64) -> String) -> String {
        let (name, module) = match &line.part {
            Part::Unit { name, dims, module, .. } => {
                let name = if dims.is_empty() { name.clone() } else { format!("{name} {dims}") };
                (code(&name), if module.is_empty() { String::new() } else { code(module) })
            }
            part => (part.name().to_owned(), String::new()),
        };
        let kernel = line.main_kernels().into_iter().map(code).collect::<Vec<_>>().join(" → ");
        let calls = match line.calls {
            [a, b] if a == b && a > 0.0 => plain(a),
            [a, b] if a > 0.0 || b > 0.0 => format!("{} → {}", plain(a), plain(b)),
            _ => String::new(),
        };
        let percent =
            |share: Option<f64>| share.map_or(String::new(), |share| format!("{}%", decimal(share, 1)));
        let share = match self.ledger.share(line) {
            // Others became faster.
            Some(share) if share > 100.0 => {
                format!(
                    "{} ({} of all slowdowns)",
                    percent(Some(share)),
                    percent(self.ledger.share_of_slower(line))
                )
            }
            share => percent(share),
        };
        format!(
            "| {name} | {module} | {kernel} | {calls} | {} | {share} | {} |\n",
            signed(line.delta()),
            line.change.as_str()
        )
    }
}

/// A name as a code span that nothing in it ends, and that ends no cell of a table.
fn code(name: &str) -> String {
    let mut shown = String::new();
    for (at, c) in sheets::escaped(name).chars().enumerate() {
        if at == LONGEST_NAME {
            shown.push('…');
            break;
        }
        match c {
            // Before a bar, a backslash of the name would be taken for the one that keeps the bar from ending the cell.
            '|' => {
                if shown.ends_with('\\') {
                    shown.pop();
                    shown.push('\u{29f5}');
                }
                shown.push_str("\\|");
            }
            c => shown.push(c),
        }
    }
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match shown.is_empty() {
        true => String::new(),
        false if longest > 0 => format!("{fence} {shown} {fence}"),
        false => format!("{fence}{shown}{fence}"),
    }
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;
    use crate::fixture::recording_of;
    use crate::thresholds::Thresholds;

    /// Names that would forge rows, cells, links, comments and mentions.
    const HOSTILE: [&str; 8] = [
        "a|b|c",
        "a\\|b\\\\|c\\",
        "``` `x` ``",
        "x\n| forged | row | | | | | |",
        "</code><img src=x onerror=alert(1)>-->",
        "@everyone [link](http://example.com) #1",
        "\u{202e}gpj.exe\r\n\u{2028}",
        "|",
    ];

    #[test]
    fn hostile_names_are_cells_of_one_table() {
        let times = [[100_000, 100_000, 100_000, 100_000], [150_000, 150_000, 150_000, 150_000]];
        let [a, b] = times.each_ref().map(|times| {
            let operators: Vec<(&str, &[i64])> = HOSTILE.iter().map(|&name| (name, &times[..])).collect();
            let mut made = recording_of(&operators);
            for unit in &mut made.units {
                unit.module = unit.op.clone();
                unit.kernel = unit.op.clone();
                unit.dims = unit.op.clone();
            }
            made.setup.modules = true;
            made
        });
        let mut b = b;
        b.file = HOSTILE[4].to_owned();
        b.setup.faults = vec![HOSTILE[3].to_owned()];
        let gate = Gate::new(vec![a], vec![b], &Thresholds::default(), &Default::default()).unwrap();
        let text = gate.to_markdown();
        assert!(
            text.starts_with("<!-- tracelens-gate -->\n### Performance gate: FAIL, step time +50.0%"),
            "{text}"
        );
        let (mut tables, mut rows, mut cells, mut code) = (0, 0, 0, 0);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Table(_)) => tables += 1,
                Event::Start(Tag::TableRow) => rows += 1,
                Event::Start(Tag::TableCell) => cells += 1,
                Event::Code(_) => code += 1,
                Event::Start(Tag::Link { .. } | Tag::Image { .. }) | Event::InlineHtml(_) => {
                    panic!("{event:?} in {text}")
                }
                // The comment that a program finds it by.
                Event::Html(html) => assert_eq!(&*html, "<!-- tracelens-gate -->\n"),
                _ => {}
            }
        }
        // In each row the names of operator, module and kernel; elsewhere that of the file and of the fault.
        assert_eq!((tables, rows, cells, code), (1, 8, 7 * 9, 3 * 8 + 2), "{text}");
    }

    #[test]
    fn many_culprits_are_cut_and_counted() {
        let names: Vec<String> = (0..40).map(|at| format!("op{at}{}", "x".repeat(500))).collect();
        let [a, b] = [[10_000; 4], [20_000; 4]].map(|times| {
            let operators: Vec<(&str, &[i64])> = names.iter().map(|name| (&**name, &times[..])).collect();
            recording_of(&operators)
        });
        let gate = Gate::new(vec![a], vec![b], &Thresholds::default(), &Default::default()).unwrap();
        let text = gate.to_markdown();
        assert!(text.ends_with("\nand 20 more\n") && text.len() < MOST_CHARACTERS, "{text}");
    }
}
