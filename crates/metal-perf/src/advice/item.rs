//! What can be done about one matrix product.

use std::fmt;

use crate::fidelity::FidelityHint;

/// Something to try, or to know, about one matrix product. Its `Display` is a sentence without a period.
#[derive(Clone, Debug, PartialEq)]
pub enum Advice {
    /// Figures are left out, because neither the operation nor the user says how many experts are computed.
    ActiveExpertsUnknown,
    /// Weights could be spread over the banks of the DRAM.
    DramShardedProgramConfig,
    /// More cores could take part.
    LargerGrid {
        /// Cores that it ran on.
        cores: u32,
        /// Cores that it could have run on.
        available: u32,
    },
    /// Another fidelity suits the datatypes better.
    Fidelity(FidelityHint),
    /// The first input does not lie in L1.
    InputOutsideL1 {
        /// Where it lies: `DEV_0_DRAM_INTERLEAVED`.
        memory: String,
    },
    /// No program configuration was given.
    NoProgramConfig,
    /// The program configuration does not say how wide the blocks of the first input are.
    NoInnerBlock,
    /// The blocks of the first input are narrow.
    SmallInnerBlock {
        /// `in0_block_w`, in tiles.
        width: u32,
    },
    /// The program configuration does not say how large the subblocks of the output are.
    NoOutSubblock,
    /// The subblocks of the output are small.
    SmallOutSubblock {
        /// `out_subblock_h`, in tiles.
        height: u32,
        /// `out_subblock_w`, in tiles.
        width: u32,
    },
    /// Nothing is wrong with the program configuration.
    ConfigFine {
        /// `in0_block_w`, in tiles.
        inner_block_width: u32,
        /// `out_subblock_h` and `out_subblock_w`, in tiles; DRAM-sharded products have none.
        out_subblock: Option<(u32, u32)>,
    },
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::ActiveExpertsUnknown => f.write_str(
                "No figures, as nothing says how many experts are active: name their number with --active-experts",
            ),
            Advice::DramShardedProgramConfig => {
                f.write_str("Bound by DRAM: a DRAM-sharded program config reads the weights from all banks at once")
            }
            Advice::LargerGrid { cores, available } => {
                write!(f, "Runs on {cores} of {available} cores: spread it over a larger grid")
            }
            Advice::Fidelity(hint) => hint.fmt(f),
            Advice::InputOutsideL1 { memory } => {
                write!(f, "Input 0 is read from {memory}: keep it in L1 where it fits")
            }
            Advice::NoProgramConfig => f.write_str(
                "Has no program config: give one to choose in0_block_w, out_subblock_h and out_subblock_w",
            ),
            Advice::NoInnerBlock => f.write_str("The program config does not set in0_block_w"),
            Advice::SmallInnerBlock { width } => {
                write!(f, "in0_block_w={width} is small: try 2 or more")
            }
            Advice::NoOutSubblock => f.write_str("The program config sets no output subblock"),
            Advice::SmallOutSubblock { height, width } => {
                write!(f, "The output subblock of {height}x{width} is small: try 2 tiles or more")
            }
            Advice::ConfigFine { inner_block_width, out_subblock: Some((height, width)) } => write!(
                f,
                "Nothing to change in the program config: in0_block_w={inner_block_width}, output subblock {height}x{width}"
            ),
            Advice::ConfigFine { inner_block_width, out_subblock: None } => {
                write!(f, "Nothing to change in the program config: in0_block_w={inner_block_width}")
            }
        }
    }
}
