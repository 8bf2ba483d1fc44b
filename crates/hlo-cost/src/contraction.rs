//! Matrix multiplications and convolutions: those of the program itself, and those that it has cuBLAS, hipBLAS, cuDNN
//! and MIOpen do.

use perf_models::{
    Activation, ComputeSpec, ComputeUnit, Parameter, Precision, Undefined, Value, count_value, elements,
    shape_value,
};

use crate::backend_config::BackendConfig;
use crate::work::{Contraction, Work};
use crate::{
    ArrayShape, ConvolutionDimensionNumbers, DotDimensionNumbers, ElementType, HloKind, InstructionRef,
    Layout, Shape, Window, WindowDimension,
};

/// The array that operand `index` is.
pub(crate) fn array_operand(of: InstructionRef<'_>, index: usize) -> Result<&ArrayShape, Undefined> {
    let operand = of.operand(index).map(InstructionRef::instruction);
    operand
        .and_then(|operand| operand.shape.as_array())
        .ok_or_else(|| Undefined::arguments(format!("operand {index} is not an array of the program")))
}

fn first_array(shape: &Shape) -> Result<&ArrayShape, Undefined> {
    shape.arrays().first().copied().ok_or_else(|| Undefined::arguments("the result is not an array"))
}

/// The extents along some dimensions.
pub(crate) fn extents(dimensions: &[u64], which: &[i64]) -> Result<Vec<u64>, Undefined> {
    which.iter().map(|&axis| extent(dimensions, axis)).collect()
}

pub(crate) fn extent(dimensions: &[u64], axis: i64) -> Result<u64, Undefined> {
    usize::try_from(axis).ok().and_then(|axis| dimensions.get(axis).copied()).ok_or_else(|| {
        Undefined::arguments(format!("a shape of {} has no dimension {axis}", dimensions.len()))
    })
}

/// The extents along all other dimensions.
pub(crate) fn other_extents(dimensions: &[u64], without: &[&[i64]]) -> Vec<u64> {
    let is_left = |axis: usize| !without.iter().any(|list| list.contains(&(axis as i64)));
    (0..dimensions.len()).filter(|&axis| is_left(axis)).map(|axis| dimensions[axis]).collect()
}

/// The peak of the matrix units for two types of operands: that of the more precise one.
fn matrix_spec(a: ElementType, b: ElementType) -> Option<ComputeSpec> {
    let rank = |precision: Precision| match precision {
        Precision::Fp64 => 7,
        Precision::Fp32 => 6,
        Precision::Tf32 => 5,
        Precision::Bf16 => 4,
        Precision::Fp16 => 3,
        Precision::Fp8 => 2,
        Precision::Int8 => 1,
        Precision::Fp4 => 0,
    };
    let precision = [a.precision()?, b.precision()?].into_iter().max_by_key(|&precision| rank(precision))?;
    Some(ComputeSpec { unit: ComputeUnit::Matrix, precision })
}

fn types_parameter(a: ElementType, b: ElementType) -> Parameter {
    ("dtype_A_B", Value::Tuple(vec![a.torch_name().into(), b.torch_name().into()]))
}

/// The matrix multiplication of a `dot` instruction.
pub(crate) fn dot(of: InstructionRef<'_>) -> Result<Contraction, Undefined> {
    let numbers = of.dot.as_ref().ok_or_else(|| Undefined::arguments("the dot has no dimension numbers"))?;
    matmul(of, numbers, false)
}

/// A multiplication of the first two operands: `2·batch·M·N·K`.
///
/// M and N are those of the column-major multiplication that BLAS libraries run, whose names and tiles
/// kernels carry: for a row-major result, M counts its columns.
pub(crate) fn matmul(
    of: InstructionRef<'_>,
    numbers: &DotDimensionNumbers,
    bias: bool,
) -> Result<Contraction, Undefined> {
    let (a, b) = (array_operand(of, 0)?, array_operand(of, 1)?);
    let summed = extents(&a.dimensions, &numbers.lhs_contracting)?;
    if summed != extents(&b.dimensions, &numbers.rhs_contracting)? {
        return Err(Undefined::arguments("the operands' contracted dimensions differ"));
    }
    let batch = extents(&a.dimensions, &numbers.lhs_batch)?;
    let extents_a = other_extents(&a.dimensions, &[&numbers.lhs_contracting, &numbers.lhs_batch]);
    let extents_b = other_extents(&b.dimensions, &[&numbers.rhs_contracting, &numbers.rhs_batch]);
    let operations = if a.element_type.is_complex() { 8.0 } else { 2.0 };
    let flops = operations * elements(&[&batch[..], &extents_a, &extents_b, &summed].concat());
    let result = first_array(&of.shape)?;
    let (m, n) = if is_column_major(result) { (&extents_a, &extents_b) } else { (&extents_b, &extents_a) };
    let count = |extents: &[u64]| count_value(elements(extents) as u64);
    let precision = matrix_spec(a.element_type, b.element_type);
    let parameters = vec![
        ("B", count(&batch)),
        ("M", count(m)),
        ("N", count(n)),
        ("K", count(&summed)),
        ("bias", bias.into()),
        types_parameter(a.element_type, b.element_type),
        ("simulation_dtype", precision.map(|spec| spec.precision.as_str()).into()),
    ];
    Ok(Contraction { kind: HloKind::Gemm, flops, spec: precision, parameters })
}

