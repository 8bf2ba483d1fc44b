use gpu_timeline::Activity;
use sheets::numbers::duration;

use crate::facts::{IdleCause, Program};
use crate::finding::{Bucket, Confidence};
use crate::rule::{Claim, Inspection, Part, Rule, Slot, probable};
use crate::target::work_us;

/// Many kernels do so little that starting and ending them is most of their time.
pub(super) struct ShortKernels;

/// Kernels in a row from which on they would be worth one launch.
const FEWEST_IN_A_ROW: usize = 8;

impl Rule for ShortKernels {
    fn id(&self) -> &'static str {
        "SHORT-KERNELS"
    }

    fn what(&self) -> &'static str {
        "many short kernels, of which starting and ending them is a large part"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "do the work of many of them in one: fused or foreach optimizers, torch.compile, a batched operator; a graph shortens \
         the time between them"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let (facts, limits) = (look.facts, look.limits);
        let short = facts.units(limits.short_kernel_us);
        let is_short = |work: u32| {
            let work = &facts.works[work as usize];
            work.activity == Activity::Computation && work.duration() < short
        };
        let kernels = facts.works.iter().filter(|work| work.activity == Activity::Computation).count();
        let of_all = (0..facts.works.len() as u32).filter(|&work| is_short(work)).count();
        if (of_all as f64) < limits.short_kernels_from * kernels as f64 {
            return Vec::new();
        }
        let mut waits = vec![None; facts.works.len()];
        for (idle, position) in facts.idle.iter().zip(0..) {
            if idle.cause == IdleCause::BetweenKernels {
                waits[idle.work as usize] = Some(position);
            }
        }
        let (mut parts, mut count, mut time) = (Vec::new(), 0, 0);
        for stream in &look.streams {
            for row in stream.chunk_by(|&a, &b| is_short(a) == is_short(b)) {
                if !is_short(row[0]) || row.len() < FEWEST_IN_A_ROW {
                    continue;
                }
                for &work in row {
                    count += 1;
                    time += facts.works[work as usize].duration();
                    let wait = waits[work as usize].map(|idle: u32| Part {
                        slot: Slot::Idle(idle),
                        mid: probable(facts.idle[idle as usize].time.length()),
                    });
                    parts.extend(wait);
                    // One kernel for many does their work without their starts and ends.
                    let Some(call) = facts.works[work as usize].call else { continue };
                    let kernels = look.works_of[call as usize].len();
                    if let (Some(machine), Some(least), 1) =
                        (&facts.machine, facts.calls[call as usize].least, kernels)
                    {
                        let excess = look.work(work).duration() - facts.units(work_us(&least, machine));
                        parts.extend(
                            (excess > 0).then(|| Part { slot: Slot::Work(work), mid: probable(excess) }),
                        );
                    }
                }
            }
        }
        if count == 0 {
            return Vec::new();
        }
        let claim = Claim::new(
            Bucket::Computation,
            format!("{count} kernels in rows of {FEWEST_IN_A_ROW} and more"),
            parts,
        )
        .with_confidence(Confidence::Medium)
        .with_evidence(format!(
            "{of_all} of {kernels} kernels are shorter than {}; those in rows take {}, {} each",
            duration(limits.short_kernel_us),
            duration(facts.us(time)),
            duration(facts.us(time) / count as f64)
        ))
        .with_row("short_kernels_summary", "name", "");
        vec![claim]
    }
}
