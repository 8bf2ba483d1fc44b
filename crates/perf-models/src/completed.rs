//! What recorders leave out of a call and can be said without them.

use crate::families::ReadModel;
use crate::recorded::Read;
use crate::{Gap, OpCall, Value};

/// Names that earlier releases of PyTorch record types under.
const EARLIER_NAMES: [(&str, &str); 2] = [("long", "long int"), ("short", "short int")];

/// Reads the model of a call whose types are named as today, and whose tensors are taken to be contiguous if the model
/// needs strides and the call has none.
pub(crate) fn read(reader: ReadModel, call: &OpCall<'_>) -> Read {
    let types = renamed(call.types);
    let call = OpCall { types: types.as_deref().or(call.types), ..*call };
    match reader.read(&call) {
        Err(undefined) if undefined.gap == Gap::Arguments && call.strides.is_none() => {
            let Some(dims) = call.dims else { return Err(undefined) };
            let strides: Vec<Value> = dims.iter().map(contiguous).collect();
            let read = reader.read(&OpCall { strides: Some(&strides), ..call })?;
            Ok(read.with_note("assumed contiguous tensors: strides were not recorded".to_owned()))
        }
        read => read,
    }
}

/// The types under today's names; `None` where they are already.
fn renamed(types: Option<&[Value]>) -> Option<Vec<Value>> {
    let today = |value: &Value| {
        let name = value.as_text()?;
        EARLIER_NAMES.iter().find(|(earlier, _)| *earlier == name).map(|&(_, today)| Value::from(today))
    };
    let types = types?;
    types
        .iter()
        .any(|value| today(value).is_some())
        .then(|| types.iter().map(|value| today(value).unwrap_or_else(|| value.clone())).collect())
}

/// The strides of a tensor of this shape whose elements lie one after the other; none for what is no shape.
fn contiguous(shape: &Value) -> Value {
    let Some(extents) = shape.items() else { return Value::tuple([]) };
    let mut strides: Vec<i64> = Vec::with_capacity(extents.len());
    let mut step = 1_i64;
    for extent in extents.iter().rev() {
        let Some(extent) = extent.as_int() else { return Value::tuple([]) };
        strides.push(step);
        step = step.saturating_mul(extent);
    }
    Value::tuple(strides.into_iter().rev())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;

    #[test]
    fn strides_that_are_not_recorded_are_those_of_contiguous_tensors() {
        let dims = [Value::tuple([300, 2048]), Value::tuple([300, 2048])];
        let types = [Value::from("long"), Value::from("int")];
        let call =
            OpCall { name: "aten::copy_", dims: Some(&dims), types: Some(&types), ..OpCall::default() };
        let model = Tables::All.model(&call).unwrap();
        assert_eq!(model.bytes(), Ok(300.0 * 2048.0 * (8.0 + 4.0)));
        let assumption = model.assumption().unwrap();
        assert_eq!(assumption, "assumed contiguous tensors: strides were not recorded");
        let strides = model.parameters().into_iter().find(|(name, _)| *name == "stride_input").unwrap().1;
        assert_eq!(strides, Value::tuple([2048, 1]));

        let undefined = Tables::Common.model(&call).unwrap_err();
        assert_eq!(undefined.reason, "Input Strides were not recorded");
        let recorded = OpCall { strides: Some(&dims), ..call };
        assert_eq!(Tables::All.model(&recorded).unwrap().assumption(), None);
        // What is missing is still named.
        let nothing = OpCall { dims: None, ..call };
        assert_eq!(Tables::All.model(&nothing).unwrap_err().reason, "Input Dims were not recorded");
    }
}
