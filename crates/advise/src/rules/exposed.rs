use std::collections::BTreeMap;

use gpu_timeline::Activity;
use hashbrown::HashSet;
use perf_models::{CopyDirection, bare_kernel_name};
use sheets::numbers::{bytes, counted, duration, grouped};

use crate::facts::{Copied, Facts, Pace, Program, Work};
use crate::finding::Confidence;
use crate::rule::{Claim, Inspection, Part, Rule, Slot};

/// Exposed collectives.
pub(super) struct CommExposed;

/// Collectives that take much longer than their link needs for their data.
pub(super) struct CommSlow;

/// Exposed copies in one direction.
pub(super) struct CopyExposed {
    pub(super) direction: CopyDirection,
}

impl Rule for CommExposed {
    fn id(&self) -> &'static str {
        "COMM-EXPOSED"
    }

    fn what(&self) -> &'static str {
        "exposed communication"
    }

    fn remedy(&self, program: Program) -> &'static str {
        if program == Program::Xla {
            return "let the compiler overlap collectives (latency-hiding scheduler, async collectives), change the \
                    sharding to need fewer, or combine small ones";
        }
        "start collectives as soon as their data is ready, on their own stream; reduce less often or in lower \
         precision; compare the ranks (tracelens ranks): exposed time may be a wait for a straggler"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let speeds = speeds(facts);
        let speed_of = |work: &Work| work.message.map(|message| speeds[message as usize].pace);
        let is_slow = |work: &Work| speed_of(work) == Some(Pace::Slow);
        let exposed = facts.works.iter().zip(0..).filter(|(work, _)| {
            work.event.activity == Activity::Communication && work.exposed > 0 && !is_slow(work)
        });
        let (cannot_overlap, typical) = (last_of_steps(facts), facts.typical_collective());
        let mut parts = Vec::new();
        let (mut time, mut unavoidable, mut by_name) = (0, 0, BTreeMap::<&str, (i64, usize)>::new());
        let mut at_speed = 0;
        for (work, position) in exposed {
            // The last collective of a step has nothing behind it that could hide it.
            let kept = if cannot_overlap.contains(&position) { work.exposed.min(typical) } else { 0 };
            time += work.exposed;
            unavoidable += kept;
            at_speed += if speed_of(work) == Some(Pace::Usual) { work.exposed } else { 0 };
            let sum = by_name.entry(facts.name(work.name)).or_default();
            *sum = (sum.0 + work.exposed, sum.1 + 1);
            parts.push(Part { slot: Slot::Work(position), mid: work.exposed - kept });
        }
        let Some((name, _)) = by_name.iter().max_by_key(|(_, sum)| sum.0) else { return Vec::new() };
        let collectives = parts.len();
        let claim = Claim::new(format!("mostly in {}", bare_kernel_name(name)), parts)
            .with_range(0.5, time as f64 / (time - unavoidable).max(1) as f64)
            .with_evidence(format!(
                "{} exposed in {}; the last collective of each step, which cannot be hidden, accounts for {}",
                duration(facts.us(time)),
                counted(collectives, "collective", "collectives"),
                duration(facts.us(unavoidable))
            ))
            .with_row(facts.sheets.timeline, "exposed_comm_time");
        // Other piece sizes help where the link runs at its usual speed.
        vec![match 2 * at_speed >= time {
            true => claim.with_evidence(
                "they reach the usual bus bandwidth of their link: hide them with smaller or earlier buckets (DDP) or \
                 prefetching (FSDP)",
            ),
            false => claim,
        }]
    }
}

impl Rule for CommSlow {
    fn id(&self) -> &'static str {
        "COMM-SLOW"
    }

    fn what(&self) -> &'static str {
        "collectives far below link speed"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "look for a late rank (tracelens ranks on the recordings of all ranks); if none is late, check the topology \
         (nvidia-smi topo -m, rocm-smi --showtopo) and the library's choices (NCCL_DEBUG=INFO)"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let messages = facts.messages.iter().zip(0_u32..).zip(speeds(facts));
        let slow = messages.filter(|(_, speed)| speed.pace == Pace::Slow);
        let claims = slow.map(|((message, position), Speed { mean_us, least_us, .. })| {
            let mut parts = Vec::new();
            for (work, at) in facts.works.iter().zip(0..).filter(|(work, _)| work.message == Some(position)) {
                let beyond = work.duration() - facts.units(message.usual_us());
                parts.push(Part { slot: Slot::Work(at), mid: beyond.clamp(0, work.exposed) });
            }
            let text = message.bandwidth_in_words(parts.len(), mean_us, least_us);
            let subject = format!("{} of {}", message.name, bytes(message.bytes as i64));
            Claim::new(subject, parts)
                .with_range(0.5, 1.0)
                .with_confidence(Confidence::Medium)
                .with_evidence(text)
                .with_row(facts.sheets.timeline, "exposed_comm_time")
        });
        claims.collect()
    }
}

/// Times of collectives with equal messages.
#[derive(Clone, Copy)]
struct Speed {
    mean_us: f64,
    least_us: f64,
    pace: Pace,
}

