//! Sampling of the next token.

use super::OpGroup;
use super::rope::vector_spec;
use crate::tensor::count_value;
use crate::{
    Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size,
};

/// Sampling by exponential noise: each logit is divided by its noise and the largest quotient of a row
/// wins, which samples from the softmax without computing it (the Gumbel-max trick).
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
        vector_spec(&self.logits_type)
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
fn logits_and_noise(call: &OpCall<'_>) -> Result<Box<dyn PerfModel>, Undefined> {
    let logits = call.dimensions(1)?;
    Ok(Box::new(ExponentialSampling {
        tokens: logits.first().copied().unwrap_or(1),
        vocabulary: logits.get(1).copied().unwrap_or(1),
        logits_type: call.type_of(1).unwrap_or("c10::bfloat16").to_owned(),
        noise_type: call.type_of(2).unwrap_or("float").to_owned(),
    }))
}

pub(super) const GROUPS: &[OpGroup] = &[OpGroup::modelled(
    Family::Sampling,
    Category::Elementwise,
    &[("aiter::mixed_sample_outer_exponential", logits_and_noise)],
)];