/// Whether the rows of the last two dimensions lie next to each other.
fn is_column_major(result: &ArrayShape) -> bool {
    let rank = result.dimensions.len() as i64;
    let minor = |layout: &Layout| layout.minor_to_major.first().copied();
    rank >= 2 && result.layout.as_ref().and_then(minor) == Some(rank - 2)
}

/// The three arrays of a convolution, whichever of them is the result.
struct ConvolutionArrays<'a> {
    input: &'a ArrayShape,
    filter: &'a ArrayShape,
    output: &'a ArrayShape,
}

/// The convolution of a `convolution` instruction.
pub(crate) fn convolution(of: InstructionRef<'_>) -> Result<Contraction, Undefined> {
    let arrays = ConvolutionArrays {
        input: array_operand(of, 0)?,
        filter: array_operand(of, 1)?,
        output: first_array(&of.shape)?,
    };
    convolve(of, HloKind::ConvForward, &arrays, of.window.as_ref(), false)
}

/// Two operations for each tap of a filter at each element of the output: `2·∏output·∏taps·C_in/groups`.
///
/// The filter's own extent of input channels is `C_in/groups`. Dilation of the filter moves its taps and adds
/// none. Where the input is dilated, as in transposed convolutions, each of its elements meets each tap once;
/// the zeros between them take no operation. Zeros around the input count, as is usual.
fn convolve(
    of: InstructionRef<'_>,
    kind: HloKind,
    arrays: &ConvolutionArrays<'_>,
    window: Option<&Window>,
    bias: bool,
) -> Result<Contraction, Undefined> {
    let ConvolutionArrays { input, filter, output } = arrays;
    let numbers = of
        .convolution
        .as_ref()
        .ok_or_else(|| Undefined::arguments("the convolution has no dimension numbers"))?;
    let taps = other_extents(&filter.dimensions, &[&[numbers.kernel_output_feature]]);
    extent(&filter.dimensions, numbers.kernel_output_feature)?;
    let mut positions = output.dimensions.clone();
    let dilated = |axis: usize| {
        window.and_then(|window| window.dimensions.get(axis)).is_some_and(|of| of.base_dilation > 1)
    };
    for (axis, (&at_output, &at_input)) in
        numbers.output_spatial.iter().zip(&numbers.input_spatial).enumerate()
    {
        let (out, inner) = (extent(&output.dimensions, at_output)?, extent(&input.dimensions, at_input)?);
        if dilated(axis) {
            positions[at_output as usize] = out.min(inner);
        }
    }
    let operations = if input.element_type.is_complex() { 8.0 } else { 2.0 };
    let flops = operations * elements(&[&positions[..], &taps].concat());
    let spec = matrix_spec(input.element_type, filter.element_type);
    let parameters = convolution_parameters(of, numbers, arrays, bias)?;
    Ok(Contraction { kind, flops, spec, parameters })
}

