//! The thresholds of a gate, and the file that they are read from.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::value::Datetime;

use crate::metric::Metric;
use crate::rule::Limits;

/// What is gated, and by how much it may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// Of metrics that have none of their own.
    pub defaults: Limits,
    /// The first steps of each recording that do not count.
    pub warmup: usize,
    /// What is made of recordings that do not tell.
    pub inconclusive: Inconclusive,
    /// Standard deviation between jobs of one version, as a share, until the baseline has enough of them to measure it.
    pub assumed_noise: f64,
    /// What is gated.
    pub metrics: Vec<GatedMetric>,
    /// Metrics that may be slower for a while.
    pub exceptions: Vec<Exception>,
}

/// A metric with its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct GatedMetric {
    /// The metric.
    pub metric: Metric,
    /// The least slow-down that fails, where it is not the default.
    pub slower_by: Option<f64>,
    /// The slow-down that a pass rules out, where it is not the default.
    pub rule_out: Option<f64>,
    /// How many more are allowed, of a metric that counts.
    pub more_by: u64,
}

/// What is made of recordings that do not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inconclusive {
    /// They pass.
    Pass,
    /// They have an outcome of their own.
    #[default]
    Warn,
    /// They fail.
    Fail,
}

/// A metric that may be slower for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Exception {
    /// The metric.
    pub metric: Metric,
    /// The least slow-down that fails, meanwhile.
    pub slower_by: f64,
    /// The last day, in days since 1 January 1970.
    pub until: i64,
    /// That day, as it is written.
    pub until_text: String,
    /// Why.
    pub reason: String,
}

impl Thresholds {
    /// The smallest slowdown that fails, as a share, where a metric has none of its own.
    #[must_use]
    pub fn slower_by(&self) -> f64 {
        self.defaults.slower_by
    }

    /// The same, where a share of the time more is slower. A pass never rules out less than what fails.
    #[must_use]
    pub fn with_slower_by(mut self, share: f64) -> Self {
        self.defaults.slower_by = share;
        self.defaults.rule_out = self.defaults.rule_out.max(share);
        self
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            defaults: Limits { slower_by: 0.0175, rule_out: 0.05, alpha: 0.05 },
            warmup: 1,
            inconclusive: Inconclusive::Warn,
            assumed_noise: 0.01,
            metrics: vec![GatedMetric::new(Metric::StepWall)],
            exceptions: Vec::new(),
        }
    }
}

impl GatedMetric {
    /// A metric with the default limits.
    #[must_use]
    pub fn new(metric: Metric) -> Self {
        GatedMetric { metric, slower_by: None, rule_out: None, more_by: 0 }
    }
}

/// Why a thresholds file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ThresholdsError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// A thresholds file with the defaults, and what everything in it means.
pub const THRESHOLDS_TEMPLATE: &str = r#"# Thresholds of `tracelens gate`.
version = 1

[defaults]
slower_by = "1.75%"    # the smallest slowdown that fails the gate
rule_out = "5%"        # a pass means that the slowdown is below this
alpha = 0.05           # the probability that one of the two bounds is wrong
warmup = 1             # first steps of each recording that do not count
inconclusive = "warn"  # if inconclusive: pass, warn (exit code 4) or fail

[noise]
assumed = "1%"         # spread between jobs of one version, until the baseline has 6 jobs

# Gated metrics: step_wall, gpu_busy, idle, exposed_comm, kernel_count, op:NAME, module:NAME, kernel:NAME.
[[metric]]
name = "step_wall"

# [[metric]]
# name = "op:aten::mm"
# slower_by = "10%"

# [[metric]]
# name = "kernel_count"  # an exact count, without statistics
# more_by = 0

# Temporary exceptions. The file is rejected after the date in `until`.
[allow]
# "op:aten::softmax" = { slower_by = "8%", until = 2027-01-31, reason = "softmax in fp32" }
"#;

