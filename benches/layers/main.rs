//! One benchmark group per layer, each on the same traces: those of `testdata/` and, where the corpus is
//! there, a large real one.
#![allow(missing_docs, clippy::unwrap_used)] // criterion's macros; a benchmark may stop at a fault

use std::hint::black_box;
use std::path::PathBuf;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use critical_path::{Recorded, Scope};
use gpu_timeline::Activity;
use hlo_cost::HloModule;
use iterations::{DetectOptions, Iterations, MeasuredIterations};
use operator_sheets::KernelOptions;
use perf_models::CommunicationPatterns;
use report_writers::{CsvDirectory, Report, Workbook, Writer};
use trace_doctor::Diagnosis;
use trace_ingest::xplane::read_profile;
use trace_ingest::{ReadOptions, Trace, read_path};
use trace2tree::{LinkBy, TraceTree, TreeOptions};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

/// Name and path of every trace at hand.
fn traces() -> Vec<(&'static str, PathBuf)> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let corpus = testdata::corpus_folder();
    let mut traces = vec![
        ("generated-cuda", root.join("testdata/generated/cuda_training_step.json.gz")),
        ("h100-owlv2-large", corpus.join("pytorch/h100-owlv2-large/trace.json.gz")),
    ];
    traces.retain(|(_, path)| path.is_file());
    traces
}

fn read(path: &std::path::Path) -> Trace {
    read_path(path, &ReadOptions::default()).unwrap()
}

fn options() -> AnalysisOptions {
    AnalysisOptions {
        kernel_summary: true,
        kernels: KernelOptions { short_kernel_study: true, ..KernelOptions::default() },
        include_overlap_info: true,
        ..AnalysisOptions::default()
    }
}

fn ingest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("trace-ingest");
    group.sample_size(20);
    for (name, path) in traces() {
        // Rates are of decompressed text, whose size the last four bytes of a gzip file tell.
        let packed = std::fs::read(&path).unwrap();
        let size = u32::from_le_bytes(packed[packed.len() - 4..].try_into().unwrap());
        group.throughput(Throughput::Bytes(size.into()));
        for threads in [1, 2] {
            let options = ReadOptions { threads: Some(threads), ..ReadOptions::default() };
            group.bench_function(BenchmarkId::new(format!("{threads} threads"), name), |bencher| {
                bencher.iter(|| read_path(black_box(&path), &options).unwrap());
            });
        }
    }
}

/// Name and path of every XPlane profile at hand.
fn profiles() -> Vec<(&'static str, PathBuf)> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let corpus = testdata::corpus_folder();
    let mut profiles = vec![
        ("cpu-jax-step", root.join("testdata/recorded/cpu/jax_step.xplane.pb")),
        ("mi300-conv3d-jax06", corpus.join("jax/mi300-conv3d-jax06/trace.xplane.pb")),
        ("tpu-v6e-inference", corpus.join("jax/tpu-v6e-inference/trace.xplane.pb")),
    ];
    profiles.retain(|(_, path)| path.is_file());
    profiles
}

fn xplane(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("xplane");
    for (name, path) in profiles() {
        group.throughput(Throughput::Bytes(std::fs::metadata(&path).unwrap().len()));
        let options = ReadOptions::default();
        group.bench_function(BenchmarkId::new("read", name), |bencher| {
            bencher.iter(|| read_profile(black_box(&path), &options).unwrap());
        });
        group.bench_function(BenchmarkId::new("read with all modules", name), |bencher| {
            bencher.iter(|| {
                let profile = read_profile(black_box(&path), &options).unwrap();
                let programs = profile.programs.ids().filter_map(|id| profile.programs.encoded(id));
                programs
                    .map(|program| HloModule::decode(program.bytes).unwrap().computations().len())
                    .sum::<usize>()
            });
        });
    }
}

fn tree(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("trace2tree");
    for (name, path) in traces() {
        let trace = read(&path);
        group.throughput(Throughput::Elements(trace.events().len() as u64));
        for (label, python_frames, link_by) in [
            ("correlation", false, LinkBy::Correlation),
            ("flow", false, LinkBy::Flow),
            ("with python frames", true, LinkBy::Correlation),
        ] {
            let options = TreeOptions { python_frames, link_by, ..TreeOptions::default() };
            group.bench_function(BenchmarkId::new(label, name), |bencher| {
                bencher.iter_batched(
                    || trace.clone(),
                    |trace| TraceTree::build(trace, &options),
                    criterion::BatchSize::LargeInput,
                );
            });
        }
    }
}

fn timeline(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("gpu-timeline");
    for (name, path) in traces() {
        let analysis = Analysis::new(read(&path), options());
        group.throughput(Throughput::Elements(analysis.device_event_count() as u64));
        group.bench_function(BenchmarkId::new("breakdown", name), |bencher| {
            bencher.iter(|| black_box(&analysis).timeline());
        });
    }
}

