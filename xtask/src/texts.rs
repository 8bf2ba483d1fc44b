//! Every text of the product that a person reads, by kind, in one list: help, errors with their remedies, findings, columns, the
//! page. The list is `docs/texts.md`, so that a review shows what a change says anew, and so that somebody who has not seen
//! the code can read all texts through.
//!
//! A text is a literal of two words or more outside tests, or a comment that is help or the description of a field of JSON.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::circles::{is_cfg_test, is_punct, length};
use crate::{ChoreResult, Outcome};

/// The list.
const LIST: &str = "docs/texts.md";

/// Macros and methods whose texts nobody but a programmer sees.
const INTERNAL: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "expect",
    "panic",
    "unreachable",
];

/// Derives whose comments are help or descriptions in a schema.
const DOCUMENTED: &[(&str, Kind)] = &[
    ("Args", Kind::Help),
    ("Subcommand", Kind::Help),
    ("ValueEnum", Kind::Help),
    ("JsonSchema", Kind::Schema),
];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fail when the list in the repository is not the one of the code.
    #[arg(long)]
    check: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Help,
    Diagnostic,
    Finding,
    Column,
    Page,
    Workbook,
    Agents,
    Schema,
    Other,
}

impl Kind {
    fn title(self) -> &'static str {
        match self {
            Self::Help => "Help",
            Self::Diagnostic => "Errors, warnings and their remedies",
            Self::Finding => "Findings",
            Self::Column => "Sheets and columns",
            Self::Page => "Page",
            Self::Workbook => "Workbook",
            Self::Agents => "Server for agents",
            Self::Schema => "Fields of JSON",
            Self::Other => "Terminal and other texts",
        }
    }

    /// The kind of a file's texts for which the code around them says nothing else.
    fn for_file(file: &Path) -> Self {
        let is_below = |folder: &str| file.starts_with(folder);
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        if is_below("crates/report-writers/src/page") || is_below("crates/answers/src/page") {
            Self::Page
        } else if is_below("crates/report-writers/src/workbook") {
            Self::Workbook
        } else if is_below("crates/mcp") {
            Self::Agents
        } else if is_below("crates/cli/src/arguments") || is_below("crates/flags") {
            Self::Help
        } else if is_below("crates/advise")
            || is_below("crates/trace-doctor/src/rules")
            || name.contains("finding")
        {
            Self::Finding
        } else {
            Self::Other
        }
    }
}

/// The texts of each kind, by file, in the order of the code.
type Texts = BTreeMap<Kind, BTreeMap<PathBuf, Vec<String>>>;

/// Writes the list, or compares it.
pub(crate) fn run(arguments: &Arguments, root: &Path) -> ChoreResult {
    let list = list(root)?;
    let path = root.join(LIST);
    if !arguments.check {
        std::fs::write(&path, list)?;
        println!("texts: wrote {LIST}");
        return Ok(Outcome::Good);
    }
    if std::fs::read_to_string(&path).unwrap_or_default() == list {
        println!("texts: {LIST} has the texts of the code");
        return Ok(Outcome::Good);
    }
    eprintln!("texts: {LIST} is not the list of the code's texts; write it anew with `cargo xtask texts`");
    Ok(Outcome::Bad)
}

fn list(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut texts = Texts::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        read_folder(root, &entry?.path().join("src"), &mut texts)?;
    }
    let mut list =
        "# Texts\n\nWhat the product says, by kind and file. `cargo xtask texts` writes this list; \
                    [How the product speaks](../CONTRIBUTING.md#how-the-product-speaks) is the standard.\n"
            .to_owned();
    for (kind, files) in &texts {
        write!(list, "\n## {}\n", kind.title())?;
        for (file, texts) in files {
            write!(list, "\n{}\n\n", file.display())?;
            for text in texts {
                writeln!(list, "- {}", text.trim_end().replace('\n', "\n  "))?;
            }
        }
    }
    Ok(list)
}

fn read_folder(root: &Path, folder: &Path, texts: &mut Texts) -> Result<(), Box<dyn Error>> {
    let scripts = crate::code_files(folder, "js")?;
    for path in crate::code_files(folder, "rs")?.into_iter().chain(scripts) {
        let file = path.strip_prefix(root)?.to_path_buf();
        let code = std::fs::read_to_string(&path)?;
        let mut reader = Reader { kind: Kind::for_file(&file), found: Vec::new() };
        if path.extension().is_some_and(|extension| extension == "js") {
            reader.script(&code);
        } else {
            let tokens: TokenStream = code.parse().map_err(|error| format!("{}: {error}", file.display()))?;
            reader.code(tokens, None);
        }
        for (kind, text) in reader.found {
            texts.entry(kind).or_default().entry(file.clone()).or_default().push(text);
        }
    }
    Ok(())
}

