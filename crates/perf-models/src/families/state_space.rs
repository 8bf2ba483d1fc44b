//! State-space models (Mamba).

use super::cross_entropy::{ASSUMED_SIZE, assumed_size};
use super::{OpGroup, named, op};
use crate::recorded::{Read, Recorded};
use crate::tensor::count_value;
use crate::{Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Undefined, element_size};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::StateSpace,
        Category::StateSpaceForward,
        &[
            op("DaoAILab::_causal_conv1d_fwd_cpp", causal_convolution),
            op("MambaSplitConv1dScanCombinedFn", selective_scan),
        ],
    ),
    OpGroup::category_only(
        Category::StateSpaceBackward,
        &[named("MambaSplitConv1dScanCombinedFnBackward"), named("DaoAILab::_causal_conv1d_bwd_cpp")],
    ),
];

/// Convolution of each channel with its own short filter over past positions only.
///
/// ```
/// use perf_models::{CausalConvolution, PerfModel};
///
/// let convolution = CausalConvolution {
///     batch: 2,
///     channels: 4352,
///     sequence_length: 4096,
///     filter_length: 4,
///     bias: true,
///     element_type: "c10::BFloat16".into(),
/// };
/// assert_eq!(convolution.flops()?, 285_212_672.0);
/// assert_eq!(convolution.bytes()?, 142_649_856.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CausalConvolution {
    /// Sequences.
    pub batch: u64,
    /// Channels, each with a filter.
    pub channels: u64,
    /// Positions of each sequence.
    pub sequence_length: u64,
    /// Taps of a filter.
    pub filter_length: u64,
    /// Whether a number for each channel is added.
    pub bias: bool,
    /// Element type as PyTorch names it.
    pub element_type: String,
}

impl PerfModel for CausalConvolution {
    /// Two for each tap at each position.
    fn flops(&self) -> Figure {
        let [batch, channels, length, taps] =
            [self.batch, self.channels, self.sequence_length, self.filter_length].map(|count| count as f64);
        Ok(2.0 * batch * channels * length * taps)
    }

    /// The sequence read and written, filters and bias read.
    fn bytes(&self) -> Figure {
        let [batch, channels, length, taps] =
            [self.batch, self.channels, self.sequence_length, self.filter_length].map(|count| count as f64);
        let bias = if self.bias { channels } else { 0.0 };
        let size = element_size(&self.element_type).unwrap_or(ASSUMED_SIZE);
        Ok(size * (2.0 * batch * channels * length + channels * taps + bias))
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::matrix(&self.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("batch", count_value(self.batch)),
            ("channels", count_value(self.channels)),
            ("seq_len", count_value(self.sequence_length)),
            ("kernel_size", count_value(self.filter_length)),
            ("has_bias", self.bias.into()),
        ]
    }

    fn assumption(&self) -> Option<String> {
        assumed_size(&self.element_type)
    }
}

fn causal_convolution(call: &OpCall<'_>) -> Read {
    let [batch, channels, sequence_length] = call.dimensions_of(0)?;
    Ok(Recorded::new(CausalConvolution {
        batch,
        channels,
        sequence_length,
        filter_length: call.dimension(1, 1)?,
        bias: call.has_dimensions(2),
        element_type: call.type_of(0).unwrap_or("").to_owned(),
    }))
}

/// The mixer of Mamba 2 in one kernel: causal convolution, then the scan by state-space duality in
/// chunks (Dao and Gu 2024, arXiv:2405.21060).
///
/// ```
/// use perf_models::{PerfModel, SelectiveScan};
///
/// let mamba = SelectiveScan {
///     batch: 2,
///     sequence_length: 4096,
///     heads: 64,
///     head_dim: 64,
///     groups: 1,
///     state_dim: 128,
///     chunk: 256,
///     filter_length: 4,
///     convolution_channels: 4096 + 2 * 128,
///     combined_dim: 2 * 4096 + 2 * 128 + 64,
///     element_type: "c10::BFloat16".into(),
///     head_parameter_sizes: [4, 4, 2],
/// };
/// assert_eq!(mamba.flops()?, 35_181_821_952.0);
/// assert_eq!(mamba.bytes()?, 206_613_632.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectiveScan {
    /// Sequences.
    pub batch: u64,
    /// Positions of each sequence.
    pub sequence_length: u64,
    /// Heads.
    pub heads: u64,
    /// Channels of a head.
    pub head_dim: u64,
    /// Groups of heads that share the projections of input and output.
    pub groups: u64,
    /// Dimension of the state.
    pub state_dim: u64,
    /// Positions of a chunk.
    pub chunk: u64,
    /// Taps of the convolution's filters.
    pub filter_length: u64,
    /// Channels that are convolved.
    pub convolution_channels: u64,
    /// Width of the projection that the kernel takes apart.
    pub combined_dim: u64,
    /// Element type of projection and result as PyTorch names it.
    pub element_type: String,
    /// Bytes of an element of the three parameters that each head has: step bias, decay, skip.
    pub head_parameter_sizes: [u64; 3],
}

impl SelectiveScan {
    /// Channels of all heads.
    #[must_use]
    pub fn inner_dim(&self) -> u64 {
        self.heads.saturating_mul(self.head_dim)
    }
}

impl PerfModel for SelectiveScan {
    /// Convolution, products of the projections and products with the values within chunks, and state
    /// update and read-out.
    fn flops(&self) -> Figure {
        let positions = self.batch as f64 * self.sequence_length as f64;
        let convolution = 2.0 * self.convolution_channels as f64 * self.filter_length as f64;
        let [heads, head_dim, groups, state, chunk] =
            [self.heads, self.head_dim, self.groups, self.state_dim, self.chunk].map(|count| count as f64);
        let within_chunks = 2.0 * groups * chunk * state + 2.0 * heads * chunk * head_dim;
        Ok(positions * (convolution + within_chunks + 4.0 * heads * head_dim * state))
    }

