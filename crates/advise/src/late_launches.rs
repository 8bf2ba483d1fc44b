//! Why work was launched late: the waits of the devices for their host, divided among what held the host.
//!
//! A call that holds the host makes everything later that the host does after it. Without the call the host would be ahead
//! by its length, and a device waits less by no more than that: so each hold is a credit that the waits after it use up. A
//! host that waits for the device is in step with it again, whatever held it before.

use std::cmp::Reverse;

use gpu_timeline::{Activity, HostActivity, WaitCause, lower_median};
use hashbrown::HashMap;

use crate::facts::Facts;
use crate::finding::Limits;

/// What made a launch late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// A hold, by its position in [`Facts::holds`].
    Hold(u32),
    /// The host launched nothing for long, and nothing says why.
    Busy,
    /// The host is slower than the device.
    Slow,
}

/// A part of a wait with what it is blamed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateLaunch {
    /// The wait, by its position in [`Facts::idle`].
    pub idle: u32,
    /// What it is blamed on.
    pub blame: Blame,
    /// How long the part is, in the recording's unit.
    pub time: i64,
}

/// Launches between two holds that belong together.
const FEW_LAUNCHES: usize = 8;

/// In their order, so that a kind is its place.
const KINDS: [HostActivity; 6] = [
    HostActivity::DataLoader,
    HostActivity::Copy,
    HostActivity::Sync,
    HostActivity::Allocation,
    HostActivity::Initialisation,
    HostActivity::Operator,
];

/// The holds of a kind with the time that each has left to answer for, by their ends.
type Credit = Vec<(u32, i64)>;

/// Where a hold stands among these.
fn place(facts: &Facts, credit: &Credit, hold: u32) -> Option<usize> {
    let end = |hold: u32| facts.holds[hold as usize].time.end;
    let from = credit.partition_point(|&(of, _)| end(of) < end(hold));
    let alike = credit[from..].iter().take_while(|&&(of, _)| end(of) == end(hold));
    alike.zip(from..).find(|&(&(of, _), _)| of == hold).map(|(_, at)| at)
}

/// All waits for launches, divided. What a device takes between any two kernels is nobody's fault and left out.
pub(crate) fn late_launches(facts: &Facts, limits: &Limits) -> Vec<LateLaunch> {
    let (usual, waited) = (usual_wait(facts), facts.waited_for_device());
    let long = facts.units(limits.long_hold_us);
    let mut by_end: Vec<u32> = (0..facts.holds.len() as u32).collect();
    by_end.sort_by_key(|&hold| facts.holds[hold as usize].time.end);
    let mut launches: Vec<i64> = facts.works.iter().filter_map(|work| work.event.launch).collect();
    launches.sort_unstable();
    let mut last_end = i64::MIN;
    let mut late = Vec::new();
    let mut credits: [Credit; KINDS.len()] = Default::default();
    let mut holds = by_end.iter().copied().peekable();
    // By hold: what waits have used of it before it ended.
    let mut used: HashMap<u32, i64> = HashMap::new();
    let mut unrecorded = facts.unrecorded.iter().peekable();
    for (idle, position) in facts.idle.iter().zip(0..) {
        // Nobody knows what held the host before work that is not recorded.
        while let Some(missing) = unrecorded.next_if(|missing| missing.start < idle.span.end) {
            while holds.next_if(|&hold| facts.holds[hold as usize].time.start < missing.end).is_some() {}
            credits.iter_mut().for_each(Vec::clear);
        }
        while let Some(hold) = holds.next_if(|&hold| facts.holds[hold as usize].time.end <= idle.span.end) {
            let hold_record = &facts.holds[hold as usize];
            let kind = hold_record.kind as usize;
            if waited[hold as usize] && hold_record.time.length() > usual {
                credits[HostActivity::DataLoader as usize].clear();
            }
            // Behind more than a few launches the host was ahead again, and what was left of earlier holds is void.
            let since = |time: i64| launches.partition_point(|&launch| launch < time);
            if since(hold_record.time.start).saturating_sub(since(last_end)) > FEW_LAUNCHES {
                credits.iter_mut().for_each(Vec::clear);
            }
            last_end = last_end.max(hold_record.time.end);
            let left = hold_record.time.length() - used.get(&hold).copied().unwrap_or(0);
            // What held the host before it launched anything made it late for nothing.
            if left > 0 && launches.first().is_some_and(|&first| hold_record.time.end > first) {
                credits[kind].push((hold, left));
            }
        }
        // The program has no part in what the profiler holds.
        if !idle.cause.is_late_launch() || idle.cause == WaitCause::Host(HostActivity::Profiler) {
            continue;
        }
        let hold = idle.waited_for;
        let mut rest = (facts.wait_for_launch(idle) - usual).max(0);
        // The call that launches may still run when its work begins.
        if let Some(hold) = hold
            && facts.holds[hold as usize].time.end > idle.span.end
        {
            let time = facts.holds[hold as usize].time.shared_time(idle.span).min(rest);
            if time > 0 {
                *used.entry(hold).or_default() += time;
                rest -= time;
                late.push(LateLaunch { idle: position, blame: Blame::Hold(hold), time });
            }
        }
        let direct = hold.map(|hold| facts.holds[hold as usize].kind);
        let mut kinds = KINDS;
        // What held the host just before, then what held it last.
        kinds.sort_by_key(|&kind| {
            let last = credits[kind as usize].last().map(|&(hold, _)| facts.holds[hold as usize].time.end);
            (direct != Some(kind), Reverse(last))
        });
        // Takes what a hold answers for; whether some of the wait is left.
        let mut take = |(hold, left): &mut (u32, i64)| {
            let time = rest.min(*left);
            if time > 0 {
                *left -= time;
                rest -= time;
                late.push(LateLaunch { idle: position, blame: Blame::Hold(*hold), time });
            }
            rest > 0
        };
        for kind in kinds {
            let credit = &mut credits[kind as usize];
            let own = hold.filter(|_| direct == Some(kind)).and_then(|hold| place(facts, credit, hold));
            if own.is_some_and(|at| !take(&mut credit[at])) {
                break;
            }
            while credit.last_mut().is_some_and(&mut take) {
                credit.pop();
            }
        }
        if rest > 0 {
            let blame = if rest >= long { Blame::Busy } else { Blame::Slow };
            late.push(LateLaunch { idle: position, blame, time: rest });
        }
    }
    late
}

/// What a device usually takes between two kernels that it has in its queue. Before and after communication it takes longer:
/// other queues are waited for.
pub(crate) fn usual_wait(facts: &Facts) -> i64 {
    /// Where the device never had two of them in its queue, in µs.
    const ELSE_US: f64 = 1.0;
    let computes = |work: u32| facts.works[work as usize].event.activity != Activity::Communication;
    let between = facts.idle.iter().filter(|idle| {
        let before = idle.event.checked_sub(1);
        idle.cause == WaitCause::Kernel && computes(idle.event) && before.is_none_or(computes)
    });
    let lengths = between.map(|idle| idle.span.length()).filter(|&length| length > 0);
    lower_median(lengths).unwrap_or(facts.units(ELSE_US)).min(facts.units(2.0 * ELSE_US))
}
