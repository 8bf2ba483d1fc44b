//! Recorded arguments and parameters of models as cells.

use perf_models::{Parameter, Value};
use sheets::Nested;
use trace_ingest::{ArgumentValue, Sequence};

/// An argument list as a report shows it: sequences as tuples where calls are grouped by it, else as lists. A list that
/// is recorded as a text, or cannot be read, is a text in quotes.
pub fn nested_argument(argument: &ArgumentValue, sequence: Sequence) -> Nested {
    match argument {
        ArgumentValue::Text(_) => Nested::Text(argument.display(sequence).to_string()),
        other => from_argument(other, sequence),
    }
}

fn from_argument(argument: &ArgumentValue, sequence: Sequence) -> Nested {
    match argument {
        ArgumentValue::Null => Nested::None,
        ArgumentValue::Bool(flag) => Nested::Flag(*flag),
        ArgumentValue::Int(number) => Nested::Whole(*number),
        ArgumentValue::Float(number) => Nested::Number(*number),
        ArgumentValue::Text(text) => Nested::Text(text.clone()),
        ArgumentValue::List(items) => {
            let items = items.iter().map(|item| from_argument(item, sequence)).collect();
            match sequence {
                Sequence::Tuple => Nested::Tuple(items),
                Sequence::List => Nested::List(items),
            }
        }
    }
}

/// The parameters of a model by their names.
pub fn nested_parameters(parameters: &[Parameter]) -> Nested {
    Nested::Record(parameters.iter().map(|(name, value)| ((*name).into(), nested_value(value))).collect())
}

/// A parameter of a model.
pub fn nested_value(value: &Value) -> Nested {
    let nested = |items: &[Value]| items.iter().map(nested_value).collect();
    match value {
        Value::None => Nested::None,
        Value::Bool(flag) => Nested::Flag(*flag),
        Value::Int(number) => Nested::Whole(*number),
        Value::Float(number) => Nested::Number(*number),
        Value::Text(text) => Nested::Text(text.clone()),
        Value::List(items) => Nested::List(nested(items)),
        Value::Tuple(items) => Nested::Tuple(nested(items)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_print_as_the_arguments_do() {
        use ArgumentValue::{Bool, Float, Int, List, Null, Text};
        let shapes = List(vec![List(vec![Int(8944), Int(1024)]), List(vec![Int(7)]), List(vec![])]);
        let mixed = List(vec![Text("it's".into()), Null, Bool(true), Float(0.5)]);
        for argument in [shapes, mixed, Text("not JSON".into()), Int(3)] {
            for sequence in [Sequence::Tuple, Sequence::List] {
                let cell = sheets::Cell::from(nested_argument(&argument, sequence));
                assert_eq!(cell.text(), argument.display(sequence).to_string());
            }
        }
    }

    #[test]
    fn parameters_are_a_record() {
        let parameters = [("M", Value::Int(8944)), ("dtype", Value::from("bf16")), ("x", Value::tuple([1]))];
        let record = nested_parameters(&parameters);
        assert_eq!(record.to_string(), "{'M': 8944, 'dtype': 'bf16', 'x': (1,)}");
    }
}
