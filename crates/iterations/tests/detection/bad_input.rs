//! Recordings with nothing in them, marks that lie, and programs that change.

use iterations::{DetectOptions, Evidence, Iterations, LevelKind, Reason};
use trace_ingest::{Category, EventArguments, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

use crate::program::{AUTOGRAD, MAIN, Program, STRIPPED, count};

#[test]
fn nothing_recorded_has_no_iterations() {
    let found = Program::new().detect();
    assert_eq!((found.levels(), found.reason()), (&[][..], &Reason::NothingRecorded));
}

#[test]
fn one_iteration_is_one() {
    let mut program = Program::new();
    program.marked("ProfilerStep#0", |program| program.infer(3));
    let tree = program.tree();
    assert_eq!(count(&Iterations::detect(&tree, &DetectOptions::default())), 1);
    assert_eq!(count(&Iterations::detect(&tree, &STRIPPED)), 0);
}

#[test]
fn a_mark_around_nothing_marks_no_step() {
    let mut program = Program::new();
    program.marked("ProfilerStep#0", |program| program.pause(10));
    for _ in 0..4 {
        program.train(1);
    }
    let found = program.detect();
    let steps = found.steps().unwrap();
    assert_eq!((steps.evidence, steps.iterations.len()), (Evidence::TrainingCycle, 4));
}

#[test]
fn marks_alone_are_steps_of_which_little_is_sure() {
    let mut program = Program::new();
    for step in 0..3 {
        program.marked(&format!("ProfilerStep#{step}"), |program| program.pause(10));
    }
    let found = program.detect();
    assert_eq!(count(&found), 3);
    assert!(found.steps().unwrap().confidence <= 0.5);
}

#[test]
fn marks_in_marks_of_one_name_count_once() {
    let mut program = Program::new();
    for step in 0..3 {
        let name = format!("ProfilerStep#{step}");
        program.marked(&name, |program| program.marked(&name, |program| program.train(1)));
    }
    assert_eq!(count(&program.detect()), 3);
}

#[test]
fn of_marks_on_two_threads_those_around_most_work_count() {
    let mut program = Program::new();
    program.event(Category::USER_ANNOTATION, "ProfilerStep#0", AUTOGRAD, 1000, 20);
    program.event(Category::USER_ANNOTATION, "ProfilerStep#1", AUTOGRAD, 1020, 20);
    program.event(Category::USER_ANNOTATION, "ProfilerStep#2", AUTOGRAD, 1040, 20);
    for step in 0..2 {
        program.marked(&format!("ProfilerStep#{step}"), |program| program.train(1));
    }
    let found = program.detect();
    let steps = found.steps().unwrap();
    assert_eq!(steps.iterations.len(), 2);
    let tree_track = steps.iterations[0].track.map(|track| track.index());
    assert_eq!(
        steps.iterations.iter().filter(|step| step.track.map(|track| track.index()) == tree_track).count(),
        2
    );
}

#[test]
fn a_program_without_repetition_has_no_period() {
    let mut program = Program::new();
    for number in 0..200 {
        program.op(&format!("custom::op{}", number * number % 211));
    }
    assert_eq!(count(&Iterations::detect(&program.tree(), &STRIPPED)), 0);
}

/// So many passes of one kind, then as many as asked for of another.
fn changing(first: usize, second: usize) -> Program {
    let mut program = Program::new();
    for _ in 0..first {
        program.infer(4);
        program.copy_to_host();
    }
    for _ in 0..second {
        for name in ["other::a", "other::b", "other::c", "other::d"].repeat(7) {
            program.op(name);
        }
        program.op("other::end");
        program.copy_to_host();
    }
    program
}

#[test]
fn a_program_that_changes_half_way_has_the_iterations_of_both_halves_and_is_less_sure() {
    let sure = Iterations::detect(&changing(20, 0).tree(), &STRIPPED).steps().unwrap().confidence;
    for (first, second) in [(10, 10), (12, 4), (4, 12), (20, 3)] {
        let found = Iterations::detect(&changing(first, second).tree(), &STRIPPED);
        assert_eq!((count(&found), found.reason()), (first + second, &Reason::Changes), "{first}, {second}");
        let confidence = found.steps().unwrap().confidence;
        assert!(confidence < 0.9 * sure, "{first}, {second}: {confidence}");
    }
}

#[test]
fn graphs_that_are_captured_piece_by_piece_are_no_iterations() {
    let mut program = Program::new();
    for _ in 0..24 {
        program.captured(|program| {
            for name in ["aten::mm", "aten::rms_norm", "aten::mm", "aten::silu", "aten::mm"] {
                program.op(name);
            }
        });
        program.op("vllm::reshape_and_cache");
    }
    let found = Iterations::detect(&program.tree(), &STRIPPED);
    assert_eq!((found.steps(), found.reason()), (None, &Reason::Capture));
}

#[test]
fn a_clipped_last_mark_is_not_whole() {
    let mut program = Program::new();
    for step in 0..4 {
        program.marked(&format!("ProfilerStep#{step}"), |program| program.train(1));
    }
    program.marked("ProfilerStep#4", |program| program.op("aten::to"));
    // As the recorder does when it stops.
    let synchronize = program.clock;
    program.event(Category::CUDA_RUNTIME, "cudaDeviceSynchronize", MAIN, synchronize, 10);
    let found = program.detect();
    let whole: Vec<bool> = found.steps().unwrap().iterations.iter().map(|step| step.whole).collect();
    assert_eq!(whole, [true, true, true, true, false]);
}

#[test]
fn very_many_iterations_are_found() {
    let mut builder = TraceBuilder::new();
    let thread = builder.track(MAIN.0, MAIN.1);
    for step in 0..100_000 {
        for (at, name) in ["aten::mm", "aten::relu", "aten::item"].into_iter().enumerate() {
            builder.event(
                Category::CPU_OP,
                name,
                thread,
                100 * step + 30 * at as i64,
                20,
                EventArguments::default(),
            );
        }
    }
    let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
    let found = Iterations::detect(&tree, &STRIPPED);
    assert_eq!((count(&found), found.steps().unwrap().kind), (100_000, LevelKind::Step));
}

#[test]
fn very_many_steps_of_training_are_found() {
    let mut program = Program::new();
    for _ in 0..20_000 {
        program.train(2);
    }
    let found = Iterations::detect(&program.tree(), &STRIPPED);
    let levels: Vec<_> = found.levels().iter().map(|level| (level.kind, level.iterations.len())).collect();
    assert_eq!(levels, [(LevelKind::Step, 20_000), (LevelKind::MicroBatch, 40_000)]);
}
