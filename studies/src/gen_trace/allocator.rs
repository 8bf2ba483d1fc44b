//! The memory of the recorded device, as PyTorch's allocator gives it out.

/// Weights and the optimizer's state: live before the recording begins.
const BASE: u64 = 2 << 30;
/// Sizes of blocks are multiples of this.
const GRAIN: u64 = 512;
/// What the allocator takes from the driver at once, or a multiple of it.
const CHUNK: u64 = 20 << 20;
const FIRST_ADDRESS: u64 = 0x7f80_0000_0000;

/// A block that is given out.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) size: u64,
}

/// What is given out, and to which addresses.
#[derive(Clone)]
pub(super) struct Allocator {
    allocated: u64,
    reserved: u64,
    /// Blocks that were given out while the recording ran.
    live: Vec<Block>,
    /// How many of the first of these the program never gives back.
    leaked: usize,
}

impl Allocator {
    pub(super) fn new() -> Self {
        Allocator { allocated: BASE, reserved: BASE.next_multiple_of(CHUNK), live: Vec::new(), leaked: 0 }
    }

    pub(super) fn allocated(&self) -> u64 {
        self.allocated
    }

    pub(super) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Blocks that the program gives back at the end of the step.
    pub(super) fn live(&self) -> usize {
        self.live.len() - self.leaked
    }

    /// Gives out a block at the first free address from this one on, counted in grains.
    pub(super) fn take(&mut self, size: u64, from: u64) -> Block {
        let mut address = FIRST_ADDRESS + from * GRAIN;
        while self.live.iter().any(|block| block.address == address) {
            address += GRAIN;
        }
        let block = Block { address, size };
        self.live.push(block);
        self.allocated += size;
        self.reserved = self.reserved.max(self.allocated.next_multiple_of(CHUNK));
        block
    }

    /// Gives out a block that the program never gives back.
    pub(super) fn leak(&mut self, size: u64, from: u64) -> Block {
        let block = self.take(size, from);
        self.live.pop();
        self.live.insert(self.leaked, block);
        self.leaked += 1;
        block
    }

    /// Takes back the block of this size that was given out last, if there is one.
    pub(super) fn give_back(&mut self, size: u64) -> Option<Block> {
        let at = self.live.iter().skip(self.leaked).rposition(|block| block.size == size)?;
        let block = self.live.remove(self.leaked + at);
        self.allocated -= block.size;
        Some(block)
    }

    /// Takes back the block that was given out last.
    pub(super) fn give_back_last(&mut self) -> Option<Block> {
        let block = if self.live() > 0 { self.live.pop()? } else { return None };
        self.allocated -= block.size;
        Some(block)
    }
}
