//! Traces of several steps put together from traces of one.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::split::splitting::text;

/// A recorded trace; `None` where it is absent.
pub(crate) fn recorded(file: &str) -> Option<PathBuf> {
    testdata::corpus(&format!("inference/{file}"))
}

/// One decode step of 32 requests.
pub(crate) const DECODE: &str = "sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz";
/// One step of 9 context and 37 generation requests.
pub(crate) const MIXED: &str = "vllm-prefilldecode-piecewise/graph_execution.json.gz";

pub(crate) fn parsed(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

/// The traces after each other, a millisecond apart, ids that link events made distinct by part.
pub(crate) fn composite(parts: &[&Value]) -> String {
    const LINKS: [&str; 6] =
        ["correlation", "External id", "Python id", "Python parent id", "Ev Idx", "Sequence number"];
    let mut events: Vec<Value> = Vec::new();
    let mut end = f64::MIN;
    for (part, offset) in parts.iter().zip((1..).map(|part| part * 10_000_000_i64)) {
        let of_part = part["traceEvents"].as_array().unwrap();
        let time = |event: &Value| event["ts"].as_f64();
        let first = of_part.iter().filter_map(time).fold(f64::MAX, f64::min);
        let shift = if events.is_empty() { 0.0 } else { (end + 1000.0 - first).ceil() };
        for event in of_part {
            let Some(start) = time(event) else { continue };
            let mut event = event.clone();
            event["ts"] = (start + shift).into();
            end = end.max(start + shift + event["dur"].as_f64().unwrap_or(0.0));
            for key in LINKS {
                if let Some(id) = event["args"][key].as_i64() {
                    event["args"][key] = (id + offset).into();
                }
            }
            if let ("ac2g", Some(id)) = (event["cat"].as_str().unwrap_or_default(), event["id"].as_i64()) {
                event["id"] = (id + offset).into();
            }
            events.push(event);
        }
    }
    let mut whole = parts[0].clone();
    whole["traceEvents"] = events.into();
    whole.to_string()
}

/// The trace with its annotation of the step under another name.
pub(crate) fn annotated(trace: &Value, name: &str) -> Value {
    let mut trace = trace.clone();
    let events = trace["traceEvents"].as_array_mut().unwrap();
    let is_step =
        |event: &&mut Value| event["name"].as_str().is_some_and(|name| name.starts_with("execute_"));
    events.iter_mut().find(is_step).unwrap()["name"] = name.into();
    trace
}
