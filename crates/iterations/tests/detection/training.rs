//! Steps of training without marks.

use iterations::{DetectOptions, Evidence, Iterations, LevelKind, Reason};

use crate::program::{Program, STRIPPED, count};

fn stripped(program: Program) -> Iterations {
    Iterations::detect(&program.tree(), &STRIPPED)
}

#[test]
fn a_step_ends_with_the_update_and_the_next_begins_with_its_first_call() {
    for has_device in [true, false] {
        let mut program = Program::new();
        program.has_device = has_device;
        let mut begins = Vec::new();
        for _ in 0..4 {
            begins.push(1000 * (program.clock - 1000));
            program.train(1);
        }
        let found = stripped(program);
        let steps = found.steps().unwrap();
        assert_eq!((steps.evidence, steps.kind), (Evidence::TrainingCycle, LevelKind::Step));
        assert_eq!(found.reason(), &Reason::ParameterUpdates);
        assert!(steps.iterations.iter().all(|step| step.whole));
        for (step, begin) in steps.iterations.iter().zip(&begins) {
            assert!((step.start - begin).abs() <= 15_000, "{} is not {begin}", step.start);
        }
        assert_eq!(steps.iterations.len(), 4);
    }
}

#[test]
fn passes_between_updates_are_micro_batches() {
    let mut program = Program::new();
    for _ in 0..3 {
        program.train(4);
    }
    let found = stripped(program);
    let levels: Vec<_> = found.levels().iter().map(|level| (level.kind, level.iterations.len())).collect();
    assert_eq!(levels, [(LevelKind::Step, 3), (LevelKind::MicroBatch, 12)]);
}

#[test]
fn evaluation_logging_and_checkpoints_between_steps_are_no_steps() {
    let mut program = Program::new();
    for step in 0..8 {
        program.train(1);
        if step % 2 == 1 {
            for _ in 0..3 {
                program.op("aten::to");
                program.infer(1);
            }
        }
        if step == 4 {
            program.copy_to_host();
            program.pause(5000);
        }
    }
    assert_eq!(count(&stripped(program)), 8);
}

#[test]
fn metrics_behind_the_update_end_the_step_where_forward_passes_differ() {
    let mut program = Program::new();
    let mut begins = Vec::new();
    for step in 0..3 {
        begins.push(1000 * (program.clock - 1000));
        for name in ["aten::stack", "aten::to", "fbgemm::permute_2D_sparse_data"] {
            program.op(name);
        }
        // More calls of its own than are walked over.
        let own = (0..9).map(|call| format!("custom::op{call}_of_{step}"));
        let common = || std::iter::repeat_n("aten::linear".to_owned(), 20);
        common().chain(own).chain(common()).for_each(|name| program.forward(&name));
        program.backward(40);
        program.op("aten::_fused_adamw_");
        let mut metrics = ["aten::clamp", "aten::log2", "aten::sum", "aten::rsub"].repeat(4);
        metrics.rotate_left(step);
        metrics.into_iter().for_each(|name| program.op(name));
    }
    let end = 1000 * (program.clock - 1000);
    let found = stripped(program);
    let steps = &found.steps().unwrap().iterations;
    let edges = begins.iter().chain([&end]);
    for (found, begin) in steps.iter().map(|step| step.start).chain([steps[2].end]).zip(edges) {
        assert!((found - begin).abs() <= 15_000, "{found} is not {begin}");
    }
}

/// A game without gradients, then two updates on what happened in it.
fn learn_from_play(program: &mut Program) {
    program.infer(2);
    program.train(1);
    program.train(1);
}

#[test]
fn updates_that_come_in_groups_may_be_parts_of_steps() {
    let mut program = Program::new();
    for _ in 0..5 {
        learn_from_play(&mut program);
    }
    let found = stripped(program);
    let levels: Vec<_> = found.levels().iter().map(|level| (level.kind, level.iterations.len())).collect();
    assert_eq!(levels, [(LevelKind::Pass, 5), (LevelKind::Step, 10)]);
    assert_eq!(found.reason(), &Reason::UpdatesInGroups(2));
    assert!(found.steps().unwrap().confidence < 0.7);
}

