//! Choosing experts, sorting tokens by them.

use crate::recorded::{Assumptions, Read, Recorded};
use crate::tensor::{count_value, elements, shape_value};
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Tensor, Undefined, Value, element_size};

/// Routing and sorting of tokens: every operand moves once, every element of the largest costs one operation.
///
/// ```
/// use perf_models::{PerfModel, RoutingOperands};
///
/// // Scores of 256 experts for 64 tokens; weights and ids of the 8 chosen.
/// let chosen = |element_type: &str| (vec![64, 8], Some(element_type.to_owned()));
/// let routing = RoutingOperands {
///     operands: vec![(vec![64, 256], Some("c10::BFloat16".into())), chosen("float"), chosen("int")],
/// };
/// assert_eq!(routing.flops()?, 64.0 * 256.0);
/// assert_eq!(routing.bytes()?, 2.0 * 64.0 * 256.0 + 4.0 * 64.0 * 8.0 + 4.0 * 64.0 * 8.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
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
pub(super) fn routing_operands(call: &OpCall<'_>) -> Read {
    let operands = (0..call.input_count())
        .filter_map(|input| {
            let shape = call.dimensions(input).ok().filter(|shape| !shape.is_empty())?;
            Some((shape, call.type_of(input).ok().map(str::to_owned)))
        })
        .collect();
    Ok(Recorded::new(RoutingOperands { operands }))
}

impl PerfModel for RoutingOperands {
    /// One for each element of the largest operand.
    fn flops(&self) -> Figure {
        Ok(self.largest().map_or(0.0, |(shape, _)| elements(shape)))
    }

    /// Operands of unknown element types are left out.
    fn bytes(&self) -> Figure {
        let sizes = self.operands.iter().filter_map(|(shape, element_type)| {
            Some(elements(shape) * element_size(element_type.as_deref()?).ok()?)
        });
        let bytes: f64 = sizes.sum();
        if bytes > 0.0 { Ok(bytes) } else { Err(Undefined::arguments("no operand has a known element size")) }
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
///
/// ```
/// use perf_models::{PerfModel, SharedExpertAppend, Tensor};
///
/// // 8 experts of each of 64 tokens.
/// let append = SharedExpertAppend { ids: Tensor::new([64, 8], "int"), weights: Tensor::new([64, 8], "float") };
/// assert_eq!(append.flops()?, 64.0 * 8.0);
/// // 4 bytes an id and 4 a weight, read and written.
/// assert_eq!(append.bytes()?, 2.0 * 64.0 * 8.0 * (4.0 + 4.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedExpertAppend {
    /// Ids of the experts chosen.
    pub ids: Tensor,
    /// Their weights.
    pub weights: Tensor,
}

/// `(topk ids, topk weights, ...)`.
pub(super) fn append_shared_experts(call: &OpCall<'_>) -> Read {
    let ids = call.dimensions(0)?;
    let weights = call.dimensions(1).ok().filter(|shape| !shape.is_empty()).unwrap_or_else(|| ids.clone());
    let broadcast = ids
        .iter()
        .rev()
        .zip(weights.iter().rev())
        .all(|(&id, &weight)| id == weight || id == 1 || weight == 1);
    if !broadcast {
        return Err(Undefined::arguments("expert ids and weights differ in shape"));
    }
    let type_of = |input| call.type_of(input).unwrap_or_default();
    Ok(Recorded::new(SharedExpertAppend {
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
    /// One for each id.
    fn flops(&self) -> Figure {
        Ok(self.ids.elements())
    }

    /// Ids and weights read and written.
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
///
/// ```
/// use perf_models::{PerfModel, TopkSoftplus};
///
/// let choice = TopkSoftplus { tokens: 64, experts: 256, topk: 8, element_type: "float".into() };
/// assert_eq!(choice.flops()?, 6.0 * 64.0 * 256.0);
/// assert_eq!(choice.bytes()?, 4.0 * 64.0 * 256.0 + 4.0 * 256.0 + (4.0 + 4.0) * 64.0 * 8.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
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
pub(super) fn topk_softplus(call: &OpCall<'_>) -> Read {
    let [tokens, experts] = call.dimensions_of(2)?;
    let topk = call.dimension(0, 1)?;
    let mut assumed = Assumptions::default();
    let element_type = assumed.recorded_or(call.type_of(2).ok(), "element type", "c10::BFloat16").to_owned();
    Ok(Recorded::new(TopkSoftplus { tokens, experts, topk, element_type }).with_notes(assumed.0))
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
