use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::HostActivity;
use perf_models::CopyDirection;
use sheets::numbers::{counted, duration};

use crate::facts::{Copied, Program, RecordingGap};
use crate::finding::{Confidence, FIRST_USE};
use crate::late_launches::Blame;
use crate::rule::{Claim, Inspection, Part, Rule, Slot};

/// The host waits for the device, and then the device for the host.
pub(super) struct IdleSync;

/// The host gets its next batch while the device waits.
pub(super) struct IdleData;

/// The host launches nothing for long while the device waits: it is in an operator, or in no recorded call.
pub(super) struct IdleHost;

/// The host allocates or frees memory while the device waits.
pub(super) struct IdleAllocation;

/// Something is used for the first time while the device waits.
pub(super) struct IdleInitialisation;

impl Rule for IdleSync {
    fn id(&self) -> &'static str {
        "IDLE-SYNC"
    }

    fn what(&self) -> &'static str {
        "host synchronization drains the device"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Native => {
                "avoid calls that block the host (device or stream synchronization, cudaMemcpy, hipMemcpy) or \
                 move them later; copy asynchronously from and to pinned memory"
            }
            Program::PyTorch | Program::Xla => {
                "do not synchronize within the step (.item(), .cpu(), print, torch.cuda.synchronize(), \
                 block_until_ready()); copy with non_blocking=True from and to pinned memory"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        held_by(look, |kind| matches!(kind, HostActivity::Sync | HostActivity::Copy))
    }
}

impl Rule for IdleData {
    fn id(&self) -> &'static str {
        "IDLE-DATA"
    }

    fn what(&self) -> &'static str {
        "data loading starves the device"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Xla => "prefetch batches to the device on another thread (grain, tf.data)",
            Program::Native => {
                "read batches ahead on other threads, and copy them asynchronously from pinned memory"
            }
            Program::PyTorch => {
                "use more data loader workers, prefetch_factor, persistent_workers and pin_memory"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let mut claims = held_by(look, |kind| kind == HostActivity::DataLoader);
        let waits = busy_waits(look, true);
        claims.extend(busy(look, "the host launches nothing until it copies a batch", waits));
        claims
    }
}

impl Rule for IdleHost {
    fn id(&self) -> &'static str {
        "IDLE-HOST"
    }

    fn what(&self) -> &'static str {
        "host stalls starve the device"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "find the host code responsible, and move it to the device, out of the step or to another thread"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let mut claims = held_by(look, |kind| kind == HostActivity::Operator);
        claims.extend(busy(look, "cause not recorded", busy_waits(look, false)));
        if look.facts.gaps.contains(&RecordingGap::Stacks) {
            let with_frames = "find the host code responsible (with_stack=True records Python frames), and move it to the \
                               device, out of the step or to another thread";
            claims.iter_mut().for_each(|claim| claim.remedy = Some(with_frames));
        }
        claims
    }
}

impl Rule for IdleAllocation {
    fn id(&self) -> &'static str {
        "IDLE-ALLOC"
    }

    fn what(&self) -> &'static str {
        "memory allocation stalls the device"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Native => {
                "allocate before the loop and reuse the memory, or use stream-ordered allocation (cudaMallocAsync, \
                 hipMallocAsync)"
            }
            Program::PyTorch => {
                "keep memory: no empty_cache() in the loop, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True for \
                 varying shapes, reused pinned buffers"
            }
            Program::Xla => {
                "let XLA preallocate memory (XLA_PYTHON_CLIENT_PREALLOCATE=true), and donate buffers"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        held_by(look, |kind| kind == HostActivity::Allocation)
    }
}

impl Rule for IdleInitialisation {
    fn id(&self) -> &'static str {
        FIRST_USE
    }

    fn what(&self) -> &'static str {
        "one-time initialization stalls"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "record after warm-up, or report steady iterations only (--steady)"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        held_by(look, |kind| kind == HostActivity::Initialisation)
    }
}

