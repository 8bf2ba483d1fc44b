//! The handbook as a site: the pages of `docs`, and those made of the program's help, the columns and the READMEs.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ChoreResult, Outcome, build_program, package_value};

/// Where the handbook goes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Directory of the pages and of the site
    #[arg(long, default_value = "target/handbook")]
    out: PathBuf,
    /// Program whose help is shown [default: build the release binary]
    #[arg(long)]
    bin: Option<PathBuf>,
    /// Write the pages only: mdBook, which makes the site of them, is not needed
    #[arg(long)]
    pages: bool,
    /// Print the page of names and titles of columns (docs/src/reference/column-names.md), and nothing else
    #[arg(long)]
    column_names: bool,
}

pub(crate) fn run(arguments: &Arguments, root: &Path) -> ChoreResult {
    let program =
        arguments.bin.as_ref().map_or_else(|| build_program(root, "release"), |path| Ok(path.clone()))?;
    if arguments.column_names {
        print!("{}", column_names(&printed(&program, &["info", "columns", "--json"])?)?);
        return Ok(Outcome::Good);
    }
    let out = root.join(&arguments.out);
    let pages = out.join("src");
    if pages.exists() {
        std::fs::remove_dir_all(&pages)?;
    }
    copy(&root.join("docs/src"), &pages)?;
    for file in ["book.toml", "wide.css"] {
        std::fs::copy(root.join("docs").join(file), out.join(file))?;
    }
    let mut summary = std::fs::read_to_string(pages.join("SUMMARY.md"))?;
    commands(&program, &pages, &mut summary)?;
    references(&program, root, &pages, &mut summary)?;
    std::fs::write(pages.join("SUMMARY.md"), summary)?;
    if arguments.pages {
        println!("pages in {}", pages.display());
        return Ok(Outcome::Good);
    }
    let mdbook = Command::new("mdbook").arg("build").arg(&out).status();
    let built = mdbook.map_err(|error| {
        format!(
            "could not start mdbook: {error}; `cargo install mdbook --locked` installs it, and --pages does without"
        )
    })?;
    println!("site in {}", out.join("book").display());
    Ok(if built.success() { Outcome::Good } else { Outcome::Bad })
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &place)?;
        } else {
            std::fs::copy(entry.path(), place)?;
        }
    }
    Ok(())
}

pub(crate) fn printed(program: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("could not start {}: {error}", program.display()))?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!("{} {} failed", program.display(), arguments.join(" ")).into()),
    }
}

/// The subcommands of the program. Its manual page lists all of them, where the help leaves out other spellings of `report`.
pub(crate) fn subcommands(program: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let names = listed(&printed(program, &["man"])?);
    match names.is_empty() {
        true => Err(format!("the manual page of {} lists no subcommands", program.display()).into()),
        false => Ok(names),
    }
}

/// The subcommands that a manual page refers to.
fn listed(page: &str) -> Vec<String> {
    let references = page.lines().filter_map(|line| line.strip_prefix(r"tracelens\-")?.strip_suffix("(1)"));
    references.map(|name| name.replace('\\', "")).filter(|name| name != "help").collect()
}

/// A page for each command with its help.
fn commands(program: &Path, pages: &Path, summary: &mut String) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(pages.join("commands"))?;
    summary.push_str("\n# Commands\n\n");
    for command in subcommands(program)? {
        let help = printed(program, &[&command, "--help"])?;
        let page = format!("# tracelens {command}\n\n```text\n{}\n```\n", help.trim_end());
        let file = format!("commands/{}.md", command.replace(' ', "-"));
        std::fs::write(pages.join(&file), page)?;
        writeln!(summary, "- [{command}]({file})")?;
    }
    Ok(())
}

