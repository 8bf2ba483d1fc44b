//! The devices whose memory an allocator hands out.

use std::fmt;

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
