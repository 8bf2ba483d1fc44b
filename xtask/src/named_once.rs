//! The check that the name of a column or of a sheet stands in one place: where the column or the sheet is defined.
//! Whoever refers to one refers to its constant, so that a new name, or a misspelt one, cannot part the two.
//!
//! Definitions are found by what stands before a text: `Column::text(`, `statistics!(`, `.named(`, `Sheet::new(`, a function
//! of the file whose first parameter is a `name`, and a constant of [`NAMES`]. Tests may spell names out, as a reader of the
//! report does.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};

use crate::{ChoreResult, Outcome};

/// Constants with the names of sheets that several crates know.
const NAMES: &str = "crates/sheets/src/names.rs";

/// Texts that are names of columns or sheets and something else as well, with what else they are. One word of letters
/// alone (`name`, `kernel`) is taken for a word everywhere.
const WORDS: &[(&str, &str)] = &[
    ("%", "a unit"),
    ("GB/s", "a unit"),
    ("TB/s", "a unit"),
    ("% of device time", "a header of first pages"),
    ("busy_time", "a kind of time"),
    ("idle_time", "a kind of time"),
    ("bandwidth (GB/s)", "a title of axes"),
    ("launch_delay", "a class of critical paths"),
    ("not matched", "a finding of jobs"),
    ("process_name", "an event of trace viewers"),
    ("thread_name", "an event of trace viewers"),
    ("critical_path", "a table of ranks"),
    ("context_requests", "an argument of engines' annotations"),
    ("generation_requests", "an argument of engines' annotations"),
    ("custom_call_target", "a field of XLA's programs"),
    ("op_name", "a field of XLA's programs"),
    ("program_id", "a statistic of XPlane profiles"),
    ("requested_bytes", "a statistic of XPlane profiles"),
    ("kernel_details", "a statistic of XPlane profiles"),
];

/// Files and folders where texts belong to another vocabulary, with whose it is.
const FOREIGN: &[(&str, &str)] = &[
    ("crates/advise/src/agent", "fields of another tool's JSON"),
    ("crates/answers/src/summary.rs", "fields of JSON"),
    ("crates/tree-perf/src/options.rs", "options"),
    ("crates/cli/src/commands", "headers of the terminal and fields of JSON"),
    ("crates/inference-phase/src/split", "fields of JSON"),
    ("crates/metal-perf/src/csv.rs", "columns of tt-perf-report's files"),
    ("crates/operator-sheets/src/kernel_list.rs", "keys inside of a cell"),
    ("crates/sheets/src/title.rs", "words of names, and what readers see instead"),
    ("crates/python/src", "keys of TraceLens's dictionaries"),
    ("crates/extension/src", "fields of events that extensions see"),
    ("crates/tree-perf/src/models.rs", "arguments of collectives as recorded"),
];

/// A text in a file, and what it is there for.
struct Text {
    file: PathBuf,
    line: usize,
    text: String,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Column,
    Statistics,
    Sheet,
    /// The constant of a sheet's name.
    Name,
    Other,
}

/// Checks the crates of the workspace at `root` and prints what it found.
pub(crate) fn run(root: &Path) -> ChoreResult {
    let breaches = breaches(root)?;
    for breach in &breaches {
        eprintln!("layers: {breach}");
    }
    Ok(if breaches.is_empty() { Outcome::Good } else { Outcome::Bad })
}

/// Names of columns and sheets outside their definitions, in words.
fn breaches(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        let folder = entry?.path();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let knows_sheets = folder.ends_with("sheets")
            || manifest.lines().any(|line| line.starts_with("sheets.") || line.starts_with("sheets ="));
        if knows_sheets {
            read(root, &folder.join("src"), &mut texts)?;
        }
    }
    let is_needed = |word: &str| texts.iter().any(|text| text.role == Role::Other && text.text == word);
    let words = WORDS.iter().filter(|(word, _)| !is_needed(word));
    let (foreign, mut breaches): (Vec<String>, Vec<String>) = outside_definitions(&texts)
        .into_iter()
        .partition(|breach| FOREIGN.iter().any(|(path, _)| breach.starts_with(path)));
    // An exception that nothing needs any more would hide the next name.
    breaches.extend(words.map(|(word, _)| format!("\"{word}\" needs no exception")));
    let is_needed = |path: &str| foreign.iter().any(|breach| breach.starts_with(path));
    let paths = FOREIGN.iter().filter(|(path, _)| root.join(path).exists() && !is_needed(path));
    breaches.extend(paths.map(|(path, _)| format!("{path} needs no exception")));
    Ok(breaches)
}

