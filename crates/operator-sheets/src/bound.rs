//! What keeps a device from doing its work sooner.

/// Shares that say what bounds the work on devices, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeShares {
    /// Of the span from first start to last end: nothing runs.
    pub idle: f64,
    /// Of that span: nothing is recorded, and devices may have worked.
    pub unrecorded: f64,
    /// Of the time in which something runs: communication beside which nothing computes.
    pub exposed_communication: f64,
    /// Of that time: memory is copied and no kernel runs.
    pub exposed_copies: f64,
}

/// What bounds the work on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Nobody knows: of most of the time nothing is recorded.
    NotRecorded,
    /// Devices are idle most of the time although they begin at once what they are given.
    Launches,
    /// Devices are idle most of the time.
    Idle,
    /// Most of the time in which something runs is communication beside which nothing computes.
    Communication,
    /// Most of that time is copies beside which no kernel runs.
    Copies,
    /// Kernels.
    Kernels,
}

/// A device that is idle and begins what it is given within this time of the call, in µs, waits for the host.
const AT_ONCE: f64 = 20.0;

impl Bound {
    /// What takes more than half of the time. `queue_delay` is the median time in µs from the end of a call to the start
    /// of its kernel, where that is known.
    #[must_use]
    pub fn from_shares(shares: &TimeShares, queue_delay: Option<f64>) -> Self {
        let TimeShares { idle, unrecorded, exposed_communication, exposed_copies } = *shares;
        if unrecorded > 0.5 {
            Bound::NotRecorded
        } else if idle > 0.5 {
            match queue_delay {
                Some(delay) if delay <= AT_ONCE => Bound::Launches,
                _ => Bound::Idle,
            }
        } else if exposed_communication > 0.5 {
            Bound::Communication
        } else if exposed_copies > 0.5 {
            Bound::Copies
        } else {
            Bound::Kernels
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
        for (shares, queue_delay, bound) in [
            (shares(0.6, 0.9, 0.0), Some(5.0), Bound::Launches),
            (shares(0.6, 0.0, 0.0), Some(21.0), Bound::Idle),
            (shares(0.6, 0.0, 0.0), None, Bound::Idle),
            (shares(0.5, 0.6, 0.0), Some(5.0), Bound::Communication),
            (shares(0.1, 0.2, 0.6), None, Bound::Copies),
            (shares(0.1, 0.5, 0.5), None, Bound::Kernels),
        ] {
            assert_eq!(Bound::from_shares(&shares, queue_delay), bound, "{shares:?}");
        }
        let lost = TimeShares { unrecorded: 0.6, ..shares(0.3, 0.9, 0.0) };
        assert_eq!(Bound::from_shares(&lost, None), Bound::NotRecorded);
    }
}
