//! Iterations from calls of models, operators and kernels that repeat.

use iterations::{Evidence, Iterations, LevelKind, Reason};
use trace_ingest::{Category, EventArguments, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

use crate::program::{Program, STRIPPED, count};

#[test]
fn calls_of_a_model_are_iterations_with_what_comes_before_each() {
    let mut program = Program::new();
    for _ in 0..5 {
        program.op("aten::to");
        program.framed("nn.Module: Bert_0", |program| program.infer(3));
    }
    let found = program.detect();
    let steps = found.steps().unwrap();
    assert_eq!(
        (steps.evidence, steps.name.as_str(), steps.iterations.len()),
        (Evidence::ModuleCalls, "Bert", 5)
    );
    assert_eq!(steps.iterations[0].start, 0);
    assert!(steps.iterations.windows(2).all(|pair| pair[0].end == pair[1].start));
}

#[test]
fn operators_that_repeat_are_iterations_and_their_layers_a_level_below() {
    let mut program = Program::new();
    for _ in 0..6 {
        program.infer(8);
        program.copy_to_host();
    }
    let found = Iterations::detect(&program.tree(), &STRIPPED);
    let levels: Vec<_> = found.levels().iter().map(|level| (level.kind, level.iterations.len())).collect();
    assert_eq!(levels, [(LevelKind::Step, 6), (LevelKind::Layer, 48)]);
    assert_eq!(found.steps().unwrap().evidence, Evidence::OperatorSequence);
}

#[test]
fn layers_of_one_pass_are_no_steps() {
    let mut program = Program::new();
    program.infer(12);
    let found = Iterations::detect(&program.tree(), &STRIPPED);
    assert_eq!(found.steps(), None);
    assert_eq!(found.reason(), &Reason::SinglePass(Some(LevelKind::Layer)));
    assert_eq!(found.levels().iter().map(|level| level.iterations.len()).collect::<Vec<_>>(), [12]);
}

#[test]
fn layers_in_one_call_of_a_model_are_no_steps_whatever_they_copy() {
    let mut program = Program::new();
    program.framed("nn.Module: Offloaded_0", |program| {
        for _ in 0..12 {
            for name in ["aten::layer_norm", "aten::linear", "aten::softmax", "aten::linear"] {
                program.op(name);
            }
            program.copy_to_host();
        }
    });
    let found = program.detect();
    assert_eq!((found.steps(), found.reason()), (None, &Reason::SinglePass(Some(LevelKind::Layer))));
}

#[test]
fn something_logged_now_and_then_groups_no_steps() {
    let mut program = Program::new();
    for step in 0..30 {
        program.infer(12);
        program.infer(12);
        program.op("aten::answer");
        program.copy_to_host();
        if step % 10 == 9 {
            program.op("aten::item");
        }
    }
    assert_eq!(count(&Iterations::detect(&program.tree(), &STRIPPED)), 30);
}

#[test]
fn steps_of_an_engine_end_with_the_choice_of_tokens_whatever_they_run() {
    let mut program = Program::new();
    for step in 0..20 {
        if step % 5 == 0 {
            for name in ["vllm::embedding", "vllm::linear", "vllm::unified_attention_with_output", "aten::mm"]
            {
                program.op(name);
            }
        } else {
            program.graph();
        }
        program.op("aten::argmax");
        program.copy_to_host();
        program.pause(20);
    }
    let found = Iterations::detect(&program.tree(), &STRIPPED);
    let steps = found.steps().unwrap();
    assert_eq!((steps.kind, steps.iterations.len()), (LevelKind::EngineStep, 20));
    assert_eq!(found.reason(), &Reason::TokenChoices);
}

#[test]
fn images_have_denoising_steps_and_a_single_image_leaves_them_as_the_steps() {
    let image = |program: &mut Program| {
        program.op("aten::randn");
        for name in ["text::embedding", "text::attention", "text::norm"].repeat(4) {
            program.op(name);
        }
        for _ in 0..10 {
            for name in [
                "aten::group_norm",
                "aten::silu",
                "aten::conv2d",
                "unet::attention",
                "aten::linear",
                "aten::sub",
            ] {
                program.op(name);
            }
        }
        for name in ["aten::upsample_nearest2d", "aten::decode", "aten::clamp"].repeat(6) {
            program.op(name);
        }
        program.copy_to_host();
        program.pause(100);
    };
    let mut several = Program::new();
    (0..4).for_each(|_| image(&mut several));
    let found = Iterations::detect(&several.tree(), &STRIPPED);
    let levels: Vec<_> = found.levels().iter().map(|level| (level.kind, level.iterations.len())).collect();
    assert_eq!(levels, [(LevelKind::Image, 4), (LevelKind::DenoisingStep, 40)]);

    let mut single = Program::new();
    single.framed("nn.Module: TextEncoder_0", |program| program.infer(4));
    for _ in 0..10 {
        single.framed("nn.Module: UNet2DConditionModel_0", |program| program.infer(6));
        single.op("aten::sub");
    }
    single.framed("nn.Module: AutoencoderKL_0", |program| program.infer(5));
    let found = single.detect();
    let steps = found.steps().unwrap();
    assert_eq!((steps.kind, steps.iterations.len()), (LevelKind::DenoisingStep, 10));
    assert_eq!(found.reason(), &Reason::OneImage);
}

#[test]
fn kernels_alone_show_iterations() {
    let mut builder = TraceBuilder::new();
    let stream = builder.track(0, 7);
    let mut clock = 0;
    for _ in 0..7 {
        for name in ["embed", "norm", "gemm", "attention", "gemm", "head", "Memcpy DtoH"] {
            builder.event(Category::KERNEL, name, stream, clock, 900, EventArguments::default());
            clock += 1000;
        }
        clock += 3000;
    }
    let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
    let found = Iterations::detect(&tree, &STRIPPED);
    let steps = found.steps().unwrap();
    assert_eq!((steps.evidence, steps.iterations.len()), (Evidence::KernelSequence, 7));
    assert_eq!((steps.iterations[1].start, steps.iterations[1].track), (10_000, None));
}

#[test]
fn updates_among_kernels_alone_show_steps_of_training() {
    let mut builder = TraceBuilder::new();
    let stream = builder.track(0, 7);
    let mut clock = 0;
    for _ in 0..5 {
        let model =
            ["embed", "norm", "gemm", "attention", "gemm", "loss", "dgrad", "wgrad", "dgrad", "wgrad"];
        for name in model.iter().chain(&["multi_tensor_apply_kernel<FusedAdamFunctor>"; 2]) {
            builder.event(Category::KERNEL, name, stream, clock, 900, EventArguments::default());
            clock += 1000;
        }
    }
    let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
    let found = Iterations::detect(&tree, &STRIPPED);
    assert_eq!((count(&found), found.reason()), (5, &Reason::ParameterUpdates));
    assert_eq!(found.steps().unwrap().iterations[1].start, 11_900);
}
