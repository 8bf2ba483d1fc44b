//! What the figures say should be changed, and how much time there is to win.

#[cfg(test)]
mod tests;

use std::fmt;

use trace_ingest::metal::OpRow;

use crate::fidelity::{FidelityHint, Verdict};
use crate::notice::counted;
use crate::op::{Bound, Op, OpKind};
use crate::report::MetalReport;

/// A gap above this many µs is worth a look.
pub const HIGH_GAP_US: f64 = 6.5;

/// A gap of this many µs remains when everything is right.
pub const USUAL_GAP_US: f64 = 6.0;

/// Below this percentage of the FLOPs a more exact fidelity costs an operation that waits for DRAM no time.
const FLOPS_TO_SPARE_PERCENT: f64 = 40.0;

/// What the figures say, in the order in which it should be looked at: operations of the host, gaps between operations,
/// matrix products in the order of the report, figures that cannot be.
#[must_use]
pub fn findings(report: &MetalReport) -> Vec<Finding> {
    let host = host_fallback(report);
    let gaps = high_gaps(report);
    let products =
        report.ops.iter().enumerate().filter(|(_, op)| is_product(report, op)).map(|(position, op)| {
            Finding::MatrixProduct {
                op: position,
                bound: op.bound,
                advice: advice_of(report, op),
                at_most_us: op.beyond_roofline_us(),
            }
        });
    let is_remarked = !report.options.conventions.silent_above_hundred;
    let beyond =
        report.ops.iter().enumerate().filter(|(_, op)| is_remarked && exceeds(op)).map(|(position, op)| {
            Finding::AboveRoofline {
                op: position,
                dram_percent: op.dram_percent,
                flops_percent: op.flops_percent,
            }
        });
    host.into_iter().chain(gaps).chain(products).chain(beyond).collect()
}

/// Whether the operation's figures are more than the chip can do.
pub(crate) fn exceeds(op: &Op) -> bool {
    [op.dram_percent, op.flops_percent].into_iter().flatten().any(|percent| percent > 100.0)
}

fn host_fallback(report: &MetalReport) -> Option<Finding> {
    let ops = positions(report, |op| op.kind == OpKind::Host);
    let durations =
        ops.iter().filter_map(|&position| row_of(report, &report.ops[position])?.host_duration_ns);
    let mut sum_ns = None;
    durations.for_each(|ns| *sum_ns.get_or_insert(0.0) += ns);
    (!ops.is_empty()).then_some(Finding::HostFallback { ops, host_time_us: sum_ns.map(|ns: f64| ns / 1e3) })
}

fn high_gaps(report: &MetalReport) -> Option<Finding> {
    let ops = positions(report, |op| op.gap_us.is_some_and(|gap| gap > HIGH_GAP_US));
    let gaps = || ops.iter().filter_map(|&position| report.ops[position].gap_us);
    let saving_us = gaps().map(|gap| gap - USUAL_GAP_US).sum();
    let gap_us = gaps().sum();
    let whole = report.totals.time_us();
    let saving_percent = (whole > 0.0).then(|| saving_us / whole * 100.0);
    (!ops.is_empty()).then_some(Finding::HighGaps { ops, gap_us, saving_us, saving_percent })
}

fn positions(report: &MetalReport, is_meant: impl Fn(&Op) -> bool) -> Vec<usize> {
    report.ops.iter().enumerate().filter(|(_, op)| is_meant(op)).map(|(position, _)| position).collect()
}

fn row_of<'a>(report: &'a MetalReport, op: &Op) -> Option<&'a OpRow> {
    report.table.rows.get(op.row as usize)
}

fn is_product(report: &MetalReport, op: &Op) -> bool {
    op.kind == OpKind::Device && report.table.text(op.raw_op_code).contains("Matmul")
}

impl Op {
    /// The share of its roofline that it reaches, in percent.
    #[must_use]
    pub fn percent_of_roofline(&self) -> Option<f64> {
        Some(self.flops_percent?.max(self.dram_percent.unwrap_or(0.0)))
    }

    /// Device time in µs beyond what the roofline allows: all that could be won.
    #[must_use]
    pub fn beyond_roofline_us(&self) -> Option<f64> {
        let reached = self.percent_of_roofline().filter(|&reached| reached <= 100.0)?;
        Some(self.device_time_us? * (1.0 - reached / 100.0))
    }
}

