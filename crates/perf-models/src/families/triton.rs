//! Kernels that TorchInductor generated: `triton_poi_*` (pointwise), `triton_red_*` and `triton_per_*`
//! (reductions in a loop and in one go).
//!
//! Their names are open-ended, so they stand in no table. The name holds the fused operators; the call
//! records every tensor that the kernel is given and, as its last scalars, the extents of the grid. Within
//! its arguments a generated kernel has the tensors that it updates in place first, then its inputs, then
//! its outputs (`KernelArgs.python_argdefs` in PyTorch's `torch/_inductor/codegen/common.py`).

mod fused_operators;

pub use fused_operators::FusedOperator;

use fused_operators::fused_operators;

use crate::recorded::{Read, Recorded};
use crate::tensor::{Tensor, count_value};
use crate::{
    Activation, ComputeSpec, ComputeUnit, Figure, OpCall, Parameter, PerfModel, Precision, Undefined, Value,
    precision, type_of_scalar_name,
};

/// Start of the names of generated kernels that have a model.
const PREFIXES: [&str; 3] = ["triton_poi_", "triton_red_", "triton_per_"];

/// The dimensions that a grid of a pointwise kernel can have.
const MOST_GRID_DIMENSIONS: usize = 3;

/// Whether a kernel of this name has the model of this module.
pub(crate) fn is_generated_kernel(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// A kernel that TorchInductor generated.
///
/// ```
/// use perf_models::{FusedOperator, PerfModel, Tensor, TritonKernel};
///
/// // `triton_poi_fused_mul_silu_0`: two matrices in, one out.
/// let kernel = TritonKernel {
///     operators: ["mul", "silu"].map(FusedOperator::Known).to_vec(),
///     grid_elements: 64 * 4096,
///     reduced_elements: 1,
///     tensors: vec![Tensor::new([64, 4096], "c10::BFloat16"); 3],
///     updates_first: false,
/// };
/// assert_eq!(kernel.flops()?, (1.0 + 4.0) * 64.0 * 4096.0);
/// assert_eq!(kernel.bytes()?, 3.0 * 2.0 * 64.0 * 4096.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TritonKernel {
    /// The fused operators.
    pub operators: Vec<FusedOperator>,
    /// Elements of the grid: of the result of a pointwise kernel, the rows of a reduction.
    pub grid_elements: u64,
    /// Elements that are reduced to one; 1 for a pointwise kernel.
    pub reduced_elements: u64,
    /// The tensors that the kernel is given.
    pub tensors: Vec<Tensor>,
    /// Whether the first tensor is both read and written.
    pub updates_first: bool,
}

impl PerfModel for TritonKernel {
    /// For each element of grid and reduction the operations of the fused operators. An operator that is
    /// fused twice is named once, so this is a lower bound.
    fn flops(&self) -> Figure {
        let operations: f64 = self.operators.iter().map(operations_per_element).sum();
        Ok(self.grid_elements as f64 * self.reduced_elements as f64 * operations)
    }

    /// Every tensor once, one that is updated in place twice.
    fn bytes(&self) -> Figure {
        let mut bytes = 0.0;
        for (position, tensor) in self.tensors.iter().enumerate() {
            let passes = if position == 0 && self.updates_first { 2.0 } else { 1.0 };
            bytes += passes * tensor.bytes()?;
        }
        Ok(bytes)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        let precision = self.tensors.iter().find_map(|tensor| floating_point(&tensor.element_type))?;
        Some(ComputeSpec { unit: ComputeUnit::Vector, precision })
    }

    fn parameters(&self) -> Vec<Parameter> {
        let operators: Vec<String> = self.operators.iter().map(FusedOperator::to_string).collect();
        vec![
            ("fused_ops", Value::from(operators.join(", "))),
            ("xnumel", count_value(self.grid_elements)),
            ("rnumel", count_value(self.reduced_elements)),
        ]
    }

