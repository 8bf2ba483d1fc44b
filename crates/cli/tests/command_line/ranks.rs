//! `tracelens ranks collect`, `tracelens ranks pack`, `tracelens ranks` and `tracelens fuse`.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Sheets, Workplace, run_as};
use crate::trace::{annotation, kernel, kernel_with, launch, operator};

const RANKS: u32 = 4;
const STEPS: u32 = 6;

/// The trace of a rank of a job: steps of a matrix product, which takes 1 ms and from step 2 on 3 ms on rank 2, and a sum
/// over all ranks of 0.2 ms that begins when the last rank is there.
fn rank(rank: u32, world_size: u32) -> String {
    let product = |rank: u32, step: u32| if rank == 2 && step >= 2 { 3000.0 } else { 1000.0 };
    rank_of(rank, world_size, product, |_| 0.0)
}

/// The same of other products, and of recordings that begin so much later than the job.
fn rank_of(
    rank: u32,
    world_size: u32,
    product: impl Fn(u32, u32) -> f64,
    begin: impl Fn(u32) -> f64,
) -> String {
    let described = format!(
        r#""Collective name": "allreduce", "Process Group Name": "0", "Process Group Description": "default_pg",
           "Process Group Ranks": "[0, 1, 2, 3]", "Group size": {RANKS}, "dtype": "BFloat16",
           "In msg nelems": 1000000, "Out msg nelems": 1000000, "In split size": "[]", "Out split size": "[]""#
    );
    let mut events = Vec::new();
    for step in 0..STEPS {
        let start_of = |rank| 10_000.0 * f64::from(step) + if step == 0 { begin(rank) } else { 0.0 };
        let (start, end) = (start_of(rank), 10_000.0 * f64::from(step) + 9_000.0);
        let entry = |rank| start_of(rank) + 100.0 + product(rank, step) + f64::from(rank);
        let last = (0..RANKS).map(entry).fold(0.0, f64::max);
        events.push(annotation(&format!("ProfilerStep#{step}"), start, end - start));
        events.push(operator("aten::mm", start + 10.0, 20.0));
        events.push(launch(2 * step + 1, start + 20.0));
        events.push(kernel("gemm_bf16", 2 * step + 1, start + 100.0, product(rank, step)));
        events.push(launch(2 * step + 2, start + 50.0));
        let (begin, name) = (entry(rank), "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
        events.push(kernel_with(name, 2 * step + 2, begin, last + 200.0 - begin, &described));
    }
    format!(
        r#"{{"schemaVersion": 1, "distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": {world_size}}},
            "deviceProperties": [{{"id": 0, "name": "NVIDIA H100 80GB HBM3"}}], "traceEvents": [{}]}}"#,
        events.join(",\n")
    )
}

/// A directory with the traces of the job, called as TraceLens expects it.
fn job() -> Workplace {
    let place = Workplace::with("");
    fs::create_dir(place.path("job")).unwrap();
    for number in 0..RANKS {
        place.put(&format!("job/rank{number}_trace.json"), rank(number, RANKS));
    }
    place
}

#[test]
fn statistics_of_collectives_have_the_unit_of_what_they_are() {
    let place = job();
    let asked = ["ranks", "job/rank*_trace.json", "--agg_metrics", "mean", "sum", "count", "--json"];
    let document: Value = serde_json::from_str(&place.run(&asked).exits_with(0).out).unwrap();
    let tables = document["tables"].as_array().unwrap();
    let columns = tables.iter().flat_map(|table| table["columns"].as_array().unwrap());
    let described = |name: &str| {
        let column = columns.clone().find(|column| column["name"] == name).unwrap();
        json!([column["unit"], column["per"]])
    };
    assert_eq!(described("comm_latency_mean"), json!(["us", "collective"]));
    assert_eq!(described("comm_latency_sum"), json!(["us", null]));
    assert_eq!(described("comm_latency_count"), json!(["1", null]));
}

