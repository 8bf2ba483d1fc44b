//! Trees of recorded traces against figures published for them.
//!
//! The figures are those of TraceLens's tree builder: linking by launch arrows, times as doubles.

use std::collections::HashSet;

use trace_ingest::{Category, EventId, Trace};
use trace2tree::{LinkBy, TraceTree, TreeOptions};

/// Events with a parent, sum of the parents' uids, sum of the lengths of all device event lists, topmost
/// operators, entries of the file without device work, sum of the lengths of all module stacks, distinct names.
type Figures = [u64; 7];

struct Case {
    file: &'static str,
    entries: u32,
    without_python: Figures,
    with_python: Figures,
    /// Device events linked by arrows, and by correlation.
    linked: [u64; 2],
    /// With Python frames: host events that the published rule leaves out, mostly by rounding, and host events that
    /// outlive the one they start in, to the nanosecond.
    left_out_and_reattached: [u64; 2],
}

/// The file of a [`Case`], then its other fields in their order.
const CASES: &str = "
pytorch/h100-falconsai-vit/trace.json.gz
    5138 | 1519 1559693 455 276 4550 1641 58 | 3910 8530942 4578 276 3821 17133 446 | 156 156 | 2 0
pytorch/h100-qwen1.5-0.5b/trace.json.gz
    18221 | 5926 27958876 3371 1378 13575 6108 84 | 11558 77365206 27071 1378 11880 33207 611 | 1198 1198 | 8 0
pytorch/h100-owlv2-large/trace.json.gz
    132152 | 31361 922882124 14695 7472 114042 33670 152 | 104136 6048468727 192050 7472 93297 550633 1173 | 5165 5165 | 10 0
inference/sglang-qwen3-8b-decode/capture_traces/bs_32_rank0.json.gz
    61713 | 4100 7409682 4 946 61707 5056 51 | 59107 1763089260 26 946 61696 211016 891 | 2 2 | 22 0
inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz
    2058 | 609 507660 576 26 1468 90 62 | 1464 892672 3945 26 1416 911 276 | 558 558 | 0 0
inference/vllm-prefilldecode-piecewise/capture_traces/graph_capture_rank_0.1773709679453551615.pt.trace.json.gz
    122257 | 6091 22648553 250 476 121907 6795 66 | 117737 6915982586 3773 475 121346 235427 698 | 100 100 | 32 2
inference/vllm-prefilldecode-piecewise/graph_execution.json.gz
    19289 | 1262 7851024 515 108 18688 1023 63 | 18479 167842879 9687 107 18029 50166 405 | 423 423 | 1 2
inference/xdit-sd-3.5/profile_trace_rank_0.json.gz
    239093 | 60953 2483303316 24360 4905 212057 57807 245 | 200466 16846086900 248575 4905 192156 402422 2101 | 8065 8066 | 32 8
pytorch/mi210-gpu-only/trace.json.gz
    2443 | 562 352948 562 0 1319 631 49 | 562 352948 562 0 1319 631 49 | 562 562 | 0 0
pytorch/mi300-qwen1.5-0.5b/trace.json.gz
    18090 | 6000 26373617 2939 1378 13706 6326 85 | 11634 79622941 21315 1378 12013 33622 612 | 1054 1054 | 10 0
pytorch/mi300-timesformer/trace.json.gz
    49950 | 3925 27863419 1422 964 48173 4442 83 | 47216 1172020916 16704 964 46330 98696 793 | 449 449 | 7 0
pytorch/mi300-bert-small/trace.json.gz
    2653 | 635 290905 171 104 2421 680 48 | 2115 2395750 1756 104 2118 9677 339 | 61 61 | 13 0
pytorch/normalization-layers/trace.json.gz
    8500 | 1255 2077069 642 126 7862 1214 115 | 7304 29617549 1728 126 7532 9007 312 | 168 173 | 3 0
pytorch/torch-compile-triton/trace.json.gz
    246 | 108 3072 37 2 208 100 32 | 108 3072 37 2 208 100 32 | 12 12 | 0 0
";

