use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value as Json};

use crate::{ComputeSpec, ComputeUnit, Precision};

/// What a device can do at most: the ceilings of a roofline.
///
/// ```
/// use perf_models::Architecture;
///
/// let text = r#"{
///     "name": "my accelerator",
///     "mem_bw_gbps": 1000,
///     "max_achievable_tflops": { "matrix_bf16": 100, "vector_fp32": 10 }
/// }"#;
/// let architecture = Architecture::from_json(text)?;
/// assert_eq!(architecture.ridge_point("matrix_bf16".parse()?), Some(100.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Architecture {
    /// Name for people.
    pub name: String,
    /// Memory bandwidth in 10⁹ bytes a second.
    pub memory_bandwidth_gb_per_s: f64,
    /// Memory size in 10⁹ bytes, as vendors state it; `None` if it is not known.
    pub memory_gb: Option<f64>,
    /// Peaks in 10¹² operations a second.
    pub peaks_tflops: BTreeMap<ComputeSpec, f64>,
    /// Peaks under names that no model asks for, so that a caller can tell a misspelt name.
    pub unknown_peaks_tflops: BTreeMap<String, f64>,
    /// Where the figures come from.
    pub source: Option<String>,
}

impl Architecture {
    /// The peak for a compute spec in 10¹² operations a second; `None` if it is not known.
    #[must_use]
    pub fn peak_tflops(&self, spec: ComputeSpec) -> Option<f64> {
        self.peaks_tflops.get(&spec).copied()
    }

    /// The arithmetic intensity, in operations a byte, above which a kernel is bound by arithmetic and below
    /// which by memory; `None` if the peak is not known.
    ///
    /// Source: Williams, Waterman, Patterson, *Roofline: an insightful visual performance model for
    /// multicore architectures*, Communications of the ACM 52(4), 2009.
    #[must_use]
    pub fn ridge_point(&self, spec: ComputeSpec) -> Option<f64> {
        Some(self.peak_tflops(spec)? * 1e12 / (self.memory_bandwidth_gb_per_s * 1e9))
    }

    /// Reads an architecture file.
    ///
    /// | key | value |
    /// | --- | --- |
    /// | `name` | text; optional |
    /// | `mem_bw_gbps` | memory bandwidth in 10⁹ bytes a second |
    /// | `max_achievable_tflops` | object: compute spec, such as `matrix_bf16`, to 10¹² operations a second |
    /// | `memory_gb` | memory size in 10⁹ bytes; optional |
    /// | `_reference` | source of the figures; optional |
    ///
    /// Other keys are ignored.
    ///
    /// # Errors
    ///
    /// When the text is no JSON object, or a key is missing or has a value that cannot be one; the error
    /// names the key.
    pub fn from_json(text: &str) -> Result<Self, ArchitectureError> {
        let json: Json =
            serde_json::from_str(text).map_err(|error| ArchitectureError::Syntax(error.to_string()))?;
        let Json::Object(members) = json else { return Err(ArchitectureError::NotAnObject) };

        let peaks = members.get(PEAKS).ok_or(ArchitectureError::Missing { key: PEAKS })?;
        let Json::Object(peaks) = peaks else {
            return Err(wrong(PEAKS, "an object of compute specs and numbers", peaks));
        };
        let mut architecture = Architecture {
            name: optional_text(&members, "name")?.unwrap_or_else(|| "unnamed architecture".to_owned()),
            memory_bandwidth_gb_per_s: match members.get(BANDWIDTH) {
                Some(value) => positive(BANDWIDTH, value)?,
                None => return Err(ArchitectureError::Missing { key: BANDWIDTH }),
            },
            memory_gb: match members.get("memory_gb") {
                None | Some(Json::Null) => None,
                Some(value) => Some(positive("memory_gb", value)?),
            },
            source: source(&members),
            ..Architecture::default()
        };
        for (name, value) in peaks {
            let peak = positive(&format!("{PEAKS}.{name}"), value)?;
            match name.parse::<ComputeSpec>() {
                Ok(spec) => architecture.peaks_tflops.insert(spec, peak),
                Err(_) => architecture.unknown_peaks_tflops.insert(name.clone(), peak),
            };
        }
        Ok(architecture)
    }
}

const BANDWIDTH: &str = "mem_bw_gbps";
const PEAKS: &str = "max_achievable_tflops";

fn optional_text(
    members: &Map<String, Json>,
    key: &'static str,
) -> Result<Option<String>, ArchitectureError> {
    match members.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(key, "a text", other)),
    }
}

/// A remark for people: whatever it is, it is kept as a text.
fn source(members: &Map<String, Json>) -> Option<String> {
    match members.get("_reference")? {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn positive(key: &str, value: &Json) -> Result<f64, ArchitectureError> {
    value
        .as_f64()
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| wrong(key, "a number above 0", value))
}

fn wrong(key: &str, expected: &'static str, found: &Json) -> ArchitectureError {
    const LONGEST: usize = 60;
    let mut found = found.to_string();
    if let Some((cut, _)) = found.char_indices().nth(LONGEST) {
        found.truncate(cut);
        found.push('…');
    }
    ArchitectureError::Wrong { key: key.to_owned(), expected, found }
}

/// Why an architecture file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchitectureError {
    /// It is no JSON; says where.
    Syntax(String),
    /// It is JSON, but no object.
    NotAnObject,
    /// A key that must be there is not.
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A key has a value that cannot be one.
    Wrong {
        /// The key, that of an object before that of its member: `max_achievable_tflops.matrix_bf16`.
        key: String,
        /// What it must be.
        expected: &'static str,
        /// What it is, as JSON.
        found: String,
    },
}

