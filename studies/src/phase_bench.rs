//! The phase benchmark: the detector's labels against what engines wrote into recorded traces.
//!
//! Recordings hold a step or two each, so the benchmark also puts them together. In the blind modes the detector does
//! not see what the truth is taken from.

pub(crate) mod composite;
mod score;

use std::error::Error;
use std::path::{Path, PathBuf};

use inference_phase::{DetectOptions, Steps};
use trace_ingest::{ReadOptions, Trace};
use trace2tree::{TraceTree, TreeOptions};

use crate::score_table::ScoreTable;
use crate::{Outcome, StudyResult};
use composite::{Mode, composite};
use score::{Score, score, truth};

/// Where the corpus is, and which cases to run.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder of the corpus [default: $TRACE_CORPUS, else ../shared/corpus beside the workspace]
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Only cases whose name contains this
    #[arg(long)]
    filter: Option<String>,
}

/// A recording of the corpus with its name.
struct Recording {
    name: String,
    trace: Trace,
}

/// A case: parts put together.
struct Case {
    name: String,
    /// Indices of recordings.
    parts: Vec<usize>,
}

/// What a case scored in every mode.
struct Scored {
    name: String,
    scores: Vec<(Mode, Score)>,
}

/// What the reference's methods score on recordings that it was measured on: accuracy in percent of the two-way
/// labels, with what it calls undecided counted as wrong.
const REFERENCE: [(&str, [(&str, f64); 7]); 2] = [
    (
        "sglang-qwen3-8b-decode",
        [
            ("hybrid", 100.0),
            ("union", 98.998),
            ("kernel_names", 98.750),
            ("framework_apis", 0.0),
            ("attention_patterns", 0.0),
            ("operation_frequency", 100.0),
            ("gemm_params", 0.0),
        ],
    ),
    (
        "vllm-prefilldecode-piecewise",
        [
            ("hybrid", 0.0),
            ("union", 3.728),
            ("kernel_names", 0.0),
            ("framework_apis", 0.0),
            ("attention_patterns", 0.0),
            ("operation_frequency", 0.0),
            ("gemm_params", 3.950),
        ],
    ),
];

/// Runs every case and prints the scores; bad when a gate fails.
pub(crate) fn run(arguments: &Arguments) -> StudyResult {
    let corpus = arguments.corpus.clone().unwrap_or_else(testdata::corpus_folder);
    let recordings = recordings(&corpus)?;
    let cases: Vec<Case> = cases(&recordings)
        .into_iter()
        .filter(|case| arguments.filter.as_deref().is_none_or(|part| case.name.contains(part)))
        .collect();
    if cases.is_empty() {
        return Err(
            format!("no case to run: {} has no recording with annotated steps", corpus.display()).into()
        );
    }
    let scored: Vec<Scored> = cases.iter().map(|case| measure(case, &recordings)).collect();
    print!("{}", summary(&scored));
    let good =
        scored.iter().all(|case| case.scores.iter().all(|(mode, score)| failures(*mode, score).is_empty()));
    Ok(if good { Outcome::Good } else { Outcome::Bad })
}

