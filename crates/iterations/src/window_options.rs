//! Windows as people write them on a command line.

use std::ops::Range;
use std::str::FromStr;

use crate::window::Window;

/// The analysed part of a recording; all of it by default.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Window"))]
pub struct WindowOptions {
    /// Report only these iterations, numbered as in the sheet iterations: 3, 3..5 (3 to 5), or 3:6 (6 excluded)
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "RANGE", conflicts_with_all = ["steady", "window"])
    )]
    pub iterations: Option<Indices>,

    /// Report only the longest unbroken sequence of steady iterations: no warm-up, partial or outlier ones
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "window"))]
    pub steady: bool,

    /// Report only this time range, counted from the first event: 10ms..20ms, 1.5s..2s, 300us..; the default unit is ms
    #[cfg_attr(feature = "clap", arg(long, value_name = "START..END"))]
    pub window: Option<TimeRange>,
}

impl WindowOptions {
    /// The names of the fields.
    pub const NAMES: [&'static str; 3] = ["iterations", "steady", "window"];

    /// The chosen part of the recording, if any.
    pub fn chosen(&self) -> Option<Window> {
        let iterations = self.iterations.as_ref().map(|indices| Window::Iterations(indices.0.clone()));
        let steady = self.steady.then_some(Window::Steady);
        let time = self.window.as_ref().map(|stretch| Window::Microseconds(stretch.0.clone()));
        iterations.or(steady).or(time)
    }
}

/// Indices of iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indices(pub Range<usize>);

impl Indices {
    /// As signed numbers.
    pub fn numbers(&self) -> Range<i64> {
        let number = |index: usize| i64::try_from(index).unwrap_or(i64::MAX);
        number(self.0.start)..number(self.0.end)
    }
}

/// A stretch of time in µs.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeRange(pub Range<f64>);

impl FromStr for Indices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected iteration numbers, such as 3, 3..5 or 3:6";
        let index = |text: &str| text.trim().parse::<usize>().map_err(|_| EXPECTED.to_owned());
        let range = match (text.split_once(".."), text.split_once(':')) {
            (Some((first, last)), _) => index(first)?..index(last)?.saturating_add(1),
            (_, Some((first, end))) => index(first)?..index(end)?,
            _ => index(text)?..index(text)?.saturating_add(1),
        };
        match range.is_empty() {
            true => Err("it contains no iteration: the first number must be smaller".to_owned()),
            false => Ok(Indices(range)),
        }
    }
}

impl FromStr for TimeRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected two times, such as 10ms..20ms";
        let (start, end) = text.split_once("..").ok_or(EXPECTED)?;
        let microseconds = |text: &str, otherwise: f64| -> Result<f64, String> {
            let text = text.trim();
            if text.is_empty() {
                return Ok(otherwise);
            }
            let units = [("ns", 1e-3), ("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];
            let (number, unit) = units
                .iter()
                .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
                .unwrap_or((text, 1e3));
            let value = number.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            value.map(|value| value * unit).ok_or_else(|| EXPECTED.to_owned())
        };
        // No recording is longer than what an `i64` counts in ps.
        let range = microseconds(start, 0.0)?..microseconds(end, 9e12)?;
        match range.start < range.end {
            true => Ok(TimeRange(range)),
            false => Err("it ends before it starts".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_written_as_people_and_as_python_count() {
        for (text, expected) in [("3", 3..4), ("3..5", 3..6), ("3:5", 3..5), ("0..0", 0..1)] {
            assert_eq!(text.parse::<Indices>(), Ok(Indices(expected)), "{text}");
        }
        for text in ["", "a", "5..3", "3:3", "-1", "1..", "1..2..3"] {
            assert!(text.parse::<Indices>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units_and_may_be_open() {
        for (text, expected) in [
            ("10..20", 10e3..20e3),
            ("10ms..20ms", 10e3..20e3),
            ("1.5s..2s", 1.5e6..2e6),
            ("300us..1ms", 300.0..1e3),
            ("..5 ms", 0.0..5e3),
            ("2s..", 2e6..9e12),
        ] {
            assert_eq!(text.parse::<TimeRange>(), Ok(TimeRange(expected)), "{text}");
        }
        for text in ["", "10", "20..10", "a..b", "-1..2", "1m..2m", "NaN..1"] {
            assert!(text.parse::<TimeRange>().is_err(), "{text}");
        }
    }
}
