//! The file that keeps recordings of a baseline: JSON, a fraction of the size of the recordings.

use std::io::{self, Write};

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use crate::recording::{Inconsistent, Recording};

/// The schema name at the start of the file.
pub const BASELINE_SCHEMA: &str = "tracelens.baseline/1";

/// Size above which no file is a baseline of ours: a recording is 7 MB at most.
pub const MOST_BASELINE_BYTES: u64 = 256 << 20;

/// Recordings of a baseline, written by `tracelens gate save` for `tracelens gate`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Baseline")]
struct Document<'a> {
    /// `tracelens.baseline/1`: version of the format, not of the program.
    schema: &'a str,
    /// The recordings; never empty.
    recordings: &'a [Recording],
}

/// The JSON schema of a baseline file.
#[must_use]
pub fn baseline_schema() -> Schema {
    schema_for!(Document<'_>)
}

/// Why a file is not a baseline.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum BaselineError {
    /// It is no JSON of the form.
    #[error("is not a baseline file: {0}")]
    #[diagnostic(code("baseline/json"))]
    Json(#[from] serde_json::Error),
    /// It is of another version.
    #[error("has schema {found:?}, expected {BASELINE_SCHEMA:?}")]
    #[diagnostic(code("baseline/schema"), help("save it again with `tracelens gate save`"))]
    Schema {
        /// The schema that it states.
        found: String,
    },
    /// A recording in it contradicts itself.
    #[error("contains a damaged recording, {file}: {fault}")]
    #[diagnostic(code("baseline/recording"), help("save it again with `tracelens gate save`"))]
    Recording {
        /// The file of the recording.
        file: String,
        /// What is wrong.
        fault: Inconsistent,
    },
    /// It keeps nothing.
    #[error("has no recordings")]
    #[diagnostic(code("baseline/empty"))]
    Empty,
}

/// Whether a file that begins with these bytes is a baseline of any version.
#[must_use]
pub fn is_baseline(start: &[u8]) -> bool {
    let text: Vec<u8> = start.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(64).collect();
    text.starts_with(b"{\"schema\":\"tracelens.baseline/")
}

/// Writes a baseline file, the same bytes for the same recordings.
pub fn write_baseline(recordings: &[Recording], mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut out, &Document { schema: BASELINE_SCHEMA, recordings })?;
    writeln!(out)
}

/// Reads a baseline file.
///
/// # Errors
/// When it is none, is of another version, or its figures contradict each other.
pub fn read_baseline(text: &[u8]) -> Result<Vec<Recording>, BaselineError> {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
    }
    #[derive(Deserialize)]
    struct Body {
        recordings: Vec<Recording>,
    }
    // The schema first: another version may lack what this one needs.
    let Header { schema } = serde_json::from_slice(text)?;
    if schema != BASELINE_SCHEMA {
        return Err(BaselineError::Schema { found: schema });
    }
    let Body { recordings } = serde_json::from_slice(text)?;
    if recordings.is_empty() {
        return Err(BaselineError::Empty);
    }
    for recording in &recordings {
        let damaged = |fault| BaselineError::Recording { file: recording.file.clone(), fault };
        recording.check().map_err(damaged)?;
    }
    Ok(recordings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::recording;

    fn written(recordings: &[Recording]) -> Vec<u8> {
        let mut out = Vec::new();
        write_baseline(recordings, &mut out).unwrap();
        out
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut second = recording(&[7, 8, 9]);
        second.units[0].own_time = Some(vec![6, 8, 9]);
        second.steps.duration[0] = 6;
        second.job = Some("a".to_owned());
        let kept = [recording(&[100, 101, 102]), second];
        let text = written(&kept);
        assert!(is_baseline(&text));
        assert_eq!(read_baseline(&text).unwrap(), kept);
    }

    #[test]
    fn what_is_no_baseline_says_why() {
        let mut damaged = recording(&[100, 101]);
        damaged.idle[0] = 5;
        for (text, expected) in [
            (b"{\"traceEvents\": []}".to_vec(), "not a baseline file: missing field `schema`"),
            (b"{\"schema\": \"tracelens.baseline/2\"}".to_vec(), "has schema \"tracelens.baseline/2\""),
            (b"{\"schema\": \"tracelens.baseline/1\"}".to_vec(), "missing field `recordings`"),
            (b"{\"schema\": \"tracelens.baseline/1\", \"recordings\": []}".to_vec(), "no recordings"),
            (written(&[damaged]), "the parts of step 0 add up to 105 ns"),
            (written(&[recording(&[1, 2])])[..300].to_vec(), "not a baseline file: EOF"),
        ] {
            let error = read_baseline(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
