//! Alignment and units on small programs, and what holds for all.

use trace_ingest::{Category, EventArguments, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

use super::align::{A, B, Confidence, Relation};
use super::fixture::{Item, kernel, leaf, op, record, tree};
use super::outline::NONE;
use super::units::{Unit, UnitStatus};
use super::{DiffOptions, LedgerItem, TreeDiff};

fn diff(a: &[Item], b: &[Item]) -> TreeDiff {
    let diff = TreeDiff::new(tree(a), tree(b), DiffOptions::default());
    check(&diff);
    diff
}

/// What holds for any two runs: matches go both ways, every device event is in one unit, and of the matched ones both are
/// in the same.
pub(super) fn check(diff: &TreeDiff) {
    for side in [A, B] {
        for (node, &mate) in diff.alignment.mate[side].iter().enumerate() {
            if mate != NONE {
                assert_eq!(diff.alignment.mate[1 - side][mate as usize], node as u32);
                assert_eq!(
                    diff.alignment.relation[side][node],
                    diff.alignment.relation[1 - side][mate as usize]
                );
            }
        }
        let mut counted: Vec<u32> = diff.units.iter().flat_map(|unit| unit.events[side].clone()).collect();
        counted.sort_unstable();
        assert!(counted.into_iter().eq(diff.outlines[side].device_nodes()));
    }
    for unit in &diff.units {
        for &event in &unit.events[A] {
            let mate = diff.alignment.mate[A][event as usize];
            assert!(mate == NONE || unit.events[B].contains(&mate));
        }
    }
}

/// Units in which the runs differ: the names of their heads and what sets them apart.
fn changes(diff: &TreeDiff) -> Vec<(String, String, UnitStatus)> {
    let names = |side: usize, nodes: &[u32]| {
        let names = nodes.iter().map(|&node| diff.labels.text(diff.outlines[side].label[node as usize]));
        names.collect::<Vec<_>>().join(" + ")
    };
    let changed = diff.units.iter().filter(|unit| unit.status != UnitStatus::SameKernels);
    changed.map(|unit| (names(A, &unit.heads[A]), names(B, &unit.heads[B]), unit.status)).collect()
}

fn leaves(names: &str) -> Vec<Item> {
    names.split_whitespace().map(leaf).collect()
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let program = [op("outer", leaves("a b a c")), leaf("a"), leaf("d")];
    let diff = diff(&program, &program);
    assert_eq!(changes(&diff), []);
    assert!(diff.alignment.relation[A].iter().skip(1).all(|&relation| relation == Relation::Identical));
    assert!(diff.alignment.confidence[A].iter().all(|&confidence| confidence == Confidence::Certain));
}

#[test]
fn one_operator_that_is_gone_is_the_only_difference() {
    for (a, b, gone) in [
        ("a b c d", "b c d", "a"),
        ("a b c d", "a b d", "c"),
        ("a b c d", "a b c", "d"),
        ("a a b", "a b", "a"),
    ] {
        let found = diff(&leaves(a), &leaves(b));
        assert_eq!(changes(&found), [(gone.to_owned(), String::new(), UnitStatus::OnlyA)], "{a} | {b}");
        let found = diff(&leaves(b), &leaves(a));
        assert_eq!(changes(&found), [(String::new(), gone.to_owned(), UnitStatus::OnlyB)], "{b} | {a}");
    }
}

#[test]
fn operators_are_matched_by_name_and_not_by_position() {
    let found = diff(&leaves("a b c"), &leaves("b c d"));
    let expected = [
        ("a".to_owned(), String::new(), UnitStatus::OnlyA),
        (String::new(), "d".to_owned(), UnitStatus::OnlyB),
    ];
    assert_eq!(changes(&found), expected);
    let found = diff(&leaves("a b"), &leaves("b a x"));
    assert_eq!(changes(&found).len(), 2);
    assert!(changes(&found).contains(&(String::new(), "x".to_owned(), UnitStatus::OnlyB)));
}

#[test]
fn a_wrapper_that_one_run_alone_has_changes_nothing_below_it() {
    let wrapped = [leaf("x"), op("aten::linear", vec![op("aten::addmm", leaves("t gemm"))]), leaf("y")];
    let bare = [leaf("x"), op("aten::addmm", leaves("t gemm")), leaf("y")];
    let found = diff(&wrapped, &bare);
    assert_eq!(changes(&found), []);
    let certain = found.alignment.confidence[A].iter().filter(|&&c| c == Confidence::Certain).count();
    assert!(certain > 4 && certain < found.outlines[A].len(), "{certain}");
}

#[test]
fn a_renamed_operator_with_the_same_contents_is_replaced() {
    let a = [leaf("x"), op("old", leaves("mm add")), leaf("y")];
    let b = [leaf("x"), op("new", leaves("mm add")), leaf("y")];
    let found = diff(&a, &b);
    assert_eq!(changes(&found), []);
    let a = [leaf("x"), op("old", vec![kernel("k")]), leaf("y")];
    let b = [leaf("x"), op("new", vec![kernel("k")]), leaf("y")];
    assert_eq!(changes(&diff(&a, &b)), [("old".to_owned(), "new".to_owned(), UnitStatus::ChangedStructure)]);
}

#[test]
fn operators_that_changed_places_are_moved() {
    let found = diff(&leaves("a b c d e"), &leaves("a d b c e"));
    assert_eq!(changes(&found), [("d".to_owned(), "d".to_owned(), UnitStatus::Moved)]);
}

#[test]
fn another_kernel_is_a_difference_of_its_operator() {
    let run = |kernel_name: &str| [leaf("x"), op("aten::mm", vec![kernel(kernel_name)]), leaf("y")];
    let found = diff(&run("ampere_gemm_a"), &run("Cijk_gemm_b"));
    let expected = ("aten::mm".to_owned(), "aten::mm".to_owned(), UnitStatus::ChangedKernels);
    assert_eq!(changes(&found), [expected]);
    assert_eq!(found.units[1].confidence, Some(Confidence::Certain));
}

/// On MI300X the bias of a convolution is added inside MIOpen's operator, on H100 outside of cuDNN's.
#[test]
fn an_operator_that_is_called_one_level_higher_is_the_same() {
    let add = || op("aten::add_", vec![kernel("add")]);
    let a = [op("aten::_convolution", vec![op("aten::miopen_convolution", vec![kernel("conv"), add()])])];
    let b = [op("aten::_convolution", vec![op("aten::cudnn_convolution", vec![kernel("conv")]), add()])];
    let found = diff(&a, &b);
    assert_eq!(changes(&found), [("aten::add_".to_owned(), "aten::add_".to_owned(), UnitStatus::Moved)]);
}

#[test]
fn operators_fused_into_one_are_one_difference() {
    let a = leaves("x mul add relu y");
    let b = [leaf("x"), op("fused_mul_add_relu", vec![kernel("triton_poi_fused")]), leaf("y")];
    let expected =
        ("mul + add + relu".to_owned(), "fused_mul_add_relu".to_owned(), UnitStatus::ChangedStructure);
    assert_eq!(changes(&diff(&a, &b)), [expected]);
}

#[test]
fn kernels_of_a_replayed_graph_are_those_of_the_operators_that_were_captured() {
    let eager = leaves("a b c a b c");
    let kernels = eager.iter().flat_map(|item| item.kernels().into_iter().cloned()).collect();
    let graph = [Item::Graph(kernels)];
    for found in [diff(&eager, &graph), diff(&graph, &eager)] {
        assert_eq!(found.units.len(), 6);
        assert!(found.units.iter().all(|unit| unit.events.iter().all(|events| events.len() == 1)));
        let replayed = Relation::Replayed;
        assert!(
            found.outlines[A]
                .device_nodes()
                .all(|node| found.alignment.relation[A][node as usize] == replayed)
        );
    }
}

#[test]
fn threads_are_matched_by_what_runs_on_them() {
    let (forward, backward) = (leaves("a b c"), leaves("d e f"));
    let a = record(&[(11, forward.clone()), (12, backward.clone())]).tree;
    let b = record(&[(31, backward), (27, forward)]).tree;
    let found = TreeDiff::new(a, b, DiffOptions::default());
    check(&found);
    assert_eq!(changes(&found), []);
    assert!(found.alignment.confidence[A].iter().all(|&confidence| confidence == Confidence::Certain));
}

#[test]
fn empty_runs_differ_in_nothing_but_what_the_other_has() {
    let found = diff(&[], &[]);
    assert_eq!((found.units.len(), found.outlines[A].len()), (0, 1));
    let found = diff(&[], &leaves("a b"));
    assert!(changes(&found).iter().all(|(_, _, status)| *status == UnitStatus::OnlyB));
    assert_eq!(found.units.len(), 2);
}

/// Whatever is dropped: the lines of the ledger add up, and so do the units.
#[test]
fn the_ledger_adds_up_to_the_difference_of_the_total_times() {
    let a = [op("outer", leaves("gemm relu")), leaf("ncclAllReduce"), leaf("softmax")];
    let b = [op("outer", leaves("gemm")), leaf("softmax"), leaf("gemm")];
    let found = diff(&a, &b);
    let mut lines = found.ledger();
    let total = lines.pop().unwrap();
    assert_eq!(total.item, LedgerItem::Total);
    assert_eq!(total.times, [43, 32]);
    for side in [A, B] {
        assert_eq!(lines.iter().map(|line| line.times[side]).sum::<i64>(), total.times[side]);
    }
    assert_eq!(lines.iter().map(|line| line.delta()).sum::<i64>(), total.delta());
    let communication = lines.iter().find(|line| line.item == LedgerItem::ExposedCommunication);
    assert_eq!(communication.map(|line| line.times), Some([10, 0]));
}

#[test]
fn the_merged_tree_has_every_node_once() {
    let a = [leaf("x"), op("wrapper", leaves("m n")), leaf("old")];
    let b = [leaf("x"), leaf("new"), leaf("m"), leaf("n")];
    let mut text = Vec::new();
    diff(&a, &b).write_merged_tree(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let starts = |start: &str| {
        lines
            .iter()
            .filter(|line| line.trim_start_matches(['│', ' ', '├', '└', '─']).starts_with(start))
            .count()
    };
    assert_eq!(lines[0], "thread  (0.040 | 0.040 µs)");
    assert_eq!((starts("x  ("), starts("m  ("), starts("n  (")), (1, 1, 1), "{text}");
    assert_eq!(
        (starts(">> trace1: wrapper"), starts(">> trace1: old  ("), starts("<< trace2: new  (")),
        (1, 1, 1),
        "{text}"
    );
    assert!(text.contains("├── >> trace1: wrapper"), "{text}");
    assert!(text.contains("│   └── n  ("), "{text}");
}

#[test]
fn operators_that_vary_more_than_they_differ_are_noise() {
    let run = |slower: &[i64]| -> Vec<Item> {
        let timed = |(at, &duration): (usize, &i64)| {
            let Item::Kernel(kernel) = kernel("k") else { unreachable!("a kernel") };
            let kernel = Item::Kernel(super::fixture::Kernel { duration, ..kernel });
            // Something else between two, so that there is no doubt which is which.
            [op("aten::mm", vec![kernel]), leaf(["a", "b", "c", "d"][at])]
        };
        slower.iter().enumerate().flat_map(timed).collect()
    };
    for (a, b, is_noise) in [
        ([1000, 1100, 900, 1000], [1010, 1000, 1090, 950], true),
        ([1000, 1001, 999, 1000], [1001, 1000, 1000, 1001], true),
        ([1000, 1001, 999, 1000], [1101, 1100, 1099, 1100], false),
    ] {
        let found = diff(&run(&a), &run(&b)).repeated_work();
        assert_eq!(
            (found.len(), found[0].times[A].count, found[0].is_noise()),
            (1, 4, is_noise),
            "{a:?} {b:?}"
        );
    }
}

#[test]
fn work_inside_of_repeated_work_says_so() {
    let layer =
        |name: &str| op("layer", vec![op("attention", leaves("mm softmax mm2")), leaf(name), leaf(name)]);
    let run = [layer("add"), leaf("x"), layer("add"), leaf("y"), layer("add")];
    let found = diff(&run, &run);
    let work = found.repeated_work();
    let at = |name: &str| work.iter().position(|work| found.names_of_work(work)[0] == name).unwrap();
    assert_eq!(work[at("layer")].within, None);
    for (inner, outer) in [("attention", "layer"), ("mm", "attention"), ("add", "layer")] {
        assert_eq!(work[at(inner)].within, Some(at(outer)), "{inner}");
    }
    assert_eq!(work[at("add")].times[A].count, 6);
}

#[test]
fn runs_are_as_alike_as_their_operators() {
    let likeness = diff(&leaves("a b c d"), &leaves("a b e")).likeness();
    assert_eq!((likeness.operators, likeness.like_operators), ([4, 3], 2));
    assert_eq!((likeness.device_events, likeness.like_device_events), ([4, 3], 2));
    assert_eq!(diff(&[], &[]).likeness().operators_percent(), None);
    assert_eq!(diff(&leaves("a"), &leaves("a")).likeness().operators_percent(), Some(100.0));
}

/// Operators of one name are those with the same contents, whatever their place.
#[test]
fn operators_of_one_name_are_matched_by_what_they_contain() {
    let run = |contents: &str| -> Vec<Item> {
        contents.split_whitespace().map(|content| op("f", vec![leaf(content)])).collect()
    };
    for (a, b, pairs) in [("x", "y x", vec![("x", "x")]), ("a b c d e", "a c", vec![("a", "a"), ("c", "c")])]
    {
        let found = diff(&run(a), &run(b));
        let text = |side: usize, node: u32| found.labels.text(found.outlines[side].label[node as usize]);
        let leaves = (0..found.outlines[A].len() as u32).filter(|&node| text(A, node).len() == 1);
        let leaves = leaves.filter(|&node| text(A, node) != "f");
        let matched: Vec<(&str, &str)> = leaves
            .filter_map(|node| Some((text(A, node), text(B, found.alignment.mate(A, node)?))))
            .collect();
        assert_eq!(matched, pairs, "{a} | {b}");
    }
}

/// Any one operator that is added to a program, or taken from it, is the only difference.
#[test]
fn one_operator_more_or_less_is_the_only_difference_wherever_it_is() {
    let program = [op("outer", leaves("a b a c")), leaf("a"), op("outer", leaves("a d e")), leaf("f")];
    let added = leaf("new");
    for place in 0..=program.len() {
        let mut longer = program.to_vec();
        longer.insert(place, added.clone());
        let expected = |name: [&str; 2], status| vec![(name[0].to_owned(), name[1].to_owned(), status)];
        assert_eq!(changes(&diff(&program, &longer)), expected(["", "new"], UnitStatus::OnlyB), "{place}");
        assert_eq!(changes(&diff(&longer, &program)), expected(["new", ""], UnitStatus::OnlyA), "{place}");
    }
    for place in 0..program.len() {
        let mut shorter = program.to_vec();
        let Item::Op(gone) = shorter.remove(place) else { unreachable!("an operator") };
        let found = diff(&program, &shorter);
        let changed: Vec<&Unit> =
            found.units.iter().filter(|unit| unit.status != UnitStatus::SameKernels).collect();
        assert!(changed.iter().all(|unit| unit.status == UnitStatus::OnlyA), "{place} {}", gone.name);
        let kernels: usize = gone.items.iter().map(|item| item.kernels().len()).sum();
        assert_eq!(changed.iter().map(|unit| unit.events[A].len()).sum::<usize>(), kernels, "{place}");
    }
}

#[test]
fn units_of_work_have_all_device_events_and_know_whether_they_differ() {
    let a = [leaf("x"), op("aten::mm", vec![kernel("gemm_a")]), leaf("gone")];
    let b = [leaf("x"), op("aten::mm", vec![kernel("gemm_b")])];
    let found = diff(&a, &b);
    let work: Vec<_> = found.unit_work().map(|unit| (unit.number, unit.name(), unit.differs())).collect();
    let expected = [(0, "x", false), (1, "aten::mm", true), (2, "gone", true)];
    assert_eq!(work, expected.map(|(number, name, differs)| (number, name.to_owned(), differs)));
    let sheet = super::device_rows_sheet();
    let table = sheet.table(&found).unwrap().unwrap();
    let column = |name: &str| -> Vec<String> {
        let column = table.column(name).unwrap();
        (0..table.height()).map(|row| column.cell(row).text().into_owned()).collect()
    };
    assert_eq!(column("name"), ["gemm_a", "gemm_b", "gone_kernel"]);
    assert_eq!(column("run"), ["A", "B", "A"]);
    assert_eq!(column("unit_name"), ["aten::mm", "aten::mm", "gone"]);
    assert_eq!(column("status"), ["changed-kernels", "changed-kernels", "only-A"]);
}

/// A million operators inside each other, the innermost of which launches a kernel.
fn chain(depth: i64, name: impl Fn(i64) -> &'static str) -> TraceTree {
    let mut builder = TraceBuilder::new();
    let (thread, stream) = (builder.track(1, 1), builder.track(0, 7));
    for level in 0..depth {
        let arguments = EventArguments::default();
        builder.event(Category::CPU_OP, name(level), thread, level, 3 * depth - 2 * level, arguments);
    }
    let arguments = EventArguments { correlation: Some(1), ..EventArguments::default() };
    builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", thread, depth, 1, arguments);
    let arguments = EventArguments { correlation: Some(1), device: Some(0), stream: Some(7), ..arguments };
    builder.event(Category::KERNEL, "k", stream, 3 * depth, 10, arguments);
    TraceTree::build(builder.finish(), &TreeOptions::default())
}

#[test]
fn a_million_levels_are_no_problem() {
    const DEPTH: i64 = 1_000_000;
    check(&TreeDiff::new(chain(DEPTH, |_| "a"), chain(DEPTH - 1, |_| "a"), DiffOptions::default()));
}

/// Every second operator has another name, so that each has to be found by its contents.
#[test]
fn looking_into_deep_trees_does_not_take_the_square_of_their_depth() {
    let run = |odd: &'static str| chain(100_000, move |level| if level % 2 == 0 { "a" } else { odd });
    let diff = TreeDiff::new(run("b"), run("c"), DiffOptions::default());
    check(&diff);
    assert!(diff.alignment.mate[A].iter().all(|&mate| mate != NONE));
}
