//! Limits on what may become slower, for jobs that fail when a change costs too much.

use std::fmt;
use std::str::FromStr;

use sheets::numbers::{decimal, duration};
use thiserror::Error;

use crate::compare::{Comparison, Row, Status, percent};
use crate::rules::Subject;

/// A limit: `total_time>5%`, `op:aten::mm>10%`, `category:GEMM>2ms`, `kernel:NAME>1ms`, `new>1ms`, `gone>0us`.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    what: Limited,
    most: Most,
}

#[derive(Clone, Debug, PartialEq)]
enum Limited {
    /// A row of the timeline.
    Timeline(String),
    /// A row of the tables about a subject.
    Row(Subject, String),
    /// Everything that only B, or only A, has.
    Alone(Status),
}

/// By how much the time may grow.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Most {
    Percent(f64),
    Microseconds(f64),
}

/// Why a text is no limit.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected WHAT>AMOUNT: total_time or another row of gpu_timeline, op:NAME, kernel:NAME, category:NAME, new or gone, then a number with %, us, ms or s"
)]
pub struct NoLimit;

/// Why a limit cannot be checked, which is no reason to let a change pass.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("neither {} nor {} has {what}", runs[0], runs[1])]
pub struct Unknown {
    what: String,
    runs: [String; 2],
}

/// A limit that is exceeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Exceeded {
    limit: Limit,
    delta_us: f64,
    delta_percent: Option<f64>,
    run: String,
}

impl FromStr for Limit {
    type Err = NoLimit;

    fn from_str(text: &str) -> Result<Self, NoLimit> {
        // Names of kernels have angle brackets, too.
        let (what, amount) = text.rsplit_once('>').ok_or(NoLimit)?;
        // µs of a unit; a share has none. `s` is also the end of the others.
        const UNITS: [(&str, Option<f64>); 5] =
            [("%", None), ("us", Some(1.0)), ("µs", Some(1.0)), ("ms", Some(1e3)), ("s", Some(1e6))];
        let in_unit = |(unit, microseconds): (&str, Option<f64>)| {
            let number: f64 = amount.trim().strip_suffix(unit)?.trim().parse().ok()?;
            let most = microseconds.map_or(Most::Percent(number), |size| Most::Microseconds(number * size));
            (number.is_finite() && number >= 0.0).then_some(most)
        };
        let most = UNITS.into_iter().find_map(in_unit).ok_or(NoLimit)?;
        let what = match what.trim() {
            "" => return Err(NoLimit),
            "new" => Limited::Alone(Status::New),
            "gone" => Limited::Alone(Status::Gone),
            what => match what.split_once(':') {
                Some(("op", name)) => Limited::Row(Subject::Operator, name.to_owned()),
                Some(("kernel", name)) => Limited::Row(Subject::Kernel, name.to_owned()),
                Some(("category", name)) => Limited::Row(Subject::Category, name.to_owned()),
                Some(_) => return Err(NoLimit),
                None => Limited::Timeline(what.to_owned()),
            },
        };
        Ok(Limit { what, most })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.what.fmt(f)?;
        match self.most {
            Most::Percent(most) => write!(f, ">{most}%"),
            Most::Microseconds(most) => write!(f, ">{most}us"),
        }
    }
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limited::Timeline(kind) => f.write_str(kind),
            Limited::Row(Subject::Kernel, name) => write!(f, "kernel:{name}"),
            Limited::Row(Subject::Category, name) => write!(f, "category:{name}"),
            Limited::Row(_, name) => write!(f, "op:{name}"),
            Limited::Alone(status) => f.write_str(status.as_str()),
        }
    }
}

impl Limit {
    /// Whether a comparison exceeds the limit.
    ///
    /// # Errors
    /// When the comparison has no such row or table.
    pub fn check(&self, comparison: &Comparison) -> Result<Option<Exceeded>, Unknown> {
        let unknown = || Unknown { what: self.what.to_string(), runs: comparison.names.clone() };
        let (delta_us, delta_percent) = match &self.what {
            Limited::Timeline(kind) => change(comparison.part_of_timeline(kind).ok_or_else(unknown)?),
            Limited::Row(subject, name) => {
                let has_name = |row: &&Row| row.name().split(" → ").any(|part| part == name);
                let tables = comparison.tables.iter().filter(|table| table.subject == *subject);
                change(tables.flat_map(|table| &table.rows).find(has_name).ok_or_else(unknown)?)
            }
            // What one run alone has may only be beyond the cut of the other.
            Limited::Alone(_) if comparison.is_cut_differently => return Err(unknown()),
            Limited::Alone(status) => {
                let table = comparison.main_table().ok_or_else(unknown)?;
                let alone = table.rows.iter().filter(|row| row.status == *status);
                let time: f64 = alone.map(|row| row.delta_us().abs()).sum();
                (time, percent(time, comparison.whole_us()))
            }
        };
        let is_exceeded = match self.most {
            Most::Microseconds(most) => delta_us > most,
            // Of what A has no time of, any time is more than any share.
            Most::Percent(most) => delta_percent.map_or(delta_us > 0.0, |percent| percent > most),
        };
        let run = comparison.names[1].clone();
        Ok(is_exceeded.then(|| Exceeded { limit: self.clone(), delta_us, delta_percent, run }))
    }
}

fn change(row: &Row) -> (f64, Option<f64>) {
    (row.delta_us(), row.delta_percent())
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exceeded { limit, delta_us, delta_percent, run } = self;
        write!(f, "{run} exceeds {limit}: +{}", duration(*delta_us))?;
        match delta_percent {
            Some(percent) => write!(f, " (+{}%)", decimal(*percent, 1)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_written() {
        for (text, printed) in [
            ("total_time>5%", "total_time>5%"),
            ("op:aten::mm > 10 %", "op:aten::mm>10%"),
            ("kernel:f<a>::g>1.5ms", "kernel:f<a>::g>1500us"),
            ("category:GEMM>2s", "category:GEMM>2000000us"),
            ("new>1us", "new>1us"),
            ("gone>0%", "gone>0%"),
        ] {
            let limit: Limit = text.parse().unwrap();
            assert_eq!(limit.to_string(), printed);
            assert_eq!(printed.parse(), Ok(limit));
        }
        for text in
            ["", "total_time", ">5%", "total_time>5", "total_time>-1%", "total_time>NaN%", "module:x>1%"]
        {
            assert_eq!(text.parse::<Limit>(), Err(NoLimit), "{text}");
        }
    }
}