#[test]
fn the_summary_says_who_is_waited_for_and_why() {
    let place = job();
    place.run("ranks job/rank*_trace.json").exits_with(0).with_summary(&[
        "4 of 4 ranks",
        "6 steps on all ranks: 10.00 ms each",
        // It enters at 3,102 µs of the steps from 2 on, the middle rank at 1,101. From the end of step 1's sum at 11,303 µs to
        // that of step 5's at 53,302 these four steps take 41,999.
        "rank 2 is a straggler: late for 100.0% of its collectives, by 2.001 ms a step (19.1% of its device's time), since step 2",
        "it computes longer, mainly in gemm_bf16",
    ]);
    assert!(!place.files("job").iter().any(|file| file.ends_with(".xlsx")));
}

#[test]
fn a_rank_whose_recording_begins_later_is_not_late() {
    let place = Workplace::with("");
    for number in 0..RANKS {
        let begin = |rank| if rank == 3 { 5_000.0 } else { 0.0 };
        place.put(&format!("rank{number}_trace.json"), rank_of(number, RANKS, |_, _| 1000.0, begin));
    }
    place.run("ranks rank*_trace.json").exits_with(0).with_summary(&[
        "no rank delays the others",
        "rank 3: its recording begins 5000 µs after the others, so its first collective appears late too",
    ]);
}

