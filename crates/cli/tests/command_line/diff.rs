//! `tracelens diff`, and the report of a trace that is held against another one.

use crate::program::{Sheets, Workplace};
use crate::trace::{annotation, kernel, launch, operator, python_frame, trace};

/// An operator with the name and time of its kernel.
struct Call(&'static str, &'static str, f64);

/// Layers of several calls, and single calls, one after the other, with the Python frames around them.
fn run_of(layers: &[&[Call]]) -> String {
    let mut events = Vec::new();
    let (mut start, mut id) = (100.0, 0);
    for (layer, calls) in layers.iter().enumerate() {
        let length: f64 = calls.iter().map(|Call(_, _, us)| us + 20.0).sum();
        events.push(python_frame("model.py(7): forward", start - 3.0, length + 6.0));
        if calls.len() > 1 {
            events.push(python_frame(&format!("nn.Module: Layer_{layer}"), start - 2.0, length + 4.0));
        }
        for Call(name, kernel_name, us) in *calls {
            id += 1;
            events.push(operator(name, start, 10.0));
            events.push(launch(id, start + 2.0));
            events.push(kernel(kernel_name, id, start + 5.0, *us));
            start += us + 20.0;
        }
        start += 10.0;
    }
    trace(&events)
}

/// `before.json` and `after.json`: the kernel of aten::mm is another one and slower, the last operator is gone and
/// the first is new.
fn two_runs() -> Workplace {
    let layer = |gemm: &'static str, us: f64| [Call("aten::mm", gemm, us), Call("aten::add", "add", 10.0)];
    let before = [layer("ampere_gemm", 100.0), layer("ampere_gemm", 100.0), layer("ampere_gemm", 100.0)];
    let after = [layer("Cijk_gemm", 130.0), layer("Cijk_gemm", 130.0), layer("Cijk_gemm", 130.0)];
    let (old, new) = ([Call("aten::old", "old", 30.0)], [Call("my::new", "new", 5.0)]);
    let [a, b, c] = &before;
    let place = Workplace::with(run_of(&[a, b, c, &old]));
    place.put("before.json", place.bytes("trace.json"));
    let [a, b, c] = &after;
    place.put("after.json", run_of(&[&new, a, b, c]));
    place
}

fn sheets(place: &Workplace, arguments: &[&str]) -> Sheets {
    Sheets::parse(&place.run(&[&["diff"], arguments, &["--json"]].concat()).exits_with(0).out)
}

fn texts<'s>(sheets: &'s Sheets, sheet: &str, column: &str) -> Vec<&'s str> {
    sheets.column(sheet, column).into_iter().map(|cell| cell.as_str().unwrap_or_default()).collect()
}

/// The numbers of a column, without those that are missing.
fn numbers(sheets: &Sheets, sheet: &str, column: &str) -> Vec<f64> {
    sheets.column(sheet, column).into_iter().filter_map(serde_json::Value::as_f64).collect()
}

#[test]
fn the_first_page_says_where_the_difference_is() {
    let place = two_runs();
    place.run("diff before.json after.json").exits_with(0).with_summary(&[
        "A → B: before → after",
        "in before",
        "certain",
        "similarity:",
        "only in before: 1 unmatched unit with 30.00 µs: aten::old",
        "only in after: 1 unmatched unit with 5.000 µs: my::new",
        "time category",
        "computation: GEMM",
        "total",
        "largest changes",
        "+90.000 aten::mm in Layer: 3 places, 300.000 → 390.000, speedup 0.769, changed kernels",
        "at model.py(7): forward",
        "ampere_gemm → Cijk_gemm",
        "3 × Layer",
        "3 × aten::mm",
    ]);
    assert!(!place.files(".").iter().any(|file| file.ends_with(".xlsx")));
    let named = ["diff", "before.json", "after.json", "--names", "old", "new", "-o", "named.xlsx"];
    place.run(&named).exits_with(0).with_summary(&["old → new", "old µs", "new µs", "wrote named.xlsx"]);
}

