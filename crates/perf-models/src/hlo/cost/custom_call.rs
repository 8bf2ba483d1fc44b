//! Calls of libraries: matrix multiplications of cuBLAS and hipBLAS, convolutions of cuDNN and MIOpen.

use super::contraction::{ConvolutionArrays, array_operand, convolve, first_array, matmul};
use super::work::Work;
use crate::Undefined;
use crate::hlo::backend_config::BackendConfig;
use crate::hlo::{HloKind, InstructionRef};

/// The operations of a custom call that is no attention.
pub(super) fn work(of: InstructionRef<'_>) -> Work {
    let target = of.custom_call_target.as_str();
    let config = BackendConfig::read(&of.backend_config);
    match HloKind::of_target(target) {
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
    let has_activation = ["RELU", "GELU", "SILU"].iter().any(|name| epilogue.contains(name));
    let mut work = Work::of_contraction(matmul(of, &numbers, has_addend || has_bias));
    if let Ok(result) = first_array(&of.shape) {
        let per_element = [has_addend, has_bias, has_activation].map(|has| f64::from(u8::from(has)));
        work.add_vector(result.element_type, per_element.iter().sum::<f64>() * result.elements());
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
    let kind = HloKind::of_target(target);
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
        Work::of_contraction(arrays().and_then(|arrays| convolve(of, kind, &arrays, None, has_bias)));
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
        Work { assumption: Some("operations as the kernel's author states them".into()), ..Work::default() };
    work.stated_flops = Some(flops);
    Some(work)
}
