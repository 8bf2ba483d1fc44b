//! The work of a matrix multiplication.

use crate::tensor::count_value;
use crate::{
    Activation, ComputeSpec, ComputeUnit, Figure, Parameter, PerfModel, Precision, Undefined, element_size,
};

/// A matrix multiplication, alone or in a batch: `m`×`k` by `k`×`n`.
///
/// ```
/// use perf_models::{Gemm, PerfModel};
///
/// let gemm = Gemm::new(40960, 6144, 1536, "c10::BFloat16");
/// assert_eq!(gemm.flops()?, 773_094_113_280.0);
/// assert_eq!(gemm.bytes()?, 648_019_968.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gemm {
    /// Multiplications of this shape in the call.
    pub batch: u64,
    /// Rows of the first operand and of the result.
    pub m: u64,
    /// Columns of the second operand and of the result.
    pub n: u64,
    /// The dimension that is summed over.
    pub k: u64,
    /// Epilogue: whether something is added to the result: a vector of `n` elements to each row, or what `addend` says.
    pub bias: bool,
    /// The elements of what is added, together for all of the batch, where that is no vector for each multiplication.
    pub addend: Option<u64>,
    /// Epilogue: the function of each element of the result.
    pub activation: Option<Activation>,
    /// Bytes of an element of each operand, or why they are unknown.
    pub sizes: Result<GemmSizes, Undefined>,
    /// Precision of the arithmetic, if a peak is stated for it.
    pub precision: Option<Precision>,
}

/// Bytes that the operands of a matrix multiplication take; half a byte for an element of four bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GemmSizes {
    /// An element of the first operand.
    pub a: f64,
    /// An element of the second operand.
    pub b: f64,
    /// An element of the bias.
    pub bias: f64,
    /// An element of the result.
    pub output: f64,
    /// All quantization scales of one multiplication of the batch.
    pub scales: f64,
}

impl GemmSizes {
    /// The same size for every operand, no scales.
    #[must_use]
    pub fn uniform(size: f64) -> Self {
        Self { a: size, b: size, bias: size, output: size, scales: 0.0 }
    }
}

impl Gemm {
    /// A single multiplication without bias, all operands of one element type as PyTorch names it.
    #[must_use]
    pub fn new(m: u64, n: u64, k: u64, element_type: &str) -> Self {
        Self {
            batch: 1,
            m,
            n,
            k,
            bias: false,
            addend: None,
            activation: None,
            sizes: element_size(element_type).map(GemmSizes::uniform),
            precision: crate::precision(element_type),
        }
    }

    fn products(&self) -> f64 {
        self.batch as f64 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// Operations on the elements of the result after the products: bias and activation.
    fn epilogue(&self) -> f64 {
        let bias = if self.bias { 1.0 } else { 0.0 };
        let per_element = bias + self.activation.map_or(0.0, Activation::operations);
        self.batch as f64 * self.m as f64 * self.n as f64 * per_element
    }
}

impl PerfModel for Gemm {
    /// `batch·(2·m·n·k + m·n·e)`, with `e` operations of the epilogue: 1 of the bias, and those of the activation.
    fn flops(&self) -> Figure {
        Ok(2.0 * self.products() + self.epilogue())
    }

    /// Both operands, bias and scales read, the result written, each once.
    fn bytes(&self) -> Figure {
        let GemmSizes { a, b, bias, output, scales } = self.sizes.clone()?;
        let (m, n, k) = (self.m as f64, self.n as f64, self.k as f64);
        let vectors = self.batch as f64 * n;
        let added = if self.bias { self.addend.map_or(vectors, |elements| elements as f64) } else { 0.0 };
        Ok(self.batch as f64 * (m * k * a + k * n * b + m * n * output + scales) + added * bias)
    }

    /// Two multiplications of the same size, one for each operand's gradient, the sum for the bias's, and the
    /// derivative of the activation, counted like the function.
    fn backward_flops(&self) -> Figure {
        Ok(4.0 * self.products() + self.epilogue())
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: self.precision? })
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![
            ("M", count_value(self.m)),
            ("N", count_value(self.n)),
            ("K", count_value(self.k)),
            ("bias", self.bias.into()),
        ];
        parameters.extend(self.activation.map(|activation| ("activation", activation.as_str().into())));
        parameters.push(("B", count_value(self.batch)));
        parameters
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn formulas_can_be_asked_without_a_call() {
        let gemm = Gemm::new(40960, 6144, 1536, "c10::BFloat16");
        assert_eq!(gemm.flops(), Ok(773_094_113_280.0));
        assert_eq!(gemm.bytes(), Ok(648_019_968.0));
        assert_eq!(gemm.backward_flops(), Ok(2.0 * 773_094_113_280.0));
        assert_eq!(gemm.compute_spec().unwrap().to_string(), "matrix_bf16");

        let with_bias = Gemm { bias: true, ..gemm.clone() };
        assert_eq!(with_bias.flops(), Ok(773_094_113_280.0 + 40960.0 * 6144.0));
        assert_eq!(with_bias.bytes(), Ok(648_019_968.0 + 2.0 * 6144.0));

        let fused = Gemm { activation: Some(Activation::Gelu), ..with_bias.clone() };
        assert_eq!(fused.flops(), Ok(773_094_113_280.0 + 9.0 * 40960.0 * 6144.0));
        assert_eq!(fused.bytes(), with_bias.bytes());
        assert_eq!(fused.parameters()[4], ("activation", "gelu".into()));

        let unknown = Gemm::new(1, 1, 1, "ScalarList");
        assert_eq!(unknown.bytes().unwrap_err().gap, crate::Gap::DataType);
        assert_eq!(unknown.compute_spec(), None);
    }

    proptest! {
        #[test]
        fn twice_the_batch_is_twice_the_work(
            batch in 0_u64..1 << 40, m: u64, n: u64, k: u64, bias: bool, size in 0.0..16.0,
        ) {
            let sizes = Ok(GemmSizes { scales: 7.0, ..GemmSizes::uniform(size) });
            let one = Gemm { batch, m, n, k, bias, addend: None, activation: None, sizes, precision: None };
            let two = Gemm { batch: 2 * batch, ..one.clone() };
            for figure in [Gemm::flops, Gemm::bytes, Gemm::backward_flops] {
                let (one, two) = (figure(&one).unwrap(), figure(&two).unwrap());
                prop_assert!(one >= 0.0 && one.is_finite());
                prop_assert_eq!(2.0 * one, two);
            }
        }
    }
}
