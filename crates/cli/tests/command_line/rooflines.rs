//! Architectures, the sheets that hold work against them, and their pictures.

use std::collections::BTreeSet;
use std::io::{Cursor, Read};

use flate2::read::GzDecoder;

use crate::program::{Sheets, Workplace};
use crate::trace::{one_operator, trace};

const SHEET: &str = "unified_perf_summary";
const BOUND: &str = "Roofline Bound";

/// Roofline times in µs of the generated trace's rows, with these options.
fn roofline_times(place: &Workplace, options: &[&str]) -> Vec<f64> {
    let sheets = place.sheets(options);
    sheets
        .column(SHEET, "Roofline Time (µs)_first")
        .into_iter()
        .filter_map(serde_json::Value::as_f64)
        .collect()
}

#[test]
fn the_gpu_that_the_trace_names_is_the_default() {
    let place = Workplace::with_generated();
    let by_default = roofline_times(&place, &[]);
    assert!(by_default.len() > 30, "{}", by_default.len());
    assert_eq!(by_default, roofline_times(&place, &["--gpu_arch_platform", "H100-SXM"]));
    let sheets = place.sheets("");
    assert!(sheets.column(SHEET, BOUND).iter().any(|bound| **bound == "COMPUTE_BOUND"));
    assert!(sheets.has("GEMM") && sheets.has("coverage"), "{:?}", sheets.names());
}

#[test]
fn without_an_architecture_there_are_no_rooflines() {
    let place = Workplace::with(trace(&one_operator()));
    assert!(!place.sheets("").columns(SHEET).contains(&BOUND));
    let outcome = place.run("report trace.json --roofline_svg r.svg").exits_with(0);
    assert!(!outcome.out.contains("roofline of"), "{outcome:#?}");
    // Without shapes there would be none on any device.
    assert!(!outcome.out.contains("no rooflines"), "{outcome:#?}");
    outcome.with_summary(&[
        "--roofline_svg writes nothing: the recording does not name a GPU",
        "--gpu_arch_platform",
    ]);
    assert_eq!(place.files("."), ["trace.json"]);
}

#[test]
fn an_architecture_is_named_or_read_from_a_file() {
    let place = Workplace::with_generated();
    let named = roofline_times(&place, &["--gpu_arch_platform", "mi300x", "--peak", "achievable"]);
    assert_ne!(named, roofline_times(&place, &[]));
    place.put(
        "mine.json",
        r#"{"name": "mine", "mem_bw_gbps": 5300,
            "max_achievable_tflops": {"matrix_bf16": 708, "vector_bf16": 163, "vector_fp32": 81}}"#,
    );
    let mine = roofline_times(&place, &["--gpu_arch_json_path", "mine.json"]);
    assert!(!mine.is_empty());
    assert!(mine.iter().all(|time| named.contains(time)), "{mine:?}");
    place.run("report trace.json.gz --gpu-arch-json-path=mine.json -v").exits_with(0).with_summary(&[
        "roofline of mine (achievable peaks (no nominal ones)): ",
        "performance models cover ",
        "% of device time; not covered: communication ",
        "gaps: aten::mm ",
    ]);
}