impl Case {
    fn new(file: &'static str, fields: &str) -> Case {
        let fields: Vec<Vec<u64>> = fields
            .split('|')
            .map(|numbers| numbers.split_whitespace().map(|number| number.parse().unwrap()).collect())
            .collect();
        let [entries, without_python, with_python, linked, left_out_and_reattached] = &fields[..] else {
            panic!("{file}: {fields:?}")
        };
        Case {
            file,
            entries: entries[0] as u32,
            without_python: without_python[..].try_into().unwrap(),
            with_python: with_python[..].try_into().unwrap(),
            linked: linked[..].try_into().unwrap(),
            left_out_and_reattached: left_out_and_reattached[..].try_into().unwrap(),
        }
    }
}

fn for_each_case(mut check: impl FnMut(&Case, Trace)) {
    let lines: Vec<&str> = CASES.trim().lines().collect();
    for case in lines.chunks(2) {
        let Some(trace) = crate::read(case[0]) else { continue };
        check(&Case::new(case[0], case[1]), trace);
    }
}

fn build(trace: Trace, python_frames: bool, link_by: LinkBy) -> TraceTree {
    TraceTree::build(trace, &TreeOptions { python_frames, link_by, ..TreeOptions::default() })
}

fn device_events(trace: &Trace) -> u64 {
    trace.events().ids().filter(|&event| trace.events().category(event).is_device()).count() as u64
}

fn figures(tree: &TraceTree) -> Figures {
    let trace = tree.trace();
    let parents = || trace.events().ids().filter_map(|event| tree.parent(event));
    let hosts = tree.host_events();
    let on_gpu_path = hosts.iter().filter(|&&host| !tree.non_gpu_path(host)).count() as u64;
    [
        parents().count() as u64,
        parents().map(|parent| u64::from(trace.events().uid(parent))).sum(),
        hosts.iter().map(|&host| tree.device_events(host).len() as u64).sum(),
        tree.operator_roots().len() as u64,
        u64::from(trace.entries()) - device_events(trace) - on_gpu_path,
        hosts.iter().map(|&host| tree.module_stack(host).len() as u64).sum(),
        tree.node_names().count() as u64,
    ]
}

#[test]
fn trees_without_python_frames_have_the_published_figures() {
    for_each_case(|case, trace| {
        let tree = build(trace, false, LinkBy::Flow);
        assert_eq!(tree.trace().entries(), case.entries, "{}", case.file);
        assert_eq!(figures(&tree), case.without_python, "{}", case.file);
        assert_eq!(tree.statistics().reattached, 0, "{}", case.file);
    });
}

#[test]
fn linking_by_correlation_finds_the_fills_that_arrows_miss() {
    for_each_case(|case, trace| {
        let by_flow = build(trace, false, LinkBy::Flow);
        let linked = by_flow.statistics().linked_device_events();
        assert_eq!(linked, case.linked[0], "{}", case.file);
        let arrows: Vec<_> = by_flow.trace().events().ids().map(|event| by_flow.parent(event)).collect();

        let tree = build(by_flow.into_trace(), false, LinkBy::Correlation);
        let statistics = tree.statistics();
        assert_eq!(statistics.linked_device_events(), case.linked[1], "{}", case.file);
        assert_eq!((statistics.linked_by_flow, statistics.linked_by_external_id), (0, 0), "{}", case.file);
        for (event, arrow) in tree.trace().events().ids().zip(arrows) {
            let parent = tree.parent(event);
            let is_fill = tree.trace().events().category(event) == Category::GPU_MEMSET;
            assert!(parent == arrow || (is_fill && arrow.is_none()), "{}: event {event:?}", case.file);
        }
    });
}

/// The call stack as the published figures have it: times in doubles of microseconds, events ordered by start
/// alone, an event that outlives the one it starts in left out unless it is taken for a sibling.
struct DoubleNesting {
    parent: Vec<Option<EventId>>,
    left_out: Vec<bool>,
    /// Events for which the open event was closed early.
    taken_for_sibling: Vec<bool>,
    operator_roots: u64,
    module_stacks: u64,
}