    /// Projection, filters and parameters read, the result written.
    fn bytes(&self) -> Figure {
        let positions = self.batch as f64 * self.sequence_length as f64;
        let channels = self.convolution_channels as f64;
        let elements = positions * (self.combined_dim as f64 + self.inner_dim() as f64)
            + channels * self.filter_length as f64
            + channels;
        let size = element_size(&self.element_type).unwrap_or(ASSUMED_SIZE);
        let per_head: f64 = self.head_parameter_sizes.iter().map(|&size| size as f64).sum();
        Ok(size * elements + self.heads as f64 * per_head)
    }

    /// Counted like the forward pass.
    fn backward_flops(&self) -> Figure {
        self.flops()
    }

    /// Counted like the forward pass.
    fn backward_bytes(&self) -> Figure {
        self.bytes()
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::matrix(&self.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        [
            ("B", self.batch),
            ("T", self.sequence_length),
            ("H", self.heads),
            ("P", self.head_dim),
            ("G", self.groups),
            ("N", self.state_dim),
            ("C", self.chunk),
            ("d_inner", self.inner_dim()),
            ("d_conv", self.filter_length),
            ("conv_channels", self.convolution_channels),
            ("combined_dim", self.combined_dim),
        ]
        .map(|(name, count)| (name, count_value(count)))
        .to_vec()
    }

    fn assumption(&self) -> Option<String> {
        assumed_size(&self.element_type)
    }
}

/// `MambaSplitConv1dScanCombinedFn(zxbcdt, conv1d_weight, conv1d_bias, dt_bias, A, D, chunk_size, ..,
/// headdim (15), ngroups (16), ..)`.
fn selective_scan(call: &OpCall<'_>) -> Read {
    let [batch, sequence_length, combined_dim] = call.dimensions_of(0)?;
    let [convolution_channels, filter_length] = call.dimensions_of(1)?;
    let heads = call.dimension(3, 0)?;
    let chunk = count_or(call, 6, 128)?;
    let head_dim = count_or(call, 15, 64)?;
    let groups = count_or(call, 16, 1)?;
    let element_type = call.type_of(0).unwrap_or("").to_owned();
    let size = element_size(&element_type).unwrap_or(ASSUMED_SIZE);
    let size_or =
        |index, otherwise: f64| call.type_of(index).and_then(element_size).unwrap_or(otherwise) as u64;
    Ok(Recorded::new(SelectiveScan {
        batch,
        sequence_length,
        heads,
        head_dim,
        groups,
        state_dim: state_dim(combined_dim, heads, head_dim, groups)?,
        chunk,
        filter_length,
        convolution_channels,
        combined_dim,
        head_parameter_sizes: [size_or(3, 4.0), size_or(4, 4.0), size_or(5, size)],
        element_type,
    }))
}

/// The projection holds gate and input (`d_inner` each), the projections of input and output (`groups`
/// by `state_dim` each) and a step for each head.
fn state_dim(combined_dim: u64, heads: u64, head_dim: u64, groups: u64) -> Result<u64, Undefined> {
    let [combined, heads, head_dim, groups] = [combined_dim, heads, head_dim, groups].map(i128::from);
    // Saturated rather than wrapped: dimensions that large divide into no state anyway.
    let rest =
        combined.saturating_sub(heads.saturating_mul(head_dim).saturating_mul(2)).saturating_sub(heads);
    let divisor = 2 * groups;
    let exact = divisor > 0 && rest > 0 && rest % divisor == 0;
    let dimension = exact.then(|| u64::try_from(rest / divisor).ok()).flatten();
    dimension.ok_or_else(|| {
        let parts = format!("{heads} heads of {head_dim} elements and {groups} groups");
        Undefined::arguments(format!("a projection of {combined} elements does not fit {parts}"))
    })
}

/// The number that input `index` was recorded as, or the kernel's default.
fn count_or(call: &OpCall<'_>, index: usize, default: u64) -> Result<u64, Undefined> {
    if call.written_value(index).is_empty() {
        return Ok(default);
    }
    let count = call.concrete_integer(index)?;
    match u64::try_from(count) {
        Ok(0) => Ok(default),
        Ok(count) => Ok(count),
        Err(_) => Err(Undefined::arguments(format!("Concrete Inputs[{index}] is negative: {count}"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn convolution_moves_the_sequence_twice() {
        let convolution = CausalConvolution {
            batch: 2,
            channels: 4352,
            sequence_length: 4096,
            filter_length: 4,
            bias: true,
            element_type: "c10::BFloat16".into(),
        };
        assert_eq!(convolution.flops(), Ok(285_212_672.0));
        assert_eq!(convolution.bytes(), Ok(142_649_856.0));
        let without = CausalConvolution { bias: false, ..convolution.clone() };
        assert_eq!(without.bytes(), Ok(142_649_856.0 - 2.0 * 4352.0));
        let unknown = CausalConvolution { element_type: String::new(), ..convolution };
        assert_eq!(unknown.bytes(), Ok(142_649_856.0));
        assert!(unknown.assumption().is_some());
    }

    proptest! {
        #[test]
        fn any_projection_is_taken_apart_without_panic(combined: u64, heads: u64, head_dim: u64, groups: u64) {
            if let Ok(state) = state_dim(combined, heads, head_dim, groups) {
                let [combined, heads, head_dim, groups, state] =
                    [combined, heads, head_dim, groups, state].map(u128::from);
                prop_assert_eq!(combined, heads * (2 * head_dim + 1) + 2 * groups * state);
            }
        }
    }
}
