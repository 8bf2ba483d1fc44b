//! What every form of a run says is the same.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use trace_ingest::{
    ArgumentValue, Category, EventId, FlowKind, LaunchGeometry, ReadOptions, RowId, Sequence, StringId,
    Trace, read_path,
};
use trace2tree::{TraceTree, TreeOptions};

use super::*;
use crate::gen_trace::{Flavour, Layout, Length, Options, Plants, Workload, generate, write_all_forms};

fn read(name: &str, bytes: &[u8]) -> Trace {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    read_path(&path, &ReadOptions::default()).expect("read")
}

fn in_form(run: &Run, form: Form) -> Vec<u8> {
    let mut bytes = Vec::new();
    run.write(form, &mut bytes).expect("written");
    bytes
}

fn json_trace(run: &Run) -> Trace {
    let mut bytes = Vec::new();
    run.write_json(&mut bytes).expect("written");
    read("run.json", &bytes)
}

/// What a form keeps of an event.
fn row(trace: &Trace, event: EventId, form: Form) -> Vec<String> {
    let events = trace.events();
    let arguments = events.arguments();
    let at = event.index();
    let category = events.category(event);
    let is_host = matches!(
        category,
        Category::CPU_OP
            | Category::USER_ANNOTATION
            | Category::PYTHON_FUNCTION
            | Category::CUDA_RUNTIME
            | Category::CUDA_DRIVER
    );
    let is_call = category.is_launch_api();
    let is_stage = form != Form::Slices && !is_host;
    let is_named = !is_stage || matches!(category, Category::KERNEL | Category::GPU_USER_ANNOTATION);
    let start = trace.facts().base_time_nanoseconds.unwrap_or(0) + trace.origin() + events.start(event);
    let number = |id: RowId| match id {
        RowId::Number(number) => number & 0x7fff_ffff,
        _ => -1,
    };
    let track = trace.tracks().get(events.track(event));
    let text = |id: Option<StringId>| id.map(|id| trace.text(id).to_owned());
    let list = |value: Option<&ArgumentValue>| value.map(|value| value.display(Sequence::List).to_string());
    let lists = [
        list(trace.argument(event, |signature| signature.dims)),
        list(trace.argument(event, |signature| signature.types)),
        list(trace.argument(event, |signature| signature.strides)),
        list(trace.argument(event, |signature| signature.concrete)),
    ];
    let has_external_id =
        category == Category::CPU_OP || category == Category::USER_ANNOTATION && form == Form::Stages;
    let geometry = arguments.geometry.get(at).map(|geometry| LaunchGeometry {
        shared_memory: geometry.shared_memory.filter(|_| !is_stage),
        ..geometry
    });
    let collective = arguments.collective.get(at).map(|found| {
        let texts = [
            found.name,
            found.group_name,
            found.group_ranks,
            found.dtype,
            found.in_split_size,
            found.out_split_size,
        ];
        (texts.map(text), found.in_elements, found.out_elements, found.group_size, found.sequence)
    });
    vec![
        format!("{} {}", events.uid(event), trace.category_name(category)),
        if is_named { trace.name(event).to_owned() } else { String::new() },
        format!("{start} {}", events.duration(event)),
        // Overhead has a process of its own.
        if is_call || is_host || is_stage {
            format!("{} {}", number(track.pid), number(track.tid))
        } else {
            String::new()
        },
        format!("{:?}", events.correlation(event)),
        // JSON does not say it of annotations.
        format!(
            "{:?}",
            (category != Category::GPU_USER_ANNOTATION).then(|| (events.device(event), events.stream(event)))
        ),
        format!("{:?}", events.external_id(event).filter(|_| has_external_id)),
        format!("{lists:?}"),
        format!("{:?} {:?}", events.sequence_number(event), arguments.forward_thread.get(at)),
        format!("{:?}", arguments.python_frame.get(at)),
        format!("{geometry:?}"),
        format!("{:?}", arguments.transfer.get(at).and_then(|transfer| transfer.bytes)),
        format!("{collective:?}"),
        format!("{:?} {:?}", arguments.graph_node.get(at), events.graph(event)),
        format!(
            "{:?}",
            arguments.synchronization.get(at).map(|found| (text(found.kind), found.stream, found.record))
        ),
    ]
}

