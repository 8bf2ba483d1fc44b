//! The tables known from Perfetto traces, of profiles made record by record; and what holds of those of any profile.

mod activity;
mod launches;

use proptest::prelude::*;
use sheets::{Cell, Table};
use trace_ingest::rocprof::{Agent, Call, CopyDirection, Dispatch, Domain, Launch, MemoryCopy};
use trace_ingest::{Nanoseconds, StringId};

use crate::fixture::{Recorded, built};
use crate::{PftraceOptions, RocprofAnalysis, RocprofOptions};

/// A profile of one process, 7, in the making.
struct Fixture {
    recorded: Recorded,
}

impl Fixture {
    fn new() -> Self {
        let mut recorded = Recorded::new(None);
        recorded.profile.processes[0].pid = Some(7);
        Fixture { recorded }
    }

    /// The agent that records call `label`.
    fn agent(&mut self, label: &str) -> u32 {
        let agents = &mut self.recorded.profile.agents;
        let known = agents.iter().position(|agent| agent.label == label);
        known.unwrap_or_else(|| {
            agents.push(Agent { label: label.to_owned(), ..Agent::default() });
            agents.len() - 1
        }) as u32
    }

    fn launch(&mut self, launch: Launch) -> u32 {
        self.recorded.profile.launches.push(launch);
        self.recorded.profile.launches.len() as u32 - 1
    }

    /// A kernel of thread 1 on an agent, with its start and length.
    fn kernel(&mut self, name: &str, agent: &str, start: i64, length: i64) -> &mut Dispatch {
        let agent = self.agent(agent);
        let dispatch = self.recorded.run(name, Some(agent), start, start + length);
        dispatch.thread = 1;
        dispatch
    }

    /// A HIP call of thread 1.
    fn call(&mut self, name: &str, start: i64, length: i64) -> &mut Call {
        let profile = &mut self.recorded.profile;
        let name = profile.strings.intern(name);
        profile.calls.push(Call {
            start: Nanoseconds(start),
            end: Nanoseconds(start + length),
            correlation: None,
            thread: 1,
            stream: 0,
            operation: 0,
            process: 0,
            domain: Domain::Hip,
            kind: StringId::EMPTY,
            name,
        });
        profile.calls.last_mut().unwrap()
    }

    /// A copy `MEMORY_COPY` without agents.
    fn copy(
        &mut self,
        direction: CopyDirection,
        bytes: Option<u64>,
        start: i64,
        length: i64,
    ) -> &mut MemoryCopy {
        let copy = self.recorded.copy(direction, [None; 2], start, start + length);
        copy.bytes = bytes;
        copy
    }

    fn analysis(&self, pftrace: PftraceOptions) -> RocprofAnalysis {
        let options = RocprofOptions { pftrace: asked(pftrace), ..RocprofOptions::default() };
        RocprofAnalysis::new(self.recorded.profile.clone(), options)
    }

    fn with_short_categories(&self, pftrace: PftraceOptions) -> RocprofAnalysis {
        let options = RocprofOptions {
            pftrace: asked(pftrace),
            conventions: super::with_short_categories(),
            ..RocprofOptions::default()
        };
        RocprofAnalysis::new(self.recorded.profile.clone(), options)
    }

    fn reference(&self, pftrace: PftraceOptions) -> RocprofAnalysis {
        let options = RocprofOptions {
            pftrace: asked(pftrace),
            conventions: super::THEIRS,
            ..RocprofOptions::default()
        };
        RocprofAnalysis::new(self.recorded.profile.clone(), options)
    }
}

fn asked(pftrace: PftraceOptions) -> PftraceOptions {
    PftraceOptions { pftrace_tables: true, ..pftrace }
}

/// A table that was asked for.
fn table(analysis: &RocprofAnalysis, name: &str) -> Table {
    built(analysis, name).unwrap_or_else(|| panic!("{name} was left out"))
}

fn texts(table: &Table, column: &str) -> Vec<String> {
    table.column(column).unwrap().cells().map(|cell| cell.text().into_owned()).collect()
}

fn floats(table: &Table, column: &str) -> Vec<f64> {
    let number = |cell| match cell {
        Cell::Number(number) => number,
        other => panic!("{column}: {other:?}"),
    };
    table.column(column).unwrap().cells().map(number).collect()
}

fn integers(table: &Table, column: &str) -> Vec<i64> {
    let number = |cell| match cell {
        Cell::Whole(number) => number,
        other => panic!("{column}: {other:?}"),
    };
    table.column(column).unwrap().cells().map(number).collect()
}

const KERNELS: [&str; 5] = ["fusion_1", "fusion_2", "Cijk_x", "ncclDevKernel_y", "fillBuffer"];

