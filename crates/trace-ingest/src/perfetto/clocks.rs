//! Clocks of a trace: timestamps of packets in nanoseconds since boot.

use hashbrown::HashMap;

use crate::wire::{Message, Wire};

/// The clock that all others are converted to: time since boot.
pub(super) const BOOT: u32 = 6;
/// The time of day.
const DAY: u32 = 1;
/// Clocks from here on are one sequence's own.
const FIRST_LOCAL: u32 = 64;
/// Clocks from here on are those of all sequences again.
const FIRST_GLOBAL: u32 = 128;

/// A clock as a snapshot shows it.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Time since boot minus its time, in nanoseconds.
    offset: i64,
    /// Nanoseconds of a tick.
    multiplier: i64,
    /// Its time at the last packet, in nanoseconds, if packets tell distances.
    now: Option<i64>,
}

#[derive(Debug, Default)]
pub(super) struct Clocks {
    clocks: HashMap<u32, Clock>,
    boot_and_day: Option<[i64; 2]>,
}

/// Whether a clock is one sequence's own.
pub(super) fn is_local(clock: u32) -> bool {
    (FIRST_LOCAL..FIRST_GLOBAL).contains(&clock)
}

impl Clocks {
    /// What the clocks of boot and of day showed at one moment, the first that a snapshot tells, in nanoseconds.
    pub(super) fn boot_and_day(&self) -> Option<[i64; 2]> {
        self.boot_and_day
    }

    /// A timestamp of a clock in nanoseconds since boot; moves a clock that counts distances. `None` when nothing
    /// tells what the clock shows.
    pub(super) fn time(&mut self, clock: u32, timestamp: u64) -> Option<i64> {
        match self.clocks.get_mut(&clock) {
            Some(Clock { offset, multiplier, now }) => {
                let ticks = i64::try_from(timestamp).ok()?.checked_mul(*multiplier)?;
                let value = match now {
                    Some(now) => {
                        *now = now.checked_add(ticks)?;
                        *now
                    }
                    None => ticks,
                };
                value.checked_add(*offset)
            }
            // A clock of the system that no snapshot relates to the time since boot: the only one of its trace.
            None if clock < FIRST_LOCAL => i64::try_from(timestamp).ok(),
            None => None,
        }
    }
}

/// A clock in a snapshot.
#[derive(Clone, Copy, Debug)]
struct Shown {
    clock: u32,
    timestamp: u64,
    incremental: bool,
    multiplier: u64,
}

/// Takes a snapshot: what the clocks of the system and of its sequence show at one moment.
pub(super) fn take_snapshot(mut snapshot: Message<'_>, global: &mut Clocks, local: &mut Clocks) -> Wire<()> {
    let mut all = Vec::new();
    while let Some(field) = snapshot.next_field()? {
        if field.number != 1 {
            continue;
        }
        let mut message = snapshot.message(field, "ClockSnapshot.Clock")?;
        let mut shown = Shown { clock: 0, timestamp: 0, incremental: false, multiplier: 1 };
        while let Some(field) = message.next_field()? {
            match field.number {
                1 => shown.clock = u32::try_from(message.unsigned(field)?).unwrap_or(0),
                2 => shown.timestamp = message.unsigned(field)?,
                3 => shown.incremental = message.unsigned(field)? != 0,
                4 => shown.multiplier = message.unsigned(field)?,
                _ => {}
            }
        }
        all.push(shown);
    }
    let nanoseconds = |shown: &Shown| {
        i64::try_from(shown.timestamp).ok()?.checked_mul(i64::try_from(shown.multiplier.max(1)).ok()?)
    };
    let shown = |clock: u32| all.iter().find(|shown| shown.clock == clock).and_then(nanoseconds);
    let boot = shown(BOOT);
    global.boot_and_day = global.boot_and_day.or(boot.zip(shown(DAY)).map(<[i64; 2]>::from));
    for shown in &all {
        let Some(value) = nanoseconds(shown).filter(|_| shown.clock != 0) else { continue };
        let clocks = if is_local(shown.clock) { &mut *local } else { &mut *global };
        let clock = Clock {
            offset: boot.map_or(0, |boot| boot.saturating_sub(value)),
            multiplier: i64::try_from(shown.multiplier.max(1)).unwrap_or(1),
            now: shown.incremental.then_some(value),
        };
        clocks.clocks.insert(shown.clock, clock);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(shown: &[(u32, i64, i64, Option<i64>)]) -> Clocks {
        let clocks = shown
            .iter()
            .map(|&(number, offset, multiplier, now)| (number, Clock { offset, multiplier, now }))
            .collect();
        Clocks { clocks, ..Clocks::default() }
    }

    #[test]
    fn distances_move_a_clock_and_absolute_times_do_not() {
        let mut clocks = clocks(&[(64, 0, 1, Some(1000)), (3, 500, 1, None), (65, 10, 1000, Some(2000))]);
        assert_eq!(clocks.time(64, 500), Some(1500));
        assert_eq!(clocks.time(BOOT, 7), Some(7));
        assert_eq!(clocks.time(64, 0), Some(1500));
        assert_eq!(clocks.time(3, 40), Some(540));
        assert_eq!(clocks.time(3, 40), Some(540));
        assert_eq!(clocks.time(65, 3), Some(5010));
        assert_eq!(clocks.time(66, 3), None);
        assert_eq!(clocks.time(64, u64::MAX), None);
    }
}
