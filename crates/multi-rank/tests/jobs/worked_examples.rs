//! The worked examples of TraceLens's report of collectives, from traces to tables.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use multi_rank::{
    BandwidthRule, ClockMode, Conventions, Job, JobAnalysis, JobFolder, JobOptions, LabelRule, MetadataRule,
    Pairing, RankColumns, Rounding, ShareRule, Source, SynchronisingRule, TieRule, job_sheets, rank_tables,
};
use sheets::{Layout, Scope, Table};
use tempfile::TempDir;
use testdata::corpus;
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};

/// A kernel of a collective: the values of its arguments, and its times in µs.
struct Kernel {
    arguments: String,
    name: &'static str,
    stream: i64,
    start: f64,
    duration: f64,
}

fn kernel(arguments: &str, stream: i64, start: f64, duration: f64) -> Kernel {
    Kernel { arguments: arguments.to_owned(), name: "ncclDevKernel_Generic(x)", stream, start, duration }
}

/// The trace of a rank.
fn trace(kernels: &[Kernel]) -> String {
    let mut events = String::new();
    for (correlation, Kernel { arguments, name, stream, start, duration }) in (1..).zip(kernels) {
        let comma = if arguments.is_empty() { "" } else { ", " };
        let _ = write!(
            events,
            r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": {stream}, "ts": {start}, "dur": {duration},
               "args": {{"device": 0, "stream": {stream}, "correlation": {correlation}{comma}{arguments}}}}},"#
        );
    }
    let events = events.trim_end_matches(',');
    format!(
        r#"{{"schemaVersion": 1, "deviceProperties": [{{"id": 0}}, {{"id": 1}}], "traceEvents": [{events}]}}"#
    )
}

/// The analysis of a job of these ranks.
fn analysed(ranks: &[Vec<Kernel>], options: JobOptions) -> (TempDir, JobAnalysis) {
    let folder = tempfile::tempdir().unwrap();
    let mut job = JobFolder::open(&folder.path().join("job")).unwrap();
    for (rank, kernels) in ranks.iter().enumerate() {
        let path: PathBuf = folder.path().join(format!("rank{rank}_trace.json"));
        fs::write(&path, trace(kernels)).unwrap();
        add(&mut job, &path);
    }
    let folders = (0..).zip(job.ranks()).map(|(rank, folder)| (folder.clone(), Some(rank))).collect();
    (folder, JobAnalysis::new(Job::open(folders).unwrap(), options).unwrap())
}

fn add(job: &mut JobFolder, path: &Path) {
    let trace = read_path(path, &ReadOptions::default()).unwrap();
    let tables = rank_tables(&Analysis::new(trace, AnalysisOptions::default()), path);
    job.add(&tables, Source::of(path).unwrap()).unwrap();
}

/// The conventions that differ from ours in every rule: those of TraceLens.
const THEIRS: Conventions = Conventions {
    scope: Scope::Core,
    layout: Layout::Listed,
    pairing: Some(Pairing::Position),
    clock: Some(ClockMode::Raw),
    metadata: MetadataRule::Recorded,
    labels: LabelRule::GroupName,
    synchronising: SynchronisingRule::Listed,
    bandwidth: BandwidthRule::Any,
    ties: TieRule::ByOrder,
    shares: ShareRule::Job,
    rounding: Rounding::Tenths,
    rank_columns: RankColumns::Always,
};

fn theirs() -> JobOptions {
    JobOptions {
        conventions: THEIRS,
        all2allv_heatmap: true,
        gpus_per_node: Some(2),
        ..JobOptions::default()
    }
}

fn table(analysis: &JobAnalysis, name: &str) -> Table {
    let sheet = job_sheets().into_iter().find(|sheet| sheet.name == name).unwrap();
    sheet.table_in(analysis, Layout::Listed).unwrap().unwrap()
}

/// The cells of some columns, whose names are joined by ` | `, row by row.
fn cells(table: &Table, columns: &str) -> Vec<Vec<String>> {
    let column = |name: &str| table.column(name).unwrap_or_else(|| panic!("no column {name}"));
    let columns: Vec<_> = columns.split(" | ").map(column).collect();
    (0..table.height())
        .map(|row| columns.iter().map(|column| column.cell(row).text().into_owned()).collect())
        .collect()
}

