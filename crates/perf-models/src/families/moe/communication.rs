//! Sending tokens to their experts and back.

use crate::recorded::{Read, Recorded};
use crate::tensor::count_value;
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size};

/// Tokens on their way to experts of other devices or back from there.
///
/// Bytes are those of the tokens, each once; how many leave the device is not recorded. The backward pass
/// sends as many the other way.
///
/// ```
/// use perf_models::{ExpertTokens, PerfModel};
///
/// let dispatch = ExpertTokens {
///     tokens: Some(4096),
///     hidden: Some(7168),
///     element_type: Some("c10::BFloat16".into()),
/// };
/// assert_eq!((dispatch.flops()?, dispatch.bytes()?), (0.0, 2.0 * 4096.0 * 7168.0));
/// assert_eq!(dispatch.backward_bytes()?, dispatch.bytes()?);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpertTokens {
    /// Tokens, if recorded.
    pub tokens: Option<u64>,
    /// Elements of a token, if recorded.
    pub hidden: Option<u64>,
    /// Element type as PyTorch names it, if recorded.
    pub element_type: Option<String>,
}

/// `(tokens, ...)`, recorded or not.
pub(super) fn expert_tokens(call: &OpCall<'_>) -> Read {
    Ok(Recorded::new(ExpertTokens {
        tokens: call.dimension(0, 0).ok(),
        hidden: call.dimension(0, 1).ok(),
        element_type: call.type_of(0).ok().map(str::to_owned),
    }))
}

impl PerfModel for ExpertTokens {
    fn flops(&self) -> Figure {
        Ok(0.0)
    }

    fn bytes(&self) -> Figure {
        match (self.tokens, self.hidden, &self.element_type) {
            (Some(tokens), Some(hidden), Some(name)) => {
                Ok(tokens as f64 * hidden as f64 * element_size(name)?)
            }
            _ => Err(Undefined::arguments("the tokens' shape and type were not recorded")),
        }
    }

    fn backward_flops(&self) -> Figure {
        Ok(0.0)
    }

    fn backward_bytes(&self) -> Figure {
        self.bytes()
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        None
    }

    fn parameters(&self) -> Vec<Parameter> {
        let size = self.element_type.as_deref().and_then(|name| element_size(name).ok());
        vec![
            ("num_tokens", self.tokens.map_or(Value::None, count_value)),
            ("hidden_dim", self.hidden.map_or(Value::None, count_value)),
            // All sizes are whole.
            ("bpe", size.map_or(Value::None, |size| Value::Int(size as i64))),
        ]
    }
}
