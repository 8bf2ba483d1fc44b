//! Nothing is lost and nothing counts twice, whatever the trace.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tree_perf::{Analysis, AnalysisOptions};

use crate::common::{Table, conventions};
use crate::fixture::{Analysed, Fixture};

const KERNELS: [&str; 4] =
    ["gemm", "void at::native::elementwise_kernel", "reduce", "ncclDevKernel_AllReduce"];
const OPERATORS: [&str; 4] = ["aten::mm", "aten::add", "custom", "execute"];

/// A kernel: name, stream, start and duration in ns.
type Kernel = (usize, i64, i64, i64);

/// What the host does at one place.
#[derive(Clone, Debug)]
struct Step {
    operator: Option<usize>,
    dims: i64,
    kernels: Vec<Kernel>,
    /// Kernels of a second operator inside the first.
    inner: Vec<Kernel>,
    /// Kernels whose launch is not in the trace.
    unlinked: Vec<Kernel>,
    /// All of it inside a Python frame.
    framed: bool,
}

impl Step {
    fn all_kernels(&mut self) -> impl Iterator<Item = &mut Kernel> {
        self.kernels.iter_mut().chain(&mut self.inner).chain(&mut self.unlinked)
    }
}

fn kernels(at_most: usize) -> impl Strategy<Value = Vec<Kernel>> {
    prop::collection::vec((0..KERNELS.len(), 7..9_i64, 0..3_000_i64, 0..400_i64), 0..=at_most)
}

fn step() -> impl Strategy<Value = Step> {
    let operator = prop::option::weighted(0.8, 0..OPERATORS.len());
    (operator, 0..3_i64, kernels(3), kernels(2), kernels(1), any::<bool>()).prop_map(
        |(operator, dims, kernels, inner, unlinked, framed)| Step {
            operator,
            dims,
            kernels,
            inner,
            unlinked,
            framed,
        },
    )
}

fn microseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1000.0
}

fn trace(steps: &[Step]) -> Fixture {
    let mut fixture = Fixture::new();
    for (position, step) in steps.iter().enumerate() {
        let at = position as f64 * 20.0;
        let spans = |kernels: &[Kernel]| -> Vec<_> {
            let later = 1_000_000;
            kernels
                .iter()
                .map(|&(name, stream, start, length)| {
                    (KERNELS[name], stream, microseconds(later + start), microseconds(length))
                })
                .collect()
        };
        if step.framed {
            fixture.python("frame.py(1): call", (at, 18.0));
        }
        if let Some(operator) = step.operator {
            fixture.op_with_dims(OPERATORS[operator], (at, 15.0), &[&[step.dims]]);
        }
        fixture.launches(at + 1.0, &spans(&step.kernels));
        if !step.inner.is_empty() {
            fixture.op("inner", (at + 5.0, 5.0));
            fixture.launches(at + 6.0, &spans(&step.inner));
        }
        for kernel in spans(&step.unlinked) {
            fixture.unlinked(kernel);
        }
    }
    fixture
}

fn analyse(steps: &[Step], are_theirs: bool) -> Analysis {
    trace(steps).analyse(AnalysisOptions {
        kernel_summary: true,
        group_by_num_kernels: true,
        conventions: conventions(are_theirs),
        ..AnalysisOptions::default()
    })
}

/// The sum of a column in ns, exactly.
fn nanoseconds(table: &Table, column: &str, per_unit: f64) -> i64 {
    table.numbers(column).iter().map(|value| (value * per_unit).round() as i64).sum()
}

/// Time that at least one kernel covers, nanosecond by nanosecond.
fn covered<'k>(kernels: impl IntoIterator<Item = &'k Kernel>) -> i64 {
    let mut covered = [false; 4_000];
    for &(_, _, start, length) in kernels {
        covered[start as usize..(start + length) as usize].fill(true);
    }
    covered.iter().filter(|&&is| is).count() as i64
}

fn computes(kernel: &Kernel) -> bool {
    !KERNELS[kernel.0].starts_with("nccl")
}

