//! Trees of recorded runs: the totals of a reference implementation, layers matched with their layers, and what a known
//! change comes to.

use std::collections::{BTreeMap, BTreeSet};

use sheets::{Cell, Table};
use testdata::corpus;
use trace_diff::{Confidence, DiffOptions, LedgerItem, TreeDiff, UnitStatus, UnitWork, tree_diff_sheets};
use trace_ingest::{EventId, ReadOptions, Trace, read_path};
use trace2tree::{TraceTree, TreeOptions};

const MI300_QWEN: &str = "pytorch/mi300-qwen1.5-0.5b/trace.json.gz";
const H100_QWEN: &str = "pytorch/h100-qwen1.5-0.5b/trace.json.gz";

fn read(case: &str) -> Option<Trace> {
    Some(read_path(&corpus(case)?, &ReadOptions::default()).expect("readable"))
}

fn tree(trace: Trace, python_frames: bool) -> TraceTree {
    TraceTree::build(trace, &TreeOptions { python_frames, ..TreeOptions::default() })
}

fn diff(a: Trace, b: Trace, python_frames: bool) -> TreeDiff {
    let [a, b] = [a, b].map(|trace| tree(trace, python_frames));
    TreeDiff::new(a, b, DiffOptions::default())
}

fn sheet(diff: &TreeDiff, name: &str) -> Table {
    let sheet = tree_diff_sheets().into_iter().find(|sheet| sheet.name == name).expect(name);
    sheet.table(diff).expect("a table").expect("rows")
}

fn texts(table: &Table, column: &str) -> Vec<String> {
    let column = table.column(column).expect(column);
    (0..table.height()).map(|row| column.cell(row).text().into_owned()).collect()
}

/// Kernel time in µs of the device events of each unit's operator, in A and in B.
fn kernel_time_by_operator(diff: &TreeDiff) -> BTreeMap<String, [f64; 2]> {
    let mut times: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for unit in diff.unit_work() {
        let of_operator = times.entry(unit.name()).or_default();
        for (side, tree) in diff.trees().into_iter().enumerate() {
            let trace = tree.trace();
            let durations = unit.events[side].iter().map(|&event| trace.events().duration(event));
            of_operator[side] += trace.to_microseconds(durations.sum());
        }
    }
    times
}

/// What holds for any two runs: every device event is in one unit, units have all kernel time, and the ledger adds up.
fn check(diff: &TreeDiff) {
    let work: Vec<UnitWork> = diff.unit_work().collect();
    for (side, tree) in diff.trees().into_iter().enumerate() {
        let events = tree.trace().events();
        let counted: Vec<EventId> = work.iter().flat_map(|unit| unit.events[side].iter().copied()).collect();
        let distinct: BTreeSet<EventId> = counted.iter().copied().collect();
        assert_eq!(counted.len(), distinct.len());
        assert!(distinct.into_iter().eq(events.ids().filter(|&event| events.category(event).is_device())));
        let sum: i64 = counted.iter().map(|&event| events.duration(event)).sum();
        assert_eq!(sum, diff.kernel_time()[side]);
        let mut ledger = diff.ledger();
        let total = ledger.pop().expect("a total");
        assert_eq!(total.item, LedgerItem::Total);
        assert_eq!(ledger.iter().map(|line| line.times[side]).sum::<i64>(), total.times[side]);
        assert_eq!(ledger.iter().map(|line| line.delta()).sum::<i64>(), total.delta());
    }
}

#[test]
fn operators_have_the_kernel_time_that_the_reference_gives_them() {
    let (Some(mi300), Some(h100)) = (read(MI300_QWEN), read(H100_QWEN)) else { return };
    let diff = diff(mi300, h100, false);
    check(&diff);
    let times = kernel_time_by_operator(&diff);
    for (operator, expected) in [
        ("aten::mm", [8663.617, 6668.679]),
        ("aten::mul", [4541.288, 6752.901]),
        ("aten::_flash_attention_forward", [4016.343, 2722.705]),
        ("aten::copy_", [3190.695, 5101.933]),
        ("aten::addmm", [2954.763, 2329.075]),
        ("aten::add", [1895.607, 2607.512]),
        ("aten::cat", [1356.071, 2017.782]),
        ("aten::pow", [928.082, 1300.795]),
        ("aten::silu", [777.643, 925.115]),
        ("aten::rsqrt", [215.446, 79.073]),
    ] {
        let found = times[operator];
        for side in [0, 1] {
            assert!((found[side] - expected[side]).abs() < 0.0015, "{operator}: {found:?}, not {expected:?}");
        }
    }
    // The reference leaves out what has no launch in the trace; here it is in units of its streams.
    let linked = |side: usize| {
        let tree = diff.trees()[side];
        let unlinked =
            tree.unlinked_device_events().iter().map(|&event| tree.trace().events().duration(event));
        tree.trace().to_microseconds(diff.kernel_time()[side] - unlinked.sum::<i64>())
    };
    let sums = [0, 1].map(linked);
    assert!((sums[0] - 29743.938).abs() < 0.001 && (sums[1] - 31905.473).abs() < 0.001, "{sums:?}");
}

