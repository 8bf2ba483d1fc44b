//! One thing that a report says should be changed.

use std::fmt;

use super::{Advice, USUAL_GAP_US};
use crate::op::Bound;
use crate::wording::counted;

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
        /// What there is to win, in µs: its time less what it would need at 100 % of the DRAM bandwidth or of the FLOPs,
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
            Finding::MatrixProduct { .. } => "Matrix products",
            Finding::AboveRoofline { .. } => "More than the chip can do",
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
                    write!(f, ", {time:.0} μs of its time")?;
                }
                write!(f, ": move {} to the device.", if ops.len() == 1 { "it" } else { "them" })
            }
            Finding::HighGaps { ops, saving_us, saving_percent, .. } => {
                write!(
                    f,
                    "The device waited before {}. {} of {USUAL_GAP_US} μs would save {saving_us:.0} μs",
                    counted(ops.len(), "operation", "operations"),
                    if ops.len() == 1 { "A gap" } else { "Gaps" },
                )?;
                if let Some(percent) = saving_percent {
                    write!(f, " ({percent:.1} % of all time)")?;
                }
                f.write_str(
                    ": capture the operations as a trace and replay it, leave out waits for the device and reads from \
                     it, and make runtime arguments compile-time arguments where they do not change.",
                )
            }
            Finding::MatrixProduct { bound: None, advice, .. } if advice.is_empty() => {
                f.write_str("Not analysed: its shapes, cores or time are not known.")
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
                    write!(f, "{}{percent:.1} % of the {of}", if number == 0 { "" } else { " and " })?;
                }
                f.write_str(" is more than the chip can do: check that the chip is the right one (--arch).")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_operation_is_not_several() {
        let on_host = |ops| Finding::HostFallback { ops, host_time_us: None }.to_string();
        assert_eq!(on_host(vec![4]), "1 operation ran on the host: move it to the device.");
        assert_eq!(on_host(vec![4, 5]), "2 operations ran on the host: move them to the device.");
        let gaps =
            |ops| Finding::HighGaps { ops, gap_us: 90.0, saving_us: 70.0, saving_percent: None }.to_string();
        for (ops, start) in [
            (vec![4], "The device waited before 1 operation. A gap of 6 μs would save 70 μs: "),
            (vec![4, 5], "The device waited before 2 operations. Gaps of 6 μs would save 70 μs: "),
        ] {
            assert!(gaps(ops.clone()).starts_with(start), "{}", gaps(ops));
        }
    }
}