/// Six layers before and two after, each slower.
#[test]
fn recordings_that_are_cut_differently_have_no_speedup_of_their_spans() {
    let layer = |us: f64| [Call("aten::mm", "gemm", us), Call("aten::add", "add", 10.0)];
    let (before, after) = (layer(100.0), layer(130.0));
    let place = Workplace::with(run_of(&[&before[..]; 6]));
    place.put("before.json", place.bytes("trace.json"));
    place.put("after.json", run_of(&[&after[..]; 2]));
    for command in ["diff", "compare"] {
        let outcome = place.run(&[command, "before.json", "after.json"]).exits_with(0);
        let said = outcome.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("the recordings cover different amounts of work"), "{said}");
        for absent in ["total", "device span", "only in before", "% of A", "-66"] {
            assert!(!said.contains(absent), "{command}: {absent}: {said}");
        }
    }
    // Neither what is matched nor the whole times are summed up.
    assert!(!place.run("diff before.json after.json").exits_with(0).out.contains("speedup"));
    // 30 µs more a call.
    place.run("compare before.json after.json").with_summary(&[
        "slower in after",
        "before µs/call",
        "+30.000",
    ]);
    // Six layers of A against two of B.
    place.run("diff before.json after.json").with_summary(&["6 → 2 × Layer", "110.00", "140.00", "+30.000"]);
    let found = sheets(&place, &["before.json", "after.json"]);
    assert_eq!(numbers(&found, "diff_classes", "delta_us"), [180.0, 180.0, 0.0]);
    assert!(numbers(&found, "diff_ledger", "speedup").is_empty());
}

/// Forty layers without modules before and twelve after, each 10 µs slower.
#[test]
fn layers_that_no_module_names_are_held_against_each_other() {
    let layer = |us: f64| {
        ["aten::layer_norm", "aten::linear", "aten::gelu", "aten::add"].map(|name| Call(name, "kernel", us))
    };
    let run = |us: f64, layers: usize| {
        let calls: Vec<[Call; 4]> = (0..layers).map(|_| layer(us)).collect();
        let calls: Vec<&[Call]> = calls.iter().flat_map(|layer| layer.chunks(1)).collect();
        run_of(&calls)
    };
    let place = Workplace::with(run(10.0, 40));
    place.put("before.json", place.bytes("trace.json"));
    place.put("after.json", run(12.5, 12));
    for command in ["compare", "diff"] {
        let outcome = place.run(&[command, "before.json", "after.json"]).exits_with(0);
        outcome.with_summary(&["repeated, by median", "of 4 operators from aten::layer_norm", "40 → 12"]);
    }
    let found = sheets(&place, &["before.json", "after.json"]);
    assert_eq!(numbers(&found, "repeated_parts", "count_a"), [40.0]);
    assert_eq!(numbers(&found, "repeated_parts", "delta_us"), [10.0]);
}

#[test]
fn all_sheets_are_there_and_the_ledger_adds_up() {
    let place = two_runs();
    let found = sheets(&place, &["before.json", "after.json"]);
    let (items, deltas) = (texts(&found, "diff_ledger", "item"), numbers(&found, "diff_ledger", "delta_us"));
    let total = items.iter().position(|item| *item == "total").unwrap();
    let sum: f64 = deltas.iter().sum();
    assert!((sum - 2.0 * deltas[total]).abs() < 1e-9, "{items:?} {deltas:?}");
    assert_eq!(texts(&found, "diff_units", "operator_a")[0], "aten::mm");
    assert_eq!(numbers(&found, "diff_units", "delta_us")[0], 90.0);
    assert_eq!(texts(&found, "diff_units", "call_site")[0], "model.py(7): forward");
    assert_eq!(numbers(&found, "diff_classes", "within").len(), 2);
    assert!(!found.has("diff_map"));
    let map = sheets(&place, &["before.json", "after.json", "--map"]);
    let kernels = texts(&map, "diff_map", "kind").iter().filter(|kind| **kind == "device event").count();
    assert_eq!(kernels, 8);
}

#[test]
fn a_run_does_not_differ_from_itself_and_mirrored_runs_differ_the_other_way_round() {
    let place = two_runs();
    let same = sheets(&place, &["before.json", "before.json"]);
    assert!(numbers(&same, "diff_units", "delta_us").iter().all(|&delta| delta == 0.0));
    assert!(texts(&same, "diff_units", "status").iter().all(|&status| status == "same-kernels"));
    let deltas = |a: &str, b: &str, sign: f64| -> Vec<f64> {
        let deltas = numbers(&sheets(&place, &[a, b]), "diff_units", "delta_us");
        let mut deltas: Vec<f64> = deltas.iter().map(|delta| sign * delta).collect();
        deltas.sort_by(f64::total_cmp);
        deltas
    };
    assert_eq!(deltas("before.json", "after.json", 1.0), deltas("after.json", "before.json", -1.0));
}

