use crate::{Figure, OpCall, Undefined, Value, element_size};

/// A tensor of a call: its dimensions and element type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensor {
    /// Dimensions, outermost first; none for a scalar.
    pub shape: Vec<u64>,
    /// Element type as PyTorch names it, such as `c10::BFloat16`.
    pub element_type: String,
}

impl Tensor {
    /// A tensor of this shape and element type.
    pub fn new(shape: impl Into<Vec<u64>>, element_type: impl Into<String>) -> Self {
        Self { shape: shape.into(), element_type: element_type.into() }
    }

    /// Number of elements: the product of the dimensions, 1 for a scalar.
    #[must_use]
    pub fn elements(&self) -> f64 {
        elements(&self.shape)
    }

    /// Bytes of all elements, each once.
    ///
    /// # Errors
    ///
    /// When the element type has no known size.
    pub fn bytes(&self) -> Figure {
        Ok(self.elements() * element_size(&self.element_type)?)
    }
}

/// The product of the dimensions of a shape, 1 for a scalar.
#[must_use]
pub fn elements(shape: &[u64]) -> f64 {
    // A dimension of zero decides, whatever the others are: infinity times zero would be no number.
    if shape.contains(&0) {
        return 0.0;
    }
    shape.iter().map(|&dimension| dimension as f64).product()
}

/// The figure, unless a product of many dimensions left the range of numbers.
///
/// # Errors
///
/// When it is infinite or no number.
pub fn finite(figure: f64) -> Figure {
    if figure.is_finite() { Ok(figure) } else { Err(Undefined::arguments("the dimensions are too large")) }
}

/// A shape as reports print it: a tuple.
#[must_use]
pub fn shape_value(shape: &[u64]) -> Value {
    Value::Tuple(shape.iter().map(|&dimension| count_value(dimension)).collect())
}

/// A dimension as reports print it.
#[must_use]
pub fn count_value(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Strides as reports print them.
pub(crate) fn strides_value(strides: Option<&[i64]>) -> Value {
    strides.map_or(Value::None, Value::from)
}

impl OpCall<'_> {
    /// Shape of input `index`, none of its dimensions negative.
    ///
    /// # Errors
    ///
    /// When it was not recorded, is no list of whole numbers or has a negative dimension.
    pub fn dimensions(&self, index: usize) -> Result<Vec<u64>, Undefined> {
        self.shape(index)?
            .into_iter()
            .map(|dimension| {
                u64::try_from(dimension).map_err(|_| {
                    Undefined::arguments(format!(
                        "Input Dims[{index}] has the negative dimension {dimension}"
                    ))
                })
            })
            .collect()
    }

    /// Dimension `axis` of input `index`.
    ///
    /// # Errors
    ///
    /// As [`OpCall::dimensions`], and when the input has no such axis.
    pub fn dimension(&self, index: usize, axis: usize) -> Result<u64, Undefined> {
        self.dimensions(index)?
            .get(axis)
            .copied()
            .ok_or_else(|| Undefined::arguments(format!("Input Dims[{index}] has no dimension {axis}")))
    }

    /// Shape of input `index`, which must have exactly `N` dimensions, none of them negative.
    ///
    /// # Errors
    ///
    /// As [`OpCall::dimensions`], and when it has another number of dimensions.
    pub fn dimensions_of<const N: usize>(&self, index: usize) -> Result<[u64; N], Undefined> {
        let shape = self.dimensions(index)?;
        let found = shape.len();
        shape
            .try_into()
            .map_err(|_| Undefined::arguments(format!("Input Dims[{index}] has {found} dimensions, not {N}")))
    }

    /// Shape and element type of input `index`.
    ///
    /// # Errors
    ///
    /// As [`OpCall::dimensions`] and [`OpCall::type_of`].
    pub fn tensor(&self, index: usize) -> Result<Tensor, Undefined> {
        Ok(Tensor::new(self.dimensions(index)?, self.type_of(index)?))
    }

    /// Whether input `index` has dimensions: absent tensors and scalars have none.
    #[must_use]
    pub fn has_dimensions(&self, index: usize) -> bool {
        self.dims_entry(index).is_ok_and(|entry| entry.items().is_some_and(|dims| !dims.is_empty()))
    }

    /// Strides of input `index`; `None` where the call records no strides at all.
    ///
    /// # Errors
    ///
    /// When the call records strides, but not these.
    pub fn strides_if_recorded(&self, index: usize) -> Result<Option<Vec<i64>>, Undefined> {
        self.strides.map(|_| self.strides_of(index)).transpose()
    }

    /// The whole number that the value of input `index` was recorded as.
    ///
    /// # Errors
    ///
    /// When it was not recorded or is no whole number.
    pub fn concrete_integer(&self, index: usize) -> Result<i64, Undefined> {
        if let Some(&Value::Int(number)) = self.concrete.and_then(|values| values.get(index)) {
            return Ok(number);
        }
        let text = self.concrete_text(index)?.trim();
        text.parse()
            .map_err(|_| Undefined::arguments(format!("Concrete Inputs[{index}] {text:?} is not an integer")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_the_product_of_the_dimensions() {
        for (shape, expected) in [
            (vec![], 1.0),
            (vec![4, 8], 32.0),
            (vec![0, u64::MAX], 0.0),
            (vec![1 << 40, 1 << 40], 2_f64.powi(80)),
        ] {
            assert_eq!(elements(&shape), expected, "{shape:?}");
        }
        let many = vec![u64::MAX; 64];
        assert_eq!(elements(&[many.as_slice(), &[0]].concat()), 0.0);
    }

    #[test]
    fn unreadable_dimensions_are_named() {
        let dims = [Value::tuple([4, -1])];
        let call = OpCall { dims: Some(&dims), ..OpCall::default() };
        assert_eq!(call.tensor(0).unwrap_err().reason, "Input Dims[0] has the negative dimension -1");
        assert_eq!(call.dimension(1, 0).unwrap_err().reason, "Input Dims[1] is missing");
    }
}
