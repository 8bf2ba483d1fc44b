//! Where one event of the list ends and the next begins, found without parsing from the start.
//!
//! Used to cut the text into runs that are parsed independently, and to find the way back after a
//! malformed event. A boundary is `}`, `,`, `{` and one of the keys that events begin with. Inside a
//! string the quotes of such a key would be escaped, so a boundary cannot be mistaken there; inside an
//! event's arguments it could be, which is why whoever uses a boundary checks that the text before it
//! ended with a complete event.

use memchr::{memchr_iter, memrchr_iter};

const EVENT_KEYS: &[&[u8]] =
    &[b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"args", b"id", b"bp", b"s", b"tts", b"cname"];

/// Start of the last event that begins in `text` after another one ended in it.
pub(crate) fn last_event_start(text: &[u8]) -> Option<usize> {
    memrchr_iter(b'{', text).find(|&at| follows_an_event(text, at) && begins_an_event(text, at))
}

/// Starts of what could be events after `from`, in order; what is before them need not have ended.
pub(crate) fn event_starts(text: &[u8], from: usize) -> impl Iterator<Item = usize> {
    memchr_iter(b'{', text.get(from..).unwrap_or_default())
        .map(move |at| from + at)
        .filter(|&at| begins_an_event(text, at) && text[..at].trim_ascii_end().ends_with(b","))
}

fn begins_an_event(text: &[u8], brace: usize) -> bool {
    let key = text[brace + 1..].trim_ascii_start();
    EVENT_KEYS.iter().any(|name| {
        key.strip_prefix(b"\"")
            .and_then(|rest| rest.strip_prefix(*name))
            .and_then(|rest| rest.strip_prefix(b"\""))
            .is_some_and(|rest| rest.trim_ascii_start().first() == Some(&b':'))
    })
}

fn follows_an_event(text: &[u8], brace: usize) -> bool {
    text[..brace]
        .trim_ascii_end()
        .strip_suffix(b",")
        .is_some_and(|before| before.trim_ascii_end().last() == Some(&b'}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_between_events_only() {
        for (text, last) in [
            (r#"{"ph":"X"},{"ph":"M"}"#, Some(11)),
            ("{\"ph\": 1 }\n , \n {\n \"cat\" : 2},{\"name\":3}", Some(30)),
            (r#"{"ph":"X","args":{"ph":1}}"#, None),
            (r#"{"name":"}, {\"ph\":1"}"#, None),
            (r#"{"name":"}, {", "x":1}"#, None),
            (r#"{"ph":"X"},{"ph"#, None),
            (r#"{"ph":"X"},{"other":1}"#, None),
            ("", None),
        ] {
            assert_eq!(last_event_start(text.as_bytes()), last, "{text}");
        }
    }

    #[test]
    fn event_starts_need_no_end_before_them() {
        let text = br#"{"ph":"X","ts":1,{"ph":"X"},{"other":1}, {"name":{"ph":1}}"#;
        assert_eq!(event_starts(text, 1).collect::<Vec<_>>(), [17, 41]);
    }
}
