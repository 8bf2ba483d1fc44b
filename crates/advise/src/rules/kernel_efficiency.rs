use std::collections::BTreeMap;

use sheets::numbers::{counted, duration};

use crate::facts::{Facts, Program};
use crate::finding::Confidence;
use crate::rule::{Claim, Inspection, Part, Rule, probable};
use crate::target::target_us;

/// Kernels far from what good ones reach at their size.
pub(super) struct KernelEfficiency;

#[derive(Default)]
struct Group {
    parts: Vec<Part>,
    time: i64,
    calls: usize,
    /// Share of the target that calls reach: the least and the most.
    reached: (f64, f64),
    at_peak: i64,
    operators: BTreeMap<u32, i64>,
}

impl Rule for KernelEfficiency {
    fn id(&self) -> &'static str {
        "KERNEL-EFF"
    }

    fn what(&self) -> &'static str {
        "kernels well below achievable speed"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Xla => {
                "check the shapes, padding and types of these instructions, and autotuning (xla_gpu_autotune_level, \
                 Triton GEMMs)"
            }
            Program::Native => {
                "try another library or a newer version, tune, and check operand layout and alignment"
            }
            Program::PyTorch => {
                "try another library or a newer version, tune (TunableOp, max-autotune), and check operand layout and \
                 alignment; tracelens replay runs the operators alone"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let Some(machine) = &facts.machine else { return Vec::new() };
        let mut groups: BTreeMap<(&str, bool, Option<&str>), Group> = BTreeMap::new();
        for (call, position) in facts.calls.iter().zip(0..) {
            let (Some(least), Some(kernels)) = (call.least, look.kernels(position)) else { continue };
            let target = target_us(&least, machine, kernels.len());
            let time = facts.us(call.time);
            if target <= 0.0 || time < look.limits.slow_from * target {
                continue;
            }
            let longest = kernels.iter().max_by_key(|&&work| look.work(work).duration());
            let library = longest.and_then(|&work| look.named(look.work(work).name).library);
            let is_compute = least.compute_us >= least.memory_us;
            let category = facts.operator(position).category.as_str();
            let group = groups.entry((category, is_compute, library)).or_default();
            group.parts.extend(look.divided(kernels, probable(facts.units(time - target))));
            let reached = target / time;
            group.reached = match group.calls {
                0 => (reached, reached),
                _ => (group.reached.0.min(reached), group.reached.1.max(reached)),
            };
            group.calls += 1;
            group.time += call.time;
            group.at_peak += facts.units(least.compute_us.max(least.memory_us));
            *group.operators.entry(facts.operator(position).name).or_default() += call.time;
        }
        let claims = groups.into_iter().map(|((category, is_compute, library), group)| {
            claim(facts, category, is_compute, library, group)
        });
        claims.collect()
    }
}

fn claim(facts: &Facts, category: &str, is_compute: bool, library: Option<&str>, group: Group) -> Claim {
    let bound = if is_compute { "compute-bound" } else { "memory-bound" };
    let library_suffix = library.map(|library| format!(", {library}")).unwrap_or_default();
    let most =
        group.operators.iter().max_by_key(|(_, time)| **time).map_or("", |(&name, _)| facts.name(name));
    let mid: i64 = group.parts.iter().map(|part| part.mid).sum();
    // No more than what the bare roofline leaves.
    let most_of_all = (group.time - group.at_peak).max(mid) as f64 / mid.max(1) as f64;
    Claim::new(format!("{bound} {category}{library_suffix}: mostly in {most}"), group.parts)
        .with_range(0.5, most_of_all)
        .with_confidence(Confidence::Medium)
        .with_evidence(format!(
            "{} ({}): {} of the achievable speed at that size",
            counted(group.calls, "call", "calls"),
            duration(facts.us(group.time)),
            percentages(group.reached)
        ))
        .with_row(facts.sheets.operators, most)
}

/// The least and the most of some shares, in percent.
fn percentages((least, most): (f64, f64)) -> String {
    let [least, most] = [least, most].map(|share| format!("{:.0}", share * 100.0));
    if least == most { format!("{least}%") } else { format!("{least} to {most}%") }
}
