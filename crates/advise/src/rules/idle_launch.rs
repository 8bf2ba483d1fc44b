use std::cmp::Reverse;

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use sheets::numbers::{counted, duration};

use crate::facts::Program;
use crate::late_launches::Blame;
use crate::rule::{Claim, Inspection, Part, Rule, Slot, probable};

/// The host launches more slowly than the device works.
pub(super) struct IdleLaunch;

impl Rule for IdleLaunch {
    fn id(&self) -> &'static str {
        "IDLE-LAUNCH"
    }

    fn what(&self) -> &'static str {
        "launch-bound: the host issues kernels too slowly"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Xla => {
                "compile more into one program (jit the whole step, scan instead of a Python loop), and dispatch \
                 ahead: do not read results in every step"
            }
            Program::Native => {
                "capture the step as a CUDA or HIP graph, or give each launch more work: larger batches, fused kernels"
            }
            Program::PyTorch => {
                "capture the step as a CUDA or HIP graph, compile it (torch.compile with mode=\"reduce-overhead\"), or give each launch \
                 more work: larger batches, fused operators"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let late = look.late_launches().iter().filter(|late| late.blame == Blame::Slow);
        let mut by_operator: HashMap<u32, i64> = HashMap::new();
        let mut parts = Vec::new();
        let mut time = 0;
        for late in late {
            let work = &facts.works[facts.idle[late.idle as usize].event as usize];
            let name = work
                .call
                .map_or(work.name, |call| facts.operators[facts.calls[call as usize].operator as usize].name);
            *by_operator.entry(name).or_default() += late.time;
            time += late.time;
            parts.push(Part { slot: Slot::Idle(late.idle), mid: probable(late.time) });
        }
        let Some(mean) = time.checked_div(parts.len() as i64) else { return Vec::new() };
        let mut operators: Vec<(u32, i64)> = by_operator.into_iter().collect();
        operators.sort_few_by_key(|&(name, time)| (Reverse(time), facts.name(name)));
        let most: Vec<&str> = operators.iter().take(3).map(|&(name, _)| facts.name(name)).collect();
        let waits = parts.len();
        let mut claim = Claim::new(format!("mostly before {}", most.join(", ")), parts)
            .with_evidence(format!(
                "{} of {} on average: the next launch came after the device ran dry",
                counted(waits, "wait", "waits"),
                duration(facts.us(mean))
            ))
            .with_row(facts.sheets.idle_causes, "host_wait");
        claim.remedy = facts.replays_graphs.then_some(
            "put more of the step into the graphs that it replays, or give each launch more work: larger batches, fused \
             kernels",
        );
        vec![claim]
    }
}
