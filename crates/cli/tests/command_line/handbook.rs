//! The handbook and the README: every command in them runs, and prints what stands there.
//!
//! `UPDATE_HANDBOOK=1` writes what commands print now into the pages, as many lines as stand there before the `…`.

use std::path::{Path, PathBuf};

use crate::program::{Outcome, Workplace};

/// The pages in a directory and those below.
fn pages(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (directories, mut found): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    found.extend(directories.iter().flat_map(|directory| pages(directory)));
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn handbook() -> PathBuf {
    root().join("docs/src")
}

/// Copies the recordings of the repository, so that nothing is written beside them.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &place),
            false => {
                std::fs::copy(&path, &place).unwrap();
            }
        }
    }
}

/// A directory with the recordings of the repository.
fn place() -> Workplace {
    let place = Workplace::with("{}");
    for directory in ["testdata/generated", "testdata/recorded"] {
        copy(&root().join(directory), &place.path(directory));
    }
    place
}

/// A page with what its commands print, and what is wrong with it. `run` takes their arguments.
fn checked(page: &str, run: impl Fn(&[&str]) -> Outcome) -> (String, Vec<String>) {
    const OMITTED: &str = "…";
    let (mut text, mut faults, mut is_console) = (String::new(), Vec::new(), false);
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        text.extend([line, "\n"]);
        if line.starts_with("```") {
            is_console = line == "```console";
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) else { continue };
        // The test is a part of it.
        if command == "cargo test --workspace" {
            continue;
        }
        let words = shlex::split(command).unwrap();
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let (["tracelens", arguments @ ..] | ["cargo", "run", "--release", "--", arguments @ ..]) =
            &arguments[..]
        else {
            faults.push(format!("`{command}` is not ours: put it into a block of sh"));
            continue;
        };
        let outcome = run(arguments);
        if outcome.code != 0 {
            faults.push(format!("`{command}` ends with {}: {}", outcome.code, outcome.err));
            continue;
        }
        let printed: Vec<&str> = outcome.out.lines().collect();
        let mut shown = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```")) {
            shown.push(line);
        }
        let is_omitting = shown.last() == Some(&OMITTED);
        let count = if is_omitting { shown.len() - 1 } else { printed.len() };
        let now = &printed[..count.min(printed.len())];
        if shown[..shown.len() - usize::from(is_omitting)] != *now {
            faults.push(format!("`{command}` prints\n{}\nnot\n{}", now.join("\n"), shown.join("\n")));
        }
        now.iter().for_each(|line| text.extend([line, "\n"]));
        text.extend(is_omitting.then_some("…\n"));
    }
    (text, faults)
}

/// Compares a page with what its commands print, or writes that into it.
fn compare(path: &Path, run: impl Fn(&[&str]) -> Outcome) {
    let page = std::fs::read_to_string(path).unwrap();
    let (now, faults) = checked(&page, run);
    match std::env::var_os("UPDATE_HANDBOOK") {
        Some(_) => std::fs::write(path, now).unwrap(),
        None => assert!(faults.is_empty(), "{}: {}", path.display(), faults.join("\n")),
    }
}

#[test]
fn commands_print_what_the_handbook_shows() {
    let (place, mut commands) = (place(), 0);
    for path in pages(&handbook()) {
        let page = std::fs::read_to_string(&path).unwrap();
        commands += page.lines().filter(|line| line.starts_with("$ tracelens")).count();
        compare(&path, |arguments| place.run(arguments));
    }
    assert!(commands > 15, "{commands}");
}

/// As on a terminal of 100 columns: what GitHub shows without a scroll bar.
#[test]
fn commands_print_what_the_readme_shows() {
    let (place, readme) = (place(), root().join("README.md"));
    compare(&readme, |arguments| place.run_in_columns("100", arguments));
    assert!(std::fs::metadata(readme).unwrap().len() <= 15_000);
}

#[test]
fn links_lead_to_pages() {
    let place = Workplace::with("{}");
    let documents = ["README.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    for path in pages(&handbook()).into_iter().chain(documents) {
        let page = std::fs::read_to_string(&path).unwrap();
        for link in page.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let target = path.parent().unwrap().join(link);
            let name = target.file_stem().unwrap_or_default().to_str().unwrap();
            // Made by `cargo xtask docs` of the program's help, the columns and the READMEs.
            let is_there = match target.strip_prefix(handbook()).ok().and_then(Path::to_str) {
                _ if link.is_empty() || link.contains("://") => true,
                Some(made) if made.contains("commands/") => place.run(&["man", name]).code == 0,
                Some(made) if made.contains("crates/") => {
                    root().join("crates").join(name).join("README.md").exists()
                }
                Some(made) => made.ends_with("columns.md") || target.exists(),
                None => target.exists(),
            };
            assert!(is_there, "{}: no {link}", path.display());
        }
    }
}

#[test]
fn every_command_answers_a_question() {
    let manual = Workplace::with("{}").run(&["man"]).exits_with(0).out;
    let page = std::fs::read_to_string(handbook().join("which-command.md")).unwrap();
    let names = manual.lines().filter_map(|line| line.strip_prefix(r"tracelens\-")?.strip_suffix("(1)"));
    let names: Vec<String> = names.map(|name| name.replace('\\', "")).filter(|name| name != "help").collect();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        assert!([" ", "`"].iter().any(|end| page.contains(&format!("`{name}{end}"))), "{name}");
    }
}
