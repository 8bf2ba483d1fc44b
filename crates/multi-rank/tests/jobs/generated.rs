//! Generated jobs, whose truth is known: pairs, clocks, bad input, causes.
#![allow(clippy::print_stdout)] // figures for the reader

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use multi_rank::{
    EventRow, Job, JobAnalysis, JobFolder, JobOptions, OpRow, RankFolder, Source, job_sheets, rank_tables,
    single_events,
};
use sheets::{Layout, Table};
use tempfile::TempDir;
use testdata::job::{Fault, FaultKind, JobPlan, Numbered, Parallelism};
use trace_ingest::{EventId, ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};

const DP: Parallelism = Parallelism { tensor: 1, pipeline: 1, data: 8, expert: 1 };
const DP_TP: Parallelism = Parallelism { tensor: 4, pipeline: 1, data: 2, expert: 1 };
const ALL: Parallelism = Parallelism { tensor: 2, pipeline: 2, data: 2, expert: 2 };

/// A generated job, its recordings mapped and analysed.
struct Run {
    truth: testdata::job::Job,
    /// By rank and collective of its program the place of the kernel in the recording.
    ordinals: Vec<Vec<Option<u32>>>,
    /// What mapping refused.
    refused: Vec<String>,
    analysis: JobAnalysis,
    _folder: TempDir,
}

fn plan(parallelism: Parallelism, seed: u64) -> JobPlan {
    JobPlan::new(8, parallelism, seed)
}

fn run(plan: JobPlan) -> Run {
    run_in_order(plan, |_| {})
}

/// The same with the recordings in another order.
fn run_in_order(plan: JobPlan, order: impl FnOnce(&mut Vec<RankFolder>)) -> Run {
    let truth = testdata::job::Job::new(plan).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut job = JobFolder::open(&folder.path().join("job")).unwrap();
    let mut ordinals = vec![Vec::new(); truth.plan().ranks as usize];
    let mut refused = Vec::new();
    for file in truth.files() {
        let recording = truth.recording(file.rank).unwrap();
        let path = folder.path().join(&file.name);
        fs::write(&path, &recording.text).unwrap();
        let trace = read_path(&path, &ReadOptions::default()).unwrap();
        let tables = rank_tables(&Analysis::new(trace, AnalysisOptions::default()), &path);
        if let Err(error) = job.add(&tables, Source::of(&path).unwrap()) {
            refused.push(error.to_string());
        }
        ordinals[file.rank as usize] = recording.ordinals;
    }
    let mut folders = job.ranks().to_vec();
    order(&mut folders);
    let opened = Job::open(folders.into_iter().map(|folder| (folder, None)).collect()).unwrap();
    let analysis = JobAnalysis::new(opened, JobOptions::default()).unwrap();
    Run { truth, ordinals, refused, analysis, _folder: folder }
}

fn table(analysis: &JobAnalysis, name: &str) -> Option<Table> {
    let sheet = job_sheets().into_iter().find(|sheet| sheet.name == name).unwrap();
    sheet.table_in(analysis, Layout::Listed).unwrap()
}

/// The cells of some columns, row by row.
fn cells<const N: usize>(analysis: &JobAnalysis, name: &str, columns: [&str; N]) -> Vec<[String; N]> {
    let Some(table) = table(analysis, name) else { return Vec::new() };
    let columns = columns.map(|name| table.column(name).unwrap_or_else(|| panic!("no column {name}")));
    (0..table.height()).map(|row| columns.map(|column| column.cell(row).text().into_owned())).collect()
}

/// How the kernels of collectives were paired.
#[derive(Debug, Default, PartialEq, Eq)]
struct Pairs {
    /// Kernels in all.
    kernels: usize,
    /// Kernels paired with those of another collective.
    wrong: usize,
    /// The same of ranks whose pairs are not said to be a guess.
    silently_wrong: usize,
    /// Kernels without all the others that were recorded of their collective.
    split: usize,
}

