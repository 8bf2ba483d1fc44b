//! FLOPs and bytes of the experts of a layer.

use crate::tensor::count_value;
use crate::{ComputeSpec, ComputeUnit, Figure, Parameter, PerfModel, Precision};

/// The experts of a mixture-of-experts layer, each token going to `topk` of them.
///
/// * FLOPs: an expert multiplies a token by `hidden x intermediate` weights on the way up, twice that where
///   a gate is multiplied in, and by as many on the way down. The fused kernel also sums the results of a
///   token's experts with their weights, `2 topk - 1` per element.
/// * Bytes: tokens in, tokens out, and the weights of the experts that get any token. Which those are is
///   not recorded: with tokens that choose `topk` of `experts` evenly and independently,
///   [`active_experts`](Self::active_experts) are expected.
///
/// ```
/// use perf_models::{ExpertLayer, ExpertStage, PerfModel, Precision};
///
/// let up = ExpertLayer {
///     stage: ExpertStage::Up,
///     tokens: 32,
///     hidden: 3072,
///     intermediate: 3072,
///     experts: 32,
///     topk: 4,
///     gated: true,
///     input_bytes: 2.0,
///     weight_bytes: 0.5,
///     output_bytes: 2.0,
///     precision: Some(Precision::Fp4),
/// };
/// assert_eq!(up.flops(), Ok(4_831_838_208.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpertLayer {
    /// Which part of the layer.
    pub stage: ExpertStage,
    /// Tokens, before any is copied to its experts.
    pub tokens: u64,
    /// Elements of a token.
    pub hidden: u64,
    /// Elements between the way up and the way down, in one expert.
    pub intermediate: u64,
    /// Experts of the layer.
    pub experts: u64,
    /// Experts of a token.
    pub topk: u64,
    /// A gate of the same size is multiplied in on the way up.
    pub gated: bool,
    /// Bytes of an input element.
    pub input_bytes: f64,
    /// Bytes of a weight, half a byte for four bits.
    pub weight_bytes: f64,
    /// Bytes of an output element.
    pub output_bytes: f64,
    /// Precision of the multiplications.
    pub precision: Option<Precision>,
}

/// Parts of the experts' work that kernels do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExpertStage {
    /// Up, down, and the sum over a token's experts.
    #[default]
    Fused,
    /// To the intermediate elements, gate included.
    Up,
    /// Back from them.
    Down,
}

/// Experts that get at least one of `tokens`, expected under even and independent routing.
pub(super) fn active_experts(experts: u64, topk: u64, tokens: u64) -> f64 {
    if experts == 0 {
        return 0.0;
    }
    let experts = experts as f64;
    let missed = ((experts - topk as f64) / experts).max(0.0);
    experts * (1.0 - missed.powf(tokens as f64))
}

impl ExpertLayer {
    /// Experts that get at least one token, expected under even and independent routing:
    /// `experts (1 - ((experts - topk) / experts)^tokens)`.
    #[must_use]
    pub fn active_experts(&self) -> f64 {
        active_experts(self.experts, self.topk, self.tokens)
    }

    fn up_matrices(&self) -> f64 {
        if self.gated { 2.0 } else { 1.0 }
    }
}

impl PerfModel for ExpertLayer {
    fn flops(&self) -> Figure {
        let (tokens, hidden, topk) = (self.tokens as f64, self.hidden as f64, self.topk as f64);
        let matrix = 2.0 * tokens * hidden * self.intermediate as f64 * topk;
        Ok(match self.stage {
            ExpertStage::Up => matrix * self.up_matrices(),
            ExpertStage::Down => matrix,
            ExpertStage::Fused => {
                matrix * self.up_matrices() + matrix + tokens * hidden * (2.0 * topk - 1.0).max(0.0)
            }
        })
    }

    fn bytes(&self) -> Figure {
        let outer = self.tokens as f64 * self.hidden as f64;
        let inner = self.tokens as f64 * self.intermediate as f64 * self.topk as f64;
        let matrix =
            self.active_experts() * self.intermediate as f64 * self.hidden as f64 * self.weight_bytes;
        let (inputs, matrices, outputs) = match self.stage {
            ExpertStage::Up => (outer, self.up_matrices(), inner),
            ExpertStage::Down => (inner, 1.0, outer),
            ExpertStage::Fused => (outer, self.up_matrices() + 1.0, outer),
        };
        Ok(inputs * self.input_bytes + matrices * matrix + outputs * self.output_bytes)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.precision.map(|precision| ComputeSpec { unit: ComputeUnit::Matrix, precision })
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("num_tokens", count_value(self.tokens)),
            ("hidden_dim", count_value(self.hidden)),
            ("inter_dim", count_value(self.intermediate)),
            ("num_experts", count_value(self.experts)),
            ("topk", count_value(self.topk)),
            ("gated", self.gated.into()),
        ]
    }
}
