//! What files hold beside the events of their steps, and what they never hold.

use inference_phase::split::SplitOptions;
use serde_json::json;

use crate::split::splitting::{SINGLE_STEPS, Split, split_text};

const SECRET: &str = "hunter2-0451";

/// Two steps of 100 µs on one thread, from 1000 and from 1100 µs, among other entries.
fn two_steps(others: &[&str]) -> String {
    let step = |start| {
        format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"step[DECODE bs={start}]","pid":1,"tid":1,"ts":{start},"dur":100,"args":{{"External id":{start}}}}}"#
        )
    };
    let mut events = vec![step(1000), step(1100)];
    events.extend(others.iter().map(ToString::to_string));
    events.join(",\n")
}

fn split(others: &[&str]) -> Split {
    split_text("t", format!("{{\"traceEvents\":[{}]}}", two_steps(others)).as_bytes(), &SINGLE_STEPS)
}

#[test]
fn facts_are_kept_and_the_environment_is_not() {
    let text = format!(
        r#"{{"schemaVersion": 1, "metadata": {{"environment": {{"TOKEN": "{SECRET}"}}}}, "with_stack": 1,
        "deviceProperties": [{{"id": 0, "name": "MI300X"}}], "distributedInfo": {{"rank": 3}},
        "traceName": {{"not a name": "{SECRET}"}}, "{SECRET}": 1,
        "traceEvents": [{}], "host": "{SECRET}", "trace_id": "ABC", "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 17}}"#,
        two_steps(&[])
    );
    let split = split_text("t", text.as_bytes(), &SINGLE_STEPS);
    for output in 0..2 {
        assert!(!split.text(output).contains(SECRET));
        let mut json = split.json(output);
        json["traceEvents"].take();
        let expected = json!({
            "schemaVersion": 1, "with_stack": 1, "deviceProperties": [{"id": 0, "name": "MI300X"}],
            "distributedInfo": {"rank": 3}, "traceEvents": null, "trace_id": "ABC", "displayTimeUnit": "ms",
            "baseTimeNanoseconds": 17
        });
        assert_eq!(json, expected);
    }
}

#[test]
fn a_bare_list_becomes_an_object() {
    let split = split_text("t", format!("[{}]", two_steps(&[])).as_bytes(), &SINGLE_STEPS);
    assert_eq!(split.names(1), ["step[DECODE bs=1100]"]);
}

#[test]
fn metadata_is_in_every_file_once() {
    let metadata = [
        r#"{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":5.5,"args":{"name":"python"}}"#,
        r#"{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"engine"}}"#,
    ];
    let options = SplitOptions { divide_phases: Some(8), ..SINGLE_STEPS };
    let split = split(&metadata);
    assert_eq!(split.names(0), ["step[DECODE bs=1000]", "process_name", "thread_name"]);
    let text = format!("{{\"traceEvents\":[{}]}}", two_steps(&metadata));
    let split =
        split_text("t", text.as_bytes(), &SplitOptions { range: Some(0..2), single_steps: false, ..options });
    let names = ["step[DECODE bs=1000]", "step[DECODE bs=1100]", "process_name", "thread_name"];
    assert_eq!((split.details.len(), split.names(0)), (1, names.map(str::to_string).to_vec()));
}

#[test]
fn text_that_is_not_json_becomes_json() {
    let split = split(&[
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\nb\u{1}\",\"pid\":1,\"tid\":1,\"ts\":1010,\"dur\":5,\"args\":{\"x\":NaN,}}",
        r#"{"ph":"X","cat":"cpu_op","name":"broken" "pid":1,"tid":1,"ts":1020,"dur":5}"#,
        r#"{"ph":"X","cat":"cpu_op","name":"next","pid":1,"tid":1,"ts":"1030","dur":5}"#,
    ]);
    assert_eq!(split.names(0), ["step[DECODE bs=1000]", "a\nb\u{1}", "next"]);
    assert_eq!(split.read(0).events().len(), 3);
}

#[test]
fn begins_take_their_ends_along() {
    let split = split(&[
        r#"{"ph":"B","cat":"cpu_op","name":"before","pid":1,"tid":1,"ts":990}"#,
        r#"{"ph":"B","cat":"cpu_op","name":"inside","pid":1,"tid":1,"ts":1010}"#,
        r#"{"ph":"E","name":"of inside","pid":1,"tid":1,"ts":1020}"#,
        r#"{"ph":"E","name":"of before","pid":1,"tid":1,"ts":1030}"#,
    ]);
    assert_eq!(split.names(0), ["step[DECODE bs=1000]", "inside", "of inside"]);
    assert_eq!(split.names(1), ["step[DECODE bs=1100]"]);
}

#[test]
fn a_cut_off_trace_is_split_as_far_as_it_goes() {
    let text = format!("{{\"traceEvents\":[{},\n{{\"ph\":\"X\",\"na", two_steps(&[]));
    let split = split_text("t", text.as_bytes(), &SINGLE_STEPS);
    assert_eq!((split.names(0).len(), split.names(1).len()), (1, 1));
}
