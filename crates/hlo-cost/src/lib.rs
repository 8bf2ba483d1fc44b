#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// Implements [`prost::Message`] for a type whose form in memory is not that of its message: encodes it by way of
/// `$message: From<&$type>`, and decodes each field into a `$message` that `absorb` takes in.
macro_rules! message_by_way_of {
    ($type:ty, $message:ty) => {
        impl prost::Message for $type {
            fn encode_raw(&self, buf: &mut impl prost::bytes::BufMut) {
                <$message>::from(self).encode_raw(buf);
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: prost::encoding::WireType,
                buf: &mut impl prost::bytes::Buf,
                ctx: prost::encoding::DecodeContext,
            ) -> Result<(), prost::DecodeError> {
                let mut fields = <$message>::default();
                fields.merge_field(tag, wire_type, buf, ctx)?;
                self.absorb(fields);
                Ok(())
            }

            fn encoded_len(&self) -> usize {
                <$message>::from(self).encoded_len()
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        }
    };
}

mod attention;
mod backend_config;
mod bytes;
mod contraction;
mod cost;
mod element_type;
mod evaluation;
mod kind;
mod module;
mod replica_groups;
mod shape;
mod work;

pub use cost::HloCost;
pub use element_type::ElementType;
pub use kind::HloKind;
pub use module::{
    ConvolutionDimensionNumbers, DotDimensionNumbers, FileLocation, HloComputation, HloDecodeError,
    HloInstruction, HloModule, InstructionRef, OpMetadata, SourceTarget, StackFrame, StackFrameIndex, Window,
    WindowDimension,
};
pub use replica_groups::{ReplicaGroup, ReplicaGroups};
pub use shape::{ArrayShape, Layout, Shape, Tile};