/// A share that is written with a percent sign.
#[derive(Clone, Copy)]
struct Share(f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Share;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a percentage above 0 and up to 1000, such as \"2%\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Share, E> {
                share(text)
                    .map(Share)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// A percentage such as `2%` as a share; `None` of anything else, of 0 and of more than 1000%.
#[must_use]
pub fn share(text: &str) -> Option<f64> {
    let percent = text.trim().strip_suffix('%')?.trim_end().parse::<f64>().ok()?;
    (percent > 0.0 && percent <= 1000.0).then_some(percent / 100.0)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: Spanned<i64>,
    #[serde(default)]
    defaults: Defaults,
    #[serde(default)]
    noise: NoiseEntry,
    #[serde(default)]
    metric: Vec<MetricEntry>,
    #[serde(default)]
    allow: BTreeMap<Spanned<String>, ExceptionEntry>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    slower_by: Option<Share>,
    rule_out: Option<Share>,
    alpha: Option<Spanned<f64>>,
    warmup: Option<usize>,
    #[serde(default)]
    inconclusive: Inconclusive,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoiseEntry {
    assumed: Option<Share>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricEntry {
    name: Spanned<String>,
    slower_by: Option<Share>,
    rule_out: Option<Share>,
    more_by: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExceptionEntry {
    slower_by: Share,
    until: Spanned<Datetime>,
    reason: Spanned<String>,
}

impl Thresholds {
    /// Reads a thresholds file. `today` is the day, in days since 1 January 1970, on which exceptions have to be valid.
    ///
    /// # Errors
    /// When it is no TOML, has keys that are not known or values that make no sense, or an exception has ended.
    pub fn parse(text: &str, today: i64) -> Result<Thresholds, ThresholdsError> {
        let at = |offset: usize, what: String| ThresholdsError {
            line: text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count() + 1,
            what,
        };
        let file: File = toml::from_str(text)
            .map_err(|error| at(error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
        let place = |spanned: &Spanned<String>| spanned.span().start;
        if *file.version.get_ref() != 1 {
            let version = file.version.get_ref();
            return Err(at(
                file.version.span().start,
                format!("version {version} is not known; this program reads version 1"),
            ));
        }
        let standard = Thresholds::default();
        let mut defaults = standard.defaults;
        if let Some(alpha) = file.defaults.alpha {
            if !(*alpha.get_ref() > 0.0 && *alpha.get_ref() <= 0.5) {
                let what = format!("alpha = {} is not a probability above 0 and up to 0.5", alpha.get_ref());
                return Err(at(alpha.span().start, what));
            }
            defaults.alpha = *alpha.get_ref();
        }
        if let Some(Share(slower_by)) = file.defaults.slower_by {
            defaults.slower_by = slower_by;
        }
        defaults.rule_out = match file.defaults.rule_out {
            Some(Share(rule_out)) => rule_out,
            None => defaults.rule_out.max(defaults.slower_by),
        };
        let mut metrics: Vec<GatedMetric> = Vec::new();
        for entry in &file.metric {
            let error = |what: String| at(place(&entry.name), what);
            let metric: Metric = entry
                .name
                .get_ref()
                .parse()
                .map_err(|unknown: crate::UnknownMetric| error(unknown.to_string()))?;
            if metrics.iter().any(|known| known.metric == metric) {
                return Err(error(format!("{metric} is gated twice")));
            }
            let has_time_limit = entry.slower_by.is_some() || entry.rule_out.is_some();
            match (metric.is_count(), has_time_limit, entry.more_by) {
                (true, true, _) => {
                    return Err(error(format!(
                        "{metric} is a count: it takes more_by, not slower_by or rule_out"
                    )));
                }
                (false, _, Some(_)) => {
                    return Err(error(format!(
                        "{metric} is a time: it takes slower_by and rule_out, not more_by"
                    )));
                }
                _ => {}
            }
            metrics.push(GatedMetric {
                metric,
                slower_by: entry.slower_by.map(|share| share.0),
                rule_out: entry.rule_out.map(|share| share.0),
                more_by: entry.more_by.unwrap_or(0),
            });
        }
        if metrics.is_empty() {
            metrics = standard.metrics;
        }
        let mut exceptions = Vec::new();
        for (name, entry) in &file.allow {
            let error = |what: String| at(place(name), what);
            let metric: Metric =
                name.get_ref().parse().map_err(|unknown: crate::UnknownMetric| error(unknown.to_string()))?;
            if metric.is_count() {
                return Err(error(format!("{metric} is a count: raise its more_by")));
            }
            let until = entry.until.get_ref();
            let Some(last) = day(until) else {
                return Err(at(
                    entry.until.span().start,
                    format!("until = {until} is not a date such as 2027-01-31"),
                ));
            };
            if last < today {
                return Err(error(format!(
                    "the exception for {metric} ended on {until}: remove it, or set a later date"
                )));
            }
            if entry.reason.get_ref().trim().is_empty() {
                return Err(at(place(&entry.reason), "an exception needs a reason".to_owned()));
            }
            exceptions.push(Exception {
                metric,
                slower_by: entry.slower_by.0,
                until: last,
                until_text: until.to_string(),
                reason: entry.reason.get_ref().clone(),
            });
        }
        Ok(Thresholds {
            defaults,
            warmup: file.defaults.warmup.unwrap_or(standard.warmup),
            inconclusive: file.defaults.inconclusive,
            assumed_noise: file.noise.assumed.map_or(standard.assumed_noise, |share| share.0),
            metrics,
            exceptions,
        })
    }

    /// The limits of a metric, and the exception that they are of, if any. Where a metric may be slower than a pass rules
    /// out by default, a pass rules out that much.
    #[must_use]
    pub fn limits(&self, gated: &GatedMetric) -> (Limits, Option<&Exception>) {
        let exception = self.exceptions.iter().find(|exception| exception.metric == gated.metric);
        let own = exception.map(|exception| exception.slower_by).or(gated.slower_by);
        let slower_by = own.unwrap_or(self.defaults.slower_by);
        let rule_out = gated.rule_out.unwrap_or(self.defaults.rule_out);
        let rule_out = if own.is_some() { rule_out.max(slower_by) } else { rule_out };
        (Limits { slower_by, rule_out, ..self.defaults }, exception)
    }
}

/// The day of a date, in days since 1 January 1970; `None` of a time of day or a date with one.
fn day(date: &Datetime) -> Option<i64> {
    let (None, None, Some(date)) = (date.time, date.offset, date.date) else { return None };
    // Years begin in March, so that the day of a leap year is their last.
    let (year, month) = (i64::from(date.year), i64::from(date.month));
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let year_days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year_days + (153 * month + 2) / 5 + i64::from(date.day) - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_the_default() {
        assert_eq!(Thresholds::parse(THRESHOLDS_TEMPLATE, 0).unwrap(), Thresholds::default());
        // And so is what is commented out in it a file that is understood.
        let all: String = THRESHOLDS_TEMPLATE
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if rest.starts_with(['[', '"']) || rest.contains(" = ") => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let all = Thresholds::parse(&all, 20_000).unwrap();
        assert_eq!((all.metrics.len(), all.exceptions.len()), (3, 1));
        assert_eq!(all.exceptions[0].until, 20_849);
    }

    #[test]
    fn days_are_counted_from_1970() {
        for (text, expected) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2026-11-25", 20_782),
            ("2027-01-31", 20_849),
        ] {
            assert_eq!(day(&text.parse().unwrap()), Some(expected), "{text}");
        }
        assert_eq!(day(&"2027-01-31T10:00:00Z".parse().unwrap()), None);
    }

    #[test]
    fn limits_are_of_the_exception_then_of_the_metric_then_of_all() {
        let text = "version = 1\n[[metric]]\nname = 'step_wall'\n[[metric]]\nname = 'op:a'\nslower_by = '10%'\n\
                    [[metric]]\nname = 'op:b'\n[allow]\n'op:b' = { slower_by = '8%', until = 2027-01-31, reason = 'r' }";
        let thresholds = Thresholds::parse(text, 0).unwrap();
        let limits: Vec<(f64, f64, bool)> = thresholds
            .metrics
            .iter()
            .map(|gated| thresholds.limits(gated))
            .map(|(limits, exception)| (limits.slower_by, limits.rule_out, exception.is_some()))
            .collect();
        assert_eq!(limits, [(0.0175, 0.05, false), (0.1, 0.1, false), (0.08, 0.08, true)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, line, expected) in [
            ("", 1, "missing field `version`"),
            ("version = 2", 1, "version 2 is not known"),
            ("version = 1\n[defaults]\nslower = '3%'", 3, "unknown field `slower`"),
            ("version = 1\n[defaults]\nslower_by = 3", 3, "a percentage above 0"),
            ("version = 1\n[defaults]\n\nslower_by = '3'", 4, "a percentage above 0"),
            ("version = 1\n[defaults]\nalpha = 0.9", 3, "alpha = 0.9"),
            ("version = 1\n[defaults]\ninconclusive = 'maybe'", 3, "unknown variant `maybe`"),
            ("version = 1\n[[metric]]\nname = 'speed'", 3, "\"speed\" is not a metric"),
            ("version = 1\n[[metric]]\nname = 'idle'\n[[metric]]\nname = 'idle'", 5, "idle is gated twice"),
            ("version = 1\n[[metric]]\nname = 'kernel_count'\nslower_by = '1%'", 3, "it takes more_by"),
            ("version = 1\n[[metric]]\nname = 'idle'\nmore_by = 1", 3, "not more_by"),
            (
                "version = 1\n[allow]\nidle = { slower_by = '8%', until = 2020-01-31, reason = 'r' }",
                3,
                "ended on 2020-01-31",
            ),
            (
                "version = 1\n[allow]\nidle = { slower_by = '8%', until = 10:00:00, reason = 'r' }",
                3,
                "is not a date",
            ),
            (
                "version = 1\n[allow]\nidle = { slower_by = '8%', until = 2090-01-31, reason = ' ' }",
                3,
                "needs a reason",
            ),
            ("version = 1\n[allow]\nidle = { slower_by = '8%', reason = 'r' }", 3, "missing field `until`"),
            ("version = 1\n[defaults\n", 2, ""),
        ] {
            let error = Thresholds::parse(text, 20_000).unwrap_err();
            assert!(error.line == line && error.what.contains(expected), "{text}: {error}");
        }
    }
}
