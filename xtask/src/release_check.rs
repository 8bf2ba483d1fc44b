//! What has to be true of the workspace before a release is made of it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

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
    let license = std::fs::read_to_string(root.join("LICENSE"))?;
    let somewhere_else = tempfile::tempdir()?;
    for package in packages(root)?.iter().filter(|package| is_published(package)) {
        if package["version"] != *version {
            faults.push(format!("{} has version {}, not {version}", package["name"], package["version"]));
        }
        faults.extend(faults_of_contents(package, &license));
        let (name, repository) = (text(package, "name"), text(package, "repository"));
        faults.extend(fault_of_name(name, &registered(name, somewhere_else.path()), repository));
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

fn is_published(package: &Value) -> bool {
    package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

fn text<'v>(package: &'v Value, key: &str) -> &'v str {
    package[key].as_str().unwrap_or_default()
}

/// What a package lacks by itself, once it is out of the repository.
fn faults_of_contents(package: &Value, license: &str) -> Vec<String> {
    let (name, mut faults) = (text(package, "name"), Vec::new());
    let own = Path::new(text(package, "manifest_path")).with_file_name("LICENSE");
    if std::fs::read_to_string(own).ok().as_deref() != Some(license) {
        faults.push(format!("{name} lacks the LICENSE of the repository; link it: ln -s ../../LICENSE"));
    }
    if package["metadata"]["docs"]["rs"]["all-features"] != true {
        faults.push(format!(
            "docs.rs would document {name} without its features; add [package.metadata.docs.rs] with \
             all-features = true"
        ));
    }
    for key in ["description", "license", "repository", "readme"] {
        if text(package, key).is_empty() {
            faults.push(format!("{name} has no {key} in its Cargo.toml"));
        }
    }
    faults
}

/// What the registry knows of a name.
#[derive(Debug)]
enum Registered {
    Free,
    /// Logins of the owners: `somebody`, or `github:organisation:team`.
    Taken(Vec<String>),
    NoAnswer(String),
}

/// Asks the registry, from a folder outside of the workspace, whose packages `cargo info` would describe instead.
fn registered(name: &str, elsewhere: &Path) -> Registered {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ask = ["info", "--quiet", "--registry", "crates-io", name];
    match Command::new(cargo).args(ask).current_dir(elsewhere).output() {
        Ok(answer) if answer.status.success() => owners(name),
        Ok(answer) => {
            let said = String::from_utf8_lossy(&answer.stderr);
            match said.contains(&format!("could not find `{name}`")) {
                true => Registered::Free,
                false => Registered::NoAnswer(said.trim().to_owned()),
            }
        }
        Err(error) => Registered::NoAnswer(error.to_string()),
    }
}

/// Asks for the owners of a name that is taken. `cargo owner` would want a token for what everybody may know.
fn owners(name: &str) -> Registered {
    let address = format!("https://crates.io/api/v1/crates/{name}/owners");
    let ask = ["--silent", "--show-error", "--fail", "--user-agent", "tracelens release-check", &address];
    match Command::new("curl").args(ask).output() {
        Ok(answer) if answer.status.success() => owners_of_answer(&answer.stdout),
        Ok(answer) => Registered::NoAnswer(String::from_utf8_lossy(&answer.stderr).trim().to_owned()),
        Err(error) => Registered::NoAnswer(format!("could not start curl: {error}")),
    }
}

fn owners_of_answer(answer: &[u8]) -> Registered {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
        return Registered::NoAnswer("the list of owners is not JSON".to_owned());
    };
    let users = answer["users"].as_array().map(Vec::as_slice).unwrap_or_default();
    let logins = users.iter().filter_map(|user| user["login"].as_str());
    Registered::Taken(logins.map(str::to_owned).collect())
}

/// Whoever writes `tracelens-sheets = "1"` gets what the registry has under that name: it must be ours or nobody's.
/// Ours are the packages that the account or a team of the account in the repository's address owns.
fn fault_of_name(name: &str, registered: &Registered, repository: &str) -> Option<String> {
    let account = repository.rsplit('/').nth(1).unwrap_or_default();
    let is_ours = |login: &String| {
        let team = login.strip_prefix("github:").and_then(|team| team.split(':').next());
        team.unwrap_or(login).eq_ignore_ascii_case(account)
    };
    match registered {
        Registered::Free => None,
        Registered::Taken(owners) if owners.iter().any(is_ours) => None,
        Registered::Taken(owners) => Some(format!(
            "{name} belongs to {} in the registry, not to {account}; rename the package",
            if owners.is_empty() { "nobody known".to_owned() } else { owners.join(", ") }
        )),
        Registered::NoAnswer(reason) => {
            Some(format!("the registry does not say whose {name} is: {reason}; try again with a network"))
        }
    }
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
    fn packages_are_whole_without_the_repository() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let license = std::fs::read_to_string(root.join("LICENSE")).unwrap();
        let packages = packages(&root).unwrap();
        let published: Vec<&Value> = packages.iter().filter(|package| is_published(package)).collect();
        assert!(published.len() > 20);
        for package in published {
            assert_eq!(faults_of_contents(package, &license), [""; 0]);
        }
        let bare = serde_json::json!({"name": "bare", "manifest_path": "/nonexistent/Cargo.toml"});
        let faults = faults_of_contents(&bare, &license).join("\n");
        for part in ["lacks the LICENSE", "docs.rs would document bare", "no description", "no readme"] {
            assert!(faults.contains(part), "{faults}");
        }
    }

    #[test]
    fn names_are_ours_or_free() {
        let fault = |registered: Registered| {
            fault_of_name("sheets", &registered, "https://github.com/tracelens/tracelens").unwrap_or_default()
        };
        let owned_by = |logins: &[&str]| {
            let users: Vec<Value> = logins
                .iter()
                .map(|login| serde_json::json!({"id": 1, "login": login, "kind": "user"}))
                .collect();
            fault(owners_of_answer(serde_json::json!({"users": users}).to_string().as_bytes()))
        };
        assert_eq!(fault(Registered::Free), "");
        assert_eq!(owned_by(&["somebody", "tracelens"]), "");
        assert_eq!(owned_by(&["github:TraceLens:publishers"]), "");
        let stranger =
            "sheets belongs to somebody, github:others:tracelens in the registry, not to tracelens";
        assert!(owned_by(&["somebody", "github:others:tracelens"]).starts_with(stranger));
        assert!(owned_by(&[]).contains("nobody known"));
        assert!(fault(owners_of_answer(b"<html>")).contains("does not say whose sheets is"));
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
