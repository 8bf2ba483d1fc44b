//! An operator call as a profiler recorded it.

use crate::{Undefined, Value};

/// One call of an operator: its name and recorded arguments, whatever they were read from.
///
/// The accessors say which argument is missing, so that a reader of a report learns why a call has no
/// figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpCall<'a> {
    /// Name of the operator, such as `aten::mm`.
    pub name: &'a str,
    /// `Input Dims`: per input its shape; `[]` for scalars, a list of shapes for a tensor list.
    pub dims: Option<&'a [Value]>,
    /// `Input type`: per input its element type.
    pub types: Option<&'a [Value]>,
    /// `Input Strides`: per input its strides in elements.
    pub strides: Option<&'a [Value]>,
    /// `Concrete Inputs`: per input the text of its value, `""` for tensors.
    pub concrete: Option<&'a [Value]>,
    /// Further arguments by name, such as `MoE topk`, `v4_tp`, `kernel_kwargs`. `sliding_window` is the number
    /// of keys that a query of an inference engine's attention sees, where the operator does not record it.
    pub attributes: &'a [(&'a str, Value)],
    /// Text of the inference engine's step around the call.
    pub annotation: Option<&'a str>,
    /// Kernels that the call launched, by start.
    pub kernels: &'a [&'a str],
    /// The forward call that this backward call belongs to, where a model needs it.
    pub forward: Option<&'a OpCall<'a>>,
}

impl<'a> OpCall<'a> {
    /// Number of recorded inputs.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.dims.map_or(0, <[Value]>::len)
    }

    /// `Input Dims[index]`, whatever it holds.
    ///
    /// # Errors
    ///
    /// When it was not recorded.
    pub fn dims_entry(&self, index: usize) -> Result<&'a Value, Undefined> {
        entry(self.dims, "Input Dims", index)
    }

    /// Shape of input `index`: `[]` for a scalar or an absent tensor.
    ///
    /// # Errors
    ///
    /// When it was not recorded or is no list of whole numbers.
    pub fn shape(&self, index: usize) -> Result<Vec<i64>, Undefined> {
        numbers(self.dims_entry(index)?, "Input Dims", index)
    }

    /// Strides of input `index` in elements.
    ///
    /// # Errors
    ///
    /// When they were not recorded.
    pub fn strides_of(&self, index: usize) -> Result<Vec<i64>, Undefined> {
        numbers(entry(self.strides, "Input Strides", index)?, "Input Strides", index)
    }

    /// Element type of input `index`; `""` for absent tensors.
    ///
    /// # Errors
    ///
    /// When it was not recorded.
    pub fn type_of(&self, index: usize) -> Result<&'a str, Undefined> {
        entry(self.types, "Input type", index)?
            .as_text()
            .ok_or_else(|| Undefined::arguments(format!("Input type[{index}] is not a string")))
    }

    /// Text of the value of input `index`: `"True"`, `"0."`, `"[1, 1]"`, `""` for tensors.
    ///
    /// # Errors
    ///
    /// When it was not recorded.
    pub fn concrete_text(&self, index: usize) -> Result<&'a str, Undefined> {
        entry(self.concrete, "Concrete Inputs", index)?
            .as_text()
            .ok_or_else(|| Undefined::arguments(format!("Concrete Inputs[{index}] is not a string")))
    }

    /// A further argument by name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&'a Value> {
        self.attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

fn entry<'a>(list: Option<&'a [Value]>, what: &str, index: usize) -> Result<&'a Value, Undefined> {
    let list = list.ok_or_else(|| Undefined::arguments(format!("{what} were not recorded")))?;
    list.get(index).ok_or_else(|| Undefined::arguments(format!("{what}[{index}] is missing")))
}

fn numbers(value: &Value, what: &str, index: usize) -> Result<Vec<i64>, Undefined> {
    value
        .items()
        .and_then(|items| items.iter().map(Value::as_int).collect())
        .ok_or_else(|| Undefined::arguments(format!("{what}[{index}] is not a list of integers")))
}
