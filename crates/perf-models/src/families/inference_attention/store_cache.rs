//! Storing keys and values in the cache.

use super::model::{assumed_size, size_or};
use crate::recorded::{Read, Recorded};
use crate::tensor::{count_value, shape_value};
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Tensor};

/// Copies keys and values of new tokens to the cache: each is read and written.
///
/// ```
/// use perf_models::{KeyValueStore, PerfModel, Tensor};
///
/// // 32 tokens, 8 heads of 128 elements.
/// let store = KeyValueStore { keys: Tensor::new([32, 8, 128], "c10::BFloat16") };
/// assert_eq!((store.flops()?, store.bytes()?), (0.0, 4.0 * 2.0 * 32.0 * 8.0 * 128.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyValueStore {
    /// The new keys; values have the same shape and type.
    pub keys: Tensor,
}

/// `store_cache(k, v, k_cache, v_cache, indices, ...)`.
pub(super) fn store_cache(call: &OpCall<'_>) -> Read {
    let keys = Tensor::new(call.dimensions(0)?, call.type_of(0).unwrap_or_default());
    Ok(Recorded::new(KeyValueStore { keys }))
}

impl PerfModel for KeyValueStore {
    /// None: elements are copied.
    fn flops(&self) -> Figure {
        Ok(0.0)
    }

    /// Keys and values, each read and written.
    fn bytes(&self) -> Figure {
        Ok(4.0 * self.keys.elements() * size_or(&self.keys.element_type, 2.0))
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.keys.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let count =
            self.keys.shape.iter().fold(1_u64, |product, &dimension| product.saturating_mul(dimension));
        vec![
            ("op_shape", shape_value(&self.keys.shape)),
            ("nelems", count_value(count)),
            ("dtype", self.keys.element_type.as_str().into()),
        ]
    }

    fn assumption(&self) -> Option<String> {
        assumed_size(&self.keys.element_type)
    }
}
