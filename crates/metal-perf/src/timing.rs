//! Durations and gaps: which the profiler measured, which cannot be right, and sums that keep their digits.

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

/// A sum that carries what rounding cuts off (A. Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation
/// endlicher Summen", ZAMM 54, 1974).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompensatedSum {
    sum: f64,
    rest: f64,
}

impl CompensatedSum {
    pub(crate) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.rest +=
            if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    pub(crate) fn value(self) -> f64 {
        self.sum + self.rest
    }
}

impl FromIterator<f64> for CompensatedSum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sum = CompensatedSum::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_of_large_sums_are_kept() {
        let sum: CompensatedSum = [1e16, 1.0, 1.0, -1e16].into_iter().collect();
        assert!((sum.value() - 2.0).abs() < f64::EPSILON);
        let half: CompensatedSum = [161.244, 81.979, 20.382, 3.470].into_iter().collect();
        assert_eq!(format!("{:.2}", half.value()), "267.07");
    }
}
