//! The runs of a snapshot: every command and every option that changes an output, on inputs that show it.

use std::collections::BTreeMap;

/// A run by the name of its folder. Arguments that begin with `testdata/`, `examples/`, `xtask/` or `corpus/` name
/// inputs, `@files` stands for every output of a report, and quotes hold a word with blanks together.
pub(super) struct Run {
    pub(super) name: String,
    pub(super) arguments: String,
}

/// Every run: those of `runs.txt`, whose head describes the lines.
pub(super) fn all() -> Vec<Run> {
    let mut inputs: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    let mut list = "";
    let mut runs = Vec::new();
    for line in include_str!("runs.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(names) = line.strip_prefix('@') {
            let mut names = names.split(' ');
            list = names.next().unwrap_or_default();
            inputs.insert(list, names.map(|name| (name, name)).collect());
        } else if let Some((name, text)) = line.strip_prefix("  ").and_then(|input| input.split_once(' ')) {
            inputs.entry(list).or_default().push((name, text));
        } else if let Some((name, arguments)) = line.split_once(": ") {
            match name.split_once(" @") {
                None => runs.push(Run { name: name.to_owned(), arguments: arguments.to_owned() }),
                Some((name, list)) => runs.extend(inputs[list].iter().map(|(input, text)| Run {
                    name: format!("{name}.{input}"),
                    arguments: arguments.replace("{}", text),
                })),
            }
        }
    }
    runs
}
