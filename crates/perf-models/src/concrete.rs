//! Values of scalars and lists, which profilers record as texts.

use std::borrow::Cow;

use crate::{OpCall, Undefined, Value};

impl<'a> OpCall<'a> {
    /// The value of input `index` as the profiler writes it, whether it was recorded as that text or as a
    /// value; empty where there is none.
    pub(crate) fn written_value(&self, index: usize) -> Cow<'a, str> {
        match self.concrete.and_then(|values| values.get(index)) {
            None | Some(Value::None) => Cow::Borrowed(""),
            Some(Value::Text(text)) => Cow::Borrowed(match text.trim() {
                "None" => "",
                text => text,
            }),
            Some(value) => Cow::Owned(value.to_string()),
        }
    }

    /// The numbers at input `index`: `[1, 1]`. A number alone is a list of one.
    ///
    /// # Errors
    ///
    /// When it was not recorded or does not hold whole numbers.
    pub fn concrete_integers(&self, index: usize) -> Result<Vec<i64>, Undefined> {
        self.concrete_list(index, "integers", |text| text.parse().ok(), Value::as_int)
    }

    /// The whole number at input `index`, if one was recorded that is greater than zero.
    pub(crate) fn positive_integer(&self, index: usize) -> Option<u64> {
        u64::try_from(self.concrete_integer(index).ok()?).ok().filter(|&number| number > 0)
    }

    /// The numbers at input `index`: `[2., 2.]`.
    ///
    /// # Errors
    ///
    /// When it was not recorded or does not hold numbers.
    pub fn concrete_floats(&self, index: usize) -> Result<Vec<f64>, Undefined> {
        let number = |value: &Value| match value {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        };
        self.concrete_list(index, "numbers", |text| text.parse().ok(), number)
    }

    /// The truth values at input `index`: `[True, False]`.
    ///
    /// # Errors
    ///
    /// When it was not recorded or does not hold truth values.
    pub fn concrete_flags(&self, index: usize) -> Result<Vec<bool>, Undefined> {
        let flag_of = |value: &Value| match value {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        };
        self.concrete_list(index, "booleans", flag, flag_of)
    }

    /// The truth value at input `index`; no where none was given.
    ///
    /// # Errors
    ///
    /// When it was not recorded or does not hold one truth value.
    pub fn concrete_flag(&self, index: usize) -> Result<bool, Undefined> {
        if let Ok("" | "None") = self.concrete_text(index).map(str::trim) {
            return Ok(false);
        }
        self.required_flag(index)
    }

    /// The truth value at input `index`.
    ///
    /// # Errors
    ///
    /// When it was not recorded or does not hold one truth value.
    pub(crate) fn required_flag(&self, index: usize) -> Result<bool, Undefined> {
        match self.concrete_flags(index)?.as_slice() {
            [flag] => Ok(*flag),
            flags => Err(Undefined::arguments(format!(
                "Concrete Inputs[{index}] has {} booleans, not 1",
                flags.len()
            ))),
        }
    }

    fn concrete_list<T>(
        &self,
        index: usize,
        what: &str,
        from_text: impl Fn(&str) -> Option<T>,
        from_value: impl Fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, Undefined> {
        let recorded = self.concrete.and_then(|values| values.get(index));
        let list = match recorded {
            Some(Value::Text(text)) => {
                let text = text.trim();
                match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
                    Some(inner) if inner.trim().is_empty() => Some(Vec::new()),
                    Some(inner) => inner.split(',').map(|item| from_text(item.trim())).collect(),
                    None => from_text(text).map(|item| vec![item]),
                }
            }
            Some(Value::List(items) | Value::Tuple(items)) => items.iter().map(from_value).collect(),
            Some(value) => from_value(value).map(|item| vec![item]),
            // Says why there is nothing.
            None => return self.concrete_text(index).map(|_| Vec::new()),
        };
        list.ok_or_else(|| {
            let text = recorded.map(Value::to_string).unwrap_or_default();
            Undefined::arguments(format!("Concrete Inputs[{index}] {text:?} holds no {what}"))
        })
    }
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "True" | "true" | "1" => Some(true),
        "False" | "false" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(value: Value, read: impl FnOnce(&OpCall<'_>) -> T) -> T {
        read(&OpCall { concrete: Some(&[value]), ..OpCall::default() })
    }

    #[test]
    fn lists_are_read_from_texts_and_values() {
        let integers = |value| with(value, |call| call.concrete_integers(0).ok());
        for (value, expected) in [
            (Value::from("[1, -2]"), Some(vec![1, -2])),
            (Value::from("[]"), Some(vec![])),
            (Value::from(" 7 "), Some(vec![7])),
            (Value::tuple([3, 4]), Some(vec![3, 4])),
            (Value::Int(5), Some(vec![5])),
            (Value::from(""), None),
            (Value::from("[1, x]"), None),
            (Value::from("[1"), None),
            (Value::from(true), None),
            (Value::None, None),
        ] {
            assert_eq!(integers(value.clone()), expected, "{value:?}");
        }
        assert_eq!(with("[2., 0.5]".into(), |call| call.concrete_floats(0).ok()), Some(vec![2.0, 0.5]));
        assert_eq!(with("[True, False]".into(), |call| call.concrete_flags(0).ok()), Some(vec![true, false]));
    }

    #[test]
    fn values_are_written_as_the_profiler_does() {
        for (value, expected) in [
            (Value::from(" 7 "), "7"),
            (Value::Int(7), "7"),
            (Value::Float(0.5), "0.5"),
            (Value::from(true), "True"),
            (Value::List(vec![1.into(), 2.into()]), "[1, 2]"),
            (Value::from("None"), ""),
            (Value::None, ""),
        ] {
            assert_eq!(with(value.clone(), |call| call.written_value(0).into_owned()), expected, "{value:?}");
        }
        assert_eq!(OpCall::default().written_value(0), "");
    }

    #[test]
    fn no_flag_is_no() {
        for (value, expected) in [
            (Value::from("True"), Some(true)),
            (Value::from("False"), Some(false)),
            (Value::from(""), Some(false)),
            (Value::from(true), Some(true)),
            (Value::from("[True, True]"), None),
            (Value::from("maybe"), None),
        ] {
            assert_eq!(with(value.clone(), |call| call.concrete_flag(0).ok()), expected, "{value:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let reason = |value| with(value, |call| call.concrete_integers(0).unwrap_err().reason);
        assert_eq!(reason(Value::from("[1, x]")), "Concrete Inputs[0] \"[1, x]\" holds no integers");
        let call = OpCall::default();
        assert_eq!(call.concrete_integers(0).unwrap_err().reason, "Concrete Inputs were not recorded");
    }
}
