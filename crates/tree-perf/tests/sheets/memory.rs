//! Memory: its peak, its owners, how long blocks live, and what steps leave behind.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trace_ingest::{EventArguments, MemoryDevice, MemoryEvent};
use tree_perf::{Analysis, AnalysisOptions, Notice};

use crate::common::Table;
use crate::fixture::{Analysed, Fixture};

const MIB: i64 = 1 << 20;
const GPU: MemoryDevice = MemoryDevice { kind: 1, index: 0 };
const CPU: MemoryDevice = MemoryDevice { kind: 0, index: -1 };

/// An allocator in the making: every device with what is allocated, and blocks by their address.
struct Allocator {
    fixture: Fixture,
    allocated: BTreeMap<MemoryDevice, i64>,
    sizes: BTreeMap<u64, i64>,
    reserved: i64,
    events: i64,
}

impl Allocator {
    fn new(base: i64) -> Self {
        let allocated = BTreeMap::from([(GPU, base), (CPU, 0)]);
        Allocator { fixture: Fixture::new(), allocated, sizes: BTreeMap::new(), reserved: 1 << 30, events: 0 }
    }

    fn on(&mut self, name: &str, device: MemoryDevice, at: f64, bytes: i64, address: Option<u64>) {
        let allocated = self.allocated[&device];
        let reserved = if device == CPU { 0 } else { self.reserved };
        self.events += 1;
        let memory = Some(MemoryEvent {
            device,
            bytes,
            address,
            allocated: Some(allocated),
            reserved: Some(reserved),
            index: Some(self.events),
        });
        let track = self.fixture.builder.track(1, 1);
        let time = (at * 1000.0).round() as i64;
        self.fixture.builder.instant(
            name,
            track,
            time,
            EventArguments { memory, ..EventArguments::default() },
        );
    }

    fn change(&mut self, device: MemoryDevice, at: f64, bytes: i64, address: u64) {
        *self.allocated.get_mut(&device).unwrap() += bytes;
        self.on("[memory]", device, at, bytes, Some(address));
    }

    fn take(&mut self, at: f64, bytes: i64, address: u64) {
        self.sizes.insert(address, bytes);
        self.change(GPU, at, bytes, address);
    }

    fn free(&mut self, at: f64, address: u64) {
        let bytes = self.sizes.remove(&address).unwrap();
        self.change(GPU, at, -bytes, address);
    }

    fn step(&mut self, number: usize, span: (f64, f64)) {
        let name = format!("ProfilerStep#{number}");
        self.fixture.annotation(&name, 1, span);
    }

    fn analyse(self, modules: bool) -> Analysis {
        self.fixture.analyse(AnalysisOptions { memory: modules, ..AnalysisOptions::default() })
    }
}

/// A forward pass in a module: an operator that allocates through another, with a block that it frees itself; then one
/// allocation outside of everything, and the free of a block from before.
fn forward() -> Allocator {
    let mut memory = Allocator::new(100 * MIB);
    memory.fixture.python("nn.Module: Model_0", (0.0, 90.0));
    memory.fixture.python("nn.Module: Linear_3", (5.0, 40.0));
    memory.fixture.op("aten::linear", (10.0, 30.0));
    memory.fixture.op("aten::addmm", (12.0, 20.0));
    memory.fixture.op("aten::empty_strided", (13.0, 2.0));
    memory.take(14.0, 8 * MIB, 1);
    memory.take(20.0, 4 * MIB, u64::MAX);
    memory.free(25.0, u64::MAX);
    memory.fixture.op("aten::empty", (60.0, 5.0));
    memory.take(61.0, MIB, 2);
    memory.take(80.0, 2 * MIB, 3);
    memory.change(GPU, 95.0, -5 * MIB, 77);
    memory.free(96.0, 3);
    memory
}

