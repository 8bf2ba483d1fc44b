//! The corpus comparison: reports of recorded traces against the reference's sheets.
//!
//! What differs on purpose is counted in `known`, and listed with reasons in the tests that compare cell by cell
//! (`crates/tree-perf/tests/sheets/corpus/reference.rs`, `crates/cli/tests/command_line/inference_conformance`).

mod known;

use std::error::Error;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::{ChoreResult, Outcome, build_program};

/// The sheets compared of training: those that the report writes on every PyTorch trace.
const SHEETS: [&str; 8] = [
    "gpu_timeline",
    "ops_summary_by_category",
    "ops_summary",
    "ops_unique_args",
    "kernel_summary",
    "short_kernel_histogram",
    "short_kernels_summary",
    "coll_analysis",
];

/// Where to find the corpus, the binary, and which cases to run.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of the corpus [default: $TRACE_CORPUS, else ../shared/corpus beside the workspace]
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Binary to run [default: build the release binary]
    #[arg(long)]
    bin: Option<PathBuf>,
    /// Only cases whose name contains this
    #[arg(long)]
    filter: Option<String>,
    /// How device events are linked to launches: the value of the binary's `--link-by`
    #[arg(long, default_value = "flow")]
    link_by: String,
}

/// One sheet as the comparison program reports it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sheet {
    sheet: String,
    missing: bool,
    ok: Option<bool>,
    missing_rows: u64,
    extra_rows: u64,
    missing_columns: Vec<String>,
    exact: u64,
    clock: u64,
    wrong: u64,
    examples: Vec<String>,
    /// Why it differs, where that is known.
    #[serde(skip)]
    known: Option<&'static str>,
}

impl Sheet {
    /// Whether nothing differs but what is known. A sheet without `ok` is one that we did not write or that was
    /// empty in the reference.
    fn agrees(&self) -> bool {
        self.known.is_some() || (!self.missing && self.ok.unwrap_or(self.extra_rows == 0))
    }
}

/// One case: its sheets, or why there are none.
struct Case {
    name: String,
    result: Result<Vec<Sheet>, String>,
}

impl Case {
    fn agrees(&self) -> bool {
        self.result.as_ref().is_ok_and(|sheets| !sheets.is_empty() && sheets.iter().all(Sheet::agrees))
    }
}

/// What a folder of the corpus is a recording of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Training,
    Inference,
    Jax,
    /// Profiles of rocprofv3, with the options' defaults.
    Rocprof,
    /// The same profiles with every sheet of the reference.
    RocprofFull,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Training, Kind::Inference, Kind::Jax, Kind::Rocprof, Kind::RocprofFull];

    /// Folder of its cases in the corpus.
    fn folder(self) -> &'static str {
        match self {
            Kind::Training => "pytorch",
            Kind::Inference => "inference",
            Kind::Jax => "jax",
            Kind::Rocprof | Kind::RocprofFull => "rocprof",
        }
    }

    /// What tells cases of one folder apart.
    fn suffix(self) -> &'static str {
        if self == Kind::RocprofFull { "-full" } else { "" }
    }

    /// Folder of the reference's sheets in a case.
    fn reference(self) -> &'static str {
        match self {
            Kind::Training | Kind::Jax | Kind::Rocprof => "reference",
            Kind::RocprofFull => "reference-full",
            Kind::Inference => "perf_csvs",
        }
    }

    /// The sheets compared, by the reference's names; all of them where there is no list.
    fn sheets(self) -> Option<&'static [&'static str]> {
        match self {
            Kind::Training => Some(&SHEETS),
            Kind::Inference | Kind::Jax | Kind::Rocprof | Kind::RocprofFull => None,
        }
    }

    /// How the name of a trace ends.
    fn trace_suffix(self) -> &'static str {
        match self {
            Kind::Training | Kind::Inference | Kind::Rocprof | Kind::RocprofFull => ".json.gz",
            Kind::Jax => ".xplane.pb",
        }
    }

    /// The report, with the options that the reference's sheets were made with.
    fn arguments(self, case: &Path) -> Vec<OsString> {
        let texts: &[&str] = match self {
            Kind::Training => &["pytorch", "--enable_kernel_summary", "--short_kernel_study"],
            Kind::Inference => &[
                "inference",
                "--enable_pseudo_ops",
                "--group_by_parent_module",
                "--group_by_num_kernels",
                "--include_call_stack",
                "--disable_coll_analysis",
                "--sheet-names=current",
            ],
            // What is right instead is compared cell by cell in the tests.
            Kind::Jax => &["jax", "--parity"],
            // The reference's files hold the right units, and its categories.
            Kind::Rocprof => &["rocprof", "--sheet-names=current"],
            Kind::RocprofFull => {
                &["rocprof", "--sheet-names=current", "--kernel_details", "--short_kernel_study"]
            }
        };
        let mut arguments: Vec<OsString> = texts.iter().map(OsString::from).collect();
        let captures = case.join("capture_traces");
        if self == Kind::Inference && captures.is_dir() {
            arguments.extend(["--capture_folder".into(), captures.into()]);
        }
        arguments
    }
}

