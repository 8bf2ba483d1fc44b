//! What kind of work an instruction does, and which instructions exchange data between devices.

use std::fmt;

use perf_models::{Category, custom_call_category};

use crate::{HloInstruction, InstructionRef, Shape};

/// What kind of work an instruction does, by its opcode, the function that it calls and the instructions of its
/// fusion; never by the name of a kernel. Displays as reports write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HloKind {
    /// Matrix multiplication, alone or with what is fused to it.
    Gemm,
    /// Forward convolution, or one whose direction is not known.
    ConvForward,
    /// Gradient of a convolution.
    ConvBackward,
    /// Fused attention, forward.
    AttentionForward,
    /// Fused attention, backward.
    AttentionBackward,
    /// Normalization by a library.
    Normalization,
    /// Reductions, over windows or whole dimensions, with what is fused to them.
    Reduction,
    /// Element by element.
    Elementwise,
    /// Copies, transposes, slices: no arithmetic.
    DataMovement,
    /// Sorting and selection of the largest.
    Sort,
    /// Random numbers.
    Random,
    /// Data from or to other devices or the host.
    Communication,
    /// Loops, branches and calls.
    ControlFlow,
    /// A function of the user or of a library that is none of the above.
    CustomCall,
    /// None of the others.
    Other,
}

impl HloKind {
    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gemm => "GEMM",
            Self::ConvForward => "CONV_fwd",
            Self::ConvBackward => "CONV_bwd",
            Self::AttentionForward => "SDPA_fwd",
            Self::AttentionBackward => "SDPA_bwd",
            Self::Normalization => "NORM",
            Self::Reduction => "reduce",
            Self::Elementwise => "elementwise",
            Self::DataMovement => "data_movement",
            Self::Sort => "sort",
            Self::Random => "random",
            Self::Communication => "communication",
            Self::ControlFlow => "control_flow",
            Self::CustomCall => "custom_call",
            Self::Other => "other",
        }
    }

    /// The kind of an instruction by its opcode and target alone; `None` where what it calls decides.
    pub(crate) fn from_opcode(instruction: &HloInstruction) -> Option<Self> {
        let opcode = instruction.opcode.as_str();
        Some(match opcode {
            "fusion" | "call" | "async-start" | "async-update" | "async-done" => return None,
            "custom-call" => Self::from_target(&instruction.custom_call_target),
            "dot" | "ragged-dot" | "scaled-dot" => Self::Gemm,
            "convolution" => Self::ConvForward,
            "while" | "conditional" => Self::ControlFlow,
            "sort" | "topk" => Self::Sort,
            "rng" | "rng-bit-generator" | "rng-get-and-update-state" => Self::Random,
            "reduce" | "reduce-window" | "select-and-scatter" => Self::Reduction,
            "batch-norm-training" | "batch-norm-inference" | "batch-norm-grad" => Self::Normalization,
            "send" | "send-done" | "recv" | "recv-done" | "infeed" | "outfeed" => Self::Communication,
            _ if is_collective(opcode) => Self::Communication,
            _ if is_movement(opcode) => Self::DataMovement,
            _ if is_elementwise(opcode) => Self::Elementwise,
            _ => Self::Other,
        })
    }

    /// The kind of a custom call.
    pub(crate) fn from_target(target: &str) -> Self {
        match custom_call_category(target) {
            Some(Category::SdpaForward) => Self::AttentionForward,
            Some(Category::SdpaBackward) => Self::AttentionBackward,
            Some(Category::ConvForward) => Self::ConvForward,
            Some(Category::ConvBackward) => Self::ConvBackward,
            Some(Category::Gemm) => Self::Gemm,
            Some(Category::NormForward) => Self::Normalization,
            Some(Category::SortIndex) => Self::Sort,
            Some(Category::Communication) => Self::Communication,
            _ => Self::CustomCall,
        }
    }
}

impl fmt::Display for HloKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl InstructionRef<'_> {
    /// What kind of work the instruction does. The end of an asynchronous operation is of its start's kind.
    #[must_use]
    pub fn kind(self) -> HloKind {
        self.cost().kind
    }
}

/// Opcodes that move data or only name it.
fn is_movement(opcode: &str) -> bool {
    matches!(
        opcode,
        "parameter"
            | "constant"
            | "iota"
            | "tuple"
            | "get-tuple-element"
            | "bitcast"
            | "broadcast"
            | "reshape"
            | "dynamic-reshape"
            | "transpose"
            | "copy"
            | "copy-start"
            | "copy-done"
            | "slice"
            | "dynamic-slice"
            | "dynamic-update-slice"
            | "concatenate"
            | "pad"
            | "reverse"
            | "gather"
            | "scatter"
    )
}

