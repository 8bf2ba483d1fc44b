//! The handbook: every command in it runs, and prints what stands there.
//!
//! `UPDATE_HANDBOOK=1` writes what commands print now into the pages, as many lines as stand there before the `…`.

use std::path::{Path, PathBuf};

use crate::program::Workplace;

/// The pages in a directory and those below.
fn pages(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (directories, mut found): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    found.extend(directories.iter().flat_map(|directory| pages(directory)));
    found
}

fn handbook() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src")
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

/// A page with what its commands print, and what is wrong with it.
fn checked(page: &str, place: &Workplace) -> (String, Vec<String>) {
    const OMITTED: &str = "…";
    let (mut text, mut faults, mut is_console) = (String::new(), Vec::new(), false);
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        text.extend([line, "\n"]);
        if line.starts_with("```") {
            is_console = line == "```console";
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) else { continue };
        let words = shlex::split(command).unwrap();
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let ["tracelens", arguments @ ..] = &arguments[..] else {
            faults.push(format!("`{command}` is not ours: put it into a block of sh"));
            continue;
        };
        let outcome = place.run(arguments);
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

#[test]
fn commands_print_what_the_handbook_shows() {
    let place = Workplace::with("{}");
    copy(&handbook().join("../../testdata/generated"), &place.path("testdata/generated"));
    copy(&handbook().join("../../testdata/recorded"), &place.path("testdata/recorded"));
    let mut commands = 0;
    for path in pages(&handbook()) {
        let page = std::fs::read_to_string(&path).unwrap();
        commands += page.lines().filter(|line| line.starts_with("$ tracelens")).count();
        let (now, faults) = checked(&page, &place);
        match std::env::var_os("UPDATE_HANDBOOK") {
            Some(_) => std::fs::write(&path, now).unwrap(),
            None => assert!(faults.is_empty(), "{}: {}", path.display(), faults.join("\n")),
        }
    }
    assert!(commands > 15, "{commands}");
}

#[test]
fn links_lead_to_pages() {
    // Made by `cargo xtask docs` of the program's help, the columns and the READMEs.
    let is_made = |link: &str| ["commands/", "crates/", "columns.md"].iter().any(|made| link.contains(made));
    for path in pages(&handbook()) {
        let page = std::fs::read_to_string(&path).unwrap();
        for link in page.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_elsewhere = link.is_empty() || link.contains("://") || is_made(link);
            assert!(
                is_elsewhere || path.parent().unwrap().join(link).exists(),
                "{}: no {link}",
                path.display()
            );
        }
    }
}
