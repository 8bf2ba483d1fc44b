//! Scores of a benchmark in percent, with the gates that they fail.

use std::fmt::Write as _;

const LABEL_WIDTH: usize = 22;
const COLUMN_WIDTH: usize = 12;

/// A table that is written row by row.
pub(crate) struct ScoreTable {
    text: String,
    failed: usize,
}

impl ScoreTable {
    pub(crate) fn new(columns: &[&str]) -> Self {
        let mut text = " ".repeat(LABEL_WIDTH);
        // Writing to a String cannot fail.
        for column in columns {
            let _ = write!(text, "{column:>COLUMN_WIDTH$}");
        }
        text.push('\n');
        Self { text, failed: 0 }
    }

    /// A line of text between rows.
    pub(crate) fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// A row of shares, 0 to 1, in percent, with the gates that it fails; a dash where there is nothing to score.
    pub(crate) fn row(&mut self, label: &str, shares: &[Option<f64>], failures: &[&str]) {
        let _ = write!(self.text, "  {label:<width$}", width = LABEL_WIDTH - 2);
        for share in shares {
            let _ = match share {
                Some(share) => write!(self.text, "{:>COLUMN_WIDTH$.3}", share * 100.0),
                None => write!(self.text, "{:>COLUMN_WIDTH$}", "–"),
            };
        }
        let gates: String = failures.iter().map(|gate| format!("  FAILED: {gate}")).collect();
        let _ = writeln!(self.text, "{gates}");
        self.failed += failures.len();
    }

    /// Gates failed so far.
    pub(crate) fn failed(&self) -> usize {
        self.failed
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_percent_under_their_columns() {
        let mut table = ScoreTable::new(&["count", "mixed"]);
        table.line("program");
        table.row("unmarked", &[Some(0.98765), None], &["count below 99%", "another"]);
        assert_eq!(table.failed(), 2);
        assert_eq!(
            table.into_text(),
            "                             count       mixed\nprogram\n  unmarked                  98.765           –  \
             FAILED: count below 99%  FAILED: another\n"
        );
    }
}
