//! Calls for the tests of this family.

use crate::{OpCall, Undefined, Value, model};

/// Shape and element type of an input.
pub(super) type Input<'a> = (&'a [i64], &'a str);

/// The arguments of a call, owned.
pub(super) struct RecordedCall {
    dims: Vec<Value>,
    types: Vec<Value>,
    concrete: Vec<Value>,
}

impl RecordedCall {
    pub(super) fn new(inputs: &[Input<'_>], concrete: &[&str]) -> Self {
        RecordedCall {
            dims: inputs.iter().map(|&(shape, _)| shape.into()).collect(),
            types: inputs.iter().map(|&(_, name)| name.into()).collect(),
            concrete: concrete.iter().map(|&text| text.into()).collect(),
        }
    }

    pub(super) fn call<'a>(&'a self, name: &'a str) -> OpCall<'a> {
        OpCall {
            name,
            dims: Some(&self.dims),
            types: Some(&self.types),
            concrete: Some(&self.concrete),
            ..OpCall::default()
        }
    }
}

/// FLOPs and bytes.
pub(super) fn figures(call: &OpCall<'_>) -> Result<(f64, f64), Undefined> {
    let model = model(call)?;
    Ok((model.flops()?, model.bytes()?))
}
