//! `tracelens rocprof`: reports of rocprofv3's profiles, its options, and what it says of files that are none.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;

use crate::program::{Outcome, Sheets, Workplace, generated as generated_training, run_as};

/// The generated run in one of its formats.
fn generated(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/rocprof").join(name)
}

/// A directory with the generated run as `run_results.json.gz`.
fn place() -> Workplace {
    let place = Workplace::with("{}");
    std::fs::copy(generated("run_results.json.gz"), place.path("run_results.json.gz")).unwrap();
    place
}

fn sheets(place: &Workplace, profile: &str, options: &[&str]) -> Sheets {
    let outcome = place.run(&[&["rocprof", profile, "--json"], options].concat()).exits_with(0);
    Sheets::parse(&outcome.out)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// A small profile by hand: dispatches as (kernel, start, end), kernels of one truncated name each.
fn by_hand(kernels: &[&str], dispatches: &[(usize, u64, u64)]) -> String {
    let symbols: Vec<String> = (1..)
        .zip(kernels)
        .map(|(id, name)| {
            format!(r#"{{"kernel_id": {id}, "kernel_name": "{name}.kd", "truncated_kernel_name": "{name}"}}"#)
        })
        .collect();
    let dispatches: Vec<String> = (1..)
        .zip(dispatches)
        .map(|(id, (kernel, start, end))| {
            format!(
                r#"{{"start_timestamp": {start}, "end_timestamp": {end}, "thread_id": 7,
                     "dispatch_info": {{"agent_id": {{"handle": 5}}, "kernel_id": {kernel}, "dispatch_id": {id}}}}}"#
            )
        })
        .collect();
    format!(
        r#"{{"rocprofiler-sdk-tool": [{{"metadata": {{"pid": 9, "init_time": 0, "fini_time": 1000000}},
            "agents": [{{"id": {{"handle": 5}}, "type": 2, "logical_node_type_id": 0, "name": "gfx942"}}],
            "kernel_symbols": [{}], "buffer_records": {{"kernel_dispatch": [{}]}}}}]}}"#,
        symbols.join(", "),
        dispatches.join(", ")
    )
}

#[test]
fn a_report_names_what_bounds_the_work_and_where_the_time_went() {
    let place = place();
    place.run("rocprof run_results.json.gz -v").exits_with(0).with_summary(&[
        "run_results.json.gz · 2 × AMD Instinct MI300X · process 4242 on node-7 · 234 kernel dispatches · 37 memory copies · 325 calls",
        "largest: GEMM, 52.0% of device time; each GPU idle 1.5% to 8.3% of its window, 4.9% on average",
        "GPU 0 window ",
        "GPU 1 window ",
        "exposed comm",
        "category calls kernel ms % ",
        "kernel calls kernel ms % ",
        "ncclDevKernel_Generic_1 16 ",
        "attn_fwd.kd ",
        "function calls host ms library %",
        "and 3 more in api_summary",
        "hipStreamSynchronize 17 ",
        "wrote run_results_perf_report.xlsx",
    ]);
    assert_eq!(place.files("."), ["run_results.json.gz", "run_results_perf_report.xlsx", "trace.json"]);
}

#[test]
fn the_workbook_stands_beside_the_profile_whatever_its_format() {
    let place = Workplace::with("{}");
    for (from, to) in [("run_results.db", "a_results.db"), ("run_results.pftrace.gz", "b_results.pftrace.gz")]
    {
        std::fs::copy(generated(from), place.path(to)).unwrap();
    }
    place.put("c_results.json", by_hand(&["gemm"], &[(1, 10, 20)]));
    std::fs::create_dir(place.path("out")).unwrap();
    for file in std::fs::read_dir(generated("csv")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), place.path("out").join(file.file_name())).unwrap();
    }
    let csv_files = place.files("out").len();
    for (profile, workbook) in [
        ("a_results.db", "a_perf_report.xlsx"),
        ("b_results.pftrace.gz", "b_perf_report.xlsx"),
        ("c_results.json", "c_perf_report.xlsx"),
        ("out", "out_perf_report.xlsx"),
    ] {
        let wrote = format!("wrote {workbook}");
        place.run(&["rocprof", profile]).exits_with(0).with_summary(&[profile, &wrote]);
        assert!(place.path(workbook).is_file(), "{workbook}");
    }
    // Reading converts nothing and leaves nothing behind.
    let files = [
        "a_perf_report.xlsx",
        "a_results.db",
        "b_perf_report.xlsx",
        "b_results.pftrace.gz",
        "c_perf_report.xlsx",
        "c_results.json",
        "out",
        "out_perf_report.xlsx",
        "trace.json",
    ];
    assert_eq!(place.files("."), files);
    assert_eq!(place.files("out").len(), csv_files);
}

