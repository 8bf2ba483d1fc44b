//! `category_summary` and `xla_top`: the time of each GPU by kind of kernel, with its communication beside computation,
//! and the kernels that take most time of those that libraries are not for.

use gpu_timeline::{Interval, IntervalSet, SortFew, summaries};
use perf_models::PftraceKernel;
use sheets::ColumnKind::Number;
use sheets::Unit::One;
use sheets::{Cell, Column, Layout, Role, Sheet};
use trace_ingest::Nanoseconds;

use super::gpu_kernels::{GpuKernels, KernelRun, Labels};
use super::summaries::{Timed, timed};
use crate::analysis::RocprofAnalysis;
use crate::conventions::{KernelCategories, OverlapRule, overlapped_pairs};

pub(super) fn category_summary<'a>() -> Sheet<'a, RocprofAnalysis> {
    let fields = [
        Column::text("GPU ID", "GPU number in order of first appearance, from 0; Avg for the mean over GPUs.").field(|row: &CategoryRow| row.gpu.as_str().into()),
        Column::text("Category", "Kernel category, as in kernel_summary, most time first; in the TraceLens layout gemm, ckfwd and ckbwd (attention), aiterfwd and aiterbwd (AITER attention), te (Transformer Engine), memcpy/memset, fillBuffer, rccl (collectives), xla (all others). Below them overlapped_comm and non_overlapped_comm: collective time with and without computation; compute_total: all kernels except collectives; total_incl_comm: all kernels.").field(|row: &CategoryRow| row.category.into()),
        Column::milliseconds("Total runtime (ms)", "Sum of kernel durations; concurrent kernels each count. overlapped_comm and non_overlapped_comm count each instant once; with --parity, overlapped_comm sums over pairs of kernels, and non_overlapped_comm, the remaining collective time, may be negative.").with_role(Role::Headline).field(|row: &CategoryRow| row.figures[0].into()),
        Column::new("Total count", Number(One), "Number of kernels; 0 in the last four rows of a GPU.").field(|row: &CategoryRow| row.figures[1].into()),
        Column::new("Fraction of compute runtime", Number(One), "Total runtime / compute_total; 0 if compute_total is 0.").field(|row: &CategoryRow| row.figures[2].into()),
        Column::new("Fraction of total runtime", Number(One), "Total runtime / total_incl_comm; 0 if total_incl_comm is 0.").field(|row: &CategoryRow| row.figures[3].into()),
    ];
    Sheet::with_context(
        "category_summary",
        "Kernel time per GPU by category, and the mean over GPUs (Avg). Excludes kernels below the minimum duration.",
        fields,
        |analysis| Some(((), category_rows(analysis)?)),
    )
}

pub(super) fn xla_top<'a>() -> Sheet<'a, RocprofAnalysis> {
    fn fraction<'r>((_, all): &'r XlaKernels, row: &'r Timed<u32>) -> Cell<'r> {
        (row.durations.sum as f64 / *all as f64).into()
    }
    let fields = [
        Column::text("Kernel", "Kernel; without digits if kernels differing only in digits are merged.")
            .field_in(|(labels, _): &XlaKernels, row: &Timed<u32>| labels[row.key as usize].as_str().into()),
        Column::milliseconds("Total time (ms)", "Sum of durations.")
            .with_role(Role::Headline)
            .field(|row: &Timed<u32>| (row.durations.sum as f64 / 1e6).into()),
        Column::count("Count", "Number of kernels.").field(|row: &Timed<u32>| row.durations.count.into()),
        fraction_of_all("Fraction of such kernels").only_in(Layout::Roles).field_in(fraction),
        fraction_of_all("Fraction of XLA").only_in(Layout::Listed).field_in(fraction),
    ];
    Sheet::with_context(
        "xla_top",
        "Kernels on all GPUs except collectives, copies, fills, matmuls, attention and convolutions (in the TraceLens layout, its category xla), such as XLA fusions, most time first, up to the requested number of rows; includes kernels of any duration.",
        fields,
        xla_rows,
    )
}

fn fraction_of_all(name: &'static str) -> Column {
    Column::new(name, Number(One), "Share of the sheet's total time, including rows beyond the limit.")
}

