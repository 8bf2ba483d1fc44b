//! Steps that the recorder, an engine or the program marked.

use iterations::{Evidence, Iterations, LevelKind, Reason};
use trace_ingest::Category;

use crate::program::{MAIN, Program, STRIPPED, count};

#[test]
fn profiler_steps_are_the_steps_with_their_numbers() {
    let mut program = Program::new();
    for step in 7..11 {
        program.marked(&format!("ProfilerStep#{step}"), |program| program.train(1));
    }
    let found = program.detect();
    let steps = found.steps().unwrap();
    assert_eq!(
        (steps.kind, steps.evidence, steps.confidence),
        (LevelKind::Step, Evidence::RecordedSteps, 1.0)
    );
    assert_eq!(steps.iterations.iter().map(|step| step.number).collect::<Vec<_>>(), [7, 8, 9, 10].map(Some));
    assert_eq!(found.reason(), &Reason::Marked("ProfilerStep".to_owned()));
}

#[test]
fn ranges_that_old_recorders_wrote_as_operators_mark_steps_too() {
    let mut program = Program::new();
    for step in 0..3 {
        let start = program.clock;
        program.pause(1);
        program.train(1);
        let name = format!("ProfilerStep#{step}");
        program.event(Category::CPU_OP, &name, MAIN, start, program.clock - start);
        program.pause(2);
    }
    let tree = program.tree();
    assert_eq!(count(&Iterations::detect(&tree, &Default::default())), 3);
    let stripped = Iterations::detect(&tree, &STRIPPED);
    assert_eq!(
        stripped.steps().map(|level| (level.evidence, level.iterations.len())),
        Some((Evidence::TrainingCycle, 3))
    );
}

#[test]
fn steps_of_an_engine_come_before_the_recorders() {
    let mut program = Program::new();
    program.marked("ProfilerStep#1", |program| {
        for _ in 0..4 {
            program.marked("step[DECODE bs=8]", |program| {
                program.graph();
                program.copy_to_host();
            });
        }
    });
    let found = program.detect();
    let steps = found.steps().unwrap();
    assert_eq!((steps.kind, steps.iterations.len()), (LevelKind::EngineStep, 4));
    assert_eq!(found.reason(), &Reason::EngineAnnotations);
    assert_eq!(found.program(), iterations::Program::LanguageModel);
    assert!(found.levels().iter().any(|level| level.name == "ProfilerStep"));
}

#[test]
fn what_repeats_in_a_single_recorded_step_is_a_level_below() {
    let mut program = Program::new();
    program.marked("ProfilerStep#6", |program| {
        for _ in 0..12 {
            program.infer(2);
            program.copy_to_host();
        }
    });
    let found = program.detect();
    assert_eq!(count(&found), 1);
    let below: Vec<_> = found.levels().iter().map(|level| (level.kind, level.iterations.len())).collect();
    assert!(below.contains(&(LevelKind::Pass, 12)), "{below:?}");
}

#[test]
fn a_loop_over_batches_begins_when_it_asks_for_one_and_ends_before_it_gets_none() {
    let mut program = Program::new();
    let mut begins = Vec::new();
    for batch in 0..5 {
        begins.push(1000 * (program.clock - 1000));
        program.marked("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", |program| {
            program.pause(50)
        });
        if batch < 4 {
            program.infer(3);
        }
    }
    let found = program.detect();
    let steps = found.steps().unwrap();
    assert_eq!((steps.evidence, steps.name.as_str()), (Evidence::Annotations, "enumerate(DataLoader)"));
    assert_eq!(steps.iterations.iter().map(|step| step.start).collect::<Vec<_>>(), begins[..4]);
}

#[test]
fn ranges_of_the_program_that_come_in_turn_and_cover_its_work_are_iterations() {
    let mut program = Program::new();
    for batch in 0..3 {
        program.marked(&format!("prepare {batch}"), |program| program.op("aten::to"));
        program.marked("answer", |program| program.infer(2));
    }
    let found = program.detect();
    let steps = found.steps().unwrap();
    assert_eq!(
        (steps.evidence, steps.name.as_str(), steps.iterations.len()),
        (Evidence::Annotations, "prepare", 3)
    );
    assert_eq!(steps.iterations[2].number, Some(2));
    assert_eq!(steps.iterations[0].end, steps.iterations[1].start);
}