/// Kernel, GPU, start and length.
fn kernels() -> impl Strategy<Value = Vec<(usize, bool, i64, i64)>> {
    prop::collection::vec((0..KERNELS.len(), any::<bool>(), 0..1_000_i64, 0..300_i64), 0..40)
}

fn fixture(kernels: &[(usize, bool, i64, i64)]) -> Fixture {
    let mut fixture = Fixture::new();
    for &(name, second, start, length) in kernels {
        fixture.kernel(KERNELS[name], if second { "B" } else { "A" }, start, length);
    }
    fixture
}

/// Time in ns of a category on all GPUs.
fn time(analysis: &RocprofAnalysis, wanted: &[&str]) -> i64 {
    let frame = table(analysis, "category_summary");
    let (gpus, categories) = (texts(&frame, "GPU ID"), texts(&frame, "Category"));
    let times = floats(&frame, "Total runtime (ms)");
    let rows = 0..frame.height();
    let rows = rows.filter(|&row| gpus[row] != "Avg" && wanted.contains(&categories[row].as_str()));
    rows.map(|row| (times[row] * 1e6).round() as i64).sum()
}

proptest! {
    #[test]
    fn every_kernel_is_in_one_category(kernels in kernels(), min_event_ns in 0..100_i64) {
        let options = PftraceOptions { min_event_ns, ..PftraceOptions::default() };
        let analysis = fixture(&kernels).analysis(options);
        let all: i64 = kernels.iter().map(|&(.., length)| length).filter(|&l| l >= min_event_ns).sum();
        prop_assert_eq!(time(&analysis, &["total_incl_comm"]), all);
        prop_assert_eq!(time(&analysis, &["compute_total", "communication"]), all);
        prop_assert_eq!(time(&analysis, &["other", "GEMM", "copy/fill", "communication"]), all);
        let communication = time(&analysis, &["overlapped_comm", "non_overlapped_comm"]);
        prop_assert!(communication <= time(&analysis, &["communication"]));
        let overlaps = floats(&table(&analysis, "category_summary"), "Total runtime (ms)");
        prop_assert!(overlaps.iter().all(|&time| time >= 0.0));
    }

    #[test]
    fn rows_of_kernels_add_up_and_fall(kernels in kernels(), merge_kernels: bool) {
        let options = PftraceOptions {
            merge_kernels,
            min_event_ns: 0,
            kernel_summary_include_rccl: true,
            top_xla: usize::MAX,
            ..PftraceOptions::default()
        };
        let analysis = fixture(&kernels).analysis(options);
        let frame = table(&analysis, "pftrace_kernel_summary");
        let times = integers(&frame, "Total Time (ns)");
        prop_assert!(times.is_sorted_by(|a, b| a >= b));
        prop_assert_eq!(times.iter().sum::<i64>(), kernels.iter().map(|&(.., length)| length).sum::<i64>());
        let percent: f64 = floats(&frame, "Time %").iter().sum();
        prop_assert!(times.is_empty() || (percent - 100.0).abs() < 1e-9);
        let longer = kernels.iter().filter(|&&(.., length)| length > 0).count();
        prop_assert_eq!(integers(&frame, "Instances").iter().sum::<i64>(), longer as i64);

        let others = table(&analysis, "xla_top");
        let fractions: f64 = floats(&others, "Fraction of XLA").iter().sum();
        prop_assert!(others.height() == 0 || (fractions - 1.0).abs() < 1e-9);
    }

    #[test]
    fn every_call_with_a_kernel_is_in_one_row(
        calls in prop::collection::vec((1..20_u64, 0..100_i64, 0..50_i64), 0..20),
        kernels in prop::collection::vec((1..20_u64, 0..200_i64, 0..50_i64), 0..20),
    ) {
        let mut fixture = Fixture::new();
        for &(correlation, start, length) in &calls {
            fixture.call("hipLaunchKernel", start, length).correlation = Some(correlation);
        }
        for &(correlation, start, length) in &kernels {
            fixture.kernel("k", "A", start, length).correlation = Some(correlation);
        }
        let frame = table(&fixture.analysis(PftraceOptions::default()), "api_kernel_summary");
        let has = |correlation: u64| kernels.iter().any(|&(of, ..)| of == correlation);
        let linked = (1..20).filter(|&number| calls.iter().any(|&(of, ..)| of == number) && has(number));
        prop_assert_eq!(integers(&frame, "Count").iter().sum::<i64>(), linked.count() as i64);
        let means = |time: &str| floats(&frame, &format!("{time}Avg_ns"));
        for (row, total) in means("T").into_iter().enumerate() {
            let parts = means("A")[row] + means("Q")[row] + means("K")[row];
            prop_assert!((total - parts).abs() < 1e-6);
        }
    }
}
