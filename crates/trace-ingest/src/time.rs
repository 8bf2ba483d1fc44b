//! Times with their unit.

use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// Unit of all times of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// 1e-9 s
    #[default]
    Nanoseconds,
    /// 1e-12 s
    Picoseconds,
}

impl TimeUnit {
    /// How many units a microsecond has.
    pub const fn per_microsecond(self) -> i64 {
        match self {
            TimeUnit::Nanoseconds => 1_000,
            TimeUnit::Picoseconds => 1_000_000,
        }
    }

    /// A time in microseconds, as reports show it.
    #[inline]
    pub fn to_microseconds(self, time: i64) -> f64 {
        time as f64 / self.per_microsecond() as f64
    }

    /// A time in microseconds with all its digits, as trace files have it.
    pub fn decimal_microseconds(self, time: i64) -> String {
        let unit = self.per_microsecond().unsigned_abs();
        let digits = unit.ilog10() as usize;
        let sign = if time < 0 { "-" } else { "" };
        format!("{sign}{}.{:0digits$}", time.unsigned_abs() / unit, time.unsigned_abs() % unit)
    }

    /// A time in milliseconds, as reports show it.
    #[inline]
    pub fn to_milliseconds(self, time: i64) -> f64 {
        time as f64 / (self.per_microsecond() * 1_000) as f64
    }
}

/// A point in time or a length of time that knows its unit. Times of different units compare by what they stand for.
///
/// Columns of a trace are ticks of one unit ([`crate::Trace::time_unit`]), which analyses add up as they are;
/// [`crate::Trace::time`] makes a time of them.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    ticks: i64,
    unit: TimeUnit,
}

impl Time {
    /// So many units.
    pub const fn from_ticks(ticks: i64, unit: TimeUnit) -> Time {
        Time { ticks, unit }
    }

    /// A time in units of 1e-9 s.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Time {
        Time::from_ticks(nanoseconds, TimeUnit::Nanoseconds)
    }

    /// A time in units of 1e-12 s.
    pub const fn from_picoseconds(picoseconds: i64) -> Time {
        Time::from_ticks(picoseconds, TimeUnit::Picoseconds)
    }

    /// How many of its units it is.
    pub const fn ticks(self) -> i64 {
        self.ticks
    }

    /// Its unit.
    pub const fn unit(self) -> TimeUnit {
        self.unit
    }

    /// In nanoseconds.
    pub fn nanoseconds(self) -> f64 {
        self.ticks as f64 / (self.unit.per_microsecond() / 1_000) as f64
    }

    /// In microseconds, as reports show it.
    pub fn microseconds(self) -> f64 {
        self.unit.to_microseconds(self.ticks)
    }

    /// In milliseconds, as reports show it.
    pub fn milliseconds(self) -> f64 {
        self.unit.to_milliseconds(self.ticks)
    }

    fn exact_picoseconds(self) -> i128 {
        i128::from(self.ticks) * i128::from(1_000_000 / self.unit.per_microsecond())
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.exact_picoseconds().cmp(&other.exact_picoseconds())
    }
}

/// In microseconds, with all its digits.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} µs", self.unit.decimal_microseconds(self.ticks))
    }
}

macro_rules! times {
    ($($(#[$documentation:meta])* $time:ident)*) => {
        $(
            $(#[$documentation])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $time(pub i64);

            impl $time {
                /// In microseconds.
                #[inline]
                pub fn to_microseconds(self) -> f64 {
                    TimeUnit::$time.to_microseconds(self.0)
                }

                /// In milliseconds.
                #[inline]
                pub fn to_milliseconds(self) -> f64 {
                    TimeUnit::$time.to_milliseconds(self.0)
                }

                /// What a part leaves of a length: nothing where the part is longer.
                #[inline]
                #[must_use]
                pub fn without(self, part: Self) -> Self {
                    (self - part).max(Self(0))
                }
            }

            /// A sum beyond the range of `i64` is the bound that it passes.
            impl Add for $time {
                type Output = Self;

                #[inline]
                fn add(self, other: Self) -> Self {
                    Self(self.0.saturating_add(other.0))
                }
            }

            /// A difference beyond the range of `i64` is the bound that it passes.
            impl Sub for $time {
                type Output = Self;

                #[inline]
                fn sub(self, other: Self) -> Self {
                    Self(self.0.saturating_sub(other.0))
                }
            }

            impl AddAssign for $time {
                #[inline]
                fn add_assign(&mut self, other: Self) {
                    *self = *self + other;
                }
            }

            impl Sum for $time {
                fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
                    times.fold(Self(0), Add::add)
                }
            }
        )*
    };
}

times! {
    /// A point in time or a length of time in units of 1e-9 s.
    ///
    /// ```
    /// use trace_ingest::Nanoseconds;
    ///
    /// let (start, end) = (Nanoseconds(1_000), Nanoseconds(78_074));
    /// assert_eq!((end - start).to_microseconds(), 77.074);
    /// ```
    Nanoseconds
    /// A point in time or a length of time in units of 1e-12 s.
    Picoseconds
}

/// When everything was that does not start at the time 0. Work that starts there, far from all else, has no times: recorders
/// leave 0 where they have none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimesOfOthers {
    zero: i64,
    first: i64,
    /// Length from which on work that starts at 0 is not plausible.
    implausible: i64,
}

/// So many times the rest of the recording no event of it takes, and so many ticks at least.
const IMPLAUSIBLE_TIMES: i64 = 1_000;
const IMPLAUSIBLE_TICKS: i64 = 1_000_000_000;

impl TimesOfOthers {
    /// `None` where no device work is elsewhere, or where all lies closer to 0 than it is long. Spans are start and end.
    pub(crate) fn new(
        zero: i64,
        work: impl Iterator<Item = (i64, i64)>,
        all: impl Iterator<Item = (i64, i64)>,
    ) -> Option<Self> {
        let is_elsewhere = |&(start, _): &(i64, i64)| start != zero;
        work.into_iter().find(is_elsewhere)?;
        let hull = |(first, last): (i64, i64), (start, end): (i64, i64)| (first.min(start), last.max(end));
        let (first, last) = all.filter(is_elsewhere).reduce(hull)?;
        let (gap, rest) = (first.saturating_sub(zero), last.saturating_sub(first));
        let implausible = rest.saturating_mul(IMPLAUSIBLE_TIMES).max(IMPLAUSIBLE_TICKS);
        (gap > 0 && gap > rest).then_some(TimesOfOthers { zero, first, implausible })
    }

    /// Whether work starts at 0 and has no length, or one that only its end explains.
    pub(crate) fn is_untimed(self, (start, end): (i64, i64)) -> bool {
        let is_implausible = end >= self.first && end.saturating_sub(start) > self.implausible;
        start == self.zero && (end <= start || is_implausible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_compare_by_what_they_stand_for_whatever_their_unit() {
        let (long, short) = (Time::from_nanoseconds(77_074), Time::from_picoseconds(77_073_999));
        assert!(short < long);
        assert_eq!(long, Time::from_picoseconds(77_074_000));
        assert_eq!((long.to_string(), short.to_string()), ("77.074 µs".into(), "77.073999 µs".into()));
        assert_eq!((short.nanoseconds(), long.milliseconds()), (77_073.999, 0.077074));
        assert!(Time::from_nanoseconds(i64::MAX) > Time::from_picoseconds(i64::MAX));
    }
}