/// Direct time of all launchers: an operator's own kernels count together, those of calls outside any
/// operator (or below `execute` alone) each for themselves.
fn direct_time(step: &Step, counts: impl Fn(&&Kernel) -> bool) -> i64 {
    let own = step.kernels.iter().filter(&counts);
    let own = match step.operator.map(|operator| OPERATORS[operator]) {
        None | Some("execute") => own.map(|kernel| kernel.3).sum(),
        Some(_) => covered(own),
    };
    own + covered(step.inner.iter().filter(counts))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_operator_sheets_agree_on_the_direct_time(
        mut steps in prop::collection::vec(step(), 0..8),
        are_theirs in any::<bool>(),
    ) {
        if !are_theirs {
            // The next property covers the rows for work launched before the recording.
            steps.iter_mut().for_each(|step| step.unlinked.clear());
        }
        let analysis = analyse(&steps, are_theirs);
        // The figures of TraceLens leave communication out.
        let counts = |kernel: &&Kernel| !are_theirs || computes(kernel);
        let launched: usize =
            steps.iter().map(|step| step.kernels.iter().chain(&step.inner).filter(counts).count()).sum();
        let Some(calls) = Table::build(&analysis, "ops_all") else {
            prop_assert!(launched == 0 || analysis.is_gpu_only());
            return Ok(());
        };
        let names = Table::of_sheet(&analysis, "ops_summary");
        let categories = Table::of_sheet(&analysis, "ops_summary_by_category");
        let expected: i64 = steps.iter().map(|step| direct_time(step, counts)).sum();
        prop_assert_eq!(nanoseconds(&calls, "total_direct_kernel_time_sum", 1e3), expected);
        prop_assert_eq!(nanoseconds(&names, "total_direct_kernel_time_ms", 1e6), expected);
        prop_assert_eq!(nanoseconds(&categories, "total_direct_kernel_time_ms", 1e6), expected);
        let subtree = nanoseconds(&calls, "total_subtree_kernel_time_sum", 1e3);
        prop_assert_eq!(nanoseconds(&names, "total_subtree_kernel_time_ms", 1e6), subtree);
        prop_assert!(subtree >= expected);

        // Every launched kernel that counts belongs to one call of one row; a call with work of several kinds has a row
        // for each.
        let calls_of_rows = calls.numbers("operation_count");
        let kernels: f64 =
            calls.numbers("num_kernels").iter().zip(&calls_of_rows).map(|(kernels, calls)| kernels * calls).sum();
        prop_assert_eq!(kernels, launched as f64);
        let calls_of_rows: f64 = calls_of_rows.iter().sum();
        prop_assert_eq!(categories.numbers("Count").iter().sum::<f64>(), calls_of_rows);
        let calls_of_operators: f64 = names.numbers("Count").iter().sum();
        prop_assert!(calls_of_operators == calls_of_rows || (!are_theirs && calls_of_operators < calls_of_rows));

        // The same kinds of work have the same time in each sheet.
        let by_category = |table: &Table, category: &str, time: &str, per_unit: f64| -> BTreeMap<String, i64> {
            let mut sums = BTreeMap::new();
            for (name, time) in table.select(category).into_iter().zip(table.numbers(time)) {
                *sums.entry(name).or_default() += (time * per_unit).round() as i64;
            }
            sums
        };
        prop_assert_eq!(
            by_category(&calls, "op category", "total_direct_kernel_time_sum", 1e3),
            by_category(&categories, "op category", "total_direct_kernel_time_ms", 1e6)
        );

        for table in [&calls, &names, &categories].into_iter().filter(|_| expected > 0) {
            let shares: f64 = table.numbers("Percentage (%)").iter().sum();
            prop_assert!((shares - 100.0).abs() < 1e-9, "{}", shares);
            prop_assert_eq!(table.numbers("Cumulative Percentage (%)").pop(), Some(100.0));
        }
    }

    #[test]
    fn every_device_event_is_in_one_row_of_the_unified_table_or_of_the_rest(
        mut steps in prop::collection::vec(step(), 1..8),
        include_call_stack in any::<bool>(),
        are_theirs in any::<bool>(),
    ) {
        // One kernel after the other: nothing overlaps, so times add up.
        let mut start = 0;
        let mut total = 0;
        let mut count = 0;
        let (mut communication, mut unlinked) = (0, 0);
        for step in &mut steps {
            for kernel in step.all_kernels() {
                (kernel.2, start) = (start, start + kernel.3);
                total += kernel.3;
                count += 1;
            }
            let launched = || step.kernels.iter().chain(&step.inner);
            communication += launched().filter(|kernel| !computes(kernel)).map(|kernel| kernel.3).sum::<i64>();
            unlinked += step.unlinked.iter().map(|kernel| kernel.3).sum::<i64>();
        }
        let analysis = trace(&steps).analyse(AnalysisOptions {
            group_by_num_kernels: true,
            include_call_stack,
            conventions: conventions(are_theirs),
            ..AnalysisOptions::default()
        });
        let Some(coverage) = Table::build(&analysis, "coverage") else {
            prop_assert!(count == 0 || analysis.is_gpu_only());
            return Ok(());
        };
        let time = |table: &Table| nanoseconds(table, "Kernel Time (µs)_sum", 1e3);
        prop_assert_eq!(time(&coverage), total);
        let mut device_events = 0.0;
        let mut rest = 0;
        for row in coverage.select("status | operation_count | Kernel Time (µs)_sum") {
            let cells: Vec<&str> = row.split(" | ").collect();
            if cells[0] == "unlinked" || (are_theirs && cells[0] == "communication") {
                device_events += cells[1].parse::<f64>().unwrap();
                rest += (cells[2].parse::<f64>().unwrap() * 1e3).round() as i64;
            }
        }
        if let Some(unified) = Table::build(&analysis, "unified_perf_summary") {
            prop_assert_eq!(time(&unified) + rest, total);
            let calls = unified.numbers("operation_count");
            let kernels = unified.numbers("num_kernels");
            device_events += kernels.iter().zip(&calls).map(|(kernels, calls)| kernels * calls).sum::<f64>();
        } else {
            prop_assert_eq!(rest, total);
        }
        prop_assert_eq!(device_events, f64::from(count));
        // The launchers account for the same, but for what they leave out.
        let direct = Table::build(&analysis, "ops_summary")
            .map_or(0, |table| nanoseconds(&table, "total_direct_kernel_time_ms", 1e6));
        let left_out = if are_theirs { communication + unlinked } else { 0 };
        prop_assert!(direct + left_out == total || (direct == 0 && unlinked == total));
        if total > 0 {
            let shares: f64 = coverage.numbers("Percentage (%)").iter().sum();
            prop_assert!((shares - 100.0).abs() < 1e-9, "{}", shares);
        }
    }

    #[test]
    fn every_kernel_is_in_the_kernel_summary(steps in prop::collection::vec(step(), 1..8)) {
        let kernels = || steps.iter().flat_map(|step| step.kernels.iter().chain(&step.inner).chain(&step.unlinked));
        let analysis = analyse(&steps, false);
        let Some(table) = Table::build(&analysis, "kernel_summary") else {
            prop_assert_eq!(kernels().count(), 0);
            return Ok(());
        };
        prop_assert_eq!(table.numbers("Kernel duration (µs)_count").iter().sum::<f64>(), kernels().count() as f64);
        let sum = nanoseconds(&table, "Kernel duration (µs)_sum", 1e3);
        prop_assert_eq!(sum, kernels().map(|kernel| kernel.3).sum::<i64>());
    }

    #[test]
    fn computation_exposed_and_idle_time_add_up_to_the_total(steps in prop::collection::vec(step(), 1..8)) {
        let all = || steps.iter().flat_map(|step| step.kernels.iter().chain(&step.inner).chain(&step.unlinked));
        let Some(table) = Table::build(&analyse(&steps, false), "gpu_timeline") else {
            prop_assert_eq!(all().count(), 0);
            return Ok(());
        };
        let times: Vec<i64> = table.numbers("time ms").iter().map(|ms| (ms * 1e6).round() as i64).collect();
        let [computation, communication, memcpy, busy, idle, total, ..] = times[..] else {
            prop_assert_eq!(all().count(), 0);
            return Ok(());
        };
        prop_assert_eq!(computation + communication + memcpy, busy);
        prop_assert_eq!(busy + idle, total);
        prop_assert_eq!(computation, covered(all().filter(|kernel| computes(kernel))));
        prop_assert_eq!(busy, covered(all()));
    }
}
