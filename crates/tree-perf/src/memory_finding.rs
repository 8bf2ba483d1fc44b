//! The memory of the device that needs most, in words.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use sheets::numbers::{bytes, counted, decimal, duration};
use trace_ingest::{MemoryDevice, StringId};

use crate::analysis::Analysis;
use crate::memory::{Growth, MemoryUse, largest};

/// A device's memory in words.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemoryFinding {
    /// The device with the largest peak; the CPU only where nothing else is recorded.
    pub device: MemoryDevice,
    /// The most bytes that were allocated.
    pub peak: i64,
    /// When, in µs from the trace's origin.
    pub peak_us: f64,
    /// The most bytes that were reserved; `None` where the allocator reserves nothing.
    pub reserved: Option<i64>,
    /// Bytes of the peak that were given out while the recording ran.
    pub attributed: i64,
    /// The operator that most of these were given to, with its bytes.
    pub owner: Option<(String, i64)>,
    /// Bytes that memory grew by from the third step on, the number of these steps, and the operator that most of what
    /// the steps leave behind was given to; `None` where it does not grow in each of them.
    pub leak: Option<(i64, usize, Option<String>)>,
    /// Allocations that failed: how many, and the first.
    pub failures: Option<(usize, FailedAllocation)>,
}

/// An allocation for which there was not enough memory.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FailedAllocation {
    /// Device.
    pub device: MemoryDevice,
    /// When, in µs from the trace's origin.
    pub time_us: f64,
    /// Bytes asked for.
    pub bytes: i64,
    /// Bytes allocated and reserved then, where the recorder says it.
    pub allocated: Option<i64>,
    /// See [`FailedAllocation::allocated`].
    pub reserved: Option<i64>,
}

/// Failures first, one statement per line.
impl fmt::Display for MemoryFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((count, first)) = &self.failures {
            write!(
                f,
                "memory: {} for lack of memory; the first requested {} on {} at {}",
                counted(*count, "allocation failed", "allocations failed"),
                bytes(first.bytes),
                first.device,
                duration(first.time_us)
            )?;
            if let Some(allocated) = first.allocated {
                write!(f, " with {} allocated", bytes(allocated))?;
            }
            if let Some(reserved) = first.reserved {
                write!(f, ", {} reserved", bytes(reserved))?;
            }
            f.write_str("\n")?;
        }
        write!(f, "memory: peak {}", bytes(self.peak))?;
        if let Some(reserved) = self.reserved {
            write!(f, ", {} reserved", bytes(reserved))?;
        }
        write!(f, " on {} at {}", self.device, duration(self.peak_us))?;
        if self.peak > 0 {
            let share = self.attributed as f64 / self.peak as f64 * 100.0;
            write!(f, "; {}% of it allocated in this recording", decimal(share, 1))?;
        }
        if let Some((owner, size)) = &self.owner {
            write!(f, " ({owner} {})", bytes(*size))?;
        }
        if let Some((size, steps, owner)) = &self.leak {
            write!(f, "\nmemory: grows in each of the last {steps} steps, by {} in total", bytes(*size))?;
            if let Some(owner) = owner {
                write!(f, "; {owner} allocated most of it")?;
            }
        }
        Ok(())
    }
}

impl Analysis {
    /// The memory of the device with the largest peak; `None` where it is not recorded, or not asked for
    /// ([`AnalysisOptions::memory`](crate::AnalysisOptions::memory)).
    pub fn memory_finding(&self) -> Option<MemoryFinding> {
        let memory = self.memory()?;
        let found = memory.devices.iter().max_by_key(|device| {
            (!device.device.is_cpu(), device.states[device.peak].allocated, Reverse(device.device))
        })?;
        let text = |name: StringId| self.trace().text(name).to_owned();
        let mut owners: BTreeMap<StringId, i64> = BTreeMap::new();
        for block in found.live_at_peak() {
            if let Some(operator) = block.owner.operator {
                *owners.entry(operator).or_default() += block.bytes;
            }
        }
        let failed = self.trace().failed_allocations();
        let first = failed.first().map(|&(event, failed)| FailedAllocation {
            device: failed.device,
            time_us: self.us(self.trace().events().start(event)),
            bytes: failed.bytes,
            allocated: failed.allocated,
            reserved: failed.reserved,
        });
        let peak = found.states[found.peak];
        Some(MemoryFinding {
            device: found.device,
            peak: peak.allocated,
            peak_us: self.us(peak.time),
            reserved: found.reserved_peak(),
            attributed: found.attributed(),
            owner: largest(owners).map(|(owner, size)| (text(owner), size)),
            leak: match found.growth {
                Growth::Leak { bytes, steps, owner } => Some((bytes, steps, owner.map(text))),
                Growth::Steady | Growth::Unknown => None,
            },
            failures: first.map(|first| (failed.len(), first)),
        })
    }

    /// The memory of all devices; `None` where it is not recorded, or not asked for. Computed once.
    pub(crate) fn memory(&self) -> Option<&MemoryUse> {
        let options = self.options();
        if !(options.memory || options.memory_unasked && options.conventions.is_full()) {
            return None;
        }
        let found = || {
            let is_recorded = !self.trace().events().arguments().memory.is_empty();
            is_recorded.then(|| MemoryUse::new(self.tree()))
        };
        self.derived.memory.get_or_init(found).as_ref()
    }
}
