//! Runs side by side: what they are called, and what is said of two.

use std::collections::HashSet;
use std::path::PathBuf;

use gpu_timeline::SortFew;
use trace_diff::{Comparison, Joined, Row, Status};
use trace_ingest::{Trace, is_standard_input};

use crate::error::Error;
use crate::numbers::{counted, decimal, duration};

/// What runs are called: as they were named, or by their files.
pub(crate) fn names_of_runs(given: &[String], paths: &[PathBuf]) -> Result<Vec<String>, Error> {
    if given.is_empty() {
        return Ok(names_of(paths));
    }
    if given.len() != paths.len() {
        return Err(Error::CountOfRuns { what: "names", given: given.len(), runs: paths.len() });
    }
    let mut seen = HashSet::new();
    match given.iter().find(|name| !seen.insert(*name) || name.is_empty() || name.contains("::")) {
        Some(name) => Err(Error::NameOfRun { name: name.clone() }),
        None => Ok(given.to_vec()),
    }
}

/// Names of runs by their files, as much of the paths as tells them apart.
pub(crate) fn names_of(paths: &[PathBuf]) -> Vec<String> {
    /// Endings that say what a file is, not which.
    const ENDINGS: [&str; 12] = [
        ".gz",
        ".zst",
        ".zip",
        ".xlsx",
        ".json",
        ".csv",
        ".pt.trace",
        ".trace",
        ".pb",
        ".xplane",
        ".db",
        ".pftrace",
    ];
    let plain = |name: &str| {
        let mut name = name;
        while let Some(shorter) = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)) {
            name = shorter;
        }
        name.replace("::", "_")
    };
    let parts = |path: &PathBuf| -> Vec<String> {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let whole = if is_standard_input(path) { PathBuf::from("standard input") } else { whole };
        let parts = whole.components().filter_map(|part| match part {
            std::path::Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            _ => None,
        });
        parts.collect()
    };
    let mut parts: Vec<Vec<String>> = paths.iter().map(parts).collect();
    // What all of them end in, such as the `trace.json` of several directories, tells nothing apart.
    let shortest = parts.iter().map(Vec::len).min().unwrap_or_default();
    let is_shared = |from_end: &usize| {
        let mut each_end = parts.iter().map(|parts| plain(&parts[parts.len() - 1 - from_end]));
        each_end.next().is_some_and(|first| each_end.all(|other| other == first))
    };
    let shared = (0..shortest).take_while(is_shared).count();
    if shared < shortest {
        parts.iter_mut().for_each(|parts| parts.truncate(parts.len() - shared));
    }
    let named = |depth: usize| -> Vec<String> {
        let name = |parts: &Vec<String>| {
            let shown = &parts[parts.len().saturating_sub(depth)..];
            match shown.split_last() {
                Some((file, folders)) => {
                    let folders = folders.iter().map(|folder| folder.replace("::", "_"));
                    folders.chain([plain(file)]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
                }
                None => "run".to_owned(),
            }
        };
        parts.iter().map(name).collect()
    };
    let deepest = parts.iter().map(Vec::len).max().unwrap_or(1);
    let are_unique = |names: &Vec<String>| names.iter().collect::<HashSet<_>>().len() == names.len();
    let mut names = (1..=deepest).map(named).find(are_unique).unwrap_or_else(|| named(1));
    // One file under one path, twice.
    let mut taken = HashSet::new();
    for name in &mut names {
        let mut copy = 2;
        let first = name.clone();
        while !taken.insert(name.clone()) {
            *name = format!("{first} {copy}");
            copy += 1;
        }
    }
    names
}

/// The first line about runs: what they are called, and the GPUs where these differ as far as they are known.
pub(crate) fn head(names: &[String], gpus: &[Option<String>]) -> String {
    let title = names.join(" → ");
    let known: Vec<&str> = gpus.iter().flatten().map(String::as_str).collect();
    let differ = known.len() == names.len() && known.windows(2).any(|two| two[0] != two[1]);
    if differ { format!("{title} (different GPUs: {})", known.join(" → ")) } else { title }
}

