//! `category_summary`: the time of each GPU by kind of kernel, and its communication beside computation.

use gpu_timeline::Interval;
use polars::prelude::{DataFrame, PolarsResult};

use super::communication_overlap::CommunicationOverlap;
use super::gpu_kernels::{GpuKernels, KernelRun};
use super::kernel_class::KernelClass;
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::sheet::Sheet;

pub(super) static SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "category_summary",
    current_name: "category_summary",
    description: "Per GPU, kernel time by kind of kernel, of kernels that are at least --min_event_ns long; the mean over GPUs (Avg) below.",
    columns: &[
        Column::new(
            "GPU ID",
            ColumnKind::Text,
            "Number of the GPU in the order in which GPUs occur in the profile, from 0; Avg for the mean over GPUs.",
        ),
        Column::new(
            "Category",
            ColumnKind::Text,
            "Kind of kernel by name: gemm, ckfwd and ckbwd (attention), aiterfwd and aiterbwd (attention of AITER), te (Transformer Engine), memcpy/memset, fillBuffer, rccl (collectives), xla (all others); overlapped_comm and non_overlapped_comm: time with collectives beside computation and without; compute_total: all kernels but collectives; total_incl_comm: all kernels.",
        ),
        Column::new(
            "Total runtime (ms)",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum of the durations of the row's kernels in ms, so that kernels at once count each. overlapped_comm and non_overlapped_comm are lengths of time, in which each instant counts once; with --parity overlapped_comm sums over pairs of kernels and non_overlapped_comm, what is left of the rccl row, may be negative.",
        ),
        Column::new(
            "Total count",
            ColumnKind::Number(Unit::One),
            "Kernels; 0 in the last four rows of a GPU.",
        ),
        Column::new(
            "Fraction of compute runtime",
            ColumnKind::Number(Unit::One),
            "Total runtime over that of compute_total; 0 when that is 0.",
        ),
        Column::new(
            "Fraction of total runtime",
            ColumnKind::Number(Unit::One),
            "Total runtime over that of total_incl_comm; 0 when that is 0.",
        ),
    ],
    chart: None,
    build,
};

/// The kinds in the order of their rows.
const CLASSES: [KernelClass; 10] = [
    KernelClass::Xla,
    KernelClass::AiterForward,
    KernelClass::AiterBackward,
    KernelClass::Gemm,
    KernelClass::AttentionBackward,
    KernelClass::AttentionForward,
    KernelClass::TransformerEngine,
    KernelClass::Copy,
    KernelClass::FillBuffer,
    KernelClass::Rccl,
];

/// A row of one GPU.
#[derive(Clone, Copy)]
struct Row {
    category: &'static str,
    /// Time in nanoseconds.
    time: i64,
    kernels: u64,
    /// Time of the GPU's computation.
    compute: i64,
    /// Time of all its kernels.
    total: i64,
}

impl Row {
    /// Runtime in ms, count, fractions of computation and of all.
    fn figures(&self) -> [f64; 4] {
        [
            self.time as f64 / 1e6,
            self.kernels as f64,
            fraction(self.time, self.compute),
            fraction(self.time, self.total),
        ]
    }
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let Some(options) = &analysis.options().pftrace else { return Ok(None) };
    let kernels = analysis.pftrace_records().kernels(analysis.profile(), options);
    let is_reference = analysis.options().parity;
    let gpus: Vec<Vec<Row>> = kernels
        .gpus
        .iter()
        .map(|runs| rows_of_gpu(kernels, runs, options.min_event_ns, is_reference))
        .collect();
    let numbered = gpus
        .iter()
        .enumerate()
        .flat_map(|(gpu, rows)| rows.iter().map(move |row| (gpu.to_string(), row.category, row.figures())));
    let means = means(&gpus).into_iter().map(|(category, figures)| ("Avg".to_owned(), category, figures));
    let rows: Vec<(String, &str, [f64; 4])> = numbered.chain(means).collect();

    let mut frame = FrameBuilder::default();
    frame.text("GPU ID", rows.iter().map(|(gpu, ..)| Some(gpu)));
    frame.text("Category", rows.iter().map(|(_, category, _)| Some(category)));
    for (position, column) in SHEET.columns[2..].iter().enumerate() {
        frame.float(column.name, rows.iter().map(|(.., figures)| Some(figures[position])));
    }
    frame.finish().map(Some)
}

fn rows_of_gpu(kernels: &GpuKernels, runs: &[KernelRun], min_event_ns: i64, is_reference: bool) -> Vec<Row> {
    let runs = || runs.iter().filter(|run| run.duration() >= min_event_ns);
    let spans = |communicates: bool| -> Vec<Interval> {
        runs().filter(|run| kernels.communicates(run) == communicates).map(|run| run.span).collect()
    };
    let (communication, compute) = (spans(true), spans(false));
    let overlap = match is_reference {
        true => CommunicationOverlap::of_pairs(&communication, &compute),
        false => CommunicationOverlap::of_time(&communication, &compute),
    };
    let sum = |spans: &[Interval]| spans.iter().map(|span| span.length()).sum::<i64>();
    let (compute, communication) = (sum(&compute), sum(&communication));
    let total = compute + communication;
    let row = |category, time, kernels| Row { category, time, kernels, compute, total };

    let mut times = [(0_i64, 0_u64); CLASSES.len()];
    for run in runs() {
        let class = kernels.class(run);
        if let Some(position) = CLASSES.iter().position(|&known| known == class) {
            times[position].0 += run.duration();
            times[position].1 += 1;
        }
    }
    let by_class = CLASSES.iter().zip(times).map(|(class, (time, count))| row(class.label(), time, count));
    let sums = [
        row("overlapped_comm", overlap.overlapped, 0),
        row("non_overlapped_comm", overlap.exposed, 0),
        row("compute_total", compute, 0),
        row("total_incl_comm", total, 0),
    ];
    by_class.chain(sums).collect()
}

/// The means over GPUs by category, in ascending order of the categories' code points.
fn means(gpus: &[Vec<Row>]) -> Vec<(&'static str, [f64; 4])> {
    let Some(first) = gpus.first() else { return Vec::new() };
    let mean = |position: usize| {
        let figures: Vec<[f64; 4]> = gpus.iter().map(|rows| rows[position].figures()).collect();
        std::array::from_fn(|figure| figures.iter().map(|of| of[figure]).sum::<f64>() / gpus.len() as f64)
    };
    let mut means: Vec<(&'static str, [f64; 4])> =
        first.iter().enumerate().map(|(position, row)| (row.category, mean(position))).collect();
    means.sort_unstable_by_key(|&(category, _)| category);
    means
}

/// `part / whole`; 0 when there is no whole.
fn fraction(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
