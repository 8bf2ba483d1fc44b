//! Recordings of accelerators that are no GPUs, and of old recorders.

use gpu_timeline::{Interval, busy_time};
use trace_ingest::{Accelerator, Category, EventId};
use tree_perf::{Analysis, AnalysisOptions};

use super::read;
use crate::common::Table;

fn analysis(case: &str) -> Option<Analysis> {
    let folder = testdata::corpus("kineto")?.join(case);
    let options = AnalysisOptions { waits: true, ..AnalysisOptions::default() };
    Some(Analysis::new(read(&folder.join("trace.json.gz")), options))
}

#[test]
fn an_mtia_serves_a_model() {
    let Some(analysis) = analysis("mtia-inference") else { return };
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    assert_eq!(trace.facts().accelerator, Some(Accelerator::Mtia));
    let of = |category: Category| -> Vec<EventId> {
        analysis.device_events().filter(|&event| events.category(event) == category).collect()
    };
    let (executions, copies) = (of(Category::KERNEL), of(Category::GPU_MEMCPY));
    assert_eq!((executions.len(), copies.len(), analysis.device_event_count()), (97, 877, 974));
    let union = |of: &[EventId]| {
        let spans = of.iter().map(|&event| Interval::between(events.start(event), events.end(event)));
        busy_time(spans, &mut Vec::new())
    };
    // Executions without a correlation id were launched before the recording began.
    let (launched, before): (Vec<_>, Vec<_>) =
        executions.iter().partition(|&&event| events.correlation(event).is_some());
    assert_eq!((launched.len(), before.len()), (73, 24));
    assert_eq!((union(&launched) + 500) / 1_000, 306_399);
    assert_eq!((union(&executions) + 500) / 1_000, 414_085);
    assert_eq!((union(&copies) + 500) / 1_000, 40_171);
    assert!(analysis.device_events().all(|event| events.device(event) == Some(17)));
    let streams: std::collections::BTreeSet<_> =
        analysis.device_events().map(|event| events.stream(event)).collect();
    assert_eq!(streams, (101..=112).map(Some).collect());

    let with_id = copies.iter().filter(|&&copy| events.correlation(copy).is_some()).count();
    let linked = analysis.tree().linked_device_events().len();
    assert_eq!((with_id, linked), (657, 730));
    let of_copies = Table::of_sheet(&analysis, "copy_bandwidth");
    assert_eq!(
        of_copies.select("device | kind | bytes | count"),
        [
            "17 | dma_request HOST_TO_DEVICE | 788439608 | 427",
            "17 | dma_request DEVICE_TO_HOST | 460800 | 450"
        ]
    );
    // Work that was queued before the window has no call, by design: it is in the timeline.
    let timeline = analysis.timeline().unwrap();
    assert_eq!(timeline.busy, union(&[executions, copies].concat()));
    let host = Table::of_sheet(&analysis, "host_ops").select("name | self_us");
    assert_eq!(host[0], "fbgemm::permute_2D_sparse_data | 111719.373");
}

#[test]
fn pytorch_1_9_is_read_like_later_versions() {
    let Some(analysis) = analysis("pytorch-1.9-resnet50") else { return };
    let events = analysis.trace().events();
    let count = |category: Category| events.ids().filter(|&event| events.category(event) == category).count();
    let counts = [
        Category::CPU_OP,
        Category::CUDA_RUNTIME,
        Category::KERNEL,
        Category::GPU_MEMSET,
        Category::GPU_MEMCPY,
    ]
    .map(count);
    assert_eq!(counts, [23_646, 11_923, 8_772, 312, 12]);
    let timeline = analysis.timeline().unwrap();
    assert_eq!(timeline.busy, 603_558_000);
    let linked = analysis.tree().linked_device_events().len();
    assert_eq!(linked, 9_096);
}

#[test]
fn call_stacks_of_pytorch_1_9_are_those_that_operators_note() {
    let Some(folder) = testdata::corpus("kineto") else { return };
    let options = AnalysisOptions { include_call_stack: true, ..AnalysisOptions::default() };
    let analysis = Analysis::new(read(&folder.join("pytorch-1.9-resnet50/trace.json.gz")), options);
    let table = Table::of_sheet(&analysis, "ops_all");
    let convolution = table.select("name | entry_point | call_stack_full");
    let convolution = convolution.iter().find(|row| row.starts_with("aten::cudnn_convolution |")).unwrap();
    let packages = "/home/user/anaconda3/envs/kineto/lib/python3.7/site-packages";
    let start = format!(
        "aten::cudnn_convolution | {packages}/torch/nn/modules/conv.py(440): _conv_forward | ['ProfilerStep#5', \
         'resnet50_profiler_api.py(46): <module>', "
    );
    let end = "conv.py(443): forward', 'IN/torch/nn/modules/conv.py(440): _conv_forward', 'aten::conv2d', "
        .replace("IN", packages);
    assert!(convolution.starts_with(&start) && convolution.contains(&end), "{convolution}");
}