fn assert_rows(table: &Table, columns: &str, expected: &[&str]) {
    let expected: Vec<Vec<String>> =
        expected.iter().map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect()).collect();
    assert_eq!(cells(table, columns), expected);
}

/// Four ranks with a world and two pairs, all kinds of collectives (called M4 in the reference's tests).
fn four_ranks() -> Vec<Vec<Kernel>> {
    let described = |group: &str, name: &str, dtype: &str, given: i64, got: i64, splits: [&str; 2]| {
        let (group, ranks, size) = match group {
            "0" => ("0", "[0, 1, 2, 3]", 4),
            "1" => ("1", "[0, 1]", 2),
            _ => ("2", "[2, 3]", 2),
        };
        format!(
            r#""Collective name": "{name}", "Process Group Name": "{group}", "Process Group Ranks": "{ranks}",
               "Group size": {size}, "dtype": "{dtype}", "In msg nelems": {given}, "Out msg nelems": {got},
               "In split size": "{}", "Out split size": "{}""#,
            splits[0], splits[1]
        )
    };
    let even = ["[]", "[]"];
    let rank = |rank: usize| {
        let r = rank as f64;
        let pair = if rank < 2 { "1" } else { "2" };
        let split =
            ["[100, 200, 300, 400]", "[100, 100, 100, 100]", "[0, 0, 0, 0]", "[50, 50, 50, 50]"][rank];
        let given = [1000, 400, 0, 200][rank];
        vec![
            kernel(
                &described("0", "_allgather_base", "BFloat16", 1_048_576, 4_194_304, even),
                7,
                [1000.0, 1030.0, 1010.0, 1050.0][rank],
                [100.0, 70.0, 90.0, 52.0][rank],
            ),
            kernel(
                &described("0", "_reduce_scatter_base", "Float", 4_194_304, 1_048_576, even),
                7,
                [2000.0, 2004.0, 2001.0, 2002.0][rank],
                [40.0, 36.0, 39.0, 38.5][rank],
            ),
            kernel(
                &described(pair, "allreduce", "Float", 262_144, 262_144, even),
                9,
                3000.0 + 5.0 * r,
                20.0 - 2.0 * r,
            ),
            kernel(
                &described(pair, "allreduce", "Float", 262_144, 262_144, even),
                9,
                3100.0 + 7.0 * r,
                30.0 - 2.0 * r,
            ),
            kernel(&described("0", "broadcast", "Float", 100, 100, even), 7, 4000.0 + r, 10.0),
            kernel(
                &described("0", "all_to_allv", "BFloat16", given, 400, [split, "[100, 100, 100, 100]"]),
                7,
                5000.0 + 10.0 * r,
                [200.0, 150.0, 20.0, 120.0][rank],
            ),
            kernel(&described("0", "all_to_all", "Half", 65_536, 65_536, even), 7, 6000.0 + r, 60.0 - r),
            kernel(
                &described("0", "allreduce", "Float8_e4m3fn", 65_536, 65_536, even),
                7,
                7000.0 + r,
                25.0 - r,
            ),
        ]
    };
    (0..4).map(rank).collect()
}

