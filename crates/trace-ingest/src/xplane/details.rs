//! The texts in which a GPU's profiler puts launch geometry and copies: `key:value` pairs.

use crate::event_table::{LaunchGeometry, MemoryTransfer};

/// More registers per thread than any GPU has: AMD's profiler once wrote uninitialised memory here and
/// beside it.
const MOST_REGISTERS: u64 = 4096;

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_ascii_whitespace().filter_map(|pair| pair.split_once(':'))
}

/// Geometry in a `kernel_details`, such as `grid:219,40,1 block:256,1,1 private_mem:0 group_mem:0`.
pub(crate) fn read_geometry(text: &str) -> Option<LaunchGeometry> {
    let (mut grid, mut block) = (None, None);
    let (mut registers, mut fixed, mut dynamic, mut group) = (None, None, None, None);
    for (key, value) in pairs(text) {
        let number = || value.parse::<u64>().ok();
        match key {
            "grid" => grid = read_sizes(value),
            "block" => block = read_sizes(value),
            "regs" => registers = number(),
            "static_shared" => fixed = number(),
            "dynamic_shared" => dynamic = number(),
            "group_mem" => group = number(),
            _ => {}
        }
    }
    let plausible = registers.is_none_or(|registers| registers <= MOST_REGISTERS);
    let shared = fixed.zip(dynamic).map(|(fixed, dynamic)| fixed.saturating_add(dynamic));
    let narrow = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
    (grid.is_some() || block.is_some()).then(|| LaunchGeometry {
        grid: grid.unwrap_or([1; 3]),
        block: block.unwrap_or([1; 3]),
        registers_per_thread: narrow(registers.filter(|_| plausible)),
        shared_memory: narrow(group.or(shared.filter(|_| plausible))),
    })
}

fn read_sizes(text: &str) -> Option<[u32; 3]> {
    let mut sizes = [1; 3];
    let mut given = text.split(',');
    for size in &mut sizes {
        match given.next() {
            Some(text) => *size = text.parse().ok()?,
            None => break,
        }
    }
    given.next().is_none().then_some(sizes)
}

/// Size in a `memcpy_details`, such as `kind:Unknown size:655360 dest:2 async:1`.
pub(crate) fn read_transfer(text: &str) -> Option<MemoryTransfer> {
    let bytes = pairs(text).find(|(key, _)| *key == "size").and_then(|(_, value)| value.parse().ok())?;
    Some(MemoryTransfer { bytes: Some(bytes), ..MemoryTransfer::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometry_of_both_vendors_is_read() {
        let geometry = |registers, shared| LaunchGeometry {
            grid: [219, 40, 1],
            block: [256, 1, 1],
            registers_per_thread: registers,
            shared_memory: shared,
        };
        for (text, expected) in [
            (" grid:219,40,1 block:256,1,1 private_mem:0 group_mem:512 occ_pct:0", geometry(None, Some(512))),
            (
                "regs:32 static_shared:16 dynamic_shared:48 grid:219,40,1 block:256,1,1",
                geometry(Some(32), Some(64)),
            ),
            (
                "regs:2191487992 static_shared:32462 dynamic_shared:0 grid:219,40,1 block:256",
                geometry(None, None),
            ),
        ] {
            assert_eq!(read_geometry(text), Some(expected), "{text}");
        }
        assert_eq!(read_geometry("regs:1 grid:1,2,3,4 block:x"), None);
    }

    #[test]
    fn size_of_a_copy_is_read() {
        let transfer = read_transfer("kind:Unknown size:655360 dest:2 async:1");
        assert_eq!(transfer.and_then(|transfer| transfer.bytes), Some(655_360));
        assert_eq!(read_transfer("kind:Unknown size:-1"), None);
    }
}