#[test]
fn the_reference_tools_arguments_work_under_its_name() {
    let place = place();
    let link = place.path("TraceLens_generate_perf_report_rocprof");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tracelens"), &link).unwrap();
    let arguments = [
        "--profile_json_path",
        "run_results.json.gz",
        "--output_csvs_dir",
        "sheets",
        "--kernel_details",
        "--topk_kernels",
        "5",
        "--short_kernel_study",
        "--short_kernel_threshold_us",
        "12",
        "--short_kernel_histogram_bins",
        "7",
    ];
    run_as(&link, &arguments, &place.path("")).exits_with(0);
    let rows = |sheet: &str| {
        let content = place.bytes(&format!("sheets/{sheet}.csv"));
        String::from_utf8(content).unwrap().lines().count() - 1
    };
    assert_eq!((rows("gpu_timeline"), rows("kernel_details"), rows("short_kernel_histogram")), (5, 5, 7));
    assert!(rows("kernel_summary") == 8 && rows("kernel_summary_by_category") > 0);
    assert!(rows("short_kernels_summary") > 0);
    // With a directory of CSV files there is no workbook.
    assert!(place.files(".").iter().all(|file| !file.ends_with(".xlsx")));
    let usage = run_as(&link, &["--help"], &place.path("")).exits_with(0);
    assert!(
        usage.out.contains("TraceLens_generate_perf_report_rocprof [OPTIONS] --profile_json_path <FILE>")
    );
}

#[test]
fn sheets_and_their_columns_are_the_documented_ones() {
    let options = |names| ["--kernel_details", "--short_kernel_study", "--sheet-names", names];
    let documented = sheets(&place(), "run_results.json.gz", &options("documented"));
    let current = sheets(&place(), "run_results.json.gz", &options("current"));
    assert!(documented.has("overview") && !current.has("overview"));
    for (sheet, columns, columns_of_tracelens) in [
        ("gpu_timeline", "type|time ms|percent", "type|time ms|percent"),
        (
            "kernel_summary",
            "name|Total Kernel Time (ms)|Percentage (%)|Cumulative Percentage (%)|Count|Mean Kernel Time (µs)|\
             Median Kernel Time (µs)|Std Kernel Time (µs)|Min Kernel Time (µs)|Max Kernel Time (µs)|Category",
            "name|Count|Mean Kernel Time (µs)|Median Kernel Time (µs)|Std Kernel Time (µs)|Min Kernel Time (µs)|\
             Max Kernel Time (µs)|Percentage (%)|Cumulative Percentage (%)|Total Kernel Time (ms)|Category",
        ),
        (
            "kernel_summary_by_category",
            "op category|total_direct_kernel_time_ms|Percentage (%)|Cumulative Percentage (%)|Count",
            "op category|Count|total_direct_kernel_time_ms|Percentage (%)|Cumulative Percentage (%)",
        ),
        (
            "kernel_details",
            "name|Kernel duration (µs)|grid_x|grid_y|grid_z|block_x|block_y|block_z|agent_id|stream|dispatch_id|\
             thread_id",
            "name|Kernel duration (µs)|stream|dispatch_id|grid_x|grid_y|grid_z|block_x|block_y|block_z|agent_id|\
             thread_id",
        ),
        (
            "short_kernels_summary",
            "name|Short Kernel duration (µs) sum|Short Kernel duration (µs) percent of total time|\
             Short Kernel count|Short Kernel duration (µs) mean",
            "name|Short Kernel count|Short Kernel duration (µs) sum|Short Kernel duration (µs) mean|\
             Short Kernel duration (µs) percent of total time",
        ),
        ("short_kernel_histogram", "bin_start|bin_end|count", "bin_start|bin_end|count"),
    ] {
        assert_eq!(documented.columns(sheet).join("|"), columns, "{sheet}");
        assert_eq!(current.columns(sheet).join("|"), columns_of_tracelens, "{sheet}");
    }
}

/// What an option does: options beside it, the option, the sheet that changes.
type Effect = (&'static [&'static str], &'static [&'static str], &'static str);

