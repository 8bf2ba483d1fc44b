//! Timelines of recorded traces against those published for them, in µs.

use trace2tree::LinkBy;
use tree_perf::{Analysis, AnalysisOptions, Conventions, UnlinkedRule};

use super::doubles::Timeline;
use crate::corpus;

const H100_QWEN: &str = "pytorch/h100-qwen1.5-0.5b/trace.json.gz";
const MI210: &str = "pytorch/mi210-gpu-only/trace.json.gz";
const MI300_QWEN: &str = "pytorch/mi300-qwen1.5-0.5b/trace.json.gz";
const NORMALIZATION: &str = "pytorch/normalization-layers/trace.json.gz";
const XDIT: &str = "inference/xdit-sd-3.5/profile_trace_rank_0.json.gz";

/// Figures of a timeline, those of gaps below 5 µs last. No trace has communication, and exposed copies are all
/// copies.
const FIGURES: [&str; 6] = ["computation", "memcpy", "busy", "idle", "total", "micro idle"];

/// A trace, its device events, those with a launch, and its figures.
type Row = (&'static str, [usize; 2], [f64; 6]);

fn linked_by_flow() -> impl Iterator<Item = Row> {
    let rows = include_str!("timelines.txt").lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let (file, numbers) = row.split_once(' ').unwrap();
        let numbers: Vec<f64> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let [all, linked, figures @ ..] = &numbers[..] else { panic!("{row}") };
        (file, [*all as usize, *linked as usize], figures.try_into().unwrap())
    })
}

/// All device events, those without a launch included.
const ALL: &[(&str, [f64; 5])] = &[
    (H100_QWEN, [45644.9426, 2.3679, 45647.3105, 4005.5215, 49652.832]),
    (MI300_QWEN, [43062.0322, 0.7598, 43062.792, 4023.0078, 47085.7998]),
    (XDIT, [712015.9106, 473.8394, 712489.75, 459138.9058, 1171628.6558]),
    (NORMALIZATION, [1018.627, 0.0, 1018.627, 1067761.2056, 1068779.8325]),
];

/// What exact times may differ from those of the reference.
const TOLERANCE: f64 = 0.05;

/// Where they differ by more: trace, figure, reference minus exact. The recording has 562 kernels, each end of
/// which the reference rounds to a multiple of 2⁻¹⁰ µs.
const BEYOND_TOLERANCE: &[(&str, &str, f64)] = &[
    (MI210, "computation", -0.0519),
    (MI210, "busy", -0.0519),
    (MI210, "idle", 0.0518),
    (MI210, "micro idle", 0.0513),
];

fn exact(analysis: &Analysis) -> [f64; 6] {
    let timeline = analysis.timeline().unwrap();
    let us = |time| analysis.trace().to_microseconds(time);
    assert_eq!((timeline.total_communication, timeline.exposed_communication), (0, 0));
    assert_eq!(timeline.exposed_memcpy, timeline.total_memcpy);
    let micro_idle = timeline.idle_split.unwrap().micro_idle;
    let (computation, memcpy) = (timeline.computation, timeline.total_memcpy);
    [computation, memcpy, timeline.busy, timeline.idle, timeline.total, micro_idle].map(us)
}

fn in_doubles(analysis: &Analysis) -> [f64; 6] {
    let timeline = Timeline::of(analysis, analysis.options().include_unlinked_kernels, 5.0);
    assert_eq!((timeline.communication, timeline.exposed_communication), (0.0, 0.0));
    assert_eq!(timeline.exposed_memcpy, timeline.memcpy);
    let Timeline { computation, memcpy, busy, idle, total, micro_idle, .. } = timeline;
    [computation, memcpy, busy, idle, total, micro_idle]
}

/// Compares the figures that were published, the first of [`FIGURES`], in both arithmetics. `known` are
/// differences beyond the tolerance, which must occur.
fn check(file: &str, analysis: &Analysis, published: &[f64], known: &[(&str, &str, f64)]) {
    let (exact, doubles) = (exact(analysis), in_doubles(analysis));
    for (position, (&expected, figure)) in published.iter().zip(FIGURES).enumerate() {
        let (exact, doubles) = (exact[position], doubles[position]);
        assert!(
            (doubles - expected).abs() < 1e-4,
            "{file} {figure}: {doubles} in doubles, published {expected}"
        );
        let difference = expected - exact;
        match known.iter().find(|&&(of, what, _)| (of, what) == (file, figure)) {
            None => assert!(difference.abs() < TOLERANCE, "{file} {figure}: {exact}, published {expected}"),
            Some((.., known)) => {
                assert!((difference - known).abs() < 1e-4, "{file} {figure}: {difference}, listed {known}");
                assert!(difference.abs() >= TOLERANCE, "{file} {figure} is listed but within the tolerance");
            }
        }
    }
}

fn analyse(file: &str, link_by: LinkBy, include_unlinked_kernels: bool) -> Option<Analysis> {
    let options = AnalysisOptions {
        link_by,
        include_unlinked_kernels,
        conventions: Conventions { unlinked: UnlinkedRule::LeftOut, ..Conventions::default() },
        micro_idle_thresh_us: Some(5.0),
        ..AnalysisOptions::default()
    };
    Some(Analysis::new(corpus::read(&testdata::corpus(file)?), options))
}

#[test]
fn timelines_agree_when_launches_are_linked_by_flow() {
    for (file, events, published) in linked_by_flow() {
        let Some(analysis) = analyse(file, LinkBy::Flow, false) else { return };
        let coverage = analysis.coverage();
        let (counted, unlinked) = (coverage.linked_events, coverage.unlinked_events);
        assert_eq!([counted + unlinked, counted], events, "{file}");
        check(file, &analysis, &published, BEYOND_TOLERANCE);
    }
}

#[test]
fn timelines_agree_when_events_without_a_launch_count() {
    for (file, published) in ALL {
        let Some(analysis) = analyse(file, LinkBy::Flow, true) else { return };
        check(file, &analysis, published, &[]);
    }
}

#[test]
fn timelines_agree_when_launches_are_linked_by_correlation() {
    for (file, _, by_flow) in linked_by_flow() {
        let Some(analysis) = analyse(file, LinkBy::Correlation, false) else { return };
        // Fills of ROCm, which no flow links, have a correlation.
        let all = ALL.iter().find(|(of, _)| *of == file && [NORMALIZATION, XDIT].contains(of));
        let published = all.map_or(&by_flow[..5], |(_, all)| &all[..]);
        check(file, &analysis, published, BEYOND_TOLERANCE);
    }
}
