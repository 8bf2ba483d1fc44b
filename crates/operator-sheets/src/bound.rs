//! What keeps a device from doing its work sooner.

use std::fmt;

use gpu_timeline::{HostActivity, WaitCause};

use crate::unclassified::{Unclassified, Whole, percent};

/// Shares that say what bounds the work on devices, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeShares {
    /// Of the window, from first start to last end: nothing runs.
    pub idle: f64,
    /// Of the window: nothing is recorded, and devices may have worked.
    pub unrecorded: f64,
    /// Of the time in which something runs: communication beside which nothing computes.
    pub exposed_communication: f64,
    /// Of that time: memory is copied and no kernel runs.
    pub exposed_copies: f64,
}

/// What devices wait for in most of their idle time, as far as the recording shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleFor {
    /// Launches that came late.
    Host,
    /// A host that the profiler held, more than anything else.
    Profiler,
    /// Nothing that is recorded.
    Unknown,
}

impl IdleFor {
    /// What takes at least half of these waits, each with its length.
    #[must_use]
    pub fn of(waits: impl IntoIterator<Item = (WaitCause, i64)>) -> Self {
        let (mut host, mut profiler, mut all) = (0_i64, 0_i64, 0_i64);
        for (cause, time) in waits {
            all += time;
            match cause {
                WaitCause::Host(HostActivity::Profiler) => profiler += time,
                cause if cause.is_late_launch() => host += time,
                _ => {}
            }
        }
        match 2 * (host + profiler) >= all && all > 0 {
            true if host >= profiler => IdleFor::Host,
            true => IdleFor::Profiler,
            false => IdleFor::Unknown,
        }
    }
}

/// What bounds the work on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Nobody knows: of most of the time nothing is recorded.
    NotRecorded,
    /// Devices are idle most of the time.
    Idle(IdleFor),
    /// Most of the time in which something runs is communication beside which nothing computes.
    Communication,
    /// Most of that time is copies beside which no kernel runs.
    Copies,
    /// Kernels.
    Kernels,
}

impl Bound {
    /// What takes more than half of the time; what idle devices wait for is asked for only where they are.
    #[must_use]
    pub fn from_shares(shares: &TimeShares, idle_for: impl FnOnce() -> IdleFor) -> Self {
        let TimeShares { idle, unrecorded, exposed_communication, exposed_copies } = *shares;
        if unrecorded > 0.5 {
            Bound::NotRecorded
        } else if idle > 0.5 {
            Bound::Idle(idle_for())
        } else if exposed_communication > 0.5 {
            Bound::Communication
        } else if exposed_copies > 0.5 {
            Bound::Copies
        } else {
            Bound::Kernels
        }
    }
}

/// What a first page says first: what bounds the work, how idle the devices are, and the kind of work with the most time.
#[derive(Clone, Copy, Debug)]
pub struct Headline<'a> {
    /// What bounds the work.
    pub bound: Bound,
    /// The shares that say so.
    pub shares: &'a TimeShares,
    /// What devices are called, such as `GPU`.
    pub device: &'a str,
    /// Share of its window in which each device is idle, where there are several.
    pub idle_of_devices: &'a [f64],
    /// Known kind of work with the most time, and its share.
    pub largest: Option<(&'a str, f64)>,
    /// The work whose kind no name tells.
    pub unclassified: &'a Unclassified,
    /// What the share of the largest is of.
    pub whole: Whole,
}

impl Headline<'_> {
    /// How idle the devices are.
    #[must_use]
    pub fn idle(&self) -> String {
        let [least, most] = [f64::min, f64::max].map(|of| self.idle_of_devices.iter().copied().reduce(of));
        let idle = percent(self.shares.idle);
        match (least, most) {
            (Some(least), Some(most)) if most - least < 0.01 => {
                format!("each {} idle {idle} of its window", self.device)
            }
            (Some(least), Some(most)) => format!(
                "each {} idle {} to {} of its window, {idle} on average",
                self.device,
                percent(least),
                percent(most)
            ),
            _ => format!("idle {idle} of the window"),
        }
    }
}

impl fmt::Display for Headline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Headline { bound, shares, device, largest, unclassified, whole, .. } = *self;
        let plural = if self.idle_of_devices.is_empty() { "" } else { "s" };
        match bound {
            Bound::NotRecorded => {
                let unrecorded = percent(shares.unrecorded);
                write!(f, "{device} activity is not recorded for {unrecorded} of the window; ")?;
            }
            Bound::Idle(idle_for) => {
                let idle = self.idle();
                let one = if plural.is_empty() { format!("{device} ") } else { String::new() };
                match idle_for {
                    IdleFor::Host => write!(f, "{device}{plural} starved: {idle}, waiting for the host; "),
                    IdleFor::Profiler => write!(f, "{one}{idle}, much of it caused by the profiler; "),
                    IdleFor::Unknown => write!(f, "{one}{idle}, for reasons not recorded; "),
                }?;
            }
            Bound::Communication => {
                let exposed = percent(shares.exposed_communication);
                write!(f, "communication-bound: exposed communication is {exposed} of busy time; ")?;
            }
            Bound::Copies => {
                write!(f, "exposed copies are {} of busy time; ", percent(shares.exposed_copies))?;
            }
            Bound::Kernels => {}
        }
        match (unclassified.headline(largest, whole), largest) {
            (Some(unclassified), _) => f.write_str(&unclassified)?,
            (None, Some((category, share))) => {
                write!(f, "largest: {category}, {} of {whole}", percent(share))?;
            }
            (None, None) => {}
        }
        match bound {
            Bound::Kernels => write!(f, "; {}", self.idle()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_most_of_the_time_is_the_bound() {
        let shares = |idle, exposed_communication, exposed_copies| TimeShares {
            idle,
            unrecorded: 0.0,
            exposed_communication,
            exposed_copies,
        };
        for (shares, bound) in [
            (shares(0.6, 0.9, 0.0), Bound::Idle(IdleFor::Host)),
            (shares(0.5, 0.6, 0.0), Bound::Communication),
            (shares(0.1, 0.2, 0.6), Bound::Copies),
            (shares(0.1, 0.5, 0.5), Bound::Kernels),
            (TimeShares { unrecorded: 0.6, ..shares(0.3, 0.9, 0.0) }, Bound::NotRecorded),
        ] {
            assert_eq!(Bound::from_shares(&shares, || IdleFor::Host), bound, "{shares:?}");
        }
    }

    #[test]
    fn what_takes_half_of_the_waits_is_what_devices_are_idle_for() {
        let late = WaitCause::Host(HostActivity::Other);
        let profiler = WaitCause::Host(HostActivity::Profiler);
        for (waits, idle_for) in [
            (&[(late, 5), (WaitCause::Kernel, 5)][..], IdleFor::Host),
            (&[(late, 4), (WaitCause::Unlinked, 5)], IdleFor::Unknown),
            (&[(late, 2), (profiler, 4), (WaitCause::Kernel, 5)], IdleFor::Profiler),
            (&[], IdleFor::Unknown),
        ] {
            assert_eq!(IdleFor::of(waits.iter().copied()), idle_for, "{waits:?}");
        }
    }
}
