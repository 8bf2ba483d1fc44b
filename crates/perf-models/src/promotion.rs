//! What operations on each element make of the shapes and types of their operands.

use crate::data_type::recorded_name;
use crate::tensor::Tensor;
use crate::{Undefined, element_size};

/// The shape of two tensors that are operated on element by element: dimensions are equal, or one of
/// them is 1, counted from the last.
pub(crate) fn broadcast(left: &[u64], right: &[u64]) -> Result<Vec<u64>, Undefined> {
    let rank = left.len().max(right.len());
    let extent =
        |shape: &[u64], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    (0..rank)
        .map(|axis| match (extent(left, axis), extent(right, axis)) {
            (1, extent) | (extent, 1) => Ok(extent),
            (left, right) if left == right => Ok(left),
            _ => Err(Undefined::arguments(format!("shapes {left:?} and {right:?} do not broadcast"))),
        })
        .collect()
}

/// Kinds of numbers, each of which holds those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Flag,
    Whole,
    Fraction,
    Complex,
}

impl Kind {
    pub(crate) fn from_type(element_type: &str) -> Self {
        match recorded_name(element_type) {
            "bool" => Kind::Flag,
            name if name.contains("complex") => Kind::Complex,
            "float" | "double" => Kind::Fraction,
            name if name.starts_with("c10::") => Kind::Fraction,
            _ => Kind::Whole,
        }
    }

    /// Of a number that is recorded as text.
    pub(crate) fn from_number(text: &str) -> Option<Self> {
        match text {
            "" | "None" => None,
            "True" | "False" => Some(Kind::Flag),
            text if text.parse::<i64>().is_ok() => Some(Kind::Whole),
            text => text.parse::<f64>().is_ok().then_some(Kind::Fraction),
        }
    }

    /// The type of a result where only a number is of the kind.
    fn default_type(self) -> &'static str {
        match self {
            Kind::Flag => "bool",
            Kind::Whole => "long int",
            Kind::Fraction => "float",
            Kind::Complex => "c10::complex<float>",
        }
    }
}

/// The type that PyTorch promotes operands to: of the kinds the widest, of types of one kind the largest; tensors
/// without dimensions and numbers count only where they are of a wider kind (`torch.result_type`).
pub(crate) fn promoted(tensors: &[Tensor], numbers: impl IntoIterator<Item = Kind>) -> String {
    let widest = |of: &mut dyn Iterator<Item = &Tensor>| -> Option<String> {
        of.map(|tensor| tensor.element_type.clone()).reduce(wider)
    };
    let has_dimensions = |tensor: &&Tensor| !tensor.shape.is_empty();
    let tensor_type = widest(&mut tensors.iter().filter(has_dimensions));
    let scalar_type = widest(&mut tensors.iter().filter(|tensor| !has_dimensions(tensor)));
    let kind = |name: &Option<String>| name.as_deref().map(Kind::from_type);
    let operand_type = match kind(&scalar_type) > kind(&tensor_type) {
        // A number of Python is recorded as `double`; beside tensors it makes fractions of the default type.
        true if tensor_type.is_some() && scalar_type.as_deref() == Some("double") => Some("float".to_owned()),
        true => scalar_type,
        false => tensor_type,
    };
    let number = numbers.into_iter().max();
    match operand_type {
        Some(name) if number <= Some(Kind::from_type(&name)) => name,
        _ => number.map_or("float", Kind::default_type).to_owned(),
    }
}

/// The type that holds both.
fn wider(one: String, other: String) -> String {
    let rank = |name: &str| (Kind::from_type(name), element_size(name).unwrap_or_default());
    let kind = Kind::from_type(&one);
    let is_other = recorded_name(&one) != recorded_name(&other);
    match rank(&one).partial_cmp(&rank(&other)) {
        Some(std::cmp::Ordering::Less) => other,
        // Half and BFloat16 hold each other's numbers in float alone, signed and unsigned bytes in `short int`.
        Some(std::cmp::Ordering::Equal) if is_other && kind == Kind::Fraction => "float".to_owned(),
        Some(std::cmp::Ordering::Equal) if is_other && kind == Kind::Whole && rank(&one).1 == 1.0 => {
            "short int".to_owned()
        }
        _ => one,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shapes_that_do_not_broadcast_are_undefined() {
        for (left, right) in [([2, 3].as_slice(), [3, 3].as_slice()), (&[2], &[3]), (&[0], &[2])] {
            let reason = broadcast(left, right).unwrap_err().reason;
            assert_eq!(reason, format!("shapes {left:?} and {right:?} do not broadcast"));
        }
    }

    proptest! {
        #[test]
        fn broadcasting_does_not_depend_on_the_order(
            left in proptest::collection::vec(0_u64..3, 0..4), right in proptest::collection::vec(0_u64..3, 0..4),
        ) {
            let (one, other) = (broadcast(&left, &right).ok(), broadcast(&right, &left).ok());
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(broadcast(&left, &left).unwrap(), left.clone());
            if let Some(shape) = one {
                prop_assert_eq!(broadcast(&shape, &left).unwrap(), shape);
            }
        }
    }
}