#[test]
fn a_slow_link_is_named_where_no_rank_is_late() {
    // 0.2 ms for 8 MiB is less than a third of what libraries reach, for 32 MiB it is not; and nothing is known of links
    // between hosts.
    let devices = |count: u32| {
        let device = |id| format!(r#"{{"id": {id}, "name": "NVIDIA H100 80GB HBM3"}}"#);
        (0..count).map(device).collect::<Vec<_>>().join(", ")
    };
    for (elements, of_host, is_slow) in [(4 << 20, 4, true), (16 << 20, 4, false), (4 << 20, 1, false)] {
        let place = Workplace::with("");
        for number in 0..RANKS {
            let trace = rank_of(number, RANKS, |_, _| 1000.0, |_| 0.0)
                .replace(&devices(1), &devices(of_host))
                .replace("1000000", &elements.to_string());
            place.put(&format!("rank{number}_trace.json"), trace);
        }
        let outcome =
            place.run("ranks rank*_trace.json").exits_with(0).with_summary(&["no rank delays the others"]);
        let case = format!("{elements} elements, {of_host} devices of a host: {}", outcome.out);
        assert_eq!(outcome.out.contains("COMM-SLOW"), is_slow, "{case}");
        if is_slow {
            // 6 times 200 µs, of which libraries need 16 µs to start and 12.6 MB at 315 GB/s.
            assert!(outcome.out.contains("864.3 µs (1.7%)"), "{case}");
            outcome.with_summary(&[
                "collectives far below link speed once all ranks have entered",
                "allreduce of 8.000 MiB",
            ]);
        }
    }

    // Two groups of two ranks are alike, and one finding.
    let place = Workplace::with("");
    for number in 0..RANKS {
        let (group, ranks) = if number < 2 { ("0", "[0, 1]") } else { ("1", "[2, 3]") };
        let trace = rank_of(number, RANKS, |_, _| 1000.0, |_| 0.0)
            .replace(&devices(1), &devices(4))
            .replace("1000000", &(4 << 20).to_string())
            .replace(r#""Process Group Name": "0""#, &format!(r#""Process Group Name": "{group}""#))
            .replace("[0, 1, 2, 3]", ranks)
            .replace(r#""Group size": 4"#, r#""Group size": 2"#);
        place.put(&format!("rank{number}_trace.json"), trace);
    }
    let outcome = place.run("ranks rank*_trace.json --json").exits_with(0);
    let answer: Value = serde_json::from_str(&outcome.out).unwrap();
    let slow: Vec<&Value> = answer["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["rule"] == "COMM-SLOW")
        .collect();
    assert_eq!(slow.len(), 1, "{slow:#?}");
    // Per rank: 6 times 202 µs in the first group and 200 µs in the second, of which libraries need 12 µs and 8.4 MB at 315 GB/s.
    let expected = (6.0 * 202.0 + 6.0 * 200.0) / 2.0 - 6.0 * (12.0 + f64::from(8 << 20) / 315e3);
    let amount = slow[0]["amount_us"].as_f64().unwrap();
    assert!((amount - expected).abs() < 0.1, "{amount} {expected}");
}

#[test]
fn a_picture_shows_how_late_each_rank_was_in_each_step() {
    let place = job();
    let picture = ["ranks", "job/rank*_trace.json", "--step_svg", "steps.svg"];
    place.run(&picture).exits_with(0);
    let svg = String::from_utf8(place.bytes("steps.svg")).unwrap();
    for text in ["Lateness by rank and step", "rank", "step", "to 2.00 ms"] {
        assert!(svg.contains(text), "no {text:?} in {svg}");
    }
    // Four steps of rank 2 in the darkest shade, and the legend.
    let darkest = svg.matches("#99000D").count();
    assert_eq!(darkest, 5, "{svg}");
    let parity = [&picture[..], &["--parity", "tracelens"]].concat();
    place
        .run(&parity)
        .exits_with(0)
        .with_summary(&["--step_svg writes nothing: a report with --parity tracelens has no steps"]);
}

#[test]
fn the_causes_stand_by_rank_and_step() {
    let place = job();
    let outcome = place.run("ranks job/rank*_trace.json --json").exits_with(0);
    let sheets = Sheets::parse(&outcome.out);
    assert_eq!(sheets.column("straggler_causes", "rank"), [2, 2, 2, 2]);
    let mut steps: Vec<i64> =
        sheets.column("straggler_causes", "step").into_iter().map(|step| step.as_i64().unwrap()).collect();
    steps.sort_unstable();
    assert_eq!(steps, [2, 3, 4, 5]);
    assert!(sheets.column("straggler_causes", "cause").iter().all(|cause| *cause == "computation"));
    assert_eq!(sheets.column("matching", "not matched"), [0, 0, 0, 0]);
    assert_eq!(sheets.column("ranks_overview", "step (ms)"), [10.0; 4]);
    assert_eq!(sheets.column("step_times", "ranks"), [4, 4, 4, 4, 4, 4]);
    // 2,000,000 bytes in 0.2 ms are 10 GB/s, and half as much again crosses a link.
    let rate = |column: &str| sheets.column("group_summary", column)[0].as_f64().unwrap();
    assert!((rate("algorithm bandwidth (GB/s)") - 10.0).abs() < 1e-9);
    assert!((rate("bus bandwidth (GB/s)") - 15.0).abs() < 1e-9);
}

#[test]
fn tables_are_kept_and_give_the_same_report() {
    let place = job();
    place
        .run("ranks collect job/rank*_trace.json --out tables")
        .exits_with(0)
        .with_summary(&["4 ranks in tables"]);
    assert_eq!(place.files("tables"), ["rank-00000", "rank-00001", "rank-00002", "rank-00003"]);
    let again = place.run("ranks collect job/rank*_trace.json --out tables --jobs 2").exits_with(0);
    assert_eq!(again.err.matches("already there").count(), 4, "{again:#?}");
    place.run("ranks tables --output_csvs_dir a -q").exits_with(0);
    place.run("ranks --trace_dir job --output_csvs_dir b -q").exits_with(0);
    for file in place.files("a").iter().filter(|file| *file != "overview.csv") {
        assert_eq!(place.bytes(&format!("a/{file}")), place.bytes(&format!("b/{file}")), "{file}");
    }
    // A trace that changed is read again.
    place.put("job/rank1_trace.json", rank(1, RANKS) + " ");
    let changed = place.run("ranks collect job/rank*_trace.json --out tables").exits_with(0);
    assert_eq!(changed.err.matches("already there").count(), 3, "{changed:#?}");
}

#[test]
fn packed_tables_give_the_same_report() {
    let place = job();
    place.run("ranks collect job/rank*_trace.json --out tables -q").exits_with(0);
    place.run("ranks tables --output_csvs_dir a -q").exits_with(0);
    place.run("ranks pack tables").exits_with(0).with_summary(&["4 ranks in 1 pack in tables, 1 written"]);
    place
        .run("ranks pack tables")
        .exits_with(0)
        .with_summary(&["4 ranks in 1 pack in tables, nothing to do"]);
    assert_eq!(place.files("tables"), ["pack-00000"]);
    place.run("ranks tables --output_csvs_dir b -q").exits_with(0);
    let sheets = place.files("a");
    assert_eq!(sheets, place.files("b"));
    for file in sheets {
        assert_eq!(place.bytes(&format!("a/{file}")), place.bytes(&format!("b/{file}")), "{file}");
    }
    let again = place.run("ranks collect job/rank*_trace.json --out tables").exits_with(0);
    assert_eq!(again.err.matches("already there").count(), 4, "{again:#?}");
    place
        .run("ranks pack job")
        .exits_with(2)
        .with_error(&["job: has no rank tables", "tracelens ranks collect"]);
    place.run("ranks pack nowhere").exits_with(2).with_error(&["nowhere: has no rank tables"]);
    assert!(!place.path("nowhere").exists());
}

#[test]
fn ranks_are_fused_to_a_trace_that_reports_take() {
    let place = job();
    place
        .run("fuse job/rank*_trace.json -o all.json.gz --tables tables")
        .exits_with(0)
        .with_summary(&["wrote 144 events of 4 recordings to all.json.gz"]);
    let outcome = place.run("report all.json.gz --json").exits_with(0);
    // Each kernel is linked to the launch of its own rank.
    let answer: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(answer["trust"]["linked_pct_of_time"], 100.0, "{}", answer["trust"]);
    // From the tables, with two of the ranks and what communicates.
    place
        .run("fuse tables --ranks 1,3 --filter comm --clock raw -o two.json.zst")
        .exits_with(0)
        .with_summary(&["wrote 24 events of 2 recordings to two.json.zst"]);
    place.run("report two.json.zst -q").exits_with(0);
}

#[test]
fn recordings_that_tables_name_elsewhere_are_not_opened() {
    let place = job();
    place.run("ranks collect job/rank*_trace.json --out other/deep/tables -q").exits_with(0);
    let manifest = "other/deep/tables/rank-00000/manifest.json";
    let text = String::from_utf8(place.bytes(manifest)).unwrap();
    let named = fs::canonicalize(place.path("job/rank0_trace.json")).unwrap();
    let named = named.to_str().unwrap();
    // In the current folder they may be.
    place.run("fuse other/deep/tables -o a.json -q").exits_with(0);
    for elsewhere in ["/dev/zero", "/no/such/file"] {
        fs::write(place.path(manifest), text.replace(named, elsewhere)).unwrap();
        let refused = place.run("fuse other/deep/tables -o b.json").exits_with(2);
        refused.with_error(&[elsewhere, "neither beside their folder nor in the current one"]);
    }
    let folder = place.path("job");
    fs::write(place.path(manifest), text.replace(named, folder.to_str().unwrap())).unwrap();
    place.run("fuse other/deep/tables -o b.json").exits_with(2).with_error(&["is not a regular file"]);
    assert!(!place.path("b.json").exists());
}

#[test]
fn what_cannot_be_fused_is_told() {
    let place = job();
    let fuse = |arguments: &[&str]| place.run(&[&["fuse"], arguments].concat());
    let all = "job/rank*_trace.json";
    fuse(&[all, "-o", "out.txt"]).exits_with(2).with_error(&["out.txt", ".json.gz or .json.zst"]);
    fuse(&[all, "-o", "job/rank1_trace.json"])
        .exits_with(2)
        .with_error(&["rank1_trace.json: is the trace itself"]);
    fuse(&[all, "--ranks", "2,9", "-o", "out.json"]).exits_with(2).with_error(&["rank 9", "choose from 0-3"]);
    let outcome = fuse(&[all, "--ranks", "x", "-o", "out.json"]).exits_with(2);
    assert!(outcome.err.contains("expected rank numbers"), "{outcome:#?}");
    place.put("job/rank4_trace.json", "no trace");
    fuse(&[all, "-o", "out.json"]).exits_with(2).with_error(&["rank4_trace.json"]);
    place.put("job/rank4_trace.json", rank(3, RANKS));
    fuse(&[all, "-o", "out.json"]).exits_with(2).with_error(&[
        "rank3_trace.json",
        "rank4_trace.json",
        "rank 3",
    ]);
    assert!(!place.path("out.json").exists());
}

/// The shell form of mapping with a launcher: a process for each recording, two at a time, into one folder.
#[cfg(unix)]
#[test]
fn processes_side_by_side_map_into_one_folder() {
    let place = job();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/cluster/map_local.sh");
    let output = std::process::Command::new(script)
        .args(["job", "tables", "2"])
        .env("TRACELENS", env!("CARGO_BIN_EXE_tracelens"))
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:#?}");
    assert_eq!(place.files("tables"), ["rank-00000", "rank-00001", "rank-00002", "rank-00003"]);
    place.run("ranks collect job/rank*_trace.json --out alone -q").exits_with(0);
    for rank in place.files("tables") {
        for file in place.files(&format!("tables/{rank}")) {
            let [together, alone] =
                ["tables", "alone"].map(|folder| place.bytes(&format!("{folder}/{rank}/{file}")));
            assert_eq!(together, alone, "{rank}/{file}");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_program_takes_the_place_of_the_report_of_tracelens() {
    let place = job();
    let name = "TraceLens_generate_multi_rank_collective_report_pytorch";
    let link = place.path(name);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tracelens"), &link).unwrap();
    let run = |arguments: &[&str]| run_as(&link, arguments, &place.path(""));
    run(&["--trace_dir", "job", "--world_size", "4"]).exits_with(0);
    assert!(place.path("job/nccl_analysis_report.xlsx").exists());
    run(&["--trace_pattern", "job/rank*_trace.json", "--world_size", "4", "--output_csvs_dir", "sheets"])
        .exits_with(0);
    let names = [
        "nccl_implicit_sync",
        "nccl_long",
        "nccl_summary_implicit_sync",
        "nccl_summary_long",
        "straggler_summary",
    ];
    assert_eq!(place.files("sheets"), names.map(|name| format!("{name}.csv")));
    run(&["--trace_pattern", "job/rank_trace.json", "--world_size", "4"])
        .exits_with(2)
        .with_error(&["is not a path pattern", "exactly one *"]);
    run(&["--trace_dir", "job", "--world_size", "5"])
        .exits_with(2)
        .with_error(&["rank4_trace.json", "no such file"]);
    run(&["--trace_glob", "job/*.json", "--world_size", "6"]).exits_with(2).with_error(&["rank 4, 5"]);
}

#[test]
fn what_is_odd_is_said_and_ends_no_run() {
    let place = job();
    fs::remove_file(place.path("job/rank3_trace.json")).unwrap();
    let whole = rank(1, RANKS);
    place.put("job/rank1_trace.json", &whole[..whole.len() * 2 / 3]);
    place.put("job/rank7_trace.json", rank(7, 128));
    place.put("job/rank8_trace.json", "not a trace");
    let outcome = place.run("ranks --trace_dir job").exits_with(0);
    outcome.with_summary(&[
        "3 of 4 ranks",
        "1 of 4 ranks has no recording (3)",
        "rank 1: its recording is truncated or damaged",
        "rank7_trace.json: omitted: its job has 128 ranks, but the job of most recordings has 4",
        "rank8_trace.json: not recognized",
        "a recording of the job is omitted: ",
    ]);
}

#[test]
fn two_recordings_of_one_rank_are_refused() {
    let place = job();
    place.put("job/again.json", rank(1, RANKS));
    let outcome = place.run("ranks --trace_dir job").exits_with(2);
    outcome.with_error(&["again.json", "rank1_trace.json", "both are recordings of rank 1"]);
}

#[test]
fn nothing_to_report_on_is_said() {
    let place = Workplace::with("not a trace");
    place
        .run("ranks trace.json")
        .exits_with(2)
        .with_error(&["none of the 1 recordings can be used", "not recognized"]);
    fs::create_dir(place.path("empty")).unwrap();
    place.run("ranks empty").exits_with(2).with_error(&["has no rank tables", "tracelens ranks collect"]);
    fs::create_dir_all(place.path("old/rank-00000")).unwrap();
    place.put("old/rank-00000/manifest.json", r#"{"schema": 1}"#);
    for command in ["ranks", "pack"] {
        let outcome = place.run(&[command, "old"]).exits_with(2);
        outcome.with_error(&[
            "old: has no rank tables that are usable",
            "rank-00000",
            "tracelens ranks collect",
        ]);
    }
    place.run("ranks nothing/*.json").exits_with(2).with_error(&["no file matches this pattern"]);
    place.run("ranks").exits_with(2);
    let mapped = place.run("ranks collect trace.json missing.json --out tables").exits_with(2);
    mapped.with_error(&["2 of 2 recordings could not be reduced to tables; see the warnings"]);
    assert!(place.files("tables").is_empty());
}

#[test]
fn a_recording_that_is_named_twice_is_no_second_rank() {
    let place = job();
    for command in [
        &["ranks", "collect", "job/rank*_trace.json", "job/../job/rank1_trace.json", "--out", "tables"][..],
        &["ranks", "job/rank0_trace.json", "./job/rank0_trace.json"],
    ] {
        place.run(command).exits_with(2).with_error(&["_trace.json: is given twice"]);
    }
    assert!(!place.path("tables").exists());
}

#[test]
fn the_same_rank_of_another_job_is_left_out() {
    let place = job();
    place.put("job/other.json", rank(1, 128));
    let expected =
        ["4 of 4 ranks", "other.json: omitted: its job has 128 ranks, but the job of most recordings has 4"];
    place.run("ranks --trace_dir job").exits_with(0).with_summary(&expected);
    // The second one of a rank names its job, whichever is read first.
    let (other, own) = ("job/other.json", "job/rank*_trace.json");
    for (recordings, named) in [([other, own], "of-4"), ([own, other], "of-128")] {
        for jobs in ["1", "8"] {
            let _ = fs::remove_dir_all(place.path("tables"));
            place
                .run(&[&["ranks", "collect"], &recordings[..], &["--out", "tables", "--jobs", jobs]].concat())
                .exits_with(0);
            for folder in ["rank-00001", &format!("rank-00001-{named}")] {
                assert!(place.path("tables").join(folder).is_dir(), "{recordings:?}, {jobs} jobs: {folder}");
            }
        }
    }
    place.run("ranks tables").exits_with(0).with_summary(&expected);
}

#[test]
fn events_and_waits_are_kept_on_request() {
    let place = job();
    let map = |extra: &[&str]| {
        let arguments = [&["ranks", "collect", "job/rank0_trace.json", "--out", "tables"], extra].concat();
        place.run(&arguments).exits_with(0)
    };
    let has_events = || place.path("tables/rank-00000/events.parquet").is_file();
    assert!(!map(&[]).err.contains("already there"));
    assert!(!has_events());
    // The tables are there, but not all of them.
    assert!(!map(&["--keep-events"]).err.contains("already there"));
    assert!(has_events());
    assert!(map(&["--keep-events"]).err.contains("rank 0, already there"));
    assert!(map(&[]).err.contains("rank 0, already there"));
    assert!(has_events());
    let waits = ["queue", "membw", "critical_path"];
    let has_waits = || waits.map(|table| place.path(&format!("tables/rank-00000/{table}.parquet")).is_file());
    assert_eq!(has_waits(), [false; 3]);
    assert!(!map(&["--waits"]).err.contains("already there"));
    assert_eq!(has_waits(), [true; 3]);
    assert!(has_events(), "what was kept before stays");
    assert!(map(&["--keep-events", "--waits"]).err.contains("rank 0, already there"));
    place.run("ranks pack tables").exits_with(0);
    for table in ["events"].iter().chain(&waits) {
        assert!(place.path(&format!("tables/pack-00000/{table}.parquet")).is_file(), "{table}");
    }
}

#[test]
fn steps_are_fused_by_their_numbers() {
    let place = job();
    let fuse = |steps: &str| place.run(&["fuse", "job/*.json", "-o", "fused.json", "--steps", steps]);
    fuse("2..3").exits_with(0).with_summary(&["of 4 recordings"]);
    let text = fs::read_to_string(place.path("fused.json")).unwrap();
    assert!(text.contains("ProfilerStep#2") && text.contains("ProfilerStep#3"));
    assert!(!text.contains("ProfilerStep#1") && !text.contains("ProfilerStep#4"));
    assert_eq!(text.matches("gemm_bf16").count(), 8);
    fuse("7").exits_with(2).with_error(&["no recording has steps 7 to 7; the recordings have steps 0 to 5"]);
    assert!(fuse("5..3").exits_with(2).err.contains("it contains no iteration"));
}

#[test]
fn corpus_a_process_that_is_no_rank_is_set_aside_with_a_notice() {
    let Some(case) = testdata::corpus("field/cases/11-vllm-coordinator-trace") else { return };
    let place = Workplace::with("");
    fs::create_dir(place.path("job")).unwrap();
    for file in fs::read_dir(case).unwrap().map(|entry| entry.unwrap().path()) {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".gz") {
            fs::copy(&file, place.path(&format!("job/{name}"))).unwrap();
        }
    }
    let set_aside = "async_llm.1784112003.pt.trace.json.gz: omitted, not a rank of the job";
    place.run("ranks --trace_dir job").exits_with(0).with_summary(&[
        "2 of 2 ranks on 1 host",
        "by 50.00 µs an engine step",
        set_aside,
    ]);
    let outcome = place.run("fuse job/*.gz -o fused.json").exits_with(0);
    assert!(outcome.err.contains(set_aside), "{outcome:#?}");
    let fused: Value = serde_json::from_str(&fs::read_to_string(place.path("fused.json")).unwrap()).unwrap();
    assert_eq!(fused["fusedRanks"].as_array().unwrap().len(), 2);
}

#[test]
fn work_without_a_launch_takes_the_time_of_its_device() {
    let busy = |prepare: fn(String) -> String| {
        let place = Workplace::with("");
        fs::create_dir(place.path("job")).unwrap();
        for number in 0..RANKS {
            place.put(&format!("job/rank{number}_trace.json"), prepare(rank(number, RANKS)));
        }
        let sheets = Sheets::parse(&place.run("ranks --trace_dir job --json").exits_with(0).out);
        sheets.column("ranks_overview", "busy (ms)").into_iter().cloned().collect::<Vec<_>>()
    };
    let launched = busy(|text| text);
    assert!(launched[0].as_f64().unwrap() > 6.0, "{launched:?}");
    // The calls that launched the work were not recorded.
    assert_eq!(busy(|text| text.replace("cuda_runtime", "cpu_op")), launched);
}
