//! The truth about planted faults is true.

use std::collections::BTreeSet;

use super::cases::{Case, Choice, fitting_run};
use super::kinds::{Effect, KINDS};
use crate::gen_trace::Flavour;
use crate::gen_trace::tuned::{Fault, Faults, Program, Run};

fn clean(program: Program, flavour: Flavour, seed: u64) -> Run {
    Run { program, flavour, seed, faults: Faults::default() }
}

fn bytes(run: &Run) -> Vec<u8> {
    let mut out = Vec::new();
    run.write(&mut out).unwrap();
    out
}

#[test]
fn cases_are_the_same_whenever_they_are_drawn() {
    for number in [0, 3, 7] {
        let (one, other) = (Case::draw(5, number), Case::draw(5, number));
        assert_eq!(one, other);
        assert_eq!(one.trace().unwrap(), other.trace().unwrap());
        assert_ne!(one.trace().unwrap(), Case::draw(6, number).trace().unwrap());
    }
}

#[test]
fn a_program_without_its_faults_is_the_clean_one() {
    for number in 0..6 {
        let case = Case::draw(9, number);
        let without =
            case.faults.iter().fold(case.run.faults.clone(), |faults, planted| faults.without(planted.fault));
        let healed = Run { faults: without, ..case.run.clone() };
        let clean = clean(case.run.program, case.run.flavour, case.run.seed);
        assert_eq!(bytes(&healed), bytes(&clean));
        assert_ne!(case.trace().unwrap(), bytes(&clean), "{:?}", case.faults);
    }
}

#[test]
fn every_kind_reaches_what_is_asked_in_all_its_programs() {
    let mut far = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.effect != Effect::Recording) {
        for &program in kind.programs {
            for (flavour, asked) in [(Flavour::Cuda, 0.04), (Flavour::Rocm, kind.largest_share())] {
                let run = fitting_run(program, flavour, 11, (kind.fault, asked));
                let case = Case::plant(run, &[(kind.fault, asked)]);
                let reached = case.share(case.faults[0].gain_ns);
                // Faults of whole layers come in steps.
                if (reached - asked).abs() > (0.2 * asked).max(0.01) {
                    far.push(format!("{} {program:?} {flavour:?}: {asked} {reached:.4}", kind.name));
                }
            }
        }
    }
    assert!(far.is_empty(), "{far:#?}");
}

#[test]
fn a_fault_that_is_hardly_there_changes_hardly_anything() {
    // Everything but the fault keeps its random numbers, so that the truth is not their noise.
    let of_training = [Fault::ForeignKernel, Fault::SlowHost, Fault::OptimizerLoop, Fault::SlowMemory];
    for fault in of_training {
        let clean = clean(Program::Training, Flavour::Cuda, 4);
        let mut faulty = clean.clone();
        faulty.faults.plant(fault, 0.0);
        let (with, without) = (faulty.device_span() as f64, clean.device_span() as f64);
        assert!((with / without - 1.0).abs() < 0.002, "{fault:?} {with} {without}");
    }
}

#[test]
fn all_kinds_are_chosen_with_clean_cases_between_them() {
    let cases = (KINDS.len() * 8).div_ceil(7) as u64;
    let choices: Vec<Choice> = (0..cases).map(|number| Choice::draw(1, number)).collect();
    let seen: BTreeSet<Fault> =
        choices.iter().flat_map(|choice| &choice.asked).map(|&(fault, _)| fault).collect();
    assert_eq!(seen.len(), Fault::ALL.len());
    let of_clean = choices.iter().filter(|choice| choice.asked.is_empty()).count() as u64;
    assert!(of_clean >= cases / 9, "{of_clean}");
    assert!(choices.iter().any(|choice| choice.asked.len() == 3));
}

#[test]
fn clean_programs_keep_their_device_busy() {
    for seed in 0..12 {
        for program in [Program::Training, Program::Serving] {
            for flavour in [Flavour::Cuda, Flavour::Rocm] {
                let idle = clean(program, flavour, seed).idle_share();
                assert!(idle < 0.03, "{program:?} {flavour:?} {seed}: {idle}");
            }
        }
    }
}
