//! What the smoke test and the fuzz target do with bytes that may be a program.

#![allow(unreachable_pub)] // the fuzz target includes this file too

use hlo_cost::HloModule;

/// Decodes the bytes and asks everything of what they hold; the number of instructions, or `None` where they hold no
/// program.
pub fn program(bytes: &[u8]) -> Option<usize> {
    let module = HloModule::decode(bytes).map_err(|error| error.to_string()).ok()?;
    let mut count = 0;
    for instruction in module.instructions() {
        let cost = instruction.cost();
        for figure in [cost.flops, cost.bytes].into_iter().flatten() {
            assert!(figure >= 0.0 && figure.is_finite(), "{figure}: {instruction:?}");
        }
        let _ = (instruction.shape.to_string(), instruction.operand_texts(), instruction.async_start());
        let groups = instruction.device_groups();
        let _ = (groups.to_string(), groups.of(64));
        count += 1;
    }
    let _ = (module.entry().map(|entry| entry.id), module.to_bytes());
    Some(count)
}
