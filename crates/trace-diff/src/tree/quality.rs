//! How good the alignment is on runs of which it is known which kernel is which: programs like language models, changed
//! as programs change.

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use trace_ingest::EventId;

use super::align::{A, B, Confidence};
use super::fixture::{Item, Kernel, Op, Recorded, kernel, op, record};
use super::{DiffOptions, TreeDiff};

const PAIRS: u64 = 240;

/// Numbers that look random and are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

fn matmul(kernel_name: &str) -> Item {
    op("aten::linear", vec![op("aten::addmm", vec![kernel(kernel_name)])])
}

fn norm() -> Vec<Item> {
    [
        ("aten::pow", "pow_kernel"),
        ("aten::mean", "reduce_mean"),
        ("aten::rsqrt", "rsqrt_kernel"),
        ("aten::mul", "mul_kernel"),
    ]
    .map(|(name, kernel_name)| op(name, vec![kernel(kernel_name)]))
    .into()
}

fn layer(with_modules: bool) -> Vec<Item> {
    let attention = vec![
        matmul("gemm_qkv"),
        op("aten::cat", vec![kernel("cat_kernel")]),
        op(
            "aten::scaled_dot_product_attention",
            vec![op(
                "aten::_flash_attention_forward",
                vec![kernel("zeros_kernel"), kernel("flash_fwd_kernel")],
            )],
        ),
        matmul("gemm_out"),
    ];
    let mlp = vec![
        matmul("gemm_up"),
        op("aten::silu", vec![kernel("silu_kernel")]),
        op("aten::mul", vec![kernel("mul_kernel")]),
        matmul("gemm_down"),
    ];
    let add = || op("aten::add", vec![kernel("add_kernel")]);
    let parts = [
        ("Norm", norm()),
        ("Attention", attention),
        ("Residual", vec![add()]),
        ("Norm", norm()),
        ("Mlp", mlp),
        ("Residual", vec![add()]),
    ];
    parts
        .into_iter()
        .flat_map(|(name, items)| if with_modules { vec![Item::Module(name, items)] } else { items })
        .collect()
}

fn program(random: &mut Random) -> Vec<Item> {
    let with_modules = random.below(2) == 0;
    let mut items = vec![op("aten::embedding", vec![kernel("gather_kernel")])];
    for _ in 0..2 + random.below(8) {
        let layer = layer(with_modules);
        match with_modules {
            true => items.push(Item::Module("Layer", layer)),
            false => items.extend(layer),
        }
    }
    items.extend([matmul("gemm_head"), op("aten::softmax", vec![kernel("softmax_kernel")])]);
    items
}

/// Gives every kernel its number and a duration.
fn number(items: &mut [Item], next: &mut u32, random: &mut Random) {
    for item in items {
        match item {
            Item::Kernel(kernel) => {
                (kernel.truth, kernel.duration) = (*next, 100 + random.below(10_000) as i64);
                *next += 1;
            }
            Item::Module(_, items) | Item::Op(Op { items, .. }) => number(items, next, random),
            Item::Graph(_) => {}
        }
    }
}

/// The program's backward: what runs on the two threads can be told from each other.
fn as_backward(items: &mut [Item]) {
    for item in items {
        match item {
            Item::Op(op) => {
                op.name.push_str("_backward");
                as_backward(&mut op.items);
            }
            Item::Module(_, items) => as_backward(items),
            Item::Kernel(kernel) => kernel.name.push_str("_bwd"),
            Item::Graph(_) => {}
        }
    }
}

/// Kernel names and program of an item, without what tells one call from the next.
fn content(item: &Item) -> String {
    match item {
        Item::Module(name, items) => format!("{name}({})", items.iter().map(content).collect::<String>()),
        Item::Op(Op { name, extent, items }) => {
            format!("{name}{extent}({})", items.iter().map(content).collect::<String>())
        }
        Item::Kernel(kernel) => kernel.name.clone(),
        Item::Graph(kernels) => kernels.iter().map(|kernel| &*kernel.name).collect(),
    }
}

