//! Activation functions and what they cost, wherever they run: alone, before a gate, in the epilogue of a matrix
//! multiplication, in a generated kernel.

/// An activation function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// Hyperbolic tangent.
    Tanh,
    /// `x·sigmoid(x)`.
    Silu,
    /// Gaussian error linear unit by the error function.
    Gelu,
    /// Gaussian error linear unit by its approximation with the hyperbolic tangent.
    GeluTanh,
}

/// Name, operations for each element, and operations for each element with the product of a gate.
///
/// A transcendental function counts the instructions of its usual implementation. TraceLens counts gated GELUs
/// with the product in the 8 and 10, the gated SiLU with the product as a fifth.
const ACTIVATIONS: [(Activation, &str, f64, f64); 6] = [
    (Activation::Relu, "relu", 1.0, 2.0),
    (Activation::Sigmoid, "sigmoid", 4.0, 5.0),
    (Activation::Tanh, "tanh", 4.0, 5.0),
    (Activation::Silu, "silu", 4.0, 5.0),
    (Activation::Gelu, "gelu", 8.0, 8.0),
    (Activation::GeluTanh, "gelu_tanh", 10.0, 10.0),
];

impl Activation {
    /// Operations of an activation in a compiled XLA program, whatever the function: XLA counts an elementwise
    /// instruction as one operation for each element, and so it counts the function in an epilogue.
    pub const HLO_OPERATIONS: f64 = 1.0;

    /// Every activation.
    pub fn all() -> impl Iterator<Item = Self> {
        ACTIVATIONS.iter().map(|&(activation, ..)| activation)
    }

    /// The activation of this name, such as `gelu_tanh`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|activation| activation.as_str() == name)
    }

    /// The name that operators have.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        ACTIVATIONS[self as usize].1
    }

    /// Operations for each element.
    #[must_use]
    pub const fn operations(self) -> f64 {
        ACTIVATIONS[self as usize].2
    }

    /// Operations for each element of the result, the product with a gate included.
    #[must_use]
    pub const fn gated_operations(self) -> f64 {
        ACTIVATIONS[self as usize].3
    }
}

#[cfg(test)]
mod tests {
    use super::ACTIVATIONS;

    #[test]
    fn rows_stand_in_the_order_of_the_enumeration() {
        for (position, &(activation, name, ..)) in ACTIVATIONS.iter().enumerate() {
            assert_eq!(activation as usize, position, "{name}");
        }
    }
}
