//! What names say of the loop of a program: updates of parameters, the backward pass, waits, choices of tokens.

/// What a name says of an update of the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ParameterUpdate {
    /// Nothing.
    #[default]
    No,
    /// It may be part of one: arithmetic in place.
    Maybe,
    /// Only optimizers do this.
    Yes,
}

/// What the name of an operator, a call or a kernel says of the loop that it is part of.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopWords {
    /// Part of an optimizer's step.
    pub update: ParameterUpdate,
    /// Autograd evaluates a function of the backward pass.
    pub backward: bool,
    /// The host waits for the device or reads a value from it.
    pub waits: bool,
    /// A copy between host and device.
    pub crosses: bool,
    /// A copy from the device to the host.
    pub to_host: bool,
    /// Matrices are multiplied, or convolved, as every model does.
    pub multiplies: bool,
    /// A value is chosen among many, as a language model chooses tokens.
    pub chooses: bool,
    /// No name of an operator: a range around operators that an old recorder wrote as one of them.
    pub range: bool,
}

/// Parts of names that only optimizers have.
const OPTIMIZER_PARTS: [&str; 17] = [
    "_fused_adam",
    "_fused_sgd",
    "_fused_adagrad",
    "fused_adam",
    "fusedadam",
    "fusedsgd",
    "fusedlamb",
    "multi_tensor_adam",
    "multi_tensor_sgd",
    "multi_tensor_lamb",
    "_foreach_add_",
    "_foreach_sub_",
    "_foreach_mul_",
    "_foreach_addc",
    "_foreach_lerp",
    "_foreach_sqrt",
    "multi_tensor_apply_kernel",
];

/// Operators that only optimizers and averages of weights call from outside of autograd.
const OPTIMIZER_OPERATORS: [&str; 4] =
    ["aten::addcdiv_", "aten::addcmul_", "aten::lerp_", "aten::_foreach_div_"];

/// Arithmetic in place, of which the simplest optimizers are made.
const IN_PLACE: [&str; 4] = ["aten::add_", "aten::sub_", "aten::mul_", "aten::div_"];

/// Operators that multiply matrices.
const MULTIPLIES: [&str; 6] =
    ["aten::mm", "aten::addmm", "aten::bmm", "aten::linear", "aten::matmul", "aten::convolution"];

/// Parts of names of operators and kernels that multiply matrices.
const MULTIPLY_PARTS: [&str; 7] = ["gemm", "cijk", "nvjet", "cutlass", "scaled_mm", "conv2d", "attention"];

/// Operators that choose.
const CHOICES: [&str; 3] = ["aten::argmax", "aten::multinomial", "aten::topk"];

/// Parts of names of operators and kernels that sample tokens.
const CHOICE_PARTS: [&str; 4] = ["top_k_top_p", "topktopp", "samplingfromprob", "sampling_from_probs"];

impl LoopWords {
    /// What a name says.
    #[must_use]
    pub fn from_name(name: &str) -> LoopWords {
        let lower = name.to_ascii_lowercase();
        let update = if IN_PLACE.contains(&name) {
            ParameterUpdate::Maybe
        } else if OPTIMIZER_OPERATORS.contains(&name)
            || OPTIMIZER_PARTS.iter().any(|part| lower.contains(part))
        {
            ParameterUpdate::Yes
        } else {
            ParameterUpdate::No
        };
        // Recorders before PyTorch 1.11 have the functions alone.
        let backward = name.starts_with("autograd::engine::evaluate_function")
            || name == "torch::autograd::AccumulateGrad"
            || (!name.contains("::")
                && name.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with("Backward"));
        let from_host = ["htod", "host_to_device", "host -> device", "h2d"];
        let to_host = ["dtoh", "device_to_host", "device -> host", "d2h"];
        let names_any = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        LoopWords {
            update,
            backward,
            waits: lower.contains("synchronize")
                || matches!(name, "aten::item" | "aten::_local_scalar_dense" | "aten::is_nonzero"),
            crosses: names_any(&from_host) || names_any(&to_host),
            to_host: names_any(&to_host),
            multiplies: MULTIPLIES.contains(&name) || names_any(&MULTIPLY_PARTS),
            chooses: CHOICES.contains(&name) || CHOICE_PARTS.iter().any(|part| lower.contains(part)),
            range: !name.contains("::") && !backward && !lower.contains("backward"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optimizers_backwards_and_waits_are_known_by_name() {
        let facts = LoopWords::from_name;
        assert_eq!(facts("aten::_fused_adamw_").update, ParameterUpdate::Yes);
        assert_eq!(facts("aten::_foreach_addcdiv_").update, ParameterUpdate::Yes);
        assert_eq!(
            facts("void multi_tensor_apply_kernel<TensorListMetadata<2>>").update,
            ParameterUpdate::Yes
        );
        assert_eq!(facts("aten::add_").update, ParameterUpdate::Maybe);
        assert_eq!(facts("aten::add").update, ParameterUpdate::No);
        assert_eq!(facts("aten::_foreach_norm").update, ParameterUpdate::No);
        assert!(facts("autograd::engine::evaluate_function: MmBackward0").backward);
        assert!(facts("NllLossBackward").backward && facts("MmBackward0").backward);
        assert!(!facts("aten::mm").backward && !facts("aten::mm").range);
        assert!(facts("hipDeviceSynchronize").waits && facts("aten::item").waits);
        assert!(
            facts("Memcpy HtoD (Pinned -> Device)").crosses && facts("MEMORY_COPY_DEVICE_TO_HOST").crosses
        );
        assert!(!facts("Memcpy DtoD (Device -> Device)").crosses);
        assert!(facts("ProfilerStep#5").range && facts("## forward ##").range && !facts("MmBackward0").range);
    }
}