/// A trace of the corpus with its reference.
struct Recording {
    kind: Kind,
    folder: PathBuf,
    trace: PathBuf,
}

impl Recording {
    fn name(&self) -> String {
        file_name(&self.folder) + self.kind.suffix()
    }
}

/// Runs every case and prints the summary.
pub(crate) fn run(arguments: &Arguments, root: PathBuf) -> ChoreResult {
    let corpus = corpus_folder(arguments)?;
    let compare = corpus.join("../tools/compare_report.py");
    if !compare.is_file() {
        return Err(format!("the comparison program {} is not there", compare.display()).into());
    }
    let recordings = cases(&corpus, arguments.filter.as_deref())?;
    let binary = match &arguments.bin {
        Some(path) => path.clone(),
        None => build_program(&root, "release")?,
    };
    let output = tempfile::tempdir()?;
    let mut results = Vec::new();
    for recording in recordings {
        let name = recording.name();
        let sheets = report(&binary, &recording, &output.path().join(&name), &arguments.link_by)
            .and_then(|ours| compare_case(&compare, &recording, &ours))
            .map(|mut sheets| {
                sheets.iter_mut().for_each(|sheet| sheet.known = known::known(&name, sheet));
                sheets
            });
        results.push(Case { name, result: sheets.map_err(|error| error.to_string()) });
    }
    print!("{}", summary(&results));
    Ok(if results.iter().all(Case::agrees) { Outcome::Good } else { Outcome::Bad })
}

