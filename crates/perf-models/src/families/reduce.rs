//! Reductions and scans.

use super::traffic::tensor;
use super::{OpGroup, op};
use crate::data_type::type_of_scalar_number;
use crate::promotion::{Kind, broadcast, promoted};
use crate::recorded::{AsTraceLens, Read, Recorded};
use crate::tensor::{Tensor, count_value, elements, finite};
use crate::{
    Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size,
};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Reduce,
        Category::Reduce,
        &[
            op("aten::sum", sum),
            op("aten::mean", mean),
            op("aten::max", |call| maximum_or_minimum(call, ReductionKind::Max)),
            op("aten::min", |call| maximum_or_minimum(call, ReductionKind::Min)),
            op("aten::norm", |call| reduction(call, &NORM)),
            op("aten::linalg_norm", |call| reduction(call, &NORM)),
            op("aten::std", |call| reduction(call, &of(ReductionKind::Sum))),
            op("aten::var", |call| reduction(call, &of(ReductionKind::Sum))),
            op("aten::logsumexp", log_sum),
            op("aten::cumsum", |call| scan(call, ResultType::Whole(2))),
            op("aten::cumprod", |call| scan(call, ResultType::Whole(2))),
            op("aten::amin", |call| reduction(call, &of(ReductionKind::Min))),
            op("aten::amax", |call| reduction(call, &of(ReductionKind::Max))),
        ],
    ),
    OpGroup::ours(
        Family::Reduce,
        Category::Reduce,
        &[
            op("aten::argmax", |call| typed_reduction(call, ReductionKind::Max, "long int")),
            op("aten::argmin", |call| typed_reduction(call, ReductionKind::Min, "long int")),
            op("aten::all", |call| typed_reduction(call, ReductionKind::Min, "bool")),
            op("aten::any", |call| typed_reduction(call, ReductionKind::Max, "bool")),
            op("aten::count_nonzero", |call| typed_reduction(call, ReductionKind::Sum, "long int")),
            op("aten::prod", product),
            op("aten::nansum", sum),
            op("aten::linalg_vector_norm", |call| reduction(call, &NORM)),
            op("aten::_logcumsumexp", |call| scan(call, ResultType::Fraction)),
        ],
    ),
];

/// A tensor reduced along some of its dimensions, or scanned; or the larger or smaller of two tensors,
/// element by element, which PyTorch names like the reduction.
///
/// ```
/// use perf_models::{PerfModel, Reduction, ReductionKind, Tensor};
///
/// let mean = Reduction {
///     input: Tensor::new([16, 559, 1024], "float"),
///     output_shape: vec![16, 559, 1],
///     kind: ReductionKind::Mean,
///     ..Reduction::default()
/// };
/// assert_eq!(mean.flops()?, 16.0 * 559.0 * 1024.0);
/// assert_eq!(mean.bytes()?, 4.0 * 16.0 * 559.0 * (1024.0 + 1.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reduction {
    /// What is reduced.
    pub input: Tensor,
    /// The tensor that it is compared with, where nothing is reduced.
    pub other: Option<Tensor>,
    /// Shape of the result; a reduced dimension may be 1 or left out.
    pub output_shape: Vec<u64>,
    /// Element type of the result; `None` for that of the input.
    pub output_type: Option<String>,
    /// How elements are brought together.
    pub kind: ReductionKind,
    /// Whether the place of each element of the result is written, too, as a `long int`.
    pub with_indexes: bool,
    /// Whether all dimensions were taken to be reduced because the call does not record which.
    pub dimensions_assumed: bool,
}

/// How elements are brought together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReductionKind {
    /// Sums, and whatever is made of them.
    #[default]
    Sum,
    /// Mean.
    Mean,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
    /// Norm of a vector or matrix.
    Norm,
}

impl ReductionKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::Min => "min",
            Self::Norm => "norm",
        }
    }
}

impl PerfModel for Reduction {
    /// One for each element of the input, or for each pair of elements.
    fn flops(&self) -> Figure {
        finite(match self.other {
            None => self.input.elements(),
            Some(_) => elements(&self.output_shape),
        })
    }

