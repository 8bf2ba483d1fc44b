//! Runs the program and looks at what it said.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Outcome {
    /// Checks the exit code and that nothing panicked.
    #[track_caller]
    pub(crate) fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(!self.err.contains("panicked"), "{self:#?}");
        self
    }

    /// Checks that standard error has one error, and what it and its help say.
    #[track_caller]
    pub(crate) fn with_error(self, parts: &[&str]) -> Self {
        let (_, error) = self.err.split_once("tracelens: error: ").unwrap_or_else(|| panic!("{self:#?}"));
        assert!(!error.contains("tracelens: error: "), "{self:#?}");
        let message = error.lines().next().unwrap_or_default();
        let help = error.split_once("\n  help: ").map_or("", |(_, help)| help);
        for part in parts {
            assert!(format!("{message}; {help}").contains(part), "no {part:?} in {self:#?}");
        }
        self
    }

    /// Checks what the summary says, lines joined.
    #[track_caller]
    pub(crate) fn with_summary(self, parts: &[&str]) -> Self {
        let text = self.out.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            assert!(text.contains(part), "no {part:?} in {self:#?}");
        }
        self
    }
}

/// The words of a command line: one by one, or a text with blanks between them.
pub(crate) trait Words {
    fn words(&self) -> Vec<&str>;
}

impl Words for str {
    fn words(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Words for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<const COUNT: usize> Words for [&str; COUNT] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Words for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Vec<&str> {
        (**self).words()
    }
}

/// Runs a program, here the built one or a link to it, with a plain environment.
pub(crate) fn run_as(
    program: impl AsRef<OsStr>,
    arguments: &(impl Words + ?Sized),
    directory: &Path,
) -> Outcome {
    run_with(program, &arguments.words(), directory, Stdio::null(), &[])
}

fn run_with(
    program: impl AsRef<OsStr>,
    arguments: &[&str],
    directory: &Path,
    input: Stdio,
    environment: &[(&str, &str)],
) -> Outcome {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env_remove("LC_ALL")
        .env_remove("LC_CTYPE")
        .env_remove("COLUMNS")
        .env("LANG", "C.UTF-8")
        .envs(environment.iter().copied())
        .stdin(input)
        .output()
        .unwrap();
    Outcome {
        code: output.status.code().expect("not ended by a signal"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A directory of its own for one test, with a trace in it.
pub(crate) struct Workplace {
    directory: tempfile::TempDir,
}

impl Workplace {
    /// A directory that holds `trace.json`.
    pub(crate) fn with(trace: impl AsRef<[u8]>) -> Self {
        let place = Workplace { directory: tempfile::tempdir().unwrap() };
        place.put("trace.json", trace);
        place
    }

    /// A directory that holds the generated trace as `trace.json.gz`.
    pub(crate) fn with_generated() -> Self {
        let place = Workplace { directory: tempfile::tempdir().unwrap() };
        std::fs::copy(generated(), place.path("trace.json.gz")).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// Runs the built program in the directory.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &(impl Words + ?Sized)) -> Outcome {
        run_as(env!("CARGO_BIN_EXE_tracelens"), arguments, self.directory.path())
    }

    /// Runs the built program in the directory, as on a terminal of so many columns.
    #[track_caller]
    pub(crate) fn run_in_columns(&self, columns: &str, arguments: &(impl Words + ?Sized)) -> Outcome {
        self.run_in(&[("COLUMNS", columns)], arguments)
    }

    /// Runs the built program in the directory, with these variables of the environment.
    #[track_caller]
    pub(crate) fn run_in(&self, environment: &[(&str, &str)], arguments: &(impl Words + ?Sized)) -> Outcome {
        let program = env!("CARGO_BIN_EXE_tracelens");
        run_with(program, &arguments.words(), self.directory.path(), Stdio::null(), environment)
    }

    /// Runs the built program in the directory with a file on standard input.
    #[track_caller]
    pub(crate) fn run_on(&self, input: &Path, arguments: &(impl Words + ?Sized)) -> Outcome {
        let input = std::fs::File::open(input).unwrap();
        run_with(
            env!("CARGO_BIN_EXE_tracelens"),
            &arguments.words(),
            self.directory.path(),
            input.into(),
            &[],
        )
    }

    /// Names of everything in the directory (or one below), sorted.
    pub(crate) fn files(&self, below: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(below)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The sheets that `report trace.json --json` prints with these options.
    #[track_caller]
    pub(crate) fn sheets(&self, options: &(impl Words + ?Sized)) -> Sheets {
        let trace = if self.path("trace.json").exists() { "trace.json" } else { "trace.json.gz" };
        let outcome = self.run(&[&["report", trace, "--json"][..], &options.words()].concat()).exits_with(0);
        Sheets::parse(&outcome.out)
    }
}

/// The trace of a training step that the project generated.
pub(crate) fn generated() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/cuda_training_step.json.gz"))
}

/// The trace that was recorded on a machine without GPU, with Python stacks.
pub(crate) fn recorded_without_gpu() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/recorded/cpu/stacks_modules.json.gz"))
}

#[derive(Debug)]
pub(crate) struct Sheets(BTreeMap<String, Value>);

impl Sheets {
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).unwrap();
        let tables = document["tables"].as_array().unwrap();
        let name = |table: &Value| table["name"].as_str().unwrap().to_owned();
        Sheets(tables.iter().map(|table| (name(table), table.clone())).collect())
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    pub(crate) fn has(&self, sheet: &str) -> bool {
        self.0.contains_key(sheet)
    }

    #[track_caller]
    pub(crate) fn columns(&self, sheet: &str) -> Vec<&str> {
        self.0[sheet]["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["name"].as_str().unwrap())
            .collect()
    }

    /// What the columns of a sheet say that is to be known of their figures, each caveat with its column.
    #[track_caller]
    pub(crate) fn caveats(&self, sheet: &str) -> Vec<String> {
        let columns = self.0[sheet]["columns"].as_array().unwrap();
        let of_columns = columns.iter().flat_map(|column| {
            let caveats = column["caveats"].as_array().into_iter().flatten();
            caveats.map(|caveat| format!("{}: {}", column["name"], caveat))
        });
        of_columns.collect()
    }

    #[track_caller]
    pub(crate) fn rows(&self, sheet: &str) -> &Vec<Value> {
        self.0[sheet]["rows"].as_array().unwrap()
    }

    /// The cells of a column.
    #[track_caller]
    pub(crate) fn column(&self, sheet: &str, column: &str) -> Vec<&Value> {
        let position = self.columns(sheet).iter().position(|name| *name == column).expect(column);
        self.rows(sheet).iter().map(|row| &row[position]).collect()
    }

    /// A time in ms of the timeline.
    #[track_caller]
    pub(crate) fn timeline(&self, kind: &str) -> f64 {
        let kinds = self.column("gpu_timeline", "type");
        let row = kinds.iter().position(|name| *name == kind).expect(kind);
        self.column("gpu_timeline", "time ms")[row].as_f64().unwrap()
    }
}