/// The traces of the corpus, by name, that have annotated steps.
fn recordings(corpus: &Path) -> Result<Vec<Recording>, Box<dyn Error>> {
    let mut found = Vec::new();
    for group in ["inference", "pytorch"] {
        let folder = corpus.join(group);
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let case = entry?.path();
            if !case.is_dir() {
                continue;
            }
            for file in std::fs::read_dir(&case)? {
                let path = file?.path();
                if !path.is_file() || !path.to_string_lossy().ends_with(".json.gz") {
                    continue;
                }
                let trace = trace_ingest::read_path(&path, &ReadOptions::default())?;
                if score::has_steps(&trace) {
                    let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    found.push(Recording { name, trace });
                }
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Every recording alone, and every one that processes prompts before 3 and 20 times every one that decodes: one such
/// step among as many decode steps as serving has, whose labels an average over time would hide.
fn cases(recordings: &[Recording]) -> Vec<Case> {
    let mut cases: Vec<Case> = recordings
        .iter()
        .zip(0..)
        .map(|(one, at)| Case { name: one.name.clone(), parts: vec![at] })
        .collect();
    let decodes: Vec<bool> = recordings.iter().map(|one| score::decodes_alone(&one.trace)).collect();
    for (prompts, _) in decodes.iter().enumerate().filter(|(_, decodes)| !**decodes) {
        for (decode, _) in decodes.iter().enumerate().filter(|(_, decodes)| **decodes) {
            for times in [3, 20] {
                let name = format!("{} + {times}x {}", recordings[prompts].name, recordings[decode].name);
                let parts = std::iter::once(prompts).chain(std::iter::repeat_n(decode, times)).collect();
                cases.push(Case { name, parts });
            }
        }
    }
    cases
}

fn measure(case: &Case, recordings: &[Recording]) -> Scored {
    let parts: Vec<&Trace> = case.parts.iter().map(|&part| &recordings[part].trace).collect();
    let build = |mode: Mode| TraceTree::build(composite(&parts, mode), &TreeOptions::default());
    let truth = truth(&build(Mode::Sighted));
    let scores = Mode::ALL
        .into_iter()
        .map(|mode| {
            let tree = build(mode);
            let found = Steps::detect(&tree, &DetectOptions::default());
            (mode, score(tree.trace(), &found, &truth))
        })
        .collect();
    Scored { name: case.name.clone(), scores }
}

/// Gates that a score fails.
fn failures(mode: Mode, score: &Score) -> Vec<&'static str> {
    let gates: &[(bool, &'static str)] = match mode {
        Mode::Sighted => &[
            (score.three_way == 1.0, "three-way labels below 100%"),
            (score.coverage >= 0.999, "coverage below 99.9%"),
        ],
        Mode::Blind | Mode::BlindNoStack => &[
            (score.two_way >= 0.999, "two-way labels below 99.9%"),
            (score.balanced >= 0.995, "balanced two-way labels below 99.5%"),
            (score.wrong <= 0.001, "wrong three-way labels above 0.1%"),
        ],
    };
    gates.iter().filter(|(passes, _)| !passes).map(|&(_, gate)| gate).collect()
}

/// A table of all scores in percent, with what the reference scores where that is known.
fn summary(scored: &[Scored]) -> String {
    let mut table =
        ScoreTable::new(&["W2", "balanced", "W3", "wrong", "abstain", "steps", "time error", "coverage"]);
    for case in scored {
        table.line(&case.name);
        for (mode, score) in &case.scores {
            let shares = [
                score.two_way,
                score.balanced,
                score.three_way,
                score.wrong,
                score.abstained,
                score.steps,
                score.time_error,
                score.coverage,
            ];
            table.row(mode.name(), &shares.map(Some), &failures(*mode, score));
        }
        if let Some((_, methods)) = REFERENCE.iter().find(|(name, _)| *name == case.name) {
            for (method, accuracy) in methods {
                table.row(&format!("({method})"), &[Some(accuracy / 100.0)], &[]);
            }
        }
    }
    table.line("\nW2: prompts or decode alone; W3: prefill, mixed or decode, with wrong ones and with none");
    table.line("in parentheses: methods of the reference, W2 in percent, as measured on its own output");
    table.line(&format!("{} cases, {} failed gates", scored.len(), table.failed()));
    table.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_the_corpus_pass_every_gate_in_every_mode() {
        let annotated = REFERENCE.map(|(name, _)| testdata::corpus(&format!("inference/{name}")));
        if annotated.contains(&None) {
            return;
        }
        let recordings = recordings(&testdata::corpus_folder()).expect("recordings");
        let scored: Vec<Scored> = cases(&recordings).iter().map(|case| measure(case, &recordings)).collect();
        assert!(scored.len() >= 4, "{}", summary(&scored));
        for case in &scored {
            for (mode, score) in &case.scores {
                assert!(failures(*mode, score).is_empty(), "{}", summary(&scored));
            }
        }
    }

    #[test]
    fn gates_fail_below_their_bounds() {
        let perfect = Score {
            coverage: 1.0,
            two_way: 1.0,
            three_way: 1.0,
            wrong: 0.0,
            abstained: 0.0,
            balanced: 1.0,
            steps: 1.0,
            time_error: 0.0,
        };
        for mode in Mode::ALL {
            assert!(failures(mode, &perfect).is_empty());
        }
        assert_eq!(failures(Mode::Sighted, &Score { three_way: 0.9999, ..perfect }).len(), 1);
        assert_eq!(failures(Mode::Blind, &Score { two_way: 0.998, balanced: 0.99, ..perfect }).len(), 2);
        assert_eq!(failures(Mode::Blind, &Score { wrong: 0.002, ..perfect }).len(), 1);
        let text = summary(&[Scored {
            name: "sglang-qwen3-8b-decode".into(),
            scores: vec![(Mode::Blind, Score { two_way: 0.5, ..perfect })],
        }]);
        assert!(
            text.contains("FAILED: two-way labels below 99.9%") && text.contains("(gemm_params)"),
            "{text}"
        );
    }
}
