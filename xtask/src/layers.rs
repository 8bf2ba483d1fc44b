//! The layer check: arrows between the crates of the workspace point one way only.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{ChoreResult, Outcome, ask_cargo, circles, named_once};

/// The house order, top first. A crate may depend on crates that come before it. Crates are named without the prefix of
/// their packages ([`PREFIX`]).
const ORDER: &[&str] = &[
    "python-literal",
    "flags",
    "trace-ingest",
    "gpu-timeline",
    "trace2tree",
    "perf-models",
    "hlo-cost",
    "iterations",
    "atomic-file",
    "sheets",
    "perf-gate",
    "advise",
    "critical-path",
    "trace-diff",
    "trace-doctor",
    "op-replay",
    "operator-sheets",
    "tree-perf",
    "inference-phase",
    "extension",
    "xla-perf",
    "rocprof-perf",
    "nsys-perf",
    "metal-perf",
    "multi-rank",
    "reference-tools",
    "report-writers",
    "answers",
    "mcp",
    "tracelens",
    "pytracelens",
];

/// What the packages of crates are published under whose own name is taken, or says nothing alone.
const PREFIX: &str = "tracelens-";

/// Crates that may depend on no other crate of the workspace but [`LEAVES`].
const ALONE: &[&str] = &["perf-models"];

/// Crates that know nothing of traces, which every crate may use.
const LEAVES: &[&str] = &["python-literal", "flags"];

/// Crates of one kind of recording each, which know nothing of each other.
const RECORDERS: &[&str] = &["tree-perf", "xla-perf", "rocprof-perf", "nsys-perf", "metal-perf"];

/// Packages outside the house: they use the crates, and no crate uses them, save its tests.
const OUTSIDE: &[&str] = &["xtask", "benches", "examples", "testdata"];

/// The part of `cargo metadata` that the check reads.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    dependencies: Vec<Dependency>,
}

/// A dependency as declared in a manifest.
#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `None` is a normal dependency; else `build` or `dev`.
    kind: Option<String>,
}

/// What the check found: every breach in words, and the packages it did not look at.
#[derive(Debug, PartialEq, Eq)]
struct Findings {
    breaches: Vec<String>,
    checked: Vec<String>,
    exempt: Vec<String>,
}

/// Checks the workspace at `root` and prints what it found.
pub(crate) fn run(root: PathBuf) -> ChoreResult {
    let findings = check(&read_metadata(&root)?);
    println!("layers: checked {}", findings.checked.join(", "));
    if !findings.exempt.is_empty() {
        println!("layers: not part of the house: {}", findings.exempt.join(", "));
    }
    if findings.breaches.is_empty() {
        println!("layers: every arrow points up");
        let outcomes = [named_once::run(&root)?, circles::run(&root)?];
        return Ok(if outcomes.contains(&Outcome::Bad) { Outcome::Bad } else { Outcome::Good });
    }
    for breach in &findings.breaches {
        eprintln!("layers: {breach}");
    }
    eprintln!("layers: {} in all; the order is {}", findings.breaches.len(), ORDER.join(" > "));
    Ok(Outcome::Bad)
}

fn read_metadata(root: &Path) -> Result<Metadata, Box<dyn Error>> {
    let answer = ask_cargo(root, &["metadata", "--no-deps", "--format-version", "1"])?;
    Ok(serde_json::from_slice(&answer).map_err(|error| format!("cargo metadata: {error}"))?)
}

fn check(metadata: &Metadata) -> Findings {
    let members: BTreeSet<&str> = metadata.workspace_members.iter().map(String::as_str).collect();
    let mut crates: Vec<&Package> =
        metadata.packages.iter().filter(|package| members.contains(package.id.as_str())).collect();
    crates.sort_by_key(|package| (rank(&package.name).unwrap_or(ORDER.len()), package.name.clone()));
    let names: BTreeSet<&str> = crates.iter().map(|package| package.name.as_str()).collect();

    let mut findings = Findings { breaches: Vec::new(), checked: Vec::new(), exempt: Vec::new() };
    for package in crates {
        if OUTSIDE.contains(&short(&package.name)) {
            findings.exempt.push(package.name.clone());
            continue;
        }
        findings.checked.push(package.name.clone());
        let Some(own_rank) = rank(&package.name) else {
            findings.breaches.push(format!(
                "{} has no place in the house order: give it one in xtask/src/layers.rs",
                package.name
            ));
            continue;
        };
        findings.breaches.extend(wrong_arrows(package, own_rank, &names));
    }
    findings
}

fn rank(name: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == short(name))
}

/// A crate by its directory's name.
fn short(package: &str) -> &str {
    package.strip_prefix(PREFIX).unwrap_or(package)
}