impl DoubleNesting {
    fn new(tree: &TraceTree) -> DoubleNesting {
        let trace = tree.trace();
        let events = trace.events();
        let start = |event: EventId| (trace.origin() + events.start(event)) as f64 / 1000.0;
        let end = |event: EventId| start(event) + events.duration(event) as f64 / 1000.0;
        let mut order = tree.host_events().to_vec();
        order.sort();
        order.sort_by(|&a, &b| start(a).total_cmp(&start(b)));

        let mut result = DoubleNesting {
            parent: vec![None; events.len()],
            left_out: vec![false; events.len()],
            taken_for_sibling: vec![false; events.len()],
            operator_roots: 0,
            module_stacks: 0,
        };
        let mut stacks: Vec<Vec<EventId>> = vec![Vec::new(); trace.tracks().len()];
        for event in order {
            let stack = &mut stacks[events.track(event).index()];
            while stack.last().is_some_and(|&top| start(event) >= end(top)) {
                stack.pop();
            }
            if let Some(&top) = stack.last()
                && end(event) > end(top)
            {
                if end(top) - start(event) < 1.0 && stack.len() >= 2 {
                    result.taken_for_sibling[event.index()] = true;
                    stack.pop();
                } else {
                    result.left_out[event.index()] = true;
                    continue;
                }
            }
            result.parent[event.index()] = stack.last().copied();
            let modules = stack.iter().filter(|&&above| tree.is_module(above)).count();
            result.module_stacks += modules.max(1) as u64;
            let is_operator = |event: EventId| events.category(event) == Category::CPU_OP;
            let topmost = is_operator(event) && !stack.iter().any(|&above| is_operator(above));
            result.operator_roots += u64::from(topmost);
            stack.push(event);
        }
        result
    }

    fn figures(&self, tree: &TraceTree) -> Figures {
        let (trace, events) = (tree.trace(), tree.trace().events());
        let (mut list_lengths, mut parents) = (0, self.parent.clone());
        let mut on_gpu_path = HashSet::new();
        for &device in tree.linked_device_events() {
            parents[device.index()] = tree.parent(device);
            let mut above = tree.parent(device);
            while let Some(event) = above {
                list_lengths += 1;
                on_gpu_path.insert(event);
                above = self.parent[event.index()];
            }
        }
        let parents = || parents.iter().flatten();
        [
            parents().count() as u64,
            parents().map(|&parent| u64::from(events.uid(parent))).sum(),
            list_lengths,
            self.operator_roots,
            u64::from(trace.entries()) - device_events(trace) - on_gpu_path.len() as u64,
            self.module_stacks,
            tree.node_names().count() as u64,
        ]
    }
}

#[test]
fn trees_with_python_frames_differ_from_the_published_ones_only_where_those_leave_events_out() {
    for_each_case(|case, trace| {
        let tree = build(trace, true, LinkBy::Flow);
        let doubles = DoubleNesting::new(&tree);
        assert_eq!(doubles.figures(&tree), case.with_python, "{}: the published rule", case.file);

        let left_out = |event: EventId| doubles.left_out[event.index()];
        let missing = doubles.left_out.iter().filter(|&&left_out| left_out).count();
        let reattached = tree.statistics().reattached;
        assert_eq!([missing as u64, reattached], case.left_out_and_reattached, "{}", case.file);
        for &event in tree.host_events() {
            let parent = doubles.parent[event.index()];
            let kept_ancestor = tree.ancestors(event).find(|&above| !left_out(above));
            // A child that ends with its parent may outlive it in doubles and be taken for its sibling.
            let rounded = doubles.taken_for_sibling[event.index()];
            // Where events were moved up, later ones nest into them and not past them.
            let moved_up = reattached > 0 && tree.ancestors(event).any(left_out);
            let explained = left_out(event) || parent == kept_ancestor || rounded || moved_up;
            let uid = tree.trace().events().uid(event);
            assert!(explained, "{}: event {uid} has another parent for no known reason", case.file);
        }
    });
}