/// TraceLens's categories in the order of their rows.
const TRACELENS_CATEGORIES: [PftraceKernel; 10] = [
    PftraceKernel::Xla,
    PftraceKernel::AiterForward,
    PftraceKernel::AiterBackward,
    PftraceKernel::Gemm,
    PftraceKernel::AttentionBackward,
    PftraceKernel::AttentionForward,
    PftraceKernel::TransformerEngine,
    PftraceKernel::Copy,
    PftraceKernel::FillBuffer,
    PftraceKernel::Rccl,
];

struct CategoryRow {
    gpu: String,
    category: &'static str,
    /// Runtime in ms, count, fractions of computation and of all.
    figures: [f64; 4],
}

/// The categories in the order of their rows, which is the same for every GPU.
fn categories(analysis: &RocprofAnalysis, kernels: &GpuKernels, min_event: Nanoseconds) -> Vec<&'static str> {
    if analysis.options().conventions.categories == KernelCategories::Short {
        return TRACELENS_CATEGORIES.map(PftraceKernel::as_str).to_vec();
    }
    let counted = kernels.all().filter(|run| run.duration() >= min_event);
    summaries(counted.map(|run| (run.kind.category, run.duration().0)))
        .into_iter()
        .map(|(category, _)| category)
        .collect()
}

/// The rows of every GPU, and below them the means by category, in ascending order of the categories' code points.
fn category_rows(analysis: &RocprofAnalysis) -> Option<Vec<CategoryRow>> {
    let options = analysis.options().pftrace()?;
    let kernels = analysis.gpu_kernels(options);
    let categories = categories(analysis, kernels, options.min_event());
    let mut rows = Vec::new();
    for (gpu, runs) in kernels.gpus.iter().enumerate() {
        let runs: Vec<&KernelRun> = runs.iter().filter(|run| run.duration() >= options.min_event()).collect();
        let figures = figures_of_gpu(&categories, &runs, analysis.options().conventions.overlap);
        rows.extend(figures.map(|(category, figures)| CategoryRow {
            gpu: gpu.to_string(),
            category,
            figures,
        }));
    }
    let gpus = kernels.gpus.len();
    let per_gpu = rows.len().checked_div(gpus).unwrap_or(0);
    let mean = |position: usize| {
        let gpu_rows = || rows.iter().skip(position).step_by(per_gpu);
        let figures = std::array::from_fn(|figure| {
            gpu_rows().map(|row| row.figures[figure]).sum::<f64>() / gpus as f64
        });
        CategoryRow { gpu: "Avg".to_owned(), category: rows[position].category, figures }
    };
    let mut means: Vec<CategoryRow> = (0..per_gpu).map(mean).collect();
    means.sort_few_by_key(|row| row.category);
    rows.extend(means);
    Some(rows)
}