/// What to try with an operation: empty for all but matrix products, and for those that are well as they are or have no
/// figures.
#[must_use]
pub fn advice_of(report: &MetalReport, op: &Op) -> Vec<Advice> {
    if !is_product(report, op) {
        return Vec::new();
    }
    if op.sparse.is_some_and(|batches| batches.active.is_none()) {
        return vec![Advice::ActiveExpertsUnknown];
    }
    let Some(row) = row_of(report, op) else { return Vec::new() };
    let mut advice = Vec::new();
    match op.bound {
        Some(Bound::Dram) => advise_dram_bound(report, op, &mut advice),
        Some(Bound::Both) => {
            advise_dram_bound(report, op, &mut advice);
            if !report.options.conventions.keeps_grid_if_both_bound {
                advice.extend(larger_grid(op));
            }
        }
        Some(Bound::Flop) => {
            advice.extend(larger_grid(op));
            advice.extend(fidelity(report, op, |verdict| verdict == Verdict::TooHigh));
        }
        Some(Bound::Slow) => advise_slow(report, op, row, &mut advice),
        Some(Bound::Host) | None => {}
    }
    advice
}

fn advise_dram_bound(report: &MetalReport, op: &Op, advice: &mut Vec<Advice>) {
    if !op.dram_sharded && op.sparse.is_none() {
        advice.push(Advice::DramShardedProgramConfig);
    }
    let spare = op.flops_percent.is_some_and(|percent| percent < FLOPS_TO_SPARE_PERCENT);
    advice.extend(fidelity(report, op, |verdict| match verdict {
        Verdict::TooLow => spare,
        verdict => verdict == Verdict::TooHigh,
    }));
}

fn larger_grid(op: &Op) -> Option<Advice> {
    let cores = op.cores.filter(|&cores| !op.dram_sharded && cores < op.available_cores)?;
    Some(Advice::LargerGrid { cores, available: op.available_cores })
}

fn advise_slow(report: &MetalReport, op: &Op, row: &OpRow, advice: &mut Vec<Advice>) {
    let with_config_only = report.options.conventions.fidelity_with_config_only;
    let memory = report.table.inputs(row).first().map_or("", |input| report.table.text(input.memory));
    if !memory.is_empty() && !memory.contains("L1") {
        advice.push(Advice::InputOutsideL1 { memory: memory.to_owned() });
    }
    let has_config =
        op.dram_sharded || [op.inner_block_width, op.out_subblock_h, op.out_subblock_w] != [None, None, None];
    if has_config {
        advice.extend(config(op));
    } else {
        advice.push(Advice::NoProgramConfig);
    }
    if has_config || !with_config_only {
        let has_opinion = |verdict| !matches!(verdict, Verdict::NotApplicable | Verdict::Unknown);
        advice.extend(fidelity(report, op, |verdict| with_config_only || has_opinion(verdict)));
    }
}

fn config(op: &Op) -> Vec<Advice> {
    let inner = match op.inner_block_width {
        None => Err(Advice::NoInnerBlock),
        Some(width) if width < 2 => Err(Advice::SmallInnerBlock { width }),
        Some(width) => Ok(width),
    };
    let subblock = match (op.out_subblock_h, op.out_subblock_w) {
        _ if op.dram_sharded => Ok(None),
        (Some(height), Some(width)) if u64::from(height) * u64::from(width) < 2 => {
            Err(Advice::SmallOutSubblock { height, width })
        }
        (Some(height), Some(width)) => Ok(Some((height, width))),
        _ => Err(Advice::NoOutSubblock),
    };
    match (inner, subblock) {
        (Ok(inner_block_width), Ok(out_subblock)) => {
            vec![Advice::ConfigFine { inner_block_width, out_subblock }]
        }
        (inner, subblock) => inner.err().into_iter().chain(subblock.err()).collect(),
    }
}

fn fidelity(report: &MetalReport, op: &Op, is_meant: impl Fn(Verdict) -> bool) -> Option<Advice> {
    let judged = report.fidelity_verdict(op)?;
    judged.hint.filter(|_| is_meant(judged.verdict)).map(Advice::Fidelity)
}

