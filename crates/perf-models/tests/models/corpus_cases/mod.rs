//! Compares figures, compute specs and parameters with those of a reference implementation.
//!
//! The cases are recorded and made-up operator calls in the corpus (`perf-models/cases.jsonl`). Where
//! we mean to differ, a table of exceptions (`exceptions.txt`) says so by the quirk of the reference that it puts right; an
//! exception that never occurs is a failure, and so is a difference without an exception.
//!
//! `CASES_FILTER=aten::mm,vllm::` restricts a run to operators whose names contain one of these.

mod case;
mod exception;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use case::{Case, Outcome, evaluate, read_cases};
use exception::{Exception, exceptions};

/// Names that a run is restricted to; empty for all.
fn filter() -> Vec<String> {
    let names = std::env::var("CASES_FILTER").unwrap_or_default();
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Fields on which the two disagree, each with the reference's outcome and ours.
fn disagreements(case: &Case, ours: &[(String, Outcome)]) -> Vec<(String, Outcome, Outcome)> {
    let expected: BTreeMap<&str, &Outcome> =
        case.expected.iter().map(|(field, outcome)| (field.as_str(), outcome)).collect();
    let ours: BTreeMap<&str, &Outcome> =
        ours.iter().map(|(field, outcome)| (field.as_str(), outcome)).collect();
    let fields: BTreeSet<&str> = expected.keys().chain(ours.keys()).copied().collect();
    let pairs = fields.into_iter().map(|field| {
        let of =
            |side: &BTreeMap<&str, &Outcome>| side.get(field).copied().cloned().unwrap_or(Outcome::Absent);
        (field.to_owned(), of(&expected), of(&ours))
    });
    pairs.filter(|(_, expected, ours)| !expected.agrees(ours)).collect()
}

#[test]
fn figures_of_the_corpus_agree_except_where_the_reference_is_put_right() {
    let Some(path) = testdata::corpus("perf-models/cases.jsonl") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let filter = filter();
    let selected = |name: &str| filter.is_empty() || filter.iter().any(|part| name.contains(part));
    let cases = read_cases(&text);
    let exceptions = exceptions();

    let (mut compared, mut agreeing) = (0, 0);
    let mut occurred = vec![false; exceptions.len()];
    let mut failures = Vec::new();
    for case in cases.iter().filter(|case| selected(&case.call.name)) {
        compared += 1;
        let (ours, reasons) = evaluate(&case.call);
        let disagreements = disagreements(case, &ours);
        agreeing += usize::from(disagreements.is_empty());
        let mut unexplained = Vec::new();
        for (field, reference, ours) in disagreements {
            let found = exceptions.iter().position(|exception| exception.applies(case, &field));
            let verdict = match found {
                None => format!("{field}: {ours}, the reference {reference}"),
                Some(position) => {
                    occurred[position] = true;
                    let promised = exceptions[position].outcome(case);
                    if promised.agrees(&ours) {
                        continue;
                    }
                    let Exception { quirk, why, .. } = exceptions[position];
                    format!("{field}: {ours}, by quirk {quirk} ({why}) {promised}, the reference {reference}")
                }
            };
            unexplained.push(verdict);
        }
        if !unexplained.is_empty() {
            let (unexplained, reasons) = (unexplained.join("\n    "), reasons.join("; "));
            failures
                .push(format!("{}\n    {unexplained}\n    [{reasons}]\n    {}", case.call.name, case.line));
        }
    }
    for (exception, occurred) in exceptions.iter().zip(occurred) {
        let in_run = filter.is_empty()
            || cases.iter().any(|case| selected(&case.call.name) && exception.applies(case, exception.field));
        if in_run && !occurred {
            failures.push(format!("never occurs: {exception:?}"));
        }
    }
    assert!(compared > 0, "CASES_FILTER selects no case");
    eprintln!("{compared} cases, {agreeing} without any difference, {} failures", failures.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}
