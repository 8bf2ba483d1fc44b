//! The check that the name of a column or of a sheet stands in one place: where the column or the sheet is defined.
//! Whoever refers to one refers to its constant, so that a new name, or a misspelt one, cannot part the two.
//!
//! Definitions are found by what stands before a text: `Column::text(`, `statistics!(`, `.named(`, `Sheet::new(`, and a
//! constant of [`NAMES`]. Tests may spell names out, as a reader of the report does.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Constants with the names of sheets that several crates know.
const NAMES: &str = "crates/sheets/src/names.rs";

/// Texts that are names of columns or sheets and something else as well, with what else they are. One word of letters
/// alone (`name`, `kernel`) is taken for a word everywhere.
const WORDS: &[(&str, &str)] = &[];

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

/// Names of columns and sheets outside their definitions, in words.
pub(crate) fn breaches(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
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
    Ok(outside_definitions(&texts))
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
            format!("{}:{line}: \"{text}\" is the name of a {}; refer to its constant", file.display(), names[text])
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
    let mut files = Vec::new();
    let mut of_tests: BTreeSet<PathBuf> = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(root, &path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let code = std::fs::read_to_string(&path)?;
            of_tests.extend(modules_of_tests(&code).map(|name| folder.join(format!("{name}.rs"))));
            files.push((path, code));
        }
    }
    files.retain(|(path, _)| !of_tests.contains(path) && !path.ends_with("tests.rs"));
    for (path, code) in files {
        let file = path.strip_prefix(root)?.to_path_buf();
        let is_names = file == Path::new(NAMES);
        texts.extend(literals(&code).into_iter().map(|(line, before, text)| {
            let role = if is_names { Role::Name } else { role(&before) };
            Text { file: file.clone(), line, text, role }
        }));
    }
    Ok(())
}

/// Modules in files of their own that only tests have.
fn modules_of_tests(code: &str) -> impl Iterator<Item = &str> {
    let behind = code.split("#[cfg(test)]\n").skip(1);
    behind.filter_map(|rest| rest.lines().next()?.strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name))
}

/// What a text is, by the code before it, which has no spaces.
fn role(before: &str) -> Role {
    let is_column = before.strip_suffix('(').is_some_and(|before| {
        let name = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        name.ends_with("Column::") || before.ends_with(".named")
    });
    if is_column {
        return Role::Column;
    }
    if before.ends_with("statistics!(") {
        return Role::Statistics;
    }
    match ["Sheet::new(", "Sheet::with_context(", "sheet("].iter().any(|start| before.ends_with(start)) {
        true => Role::Sheet,
        false => Role::Other,
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
            role: role(&before),
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
        let text = |role| Text { file: PathBuf::from("a.rs"), line: 1, text: "gpu_timeline".to_owned(), role };
        let breach = "a.rs:1: \"gpu_timeline\" is the name of a sheet; refer to its constant";
        assert_eq!(outside_definitions(&[text(Role::Name), text(Role::Sheet)]), [breach]);
        assert!(outside_definitions(&[text(Role::Sheet), text(Role::Sheet)]).is_empty());
    }

    #[test]
    fn modules_of_tests_are_left_out() {
        let code = "mod a;\n#[cfg(test)]\nmod fixture;\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(modules_of_tests(code).collect::<Vec<_>>(), ["fixture"]);
    }
}