#[test]
fn the_merged_tree_is_written_as_text() {
    let place = two_runs();
    let arguments = ["diff", "before.json", "after.json", "--quiet", "--merged_tree", "merged.txt"];
    place.run(&arguments).exits_with(0);
    let text = String::from_utf8(place.bytes("merged.txt")).unwrap();
    for line in [
        "combined: ampere_gemm | Cijk_gemm  (100.000 | 130.000 µs)",
        ">> trace1: aten::old",
        "<< trace2: my::new",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let over = ["diff", "before.json", "after.json", "--merged_tree", "after.json"];
    place.run(&over).exits_with(2).with_error(&["after.json", "is the trace itself"]);
}

#[test]
fn names_and_windows_are_options() {
    let place = two_runs();
    let same = sheets(&place, &["before.json", "after.json", "--same", "aten::old=my::new"]);
    assert!(!texts(&same, "diff_units", "status").iter().any(|status| status.starts_with("only")));
    let window = sheets(&place, &["before.json", "after.json", "--window", "0us..60us"]);
    assert!(numbers(&window, "diff_units", "units").iter().sum::<f64>() < 4.0);
    let none = ["diff", "before.json", "after.json", "--iterations", "90"];
    place.run(&none).exits_with(2).with_error(&["before.json"]);
}

#[test]
fn runs_that_cannot_be_aligned_are_errors_that_say_why() {
    let place = two_runs();
    place.put("empty.json", "");
    place.put("text.json", "no trace");
    for (arguments, expected) in [
        (&["before.json"][..], "takes two runs, found 1"),
        (&["before.json", "after.json", "after.json"], "takes two runs, found 3"),
        (&["before.json", "none.json"], "none.json"),
        (&["before.json", "empty.json"], "empty.json"),
        (&["text.json", "before.json"], "text.json"),
        (&["before.json", "after.json", "--names", "a", "a"], "`a` is not a valid run name"),
        (&["before.json", "after.json", "--capture_folder_b", "captures"], "captures"),
    ] {
        place.run(&[&["diff"], arguments].concat()).exits_with(2).with_error(&[expected]);
    }
    assert!(!place.files(".").contains(&"diff.xlsx".to_owned()));
}

#[test]
fn runs_without_device_work_or_with_little_in_common_are_said_to_be_such() {
    let place = two_runs();
    place.put("host.json", trace(&[operator("aten::mm", 0.0, 10.0), annotation("step", 0.0, 20.0)]));
    place.put("other.json", run_of(&[&[Call("my::x", "x", 10.0), Call("my::y", "y", 10.0)]]));
    let outcome = place.run("diff before.json host.json --json").exits_with(0);
    assert!(outcome.err.contains("host: the recording has no device events"), "{outcome:?}");
    let outcome = place.run("diff host.json host.json --json").exits_with(0);
    assert!(outcome.err.contains("has no device events"), "{outcome:?}");
    let outcome = place.run("diff before.json other.json").exits_with(0);
    outcome.with_summary(&["only 0.0% of operators match between the runs"]);
}

#[test]
fn a_recording_that_was_cut_off_is_compared_as_far_as_it_goes() {
    let place = two_runs();
    let whole = place.bytes("after.json");
    place.put("cut.json", &whole[..whole.len() / 2]);
    let outcome = place.run("diff before.json cut.json").exits_with(0);
    outcome.with_summary(&["warning: cut:", "the recordings cover different amounts of work"]);
}

#[test]
fn the_inference_report_holds_a_trace_against_another_one() {
    let place = two_runs();
    let report = |options: &[&str]| {
        let arguments = ["inference", "before.json", "--json", "--comparison_json_path", "after.json"];
        Sheets::parse(&place.run(&[&arguments[..], options].concat()).exits_with(0).out)
    };
    let ours = report(&[]);
    let of = |sheets: &Sheets, name: &str, column: &str| {
        let at = texts(sheets, "unified_perf_summary", "name").iter().position(|row| *row == name).unwrap();
        sheets.column("unified_perf_summary", column)[at].clone()
    };
    assert_eq!(texts(&ours, "unified_perf_summary", "name").len(), 3);
    assert_eq!(of(&ours, "aten::mm", "delta_us"), 90.0);
    assert_eq!(of(&ours, "aten::add", "delta_us"), 0.0);
    assert_eq!(of(&ours, "aten::mm", "speedup"), 300.0 / 390.0);
    assert_eq!(
        (of(&ours, "aten::mm", "units_in_b"), of(&ours, "aten::old", "units_in_b")),
        (3.into(), 0.into())
    );
    // What the other run alone has is in no row of this one.
    let delta = |sheet: &str| numbers(&ours, sheet, "delta_us").iter().sum::<f64>();
    assert_eq!(delta("unified_perf_summary") + 5.0, delta("diff_units"));
    assert_eq!(texts(&ours, "diff_stats", "run").len(), 8);

    let theirs = report(&["--sheet-names", "current"]);
    assert_eq!(of(&theirs, "aten::mm", "speedup (trace2/trace1)"), 1.3);
    assert_eq!(of(&theirs, "aten::mm", "delta_us (trace2 - trace1)"), 90.0);
    assert_eq!(of(&theirs, "aten::mm", "lca_count_trace2"), 3);
    assert_eq!(of(&theirs, "aten::mm", "lca_name"), "aten::mm; aten::mm; aten::mm");
    assert_eq!(of(&theirs, "aten::old", "lca_total_kernel_time_trace2_us"), 0.0);
    assert!(texts(&theirs, "diff_stats", "source").contains(&"trace2"));

    let without = Sheets::parse(&place.run("inference before.json --json").exits_with(0).out);
    assert!(!without.has("diff_stats"));
    for arguments in [
        &["--comparison_json_path", "none.json"][..],
        &["--comparison_json_path", "after.json", "--comparison_capture_folder", "none"],
        &["--comparison_json_path", "after.json", "--output_json_path", "after.json"],
    ] {
        let outcome = place.run(&[&["inference", "before.json"], arguments].concat()).exits_with(2);
        outcome.with_error(&[arguments[arguments.len() - 1]]);
    }
}

/// Figures of the reference implementation for its columns, by the alignment here.
#[test]
fn columns_of_the_inference_report_are_those_of_the_reference_on_the_corpus() {
    let (Some(mi300), Some(h100)) = (
        testdata::corpus("pytorch/mi300-qwen1.5-0.5b/trace.json.gz"),
        testdata::corpus("pytorch/h100-qwen1.5-0.5b/trace.json.gz"),
    ) else {
        return;
    };
    let place = Workplace::with("");
    let paths = [mi300, h100].map(|path| path.canonicalize().unwrap().display().to_string());
    let [mi300, h100] = paths.each_ref().map(String::as_str);
    let arguments =
        ["inference", mi300, "--comparison_json_path", h100, "--sheet-names", "current", "--json"];
    let found = Sheets::parse(&place.run(&arguments).exits_with(0).out);
    let column = |name: &str| found.column("unified_perf_summary", name);
    let times = column("Kernel Time (µs)_sum");
    for (time, speedup, delta, count) in [
        (5308.273, 0.763949, -1253.022438, 48),
        (4016.343, 0.677906, -1293.638262, 24),
        (2954.763, 0.788244, -625.687695, 72),
    ] {
        let row = times.iter().position(|cell| (cell.as_f64().unwrap() - time).abs() < 0.002).unwrap();
        let number = |name: &str| column(name)[row].as_f64().unwrap();
        assert!((number("speedup (trace2/trace1)") - speedup).abs() < 1e-6, "{time}");
        assert!((number("delta_us (trace2 - trace1)") - delta).abs() < 0.002, "{time}");
        assert_eq!(column("lca_count_trace2")[row], count, "{time}");
    }
    let sum = |name: &str| numbers(&found, "unified_perf_summary", name).iter().sum::<f64>();
    assert!((sum("lca_total_kernel_time_trace1_us") - 29743.938).abs() < 0.001);
    assert!((sum("lca_total_kernel_time_trace2_us") - 31905.473).abs() < 0.001);
    assert!((sum("delta_us (trace2 - trace1)") - 2161.545).abs() < 0.02);
    assert_eq!(sum("lca_count_trace2"), 1030.0);
}