struct Reader {
    /// What the texts are for which the code around them says nothing.
    kind: Kind,
    found: Vec<(Kind, String)>,
}

impl Reader {
    /// Reads code. `documented` is what comments in it are, if they are texts.
    fn code(&mut self, tokens: TokenStream, documented: Option<Kind>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut comment = String::new();
        // What the comments inside of the item that comes are, by its derives.
        let mut within = None;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                hash if is_punct(hash, '#') => {
                    let inner = tokens.get(at).is_some_and(|next| is_punct(next, '!'));
                    at += usize::from(inner);
                    let Some(TokenTree::Group(attribute)) = tokens.get(at) else { continue };
                    at += 1;
                    if is_cfg_test(attribute.stream()) {
                        comment.clear();
                        at += length(&tokens[at..], true);
                        continue;
                    }
                    within = within.or_else(|| derived(attribute));
                    self.attribute(attribute, &mut comment);
                }
                TokenTree::Group(group) => {
                    let name = name_before(&tokens[..at - 1]);
                    if INTERNAL.iter().any(|internal| Some(*internal) == name.as_deref()) {
                        continue;
                    }
                    let is_body = group.delimiter() == Delimiter::Brace;
                    let outer = self.kind;
                    self.kind = name.and_then(|name| kind_of_call(&name)).unwrap_or(outer);
                    self.code(group.stream(), within.filter(|_| is_body).or(documented));
                    self.kind = outer;
                    if is_body {
                        within = None;
                    }
                }
                TokenTree::Literal(literal) => self.add(self.kind, &unescaped(&literal.to_string())),
                TokenTree::Punct(_) => {}
                TokenTree::Ident(_) => {
                    // The comment belongs to what begins here.
                    let comment = std::mem::take(&mut comment);
                    // The comment of a group of options is not shown; that of an object of JSON is.
                    if let Some(kind) = within.filter(|kind| *kind == Kind::Schema).or(documented) {
                        self.add(kind, &comment);
                    }
                }
            }
        }
    }

    /// Reads an attribute: lines of a comment, the message of an error, arguments of help.
    fn attribute(&mut self, attribute: &Group, comment: &mut String) {
        let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
        let Some(TokenTree::Ident(name)) = tokens.first() else { return };
        let kind = match name.to_string().as_str() {
            "doc" => {
                if let Some(TokenTree::Literal(line)) = tokens.get(2) {
                    let line = unescaped(&line.to_string());
                    comment.push_str(line.strip_prefix(' ').unwrap_or(&line));
                    comment.push('\n');
                }
                return;
            }
            "error" | "diagnostic" => Kind::Diagnostic,
            "arg" | "command" | "clap" | "value" => Kind::Help,
            "schemars" => Kind::Schema,
            // Options of a library, which only a build with a command line has.
            "cfg_attr" => Kind::Help,
            _ => return,
        };
        let outer = std::mem::replace(&mut self.kind, kind);
        self.code(tokens.into_iter().skip(1).collect(), None);
        self.kind = outer;
    }

    /// Reads a script: what stands between quotes, the code inside of templates included.
    fn script(&mut self, code: &str) {
        let mut rest = code;
        // What comes before tells a regular expression from a division.
        let mut before = '(';
        while let Some(character) = rest.chars().next() {
            let behind = &rest[character.len_utf8()..];
            rest = match character {
                '/' if behind.starts_with('/') => behind.split_once('\n').map_or("", |(_, rest)| rest),
                '/' if behind.starts_with('*') => behind.split_once("*/").map_or("", |(_, rest)| rest),
                '"' | '\'' | '`' => {
                    let (text, behind) = quoted(behind, character);
                    self.add(self.kind, text);
                    behind
                }
                '/' if !before.is_alphanumeric() && !"_)]".contains(before) => quoted(behind, '/').1,
                _ => behind,
            };
            if !character.is_whitespace() {
                before = character;
            }
        }
    }

    fn add(&mut self, kind: Kind, text: &str) {
        if is_text(text) {
            self.found.push((kind, text.trim().to_owned()));
        }
    }
}

