//! Snapshots: what the program writes in a list of runs, in one folder per run and in a form that can be compared line
//! by line. One is taken before a change that should not alter outputs, and compared after it.

mod runs;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::corpus::entries;
use crate::{ChoreResult, Outcome, build_program};
use runs::Run;

/// Where the snapshot goes, what it is compared with, and what runs.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder to write the snapshot into: absent or empty
    #[arg(value_name = "DIR", required_unless_present = "against")]
    folder: Option<PathBuf>,
    /// Compare with the snapshot in this folder, and fail where anything differs
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Program to run [default: build the release binary]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Folder of the corpus [default: $TRACE_CORPUS, else ../shared/corpus beside the workspace]
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Only runs whose name contains this
    #[arg(long)]
    filter: Option<String>,
}

/// Takes a snapshot, compares it where that is asked for, and prints what differs.
pub(crate) fn run(arguments: &Arguments, root: &Path) -> ChoreResult {
    let scratch = tempfile::tempdir()?;
    let folder = arguments.folder.as_deref().unwrap_or(scratch.path());
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if !entries(folder)?.is_empty() {
        return Err(format!("{}: holds something already; remove it first", folder.display()).into());
    }
    if let Some(before) = arguments.against.as_deref().filter(|before| !before.is_dir()) {
        return Err(format!("{}: no such folder", before.display()).into());
    }
    let program = match &arguments.program {
        Some(path) => fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?,
        None => build_program(root, "release")?,
    };
    let corpus = arguments.corpus.clone().unwrap_or_else(testdata::corpus_folder);
    let place = Place { program, root: root.to_path_buf(), corpus, snapshot: folder.to_path_buf() };
    let is_wanted = |run: &Run| arguments.filter.as_deref().is_none_or(|part| run.name.contains(part));
    let runs: Vec<Run> = runs::all().into_iter().filter(is_wanted).collect();

    let taken = take_all(&runs, &place)?;
    println!("snapshot: {} runs, {} skipped", taken.len(), runs.len() - taken.len());
    let Some(before) = &arguments.against else { return Ok(Outcome::Good) };
    let mut differences = 0;
    for run in &taken {
        for difference in compare(&before.join(run), &folder.join(run))? {
            println!("{run}: {difference}");
            differences += 1;
        }
    }
    println!("snapshot: {differences} files differ");
    Ok(if differences == 0 { Outcome::Good } else { Outcome::Bad })
}

/// What runs, and where its inputs are.
struct Place {
    program: PathBuf,
    root: PathBuf,
    corpus: PathBuf,
    snapshot: PathBuf,
}

impl Place {
    /// Where the file or folder is that an argument names; `None` for arguments that name none.
    fn input(&self, argument: &str) -> Option<PathBuf> {
        match argument.split_once('/')? {
            ("testdata" | "examples" | "xtask", _) => Some(self.root.join(argument)),
            ("corpus", rest) => Some(self.corpus.join(rest)),
            _ => None,
        }
    }
}

/// Takes the snapshot of every run, several at a time; names of the runs whose inputs are there, in order.
fn take_all<'a>(runs: &'a [Run], place: &Place) -> Result<Vec<&'a str>, Box<dyn Error>> {
    let (queue, results) = (Mutex::new(runs.iter()), Mutex::new(Vec::new()));
    // A panic elsewhere leaves both usable: one is only read from, the other only added to.
    let next = || queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    let work = || {
        while let Some(run) = next() {
            let result = take(run, place).map_err(|error| format!("{}: {error}", run.name));
            results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((run.name.as_str(), result));
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));

    let mut taken = Vec::new();
    for (name, result) in results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        match result? {
            None => taken.push(name),
            Some(missing) => eprintln!("snapshot: {name} skipped: no {}", missing.display()),
        }
    }
    taken.sort_unstable();
    Ok(taken)
}

