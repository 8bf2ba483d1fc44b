//! Arguments of events by their names, whatever the form of the file.

use super::rare_arguments::RareField;

/// An argument that a trace has a column for, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    ExternalId,
    Correlation,
    Device,
    Stream,
    SequenceNumber,
    ForwardThread,
    /// Position among shapes, types, strides, concrete inputs.
    Signature(u8),
    /// Position among id, parent, module.
    Python(u8),
    Grid,
    Block,
    Finished,
    Rare(RareField),
}

impl Argument {
    #[inline(always)]
    pub(crate) fn from_key(key: &[u8]) -> Option<Argument> {
        Some(match key {
            b"External id" => Argument::ExternalId,
            b"correlation" | b"connection_id" => Argument::Correlation,
            b"device" => Argument::Device,
            b"stream" | b"sycl queue" | b"Physic Stream Id" => Argument::Stream,
            b"Sequence number" => Argument::SequenceNumber,
            b"Fwd thread id" => Argument::ForwardThread,
            b"Input Dims" => Argument::Signature(0),
            b"Input type" => Argument::Signature(1),
            b"Input Strides" => Argument::Signature(2),
            b"Concrete Inputs" => Argument::Signature(3),
            b"Python id" => Argument::Python(0),
            b"Python parent id" => Argument::Python(1),
            b"Python module id" => Argument::Python(2),
            b"grid" => Argument::Grid,
            b"block" => Argument::Block,
            b"finished" => Argument::Finished,
            _ => Argument::Rare(RareField::from_key(key)?),
        })
    }
}