/// By message: times of its collectives.
fn speeds(facts: &Facts) -> Vec<Speed> {
    let mut sums = vec![(0.0, 0_usize, f64::MAX); facts.messages.len()];
    for work in &facts.works {
        let Some(message) = work.message else { continue };
        let (us, sum) = (facts.us(work.duration()), &mut sums[message as usize]);
        *sum = (sum.0 + us, sum.1 + 1, sum.2.min(us));
    }
    let speeds = facts.messages.iter().zip(sums).map(|(message, (sum, count, least_us))| {
        let mean_us = sum / count.max(1) as f64;
        Speed { mean_us, least_us, pace: message.pace(mean_us) }
    });
    speeds.collect()
}

/// The last collective that is launched in each step, where that is known.
fn last_of_steps(facts: &Facts) -> HashSet<u32> {
    let mut last: Vec<Option<(i64, u32)>> = vec![None; facts.steps.len()];
    for (work, position) in facts.works.iter().zip(0..) {
        let Some(launch) = work.event.launch.filter(|_| work.event.activity == Activity::Communication)
        else {
            continue;
        };
        if let Some(step) = facts.step_at(launch) {
            last[step] = last[step].max(Some((launch, position)));
        }
    }
    last.into_iter().flatten().map(|(_, position)| position).collect()
}

impl Facts {
    /// The lower quartile of the durations of collectives: that of one that waits for nobody.
    fn typical_collective(&self) -> i64 {
        let collectives = self.works.iter().filter(|work| work.event.activity == Activity::Communication);
        let mut durations: Vec<i64> = collectives.map(Work::duration).collect();
        durations.sort_unstable();
        durations.get(durations.len() / 4).copied().unwrap_or(0)
    }
}

impl Rule for CopyExposed {
    fn id(&self) -> &'static str {
        match self.direction {
            CopyDirection::HostToDevice => "COPY-H2D",
            CopyDirection::DeviceToHost => "COPY-D2H",
            _ => "COPY-D2D",
        }
    }

    fn what(&self) -> &'static str {
        match self.direction {
            CopyDirection::HostToDevice => "exposed host-to-device copies",
            CopyDirection::DeviceToHost => "exposed device-to-host copies",
            _ => "exposed device-to-device copies",
        }
    }

    fn remedy(&self, program: Program) -> &'static str {
        match self.direction {
            CopyDirection::HostToDevice if program == Program::Xla => {
                "prefetch the next batch to the device, and offload less to host memory"
            }
            CopyDirection::DeviceToHost if program == Program::Xla => {
                "read results back less often, and offload less to host memory"
            }
            CopyDirection::HostToDevice if program == Program::Native => {
                "copy the next batch ahead, asynchronously from pinned memory on its own stream; keep constant data on \
                 the device"
            }
            CopyDirection::DeviceToHost if program == Program::Native => {
                "copy less and in one piece, asynchronously into pinned memory, and read it a step later"
            }
            CopyDirection::HostToDevice => {
                "prefetch the next batch (pinned memory, non_blocking=True, its own stream); keep constant data on the \
                 device"
            }
            CopyDirection::DeviceToHost => {
                "copy less and in one piece, into pinned memory with non_blocking=True, and read it a step later"
            }
            _ => "write straight to the destination (out= arguments, views instead of clone() and cat())",
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let is_meant = |copied: &Copied| self.id() == CopyExposed { direction: copied.direction }.id();
        let mut parts = Vec::new();
        let (mut time, mut exposed, mut size, mut pageable) = (0, 0, 0, 0);
        for (work, position) in facts.works.iter().zip(0..) {
            let Some(copied) = work.copy.as_ref().filter(|copied| is_meant(copied)) else { continue };
            time += work.duration();
            exposed += work.exposed;
            size += copied.bytes.unwrap_or(0);
            pageable += usize::from(copied.pageable);
            parts.push(Part { slot: Slot::Work(position), mid: work.exposed });
        }
        if parts.is_empty() {
            return Vec::new();
        }
        let copies = parts.len();
        // Device work hides copies, but no more than there is of it.
        let work = facts.breakdown.computation + facts.breakdown.exposed_communication;
        let hides = matches!(self.direction, CopyDirection::HostToDevice | CopyDirection::DeviceToHost);
        let hidden = if hides && exposed > 0 { (work as f64 / exposed as f64).min(1.0) } else { 1.0 };
        parts.iter_mut().for_each(|part| part.mid = (part.mid as f64 * hidden).round() as i64);
        let mut claim = Claim::new(counted(copies, "copy", "copies"), parts)
            .with_evidence(format!("{} of {} exposed", duration(facts.us(exposed)), duration(facts.us(time))))
            .with_row(facts.sheets.timeline, "exposed_memcpy_time");
        if hidden < 1.0 {
            claim = claim.with_evidence(format!(
                "at most {} of other device work could overlap the copies; only copying less saves the rest",
                duration(facts.us(work))
            ));
        }
        if size > 0 && time > 0 {
            let rate = size as f64 / facts.us(time) / 1e3;
            claim = claim.with_evidence(format!("{} bytes at {rate:.1} GB/s", grouped(size.into())));
        }
        if pageable > 0 {
            let copies = counted(pageable, "copy uses", "copies use");
            claim = claim.with_evidence(format!("{copies} pageable host memory"));
        }
        vec![claim.with_range(0.75, 1.0)]
    }
}
