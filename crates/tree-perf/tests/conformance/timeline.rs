//! Timelines of recorded traces against those published for them, in µs.

use trace2tree::LinkBy;
use tree_perf::{Analysis, AnalysisOptions};

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

/// Trace; device events, then those with a launch; figures.
type Row = (&'static str, [usize; 2], [f64; 6]);

const LINKED_BY_FLOW: &[Row] = &[
    (
        "pytorch/h100-falconsai-vit/trace.json.gz",
        [156, 156],
        [1225.3088, 0.0, 1225.3088, 6334.5352, 7559.844, 12.991],
    ),
    (H100_QWEN, [1707, 1198], [31903.1152, 2.3679, 31905.4832, 2986.9358, 34892.4189, 1746.46]),
    (
        "pytorch/h100-owlv2-large/trace.json.gz",
        [5165, 5165],
        [552189.2139, 14570.259, 566759.4729, 511528.9062, 1078288.3792, 6662.1345],
    ),
    (
        "inference/sglang-qwen3-8b-decode/capture_traces/bs_32_rank0.json.gz",
        [2, 2],
        [11.0156, 0.0, 11.0156, 0.001, 11.0166, 0.001],
    ),
    (
        "inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz",
        [558, 558],
        [9759.752, 13.1768, 9772.9287, 463977.0146, 473749.9434, 0.5479],
    ),
    (
        "inference/vllm-prefilldecode-piecewise/capture_traces/graph_capture_rank_0.1773709679453551615.pt.trace.json.gz",
        [100, 100],
        [841.0879, 2.3594, 843.4473, 54328.9561, 55172.4033, 67.418],
    ),
    (
        "inference/vllm-prefilldecode-piecewise/graph_execution.json.gz",
        [423, 423],
        [156008.4014, 77.3975, 156085.7988, 380.6172, 156466.416, 25.876],
    ),
    (XDIT, [8066, 8065], [712014.0288, 473.8394, 712487.8682, 459140.7876, 1171628.6558, 680.2197]),
    (MI210, [562, 562], [5343.3701, 0.0, 5343.3701, 636.1328, 5979.5029, 17.0713]),
    (MI300_QWEN, [1517, 1054], [29743.168, 0.7598, 29743.9277, 3387.4058, 33131.3335, 8.7495]),
    (
        "pytorch/mi300-timesformer/trace.json.gz",
        [449, 449],
        [118758.8965, 1093.9912, 119852.8877, 1414.3164, 121267.2041, 3.1978],
    ),
    (
        "pytorch/mi300-bert-small/trace.json.gz",
        [61, 61],
        [388.3447, 2.4038, 390.7485, 3105.2275, 3495.9761, 4.9316],
    ),
    (NORMALIZATION, [173, 168], [991.9912, 0.0, 991.9912, 1067787.8413, 1068779.8325, 33.8862]),
    (
        "pytorch/torch-compile-triton/trace.json.gz",
        [12, 12],
        [12549.021, 0.0, 12549.021, 0.0112, 12549.0322, 0.0112],
    ),
];

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
        micro_idle_thresh_us: Some(5.0),
        ..AnalysisOptions::default()
    };
    Some(Analysis::new(corpus::read(&testdata::corpus(file)?), options))
}

#[test]
fn timelines_agree_when_launches_are_linked_by_flow() {
    for (file, [all, linked], published) in LINKED_BY_FLOW {
        let Some(analysis) = analyse(file, LinkBy::Flow, false) else { return };
        let coverage = analysis.coverage();
        let (counted, unlinked) = (coverage.linked_events, coverage.unlinked_events);
        assert_eq!((counted + unlinked, counted), (*all, *linked), "{file}");
        check(file, &analysis, published, BEYOND_TOLERANCE);
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
    for (file, _, by_flow) in LINKED_BY_FLOW {
        let Some(analysis) = analyse(file, LinkBy::Correlation, false) else { return };
        // Fills of ROCm, which no flow links, have a correlation.
        let all = ALL.iter().find(|(of, _)| of == file && [NORMALIZATION, XDIT].contains(of));
        let published = all.map_or(&by_flow[..5], |(_, all)| &all[..]);
        check(file, &analysis, published, BEYOND_TOLERANCE);
    }
}
