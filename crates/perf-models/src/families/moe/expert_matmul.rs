//! One matrix multiplication over all experts.

use super::model::active_experts;
use super::weights::{Width, activation, weight};
use crate::recorded::{Read, Recorded};
use crate::tensor::count_value;
use crate::{ComputeSpec, ComputeUnit, Figure, OpCall, Parameter, PerfModel, Precision, precision};

/// One of the matrix multiplications of a mixture-of-experts layer: `tokens * topk` rows, each with the
/// `k x n` matrix of its expert.
///
/// Bytes count the matrices of the experts that are expected to get a row, as
/// [`ExpertLayer`](crate::ExpertLayer) does.
///
/// ```
/// use perf_models::{ExpertMatmul, PerfModel};
///
/// // A token of one request: exactly `topk` experts have a row.
/// let matmul = ExpertMatmul {
///     tokens: 1,
///     topk: 8,
///     n: 4096,
///     k: 7168,
///     experts: 256,
///     input_bytes: 1.0,
///     weight_bytes: 1.0,
///     output_bytes: 2.0,
///     precision: None,
/// };
/// assert_eq!(matmul.flops()?, 2.0 * 8.0 * 4096.0 * 7168.0);
/// assert!((matmul.bytes()? / (8.0 * (7168.0 + 4096.0 * 7168.0 + 2.0 * 4096.0)) - 1.0).abs() < 1e-9);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpertMatmul {
    /// Tokens, before any is copied to its experts.
    pub tokens: u64,
    /// Experts of a token.
    pub topk: u64,
    /// Columns of a matrix.
    pub n: u64,
    /// Rows of a matrix.
    pub k: u64,
    /// Experts of the layer.
    pub experts: u64,
    /// Bytes of an input element.
    pub input_bytes: f64,
    /// Bytes of a weight.
    pub weight_bytes: f64,
    /// Bytes of an output element.
    pub output_bytes: f64,
    /// Precision of the multiplications.
    pub precision: Option<Precision>,
}

impl ExpertMatmul {
    fn rows(&self) -> u64 {
        self.tokens.saturating_mul(self.topk)
    }
}

impl PerfModel for ExpertMatmul {
    /// `2·tokens·topk·n·k`.
    fn flops(&self) -> Figure {
        Ok(2.0 * self.rows() as f64 * self.n as f64 * self.k as f64)
    }

    /// Rows read, matrices of the experts that are expected to get a row read, results written.
    fn bytes(&self) -> Figure {
        let rows = self.rows() as f64;
        let matrices = active_experts(self.experts, self.topk, self.tokens) * self.n as f64 * self.k as f64;
        Ok(rows * self.k as f64 * self.input_bytes
            + matrices * self.weight_bytes
            + rows * self.n as f64 * self.output_bytes)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.precision.map(|precision| ComputeSpec { unit: ComputeUnit::Matrix, precision })
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("m_work", count_value(self.rows())),
            ("num_tokens", count_value(self.tokens)),
            ("topk", count_value(self.topk)),
            ("N", count_value(self.n)),
            ("K", count_value(self.k)),
            ("num_experts", count_value(self.experts)),
        ]
    }
}

/// `(A, B, bias, C, ..., topk ids)`: (experts, n, k) and (tokens, topk).
pub(super) fn expert_matmul(call: &OpCall<'_>) -> Read {
    let [experts, n, k] = call.dimensions_of(1)?;
    let [tokens, topk] = call.dimensions_of(8)?;
    let type_of = |input| call.type_of(input).unwrap_or_default();
    let (input_type, weight_type) = (type_of(0), type_of(1));
    let output_type = if type_of(3).is_empty() { input_type } else { type_of(3) };
    let (input, output) = (activation(input_type, 2.0), activation(output_type, 2.0));
    let weights: Width = weight(weight_type, 1);
    let matmul = ExpertMatmul {
        tokens,
        topk,
        n,
        k,
        experts,
        input_bytes: input.bytes,
        weight_bytes: weights.bytes,
        output_bytes: output.bytes,
        precision: precision(weight_type),
    };
    let notes = [input.note("activations"), weights.note("weights"), output.note("outputs")];
    let types = [("input_dtype", input_type), ("weight_dtype", weight_type), ("output_dtype", output_type)];
    let mut parameters = matmul.parameters();
    parameters.extend(types.map(|(parameter, name)| (parameter, name.into())));
    Ok(Recorded::new(matmul).with_parameters(parameters).with_notes(notes.into_iter().flatten()))
}
