//! What has to be true of the workspace before a release is made of it.

use std::path::Path;
use std::process::Command;

use crate::{ChoreResult, Outcome, package_value, packages};

/// The documents that have a schema in the repository.
const DOCUMENTS: [&str; 2] = ["answer", "baseline"];

const WORKFLOW: &str = ".github/workflows/release.yml";

/// The schema of a document, in the repository.
fn schema_path(document: &str) -> String {
    format!("crates/answers/schema/{document}-1.json")
}

pub(crate) fn run(root: &Path) -> ChoreResult {
    let version = package_value(root, "version")?;
    let mut faults = Vec::new();
    for package in packages(root)? {
        let is_published = package["publish"].as_array().is_none_or(|registries| !registries.is_empty());
        if is_published && package["version"] != *version {
            faults.push(format!("{} has version {}, not {version}", package["name"], package["version"]));
        }
    }
    let changelog = std::fs::read_to_string(root.join("CHANGELOG.md"))?;
    faults.extend(fault_of_changelog(&changelog, &version));
    match last_release(root) {
        Some(tag) => {
            for document in DOCUMENTS {
                let path = schema_path(document);
                let schema = std::fs::read_to_string(root.join(&path))?;
                let released = Command::new("git")
                    .args(["show", &format!("{tag}:{path}")])
                    .current_dir(root)
                    .output()?;
                let released = String::from_utf8_lossy(&released.stdout);
                faults.extend(fault_of_schema(document, &schema, &released, &tag));
            }
            faults.extend(fault_of_interfaces(root, &tag));
        }
        None => println!("no release before this one: nothing to compare schemas and interfaces with"),
    }
    let workflow = std::fs::read_to_string(root.join(WORKFLOW))?;
    faults.extend(moving_actions(&workflow).map(|action| {
        format!("{WORKFLOW} uses {action}, which others can move; name a commit and its version behind it")
    }));
    faults.iter().for_each(|fault| println!("release-check: {fault}"));
    if faults.is_empty() {
        println!("release-check: {version} is ready");
    }
    Ok(if faults.is_empty() { Outcome::Good } else { Outcome::Bad })
}

/// Whether the published crates break programs that the release of this tag built, by `cargo semver-checks`. It is no part
/// of the build: who makes a release has it installed.
fn fault_of_interfaces(root: &Path, tag: &str) -> Option<String> {
    let check = ["semver-checks", "check-release", "--workspace", "--baseline-rev", tag];
    match Command::new("cargo").args(check).current_dir(root).status() {
        Ok(status) if status.success() => None,
        _ => Some(format!(
            "`cargo {}` fails: raise the version, or keep the interface of {tag} (`cargo install cargo-semver-checks` \
             installs it)",
            check.join(" ")
        )),
    }
}

/// The tag of the last release.
fn last_release(root: &Path) -> Option<String> {
    let tag = ["describe", "--tags", "--abbrev=0", "--match", "v*"];
    let output = Command::new("git").args(tag).current_dir(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The first section of the changelog is that of the version, with its date.
fn fault_of_changelog(changelog: &str, version: &str) -> Option<String> {
    let first = changelog.lines().find_map(|line| line.strip_prefix("## ")).unwrap_or_default();
    let date = first.strip_prefix(version).map(|rest| rest.trim_start_matches([' ', '-', '–', '(']));
    let is_date = |date: &str| {
        let parts: Vec<&str> = date.trim_end_matches(')').split('-').collect();
        let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        parts.iter().map(|part| part.len()).eq([4, 2, 2]) && parts.iter().all(is_number)
    };
    let is_dated = date.is_some_and(is_date);
    (!is_dated).then(|| {
        format!("CHANGELOG.md begins with `## {first}`; a release needs `## {version} - YYYY-MM-DD`")
    })
}

/// A schema that changed has another number.
fn fault_of_schema(document: &str, now: &str, released: &str, tag: &str) -> Option<String> {
    let number = |schema: &str| {
        let (_, rest) = schema.split_once(&format!("tracelens.{document}/"))?;
        Some(rest.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next()?.to_owned())
    };
    let is_same = now == released || released.is_empty() || number(now) != number(released);
    (!is_same).then(|| {
        let (path, number) = (schema_path(document), number(now).unwrap_or_default());
        format!("{path} changed since {tag}, and still has the number {number}")
    })
}

/// Actions that a workflow does not name by a commit.
fn moving_actions(workflow: &str) -> impl Iterator<Item = &str> {
    let actions =
        workflow.lines().filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix("uses:"));
    let actions = actions.filter_map(|action| action.split_whitespace().next());
    let is_commit =
        |version: &str| version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_own = |action: &str| action.starts_with("./");
    actions
        .filter(move |action| !is_own(action) && !action.split_once('@').is_some_and(|(_, at)| is_commit(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_named_by_commits() {
        let commit = "08c6903cd8c0fde910a37f88322edcfb5dd907a8";
        let workflow =
            format!("- uses: ./own\n  - uses: a/b@{commit} # v1\n    uses: c/d@v2 # {commit}\n- uses: e/f\n");
        assert_eq!(moving_actions(&workflow).collect::<Vec<_>>(), ["c/d@v2", "e/f"]);
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(WORKFLOW);
        let own = std::fs::read_to_string(own).unwrap();
        assert!(own.contains("uses: actions/checkout@"), "{own}");
        assert_eq!(moving_actions(&own).next(), None);
    }

    #[test]
    fn a_release_has_a_dated_section() {
        assert_eq!(fault_of_changelog("# Changelog\n\n## 1.2.0 - 2026-11-27\n\n## 1.1.0", "1.2.0"), None);
        for text in
            ["## Unreleased\n## 1.2.0 - 2026-11-27", "## 1.2.0", "## 1.1.0 - 2026-11-27", "## 1.2.0 - soon"]
        {
            assert!(fault_of_changelog(text, "1.2.0").is_some(), "{text}");
        }
    }

    #[test]
    fn a_changed_schema_has_another_number() {
        for document in DOCUMENTS {
            let schema =
                |number: &str, rest: &str| format!(r#"{{"const": "tracelens.{document}/{number}", {rest}}}"#);
            let released = schema("1.0", "a");
            let fault = |now: &str| fault_of_schema(document, now, &released, "v1");
            assert_eq!((fault(&released), fault(&schema("1.1", "b"))), (None, None));
            assert!(fault(&schema("1.0", "b")).is_some_and(|fault| fault.ends_with("the number 1.0")));
        }
    }

    #[test]
    fn schemas_state_their_number() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for document in DOCUMENTS {
            let schema = std::fs::read_to_string(root.join(schema_path(document))).unwrap();
            let changed = fault_of_schema(document, &schema, &schema.replace("\"type\"", "\"kind\""), "v1");
            assert!(changed.is_some_and(|fault| !fault.ends_with("the number ")), "{document}");
        }
    }
}
