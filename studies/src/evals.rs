//! Whether an agent answers better with the skill than without: cases with graders that need no judgement.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::score_table::ScoreTable;
use crate::{Outcome, StudyResult, build_program};

/// The agent, and how often it is asked.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Shell command of the agent: it gets the question on its input, in a folder with the recordings and with tracelens on
    /// the path, and prints its answer
    agent: String,
    /// Times that each question is asked with the skill, and without
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    trials: u32,
    /// Only the cases whose name has this text
    #[arg(long)]
    only: Option<String>,
    /// Binary on the agent's path [default: build the release binary]
    #[arg(long)]
    bin: Option<PathBuf>,
}

/// The file of the cases. A test of the command line holds their facts against what the program answers.
#[derive(Deserialize)]
struct Evals {
    cases: Vec<Case>,
}

/// A question with what a right answer says.
#[derive(Deserialize)]
struct Case {
    name: String,
    /// Whether the recording does not tell, so that a figure would be made up.
    #[serde(default)]
    trap: bool,
    /// Files of `testdata`.
    recordings: Vec<PathBuf>,
    /// The part of the files that is kept, where they are cut off.
    keep: Option<f64>,
    question: String,
    facts: Vec<Fact>,
    /// Of each list, a right answer has one.
    #[serde(default)]
    one_of: Vec<Vec<String>>,
    /// What no right answer has.
    #[serde(default)]
    never: Vec<String>,
}

/// What the program answers, and in which unit an answer has to say it; without one it need not.
#[derive(Deserialize)]
struct Fact {
    is: serde_json::Value,
    unit: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, root: &Path) -> StudyResult {
    let binary = match &arguments.bin {
        Some(binary) => binary.canonicalize()?,
        None => build_program(root, "release")?,
    };
    let skills = root.join("crates/mcp/skills");
    let skill = fs::read_to_string(skills.join("gpu-trace-analysis/SKILL.md"))?;
    let Evals { cases } = serde_json::from_slice(&fs::read(skills.join("evals.json"))?)?;
    let is_wanted = |case: &&Case| arguments.only.as_ref().is_none_or(|only| case.name.contains(only));
    let mut table = ScoreTable::new(&["without", "with skill"]);
    let mut right = [0, 0];
    let mut counted = 0;
    for case in cases.iter().filter(is_wanted) {
        let ask = |skill: &str| -> Result<u32, Box<dyn Error>> {
            let mut right = 0;
            for _ in 0..arguments.trials {
                right += u32::from(case.is_right(&case.ask(&arguments.agent, skill, &binary, root)?));
            }
            Ok(right)
        };
        let [without, with] = [ask("")?, ask(&skill)?];
        let share = |right: u32| Some(f64::from(right) / f64::from(arguments.trials));
        let kind = if case.trap { "trap" } else { "" };
        table.line(&format!("{} {kind}", case.name));
        // What an agent knows without the skill says nothing about it.
        if without < arguments.trials {
            table.row("right", &[share(without), share(with)], &[]);
            (right[0], right[1], counted) = (right[0] + without, right[1] + with, counted + arguments.trials);
        } else {
            table.line("  needs no skill: does not count");
        }
    }
    let share = |right: u32| (counted > 0).then(|| f64::from(right) / f64::from(counted));
    table.row("all that count", &right.map(share), &[]);
    print!("{}", table.into_text());
    Ok(if right[1] >= right[0] { Outcome::Good } else { Outcome::Bad })
}

impl Case {
    /// The agent's answer, in lower case. One that fails has answered with what it printed.
    fn ask(&self, agent: &str, skill: &str, binary: &Path, root: &Path) -> Result<String, Box<dyn Error>> {
        let place = tempfile::tempdir()?;
        let mut names = Vec::new();
        for recording in &self.recordings {
            let whole = fs::read(root.join("testdata").join(recording))?;
            let kept = self.keep.map_or(whole.len(), |keep| (whole.len() as f64 * keep) as usize);
            let name = recording.file_name().ok_or("a recording has no name")?;
            fs::write(place.path().join(name), &whole[..kept])?;
            names.push(name.to_string_lossy());
        }
        let own = binary.parent().ok_or("the binary has no folder")?.to_path_buf();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&path)))?;
        let mut child = Command::new("sh")
            .args(["-c", agent])
            .current_dir(place.path())
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().ok_or("the agent has no input")?;
        // An agent may answer without reading the question to its end.
        let _ = write!(input, "{skill}\n\n{}\nRecordings: {}\n", self.question, names.join(", "));
        drop(input);
        let output = child.wait_with_output()?;
        if !output.status.success() {
            eprintln!("{}: the agent ends with {}", self.name, output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).to_lowercase())
    }

    /// Whether an answer in lower case says what it must and nothing that it must not.
    fn is_right(&self, answer: &str) -> bool {
        let has = |phrase: &String| answer.contains(&phrase.to_lowercase());
        let says = |fact: &Fact| match (&fact.is, fact.unit.as_deref()) {
            (_, None) => true,
            (serde_json::Value::String(name), Some(_)) => has(name),
            (figure, Some(unit)) => figure.as_f64().is_some_and(|figure| says_figure(answer, figure, unit)),
        };
        self.facts.iter().all(says)
            && self.one_of.iter().all(|list| list.iter().any(has))
            && !self.never.iter().any(has)
    }
}