#[test]
fn the_peak_is_divided_among_owners_and_what_was_there_before() {
    let analysis = forward().analyse(true);
    let summary = Table::of_sheet(&analysis, "memory_summary");
    let columns = "peak_bytes | base_bytes | attributed_bytes | unattributed_bytes | end_bytes \
         | slack_at_peak_bytes";
    let expected = [112 * MIB, 100 * MIB, 12 * MIB, 100 * MIB, 104 * MIB, 1024 * MIB - 112 * MIB];
    assert_eq!(summary.select(columns), [expected.map(|size| size.to_string()).join(" | ")]);
    assert_eq!(
        summary.select("device | peak_time_ms | churn_bytes"),
        [format!("CUDA 0 | 0.02 | {}", 15 * MIB)]
    );

    let owners = Table::of_sheet(&analysis, "memory_owners");
    let rows =
        owners.select("by | owner | bytes_at_peak | blocks_at_peak | allocations | longest_lifetime_ms");
    assert_eq!(
        rows,
        [
            // An operator that allocates through another one owns the block.
            format!("operator | aten::addmm | {} | 2 | 2 | 0.082", 12 * MIB),
            "operator | (none) | 0 | 0 | 1 | 0.016".to_owned(),
            "operator | aten::empty | 0 | 0 | 1 | 0.035".to_owned(),
            format!("outermost operator | aten::linear | {} | 2 | 2 | 0.082", 12 * MIB),
            "outermost operator | (none) | 0 | 0 | 1 | 0.016".to_owned(),
            "outermost operator | aten::empty | 0 | 0 | 1 | 0.035".to_owned(),
            format!("module | Linear_3 | {} | 2 | 2 | 0.082", 12 * MIB),
            "module | Model_0 | 0 | 0 | 2 | 0.035".to_owned(),
        ]
    );
    let blocks = Table::of_sheet(&analysis, "memory_blocks");
    assert_eq!(
        blocks.select("bytes | operator | module | allocated_ms | class"),
        [
            format!("{} | aten::addmm | Linear_3 | 0.014 | to the end", 8 * MIB),
            format!("{} | - | - | - | from before", 5 * MIB),
            format!("{} | aten::addmm | Linear_3 | 0.02 | within operator", 4 * MIB),
        ]
    );
    assert_eq!(
        analysis.memory_finding().unwrap().to_string(),
        "memory: peak 112.0 MiB, 1.000 GiB reserved on CUDA 0 at 20.00 µs; 10.7% of it allocated in this recording \
         (aten::addmm 12.00 MiB)"
    );
}

#[test]
fn modules_are_missing_where_frames_are_and_that_is_said() {
    let has_modules = |analysis: &Analysis| {
        Table::of_sheet(analysis, "memory_owners").select("by").contains(&"module".to_owned())
    };
    // The frames are in the trace, but no option needs them.
    let analysis = forward().analyse(false);
    assert!(!has_modules(&analysis));
    let mut without = Allocator::new(0);
    without.take(1.0, MIB, 1);
    let analysis = without.analyse(true);
    assert!(!has_modules(&analysis));
    assert_eq!(analysis.notices(), [Notice::MemoryWithoutModules]);
    let nothing = Allocator::new(0).analyse(true);
    assert_eq!(nothing.notices(), [Notice::NoMemory]);
    assert!(Table::build(&nothing, "memory_summary").is_none());
    let unasked = AnalysisOptions { memory_unasked: false, ..AnalysisOptions::default() };
    let unwanted = forward().fixture.analyse(unasked);
    assert!(Table::build(&unwanted, "memory_summary").is_none() && unwanted.memory_finding().is_none());
}

#[test]
fn memory_of_the_host_has_no_reserve_and_comes_second() {
    let mut memory = Allocator::new(MIB);
    memory.take(1.0, MIB, 1);
    memory.change(CPU, 2.0, 64 * MIB, 1);
    let analysis = memory.analyse(false);
    let summary = Table::of_sheet(&analysis, "memory_summary");
    assert_eq!(
        summary.select("device | peak_bytes | reserved_peak_bytes | slack_at_peak_bytes | growths"),
        [
            format!("CPU | {} | - | - | 0", 64 * MIB),
            format!("CUDA 0 | {} | {} | {} | 0", 2 * MIB, 1024 * MIB, 1022 * MIB)
        ]
    );
    assert_eq!(analysis.memory_finding().unwrap().device, GPU);
}

/// Steps of 100 µs. In each, an operator keeps a block of so many bytes, and another allocates and frees one.
fn steps(kept: &[i64]) -> Allocator {
    let mut memory = Allocator::new(50 * MIB);
    for (number, &bytes) in kept.iter().enumerate() {
        let start = number as f64 * 100.0;
        memory.step(number, (start, 99.0));
        memory.fixture.op("aten::relu", (start + 5.0, 10.0));
        memory.take(start + 6.0, 64 * MIB, 1_000);
        memory.fixture.op("aten::clone", (start + 20.0, 10.0));
        if bytes > 0 {
            memory.take(start + 21.0, bytes, number as u64);
        }
        memory.free(start + 60.0, 1_000);
    }
    memory
}