/// One thing that a report says should be changed. Operations are given by their positions in
/// [`MetalReport::ops`](crate::MetalReport::ops). Its `Display` is text of one or several lines without the operations
/// themselves.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Operations ran on the host.
    HostFallback {
        /// Which.
        ops: Vec<usize>,
        /// What the host needed for them, in µs, as far as the profile says.
        host_time_us: Option<f64>,
    },
    /// The device waited before operations.
    HighGaps {
        /// Before which.
        ops: Vec<usize>,
        /// How long in all, in µs.
        gap_us: f64,
        /// What there is to win, in µs: gaps of [`USUAL_GAP_US`] would remain.
        saving_us: f64,
        /// The same as a share of the device time and gaps of all rows, in percent.
        saving_percent: Option<f64>,
    },
    /// A matrix product.
    MatrixProduct {
        /// Which.
        op: usize,
        /// What bounds it; `None` where it could not be analysed.
        bound: Option<Bound>,
        /// What to try, most important first.
        advice: Vec<Advice>,
        /// What there is to win, in µs: its time less what it would need at 100% of the DRAM bandwidth or of the FLOPs,
        /// whichever it is nearer to.
        at_most_us: Option<f64>,
    },
    /// An operation has higher figures than the chip can reach: the model does not fit it, or the chip is not the one
    /// that ran it.
    AboveRoofline {
        /// Which.
        op: usize,
        /// Of the DRAM bandwidth.
        dram_percent: Option<f64>,
        /// Of the FLOPs.
        flops_percent: Option<f64>,
    },
}

impl Finding {
    /// The operations that it is about.
    #[must_use]
    pub fn ops(&self) -> &[usize] {
        match self {
            Finding::HostFallback { ops, .. } | Finding::HighGaps { ops, .. } => ops,
            Finding::MatrixProduct { op, .. } | Finding::AboveRoofline { op, .. } => std::slice::from_ref(op),
        }
    }

    /// What it is, in a word or two.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Finding::HostFallback { .. } => "Operations on the host",
            Finding::HighGaps { .. } => "High op-to-op gaps",
            Finding::MatrixProduct { .. } => "Matmuls",
            Finding::AboveRoofline { .. } => "Above the chip's peaks",
        }
    }

    /// What there is to win at most, in µs.
    #[must_use]
    pub fn at_most_us(&self) -> Option<f64> {
        match self {
            Finding::HostFallback { host_time_us, .. } => *host_time_us,
            Finding::HighGaps { saving_us, .. } => Some(*saving_us),
            Finding::MatrixProduct { at_most_us, .. } => *at_most_us,
            Finding::AboveRoofline { .. } => None,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::HostFallback { ops, host_time_us } => {
                write!(f, "{} ran on the host", counted(ops.len(), "operation", "operations"))?;
                if let Some(time) = host_time_us {
                    write!(f, " and took {time:.0} μs of host time")?;
                }
                write!(f, ": move {} to the device.", if ops.len() == 1 { "it" } else { "them" })
            }
            Finding::HighGaps { ops, saving_us, saving_percent, .. } => {
                write!(
                    f,
                    "The device waited before {}. Shortening {} to {USUAL_GAP_US} μs would save \
                     {saving_us:.0} μs",
                    counted(ops.len(), "operation", "operations"),
                    if ops.len() == 1 { "the gap" } else { "each gap" },
                )?;
                if let Some(percent) = saving_percent {
                    write!(f, " ({percent:.1}% of total time)")?;
                }
                f.write_str(
                    ": capture a trace and replay it, avoid waiting for the device and reading \
                     from it, and turn runtime arguments that never change into compile-time arguments.",
                )
            }
            Finding::MatrixProduct { bound: None, advice, .. } if advice.is_empty() => {
                f.write_str("Not analyzed: shapes, number of cores or time unknown.")
            }
            Finding::MatrixProduct { advice, .. } if advice.is_empty() => {
                f.write_str("✅ Nothing to change.")
            }
            Finding::MatrixProduct { advice, .. } => {
                for (number, item) in advice.iter().enumerate() {
                    write!(f, "{}- {item}", if number == 0 { "" } else { "\n" })?;
                }
                Ok(())
            }
            Finding::AboveRoofline { dram_percent, flops_percent, .. } => {
                let figures = [(dram_percent, "DRAM bandwidth"), (flops_percent, "FLOPs")];
                let figures = figures.into_iter().filter_map(|(percent, of)| Some((percent.as_ref()?, of)));
                for (number, (percent, of)) in figures.filter(|(percent, _)| **percent > 100.0).enumerate() {
                    write!(f, "{}{percent:.1}% of the {of}", if number == 0 { "" } else { " and " })?;
                }
                f.write_str(": above the chip's peak. Check that the right chip is assumed.")
            }
        }
    }
}

