//! What the elements of a tensor are to be, which is not recorded: by what the operator uses the tensor for. Indices have
//! to lie inside what they point into, and variances above zero; of most others any value does.

use crate::element_type::NumberKind;
use crate::recorded::{Argument, Scalar, Tensor};
use crate::schema::Schema;

/// Values that a tensor is filled with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Contents {
    /// Real or complex numbers of a standard normal distribution.
    Normal,
    /// Whatever the memory holds: the operator overwrites it.
    Uninitialised,
    /// Zeros: the only whole numbers that are safe where nothing says what they are for.
    Zeros,
    /// Whole numbers that are nobody's index, from 1, as some operators divide by them.
    Numbers,
    /// Indices from 0.
    Indices { below: u64 },
    /// Truth values, half of them true.
    Mask,
    /// Whole numbers that rise evenly.
    Offsets { from: u64, to: u64 },
    /// Real numbers between 0 and 1.
    Probabilities,
    /// Real numbers around 1, such as variances.
    Positive,
}

/// [`Contents::Numbers`] are below this: they fit every integer type.
pub(crate) const NUMBERS_BELOW: u64 = 100;

/// What indices point into.
#[derive(Clone, Copy)]
enum Below {
    /// The dimension of a tensor that a number names.
    Dimension { of: &'static str, named_by: &'static str },
    /// The same where the shape is an argument.
    Size { of: &'static str, named_by: &'static str },
    /// The first dimension of a tensor.
    Rows(&'static str),
    /// The dimension of a tensor that stands at the index's position in its list.
    OwnDimension(&'static str),
    /// All elements of a tensor.
    Elements(&'static str),
    /// The last two dimensions of a tensor.
    Plane(&'static str),
    /// The second dimension of a tensor, the first of a vector.
    Classes(&'static str),
    /// As many as a number says.
    Number(&'static str),
}

const ALONG: Below = Below::Dimension { of: "self", named_by: "dim" };

/// Operators, without what marks in-place ones, with their parameters that are indices.
const INDICES: &[(&[&str], &str, Below)] = &[
    (&["index_select", "index_add", "index_copy", "index_fill", "index_reduce"], "index", ALONG),
    (&["gather", "scatter", "scatter_add", "scatter_reduce"], "index", ALONG),
    (&["index_select_backward"], "index", Below::Size { of: "self_sizes", named_by: "dim" }),
    (
        &["embedding", "embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"],
        "indices",
        Below::Rows("weight"),
    ),
    (&["embedding_renorm"], "indices", Below::Rows("self")),
    (
        &["embedding_backward", "embedding_dense_backward", "embedding_sparse_backward"],
        "indices",
        Below::Number("num_weights"),
    ),
    (&["_embedding_bag_backward", "_embedding_bag_dense_backward"], "indices", Below::Number("num_weights")),
    (
        &["index", "index_put", "_index_put_impl", "_unsafe_index", "_unsafe_index_put"],
        "indices",
        Below::OwnDimension("self"),
    ),
    (&["take", "put"], "index", Below::Elements("self")),
    (
        &[
            "nll_loss",
            "nll_loss_nd",
            "nll_loss_forward",
            "nll_loss_backward",
            "cross_entropy_loss",
            "multi_margin_loss",
        ],
        "target",
        Below::Classes("self"),
    ),
    (&["nll_loss2d", "nll_loss2d_forward", "nll_loss2d_backward"], "target", Below::Classes("self")),
    (&["max_pool2d_with_indices_backward"], "indices", Below::Plane("self")),
    (&["one_hot"], "self", Below::Number("num_classes")),
];

/// Parameters that say where sequences begin or end in a tensor's rows, with that tensor, in any operator.
const OFFSETS: &[(&str, &str, Bounds)] = &[
    ("cum_seq_q", "query", Bounds::Both),
    ("cum_seq_k", "key", Bounds::Both),
    ("cu_seqlens_q", "query", Bounds::Both),
    ("cu_seqlens_k", "key", Bounds::Both),
    ("cu_seqlens", "query", Bounds::Both),
    ("offsets", "indices", Bounds::Begins),
    ("offs", "self", Bounds::Ends),
];

/// Which bounds of sequences offsets have.
#[derive(Clone, Copy)]
enum Bounds {
    Begins,
    Ends,
    /// The begin of each and the end of the last.
    Both,
}

/// Parameters that are above zero, in any operator.
const POSITIVE: &[&str] = &[
    "running_var",
    "save_var",
    "save_invstd",
    "invstd",
    "rstd",
    "exp_avg_sqs",
    "max_exp_avg_sqs",
    "state_sums",
    "state_steps",
];

/// Operators with parameters that are probabilities.
const PROBABILITIES: &[(&str, &[&str])] = &[
    ("bernoulli", &["self", "p"]),
    ("multinomial", &["self"]),
    ("binary_cross_entropy", &["self", "target"]),
    ("binary_cross_entropy_backward", &["self", "target"]),
    ("binary_cross_entropy_with_logits", &["target"]),
];

/// Operators that overwrite their first argument without reading it.
const OVERWRITTEN: &[&str] = &[
    "fill_",
    "zero_",
    "copy_",
    "normal_",
    "uniform_",
    "random_",
    "bernoulli_",
    "exponential_",
    "log_normal_",
    "cauchy_",
    "geometric_",
    "_foreach_copy_",
    "_foreach_zero_",
];

/// The arguments of a call with the schema that takes them; without, only types tell what tensors are.
#[derive(Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) schema: Option<&'c Schema<'c>>,
    pub(crate) arguments: &'c [Argument],
}

impl<'c> Call<'c> {
    /// What a tensor is filled with: argument `index`, and where that is a list, its tensor at `position`.
    pub(crate) fn contents(self, index: usize, position: usize, tensor: &Tensor) -> Contents {
        let is_real = matches!(tensor.element_type.kind, NumberKind::Real | NumberKind::Complex);
        let is_mask = tensor.element_type.kind == NumberKind::Bool;
        let Some((schema, parameter)) =
            self.schema.and_then(|schema| Some((schema, schema.parameters.get(index)?)))
        else {
            return match () {
                () if is_real => Contents::Normal,
                () if is_mask => Contents::Mask,
                () => Contents::Zeros,
            };
        };
        let name = schema.name.rsplit("::").next().unwrap_or_default();
        let is_out = parameter.is_written && parameter.keyword_only;
        if is_out || (index == 0 && OVERWRITTEN.contains(&name)) {
            return Contents::Uninitialised;
        }
        if is_mask {
            return Contents::Mask;
        }
        let (name, parameter) = (name.strip_suffix('_').unwrap_or(name), parameter.name);
        if is_real {
            let is_probability =
                PROBABILITIES.iter().any(|(of, parameters)| *of == name && parameters.contains(&parameter));
            return match () {
                () if POSITIVE.contains(&parameter) => Contents::Positive,
                () if is_probability => Contents::Probabilities,
                () => Contents::Normal,
            };
        }
        if let Some((_, _, below)) =
            INDICES.iter().find(|(names, of, _)| names.contains(&name) && *of == parameter)
        {
            // What cannot be found out is at least one.
            return Contents::Indices { below: self.below(*below, position).unwrap_or(1).max(1) };
        }
        let offsets = OFFSETS.iter().find(|(of, _, _)| *of == parameter);
        if let Some((rows, bounds)) = offsets.and_then(|&(_, of, bounds)| Some((self.rows(of)?, bounds))) {
            let sequences = tensor.shape.first().copied().unwrap_or(1).max(1);
            let (from, to) = match bounds {
                Bounds::Both => (0, rows),
                Bounds::Begins => (0, rows - rows / sequences),
                Bounds::Ends => (rows / sequences, rows),
            };
            return Contents::Offsets { from, to };
        }
        Contents::Numbers
    }

    fn argument(self, name: &str) -> Option<&'c Argument> {
        let parameters = &self.schema?.parameters;
        self.arguments.get(parameters.iter().position(|parameter| parameter.name == name)?)
    }

    fn shape(self, name: &str) -> Option<&'c [u64]> {
        match self.argument(name)? {
            Argument::Tensor(tensor) => Some(&tensor.shape),
            _ => None,
        }
    }

    fn rows(self, name: &str) -> Option<u64> {
        self.shape(name)?.first().copied()
    }

    fn number(self, name: &str) -> Option<i64> {
        match self.argument(name)? {
            Argument::Scalar(Scalar::Int(number)) => Some(*number),
            _ => None,
        }
    }

    /// The first number that is no index.
    fn below(self, below: Below, position: usize) -> Option<u64> {
        let last_two =
            |shape: &[u64]| shape.iter().rev().take(2).fold(1_u64, |all, &extent| all.saturating_mul(extent));
        match below {
            Below::Dimension { of, named_by } => {
                let shape = self.shape(of)?;
                shape.get(dimension(self.number(named_by)?, shape.len())?).copied()
            }
            Below::Size { of, named_by } => {
                let Argument::Scalars(sizes) = self.argument(of)? else { return None };
                match sizes.get(dimension(self.number(named_by)?, sizes.len())?)? {
                    Scalar::Int(size) => u64::try_from(*size).ok(),
                    _ => None,
                }
            }
            Below::Rows(of) => self.rows(of),
            Below::OwnDimension(of) => self.shape(of)?.get(position).copied(),
            Below::Elements(of) => {
                Some(self.shape(of)?.iter().fold(1_u64, |all, &extent| all.saturating_mul(extent)))
            }
            Below::Plane(of) => self.shape(of).map(last_two),
            Below::Classes(of) => self.shape(of)?.iter().take(2).next_back().copied(),
            Below::Number(name) => u64::try_from(self.number(name)?).ok(),
        }
    }
}

/// The dimension that a number names, which counts from the end where it is negative.
fn dimension(number: i64, of: usize) -> Option<usize> {
    let of = i64::try_from(of).ok()?;
    usize::try_from(if number < 0 { number + of } else { number }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element_type::element_type;
    use crate::known_schemas::overloads;

    fn tensor(shape: &[u64], recorded: &str) -> Argument {
        let element_type = element_type(recorded).unwrap();
        Argument::Tensor(Tensor { shape: shape.to_vec(), strides: vec![1; shape.len()], element_type })
    }

    fn contents(name: &str, arguments: &[Argument], index: usize) -> Contents {
        let schema = overloads(name).iter().find(|schema| schema.parameters.len() == arguments.len());
        let tensor = match &arguments[index] {
            Argument::Tensor(tensor) => tensor,
            Argument::Tensors(tensors) => tensors[1].as_ref().unwrap(),
            other => panic!("{other:?}"),
        };
        Call { schema, arguments }.contents(index, 1, tensor)
    }

    #[test]
    fn tensors_hold_what_their_operator_can_use() {
        let number = |number| Argument::Scalar(Scalar::Int(number));
        let half = |shape: &[u64]| tensor(shape, "c10::Half");
        let long = |shape: &[u64]| tensor(shape, "long int");
        let flag = Argument::Scalar(Scalar::Bool(false));
        let Argument::Tensor(indices) = long(&[3]) else { unreachable!() };
        let lists = Argument::Tensors(vec![None, Some(indices)]);
        let attention = [half(&[90, 8, 64]), half(&[80, 8, 64]), half(&[80, 8, 64]), long(&[4]), long(&[4])];
        let mut attention = attention.to_vec();
        attention.extend([number(1), number(1), number(0), flag.clone(), flag.clone()]);
        attention.extend(vec![Argument::Absent; 7]);
        for (name, arguments, index, expected) in [
            ("aten::add", &[half(&[4]), half(&[4]), number(1)][..], 1, Contents::Normal),
            ("aten::add", &[long(&[4]), long(&[4]), number(1)], 1, Contents::Numbers),
            ("aten::copy_", &[half(&[4]), half(&[4]), flag.clone()], 0, Contents::Uninitialised),
            ("aten::copy_", &[half(&[4]), half(&[4]), flag.clone()], 1, Contents::Normal),
            ("aten::mm", &[half(&[4, 4]), half(&[4, 4]), half(&[4, 4])], 2, Contents::Uninitialised),
            ("aten::masked_fill_", &[half(&[4]), tensor(&[4], "bool"), half(&[])], 1, Contents::Mask),
            (
                "aten::gather",
                &[half(&[4, 9]), number(-1), long(&[4, 2]), flag.clone()],
                2,
                Contents::Indices { below: 9 },
            ),
            ("aten::index", &[half(&[4, 9]), lists], 1, Contents::Indices { below: 9 }),
            ("aten::take", &[half(&[4, 9]), long(&[5])], 1, Contents::Indices { below: 36 }),
            (
                "aten::nll_loss_forward",
                &[half(&[4, 9]), long(&[4]), Argument::Absent, number(1), number(-100)],
                1,
                Contents::Indices { below: 9 },
            ),
            (
                "aten::embedding_dense_backward",
                &[half(&[3, 8]), long(&[3]), number(50), number(-1), flag.clone()],
                1,
                Contents::Indices { below: 50 },
            ),
            ("aten::_flash_attention_forward", &attention, 3, Contents::Offsets { from: 0, to: 90 }),
            ("aten::_flash_attention_forward", &attention, 4, Contents::Offsets { from: 0, to: 80 }),
            ("vllm::custom", &[long(&[4])], 0, Contents::Zeros),
            ("vllm::custom", &[tensor(&[4], "bool")], 0, Contents::Mask),
        ] {
            assert_eq!(contents(name, arguments, index), expected, "{name} {index}");
        }
    }

    #[test]
    fn operators_of_the_tables_are_known_with_these_parameters() {
        let has = |name: &str, parameter: &str| {
            let of = [format!("aten::{name}"), format!("aten::{name}_")];
            let mut schemas = of.iter().flat_map(|name| overloads(name));
            schemas.any(|schema| schema.parameters.iter().any(|known| known.name == parameter))
        };
        for (names, parameter, _) in INDICES {
            for name in *names {
                assert!(has(name, parameter), "{name} {parameter}");
            }
        }
        for (name, parameters) in PROBABILITIES {
            for parameter in *parameters {
                assert!(has(name, parameter), "{name} {parameter}");
            }
        }
        for name in OVERWRITTEN {
            assert!(!overloads(&format!("aten::{name}")).is_empty(), "{name}");
        }
    }
}