/// A list somewhere in the program, among those of its modules and its own.
fn some_list<'i>(items: &'i mut Vec<Item>, random: &mut Random) -> &'i mut Vec<Item> {
    let inner: Vec<usize> = (0..items.len()).filter(|&at| matches!(items[at], Item::Module(..))).collect();
    if inner.is_empty() || random.below(4) == 0 {
        return items;
    }
    let at = inner[random.below(inner.len())];
    match &mut items[at] {
        Item::Module(_, inner) => some_list(inner, random),
        _ => unreachable!("chosen among modules"),
    }
}

fn is_op(item: &Item) -> bool {
    matches!(item, Item::Op(_))
}

/// Changes the program in one place; `next` numbers what is new. What could not be told from no change is left as it is:
/// dropping one of two equal neighbours, for instance, may have dropped either.
fn change(items: &mut Vec<Item>, next: &mut u32, random: &mut Random) {
    let list = some_list(items, random);
    let at = random.below(list.len());
    let fresh = |name: String, random: &mut Random, next: &mut u32| {
        let mut added = [op(&format!("custom::{name}"), vec![kernel(&format!("{name}_kernel"))])];
        number(&mut added, next, random);
        let [added] = added;
        added
    };
    match random.below(6) {
        0 => {
            if let Item::Op(op) = &mut list[at] {
                op.name = format!("renamed::{}", random.below(1000));
            }
        }
        1 => {
            let equal =
                |other: Option<&Item>| other.is_some_and(|other| content(other) == content(&list[at]));
            let is_ambiguous = equal(list.get(at + 1)) || at > 0 && equal(list.get(at - 1));
            if is_op(&list[at]) && !is_ambiguous && list.len() > 1 {
                list.remove(at);
            }
        }
        2 => {
            let added = fresh(format!("new{next}"), random, next);
            list.insert(at, added);
        }
        3 => {
            // The same operator on other shapes.
            let mut added = list[at].clone();
            if let Item::Op(Op { extent, .. }) = &mut added {
                *extent = 9 + random.below(100) as i64;
                number(std::slice::from_mut(&mut added), next, random);
                list.insert(random.below(list.len() + 1), added);
            }
        }
        4 => {
            if at + 1 < list.len() && list[at..at + 2].iter().all(is_op) {
                list.swap(at, at + 1);
            }
        }
        _ => {
            let end = (at + 2 + random.below(2)).min(list.len());
            if end - at > 1 && list[at..end].iter().all(is_op) {
                let fused = fresh(format!("fused{next}"), random, next);
                list.splice(at..end, [fused]);
            }
        }
    }
}

/// Captures some of the program into a graph that is replayed by one call.
fn capture(items: &mut Vec<Item>, random: &mut Random) {
    let from = random.below(items.len());
    let to = from + 1 + random.below(items.len() - from);
    let kernels = items[from..to].iter().flat_map(|item| item.kernels().into_iter().cloned()).collect();
    items.splice(from..to, [Item::Graph(kernels)]);
}

#[derive(Default, Debug)]
struct Score {
    /// Kernel time in A of what B has, too, and how much of it is matched with it.
    shared: i64,
    right: i64,
    /// Matches with another kernel, and those of them that are said to be certain.
    wrong: usize,
    wrong_and_certain: usize,
    certain: i64,
}

fn score(diff: &TreeDiff, truth: [&[(EventId, u32)]; 2], score: &mut Score) {
    let truth: [HashMap<EventId, u32>; 2] = truth.map(|truth| truth.iter().copied().collect());
    let of = |side: usize, node: u32| truth[side][&diff.event(side, node).unwrap()];
    let in_b: HashMap<u32, u32> = diff.outlines[B].device_nodes().map(|node| (of(B, node), node)).collect();
    for node in diff.outlines[A].device_nodes() {
        let duration = diff.outlines[A].duration[node as usize];
        let (expected, found) = (in_b.get(&of(A, node)).copied(), diff.alignment.mate(A, node));
        let is_certain = diff.alignment.confidence[A][node as usize] == Confidence::Certain;
        if expected.is_some() {
            score.shared += duration;
            score.right += if found == expected { duration } else { 0 };
        }
        match found {
            Some(_) if found != expected => {
                score.wrong += 1;
                score.wrong_and_certain += usize::from(is_certain);
            }
            Some(_) if is_certain => score.certain += duration,
            _ => {}
        }
    }
}