fn iterations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("iterations");
    for (name, path) in traces() {
        let tree = TraceTree::build(read(&path), &TreeOptions::default());
        let events = tree.trace().events();
        group.throughput(Throughput::Elements(events.len() as u64));
        let detect = || Iterations::detect(black_box(&tree), &DetectOptions::default());
        group.bench_function(BenchmarkId::new("detect", name), |bencher| bencher.iter(detect));
        let of_device = events.ids().filter(|&event| events.category(event).is_device());
        let device_events: Vec<_> = of_device.map(|event| (event, Activity::Computation)).collect();
        let found = detect();
        group.bench_function(BenchmarkId::new("measure", name), |bencher| {
            bencher.iter_batched(
                || found.clone(),
                |found| MeasuredIterations::new(&tree, found, &device_events, &tree.unrecorded().time),
                criterion::BatchSize::SmallInput,
            );
        });
    }
}

fn critical_path(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("critical-path");
    let communication = CommunicationPatterns::default();
    for (name, path) in traces() {
        let tree = TraceTree::build(read(&path), &TreeOptions::default());
        group.throughput(Throughput::Elements(tree.trace().events().len() as u64));
        let record = || Recorded::new(black_box(&tree), &Scope::Whole, &communication);
        let recorded = record();
        group.bench_function(BenchmarkId::new("record", name), |bencher| bencher.iter(record));
        group.bench_function(BenchmarkId::new("wall", name), |bencher| {
            bencher.iter(|| black_box(&recorded).wall_path());
        });
        group.bench_function(BenchmarkId::new("dag", name), |bencher| {
            bencher.iter(|| black_box(&recorded).dag_path(&Default::default()));
        });
    }
}

fn doctor(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("trace-doctor");
    for (name, path) in traces() {
        let options = TreeOptions { threads: 1, ..TreeOptions::default() };
        let tree = TraceTree::build(read(&path), &options);
        group.throughput(Throughput::Elements(tree.trace().events().len() as u64));
        group.bench_function(BenchmarkId::new("all rules", name), |bencher| {
            bencher.iter(|| Diagnosis::new(black_box(&tree)));
        });
    }
}

fn table(analysis: &Analysis, name: &str) -> Option<sheets::Table> {
    let sheets = pytorch_sheets();
    sheets.iter().find(|sheet| sheet.name == name).and_then(|sheet| sheet.table(analysis).unwrap())
}

/// The sheets of waits, each of an analysis that has nothing yet.
fn waits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("waits");
    let options = AnalysisOptions { waits: true, ..AnalysisOptions::default() };
    for (name, path) in traces() {
        let trace = read(&path);
        for sheet in [
            "idle_causes",
            "queue_length",
            "launch_delay",
            "overlap_matrix",
            "annotations",
            "frequent_sequences",
        ] {
            group.bench_function(BenchmarkId::new(sheet, name), |bencher| {
                bencher.iter_batched_ref(
                    || Analysis::new(trace.clone(), options.clone()),
                    |analysis| table(analysis, sheet),
                    criterion::BatchSize::LargeInput,
                );
            });
        }
    }
}

fn tables(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tree-perf");
    for (name, path) in traces() {
        let trace = read(&path);
        group.throughput(Throughput::Elements(trace.events().len() as u64));
        group.bench_function(BenchmarkId::new("analysis", name), |bencher| {
            bencher.iter_batched(
                || trace.clone(),
                |trace| Analysis::new(trace, options()),
                criterion::BatchSize::LargeInput,
            );
        });
    }
}

fn sheets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tree-perf sheets");
    for (name, path) in traces() {
        let analysis = Analysis::new(read(&path), options());
        for sheet in pytorch_sheets() {
            group.bench_function(BenchmarkId::new(sheet.name.as_ref(), name), |bencher| {
                bencher.iter(|| sheet.table(black_box(&analysis)).unwrap());
            });
        }
    }
}

fn writers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("report-writers");
    group.sample_size(20);
    let directory = tempfile::tempdir().unwrap();
    for (name, path) in traces() {
        let analysis = Analysis::new(read(&path), options());
        let sheets = pytorch_sheets();
        let tables = sheets.iter().filter_map(|sheet| sheet.table(&analysis).unwrap());
        let report = Report::new(name, tables.collect()).unwrap();
        let (csvs, workbook) = (directory.path().join("csvs"), directory.path().join("report.xlsx"));
        group.bench_function(BenchmarkId::new("csv", name), |bencher| {
            bencher.iter(|| CsvDirectory.write(&report, &csvs).unwrap());
        });
        group.bench_function(BenchmarkId::new("xlsx", name), |bencher| {
            bencher.iter(|| Workbook.write(&report, &workbook).unwrap());
        });
    }
}

criterion_group!(
    layers,
    ingest,
    xplane,
    tree,
    timeline,
    iterations,
    critical_path,
    doctor,
    waits,
    tables,
    sheets,
    writers
);
criterion_main!(layers);