/// What stands before the quote that ends a text, and what comes behind it.
fn quoted(code: &str, quote: char) -> (&str, &str) {
    let mut escaped = false;
    // Depth of the braces of code in a template.
    let mut depth = 0_usize;
    let mut last = ' ';
    for (at, character) in code.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' if quote == '`' && (depth > 0 || last == '$') => depth += 1,
            '}' if depth > 0 => depth -= 1,
            _ if depth == 0 && character == quote => return (&code[..at], &code[at + 1..]),
            _ => {}
        }
        last = character;
    }
    (code, "")
}

/// What the comments of an item are that has these derives.
fn derived(attribute: &Group) -> Option<Kind> {
    let text = attribute.stream().to_string();
    let (_, derives) = text.split_once("derive")?;
    let has = |name: &str| derives.split(|c: char| !c.is_alphanumeric()).any(|derive| derive == name);
    DOCUMENTED.iter().find(|(name, _)| has(name)).map(|(_, kind)| *kind)
}

/// The name of the function, method or macro whose arguments come behind these tokens.
fn name_before(tokens: &[TokenTree]) -> Option<String> {
    match tokens {
        [.., TokenTree::Ident(name), bang] if is_punct(bang, '!') => Some(name.to_string()),
        [.., TokenTree::Ident(of), _, colon, TokenTree::Ident(name)] if is_punct(colon, ':') => {
            Some(if *of == "Column" || *of == "Sheet" { of.to_string() } else { name.to_string() })
        }
        [.., TokenTree::Ident(name)] => Some(name.to_string()),
        _ => None,
    }
}

fn kind_of_call(name: &str) -> Option<Kind> {
    match name {
        "Column" | "Sheet" | "statistics" | "distribution" | "named" => Some(Kind::Column),
        _ => None,
    }
}

/// The text of a literal as it stands in code; empty for a number.
fn unescaped(literal: &str) -> String {
    let Some(start) = literal.find('"') else { return String::new() };
    let text = literal[start + 1..].trim_end_matches('#');
    let text = text.strip_suffix('"').unwrap_or(text);
    if literal.starts_with('r') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('\n')) => while characters.next_if(|next| next.is_whitespace()).is_some() {},
            ('\\', Some(escaped)) => {
                plain.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    other => *other,
                });
                characters.next();
            }
            _ => plain.push(character),
        }
    }
    plain
}

/// Whether a person reads this: it has two words, and is neither a query nor markup.
fn is_text(text: &str) -> bool {
    const FOREIGN: &[&str] = &["SELECT ", "CREATE ", "PRAGMA ", "INSERT ", "WITH ", "<", "M ", ".", "#!"];
    let is_word =
        |word: &&str| word.chars().filter(|c| c.is_alphabetic()).count() > 1 && !word.contains("::");
    let text = text.trim();
    text.split_whitespace().filter(is_word).count() > 1
        && !FOREIGN.iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<(&'static str, String)> {
        let mut reader = Reader { kind: Kind::Other, found: Vec::new() };
        reader.code(code.parse().unwrap(), None);
        reader.found.into_iter().map(|(kind, text)| (kind.title(), text)).collect()
    }

    #[test]
    fn texts_are_found_with_their_kind() {
        let code = r#"
            /// Not a text: a comment.
            #[derive(Args)]
            struct Options {
                /// Print all tables.
                /// Default: no.
                #[arg(help_heading = "Output options")]
                verbose: bool,
            }
            #[derive(Diagnostic)]
            enum Problem {
                /// A comment about code.
                #[error("cannot read \"{file}\": \
                         it is a folder")]
                #[diagnostic(code(reading::folder), help("name the files in it"))]
                Folder,
            }
            const TIME: Column = Column::text("kernel time", "Sum of the kernels.");
            fn print() { println!("three steps"); assert!(true, "never a text"); word("one"); }
            #[cfg(test)]
            mod tests { fn test() { print("a text of tests"); } }
        "#;
        let expected = [
            ("Help", "Output options"),
            ("Help", "Print all tables.\nDefault: no."),
            ("Errors, warnings and their remedies", "cannot read \"{file}\": it is a folder"),
            ("Errors, warnings and their remedies", "name the files in it"),
            ("Sheets and columns", "kernel time"),
            ("Sheets and columns", "Sum of the kernels."),
            ("Terminal and other texts", "three steps"),
        ];
        assert_eq!(found(code), expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn scripts_have_texts_between_quotes() {
        let mut reader = Reader { kind: Kind::Page, found: Vec::new() };
        reader.script(
            "// it's a comment\nlet a = 'No rows match', b = 3 / 4, c = `${n} rows of all`, d = \"id\";",
        );
        let texts: Vec<&str> = reader.found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["No rows match", "${n} rows of all"]);
    }

    #[test]
    fn the_list_in_the_repository_has_the_texts_of_the_code() {
        let root = crate::workspace_root();
        let listed = std::fs::read_to_string(root.join(LIST)).unwrap_or_default();
        assert!(
            listed == list(&root).unwrap(),
            "{LIST} is out of date: write it anew with `cargo xtask texts`"
        );
    }
}