#[test]
fn nearly_all_device_time_is_matched_with_what_it_is_and_nothing_else_is_certain() {
    let mut total = Score::default();
    let mut worst: Vec<(f64, u64)> = Vec::new();
    for seed in 0..PAIRS {
        let mut random = Random(seed);
        let (mut forward, mut backward) = (program(&mut random), program(&mut random));
        as_backward(&mut backward);
        let mut next = 1;
        number(&mut forward, &mut next, &mut random);
        number(&mut backward, &mut next, &mut random);
        let a = record(&[(11, forward.clone()), (12, backward.clone())]);
        for _ in 0..1 + random.below(8) {
            let changed = if random.below(2) == 0 { &mut forward } else { &mut backward };
            change(changed, &mut next, &mut random);
        }
        if random.below(3) == 0 {
            capture(&mut forward, &mut random);
        }
        // Threads have other numbers in every process, and may be recorded in another order.
        let threads = match random.below(2) {
            0 => [(3, forward), (8, backward)],
            _ => [(5, backward), (9, forward)],
        };
        let b = record(&threads);
        let (Recorded { tree: tree_a, truth: truth_a }, Recorded { tree: tree_b, truth: truth_b }) = (a, b);
        let diff = TreeDiff::new(tree_a, tree_b, DiffOptions::default());
        super::tests::check(&diff);
        let mut pair_score = Score::default();
        score(&diff, [&truth_a, &truth_b], &mut pair_score);
        worst.push((pair_score.right as f64 / pair_score.shared.max(1) as f64, seed));
        assert_eq!(pair_score.wrong_and_certain, 0, "seed {seed}: {pair_score:?}");
        total.shared += pair_score.shared;
        total.right += pair_score.right;
        total.wrong += pair_score.wrong;
        total.certain += pair_score.certain;
    }
    worst.sort_few_by(|a, b| a.0.total_cmp(&b.0));
    let share = total.right as f64 / total.shared as f64;
    println!(
        "right {share:.5}, certain {:.5}, wrong {}, worst {:?}",
        total.certain as f64 / total.shared as f64,
        total.wrong,
        &worst[..5]
    );
    assert!(share >= 0.99, "{total:?}, worst {:?}", &worst[..5]);
}

/// Everything that holds for one order of the runs holds for the other.
#[test]
fn the_order_of_the_runs_does_not_matter() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let mut items = program(&mut random);
        let mut next = 1;
        number(&mut items, &mut next, &mut random);
        let mut changed = items.clone();
        (0..5).for_each(|_| change(&mut changed, &mut next, &mut random));
        if seed % 3 == 0 {
            capture(&mut changed, &mut random);
        }
        let tree = |items: &[Item]| record(&[(1, items.to_vec())]).tree;
        let diff = TreeDiff::new(tree(&items), tree(&changed), DiffOptions::default());
        let mirrored = TreeDiff::new(tree(&changed), tree(&items), DiffOptions::default());
        assert_eq!(diff.alignment.mate[A], mirrored.alignment.mate[B], "seed {seed}");
        assert_eq!(diff.alignment.confidence[A], mirrored.alignment.confidence[B]);
        let mut units: Vec<_> = diff.units.iter().map(|unit| unit.events.clone()).collect();
        let mut mirrored_units: Vec<_> = mirrored
            .units
            .iter()
            .map(|unit| {
                let [a, b] = unit.events.clone();
                [b, a]
            })
            .collect();
        units.sort_unstable();
        mirrored_units.sort_unstable();
        assert_eq!(units, mirrored_units, "seed {seed}");
    }
}

/// Numbers of kernels in a program are its own.
#[test]
fn generated_programs_have_a_number_for_each_kernel() {
    let mut random = Random(1);
    let mut items = program(&mut random);
    let mut next = 1;
    number(&mut items, &mut next, &mut random);
    let mut numbers: Vec<u32> =
        items.iter().flat_map(Item::kernels).map(|kernel: &Kernel| kernel.truth).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(1..next));
}
