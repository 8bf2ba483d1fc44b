//! How reports name bounds, categories and models.

use crate::op::{Analysed, Bound, OpCategory};

impl Bound {
    /// Name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Bound::Dram => "DRAM",
            Bound::Flop => "FLOP",
            Bound::Both => "BOTH",
            Bound::Slow => "SLOW",
            Bound::Host => "HOST",
        }
    }
}

impl OpCategory {
    /// Name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            OpCategory::Compute => "Compute",
            OpCategory::Ccl => "CCL",
            OpCategory::Tm => "TM",
            OpCategory::Dm => "DM",
            OpCategory::Host => "Host",
            OpCategory::Other => "Other",
        }
    }
}

impl Analysed {
    /// Name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Analysed::Full => "full",
            Analysed::FlopsOnly => "flops_only",
            Analysed::DramOnly => "dram_only",
            Analysed::None => "none",
        }
    }
}