    /// Input read, result written.
    fn bytes(&self) -> Figure {
        let input = element_size(&self.input.element_type)?;
        let output = self.output_type.as_deref().map_or(Ok(input), element_size)?;
        let other = self.other.as_ref().map_or(Ok(0.0), Tensor::bytes)?;
        let index = if self.with_indexes { 8.0 } else { 0.0 };
        finite(self.input.elements() * input + other + elements(&self.output_shape) * (output + index))
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
        match &self.other {
            None => ComputeSpec::vector(&self.input.element_type),
            Some(other) => ComputeSpec::vector(&promoted(&[self.input.clone(), other.clone()], [])),
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        // Conversion saturates.
        let count = |elements: f64| count_value(elements as u64);
        let inputs = self.input.elements() + self.other.as_ref().map_or(0.0, Tensor::elements);
        let types = vec![self.input.element_type.as_str().into(), self.output_type.as_deref().into()];
        vec![
            ("num_input_elems", count(inputs)),
            ("num_output_elems", count(elements(&self.output_shape))),
            ("dtype_in_out", Value::Tuple(types)),
            ("reduce_type", self.kind.as_str().into()),
        ]
    }

    fn assumption(&self) -> Option<String> {
        self.dimensions_assumed
            .then(|| "assumed all dimensions reduced: the reduced ones were not recorded".to_owned())
    }
}

/// A reduction of which nothing is recorded.
#[derive(Debug)]
struct Unrecorded;

impl PerfModel for Unrecorded {
    fn flops(&self) -> Figure {
        Ok(0.0)
    }

    fn bytes(&self) -> Figure {
        Err(Undefined::arguments("Input Dims[0] is missing"))
    }

    fn backward_flops(&self) -> Figure {
        self.flops()
    }

    fn backward_bytes(&self) -> Figure {
        self.bytes()
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        None
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("num_input_elems", 0.into()),
            ("num_output_elems", 0.into()),
            ("dtype_in_out", Value::Tuple(vec![Value::None, Value::None])),
        ]
    }
}

/// Where a call records which dimensions are reduced, and how a single dimension is told from another
/// argument in that place.
struct Layout {
    kind: ReductionKind,
    dimensions: usize,
    /// Whether a number that is no list is a dimension: `sum(self, dtype)` has a type there,
    /// `std(self, unbiased)` a flag.
    has_dimension_number: bool,
    result: ResultType,
}

/// The element type of a result.
#[derive(Clone, Copy)]
enum ResultType {
    /// That of the input.
    Input,
    /// The same, but `float` of whole numbers and flags.
    Fraction,
    /// That which this input names, else the input's.
    Named(usize),
    /// The same, but `long int` of whole numbers and flags where none is named.
    Whole(usize),
}

/// `sum(self, dim, keepdim, dtype)`.
const fn of(kind: ReductionKind) -> Layout {
    Layout { kind, dimensions: 1, has_dimension_number: false, result: ResultType::Input }
}

/// `norm(self, p, dim, keepdim)`, `linalg_norm(self, ord, dim, keepdim)`.
const NORM: Layout = Layout { kind: ReductionKind::Norm, dimensions: 2, ..named(ReductionKind::Norm, 4) };

/// `mean(self, dim, keepdim, dtype)`.
const fn named(kind: ReductionKind, index: usize) -> Layout {
    Layout { result: ResultType::Named(index), ..of(kind) }
}

/// `sum(self, dim, keepdim, dtype)`, or `sum(self, dtype)`.
fn sum(call: &OpCall<'_>) -> Read {
    reduction(call, &Layout { result: ResultType::Whole(type_of_result(call)), ..of(ReductionKind::Sum) })
}

fn mean(call: &OpCall<'_>) -> Read {
    reduction(call, &named(ReductionKind::Mean, type_of_result(call)))
}

fn log_sum(call: &OpCall<'_>) -> Read {
    reduction(call, &Layout { result: ResultType::Fraction, ..of(ReductionKind::Sum) })
}

/// Where the call names the result's type: behind dimension and flag, or in their place.
fn type_of_result(call: &OpCall<'_>) -> usize {
    if call.input_count() > 2 { 3 } else { 1 }
}