#[test]
fn an_architecture_that_cannot_be_used_is_refused_before_reading() {
    let place = Workplace::with(trace(&one_operator()));
    place.put("text.json", "peaks");
    place.put("short.json", r#"{"name": "x", "mem_bw_gbps": 1}"#);
    for (options, parts) in [
        (&["--gpu_arch_platform=h900"][..], &["unknown architecture \"h900\"", "H100-SXM", "MI300X"][..]),
        (&["--gpu_arch_json_path=no.json"], &["no.json: is not an architecture file", "No such file"]),
        (&["--gpu_arch_json_path=text.json"], &["text.json: is not an architecture file"]),
        (&["--gpu_arch_json_path=short.json"], &["short.json: ", "max_achievable_tflops"]),
    ] {
        // The trace has not even been looked for.
        let arguments = [&["report", "no-trace.json"], options].concat();
        place.run(&arguments).exits_with(2).with_error(parts);
    }
    let both = ["report", "trace.json", "--gpu_arch_platform=h100", "--gpu_arch_json_path=short.json"];
    let outcome = place.run(&both).exits_with(2);
    assert!(outcome.err.contains("cannot be used with"), "{outcome:#?}");
}

#[test]
fn the_bundled_architectures_are_listed() {
    let outcome = Workplace::with("").run("archs").exits_with(0);
    for part in ["H100-SXM", "MI300X", "3350", "989.4", "5300", "GB/s", "Dense", "tf32", "--peak achievable"]
    {
        assert!(outcome.out.contains(part), "no {part:?} in {outcome:#?}");
    }
    for name in perf_models::architectures().map(|known| known.name.as_str()) {
        let is_named = |line: &str| line.split_whitespace().next() == Some(name);
        assert!(outcome.out.lines().any(is_named), "no {name} in {outcome:#?}");
    }
    let rows = |basis: &str| {
        let is_row = |line: &&str| line.split_whitespace().take(2).eq(["MI300X", basis]);
        outcome.out.lines().filter(is_row).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(rows("nominal")[0].contains("1307.4") && rows("achievable")[0].contains("708"), "{outcome:#?}");
}

#[test]
fn the_basis_of_the_peaks_is_chosen_and_named() {
    let place = Workplace::with_generated();
    let on_mi300x = |more: &[&str]| {
        let options = [&["--gpu_arch_platform", "MI300X"], more].concat();
        let sheets = place.sheets(&options);
        let rows =
            sheets.column(SHEET, "Roofline Time (µs)_first").into_iter().zip(sheets.column(SHEET, BOUND));
        let of_arithmetic = rows.filter(|(_, bound)| **bound == "COMPUTE_BOUND");
        let least = of_arithmetic.filter_map(|(time, _)| time.as_f64()).fold(0.0, f64::max);
        let arguments = [&["report", "trace.json.gz", "--output_json_path=r.json"], &options[..]].concat();
        (least, place.run(&arguments).exits_with(0))
    };
    let (nominal, outcome) = on_mi300x(&[]);
    outcome.with_summary(&["roofline of MI300X (nominal peaks): "]);
    let (achievable, outcome) = on_mi300x(&["--peak", "achievable"]);
    outcome.with_summary(&["roofline of MI300X (achievable peaks, nominal where missing): "]);
    // The longest is a product in BF16: 1307.4 against 708 TFLOP/s.
    assert!((achievable / nominal - 1307.4 / 708.0).abs() < 1e-9, "{achievable} {nominal}");
    assert_eq!(on_mi300x(&["--parity", "tracelens"]).0, achievable);
    assert_eq!(on_mi300x(&["--parity", "tracelens", "--peak=nominal"]).0, nominal);
    place.run("report trace.json.gz --peak theoretical").exits_with(2);
}

#[test]
fn without_an_architecture_the_best_rates_stand_in() {
    let place = Workplace::with_generated();
    let mut text = String::new();
    GzDecoder::new(&place.bytes("trace.json.gz")[..]).read_to_string(&mut text).unwrap();
    place.put("toaster.json", text.replace("NVIDIA H100 80GB HBM3", "A toaster"));
    let outcome = place.run("report toaster.json -v").exits_with(0);
    let caveat = "warning: no rooflines: the peaks of A toaster are not known help: choose one with --gpu_arch_platform or \
                  --gpu_arch_json_path";
    let words = outcome.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(caveat), "{outcome:#?}");
    outcome.with_summary(&[
        "highest measured rates, not peaks: ",
        " TFLOP/s (matrix_bf16, ",
        " TB/s (",
        "caches included",
    ]);
}

#[test]
fn unknown_keys_of_an_architecture_file_are_named() {
    let place = Workplace::with(trace(&one_operator()));
    place.put(
        "mine.json",
        r#"{"mem_bw_gbps": 1, "mem_bw": 2, "_note": "x", "peak_tflops": {"matrix_bf17": 3, "vector_fp32": 1}}"#,
    );
    let warning = "mine.json: unknown keys mem_bw, peak_tflops.matrix_bf17; known keys: name, mem_bw_gbps, ";
    let option = "--gpu_arch_json_path=mine.json";
    place.run(&["report", "trace.json", option]).exits_with(0).with_summary(&[warning]);
    let outcome = place.run(&["model", "gemm", "--m=1", "--n=1", "--k=1", option]).exits_with(0);
    assert!(outcome.err.contains(warning), "{outcome:#?}");
}

#[test]
fn topk_roofline_ops_keeps_the_first_rows_of_the_sheets_of_families() {
    let place = Workplace::with_generated();
    let (all, first) = (place.sheets(""), place.sheets("--topk_roofline_ops 3"));
    assert!(all.rows("GEMM").len() > 3);
    assert_eq!(first.rows("GEMM").len(), 3);
    assert_eq!(first.rows(SHEET), all.rows(SHEET));
}

#[test]
fn the_picture_shows_the_roofs_and_the_operators() {
    let place = Workplace::with_generated();
    let draw = |to: &str| {
        let option = format!("--roofline_svg={to}");
        let outcome = place.run(&["report", "trace.json.gz", &option]).exits_with(0);
        outcome.with_summary(&["roofline of H100-SXM (nominal peaks): ", &format!("wrote {to}")]);
        String::from_utf8(place.bytes(to)).unwrap()
    };
    let svg = draw("a.svg");
    for part in [
        "Rooflines of H100-SXM · nominal peaks",
        "matrix_bf16",
        "989 TFLOP/s",
        "3350 GB/s",
        "aten::mm",
        "GEMM",
    ] {
        assert!(svg.contains(part), "no {part:?} in the picture");
    }
    assert_eq!(svg, draw("b.svg"));
    assert_eq!(place.files("."), ["a.svg", "b.svg", "trace.json.gz"]);
}

/// The charts of a workbook, as XML.
fn charts(workbook: Vec<u8>) -> Vec<String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(workbook)).unwrap();
    let names = archive.file_names().map(|name| name.unwrap().into_owned());
    let names: Vec<String> = names.filter(|name| name.starts_with("xl/charts/chart")).collect();
    let read = |name: &String| {
        let mut xml = String::new();
        archive.by_name(name).unwrap().read_to_string(&mut xml).unwrap();
        xml
    };
    names.iter().map(read).collect()
}