/// The GPUs of a recording by name; `None` where it does not tell.
pub(crate) fn gpus(trace: &Trace) -> Option<String> {
    let mut names: Vec<&str> =
        trace.facts().devices.iter().filter_map(|device| device.name.as_deref()).collect();
    names.retain(|name| !name.trim().is_empty());
    names.sort_few();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

/// What a comparison says, a sentence each.
pub(crate) fn statements(comparison: &Comparison) -> Vec<String> {
    let [a, b] = &comparison.names;
    let mut lines = Vec::new();
    let per_step = if comparison.steps.is_some() { " per step" } else { "" };
    let whole = comparison.span().map(|row| (row.figures[0].time_us, row.figures[1].time_us, "device span"));
    let sum = |table: &Joined| (table.totals[0].time_us, table.totals[1].time_us, "operator time");
    let whole = whole.or_else(|| comparison.main_table().map(sum));
    if let Some((time_a, time_b, what)) = whole.filter(|_| !comparison.is_cut_differently) {
        let change = percent_change(time_a, time_b);
        lines.push(format!(
            "{what}{per_step}: {} in {a}, {} in {b}{change}",
            duration(time_a),
            duration(time_b)
        ));
    }
    if let Some([in_a, in_b]) = comparison.steps {
        let steps = |count: u64| counted(usize::try_from(count).unwrap_or(usize::MAX), "step", "steps");
        lines.push(format!("times and calls are per step: {a} has {}, {b} {}", steps(in_a), steps(in_b)));
    }
    // Where one recording goes on beyond the other, that says nothing of the programs.
    if let Some((likeness, table)) = comparison.likeness().filter(|_| !comparison.is_cut_differently) {
        let share = decimal(likeness * 100.0, 1);
        lines.push(format!("similarity: {share}% of the calls in {} occur in both runs", table.sheet));
    }
    let Some(table) = comparison.main_table() else { return lines };
    for (status, word) in [(Status::New, "new"), (Status::Gone, "gone")] {
        let rows: Vec<&Row> = table.rows.iter().filter(|row| row.status == status).collect();
        if let Some(first) = rows.first() {
            let time: f64 = rows.iter().map(|row| row.delta_us().abs()).sum();
            let count = counted(rows.len(), "row", "rows");
            let with = match comparison.is_cut_differently {
                true => "such as".to_owned(),
                false if rows.len() == 1 => format!("with {}{per_step}:", duration(time)),
                false => format!("with {}{per_step}, largest:", duration(time)),
            };
            lines.push(format!("{word} in {b}: {count} of {} {with} {}", table.sheet, first.name()));
        }
    }
    lines
}

/// The change from one time to another, in brackets: `(+5.0%, 0.952 times as fast)`.
pub(crate) fn percent_change(from: f64, to: f64) -> String {
    if from <= 0.0 || to <= 0.0 {
        return String::new();
    }
    let percent = (to - from) / from * 100.0;
    let sign = if percent < 0.0 { "" } else { "+" };
    format!(" ({sign}{}%, speedup {})", decimal(percent, 1), decimal(from / to, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_called_by_what_tells_their_files_apart() {
        for (paths, names) in [
            (["h100.json.gz", "x/mi300.pt.trace.json"], ["h100", "mi300"]),
            (["a/reference", "b/reference"], ["a", "b"]),
            (["a/x/t.json", "b/x/t.xlsx"], ["a", "b"]),
            (["a/x/s.json", "b/x/t.json"], ["s", "t"]),
            (["a/t.json", "a/b/t.json"], ["a", "b"]),
            (["t.json", "t.json"], ["t", "t 2"]),
            (["a::b.json", "-"], ["a_b", "standard input"]),
        ] {
            assert_eq!(names_of(&paths.map(PathBuf::from)), names, "{paths:?}");
        }
    }

    #[test]
    fn names_are_as_many_as_runs_and_differ() {
        let named = |names: &[&str], runs: usize| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            names_of_runs(&names, &vec![PathBuf::from("t.json"); runs]).map_err(|error| error.to_string())
        };
        assert_eq!(named(&["a", "b"], 2), Ok(vec!["a".to_owned(), "b".to_owned()]));
        for (names, runs, expected) in [
            (&["a"][..], 2, "1 names for 2 runs"),
            (&["a", "a"], 2, "`a` is not a valid run name"),
            (&["a", "b::c"], 2, "`b::c` is not a valid run name"),
        ] {
            let error = named(names, runs).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
