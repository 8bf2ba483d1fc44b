//! Findings as Markdown, for pull requests and tickets.

use std::fmt::Write as _;

use sheets::markdown_text;
use sheets::numbers::{counted, duration};

use crate::advice::Advice;
use crate::finding::Finding;

impl Advice {
    /// The findings as Markdown: a table, then each with its evidence and its remedy.
    #[must_use]
    pub fn to_markdown(&self, title: &str) -> String {
        let mut text = format!("## What to change first: {}\n\n", markdown_text(title));
        let _ = writeln!(text, "The {}.\n", self.window_in_words());
        if self.findings.is_empty() {
            text.push_str("Nothing found.\n");
            return text;
        }
        text.push_str(
            "| | rule | finding | where | amount | gain, at most | confidence |\n|-:|---|---|---|-:|-:|---|\n",
        );
        for finding in &self.findings {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                finding.rank,
                finding.rule,
                markdown_text(&finding.what),
                markdown_text(&finding.subject),
                finding.amount_in_words(),
                finding.gain.map_or_else(String::new, |gain| duration(gain.high_us)),
                finding.confidence.as_str(),
            );
        }
        for finding in &self.findings {
            details(&mut text, finding);
        }
        text
    }
}

fn details(text: &mut String, finding: &Finding) {
    let _ = write!(text, "\n**{}. {}** — {}\n\n", finding.rank, finding.rule, markdown_text(&finding.what));
    let mut item = |label: &str, value: &str| {
        let _ = writeln!(text, "- {label}: {}", markdown_text(value));
    };
    if let Some(gain) = finding.gain {
        let [low, mid, high] = [gain.low_us, gain.mid_us, gain.high_us].map(duration);
        item("gain", &format!("{low} to {high}, probably {mid}"));
    }
    for sentence in &finding.evidence {
        item("evidence", sentence);
    }
    for kernel in &finding.kernels {
        item(
            "kernel",
            &format!(
                "{} ({}, {})",
                kernel.name,
                counted(kernel.count, "time", "times"),
                duration(kernel.time_us)
            ),
        );
    }
    if let Some(module) = &finding.module {
        item("module", module);
    }
    if let Some(site) = &finding.call_site {
        item("called from", site);
    }
    for other in &finding.alternatives {
        item("instead", &format!("{} ({}): {}", other.rule, duration(other.mid_us), other.what));
    }
    for doubt in &finding.doubts {
        item("uncertain", &format!("{} ({})", doubt.text, doubt.rule));
    }
    item("remedy", &finding.remedy);
}
