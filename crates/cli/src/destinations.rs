//! Where commands write: places that are refused before any time is spent, and files that are written whole or not at all.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use atomic_file::AtomicFile;
use inference_phase::matching::REPORT;
use inference_phase::split::DETAILS;
use report_writers::Workbook;
use sheets::Table;
use trace_ingest::{IngestError, check_entries};

use crate::error::Failure;
use crate::standard_input;

/// Writes a file, whole or not at all.
pub(crate) fn save(
    destination: &Path,
    write: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
) -> Result<PathBuf, Failure> {
    atomic_file::write_with(destination, write)
        .map_err(|source| Failure::File { path: destination.to_path_buf(), source })?;
    Ok(destination.to_path_buf())
}

/// Refuses destinations that cannot be written, or are one of the files that are read, before any time is spent.
pub(crate) fn check_destinations<'p>(
    read: &[PathBuf],
    destinations: impl IntoIterator<Item = (&'static str, &'p Path)>,
) -> Result<(), Failure> {
    let resolved = |path: &Path| std::fs::canonicalize(path).ok();
    let read: Vec<PathBuf> = read.iter().filter_map(|path| resolved(path)).collect();
    for (writer, destination) in destinations {
        let path = || destination.to_path_buf();
        if resolved(destination).is_some_and(|destination| read.contains(&destination)) {
            return Err(Failure::OverwritesTrace { path: path() });
        }
        if let Some((detail, help)) = other_ending(writer, destination) {
            return Err(Failure::Destination { path: path(), detail: detail.into(), help });
        }
        let parent = destination.parent().filter(|parent| !parent.as_os_str().is_empty());
        if writer == "csv" {
            check_directory(destination)?;
            continue;
        }
        let fault = if destination.is_dir() {
            Some(("it is a directory", "choose a file in it"))
        } else {
            let is_lost = parent.is_some_and(|parent| !parent.is_dir());
            is_lost.then_some(("its directory does not exist", "create it or choose another place"))
        };
        if let Some((detail, help)) = fault {
            return Err(Failure::Destination { path: path(), detail: detail.into(), help: help.into() });
        }
    }
    Ok(())
}

/// Marks Markdown files and pictures as written by this program.
pub(crate) const OURS: &str = "<!-- tracelens -->\n";

/// Refuses to replace files that this program did not write.
pub(crate) fn refuse_foreign<'p>(
    destinations: impl IntoIterator<Item = (&'static str, &'p Path)>,
) -> Result<(), Failure> {
    let is_ours = |format: &str, path: &Path| match format {
        "xlsx" => Workbook::is_own(path),
        // A directory, whose files are known when the tables are.
        "csv" => true,
        _ => names_us(path).unwrap_or(false),
    };
    let foreign = |(format, path): &(&str, &Path)| path.is_file() && !is_ours(format, path);
    destinations.into_iter().find(foreign).map_or(Ok(()), |(_, path)| Err(foreign_file(path)))
}

/// Refuses to replace CSV files without any column of a sheet with their name.
pub(crate) fn refuse_foreign_csv(directory: &Path, tables: &[Table]) -> Result<(), Failure> {
    let known = LazyCell::new(answers::known_sheets);
    let path = |table: &Table| directory.join(format!("{}.csv", table.name()));
    let is_foreign = |table: &&Table| {
        let Ok(file) = File::open(path(table)) else { return false };
        let mut header = String::new();
        let read = BufReader::new(file.take(LONGEST_HEADER)).read_line(&mut header);
        let has = |name: &str| header.contains(name);
        // Reports of several kinds of recordings have sheets of one name.
        let of_another = || {
            let sheets = known.iter().filter(|sheet| sheet.name == table.name());
            let mut columns = sheets.flat_map(|sheet| &sheet.columns);
            columns.any(|column| has(column.name) || has(&column.title()))
        };
        read.is_ok_and(|bytes| bytes > 1)
            && !table.columns().iter().any(|column| has(column.name()) || has(&column.title()))
            && !of_another()
    };
    tables.iter().find(is_foreign).map_or(Ok(()), |table| Err(foreign_file(&path(table))))
}

/// Bytes of a CSV file searched for column names.
const LONGEST_HEADER: u64 = 1 << 20;

fn foreign_file(path: &Path) -> Failure {
    Failure::Destination {
        path: path.to_path_buf(),
        detail: "the existing file was not written by tracelens".into(),
        help: "choose another place with -o, or replace the file with --force".into(),
    }
}

/// Refuses to replace files of a directory that this program did not write.
pub(crate) fn refuse_foreign_files(
    directory: &Path,
    names: impl IntoIterator<Item = impl AsRef<Path>>,
) -> Result<(), Failure> {
    let paths = names.into_iter().map(|name| directory.join(name));
    let mut foreign = paths.filter(|path| path.is_file() && !names_us(path).unwrap_or(false));
    foreign.next().map_or(Ok(()), |path| Err(foreign_file(&path)))
}

/// What files of these names contain instead of the program's name, where their format has no place for it.
const KEYS: [(&str, &[u8]); 6] = [
    (DETAILS[0], b"output_path"),
    (DETAILS[1], b"output_path"),
    (REPORT[0], b"TraceA"),
    (REPORT[1], b"match_id"),
    (REPORT[2], b"eligible_A"),
    ("replay.json", b"op_name"),
];

/// Whether the start or the end of a file contains the program's name, or its start the key of its kind.
fn names_us(path: &Path) -> io::Result<bool> {
    const START: u64 = 4096;
    const END: u64 = 64;
    let key = KEYS.iter().find(|(name, _)| path.ends_with(name)).map(|(_, key)| *key);
    let mut file = File::open(path)?;
    let mut text = Vec::new();
    file.by_ref().take(START).read_to_end(&mut text)?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(END)))?;
    file.take(END).read_to_end(&mut text)?;
    let has = |word: &[u8]| text.windows(word.len()).any(|there| there == word);
    let is_empty_list = key.is_some() && text.trim_ascii().starts_with(b"[]");
    Ok(has(b"tracelens") || key.is_some_and(has) || is_empty_list)
}

/// Refuses a recording that no events can be copied out of, before any time is spent.
pub(crate) fn copyable(file: &Path, instead: impl Into<String>) -> Result<(), Failure> {
    check_entries(file, &standard_input::reading()).map_err(|error| match error {
        IngestError::OtherKind { path, found, .. } => {
            Failure::NotCopyable { path, found, instead: instead.into() }
        }
        error => error.into(),
    })
}

/// What is wrong with a name that promises another format than it would hold, and what to do. A name without ending
/// promises nothing.
fn other_ending(format: &str, destination: &Path) -> Option<(String, Cow<'static, str>)> {
    const FILES: [&str; 4] = ["xlsx", "json", "svg", "html"];
    let ending = destination.extension()?.to_string_lossy().to_lowercase();
    match format {
        "csv" if FILES.contains(&&*ending) => Some((
            format!("its name ends in .{ending}, but CSV files need a directory"),
            "choose a directory".into(),
        )),
        format if FILES.contains(&format) && ending != format => Some((
            format!("its name ends in .{ending}, but the format is {format}"),
            format!("end it in .{format}, or use the option for the other format").into(),
        )),
        _ => None,
    }
}

/// Refuses a file where a directory belongs.
pub(crate) fn check_directory(directory: &Path) -> Result<(), Failure> {
    if directory.exists() && !directory.is_dir() {
        let (detail, help) = ("a file with this name exists".into(), "choose a directory".into());
        return Err(Failure::Destination { path: directory.to_path_buf(), detail, help });
    }
    Ok(())
}
