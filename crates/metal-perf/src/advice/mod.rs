//! What the figures say should be changed, and how much time there is to win.

mod finding;
mod item;
#[cfg(test)]
mod tests;

pub use finding::Finding;
pub use item::Advice;

use trace_ingest::metal::OpRow;

use crate::fidelity::{Verdict, fidelity_verdict};
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
                at_most_us: above_its_bound_us(op),
            }
        });
    // The tool that came before does not remark on figures that cannot be.
    let beyond = report.ops.iter().enumerate().filter(|(_, op)| !report.options.compat && exceeds(op)).map(
        |(position, op)| Finding::AboveRoofline {
            op: position,
            dram_percent: op.dram_percent,
            flops_percent: op.flops_percent,
        },
    );
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

/// Device time in µs beyond what the roofline allows: all that could be won.
fn above_its_bound_us(op: &Op) -> Option<f64> {
    let reached = op.flops_percent?.max(op.dram_percent.unwrap_or(0.0));
    let time = op.device_time_us?;
    (reached <= 100.0).then(|| time * (1.0 - reached / 100.0))
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
        Some(Bound::Dram) => of_dram_bound(report, op, row, &mut advice),
        Some(Bound::Both) => {
            of_dram_bound(report, op, row, &mut advice);
            if !report.options.compat {
                advice.extend(larger_grid(op));
            }
        }
        Some(Bound::Flop) => {
            advice.extend(larger_grid(op));
            advice.extend(fidelity(report, row, |verdict| verdict == Verdict::TooHigh));
        }
        Some(Bound::Slow) => of_slow(report, op, row, &mut advice),
        Some(Bound::Host) | None => {}
    }
    advice
}

fn of_dram_bound(report: &MetalReport, op: &Op, row: &OpRow, advice: &mut Vec<Advice>) {
    if !op.dram_sharded && op.sparse.is_none() {
        advice.push(Advice::DramShardedProgramConfig);
    }
    let spare = op.flops_percent.is_some_and(|percent| percent < FLOPS_TO_SPARE_PERCENT);
    advice.extend(fidelity(report, row, |verdict| match verdict {
        Verdict::TooLow => spare,
        verdict => verdict == Verdict::TooHigh,
    }));
}

fn larger_grid(op: &Op) -> Option<Advice> {
    let cores = op.cores.filter(|&cores| !op.dram_sharded && cores < op.available_cores)?;
    Some(Advice::LargerGrid { cores, available: op.available_cores })
}

fn of_slow(report: &MetalReport, op: &Op, row: &OpRow, advice: &mut Vec<Advice>) {
    let compat = report.options.compat;
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
    // The tool that came before speaks of fidelity only where there is a program configuration, but then also to say
    // that it has no opinion.
    if !compat || has_config {
        let has_opinion = |verdict| !matches!(verdict, Verdict::NotApplicable | Verdict::Unknown);
        advice.extend(fidelity(report, row, |verdict| compat || has_opinion(verdict)));
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

fn fidelity(report: &MetalReport, row: &OpRow, is_meant: impl Fn(Verdict) -> bool) -> Option<Advice> {
    let table = &report.table;
    let datatype = |tensor: Option<&trace_ingest::metal::Tensor>| {
        tensor.map_or("", |tensor| table.text(tensor.datatype))
    };
    let [activations, weights] = [0, 1].map(|place| datatype(table.inputs(row).get(place)));
    let output = datatype(table.outputs(row).first());
    let judged = fidelity_verdict(table.text(row.fidelity), activations, weights, output)?;
    judged.hint.filter(|_| is_meant(judged.verdict)).map(Advice::Fidelity)
}
