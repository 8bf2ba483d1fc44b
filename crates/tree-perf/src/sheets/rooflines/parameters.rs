//! Parameters of models as text.

use perf_models::{Parameter, Value};

/// Names of the parameters of calls, in the order in which they first occur.
pub(super) fn parameter_names(calls: &[&[Parameter]]) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for (name, _) in calls.iter().copied().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}

/// Parameters as text, call by call. A column of numbers in which a call has none, or which mixes whole and
/// other numbers, prints as floats throughout.
pub(super) fn parameter_texts(calls: &[&[Parameter]], names: &[&str]) -> Vec<Vec<Option<String>>> {
    let value = |call: &[Parameter], name: &str| -> Option<Value> {
        let (_, value) = call.iter().find(|(known, _)| *known == name)?;
        (*value != Value::None).then(|| value.clone())
    };
    let as_floats: Vec<bool> = names
        .iter()
        .map(|name| {
            let (mut whole, mut other, mut gaps) = (false, false, false);
            for call in calls {
                match value(call, name) {
                    None => gaps = true,
                    Some(Value::Int(_)) => whole = true,
                    Some(Value::Float(_)) => other = true,
                    Some(_) => return false,
                }
            }
            whole && (other || gaps)
        })
        .collect();
    calls
        .iter()
        .map(|call| {
            let texts = names.iter().zip(&as_floats).map(|(name, &as_float)| {
                Some(match value(call, name)? {
                    Value::Int(number) if as_float => Value::Float(number as f64).to_string(),
                    other => other.to_string(),
                })
            });
            texts.collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of one column; `None` where a call lacks the parameter.
    fn column(values: &[Option<Value>]) -> Vec<Option<String>> {
        let calls: Vec<Vec<Parameter>> =
            values.iter().map(|value| value.iter().map(|value| ("p", value.clone())).collect()).collect();
        let calls: Vec<&[Parameter]> = calls.iter().map(Vec::as_slice).collect();
        let texts = parameter_texts(&calls, &["p"]);
        texts.into_iter().map(|mut call| call.remove(0)).collect()
    }

    #[test]
    fn a_column_prints_its_numbers_alike() {
        let list = || Value::List(vec![Value::Int(1)]);
        let (int, float, flag) =
            (|| Some(Value::Int(8944)), || Some(Value::Float(0.5)), || Some(Value::Bool(true)));
        let text = |texts: &[&str]| -> Vec<Option<String>> {
            texts.iter().map(|text| (*text != "-").then(|| (*text).to_owned())).collect()
        };
        for (values, expected) in [
            (vec![int(), int()], text(&["8944", "8944"])),
            (vec![int(), None], text(&["8944.0", "-"])),
            (vec![int(), Some(Value::None)], text(&["8944.0", "-"])),
            (vec![int(), float()], text(&["8944.0", "0.5"])),
            (vec![float(), None], text(&["0.5", "-"])),
            (vec![flag(), None], text(&["True", "-"])),
            // One that is no number: each for itself.
            (vec![int(), flag()], text(&["8944", "True"])),
            (vec![int(), Some(list()), None], text(&["8944", &list().to_string(), "-"])),
        ] {
            assert_eq!(column(&values), expected, "{values:?}");
        }
    }

    #[test]
    fn names_come_in_the_order_of_the_calls() {
        let calls: [&[Parameter]; 2] =
            [&[("M", Value::Int(1)), ("K", Value::Int(1))], &[("B", Value::Int(1)), ("M", Value::Int(1))]];
        assert_eq!(parameter_names(&calls), ["M", "K", "B"]);
    }
}
