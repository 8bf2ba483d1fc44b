//! Recordings for tests and chores: [jobs of many ranks](job) that are generated, small traces that are made by hand, and
//! where the corpus is: recorded traces, with the figures of reference tools, that are not part of the repository.
//!
//! A clone has no corpus, so a test that wants it passes without, and says that it was skipped. A machine that is meant
//! to have one sets `REQUIRE_CORPUS=1`; a missing case then fails its test. `.ci/run` does so where it finds the corpus,
//! and runs these tests once more without it. It selects them by name: `corpus` is part of the name of such a test, of
//! one of its modules, or of its test binary.

pub mod job;
pub mod json;
pub mod random;
pub mod step_noise;
#[cfg(feature = "traces")]
pub mod trace;

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folder of the corpus, whether or not it is there: `TRACE_CORPUS`, or `../shared/corpus` beside the workspace.
pub fn corpus_folder() -> PathBuf {
    let beside_workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    std::env::var_os("TRACE_CORPUS").map_or_else(beside_workspace, PathBuf::from)
}

/// A file or folder of the corpus, such as `pytorch/h100-owlv2-large`. `None` where it is absent: the test returns.
///
/// # Panics
/// Where it is absent and `REQUIRE_CORPUS=1`.
pub fn corpus(case: &str) -> Option<PathBuf> {
    let is_required = std::env::var_os("REQUIRE_CORPUS").is_some_and(|value| value == "1");
    case_of(&corpus_folder(), case, is_required)
}

/// Some where there is a `python3` to test with. `None` where there is none, which is said: the test returns.
pub fn python3() -> Option<()> {
    let found = std::process::Command::new("python3").arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        let _ = std::io::stderr().write_all(b"SKIPPED: no python3\n");
    }
    is_there.then_some(())
}

/// The files and folders in a folder, in the order of their names.
///
/// # Panics
/// Where it cannot be read.
#[allow(clippy::unwrap_used)] // a helper of tests may stop at a fault
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// The CSV files in a folder with their names without the ending.
#[allow(clippy::unwrap_used)] // a helper of tests may stop at a fault
pub fn csv_files(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let files =
        entries(folder).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "csv"));
    files.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
}

fn case_of(folder: &Path, case: &str, is_required: bool) -> Option<PathBuf> {
    let path = folder.join(case);
    if path.exists() {
        return Some(path);
    }
    let absent = format!("no recording at {}; TRACE_CORPUS names the corpus", path.display());
    assert!(!is_required, "{absent}");
    // Not by `eprintln!`: the test harness shows that of failed tests only. A failure to say so is no failure.
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "SKIPPED {}: {absent}", thread.name().unwrap_or_default());
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_case_is_skipped_unless_required() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for is_required in [false, true] {
            assert_eq!(case_of(here, "generated", is_required), Some(here.join("generated")));
        }
        assert_eq!(case_of(here, "no-such-case", false), None);
        assert!(std::panic::catch_unwind(|| case_of(here, "no-such-case", true)).is_err());
    }
}