impl Run {
    fn pairs(&self) -> Pairs {
        // By rank the collective that each kernel of the recording is of.
        let true_of = self.truth.collective_of();
        let mut of_kernels: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for (&(rank, exchange), &collective) in &true_of {
            let of_rank = &self.ordinals[rank as usize];
            if let Some(ordinal) = of_rank.get(exchange as usize).copied().flatten() {
                of_kernels.insert((rank, ordinal), collective);
            }
        }
        let mut places: BTreeMap<u32, u32> = BTreeMap::new();
        let mut by_id: BTreeMap<String, Vec<(u32, usize)>> = BTreeMap::new();
        let mut by_truth: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let mut pairs = Pairs::default();
        for [id, rank] in cells(&self.analysis, "nccl_long", ["collective_id", "rank"]) {
            let rank: u32 = rank.parse().unwrap();
            let place = places.entry(rank).or_default();
            let Some(&collective) = of_kernels.get(&(rank, *place)) else { continue };
            *place += 1;
            pairs.kernels += 1;
            if !id.is_empty() {
                by_id.entry(id.clone()).or_default().push((rank, collective));
            }
            by_truth.entry(collective).or_default().push(id);
        }
        let ambiguous = self.diagnostics().into_iter().filter(|of| of.0 == "uncertain matching");
        let ambiguous: BTreeSet<u32> = ambiguous.filter_map(|of| of.1).collect();
        let wrong = |paired: &[usize]| {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            paired.iter().for_each(|&collective| *counts.entry(collective).or_default() += 1);
            paired.len() - counts.values().max().copied().unwrap_or(0)
        };
        for paired in by_id.values() {
            let all: Vec<usize> = paired.iter().map(|of| of.1).collect();
            let sure: Vec<usize> =
                paired.iter().filter(|of| !ambiguous.contains(&of.0)).map(|of| of.1).collect();
            pairs.wrong += wrong(&all);
            pairs.silently_wrong += wrong(&sure);
        }
        for ids in by_truth.values().filter(|ids| ids.len() > 1) {
            let distinct: BTreeSet<&String> = ids.iter().collect();
            if distinct.len() > 1 || ids[0].is_empty() {
                pairs.split += ids.len();
            }
        }
        pairs
    }

    /// Diagnostics as kind and rank.
    fn diagnostics(&self) -> Vec<(&'static str, Option<u32>)> {
        self.analysis.diagnostics().iter().map(|diagnostic| (diagnostic.kind(), diagnostic.rank())).collect()
    }

    fn said(&self) -> String {
        let lines = self
            .analysis
            .diagnostics()
            .iter()
            .map(|diagnostic| format!("{}: {diagnostic}\n", diagnostic.kind()));
        lines.collect()
    }
}

#[test]
fn numbered_collectives_are_all_paired_right() {
    for (parallelism, numbered) in [
        (DP, Numbered::Kernel),
        (DP_TP, Numbered::Operator),
        (ALL, Numbered::Kernel),
        (Parallelism { tensor: 1, pipeline: 4, data: 2, expert: 1 }, Numbered::Kernel),
    ] {
        for same_names in [false, true] {
            let run = run(JobPlan { numbered, same_names, ..plan(parallelism, 1) });
            let pairs = run.pairs();
            assert!(pairs.kernels > 100);
            assert_eq!(
                (pairs.wrong, pairs.split),
                (0, 0),
                "{parallelism:?} {same_names} {pairs:?}\n{}",
                run.said()
            );
            assert_eq!(run.said(), "");
        }
    }
}

/// No numbers, 50 µs between the ends, kernels dropped on each rank, a clipped recording and another clock.
fn rough(plan: JobPlan, dropped: i64) -> JobPlan {
    let mut faults = vec![
        Fault::new(FaultKind::ClockOffset, 1).of_amount(-4_300),
        Fault::new(FaultKind::WindowShift, 2).of_amount(6),
    ];
    faults.extend((0..8).map(|rank| Fault::new(FaultKind::Dropped, rank).of_amount(dropped)));
    JobPlan { end_jitter: 25_000, collectives: 400, steps: 8, numbered: Numbered::Nowhere, faults, ..plan }
}