#[test]
fn four_ranks_give_the_figures_of_the_reference() {
    let (_folder, analysis) = analysed(&four_ranks(), theirs());
    assert_rows(
        &table(&analysis, "nccl_implicit_sync"),
        "collective_id | Full msg size (MB) | comm_latency | skew in start time \
         | earliest arrival rank | avg_wait_time | skew in end time | algo bw (GB/s) \
         | bus bw (GB/s) | node_span",
        &[
            "0_0|8.0|52.0|50.0|0|27.5|2.0|150.2403846153846|112.68028846153845|inter_node",
            "0_1|16.0|36.0|4.0|0|2.25|0.5|434.02777777777777|325.5208333333333|inter_node",
            "1_0|1.0|18.0|5.0|0|2.5|3.0|54.25347222222222|54.25347222222222|intra_node",
            "1_1|1.0|28.0|7.0|0|3.5|5.0|34.877232142857146|34.877232142857146|intra_node",
            "0_4|0.125|57.0|3.0|0|1.5|0.0|2.141584429824561|1.6061883223684208|inter_node",
            "0_5||22.0|3.0|0|1.5|0.0|||inter_node",
            "2_0|1.0|14.0|5.0|2|2.5|3.0|69.75446428571429|69.75446428571429|intra_node",
            "2_1|1.0|24.0|7.0|2|3.5|5.0|40.690104166666664|40.690104166666664|intra_node",
        ],
    );
    assert_rows(
        &table(&analysis, "nccl_summary_implicit_sync"),
        "Collective name | dtype | In msg nelems | Process Group Name | Group size | count \
         | Total comm latency (ms)",
        &[
            "allreduce|Float|262144|1|2|4|0.084",
            "all_to_all|Half|65536|0|4|1|0.057",
            "_allgather_base|BFloat16|1048576|0|4|1|0.052",
            "_reduce_scatter_base|Float|4194304|0|4|1|0.036",
            "allreduce|Float8_e4m3fn|65536|0|4|1|0.022",
        ],
    );
    assert_rows(
        &table(&analysis, "straggler_summary"),
        "rank | total_wait_time_us | mean_wait_time_us | times_arrived_last \
         | times_arrived_first | pct_arrived_last | num_collectives | total_nccl_dur_us \
         | node_id",
        &[
            "3|2.0|0.3|5|0|62.5|8|337.5|1",
            "1|24.0|4.0|3|0|37.5|8|395.0|0",
            "2|57.0|9.5|0|2|0.0|8|282.0|1",
            "0|72.0|12.0|0|6|0.0|8|485.0|0",
        ],
    );
    let uneven = table(&analysis, "nccl_all2allv");
    assert_rows(
        &uneven,
        "collective_id | total data communicated (MB) | total nelems communicated \
         | wall_time (us) | max_rank_dur (us) | min_rank_dur (us) | avg_rank_dur (us) \
         | throughput (GB/s) | max_rank_throughput (GB/s) | min_rank_throughput (GB/s) \
         | size_imbalance | skew in start time | skew in end time | rank_1_In split size \
         | rank_3_skew in start time",
        &["0_3|0.0030517578125|1600|200.0|200.0|20.0|122.5|0.014901161193847656|0.009313225746154785|\
           0.0031044085820515948|2.5|30.0|160.0|[100, 100, 100, 100]|30.0"],
    );
    let sent = table(&analysis, "nccl_all2allv_heatmap");
    assert_eq!(sent.height(), 16);
    assert_eq!(
        cells(&sent, "src_rank | dst_rank | total_sent_MB | count")[..4],
        [
            ["0", "0", "0.00019073486328125", "1"],
            ["0", "1", "0.0003814697265625", "1"],
            ["0", "2", "0.00057220458984375", "1"],
            ["0", "3", "0.000762939453125", "1"],
        ]
    );
    assert_eq!(table(&analysis, "nccl_long").height(), 32);
}

#[test]
fn our_figures_count_over_the_collectives_of_a_rank_and_know_more_types() {
    let options = JobOptions { gpus_per_node: Some(2), ..JobOptions::default() };
    let (_folder, analysis) = analysed(&four_ranks(), options);
    let collectives = table(&analysis, "nccl_implicit_sync");
    let eight_bits = cells(&collectives, "dtype | Full msg size (MB)");
    assert!(eight_bits.contains(&vec!["Float8_e4m3fn".to_owned(), "0.0625".to_owned()]), "{eight_bits:?}");
    let stragglers = table(&analysis, "straggler_summary");
    assert_rows(
        &stragglers,
        "rank | times_arrived_last | pct_arrived_last | num_collectives",
        &["3|5|83.33333333333333|6", "1|3|50.0|6", "2|0|0.0|6", "0|0|0.0|6"],
    );
}