fn outside_definitions(texts: &[Text]) -> Vec<String> {
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    let mut constants: BTreeSet<&str> = BTreeSet::new();
    for text in texts {
        match text.role {
            Role::Column => drop(names.insert(text.text.clone(), "column")),
            Role::Statistics => names.extend(
                ["mean", "median", "std", "min", "max"]
                    .map(|statistic| (format!("{}_{statistic}", text.text), "column")),
            ),
            Role::Sheet => drop(names.insert(text.text.clone(), "sheet")),
            Role::Name => {
                names.insert(text.text.clone(), "sheet");
                constants.insert(&text.text);
            }
            Role::Other => {}
        }
    }
    let mut breaches: Vec<String> = texts
        .iter()
        .filter(|text| match text.role {
            Role::Other => names.contains_key(&text.text) && !is_word(&text.text),
            // A name that has a constant stands nowhere else, not even in another sheet's definition.
            Role::Sheet => constants.contains(text.text.as_str()),
            Role::Column | Role::Statistics | Role::Name => false,
        })
        .map(|Text { file, line, text, .. }| {
            format!(
                "{}:{line}: \"{text}\" is the name of a {}; refer to its constant",
                file.display(),
                names[text]
            )
        })
        .collect();
    breaches.sort();
    breaches
}

fn is_word(text: &str) -> bool {
    text.chars().all(char::is_alphabetic) || WORDS.iter().any(|(word, _)| *word == text)
}

/// Collects the texts of the files below a folder; files of tests are left out.
fn read(root: &Path, folder: &Path, texts: &mut Vec<Text>) -> Result<(), Box<dyn Error>> {
    for path in crate::code_files(folder, "rs")? {
        let code = std::fs::read_to_string(&path)?;
        let file = path.strip_prefix(root)?.to_path_buf();
        let is_names = file == Path::new(NAMES);
        let helpers = helpers(&code);
        texts.extend(literals(&code).into_iter().map(|(line, before, text)| {
            let role = if is_names { Role::Name } else { role(&before, &helpers) };
            Text { file: file.clone(), line, text, role }
        }));
    }
    Ok(())
}

/// Functions of a file, closures included, that make a column, a field or a sheet and take its name first.
fn helpers(code: &str) -> BTreeSet<&str> {
    let takes_name = |parameters: &str| {
        let first = parameters.trim_start();
        first.starts_with("name") || first.starts_with('[') && first.contains("]: [&'static str")
    };
    let makes_column = |made: &str| ["Column", "Field", "Sheet"].iter().any(|kind| made.contains(kind));
    let functions = code.split("fn ").skip(1).filter_map(|rest| {
        let name = &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_')?];
        let (signature, _) = rest.split_once(" {\n")?;
        let (_, parameters) = signature[name.len()..].split_once('(')?;
        let (_, made) = signature.rsplit_once("-> ")?;
        (takes_name(parameters) && makes_column(made)).then_some(name)
    });
    let closures = code.split("let ").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once(" = ")?;
        let (parameters, body) = rest.trim_start_matches("move ").strip_prefix('|')?.split_once('|')?;
        let (body, _) = body.split_once(';')?;
        (takes_name(parameters) && makes_column(body)).then_some(name)
    });
    functions.chain(closures).collect()
}

