//! The check that `cargo test -p NAME` compiles no dependency that `cargo test --workspace` has not compiled already: the
//! features that cargo chooses for a dependency must not depend on the packages that are built.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use crate::{ChoreResult, Outcome, ask_cargo};

/// Compares the features of all dependencies of each package with those that the whole workspace gives them.
pub(crate) fn run<'p>(root: &Path, packages: impl Iterator<Item = &'p String>) -> ChoreResult {
    let together = dependencies(root, &["--workspace"])?;
    let mut outcome = Outcome::Good;
    for package in packages {
        for other in dependencies(root, &["--package", package])?.difference(&together) {
            eprintln!(
                "features: tests of {package} alone compile {other}, which tests of the workspace do not"
            );
            outcome = Outcome::Bad;
        }
    }
    match outcome {
        Outcome::Good => println!("features: the same for each package as for the workspace"),
        Outcome::Bad => eprintln!(
            "features: run `cargo hakari generate` for dependencies of other people; name crates of the workspace among \
             the development dependencies with default-features = true"
        ),
    }
    Ok(outcome)
}

/// Dependencies as `name version (features)`, development dependencies included.
fn dependencies(root: &Path, selection: &[&str]) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let tree = ["tree", "--edges", "normal,build,dev", "--prefix", "none", "--format", "{p} ({f})"];
    let answer = ask_cargo(root, &[&tree, selection].concat())?;
    // `(*)` marks what the tree has shown already.
    let name = |line: &str| line.trim_end_matches(" (*)").to_owned();
    Ok(String::from_utf8_lossy(&answer).lines().map(name).collect())
}
