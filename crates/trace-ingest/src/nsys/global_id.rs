//! Ids of processes and threads, packed into 64 bits.

/// Bits of the number of a thread in its process, and of a process in its machine.
const BITS: u32 = 24;
const MASK: u64 = (1 << BITS) - 1;

/// From the top: 8 bits of the hardware, 8 of the virtual machine, 24 of the process, 24 of the thread. A database has
/// it as a number with sign, which is negative where the hardware's number is above 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct GlobalId(u64);

impl GlobalId {
    /// From a column, in which 0 is none.
    pub(super) fn from_column(value: Option<i64>) -> Option<GlobalId> {
        value.filter(|&value| value != 0).map(|value| GlobalId(value as u64))
    }

    pub(super) fn from_packed(id: u64) -> GlobalId {
        GlobalId(id)
    }

    /// The number itself.
    pub(super) fn packed(self) -> u64 {
        self.0
    }

    /// The process, of which it is itself or a thread.
    pub(super) fn process(self) -> GlobalId {
        GlobalId(self.0 & !MASK)
    }

    /// Number that the system gave the process.
    pub(super) fn pid(self) -> i64 {
        ((self.0 >> BITS) & MASK) as i64
    }

    /// Number that the system gave the thread.
    pub(super) fn tid(self) -> i64 {
        (self.0 & MASK) as i64
    }

    /// Number of the machine: hardware and virtual machine.
    pub(super) fn machine(self) -> u64 {
        self.0 >> (2 * BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unpacked_from_bits_without_sign() {
        for (packed, machine, pid, tid) in [
            (281_476_838_981_743, 1, 111, 111),
            (283_004_824_020_018, 1, 91186, 91186),
            (-144_115_186_213_584_785, 0xfe00, 111, 111),
        ] {
            let id = GlobalId::from_column(Some(packed)).unwrap();
            assert_eq!((id.machine(), id.pid(), id.tid()), (machine, pid, tid), "{packed}");
            assert_eq!((id.process().pid(), id.process().tid()), (pid, 0));
        }
        assert_eq!(GlobalId::from_column(Some(0)), None);
        assert_eq!(GlobalId::from_column(None), None);
    }
}