fn convolution_parameters(
    of: InstructionRef<'_>,
    numbers: &ConvolutionDimensionNumbers,
    arrays: &ConvolutionArrays<'_>,
    bias: bool,
) -> Result<Vec<Parameter>, Undefined> {
    let ConvolutionArrays { input, filter, output } = arrays;
    let in_order = |array: &ArrayShape, batch: i64, feature: i64, spatial: &[i64]| {
        extents(&array.dimensions, &[&[batch, feature], spatial].concat())
            .map(|extents| shape_value(&extents))
    };
    let settings = |setting: fn(&WindowDimension) -> Value| {
        let dimensions = of.window.iter().flat_map(|window| &window.dimensions);
        Value::Tuple(dimensions.map(setting).collect())
    };
    let transposed =
        of.window.iter().flat_map(|window| &window.dimensions).any(|dimension| dimension.base_dilation > 1);
    let spatial = numbers.kernel_spatial.len();
    let bytes_per_element = input.element_bits().map(|bits| (bits / 8.0).ceil() as i64);
    Ok(vec![
        ("convNd", format!("conv{spatial}d").into()),
        ("input_shape", in_order(input, numbers.input_batch, numbers.input_feature, &numbers.input_spatial)?),
        ("filter_shape", shape_value(&extents(&filter.dimensions, &numbers.kernel_spatial)?)),
        (
            "output_shape",
            in_order(output, numbers.output_batch, numbers.output_feature, &numbers.output_spatial)?,
        ),
        ("bias", bias.into()),
        ("bytes_per_element", bytes_per_element.into()),
        ("transposed_conv", transposed.into()),
        ("stride", settings(|dimension| dimension.stride.into())),
        ("padding", settings(|dimension| Value::tuple([dimension.padding_low, dimension.padding_high]))),
        ("dilation", settings(|dimension| dimension.window_dilation.into())),
        ("groups", of.feature_group_count.max(1).into()),
    ])
}

/// The operations of a custom call other than attention.
pub(crate) fn custom_call(of: InstructionRef<'_>) -> Work {
    let target = of.custom_call_target.as_str();
    let config = BackendConfig::read(&of.backend_config);
    match HloKind::from_target(target) {
        HloKind::Gemm if config.json("/gemm_backend_config").is_some() => library_matmul(of, &config),
        HloKind::ConvForward | HloKind::ConvBackward => library_convolution(of),
        _ => stated_by_author(&config).unwrap_or_else(|| {
            Work::unknown(Undefined::no_formula(format!("no formula for the custom call {target}")))
        }),
    }
}

/// The multiplication itself on the matrix units; scaling of the addend, the bias and the activation on the
/// others.
fn library_matmul(of: InstructionRef<'_>, config: &BackendConfig) -> Work {
    let Some(numbers) = config.dot("/gemm_backend_config/dot_dimension_numbers") else {
        return Work::unknown(Undefined::arguments("the backend configuration has no dimension numbers"));
    };
    let epilogue = config.text("/gemm_backend_config/epilogue").unwrap_or("DEFAULT");
    let has_addend = config.number("/gemm_backend_config/beta").is_some_and(|beta| beta != 0.0);
    let has_bias = epilogue.contains("BIAS");
    let lower = epilogue.to_ascii_lowercase();
    let has_activation = Activation::all().any(|activation| lower.contains(activation.as_str()));
    let mut work = Work::from_contraction(matmul(of, &numbers, has_addend || has_bias));
    if let Ok(result) = first_array(&of.shape) {
        let activation = if has_activation { Activation::HLO_OPERATIONS } else { 0.0 };
        let per_element = f64::from(u8::from(has_addend)) + f64::from(u8::from(has_bias)) + activation;
        work.add_vector(result.element_type, per_element * result.elements());
    }
    work
}

/// Forward, or to the gradient of either operand: the same products each.
///
/// Operands and results by the call: forward (input, filter) to output, backward input (gradient of the
/// output, filter) to input, backward filter (input, gradient of the output) to filter. Dimension numbers and
/// window are those of the forward convolution in all of them.
fn library_convolution(of: InstructionRef<'_>) -> Work {
    let target = of.custom_call_target.as_str();
    let kind = HloKind::from_target(target);
    let has_bias = target.contains("Bias");
    let arrays = || {
        let (first, second, result) = (array_operand(of, 0)?, array_operand(of, 1)?, first_array(&of.shape)?);
        Ok(if target.contains("BackwardInput") {
            ConvolutionArrays { input: result, filter: second, output: first }
        } else if target.contains("BackwardFilter") {
            ConvolutionArrays { input: first, filter: result, output: second }
        } else {
            ConvolutionArrays { input: first, filter: second, output: result }
        })
    };
    let mut work =
        Work::from_contraction(arrays().and_then(|arrays| convolve(of, kind, &arrays, None, has_bias)));
    if has_bias && let Ok(result) = first_array(&of.shape) {
        work.add_vector(result.element_type, result.elements());
    }
    work
}

/// What the author of a Pallas kernel states it costs.
fn stated_by_author(config: &BackendConfig) -> Option<Work> {
    let flops = ["/custom_call_config/cost_estimate/flops", "/cost_estimate/flops"]
        .iter()
        .find_map(|path| config.number(path))
        .filter(|flops| *flops >= 0.0)?;
    let mut work =
        Work { assumption: Some("FLOPs as stated by the kernel's author".into()), ..Work::default() };
    work.stated_flops = Some(flops);
    Some(work)
}