    fn assumption(&self) -> Option<String> {
        let mut notes = Vec::new();
        if self.updates_first {
            notes.push("assumed that the first tensor is updated in place".to_owned());
        }
        let unknown = |operator: &FusedOperator| match operator {
            FusedOperator::Unknown(words) => Some(words.clone()),
            FusedOperator::Known(_) => None,
        };
        let unknown: Vec<String> = self.operators.iter().filter_map(unknown).collect();
        if !unknown.is_empty() {
            notes.push(format!("excluding FLOPs of {}", unknown.join(", ")));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

/// Operations that an operator takes for each element; 0 for those that only move data, and for matrix
/// multiplications and the like, which run in kernels of their own and leave their names behind.
/// Transcendental functions count the instructions of their usual implementations.
fn operations_per_element(operator: &FusedOperator) -> f64 {
    let FusedOperator::Known(name) = operator else { return 0.0 };
    match *name {
        "add" | "sub" | "mul" | "div" | "mean" | "sum" | "abs" | "neg" | "ne" | "eq" | "lt" | "gt" => 1.0,
        "pow" | "sqrt" | "rsqrt" | "var" | "reciprocal" => 2.0,
        "exp" | "log" => 4.0,
        name => Activation::from_name(name).map_or(0.0, Activation::operations),
    }
}

/// The precision of a floating-point type; bytes and other integers have none.
fn floating_point(element_type: &str) -> Option<Precision> {
    if element_type.ends_with("char") { None } else { precision(element_type) }
}

/// Reads the model of a kernel out of the call that launched it.
pub(crate) fn generated_kernel(call: &OpCall<'_>) -> Read {
    let tensors = tensors(call)?;
    let extents = extents(call)?;
    let is_reduction = !call.name.starts_with("triton_poi_");
    let (grid_elements, reduced_elements) = grid(is_reduction, &extents, &tensors);
    let operators = fused_operators(call.name);
    let updates_first = updates_first(&tensors, &operators, grid_elements, reduced_elements);
    Ok(Recorded::new(TritonKernel { operators, grid_elements, reduced_elements, tensors, updates_first }))
}

/// The inputs that have dimensions.
fn tensors(call: &OpCall<'_>) -> Result<Vec<Tensor>, Undefined> {
    let mut tensors = Vec::new();
    for index in 0..call.input_count() {
        let Tensor { shape, element_type } = call.tensor(index)?;
        if !shape.is_empty() && element_type != "Scalar" {
            tensors.push(Tensor { shape, element_type: long_name(&element_type).to_owned() });
        }
    }
    Ok(tensors)
}

/// Types are also recorded under the names of PyTorch's scalar types: `c10::Long`.
fn long_name(element_type: &str) -> &str {
    element_type.strip_prefix("c10::").and_then(type_of_scalar_name).unwrap_or(element_type)
}

/// The recorded scalars that are whole numbers: sizes of dynamic dimensions first, the grid last.
fn extents(call: &OpCall<'_>) -> Result<Vec<u64>, Undefined> {
    let recorded =
        call.concrete.ok_or_else(|| Undefined::arguments("Concrete Inputs were not recorded"))?.iter();
    let extents: Vec<u64> =
        recorded.filter_map(Value::whole_number).map(|extent| u64::try_from(extent).unwrap_or(0)).collect();
    if extents.is_empty() {
        return Err(Undefined::arguments("Concrete Inputs have no grid size"));
    }
    Ok(extents)
}

/// Elements of the grid and of the reduction.
///
/// How many of the scalars belong to the grid is not recorded. The most that multiply up to the size of a
/// tensor are taken; a further factor that is no extent would spoil the product, unless it is 1.
fn grid(is_reduction: bool, extents: &[u64], tensors: &[Tensor]) -> (u64, u64) {
    let reduced_dimensions = usize::from(is_reduction && extents.len() > 1);
    let fewest = 1 + reduced_dimensions;
    let most = (MOST_GRID_DIMENSIONS + reduced_dimensions).min(extents.len());
    let last = |count: usize| &extents[extents.len() - count..];
    let fits = |count: usize| {
        let product: f64 = last(count).iter().map(|&extent| extent as f64).product();
        product > 0.0 && tensors.iter().any(|tensor| tensor.elements() == product)
    };
    let dimensions = (fewest..=most).rev().find(|&count| fits(count)).unwrap_or(fewest);
    let (grid, reduced) = last(dimensions).split_at(dimensions - reduced_dimensions);
    let product =
        |extents: &[u64]| extents.iter().fold(1_u64, |product, &extent| product.saturating_mul(extent));
    (product(grid), product(reduced))
}

/// Whether the last tensor cannot be the output, so that the first, which is where a kernel has the tensor
/// that it updates in place, must be.
fn updates_first(tensors: &[Tensor], operators: &[FusedOperator], grid: u64, reduced: u64) -> bool {
    let is_fused = |names: &[&str]| {
        operators
            .iter()
            .any(|operator| matches!(operator, FusedOperator::Known(name) if names.contains(name)))
    };
    let is_result =
        |tensor: &Tensor| [grid as f64, grid as f64 * reduced as f64].contains(&tensor.elements());
    let (first, last) = match tensors {
        [] => return false,
        // Written only, if it is filled from nothing.
        [_] => {
            return !is_fused(&[
                "arange",
                "empty_like",
                "full",
                "full_like",
                "ones",
                "ones_like",
                "zeros",
                "zeros_like",
            ]);
        }
        [first, .., last] => (first, last),
    };
    if !is_result(last) {
        return is_result(first);
    }
    // The result of a matrix multiplication is a matrix that is viewed as something of more dimensions:
    // such a tensor is an input.
    let is_viewed_matrix =
        last.shape.len() == 2 && first.shape.len() > 2 && is_fused(&["_unsafe_view", "view"]);
    is_viewed_matrix && first.elements() == last.elements()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model_of(name: &str, tensors: &[(&[i64], &str)], scalars: &[&str]) -> TritonKernel {
        let (mut dims, mut types, mut concrete) = (Vec::new(), Vec::new(), Vec::new());
        for (shape, element_type) in tensors {
            dims.push(Value::tuple(shape.iter().copied()));
            types.push(Value::from(*element_type));
            concrete.push(Value::from(""));
        }
        for scalar in scalars {
            dims.push(Value::tuple([]));
            types.push(Value::from("Scalar"));
            concrete.push(Value::from(*scalar));
        }
        let call = OpCall {
            name,
            dims: Some(&dims),
            types: Some(&types),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        let read = self::tensors(&call).unwrap();
        let (grid_elements, reduced_elements) =
            grid(!name.starts_with("triton_poi_"), &extents(&call).unwrap(), &read);
        let operators = fused_operators(name);
        let updates_first = updates_first(&read, &operators, grid_elements, reduced_elements);
        TritonKernel { operators, grid_elements, reduced_elements, tensors: read, updates_first }
    }

    #[test]
    fn the_extents_of_the_grid_are_the_last_scalars_that_fit_a_tensor() {
        const BF16: &str = "c10::BFloat16";
        type Case = (&'static str, &'static [i64], &'static [&'static str], (u64, u64));
        let cases: [Case; 9] = [
            ("triton_poi_fused_add_0", &[32, 128], &["4096"], (4096, 1)),
            ("triton_poi_fused_add_0", &[32, 128], &["32", "128"], (4096, 1)),
            ("triton_poi_fused_add_0", &[32, 16, 8], &["32", "16", "8"], (4096, 1)),
            // A dynamic size that is no extent.
            ("triton_poi_fused_add_0", &[32, 128], &["32", "4096"], (4096, 1)),
            ("triton_poi_fused_add_0", &[32, 128], &["0", "77"], (77, 1)),
            ("triton_red_fused_sum_0", &[32, 128], &["32", "128"], (32, 128)),
            ("triton_red_fused_sum_0", &[8, 4, 128], &["8", "4", "128"], (32, 128)),
            ("triton_per_fused_sum_0", &[32, 128], &["9", "32", "128"], (32, 128)),
            ("triton_per_fused_sum_0", &[128], &["128"], (128, 1)),
        ];
        for (name, shape, scalars, expected) in cases {
            let model = model_of(name, &[(shape, BF16)], scalars);
            assert_eq!((model.grid_elements, model.reduced_elements), expected, "{name} {scalars:?}");
        }
    }

    #[test]
    fn a_tensor_without_an_output_after_it_is_updated_in_place() {
        const BF16: &str = "c10::BFloat16";
        let cases: [(&str, &[&[i64]], bool); 7] = [
            ("triton_poi_fused_clone_0", &[&[4, 8], &[4, 8]], false),
            ("triton_poi_fused_addmm_silu_0", &[&[4, 8], &[8]], true),
            ("triton_poi_fused_silu_0", &[&[4, 8]], true),
            ("triton_poi_fused_zeros_0", &[&[4, 8]], false),
            // The matrix that a multiplication left is read, not written.
            ("triton_poi_fused__unsafe_view_add_0", &[&[2, 2, 8], &[4, 8]], true),
            ("triton_poi_fused__unsafe_view_add_0", &[&[4, 8], &[2, 2, 8]], false),
            ("triton_poi_fused_add_0", &[&[8], &[8]], false),
        ];
        for (name, shapes, expected) in cases {
            let tensors: Vec<_> = shapes.iter().map(|shape| (*shape, BF16)).collect();
            let model = model_of(name, &tensors, &["32"]);
            assert_eq!(model.updates_first, expected, "{name} {shapes:?}");
        }
    }

    #[test]
    fn floats_and_integers_have_their_sizes() {
        let tensors: [(&[i64], &str); 4] =
            [(&[888], "int"), (&[888], "long int"), (&[888], "float"), (&[888], "bool")];
        let model = model_of("triton_poi_fused_add_0", &tensors, &["888"]);
        assert_eq!(model.bytes(), Ok(888.0 * (4.0 + 8.0 + 4.0 + 1.0)));
        assert_eq!(model.compute_spec().map(|spec| spec.to_string()).as_deref(), Some("vector_fp32"));
    }

    #[test]
    fn an_unknown_operator_does_not_take_the_others_with_it() {
        let model = model_of("triton_poi_fused_add_fmha_v3_fwd_mul_13", &[(&[8], "float")], &["8"]);
        assert_eq!(model.flops(), Ok(16.0));
        assert!(model.assumption().unwrap().ends_with("excluding FLOPs of fmha_v3_fwd"));
    }
}
