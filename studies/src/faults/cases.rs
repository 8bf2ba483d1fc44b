//! Cases: a program, its faults with the strengths that were asked for, its trace, and what the faults truly cost.

use std::io;

use testdata::random::Random;

use super::kinds::{Effect, KINDS, Kind};
use crate::gen_trace::Flavour;
use crate::gen_trace::tuned::{Fault, Faults, Program, Run};

/// Strengths that are asked for, as shares of the device's time with the fault: from hardly worth a word to what
/// everybody sees.
const STRENGTHS: [f64; 6] = [0.015, 0.04, 0.07, 0.12, 0.18, 0.28];

/// One case in so many has no fault.
const CLEAN_PERIOD: u64 = 8;

/// Runs that are tried until one can have a fault of the strength, and how far from it one may be, as a share of it.
const ATTEMPTS: u64 = 8;
const TOLERANCE: f64 = 0.15;

/// Times that the amounts of several faults are adjusted to each other.
const ROUNDS: usize = 2;

/// Halvings of the range of amounts until the strength is that asked for.
const HALVINGS: usize = 10;

/// A fault of a case, with the truth about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planted {
    pub(crate) fault: Fault,
    /// The share that was asked for; 0 of what takes no time.
    pub(crate) asked: f64,
    /// Nanoseconds that the device's span is shorter without the fault.
    pub(crate) gain_ns: u64,
}

impl Planted {
    pub(crate) fn kind(&self) -> &'static Kind {
        Kind::of(self.fault)
    }
}

/// One trace with its truth.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(crate) run: Run,
    pub(crate) faults: Vec<Planted>,
    /// Nanoseconds from the first start of work on the device to the last end.
    pub(crate) span_ns: u64,
}

/// What a case is to have.
pub(crate) struct Choice {
    program: Program,
    flavour: Flavour,
    /// Of the program.
    seed: u64,
    /// Faults and their strengths.
    pub(crate) asked: Vec<(Fault, f64)>,
}

impl Choice {
    /// The choice for the case of this number: it depends on the number and the seed alone.
    pub(crate) fn draw(seed: u64, number: u64) -> Choice {
        let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03);
        let mut random = Random::new(mixed);
        let flavour = if random.between(0, 2) == 0 { Flavour::Cuda } else { Flavour::Rocm };
        let seed = random.next() >> 16;
        if number % CLEAN_PERIOD == CLEAN_PERIOD - 1 {
            let program = if random.between(0, 2) == 0 { Program::Training } else { Program::Serving };
            return Choice { program, flavour, seed, asked: Vec::new() };
        }
        // The first fault takes turns, so that every kind appears in any long enough list of cases.
        let faulty = number - number / CLEAN_PERIOD;
        let first = &KINDS[(faulty % KINDS.len() as u64) as usize];
        let program = first.programs[random.between(0, first.programs.len() as u64) as usize];
        let mut chosen = vec![first];
        for _ in 0..random.between(0, 3) {
            let kind = &KINDS[random.between(0, KINDS.len() as u64) as usize];
            let fits = kind.programs.contains(&program)
                && kind.effect != Effect::Recording
                && chosen.iter().all(|other| other.group != kind.group);
            if fits {
                chosen.push(kind);
            }
        }
        let asked = chosen.into_iter().map(|kind| (kind.fault, strength(kind, &mut random))).collect();
        Choice { program, flavour, seed, asked }
    }
}

impl Case {
    /// Makes the case of this number.
    pub(crate) fn draw(seed: u64, number: u64) -> Case {
        let Choice { program, flavour, seed, asked } = Choice::draw(seed, number);
        let run = match asked.first() {
            Some(&first) => fitting_run(program, flavour, seed, first),
            None => Run { program, flavour, seed, faults: Faults::default() },
        };
        Case::plant(run, &asked)
    }

    /// Gives a program faults of these strengths, one after the other, and replays it without each of them.
    pub(crate) fn plant(mut run: Run, asked: &[(Fault, f64)]) -> Case {
        // Each fault changes what the others cost: a loader that is late matters less in a slower step.
        for _ in 0..asked.len().min(ROUNDS) {
            for &(fault, share) in asked {
                run.faults = run.faults.without(fault);
                let amount = amount_of_share(&run, fault, share);
                run.faults.plant(fault, amount);
            }
        }
        let span_ns = run.device_span();
        let planted = |&(fault, asked): &(Fault, f64)| {
            let without = Run { faults: run.faults.without(fault), ..run.clone() };
            Planted { fault, asked, gain_ns: span_ns.saturating_sub(without.device_span()) }
        };
        Case { faults: asked.iter().map(planted).collect(), span_ns, run }
    }

    /// The trace as a file; a recording that was cut off ends in the middle of it.
    pub(crate) fn trace(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.run.write(&mut bytes)?;
        if self.run.faults.has(Fault::CutFile) {
            // Between 60% and 90% of it, at any byte.
            bytes.truncate(bytes.len() * (60 + (self.run.seed % 31) as usize) / 100);
        }
        Ok(bytes)
    }

    /// A share of the case's span.
    pub(crate) fn share(&self, nanoseconds: u64) -> f64 {
        nanoseconds as f64 / self.span_ns.max(1) as f64
    }
}

/// A run in which the fault reaches the share: the first of some seeds, of which each chooses sizes of the model, or
/// the one that comes nearest.
pub(crate) fn fitting_run(
    program: Program,
    flavour: Flavour,
    seed: u64,
    (fault, share): (Fault, f64),
) -> Run {
    let run = |attempt: u64| Run { program, flavour, seed: seed + attempt, faults: Faults::default() };
    let mut best = (f64::INFINITY, run(0));
    for attempt in 0..ATTEMPTS {
        let case = Case::plant(run(attempt), &[(fault, share)]);
        let distance = (case.share(case.faults[0].gain_ns) - share).abs();
        if distance <= TOLERANCE * share {
            return run(attempt);
        }
        if distance < best.0 {
            best = (distance, run(attempt));
        }
    }
    best.1
}

/// A strength up to the most that the kind can have.
fn strength(kind: &Kind, random: &mut Random) -> f64 {
    let largest = kind.largest_share();
    let fitting = STRENGTHS.iter().filter(|&&share| share <= largest).count() as u64;
    if fitting == 0 { 0.0 } else { STRENGTHS[random.between(0, fitting) as usize] }
}

/// The amount with which the fault takes this share of the program's time, or comes nearest to it.
fn amount_of_share(run: &Run, fault: Fault, asked: f64) -> f64 {
    if Kind::of(fault).effect == Effect::Recording {
        return 1.0;
    }
    let without = run.device_span() as f64;
    let distance = |amount: f64| {
        let mut with = run.clone();
        with.faults.plant(fault, amount);
        1.0 - without / with.device_span() as f64 - asked
    };
    let (mut low, mut high) = (0.0, 1.0);
    let mut best = (f64::INFINITY, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        let distance = distance(middle);
        if distance.abs() < best.0 {
            best = (distance.abs(), middle);
        }
        if distance > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    best.1
}
