//! Text from recordings as data: nothing in it is obeyed, and what looks like a secret does not leave.

use serde_json::Value;
use sheets::is_obeyed;

/// Longest text of a cell.
pub(crate) const LONGEST_CELL: usize = 200;

/// What access tokens begin with.
const SECRETS: [&str; 8] = ["hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "sk-", "AKIA"];
/// Letters behind these that make one.
const SECRET_LENGTH: usize = 16;

/// Longest text elsewhere.
const LONGEST_TEXT: usize = 4_000;

/// Makes all texts of a document harmless: characters that terminals and readers obey become U+FFFD, what looks like an
/// access token `[redacted]`, and texts are cut, those of cells sooner.
pub(crate) fn sanitise(value: &mut Value) {
    sanitise_to(value, LONGEST_TEXT);
}

fn sanitise_to(value: &mut Value, longest: usize) {
    match value {
        Value::String(text) => {
            if let Some(other) = sanitised(text, longest) {
                *text = other;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| sanitise_to(item, longest)),
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| {
            sanitise_to(member, if name == "rows" { LONGEST_CELL } else { longest });
        }),
        _ => {}
    }
}

fn sanitised(text: &str, longest: usize) -> Option<String> {
    let mut other = redacted(text);
    let of = other.as_deref().unwrap_or(text);
    if of.contains(is_obeyed) {
        other = Some(of.replace(is_obeyed, "\u{fffd}"));
    }
    let of = other.as_deref().unwrap_or(text);
    if of.len() > longest && of.chars().count() > longest {
        let start: String = of.chars().take(longest).collect();
        other = Some(format!("{start}… ({} characters)", of.chars().count()));
    }
    other
}

fn redacted(text: &str) -> Option<String> {
    if text.contains("-----BEGIN ") {
        return Some("[redacted]".to_owned());
    }
    let mut out: Option<String> = None;
    for prefix in SECRETS {
        let mut from = 0;
        while let Some(at) = out.as_deref().unwrap_or(text)[from..].find(prefix).map(|at| at + from) {
            let of = out.as_deref().unwrap_or(text);
            let is_start = !of[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            let end =
                of[at + prefix.len()..].find(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
            let end = end.map_or(of.len(), |end| at + prefix.len() + end);
            from = at + prefix.len();
            if is_start && end - at - prefix.len() >= SECRET_LENGTH {
                out = Some(format!("{}[redacted]{}", &of[..at], &of[end..]));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_in_a_name_is_obeyed() {
        let cells = json!([["a\nb\u{202e}c\u{1b}[31m", 1, null, "y".repeat(300)]]);
        let mut value = json!({"rows": cells, "x": "y".repeat(300)});
        sanitise(&mut value);
        assert_eq!(value["rows"][0][0], "a\u{fffd}b\u{fffd}c\u{fffd}[31m");
        assert_eq!(value["rows"][0][3], format!("{}… (300 characters)", "y".repeat(200)));
        assert_eq!(value["x"], "y".repeat(300));
    }

    #[test]
    fn what_looks_like_a_secret_stays_here() {
        let secret = format!("load hf_{} now", "a1".repeat(12));
        let mut value = json!([secret, "shf_x hf_short task-sk-", "-----BEGIN PRIVATE KEY-----"]);
        sanitise(&mut value);
        assert_eq!(value, json!(["load [redacted] now", "shf_x hf_short task-sk-", "[redacted]"]));
    }
}
