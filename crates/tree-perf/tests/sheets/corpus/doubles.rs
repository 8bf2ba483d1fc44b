//! The timeline in the reference's arithmetic: microseconds since the epoch in doubles, ends as the sum of
//! start and duration. Exact times differ from it by what these sums lose.

use perf_models::{CommunicationPatterns, MemoryKernel, rocm_memory_kernel};
use trace_ingest::Category;
use tree_perf::Analysis;

type Spans = Vec<(f64, f64)>;

/// Times in µs, as the reference has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeline {
    pub(crate) computation: f64,
    pub(crate) exposed_communication: f64,
    pub(crate) exposed_memcpy: f64,
    pub(crate) busy: f64,
    pub(crate) idle: f64,
    pub(crate) total: f64,
    pub(crate) communication: f64,
    pub(crate) memcpy: f64,
    pub(crate) micro_idle: f64,
}

impl Timeline {
    pub(crate) fn of(analysis: &Analysis, include_unlinked: bool, micro_idle_threshold: f64) -> Timeline {
        let (trace, events) = (analysis.trace(), analysis.trace().events());
        let patterns = CommunicationPatterns::default();
        let [mut computation, mut communication, mut memcpy] = [const { Spans::new() }; 3];
        let counted = events.ids().filter(|&id| {
            events.category(id).is_device() && (include_unlinked || analysis.tree().contains(id))
        });
        for id in counted {
            let start = (trace.origin() + events.start(id)) as f64 / 1000.0;
            let span = (start, start + events.duration(id) as f64 / 1000.0);
            let is_kernel = events.category(id) == Category::KERNEL;
            match rocm_memory_kernel(trace.name(id)).filter(|_| is_kernel) {
                _ if events.category(id) == Category::GPU_MEMCPY => memcpy.push(span),
                Some(MemoryKernel::Copy) => memcpy.push(span),
                None if patterns.is_communication(trace.name(id)) => communication.push(span),
                Some(MemoryKernel::Fill) | None => computation.push(span),
            }
        }
        let [computation, communication, memcpy] = [computation, communication, memcpy].map(merged);
        let all = merged([&computation[..], &communication, &memcpy].concat());
        let (first, last) = (all[0].0, all[all.len() - 1].1);
        let gaps = without(&[(first, last)], &all);
        Timeline {
            computation: length(&computation),
            exposed_communication: length(&without(&communication, &computation)),
            exposed_memcpy: length(&without(&without(&memcpy, &computation), &communication)),
            busy: length(&all),
            idle: last - first - length(&all),
            total: last - first,
            communication: length(&communication),
            memcpy: length(&memcpy),
            micro_idle: gaps.iter().map(|gap| gap.1 - gap.0).filter(|&gap| gap < micro_idle_threshold).sum(),
        }
    }
}

fn length(spans: &[(f64, f64)]) -> f64 {
    spans.iter().map(|span| span.1 - span.0).sum()
}

/// The union of spans as disjoint spans in order; spans that touch are one.
fn merged(mut spans: Spans) -> Spans {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut merged = Spans::new();
    for (start, end) in spans {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// The parts of merged spans that other merged spans do not cover.
fn without(spans: &[(f64, f64)], others: &[(f64, f64)]) -> Spans {
    let mut left = Spans::new();
    for &(mut start, end) in spans {
        let first = others.partition_point(|other| other.1 <= start);
        for other in others[first..].iter().take_while(|other| other.0 < end) {
            if other.0 > start {
                left.push((start, other.0));
            }
            start = start.max(other.1);
        }
        if start < end {
            left.push((start, end));
        }
    }
    left
}

#[test]
fn spans_are_merged_and_subtracted() {
    assert_eq!(merged(vec![(20.0, 30.0), (0.0, 10.0), (5.0, 15.0)]), [(0.0, 15.0), (20.0, 30.0)]);
    assert_eq!(merged(vec![(0.0, 10.0), (10.0, 12.0)]), [(0.0, 12.0)]);
    for (others, left) in [
        (vec![], vec![(10.0, 20.0)]),
        (vec![(15.0, 16.0)], vec![(10.0, 15.0), (16.0, 20.0)]),
        (vec![(15.0, 16.0), (17.0, 18.0)], vec![(10.0, 15.0), (16.0, 17.0), (18.0, 20.0)]),
        (vec![(9.0, 12.0)], vec![(12.0, 20.0)]),
        (vec![(15.0, 22.0)], vec![(10.0, 15.0)]),
        (vec![(0.0, 30.0)], vec![]),
    ] {
        assert_eq!(without(&[(10.0, 20.0)], &others), left, "{others:?}");
    }
}