/// The flash attention of MI300 fills a tensor with zeros; apart from these fills the programs are the same.
#[test]
fn across_vendors_only_what_one_run_alone_does_is_left() {
    let (Some(mi300), Some(h100)) = (read(MI300_QWEN), read(H100_QWEN)) else { return };
    let diff = diff(mi300, h100, false);
    let map = sheet(&diff, "diff_map");
    let (kinds, names_a, names_b) = (texts(&map, "kind"), texts(&map, "name_a"), texts(&map, "name_b"));
    let mut left: BTreeMap<(String, String), usize> = BTreeMap::new();
    for row in 0..map.height() {
        if kinds[row] == "operator" && (names_a[row].is_empty() || names_b[row].is_empty()) {
            *left.entry((names_a[row].clone(), names_b[row].clone())).or_default() += 1;
        }
    }
    println!("{left:?}");
    let only: Vec<&str> = left.keys().map(|(a, _)| a.as_str()).collect();
    assert!(only.iter().all(|name| ["aten::zeros", "aten::zero_", "aten::fill_"].contains(name)), "{left:?}");
    assert_eq!(left[&("aten::zeros".to_owned(), String::new())], 24);
}

/// Numbers of instances are given in the order in which a program makes its modules, so that they say which layer is which.
#[test]
fn every_module_is_matched_with_itself_on_the_other_device() {
    let (Some(h100), Some(mi300)) = (read(H100_QWEN), read(MI300_QWEN)) else { return };
    let diff = diff(h100, mi300, true);
    check(&diff);
    let map = sheet(&diff, "diff_map");
    let (kinds, names_a, names_b) = (texts(&map, "kind"), texts(&map, "name_a"), texts(&map, "name_b"));
    let confidence = texts(&map, "confidence");
    let (mut layers, mut modules, mut certain) = (0, 0, 0);
    for row in (0..map.height()).filter(|&row| kinds[row] == "module") {
        assert_eq!(names_a[row], names_b[row]);
        modules += 1;
        layers += usize::from(names_a[row].contains("Qwen2DecoderLayer_"));
        certain += usize::from(confidence[row] == "certain");
    }
    println!("{layers} layers, {modules} modules, {certain} of them certain");
    assert_eq!(layers, 24);
    let all = diff.kernel_time();
    let certain = diff.matched_time(Confidence::Certain);
    let matched = diff.matched_time(Confidence::Possible);
    println!("kernel time {all:?}, certain {certain:?}, matched {matched:?}");
    assert!([0, 1].into_iter().all(|side| matched[side] as f64 > 0.98 * all[side] as f64));
    let layer = diff
        .repeated_work()
        .into_iter()
        .find(|work| diff.names_of_work(work)[0] == "nn.Module: Qwen2DecoderLayer");
    let layer = layer.expect("layers are a class");
    assert_eq!(layer.times.each_ref().map(|times| times.count), [24, 24]);
}

const RECORDINGS: [&str; 5] = [
    "pytorch/h100-owlv2-large/trace.json.gz",
    "pytorch/mi300-timesformer/trace.json.gz",
    "pytorch/mi300-bert-small/trace.json.gz",
    "pytorch/h100-falconsai-vit/trace.json.gz",
    MI300_QWEN,
];

#[test]
fn a_recording_does_not_differ_from_itself() {
    for case in RECORDINGS {
        let (Some(a), Some(b)) = (read(case), read(case)) else { return };
        let diff = diff(a, b, true);
        check(&diff);
        assert!(diff.unit_work().all(|unit| !unit.differs()), "{case}");
        assert!(diff.ledger().iter().all(|line| line.delta() == 0), "{case}");
        assert_eq!(diff.matched_time(Confidence::Certain), diff.kernel_time(), "{case}");
        assert_eq!(diff.likeness().device_events_percent(), Some(100.0));
    }
}

