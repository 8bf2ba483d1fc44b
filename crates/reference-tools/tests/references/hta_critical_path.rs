//! The graph of HTA's critical path analysis, of what it reads of recordings.

use critical_path::{PathClass, Recorded, Scope};
use perf_models::CommunicationPatterns;
use reference_tools::{hta, read_as_hta};
use testdata::corpus;
use trace_ingest::{ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

/// Case, nodes, edges (operator, dependency, launch, kernel to kernel, synchronization), nodes of the path, its length
/// in µs, shares in percent of the host and between kernels.
type Hta = (&'static str, usize, [usize; 5], usize, i64, f64, f64);

/// HTA, main branch, commit f4d0062c, with times in whole µs: the rules that ours took over.
const HTA: &[Hta] = &[
    ("kineto/cuda-event-sync", 54, [38, 10, 5, 0, 4], 40, 2411, 98.0921, 0.0),
    ("pytorch/mi300-bert-small", 798, [656, 80, 43, 18, 0], 637, 2034, 87.3156, 11.3078),
    ("pytorch/h100-qwen1.5-0.5b", 10890, [8473, 1218, 24, 1174, 0], 2826, 33641, 5.0143, 8.2709),
    ("pytorch/h100-falconsai-vit", 2002, [1664, 181, 147, 8, 0], 1687, 4591, 99.8475, 0.0),
    ("pytorch/h100-owlv2-large", 52918, [42519, 5233, 156, 5009, 0], 35842, 222_574, 49.8942, 1.0420),
];

#[test]
fn the_graph_of_recordings_of_the_corpus_is_that_of_hta() {
    for &(case, nodes, edges, path_nodes, length, host, between) in HTA {
        let Some(folder) = corpus(case) else { return };
        let mut trace = read_path(&folder.join("trace.json.gz"), &ReadOptions::default()).unwrap();
        let device_first = read_as_hta(&mut trace);
        let tree = TraceTree::build(trace, &TreeOptions::default());
        let scope = match case {
            "kineto/cuda-event-sync" => {
                Scope::containing(tree.trace(), "ProfilerStep", 0..=0, device_first).unwrap()
            }
            _ => Scope::Whole,
        };
        let recorded = Recorded::new(&tree, &scope, &CommunicationPatterns::default());
        let path = recorded.dag_path(&Default::default());
        let share = |wanted: PathClass| {
            let segments = path.segments.iter().filter(|segment| segment.class == Some(wanted));
            segments.map(|segment| segment.weight).sum::<i64>() as f64 / path.length as f64 * 100.0
        };
        // Which of two events of one µs comes first decides between a launch delay and a delay between kernels.
        let [.., launch, between_kernels, synchronization, _] = path.edges;
        assert_eq!((path.nodes, path.edges[0], path.edges[1]), (nodes, edges[0], edges[1]), "{case}");
        assert_eq!((launch + between_kernels, synchronization), (edges[2] + edges[3], edges[4]), "{case}");
        assert!(launch.abs_diff(edges[2]) <= 8, "{case}: {launch} launch delays");
        assert_eq!((path.segments.len() + 1, path.length), (path_nodes, length * 1000), "{case}");
        assert_eq!(path.circular, 0, "{case}");
        let found_host = share(PathClass::HostOperator) + share(PathClass::HostRuntime);
        assert!((found_host - host).abs() < 0.005, "{case}: host {found_host}%");
        let found_between = share(PathClass::KernelGap);
        assert!((found_between - between).abs() < 0.005, "{case}: between kernels {found_between}%");
    }
}

/// HTA 0.5.0 with pandas 2.3.3 and networkx 3.6.1: recording, annotation with its instance, nodes, edges (operator,
/// dependency, launch, kernel to kernel, synchronization), nodes of the path, and µs of the path bound by the host, by
/// computation, by communication, by gaps between kernels and by launches. pandas' sorts were told to be stable: by
/// default the order of events of one µs depends on the processor, and with it some edges beside the path.
const RELEASED: &str = "
kineto/cuda-event-sync/trace.json.gz ProfilerStep#0 54 38 10 5 0 4 40 2335 38 0 0 28
pytorch/mi300-bert-small/trace.json.gz - 798 656 80 43 18 0 637 1776 10 0 230 18
pytorch/h100-falconsai-vit/trace.json.gz - 2002 1664 181 147 8 0 1687 4584 0 0 0 7
pytorch/h100-qwen1.5-0.5b/trace.json.gz - 10890 8473 1218 22 1176 0 2826 1675 29151 0 2781 6
pytorch/mi300-qwen1.5-0.5b/trace.json.gz - 10454 8156 1243 18 1036 0 2679 16314 27043 0 1026 31
pytorch/torch-compile-triton/trace.json.gz - 94 79 2 0 11 0 70 12746 0 0 0 0
pytorch/normalization-layers/trace.json.gz - 1974 1675 124 99 74 0 783 985006 31 0 329 10
pytorch/mi210-gpu-only/trace.json.gz - 918 459 230 13 213 0 153 98 500 0 2620 6
kineto/execution-trace/trace.json.gz - 94 74 15 2 1 0 80 19671399 3 0 0 5821
kineto/integer-us-rank1/trace.json.gz - 4612 3780 253 137 439 0 1467 255413 220 0 17099 4
field/recordings/a100-particle-transformer/trace.json.gz - 8430 7144 643 630 12 0 7142 727639 8 0 0 11
field/recordings/a10g-two-steps/trace.json.gz - 32 27 2 2 0 0 14 612581 30489 0 0 149
field/recordings/mi300x-replay/trace.json.gz - 116 85 10 0 19 0 76 29852 0 0 0 0
inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz - 164 118 30 5 9 0 106 463284 75 0 10149 10
inference/sglang-qwen3-8b-decode/capture_traces/bs_32_rank0.json.gz - 4992 4315 674 0 1 0 4988 17789 0 0 0 0
inference/vllm-prefilldecode-piecewise/graph_execution.json.gz - 1280 1060 132 0 86 0 174 0 7855 0 148611 0
inference/vllm-prefilldecode-piecewise/capture_traces/graph_capture_rank_0.1773709679453551615.pt.trace.json.gz - 3478 2915 462 51 48 0 3278 160974 0 0 0 0
pytorch/mi300-timesformer/trace.json.gz - 5806 4598 758 4 445 0 1047 23477 117560 0 436 29
pytorch/h100-owlv2-large/trace.json.gz - 52918 42519 5233 148 5017 0 35842 95054 109195 0 2313 6
inference/xdit-sd-3.5/profile_trace_rank_0.json.gz - 65466 53139 4260 3047 5019 0 48444 1071930 48379 0 390 10
field/recordings/mi300x-fused-ranks/trace.json.gz - 109888 89615 8820 141 11296 0 124 0 0 118146 -22736 0
experts/h800-deepseek-v3-train/trace.json.gz - 12640 9926 1729 16 966 0 2118 838 117757 0 9919 6
field/cases/02-graph-launches-without-kernels/no_replay_recorded.json - 168 96 47 24 0 0 121 715 3 0 0 5
field/cases/02-graph-launches-without-kernels/one_of_ten_replays_recorded.json - 306 183 89 30 3 0 166 1141 152 0 1449 6
field/cases/04-communication-kernels/kernels.json - 54 36 8 9 0 0 4 5 6181 0 0 35
field/cases/07-headline-of-several-devices/layers_on_four_gpus.json - 240 160 39 1 39 0 82 2 10000 0 0 18
field/cases/11-vllm-coordinator-trace/dp0_pp0_tp0_dcp0_ep0_rank0.17841120.pt.trace.json.gz - 60 40 9 10 0 0 40 163 0 200 0 305
field/recordings/a10g-two-steps/trace.json.gz ProfilerStep#0 32 27 2 2 0 0 14 612581 30489 0 0 149
kineto/integer-us-rank1/trace.json.gz ProfilerStep#0 4612 3780 253 137 439 0 1467 255413 220 0 17099 4
field/recordings/mi300x-fused-ranks/trace.json.gz ProfilerStep#0 52086 42543 4120 79 5333 0 56 0 0 56314 -14196 0
inference/xdit-sd-3.5/profile_trace_rank_0.json.gz ProfilerStep#0 65466 53139 4260 3047 5019 0 48444 1071930 48379 0 390 10
pytorch/h100-qwen1.5-0.5b/trace.json.gz aten::mm#3 12 9 0 0 1 0 4 0 74 0 3 0
pytorch/h100-qwen1.5-0.5b/trace.json.gz aten::linear#20 22 19 0 0 1 0 4 0 75 0 2 0
pytorch/mi300-timesformer/trace.json.gz aten::linear#10 16 14 0 0 0 0 2 0 178 0 0 0
kineto/integer-us-rank1/trace.json.gz aten::addmm#5 6 4 0 0 0 0 4 43 0 0 0 0
pytorch/normalization-layers/trace.json.gz aten::batch_norm#1 22 20 0 1 0 0 18 1620 4 0 0 23
field/recordings/mi300x-fused-ranks/trace.json.gz nccl#3 2832 2376 175 4 271 0 6 0 0 4637 -2149 0
";

#[test]
fn the_path_through_recordings_of_the_corpus_is_that_of_hta_as_released() {
    for row in RELEASED.lines().filter(|row| !row.is_empty()) {
        let mut fields = row.split(' ');
        let (file, annotation) = (fields.next().unwrap(), fields.next().unwrap());
        let figures: Vec<i64> = fields.map(|figure| figure.parse().unwrap()).collect();
        let [nodes, operator, dependency, launch, between_kernels, synchronization, path_nodes, times @ ..] =
            &figures[..]
        else {
            panic!("{row}")
        };
        let (folder, name) = file.rsplit_once('/').unwrap();
        let Some(folder) = corpus(folder) else { return };
        let mut trace = read_path(&folder.join(name), &ReadOptions::default()).unwrap();
        let device_first = read_as_hta(&mut trace);
        let options = TreeOptions { keep_overruns: true, ..TreeOptions::default() };
        let tree = TraceTree::build(trace, &options);
        let scope = match annotation.split_once('#') {
            None => Scope::Whole,
            Some((text, number)) => {
                let number = number.parse().unwrap();
                Scope::containing(tree.trace(), text, number..=number, device_first).unwrap()
            }
        };
        let recorded = Recorded::new(&tree, &scope, &CommunicationPatterns::libraries_only());
        let path = recorded.dag_path(&hta().critical_path);
        let us = |wanted: &[PathClass]| {
            let is_meant = |class: Option<PathClass>| class.is_some_and(|class| wanted.contains(&class));
            let segments = path.segments.iter().filter(|segment| is_meant(segment.class));
            segments.map(|segment| segment.weight).sum::<i64>() / 1000
        };
        let found = [
            us(&[PathClass::HostOperator, PathClass::HostRuntime]),
            us(&[PathClass::GpuCompute, PathClass::GpuMemory, PathClass::GpuOther]),
            us(&[PathClass::GpuCommunication]),
            us(&[PathClass::KernelGap]),
            us(&[PathClass::LaunchDelay]),
        ];
        assert_eq!(found, times, "{file} {annotation}");
        assert_eq!(path.segments.len() as i64 + 1, *path_nodes, "{file} {annotation}");
        let edges = path.edges.map(|count| count as i64);
        let expected = [*operator, *dependency, launch + between_kernels, *synchronization, 0];
        let [.., found_launch, found_between, _, _] = edges;
        assert_eq!(
            [edges[0], edges[1], found_launch + found_between, edges[4], edges[5]],
            expected,
            "{file} {annotation}"
        );
        assert_eq!(path.nodes as i64, *nodes, "{file} {annotation}");
        // Of devices that share a stream's number, events of one µs are in another order.
        let most = i64::from(file.contains("mi300x-fused"));
        assert!((found_launch - launch).abs() <= most, "{file} {annotation}: {found_launch} launch delays");
        assert_eq!(path.circular, 0, "{file} {annotation}");
    }
}