#[test]
fn a_planted_leak_is_found_with_its_owner() {
    let analysis = steps(&[4 * MIB; 5]).analyse(false);
    let table = Table::of_sheet(&analysis, "memory_steps");
    assert_eq!(
        table.select(
            "step | growth_bytes | peak_bytes | end_bytes | survivors_bytes \
             | largest_survivor | allocations"
        ),
        [0, 1, 2, 3, 4].map(|step| {
            let before = (50 + 4 * step) * MIB;
            let (survivors, owner) =
                if step < 4 { ((4 * MIB).to_string(), "aten::clone") } else { ("-".to_owned(), "-") };
            let (peak, end) = (before + 68 * MIB, before + 4 * MIB);
            format!("ProfilerStep#{step} | {} | {peak} | {end} | {survivors} | {owner} | 2", 4 * MIB)
        })
    );
    let summary = Table::of_sheet(&analysis, "memory_summary");
    assert_eq!(
        summary.select("peak_step | leak | leak_bytes | leak_owner"),
        [format!("ProfilerStep#4 | grows | {} | aten::clone", 12 * MIB)]
    );
    let said = analysis.memory_finding().unwrap().to_string();
    assert!(
        said.ends_with(
            "\nmemory: grows in each of the last 3 steps, by 12.00 MiB in total; aten::clone allocated most of it"
        ),
        "{said}"
    );
}

#[test]
fn growth_that_ends_is_too_small_or_of_too_few_steps_is_no_leak() {
    for (kept, verdict) in [
        (&[4 * MIB, 4 * MIB, 0, 0, 0][..], "steady"),
        (&[4 * MIB, 4 * MIB, 4 * MIB, 0, 4 * MIB], "steady"),
        (&[MIB, MIB, MIB / 4, MIB / 4, MIB / 4], "steady"),
        (&[4 * MIB; 3], "-"),
        (&[4 * MIB; 4], "grows"),
    ] {
        let analysis = steps(kept).analyse(false);
        let summary = Table::of_sheet(&analysis, "memory_summary");
        assert_eq!(summary.select("leak"), [verdict], "{kept:?}");
        assert_eq!(analysis.memory_finding().unwrap().leak.is_some(), verdict == "grows", "{kept:?}");
    }
}

#[test]
fn blocks_are_classed_by_how_long_they_live() {
    let mut memory = Allocator::new(0);
    memory.step(1, (0.0, 50.0));
    memory.step(2, (50.0, 50.0));
    memory.fixture.op("aten::relu", (0.0, 10.0));
    for (at, address) in [(1.0, 1), (2.0, 2), (3.0, 3), (4.0, 4)] {
        memory.take(at, MIB - address as i64, address);
    }
    memory.free(9.0, 1);
    memory.free(10.0, 2);
    memory.free(60.0, 3);
    let analysis = memory.analyse(false);
    let blocks = Table::of_sheet(&analysis, "memory_blocks");
    let classes = ["within operator", "within step", "held", "to the end"];
    assert_eq!(blocks.select("class"), classes);
    assert_eq!(blocks.select("step"), ["ProfilerStep#1"; 4]);
}

#[test]
fn growth_of_the_reserve_is_joined_with_the_calls_of_the_driver_before_it() {
    let mut memory = Allocator::new(0);
    for start in [1.0, 10.0, 12.0, 30.0] {
        let correlation = memory.fixture.correlation();
        memory.fixture.launch("cudaMalloc", (start, 1.5), correlation);
    }
    memory.fixture.launch("cudaMallocHost", (14.0, 1.0), 99);
    memory.take(5.0, MIB, 1);
    memory.reserved += 2 * MIB;
    memory.take(20.0, MIB, 2);
    memory.take(25.0, MIB, 3);
    memory.reserved -= MIB;
    memory.free(40.0, 3);
    let analysis = memory.analyse(false);
    let summary = Table::of_sheet(&analysis, "memory_summary");
    assert_eq!(
        summary.select("growths | growth_bytes | driver_calls | driver_time_ms"),
        [format!("1 | {} | 2 | 0.003", 2 * MIB)]
    );
}

