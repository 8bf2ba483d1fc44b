//! What holds for any program.

use iterations::{DetectOptions, Iterations};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::program::{Program, STRIPPED, count};

/// Nothing overlaps on a level, everything is in order and inside of the recording.
fn check(found: &Iterations, end: i64) -> Result<(), TestCaseError> {
    for level in found.levels() {
        prop_assert!(!level.iterations.is_empty());
        prop_assert!((0.0..=1.0).contains(&level.confidence));
        for one in &level.iterations {
            prop_assert!(0 <= one.start && one.start <= one.end && one.end <= end, "{one:?} in {end}");
        }
        for pair in level.iterations.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start, "{} {pair:?}", level.name);
        }
    }
    Ok(())
}

/// The share of so many programs that have their number of iterations, always the same programs.
fn right<T>(strategy: impl Strategy<Value = T>, mut is_right: impl FnMut(T) -> bool) -> f64 {
    const PROGRAMS: usize = 500;
    let mut runner = TestRunner::deterministic();
    let drawn = (0..PROGRAMS).filter_map(|_| strategy.new_tree(&mut runner).ok());
    drawn.filter(|tree| is_right(tree.current())).count() as f64 / PROGRAMS as f64
}

#[test]
fn training_keeps_its_steps_whatever_lies_between() {
    let noise = prop::collection::vec((0usize..12, 1usize..6), 0..5);
    let share =
        right((2usize..12, 1usize..4, any::<bool>(), noise), |(steps, micro_batches, has_device, noise)| {
            let mut program = Program::new();
            program.has_device = has_device;
            for step in 0..steps {
                program.train(micro_batches);
                for &(_, calls) in noise.iter().filter(|(place, _)| *place == step) {
                    for call in 0..calls {
                        program.op(&format!("log::{call}"));
                    }
                }
            }
            let end = 1000 * program.clock;
            let found = Iterations::detect(&program.tree(), &STRIPPED);
            check(&found, end).unwrap();
            count(&found) == steps
        });
    assert!(share >= 0.99, "{share}");
}

#[test]
fn inference_keeps_its_passes_whatever_lies_between() {
    let noise = prop::collection::vec(0usize..20, 0..3);
    let share = right((4usize..20, 2usize..8, noise), |(passes, layers, noise)| {
        let mut program = Program::new();
        for pass in 0..passes {
            program.infer(layers);
            for (name, _) in noise.iter().enumerate().filter(|(_, place)| **place == pass) {
                program.op(&format!("log::{name}"));
            }
            program.copy_to_host();
        }
        let end = 1000 * program.clock;
        let found = Iterations::detect(&program.tree(), &STRIPPED);
        check(&found, end).unwrap();
        count(&found) == passes
    });
    assert!(share >= 0.99, "{share}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn any_calls_give_iterations_in_order(
        calls in prop::collection::vec((0usize..6, 0usize..5), 0..120),
    ) {
        let mut program = Program::new();
        for (what, name) in calls {
            match what {
                0 => program.backward(2),
                1 => program.forward("aten::linear"),
                2 => program.op("aten::_fused_adamw_"),
                3 => program.copy_to_host(),
                4 => program.marked(&format!("range {name}"), |program| program.op("aten::mm")),
                _ => program.op(&format!("op{name}")),
            }
        }
        let end = 1000 * program.clock + 1_000_000;
        let tree = program.tree();
        check(&Iterations::detect(&tree, &STRIPPED), end)?;
        check(&Iterations::detect(&tree, &DetectOptions::default()), end)?;
    }
}
