//! Offers of the server besides tools: resources to read, and prompts that start a conversation.

use answers::envelope::{Document, schema};
use serde_json::{Map, Value, json};

use crate::SKILL;
use crate::refusal::Refusal;

const SCHEMA: &str = "tracelens://schema/answer";
const SKILL_PAGE: &str = "tracelens://skill";
const COLUMNS: &str = "tracelens://columns/";
const TRACE: &str = "tracelens://trace/";

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";

/// What can be read as it is.
pub(crate) fn resources() -> Value {
    json!([
        {"uri": SCHEMA, "name": "schema", "description": "The JSON schema of answers; those of tools lack what is empty.", "mimeType": JSON},
        {
            "uri": SKILL_PAGE,
            "name": "skill",
            "description": "How to use the tools and their answers, and in what order.",
            "mimeType": MARKDOWN,
        },
    ])
}

/// What can be read of a table or a recording.
pub(crate) fn templates() -> Value {
    json!([
        {
            "uriTemplate": format!("{COLUMNS}{{table}}"),
            "name": "columns",
            "description": "Meaning and units of a table's columns.",
            "mimeType": JSON,
        },
        {
            "uriTemplate": format!("{TRACE}{{handle}}/summary"),
            "name": "summary",
            "description": "Where the time of an opened recording went.",
            "mimeType": JSON,
        },
    ])
}

/// A requested resource.
pub(crate) enum Read {
    /// Its type and its text.
    Text(&'static str, String),
    /// A tool has it.
    Tool(&'static str, Map<String, Value>),
}

/// The resource at an address, if any.
pub(crate) fn read(uri: &str) -> Option<Read> {
    let tool = |tool, argument: &str, value: &str| {
        let arguments = Map::from_iter([(argument.to_owned(), Value::from(value))]);
        (!value.is_empty() && !value.contains('/')).then_some(Read::Tool(tool, arguments))
    };
    match uri {
        SCHEMA => Some(Read::Text(JSON, schema(Document::Answer))),
        SKILL_PAGE => Some(Read::Text(MARKDOWN, SKILL.to_owned())),
        _ => {
            let summary = || tool("summary", "trace", uri.strip_prefix(TRACE)?.strip_suffix("/summary")?);
            uri.strip_prefix(COLUMNS).map_or_else(summary, |table| tool("columns", "name", table))
        }
    }
}

/// A conversation that a user can start by name.
struct Opening {
    name: &'static str,
    about: &'static str,
    /// Recordings that it is about, each with its description.
    paths: &'static [(&'static str, &'static str)],
    /// The task; the recordings are appended to it.
    text: &'static str,
}

const OPENINGS: [Opening; 3] = [
    Opening {
        name: "slow-step",
        about: "Find out why a step of a program is slow.",
        paths: &[("trace", "The recording")],
        text: "Find out why a step of this program is slow. Open the recording, ask `doctor` whether it can be trusted, \
               read `summary` and `advise`, then look into the first finding with `why` and `table`. Give every \
               figure with its unit and table; say what was not recorded.",
    },
    Opening {
        name: "before-after",
        about: "Explain what changed between two runs of a program.",
        paths: &[("baseline", "The earlier run"), ("candidate", "The later run")],
        text: "Explain what became slower and faster between these runs. Use `gate` to check that they are \
               comparable, `diff` to find where they differ, and `why` to explain the largest part. A difference \
               that `gate` calls inconclusive does not count.",
    },
    Opening {
        name: "which-kernel-first",
        about: "Choose the kernel most worth optimizing.",
        paths: &[("trace", "The recording")],
        text: "Choose the kernel of this program most worth optimizing. Open the recording, read advise and \
               the table unified_perf_summary sorted by the gap to the roofline, and pick one kernel; state \
               its minimum, probable and maximum gain.",
    },
];

/// The conversations.
pub(crate) fn prompts() -> Vec<Value> {
    let argument = |&(name, about): &(&str, &str)| {
        let about = format!("{about}: a file, absolute or relative to a root.");
        json!({"name": name, "description": about, "required": true})
    };
    let prompt = |opening: &Opening| {
        let arguments: Vec<Value> = opening.paths.iter().map(argument).collect();
        json!({"name": opening.name, "description": opening.about, "arguments": arguments})
    };
    OPENINGS.iter().map(prompt).collect()
}

/// The beginning of a conversation.
pub(crate) fn prompt(name: &str, arguments: Option<&Map<String, Value>>) -> Result<Value, Refusal> {
    let opening = OPENINGS.iter().find(|opening| opening.name == name);
    let opening = opening.ok_or_else(|| Refusal::new("bad-value", format!("there is no prompt {name:?}")))?;
    let mut text = opening.text.to_owned();
    for (name, _) in opening.paths {
        let path = arguments.and_then(|arguments| arguments.get(*name)?.as_str());
        let path =
            path.ok_or_else(|| Refusal::new("bad-value", format!("the argument {name:?} is missing")))?;
        text.push_str(&format!("\n{name}: {path}"));
    }
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    Ok(json!({"description": opening.about, "messages": [message]}))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_lead_to_texts_and_tools() {
        assert!(matches!(read(SCHEMA), Some(Read::Text(JSON, _))));
        assert!(matches!(read(SKILL_PAGE), Some(Read::Text(MARKDOWN, _))));
        let tool = |uri: &str| match read(uri) {
            Some(Read::Tool(name, arguments)) => Some((name, Value::Object(arguments))),
            _ => None,
        };
        assert_eq!(tool("tracelens://columns/ops_all"), Some(("columns", json!({"name": "ops_all"}))));
        assert_eq!(
            tool("tracelens://trace/0123abcd/summary"),
            Some(("summary", json!({"trace": "0123abcd"})))
        );
        for uri in [
            "tracelens://columns/",
            "tracelens://trace/a/b/summary",
            "tracelens://trace/a",
            "file:///etc/passwd",
        ] {
            assert!(read(uri).is_none(), "{uri}");
        }
    }

    #[test]
    fn a_prompt_names_its_recordings_and_tools_that_exist() {
        let arguments = json!({"baseline": "a.json", "candidate": "b.json"});
        let begun = prompt("before-after", arguments.as_object()).unwrap();
        let text = begun["messages"][0]["content"]["text"].to_string();
        assert!(text.contains("baseline: a.json") && text.contains("candidate: b.json"), "{text}");
        assert!(prompt("before-after", None).is_err() && prompt("other", None).is_err());
        for word in ["doctor", "summary", "advise", "why", "table", "gate", "diff"] {
            assert!(
                crate::tools::is_known(word) && OPENINGS.iter().any(|opening| opening.text.contains(word))
            );
        }
    }
}