/// Dependencies of `package` on workspace crates that its place does not allow.
fn wrong_arrows(package: &Package, own_rank: usize, workspace: &BTreeSet<&str>) -> Vec<String> {
    let mut breaches = Vec::new();
    let alone = ALONE.contains(&short(&package.name));
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        if dependency.kind.as_deref() == Some("dev") || !workspace.contains(name) {
            continue;
        }
        let kind = dependency.kind.as_deref().unwrap_or("normal");
        if alone && !LEAVES.contains(&short(name)) {
            breaches.push(format!(
                "{} depends on {name} ({kind}), but may depend on no crate of the workspace",
                package.name
            ));
        } else if RECORDERS.contains(&short(name)) && RECORDERS.contains(&short(&package.name)) {
            breaches.push(format!(
                "{} depends on {name} ({kind}), the crate of another recorder: what both need belongs above them",
                package.name
            ));
        } else if rank(name).is_none_or(|theirs| theirs >= own_rank) {
            breaches.push(format!("{} depends on {name} ({kind}), which is not above it", package.name));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    type Crate<'c> = (&'c str, &'c [(&'c str, Option<&'c str>)]);

    /// Metadata of a workspace of `(crate, [(dependency, kind)])`; packages that only appear as
    /// dependencies are outside the workspace.
    fn metadata(crates: &[Crate<'_>], members: &[&str]) -> Metadata {
        let packages: Vec<Value> = crates
            .iter()
            .map(|(name, deps)| {
                let dependencies: Vec<Value> =
                    deps.iter().map(|(dep, kind)| json!({"name": dep, "kind": kind})).collect();
                json!({"id": format!("id {name}"), "name": name, "dependencies": dependencies})
            })
            .collect();
        let nodes: Vec<Value> = crates
            .iter()
            .map(|(name, deps)| {
                let edges: Vec<Value> = deps
                    .iter()
                    .map(|(dep, kind)| json!({"pkg": format!("id {dep}"), "dep_kinds": [{"kind": kind}]}))
                    .collect();
                json!({"id": format!("id {name}"), "deps": edges})
            })
            .collect();
        let members: Vec<String> = members.iter().map(|name| format!("id {name}")).collect();
        let whole = json!({"packages": packages, "workspace_members": members, "resolve": {"nodes": nodes}});
        serde_json::from_value(whole).expect("fixture")
    }

    #[test]
    fn arrows_to_crates_above_are_allowed() {
        let found = check(&metadata(
            &[
                ("tree-perf", &[("trace-ingest", None), ("perf-models", None)]),
                ("trace-ingest", &[("memchr", None)]),
                ("perf-models", &[]),
                ("memchr", &[]),
            ],
            &["tree-perf", "trace-ingest", "perf-models"],
        ));
        assert_eq!(found.breaches, Vec::<String>::new());
        assert_eq!(found.checked, ["trace-ingest", "perf-models", "tree-perf"]);
    }

    #[test]
    fn dependency_on_a_crate_below_is_a_breach() {
        let found = check(&metadata(
            &[("trace2tree", &[("tree-perf", None)]), ("tree-perf", &[])],
            &["trace2tree", "tree-perf"],
        ));
        assert_eq!(found.breaches, ["trace2tree depends on tree-perf (normal), which is not above it"]);
    }

    #[test]
    fn build_dependency_on_a_crate_below_is_a_breach() {
        let found = check(&metadata(
            &[("gpu-timeline", &[("trace2tree", Some("build"))]), ("trace2tree", &[])],
            &["gpu-timeline", "trace2tree"],
        ));
        assert_eq!(found.breaches, ["gpu-timeline depends on trace2tree (build), which is not above it"]);
    }

    #[test]
    fn dev_dependency_on_a_crate_below_is_allowed() {
        let found = check(&metadata(
            &[("trace2tree", &[("tree-perf", Some("dev"))]), ("tree-perf", &[])],
            &["trace2tree", "tree-perf"],
        ));
        assert_eq!(found.breaches, Vec::<String>::new());
    }

    #[test]
    fn perf_models_may_depend_on_no_workspace_crate_even_above_it() {
        let found = check(&metadata(
            &[("perf-models", &[("trace-ingest", None)]), ("trace-ingest", &[])],
            &["perf-models", "trace-ingest"],
        ));
        assert_eq!(
            found.breaches,
            ["perf-models depends on trace-ingest (normal), but may depend on no crate of the workspace"]
        );
    }

    #[test]
    fn a_recorder_crate_may_not_know_another() {
        let found = check(&metadata(
            &[("xla-perf", &[("tree-perf", None)]), ("tree-perf", &[])],
            &["xla-perf", "tree-perf"],
        ));
        assert_eq!(
            found.breaches,
            [
                "xla-perf depends on tree-perf (normal), the crate of another recorder: what both need belongs above them"
            ]
        );
    }

    #[test]
    fn dependency_of_a_crate_on_xtask_is_a_breach() {
        let found =
            check(&metadata(&[("tracelens", &[("xtask", None)]), ("xtask", &[])], &["tracelens", "xtask"]));
        assert_eq!(found.breaches, ["tracelens depends on xtask (normal), which is not above it"]);
    }

    #[test]
    fn unknown_workspace_crate_is_a_breach() {
        let found = check(&metadata(&[("trace-soup", &[])], &["trace-soup"]));
        assert_eq!(
            found.breaches,
            ["trace-soup has no place in the house order: give it one in xtask/src/layers.rs"]
        );
    }

    #[test]
    fn chores_benches_and_examples_are_exempt_and_listed() {
        let found = check(&metadata(
            &[
                ("xtask", &[("tracelens", None)]),
                ("benches", &[("tree-perf", None)]),
                ("examples", &[]),
                ("tree-perf", &[]),
                ("tracelens", &[]),
            ],
            &["xtask", "benches", "examples", "tree-perf", "tracelens"],
        ));
        assert_eq!(found.breaches, Vec::<String>::new());
        assert_eq!(found.exempt, ["benches", "examples", "xtask"]);
    }
}