/// `prod(self, dim, keepdim, dtype)`, or `prod(self, dtype)`.
fn product(call: &OpCall<'_>) -> Read {
    let has_dimension_number = call.input_count() > 2;
    let result = ResultType::Whole(type_of_result(call));
    reduction(call, &Layout { has_dimension_number, result, ..of(ReductionKind::Sum) })
}

/// The input and the type of the result, if any of it was recorded.
fn recorded(call: &OpCall<'_>, kind: ReductionKind) -> Result<Option<Reduction>, Undefined> {
    if let Some([] | [Value::None, ..]) = call.dims {
        return Ok(None);
    }
    let output_type = call.attribute("Output type").and_then(Value::items).and_then(<[Value]>::first);
    Ok(Some(Reduction {
        input: Tensor::new(call.dimensions(0)?, call.type_of(0).unwrap_or("")),
        output_type: output_type.and_then(Value::as_text).map(str::to_owned),
        kind,
        ..Reduction::default()
    }))
}

fn reduction(call: &OpCall<'_>, layout: &Layout) -> Read {
    let Some(mut model) = recorded(call, layout.kind)? else { return Ok(Recorded::new(Unrecorded)) };
    let dimensions = reduced_dimensions(call, layout)?;
    model.dimensions_assumed = call.concrete.is_none() && call.input_count() > 1;
    model.output_shape = remaining(&model.input.shape, &dimensions)?;
    // The largest or smallest along one dimension, with its place.
    let with_indexes = layout.has_dimension_number
        && matches!(layout.kind, ReductionKind::Max | ReductionKind::Min)
        && !dimensions.is_empty();
    Ok(with_result_type(call, model, layout.result, with_indexes))
}

/// With the result's type, which TraceLens takes to be that of the input, and without indexes.
fn with_result_type(
    call: &OpCall<'_>,
    tracelens: Reduction,
    result: ResultType,
    with_indexes: bool,
) -> Recorded {
    let element_type = || written_type(call, &tracelens.input.element_type, result);
    let output_type = tracelens.output_type.clone().or_else(element_type);
    let model = Reduction { output_type, with_indexes, ..tracelens.clone() };
    Recorded::new(model).with_parameters(tracelens.parameters()).with_tracelens(tracelens)
}

/// The type of the result: that of the tensor that is there for it, or that which the call names; `None` for the input's.
fn written_type(call: &OpCall<'_>, input: &str, result: ResultType) -> Option<String> {
    let given = (1..call.input_count()).rev().find_map(|index| tensor(call, index));
    if let Some(given) = given {
        return Some(given.element_type);
    }
    let named = |index| type_of_scalar_number(&call.written_value(index)).map(str::to_owned);
    match result {
        ResultType::Input => None,
        ResultType::Fraction => (Kind::from_type(input) < Kind::Fraction).then(|| "float".to_owned()),
        ResultType::Named(index) => named(index),
        ResultType::Whole(index) => {
            named(index).or_else(|| (Kind::from_type(input) < Kind::Fraction).then(|| "long int".to_owned()))
        }
    }
}

/// `argmax(self, dim, keepdim)`, `all(self)`, `all(self, dim, keepdim)`: a result of a type of its own.
fn typed_reduction(call: &OpCall<'_>, kind: ReductionKind, output_type: &str) -> Read {
    let Some(mut model) = recorded(call, kind)? else { return Ok(Recorded::new(Unrecorded)) };
    let dimensions = reduced_dimensions(call, &Layout { has_dimension_number: true, ..of(kind) })?;
    model.dimensions_assumed = call.concrete.is_none() && call.input_count() > 1;
    model.output_shape = remaining(&model.input.shape, &dimensions)?;
    model.output_type = Some(output_type.to_owned());
    Ok(Recorded::new(model))
}

