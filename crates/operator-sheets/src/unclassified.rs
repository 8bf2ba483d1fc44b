//! Device time whose kind of work no name tells.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use perf_models::bare_kernel_name;
use sheets::numbers::decimal;

/// Share of device time from which on an unclassified kernel is named on the first page.
const WORTH_NAMING: f64 = 0.02;

/// Kernels that a sentence names.
const NAMED: usize = 3;

/// Most characters of a name in a sentence.
const LONGEST: usize = 48;

/// The kernels of no known class. Shares are of all device time, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Unclassified {
    /// Share of all of them.
    pub share: f64,
    /// Those that take more than 2%, most time first.
    pub kernels: Vec<(String, f64)>,
}

impl Unclassified {
    /// Of the names of unclassified kernels with their times; `all` is the time of all kernels. Names that differ in
    /// parameters or in the number of an instruction (`fusion.12`) are one.
    pub fn new<'a>(kernels: impl IntoIterator<Item = (&'a str, i64)>, all: i64) -> Self {
        let mut times: BTreeMap<&str, i64> = BTreeMap::new();
        for (name, time) in kernels {
            *times.entry(name).or_default() += time;
        }
        let mut time_by_name: BTreeMap<String, i64> = BTreeMap::new();
        for (name, time) in times {
            *time_by_name.entry(shown(name)).or_default() += time;
        }
        let share = |time: i64| if all > 0 { time as f64 / all as f64 } else { 0.0 };
        let sum = time_by_name.values().sum();
        let mut kernels: Vec<(String, i64)> =
            time_by_name.into_iter().filter(|&(_, time)| share(time) > WORTH_NAMING).collect();
        kernels.sort_by_key(|&(_, time)| Reverse(time));
        Unclassified {
            share: share(sum),
            kernels: kernels.into_iter().map(|(name, time)| (name, share(time))).collect(),
        }
    }

    /// Whether they take more of the time than any known class: `largest` is the share of the one that takes most.
    fn lead(&self, largest: Option<f64>) -> bool {
        self.share > largest.unwrap_or(0.0)
    }

    /// Where the time is, if these kernels lead; `largest` is the known class that takes most, `whole` what shares are
    /// of.
    pub fn headline(&self, largest: Option<(&str, f64)>, whole: Whole) -> Option<String> {
        if !self.lead(largest.map(|(_, share)| share)) {
            return None;
        }
        let known =
            largest.map(|(class, share)| format!("; largest known class: {class} {}", percent(share)));
        Some(format!(
            "{} of {whole} is in unclassified kernels{}{}",
            percent(self.share),
            self.named(),
            known.unwrap_or_default()
        ))
    }

    /// A sentence of them where they do not [lead](Self::headline) and take more than 2%.
    pub fn beside(&self, largest: Option<f64>, whole: Whole) -> Option<String> {
        let is_worth_saying = self.share > WORTH_NAMING && !self.lead(largest);
        is_worth_saying
            .then(|| format!("unclassified kernels: {} of {whole}{}", percent(self.share), self.named()))
    }

    fn named(&self) -> String {
        let name = |(name, share): &(String, f64)| format!("{name} {}", percent(*share));
        match self.kernels.is_empty() {
            true => ", none of them above 2%".to_owned(),
            false => {
                let named = self.kernels.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
                match self.kernels.len().saturating_sub(NAMED) {
                    0 => format!(" ({named})"),
                    more => format!(" ({named} and {more} more)"),
                }
            }
        }
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{}%", decimal(share * 100.0, 1))
}

/// A name as sentences have it.
fn shown(name: &str) -> String {
    let bare = bare_kernel_name(name);
    let stem = bare.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('.').unwrap_or(&bare);
    match stem.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &stem[..end]),
        None => stem.to_owned(),
    }
}

/// What the shares of kinds of work are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// All device events.
    DeviceTime,
    /// All kernels, without copies.
    KernelTime,
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} time", if *self == Whole::DeviceTime { "device" } else { "kernel" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_above_two_percent_are_named_and_the_rest_is_counted() {
        let beside = |kernels: &[(&str, i64)]| {
            Unclassified::new(kernels.iter().copied(), 100).beside(Some(0.5), Whole::DeviceTime)
        };
        assert_eq!(
            beside(&[
                ("void a<1>(int)", 30),
                ("void a<1>(long)", 10),
                ("fusion.1", 2),
                ("fusion.12", 1),
                ("b", 2)
            ])
            .unwrap(),
            "unclassified kernels: 45.0% of device time (a<1> 40.0%, fusion 3.0%)"
        );
        assert_eq!(
            beside(&[("a", 2), ("b", 2)]).unwrap(),
            "unclassified kernels: 4.0% of device time, none of them above 2%"
        );
        assert_eq!(beside(&[("a", 2)]), None);
        assert_eq!(beside(&[("a", 60)]), None);
        assert_eq!(Unclassified::new([("a", 0)], 0), Unclassified::default());
        let long = "é".repeat(100);
        assert_eq!(Unclassified::new([(long.as_str(), 1)], 1).kernels[0].0.chars().count(), LONGEST + 1);
    }

    #[test]
    fn a_headline_names_what_is_known_beside_them() {
        let unclassified = Unclassified::new([("a", 40), ("b", 1)], 100);
        let headline = |largest| unclassified.headline(largest, Whole::KernelTime);
        assert_eq!(
            headline(Some(("GEMM", 0.3))).unwrap(),
            "41.0% of kernel time is in unclassified kernels (a 40.0%); largest known class: GEMM 30.0%"
        );
        assert_eq!(headline(None).unwrap(), "41.0% of kernel time is in unclassified kernels (a 40.0%)");
        assert_eq!(headline(Some(("GEMM", 0.41))), None);
    }
}
