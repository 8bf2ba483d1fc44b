//! A call of an operation, and what is found out of it.

use trace_ingest::metal::{OpsTable, Tensor};

use crate::op::{Analysed, SparseBatches};
use crate::options::MetalOptions;

/// What a model says of an operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Modelled {
    /// What stands behind the operation's name: its sizes.
    pub(super) sizes: String,
    pub(super) analysed: Analysed,
    /// Floating point operations; `None` where shapes do not say.
    pub(super) flops: Option<f64>,
    /// Bytes from and to DRAM; `None` where shapes, datatypes or memories do not say.
    pub(super) bytes: Option<f64>,
    /// Whether its weights are sharded over DRAM banks.
    pub(super) dram_sharded: bool,
    pub(super) sparse: Option<SparseBatches>,
}

impl Modelled {
    /// Of an operation whose shapes are not known.
    pub(super) fn unknown_shape(analysed: Analysed) -> Modelled {
        Modelled { sizes: "unknown shape".to_owned(), analysed, ..Modelled::default() }
    }
}

/// An operation as its model sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) table: &'a OpsTable,
    pub(super) name: &'a str,
    pub(super) attributes: &'a str,
    pub(super) inputs: &'a [Tensor],
    pub(super) outputs: &'a [Tensor],
    pub(super) options: &'a MetalOptions,
}
