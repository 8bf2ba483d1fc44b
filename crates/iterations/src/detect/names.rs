//! What the names of calls and kernels say, decided once per distinct name.

use trace_ingest::{StringId, StringTable};
use trace2tree::is_graph_launch;

/// What a name says of an update of the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Update {
    /// Nothing.
    #[default]
    No,
    /// It may be part of one: arithmetic in place.
    Maybe,
    /// Only optimizers do this.
    Yes,
}

/// What a name says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NameFacts {
    /// Part of an optimizer's step.
    pub(crate) update: Update,
    /// Autograd evaluates a function of the backward pass.
    pub(crate) backward: bool,
    /// The host waits for the device or reads a value from it.
    pub(crate) waits: bool,
    /// A copy between host and device.
    pub(crate) crosses: bool,
    /// A copy from the device to the host.
    pub(crate) to_host: bool,
    /// The call launches a captured graph.
    pub(crate) graph_launch: bool,
    /// Matrices are multiplied, or convolved, as every model does.
    pub(crate) multiplies: bool,
    /// A value is chosen among many, as a language model chooses tokens.
    pub(crate) chooses: bool,
    /// No name of an operator: a range around operators that an old recorder wrote as one of them.
    pub(crate) range: bool,
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

impl NameFacts {
    pub(crate) fn from_name(name: &str) -> NameFacts {
        let lower = name.to_ascii_lowercase();
        let update = if IN_PLACE.contains(&name) {
            Update::Maybe
        } else if OPTIMIZER_OPERATORS.contains(&name)
            || OPTIMIZER_PARTS.iter().any(|part| lower.contains(part))
        {
            Update::Yes
        } else {
            Update::No
        };
        // Recorders before PyTorch 1.11 have the functions alone.
        let backward = name.starts_with("autograd::engine::evaluate_function")
            || name == "torch::autograd::AccumulateGrad"
            || (!name.contains("::")
                && name.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with("Backward"));
        let from_host = ["htod", "host_to_device", "host -> device", "h2d"];
        let to_host = ["dtoh", "device_to_host", "device -> host", "d2h"];
        let names_any = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        NameFacts {
            update,
            backward,
            waits: lower.contains("synchronize")
                || matches!(name, "aten::item" | "aten::_local_scalar_dense" | "aten::is_nonzero"),
            crosses: names_any(&from_host) || names_any(&to_host),
            to_host: names_any(&to_host),
            graph_launch: is_graph_launch(name),
            multiplies: MULTIPLIES.contains(&name) || names_any(&MULTIPLY_PARTS),
            chooses: CHOICES.contains(&name) || CHOICE_PARTS.iter().any(|part| lower.contains(part)),
            range: !name.contains("::") && !backward && !lower.contains("backward"),
        }
    }
}

/// Facts of the strings of a trace, each found when it is first asked for.
pub(crate) struct Names<'t> {
    strings: &'t StringTable,
    known: Vec<Option<NameFacts>>,
}

impl<'t> Names<'t> {
    pub(crate) fn new(strings: &'t StringTable) -> Self {
        Names { strings, known: vec![None; strings.len()] }
    }

    pub(crate) fn get(&mut self, name: StringId) -> NameFacts {
        *self.known[name.index()].get_or_insert_with(|| NameFacts::from_name(self.strings.get(name)))
    }
}

/// A name without its numbers, by which iterations of one kind are one group, and the last of these numbers.
pub(crate) fn without_numbers(name: &str) -> (String, Option<i64>) {
    let mut key = String::with_capacity(name.len());
    let mut number = None;
    let mut rest = name;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| at + end);
        key.push_str(&rest[..at]);
        number = rest[at..digits].parse().ok();
        rest = &rest[digits..];
        key.push('0');
    }
    key.push_str(rest);
    (key, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optimizers_backwards_and_waits_are_known_by_name() {
        let facts = NameFacts::from_name;
        assert_eq!(facts("aten::_fused_adamw_").update, Update::Yes);
        assert_eq!(facts("aten::_foreach_addcdiv_").update, Update::Yes);
        assert_eq!(facts("void multi_tensor_apply_kernel<TensorListMetadata<2>>").update, Update::Yes);
        assert_eq!(facts("aten::add_").update, Update::Maybe);
        assert_eq!(facts("aten::add").update, Update::No);
        assert_eq!(facts("aten::_foreach_norm").update, Update::No);
        assert!(facts("autograd::engine::evaluate_function: MmBackward0").backward);
        assert!(facts("NllLossBackward").backward && facts("MmBackward0").backward);
        assert!(!facts("aten::mm").backward && !facts("aten::mm").range);
        assert!(facts("hipDeviceSynchronize").waits && facts("aten::item").waits);
        assert!(
            facts("Memcpy HtoD (Pinned -> Device)").crosses && facts("MEMORY_COPY_DEVICE_TO_HOST").crosses
        );
        assert!(!facts("Memcpy DtoD (Device -> Device)").crosses);
        assert!(facts("cudaGraphLaunch").graph_launch);
        assert!(facts("ProfilerStep#5").range && facts("## forward ##").range && !facts("MmBackward0").range);
    }

    #[test]
    fn numbers_are_taken_out_of_names() {
        assert_eq!(without_numbers("ProfilerStep#12"), ("ProfilerStep#0".to_owned(), Some(12)));
        assert_eq!(without_numbers("step 3 of 10"), ("step 0 of 0".to_owned(), Some(10)));
        assert_eq!(without_numbers("forward"), ("forward".to_owned(), None));
    }
}