/// `max(self)`, `max(self, dim, keepdim)` or `max(self, other)`.
fn maximum_or_minimum(call: &OpCall<'_>, kind: ReductionKind) -> Read {
    let has_tensor_operand = call.type_of(1).is_ok_and(|name| !matches!(name, "" | "Scalar" | "ScalarList"));
    if !has_tensor_operand {
        return reduction(call, &Layout { has_dimension_number: true, ..of(kind) });
    }
    let Some(mut model) = recorded(call, kind)? else { return Ok(Recorded::new(Unrecorded)) };
    let other = call.tensor(1)?;
    model.output_shape = broadcast(&model.input.shape, &other.shape)?;
    let result = tensor(call, 2).map(|given| given.element_type);
    let result = result.unwrap_or_else(|| promoted(&[model.input.clone(), other.clone()], []));
    model.other = Some(other);
    let spec = ComputeSpec::vector(&model.input.element_type);
    let tracelens = AsTraceLens { spec, ..AsTraceLens::new(model.clone()) };
    let output_type = model.output_type.clone().or(Some(result));
    Ok(Recorded::new(Reduction { output_type, ..model })
        .with_parameters(tracelens.parameters())
        .with_tracelens(tracelens))
}

/// As many elements as before: `cumsum(self, dim, dtype)`.
fn scan(call: &OpCall<'_>, result: ResultType) -> Read {
    let Some(mut model) = recorded(call, ReductionKind::Sum)? else { return Ok(Recorded::new(Unrecorded)) };
    model.output_shape.clone_from(&model.input.shape);
    Ok(with_result_type(call, model, result, false))
}

/// The dimensions that are reduced, negative ones counted from the last; none for all.
fn reduced_dimensions(call: &OpCall<'_>, layout: &Layout) -> Result<Vec<i64>, Undefined> {
    let index = layout.dimensions;
    match call.concrete.and_then(|values| values.get(index)) {
        Some(Value::Text(text)) => {
            let is_list = text.trim_start().starts_with('[');
            let is_number = layout.has_dimension_number && !text.trim().is_empty();
            if is_list || is_number { call.concrete_integers(index) } else { Ok(Vec::new()) }
        }
        Some(Value::List(_) | Value::Tuple(_) | Value::Int(_)) => call.concrete_integers(index),
        _ => Ok(Vec::new()),
    }
}

/// The shape without the reduced dimensions.
fn remaining(shape: &[u64], dimensions: &[i64]) -> Result<Vec<u64>, Undefined> {
    if dimensions.is_empty() {
        return Ok(Vec::new());
    }
    // A scalar can be reduced along its first dimension although it has none.
    let rank = shape.len().max(1) as i64;
    let mut kept = vec![true; shape.len()];
    for &dimension in dimensions {
        if !(-rank..rank).contains(&dimension) {
            let reason = format!("dimension {dimension} is out of range for {} dimensions", shape.len());
            return Err(Undefined::arguments(reason));
        }
        if let Some(kept) = kept.get_mut(dimension.rem_euclid(rank) as usize) {
            *kept = false;
        }
    }
    Ok(shape.iter().zip(kept).filter(|(_, kept)| *kept).map(|(&extent, _)| extent).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A sum without values of scalars.
    fn sum(dims: &[&[i64]], types: &[&str]) -> Result<Box<dyn PerfModel>, Undefined> {
        let dims: Vec<Value> = dims.iter().map(|&shape| shape.into()).collect();
        let types: Vec<Value> = types.iter().map(|&name| name.into()).collect();
        crate::model(&OpCall {
            name: "aten::sum",
            dims: Some(&dims),
            types: Some(&types),
            ..OpCall::default()
        })
    }

    #[test]
    fn what_is_not_recorded_is_assumed_or_undefined() {
        let model = sum(&[&[4, 8], &[]], &["float", "ScalarList"]).unwrap();
        assert_eq!(model.bytes(), Ok(4.0 * 33.0));
        assert!(model.assumption().is_some());
        let alone = sum(&[&[4, 8]], &["float"]).unwrap();
        assert_eq!(alone.assumption(), None);
        let nothing = sum(&[], &[]).unwrap();
        assert_eq!(nothing.flops(), Ok(0.0));
        assert_eq!(nothing.bytes().unwrap_err().gap, crate::Gap::Arguments);
    }

    proptest! {
        #[test]
        fn a_result_has_no_more_elements_than_its_input(
            shape in proptest::collection::vec(1_u64..100, 0..5), dimensions in proptest::collection::vec(-6_i64..6, 0..4),
        ) {
            if let Ok(left) = remaining(&shape, &dimensions) {
                prop_assert!(elements(&left) <= elements(&shape));
                prop_assert_eq!(elements(&shape) % elements(&left), 0.0);
            }
        }
    }
}