#[test]
fn the_order_of_recordings_only_turns_the_answer_around() {
    let pairs = [(MI300_QWEN, H100_QWEN), (MI300_QWEN, RECORDINGS[2]), (RECORDINGS[1], RECORDINGS[3])];
    for (a, b) in pairs {
        let (Some(trace_a), Some(trace_b)) = (read(a), read(b)) else { return };
        let forth = diff(trace_a, trace_b, true);
        let (Some(trace_a), Some(trace_b)) = (read(a), read(b)) else { return };
        let back = diff(trace_b, trace_a, true);
        check(&forth);
        let units = |diff: &TreeDiff, order: [usize; 2]| {
            let of_unit = |unit: UnitWork| {
                (order.map(|side| unit.events[side].clone()), order.map(|side| unit.busy[side]))
            };
            diff.unit_work().map(of_unit).collect::<BTreeSet<_>>()
        };
        assert_eq!(units(&forth, [0, 1]), units(&back, [1, 0]), "{a} {b}");
        let [of_a, of_b] = back.kernel_time();
        assert_eq!(forth.kernel_time(), [of_b, of_a]);
    }
}

/// The trace without an operator that nothing calls and all that it did, and how many of its device events that were.
fn without_root(trace: Trace, name: &str, number: usize) -> (Trace, usize) {
    let tree = tree(trace, false);
    let root = tree.roots().iter().copied().filter(|&root| tree.trace().name(root) == name);
    let root = root.filter(|&root| !tree.device_events(root).is_empty()).nth(number).expect(name);
    let gone: BTreeSet<EventId> =
        tree.host_subtree(root).iter().chain(tree.device_events(root)).copied().collect();
    let device_events = tree.device_events(root).len();
    let mut trace = tree.into_trace();
    trace.retain(|event| !gone.contains(&event));
    (trace, device_events)
}

/// In the reference, which pairs roots by their position, one operator that is gone ruins thousands of matches.
#[test]
fn one_operator_that_is_taken_out_is_the_only_difference() {
    for (case, name, number) in [
        (MI300_QWEN, "aten::arange", 0),
        (MI300_QWEN, "aten::mean", 0),
        (MI300_QWEN, "aten::mean", 30),
        ("pytorch/h100-owlv2-large/trace.json.gz", "aten::linear", 500),
        ("pytorch/mi300-timesformer/trace.json.gz", "aten::linear", 40),
    ] {
        let (Some(whole), Some(copy)) = (read(case), read(case)) else { return };
        let (rest, device_events) = without_root(copy, name, number);
        let diff = diff(whole, rest, false);
        check(&diff);
        let changed: Vec<UnitWork> =
            diff.unit_work().filter(|unit| unit.status != UnitStatus::SameKernels).collect();
        assert!(changed.iter().all(|unit| unit.status == UnitStatus::OnlyA), "{case} {name} {changed:?}");
        assert_eq!(
            changed.iter().map(|unit| unit.events[0].len()).sum::<usize>(),
            device_events,
            "{case} {name}"
        );
    }
}

#[test]
fn other_programs_are_hardly_alike() {
    let (Some(a), Some(b)) = (read(MI300_QWEN), read("pytorch/mi300-timesformer/trace.json.gz")) else {
        return;
    };
    let diff = diff(a, b, true);
    check(&diff);
    let alike = diff.likeness().operators_percent().expect("operators");
    println!("alike {alike:.1}%");
    assert!(alike < 20.0, "{alike}");
}

#[test]
fn cells_of_the_map_are_numbers_of_events_in_the_files() {
    let (Some(a), Some(b)) = (read(MI300_QWEN), read(H100_QWEN)) else { return };
    let diff = diff(a, b, false);
    let map = sheet(&diff, "diff_map");
    let (uid_a, uid_b) = (map.column("uid_a").expect("uid_a"), map.column("uid_b").expect("uid_b"));
    let mut pairs = 0;
    for row in 0..map.height() {
        if let (Cell::Whole(a), Cell::Whole(b)) = (uid_a.cell(row), uid_b.cell(row)) {
            let name = |side: usize, uid: i64| {
                let trace = diff.trees()[side].trace();
                let events = trace.events();
                let event =
                    events.ids().find(|&event| i64::from(events.uid(event)) == uid).expect("an event");
                trace.name(event).to_owned()
            };
            if pairs % 97 == 0 {
                assert_eq!(name(0, a), texts(&map, "name_a")[row]);
                assert_eq!(name(1, b), texts(&map, "name_b")[row]);
            }
            pairs += 1;
        }
    }
    assert!(pairs > 2000, "{pairs}");
}