#[test]
fn collectives_without_numbers_are_paired_right() {
    for (parallelism, dropped) in [(DP, 0), (DP, 1), (DP, 20), (DP_TP, 20), (ALL, 20)] {
        let run = run(rough(plan(parallelism, dropped as u64), dropped));
        let pairs = run.pairs();
        println!("{parallelism:?} {dropped} {pairs:?}\n{}", run.said());
        assert!(pairs.kernels > 3_000);
        assert_eq!((pairs.wrong, pairs.silently_wrong), (0, 0), "{parallelism:?} {dropped}\n{}", run.said());
        assert!(pairs.split < pairs.kernels / 20, "{pairs:?}\n{}", run.said());
    }
}

#[test]
fn kernels_without_metadata_are_paired_right_or_not_at_all() {
    for (parallelism, are_paired) in [(DP, true), (DP_TP, false), (ALL, false)] {
        let mut plan = rough(plan(parallelism, 4), 20);
        plan.faults.extend((0..8).map(|rank| Fault::new(FaultKind::NoMetadata, rank)));
        let run = run(plan);
        let pairs = run.pairs();
        println!("NM {parallelism:?} {pairs:?}\n{}", run.said());
        assert_eq!(pairs.wrong, 0, "{}", run.said());
        assert!(run.diagnostics().contains(&("no metadata", None)));
        match are_paired {
            true => assert!(pairs.split < pairs.kernels / 10, "{pairs:?}\n{}", run.said()),
            // Several streams are several groups, which nothing tells.
            false => assert!(run.diagnostics().contains(&("uncertain matching", Some(5))), "{}", run.said()),
        }
    }
}

#[test]
fn clocks_are_found() {
    let run = run(JobPlan {
        faults: vec![
            Fault::new(FaultKind::ClockOffset, 1).of_amount(2_750),
            Fault::new(FaultKind::ClockDrift, 1).of_amount(80),
        ],
        steps: 16,
        collectives: 160,
        ..plan(DP_TP, 5)
    });
    let clocks = cells(&run.analysis, "clock", ["host", "offset_us", "drift_ppm", "mad_us"]);
    let number = |text: &str| text.parse::<f64>().unwrap();
    let [host, offset, drift, deviation] = &clocks[1];
    assert_eq!(host, "gpu-01");
    // The offset is that in the middle of the recording.
    let length: i64 = run.truth.truth().steps.iter().sum();
    let expected = 2_750.0 + 80.0 * length as f64 / 2e9;
    assert!((number(offset) - expected).abs() < 3.0, "{offset}, expected {expected}");
    assert!((number(drift) - 80.0).abs() < 8.0, "{drift}");
    assert!(number(deviation) < 3.0, "{deviation}");
    assert_eq!(run.said(), "");
}

#[test]
fn the_order_of_files_changes_nothing() {
    let plan = || rough(plan(DP_TP, 6), 5);
    let sheets = |run: &Run| {
        let tables = job_sheets().into_iter().filter_map(|sheet| {
            let table = sheet.table_in(&run.analysis, Layout::Listed).unwrap()?;
            let columns = table.columns().iter().filter(|column| column.name() != "recording");
            let cells = columns
                .flat_map(|column| (0..table.height()).map(|row| column.cell(row).text().into_owned()));
            Some((sheet.name, cells.collect::<Vec<_>>()))
        });
        tables.collect::<Vec<_>>()
    };
    let straight = run(plan());
    let reversed = run_in_order(plan(), |folders| folders.reverse());
    let rotated = run_in_order(plan(), |folders| folders.rotate_left(3));
    assert_eq!(sheets(&straight), sheets(&reversed));
    assert_eq!(sheets(&straight), sheets(&rotated));
}

