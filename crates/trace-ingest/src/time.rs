//! Times with their unit.

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
