use crate::tensor::finite;
use crate::{ComputeSpec, Figure, Parameter, PerfModel, element_size, tensor::count_value};

/// Softmax of each row of a batch of matrices, as attention takes it between its two multiplications.
///
/// Operators of their own, such as `aten::_softmax`, are read as [`TensorTraffic`](crate::TensorTraffic) with the same
/// operations for each element.
///
/// ```
/// use perf_models::{PerfModel, Softmax};
///
/// let scores = Softmax { batch: 2, rows: 128, columns: 4096, element_type: "c10::BFloat16".into() };
/// assert_eq!(scores.flops()?, 3.0 * 2.0 * 128.0 * 4096.0);
/// assert_eq!(scores.bytes()?, 2.0 * 2.0 * 2.0 * 128.0 * 4096.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Softmax {
    /// Matrices.
    pub batch: u64,
    /// Rows of each.
    pub rows: u64,
    /// Elements of a row.
    pub columns: u64,
    /// Element type as PyTorch names it.
    pub element_type: String,
}

impl Softmax {
    /// Exponential, sum and quotient for each element.
    pub(crate) const OPERATIONS: f64 = 3.0;

    fn elements(&self) -> f64 {
        self.batch as f64 * self.rows as f64 * self.columns as f64
    }
}

impl PerfModel for Softmax {
    /// Exponential, sum and quotient for each element.
    fn flops(&self) -> Figure {
        finite(Self::OPERATIONS * self.elements())
    }

    /// Each element read and written.
    fn bytes(&self) -> Figure {
        finite(2.0 * self.elements() * element_size(&self.element_type)?)
    }

    /// Twice the forward pass.
    fn backward_flops(&self) -> Figure {
        Ok(2.0 * self.flops()?)
    }

    /// Twice the forward pass.
    fn backward_bytes(&self) -> Figure {
        Ok(2.0 * self.bytes()?)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![("B", count_value(self.batch)), ("M", count_value(self.rows)), ("N", count_value(self.columns))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_written_once() {
        let softmax = Softmax { batch: 2, rows: 128, columns: 4096, element_type: "c10::BFloat16".into() };
        assert_eq!(softmax.flops(), Ok(3.0 * 2.0 * 128.0 * 4096.0));
        assert_eq!(softmax.bytes(), Ok(4.0 * 2.0 * 128.0 * 4096.0));
        assert_eq!(softmax.backward_flops(), Ok(2.0 * softmax.flops().unwrap()));
        assert_eq!(softmax.backward_bytes(), Ok(2.0 * softmax.bytes().unwrap()));
        let unknown = Softmax { element_type: String::new(), ..softmax };
        assert_eq!(unknown.bytes().unwrap_err().gap, crate::Gap::DataType);
    }
}