#[test]
fn allocations_that_failed_are_told_first_and_change_nothing() {
    let mut memory = Allocator::new(MIB);
    memory.take(1.0, MIB, 1);
    memory.fixture.op("aten::cat", (6.5, 2.0));
    memory.on("[OutOfMemory]", GPU, 7.0, 4096 * MIB, None);
    memory.on("[OutOfMemory]", GPU, 5.0, 2048 * MIB, None);
    let analysis = memory.analyse(false);
    let summary = Table::of_sheet(&analysis, "memory_summary");
    assert_eq!(summary.select("events | out_of_memory | peak_bytes"), [format!("1 | 2 | {}", 2 * MIB)]);
    let failures = Table::of_sheet(&analysis, "memory_failures");
    let [first, second] = [2048, 4096].map(|size| size * MIB);
    let (allocated, reserved) = (2 * MIB, 1024 * MIB);
    let columns = "device | time_ms | requested_bytes | allocated_bytes | reserved_bytes | slack_bytes \
         | operator";
    assert_eq!(
        failures.select(columns),
        [
            format!("CUDA 0 | 0.004 | {first} | {allocated} | {reserved} | {} | -", reserved - allocated),
            format!(
                "CUDA 0 | 0.006 | {second} | {allocated} | {reserved} | {} | aten::cat",
                reserved - allocated
            ),
        ]
    );
    let said = analysis.memory_finding().unwrap().to_string();
    assert!(
        said.starts_with(
            "memory: 2 allocations failed for lack of memory; the first requested 2.000 GiB on CUDA 0 at 4.000 µs with \
             2.000 MiB allocated, 1.000 GiB reserved\nmemory: peak 2.000 MiB"
        ),
        "{said}"
    );
}

#[test]
fn lost_frees_and_events_without_address_or_totals_stay_out_of_the_owners() {
    let mut memory = Allocator::new(0);
    memory.take(1.0, MIB, 1);
    // The free of the first block is lost, and its address is given out again.
    memory.allocated.insert(GPU, 0);
    memory.take(2.0, MIB, 1);
    *memory.allocated.get_mut(&GPU).unwrap() += MIB;
    memory.on("[memory]", GPU, 3.0, MIB, None);
    let event = MemoryEvent { device: GPU, bytes: MIB, ..MemoryEvent::default() };
    let track = memory.fixture.builder.track(1, 1);
    let arguments = EventArguments { memory: Some(event), ..EventArguments::default() };
    memory.fixture.builder.instant("[memory]", track, 4_000, arguments);
    let analysis = memory.analyse(false);
    let summary = Table::of_sheet(&analysis, "memory_summary");
    assert_eq!(
        summary.select("events | peak_bytes | attributed_bytes | unattributed_bytes"),
        [format!("3 | {} | {MIB} | {MIB}", 2 * MIB)]
    );
    assert_eq!(analysis.notices(), [Notice::MemoryWithoutTotals { count: 1 }]);
}

/// A step of the allocator: whose turn it is to be freed, size, time since the last, and the operator around it.
type Step = (Option<usize>, i64, u16, usize);

/// What was there before, and steps.
fn run() -> impl Strategy<Value = (i64, Vec<Step>)> {
    let event = (prop::option::of(0..20_usize), 1..5_000_i64, 0..50_u16, 0..4_usize);
    (0..100_000_i64, prop::collection::vec(event, 1..200))
}

proptest! {
    #[test]
    fn owners_and_what_was_before_add_up_to_the_peak((base, events) in run()) {
        let mut memory = Allocator::new(base);
        let (mut at, mut live, mut highest) = (0.0, Vec::new(), i64::MIN);
        for (number, &(freed, bytes, pause, operator)) in events.iter().enumerate() {
            at += f64::from(pause) / 1000.0;
            match freed.filter(|freed| *freed < live.len()) {
                Some(freed) => memory.free(at, live.swap_remove(freed)),
                None => {
                    if operator > 0 {
                        memory.fixture.op(["", "aten::a", "aten::b", "aten::empty"][operator], (at, 0.01));
                    }
                    live.push(number as u64);
                    memory.take(at, bytes, number as u64);
                }
            }
            highest = highest.max(memory.allocated[&GPU]);
        }
        let analysis = memory.analyse(false);
        let summary = Table::of_sheet(&analysis, "memory_summary");
        let figure = |column: &str| summary.numbers(column)[0];
        prop_assert_eq!(figure("base_bytes"), base as f64);
        prop_assert_eq!(figure("peak_bytes"), highest as f64);
        prop_assert_eq!(figure("unattributed_bytes"), base as f64);
        let owners = Table::of_sheet(&analysis, "memory_owners");
        let (kinds, sizes) = (owners.select("by"), owners.numbers("bytes_at_peak"));
        for kind in ["operator", "outermost operator"] {
            let of_kind: f64 = kinds.iter().zip(&sizes).filter(|(by, _)| *by == kind).map(|(_, size)| size).sum();
            prop_assert_eq!(of_kind + figure("unattributed_bytes"), figure("peak_bytes"));
        }
        let timeline = Table::of_sheet(&analysis, "memory_timeline");
        let maximum = timeline.numbers("allocated_max_mib").into_iter().fold(0.0, f64::max);
        prop_assert_eq!(maximum * MIB as f64, figure("peak_bytes"));
        prop_assert!(timeline.rows.len() <= events.len());
    }
}
