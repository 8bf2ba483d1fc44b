//! How much earlier the device is done where some of its work takes less: all of the saved time while launches run ahead,
//! none of it where the device waits for its host. Work that goes whole need not be launched, so that the host gains, too.
//!
//! Work cannot start before its launch. So what was saved before it counts up to the time that the launch came early, and to
//! what the host itself gained: a host that waited for the device goes on earlier by what the device saved until then. This
//! is the forward pass over dependencies of `critical-path`'s what-if, of a device whose queues are one and of a host that is one
//! thread.

use gpu_timeline::lower_median;

use crate::facts::Facts;
use crate::late_launches::usual_wait;

/// Time from a launch to the start of its work in µs, where no work started right after its launch.
const USUAL_LATENCY_US: f64 = 5.0;

/// Between two launches the host may do something else for longer, in µs.
const LONGEST_LAUNCH_US: f64 = 50.0;

/// What decides how much of a saved time counts.
pub(crate) struct Shift {
    /// By work: how early its launch was; `None` where it is not recorded.
    leads: Vec<Option<i64>>,
    /// By work: what the host took until its launch, since the launch before.
    launches: Vec<i64>,
    /// Calls that waited for the device, or for room in its queue: when they ended, and how long they took.
    waits: Vec<(i64, i64)>,
}

impl Shift {
    pub(crate) fn new(facts: &Facts) -> Self {
        let mut latencies = Vec::new();
        for idle in facts.idle.iter().filter(|idle| idle.cause.is_late_launch()) {
            let event = &facts.works[idle.event as usize].event;
            latencies
                .extend(event.launch.map(|launch| event.span.start - launch).filter(|&latency| latency >= 0));
        }
        let latency = lower_median(latencies).unwrap_or_else(|| facts.units(USUAL_LATENCY_US));
        let events = || facts.works.iter().map(|work| work.event);
        let leads = events().map(|event| Some((event.span.start - event.launch? - latency).max(0)));
        let usual = usual_wait(facts);
        let holds = facts.holds.iter().zip(facts.waited_for_device());
        let mut waits: Vec<(i64, i64)> = holds
            .filter_map(|(hold, waited)| waited.then_some(hold.time))
            .chain(facts.full_queue.iter().copied())
            .map(|time| (time.end, time.length()))
            .filter(|&(_, length)| length > usual)
            .collect();
        waits.sort_unstable();
        let most = facts.units(LONGEST_LAUNCH_US);
        let mut order: Vec<(i64, usize)> =
            events().enumerate().filter_map(|(at, event)| Some((event.launch?, at))).collect();
        order.sort_unstable();
        let mut launches = vec![0; facts.works.len()];
        for two in order.windows(2) {
            launches[two[1].1] = (two[1].0 - two[0].0).min(most);
        }
        Shift { leads: leads.collect(), launches, waits }
    }

    /// How much earlier the device is done where each of these works takes so much less; `less` is by position, ascending.
    /// What goes whole is not launched, or none of them is.
    pub(crate) fn shortened(&self, facts: &Facts, less: &[(u32, i64)], removes_launches: bool) -> i64 {
        let mut less = less.iter().peekable();
        let mut waits = self.waits.iter().peekable();
        let (mut device, mut host) = (0_i64, 0_i64);
        for ((work, position), lead) in facts.works.iter().zip(0_u32..).zip(&self.leads) {
            if let (Some(launch), Some(lead)) = (work.event.launch, lead) {
                while let Some(&(_, length)) = waits.next_if(|&&(end, _)| end <= launch) {
                    host = device.min(host + length);
                }
                device = device.min(lead + host);
            }
            while let Some(&(_, saved)) = less.next_if(|&&(at, _)| at == position) {
                device += saved;
                if (removes_launches || saved >= work.exposed) && saved > 0 {
                    host += self.launches[position as usize];
                }
            }
        }
        device
    }
}

#[cfg(test)]
mod tests {
    use gpu_timeline::{HostActivity, Interval, Wait, WaitCause};
    use perf_models::CopyDirection;

    use super::*;
    use crate::facts::{Copied, Hold};
    use crate::fixture::work;

    /// Works of 100 units with these launches and starts.
    fn facts(works: &[(i64, i64)]) -> Facts {
        let works: Vec<_> = works.iter().map(|&(launch, start)| work(launch, start, start + 100)).collect();
        let late = |(at, work): (usize, &crate::facts::Work)| {
            let span = Interval::between(works[at].event.span.end, work.event.span.start);
            let cause = WaitCause::Host(HostActivity::Other);
            (!span.is_empty()).then_some(Wait { span, event: at as u32 + 1, cause, waited_for: None })
        };
        let idle = works[1..].iter().enumerate().filter_map(late).collect();
        Facts { units_per_us: 1, idle, works, ..Facts::default() }
    }

    fn saved(facts: &Facts, less: &[(u32, i64)]) -> i64 {
        Shift::new(facts).shortened(facts, less, false)
    }

    #[test]
    fn a_host_that_waits_for_room_in_the_queue_gains_what_the_device_saves() {
        let held =
            Facts { full_queue: vec![Interval::between(0, 190)], ..facts(&[(-5, 0), (-4, 100), (195, 200)]) };
        assert_eq!(saved(&held, &[(0, 60), (1, 60)]), 120);
        assert!(saved(&Facts { full_queue: Vec::new(), ..held }, &[(0, 60), (1, 60)]) < 120);
    }

    #[test]
    fn what_a_fed_device_saves_counts_whole() {
        let facts = facts(&[(-5, 0), (-4, 100), (-3, 200)]);
        assert_eq!(saved(&facts, &[(0, 40), (1, 30)]), 70);
    }

    #[test]
    fn a_late_launch_takes_what_was_saved_before_it() {
        let facts = facts(&[(-5, 0), (145, 150), (146, 250)]);
        assert_eq!(saved(&facts, &[(0, 40)]), 0);
        assert_eq!(saved(&facts, &[(1, 40)]), 40);
    }

    #[test]
    fn a_launch_that_was_a_little_early_takes_the_rest() {
        let facts = facts(&[(-5, 0), (145, 150), (215, 250)]);
        assert_eq!(saved(&facts, &[(1, 60)]), 30);
    }

    /// A pageable copy ends a little after the call that made the host wait for it.
    #[test]
    fn a_call_waits_for_its_copy_unless_it_returns_early() {
        for (end, waited) in [(90, true), (10, false)] {
            let mut facts = facts(&[(-5, 0), (0, 100)]);
            facts.works[1].event.launch = Some(90);
            facts.works[1].copy =
                Some(Copied { direction: CopyDirection::HostToDevice, bytes: None, pageable: true });
            let time = Interval::between(90, 100 + end);
            facts.holds = vec![Hold { kind: HostActivity::Copy, time, name: 0, uid: 0 }];
            assert_eq!(facts.waited_for_device(), [waited]);
        }
    }

    #[test]
    fn a_host_that_waited_for_the_device_goes_on_earlier() {
        let mut facts = facts(&[(-5, 0), (145, 150)]);
        let hold = |start, end| Hold {
            kind: HostActivity::Sync,
            time: Interval::between(start, end),
            name: 0,
            uid: 0,
        };
        facts.holds = vec![hold(10, 105)];
        assert_eq!(saved(&facts, &[(0, 40)]), 40);
        // No more than it waited.
        facts.holds = vec![hold(80, 105)];
        assert_eq!(saved(&facts, &[(0, 40)]), 25);
    }
}
