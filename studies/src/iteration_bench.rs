//! The benchmark of iterations: what is found in generated runs, as recorded and without marks, against what they did.

mod score;

use std::error::Error;
use std::fmt::Display;
use std::num::NonZero;

use inference_phase::Steps;
use iterations::Iterations;
use trace_ingest::ReadOptions;
use trace2tree::{TraceTree, TreeOptions};

use crate::gen_trace::{Run, Workload, write_run};
use crate::score_table::ScoreTable;
use crate::{Outcome, StudyResult};
use score::{Phases, SMALL_BOUNDARY_ERROR, SMALL_TIME_ERROR, Score, explain, score};

/// Which runs to score.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Runs of each program
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Seed of the first run of each program
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
    /// Only programs whose name contains this
    #[arg(long)]
    filter: Option<String>,
    /// Prints what was found in each run whose count or boundaries are wrong, beside what it did
    #[arg(long)]
    explain: bool,
}

/// Whether the detector sees the marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    AsRecorded,
    Unmarked,
}

impl Mode {
    const ALL: [Mode; 2] = [Mode::AsRecorded, Mode::Unmarked];

    fn name(self) -> &'static str {
        match self {
            Mode::AsRecorded => "as recorded",
            Mode::Unmarked => "unmarked",
        }
    }
}

/// A run of a program in a mode, and its scores.
struct Scored {
    run: Run,
    mode: Mode,
    score: Score,
    /// What was found beside the truth, where that is wrong.
    explanation: Option<String>,
}

/// Scores every run and prints a table per program; bad when a gate fails.
pub(crate) fn run(arguments: &Arguments) -> StudyResult {
    let chosen =
        |workload: &Workload| arguments.filter.as_deref().is_none_or(|part| workload.name().contains(part));
    let workloads: Vec<Workload> = Workload::ALL.into_iter().filter(chosen).collect();
    if workloads.is_empty() {
        let names = Workload::ALL.map(Workload::name).join(", ");
        return Err(format!("no program has this in its name; there are {names}").into());
    }
    let seeds = arguments.first_seed..arguments.first_seed.saturating_add(arguments.seeds);
    let runs: Vec<(Run, Mode)> = workloads
        .iter()
        .flat_map(|&workload| seeds.clone().map(move |seed| Run { workload, seed }))
        .flat_map(|run| Mode::ALL.map(|mode| (run, mode)))
        .collect();
    let scored = measure_all(&runs)?;
    if arguments.explain {
        scored.iter().filter_map(|one| one.explanation.as_deref()).for_each(|text| println!("{text}"));
    }
    let table = summary(&workloads, &scored);
    let outcome = if table.failed() == 0 { Outcome::Good } else { Outcome::Bad };
    print!("{}", table.into_text());
    Ok(outcome)
}

/// Scores of all runs in their order, several at a time.
fn measure_all(runs: &[(Run, Mode)]) -> Result<Vec<Scored>, Box<dyn Error>> {
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get);
    let measure_part = |first: usize| -> Vec<(usize, Result<Scored, String>)> {
        let part = runs.iter().enumerate().skip(first).step_by(workers);
        part.map(|(at, &(run, mode))| (at, measure(run, mode).map_err(|error| error.to_string()))).collect()
    };
    let mut scored = Vec::with_capacity(runs.len());
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..workers).map(|first| scope.spawn(move || measure_part(first))).collect();
        for worker in started {
            match worker.join() {
                Ok(part) => scored.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    scored.sort_by_key(|(at, _)| *at);
    Ok(scored.into_iter().map(|(_, scored)| scored).collect::<Result<_, _>>()?)
}

/// Generates a run, reads it, and compares what is found with what it did.
fn measure(run: Run, mode: Mode) -> Result<Scored, Box<dyn Error>> {
    let named = |error: &dyn Display| format!("{}, seed {}: {error}", run.workload.name(), run.seed);
    // Readers take paths.
    let mut file = tempfile::Builder::new().suffix(".json").tempfile()?;
    let truth = write_run(run, mode == Mode::AsRecorded, &mut file).map_err(|error| named(&error))?;
    let trace =
        trace_ingest::read_path(file.path(), &ReadOptions::default()).map_err(|error| named(&error))?;
    let tree = TraceTree::build(trace, &TreeOptions::default());
    let found = Iterations::detect(&tree, &iterations::DetectOptions::default());
    let phases = Steps::detect(&tree, &inference_phase::DetectOptions::default());
    let score = score(&tree, &found, &phases, &truth);
    let explanation =
        (!score.is_right()).then(|| explain(&run.command(mode == Mode::AsRecorded), &tree, &found, &truth));
    Ok(Scored { run, mode, score, explanation })
}

/// Scores of all runs of one program in one mode; shares are 0 to 1.
struct Row<'s> {
    mode: Mode,
    scored: Vec<&'s Scored>,
}

