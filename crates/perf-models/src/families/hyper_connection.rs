//! Manifold-constrained hyper-connections.
//!
//! A residual stream is widened to n streams of C channels; each layer reads a mixture of them and its
//! output is mixed back ([hyper-connections], [manifold-constrained]). The kernels before the layer find
//! the mixture with a small matrix multiplication in FP32, split over the inner dimension; those after it
//! apply an n×n matrix and a vector of n to each token.
//!
//! [hyper-connections]: https://arxiv.org/abs/2409.19606
//! [manifold-constrained]: https://arxiv.org/abs/2512.24880

use super::{OpGroup, op};
use crate::recorded::{Assumptions, Read, Recorded};
use crate::tensor::count_value;
use crate::{
    Category, ComputeSpec, ComputeUnit, Family, Figure, OpCall, Parameter, PerfModel, Undefined, Value,
    element_size, precision,
};

/// Bytes of mixture coefficients and partial results, which are kept in FP32.
const FP32: f64 = 4.0;

/// A kernel of a hyper-connection.
///
/// ```
/// use perf_models::{HyperConnection, HyperConnectionStage, PerfModel};
///
/// // After a layer: 64 tokens, 4 streams of 4096 channels.
/// let post = HyperConnection {
///     tokens: 64,
///     streams: 4,
///     channels: 4096,
///     element_type: "c10::BFloat16".into(),
///     stage: HyperConnectionStage::Post,
/// };
/// // Each of the 4 new streams is a sum of the layer's output and the 4 streams, each times a coefficient.
/// assert_eq!(post.flops()?, 64.0 * 4096.0 * 4.0 * 2.0 * (4.0 + 1.0));
/// // The output and the streams read, the new streams written; 4·4 + 4 coefficients a token.
/// assert_eq!(post.bytes()?, 2.0 * 64.0 * 4096.0 * (1.0 + 4.0 + 4.0) + 4.0 * 64.0 * (16.0 + 4.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HyperConnection {
    /// Tokens (M).
    pub tokens: u64,
    /// Residual streams (n).
    pub streams: u64,
    /// Channels of a stream (C).
    pub channels: u64,
    /// Element type of the streams.
    pub element_type: String,
    /// Which kernel it is.
    pub stage: HyperConnectionStage,
}

/// The kernels of a hyper-connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HyperConnectionStage {
    /// After a layer: mixes its output and the streams into the new streams.
    Post,
    /// Before a layer: matrix multiplication that finds the mixture, and the sum of squares.
    PreMatmul(MixtureMatmul),
    /// Before a layer: coefficients from the partial results, mixture of the streams, RMS normalization.
    PreNorm {
        /// Coefficients of a token (`hc3`).
        coefficients: u64,
        /// Partial results of the multiplication.
        splits: u64,
    },
    /// After one layer and before the next, in one kernel.
    PostAndPreMatmul(MixtureMatmul),
}

/// The matrix multiplication that finds the mixture of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixtureMatmul {
    /// Coefficients of a token (`hc3`): columns of the result.
    pub coefficients: u64,
    /// Inner dimension (K): streams × channels.
    pub inner: u64,
    /// Parts of the inner dimension that are summed later.
    pub splits: u64,
}

impl MixtureMatmul {
    fn flops(self, tokens: f64) -> f64 {
        2.0 * tokens * self.coefficients as f64 * self.inner as f64
    }

    /// Weight, partial results and partial sums of squares.
    fn bytes(self, tokens: f64) -> f64 {
        let coefficients = self.coefficients as f64;
        FP32 * coefficients * self.inner as f64 + FP32 * self.splits as f64 * tokens * (coefficients + 1.0)
    }
}

impl HyperConnection {
    /// A token's n×n mixture and its vector of n, applied to each channel.
    fn mixture_flops(&self) -> f64 {
        let streams = self.streams as f64;
        2.0 * self.stream_elements() * (streams + 1.0)
    }

    /// Coefficients of all tokens.
    fn mixture_bytes(&self) -> f64 {
        let (tokens, streams) = (self.tokens as f64, self.streams as f64);
        FP32 * tokens * streams + FP32 * tokens * streams * streams
    }

    fn layer_elements(&self) -> f64 {
        self.tokens as f64 * self.channels as f64
    }

    fn stream_elements(&self) -> f64 {
        self.tokens as f64 * self.streams as f64 * self.channels as f64
    }
}

impl PerfModel for HyperConnection {
    /// With M tokens, n streams of C channels, c coefficients and inner dimension K: the mixture of the streams is
    /// `2·M·n·C·(n + 1)`, the multiplication `2·M·c·K`, mixture and normalization before a layer `2·M·n·C + 5·M·C`.
    fn flops(&self) -> Figure {
        let tokens = self.tokens as f64;
        Ok(match self.stage {
            HyperConnectionStage::Post => self.mixture_flops(),
            HyperConnectionStage::PreMatmul(matmul) => matmul.flops(tokens),
            HyperConnectionStage::PreNorm { .. } => {
                2.0 * self.stream_elements() + 5.0 * self.layer_elements()
            }
            HyperConnectionStage::PostAndPreMatmul(matmul) => self.mixture_flops() + matmul.flops(tokens),
        })
    }

