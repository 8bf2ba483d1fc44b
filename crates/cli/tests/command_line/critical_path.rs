//! `tracelens critical-path`.

use serde_json::Value;

use crate::program::{Sheets, Workplace};
use crate::trace::{annotation, kernel, kernel_on_stream, launch, operator, runtime_call, trace};

/// Two steps. In each the host launches a GEMM of 60 µs and an all-reduce on another stream, and waits for the device.
fn two_steps() -> Workplace {
    let mut events = Vec::new();
    for (step, start) in [(1_u32, 100.0), (2, 300.0)] {
        events.push(annotation(&format!("ProfilerStep#{step}"), start, 150.0));
        events.push(operator("aten::mm", start + 5.0, 10.0));
        events.push(launch(10 * step, start + 8.0));
        events.push(kernel("gemm", 10 * step, start + 15.0, 60.0));
        events.push(operator("c10d::allreduce_", start + 20.0, 5.0));
        events.push(launch(10 * step + 1, start + 21.0));
        events.push(kernel_on_stream(9, "ncclDevKernel_AllReduce", 10 * step + 1, start + 76.0, 40.0));
        let wait = runtime_call("cudaDeviceSynchronize", start + 30.0, "");
        events.push(wait.replace(r#""dur": 1"#, r#""dur": 90"#));
    }
    Workplace::with(trace(&events))
}

#[test]
fn a_host_without_records_is_before_what_is_named_and_advise_may_know_more() {
    // Products that the host launches so long after the one before has begun.
    let products = |after: f64| {
        let product = |step: u32| {
            let start = after * f64::from(step);
            [
                operator("aten::mm", start, 20.0),
                launch(step + 1, start + 5.0),
                kernel("gemm", step + 1, 30.0 + after.max(500.0) * f64::from(step), 500.0),
            ]
        };
        let place = Workplace::with(trace(&(0..4).flat_map(product).collect::<Vec<_>>()));
        place.run("critical-path trace.json").exits_with(0)
    };
    products(1_000.0).with_summary(&["host, nothing recorded before aten::mm", "see tracelens advise"]);
    let busy = products(50.0);
    assert!(!busy.out.contains("see tracelens advise") && busy.out.contains("GPU compute"), "{busy:#?}");
}

#[test]
fn the_path_of_hta_is_that_of_its_graph() {
    let place = two_steps();
    let path = |options: &[&str]| {
        let all = [&["critical-path", "trace.json", "--json"], options].concat();
        Sheets::parse(&place.run(&all).exits_with(0).out)
    };
    let (hta, dag) = (path(&["--parity", "hta"]), path(&["--mode", "dag"]));
    assert!(hta.column("critical_path_segments", "edge").iter().all(|edge| edge.is_string()));
    // Without the second of two steps.
    assert!(sum(&hta, "critical_path", "path_us") < sum(&dag, "critical_path", "path_us"));
    place
        .run("critical-path trace.json --parity hta --mode wall")
        .exits_with(2)
        .with_error(&["--parity hta requires --mode dag"]);
}

#[test]
fn the_path_of_hta_goes_by_its_rules() {
    // The second kernel begins before the first ends.
    let place = Workplace::with(trace(&[
        launch(1, 0.0),
        launch(2, 5.0),
        kernel("gemm", 1, 20.0, 30.0),
        kernel("gemm", 2, 40.0, 20.0),
    ]));
    let path = |options: &[&str]| {
        let all = [&["critical-path", "trace.json", "--keep-overruns", "--json"], options].concat();
        sum(&Sheets::parse(&place.run(&all).exits_with(0).out), "critical_path", "path_us")
    };
    assert_eq!(path(&["--mode", "dag"]), 30.0);
    assert_eq!(path(&["--parity", "hta"]), 30.0 - 10.0 + 20.0);
}

fn sum(sheets: &Sheets, sheet: &str, column: &str) -> f64 {
    sheets.column(sheet, column).into_iter().filter_map(Value::as_f64).sum()
}

#[test]
fn each_moment_is_given_to_what_it_waited_for() {
    let place = two_steps();
    let outcome = place.run("critical-path trace.json --json").exits_with(0);
    let sheets = Sheets::parse(&outcome.out);
    // From the first operator to the end of the last call.
    for (sheet, column) in [("critical_path", "path_us"), ("critical_path_segments", "duration_us")] {
        let whole = sum(&sheets, sheet, column);
        assert!((whole - 315.0).abs() < 1e-9, "{sheet}: {whole}");
    }
    let rows = sheets.rows("critical_path");
    let names = sheets.column("critical_path", "name");
    assert_eq!(rows.len(), names.len());
    let time = |meant: &str| -> f64 {
        let times = sheets.column("critical_path", "path_us");
        names
            .iter()
            .zip(times)
            .filter(|(name, _)| **name == meant)
            .filter_map(|(_, time)| time.as_f64())
            .sum()
    };
    assert!((time("gemm") - 2.0 * (60.0 + 7.0 - 1.0)).abs() < 10.0, "{}", time("gemm"));

    let one = place.run("critical-path trace.json --annotation ProfilerStep#2 --json");
    let one = Sheets::parse(&one.exits_with(0).out);
    assert!((sum(&one, "critical_path", "path_us") - 150.0).abs() < 1e-9);
    place.run("critical-path trace.json -q").exits_with(0);
    assert_eq!(place.files("."), ["trace.json"]);
}

#[test]
fn a_faster_kernel_makes_the_run_shorter() {
    let place = two_steps();
    let halved = place.run("critical-path trace.json --scale gemm=0.5 --json").exits_with(0);
    let halved = Sheets::parse(&halved.out);
    assert_eq!(halved.column("critical_path_what_if", "recorded_us"), [315.0]);
    assert_eq!(halved.column("critical_path_what_if", "saved_us"), [60.0]);
    assert_eq!(halved.column("critical_path_what_if", "events"), [2]);
    place.run("critical-path trace.json --without aten::bmm").exits_with(2).with_error(&[
        "trace.json",
        "aten::bmm",
        "the nearest names are",
        "aten::mm",
    ]);
    let negative = place.run("critical-path trace.json --scale gemm=-1").exits_with(2);
    assert!(negative.err.contains("gemm=-1") && negative.err.contains("aten::mm=0.5"), "{negative:#?}");
    place
        .run("critical-path trace.json --annotation ProfilerStep#7")
        .exits_with(2)
        .with_error(&["trace.json", "ProfilerStep#7"]);
}

/// What a viewer shows of the overlay: every entry of the recording, the path, and arrows whose ends are in pairs.
fn overlay_is_whole(place: &Workplace, overlay: &str) {
    let (recorded, mut written) = (entries(place, "trace.json"), entries(place, overlay));
    let mut marks = 0;
    for entry in written.iter_mut().filter_map(Value::as_object_mut) {
        let Some(arguments) = entry.get_mut("args").and_then(Value::as_object_mut) else { continue };
        marks += usize::from(arguments.remove("critical").is_some());
        if arguments.is_empty() {
            entry.remove("args");
        }
    }
    let without_empty = |entry: &&Value| entry["args"].as_object().is_none_or(|own| !own.is_empty());
    assert!(marks > 0 && recorded.iter().filter(without_empty).all(|entry| written.contains(entry)));
    let of_path: Vec<&Value> = written.iter().filter(|entry| entry["cat"] == "critical_path").collect();
    let spans: f64 =
        of_path.iter().filter(|entry| entry["ph"] == "X").map(|entry| entry["dur"].as_f64().unwrap()).sum();
    assert!((spans - 315.0).abs() < 1e-9, "{spans}");
    let ids = |phase: &str| -> Vec<&Value> {
        of_path.iter().filter(|entry| entry["ph"] == phase).map(|entry| &entry["id"]).collect()
    };
    assert!(!ids("s").is_empty());
    assert_eq!(ids("s"), ids("f"));
    assert!(written.iter().any(|entry| entry["args"]["name"] == "Critical path"));
}

#[test]
fn columns_say_what_makes_them_unreliable() {
    let place = Workplace::with(trace(&[
        operator("aten::mm", 100.0, 60.0),
        kernel("queued before", 3, 90.0, 40.0),
        launch(20, 110.0),
        kernel("gemm", 20, 135.0, 20.0),
    ]));
    let marked = |options: &[&str]| {
        let outcome = place.run(&[&["critical-path", "trace.json"], options].concat()).exits_with(0);
        let printed = outcome.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let json = place.run(&[&["critical-path", "trace.json", "--json"], options].concat()).exits_with(0);
        let sheets = Sheets::parse(&json.out);
        let caveats: Vec<String> = ["critical_path", "critical_path_segments"]
            .into_iter()
            .flat_map(|sheet| sheets.caveats(sheet))
            .collect();
        (printed, caveats, sheets)
    };
    let (printed, caveats, sheets) = marked(&[]);
    let why = "1 of 2 device events (40.00 µs, 66.7% of device time)";
    assert_eq!(caveats.len(), 4, "{caveats:?}");
    assert!(caveats.iter().all(|text| text.contains(why) && text.contains("(W2)")), "{caveats:?}");
    assert!(
        printed.contains("parts of the path may be missing or attributed to the wrong cause (W2"),
        "{printed}"
    );
    assert!(sheets.column("recording", "rule").iter().any(|rule| *rule == "W2"));
    // HTA's figures are HTA's.
    let (printed, caveats, sheets) = marked(&["--parity", "hta"]);
    assert!(caveats.is_empty() && !sheets.has("recording") && !printed.contains("W2"), "{printed}");
}

#[test]
fn the_overlay_is_the_trace_with_the_path() {
    let place = two_steps();
    place.run("critical-path trace.json -q --overlay path.json").exits_with(0);
    overlay_is_whole(&place, "path.json");
    // It is a recording like any other.
    place.run("report path.json --json").exits_with(0);

    place.run("critical-path trace.json --overlay path.txt").exits_with(2).with_error(&["path.txt", ".json"]);
    place.run("critical-path trace.json --overlay trace.json").exits_with(2).with_error(&["trace.json"]);
    let piped = ["critical-path", "-", "-q", "--overlay", "piped.json"];
    place.run_on(&place.path("trace.json"), &piped).exits_with(2).with_error(&["standard input"]);
    assert_eq!(place.files("."), ["path.json", "trace.json"]);
}

/// The entries of a trace file.
fn entries(place: &Workplace, name: &str) -> Vec<Value> {
    let file: Value = serde_json::from_slice(&place.bytes(name)).unwrap();
    file["traceEvents"].as_array().unwrap().clone()
}

#[test]
fn the_overlay_can_hold_the_path_alone() {
    let place = two_steps();
    let overlay = ["critical-path", "trace.json", "-q", "--overlay", "path.json", "--overlay_events", "path"];
    place.run(&overlay).exits_with(0);
    let written = entries(&place, "path.json");
    let spans = || written.iter().filter(|entry| entry["ph"] == "X" && entry["cat"] != "critical_path");
    let recorded = entries(&place, "trace.json");
    let of_recorded = recorded.iter().filter(|entry| entry["ph"] == "X").count();
    assert!((1..of_recorded).contains(&spans().count()), "{written:#?}");
    assert!(spans().all(|span| span["args"]["critical"] == 1 || span["cat"] == "user_annotation"));
    assert_eq!(spans().filter(|span| span["cat"] == "user_annotation").count(), 2);
    for (critical, name) in [(true, "gemm"), (true, "ncclDevKernel_AllReduce"), (false, "c10d::allreduce_")] {
        assert_eq!(spans().any(|span| span["name"] == name), critical, "{name}");
    }
    // Arrows of the recorder would lead to events that are not there.
    let arrows = || written.iter().filter(|entry| ["s", "t", "f"].iter().any(|phase| entry["ph"] == *phase));
    assert!(arrows().count() > 0 && arrows().all(|arrow| arrow["cat"] == "critical_path"));
    let others = |entries: &[Value]| entries.iter().filter(|entry| entry["ph"] == "M").count();
    assert_eq!(others(&written), others(&recorded) + 2);
}

#[test]
fn the_overlay_can_have_the_arrows_of_the_whole_graph() {
    let place = two_steps();
    let run = |name: &str, options: &[&str]| {
        let all = [&["critical-path", "trace.json", "--json", "--overlay", name], options].concat();
        let sheets = Sheets::parse(&place.run(&all).exits_with(0).out);
        let written = entries(&place, name);
        let arrows =
            written.into_iter().filter(|entry| entry["cat"] == "critical_path" && entry["ph"] == "s");
        (sheets, arrows.collect::<Vec<Value>>())
    };
    let (_, of_path) = run("path.json", &["--mode", "dag"]);
    let (sheets, all) = run("all.json", &["--mode", "dag", "--overlay_edges", "all"]);
    assert!(of_path.iter().all(|arrow| arrow["args"].is_null()));
    assert!(all.len() > of_path.len());
    let is_on_path = |arrow: &&Value| arrow["args"]["critical"] == 1;
    let kinds = |arrows: &[&Value]| -> std::collections::BTreeSet<String> {
        arrows.iter().map(|arrow| arrow["args"]["edge"].as_str().unwrap().to_owned()).collect()
    };
    let of_graph = kinds(&all.iter().collect::<Vec<_>>());
    assert!(
        ["dependency", "kernel_launch_delay"].iter().all(|kind| of_graph.contains(*kind)),
        "{of_graph:?}"
    );
    // Edges of the path are those of its sheet; those from the start of an event to its end need no arrow.
    let edges: Vec<String> = sheets
        .column("critical_path_segments", "edge")
        .into_iter()
        .map(|edge| edge.as_str().unwrap().to_owned())
        .collect();
    let on_path: Vec<&Value> = all.iter().filter(is_on_path).collect();
    assert!(!on_path.is_empty() && kinds(&on_path).iter().all(|kind| edges.contains(kind)));
    let links = |kind: &str| on_path.iter().filter(|arrow| arrow["args"]["edge"] == kind).count();
    for kind in ["dependency", "kernel_launch_delay", "kernel_kernel_delay"] {
        assert_eq!(links(kind), edges.iter().filter(|edge| *edge == kind).count(), "{kind}");
    }
    let weights = |arrows: &[&Value]| {
        arrows.iter().filter_map(|arrow| arrow["args"]["weight_us"].as_f64()).sum::<f64>()
    };
    assert!(weights(&on_path) > 0.0);
    place.run("report all.json --json").exits_with(0);

    let overlay = ["critical-path", "trace.json", "-q", "--overlay", "no.json", "--overlay_edges", "all"];
    place.run(&overlay).exits_with(2).with_error(&["--overlay_edges all", "--mode dag"]);
    let both = [&overlay[..], &["--mode", "dag", "--overlay_events", "path"]].concat();
    place.run(&both).exits_with(2).with_error(&["--overlay_events path"]);
    let alone = ["critical-path", "trace.json", "-q", "--overlay_events", "path"];
    assert!(place.run(&alone).exits_with(2).err.contains("--overlay <FILE>"));
}

#[test]
fn a_file_that_is_cut_off_has_the_path_of_what_is_there() {
    let place = two_steps();
    let whole = place.bytes("trace.json");
    for length in (0..whole.len()).step_by(97) {
        place.put("cut.json", &whole[..length]);
        let outcome = place.run("critical-path cut.json --json");
        match outcome.code {
            0 => assert!(!Sheets::parse(&outcome.out).rows("critical_path").is_empty()),
            _ => drop(outcome.exits_with(2).with_error(&["cut.json"])),
        }
    }
}

#[test]
fn pages_of_json_have_every_row_once_and_files_have_all() {
    let place = two_steps();
    let tables = |options: &str| -> Vec<Value> {
        let words = format!("critical-path trace.json --json {options}");
        let out = place.run(words.as_str()).exits_with(0).out;
        serde_json::from_str::<Value>(&out).unwrap()["tables"].as_array().unwrap().clone()
    };
    let rows = |table: &Value| table["rows"].as_array().unwrap().clone();
    let whole = tables("");
    let pages = [tables("--top 2"), tables("--top 1000 --skip 2")];
    assert!(whole.iter().any(|table| rows(table).len() > 2));
    for (at, table) in whole.iter().enumerate() {
        let [first, rest] = pages.each_ref().map(|page| rows(&page[at]));
        assert_eq!([first.clone(), rest.clone()].concat(), rows(table), "{}", table["name"]);
        assert_eq!(pages[0][at]["rows_total"], table["rows_total"]);
        let next = if rest.is_empty() { Value::Null } else { 2.into() };
        assert_eq!(pages[0][at]["next"], next, "{}", table["name"]);
    }
    place.run("critical-path trace.json --json --top 1 -o path.json").exits_with(0);
    let written: Value = serde_json::from_slice(&place.bytes("path.json")).unwrap();
    assert_eq!(written["tables"], Value::Array(whole));
}