#[test]
fn the_workbook_has_the_picture_as_a_chart_of_the_same_points() {
    let place = Workplace::with_generated();
    let outputs = ["--output_xlsx_path=r.xlsx", "--output_json_path=r.json", "--roofline_svg=r.svg"];
    place.run(&[&["report", "trace.json.gz", "-q"], &outputs[..]].concat()).exits_with(0);
    let charts = charts(place.bytes("r.xlsx"));
    let is_roofline = |xml: &&String| xml.contains("<c:scatterChart>") && xml.contains("<c:logBase");
    let scatter: Vec<&String> = charts.iter().filter(is_roofline).collect();
    assert_eq!(scatter.len(), 1, "of {} charts", charts.len());
    let xml = scatter[0];
    assert_eq!(xml.matches(r#"<c:logBase val="10"/>"#).count(), 2);
    assert!(xml.contains("<a:t>arithmetic intensity (FLOP/byte)</a:t>"), "{xml}");

    // The heights of all series together are the rows of both sheets, each once.
    let sheets = Sheets::parse(&String::from_utf8(place.bytes("r.json")).unwrap());
    for (sheet, column) in [("roofline", "Attainable TFLOPS/s"), ("roofline_points", "TFLOPS/s_mean")] {
        let at = sheets.columns(sheet).iter().position(|name| *name == column).unwrap();
        let letter = char::from(b'A' + u8::try_from(at).unwrap());
        let mut rows: Vec<usize> = Vec::new();
        for heights in xml.split("<c:yVal>").skip(1) {
            let range = heights.split_once("<c:f>").unwrap().1.split_once("</c:f>").unwrap().0;
            let Some(cells) = range.strip_prefix(&format!("{sheet}!${letter}$")) else { continue };
            let (first, last) = cells.split_once(&format!(":${letter}$")).unwrap_or((cells, cells));
            rows.extend(first.parse::<usize>().unwrap()..=last.parse().unwrap());
        }
        rows.sort_unstable();
        assert_eq!(rows, (2..=sheets.rows(sheet).len() + 1).collect::<Vec<_>>(), "{sheet}");
    }

    // The picture draws each point as a disk and its rim, and a disk per kind of work in the legend, as many as have
    // room in its line: an ellipsis stands for the rest.
    let svg = String::from_utf8(place.bytes("r.svg")).unwrap();
    let kinds: BTreeSet<&str> = sheets
        .column("roofline_points", "op category")
        .into_iter()
        .filter_map(|kind| kind.as_str())
        .collect();
    let points = sheets.rows("roofline_points").len();
    let in_legend = svg.matches("<circle").count() - 2 * points;
    assert!((kinds.len() - 1..=kinds.len()).contains(&in_legend), "{in_legend} of {kinds:?}");
    assert_eq!(in_legend < kinds.len(), svg.contains("\n…\n"), "{svg}");
}

#[test]
fn a_picture_that_cannot_be_written_is_one_error() {
    let place = Workplace::with_generated();
    for (to, part) in [("no/such/r.svg", "its directory does not exist"), (".", "it is a directory")] {
        let option = format!("--roofline_svg={to}");
        place.run(&["report", "no.json", &option]).exits_with(1).with_error(&["cannot write", part]);
    }
    let option = "--roofline_svg=./trace.json.gz";
    place.run(&["report", "trace.json.gz", option]).exits_with(2).with_error(&["is the trace itself"]);
}

#[test]
fn a_picture_that_is_not_made_is_an_error_where_nothing_else_would_say_so() {
    let place = Workplace::with(trace(&one_operator()));
    let arguments = ["report", "trace.json", "--roofline_svg", "r.svg", "--output_json_path", "r.json"];
    let quiet = place.run(&[&arguments[..], &["--quiet"]].concat()).exits_with(2);
    assert_eq!(quiet.out, "");
    quiet.with_error(&[
        "--roofline_svg writes nothing: the recording does not name a GPU",
        "--gpu_arch_platform",
    ]);
    // What could be made is there.
    assert_eq!(place.files("."), ["r.json", "trace.json"]);
    place.run(&arguments).exits_with(0);
}