impl Row<'_> {
    /// Part of the runs.
    fn share(&self, is: impl Fn(&Score) -> bool) -> f64 {
        let right = self.scored.iter().filter(|one| is(&one.score)).count();
        right as f64 / self.scored.len().max(1) as f64
    }

    fn count(&self) -> f64 {
        self.share(Score::has_right_count)
    }

    /// Part of the runs whose micro-batches or denoising steps were found, where they have any.
    fn parts(&self) -> Option<f64> {
        let has_parts = self.scored.iter().any(|one| one.score.parts_are_right.is_some());
        has_parts.then(|| self.share(|score| score.parts_are_right == Some(true)))
    }

    /// Of an error over all runs: the part of no more than `small`, the median, the maximum.
    fn errors(&self, small: f64, of: impl Fn(&Score) -> &[f64]) -> [Option<f64>; 3] {
        let mut errors: Vec<f64> = self.scored.iter().flat_map(|one| of(&one.score)).copied().collect();
        errors.sort_by(f64::total_cmp);
        let share = errors.partition_point(|error| *error <= small) as f64 / errors.len() as f64;
        let median = errors.get(errors.len() / 2).copied();
        [median.map(|_| share), median, errors.last().copied()]
    }

    /// Part of the right ones of counted steps.
    fn steps(&self, counted: impl Fn(Phases) -> Option<(usize, usize)>) -> Option<f64> {
        let counted = self.scored.iter().filter_map(|one| counted(one.score.phases));
        let (right, all) = counted.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (all > 0).then(|| right as f64 / all as f64)
    }

    fn phases(&self) -> Option<f64> {
        self.steps(|phases| match phases {
            Phases::None { .. } => None,
            Phases::Engine { right, all, .. } => Some((right, all)),
        })
    }

    fn mixed(&self) -> Option<f64> {
        self.steps(|phases| match phases {
            Phases::None { .. } => None,
            Phases::Engine { mixed, .. } => mixed,
        })
    }

    fn has_wrong_phases(score: &Score) -> bool {
        score.phases == Phases::None { found: true }
    }

    /// Gates that it fails.
    fn failures(&self) -> Vec<&'static str> {
        let count = match self.mode {
            Mode::AsRecorded => (self.count() == 1.0, "count below 100%"),
            Mode::Unmarked => (self.count() >= 0.99, "count below 99%"),
        };
        let gates = [
            count,
            (self.share(Self::has_wrong_phases) == 0.0, "phases of no language model"),
            (self.mixed().is_none_or(|share| share >= 0.95), "mixed steps below 95%"),
        ];
        gates.into_iter().filter(|(passes, _)| !passes).map(|(_, gate)| gate).collect()
    }

    /// Runs whose count or phases are wrong, as far as a line has room for them.
    fn wrong_runs(&self) -> Vec<String> {
        let describe = |kind: &str, is: &dyn Fn(&Score) -> bool, what: &dyn Fn(&Score) -> String| {
            const SHOWN: usize = 12;
            let wrong: Vec<&&Scored> = self.scored.iter().filter(|one| is(&one.score)).collect();
            let seeds: Vec<String> =
                wrong.iter().take(SHOWN).map(|one| format!("{}{}", one.run.seed, what(&one.score))).collect();
            let more = if wrong.len() > SHOWN {
                format!(" and {} more", wrong.len() - SHOWN)
            } else {
                String::new()
            };
            (!wrong.is_empty()).then(|| format!("    {kind}, seeds {}{more}", seeds.join(", ")))
        };
        let counts = |score: &Score| format!(" ({} found as {})", score.steps, score.found);
        [
            describe("wrong count", &|score| !score.has_right_count(), &counts),
            describe("wrong phases", &Self::has_wrong_phases, &|_| String::new()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

const COLUMNS: [&str; 12] = [
    "count",
    "level",
    "program",
    "parts",
    "bound ≤ 1",
    "bound med",
    "bound max",
    "time ≤ 0.5",
    "time med",
    "time max",
    "phases",
    "mixed",
];

/// What the columns are, all in percent.
const LEGEND: [&str; 8] = [
    "",
    "count, level, program: runs with the right number of steps, level of steps, kind of program",
    "parts: runs with the right number of micro-batches or denoising steps",
    "bound: errors of boundaries as part of their step, where the count is right: how many are small, median, maximum",
    "time: the same of a step's device time",
    "phases: steps of inference engines with the right phase, or none where attention's kernels do not show it",
    "mixed: steps of prompts beside generation with the right phase, where attention's kernels show it",
    "",
];

/// A table of all scores in percent.
fn summary(workloads: &[Workload], scored: &[Scored]) -> ScoreTable {
    let mut table = ScoreTable::new(&COLUMNS);
    for &workload in workloads {
        table.line(workload.name());
        for mode in Mode::ALL {
            let is_row = |one: &&Scored| one.run.workload == workload && one.mode == mode;
            let row = Row { mode, scored: scored.iter().filter(is_row).collect() };
            let mut shares = vec![
                Some(row.count()),
                Some(row.share(|score| score.level_is_right)),
                Some(row.share(|score| score.program_is_right)),
                row.parts(),
            ];
            shares.extend(row.errors(SMALL_BOUNDARY_ERROR, |score| &score.boundary_errors));
            shares.extend(row.errors(SMALL_TIME_ERROR, |score| &score.time_errors));
            shares.extend([row.phases(), row.mixed()]);
            table.row(mode.name(), &shares, &row.failures());
            for line in row.wrong_runs() {
                table.line(&line);
            }
        }
    }
    for line in LEGEND {
        table.line(line);
    }
    table.line(&format!("{} runs, {} failed gates", scored.len(), table.failed()));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(workload: Workload, mode: Mode, score: Score) -> Scored {
        Scored { run: Run { workload, seed: 7 }, mode, score, explanation: None }
    }

    const RIGHT: Score = Score {
        steps: 5,
        found: 5,
        level_is_right: true,
        program_is_right: true,
        parts_are_right: None,
        boundary_errors: Vec::new(),
        time_errors: Vec::new(),
        phases: Phases::None { found: false },
    };

    #[test]
    fn marked_steps_are_found_where_they_are() {
        let runs: Vec<(Run, Mode)> = Workload::ALL
            .into_iter()
            .flat_map(|workload| Mode::ALL.map(|mode| (Run { workload, seed: 1 }, mode)))
            .collect();
        let measured = measure_all(&runs).expect("measured");
        assert_eq!(measured.len(), runs.len());
        for (one, (run, mode)) in measured.iter().zip(&runs) {
            assert_eq!((one.run, one.mode), (*run, *mode));
            assert!(one.score.steps > 1, "{run:?}");
            if *mode == Mode::AsRecorded {
                assert!(one.score.has_right_count(), "{run:?}: {}", one.score.found);
                assert!(one.score.boundary_errors.iter().all(|error| *error == 0.0), "{run:?}");
                assert!(one.score.time_errors.iter().all(|error| *error == 0.0), "{run:?}");
                assert_eq!(one.score.boundary_errors.len(), 2 * one.score.steps);
            }
        }
    }

    #[test]
    fn gates_fail_below_their_bounds() {
        let workload = Workload::ServingSteady;
        let failures = |mode, score| {
            let one = scored(workload, mode, score);
            Row { mode, scored: vec![&one] }.failures()
        };
        for mode in Mode::ALL {
            assert!(failures(mode, RIGHT).is_empty());
            assert_eq!(failures(mode, Score { found: 4, ..RIGHT }).len(), 1);
            let found = Score { phases: Phases::None { found: true }, ..RIGHT };
            assert_eq!(failures(mode, found), ["phases of no language model"]);
            let phases = |mixed| Phases::Engine { right: 10, all: 100, mixed };
            assert_eq!(
                failures(mode, Score { phases: phases(Some((94, 100))), ..RIGHT }),
                ["mixed steps below 95%"]
            );
            assert!(failures(mode, Score { phases: phases(Some((95, 100))), ..RIGHT }).is_empty());
            assert!(failures(mode, Score { phases: phases(None), ..RIGHT }).is_empty());
        }
    }

    #[test]
    fn one_wrong_count_of_a_hundred_passes_unmarked_and_fails_as_recorded() {
        for (mode, passes) in [(Mode::AsRecorded, false), (Mode::Unmarked, true)] {
            let all: Vec<Scored> = (0..100)
                .map(|seed| {
                    let found = if seed == 0 { 4 } else { 5 };
                    scored(Workload::Diffusion, mode, Score { found, ..RIGHT })
                })
                .collect();
            assert_eq!(Row { mode, scored: all.iter().collect() }.failures().is_empty(), passes);
        }
    }

    #[test]
    fn summary_names_the_seeds_that_went_wrong() {
        let wrong = Score { found: 20, boundary_errors: vec![0.5], ..RIGHT };
        let table = summary(&[Workload::Diffusion], &[scored(Workload::Diffusion, Mode::Unmarked, wrong)]);
        let text = table.into_text();
        assert!(text.contains("wrong count, seeds 7 (5 found as 20)"), "{text}");
        assert!(text.contains("FAILED: count below 99%") && text.contains("50.000"), "{text}");
    }
}