#[test]
fn operators_of_a_rank_add_up_to_its_launched_work() {
    let truth = testdata::job::Job::new(plan(DP_TP, 1)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rank0_trace.json");
    fs::write(&path, &truth.recording(0).unwrap().text).unwrap();
    let analysis =
        Analysis::new(read_path(&path, &ReadOptions::default()).unwrap(), AnalysisOptions::default());
    let ops = rank_tables(&analysis, &path).ops;
    let sum = |figure: fn(&OpRow) -> i64| ops.iter().map(figure).sum::<i64>();
    let operators: BTreeSet<EventId> = analysis.charged_work().map(|work| work.operator).collect();
    assert_eq!(sum(|op| op.calls), operators.len() as i64);
    let kernels: usize = analysis.launchers().map(|launcher| launcher.kernels.len()).sum();
    assert_eq!(sum(|op| op.kernels), kernels as i64);
    let unit = analysis.trace().time_unit().per_microsecond() / 1000;
    let device: i64 = analysis.launchers().map(|launcher| launcher.direct_time / unit).sum();
    assert_eq!(sum(|op| op.device_ns), device);
    let product = ops.iter().find(|op| op.name.as_deref() == Some("aten::mm")).unwrap();
    assert_eq!(product.category.as_deref(), Some("GEMM"));
    assert!(product.host_ns > 0 && product.calls == product.kernels);
    // Without shapes there is no telling what it did.
    assert_eq!((product.signature, product.flops, product.modelled_calls), (None, None, 0));
}

#[test]
fn operators_have_what_their_models_say_of_their_arguments() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/cuda_training_step.json.gz");
    let analysis =
        Analysis::new(read_path(&path, &ReadOptions::default()).unwrap(), AnalysisOptions::default());
    let ops = rank_tables(&analysis, &path).ops;
    let of = |dims: &str| {
        let mut found = ops.iter().filter(|op| op.input_dims.as_deref() == Some(dims));
        let only = found.find(|op| op.name.as_deref() == Some("aten::mm")).unwrap();
        assert!(found.all(|op| op.name != only.name), "{dims} comes twice");
        only
    };
    let (narrow, wide) = (of("((3840, 4096), (4096, 4096))"), of("((3840, 4096), (4096, 11008))"));
    for (product, columns) in [(narrow, 4096), (wide, 11_008)] {
        let (rows, inner) = (3840, 4096);
        assert_eq!((product.calls, product.modelled_calls, product.kernels), (2, 2, 2));
        assert_eq!(product.input_types.as_deref(), Some("('c10::BFloat16', 'c10::BFloat16')"));
        assert_eq!(product.flops, Some(2 * 2 * rows * inner * columns));
        assert_eq!(product.bytes, Some(2 * 2 * (rows * inner + inner * columns + rows * columns)));
    }
    assert_ne!(narrow.signature, wide.signature);
    // The sums are those of the report.
    let sum = |figure: fn(&OpRow) -> Option<i64>| ops.iter().filter_map(figure).sum::<i64>();
    let whole = |figure: Option<f64>| figure.map_or(0, |figure| figure.round() as i64);
    assert_eq!(sum(|op| op.flops), analysis.charged_work().map(|work| whole(work.flops())).sum::<i64>());
    assert_eq!(sum(|op| op.bytes), analysis.charged_work().map(|work| whole(work.bytes())).sum::<i64>());
}

