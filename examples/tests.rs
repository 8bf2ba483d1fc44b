//! Every example runs on the recording that it takes by default, or on one of the repository.

use std::path::Path;

fn output(name: &str, arguments: &[&str]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    let mut out = Vec::new();
    crate::run(name, &arguments, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A file of `testdata`.
fn recording(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn load_and_walk_prints_a_subtree_and_a_chain() {
    let text = output("load_and_walk", &[]);
    assert!(text.contains("└── UID: ") && text.contains("1-up:"), "{text}");
}

/// What somebody tries on the first day: each is short enough to be read at once.
#[test]
fn programs_of_a_newcomer_are_short() {
    for (name, expected) in [
        ("load_and_walk", " nodes, "),
        ("model_operations", "4294967296 FLOPs, "),
        ("own_intervals", "busy 25, "),
        ("own_sheet", "layers.xlsx"),
        ("short_pass", " operators called my_model::product"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).with_extension("rs");
        let lines = std::fs::read_to_string(path).unwrap().lines().count();
        assert!(lines < 40, "{name} has {lines} lines");
        let folder = tempfile::tempdir().unwrap();
        let arguments: &[&str] = if name == "own_sheet" { &[folder.path().to_str().unwrap()] } else { &[] };
        let text = output(name, arguments);
        assert!(text.contains(expected), "{name}: {text}");
    }
}

#[test]
fn model_operations_know_names_of_python() {
    let text = output("model_operations", &[]);
    // 4096·512·1024·2 FLOPs at 989.4 TFLOP/s; three vectors of 400 MB at 3.35 TB/s.
    assert_eq!(text, "4294967296 FLOPs, 4.34 µs, COMPUTE_BOUND\n200000000 FLOPs, 358.21 µs, MEMORY_BOUND\n");
}

#[test]
fn own_intervals_are_busy_idle_or_wrong() {
    let text = output("own_intervals", &[]);
    assert!(text.ends_with("computation 25, exposed copies 3, idle 2 of 30\n"), "{text}");
    let reversed = crate::run("own_intervals", &["30..20".to_owned()], &mut Vec::new());
    assert_eq!(reversed.unwrap_err().to_string(), "the interval ends at 20, before it starts at 30");
}

#[test]
fn own_sheet_is_written_in_three_formats() {
    let folder = tempfile::tempdir().unwrap();
    output("own_sheet", &[folder.path().to_str().unwrap()]);
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("layers.xlsx").starts_with(b"PK"));
    assert!(read("layers.csv/layers.csv").ends_with(b"mlp,17.5\n"));
    assert!(String::from_utf8(read("layers.json")).unwrap().contains("17.5"));
}

#[test]
fn short_pass_names_every_product() {
    let text = output("short_pass", &[]);
    assert!(text.ends_with(" operators called my_model::product\n") && !text.starts_with('0'), "{text}");
}

#[test]
fn find_node_shows_where_calls_come_from() {
    let text = output("find_node", &[]);
    assert!(text.contains("calls of aten::mm") && text.contains("event "), "{text}");
}

#[test]
fn linear_gpu_time_sums_forward_and_backward() {
    let text = output("linear_gpu_time", &[]);
    let time = |label: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(label)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert!(time("forward:") > 0.0 && time("backward:") > 0.0, "{text}");
}

#[test]
fn device_timeline_lists_streams() {
    let text = output("device_timeline", &[]);
    assert!(text.lines().count() >= 2 && text.contains("device 0 stream"), "{text}");
}

#[test]
fn own_report_writes_a_workbook() {
    let directory = tempfile::tempdir().unwrap();
    let workbook = directory.path().join("own.xlsx");
    let trace = recording("generated/rocm_training_step.json.gz");
    output("own_report", &[&trace, workbook.to_str().unwrap()]);
    assert!(std::fs::read(&workbook).unwrap().starts_with(b"PK"));
}

#[test]
fn rooflines_without_trace_find_where_arithmetic_takes_over() {
    let text = output("rooflines_without_trace", &["h100-sxm"]);
    let bound = |tokens: &str| {
        let mut rows = text.lines().filter(|line| line.starts_with("down projection"));
        rows.find(|row| row.split_whitespace().nth(2) == Some(tokens)).unwrap().split_whitespace().last()
    };
    // The intensity is about the number of tokens; 989 TFLOP/s over 3.35 TB/s is 295 FLOP/B.
    assert_eq!((bound("256"), bound("512")), (Some("MEMORY_BOUND"), Some("COMPUTE_BOUND")), "{text}");
    let unknown = crate::run("rooflines_without_trace", &["abacus".to_owned()], &mut Vec::new());
    assert!(unknown.unwrap_err().to_string().contains("abacus"));
}

#[test]
fn own_pass_puts_operators_above_kernels() {
    let text = output("own_pass", &[]);
    for part in ["row_sums", "gradients"] {
        let name = format!("flash_attention_backward::{part}");
        assert!(text.lines().any(|line| line.contains(&format!("Category: cpu_op, Name: {name}"))), "{text}");
        assert!(text.lines().any(|line| line.starts_with(&format!("{name}: 6 calls, "))), "{text}");
    }
}

#[test]
fn own_model_is_held_against_the_device() {
    let trace = recording("generated/cuda_training_step.json.gz");
    // 4096·4096 + 11008·4096 + 4096 elements, 14 operations and 7 transfers of 2 bytes each.
    let text = output("own_model", &[&trace, "c10::BFloat16"]);
    for line in [
        "aten::_fused_adamw_ (optimizer), 3 calls",
        "  FLOPs      0.866 G",
        "  intensity  1.000 FLOP/B",
        "  least time 258.6 µs, MEMORY_BOUND",
        "coverage: modelled",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line:?} in {text}");
    }
    let wrong = output("own_model", &[&trace, "float"]);
    for part in ["  least time 517.1 µs, MEMORY_BOUND\n", "  took       270.6 µs\n", "coverage: above peak\n"]
    {
        assert!(wrong.contains(part), "no {part:?} in {wrong}");
    }
}

#[test]
fn summaries_say_what_is_in_a_recording_of_each_kind() {
    for (name, file, expected) in [
        ("summarise", "generated/rocm_training_step.json.gz", " tracks\n"),
        ("metal_summary", "generated/metal_ops.csv", "320 rows, "),
        ("rocprof_summary", "generated/rocprof/run_results.json.gz", " dispatches, "),
        ("xplane_summary", "recorded/cpu/jax_step.xplane.pb", "program "),
    ] {
        let text = output(name, &[&recording(file)]);
        assert!(text.contains(expected), "{name}: {text}");
    }
    assert!(output("xplane_rate", &[&recording("recorded/cpu/jax_step.xplane.pb"), "2"]).contains(" MB/s, "));
}

#[test]
fn top_operators_are_listed_by_their_time() {
    let text = output("top_operators", &[]);
    assert!(text.lines().count() == 10 && text.lines().all(|line| line.contains(" ms ")), "{text}");
}

#[test]
fn petgraph_dot_prints_a_graph() {
    assert!(output("petgraph_dot", &[]).starts_with("digraph {"));
}

#[test]
fn sample_report_is_written_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let text = output("sample_report", &[directory.path().to_str().unwrap()]);
    for file in ["sample.xlsx", "sample.csv/timeline.csv", "steps.svg"] {
        assert!(directory.path().join(file).exists(), "{text}");
    }
}