const PFTRACE: &[&str] = &["--pftrace_tables"];
const LOW: &[&str] = &["--pftrace_tables", "--min_event_ns", "0"];

#[test]
fn every_option_has_an_effect_on_its_sheet() {
    let effects: &[Effect] = &[
        (&[], &["--disable_kernel_summary"], "kernel_summary"),
        (&[], &["--disable_kernel_summary"], "kernel_summary_by_category"),
        (&[], &["--kernel_details"], "kernel_details"),
        (&["--kernel_details"], &["--topk_kernels", "3"], "kernel_details"),
        (&[], &["--short_kernel_study"], "short_kernels_summary"),
        (&["--short_kernel_study"], &["--short_kernel_threshold_us", "5"], "short_kernels_summary"),
        (&["--short_kernel_study"], &["--short_kernel_histogram_bins", "5"], "short_kernel_histogram"),
        (&[], &["--kernel_names", "formatted"], "kernel_summary"),
        (&[], &["--kernel_names", "demangled"], "kernel_summary"),
        (&[], &["--kernel_names", "mangled"], "kernel_summary"),
        (&[], &["--parity"], "kernel_summary"),
        (&[], &["--sheet-names", "current"], "kernel_summary"),
        (&[], PFTRACE, "category_summary"),
        (&[], PFTRACE, "xla_top"),
        (&[], PFTRACE, "pftrace_kernel_summary"),
        (&[], PFTRACE, "hip_summary"),
        (&[], PFTRACE, "api_kernel_summary"),
        (&[], PFTRACE, "memory_copy_by_copy_bytes"),
        (PFTRACE, &["--kernel_names", "truncated"], "pftrace_kernel_summary"),
        (PFTRACE, &["--merge_kernels"], "pftrace_kernel_summary"),
        (PFTRACE, &["--min_tid", "4243"], "category_summary"),
        (PFTRACE, &["--max_tid", "4242"], "category_summary"),
        (PFTRACE, &["--min_event_ns", "100000"], "category_summary"),
        (PFTRACE, &["--no_kernel_summary"], "pftrace_kernel_summary"),
        (PFTRACE, &["--kernel_summary_include_rccl"], "pftrace_kernel_summary"),
        (PFTRACE, &["--kernel_summary_baseline", "compute"], "pftrace_kernel_summary"),
        (PFTRACE, &["--kernel_summary_group", "name"], "pftrace_kernel_summary"),
        (PFTRACE, &["--no_hip_summary"], "hip_summary"),
        (LOW, &["--hip_summary_group", "name+stream"], "hip_summary"),
        (LOW, &["--hip_summary_group", "name+op"], "hip_summary"),
        (LOW, &["--hip_summary_group", "name+stream+op"], "hip_summary"),
        (PFTRACE, &["--top_xla", "1"], "xla_top"),
        (PFTRACE, &["--exclude_kernel_regex", "^attn_"], "api_kernel_summary"),
        (PFTRACE, &["--include_nonlaunch_apis"], "api_kernel_summary"),
    ];
    let place = place();
    let rows = |options: &[&str]| -> BTreeMap<String, (Vec<String>, Vec<Value>)> {
        let sheets = sheets(&place, "run_results.json.gz", options);
        let columns = |name: &str| sheets.columns(name).iter().map(ToString::to_string).collect();
        let cells = |name: &str| (columns(name), sheets.rows(name).clone());
        sheets.names().iter().map(|name| ((*name).to_owned(), cells(name))).collect()
    };
    for (beside, option, sheet) in effects {
        let (without, with) = (rows(beside), rows(&[*beside, *option].concat()));
        assert_ne!(without.get(*sheet), with.get(*sheet), "{option:?} changes nothing in {sheet}");
        assert!(without.contains_key(*sheet) || with.contains_key(*sheet), "{sheet} is in neither");
        // The timeline is of none of them, but for its window: that of the reference tool begins with the process.
        if *option != ["--parity"] {
            assert_eq!(without["gpu_timeline"], with["gpu_timeline"], "{option:?}");
        }
    }
}

