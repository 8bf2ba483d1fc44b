//! What the recorder took note of between events: steps of the memory allocator, and samples of device counters. Their
//! arguments are like those of no other entry, so they are read apart and only here.

use super::members::number;
use crate::event_table::MemoryEvent;
use crate::json::number::float;
use crate::json::scanner::{RawValue, Scan, Scanner};
use crate::memory::MemoryDevice;
use crate::trace::Trace;

/// Name of the moments at which the allocator gave a block out or took one back.
const MEMORY: &[u8] = b"[memory]";
/// Name of the moments at which it could not.
const OUT_OF_MEMORY: &[u8] = Trace::OUT_OF_MEMORY.as_bytes();

/// Sizes beyond this, in bytes, are no sizes. Sums and differences of two of them cannot overflow.
const LARGEST: i64 = 1 << 60;

/// Whether a moment of this name is a step of the memory allocator.
pub(crate) fn is_memory(name: Option<&[u8]>) -> bool {
    matches!(name, Some(MEMORY | OUT_OF_MEMORY))
}

/// Values of the arguments of a step of the allocator, at their positions.
pub(crate) type MemoryArguments<'t> = [RawValue<'t>; 7];

/// Position of an argument of such a step.
pub(crate) fn memory_argument(key: &[u8]) -> Option<u8> {
    Some(match key {
        b"Device Type" => 0,
        b"Device Id" => 1,
        b"Bytes" => 2,
        b"Addr" => 3,
        b"Total Allocated" => 4,
        b"Total Reserved" => 5,
        b"Ev Idx" => 6,
        _ => return None,
    })
}

/// The step that these arguments describe; `None` without a readable size and device.
pub(crate) fn memory_event(arguments: &MemoryArguments<'_>) -> Option<MemoryEvent> {
    let [device_type, device, bytes, address, allocated, reserved, index] = arguments.map(number);
    let size = |size: i64| (-LARGEST..=LARGEST).contains(&size).then_some(size);
    Some(MemoryEvent {
        device: MemoryDevice { kind: i32::try_from(device_type?).ok()?, index: i32::try_from(device?).ok()? },
        bytes: size(bytes?)?,
        // Read as a signed number, so that the upper half of the addresses is negative here.
        address: address.map(|address| address as u64),
        allocated: allocated.and_then(size),
        reserved: reserved.and_then(size),
        index,
    })
}

/// The device that a counter of this process belongs to, where the recorder says so: by the process's name
/// `GPU n Counters`, or by its number in the categories that count by device.
pub(crate) fn counted_device(category: &[u8], process: RawValue<'_>) -> Option<i64> {
    match (category, process) {
        (b"hardware_counters" | b"mtia_counters", _) => number(process),
        (_, RawValue::Text(name)) => {
            let index = name.strip_prefix(b"GPU ")?.strip_suffix(b" Counters")?;
            number(RawValue::Bare(index))
        }
        _ => None,
    }
}

/// Hands the series of a sample to `take`, with the value of each; `None` for one that is no finite number.
pub(crate) fn counter_values<'t>(
    arguments: &'t [u8],
    mut take: impl FnMut(&'t [u8], Option<f64>),
) -> Scan<()> {
    let mut scanner = Scanner::new(arguments);
    scanner.expect(b'{', "expected an object")?;
    scanner.members(|scanner, key| {
        take(key, scanner.value()?.number_text().and_then(float));
        Ok(())
    })
}
