//! `tracelens ranks` and its kin on the XPlane profiles of a job's hosts.

use std::fs;

use crate::program::{Sheets, Workplace, generated};
use crate::xplane::{gpu_at, plane, program};

const STEPS: u64 = 12;
/// The straggler, and the step from which on it is late.
const LATE: u64 = 2;
const LATE_FROM: u64 = 4;
/// How far the clock of the second host is ahead, in µs.
const AHEAD: u64 = 7_000;

/// The profile of a host of two GPUs: steps of a product of 1 ms, which takes 3 ms on rank 2 from step 4 on, and a sum
/// among ranks {0,2} and {1,3} of 0.2 ms that begins when the last of the two is there.
fn host(host: u64) -> Vec<u8> {
    let product = |rank: u64, step: u64| if rank == LATE && step >= LATE_FROM { 3_000 } else { 1_000 };
    let gpu = |device: u64| {
        let rank = 2 * host + device;
        let mut kernels = Vec::new();
        for step in 0..STEPS {
            let start = 10_000 * step + AHEAD * host;
            let entry = |rank: u64| 101 + product(rank, step) + rank;
            let last = entry(rank % 2).max(entry(rank % 2 + 2));
            kernels.push(("dot.1", start + 100, product(rank, step)));
            kernels.push(("all-reduce.1", start + entry(rank), last + 200 - entry(rank)));
        }
        gpu_at(device, &kernels)
    };
    [gpu(0), gpu(1), program()].concat()
}

/// A directory with the profiles of two hosts.
fn job() -> Workplace {
    let place = Workplace::with("{}");
    fs::create_dir(place.path("job")).unwrap();
    (0..2).for_each(|number| place.put(&format!("job/host{number}.xplane.pb"), host(number)));
    place
}

const PROFILES: [&str; 2] = ["job/host0.xplane.pb", "job/host1.xplane.pb"];

fn ranks(place: &Workplace, arguments: &[&str]) -> Sheets {
    Sheets::parse(&place.run(&[&["ranks", "--json"], arguments].concat()).exits_with(0).out)
}

#[test]
fn the_summary_names_the_straggler_among_the_devices_of_all_hosts() {
    job().run(&[&["ranks"], &PROFILES[..]].concat()).exits_with(0).with_summary(&[
        "4 of 4 ranks on 2 hosts · 48 collective kernels",
        "rank 2 is a straggler",
        "it computes longer, mainly in dot.1",
    ]);
}

#[test]
fn executions_of_one_instruction_are_paired_and_tie_the_clocks() {
    let place = job();
    let sheets = ranks(&place, &PROFILES);
    assert_eq!(sheets.column("matching", "match"), ["seq"; 4]);
    assert_eq!(sheets.column("matching", "not matched"), [0; 4]);
    assert_eq!(sheets.column("clock", "host"), ["host0", "host1"]);
    assert_eq!(sheets.column("clock", "offset_us"), [0.0, 7_000.0]);
    assert_eq!(sheets.column("group_summary", "ranks"), ["0,2", "1,3"]);
    assert_eq!(sheets.column("group_summary", "complete"), [STEPS, STEPS]);
    // 4 MiB in 0.2 ms; all that a group of two has crosses the link once.
    assert_eq!(sheets.column("group_summary", "algorithm bandwidth (GB/s)"), [20.97152; 2]);
    assert_eq!(sheets.column("group_summary", "bus bandwidth (GB/s)"), [20.97152; 2]);
    assert!(sheets.column("straggler_causes", "rank").iter().all(|rank| *rank == LATE));
    let lateness = sheets.column("ranks_overview", "lateness (ms)");
    // It enters 2 µs after the other where both compute for as long.
    let expected = 2.002 * (STEPS - LATE_FROM) as f64;
    assert!((lateness[LATE as usize].as_f64().unwrap() - expected).abs() < 1e-6, "{lateness:?}");
    // The report of the profiles has the same executions.
    let jax = ["jax", PROFILES[0], PROFILES[1], "--gpus_per_node", "2", "--json"];
    let of_profiles = Sheets::parse(&place.run(&jax).exits_with(0).out);
    assert_eq!(of_profiles.column("collective_slices", "num_devices"), [4; STEPS as usize]);
}

#[test]
fn profiles_are_mapped_together_and_kept_with_their_ranks() {
    let place = job();
    let map = |first: &str, second: &str| {
        place
            .run(&["ranks", "collect", first, second, "--out", "tables"])
            .exits_with(0)
            .with_summary(&["4 ranks in tables"])
            .err
            .clone()
    };
    let told = map(PROFILES[0], PROFILES[1]);
    assert!(told.contains("host1.xplane.pb: ranks 2-3, 48 events"), "{told}");
    assert_eq!(place.files("tables"), ["rank-00000", "rank-00001", "rank-00002", "rank-00003"]);
    let told = map(PROFILES[0], PROFILES[1]);
    assert!(told.contains("host0.xplane.pb: ranks 0-1, already there"), "{told}");
    place.run("ranks tables --output_csvs_dir a -q").exits_with(0);
    // The folder of the profiles stands for them.
    place.run("ranks job --output_csvs_dir b -q").exits_with(0);
    for file in place.files("a").iter().filter(|file| *file != "overview.csv") {
        assert_eq!(place.bytes(&format!("a/{file}")), place.bytes(&format!("b/{file}")), "{file}");
    }
    // In another order they have other ranks.
    let told = map(PROFILES[1], PROFILES[0]);
    assert!(told.contains("host1.xplane.pb: ranks 0-1, 48 events"), "{told}");
    assert_eq!(place.files("tables").len(), 4);
}

#[test]
fn a_profile_that_is_cut_off_keeps_its_ranks_free() {
    let place = job();
    let whole = host(0);
    place.put("job/cut.xplane.pb", &whole[..whole.len() / 2]);
    let three = ["ranks", "job/cut.xplane.pb", PROFILES[0], PROFILES[1], "--json"];
    let outcome = place.run(&three).exits_with(0);
    assert_eq!(Sheets::parse(&outcome.out).column("ranks_overview", "rank"), [2, 3, 4, 5]);
    assert!(outcome.err.contains("cut.xplane.pb"), "{outcome:#?}");
}

#[test]
fn what_makes_no_job_of_profiles_is_refused() {
    let place = job();
    let refused = |arguments: &[&str], parts: &[&str]| {
        place.run(arguments).exits_with(2).with_error(parts);
    };
    let trace = generated().to_str().unwrap();
    refused(&["ranks", PROFILES[0], trace], &["covers a whole host", trace, "on each kind"]);
    refused(&["ranks", "collect", PROFILES[0], trace, "--out", "tables"], &["on each kind"]);
    refused(&["ranks", PROFILES[0], "./job/host0.xplane.pb"], &["is given twice"]);
    let by_path = ["ranks", PROFILES[0], PROFILES[1], "--rank_regex", r"host(\d+)"];
    refused(&by_path, &["the order of the hosts", "--rank_regex"]);
    for option in ["--keep-events", "--waits"] {
        let single = ["map", PROFILES[0], PROFILES[1], "--out", "tables", option];
        refused(&single, &["works with traces only", option]);
    }
    refused(&["fuse", PROFILES[0], PROFILES[1], "-o", "job.json"], &["no trace events to copy"]);
    place.put("tpu.xplane.pb", plane(1, "/device:TPU:0", &[("XLA Ops", vec![("dot.1", 0, 10)])]));
    refused(&["ranks", "tpu.xplane.pb"], &["has no GPU work, only /device:TPU:0", "tracelens jax"]);
}
