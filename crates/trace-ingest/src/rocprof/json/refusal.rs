//! What to say of a text that is no profile.

use std::path::Path;

use crate::error::IngestError;
use crate::format::{Certainty, describe, formats};

/// The error for a text that begins with `head` and lacks `missing`; `keys` are the members of its root.
pub(super) fn refuse(path: &Path, head: &[u8], missing: String, keys: &[String]) -> IngestError {
    let others = formats().iter().filter(|format| format.name() != super::NAME);
    let claim =
        others.map(|format| (format.probe(head), format.name())).max_by_key(|(certainty, _)| *certainty);
    let format = claim.filter(|(certainty, _)| *certainty >= Certainty::Likely).map(|(_, name)| name);
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let found = match (format, text.first()) {
        (Some(name), _) => name.to_string(),
        (None, Some(b'[')) => "a JSON list".to_string(),
        (None, Some(b'{')) if keys.is_empty() => "a JSON object".to_string(),
        (None, Some(b'{')) => format!("a JSON object that begins with {}", keys.join(", ")),
        _ => describe(head).to_string(),
    };
    IngestError::NotRocprof { path: path.to_path_buf(), missing, found, format }
}
