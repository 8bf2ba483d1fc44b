//! Steps that the recorder, an engine or the program marked.

use iterations::{Evidence, Iterations, LevelKind, Reason};
use trace_ingest::{Category, RecordingKind};

use crate::program::{AUTOGRAD, MAIN, Program, STRIPPED, count};

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
fn the_mark_of_a_process_that_launches_nothing_comes_before_a_cycle_of_the_one_that_does() {
    const FRONT: (i64, i64) = (9, 1);
    for with_operator in [true, false] {
        let mut program = Program::new();
        let start = program.clock;
        program.pause(10);
        for _ in 0..6 {
            program.train(1);
        }
        let end = program.clock;
        program.event(Category::USER_ANNOTATION, "ProfilerStep#50", FRONT, start, end - start);
        if with_operator {
            program.event(Category::CPU_OP, "aten::item", FRONT, start + 5, 3);
        }
        let found = program.detect();
        let steps = found.steps().unwrap();
        assert_eq!((steps.evidence, steps.confidence), (Evidence::RecordedSteps, 1.0));
        assert_eq!(steps.iterations.iter().map(|step| step.number).collect::<Vec<_>>(), [Some(50)]);
        // What repeats in it is no step, and its mark is there once.
        assert!(found.levels().iter().skip(1).all(|level| level.kind != LevelKind::Step));
    }
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

/// The evidence of the steps and their number, of a program that rocprofv3 recorded.
fn of_rocprof(program: Program) -> Option<(Evidence, String, usize)> {
    recorded_by(RecordingKind::Rocprof, program)
}

fn recorded_by(recorder: RecordingKind, mut program: Program) -> Option<(Evidence, String, usize)> {
    program.recorded_as(recorder);
    let found = program.detect();
    found.steps().map(|steps| (steps.evidence, steps.name.clone(), steps.iterations.len()))
}

#[test]
fn ranges_of_a_marker_library_that_tile_the_loop_are_recorded_steps() {
    let play = |program: &mut Program| {
        program.op("aten::to");
        for step in 5..9 {
            program.marked(&format!("batch {step}"), |program| {
                program.marked("forward", |program| program.infer(2));
            });
        }
    };
    let mut program = Program::new();
    play(&mut program);
    assert_eq!(of_rocprof(program), Some((Evidence::RecordedSteps, "batch".to_owned(), 4)));
    // What a program names in PyTorch may be any part of it.
    let mut program = Program::new();
    play(&mut program);
    assert_eq!(program.detect().steps().map(|steps| steps.evidence), Some(Evidence::Annotations));
    let mut program = Program::new();
    play(&mut program);
    program.recorded_as(RecordingKind::Rocprof);
    let stripped = Iterations::detect(&program.tree(), &STRIPPED);
    assert!(stripped.steps().is_none_or(|steps| steps.evidence > Evidence::Annotations));
}

#[test]
fn ranges_that_tile_count_though_another_thread_launches_most() {
    let play = |launches_too: bool| {
        let mut program = Program::new();
        for step in 11..15 {
            program.marked(&format!("step {step}"), |program| {
                if launches_too {
                    program.kernel_on(MAIN, "forward");
                }
                (0..15).for_each(|_| program.kernel_on(AUTOGRAD, "backward"));
            });
        }
        program
    };
    let expected = Some((Evidence::RecordedSteps, "step".to_owned(), 4));
    for recorder in [RecordingKind::Nsys, RecordingKind::Rocprof] {
        assert_eq!(recorded_by(recorder, play(true)), expected);
        // What only names time while others work, such as a thread that loads data, is not the loop.
        assert_ne!(recorded_by(recorder, play(false)), expected);
    }
    // PyTorch's own ranges count as much.
    let found = play(true).detect();
    assert_eq!(found.steps().map(|steps| (steps.evidence, count(&found))), Some((Evidence::Annotations, 4)));
}

#[test]
fn of_ranges_that_tile_those_that_say_step_are_the_steps() {
    let mut program = Program::new();
    for epoch in 0..2 {
        program.marked(&format!("epoch {epoch}"), |program| {
            for step in 0..3 {
                program.marked(&format!("train_step {}", 3 * epoch + step), |program| program.infer(2));
            }
        });
    }
    assert_eq!(of_rocprof(program), Some((Evidence::RecordedSteps, "train_step".to_owned(), 6)));
}

#[test]
fn ranges_of_a_marker_library_that_do_not_tile_are_no_recorded_steps() {
    type Play = fn(&mut Program);
    let plays: [(&str, Play); 5] = [
        ("around nothing", |program| {
            for step in 0..6 {
                program.marked(&format!("tick {step}"), |program| program.pause(300));
            }
            (0..6).for_each(|_| program.infer(2));
        }),
        ("most of them around nothing", |program| {
            program.marked("step 0", |program| program.infer(40));
            for step in 1..6 {
                program.marked(&format!("step {step}"), |program| program.pause(300));
            }
        }),
        ("with much between them", |program| {
            for step in 0..6 {
                program.marked(&format!("step {step}"), |program| program.infer(2));
                program.pause(500);
            }
        }),
        ("around a part of the work", |program| {
            program.infer(30);
            for step in 0..3 {
                program.marked(&format!("step {step}"), |program| program.infer(2));
            }
            program.infer(30);
        }),
        ("numbered anew in each step", |program| {
            for _ in 0..4 {
                for layer in 0..3 {
                    program.marked(&format!("layer {layer}"), |program| program.infer(2));
                }
            }
        }),
    ];
    for (what, play) in plays {
        let mut program = Program::new();
        play(&mut program);
        let found = of_rocprof(program);
        assert_ne!(found.as_ref().map(|found| found.0), Some(Evidence::RecordedSteps), "{what}: {found:?}");
    }
}

#[test]
fn a_last_step_that_recording_cut_is_partial_among_ranges_that_tile() {
    let mut program = Program::new();
    for step in 0..5 {
        let layers = if step == 4 { 0 } else { 20 };
        program.marked(&format!("step {step}"), |program| program.infer(layers));
    }
    program.recorded_as(RecordingKind::Rocprof);
    let found = program.detect();
    let whole: Vec<bool> = found.steps().unwrap().iterations.iter().map(|step| step.whole).collect();
    assert_eq!(whole, [true, true, true, true, false]);
}

#[test]
fn the_last_of_two_steps_is_partial_where_it_does_less_and_ends_otherwise() {
    let whole = |second: fn(&mut Program)| {
        let mut program = Program::new();
        program.marked("ProfilerStep#1", |program| program.train(4));
        program.marked("ProfilerStep#2", second);
        let found = program.detect();
        found.steps().unwrap().iterations.iter().map(|step| step.whole).collect::<Vec<_>>()
    };
    assert_eq!(whole(|program| program.train(4)), [true, true]);
    assert_eq!(whole(|program| program.train(1)), [true, true]);
    assert_eq!(whole(|program| (0..8).for_each(|_| program.forward("aten::linear"))), [true, false]);
}