#[test]
fn updates_on_one_batch_are_one_step() {
    let mut program = Program::new();
    for _ in 0..5 {
        program.marked("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", |program| {
            program.op("aten::stack");
        });
        learn_from_play(&mut program);
    }
    let options = DetectOptions { use_recorded_steps: false, ..DetectOptions::default() };
    let found = Iterations::detect(&program.tree(), &options);
    let levels: Vec<_> = found.levels().iter().map(|level| (level.kind, level.iterations.len())).collect();
    assert_eq!(levels, [(LevelKind::Step, 5), (LevelKind::MicroBatch, 10)]);
    assert_eq!(found.reason(), &Reason::ParameterUpdates);
}

#[test]
fn without_an_optimizer_a_step_is_a_forward_and_a_backward_pass() {
    let mut program = Program::new();
    for _ in 0..3 {
        for name in ["aten::linear", "aten::gelu", "aten::sum"] {
            program.forward(name);
        }
        program.backward(3);
    }
    let found = stripped(program);
    assert_eq!((count(&found), found.reason()), (3, &Reason::ForwardBackward));
}

#[test]
fn two_networks_that_are_updated_in_turn_are_one_step() {
    let mut program = Program::new();
    for _ in 0..4 {
        program.train(1);
        for _ in 0..3 {
            program.forward("aten::conv2d");
        }
        program.backward(3);
        program.op("aten::_fused_adamw_");
    }
    let found = stripped(program);
    assert_eq!(count(&found), 4);
}

#[test]
fn a_recording_cut_in_a_step_tells_that_its_parts_are_not_whole() {
    let mut program = Program::new();
    // The end of an update, three steps, half of a forward pass.
    program.op("aten::_fused_adamw_");
    program.op("aten::zero_");
    for _ in 0..3 {
        program.train(1);
    }
    program.op("aten::to");
    for name in ["aten::embedding", "aten::linear", "aten::gelu"] {
        program.forward(name);
    }
    let found = stripped(program);
    let whole: Vec<bool> = found.steps().unwrap().iterations.iter().map(|step| step.whole).collect();
    assert_eq!(whole, [false, true, true, true, false]);
}

#[test]
fn annotations_of_the_optimizer_show_updates() {
    let mut program = Program::new();
    for _ in 0..3 {
        program.op("aten::to");
        for name in ["aten::linear", "aten::gelu", "aten::sum"] {
            program.forward(name);
        }
        program.backward(3);
        program.marked("Optimizer.step#Unheard.step", |program| program.op("custom::update"));
    }
    let found = Iterations::detect(
        &program.tree(),
        &DetectOptions { use_recorded_steps: false, ..Default::default() },
    );
    assert_eq!((count(&found), found.reason()), (3, &Reason::ParameterUpdates));
    assert_eq!(found.steps().unwrap().evidence, Evidence::Annotations);
}

#[test]
fn an_optimizer_that_calls_the_model_several_times_makes_one_step() {
    let mut program = Program::new();
    for _ in 0..4 {
        program.op("aten::to");
        program.marked("Optimizer.step#LBFGS.step", |program| {
            for _ in 0..3 {
                for name in ["aten::linear", "aten::gelu", "aten::sum"] {
                    program.forward(name);
                }
                program.backward(3);
                program.op("aten::add_");
            }
        });
    }
    let found = program.detect();
    assert_eq!(count(&found), 4);
    let levels: Vec<_> = found.levels().iter().map(|level| (level.kind, level.iterations.len())).collect();
    assert_eq!(levels, [(LevelKind::Step, 4), (LevelKind::MicroBatch, 12)]);
}
