//! Operators that are told by the tensors that they read and write: what every device needs memory for, whatever the
//! kernel does in between.

pub(crate) mod element_type;
pub(super) mod embedding;
pub(super) mod index;
pub(super) mod lists;
pub(super) mod loss;
pub(super) mod pointwise;
pub(super) mod pooling;
#[cfg(test)]
mod recorded_call;
pub(super) mod serving;
pub(super) mod softmax;

pub(crate) use pointwise::{by_kernel, is_open};

use super::{OpGroup, Row, op};
use crate::promotion::promoted;
use crate::recorded::{Assumptions, Read, Recorded};
use crate::tensor::{Tensor, count_value, elements, finite, shape_value};
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Precision, Undefined, Value};

/// Work that reads some tensors once and writes others once.
///
/// ```
/// use perf_models::{PerfModel, Tensor, TensorTraffic};
///
/// // The larger of two numbers, as 16 times 4096 of the second are compared with each of the first.
/// let maximum = TensorTraffic {
///     read: vec![Tensor::new([16, 1], "float"), Tensor::new([16, 4096], "float")],
///     written: vec![Tensor::new([16, 4096], "float")],
///     flops: 16.0 * 4096.0,
/// };
/// assert_eq!(maximum.bytes()?, 4.0 * (16.0 + 2.0 * 16.0 * 4096.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorTraffic {
    /// What is read of the operands, each once; where only some rows are read, these.
    pub read: Vec<Tensor>,
    /// What is written, each once.
    pub written: Vec<Tensor>,
    /// Floating-point operations; 0 for work that only moves data.
    pub flops: f64,
}

impl TensorTraffic {
    fn all(&self) -> impl Iterator<Item = &Tensor> {
        self.read.iter().chain(&self.written)
    }
}

/// The elements of tensors, together.
fn total(tensors: &[Tensor]) -> f64 {
    tensors.iter().map(Tensor::elements).sum()
}

impl PerfModel for TensorTraffic {
    /// As the operator counts them.
    fn flops(&self) -> Figure {
        finite(self.flops)
    }

    /// Each tensor once.
    fn bytes(&self) -> Figure {
        finite(self.all().map(Tensor::bytes).sum::<Figure>()?)
    }

    /// Of the type that the operands promote to, as far as the ordinary units calculate in their types: those of 16 bits or
    /// more. Where none does, that of what is written.
    fn compute_spec(&self) -> Option<ComputeSpec> {
        let spec = |name: &str| {
            let calculates = |spec: &ComputeSpec| !matches!(spec.precision, Precision::Fp8 | Precision::Fp4);
            ComputeSpec::vector(name).filter(calculates)
        };
        let calculated = |tensors: &[Tensor]| -> Option<ComputeSpec> {
            let with_peak = tensors.iter().filter(|tensor| spec(&tensor.element_type).is_some());
            let with_peak: Vec<Tensor> = with_peak.cloned().collect();
            (!with_peak.is_empty()).then(|| spec(&promoted(&with_peak, [])))?
        };
        // A number beside whole tensors makes them fractions of the result's type.
        let has_dimensions = self.read.iter().any(|tensor| !tensor.shape.is_empty());
        let is_number = |tensor: &Tensor| has_dimensions && tensor.shape.is_empty();
        let operands: Vec<Tensor> = self.read.iter().filter(|tensor| !is_number(tensor)).cloned().collect();
        calculated(&operands).or_else(|| calculated(&self.written))
    }

    fn parameters(&self) -> Vec<Parameter> {
        let largest = self.all().max_by(|one, other| one.elements().total_cmp(&other.elements()));
        let first_type =
            |tensors: &[Tensor]| Value::from(tensors.first().map(|tensor| tensor.element_type.as_str()));
        // Conversions saturate.
        let count = |tensors: &[Tensor]| count_value(total(tensors) as u64);
        vec![
            ("largest_shape", largest.map_or(Value::None, |tensor| shape_value(&tensor.shape))),
            ("num_elems_read", count(&self.read)),
            ("num_elems_written", count(&self.written)),
            ("dtype_in_out", Value::Tuple(vec![first_type(&self.read), first_type(&self.written)])),
        ]
    }
}

/// What a reader of this module makes of a call.
type Traffic = Result<TensorTraffic, Undefined>;

/// Work that only moves data.
fn movement(read: impl Into<Vec<Tensor>>, written: impl Into<Vec<Tensor>>) -> TensorTraffic {
    TensorTraffic { read: read.into(), written: written.into(), flops: 0.0 }
}

/// Work with some operations for each element of the first tensor that is written.
fn per_result(
    operations: f64,
    read: impl Into<Vec<Tensor>>,
    written: impl Into<Vec<Tensor>>,
) -> TensorTraffic {
    let (read, written) = (read.into(), written.into());
    let results = written.first().map_or(0.0, Tensor::elements);
    TensorTraffic { read, written, flops: operations * results }
}

fn plain(traffic: Traffic) -> Read {
    Ok(Recorded::new(traffic?))
}

fn noted(traffic: Traffic, assumptions: Assumptions) -> Read {
    Ok(Recorded::new(traffic?).with_notes(assumptions.0))
}

/// Input `index`, if it is a tensor: also one without dimensions, but no number, no list, and nothing that is absent.
pub(super) fn tensor(call: &OpCall<'_>, index: usize) -> Option<Tensor> {
    let tensor = call.tensor(index).ok()?;
    let is_number = tensor.element_type.eq_ignore_ascii_case("Scalar");
    (!is_number && tensor.bytes().is_ok()).then_some(tensor)
}

/// A tensor of the same shape.
fn like(tensor: &Tensor, element_type: &str) -> Tensor {
    Tensor::new(tensor.shape.clone(), element_type)
}

/// Whether the operator changes its first operand instead of making a result: its name ends in one underscore.
fn is_in_place(call: &OpCall<'_>) -> bool {
    call.name.ends_with('_') && !call.name.ends_with("__")
}

/// The whole number at input `index`, not negative.
fn count(call: &OpCall<'_>, index: usize) -> Result<u64, Undefined> {
    let number = call.concrete_integer(index)?;
    u64::try_from(number)
        .map_err(|_| Undefined::arguments(format!("Concrete Inputs[{index}] is negative: {number}")))
}

/// The axis that is recorded at input `index` of a shape, counted from the last where it is negative.
fn axis(call: &OpCall<'_>, index: usize, shape: &[u64]) -> Result<usize, Undefined> {
    let number = call.concrete_integer(index)?;
    let rank = shape.len() as i64;
    match (-rank..rank).contains(&number) {
        true => Ok(number.rem_euclid(rank) as usize),
        false => {
            Err(Undefined::arguments(format!("dimension {number} is out of range for {rank} dimensions")))
        }
    }
}

/// The elements of a shape beside one axis.
fn elements_beside(shape: &[u64], axis: usize) -> f64 {
    let [before, after] = [&shape[..axis], &shape[axis + 1..]];
    elements(before) * elements(after)
}
