//! Choosing experts, sorting tokens by them.

use crate::tensor::{count_value, elements, shape_value};
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Tensor, Undefined, Value, element_size};

/// Routing and sorting of tokens: every operand moves once, every element of the largest costs one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutingOperands {
    /// Inputs and outputs; the element type is `None` where it is not recorded.
    pub operands: Vec<(Vec<u64>, Option<String>)>,
}

impl RoutingOperands {
    /// The first of the operands with most elements.
    fn largest(&self) -> Option<&(Vec<u64>, Option<String>)> {
        self.operands.iter().reduce(|largest, operand| {
            if elements(&operand.0) > elements(&largest.0) { operand } else { largest }
        })
    }
}

/// Any number of tensors, scalars left out.
pub(super) fn routing_operands(call: &OpCall<'_>) -> Result<Box<dyn PerfModel>, Undefined> {
    let operands = (0..call.input_count())
        .filter_map(|input| {
            let shape = call.dimensions(input).ok().filter(|shape| !shape.is_empty())?;
            Some((shape, call.type_of(input).ok().map(str::to_owned)))
        })
        .collect();
    Ok(Box::new(RoutingOperands { operands }))
}

impl PerfModel for RoutingOperands {
    fn flops(&self) -> Figure {
        Ok(self.largest().map_or(0.0, |(shape, _)| elements(shape)))
    }

    /// Operands of unknown element types are left out.
    fn bytes(&self) -> Figure {
        let sizes = self.operands.iter().filter_map(|(shape, element_type)| {
            Some(elements(shape) * element_size(element_type.as_deref()?).ok()?)
        });
        let bytes: f64 = sizes.sum();
        if bytes > 0.0 {
            Ok(bytes)
        } else {
            Err(Undefined::arguments("no operand has elements of a known size"))
        }
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(self.largest()?.1.as_deref()?)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let operands = self.operands.iter().map(|(shape, element_type)| {
            Value::Tuple(vec![shape_value(shape), element_type.as_deref().into()])
        });
        vec![("operands", Value::List(operands.collect()))]
    }
}

/// Appends the experts that every token has to those chosen for it: ids and weights are copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedExpertAppend {
    /// Ids of the experts chosen.
    pub ids: Tensor,
    /// Their weights.
    pub weights: Tensor,
}

/// `(topk ids, topk weights, ...)`.
pub(super) fn append_shared_experts(call: &OpCall<'_>) -> Result<Box<dyn PerfModel>, Undefined> {
    let ids = call.dimensions(0)?;
    let weights = call.dimensions(1).ok().filter(|shape| !shape.is_empty()).unwrap_or_else(|| ids.clone());
    let broadcast = ids
        .iter()
        .rev()
        .zip(weights.iter().rev())
        .all(|(&id, &weight)| id == weight || id == 1 || weight == 1);
    if !broadcast {
        return Err(Undefined::arguments("ids and weights of experts differ in shape"));
    }
    let type_of = |input| call.type_of(input).unwrap_or_default();
    Ok(Box::new(SharedExpertAppend {
        ids: Tensor::new(ids, type_of(0)),
        weights: Tensor::new(weights, type_of(1)),
    }))
}

impl SharedExpertAppend {
    fn size(tensor: &Tensor) -> f64 {
        element_size(&tensor.element_type).unwrap_or(4.0)
    }
}

impl PerfModel for SharedExpertAppend {
    fn flops(&self) -> Figure {
        Ok(self.ids.elements())
    }

    fn bytes(&self) -> Figure {
        let moved = [&self.ids, &self.weights].map(|tensor| tensor.elements() * Self::size(tensor));
        Ok(2.0 * moved.iter().sum::<f64>())
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.weights.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let types =
            [&self.ids, &self.weights, &self.weights].map(|tensor| tensor.element_type.as_str().into());
        vec![
            ("shape_in1", shape_value(&self.ids.shape)),
            ("shape_in2", shape_value(&self.weights.shape)),
            ("dtype_in1_in2_out", Value::Tuple(types.to_vec())),
            ("stride_input1", Value::None),
            ("stride_input2", Value::None),
            ("stride_output", Value::None),
        ]
    }

    fn assumption(&self) -> Option<String> {
        let unknown =
            [&self.ids, &self.weights].into_iter().any(|tensor| element_size(&tensor.element_type).is_err());
        unknown.then(|| "assumed 4-byte elements".to_owned())
    }
}

/// Scores of experts by softplus, and the best of them.
///
/// FLOPs: 6 per score (exponential, logarithm, bias, selection). Bytes: scores, a bias of 4 bytes per
/// expert, and an id and a weight of 4 bytes per chosen expert.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopkSoftplus {
    /// Tokens.
    pub tokens: u64,
    /// Experts of the layer.
    pub experts: u64,
    /// Experts of a token.
    pub topk: u64,
    /// Element type of the scores, as PyTorch names it.
    pub element_type: String,
}

/// `(weights, ids, scores, ...)`.
pub(super) fn topk_softplus(call: &OpCall<'_>) -> Result<Box<dyn PerfModel>, Undefined> {
    let [tokens, experts] = call.dimensions_of(2)?;
    Ok(Box::new(TopkSoftplus {
        tokens,
        experts,
        topk: call.dimension(0, 1)?,
        element_type: call.type_of(2).unwrap_or("c10::BFloat16").to_owned(),
    }))
}

impl PerfModel for TopkSoftplus {
    fn flops(&self) -> Figure {
        Ok(6.0 * self.tokens as f64 * self.experts as f64)
    }

    fn bytes(&self) -> Figure {
        let (tokens, experts) = (self.tokens as f64, self.experts as f64);
        Ok(tokens * experts * element_size(&self.element_type)?
            + 4.0 * experts
            + 8.0 * tokens * self.topk as f64)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("M", count_value(self.tokens)),
            ("n", 1.into()),
            ("C", count_value(self.experts)),
            ("E", count_value(self.experts)),
            ("topk", count_value(self.topk)),
            ("dtype_in", self.element_type.as_str().into()),
        ]
    }
}