#[test]
fn events_that_are_kept_lead_from_device_work_to_the_call_that_launched_it() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/cuda_training_step.json.gz");
    let analysis =
        Analysis::new(read_path(&path, &ReadOptions::default()).unwrap(), AnalysisOptions::default());
    let rows = single_events(&analysis);
    assert!(rows.is_sorted_by_key(|row| (row.start_ns, row.event)));
    let (calls, on_device): (Vec<&EventRow>, Vec<&EventRow>) =
        rows.iter().partition(|row| row.thread.is_some());
    assert_eq!(on_device.len(), analysis.device_event_count());
    assert!(on_device.iter().all(|row| row.stream.is_some()));
    let by_event: BTreeMap<i64, &EventRow> = calls.iter().map(|row| (i64::from(row.event), *row)).collect();
    for row in on_device {
        let call = by_event[&row.launched_by.unwrap()];
        assert!(call.start_ns <= row.start_ns, "{call:?} {row:?}");
        assert_eq!(call.step, row.step);
    }
    // No call is in another of its thread.
    let mut ends: BTreeMap<Option<i64>, i64> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.category.as_deref() == Some("cpu_op")) {
        let end = ends.insert(call.thread, call.start_ns + call.duration_ns).unwrap_or(i64::MIN);
        assert!(end <= call.start_ns, "{call:?}");
    }
    let busy: i64 = rank_tables(&analysis, &path).kernels.iter().map(|row| row.sum_ns).sum();
    assert_eq!(rows.iter().filter(|row| row.stream.is_some()).map(|row| row.duration_ns).sum::<i64>(), busy);
}

#[test]
fn what_is_wrong_with_recordings_is_named() {
    for (kind, expected) in [
        (FaultKind::WindowShift, vec![("different number of steps", Some(5)), ("shorter window", Some(5))]),
        (FaultKind::Dropped, vec![("collectives missing", Some(5))]),
        (FaultKind::NoMetadata, vec![("no metadata", None)]),
        (FaultKind::MissingRank, vec![("ranks missing", None)]),
        (
            FaultKind::CutOff,
            vec![("truncated", Some(5)), ("different number of steps", Some(5)), ("shorter window", Some(5))],
        ),
        (FaultKind::OtherJob, vec![("different job", None), ("ranks missing", None)]),
        (FaultKind::FewerSteps, vec![("different number of steps", Some(5)), ("shorter window", Some(5))]),
    ] {
        let run = run(JobPlan { faults: vec![Fault::new(kind, 5)], ..plan(DP_TP, 3) });
        assert_eq!(run.diagnostics(), expected, "{}: {}", kind.name(), run.said());
        assert_eq!(run.pairs().wrong, 0);
    }
    let twice = run(JobPlan { faults: vec![Fault::new(FaultKind::DuplicateRank, 5)], ..plan(DP, 3) });
    assert!(
        matches!(&*twice.refused, [refused] if refused.contains("both are recordings of rank 5")),
        "{:?}",
        twice.refused
    );
    assert_eq!(twice.said(), "");
}

/// A delay that goes from one group to the next counts once, and for who made it.
#[test]
fn a_delay_counts_once() {
    let fault = Fault::new(FaultKind::DataLoader, 5).in_steps(1..=2);
    let run = run(JobPlan { faults: vec![fault], ..plan(DP_TP, 0) });
    for [rank, lateness] in cells(&run.analysis, "ranks_overview", ["rank", "lateness (ms)"]) {
        let expected = if rank == "5" { 6.0 } else { 0.0 };
        let lateness: f64 = lateness.parse().unwrap();
        assert!((lateness - expected).abs() < 0.3, "rank {rank}: {lateness} ms, expected {expected}");
    }
}

/// A row of `straggler_causes` with more lateness than 1% of a step.
#[derive(Debug, PartialEq)]
struct Named {
    rank: u32,
    step: u32,
    cause: String,
    what: String,
}

impl Run {
    fn named(&self) -> Vec<Named> {
        let columns = ["rank", "step", "lateness (ms)", "cause", "what"];
        let step = self.truth.truth().steps.iter().max().copied().unwrap() as f64;
        let rows = cells(&self.analysis, "straggler_causes", columns).into_iter();
        let rows = rows.filter(|[_, _, lateness, ..]| lateness.parse::<f64>().unwrap() * 1e6 > step / 100.0);
        // Numbers of steps begin with 10.
        rows.map(|[rank, step, _, cause, what]| Named {
            rank: rank.parse().unwrap(),
            step: step.parse::<u32>().unwrap() % 10,
            cause,
            what,
        })
        .collect()
    }
}