/// Something to try, or to know, about one matrix product. Its `Display` is a sentence without a period.
#[derive(Clone, Debug, PartialEq)]
pub enum Advice {
    /// Figures are left out, because neither the operation nor the user says how many experts are computed.
    ActiveExpertsUnknown,
    /// Weights could be spread over the banks of the DRAM.
    DramShardedProgramConfig,
    /// More cores could take part.
    LargerGrid {
        /// Cores that it ran on.
        cores: u32,
        /// Cores that it could have run on.
        available: u32,
    },
    /// Another fidelity suits the datatypes better.
    Fidelity(FidelityHint),
    /// The first input does not lie in L1.
    InputOutsideL1 {
        /// Where it lies: `DEV_0_DRAM_INTERLEAVED`.
        memory: String,
    },
    /// No program configuration was given.
    NoProgramConfig,
    /// The program configuration does not say how wide the blocks of the first input are.
    NoInnerBlock,
    /// The blocks of the first input are narrow.
    SmallInnerBlock {
        /// `in0_block_w`, in tiles.
        width: u32,
    },
    /// The program configuration does not say how large the subblocks of the output are.
    NoOutSubblock,
    /// The subblocks of the output are small.
    SmallOutSubblock {
        /// `out_subblock_h`, in tiles.
        height: u32,
        /// `out_subblock_w`, in tiles.
        width: u32,
    },
    /// Nothing is wrong with the program configuration.
    ConfigFine {
        /// `in0_block_w`, in tiles.
        inner_block_width: u32,
        /// `out_subblock_h` and `out_subblock_w`, in tiles; DRAM-sharded products have none.
        out_subblock: Option<(u32, u32)>,
    },
}

impl Advice {
    /// What to do to make the product faster, in a few words; `None` where it says nothing of that.
    #[must_use]
    pub fn action(&self) -> Option<String> {
        Some(match self {
            Advice::ActiveExpertsUnknown | Advice::ConfigFine { .. } => return None,
            Advice::DramShardedProgramConfig => "use a DRAM-sharded program config".to_owned(),
            Advice::LargerGrid { cores, available } => {
                format!("spread it over a larger grid (uses {cores} of {available} cores)")
            }
            Advice::Fidelity(hint) => hint.faster()?.to_owned(),
            Advice::InputOutsideL1 { .. } => "keep input 0 in L1 where it fits".to_owned(),
            Advice::NoProgramConfig => "add a program config".to_owned(),
            Advice::NoInnerBlock => "set in0_block_w in the program config".to_owned(),
            Advice::SmallInnerBlock { width } => format!("raise in0_block_w from {width} to 2 or more"),
            Advice::NoOutSubblock => "set an output subblock in the program config".to_owned(),
            Advice::SmallOutSubblock { height, width } => {
                format!("enlarge the output subblock from {height}x{width} to 2 tiles or more")
            }
        })
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::ActiveExpertsUnknown => f.write_str(
                "FLOPs and bytes unknown: the number of active experts is not recorded; specify it",
            ),
            Advice::DramShardedProgramConfig => f.write_str(
                "DRAM-bound: a DRAM-sharded program config reads the weights from all banks at once",
            ),
            Advice::LargerGrid { cores, available } => {
                write!(f, "Runs on {cores} of {available} cores: spread it over a larger grid")
            }
            Advice::Fidelity(hint) => hint.fmt(f),
            Advice::InputOutsideL1 { memory } => {
                write!(f, "Input 0 is read from {memory}: keep it in L1 where it fits")
            }
            Advice::NoProgramConfig => f.write_str(
                "Has no program config: add one to set in0_block_w, out_subblock_h and out_subblock_w",
            ),
            Advice::NoInnerBlock => f.write_str("The program config does not set in0_block_w"),
            Advice::SmallInnerBlock { width } => {
                write!(f, "in0_block_w={width} is small: try 2 or more")
            }
            Advice::NoOutSubblock => f.write_str("The program config sets no output subblock"),
            Advice::SmallOutSubblock { height, width } => {
                write!(f, "The output subblock of {height}x{width} is small: try 2 tiles or more")
            }
            Advice::ConfigFine { inner_block_width, out_subblock: Some((height, width)) } => write!(
                f,
                "Nothing to change in the program config: in0_block_w={inner_block_width}, output subblock {height}x{width}"
            ),
            Advice::ConfigFine { inner_block_width, out_subblock: None } => {
                write!(f, "Nothing to change in the program config: in0_block_w={inner_block_width}")
            }
        }
    }
}
