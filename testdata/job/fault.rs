//! What goes wrong in a job, and in its recording.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// A fault of a rank or a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What it is.
    pub kind: FaultKind,
    /// Rank; of clocks the host.
    pub at: u32,
    /// Steps, from 0.
    pub steps: RangeInclusive<u32>,
    /// How much, in the unit of its kind.
    pub amount: i64,
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Matrix products take longer, by so many µs in each step.
    SlowGemm,
    /// All kernels of computation do.
    SlowDevice,
    /// The copy of the batch does.
    SlowCopy,
    /// The host does nothing that is recorded for so many µs.
    HostStall,
    /// Every call of the host takes longer, so many µs in all.
    SlowHost,
    /// The next batch comes so many µs late.
    DataLoader,
    /// Python collects garbage for so many µs.
    GarbageCollection,
    /// The device does nothing for so many µs, though work is launched.
    DeviceIdle,
    /// Collectives of the rank's innermost group take so many µs longer in each step.
    SlowLink,
    /// The recording begins so many collectives later than those of other ranks.
    WindowShift,
    /// So many kernels of collectives were not recorded.
    Dropped,
    /// Collectives are not described.
    NoMetadata,
    /// There is no recording.
    MissingRank,
    /// There are two recordings.
    DuplicateRank,
    /// The file ends in so many percent of its text.
    CutOff,
    /// The recording is of a job with so many ranks more.
    OtherJob,
    /// The recording ends so many steps earlier.
    FewerSteps,
    /// The host's clock is so many µs ahead.
    ClockOffset,
    /// The host's clock runs faster, by so many µs per second.
    ClockDrift,
    /// The host's clock is set so many µs ahead in the second step.
    ClockJump,
}

impl FaultKind {
    /// All kinds with their names and usual amounts.
    pub const ALL: [(FaultKind, &'static str, i64); 20] = [
        (FaultKind::SlowGemm, "slow-gemm", 3_000),
        (FaultKind::SlowDevice, "slow-device", 3_000),
        (FaultKind::SlowCopy, "slow-copy", 3_000),
        (FaultKind::HostStall, "host-stall", 6_000),
        (FaultKind::SlowHost, "slow-host", 20_000),
        (FaultKind::DataLoader, "data-loader", 3_000),
        (FaultKind::GarbageCollection, "gc", 15_000),
        (FaultKind::DeviceIdle, "device-idle", 3_000),
        (FaultKind::SlowLink, "slow-link", 3_000),
        (FaultKind::WindowShift, "window-shift", 5),
        (FaultKind::Dropped, "dropped", 5),
        (FaultKind::NoMetadata, "no-metadata", 0),
        (FaultKind::MissingRank, "missing", 0),
        (FaultKind::DuplicateRank, "duplicate", 0),
        (FaultKind::CutOff, "cut-off", 60),
        (FaultKind::OtherJob, "other-job", 8),
        (FaultKind::FewerSteps, "fewer-steps", 1),
        (FaultKind::ClockOffset, "clock-offset", 1_500),
        (FaultKind::ClockDrift, "clock-drift", 50),
        (FaultKind::ClockJump, "clock-jump", 5_000),
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|of| of.0 == self).map_or("", |of| of.1)
    }

    /// Whether it makes a rank late.
    pub fn is_cause(self) -> bool {
        use FaultKind::{
            DataLoader, DeviceIdle, GarbageCollection, HostStall, SlowCopy, SlowDevice, SlowGemm, SlowHost,
            SlowLink,
        };
        matches!(
            self,
            SlowGemm
                | SlowDevice
                | SlowCopy
                | HostStall
                | SlowHost
                | DataLoader
                | GarbageCollection
                | DeviceIdle
                | SlowLink
        )
    }

    /// Whether it is of a host and not of a rank.
    pub fn is_of_host(self) -> bool {
        matches!(self, FaultKind::ClockOffset | FaultKind::ClockDrift | FaultKind::ClockJump)
    }
}

impl Fault {
    /// A fault of the usual amount in all steps.
    pub fn new(kind: FaultKind, at: u32) -> Self {
        let amount = FaultKind::ALL.iter().find(|of| of.0 == kind).map_or(0, |of| of.2);
        Fault { kind, at, steps: 0..=u32::MAX, amount }
    }

    /// The same in these steps only.
    #[must_use]
    pub fn in_steps(mut self, steps: RangeInclusive<u32>) -> Self {
        self.steps = steps;
        self
    }

    /// The same of another amount.
    #[must_use]
    pub fn of_amount(mut self, amount: i64) -> Self {
        self.amount = amount;
        self
    }
}

impl FromStr for Fault {
    type Err = String;

    /// Reads `KIND:RANK`, `KIND:RANK@FIRST-LAST` (steps) and either with `=AMOUNT` behind.
    fn from_str(text: &str) -> Result<Self, String> {
        let (place, amount) = match text.split_once('=') {
            Some((place, amount)) => {
                (place, Some(amount.parse().map_err(|error| format!("{text}: {error}"))?))
            }
            None => (text, None),
        };
        let (place, steps) = match place.split_once('@') {
            Some((place, steps)) => (place, Some(steps)),
            None => (place, None),
        };
        let (kind, at) = place.split_once(':').ok_or_else(|| format!("{text}: expected KIND:RANK"))?;
        let number = |number: &str| number.parse::<u32>().map_err(|error| format!("{text}: {error}"));
        let known = FaultKind::ALL.iter().find(|of| of.1 == kind);
        let kind = known.map(|of| of.0).ok_or_else(|| {
            let names: Vec<&str> = FaultKind::ALL.iter().map(|of| of.1).collect();
            format!("{kind}: no such fault; there are {}", names.join(", "))
        })?;
        let mut fault = Fault::new(kind, number(at)?);
        if let Some(steps) = steps {
            let (first, last) = steps.split_once('-').unwrap_or((steps, steps));
            fault.steps = number(first)?..=number(last)?;
        }
        fault.amount = amount.unwrap_or(fault.amount);
        Ok(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_by_text() {
        let fault = Fault::new(FaultKind::SlowGemm, 3);
        assert_eq!("slow-gemm:3".parse(), Ok(fault.clone()));
        assert_eq!("slow-gemm:3@1-2=900".parse(), Ok(fault.clone().in_steps(1..=2).of_amount(900)));
        assert_eq!("clock-offset:1=-70".parse(), Ok(Fault::new(FaultKind::ClockOffset, 1).of_amount(-70)));
        for text in ["slow-gemm", "slow:1", "gc:x", "gc:1@a", "gc:1=b"] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }
}