/// Runs the program and writes down what came out; the input that is not there, where one is not.
///
/// The program works on copies of its inputs in a folder of its own, so that paths in its outputs are the same each
/// time, and what it writes beside an input is found.
fn take(run: &Run, place: &Place) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut words = words(&run.arguments);
    for word in &mut words {
        let (input, name) = word.split_once('=').unwrap_or((word, word));
        let Some(source) = place.input(input) else { continue };
        if !source.exists() {
            return Ok(Some(source));
        }
        copy(&source, &folder.path().join(name))?;
        *word = name.to_owned();
    }
    let inputs: BTreeSet<PathBuf> = files(folder.path())?.into_iter().collect();

    let output = Command::new(&place.program)
        .args(&words)
        .current_dir(folder.path())
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()?;
    let code = output.status.code().map_or_else(|| output.status.to_string(), |code| code.to_string());
    let snapshot = place.snapshot.join(&run.name);
    store(&snapshot.join("arguments"), format!("{}\n", words.join(" ")).as_bytes())?;
    store(&snapshot.join("exit_code"), format!("{code}\n").as_bytes())?;
    store(&snapshot.join("stdout"), &output.stdout)?;
    store(&snapshot.join("stderr"), &output.stderr)?;
    for file in files(folder.path())?.into_iter().filter(|file| !inputs.contains(file)) {
        store_readable(&snapshot.join("files").join(&file), fs::read(folder.path().join(&file))?)?;
    }
    Ok(None)
}

/// The arguments of a run: words, or texts in single quotes. `@files` stands for every output of a report.
fn words(arguments: &str) -> Vec<String> {
    let arguments = arguments.replace(
        "@files",
        "--output_csvs_dir csv --output_xlsx_path report.xlsx --output_json_path report.json",
    );
    let pieces = arguments.split('\'').enumerate();
    pieces
        .flat_map(|(place, piece)| match place % 2 {
            0 => piece.split_whitespace().collect(),
            _ => vec![piece],
        })
        .map(ToOwned::to_owned)
        .collect()
}

/// Copies a file or a folder with everything in it.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_dir() {
        return files(from)?.iter().try_for_each(|file| copy(&from.join(file), &to.join(file)));
    }
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to).map(drop)
}

/// The files below a folder by their paths in it, in order; none where there is no folder.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(inner) = folders.pop().filter(|inner| inner.is_dir()) {
        let (below, plain): (Vec<PathBuf>, Vec<PathBuf>) =
            entries(&inner)?.into_iter().partition(|path| path.is_dir());
        folders.extend(below);
        found.extend(plain.iter().filter_map(|path| path.strip_prefix(folder).ok()).map(Path::to_path_buf));
    }
    found.sort();
    Ok(found)
}

fn store(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes)
}

/// Stores an output as text: workbooks as a folder of their parts, an element a line, and gzip unpacked.
fn store_readable(path: &Path, bytes: Vec<u8>) -> Result<(), Box<dyn Error>> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("xlsx") => {
            let mut workbook = zip::ZipArchive::new(Cursor::new(bytes))?;
            for part in 0..workbook.len() {
                let mut part = workbook.by_index(part)?;
                let name = part.enclosed_name().ok_or("the workbook has a part without a name")?;
                let mut text = String::new();
                part.read_to_string(&mut text)?;
                store(&path.join(name), text.replace("><", ">\n<").as_bytes())?;
            }
        }
        Some("gz") => {
            let mut text = Vec::new();
            flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text)?;
            store(&path.with_extension(""), &text)?;
        }
        _ => store(path, &bytes)?,
    }
    Ok(())
}

/// What differs between the two folders of a run, a text per file.
fn compare(before: &Path, now: &Path) -> std::io::Result<Vec<String>> {
    if !before.is_dir() {
        return Ok(vec!["is not in the other snapshot".into()]);
    }
    let (files_before, files_now) = (files(before)?, files(now)?);
    let names: BTreeSet<&PathBuf> = files_before.iter().chain(&files_now).collect();
    let mut differences = Vec::new();
    for name in names {
        let file = name.display();
        let difference = match (files_before.contains(name), files_now.contains(name)) {
            (true, true) => {
                let (before, now) = (fs::read(before.join(name))?, fs::read(now.join(name))?);
                first_difference(&before, &now).map(|difference| format!("{file}: {difference}"))
            }
            (false, _) => Some(format!("{file}: is new")),
            (_, false) => Some(format!("{file}: is gone")),
        };
        differences.extend(difference);
    }
    Ok(differences)
}

/// The first line in which two texts differ, as both have it.
fn first_difference(before: &[u8], now: &[u8]) -> Option<String> {
    if before == now {
        return None;
    }
    let mut lines = before.split(|byte| *byte == b'\n').map(Some).chain(std::iter::repeat(None));
    let mut lines_now = now.split(|byte| *byte == b'\n').map(Some).chain(std::iter::repeat(None));
    let differing = (1..).map(|line| (line, lines.next().flatten(), lines_now.next().flatten()));
    let (line, before, now) = differing.into_iter().find(|(_, before, now)| before != now)?;
    let common = before.unwrap_or_default().iter().zip(now.unwrap_or_default());
    let column = common.take_while(|(before, now)| before == now).count();
    let excerpt = |text: Option<&[u8]>| match text {
        Some(text) => excerpt(text, column),
        None => "(ends)".to_owned(),
    };
    Some(format!("line {line}\n  before: {}\n  now:    {}", excerpt(before), excerpt(now)))
}

