//! Programs of recorded profiles, whole and damaged.

use std::path::Path;

use hlo_cost::{HloKind, HloModule};
use perf_models::PerfModel;
use proptest::prelude::*;
use trace_ingest::ReadOptions;
use trace_ingest::xplane::{Profile, read_profile};

use crate::program_probe::program;

fn read(path: &Path) -> Profile {
    read_profile(path, &ReadOptions::default()).unwrap()
}

fn recorded() -> Profile {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded/cpu/jax_step.xplane.pb"))
}

/// The bytes of all programs of a profile.
fn encoded(profile: &Profile) -> impl Iterator<Item = &[u8]> {
    profile.programs.ids().map(|id| profile.programs.encoded(id).unwrap().bytes)
}

/// All programs of a profile.
fn programs(profile: &Profile) -> Vec<HloModule> {
    encoded(profile).map(|bytes| HloModule::decode(bytes).unwrap()).collect()
}

#[test]
fn programs_have_the_names_that_the_profile_states_and_survive_being_written() {
    let profile = recorded();
    for (id, module) in profile.programs.ids().zip(programs(&profile)) {
        assert_eq!(Some(module.name()), profile.programs.name(id));
        assert!(module.entry().is_some());
        let again = HloModule::decode(&module.to_bytes()).unwrap();
        assert_eq!((again.name(), again.computations()), (module.name(), module.computations()));
        assert_eq!(again.stack_frames(), module.stack_frames());
    }
}

#[test]
fn every_instruction_of_a_recorded_training_step_has_a_cost_or_a_reason() {
    let programs = programs(&recorded());
    let instructions: Vec<_> = programs.iter().flat_map(HloModule::instructions).collect();
    for instruction in &instructions {
        let cost = instruction.cost();
        for figure in [cost.flops(), cost.bytes()] {
            match figure {
                Ok(figure) => assert!(figure >= 0.0 && figure.is_finite(), "{}", instruction.name),
                Err(undefined) => assert!(!undefined.reason.is_empty(), "{}", instruction.name),
            }
        }
    }
    let dots: Vec<_> = instructions.iter().filter(|instruction| instruction.opcode == "dot").collect();
    assert_eq!(dots.len(), 12);
    for dot in &dots {
        let operand = |index: usize| dot.operand(index).unwrap().shape.elements();
        let result = dot.shape.elements();
        // The square of all three products is that of batch, M, N and K, but for one batch too many.
        let batch = dot.dot.as_ref().unwrap().lhs_batch.iter();
        let lhs = dot.operand(0).unwrap();
        let batch: f64 =
            batch.map(|&axis| lhs.shape.as_array().unwrap().dimensions[axis as usize] as f64).product();
        let expected = 2.0 * (operand(0) * operand(1) * result / batch).sqrt();
        assert!((dot.cost().flops().unwrap() / expected - 1.0).abs() < 1e-12, "{}", dot.name);
    }
    // A fusion around a multiplication costs what the multiplication does.
    let fused: Vec<_> = instructions
        .iter()
        .filter(|instruction| instruction.opcode == "fusion" && instruction.cost().kind == HloKind::Gemm)
        .collect();
    assert!(!fused.is_empty());
    for fusion in fused {
        let inner = dots.iter().filter(|dot| fusion.called_computations.contains(&dot.computation().id));
        let sum: f64 = inner.map(|dot| dot.cost().flops().unwrap()).sum();
        assert_eq!(fusion.cost().flops(), Ok(sum), "{}", fusion.name);
    }
}

fn corpus(name: &str) -> Option<Profile> {
    testdata::corpus(&format!("jax/{name}/trace.xplane.pb")).map(|path| read(&path))
}

#[test]
fn a_library_convolution_of_rocm_is_read_with_its_window() {
    let Some(profile) = corpus("mi300-conv3d-jax06") else { return };
    let programs = programs(&profile);
    let convolution = programs.iter().find_map(|program| program.instruction("cudnn-conv.1.0")).unwrap();
    assert_eq!(convolution.custom_call_target, "__cudnn$convForward");
    assert_eq!(convolution.window.as_ref().map(|window| window.dimensions.len()), Some(3));
    let cost = convolution.cost();
    assert_eq!(cost.kind, HloKind::ConvForward);
    assert_eq!((cost.flops(), cost.bytes()), (Ok(36_609_720_320.0), Ok(579_072_000.0)));
}

#[test]
fn a_fusion_of_tpus_costs_what_the_compiler_counts() {
    let Some(profile) = corpus("tpu-v6e-inference") else { return };
    let programs = programs(&profile);
    let fusion = programs.iter().find_map(|program| program.instruction("broadcast_add_fusion.1")).unwrap();
    let cost = fusion.cost();
    assert_eq!(cost.kind, HloKind::Elementwise);
    assert_eq!((cost.flops(), cost.bytes()), (Ok(1_342_177_280.0), Ok(10_737_418_240.0)));
}

#[test]
fn damage_is_an_error() {
    let profile = recorded();
    let whole = encoded(&profile).max_by_key(|bytes| bytes.len()).unwrap();
    assert!(program(whole).unwrap() > 100);
    let error = HloModule::decode(&whole[..whole.len() - 1]).unwrap_err().to_string();
    assert!(error.contains("failed to decode Protobuf message"), "{error}");
    assert_eq!(HloModule::decode(&[]).unwrap_err().to_string(), "it contains no module");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_programs_are_refused_or_have_figures(
        program_index: prop::sample::Index,
        faults in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        end: Option<prop::sample::Index>,
    ) {
        static PROFILE: std::sync::LazyLock<Profile> = std::sync::LazyLock::new(recorded);
        let all: Vec<&[u8]> = encoded(&PROFILE).filter(|bytes| bytes.len() < 32 << 10).collect();
        let mut bytes = program_index.get(&all).to_vec();
        for (at, value) in faults {
            *at.get_mut(&mut bytes) = value;
        }
        bytes.truncate(end.map_or(bytes.len(), |end| end.index(bytes.len())));
        let instructions = program(&bytes).unwrap_or(0);
        prop_assert!(instructions <= bytes.len());
    }
}
