//! Ranges of any kind against the rules applied to each range alone. Times in ns.

use std::collections::BTreeMap;

use nsys_perf::{NsysAnalysis, NsysOptions};
use proptest::prelude::*;
use trace_ingest::{Category, EventArguments, NvtxRange, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

const END: i64 = 200;

type Span = (i64, i64);

#[derive(Clone, Debug)]
enum Part {
    /// Number, thread, span, and whether it was started and ended, perhaps by another thread.
    Range(usize, i64, Span, Option<bool>),
    /// A call with its thread, and the device work that it launched.
    Launch(usize, i64, Span, Vec<Span>),
}

fn span(longest: i64) -> impl Strategy<Value = Span> {
    (0..END, 0..longest).prop_map(|(start, length)| (start, start + length))
}

/// Parts in no order, of which no two ranges of a thread are equal: order would decide which is the inner one.
fn parts() -> impl Strategy<Value = Vec<Part>> {
    let kind = prop_oneof![4 => Just(None), 1 => any::<bool>().prop_map(Some)];
    let range =
        (1..3_i64, span(80), kind).prop_map(|(thread, span, kind)| Part::Range(0, thread, span, kind));
    let launch = (1..4_i64, span(20), prop::collection::vec(span(40), 0..4))
        .prop_map(|(thread, call, work)| Part::Launch(0, thread, call, work));
    prop::collection::vec(prop_oneof![range, launch], 0..25).prop_map(|mut parts| {
        let mut seen = std::collections::HashSet::new();
        parts.retain(|part| match *part {
            Part::Range(_, thread, span, _) => seen.insert((thread, span)),
            Part::Launch(..) => true,
        });
        for (at, part) in parts.iter_mut().enumerate() {
            let (Part::Range(number, ..) | Part::Launch(number, ..)) = part;
            *number = at;
        }
        parts
    })
}

fn tree(parts: &[Part], shift: i64) -> TraceTree {
    let mut builder = TraceBuilder::new();
    // The origin.
    let track = builder.track(111, 99);
    builder.event(Category::CUDA_RUNTIME, "cudaGetDevice", track, shift, 1, EventArguments::default());
    for part in parts {
        match part {
            &Part::Range(number, thread, (start, end), kind) => {
                let nvtx = NvtxRange {
                    is_start_end: kind.is_some(),
                    crosses_threads: kind == Some(true),
                    ..NvtxRange::default()
                };
                let arguments = EventArguments { nvtx: Some(nvtx), ..EventArguments::default() };
                let (track, name) = (builder.track(111, thread), format!("r{number}"));
                builder.event(Category::USER_ANNOTATION, &name, track, shift + start, end - start, arguments);
            }
            Part::Launch(number, thread, (start, end), work) => {
                let linked =
                    || EventArguments { correlation: Some(*number as i64 + 1), ..EventArguments::default() };
                let track = builder.track(111, *thread);
                builder.event(
                    Category::CUDA_RUNTIME,
                    "cudaLaunchKernel",
                    track,
                    shift + start,
                    end - start,
                    linked(),
                );
                for &(start, end) in work {
                    let arguments = EventArguments { device: Some(0), stream: Some(7), ..linked() };
                    let track = builder.track(0, 7);
                    builder.event(Category::KERNEL, "k", track, shift + start, end - start, arguments);
                }
            }
        }
    }
    TraceTree::build(builder.finish(), &TreeOptions::default())
}

/// Device work, its time, own time and projection.
type Figures = (u32, i64, i64, Option<Span>);

fn found(tree: &TraceTree) -> BTreeMap<String, Figures> {
    let analysis = NsysAnalysis::new(tree, NsysOptions::default());
    let figures = analysis.ranges().instances.iter().map(|range| {
        let figures = (range.operations, range.operation_time, range.own_operation_time, range.projection);
        (tree.trace().name(range.event).to_owned(), figures)
    });
    figures.collect()
}

/// The ranges around a call, the innermost last.
fn around(parts: &[Part], thread: i64, call: Span) -> Vec<usize> {
    let mut around: Vec<(i64, i64, usize)> = parts
        .iter()
        .filter_map(|part| match *part {
            Part::Range(number, of, (start, end), kind)
                if of == thread && kind != Some(true) && start <= call.0 && call.1 <= end =>
            {
                Some((start, -end, number))
            }
            _ => None,
        })
        .collect();
    around.sort_unstable();
    around.into_iter().map(|(.., number)| number).collect()
}

fn expected(parts: &[Part]) -> BTreeMap<String, Figures> {
    let mut figures = BTreeMap::new();
    for part in parts {
        if let Part::Range(number, ..) = part {
            figures.insert(format!("r{number}"), (0, 0, 0, None::<Span>));
        }
    }
    for part in parts {
        let Part::Launch(_, thread, call, work) = part else { continue };
        let around = around(parts, *thread, *call);
        for &(start, end) in work {
            for (at, number) in around.iter().enumerate() {
                let (count, time, own, projection) = figures.get_mut(&format!("r{number}")).unwrap();
                *count += 1;
                *time += end - start;
                *own += if at + 1 == around.len() { end - start } else { 0 };
                let (first, last) = projection.unwrap_or((start, end));
                *projection = Some((first.min(start), last.max(end)));
            }
        }
    }
    figures
}

proptest! {
    #[test]
    fn ranges_own_what_was_launched_in_them(parts in parts()) {
        prop_assert_eq!(found(&tree(&parts, 0)), expected(&parts));
    }

    #[test]
    fn work_counts_once_as_own_time_and_lies_in_the_projection(parts in parts()) {
        let tree = tree(&parts, 0);
        let found = found(&tree);
        let mut launched = 0;
        for part in &parts {
            let Part::Launch(_, thread, call, work) = part else { continue };
            let around = around(&parts, *thread, *call);
            for &(start, end) in work {
                launched += if around.is_empty() { 0 } else { end - start };
                for number in &around {
                    let (first, last) = found[&format!("r{number}")].3.unwrap();
                    prop_assert!(first <= start && end <= last);
                }
            }
        }
        prop_assert_eq!(found.values().map(|figures| figures.2).sum::<i64>(), launched);
        // The sheets add up to the same.
        for (sheet, column) in
            [("nvtx_tree", "Own GPU Op Time (ms)"), ("nvtx_ranges", "Own GPU Op Time (ms)"), ("nvtx_kernels", "Own Time (ms)")]
        {
            let sum: f64 = crate::table(&tree, sheet).map_or(0.0, |table| table.numbers(column).iter().sum());
            prop_assert!((sum * 1e6 - launched as f64).abs() < 1e-6, "{}: {} of {}", sheet, sum, launched);
        }
    }

    #[test]
    fn neither_order_nor_clock_matters(
        (parts, shuffled) in parts().prop_flat_map(|parts| (Just(parts.clone()), Just(parts).prop_shuffle())),
        shift in -1_000_000_000_000_i64..1_000_000_000_000,
    ) {
        let expected = found(&tree(&parts, 0));
        prop_assert_eq!(found(&tree(&shuffled, 0)), expected.clone());
        prop_assert_eq!(found(&tree(&parts, shift)), expected);
    }
}
