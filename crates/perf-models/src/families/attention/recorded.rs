//! An attention call as an operator recorded it.

use super::model::Attention;
use crate::tensor::strides_value;
use crate::{ComputeSpec, Figure, Parameter, PerfModel, Value};

/// An attention call with what only its rows show.
#[derive(Debug)]
pub(super) struct RecordedAttention {
    pub(super) attention: Attention,
    pub(super) strides: Option<[Option<Vec<i64>>; 3]>,
    pub(super) dropout: Option<f64>,
    pub(super) types: Types,
    /// The call is the backward pass itself.
    pub(super) backward: bool,
    pub(super) assumed_causal: bool,
}

/// How the rows of an operator show element types.
#[derive(Debug)]
pub(super) enum Types {
    Pair,
    One,
    Hidden,
}

impl PerfModel for RecordedAttention {
    fn flops(&self) -> Figure {
        if self.backward { self.attention.backward_flops() } else { self.attention.flops() }
    }

    fn bytes(&self) -> Figure {
        if self.backward { self.attention.backward_bytes() } else { self.attention.bytes() }
    }

    fn backward_flops(&self) -> Figure {
        self.attention.backward_flops()
    }

    fn backward_bytes(&self) -> Figure {
        self.attention.backward_bytes()
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.attention.compute_spec()
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = self.attention.shape_parameters();
        if let Some(strides) = &self.strides {
            let names = ["q_stride", "k_stride", "v_stride"];
            parameters.extend(
                names.into_iter().zip(strides.iter().map(|strides| strides_value(strides.as_deref()))),
            );
        }
        parameters.extend(self.dropout.map(|dropout| ("dropout", dropout.into())));
        parameters.push(("causal", self.attention.mask.causal.into()));
        parameters.push(("flash_impl", self.attention.recomputes_scores.into()));
        match self.types {
            Types::Pair => parameters.push(self.attention.types_parameter()),
            Types::One => {
                let element_type = self.attention.query_type.as_str().into();
                parameters.push(("dtype_A_B", Value::List(vec![element_type])));
            }
            Types::Hidden => {}
        }
        parameters.extend(self.attention.length_parameters());
        parameters
    }

    fn assumption(&self) -> Option<String> {
        let causal = self.assumed_causal.then(|| "assumed a causal mask".to_owned());
        let notes: Vec<String> = causal.into_iter().chain(self.attention.assumption()).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}