/// The columns, the changes, and the READMEs of the crates.
fn references(program: &Path, root: &Path, pages: &Path, summary: &mut String) -> Result<(), Box<dyn Error>> {
    let repository = package_value(root, "repository")?;
    summary.push_str("\n# Reference\n\n");
    std::fs::write(pages.join("columns.md"), printed(program, &["info", "columns", "--markdown"])?)?;
    let changes = std::fs::read_to_string(root.join("CHANGELOG.md"))?;
    std::fs::write(pages.join("changes.md"), linked(&changes, "", &repository))?;
    summary.push_str("- [Columns of the tables](columns.md)\n- [Changes](changes.md)\n");
    summary.push_str("\n# Crates\n\n");
    std::fs::create_dir_all(pages.join("crates"))?;
    let mut names: Vec<String> = std::fs::read_dir(root.join("crates"))?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<std::io::Result<_>>()?;
    names.sort();
    for name in names {
        let Ok(text) = std::fs::read_to_string(root.join("crates").join(&name).join("README.md")) else {
            continue;
        };
        let page = format!("crates/{name}.md");
        std::fs::write(pages.join(&page), linked(&text, &format!("crates/{name}/"), &repository))?;
        writeln!(summary, "- [{name}]({page})")?;
    }
    Ok(())
}

/// Names and titles of columns where they differ, each pair once, where a report first has it.
fn column_names(columns: &str) -> Result<String, Box<dyn Error>> {
    let mut page = "# Names of columns\n\nWorkbooks, CSV files, pages and `tracelens table` show titles. JSON, Python, the server for agents and \
                    reports with `--parity` use names. Options take either, and `compare` and `replay` read both.\n"
        .to_owned();
    let columns: serde_json::Value = serde_json::from_str(columns)?;
    let (mut seen, mut report) = (BTreeSet::new(), "");
    for sheet in columns["result"]["sheets"].as_array().into_iter().flatten() {
        for column in sheet["columns"].as_array().into_iter().flatten() {
            let pair = (column["name"].as_str(), column["title"].as_str());
            let (Some(name), Some(title)) = pair else { continue };
            if name == title || !seen.insert((name, title)) {
                continue;
            }
            let of = sheet["report_of"].as_str().unwrap_or_default();
            if of != report {
                report = of;
                write!(page, "\n## Reports of {of}\n\n| name | title |\n| --- | --- |\n")?;
            }
            writeln!(page, "| `{name}` | {title} |")?;
        }
    }
    Ok(page)
}

/// A text of the repository whose links lead to pages of the handbook, or to the repository where there is none.
/// `place` is where the text stands in the repository.
fn linked(text: &str, place: &str, repository: &str) -> String {
    let up = if place.is_empty() { "" } else { "../" };
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("](");
        let (link, rest) = part.split_once(')').unwrap_or((part, ""));
        if link.contains("://") || link.starts_with('#') || link.contains(char::is_whitespace) {
            out.push_str(part);
            continue;
        }
        let mut path: Vec<&str> = place.split('/').filter(|part| !part.is_empty()).collect();
        for step in link.split('/') {
            match step {
                ".." => drop(path.pop()),
                "." => {}
                step => path.push(step),
            }
        }
        match path[..] {
            ["crates", name, "README.md"] => out.extend([up, "crates/", name, ".md"]),
            ["CHANGELOG.md"] => out.extend([up, "changes.md"]),
            ["docs", "src", ..] => out.extend([up, &path[2..].join("/")]),
            _ => out.extend([repository, "/blob/main/", &path.join("/")]),
        }
        out.extend([")", rest]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_the_manual_page() {
        let page =
            ".TP\ntracelens\\-critical\\-path(1)\nFind\n.TP\ntracelens\\-help(1)\nPrint\ntracelens is\n";
        assert_eq!(listed(page), ["critical-path"]);
    }

    #[test]
    fn links_lead_to_pages_or_to_the_repository() {
        let text = "[a](../trace2tree/README.md), [b](../../CHANGELOG.md) [c](https://x.y) [d](benches/a.rs) [e](#below) f](g h)";
        let expected = "[a](../crates/trace2tree.md), [b](../changes.md) [c](https://x.y) [d](r/blob/main/crates/mcp/benches/a.rs) [e](#below) f](g h)";
        assert_eq!(linked(text, "crates/mcp/", "r"), expected);
        assert_eq!(
            linked("[a](crates/mcp/README.md) [h](docs/src/coming-from/hta.md)", "", "r"),
            "[a](crates/mcp.md) [h](coming-from/hta.md)"
        );
    }
}
