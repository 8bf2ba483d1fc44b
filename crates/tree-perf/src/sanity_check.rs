//! Whether the tables of operators account for the device's work.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use perf_models::Category;
use trace_ingest::{StringId, Trace};

use crate::analysis::Analysis;

/// Longest kernel name in a mismatch, in characters.
const NAME_LENGTH: usize = 80;

/// The device's work as the tables have it, beside the device's own. Communication is in neither.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SanityCheck {
    /// Time in µs in which at least one device event ran that is neither communication nor a copy and whose
    /// launch is in the trace.
    pub computation_time_us: f64,
    /// Device events whose launch is in the trace.
    pub device_events: usize,
    /// What the operators launched themselves: `ops_summary` and its like.
    pub launchers: KernelSums,
    /// What `unified_perf_summary` charges to operators.
    pub unified: KernelSums,
}

/// Sums over a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KernelSums {
    /// Kernel time in µs of all rows.
    pub kernel_time_us: f64,
    /// Whether that is at least the computation time, as it must be: rows may overlap, but none may be missing.
    pub time_passes: bool,
    /// Device events of all rows.
    pub device_events: usize,
    /// Kernels that the rows have more or less often than the trace, by name.
    pub mismatches: Vec<CountMismatch>,
}

/// A kernel that a table does not count as often as it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountMismatch {
    /// Name, cut after 80 characters and `...`.
    pub kernel: String,
    /// Device events of this name whose launch is in the trace.
    pub in_trace: usize,
    /// The same in the table's rows.
    pub in_table: usize,
}

impl SanityCheck {
    /// Whether both tables have all time and all device events.
    pub fn passes(&self) -> bool {
        [&self.launchers, &self.unified].into_iter().all(|sums| sums.time_passes && sums.count_passes())
    }
}

impl KernelSums {
    /// Whether the table has every device event once.
    pub fn count_passes(&self) -> bool {
        self.mismatches.is_empty()
    }
}

impl Analysis {
    /// Holds the tables of operators against the device's work; `None` for a trace without operators, which has no
    /// such tables.
    pub fn sanity_check(&self) -> Option<SanityCheck> {
        if self.is_gpu_only() {
            return None;
        }
        let linked = || (0..self.device.len()).filter(|&position| self.device.linked[position]);
        let computation = self.breakdown(linked()).map_or(0, |breakdown| breakdown.computation);
        let mut in_trace: HashMap<StringId, usize> = HashMap::new();
        for position in linked() {
            let name = self.trace().events().name(self.device.ids[position]);
            if !self.device.is_communication(name) {
                *in_trace.entry(name).or_default() += 1;
            }
        }

        let mut launcher_counts: HashMap<StringId, usize> = HashMap::new();
        let communication = Category::Communication.into();
        let computing = || self.launchers.all_parts().filter(|part| part.category != communication);
        for &kernel in computing().flat_map(|part| self.launchers.kernels_of_part(part)) {
            *launcher_counts.entry(self.trace().events().name(kernel)).or_default() += 1;
        }
        let launcher_time: i64 = computing().map(|part| part.direct_time).sum();

        // Communication that is part of an operator's work is charged to it, and is in no count.
        let mut unified_counts: HashMap<StringId, usize> = HashMap::new();
        let rows = || self.unified_rows().iter().filter(|row| row.category != communication);
        for &event in rows().flat_map(|row| &row.charged.device_events) {
            let name = self.trace().events().name(event);
            if in_trace.contains_key(&name) {
                *unified_counts.entry(name).or_default() += 1;
            }
        }
        let unified_time: i64 = rows().map(|row| row.time).sum();

        let sums = |time: i64, counted: &HashMap<StringId, usize>| KernelSums {
            kernel_time_us: self.us(time),
            time_passes: time >= computation,
            device_events: counted.values().sum(),
            mismatches: mismatches(self.trace(), &in_trace, counted),
        };
        Some(SanityCheck {
            computation_time_us: self.us(computation),
            device_events: in_trace.values().sum(),
            launchers: sums(launcher_time, &launcher_counts),
            unified: sums(unified_time, &unified_counts),
        })
    }
}

fn mismatches(
    trace: &Trace,
    in_trace: &HashMap<StringId, usize>,
    in_table: &HashMap<StringId, usize>,
) -> Vec<CountMismatch> {
    let count = |counts: &HashMap<StringId, usize>, name: StringId| counts.get(&name).copied().unwrap_or(0);
    let names: BTreeMap<&str, StringId> =
        in_trace.keys().chain(in_table.keys()).map(|&name| (trace.text(name), name)).collect();
    names
        .into_iter()
        .map(|(text, name)| (text, count(in_trace, name), count(in_table, name)))
        .filter(|(_, in_trace, in_table)| in_trace != in_table)
        .map(|(text, in_trace, in_table)| CountMismatch { kernel: shortened(text), in_trace, in_table })
        .collect()
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_LENGTH) {
        Some((cut, _)) => format!("{}...", &name[..cut]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, TraceBuilder};

    use super::*;

    #[test]
    fn kernels_of_which_a_table_has_more_or_less_are_named() {
        let mut builder = TraceBuilder::new();
        let track = builder.track(0, 7);
        let long = "k".repeat(100);
        for name in [long.as_str(), "same", "twice", "only in the table"] {
            builder.event(Category::KERNEL, name, track, 0, 1, EventArguments::default());
        }
        let trace = builder.finish();
        let counts = |counts: &[(&str, usize)]| -> HashMap<StringId, usize> {
            counts.iter().map(|&(name, count)| (trace.strings().find(name).unwrap(), count)).collect()
        };
        let in_trace = counts(&[(&long, 1), ("same", 3), ("twice", 1)]);
        let in_table = counts(&[("same", 3), ("twice", 2), ("only in the table", 1)]);
        let mismatch =
            |kernel: &str, in_trace, in_table| CountMismatch { kernel: kernel.into(), in_trace, in_table };
        let expected = [
            mismatch(&format!("{}...", "k".repeat(80)), 1, 0),
            mismatch("only in the table", 0, 1),
            mismatch("twice", 1, 2),
        ];
        assert_eq!(mismatches(&trace, &in_trace, &in_table), expected);
        assert_eq!(mismatches(&trace, &in_trace, &in_trace), []);
    }
}
