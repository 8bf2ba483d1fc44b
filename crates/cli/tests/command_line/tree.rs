//! `tracelens tree`.

use serde_json::{Value, json};

use crate::program::Workplace;
use crate::trace::{kernel, launch, operator, python_frame, trace};

/// A Python frame, an operator in an operator, its launch and kernel; then an operator without device work.
fn place() -> Workplace {
    Workplace::with(trace(&[
        python_frame("train.py(3): main", 0.0, 500.0),
        operator("aten::linear", 5.0, 90.0),
        operator("aten::addmm", 10.0, 50.0),
        launch(1, 20.0),
        kernel("gemm", 1, 100.0, 12.5),
        operator("aten::view", 200.0, 10.0),
    ]))
}

fn tree(options: &[&str]) -> String {
    place().run(&[&["tree", "trace.json"], options].concat()).exits_with(0).out
}

#[test]
fn what_leads_to_device_work_is_printed() {
    let expected = "\
└── UID: 1, Category: cpu_op, Name: aten::linear, Device time: 12.5 µs (100.00%)
    └── UID: 2, Category: cpu_op, Name: aten::addmm, Device time: 12.5 µs (100.00%)
        └── UID: 3, Category: cuda_runtime, Name: cudaLaunchKernel, Device time: 12.5 µs (100.00%)
            └── UID: 4, Category: kernel, Name: gemm, Duration: 12.5 (100.00%)
";
    assert_eq!(tree(&[]), expected);
}

#[test]
fn the_rest_is_printed_on_request() {
    assert!(tree(&["--all"]).contains("aten::view"));
    assert!(!tree(&["--all"]).contains("train.py"));
    assert!(
        tree(&["--python-frames"]).starts_with("└── UID: 0, Category: python_function, Name: train.py(3)")
    );
}

#[test]
fn a_tree_starts_where_it_is_told() {
    let by_uid = tree(&["--uid", "2"]);
    assert!(by_uid.starts_with("└── UID: 2, Category: cpu_op, Name: aten::addmm, Device time"), "{by_uid}");
    assert_eq!(by_uid, tree(&["--name", "aten::addmm"]));
    let found = tree(&["--external-id", "3", "--pid", "1", "--tid", "1"]);
    assert!(found.contains("UID: "), "{found}");
}

#[test]
fn callers_are_printed_instead() {
    let callers = tree(&["--uid", "4", "--parents"]);
    let order: Vec<usize> = ["gemm", "cudaLaunchKernel", "aten::addmm", "aten::linear"]
        .map(|name| callers.find(name).unwrap_or_else(|| panic!("no {name} in {callers}")))
        .to_vec();
    assert!(order.is_sorted(), "{callers}");
    place().run("tree trace.json --parents").exits_with(2);
}

#[test]
fn what_takes_little_device_time_can_be_left_out() {
    let place = Workplace::with(trace(&[
        operator("aten::linear", 0.0, 90.0),
        launch(1, 20.0),
        launch(2, 30.0),
        kernel("gemm", 1, 100.0, 30.0),
        kernel("bias", 2, 200.0, 10.0),
        operator("aten::relu", 200.0, 10.0),
        launch(3, 201.0),
        kernel("relu", 3, 300.0, 10.0),
    ]));
    let tree = |least: &str| place.run(&["tree", "trace.json", "--min-time", least]).exits_with(0);
    let all = tree("0").out;
    assert_eq!(all.lines().count(), 8, "{all}");
    assert!(all.contains("aten::linear, Device time: 40.0 µs (80.00%)\n"), "{all}");
    assert!(all.contains("bias, Duration: 10.0 (20.00%)\n"), "{all}");
    let most = tree("10.5").out;
    assert_eq!(most.lines().count(), 3, "{most}");
    assert!(!most.contains("bias") && !most.contains("relu"), "{most}");
    let none = tree("1000");
    assert_eq!(none.out, "");
    assert!(none.err.contains("no roots with at least 1000 µs of device time"), "{none:#?}");
    place.run("tree trace.json --min-time -1").exits_with(2);
}

#[test]
fn depth_is_limited() {
    for (depth, lines) in [("0", 1), ("1", 2), ("2", 3), ("9", 4)] {
        assert_eq!(tree(&["--depth", depth]).lines().count(), lines, "{depth}");
    }
}

#[test]
fn arguments_are_shown() {
    assert!(!tree(&[]).contains("Input Dims"));
    for spelling in ["Input Dims", "input dims"] {
        assert!(tree(&["--field", spelling]).contains("Input Dims: [[2, 3]]"));
    }
}

#[test]
fn what_is_not_there_is_said() {
    for (options, parts) in [
        (&["--uid", "6"][..], &["trace.json: has no event 6", "0 to 5"][..]),
        (&["--name", "aten::none"], &["trace.json: has no event named \"aten::none\""]),
        (
            &["--external-id", "77", "--pid", "1", "--tid", "1"],
            &["trace.json: has no event with External id 77"],
        ),
        (&["--field", "Colour"], &["unknown argument \"Colour\"", "Input Dims, "]),
    ] {
        place().run(&[&["tree", "trace.json"], options].concat()).exits_with(2).with_error(parts);
    }
}

#[test]
fn a_trace_without_gpu_work_says_how_to_see_it() {
    let place = Workplace::with(trace(&[operator("aten::view", 0.0, 1.0)]));
    let outcome = place.run("tree trace.json").exits_with(0);
    assert!(outcome.err.contains("--all prints all events"), "{outcome:#?}");
    let outcome = place.run("tree trace.json --all").exits_with(0);
    assert_eq!((outcome.out.lines().count(), outcome.err.as_str()), (1, ""));
}

#[test]
fn control_characters_of_a_name_do_not_reach_the_terminal() {
    let place = Workplace::with(trace(&[operator("a\u{1b}[31m\u{7}b", 0.0, 1.0)]));
    let outcome = place.run("tree trace.json --all").exits_with(0);
    assert!(outcome.out.contains("a\\x1b[31m\\x07b"), "{outcome:#?}");
}

#[test]
fn pages_of_json_have_every_event_once() {
    let page = |options: &str| -> Value {
        serde_json::from_str(&tree(
            &format!("--json {options}").split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>(),
        ))
        .unwrap()
    };
    let whole = page("")["result"].clone();
    assert_eq!((&whole["events_total"], &whole["next"]), (&json!(4), &Value::Null));
    let (first, last) = (page("--top 3")["result"].clone(), page("--top 3 --skip 3")["result"].clone());
    assert_eq!((&first["next"], &last["next"]), (&json!(3), &Value::Null));
    let events = |answer: &Value| answer["events"].as_array().unwrap().clone();
    assert_eq!([events(&first), events(&last)].concat(), events(&whole));
    place().run("tree trace.json --top 3").exits_with(2);
}