fn corpus_folder(arguments: &Arguments) -> Result<PathBuf, Box<dyn Error>> {
    let folder = arguments.corpus.clone().unwrap_or_else(testdata::corpus_folder);
    if folder.join("pytorch").is_dir() {
        return Ok(folder);
    }
    Err(format!(
        "no corpus: {} has no folder `pytorch`; name it with --corpus or the environment variable TRACE_CORPUS",
        folder.display()
    )
    .into())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Everything in a folder, by name.
pub(crate) fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

/// The cases with a reference, by kind and name.
fn cases(corpus: &Path, filter: Option<&str>) -> Result<Vec<Recording>, Box<dyn Error>> {
    let mut recordings = Vec::new();
    for kind in Kind::ALL {
        let folder = corpus.join(kind.folder());
        for case in if folder.is_dir() { entries(&folder)? } else { Vec::new() } {
            let is_wanted = filter.is_none_or(|part| file_name(&case).contains(part));
            if !is_wanted || !case.join(kind.reference()).is_dir() {
                continue;
            }
            // A case has one trace beside its folders.
            let is_trace = |path: &PathBuf| path.is_file() && file_name(path).ends_with(kind.trace_suffix());
            if let Some(trace) = entries(&case)?.into_iter().find(is_trace) {
                recordings.push(Recording { kind, folder: case, trace });
            }
        }
    }
    if recordings.is_empty() {
        return Err("no case of the corpus has that name".into());
    }
    Ok(recordings)
}

/// Writes our report of one case and returns its folder.
fn report(
    binary: &Path,
    recording: &Recording,
    folder: &Path,
    link_by: &str,
) -> Result<PathBuf, Box<dyn Error>> {
    let mut command = Command::new(binary);
    command
        .args(recording.kind.arguments(&recording.folder))
        .arg(&recording.trace)
        .arg("--output_csvs_dir")
        .arg(folder)
        .arg("--quiet");
    if matches!(recording.kind, Kind::Training | Kind::Inference) {
        command.args(["--link-by", link_by, "--parity", "tracelens"]);
    }
    let run = command.output().map_err(|error| format!("could not start {}: {error}", binary.display()))?;
    if !run.status.success() {
        let said = String::from_utf8_lossy(&run.stderr);
        return Err(format!("{}: {}", run.status, last_line(&said)).into());
    }
    Ok(folder.to_path_buf())
}

/// Runs the comparison program. It exits 1 when something differs, so its output decides.
fn compare_case(program: &Path, recording: &Recording, ours: &Path) -> Result<Vec<Sheet>, Box<dyn Error>> {
    let mut command = Command::new("python3");
    command.arg(program).arg(recording.folder.join(recording.kind.reference())).arg(ours).arg("--json");
    if let Some(sheets) = recording.kind.sheets() {
        command.args(["--only", &sheets.join(",")]);
    }
    let run = command.output().map_err(|error| format!("could not start python3: {error}"))?;
    first_value(&String::from_utf8_lossy(&run.stdout))
        .map_err(|error| format!("{error}; {}", last_line(&String::from_utf8_lossy(&run.stderr))).into())
}

/// The JSON value at the start of the comparison's output; a line for people follows it.
fn first_value(text: &str) -> Result<Vec<Sheet>, String> {
    match serde_json::Deserializer::from_str(text).into_iter().next() {
        Some(value) => value.map_err(|error| format!("the comparison's output is not JSON: {error}")),
        None => Err("the comparison printed nothing".into()),
    }
}

fn last_line(text: &str) -> &str {
    text.trim().lines().last().unwrap_or("no message")
}

/// The table of all cases, then what differs, sheet by sheet.
fn summary(cases: &[Case]) -> String {
    let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0).max("case".len());
    let mut text = format!(
        "{:width$}  {:>7}  {:>9} {:>9} {:>7}  {:>8} {:>8}\n",
        "case", "sheets", "exact", "clock", "wrong", "-rows", "+rows"
    );
    // Writing to a String cannot fail.
    for case in cases {
        let _ = match &case.result {
            Ok(sheets) => {
                let sum = |count: fn(&Sheet) -> u64| sheets.iter().map(count).sum::<u64>();
                writeln!(
                    text,
                    "{:width$}  {:>7}  {:>9} {:>9} {:>7}  {:>8} {:>8}",
                    case.name,
                    format!("{}/{}", sheets.iter().filter(|sheet| sheet.agrees()).count(), sheets.len()),
                    sum(|sheet| sheet.exact),
                    sum(|sheet| sheet.clock),
                    sum(|sheet| sheet.wrong),
                    sum(|sheet| sheet.missing_rows),
                    sum(|sheet| sheet.extra_rows),
                )
            }
            Err(error) => writeln!(text, "{:width$}  failed: {error}", case.name),
        };
    }
    for case in cases {
        for sheet in case.result.iter().flatten() {
            if let Some(why) = sheet.known {
                let (name, what) = (&sheet.sheet, disagreement(sheet));
                let _ = writeln!(text, "\n{} / {name}: {what}, as is known: {why}", case.name);
            }
        }
        for sheet in case.result.iter().flatten().filter(|sheet| !sheet.agrees()) {
            let _ = writeln!(text, "\n{} / {}: {}", case.name, sheet.sheet, disagreement(sheet));
            for example in &sheet.examples {
                let _ = writeln!(text, "    {example}");
            }
        }
    }
    let agree = cases.iter().filter(|case| case.agrees()).count();
    let _ = writeln!(text, "\n{agree} of {} cases agree", cases.len());
    text
}