#[test]
fn a_call_with_several_kernels_counts_with_each_when_asked_to() {
    let place = Workplace::with("{}");
    let profile = by_hand(&["a", "b"], &[(1, 5_000, 6_000), (2, 6_000, 8_000)])
        .replace(r#""thread_id": 7"#, r#""thread_id": 7, "correlation_id": {"internal": 3}"#)
        .replace(
            r#""buffer_records": {"#,
            r#""strings": {"buffer_records": [{"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel"]}]},
               "buffer_records": {"hip_api": [{"kind": 0, "operation": 0, "thread_id": 7,
                 "correlation_id": {"internal": 3}, "start_timestamp": 100, "end_timestamp": 900}], "#,
        );
    place.put("p_results.json", profile);
    let launched = |options: &[&str]| {
        let sheets = sheets(&place, "p_results.json", &[PFTRACE, options].concat());
        sheets.column("api_kernel_summary", "Kernel Name").iter().map(|name| text(name)).collect::<Vec<_>>()
    };
    assert_eq!(launched(&[]).len(), 1);
    assert_eq!(launched(&["--allow_multi_kernel_per_api"]).len(), 2);
    // An empty expression leaves no kernel out.
    assert_eq!(launched(&["--exclude_kernel_regex", "."]).len(), 0);
    assert_eq!(launched(&["--exclude_kernel_regex", ""]).len(), 1);
}

#[test]
fn options_without_what_they_need_are_refused_or_told() {
    let place = place();
    for option in [
        &["--merge_kernels"][..],
        &["--min_tid", "-5"],
        &["--max_tid", "5"],
        &["--min_event_ns", "5"],
        &["--no_kernel_summary"],
        &["--kernel_summary_include_rccl"],
        &["--kernel_summary_baseline", "total"],
        &["--kernel_summary_group", "name"],
        &["--no_hip_summary"],
        &["--hip_summary_group", "name"],
        &["--top_xla", "3"],
        &["--exclude_kernel_regex", "x"],
        &["--allow_multi_kernel_per_api"],
        &["--include_nonlaunch_apis"],
    ] {
        let outcome = place.run(&[&["rocprof", "run_results.json.gz"], option].concat()).exits_with(2);
        assert!(outcome.err.contains("--pftrace_tables"), "{outcome:?}");
    }
    let arguments = ["rocprof", "run_results.json.gz", "--topk_kernels=1", "--short_kernel_histogram_bins=3"];
    place.run(&[&arguments[..], &["--short_kernel_threshold_us=3"]].concat()).exits_with(0).with_summary(&[
        "--topk_kernels has no effect without --kernel_details",
        "--short_kernel_histogram_bins has no effect without --short_kernel_study",
        "--short_kernel_threshold_us has no effect without --short_kernel_study",
    ]);
    for wrong in [
        &["--short_kernel_histogram_bins", "0"][..],
        &["--short_kernel_threshold_us", "x"],
        &["--kernel_names", "long"],
        &["--pftrace_tables", "--exclude_kernel_regex", "(unclosed"],
        &["--pftrace_tables", "--hip_summary_group", "op"],
        &["--profile_json_path", "run_results.json.gz"],
    ] {
        place.run(&[&["rocprof", "run_results.json.gz"], wrong].concat()).exits_with(2);
    }
    place.run("rocprof").exits_with(2);
}

#[test]
fn parity_prints_what_the_reference_prints() {
    let place = Workplace::with("{}");
    let names = ["a_gemm", "ncclAllReduce"];
    place.put("p_results.json", by_hand(&names, &[(1, 1_000, 3_000), (2, 2_000, 8_000), (1, 9_000, 13_000)]));
    let cells = |options: &[&str], columns: &[&str]| -> Vec<String> {
        let sheets = sheets(&place, "p_results.json", options);
        columns.iter().map(|column| text(sheets.column("kernel_summary", column)[0])).collect()
    };
    let columns = ["name", "Mean Kernel Time (µs)", "Total Kernel Time (ms)", "Category"];
    assert_eq!(cells(&[], &columns), ["a_gemm", "3.0", "0.006", "GEMM"]);
    assert_eq!(cells(&["--parity"], &columns), ["a_gemm", "3000.0", "6.0", "GEMM"]);
    let categories = |options: &[&str]| {
        let sheets = sheets(&place, "p_results.json", options);
        let mut found: Vec<String> = sheets
            .column("kernel_summary_by_category", "op category")
            .iter()
            .map(|name| text(name))
            .collect();
        found.sort();
        found
    };
    assert_eq!(categories(&[]), ["GEMM", "communication"]);
    for of_the_reference in [&["--parity"][..], &["--sheet-names", "current"]] {
        assert_eq!(categories(of_the_reference), ["GEMM", "Reduction"], "{of_the_reference:?}");
    }
    place.run("rocprof p_results.json --parity").exits_with(0).with_summary(&["kernel µs", "in ns"]);
}

#[test]
fn kernel_names_tell_kernels_apart() {
    let place = place();
    let names = |choice: &str| -> Vec<String> {
        let sheets = sheets(&place, "run_results.json.gz", &["--kernel_names", choice]);
        sheets.column("kernel_summary", "name").iter().map(|name| text(name)).collect()
    };
    for (choice, name) in [
        ("truncated", "vectorized_layer_norm_kernel"),
        ("truncated", "attn_fwd.kd"),
        ("formatted", "attn_fwd"),
        ("formatted", "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"),
        ("demangled", "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>) [clone .kd]"),
        ("mangled", "_Z23ncclDevKernel_Generic_124ncclDevKernelArgsStorageILm4096EE.kd"),
    ] {
        let names = names(choice);
        assert!(names.iter().any(|known| known == name), "{choice}: no {name} in {names:?}");
    }
}

/// The sheets of the run in a format as text, by name.
fn csv_sheets(place: &Workplace, name: &str) -> BTreeMap<String, String> {
    let profile = generated(name);
    let to = format!("sheets-{name}");
    let profile = profile.to_str().unwrap();
    let arguments = [
        "rocprof",
        profile,
        "--output_csvs_dir",
        &to,
        "--kernel_details",
        "--short_kernel_study",
        "--pftrace_tables",
    ];
    place.run(&arguments).exits_with(0);
    let content = |file: &String| String::from_utf8(place.bytes(&format!("{to}/{file}"))).unwrap();
    place.files(&to).iter().map(|file| (file.clone(), content(file))).collect()
}

/// The columns that are not named, as text.
fn without(content: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(content.as_bytes());
    let header = reader.headers().unwrap().clone();
    let is_kept = |at: usize| !columns.contains(&&header[at]);
    reader
        .records()
        .map(|record| {
            let record = record.unwrap();
            (0..record.len()).filter(|&at| is_kept(at)).map(|at| record[at].to_owned()).collect()
        })
        .collect()
}

#[test]
fn one_run_gives_the_same_tables_in_every_format() {
    let place = Workplace::with("{}");
    let json = csv_sheets(&place, "run_results.json.gz");
    for format in ["csv", "run_results.db", "run_results.pftrace.gz"] {
        let other = csv_sheets(&place, format);
        let is_perfetto = format == "run_results.pftrace.gz";
        for sheet in [
            "kernel_summary",
            "kernel_summary_by_category",
            "short_kernels_summary",
            "short_kernel_histogram",
        ] {
            let file = format!("{sheet}.csv");
            assert_eq!(json[&file], other[&file], "{sheet} of {format}");
        }
        // Agents are called by handle in JSON and by number elsewhere. Perfetto traces have sizes as products, and no
        // numbers of dispatches.
        let details = "kernel_details.csv";
        let apart: &[&str] = match is_perfetto {
            false => &["agent ID"],
            true => {
                &["agent ID", "dispatch ID", "grid x", "grid y", "grid z", "block x", "block y", "block z"]
            }
        };
        let [mut left, mut right] = [&json, &other].map(|sheets| without(&sheets[details], apart));
        if is_perfetto {
            left.sort();
            right.sort();
        }
        assert!(left == right && left.len() == 234, "{details} of {format}");
        // What the formats have of other records.
        let also: &[&str] = match format {
            "run_results.db" => &[
                "gpu_timeline",
                "api_summary",
                "memory_copy_bandwidth",
                "kernel_counters",
                "category_summary",
                "xla_top",
                "api_kernel_summary",
            ],
            "csv" => &["api_summary", "kernel_counters", "category_summary", "xla_top", "api_kernel_summary"],
            _ => &["api_summary", "memory_copy_bandwidth", "xla_top", "category_summary"],
        };
        for sheet in also {
            let file = format!("{sheet}.csv");
            // GPUs go by ordinal where the format says it, which Perfetto traces do not.
            let agents: &[&str] = match is_perfetto {
                false => &["GPU ID", "DevId"],
                true => &["GPU ID", "DevId", "source", "destination"],
            };
            let [mut left, mut right] = [&json, &other].map(|sheets| without(&sheets[&file], agents));
            if is_perfetto {
                // Names of kernels that are not C++ keep their suffix there.
                let plain = |cell: &mut String| *cell = cell.replace(".kd", "");
                left.iter_mut().chain(&mut right).flatten().for_each(plain);
            }
            assert_eq!(left, right, "{sheet} of {format}");
        }
        let timeline = |sheets: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            let rows = without(&sheets["gpu_timeline.csv"], &["percent"]);
            rows.into_iter().map(|mut row| (row.remove(0), row.remove(0))).collect()
        };
        let (left, right) = (timeline(&json), timeline(&other));
        for kind in ["kernel", "memory", "busy_time"] {
            assert_eq!(left[kind], right[kind], "{kind} of {format}");
        }
        assert_eq!(left["total_time"], right["total_time"], "{format}");
    }
}

#[test]
fn agents_are_called_what_the_format_calls_them() {
    let place = Workplace::with("{}");
    for (format, agents) in [
        ("run_results.json.gz", ["37945", "37946"]),
        ("csv", ["Agent 1", "Agent 2"]),
        ("run_results.db", ["Agent 1", "Agent 2"]),
        ("run_results.pftrace.gz", ["Agent 1", "Agent 2"]),
    ] {
        let profile = generated(format);
        let sheets = sheets(&place, profile.to_str().unwrap(), &["--kernel_details"]);
        let mut found: Vec<String> =
            sheets.column("kernel_details", "agent_id").iter().map(|agent| text(agent)).collect();
        found.sort();
        found.dedup();
        assert_eq!(found, agents, "{format}");
    }
}

#[test]
fn what_is_no_profile_is_told_with_the_subcommand_that_reads_it() {
    let place = Workplace::with(r#"{"traceEvents": []}"#);
    place.put("text", "hello");
    place.put("invalid.json", r#"{"invalid": "data"}"#);
    place.put("array.json", "[1, 2]");
    place.put("empty.json", r#"{"rocprofiler-sdk-tool": []}"#);
    place.put("none.json", r#"{"rocprofiler-sdk-tool": [{"metadata": {}}]}"#);
    place.put("nothing", "");
    std::fs::create_dir(place.path("directory")).unwrap();
    let xplane = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/recorded/cpu/jax_step.xplane.pb");
    let run = |path: &str| -> Outcome { place.run(&["rocprof", path]).exits_with(2) };
    let no_profile = "Not a valid rocprofv3 file";
    run(generated_training().to_str().unwrap())
        .with_error(&["expected a rocprofv3 profile", "`tracelens report` reads it"]);
    run(xplane).with_error(&["expected a rocprofv3 profile", "`tracelens jax` reads it"]);
    run("trace.json").with_error(&["trace.json"]);
    run("invalid.json").with_error(&[no_profile, "missing 'rocprofiler-sdk-tool' key"]);
    run("array.json").with_error(&[no_profile]);
    run("empty.json").with_error(&[no_profile]);
    run("none.json").with_error(&[no_profile, "buffer_records"]);
    run("text").with_error(&[no_profile]);
    run("nothing").with_error(&["nothing"]);
    run("directory").with_error(&["directory"]);
    run("absent").with_error(&["absent: cannot be read"]);
}

#[test]
fn a_profile_without_kernels_is_reported_with_what_to_check() {
    let place = Workplace::with("{}");
    place.put("p_results.json", by_hand(&[], &[]));
    let outcome = place.run("rocprof p_results.json --output_csvs_dir s").exits_with(0);
    outcome.with_summary(&["No kernel events found", "--kernel-trace"]);
    for (sheet, header) in [
        ("gpu_timeline", "type,time (ms),share (%)"),
        ("kernel_summary", "name,kernel time (ms),share (%),"),
        ("kernel_summary_by_category", "op category,direct kernel time (ms),"),
    ] {
        let content = String::from_utf8(place.bytes(&format!("s/{sheet}.csv"))).unwrap();
        assert!(content.starts_with(header) && content.lines().count() == 1, "{sheet}: {content}");
    }
}

#[test]
fn other_subcommands_read_profiles_or_say_which_one_does() {
    let place = place();
    let outcome = place.run("report run_results.json.gz --quiet --output_csvs_dir s").exits_with(0);
    assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("", ""));
    let summary = place.run("pytorch run_results.json.gz").exits_with(0);
    summary.with_summary(&[
        "GPU 0 window ",
        "GPU 1 window ",
        "a rocprofv3 profile has its own",
        "`tracelens rocprof`",
    ]);
    for profile in ["run_results.db", "csv"] {
        let profile = generated(profile);
        let arguments = [profile.to_str().unwrap(), "--json", "--kernel_details"];
        let [rocprof, report] = ["rocprof", "report"]
            .map(|command| place.run(&[&[command], &arguments[..]].concat()).exits_with(0));
        let report_out = report.out.replace(r#""name": "report""#, r#""name": "rocprof""#);
        assert_eq!((rocprof.out, rocprof.err), (report_out, report.err));
    }
    let jax = place.run("jax run_results.json.gz").exits_with(2);
    jax.with_error(&["expected an XPlane profile", "`tracelens rocprof` reads it"]);
    let tree = place.run("tree run_results.json.gz").exits_with(0);
    tree.with_summary(&["hipExtModuleLaunchKernel", "Category: kernel", "ncclDevKernel_Generic_1"]);
}

#[test]
fn a_profile_cut_anywhere_is_reported_or_refused() {
    let mut whole = Vec::new();
    let file = std::fs::File::open(generated("run_results.json.gz")).unwrap();
    std::io::copy(&mut GzDecoder::new(file), &mut whole).unwrap();
    let place = Workplace::with("{}");
    for length in (0..whole.len()).step_by(whole.len() / 23 + 1) {
        place.put("p_results.json", &whole[..length]);
        let outcome = place.run("rocprof p_results.json --quiet --output_csvs_dir s");
        assert!([0, 2].contains(&outcome.code) && !outcome.err.contains("panicked"), "{length}: {outcome:?}");
    }
    // What comes before the cut counts, and the loss is told.
    place.put("p_results.json", &whole[..whole.len() - 40_000]);
    place
        .run("rocprof p_results.json")
        .exits_with(0)
        .with_summary(&["GPU 0 window", "warning: the file is truncated"]);
    let mut zip = GzEncoder::new(Vec::new(), Compression::default());
    zip.write_all(&whole).unwrap();
    let zipped = zip.finish().unwrap();
    place.put("q_results.json.gz", &zipped[..zipped.len() / 2]);
    let outcome = place.run("rocprof q_results.json.gz --quiet");
    assert!([0, 2].contains(&outcome.code), "{outcome:?}");
}

#[test]
fn reports_do_not_overwrite_the_profile() {
    let place = place();
    for option in ["--output_xlsx_path", "--output_json_path"] {
        let arguments = ["rocprof", "run_results.json.gz", option, "./run_results.json.gz"];
        place.run(&arguments).exits_with(2).with_error(&["is the trace itself"]);
    }
    std::fs::create_dir(place.path("csv")).unwrap();
    let arguments = ["rocprof", "csv", "--output_csvs_dir", "csv"];
    place.run(&arguments).exits_with(2).with_error(&["is the trace itself"]);
    place.run("rocprof run_results.json.gz --output_json_path r.json").exits_with(0);
    let written = Sheets::parse(&String::from_utf8(place.bytes("r.json")).unwrap());
    assert!(written.has("kernel_summary"));
    place.run("rocprof run_results.json.gz --output_xlsx_path no/such.xlsx").exits_with(1);
}

#[test]
fn columns_of_the_sheets_are_explained() {
    let place = Workplace::with("{}");
    for sheet in ["kernel_details", "gpu_timeline_by_agent", "api_kernel_summary"] {
        let outcome = place.run(&["info", "columns", sheet]).exits_with(0);
        assert!(outcome.out.contains(&format!("{sheet} (tracelens rocprof)")), "{outcome:?}");
    }
}

/// The generated run has nine steps; the last is cut short.
#[test]
fn a_window_has_what_its_iterations_launched_in_every_sheet_and_format() {
    let place = place();
    for format in ["run_results.db", "run_results.pftrace.gz"] {
        std::fs::copy(generated(format), place.path(format)).unwrap();
    }
    let numbers = |sheets: &Sheets, sheet: &str, column: &str| -> Vec<f64> {
        sheets.column(sheet, column).into_iter().filter_map(Value::as_f64).collect()
    };
    let sum = |sheets: &Sheets, sheet: &str, column: &str| numbers(sheets, sheet, column).iter().sum::<f64>();
    for profile in ["run_results.json.gz", "run_results.db", "run_results.pftrace.gz"] {
        let tables = &["--pftrace_tables", "--min_event_ns", "0"];
        let all = sheets(&place, profile, tables);
        let (kernels, busy) =
            (numbers(&all, "iterations", "kernels"), numbers(&all, "iterations", "busy (ms)"));
        assert_eq!(kernels.iter().sum::<f64>(), sum(&all, "kernel_summary", "Count"), "{profile}");
        for (window, steps) in [("2..4", 2..5), ("3", 3..4)] {
            let some = sheets(&place, profile, &[&["--iterations", window][..], tables].concat());
            let count = steps.len() as f64;
            let expected: f64 = kernels[steps.clone()].iter().sum();
            assert!(expected > 0.0);
            for (sheet, column) in [
                ("kernel_summary", "Count"),
                ("kernel_summary_by_category", "Count"),
                ("iterations", "kernels"),
                ("kernel_launch_shapes", "Count"),
            ] {
                assert_eq!(sum(&some, sheet, column), expected, "{profile} {window} {sheet}");
            }
            let of_gpus = some.column("category_summary", "Category").into_iter();
            let total = of_gpus.zip(numbers(&some, "category_summary", "Total runtime (ms)"));
            let total: Vec<f64> =
                total.filter(|(kind, _)| *kind == "total_incl_comm").map(|(_, ms)| ms).collect();
            // The last row is the mean over the GPUs.
            let (mean, gpus) = total.split_last().unwrap();
            let time = sum(&some, "kernel_summary", "Total Kernel Time (ms)");
            assert!((gpus.iter().sum::<f64>() - time).abs() < 1e-9, "{profile} {window}");
            assert!((mean * gpus.len() as f64 - time).abs() < 1e-9);
            // Time in which neighbours run at once is of one of them in the whole, and of those in the window here.
            let in_window = numbers(&some, "iterations", "busy (ms)").iter().sum::<f64>();
            assert!(in_window + 1e-9 >= busy[steps].iter().sum(), "{profile} {window}");
            for (sheet, time) in [
                ("gpu_timeline", "time ms"),
                ("gpu_timeline_by_agent", "time ms"),
                ("kernel_summary", "Total Kernel Time (ms)"),
                ("kernel_summary_by_category", "total_direct_kernel_time_ms"),
            ] {
                let has_means = some.columns(sheet).contains(&"per iteration (ms)");
                assert_eq!(has_means, count > 1.0, "{sheet}");
                if has_means {
                    let means = numbers(&some, sheet, "per iteration (ms)");
                    for (mean, time) in means.iter().zip(numbers(&some, sheet, time)) {
                        assert!((mean - time / count).abs() < 1e-9, "{sheet}");
                    }
                }
            }
        }
    }
    let says = |options: &[&str]| {
        place.run(&[&["rocprof", "run_results.json.gz"], options].concat()).exits_with(0).out
    };
    assert!(says(&["--iterations", "2..4"]).contains("figures cover only iterations 2 to 4 of 9"));
    assert!(says(&["--window", "2ms..3ms"]).contains("figures cover only device work"));
    let overview = sheets(&place, "run_results.json.gz", &["--steady"]);
    assert!(
        overview
            .column("overview", "value")
            .iter()
            .any(|value| text(value).starts_with("figures cover only")),
        "the overview names the window"
    );
    // The profile says when its process began and ended, but not of a part of it.
    let total = |options: &[&str]| {
        numbers(&sheets(&place, "run_results.json.gz", options), "gpu_timeline", "time ms")[0]
    };
    assert!(total(&["--iterations", "2..4", "--parity"]) < total(&[]) / 2.0);
    assert!(!says(&["--steady"]).contains("no process start and end times"));
    place.run("rocprof run_results.json.gz --iterations 12").exits_with(2).with_error(&[
        "run_results.json.gz",
        "iteration 12",
        "0 to 8",
    ]);
}

#[test]
fn the_steps_of_a_profile_are_listed_and_not_copied() {
    let place = place();
    let listed = place.run("split run_results.json.gz").exits_with(0);
    listed.with_summary(&["run_results.json.gz: 9 steps (step, by recorded steps)"]);
    place.run("split run_results.json.gz -o parts --representatives").exits_with(2).with_error(&[
        "is a rocprofv3 profile",
        "use tracelens report with",
        "--iterations",
    ]);
    assert!(!place.path("parts").exists());
}