/// The columns of all spans that a form can hold.
fn rows(trace: &Trace, form: Form) -> Vec<Vec<String>> {
    let spans = (GROUPS.iter().flat_map(|group| group.iter()).copied())
        .chain(STAGES.iter().map(|(category, _)| *category));
    let spans: BTreeSet<&str> = spans.collect();
    let is_span = |&event: &EventId| spans.contains(trace.category_name(trace.events().category(event)));
    let is_moment = |event: EventId| trace.events().phase(event) == trace_ingest::Phase::Instant;
    trace
        .events()
        .ids()
        .filter(is_span)
        .filter(|&event| !is_moment(event))
        .map(|event| row(trace, event, form))
        .collect()
}

/// The launch of each span of a device by their places in the list of events.
fn launches(trace: Trace) -> Vec<(u32, Option<u32>)> {
    let tree = TraceTree::build(trace, &TreeOptions::default());
    let events = tree.trace().events();
    let device = events.ids().filter(|&event| events.category(event).is_device());
    device.map(|event| (events.uid(event), tree.launch(event).map(|launch| events.uid(launch)))).collect()
}

#[track_caller]
fn check(run: &Run) {
    for form in Form::ALL {
        let (json_trace, of_packets) = (json_trace(run), read("run.pftrace", &in_form(run, form)));
        let (expected, found) = (rows(&json_trace, form), rows(&of_packets, form));
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(expected, found, "{form:?}");
        }
        assert_eq!(expected.len(), found.len(), "{form:?}");
        assert_eq!(of_packets.warnings(), [], "{form:?}");
        if form == Form::Stages {
            let arrows = |trace: &Trace| {
                trace.flows().iter().filter(|flow| flow.kind == FlowKind::GraphDependency).count()
            };
            assert_eq!(arrows(&of_packets), arrows(&json_trace));
        }
        assert_eq!(launches(of_packets), launches(json_trace), "{form:?}");
    }
}

fn options(workload: Workload, seed: u64, events: u64) -> Options {
    Options {
        length: Length::Events(events),
        flavour: Flavour::Cuda,
        workload,
        seed,
        python_frames: true,
        layout: Layout::Lines,
        plants: Plants::default(),
        is_marked: true,
    }
}

fn generated(workload: Workload, seed: u64) -> Run {
    let mut document = Vec::new();
    generate(options(workload, seed, 1_500), &mut document).expect("generated");
    Run::new(&document).expect("a trace")
}

#[test]
fn all_forms_of_a_generated_run_fill_the_same_columns() {
    for (workload, seed) in [
        (Workload::Training, 5),
        (Workload::Serving, 6),
        (Workload::Recommender, 7),
        (Workload::ServingSteady, 8),
    ] {
        check(&generated(workload, seed));
    }
    let replays = generated(Workload::Serving, 6).waits.len();
    assert!(replays > 10, "{replays}");
}

/// The run kept in the repository; `testdata/generated/README.md` gives the command.
#[test]
fn the_kept_run_is_what_the_generator_writes() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/generated/pftrace");
    let written = tempfile::tempdir().expect("folder");
    write_all_forms(options(Workload::Serving, 1, 1_200), written.path()).expect("written");
    for file in ["run.json.gz", "run.k1.pftrace.gz", "run.k2.pftrace", "run.k3.pftrace"] {
        let unpacked = |folder: &Path| {
            let mut content = Vec::new();
            let file = std::fs::File::open(folder.join(file)).expect(file);
            flate2::read::GzDecoder::new(file).read_to_end(&mut content).expect("unpacked");
            content
        };
        assert!(
            unpacked(&kept) == unpacked(written.path()),
            "{file} differs: write it again as its README says"
        );
    }
}

