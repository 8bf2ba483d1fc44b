//! A row per framework operation: the HLO operations that came from it, and the calls on the host.

use std::collections::HashMap;

use super::analysis::TpuAnalysis;
use super::framework_op::parse_framework_op;
use super::op_metrics::{Work, extent_ps};
use super::profile::{HostOp, PicoSpan};
use super::rates::{Rates, Resource, Roof, ratio};
use super::self_time::self_times;

/// Where an operation ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On the TPU.
    Device,
    /// On the host.
    Host,
}

impl Place {
    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Place::Device => "Device",
            Place::Host => "Host",
        }
    }
}

/// Whether time in which nothing ran is a row of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleTime {
    /// It is, and shares are of all time.
    Included,
    /// It is not, and shares are of the time in which something ran.
    Excluded,
}

/// What the rows of time in which nothing ran are called.
pub const IDLE: &str = "IDLE";

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameworkOpRow<'a> {
    /// 1 for the first.
    pub rank: u32,
    /// Where it ran.
    pub place: Place,
    /// Type; `Unknown` for HLO operations that no framework operation is known of.
    pub kind: &'a str,
    /// Name; of HLO operations that no framework operation is known of, theirs.
    pub name: &'a str,
    /// Most executions of one HLO operation, or calls on the host.
    pub occurrences: u64,
    /// Time without that of operations inside, in picoseconds.
    pub self_time_ps: u64,
    /// Time and work.
    pub work: Work,
    /// Own time as a share of that of its place, 0 to 1.
    pub self_fraction: f64,
    /// Sum of the shares of this row and those above of the same place.
    pub cumulative_fraction: f64,
    /// Its rates.
    pub rates: Rates,
    /// What it is bound by.
    pub bound_by: Resource,
}

impl FrameworkOpRow<'_> {
    /// Whether this is time in which nothing ran.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.occurrences == 0 && self.name == IDLE
    }

    /// Time of one execution, in µs; 0 of none.
    #[must_use]
    pub fn average_us(&self) -> f64 {
        ratio(self.work.time_ps as f64 / 1e6, self.occurrences as f64)
    }

    /// The same without operations inside.
    #[must_use]
    pub fn average_self_us(&self) -> f64 {
        ratio(self.self_time_ps as f64 / 1e6, self.occurrences as f64)
    }
}

/// A row in the making.
#[derive(Default)]
struct Sum {
    occurrences: u64,
    self_time_ps: u64,
    work: Work,
}

/// Rows in the making, by name; a name has the first type that it occurs with.
#[derive(Default)]
struct Sums<'a> {
    places: HashMap<&'a str, usize>,
    rows: Vec<(&'a str, &'a str, Sum)>,
}

impl<'a> Sums<'a> {
    fn entry(&mut self, name: &'a str, kind: &'a str) -> &mut Sum {
        let rows = &mut self.rows;
        let place = *self.places.entry(name).or_insert_with(|| {
            rows.push((name, kind, Sum::default()));
            rows.len() - 1
        });
        &mut rows[place].2
    }
}

/// The rows, those of the device before those of the host, each most own time first.
#[must_use]
pub fn framework_op_stats<'a>(analysis: &'a TpuAnalysis, idle: IdleTime) -> Vec<FrameworkOpRow<'a>> {
    let mut rows = Vec::new();
    let (host, host_idle_ps) = host_ops(&analysis.profile.host_threads);
    let device = (Place::Device, device_ops(analysis), analysis.table.idle_ps());
    for (place, mut sums, idle_ps) in [device, (Place::Host, host, host_idle_ps)] {
        if idle == IdleTime::Included && !(sums.rows.is_empty() && idle_ps == 0) {
            let sum = sums.entry(IDLE, IDLE);
            sum.self_time_ps += idle_ps;
            sum.work.time_ps += idle_ps;
        }
        push_rows(analysis, place, sums, &mut rows);
    }
    rows
}

fn device_ops<'a>(analysis: &'a TpuAnalysis) -> Sums<'a> {
    let mut sums = Sums::default();
    for op in &analysis.table.ops {
        let described = analysis.op(op);
        let framework = described.framework.as_str();
        let (name, kind) = match (framework.is_empty(), parse_framework_op(framework)) {
            (true, _) => (described.name.as_str(), "Unknown"),
            (false, Some(parsed)) if !parsed.kind.is_empty() => (parsed.name, parsed.kind),
            (false, Some(parsed)) => (parsed.name, "Unknown"),
            (false, None) => (framework, "Unknown"),
        };
        let sum = sums.entry(name, kind);
        sum.occurrences = sum.occurrences.max(op.occurrences);
        sum.self_time_ps += op.self_time_ps;
        sum.work.time_ps += op.work.time_ps;
        // The memories are not kept apart: an operation of the framework uses what its HLO operations use.
        sum.work.flops += op.work.flops;
        sum.work.model_flops += op.work.model_flops;
        sum.work.bytes += op.work.bytes;
    }
    sums
}

/// The calls on the host, and the time of its threads between their first and last call in which none ran.
fn host_ops(threads: &[Vec<HostOp>]) -> (Sums<'_>, u64) {
    let mut sums = Sums::default();
    let mut idle_ps = 0_u64;
    for thread in threads {
        let spans: Vec<PicoSpan> = thread.iter().map(|op| op.span).collect();
        let own = self_times(&spans);
        for (op, &own) in thread.iter().zip(&own) {
            let (name, kind) = match parse_framework_op(&op.framework) {
                Some(parsed) => (parsed.name, parsed.kind),
                None => (op.framework.as_str(), ""),
            };
            let sum = sums.entry(name, kind);
            sum.occurrences += 1;
            sum.self_time_ps += own;
            sum.work.time_ps += op.span.duration_ps;
        }
        idle_ps += extent_ps(spans.into_iter()).saturating_sub(own.iter().sum());
    }
    (sums, idle_ps)
}

fn push_rows<'a>(analysis: &TpuAnalysis, place: Place, sums: Sums<'a>, rows: &mut Vec<FrameworkOpRow<'a>>) {
    let mut sums = sums.rows;
    sums.sort_by(|a, b| (b.2.self_time_ps, a.0).cmp(&(a.2.self_time_ps, b.0)));
    let total: u64 = sums.iter().map(|row| row.2.self_time_ps).sum();
    let mut cumulative = 0.0;
    for (name, kind, sum) in sums {
        let self_fraction = ratio(sum.self_time_ps as f64, total as f64);
        cumulative += self_fraction;
        let rates = Rates::of(&sum.work);
        let bound_by = analysis.profile.peaks.as_ref().map(|peaks| Roof::of(&rates, peaks).bound_by);
        rows.push(FrameworkOpRow {
            rank: rows.len() as u32 + 1,
            place,
            kind,
            name,
            occurrences: sum.occurrences,
            self_time_ps: sum.self_time_ps,
            work: sum.work,
            self_fraction,
            cumulative_fraction: cumulative,
            rates,
            bound_by: bound_by.unwrap_or_default(),
        });
    }
}