/// Two ranks without any metadata.
#[test]
fn kernels_without_metadata_are_matched_by_place() {
    let reduce = "cross_device_reduce_1stage";
    let custom = |start, duration| Kernel { name: reduce, ..kernel("", 7, start, duration) };
    let ranks = vec![
        vec![kernel("", 7, 100.0, 10.0), custom(200.0, 12.0), kernel("", 7, 300.0, 5.0)],
        vec![kernel("", 7, 103.0, 7.0), custom(201.0, 11.0), kernel("", 7, 302.0, 4.0)],
    ];
    let options = JobOptions { gpus_per_node: None, ..theirs() };
    let (_folder, analysis) = analysed(&ranks, options);
    assert_rows(
        &table(&analysis, "nccl_implicit_sync"),
        "collective_id | comm_latency | skew in start time | skew in end time",
        &["0|7.0|3.0|0.0", "1|11.0|1.0|0.0", "2|4.0|2.0|1.0"],
    );
    assert_rows(
        &table(&analysis, "nccl_summary_implicit_sync"),
        "Collective name | dtype | In msg nelems | count | Total comm latency (ms)",
        &["Unknown|Unknown|Unknown|2|0.011", "allreduce|Unknown|Unknown|1|0.011"],
    );
    let long = job_sheets().into_iter().find(|sheet| sheet.name == "nccl_summary_long").unwrap();
    assert!(long.table_in(&analysis, Layout::Listed).unwrap().is_none());
}

/// A rank whose window opens later: the reference pairs collectives that are not the same.
#[test]
fn a_later_window_shifts_the_reference_but_not_us() {
    let same = r#""Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
                  "Group size": 2, "dtype": "Float", "In msg nelems": 4, "Out msg nelems": 4,
                  "In split size": "[]", "Out split size": "[]""#;
    let ranks = || {
        vec![
            vec![kernel(same, 7, 0.0, 50.0), kernel(same, 7, 100.0, 10.0), kernel(same, 7, 200.0, 10.0)],
            vec![kernel(same, 7, 101.0, 9.0), kernel(same, 7, 201.0, 9.0)],
        ]
    };
    let (_folder, reference) = analysed(&ranks(), JobOptions { gpus_per_node: None, ..theirs() });
    let skews = |analysis: &JobAnalysis| cells(&table(analysis, "nccl_implicit_sync"), "skew in start time");
    assert_eq!(skews(&reference), [["101.0"], ["101.0"], ["0.0"]]);
    let (_folder, ours) = analysed(&ranks(), JobOptions::default());
    assert_eq!(skews(&ours), [["0.0"], ["1.0"], ["1.0"]]);
}

/// The eight ranks of `llama_70b_fsdp` as far as the figures of the reference tell them: rank 4 enters every collective
/// last, so that each lasts as long as it does there. Of many instances of one collective the sum is known.
fn sharded_training() -> Vec<Vec<Kernel>> {
    // Name, type, elements given and got, and the durations on rank 4 in µs.
    let collectives: [(&str, &str, i64, i64, &[f64]); 5] = [
        ("_reduce_scatter_base", "Float", 2_101_354_496, 262_669_312, &[22_954.712, 23_022.294]),
        ("_reduce_scatter_base", "Float", 855_654_400, 106_956_800, &[900_000.5, 966_042.189]),
        ("_allgather_base", "BFloat16", 106_956_800, 855_654_400, &[1_000_000.125, 956_918.211]),
        ("_allgather_base", "BFloat16", 262_669_312, 2_101_354_496, &[37_170.842]),
        ("allreduce", "Float", 1, 1, &[4_644.457]),
    ];
    let rank = |rank: usize| {
        let mut start = 1_000.0;
        let mut kernels = Vec::new();
        for (name, dtype, given, got, durations) in collectives {
            let arguments = format!(
                r#""Collective name": "{name}", "Process Group Name": "0",
                   "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]", "Group size": 8, "dtype": "{dtype}",
                   "In msg nelems": {given}, "Out msg nelems": {got}, "In split size": "[]", "Out split size": "[]""#
            );
            for duration in durations {
                // All leave together; the others have waited for rank 4.
                let waited = [7.0, 5.0, 6.0, 3.0, 0.0, 2.0, 4.0, 1.0][rank];
                kernels.push(kernel(&arguments, 7, start - waited, duration + waited));
                start += duration + 100.0;
            }
        }
        kernels
    };
    (0..8).map(rank).collect()
}

