//! Numbers for people, and for JSON.

use serde_json::{Number, Value};

pub use sheets::numbers::*;

/// A JSON number without a decimal point where it is whole.
pub(crate) fn json_number(value: f64) -> Value {
    // 2^64: from there on no integer of JSON readers holds the value.
    let is_whole = value.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&value);
    if is_whole {
        return Value::from(value as u64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_integers_in_json() {
        for (value, text) in [
            (0.0, "0"),
            (773_094_113_280.0, "773094113280"),
            (1e19, "10000000000000000000"),
            (1e20, "1e+20"),
            (0.5, "0.5"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(json_number(value).to_string(), text);
        }
    }
}
