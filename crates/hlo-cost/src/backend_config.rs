//! What the compiler tells a custom call or a fusion.

use perf_models::Value;
use serde_json::Value as Json;

use crate::DotDimensionNumbers;

/// A backend configuration, as far as it can be read.
#[derive(Clone, Debug)]
pub(crate) enum BackendConfig {
    /// JSON of a protocol buffer, in which large whole numbers are texts.
    Json(Json),
    /// Attributes of a typed call, by name.
    Attributes(Vec<(String, Value)>),
}

impl BackendConfig {
    /// Reads the text of an instruction.
    pub(crate) fn read(text: &[u8]) -> Self {
        let text = &String::from_utf8_lossy(text);
        match serde_json::from_str::<Json>(text) {
            Ok(json) => match json.pointer("/custom_call_backend_config/attributes").and_then(Json::as_str) {
                Some(attributes) => Self::Attributes(parse_attributes(attributes)),
                None => Self::Json(json),
            },
            Err(_) => Self::Attributes(parse_attributes(text)),
        }
    }

    /// The JSON value at this path; `None` for attributes.
    pub(crate) fn json(&self, pointer: &str) -> Option<&Json> {
        match self {
            Self::Json(json) => json.pointer(pointer),
            Self::Attributes(_) => None,
        }
    }

    /// The number at this path.
    pub(crate) fn number(&self, pointer: &str) -> Option<f64> {
        number(self.json(pointer)?)
    }

    /// The text at this path.
    pub(crate) fn text(&self, pointer: &str) -> Option<&str> {
        self.json(pointer)?.as_str()
    }

    /// The dimension numbers at this path.
    pub(crate) fn dot(&self, pointer: &str) -> Option<DotDimensionNumbers> {
        let of = self.json(pointer)?;
        let list = |key: &str| {
            let items = of.get(key).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
            items.iter().filter_map(|item| number(item).map(|n| n as i64)).collect()
        };
        Some(DotDimensionNumbers {
            lhs_contracting: list("lhs_contracting_dimensions"),
            rhs_contracting: list("rhs_contracting_dimensions"),
            lhs_batch: list("lhs_batch_dimensions"),
            rhs_batch: list("rhs_batch_dimensions"),
        })
    }

    /// An attribute of this name; `None` for JSON.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Json(_) => None,
            Self::Attributes(list) => list.iter().find(|(key, _)| key == name).map(|(_, value)| value),
        }
    }
}

/// A number, or the text of one, as protocol buffers write 64-bit numbers in JSON.
fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// The attributes of a dictionary as MLIR prints it: `{heads = 16 : i64, scale = 1.0 : f32, training}`.
///
/// Whole numbers, other numbers, truth values and texts are read; every other value is kept as its text. A
/// name alone is true. Types are left out.
fn parse_attributes(text: &str) -> Vec<(String, Value)> {
    let text = text.trim();
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let entries = split_outside(inner, |rest| rest.starts_with(',').then_some(1));
    entries
        .into_iter()
        .filter_map(|entry| {
            let (name, value) = match entry.split_once('=') {
                Some((name, value)) => (name, attribute_value(value.trim())),
                None => (entry, Value::Bool(true)),
            };
            let name = name.trim().trim_matches('"');
            (!name.is_empty()).then(|| (name.to_owned(), value))
        })
        .collect()
}

fn attribute_value(text: &str) -> Value {
    let parts = split_outside(text, |rest| rest.starts_with(" : ").then_some(3));
    let value = parts.first().map_or("", |value| value.trim());
    if let Some(quoted) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        return quoted.into();
    }
    match value {
        "true" => return true.into(),
        "false" => return false.into(),
        _ => {}
    }
    if let Ok(number) = value.parse::<i64>() {
        return number.into();
    }
    match value.parse::<f64>() {
        Ok(number) if value.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') => {
            number.into()
        }
        _ => value.into(),
    }
}

/// Splits at separators that are neither in quotes nor in brackets. `separator` gives the length of the one that a
/// text starts with.
fn split_outside(text: &str, separator: impl Fn(&str) -> Option<usize>) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted, mut escaped) = (Vec::new(), 0, 0_usize, false, false);
    for (at, c) in text.char_indices() {
        if at < start {
            continue;
        }
        if quoted {
            quoted = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' => quoted = true,
            '{' | '[' | '(' | '<' => depth += 1,
            '}' | ']' | ')' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0
            && let Some(length) = separator(&text[at..])
        {
            parts.push(&text[start..at]);
            start = at + length;
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn attributes_are_read_leniently() {
        let config = BackendConfig::read(
            br#"{attn_heads = 16 : i64, scaling_factor = 8.838835e-02 : f64, is_training = true, window = -1 : i64,
                name = "a, b = {c" , dims = [1, 2, 3], lists = array<i64: 4, 5>, nested = {x = 1 : i32}, unit}"#,
        );
        for (name, expected) in [
            ("attn_heads", Value::Int(16)),
            ("scaling_factor", Value::Float(0.088_388_35)),
            ("is_training", Value::Bool(true)),
            ("window", Value::Int(-1)),
            ("name", "a, b = {c".into()),
            ("dims", "[1, 2, 3]".into()),
            ("lists", "array<i64: 4, 5>".into()),
            ("nested", "{x = 1 : i32}".into()),
            ("unit", Value::Bool(true)),
        ] {
            assert_eq!(config.attribute(name), Some(&expected), "{name}");
        }
        assert_eq!(config.attribute("absent"), None);
        assert_eq!(config.number("/attn_heads"), None);
    }

    #[test]
    fn json_numbers_may_be_texts() {
        let config = BackendConfig::read(
            br#"{"gemm_backend_config":{"beta":0.5,"lhs_stride":"12","epilogue":"BIAS",
                "dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_batch_dimensions":[0]}}}"#,
        );
        assert_eq!(config.number("/gemm_backend_config/beta"), Some(0.5));
        assert_eq!(config.number("/gemm_backend_config/lhs_stride"), Some(12.0));
        assert_eq!(config.text("/gemm_backend_config/epilogue"), Some("BIAS"));
        let dot = config.dot("/gemm_backend_config/dot_dimension_numbers").unwrap();
        assert_eq!((dot.lhs_contracting, dot.rhs_batch, dot.lhs_batch), (vec![1], vec![0], vec![]));
        assert_eq!(config.attribute("beta"), None);
    }

    #[test]
    fn attributes_inside_json_are_found() {
        let config =
            BackendConfig::read(br#"{"custom_call_backend_config":{"attributes":"{heads = 4 : i64}"}}"#);
        assert_eq!(config.attribute("heads"), Some(&Value::Int(4)));
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text: String, tail in "[{}\\[\\]<>\"\\\\=,: a1é]*") {
            BackendConfig::read(text.as_bytes());
            BackendConfig::read(tail.as_bytes());
        }
    }
}