/// What is around a column of a line; lines of a JSON file may be its whole text.
fn excerpt(line: &[u8], column: usize) -> String {
    let (begin, end) = (column.saturating_sub(60), line.len().min(column + 100));
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    let text = String::from_utf8_lossy(&line[begin..end]);
    format!("{}{text}{}", cut(begin > 0), cut(end < line.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program in `folder` that copies its second argument, says so, and fails.
    fn program(folder: &Path) -> PathBuf {
        let path = folder.join("program");
        fs::write(&path, "#!/bin/sh\ncp $2 copy.gz\necho copied $2\nexit 3\n").expect("program");
        let mut permissions = fs::metadata(&path).expect("program").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        fs::set_permissions(&path, permissions).expect("program");
        path
    }

    #[test]
    fn a_snapshot_holds_every_output_and_tells_what_differs() {
        let folder = tempfile::tempdir().expect("folder");
        let place = Place {
            program: program(folder.path()),
            root: crate::workspace_root(),
            corpus: folder.path().join("no corpus"),
            snapshot: folder.path().join("now"),
        };
        let trace = "testdata/generated/cuda_serving.json.gz";
        let runs = [("copies", format!("report {trace}")), ("skipped", "report corpus/absent.json".into())]
            .map(|(name, arguments)| Run { name: name.into(), arguments });
        assert_eq!(take_all(&runs, &place).expect("taken"), ["copies"]);

        let now = folder.path().join("now/copies");
        let read = |file: &str| fs::read_to_string(now.join(file)).expect("output");
        assert_eq!((read("stdout"), read("stderr")), (format!("copied {trace}\n"), String::new()));
        assert_eq!((read("exit_code"), read("arguments")), ("3\n".into(), format!("report {trace}\n")));
        assert!(read("files/copy").contains("traceEvents"), "unpacked");

        let before = folder.path().join("before/copies");
        assert_eq!(compare(&before, &now).expect("compared"), ["is not in the other snapshot"]);
        copy(&now, &before).expect("copied");
        assert_eq!(compare(&before, &now).expect("compared"), Vec::<String>::new());
        fs::write(before.join("exit_code"), "0\n").expect("changed");
        fs::write(before.join("files/older"), "").expect("added");
        fs::remove_file(before.join("stderr")).expect("removed");
        let expected =
            ["exit_code: line 1\n  before: 0\n  now:    3", "files/older: is gone", "stderr: is new"];
        assert_eq!(compare(&before, &now).expect("compared"), expected);
    }

    #[test]
    fn differences_are_shown_where_they_are() {
        let of = |before: &str, now: &str| first_difference(before.as_bytes(), now.as_bytes());
        assert_eq!(of("a\nb\n", "a\nb\n"), None);
        assert_eq!(of("a\nb", "a\nb\nc").expect("longer"), "line 3\n  before: (ends)\n  now:    c");
        let long = "x".repeat(500);
        let shown = of(&format!("{long}1{long}"), &format!("{long}2{long}")).expect("differs");
        assert!(shown.contains("x1x") && shown.contains("x2x") && shown.len() < 400, "{shown}");
    }

    #[test]
    fn arguments_are_words_and_quoted_texts() {
        assert_eq!(words("tree a --field 'Input Dims'"), ["tree", "a", "--field", "Input Dims"]);
        assert_eq!(words("jax @files").len(), 7);
    }

    #[test]
    fn every_run_has_a_name_and_a_command_of_its_own() {
        let runs = runs::all();
        let names: BTreeSet<&str> = runs.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(names.len(), runs.len());
        let root = crate::workspace_root();
        for run in &runs {
            let words = words(&run.arguments);
            let inputs =
                words.iter().map(|word| word.split_once('=').map_or(word.as_str(), |(input, _)| input));
            let own = inputs.filter(|input| input.contains('/') && !input.starts_with("corpus/"));
            assert!(own.into_iter().all(|input| root.join(input).exists()), "{}", run.arguments);
        }
    }
}
