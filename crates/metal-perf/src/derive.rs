//! Figures of a row that follow from all rows shown.

use crate::op::{Analysed, Bound, Op, OpKind};

/// Percent of a peak from which on it is the bound.
const BOUND_PERCENT: f64 = 65.0;

/// Sums over the rows shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Time on devices, in microseconds.
    pub device_time_us: f64,
    /// Gaps, in microseconds.
    pub gap_us: f64,
    /// Bytes moved from and to DRAM by operations whose model has them.
    pub bytes: f64,
    /// Those bytes over the time of all operations, in 1e9 per second; `None` without bytes or time.
    pub dram_gb_per_s: Option<f64>,
    /// Of the chip's bandwidth: mean over the time of all operations, those without a model counting as none.
    pub dram_percent: Option<f64>,
}

impl Totals {
    /// Device time and gaps, in microseconds: what `Total %` is of.
    pub fn time_us(&self) -> f64 {
        self.device_time_us + self.gap_us
    }
}

/// Sets shares and bounds of the rows shown, and sums them up. Sums run in row order.
pub(crate) fn derive(ops: &mut [Op]) -> Totals {
    let totals = totals(ops);
    let time = totals.time_us();
    for op in ops {
        op.bound = bound(op);
        op.total_percent = match (op.device_time_us, op.gap_us) {
            (None, None) => None,
            (device, gap) => share(device.unwrap_or(0.0) + gap.unwrap_or(0.0), time),
        };
        op.device_percent = op.device_time_us.and_then(|device| share(device, totals.device_time_us));
    }
    totals
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| part / whole * 100.0)
}

fn totals(ops: &[Op]) -> Totals {
    let mut totals = Totals::default();
    let (mut op_time, mut percent_time) = (0.0, 0.0);
    for op in ops {
        let device_time = op.device_time_us.unwrap_or(0.0);
        totals.device_time_us += device_time;
        totals.gap_us += op.gap_us.unwrap_or(0.0);
        if op.kind != OpKind::Signpost {
            op_time += device_time;
            totals.bytes += op.bytes.unwrap_or(0.0);
            percent_time += op.dram_percent.unwrap_or(0.0) * device_time;
        }
    }
    if op_time != 0.0 && totals.bytes != 0.0 {
        totals.dram_gb_per_s = Some(totals.bytes / (op_time * 1e-6) / 1e9);
        totals.dram_percent = Some(percent_time / op_time);
    }
    totals
}

fn bound(op: &Op) -> Option<Bound> {
    if op.kind == OpKind::Host && op.analysed != Analysed::Full {
        return Some(Bound::Host);
    }
    match (op.analysed, op.dram_percent, op.flops_percent) {
        (Analysed::Full, Some(dram), Some(flops)) => {
            Some(match (dram >= BOUND_PERCENT, flops >= BOUND_PERCENT) {
                (true, true) => Bound::Both,
                (true, false) => Bound::Dram,
                (false, true) => Bound::Flop,
                (false, false) => Bound::Slow,
            })
        }
        (Analysed::DramOnly, Some(dram), _) if dram >= BOUND_PERCENT => Some(Bound::Dram),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(device_time_us: Option<f64>, gap_us: Option<f64>) -> Op {
        Op { device_time_us, gap_us, ..Op::default() }
    }

    #[test]
    fn shares_are_of_time_and_gaps_and_blank_rows_have_none() {
        let mut ops =
            [op(Some(10.0), None), op(Some(20.0), Some(10.0)), op(None, None), op(None, Some(40.0))];
        let totals = derive(&mut ops);
        assert_eq!((totals.device_time_us, totals.gap_us, totals.time_us()), (30.0, 50.0, 80.0));
        assert_eq!(ops.each_ref().map(|op| op.total_percent), [Some(12.5), Some(37.5), None, Some(50.0)]);
        assert_eq!(ops[1].device_percent, Some(20.0 / 30.0 * 100.0));
        assert_eq!(ops[3].device_percent, None);
    }

    #[test]
    fn nothing_is_shared_of_no_time() {
        let mut ops = [op(Some(0.0), None)];
        let totals = derive(&mut ops);
        assert_eq!((ops[0].total_percent, ops[0].device_percent), (None, None));
        assert_eq!((totals.dram_gb_per_s, totals.dram_percent), (None, None));
    }

    #[test]
    fn bounds_start_at_65_percent() {
        let cases = [
            (Analysed::Full, Some(65.0), Some(65.0), Some(Bound::Both)),
            (Analysed::Full, Some(65.0), Some(64.9), Some(Bound::Dram)),
            (Analysed::Full, Some(64.9), Some(65.0), Some(Bound::Flop)),
            (Analysed::Full, Some(0.0), Some(0.0), Some(Bound::Slow)),
            (Analysed::Full, None, Some(90.0), None),
            (Analysed::Full, Some(90.0), None, None),
            (Analysed::FlopsOnly, Some(90.0), Some(90.0), None),
            (Analysed::DramOnly, Some(90.0), None, Some(Bound::Dram)),
            (Analysed::DramOnly, Some(10.0), None, None),
            (Analysed::None, None, None, None),
        ];
        for (analysed, dram_percent, flops_percent, expected) in cases {
            let op = Op { analysed, dram_percent, flops_percent, ..Op::default() };
            assert_eq!(bound(&op), expected, "{analysed:?} {dram_percent:?} {flops_percent:?}");
        }
    }

    #[test]
    fn overall_bandwidth_counts_the_time_of_operations_without_a_model() {
        let mut ops = [
            Op { bytes: Some(1e6), dram_percent: Some(50.0), ..op(Some(10.0), None) },
            op(Some(10.0), Some(5.0)),
            Op { kind: OpKind::Signpost, ..op(None, None) },
        ];
        let totals = derive(&mut ops);
        assert_eq!(totals.dram_percent, Some(25.0));
        assert!((totals.dram_gb_per_s.unwrap() - 50.0).abs() < 1e-9);
    }
}
