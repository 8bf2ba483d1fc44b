//! `tracelens nsys`: reports of exports of Nsight Systems, its options, and what it says of files that are none.

use std::path::{Path, PathBuf};

use crate::program::{Sheets, Workplace, generated};

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded/h200/nsys").join(name)
}

fn place() -> Workplace {
    let place = Workplace::with("{}");
    std::fs::copy(recorded("transformer_step.sqlite"), place.path("step.sqlite")).unwrap();
    place
}

fn sheets(place: &Workplace, options: &[&str]) -> Sheets {
    let outcome = place.run(&[&["nsys", "step.sqlite", "--json"], options].concat()).exits_with(0);
    Sheets::parse(&outcome.out)
}

#[test]
fn a_report_has_the_sheets_of_traces_and_those_of_the_recorder() {
    let place = place();
    let (of_nsys, of_report) = (sheets(&place, &[]), place.run("report step.sqlite --json").exits_with(0));
    assert_eq!(of_nsys.names(), Sheets::parse(&of_report.out).names());
    for sheet in [
        "gpu_timeline",
        "ops_summary",
        "nvtx_ranges",
        "nvtx_tree",
        "nvtx_kernels",
        "api_summary",
        "api_kernel_latency",
    ] {
        assert!(of_nsys.has(sheet), "{sheet}");
    }
    let kernels: u64 =
        of_nsys.column("nvtx_kernels", "Ranges").iter().filter_map(|count| count.as_u64()).sum();
    assert!(kernels > 0);
}

#[test]
fn the_tables_of_nsys_stats_come_alone() {
    let place = place();
    let tables = sheets(&place, &["--nsys_names", "--gpu_trace", "--kernel_names", "short"]);
    let expected = [
        "cuda_api_sum",
        "cuda_gpu_kern_gb_sum",
        "cuda_gpu_kern_sum",
        "cuda_gpu_mem_size_sum",
        "cuda_gpu_mem_time_sum",
        "cuda_gpu_trace",
        "cuda_kern_exec_sum",
        "nvtx_gpu_proj_sum",
        "nvtx_kern_sum",
        "nvtx_sum",
    ];
    assert_eq!(tables.names(), expected);
    let columns = [
        "Time (%)",
        "Total Time (ns)",
        "Instances",
        "Avg (ns)",
        "Med (ns)",
        "Min (ns)",
        "Max (ns)",
        "StdDev (ns)",
        "Name",
    ];
    assert_eq!(tables.columns("cuda_gpu_kern_sum"), columns);
    assert_eq!(tables.rows("cuda_gpu_trace").len(), 100);
    let names = tables.column("cuda_gpu_kern_sum", "Name");
    assert!(names.iter().all(|name| !name.as_str().unwrap().contains('<')), "{names:?}");
}

#[test]
fn operators_have_figures_where_a_type_is_assumed() {
    let place = place();
    place
        .run("nsys step.sqlite -v")
        .exits_with(0)
        .with_summary(&["performance models cover 0.0% of device time", "--assume_dtype"]);
    let assumed = place.run("nsys step.sqlite --assume_dtype bf16 -v").exits_with(0);
    assumed.with_summary(&["assume bf16 for all tensors", "performance models cover 40.9% of device time"]);
    let refused = place.run("nsys step.sqlite --assume_dtype int3").exits_with(2);
    assert!(refused.err.contains("[possible values: bf16, fp16, fp32, fp64, fp8]"), "{}", refused.err);
}

#[test]
fn iterations_are_ranges_of_a_name() {
    let place = place();
    let count = |tables: &Sheets| {
        let ranges = tables.column("time_budget", "range");
        ranges.iter().filter(|range| range.as_str() == Some("aten::linear")).count()
    };
    assert_eq!(count(&sheets(&place, &[])), 0);
    let (of_host, of_device) = (
        sheets(&place, &["--iteration", "aten::linear"]),
        sheets(&place, &["--iteration", "aten::linear", "--budget", "projected"]),
    );
    let instances = of_host
        .column("nvtx_ranges", "range")
        .iter()
        .position(|range| range.as_str() == Some(":aten::linear"));
    let instances = of_host.column("nvtx_ranges", "Count")[instances.unwrap()].as_u64().unwrap();
    assert!(instances > 0);
    assert_eq!(count(&of_host) as u64, instances);
    assert_eq!(count(&of_device) as u64, instances);
    let wall = "Wall (ms)";
    assert_ne!(of_host.column("time_budget", wall), of_device.column("time_budget", wall));
    let refused = place.run("nsys step.sqlite --budget both").exits_with(2);
    assert!(refused.err.contains("[possible values: step, host, projected]"), "{}", refused.err);
    place.run("nsys step.sqlite").exits_with(0).with_summary(&["GPU 0 is idle for", "the longest gap, "]);
}

#[test]
fn iterations_may_be_named_by_an_expression() {
    let place = place();
    let ranges = |name: &str| -> Vec<String> {
        let tables = sheets(&place, &["--iteration", name]);
        let ranges = tables.column("time_budget", "range");
        ranges.iter().filter_map(|range| range.as_str().map(str::to_owned)).collect()
    };
    assert_eq!(ranges("/^aten::linear$/"), ranges("aten::linear"));
    let several = ranges("/^aten::(linear|layer_norm)$/");
    assert!(several.iter().any(|range| range == "aten::layer_norm"), "{several:?}");
    let refused = place.run("nsys step.sqlite --iteration /(/").exits_with(2);
    assert!(refused.err.contains("unclosed group"), "{}", refused.err);
}

