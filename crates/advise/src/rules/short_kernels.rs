use gpu_timeline::{Activity, WaitCause};
use perf_models::Category;
use sheets::numbers::duration;

use crate::facts::{Program, Work};
use crate::finding::Confidence;
use crate::late_launches::Blame;
use crate::rule::{Claim, Inspection, Part, Rule, Slot};
use crate::target::BANDWIDTH_SHARE;

/// Many kernels so short that starting and ending them takes most of their time.
pub(super) struct ShortKernels;

/// Fewest kernels in a row that are worth merging.
const FEWEST_IN_A_ROW: usize = 16;

impl Rule for ShortKernels {
    fn id(&self) -> &'static str {
        "SHORT-KERNELS"
    }

    fn what(&self) -> &'static str {
        "many short kernels: launch overhead dominates"
    }

    fn remedy(&self, program: Program) -> &'static str {
        if program == Program::Native {
            return "merge them: fused kernels, batched operations; graphs shorten the gaps between them";
        }
        "merge them: fused or foreach optimizers, torch.compile, batched operators; graphs shorten the gaps between \
         them"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let (facts, limits) = (look.facts, look.limits);
        let short = facts.units(limits.short_kernel_us);
        let is_short = |work: &Work| work.event.activity == Activity::Computation && work.duration() < short;
        let kernels = facts.works.iter().filter(|work| work.event.activity == Activity::Computation).count();
        let short_count = facts.works.iter().filter(|work| is_short(work)).count();
        if (short_count as f64) < limits.short_kernels_from * kernels as f64 {
            return Vec::new();
        }
        let mut late: Vec<i64> = vec![0; facts.idle.len()];
        for wait in look.late_launches().iter().filter(|late| late.blame == Blame::Slow) {
            late[wait.idle as usize] += wait.time;
        }
        // Products and attention are no work that a kernel does for many.
        let is_fusible = |work: u32| {
            let work = look.work(work);
            let kind = work.call.and_then(|call| facts.operator(call).kind);
            is_short(work)
                && matches!(kind, Some(Category::Elementwise | Category::Reduce | Category::MultiTensorApply))
        };
        let (mut parts, mut count, mut time) = (Vec::new(), 0, 0);
        for stream in &look.streams {
            for row in stream.chunk_by(|&a, &b| is_fusible(a) == is_fusible(b)) {
                if !is_fusible(row[0]) || row.len() < FEWEST_IN_A_ROW {
                    continue;
                }
                for &work in row {
                    let took = look.work(work).duration();
                    count += 1;
                    time += took;
                    parts.extend(look.idle_before(work).map(|idle| {
                        let idle_stretch = &facts.idle[idle as usize];
                        let between = idle_stretch.cause == WaitCause::Kernel;
                        let time = if between { idle_stretch.span.length() } else { late[idle as usize] };
                        Part { slot: Slot::Idle(idle), mid: time }
                    }));
                }
                // One kernel for many does their work without starts and ends, and without what moves between them.
                if let Some(machine) = &facts.machine {
                    let kept = facts.units(look.bytes_of_row(row) / machine.bytes_per_us / BANDWIDTH_SHARE);
                    let all: i64 = row.iter().map(|&work| look.work(work).duration()).sum();
                    parts.extend(look.tail_parts(row, (all - kept).max(0)));
                }
            }
        }
        if count == 0 {
            return Vec::new();
        }
        let subject = format!("{count} elementwise kernels in sequences of at least {FEWEST_IN_A_ROW}");
        let claim = Claim::new(subject, parts)
            .with_range(0.6, 1.0)
            .with_confidence(Confidence::Medium)
            .with_evidence(format!(
                "{short_count} of {kernels} kernels are shorter than {}; those in sequences take {} in all, {} each on \
                 average",
                duration(limits.short_kernel_us),
                duration(facts.us(time)),
                duration(facts.us(time) / count as f64)
            ))
            .with_row(facts.sheets.timeline, "idle_time");
        vec![claim]
    }
}
