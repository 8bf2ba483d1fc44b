//! Operations under the roofline of a core: the whole profile, the average step, every step; with and without the
//! operations that feed the device.

use super::analysis::TpuAnalysis;
use super::category;
use super::hlo_stats::OpTimes;
use super::op_metrics::{OpMetrics, OpTable, Work};
use super::peaks::Peaks;
use super::profile::TpuOp;
use super::rates::{Rates, Roof, ratio};

/// Which time a row is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RooflineStep {
    /// The whole profile.
    Total,
    /// All complete steps; times are per step.
    Average,
    /// One step, by what the profiler calls it.
    Step(String),
}

impl RooflineStep {
    /// The spelling in reports.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            RooflineStep::Total => "Total",
            RooflineStep::Average => "Average",
            RooflineStep::Step(name) => name,
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct RooflineRow<'a> {
    /// Which time it is of.
    pub step: RooflineStep,
    /// Whether operations that feed the device are counted.
    pub includes_feeds: bool,
    /// 0 for the program as a whole, 1 for the operation with the most own time.
    pub rank: u32,
    /// The operation; `None` for the program as a whole, which sums the operations that run no others inside.
    pub op: Option<&'a TpuOp>,
    /// Number of its program; 0 for the program as a whole.
    pub program: u64,
    /// Its times.
    pub times: OpTimes,
    /// Own time as a share of all time, 0 to 1.
    pub self_fraction: f64,
    /// Sum of the shares of this row and all above.
    pub cumulative_fraction: f64,
    /// Time as a share of all time, 0 to 1.
    pub total_fraction: f64,
    /// Time per core of the device, in µs.
    pub time_per_core_us: f64,
    /// Its rates.
    pub rates: Rates,
    /// How far below the roofline it is.
    pub roof: Roof,
}

/// The rows, first with the operations that feed the device and then without. The program as a whole leads its
/// operations; of the average step and of each step it is the only row, and all its figures are 0 without complete
/// steps. Empty when the profile does not say what a core can do.
#[must_use]
pub fn roofline<'a>(analysis: &'a TpuAnalysis) -> Vec<RooflineRow<'a>> {
    let Ok(peaks) = &analysis.profile.peaks else { return Vec::new() };
    let cores = analysis.profile.cores.len() as f64;
    let steps = analysis.steps();
    let mut rows = Vec::new();
    for includes_feeds in [true, false] {
        let pass = |step: RooflineStep| Pass { analysis, step, includes_feeds, cores, peaks };
        pass(RooflineStep::Total).push_rows(&analysis.table, &mut rows);
        let tables = || steps.iter().map(|step| &step.table);
        rows.push(pass(RooflineStep::Average).program_row(tables(), steps.len() as f64));
        for step in &steps {
            let pass = pass(RooflineStep::Step(step.name.clone()));
            rows.push(pass.program_row([&step.table].into_iter(), 1.0));
        }
    }
    rows
}

/// One of the times, in one of the two ways.
struct Pass<'a> {
    analysis: &'a TpuAnalysis,
    step: RooflineStep,
    includes_feeds: bool,
    cores: f64,
    peaks: &'a Peaks,
}

impl<'a> Pass<'a> {
    fn counts(&self, op: &OpMetrics) -> bool {
        self.includes_feeds || !category::is_infeed_or_outfeed(&self.analysis.op(op).category)
    }

    fn push_rows(&self, table: &OpTable, rows: &mut Vec<RooflineRow<'a>>) {
        rows.push(self.program_row(std::iter::once(table), 1.0));
        let total_ps = self.total_ps(table) as f64;
        let mut cumulative = 0.0;
        let mut rank = 0;
        for op in table.ops.iter().filter(|op| self.counts(op)) {
            rank += 1;
            let self_fraction = ratio(op.self_time_ps as f64, total_ps);
            cumulative += self_fraction;
            let shares = (self_fraction, cumulative, ratio(op.work.time_ps as f64, total_ps));
            let row = self.row(rank, &op.work, OpTimes::of(op), shares);
            rows.push(RooflineRow { op: Some(self.analysis.op(op)), program: op.program, ..row });
        }
    }

    /// All time of a table, without that of operations that are not counted.
    fn total_ps(&self, table: &OpTable) -> u64 {
        let left_out = table.ops.iter().filter(|op| !self.counts(op));
        table.total_ps.saturating_sub(left_out.map(|op| op.work.time_ps).sum())
    }

    /// The sum of some tables; its time is per step. Operations that may run others inside are left out: what they did
    /// is what those did.
    fn program_row<'t>(&self, tables: impl Iterator<Item = &'t OpTable>, steps: f64) -> RooflineRow<'a> {
        let mut work = Work::default();
        for table in tables {
            work.time_ps += self.total_ps(table);
            let is_counted = |op: &&OpMetrics| self.counts(op) && !self.analysis.may_have_inner_ops(op);
            for op in table.ops.iter().filter(is_counted) {
                work.add_work(&op.work);
            }
        }
        let total_us = work.time_ps as f64 / 1e6;
        let times = OpTimes {
            occurrences: 1,
            total_us: ratio(total_us, steps),
            average_us: total_us,
            ..OpTimes::default()
        };
        let total_fraction = if work.time_ps > 0 { 1.0 } else { 0.0 };
        self.row(0, &work, times, (0.0, 0.0, total_fraction))
    }

    fn row(&self, rank: u32, work: &Work, times: OpTimes, shares: (f64, f64, f64)) -> RooflineRow<'a> {
        let rates = Rates::of(work);
        RooflineRow {
            step: self.step.clone(),
            includes_feeds: self.includes_feeds,
            rank,
            op: None,
            program: 0,
            times,
            self_fraction: shares.0,
            cumulative_fraction: shares.1,
            total_fraction: shares.2,
            time_per_core_us: ratio(times.total_us, self.cores),
            roof: Roof::of(&rates, self.peaks),
            rates,
        }
    }
}
