//! Instructions of a report by what they are for, counted by callgrind, and held against a budget for each.
//!
//! Counts do not depend on how busy a machine is: the same program and trace give the same to one in a thousand.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{ChoreResult, Outcome};

/// A part of a report, the function that does all of its work, and the most instructions it may take for each event of the
/// trace. Where several parts need the same, the first to ask pays.
struct Part {
    name: &'static str,
    function: &'static str,
    most_per_event: f64,
}

const fn part(name: &'static str, function: &'static str, most_per_event: f64) -> Part {
    Part { name, function, most_per_event }
}

/// With two threads, so that what tables share is done before them.
const PARTS: &[Part] = &[
    part("arguments", "tracelens::arguments::parse", 15.0),
    part("blocks of text", "trace_ingest::kineto::pipeline::BlockReader<R>::fill", 10.0),
    part("events", "trace_ingest::kineto::run::Run::parse", 3700.0),
    part("columns", "trace_ingest::kineto::append::Appender::append", 290.0),
    part("tree", "trace2tree::tree::TraceTree::build", 320.0),
    part("doctor", "trace_doctor::diagnosis::Diagnosis::new", 260.0),
    part("work of operators", "tree_perf::analysis::Analysis::from_tree", 130.0),
    part("what tables share", "answers::parts::Parts::add_work::{{closure}}", 1150.0),
    part("findings", "answers::advice::trace::trace_advice", 1600.0),
    part("tables", "answers::parts::Parts::add_sheets::{{closure}}", 1500.0),
    part("CSV", "report_writers::csv_directory::CsvDirectory::write_table", 320.0),
];

/// Counts the instructions of a report of `trace`, of so many events, and prints them; bad where a part takes more than its
/// budget.
pub(super) fn run(binary: &Path, trace: &Path, events: u64) -> ChoreResult {
    let folder = TempDir::new()?;
    let counts = folder.path().join("counts");
    let mut callgrind = Command::new("valgrind");
    callgrind.args(["--tool=callgrind", "--quiet"]).arg(format!("--callgrind-out-file={}", counts.display()));
    callgrind.arg(binary).arg("report").arg(trace).args(["--threads", "2", "--quiet", "--output_csvs_dir"]);
    let status = callgrind.arg(folder.path().join("tables")).stdout(Stdio::null()).status();
    if !status.map_err(|error| format!("valgrind, which counts instructions: {error}"))?.success() {
        return Err(format!("valgrind could not run {}", binary.display()).into());
    }
    let listed = Command::new("callgrind_annotate")
        .args(["--inclusive=yes", "--threshold=100"])
        .arg(&counts)
        .output()
        .map_err(|error| format!("callgrind_annotate: {error}"))?;
    let (text, within) = markdown(&read(&String::from_utf8_lossy(&listed.stdout))?, events);
    print!("{text}");
    Ok(if within { Outcome::Good } else { Outcome::Bad })
}

/// Instructions of the whole program, and of each part.
#[derive(Debug, PartialEq)]
struct Counts {
    whole: u64,
    parts: Vec<u64>,
}

fn read(listed: &str) -> Result<Counts, Box<dyn Error>> {
    let lines = listed.lines().filter_map(|line| {
        let (count, function) = line.trim_start().split_once(' ')?;
        Some((count.replace(',', "").parse::<u64>().ok()?, function))
    });
    let (mut whole, mut parts) = (None, vec![0; PARTS.len()]);
    for (count, function) in lines {
        if function.contains("PROGRAM TOTALS") {
            whole = Some(count);
        }
        for (part, sum) in PARTS.iter().zip(&mut parts) {
            // `FILE:FUNCTION [OBJECT]`; a second line of a function, with a quote, is of calls that it makes of itself.
            if function.contains(&format!(":{} [", part.function)) {
                *sum += count;
            }
        }
    }
    if let Some((part, _)) = PARTS.iter().zip(&parts).find(|(_, sum)| **sum == 0) {
        return Err(format!(
            "no function {} in the program: is it built without symbols, or renamed?",
            part.function
        )
        .into());
    }
    Ok(Counts { whole: whole.ok_or("callgrind_annotate printed no totals")?, parts })
}

/// A table, and whether all parts are within their budgets.
fn markdown(counts: &Counts, events: u64) -> (String, bool) {
    let mut text = String::from(
        "| part | million instructions | share | per event | at most |\n| --- | ---: | ---: | ---: | ---: |\n",
    );
    let mut within = true;
    let mut line = |name: &str, count: u64, most: Option<f64>| {
        let per_event = count as f64 / events.max(1) as f64;
        let is_over = most.is_some_and(|most| per_event > most);
        within &= !is_over;
        let share = 100.0 * count as f64 / counts.whole.max(1) as f64;
        let most =
            most.map_or(String::new(), |most| format!("{most:.0}{}", if is_over { " exceeded" } else { "" }));
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "| {name} | {:.1} | {share:.1}% | {per_event:.0} | {most} |", count as f64 / 1e6);
    };
    for (part, &count) in PARTS.iter().zip(&counts.parts) {
        line(part.name, count, Some(part.most_per_event));
    }
    line("all else", counts.whole.saturating_sub(counts.parts.iter().sum()), None);
    line("whole", counts.whole, None);
    (text, within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> String {
        let mut text = String::from("10,000 (100.0%)  PROGRAM TOTALS\n 9,000 (90.00%)  ???:main [/t]\n");
        for (at, part) in PARTS.iter().enumerate() {
            text += &format!(" {},00{at:02} ( 1.0%)  ???:{} [/t]\n", 1, part.function);
            text += &format!(" 7 ( 0.0%)  ???:{}'2 [/t]\n", part.function);
        }
        text
    }

    #[test]
    fn parts_are_found_by_their_functions_and_held_against_budgets() {
        let counts = read(&listed()).unwrap();
        assert_eq!((counts.whole, counts.parts[1]), (10_000, 10_001));
        let (text, within) = markdown(&counts, 1_000_000);
        assert!(within && text.contains("| arguments | 0.0 | 100.0% | 0 | 15 |"), "{text}");
        let (text, within) = markdown(&counts, 1);
        assert!(!within && text.contains("| 15 exceeded |"), "{text}");
    }

    #[test]
    fn a_program_without_symbols_is_not_within_budgets() {
        let error = read("10 (100.0%)  PROGRAM TOTALS\n").unwrap_err().to_string();
        assert!(error.contains("tracelens::arguments::parse"), "{error}");
    }
}