#[test]
fn planted_causes_are_named() {
    use FaultKind::{
        ClockJump, DataLoader, DeviceIdle, GarbageCollection, HostStall, SlowCopy, SlowDevice, SlowGemm,
        SlowHost, SlowLink, WindowShift,
    };
    let cases: [(FaultKind, Parallelism, &str, &str); 12] = [
        (SlowGemm, DP, "computation", "nvjet_tst"),
        (SlowDevice, DP, "computation", ""),
        (SlowCopy, DP, "copies", "Memcpy HtoD"),
        (HostStall, DP, "host", "unrecorded code"),
        (SlowHost, DP, "host", ""),
        (DataLoader, DP, "host", "enumerate(DataLoader)"),
        (GarbageCollection, DP, "host", "<built-in function collect>"),
        (DeviceIdle, DP, "idle", ""),
        (SlowLink, DP_TP, "slow transfer", "TENSOR_MODEL_PARALLEL_GROUP"),
        (DataLoader, DP_TP, "host", "enumerate(DataLoader)"),
        (WindowShift, DP, "shorter window", ""),
        (ClockJump, DP_TP, "clock jump", ""),
    ];
    for (kind, parallelism, cause, what) in cases {
        for seed in 0..2 {
            let at = if kind.is_of_host() { 1 } else { 5 };
            let fault = Fault::new(kind, at).in_steps(1..=2);
            let usual = plan(parallelism, seed);
            // A jump is told from a late rank by what comes before and after it.
            let collectives = if kind == ClockJump { 160 } else { usual.collectives };
            let run = run(JobPlan { faults: vec![fault], collectives, ..usual });
            let named = run.named();
            println!("== {} {seed} {named:?}\n{}", kind.name(), run.said());
            if !kind.is_cause() {
                assert!(run.diagnostics().iter().any(|of| of.0 == cause), "{}: {}", kind.name(), run.said());
                assert_eq!(named, [], "{} {seed}", kind.name());
                continue;
            }
            for step in 1..=2 {
                let own = named.iter().find(|named| (named.rank, named.step) == (at, step));
                let own = own
                    .unwrap_or_else(|| panic!("{} {seed}: nothing in step {step}: {named:?}", kind.name()));
                assert_eq!(own.cause, cause, "{} {seed}: {own:?}", kind.name());
                assert!(own.what.contains(what), "{} {seed}: {own:?}", kind.name());
            }
            // Others are late by what the rank or the link passes on, if at all.
            for other in named.iter().filter(|named| named.rank != at) {
                let is_passed_on = other.cause == "passed on" && other.what == format!("rank {at}");
                let is_of_link = kind == SlowLink && other.cause == cause && other.what.contains(what);
                assert!(is_passed_on || is_of_link, "{} {seed}: {other:?}", kind.name());
                assert!((1..=2).contains(&other.step), "{} {seed}: {other:?}", kind.name());
            }
        }
    }
}

#[test]
fn clean_jobs_have_no_causes() {
    let tp = Parallelism { tensor: 8, pipeline: 1, data: 1, expert: 1 };
    let ep = Parallelism { tensor: 1, pipeline: 1, data: 8, expert: 8 };
    let pp = Parallelism { tensor: 1, pipeline: 4, data: 2, expert: 1 };
    for (parallelism, seeds) in
        [(DP, 0..4), (tp, 4..8), (ep, 8..12), (DP_TP, 12..16), (pp, 16..18), (ALL, 18..20)]
    {
        for seed in seeds {
            let run = run(plan(parallelism, seed));
            println!("clean {seed} {:?} {}", run.named(), run.said());
            assert_eq!((run.named(), run.said()), (Vec::new(), String::new()), "{parallelism:?} {seed}");
        }
    }
}
