//! How many rows there are of each kind.

use crate::op::{Op, OpKind};

/// How many rows there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations of devices.
    pub device_ops: usize,
    /// Operations of the host.
    pub host_ops: usize,
    /// Signposts.
    pub signposts: usize,
}

impl Counts {
    /// Counts rows.
    pub fn of<'a>(ops: impl IntoIterator<Item = &'a Op>) -> Counts {
        ops.into_iter().fold(Counts::default(), |mut counts, op| {
            match op.kind {
                OpKind::Device => counts.device_ops += 1,
                OpKind::Host => counts.host_ops += 1,
                OpKind::Signpost => counts.signposts += 1,
            }
            counts
        })
    }

    /// Rows of any kind.
    pub fn rows(&self) -> usize {
        self.device_ops + self.host_ops + self.signposts
    }
}