/// Categories of a GPU with their figures.
fn figures_of_gpu(
    categories: &[&'static str],
    runs: &[&KernelRun],
    rule: OverlapRule,
) -> impl Iterator<Item = (&'static str, [f64; 4])> {
    let spans = |communicates: bool| -> Vec<Interval> {
        let runs = runs.iter().filter(|run| run.kind.communicates == communicates);
        runs.map(|run| run.span).collect()
    };
    let sum = |spans: &[Interval]| spans.iter().map(|span| span.length()).sum::<i64>();
    let (communication, computation) = (spans(true), spans(false));
    let (compute, communicate) = (sum(&computation), sum(&communication));
    let [overlapped, exposed] = match rule {
        OverlapRule::Time => communication_time(&communication, &computation),
        OverlapRule::Pairs => {
            let overlapped = overlapped_pairs(&communication, &computation);
            [overlapped, communicate - overlapped]
        }
    };
    let mut times = vec![(0_i64, 0_u64); categories.len()];
    for run in runs {
        if let Some(position) = categories.iter().position(|&category| category == run.kind.category) {
            times[position].0 += run.duration().0;
            times[position].1 += 1;
        }
    }
    let total = compute + communicate;
    let figures = move |(category, time, count): (&'static str, i64, u64)| {
        (category, [time as f64 / 1e6, count as f64, fraction(time, compute), fraction(time, total)])
    };
    let by_category = categories
        .iter()
        .zip(times)
        .map(|(&category, (time, count))| (category, time, count))
        .collect::<Vec<_>>();
    let sums = [
        ("overlapped_comm", overlapped, 0),
        ("non_overlapped_comm", exposed, 0),
        ("compute_total", compute, 0),
        ("total_incl_comm", total, 0),
    ];
    by_category.into_iter().chain(sums).map(figures)
}

/// Time with communication while something is computed, and while nothing is, in nanoseconds: every instant counts
/// once, however many kernels run then.
fn communication_time(communication: &[Interval], computation: &[Interval]) -> [i64; 2] {
    let union = |spans: &[Interval]| spans.iter().copied().collect::<IntervalSet>();
    let communication = union(communication);
    let overlapped = communication.intersect(&union(computation)).total_length();
    [overlapped, communication.total_length() - overlapped]
}

/// `part / whole`; 0 when there is no whole.
fn fraction(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What the rows of `xla_top` share: labels, and the time of all kernels of its kind in nanoseconds.
type XlaKernels = (Vec<String>, i64);

fn xla_rows(analysis: &RocprofAnalysis) -> Option<(XlaKernels, Vec<Timed<u32>>)> {
    let options = analysis.options().pftrace()?;
    let kernels = analysis.gpu_kernels(options);
    let Labels { texts, label_positions } = Labels::new(&kernels.names, options.merge_kernels);
    let runs = || kernels.all().filter(|run| !run.kind.is_library_kind);
    let all: Nanoseconds = runs().map(|run| run.duration()).sum();
    let mut rows = timed(runs().map(|run| (label_positions[run.name as usize], run.duration())), all);
    rows.truncate(options.top_xla);
    Some(((texts, all.0), rows))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans(spans: &[(i64, i64)]) -> Vec<Interval> {
        spans.iter().map(|&(start, end)| Interval::between(start, end)).collect()
    }

    #[test]
    fn computation_that_overlaps_itself_counts_once_in_time_and_twice_in_pairs() {
        let (communication, computation) = (spans(&[(60, 140)]), spans(&[(0, 100), (50, 150)]));
        // 60..100 and 60..140: 40 + 80.
        assert_eq!(overlapped_pairs(&communication, &computation), 120);
        assert_eq!(communication_time(&communication, &computation), [80, 0]);
    }

    #[test]
    fn a_kernel_that_outlasts_the_collective_hides_later_ones_from_pairs() {
        let (communication, computation) = (spans(&[(10, 50)]), spans(&[(0, 20), (15, 115), (30, 40)]));
        // 10..20 and 15..50; 30..40 begins behind the kernel that outlasts the collective.
        assert_eq!(overlapped_pairs(&communication, &computation), 45);
        assert_eq!(communication_time(&communication, &computation)[0], 40);
    }

    #[test]
    fn collectives_at_once_are_exposed_once() {
        assert_eq!(communication_time(&spans(&[(0, 10), (5, 15)]), &spans(&[(12, 20)])), [3, 12]);
        assert_eq!(communication_time(&[], &spans(&[(0, 1)])), [0, 0]);
    }

    fn sorted_spans() -> impl Strategy<Value = Vec<Interval>> {
        let span =
            (0..60_i64, 1..30_i64).prop_map(|(start, length)| Interval::between(start, start + length));
        prop::collection::vec(span, 0..12).prop_map(|mut spans| {
            spans.sort_by_key(|span| (span.start, span.length()));
            spans
        })
    }

    proptest! {
        #[test]
        fn time_agrees_with_a_count_of_instants(communication in sorted_spans(), computation in sorted_spans()) {
            let at = |spans: &[Interval], instant| spans.iter().any(|s| s.start <= instant && instant < s.end);
            let count = |is: &dyn Fn(i64) -> bool| (0..100).filter(|&instant| is(instant)).count() as i64;
            let both = |instant| at(&communication, instant) && at(&computation, instant);
            let alone = |instant| at(&communication, instant) && !at(&computation, instant);
            prop_assert_eq!(communication_time(&communication, &computation), [count(&both), count(&alone)]);
        }

        #[test]
        fn both_rules_agree_where_no_kernels_run_at_once(
            communication in sorted_spans(), computation in sorted_spans()
        ) {
            let apart = |spans: Vec<Interval>| spans.into_iter().collect::<IntervalSet>().as_slice().to_vec();
            let (communication, computation) = (apart(communication), apart(computation));
            prop_assert_eq!(
                overlapped_pairs(&communication, &computation),
                communication_time(&communication, &computation)[0]
            );
        }
    }
}
