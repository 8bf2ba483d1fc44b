//! Durations and gaps: which the profiler measured and which cannot be right.

use trace_ingest::metal::OpRow;

use crate::options::DurationSource;

/// One millisecond: what clocks of a device are off by at most, in nanoseconds.
const PLAUSIBLE_NS: f64 = 1_000_000.0;

/// The row before, signposts not counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreviousRow {
    /// Whether its duration cannot be right.
    pub(crate) invalid_duration: bool,
}

/// Duration of a row in nanoseconds, if it has one.
pub(crate) fn duration_ns(row: &OpRow, source: DurationSource) -> Option<f64> {
    match source {
        DurationSource::Kernel => row.kernel_duration_ns,
        DurationSource::Firmware => row.fw_duration_ns,
    }
}

/// Whether a duration can be right: it is there, it is not negative, and the operation did not start long before
/// the one before it ended (more than 1 ms and more than half of its own time), which says that its time stamps
/// are of another run.
pub(crate) fn is_valid(duration_ns: Option<f64>, op_to_op_ns: Option<f64>) -> bool {
    let Some(duration) = duration_ns.filter(|duration| duration.is_finite() && *duration >= 0.0) else {
        return false;
    };
    let overlaps =
        op_to_op_ns.is_some_and(|gap| gap < -PLAUSIBLE_NS && gap.abs() > (0.5 * duration).max(PLAUSIBLE_NS));
    !overlaps
}

/// From the end of the operation before, in microseconds. The first operation has no gap, nor has one that started
/// before the one before ended; a gap of more than 1 ms beside a duration that cannot be right says nothing either.
pub(crate) fn gap_us(op_to_op_ns: Option<f64>, valid: bool, previous: Option<&PreviousRow>) -> Option<f64> {
    let previous = previous?;
    let gap = op_to_op_ns.filter(|gap| gap.is_finite() && *gap >= 0.0)?;
    let suspect = (!valid || previous.invalid_duration) && gap > PLAUSIBLE_NS;
    (!suspect).then_some(gap / 1000.0)
}