impl fmt::Display for ArchitectureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => write!(f, "the architecture file is no JSON: {message}"),
            Self::NotAnObject => f.write_str("the architecture file is no JSON object"),
            Self::Missing { key } => write!(f, "the architecture file has no {key:?}"),
            Self::Wrong { key, expected, found } => {
                write!(f, "{key:?} of the architecture file must be {expected}, not {found}")
            }
        }
    }
}

impl std::error::Error for ArchitectureError {}

impl FromStr for ComputeSpec {
    type Err = UnknownComputeSpec;

    /// Reads the spelling of architecture files: `matrix_bf16`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownComputeSpec(text.to_owned());
        let (unit, precision) = text.split_once('_').ok_or_else(unknown)?;
        let unit = match unit {
            "matrix" => ComputeUnit::Matrix,
            "vector" => ComputeUnit::Vector,
            _ => return Err(unknown()),
        };
        let precision = Precision::from_name(precision).ok_or_else(unknown)?;
        Ok(ComputeSpec { unit, precision })
    }
}

/// A text that is no compute spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownComputeSpec(pub String);

impl fmt::Display for UnknownComputeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no compute spec such as matrix_bf16 or vector_fp32", self.0)
    }
}

impl std::error::Error for UnknownComputeSpec {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn errors_name_the_key() {
        let cases = [
            (r#"{"#, "the architecture file is no JSON: EOF while parsing an object at line 1 column 1"),
            (r#"[1]"#, "the architecture file is no JSON object"),
            (r#"{"mem_bw_gbps": 1}"#, r#"the architecture file has no "max_achievable_tflops""#),
            (r#"{"max_achievable_tflops": {}}"#, r#"the architecture file has no "mem_bw_gbps""#),
            (
                r#"{"mem_bw_gbps": "fast", "max_achievable_tflops": {}}"#,
                r#""mem_bw_gbps" of the architecture file must be a number above 0, not "fast""#,
            ),
            (
                r#"{"mem_bw_gbps": 1, "max_achievable_tflops": {"matrix_bf16": 0}}"#,
                r#""max_achievable_tflops.matrix_bf16" of the architecture file must be a number above 0, not 0"#,
            ),
            (
                r#"{"mem_bw_gbps": 1, "max_achievable_tflops": 7}"#,
                r#""max_achievable_tflops" of the architecture file must be an object of compute specs and numbers, not 7"#,
            ),
            (
                r#"{"name": 7, "mem_bw_gbps": 1, "max_achievable_tflops": {}}"#,
                r#""name" of the architecture file must be a text, not 7"#,
            ),
            (
                r#"{"memory_gb": -1, "mem_bw_gbps": 1, "max_achievable_tflops": {}}"#,
                r#""memory_gb" of the architecture file must be a number above 0, not -1"#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Architecture::from_json(text).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn peaks_under_unknown_names_are_kept_apart() {
        let text = r#"{"mem_bw_gbps": 1, "freq_mhz": 2100, "_reference": ["a", "b"],
            "max_achievable_tflops": {"matrix_fp6": 3, "matrix_fp4": 4}}"#;
        let architecture = Architecture::from_json(text).unwrap();
        assert_eq!(architecture.peak_tflops("matrix_fp4".parse().unwrap()), Some(4.0));
        assert_eq!(architecture.unknown_peaks_tflops, BTreeMap::from([("matrix_fp6".to_owned(), 3.0)]));
        assert_eq!(architecture.source.as_deref(), Some(r#"["a","b"]"#));
    }

    #[test]
    fn compute_specs_are_read_as_they_are_written() {
        for text in ["matrix_fp8", "matrix_int8", "matrix_fp4", "vector_bf16", "vector_fp64"] {
            assert_eq!(text.parse::<ComputeSpec>().unwrap().to_string(), text);
        }
        for text in ["", "matrix", "matrix_", "matrix_bf16 ", "tensor_bf16", "vector_bf32", "Matrix_bf16"] {
            assert_eq!(text.parse::<ComputeSpec>(), Err(UnknownComputeSpec(text.to_owned())));
        }
    }

    /// Figures as vendors state them, to three decimals: the JSON reader is exact for those.
    fn figure() -> impl Strategy<Value = f64> {
        (1..100_000_000_u32).prop_map(|thousandths| f64::from(thousandths) / 1e3)
    }

    proptest! {
        #[test]
        fn every_figure_of_a_file_is_read(
            name in ".*",
            bandwidth in figure(),
            memory_gb in proptest::option::of(figure()),
            peaks in proptest::collection::btree_map(
                "(matrix|vector)_(fp4|fp8|int8|fp16|bf16|fp32|fp64)|[a-z]{1,9}", figure(), 0..9
            ),
            source in proptest::option::of(".*"),
        ) {
            let file = serde_json::json!({
                "name": name,
                "mem_bw_gbps": bandwidth,
                "memory_gb": memory_gb,
                "max_achievable_tflops": peaks,
                "_reference": source,
            });
            let mut architecture = Architecture {
                name,
                memory_bandwidth_gb_per_s: bandwidth,
                memory_gb,
                source,
                ..Architecture::default()
            };
            for (key, peak) in peaks {
                match key.parse() {
                    Ok(spec) => architecture.peaks_tflops.insert(spec, peak),
                    Err(_) => architecture.unknown_peaks_tflops.insert(key, peak),
                };
            }
            prop_assert_eq!(Architecture::from_json(&file.to_string()), Ok(architecture));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*|\\{\"(name|mem_bw_gbps|memory_gb|max_achievable_tflops)\": [-0-9{}\\[\\]\"a-z]{0,9}\\}") {
            let _ = Architecture::from_json(&text);
        }
    }
}