#[test]
fn a_range_is_looked_at_alone() {
    let place = place();
    let launched = |asked: &str| {
        let tables = sheets(&place, &["--nvtx", asked]);
        tables
            .column("kernel_summary", "Kernel duration (µs)_count")
            .iter()
            .filter_map(|count| count.as_u64())
            .sum::<u64>()
    };
    let all = sheets(&place, &[]);
    let rows = all.column("nvtx_ranges", "range");
    let linear = rows.iter().position(|range| range.as_str() == Some(":aten::linear")).unwrap();
    let of_all = |column: &str| all.column("nvtx_ranges", column)[linear].as_u64().unwrap();
    let each = (0..of_all("Count")).map(|index| launched(&format!("aten::linear/{index}")));
    assert_eq!(each.sum::<u64>(), of_all("GPU Ops"));
    assert_eq!(launched("aten::linear"), launched("aten::linear/0"));
    for (asked, told) in [
        ("aten::linear/9999", "the recording has no range 9999 of 'aten::linear'; it has ranges 0 to"),
        ("aten::linear@NCCL", "no range 'aten::linear' of the domain NCCL"),
        ("nothing", "no range 'nothing'"),
    ] {
        place.run(&["nsys", "step.sqlite", "--nvtx", asked]).exits_with(2).with_error(&[told]);
    }
    place.run("nsys step.sqlite --nvtx aten::linear --steady").exits_with(2);
}

#[test]
fn ranges_may_have_their_recorded_texts() {
    let place = place();
    let (normalised, raw) = (sheets(&place, &[]), sheets(&place, &["--nvtx_text", "raw"]));
    let texts = raw.column("nvtx_ranges", "range");
    assert!(texts.len() > normalised.rows("nvtx_ranges").len());
    assert!(texts.iter().any(|text| text.as_str().unwrap().contains(", op_id = ")), "{texts:?}");
    let ops = |tables: &Sheets| -> u64 {
        tables.column("nvtx_ranges", "GPU Ops").iter().filter_map(|count| count.as_u64()).sum()
    };
    assert_eq!(ops(&raw), ops(&normalised));
    // Operators keep their names.
    assert_eq!(raw.column("ops_summary", "name"), normalised.column("ops_summary", "name"));
}

#[test]
fn each_process_may_have_a_report_of_its_own() {
    let place = place();
    let one = place.run("nsys step.sqlite --per_process --output_csvs_dir one").exits_with(0);
    let pid = one.out.lines().find_map(|line| line.strip_prefix("process ")).unwrap();
    assert!(place.path(&format!("one.pid{pid}")).is_dir());
    let Some(corpus) = testdata::corpus("nsys/h100-2gpu-1s/trace.sqlite") else { return };
    let trace = corpus.to_str().unwrap();
    let options = ["--per_process", "--output_csvs_dir", "t", "--output_xlsx_path", "r.xlsx", "--quiet"];
    place.run(&[&["nsys", trace], &options[..]].concat()).exits_with(0);
    let kernels = |file: &str| -> i64 {
        let mut reader = csv::Reader::from_path(place.path(file)).unwrap();
        let at = reader.headers().unwrap().iter().position(|header| header == "kernels").unwrap();
        let rows = reader.records().map(Result::unwrap);
        rows.map(|row| row[at].parse::<i64>().unwrap()).sum()
    };
    let [first, second] = [111, 112].map(|pid| {
        assert!(place.path(&format!("r.pid{pid}.xlsx")).exists());
        kernels(&format!("t.pid{pid}/kernel_summary.csv"))
    });
    place.run(&["nsys", trace, "--output_csvs_dir", "both", "--quiet"]).exits_with(0);
    assert_eq!(first + second, kernels("both/kernel_summary.csv"));
    place.run(&["nsys", trace, "--per_process", "--json"]).exits_with(2);
}

#[test]
fn gaps_have_a_least_length() {
    let place = place();
    let gaps = |least: &str| {
        let tables = sheets(&place, &["--waits", "--min_gap_us", least]);
        let lengths: Vec<f64> =
            tables.column("gpu_gaps", "Duration (ms)").iter().filter_map(|length| length.as_f64()).collect();
        assert_eq!(tables.rows("gpu_utilization").len(), 30);
        lengths
    };
    let (all, some) = (gaps("0"), gaps("20"));
    assert!(some.len() < all.len() && !some.is_empty(), "{} of {}", some.len(), all.len());
    let long: Vec<f64> = all.into_iter().filter(|length| *length >= 0.02).collect();
    assert_eq!(some, long);
}

#[test]
fn other_recordings_are_named() {
    let place = place();
    let trace = generated().to_str().unwrap();
    place.run(&["nsys", trace]).exits_with(2).with_error(&["Nsight Systems", "`tracelens report` reads it"]);
    place.put("run.nsys-rep", b"NVIDIA Tegra Profiler Report");
    place.run("nsys run.nsys-rep").exits_with(2).with_error(&["nsys export --type sqlite"]);
    place.run("nsys missing.sqlite").exits_with(2).with_error(&["missing.sqlite"]);
    let whole = std::fs::read(place.path("step.sqlite")).unwrap();
    place.put("cut.sqlite", &whole[..whole.len() / 2]);
    place.run("nsys cut.sqlite").exits_with(2).with_error(&["cut.sqlite"]);
    place.run("nsys step.sqlite --nvtx_depth 0").exits_with(2);
}