/// Opcodes that make each element of their result from the elements at the same place.
pub(crate) fn is_elementwise(opcode: &str) -> bool {
    is_arithmetic(opcode)
        || matches!(
            opcode,
            "select"
                | "compare"
                | "convert"
                | "bitcast-convert"
                | "reduce-precision"
                | "and"
                | "or"
                | "xor"
                | "not"
                | "is-finite"
                | "real"
                | "imag"
                | "complex"
                | "map"
                | "shift-left"
                | "shift-right-arithmetic"
                | "shift-right-logical"
                | "popcnt"
                | "count-leading-zeros"
                | "stochastic-convert"
        )
}

/// Opcodes that take an operation for each element of their result.
///
/// Those of XLA's `HloCostAnalysis::HandleElementwiseOp`, less those that only compare, choose, convert or
/// work on bits. A transcendental function counts as one operation.
pub(crate) fn is_arithmetic(opcode: &str) -> bool {
    matches!(
        opcode,
        "add"
            | "subtract"
            | "multiply"
            | "divide"
            | "remainder"
            | "negate"
            | "abs"
            | "maximum"
            | "minimum"
            | "clamp"
            | "power"
            | "exponential"
            | "exponential-minus-one"
            | "log"
            | "log-plus-one"
            | "logistic"
            | "sqrt"
            | "rsqrt"
            | "cbrt"
            | "sine"
            | "cosine"
            | "tan"
            | "tanh"
            | "acos"
            | "acosh"
            | "asin"
            | "asinh"
            | "atanh"
            | "sinh"
            | "cosh"
            | "atan2"
            | "erf"
            | "sign"
            | "floor"
            | "ceil"
            | "round-nearest-afz"
            | "round-nearest-even"
    )
}

const COLLECTIVES: [&str; 7] = [
    "all-gather",
    "all-reduce",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
];

/// Whether an opcode is that of a collective, of its start or of its end.
pub(crate) fn is_collective(opcode: &str) -> bool {
    let base = opcode.strip_suffix("-start").or_else(|| opcode.strip_suffix("-done")).unwrap_or(opcode);
    COLLECTIVES.contains(&base)
}

/// The results of a start: gathers and permutations return `(operands, results, context...)`.
pub(crate) fn output_shape(of: &HloInstruction) -> &Shape {
    match (of.opcode.as_str(), of.shape.parts()) {
        ("all-reduce-start", _) => &of.shape,
        (opcode, [_, results, ..]) if opcode.ends_with("-start") => results,
        _ => &of.shape,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_kind_of_their_library_call() {
        for (target, kind) in [
            ("__cublas$gemm", HloKind::Gemm),
            ("__cublas$lt$matmul$f8", HloKind::Gemm),
            ("te_gemm_ffi", HloKind::Gemm),
            ("__cublas$triangularSolve", HloKind::CustomCall),
            ("__cudnn$convForward", HloKind::ConvForward),
            ("__cudnn$convBiasActivationForward", HloKind::ConvForward),
            ("__cudnn$convBackwardInput", HloKind::ConvBackward),
            ("__cudnn$convBackwardFilter", HloKind::ConvBackward),
            ("__cudnn$fmhaSoftmax", HloKind::AttentionForward),
            ("__cudnn$fmhaScaleBiasSoftmaxBackward", HloKind::AttentionBackward),
            ("te_fused_attn_forward_ffi", HloKind::AttentionForward),
            ("te_fused_attn_backward_ffi", HloKind::AttentionBackward),
            ("te_layernorm_forward_ffi", HloKind::Normalization),
            ("__cub$DeviceRadixSort", HloKind::Sort),
            ("Sharding", HloKind::CustomCall),
        ] {
            assert_eq!(HloKind::from_target(target), kind, "{target}");
        }
    }

    #[test]
    fn opcodes_have_a_kind() {
        for (opcode, kind) in [
            ("all-gather-start", Some(HloKind::Communication)),
            ("copy-done", Some(HloKind::DataMovement)),
            ("compare", Some(HloKind::Elementwise)),
            ("tanh", Some(HloKind::Elementwise)),
            ("while", Some(HloKind::ControlFlow)),
            ("fusion", None),
            ("after-all", Some(HloKind::Other)),
        ] {
            let instruction = HloInstruction { opcode: opcode.into(), ..HloInstruction::default() };
            assert_eq!(HloKind::from_opcode(&instruction), kind, "{opcode}");
        }
    }
}
