//! The durations of kernels, put together by name.

use gpu_timeline::Summary;

use super::analysis::RocprofAnalysis;

/// The durations of kernels by name, in nanoseconds.
pub(crate) struct KernelGroups {
    /// One per name that ran, in the order of the names.
    pub(crate) rows: Vec<KernelGroup>,
    /// Sum of all durations.
    pub(crate) total: i64,
}

/// The kernels with one name.
#[derive(Clone, Copy)]
pub(crate) struct KernelGroup {
    /// Position of the name.
    pub(crate) name: u32,
    /// Of their durations.
    pub(crate) durations: Summary,
}

impl KernelGroups {
    pub(crate) fn of(analysis: &RocprofAnalysis) -> Self {
        // By counting, into one list: where the durations of each name begin, then where the next one goes.
        let mut next = vec![0_usize; analysis.names().len() + 1];
        let named = || {
            let name = |kernel| analysis.name_of_kernel(kernel) as usize;
            analysis.dispatches().map(move |dispatch| (name(dispatch.kernel), dispatch.duration()))
        };
        for (name, _) in named() {
            next[name + 1] += 1;
        }
        for name in 1..next.len() {
            next[name] += next[name - 1];
        }
        let begins = next.clone();
        let mut durations = vec![0_i64; begins[begins.len() - 1]];
        for (name, duration) in named() {
            durations[next[name]] = duration;
            next[name] += 1;
        }
        let group = |(name, ends): (usize, &[usize])| {
            let durations = Summary::of(&durations[ends[0]..ends[1]])?;
            Some(KernelGroup { name: name as u32, durations })
        };
        let rows: Vec<KernelGroup> = begins.windows(2).enumerate().filter_map(group).collect();
        let total = rows.iter().fold(0_i64, |sum, row| sum.saturating_add(row.durations.sum));
        KernelGroups { rows, total }
    }
}
