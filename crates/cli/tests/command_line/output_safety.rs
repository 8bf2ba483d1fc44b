//! What becomes of files that are there already when writing fails, when runs meet, and on Ctrl-C.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Workplace, run_as};
use crate::trace::{one_operator, trace};

const EVERY_FORMAT: [&str; 3] =
    ["--output_xlsx_path=out/r.xlsx", "--output_json_path=out/r.json", "--output_csvs_dir=out/sheets"];

/// Everything below a directory.
fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let below = contents(&entry.path());
            found.extend(below.into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// A place with the trace and a folder `out`.
fn place() -> Workplace {
    let place = Workplace::with_generated();
    fs::create_dir(place.path("out")).unwrap();
    place
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_files_as_they_were() {
    // Files may have 512 or 1024 bytes, depending on the shell; a write beyond that fails.
    let limited = r#"trap "" XFSZ; ulimit -f 1; exec "$0" "$@""#;
    let place = place();
    fs::create_dir(place.path("out/sheets")).unwrap();
    for name in
        ["r.xlsx", "r.json", "sheets/gpu_timeline.csv", "sheets/ops_all.csv", "sheets/kernel_summary.csv"]
    {
        place.put(&format!("out/{name}"), "old");
    }
    place.put("out/roofline.svg", "old");
    let before = contents(&place.path("out"));
    let svg =
        ["--output_json_path=/dev/null", "--gpu_arch_platform=MI300X", "--roofline_svg=out/roofline.svg"];
    let outputs = EVERY_FORMAT.each_ref().map(std::slice::from_ref);
    for (options, named) in outputs
        .into_iter()
        .zip(["out/r.xlsx", "out/r.json", "out/sheets/"])
        .chain([(&svg[..], "out/roofline.svg")])
    {
        let program = env!("CARGO_BIN_EXE_tracelens");
        let arguments = [&["-c", limited, program, "report", "trace.json.gz", "--force"], options].concat();
        run_as("sh", &arguments, &place.path("")).exits_with(1).with_error(&[
            "cannot write",
            named,
            "File too large",
            "choose another path",
        ]);
        assert!(contents(&place.path("out")) == before, "{options:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files_is_named_with_what_to_do() {
    // Even the superuser cannot make files there.
    let place = Workplace::with(trace(&one_operator()));
    for (option, parts) in [
        ("--output_xlsx_path=/sys/r.xlsx", &["cannot create `/sys/r.xlsx`", "check that"][..]),
        ("--output_json_path=/sys/r.json", &["cannot write /sys/r.json", "check that"]),
        (
            "--output_csvs_dir=/sys/sheets",
            &["cannot create directory `/sys/sheets`", "choose another directory"],
        ),
        (
            "--output_csvs_dir=trace.json/sheets",
            &["cannot create directory `trace.json/sheets`", "choose another"],
        ),
    ] {
        let outcome = place.run(&["report", "trace.json", option]).exits_with(1).with_error(parts);
        assert!(!outcome.err.contains("unfinished"), "{outcome:#?}");
    }
    assert_eq!(place.files("."), ["trace.json"]);
}

#[test]
fn runs_beside_each_other_write_whole_files() {
    let place = place();
    let start = |place: &Workplace| {
        Command::new(env!("CARGO_BIN_EXE_tracelens"))
            .args(["report", "trace.json.gz", "--quiet"])
            .args(EVERY_FORMAT)
            .current_dir(place.path(""))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let wait = |child: std::process::Child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    wait(start(&place));
    let alone = contents(&place.path("out"));
    assert!(alone.len() > 5, "{:?}", alone.keys());
    for _ in 0..3 {
        fs::remove_dir_all(place.path("out/sheets")).unwrap();
        [0; 4].map(|_| start(&place)).into_iter().for_each(wait);
        assert!(contents(&place.path("out")) == alone, "{:?}", place.files("out"));
    }
}

#[cfg(unix)]
#[test]
fn a_linked_report_is_replaced_where_it_is() {
    let place = Workplace::with(trace(&one_operator()));
    fs::create_dir(place.path("kept")).unwrap();
    place.put("kept/r.json", "old");
    std::os::unix::fs::symlink("kept/r.json", place.path("latest.json")).unwrap();
    place.run("report trace.json --output_json_path=latest.json --force").exits_with(0);
    assert!(place.path("latest.json").is_symlink());
    assert!(place.bytes("kept/r.json").starts_with(b"{"));
    assert_eq!(place.files("kept"), ["r.json"]);
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_may_be_named_as_a_file() {
    let place = Workplace::with(trace(&one_operator()));
    let outcome = place.run("report trace.json --quiet --output_json_path=/dev/stdout").exits_with(0);
    assert!(outcome.out.starts_with('{') && outcome.out.ends_with("}\n"), "{outcome:#?}");
}

#[cfg(target_os = "linux")]
mod interruption {
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, ExitStatus};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::split::served;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Starts the program where no signal is ignored, as Ctrl-C would be for the jobs of some shells, and SIGHUP by `nohup`.
    fn start(place: &Workplace, arguments: &[&str]) -> Child {
        Command::new("env")
            .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_tracelens")])
            .args(arguments)
            .current_dir(place.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn interrupt(mut child: Child) -> ExitStatus {
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        until(&mut child, |child| child.try_wait().unwrap())
    }

    /// Waits for something to be there.
    fn until<T>(child: &mut Child, mut look: impl FnMut(&mut Child) -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = look(child) {
                return found;
            }
            if started.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("waited in vain");
            }
            sleep(Duration::from_millis(5));
        }
    }

    fn make_pipe(place: &Workplace, name: &str) {
        assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
    }

    #[test]
    fn while_reading_it_ends_the_run_and_changes_nothing() {
        let place = Workplace::with("");
        make_pipe(&place, "slow.json");
        place.put("r.xlsx", "old");
        let child = start(&place, &["report", "slow.json", "--output_xlsx_path=r.xlsx"]);
        let text = trace(&one_operator());
        let mut pipe = OpenOptions::new().write(true).open(place.path("slow.json")).unwrap();
        pipe.write_all(&text.as_bytes()[..text.len() / 2]).unwrap();
        let status = interrupt(child);
        assert_eq!((status.code(), status.signal()), (Some(130), None));
        assert_eq!(place.bytes("r.xlsx"), b"old");
        assert_eq!(place.files("."), ["r.xlsx", "slow.json", "trace.json"]);
    }

    #[test]
    fn while_writing_it_removes_what_is_not_finished() {
        let place = served();
        let arguments = ["split", "trace.json", "-o", "out", "--store-single-iteration"];
        place.run(&arguments).exits_with(0);
        let before = contents(&place.path("out"));
        let text = place.bytes("trace.json");
        fs::remove_file(place.path("trace.json")).unwrap();
        make_pipe(&place, "trace.json");

        let mut child = start(&place, &arguments);
        OpenOptions::new().write(true).open(place.path("trace.json")).unwrap().write_all(&text).unwrap();
        // The trace is read a second time for writing, and there the program waits for the pipe.
        let is_unfinished = |name: &String| name.starts_with(".unfinished-");
        until(&mut child, |_| place.files("out").iter().any(is_unfinished).then_some(()));
        let status = interrupt(child);
        assert_eq!((status.code(), status.signal()), (Some(130), None));
        assert!(contents(&place.path("out")) == before, "{:?}", place.files("out"));
    }
}

#[test]
fn the_ending_of_a_file_says_what_is_written() {
    let place = place();
    let files = ["out/r.xlsx", "out/r.json", "out/r.html", "out/r.md", "out/sheets"];
    let mut arguments = vec!["report", "trace.json.gz"];
    files.iter().for_each(|file| arguments.extend(["-o", file]));
    let page = place.run(&arguments).exits_with(0);
    for file in files {
        assert!(page.out.contains(&format!("wrote {file}")), "{page:#?}");
    }
    assert_eq!(place.files("out"), ["r.html", "r.json", "r.md", "r.xlsx", "sheets"]);
    let markdown = String::from_utf8(place.bytes("out/r.md")).unwrap();
    let text = markdown.strip_prefix("```text\n").unwrap();
    assert!(text.starts_with(page.out.lines().next().unwrap()), "{markdown}");
    assert!(place.bytes("out/sheets/gpu_timeline.csv").starts_with(b"type"));
    let json: serde_json::Value = serde_json::from_slice(&place.bytes("out/r.json")).unwrap();
    assert_eq!(json["command"]["name"], "report");

    let refused = place.run("report trace.json.gz -o out/r.pdf").exits_with(2);
    assert!(refused.err.contains("ends in .pdf; expected .xlsx, .json, .html, .md"), "{refused:#?}");
    // What is about JSON needs some.
    let refused = place.run("report trace.json.gz -o out/r.xlsx --stamp").exits_with(2);
    assert!(refused.err.contains("--stamp needs --json or a .json output"), "{refused:#?}");
    // The same again replaces what it wrote.
    place.run(&arguments).exits_with(0);
}

#[test]
fn files_of_others_are_not_replaced_without_force() {
    let place = place();
    let sheets = "out/gpu_timeline.csv";
    for (file, option) in [
        ("out/r.xlsx", "out/r.xlsx"),
        ("out/r.json", "out/r.json"),
        ("out/r.html", "out/r.html"),
        ("out/r.md", "out/r.md"),
        (sheets, "out/"),
    ] {
        place.put(file, "somebody,else\n");
        let refused = place.run(&["report", "trace.json.gz", "-o", option]).exits_with(1);
        refused.with_error(&[file, "was not written by tracelens", "--force"]);
        assert_eq!(place.bytes(file), b"somebody,else\n", "{file}");
        place.run(&["report", "trace.json.gz", "-o", option, "--force"]).exits_with(0);
        assert_ne!(place.bytes(file), b"somebody,else\n", "{file}");
        place.run(&["report", "trace.json.gz", "-o", option]).exits_with(0);
    }
}

#[test]
fn a_workbook_that_cannot_be_written_beside_the_trace_costs_nobody_the_answer() {
    let place = place();
    place.put("trace_perf_report.xlsx", "a workbook of somebody else");
    let page = place.run("report trace.json.gz").exits_with(1);
    assert!(page.out.lines().count() > 10, "{page:#?}");
    page.with_error(&["trace_perf_report.xlsx", "was not written by tracelens", "-o", "--force"]);
    assert_eq!(place.bytes("trace_perf_report.xlsx"), b"a workbook of somebody else");
    place.run("report trace.json.gz --force").exits_with(0).with_summary(&["wrote trace_perf_report.xlsx"]);
    place.run("report trace.json.gz").exits_with(0).with_summary(&["wrote trace_perf_report.xlsx"]);
}
