//! `ranks-sql`, run as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::job::job;

fn ranks_sql(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ranks-sql")).current_dir(folder).args(arguments).output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn queries_are_shipped_or_in_a_file_and_the_answer_is_csv() {
    let (job, place) = (job(), tempfile::tempdir().unwrap());
    let ask =
        |arguments: &[&str]| ranks_sql(place.path(), &[&[job.folder.to_str().unwrap()], arguments].concat());
    let header = "group_name,description,members,ranks,kernels,time_ns,numbered_ns,wait_ns,wait_percent\n";
    assert!(printed(&ask(&["slowest-groups"])).starts_with(header));
    fs::write(place.path().join("question.sql"), "SELECT count(*) AS ranks FROM rank").unwrap();
    assert_eq!(printed(&ask(&["question.sql", "-o", "answer.csv"])), "");
    assert_eq!(fs::read_to_string(place.path().join("answer.csv")).unwrap(), "ranks\n8\n");
    printed(&ask(&["step-regression", "--baseline", job.folder.to_str().unwrap()]));
}

#[test]
fn what_is_given_wrongly_ends_with_2_and_what_cannot_be_written_with_1() {
    let (job, place) = (job(), tempfile::tempdir().unwrap());
    let folder = job.folder.to_str().unwrap();
    for (arguments, exit_code, expected) in [
        (&[folder, "step-regression"] as &[&str], 2, "none is given: name its folder with --baseline DIR"),
        (
            &[folder, "slowest-group"],
            2,
            "is neither a file nor a shipped query; the shipped queries are slowest-groups,",
        ),
        (&["none", "slowest-groups"], 2, "none: is no folder"),
        (&[folder, "slowest-groups", "--engine", "spark"], 2, "unknown engine \"spark\""),
        (&[folder, "slowest-groups", "-o", "no/answer.csv"], 1, "cannot write no/answer.csv: "),
    ] {
        let output = ranks_sql(place.path(), arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit_code), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}
