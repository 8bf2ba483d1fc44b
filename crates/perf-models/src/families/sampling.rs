//! Sampling of the next token.

use super::{OpGroup, op};
use crate::recorded::{Assumptions, Read, Recorded};
use crate::tensor::count_value;
use crate::{Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Value, element_size};

/// Sampling by exponential noise: each logit is divided by its noise and the largest quotient of a row
/// wins, which samples from the softmax without computing it (the Gumbel-max trick).
///
/// ```
/// use perf_models::{ExponentialSampling, PerfModel};
///
/// let sampling = ExponentialSampling {
///     tokens: 64,
///     vocabulary: 151_936,
///     logits_type: "c10::BFloat16".into(),
///     noise_type: "float".into(),
/// };
/// assert_eq!(sampling.flops()?, 2.0 * 64.0 * 151_936.0);
/// assert_eq!(sampling.bytes()?, 64.0 * (151_936.0 * (2.0 + 4.0) + 4.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExponentialSampling {
    /// Tokens that are sampled: rows of logits.
    pub tokens: u64,
    /// Logits of a row.
    pub vocabulary: u64,
    /// Element type of the logits.
    pub logits_type: String,
    /// Element type of the noise.
    pub noise_type: String,
}

impl PerfModel for ExponentialSampling {
    /// A division and a comparison for each logit.
    fn flops(&self) -> Figure {
        Ok(2.0 * self.tokens as f64 * self.vocabulary as f64)
    }

    /// Logits and noise read, one 32-bit index a token written.
    fn bytes(&self) -> Figure {
        let logit_and_noise = element_size(&self.logits_type)? + element_size(&self.noise_type)?;
        let tokens = self.tokens as f64;
        Ok(tokens * self.vocabulary as f64 * logit_and_noise + 4.0 * tokens)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.logits_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("T", count_value(self.tokens)),
            ("V", count_value(self.vocabulary)),
            ("dtype_logits", Value::from(self.logits_type.as_str())),
            ("dtype_noise", Value::from(self.noise_type.as_str())),
        ]
    }
}

/// Output, logits of (tokens, vocabulary), noise.
fn logits_and_noise(call: &OpCall<'_>) -> Read {
    let logits = call.dimensions(1)?;
    let mut assumed = Assumptions::default();
    let sampling = ExponentialSampling {
        tokens: assumed.recorded_or(logits.first().copied(), "number of tokens", 1),
        vocabulary: assumed.recorded_or(logits.get(1).copied(), "number of logits", 1),
        logits_type: assumed.recorded_or(call.type_of(1).ok(), "type of logits", "c10::bfloat16").to_owned(),
        noise_type: assumed.recorded_or(call.type_of(2).ok(), "type of noise", "float").to_owned(),
    };
    Ok(Recorded::new(sampling).with_notes(assumed.0))
}

pub(super) const GROUPS: &[OpGroup] = &[OpGroup::modelled(
    Family::Sampling,
    Category::Elementwise,
    &[op("aiter::mixed_sample_outer_exponential", logits_and_noise)],
)];