/// What a text is, by the code before it, which has no spaces.
fn role(before: &str, helpers: &BTreeSet<&str>) -> Role {
    let called = |before: &str| {
        let before = before.strip_suffix('(')?;
        Some(before[before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len()..].to_owned())
    };
    let path = before.trim_end_matches(|c: char| c.is_alphanumeric() || "_(".contains(c));
    let is_column = path.ends_with("Column::") && before.ends_with('(');
    // A macro of xla-perf puts the aggregate before the name of the figure.
    if is_column || before.ends_with(".named(") || before.ends_with("distribution!(") {
        return Role::Column;
    }
    if before.ends_with("statistics!(") {
        return Role::Statistics;
    }
    if ["Sheet::new(", "Sheet::with_context(", "sheet("].iter().any(|start| before.ends_with(start)) {
        return Role::Sheet;
    }
    // The first argument may be a list of names.
    let list = before.trim_end_matches(['"', ',']).strip_suffix('[');
    match called(list.unwrap_or(before)) {
        Some(name) if helpers.contains(name.as_str()) => Role::Column,
        _ => Role::Other,
    }
}

/// Characters of code before a text that tell its role.
const LONGEST: usize = 40;

/// The texts of code with their lines and the code before them, without tests at its end, comments and spaces.
fn literals(code: &str) -> Vec<(usize, String, String)> {
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut before = String::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(text) = rest.strip_prefix("r#\"") {
            rest = text.split_once("\"#").map_or("", |(_, rest)| rest);
        } else if let Some(text) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = text.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let line = code[..code.len() - rest.len()].matches('\n').count() + 1;
            let (text, behind) = text.split_at(end.unwrap_or(text.len()));
            // No longer than what any role is told by.
            let tail = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
            before.drain(..tail);
            found.push((line, before.clone(), text.to_owned()));
            before.push('"');
            rest = behind.strip_prefix('"').unwrap_or_default();
        } else if let Some(behind) = rest.strip_prefix("'\"'").or_else(|| rest.strip_prefix("'\\\"'")) {
            rest = behind;
        } else {
            if !c.is_whitespace() {
                before.push(c);
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_their_definitions_are_found() {
        let code = r#"
            const TIME: Column = Column::milliseconds("time ms", "Length in \"ms\".");
            const RATE: Statistics = statistics!("TB/s", KIND, "the rate", "bytes over time");
            fn sheet() { Sheet::new("gpu_timeline", "time ms", fields) } // "gpu_timeline"
            fn other() { table.column("TB/s_mean").or(table.column("name")).filter(|c| c != '"') }
            const NAME: Column = Column::text("name", "Name.");
            #[cfg(test)]
        "#;
        let texts = literals(code).into_iter().map(|(line, before, text)| Text {
            file: PathBuf::from("a.rs"),
            line,
            role: role(&before, &BTreeSet::new()),
            text,
        });
        let texts: Vec<Text> = texts.collect();
        let breach = |line, text: &str| {
            format!("a.rs:{line}: \"{text}\" is the name of a column; refer to its constant")
        };
        assert_eq!(outside_definitions(&texts), [breach(4, "time ms"), breach(5, "TB/s_mean")]);
    }

    #[test]
    fn a_name_with_a_constant_stands_nowhere_else() {
        let text =
            |role| Text { file: PathBuf::from("a.rs"), line: 1, text: "gpu_timeline".to_owned(), role };
        let breach = "a.rs:1: \"gpu_timeline\" is the name of a sheet; refer to its constant";
        assert_eq!(outside_definitions(&[text(Role::Name), text(Role::Sheet)]), [breach]);
        assert!(outside_definitions(&[text(Role::Sheet), text(Role::Sheet)]).is_empty());
    }

    #[test]
    fn functions_that_take_names_define_columns() {
        let code = "fn ms<R>(name: &'static str) -> Field<(), R> {\n}\nlet of = |name, more| Column::text(name, more);\n\
                    fn chip(name: &str) -> Chip {\n}\nfn other(text: &str) -> Column {\n}\n\
                    fn all(\n    [a, b]: [&'static str; 2],\n) -> [Column; 2] {\n}";
        let helpers = helpers(code);
        assert_eq!(helpers.iter().copied().collect::<Vec<_>>(), ["all", "ms", "of"]);
        for (before, is_definition) in [("ms(", true), ("x.of(", true), ("all([\",", true), ("other(", false)]
        {
            assert_eq!(role(before, &helpers) == Role::Column, is_definition, "{before}");
        }
    }
}
