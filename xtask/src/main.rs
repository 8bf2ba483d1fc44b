//! Chores of the workspace, run as `cargo xtask <chore>`.
//!
//! | chore | what it does |
//! | --- | --- |
//! | `bench` | time and memory of the published program over sizes, against the least that reading takes |
//! | `layers` | fails when a crate depends on a crate below it in the house order, when the name of a column or sheet stands outside its definition, or when files use each other in a circle |
//! | `docs` | the handbook as a site: its pages, the help of each command, the columns and the READMEs |
//! | `dist` | the archive of a release, the same bytes on every machine |
//! | `release-check` | whether versions, changelog, schema, licenses and names of packages are ready for a release |
//! | `corpus` | runs the program over recorded traces and compares with the reference |
//! | `snapshot` | writes every output of a list of runs, and compares it with an earlier snapshot |
//! | `texts` | lists every text of the product by kind, so that changes of text show in review |
//!
//! A chore prints what it found and ends with exit code 1 when it found something wrong.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to the person who runs it")]

mod bench;
mod circles;
mod corpus;
mod dist;
mod docs;
mod layers;
mod named_once;
mod release_check;
mod snapshot;
mod texts;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};
use serde_json::Value;

/// Chores of the tracelens workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Measure the whole program on generated and recorded traces.
    Bench(bench::Arguments),
    /// Make the site of the handbook.
    Docs(docs::Arguments),
    /// Make the archive of a release.
    Dist(dist::Arguments),
    /// Check what a release needs: versions, changelog, schema, licenses, and names that the registry has for us or nobody.
    ReleaseCheck,
    /// Check that crates depend only on crates above them, that names stand in one place, and that no files form a circle.
    Layers,
    /// Compare reports of recorded traces with the reference's.
    Corpus(corpus::Arguments),
    /// Write every output of a list of runs into a folder, or compare with an earlier snapshot.
    Snapshot(snapshot::Arguments),
    /// Write the list of all texts of the product, or check that it is current.
    Texts(texts::Arguments),
}

/// What a chore found, apart from failing to run at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Good,
    Bad,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Bench(arguments) => bench::run(&arguments, &workspace_root()),
        Chore::Docs(arguments) => docs::run(&arguments, &workspace_root()),
        Chore::Dist(arguments) => dist::run(&arguments, &workspace_root()),
        Chore::ReleaseCheck => release_check::run(&workspace_root()),
        Chore::Layers => layers::run(workspace_root()),
        Chore::Corpus(arguments) => corpus::run(&arguments, workspace_root()),
        Chore::Snapshot(arguments) => snapshot::run(&arguments, &workspace_root()),
        Chore::Texts(arguments) => texts::run(&arguments, &workspace_root()),
    };
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Result of a chore; the error is for a person, nothing branches on it.
type ChoreResult = Result<Outcome, Box<dyn Error>>;

/// The folder of the workspace's `Cargo.toml`: where cargo built this chore from.
fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The files of a language below a folder, without those of tests, sorted.
fn code_files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    let mut test_files = BTreeSet::new();
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for path in entries.into_iter().map(|entry| entry.path()) {
        if path.is_dir() {
            if !path.ends_with("tests") {
                files.extend(code_files(&path, extension)?);
            }
        } else if path.extension().is_some_and(|found| found == extension) && !path.ends_with("tests.rs") {
            let code = std::fs::read_to_string(&path)?;
            test_files.extend(modules_of_tests(&code).map(|name| folder.join(format!("{name}.rs"))));
            files.push(path);
        }
    }
    files.retain(|path| !test_files.contains(path));
    Ok(files)
}

/// Modules in files of their own that only tests have.
fn modules_of_tests(code: &str) -> impl Iterator<Item = &str> {
    let behind = code.split("#[cfg(test)]\n").skip(1);
    behind
        .filter_map(|rest| rest.lines().next()?.strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name))
}

/// What cargo prints, from what is already downloaded where that is enough.
fn ask_cargo(root: &Path, arguments: &[&str]) -> Result<Vec<u8>, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ask = |extra: &[&str]| {
        Command::new(&cargo)
            .args(arguments)
            .args(extra)
            .current_dir(root)
            .output()
            .map_err(|error| format!("could not start cargo: {error}"))
    };
    let mut output = ask(&["--offline"])?;
    if !output.status.success() {
        output = ask(&[])?;
    }
    if !output.status.success() {
        let (command, reason) = (arguments.join(" "), String::from_utf8_lossy(&output.stderr));
        return Err(format!("cargo {command} failed: {}", reason.trim()).into());
    }
    Ok(output.stdout)
}

/// A value of the manifest of the program, as cargo reads it.
fn package_value(root: &Path, key: &str) -> Result<String, Box<dyn Error>> {
    let packages = packages(root)?;
    let value = packages
        .iter()
        .find(|package| package["name"] == "tracelens")
        .and_then(|package| package[key].as_str());
    Ok(value.ok_or_else(|| format!("the program has no {key}"))?.to_owned())
}

/// The packages of the workspace, as `cargo metadata` has them.
fn packages(root: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    let metadata = ask_cargo(root, &["metadata", "--format-version", "1", "--no-deps"])?;
    let mut metadata: Value = serde_json::from_slice(&metadata)?;
    Ok(metadata["packages"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

/// Builds the program as `profile` says, and returns its path.
fn build_program(root: &Path, profile: &str) -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["build", "--profile", profile, "--quiet", "--package", "tracelens"];
    if !Command::new(cargo).args(arguments).current_dir(root).status()?.success() {
        return Err("the program does not build".into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let binary = format!("tracelens{}", std::env::consts::EXE_SUFFIX);
    Ok(root.join(target).join(profile).join(binary))
}

#[cfg(test)]
mod tests {
    use super::modules_of_tests;

    #[test]
    fn modules_of_tests_are_left_out() {
        let code = "mod a;\n#[cfg(test)]\nmod fixture;\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(modules_of_tests(code).collect::<Vec<_>>(), ["fixture"]);
    }
}