fn disagreement(sheet: &Sheet) -> String {
    if sheet.missing {
        return "sheet missing".into();
    }
    let mut text = format!(
        "{} wrong cells, {} missing rows, {} extra rows",
        sheet.wrong, sheet.missing_rows, sheet.extra_rows
    );
    if !sheet.missing_columns.is_empty() {
        let _ = write!(text, ", missing columns {}", sheet.missing_columns.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"[
 {"sheet": "gpu_timeline", "rows": 8, "missing_rows": 0, "extra_rows": 0, "missing_columns": [],
  "exact": 14, "clock": 2, "wrong": 0, "wrong_columns": {}, "examples": [], "ok": true},
 {"sheet": "ops_summary", "rows": 3, "missing_rows": 1, "extra_rows": 0, "missing_columns": ["name"],
  "exact": 5, "clock": 0, "wrong": 2, "wrong_columns": {"x": 2}, "examples": ["[x] a: 1, ours 2"], "ok": false},
 {"sheet": "kernel_summary", "missing": true, "rows": 12}
]
1 of 3 sheets agree, 21 of 23 compared cells
"#;

    fn case(name: &str, output: &str) -> Case {
        Case { name: name.into(), result: first_value(output) }
    }

    #[test]
    fn comparison_output_is_read_up_to_the_line_for_people() {
        let sheets = first_value(OUTPUT).expect("sheets");
        assert_eq!(sheets.iter().map(Sheet::agrees).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn summary_counts_cells_and_shows_what_differs() {
        let text = summary(&[case("vit", OUTPUT)]);
        let cells: Vec<&str> = text.lines().nth(1).expect("row").split_whitespace().collect();
        assert_eq!(cells, ["vit", "1/3", "19", "2", "2", "1", "0"]);
        assert!(text.contains("vit / ops_summary: 2 wrong cells, 1 missing rows"), "{text}");
        assert!(text.contains("    [x] a: 1, ours 2"), "{text}");
        assert!(text.contains("vit / kernel_summary: sheet missing"), "{text}");
        assert!(text.ends_with("0 of 1 cases agree\n"), "{text}");
    }

    #[test]
    fn case_that_compared_nothing_does_not_agree() {
        assert!(!case("empty", "[]\n0 of 0 sheets agree").agrees());
    }

    #[test]
    fn output_without_json_is_an_error() {
        assert!(first_value("").is_err());
        assert!(first_value("Traceback").is_err());
    }

    #[test]
    fn cases_have_a_trace_and_a_reference() {
        let corpus = tempfile::tempdir().expect("folder");
        let put = |path: &str| {
            let path = corpus.path().join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, "").expect("file");
        };
        for path in [
            "pytorch/vit/trace.json.gz",
            "pytorch/vit/reference/gpu_timeline.csv",
            "pytorch/without-reference/trace.json.gz",
            "inference/decode/run.json.gz",
            "inference/decode/perf_csvs/GEMM.csv",
            "inference/decode/capture_traces/bs_32.json.gz",
            "inference/eager/run.json.gz",
            "inference/eager/perf_csvs/GEMM.csv",
            "rocprof/reduce/run_results.json.gz",
            "rocprof/reduce/reference/gpu_timeline.csv",
            "rocprof/reduce/reference-full/gpu_timeline.csv",
        ] {
            put(path);
        }
        let found = cases(corpus.path(), None).expect("cases");
        let names: Vec<(Kind, String)> =
            found.iter().map(|recording| (recording.kind, recording.name())).collect();
        let expected = [
            (Kind::Training, "vit"),
            (Kind::Inference, "decode"),
            (Kind::Inference, "eager"),
            (Kind::Rocprof, "reduce"),
            (Kind::RocprofFull, "reduce-full"),
        ];
        assert_eq!(names, expected.map(|(kind, name)| (kind, name.to_owned())));
        let captures = found.iter().map(|recording| {
            recording.kind.arguments(&recording.folder).iter().any(|argument| argument == "--capture_folder")
        });
        assert_eq!(captures.collect::<Vec<_>>(), [false, true, false, false, false]);
        assert_eq!(cases(corpus.path(), Some("eag")).expect("case").len(), 1);
        assert!(cases(corpus.path(), Some("no such")).is_err());
    }

    #[test]
    fn absent_corpus_is_named_with_the_way_to_name_another() {
        let empty = tempfile::tempdir().expect("folder");
        let arguments =
            Arguments { corpus: Some(empty.path().into()), bin: None, filter: None, link_by: "flow".into() };
        let error = corpus_folder(&arguments).expect_err("absent").to_string();
        assert!(error.starts_with("no corpus: ") && error.contains("TRACE_CORPUS"), "{error}");
    }
}