/// The waits for a host that launches nothing: those of a loader, or the others. Where the program marks no loader, one is told
/// by waits before copies to the device in at least half of several steps: one alone may have any reason.
fn busy_waits(look: &Inspection<'_>, before_copies: bool) -> Vec<Part> {
    let facts = look.facts;
    let busy = || look.late_launches().iter().filter(|late| late.blame == Blame::Busy);
    let copy_to_device = |idle: u32| {
        let work = look.work(facts.idle[idle as usize].event);
        let is_meant = |copied: &Copied| copied.direction == CopyDirection::HostToDevice;
        work.copy.filter(is_meant).map(|_| work.event.launch.unwrap_or(work.event.span.start))
    };
    let mut waits_by_step = vec![0_usize; facts.steps.len()];
    for launch in busy().filter_map(|late| copy_to_device(late.idle)) {
        let before = facts.steps.partition_point(|step| step.launched.start <= launch);
        if let Some(step) = before.checked_sub(1).and_then(|step| waits_by_step.get_mut(step)) {
            *step += 1;
        }
    }
    let steps_with_waits = waits_by_step.iter().filter(|&&waits| waits > 0).count();
    let marks_loader = facts.holds.iter().any(|hold| hold.kind == HostActivity::DataLoader);
    // The first step has no wait before it.
    let is_loader = !marks_loader && steps_with_waits >= 2 && 2 * steps_with_waits + 1 >= facts.steps.len();
    let meant = busy().filter(|late| (is_loader && copy_to_device(late.idle).is_some()) == before_copies);
    meant.map(|late| Part { slot: Slot::Idle(late.idle), mid: late.time }).collect()
}

fn busy(look: &Inspection<'_>, subject: &str, waits: Vec<Part>) -> Option<Claim> {
    let (facts, limits) = (look.facts, look.limits);
    let longest = waits.iter().max_by_key(|part| part.mid)?;
    let text = format!(
        "{} of at least {}, the longest {}: the host launched nothing, and no recorded call blocked it",
        counted(waits.len(), "wait", "waits"),
        duration(limits.long_hold_us),
        duration(facts.us(longest.mid))
    );
    let claim = Claim::new(subject, waits)
        .with_range(0.75, 1.0)
        .with_confidence(Confidence::Medium)
        .with_evidence(text)
        .with_row(facts.sheets.idle_causes, "host_wait");
    Some(claim)
}

/// Waits caused by calls of these kinds, by call name. Calls that allocate and free memory alternate, and one change spares them
/// all: they are one claim.
fn held_by(look: &Inspection<'_>, is_meant: impl Fn(HostActivity) -> bool) -> Vec<Claim> {
    let facts = look.facts;
    #[derive(Default)]
    struct Held {
        parts: Vec<Part>,
        holds: Vec<u32>,
        time_by_name: BTreeMap<u32, i64>,
    }
    let mut claimed: BTreeMap<Option<u32>, Held> = BTreeMap::new();
    for late in look.late_launches() {
        let Blame::Hold(hold) = late.blame else { continue };
        let hold_record = &facts.holds[hold as usize];
        if !is_meant(hold_record.kind) {
            continue;
        }
        let is_together = hold_record.kind == HostActivity::Allocation;
        let held = claimed.entry((!is_together).then_some(hold_record.name)).or_default();
        held.parts.push(Part { slot: Slot::Idle(late.idle), mid: late.time });
        held.holds.push(hold);
        *held.time_by_name.entry(hold_record.name).or_default() += late.time;
    }
    let claims = claimed.into_values().filter_map(|Held { parts, mut holds, time_by_name }| {
        holds.sort_unstable();
        holds.dedup();
        let calls = holds.len();
        let blocked: i64 = holds.iter().map(|&hold| facts.holds[hold as usize].time.length()).sum();
        holds.sort_by_key(|&hold| -facts.holds[hold as usize].time.length());
        let mut names: Vec<(u32, i64)> = time_by_name.into_iter().collect();
        names.sort_by_key(|&(_, time)| Reverse(time));
        let names: Vec<&str> = names.into_iter().map(|(name, _)| facts.name(name)).collect();
        let listed = match names[..] {
            [] => return None,
            [name] => name.to_owned(),
            [first, second] => format!("{first} and {second}"),
            [first, second, ..] => format!("{first}, {second} and {} more", names.len() - 2),
        };
        let claim = Claim::new(format!("{listed} ({})", counted(calls, "call", "calls")), parts)
            .with_range(0.75, 1.0)
            .with_evidence(format!(
                "blocked the host for {}; the device then idled until the host was ahead again",
                duration(facts.us(blocked))
            ))
            .with_row(facts.sheets.waited_for, names[0])
            .with_events(holds.iter().map(|&hold| facts.holds[hold as usize].uid));
        Some(claim)
    });
    claims.collect()
}