/// Whether a text has a figure within 1%, in this unit or another of its kind. A count (unit `1`) stands alone.
fn says_figure(text: &str, figure: f64, unit: &str) -> bool {
    let wanted = figure * size_of(unit).map_or(1.0, |(size, _)| size);
    let kind = size_of(unit).map_or(unit, |(_, kind)| kind);
    numbers(text).any(|(number, behind)| {
        let (size, said) = size_of(behind).unwrap_or((1.0, if behind.starts_with('%') { "%" } else { "1" }));
        said == kind && (number * size - wanted).abs() <= wanted.abs() / 100.0
    })
}

/// Nanoseconds of a unit of time.
fn size_of(unit: &str) -> Option<(f64, &'static str)> {
    let size = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some((size, "time"))
}

/// The numbers of a text, each with the word or sign behind it. Commas group digits.
fn numbers(text: &str) -> impl Iterator<Item = (f64, &str)> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|c: char| c.is_ascii_digit())?;
            let is_in_word = rest[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let from = &rest[start..];
            let (digits, behind) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
            rest = behind;
            let number = digits.trim_end_matches(['.', ',']).replace(',', "").parse();
            if let (false, Ok(number)) = (is_in_word, number) {
                let unit = behind.trim_start_matches(' ');
                let end = unit.find(|c: char| !c.is_alphabetic() && c != '%').unwrap_or(unit.len());
                return Some((number, &unit[..end]));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_told_within_a_percent_in_any_unit_of_their_kind() {
        let says = |text, figure, unit| says_figure(text, figure, unit);
        assert!(
            says("busy for 0.318 ms (3.32%)", 0.318_202, "ms") && says("busy for 318.2 µs", 0.318_202, "ms")
        );
        assert!(says("3.3 % of it", 3.32, "%") && says("gives back 4,239 us.", 4238.6, "us"));
        assert!(!says("busy for 0.35 ms", 0.318_202, "ms") && !says("busy for 0.318", 0.318_202, "ms"));
        assert!(!says("0.318%", 0.318_202, "ms") && !says("sm90 has 19ms", 19.0, "1"));
        assert!(says("called 19 times", 19.0, "1") && !says("gemm19 times", 19.0, "1"));
    }

    #[test]
    fn an_answer_is_right_that_says_all_and_makes_nothing_up() {
        let case: Case = serde_json::from_value(json!({
            "name": "", "recordings": [], "question": "",
            "facts": [{"is": "aten::mm", "unit": "name"}, {"is": 7}, {"is": 2.0, "unit": "ms"}],
            "one_of": [["not recorded", "does not tell"]],
            "never": ["hit rate is"],
        }))
        .unwrap();
        assert!(case.is_right("aten::mm takes 2 ms; cache hits were not recorded"));
        assert!(!case.is_right("aten::mm takes 2 ms") && !case.is_right("it takes 2 ms; not recorded"));
        assert!(!case.is_right("aten::mm takes 2 ms; not recorded, but the hit rate is 40 %"));
    }

    #[test]
    fn half_of_the_cases_are_traps_and_each_can_be_graded() {
        let root = crate::repository();
        let text = fs::read(root.join("crates/mcp/skills/evals.json")).unwrap();
        let Evals { cases } = serde_json::from_slice(&text).unwrap();
        assert_eq!(cases.len(), 2 * cases.iter().filter(|case| case.trap).count());
        for case in &cases {
            let is_graded = !case.one_of.is_empty() || case.facts.iter().any(|fact| fact.unit.is_some());
            assert!(is_graded && !case.is_right("i do not know"), "{}", case.name);
            assert!(
                case.recordings.iter().all(|file| root.join("testdata").join(file).exists()),
                "{}",
                case.name
            );
        }
    }

    #[test]
    fn an_agent_is_asked_beside_the_recordings() {
        let case: Case = serde_json::from_value(json!({
            "name": "", "recordings": ["generated/metal_ops.csv"], "keep": 0.5, "question": "How long?", "facts": [],
        }))
        .unwrap();
        let root = crate::repository();
        let ask = |agent| case.ask(agent, "SKILL", Path::new("/nowhere/tracelens"), &root);
        let answer = ask("cat; ls; echo $PATH").unwrap();
        assert!(
            ["skill", "how long?", "recordings: metal_ops.csv", "/nowhere:"]
                .iter()
                .all(|said| answer.contains(said))
        );
        assert_eq!(ask("echo Seven; exit 3").unwrap(), "seven\n");
    }
}
