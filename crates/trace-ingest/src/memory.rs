//! What the memory allocator did, device by device.

use std::collections::BTreeMap;
use std::fmt;

use crate::event_table::{EventId, MemoryEvent};
use crate::trace::Trace;

/// A device whose memory PyTorch allocates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryDevice {
    /// `Device Type`: PyTorch's number of the kind of device, 0 for the CPU.
    pub kind: i32,
    /// `Device Id`: index of the device; -1 for the CPU.
    pub index: i32,
}

/// Kinds of devices by PyTorch's numbers (`c10/core/DeviceType.h`).
const KINDS: [(i32, &str); 9] = [
    (MemoryDevice::CPU, "CPU"),
    (1, "CUDA"),
    (6, "HIP"),
    (9, "XLA"),
    (12, "XPU"),
    (MemoryDevice::MPS, "MPS"),
    (15, "HPU"),
    (19, "MTIA"),
    (20, "PrivateUse1"),
];

impl MemoryDevice {
    const CPU: i32 = 0;
    const MPS: i32 = 13;

    /// Whether it is the host.
    #[must_use]
    pub fn is_cpu(self) -> bool {
        self.kind == MemoryDevice::CPU
    }

    /// Whether it is a GPU of Apple.
    pub(crate) fn is_mps(self) -> bool {
        self.kind == MemoryDevice::MPS
    }
}

/// `CUDA 0`, `CPU`.
impl fmt::Display for MemoryDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match KINDS.iter().find(|(kind, _)| *kind == self.kind) {
            Some((_, name)) => f.write_str(name)?,
            None => write!(f, "device type {}", self.kind)?,
        }
        match self.index {
            -1 => Ok(()),
            index => write!(f, " {index}"),
        }
    }
}

impl Trace {
    /// What the allocator of each device did, in the order in which it happened: by time, then by the recorder's order.
    /// Those of the file differ where threads take turns. Allocations that failed (`[OutOfMemory]`) changed nothing and
    /// are left out.
    #[must_use]
    pub fn allocations(&self) -> BTreeMap<MemoryDevice, Vec<(EventId, MemoryEvent)>> {
        let failed = self.strings.find(Self::OUT_OF_MEMORY);
        let mut devices: BTreeMap<MemoryDevice, Vec<(EventId, MemoryEvent)>> = BTreeMap::new();
        for (row, event) in self.events.arguments.memory.iter() {
            let id = EventId(row as u32);
            if Some(self.events.name(id)) != failed {
                devices.entry(event.device).or_default().push((id, event));
            }
        }
        for steps in devices.values_mut() {
            steps.sort_by_key(|&(id, event)| (self.events.start(id), event.index, id));
        }
        devices
    }

    /// The allocations that failed for lack of memory, in the order of time.
    #[must_use]
    pub fn failed_allocations(&self) -> Vec<(EventId, MemoryEvent)> {
        let Some(failed) = self.strings.find(Self::OUT_OF_MEMORY) else { return Vec::new() };
        let all = self.events.arguments.memory.iter().map(|(row, event)| (EventId(row as u32), event));
        let mut found: Vec<_> = all.filter(|&(id, _)| self.events.name(id) == failed).collect();
        found.sort_by_key(|&(id, event)| (self.events.start(id), event.index, id));
        found
    }

    /// Name of the moments at which an allocation failed.
    pub(crate) const OUT_OF_MEMORY: &str = "[OutOfMemory]";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{EventArguments, TraceBuilder};

    #[test]
    fn allocations_stand_by_device_in_the_order_of_time_and_of_the_recorder() {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        let mut add = |name: &str, time, (kind, index), order| {
            let device = MemoryDevice { kind, index };
            let memory = Some(MemoryEvent { device, bytes: 1, index: Some(order), ..MemoryEvent::default() });
            builder.instant(name, track, time, EventArguments { memory, ..EventArguments::default() });
        };
        add("[memory]", 20, (1, 0), 5);
        add("[memory]", 10, (1, 0), 4);
        add("[memory]", 10, (1, 0), 3);
        add("[OutOfMemory]", 5, (1, 0), 1);
        add("[memory]", 1, (0, -1), 0);
        let trace = builder.finish();
        let found: Vec<(String, Vec<Option<i64>>)> = trace
            .allocations()
            .iter()
            .map(|(device, steps)| (device.to_string(), steps.iter().map(|(_, step)| step.index).collect()))
            .collect();
        let expected =
            [("CPU".to_owned(), vec![Some(0)]), ("CUDA 0".to_owned(), vec![Some(3), Some(4), Some(5)])];
        assert_eq!(found, expected);
        assert_eq!(trace.failed_allocations().len(), 1);
        assert_eq!(MemoryDevice { kind: 77, index: 2 }.to_string(), "device type 77 2");
    }
}
