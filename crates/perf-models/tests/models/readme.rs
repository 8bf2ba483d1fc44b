//! The README shows what the sources say.

use std::fs;
use std::path::Path;

const README: &str = include_str!("../../README.md");

/// The blocks of the README that begin with a path, each with the pieces that the file must contain.
fn excerpts() -> Vec<(&'static str, Vec<Vec<&'static str>>)> {
    let mut excerpts = Vec::new();
    let mut lines = README.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line != "```rust,ignore" {
            continue;
        }
        let path = lines.next().and_then(|line| line.strip_prefix("// ")).unwrap();
        let mut pieces = vec![Vec::new()];
        for line in lines.by_ref().take_while(|&line| line != "```") {
            match line {
                "// ..." => pieces.push(Vec::new()),
                _ => pieces.last_mut().unwrap().push(line),
            }
        }
        excerpts.push((path, pieces));
    }
    excerpts
}

#[test]
fn excerpts_stand_in_the_files_that_they_name() {
    let excerpts = excerpts();
    assert!(excerpts.len() >= 10, "{} excerpts", excerpts.len());
    for (path, pieces) in excerpts {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut rest: Vec<&str> = text.lines().map(str::trim).collect();
        for piece in pieces {
            let found = rest.windows(piece.len()).position(|window| window == piece);
            let at = found.unwrap_or_else(|| {
                panic!("{path} does not say, or not in this order:\n{}", piece.join("\n"))
            });
            rest.drain(..at + piece.len());
        }
    }
}

#[test]
fn links_within_the_readme_lead_to_headings() {
    let anchor = |heading: &str| heading.to_lowercase().replace(' ', "-");
    let headings: Vec<String> = README
        .lines()
        .filter(|line| line.starts_with("## ") || line.starts_with("### "))
        .map(|line| anchor(line.trim_start_matches('#').trim()))
        .collect();
    let links: Vec<&str> = README.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() >= 10, "{links:?}");
    for link in links {
        assert!(headings.iter().any(|heading| heading == link), "no heading for #{link}");
    }
}