/// Asserts that the cells of a row are these numbers, to 1e-6 of each.
fn assert_numbers(row: &[String], expected: &[f64]) {
    assert_eq!(row.len(), expected.len());
    for (cell, expected) in row.iter().zip(expected) {
        let found: f64 = cell.parse().unwrap();
        assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{found}, expected {expected}");
    }
}

#[test]
fn eight_ranks_of_sharded_training_give_the_figures_of_the_reference() {
    let (_folder, analysis) =
        analysed(&sharded_training(), JobOptions { gpus_per_node: Some(8), ..theirs() });
    let collectives = table(&analysis, "nccl_implicit_sync");
    let columns = "Full msg size (MB) | comm_latency | algo bw (GB/s) | bus bw (GB/s) \
         | In msg size (MB) | skew in start time";
    let figures = cells(&collectives, columns);
    let (first, second) = (341.026_082_905_249_5, 340.025_000_009_908_87);
    let bus = 7.0 / 8.0;
    assert_numbers(&figures[0], &[8_016.031_25, 22_954.712, first, first * bus, 8_016.031_25, 7.0]);
    assert_numbers(&figures[1], &[8_016.031_25, 23_022.294, second, second * bus, 8_016.031_25, 7.0]);
    assert_numbers(&figures[7][4..], &[3.814_697_265_625e-6, 7.0]);

    let summary = table(&analysis, "nccl_summary_implicit_sync");
    let sums = cells(&summary, "Collective name | In msg nelems | count | Total comm latency (ms)");
    let of_reduce_scatter = sums.iter().find(|row| row[1] == "855654400").unwrap();
    assert_eq!(of_reduce_scatter[0], "_reduce_scatter_base");
    assert_numbers(&of_reduce_scatter[2..], &[2.0, 1_866.042_689]);

    let stragglers = table(&analysis, "straggler_summary");
    assert_rows(
        &stragglers,
        "rank | total_wait_time_us | times_arrived_last | pct_arrived_last | total_nccl_dur_us",
        &[
            "4|0.0|8|100.0|3910753.3",
            "7|8.0|0|0.0|3910761.3",
            "5|16.0|0|0.0|3910769.3",
            "3|24.0|0|0.0|3910777.3",
            "6|32.0|0|0.0|3910785.3",
            "1|40.0|0|0.0|3910793.3",
            "2|48.0|0|0.0|3910801.3",
            "0|56.0|0|0.0|3910809.3",
        ],
    );
}

/// Recorded traces: time of all device events, to the nanosecond.
#[test]
fn corpus_traces_have_exact_device_times() {
    // Idle and whole time in ns, by integers of the recordings.
    const CASES: [(&str, i64, i64); 8] = [
        ("h100-falconsai-vit", 6_334_534, 7_559_844),
        ("h100-qwen1.5-0.5b", 4_005_532, 49_652_832),
        ("h100-owlv2-large", 511_528_902, 1_078_288_379),
        ("mi300-bert-small", 3_105_228, 3_495_976),
        ("mi300-qwen1.5-0.5b", 4_022_998, 47_085_800),
        ("mi300-timesformer", 1_414_321, 121_267_204),
        ("normalization-layers", 1_067_761_200, 1_068_779_832),
        ("torch-compile-triton", 11, 12_549_032),
    ];
    for (case, idle, whole) in CASES {
        let Some(folder) = corpus(&format!("pytorch/{case}")) else { return };
        let path = folder.join("trace.json.gz");
        let trace = read_path(&path, &ReadOptions::default()).unwrap();
        let options = AnalysisOptions { include_unlinked_kernels: true, ..AnalysisOptions::default() };
        let rank = rank_tables(&Analysis::new(trace, options), &path).rank;
        assert_eq!((rank.idle_ns, rank.busy_ns + rank.idle_ns), (idle, whole), "{case}");
        let in_parts = rank.computation_ns + rank.exposed_communication_ns + rank.exposed_copies_ns;
        assert_eq!(in_parts, rank.busy_ns, "{case}");
    }
}
