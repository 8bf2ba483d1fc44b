use std::collections::BTreeMap;

use gpu_timeline::HostActivity;
use sheets::numbers::{counted, duration};

use crate::facts::Program;
use crate::finding::Confidence;
use crate::late_launches::Blame;
use crate::rule::{Claim, Inspection, Part, Rule, Slot};

/// The host waits for the device, and then the device for the host.
pub(super) struct IdleSync;

/// The host gets its next batch, or does something else for long, while the device waits.
pub(super) struct IdleData;

impl Rule for IdleSync {
    fn id(&self) -> &'static str {
        "IDLE-SYNC"
    }

    fn what(&self) -> &'static str {
        "the device runs dry because the host waits for it"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Hip => {
                "leave out calls that wait for the device (hipDeviceSynchronize, hipStreamSynchronize, hipMemcpy), or wait later; \
                 copy with hipMemcpyAsync from and to pinned memory"
            }
            Program::PyTorch | Program::Xla => {
                "leave out calls that need the device's answer in the step (.item(), .cpu(), printing an array, \
                 torch.cuda.synchronize(), block_until_ready()), or ask less often; copy with non_blocking=True from and to \
                 pinned memory"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        held_by(look, |kind| kind != HostActivity::DataLoader)
    }
}

impl Rule for IdleData {
    fn id(&self) -> &'static str {
        "IDLE-DATA"
    }

    fn what(&self) -> &'static str {
        "the device waits while the host loads data or is busy with something else"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Xla => {
                "load ahead: prefetch batches to the device on another thread (grain, tf.data), and keep the loop in Python free of work"
            }
            Program::PyTorch | Program::Hip => {
                "load ahead: more workers, prefetch_factor, persistent_workers and pin_memory of the data loader; move what the host \
                 does out of the step or onto another thread"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let (facts, limits) = (look.facts, look.limits);
        let mut claims = held_by(look, |kind| kind == HostActivity::DataLoader);
        let busy = look.late_launches().iter().filter(|late| late.blame == Blame::Busy);
        let parts: Vec<Part> =
            busy.map(|late| Part { slot: Slot::Idle(late.idle), mid: late.time }).collect();
        if let Some(longest) = parts.iter().max_by_key(|part| part.mid) {
            let text = format!(
                "{} of {} and more, the longest {}: the host launches nothing, and no call that holds it is recorded",
                counted(parts.len(), "wait", "waits"),
                duration(limits.long_hold_us),
                duration(facts.us(longest.mid))
            );
            claims.push(
                Claim::new("the host launches nothing", parts)
                    .with_range(0.75, 1.0)
                    .with_confidence(Confidence::Medium)
                    .with_evidence(text)
                    .with_row(facts.sheets.idle_causes, "host_wait"),
            );
        }
        claims
    }
}

/// Waits that calls of these kinds answer for, by the name of the call.
fn held_by(look: &Inspection<'_>, is_meant: impl Fn(HostActivity) -> bool) -> Vec<Claim> {
    let facts = look.facts;
    struct OfName {
        parts: Vec<Part>,
        holds: Vec<u32>,
    }
    let mut by_name: BTreeMap<u32, OfName> = BTreeMap::new();
    for late in look.late_launches() {
        let Blame::Hold(hold) = late.blame else { continue };
        let of_hold = &facts.holds[hold as usize];
        if !is_meant(of_hold.kind) {
            continue;
        }
        let found =
            by_name.entry(of_hold.name).or_insert_with(|| OfName { parts: Vec::new(), holds: Vec::new() });
        found.parts.push(Part { slot: Slot::Idle(late.idle), mid: late.time });
        found.holds.push(hold);
    }
    let claims = by_name.into_iter().map(|(name, mut found)| {
        found.holds.sort_unstable();
        found.holds.dedup();
        let calls = found.holds.len();
        let held: i64 = found.holds.iter().map(|&hold| facts.holds[hold as usize].time.length()).sum();
        found.holds.sort_by_key(|&hold| -facts.holds[hold as usize].time.length());
        Claim::new(format!("{} ({})", facts.name(name), counted(calls, "call", "calls")), found.parts)
            .with_range(0.75, 1.0)
            .with_evidence(format!(
                "held the host for {}; the device waits afterwards until the host is ahead again",
                duration(facts.us(held))
            ))
            .with_row(facts.sheets.waited_for, facts.name(name))
            .with_events(found.holds.iter().map(|&hold| facts.holds[hold as usize].uid))
    });
    claims.collect()
}