    /// Streams and the layer's input or output in their own type; coefficients, the weight of the multiplication
    /// and its partial results in FP32. Each is read or written once.
    fn bytes(&self) -> Figure {
        let size = element_size(&self.element_type)?;
        let (tokens, layer, streams) = (self.tokens as f64, self.layer_elements(), self.stream_elements());
        Ok(match self.stage {
            HyperConnectionStage::Post => size * (layer + 2.0 * streams) + self.mixture_bytes(),
            HyperConnectionStage::PreMatmul(matmul) => size * streams + matmul.bytes(tokens),
            HyperConnectionStage::PreNorm { coefficients, splits } => {
                let partial_results = FP32 * splits as f64 * tokens * coefficients as f64;
                size * (streams + self.channels as f64 + layer) + partial_results + self.mixture_bytes()
            }
            HyperConnectionStage::PostAndPreMatmul(matmul) => {
                size * (layer + 3.0 * streams) + self.mixture_bytes() + matmul.bytes(tokens)
            }
        })
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        let unit = match self.stage {
            HyperConnectionStage::Post | HyperConnectionStage::PreNorm { .. } => ComputeUnit::Vector,
            HyperConnectionStage::PreMatmul(_) | HyperConnectionStage::PostAndPreMatmul(_) => {
                ComputeUnit::Matrix
            }
        };
        Some(ComputeSpec { unit, precision: precision(&self.element_type)? })
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![
            ("M", count_value(self.tokens)),
            ("n", count_value(self.streams)),
            ("C", count_value(self.channels)),
        ];
        match self.stage {
            HyperConnectionStage::Post => parameters.push(("hc3", Value::None)),
            HyperConnectionStage::PreNorm { coefficients, splits } => {
                parameters.extend([("hc3", count_value(coefficients)), ("split_k", count_value(splits))]);
            }
            HyperConnectionStage::PreMatmul(matmul) | HyperConnectionStage::PostAndPreMatmul(matmul) => {
                parameters.extend([
                    ("hc3", count_value(matmul.coefficients)),
                    ("K", count_value(matmul.inner)),
                    ("split_k", count_value(matmul.splits)),
                ]);
            }
        }
        parameters.push(("dtype_in", Value::from(self.element_type.as_str())));
        parameters
    }
}

/// A kernel on streams of the element type of input `typed`; `sizes` are tokens, streams and channels.
fn connection(call: &OpCall<'_>, typed: usize, sizes: [u64; 3], stage: HyperConnectionStage) -> Read {
    let [tokens, streams, channels] = sizes;
    let mut assumed = Assumptions::default();
    let element_type =
        assumed.recorded_or(call.type_of(typed).ok(), "element type", "c10::BFloat16").to_owned();
    Ok(Recorded::new(HyperConnection { tokens, streams, channels, element_type, stage })
        .with_notes(assumed.0))
}

fn post(call: &OpCall<'_>) -> Read {
    let [tokens, channels] = call.dimensions_of(1)?;
    connection(call, 1, [tokens, call.dimension(0, 1)?, channels], HyperConnectionStage::Post)
}

fn matmul(call: &OpCall<'_>, weight: usize) -> Result<MixtureMatmul, Undefined> {
    let [coefficients, inner] = call.dimensions_of(weight)?;
    Ok(MixtureMatmul { coefficients, inner, splits: call.dimension(0, 0)? })
}

fn pre_matmul(call: &OpCall<'_>) -> Read {
    let sizes = call.dimensions_of(2)?;
    connection(call, 2, sizes, HyperConnectionStage::PreMatmul(matmul(call, 3)?))
}

fn pre_norm(call: &OpCall<'_>) -> Read {
    let [tokens, channels] = call.dimensions_of(2)?;
    let (coefficients, splits) = (call.dimension(6, 0)?, call.dimension(3, 0)?);
    let sizes = [tokens, call.dimension(0, 1)?, channels];
    connection(call, 7, sizes, HyperConnectionStage::PreNorm { coefficients, splits })
}

fn post_and_pre_matmul(call: &OpCall<'_>) -> Read {
    let [tokens, channels] = call.dimensions_of(3)?;
    let sizes = [tokens, call.dimension(2, 1)?, channels];
    connection(call, 3, sizes, HyperConnectionStage::PostAndPreMatmul(matmul(call, 7)?))
}

pub(super) const GROUPS: &[OpGroup] = &[OpGroup::modelled(
    Family::HyperConnection,
    Category::HyperConnection,
    &[
        op("aiter::mhc_post", post),
        op("aiter::mhc_pre_gemm_sqrsum", pre_matmul),
        op("aiter::mhc_pre_big_fuse_rmsnorm", pre_norm),
        op("aiter::mhc_fused_post_pre_gemm_sqrsum", post_and_pre_matmul),
    ],
)];