/// Everything that a reader may trip over: slices that touch and slices without a length, empty arguments and none,
/// an object in a list, a number beyond 2^63, a negative thread, two devices with streams of equal numbers, a row that is
/// no stream, a graph, work that outlasts the next of its row.
const TRAPS: &str = r#"{"schemaVersion": 1, "baseTimeNanoseconds": 1767189312000000000, "traceEvents": [
{"ph":"X","cat":"cpu_op","name":"outer","pid":7,"tid":-3,"ts":1,"dur":90,"args":{"External id":1,"Input Dims":[],"Input type":["a \"b\"",null],"Fwd thread id":null,"Sequence number":4,"Concrete Inputs":[{"k":[1,"x"],"l":1.5},"",true,2.5,[[]]]}},
{"ph":"X","cat":"cpu_op","name":"a","pid":7,"tid":-3,"ts":1,"dur":0,"args":{"External id":2}},
{"ph":"X","cat":"cpu_op","name":"b","pid":7,"tid":-3,"ts":1,"dur":9.5,"args":{"External id":3,"Input Strides":[[9,1],[]],"Ev Idx":18446744073709551615}},
{"ph":"X","cat":"cpu_op","name":"c","pid":7,"tid":-3,"ts":10.5,"dur":0,"args":{"External id":4}},
{"ph":"X","cat":"cpu_op","name":"d","pid":7,"tid":-3,"ts":10.5,"dur":2.125,"args":{"External id":5}},
{"ph":"X","cat":"user_annotation","name":"step \u00b5","pid":7,"tid":-3,"ts":0.5,"dur":95,"args":{}},
{"ph":"X","cat":"python_function","name":"f.py(1): f","pid":7,"tid":-3,"ts":0.75,"dur":94,"args":{"Python id":1,"Python parent id":null}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":-3,"ts":11,"dur":1,"args":{"cbid":211,"correlation":21}},
{"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","pid":7,"tid":-3,"ts":12,"dur":0.5,"args":{"cbid":307,"correlation":22}},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":7,"tid":-3,"ts":13,"dur":5,"args":{"cbid":311,"correlation":23}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":7,"tid":-3,"ts":20,"dur":5,"args":{"cbid":41,"correlation":24}},
{"ph":"X","cat":"overhead","name":"Buffer Flush","pid":-1,"tid":0,"ts":30,"dur":1},
{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":60,"dur":3,"args":{"cuda_sync_kind":"Stream Sync","stream":7,"correlation":25,"device":0,"wait_on_stream":7}},
{"ph":"X","cat":"kernel","name":"void k<1>(int*)","pid":0,"tid":7,"ts":15,"dur":30,"args":{"device":0,"stream":7,"correlation":21,"grid":[1,2,3],"block":[32,1,1],"registers per thread":40,"shared memory":1024}},
{"ph":"X","cat":"kernel","name":"k2","pid":1,"tid":7,"ts":16,"dur":2,"args":{"device":1,"stream":7,"correlation":22,"grid":[1,1,1],"block":[64,1,1],"registers per thread":0,"shared memory":0,"Collective name":"allreduce","In msg nelems":5,"Out msg nelems":5,"Group size":2,"dtype":"Float","In split size":"[]","Out split size":"[1, 2]","Process Group Name":"0","Process Group Ranks":"[0, 1]"}},
{"ph":"X","cat":"kernel","name":"n1","pid":0,"tid":100008,"ts":25,"dur":5,"args":{"device":0,"stream":20,"correlation":23,"grid":[1,1,1],"block":[64,1,1],"registers per thread":8,"shared memory":0}},
{"ph":"X","cat":"kernel","name":"n2","pid":0,"tid":7,"ts":30,"dur":4,"args":{"device":0,"stream":7,"correlation":23,"grid":[1,1,1],"block":[64,1,1],"registers per thread":8,"shared memory":0}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":50,"dur":4,"args":{"device":0,"stream":7,"correlation":24,"bytes":4096,"memory bandwidth (GB/s)":1.0}},
{"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":0,"tid":7,"ts":55,"dur":1,"args":{"device":0,"stream":7,"correlation":26,"bytes":64}},
{"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":14.999,"dur":41.003,"args":{"device":0,"stream":7}}
]}"#;

#[test]
fn all_forms_of_a_run_with_traps_fill_the_same_columns() {
    let run = Run::new(TRAPS.as_bytes()).expect("a trace");
    // The first kernel runs until the node of the graph on its row starts, as the recorder cuts it.
    assert_eq!(run.stages[0]["dur"], json!(15.0));
    check(&run);
    let plain = in_form(&run, Form::Slices);
    assert_eq!(rows(&read("run.pftrace.gz", &plain), Form::Slices), rows(&json_trace(&run), Form::Slices));
}

#[test]
fn a_slice_that_does_not_finish_lasts_until_the_end() {
    let unfinished = TRAPS
        .replace(r#""cuda_sync_kind":"Stream Sync","#, r#""finished":false,"cuda_sync_kind":"Stream Sync","#);
    let run = Run::new(unfinished.as_bytes()).expect("a trace");
    let trace = read("run.pftrace", &in_form(&run, Form::Stages));
    let events = trace.events();
    let last = events.ids().map(|event| events.end(event)).max().expect("events");
    let wait = events.ids().find(|&event| trace.name(event) == "Stream Sync").expect("the wait");
    assert_eq!(events.end(wait), last);
    assert!(trace.warnings()[0].to_string().contains("without an end"), "{:?}", trace.warnings());
}
