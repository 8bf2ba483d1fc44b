//! The table of a benchmark as Markdown.

use std::fmt::Write;

use super::Row;

const COLUMNS: [&str; 16] = [
    "trace",
    "events",
    "text MB",
    "inflate",
    "tape",
    "floor",
    "read",
    "read / floor",
    "analysis",
    "sheets",
    "write",
    "whole",
    "whole / floor",
    "processor",
    "peak MiB",
    "bytes/event",
];

/// Times in seconds; what is not known is a dash, with the reason below where there is one.
pub(super) fn markdown(rows: &[Row], runs: u32) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "| {} |", COLUMNS.join(" | "));
    let _ = writeln!(text, "| --- |{}", " ---: |".repeat(COLUMNS.len() - 1));
    for row in rows {
        let _ = writeln!(text, "| {} |", cells(row).join(" | "));
    }
    let _ = writeln!(
        text,
        "\nTimes in seconds, medians of {runs}. Floor: inflate (libdeflate) and tape (simd-json), one thread, in \
         memory. Read to write: stages of ours; whole: the process from start to end; processor: its time on all \
         cores. 1 MB = 10⁶ bytes. Peak: resident memory of the whole process."
    );
    for row in rows {
        if let Some(why) = &row.floor.tape_refused {
            let _ = writeln!(text, "No tape of {} ({} events): {why}.", row.input.name, row.run.events);
        }
    }
    text
}

fn cells(row: &Row) -> [String; COLUMNS.len()] {
    let known = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let seconds = |value: Option<f64>| known(value.map(|seconds| format!("{seconds:.3}")));
    let ratio = |over: f64, under: f64| (under > 0.0).then(|| over / under).filter(|ratio| ratio.is_finite());
    let (run, floor) = (&row.run, &row.floor);
    let peak = run.peak_bytes.map(|bytes| bytes as f64);
    let over_floor = |seconds: f64| {
        known(floor.seconds().and_then(|floor| ratio(seconds, floor)).map(|times| format!("{times:.2}")))
    };
    let [read, analysis, sheets, write] = run.stage_seconds;
    let processor = run.user_seconds.zip(run.system_seconds).map(|(user, system)| user + system);
    [
        row.input.name.replace('|', "\\|"),
        run.events.to_string(),
        format!("{:.1}", floor.text_bytes as f64 / 1e6),
        seconds(floor.inflate_seconds),
        seconds(floor.tape_seconds),
        seconds(floor.seconds()),
        seconds(Some(read)),
        over_floor(read),
        seconds(Some(analysis)),
        seconds(Some(sheets)),
        seconds(Some(write)),
        seconds(Some(run.wall_seconds)),
        over_floor(run.wall_seconds),
        known(processor.map(|seconds| format!("{seconds:.2}"))),
        known(peak.map(|bytes| format!("{:.1}", bytes / 1_048_576.0))),
        known(peak.and_then(|bytes| ratio(bytes, run.events as f64)).map(|bytes| format!("{bytes:.0}"))),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_every_column() {
        let mut lonely = row("plain", 0);
        lonely.input.name = "a|b".into();
        lonely.floor.tape_seconds = None;
        lonely.floor.tape_refused = Some("a number that is none".into());
        lonely.run = super::super::Run::default();
        let text = markdown(&[row("plain", 1_000_000), row("gzip", 1_000_000), lonely], 5);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2],
            "| generated, plain | 1000000 | 300.0 | – | 0.250 | 0.250 | 0.300 | 1.20 | 0.050 | 0.100 | 0.025 | 0.500 | 2.00 | 0.70 | 124.0 | 130 |"
        );
        assert_eq!(
            lines[3],
            "| generated, gzip | 1000000 | 300.0 | 0.150 | 0.250 | 0.400 | 0.300 | 0.75 | 0.050 | 0.100 | 0.025 | 0.500 | 1.25 | 0.70 | 124.0 | 130 |"
        );
        assert_eq!(
            lines[4],
            r"| a\|b | 0 | 0.0 | – | – | – | 0.000 | – | 0.000 | 0.000 | 0.000 | 0.000 | – | – | – | – |"
        );
        for line in &lines[..5] {
            assert_eq!(line.replace(r"\|", "").matches('|').count(), COLUMNS.len() + 1, "{line}");
        }
        assert!(text.contains("medians of 5"), "{text}");
        assert!(text.ends_with("No tape of a|b (0 events): a number that is none.\n"), "{text}");
    }
}
