//! Traces of many ranks as one trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use multi_rank::{
    ClockMode, Error, FuseOptions, FuseOutput, Fused, FusedEvents, Job, JobFolder, Members, Source, fuse,
    rank_tables,
};
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;
use testdata::job::{Fault, FaultKind, JobPlan, Parallelism};
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};

/// Recordings of a job in a folder.
struct Recordings {
    place: TempDir,
    paths: Vec<PathBuf>,
}

impl Recordings {
    fn new<'t>(texts: impl IntoIterator<Item = (String, &'t [u8])>) -> Self {
        let place = tempfile::tempdir().unwrap();
        let write = |(name, text): (String, &[u8])| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let paths = texts.into_iter().map(write).collect();
        Recordings { place, paths }
    }

    /// Of ranks 0 and up, from their events.
    fn of_events(ranks: &[String]) -> Self {
        let text = |events: &String| format!(r#"{{"schemaVersion": 1, "traceEvents": [{events}]}}"#);
        let texts: Vec<String> = ranks.iter().map(text).collect();
        Self::new(
            texts.iter().enumerate().map(|(rank, text)| (format!("rank{rank}_trace.json"), text.as_bytes())),
        )
    }

    fn output(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn job(&self) -> Job {
        let mut folder = JobFolder::open(&self.output("tables")).unwrap();
        for path in &self.paths {
            let source = Source::of(path).unwrap();
            if folder.find(&source).is_none() {
                let trace = read_path(path, &ReadOptions::default()).unwrap();
                let tables = rank_tables(&Analysis::new(trace, AnalysisOptions::default()), path);
                folder.add(&tables, source).unwrap();
            }
        }
        Job::open(folder.ranks().iter().map(|rank| (rank.clone(), None)).collect()).unwrap()
    }

    fn try_fuse(&self, options: &FuseOptions, output: &Path) -> Result<Fused, Error> {
        fuse(&self.job(), options, &FuseOutput::new(output).unwrap(), &ReadOptions::default())
    }

    /// The fused trace and its events, those of phase `M` apart.
    fn fused(&self, options: &FuseOptions, name: &str) -> Trace {
        let output = self.output(name);
        self.try_fuse(options, &output).unwrap();
        let bytes = fs::read(&output).unwrap();
        let mut text = String::new();
        match name.rsplit('.').next().unwrap() {
            "gz" => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap(),
            "zst" => zstd::stream::read::Decoder::new(&bytes[..]).unwrap().read_to_string(&mut text).unwrap(),
            _ => (&bytes[..]).read_to_string(&mut text).unwrap(),
        };
        let whole: Value = serde_json::from_str(&text).unwrap();
        let all = whole["traceEvents"].as_array().unwrap().iter().cloned();
        let (metadata, events) = all.partition(|event| event["ph"] == "M");
        Trace { whole, events, metadata }
    }
}

struct Trace {
    whole: Value,
    events: Vec<Value>,
    metadata: Vec<Value>,
}

impl Trace {
    fn named(&self, name: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["name"] == name).collect()
    }

    /// Name, process and order of the processes, as they are listed.
    fn processes(&self) -> Vec<(String, i64, i64)> {
        let of =
            |name: &str| self.metadata.iter().filter(move |entry| entry["name"] == name).collect::<Vec<_>>();
        let both = of("process_name").into_iter().zip(of("process_sort_index"));
        both.map(|(name, order)| {
            assert_eq!((&name["pid"], &name["tid"]), (&order["pid"], &Value::from(0)));
            let text = name["args"]["name"].as_str().unwrap().to_owned();
            (text, name["pid"].as_i64().unwrap(), order["args"]["sort_index"].as_i64().unwrap())
        })
        .collect()
    }
}

/// A host's call, its kernel and the arrow between them, in the processes 100 and the rank.
fn launched_kernel(rank: u32) -> String {
    format!(
        r#"{{"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {{"name": "python"}}}},
           {{"ph": "M", "name": "process_labels", "pid": {rank}, "tid": 0, "args": {{"labels": "GPU {rank}"}}}},
           {{"ph": "M", "name": "process_sort_index", "pid": 7, "tid": 0, "args": {{"sort_index": 5}}}},
           {{"ph": "M", "name": "thread_name", "pid": 100, "tid": 5, "args": {{"name": "main"}}}},
           {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 5, "ts": 10, "dur": 5.25,
             "args": {{"correlation": 42}}}},
           {{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 42, "pid": 100, "tid": 5, "ts": 10}},
           {{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 42, "pid": {rank}, "tid": 7, "ts": 20, "bp": "e"}},
           {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": {rank}, "tid": 7, "ts": 20.125, "dur": 30,
             "args": {{"device": {rank}, "stream": 7, "correlation": 42}}}},
           {{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 0,
             "dur": 90}},
           {{"ph": "X", "cat": "python_function", "name": "step", "pid": 100, "tid": 5, "ts": 5, "dur": 50,
             "args": {{"Python id": 3, "Python parent id": null}}}}"#
    )
}

#[test]
fn the_example_of_the_reference_has_its_ids_and_labels() {
    let recordings = Recordings::of_events(&[launched_kernel(0), launched_kernel(1)]);
    let fused = recordings.fused(&FuseOptions::default(), "out.json");
    let expected = [("GPU", 0, 0, 1), ("CPU", 100, 0, 0), ("GPU", 10_001, 1, 3), ("CPU", 10_100, 1, 2)];
    let expected = expected.map(|(kind, pid, rank, order)| (format!("RANK {rank} - {kind}"), pid, order));
    assert_eq!(fused.processes(), expected);
    let [first, second] = fused.named("gemm")[..] else { panic!("{:?}", fused.events) };
    assert_eq!((&first["pid"], &first["args"]["correlation"]), (&0.into(), &42.into()));
    assert_eq!(
        second,
        &serde_json::json!({
            "ph": "X", "cat": "kernel", "name": "gemm", "pid": 10_001, "tid": 7, "ts": 20.125, "dur": 30,
            "args": {"rank": 1, "pid_raw": 1, "device": 1, "stream": 7, "correlation": 1042, "correlation_raw": 42},
        })
    );
    let arrows = fused.named("ac2g");
    assert_eq!(
        arrows.iter().map(|arrow| arrow["id"].as_i64().unwrap()).collect::<Vec<_>>(),
        [42, 42, 1042, 1042]
    );
    assert_eq!((&arrows[3]["args"]["id_raw"], &arrows[3]["bp"]), (&42.into(), &"e".into()));
    // Neither the profiler's own span nor Python frames, nor names of processes that have no event.
    assert_eq!(fused.events.len(), 8);
    let others: Vec<_> =
        fused.metadata.iter().map(|entry| (entry["name"].as_str().unwrap(), entry["pid"].as_i64())).collect();
    assert_eq!(others[..2], [("process_labels", Some(0)), ("thread_name", Some(100))],);
    assert_eq!(fused.whole["schemaVersion"], 1);
    assert_eq!(fused.whole["fusedRanks"][1]["pid_offset"], 10_000);
    assert_eq!(fused.whole["fusedRanks"][1]["id_offset"], 1_000);
}

#[test]
fn python_frames_are_there_on_request() {
    let recordings = Recordings::of_events(&[launched_kernel(0), launched_kernel(1)]);
    let options = FuseOptions { python_frames: true, ..FuseOptions::default() };
    let fused = recordings.fused(&options, "out.json");
    let frames = fused.named("step");
    let ids: Vec<_> = frames.iter().map(|frame| frame["args"]["Python id"].as_i64()).collect();
    assert_eq!(ids, [Some(3), Some(103)]);
    assert!(frames[1]["args"]["Python parent id"].is_null());
    assert!(fused.named("PyTorch Profiler (0)").is_empty());
}

/// A kernel of a sum over all ranks with what launched it, and a product beside it.
fn communication() -> String {
    let call = |name: &str, id: i64| {
        format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 9, "tid": 9, "ts": {id}, "dur": 0.9,
                 "args": {{"External id": {id}}}}},
               {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": {id}, "dur": 0.5,
                 "args": {{"External id": {id}, "correlation": {id}}}}},
               {{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": {id}, "pid": 9, "tid": 9, "ts": {id}}}"#
        )
    };
    let kernel = |name: &str, id: i64| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {id}, "dur": 0.5,
                 "args": {{"External id": {id}, "correlation": {id}, "device": 0, "stream": 7}}}}"#
        )
    };
    [
        call("record_param_comms", 1),
        call("aten::mm", 2),
        kernel("ncclDevKernel_AllReduce(x)", 1),
        kernel("gemm", 2),
        r#"{"ph": "X", "cat": "gpu_user_annotation", "name": "nccl:all_reduce", "pid": 0, "tid": 7, "ts": 1, "dur": 0.5}"#
            .to_owned(),
    ]
    .join(",")
}

#[test]
fn filters_keep_what_devices_did_or_communication() {
    let recordings = Recordings::of_events(&[communication(), communication()]);
    let names = |events| {
        let fused = recordings.fused(&FuseOptions { events, ..FuseOptions::default() }, "out.json");
        let of_first = fused.events.iter().filter(|event| event["args"]["rank"] == 0);
        of_first.map(|event| event["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(FusedEvents::Device), ["ncclDevKernel_AllReduce(x)", "gemm", "nccl:all_reduce"]);
    assert_eq!(
        names(FusedEvents::Communication),
        ["record_param_comms", "cudaLaunchKernel", "ac2g", "ncclDevKernel_AllReduce(x)", "nccl:all_reduce"]
    );
    assert_eq!(names(FusedEvents::All).len(), 9);
}

/// Ends of the kernels of collectives in ns, by rank.
fn ends(fused: &Trace) -> BTreeMap<i64, Vec<i64>> {
    let mut ends: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let is_collective =
        |event: &&Value| event["cat"] == "kernel" && event["args"]["Collective name"] == "allreduce";
    for event in fused.events.iter().filter(is_collective) {
        let end = (event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap()) * 1e3;
        ends.entry(event["args"]["rank"].as_i64().unwrap()).or_default().push(end.round() as i64);
    }
    ends
}

/// The largest distance of the ends of a collective, and how many collectives there are.
fn spread(fused: &Trace) -> (i64, usize) {
    let ends = ends(fused);
    assert_eq!(ends.len(), 2);
    assert_eq!(ends[&0].len(), ends[&1].len());
    let distances = ends[&0].iter().zip(&ends[&1]).map(|(a, b)| (a - b).abs());
    (distances.max().unwrap(), ends[&0].len())
}

/// Two ranks on hosts of their own.
fn two_hosts(faults: Vec<Fault>) -> (JobPlan, Recordings) {
    let parallelism = Parallelism { tensor: 1, pipeline: 1, data: 2, expert: 1 };
    let plan = JobPlan { ranks_per_host: 1, faults, ..JobPlan::new(2, parallelism, 7) };
    let truth = testdata::job::Job::new(plan.clone()).unwrap();
    let texts: Vec<_> =
        truth.files().into_iter().map(|file| (file.name, truth.recording(file.rank).unwrap().text)).collect();
    (plan, Recordings::new(texts.iter().map(|(name, text)| (name.clone(), &text[..]))))
}

#[test]
fn aligned_collectives_end_together_and_raw_ones_as_far_apart_as_the_clocks() {
    let (plan, recordings) = two_hosts(vec![Fault::new(FaultKind::ClockOffset, 1).of_amount(1_500)]);
    let jitter = 4 * plan.end_jitter;
    let aligned = recordings.fused(&FuseOptions::default(), "aligned.json.gz");
    let (distance, collectives) = spread(&aligned);
    assert!(collectives >= 32 && distance <= jitter, "{collectives}, {distance} ns");
    let options = FuseOptions { clock: ClockMode::Raw, ..FuseOptions::default() };
    let raw = recordings.fused(&options, "raw.json.zst");
    let (distance, _) = spread(&raw);
    assert!((distance - 1_500_000).abs() <= jitter, "{distance} ns");
    // What is added to times has the clock's offset beside the difference of the recordings' bases.
    let shift = |fused: &Trace| -> f64 {
        fused.whole["fusedRanks"][1]["ts_offset_us"].as_str().unwrap().parse().unwrap()
    };
    let offset = shift(&raw) - shift(&aligned);
    assert!((offset - 1_500.0).abs() <= jitter as f64 / 1e3, "{offset} µs");
    // Nothing but the clock differs.
    let untimed = |fused: &Trace| {
        let mut events = fused.events.clone();
        events.iter_mut().for_each(|event| event["ts"] = Value::Null);
        events
    };
    assert!(untimed(&aligned) == untimed(&raw));
}

#[test]
fn steps_are_chosen_with_what_they_launched() {
    let (_, recordings) = two_hosts(Vec::new());
    // The program counts its steps from 10 on.
    let options = FuseOptions { steps: Some(11..13), ..FuseOptions::default() };
    let fused = recordings.fused(&options, "steps.json");
    for (rank, path) in recordings.paths.iter().enumerate() {
        let trace = read_path(path, &ReadOptions::default()).unwrap();
        let steps = rank_tables(&Analysis::new(trace, AnalysisOptions::default()), path).steps;
        let expected: i64 = steps[1..3].iter().map(|step| step.kernels).sum();
        let of_rank = fused.events.iter().filter(|event| event["args"]["rank"] == rank);
        assert_eq!(of_rank.clone().filter(|event| event["cat"] == "kernel").count() as i64, expected);
        let begin = |event: &Value| (event["ts"].as_f64().unwrap() * 1e3).round() as i64;
        let calls = of_rank.filter(|event| event["cat"] == "cpu_op").map(begin);
        let (first, last) =
            calls.fold((i64::MAX, i64::MIN), |(first, last), time| (first.min(time), last.max(time)));
        assert!(last - first < steps[2].end_ns - steps[1].start_ns, "{first} {last}");
        // Something of both steps is there.
        assert!(last - first > steps[1].end_ns - steps[1].start_ns, "{first} {last}");
    }
    let both = FuseOptions { events: FusedEvents::Communication, ..options };
    let communication = recordings.fused(&both, "communication.json").events.len();
    assert!((1..fused.events.len()).contains(&communication));
    let none = FuseOptions { steps: Some(900..902), ..FuseOptions::default() };
    let error = crate::said(&recordings.try_fuse(&none, &recordings.output("none.json")).unwrap_err());
    assert!(
        error.starts_with("no recording has steps 900 to 901; the recordings have steps 10 to "),
        "{error}"
    );
}

#[test]
fn what_cannot_be_fused_is_told() {
    let recordings = Recordings::of_events(&[launched_kernel(0), launched_kernel(1)]);
    let error = |options: &FuseOptions, output: &Path| {
        crate::said(&recordings.try_fuse(options, output).unwrap_err())
    };
    let all = FuseOptions::default();
    let ranks = FuseOptions { ranks: Members::from_ranges("1,5-6"), ..FuseOptions::default() };
    let said = error(&ranks, &recordings.output("out.json"));
    assert!(said.contains("no recording has rank 5-6") && said.contains("choose from 0-1"), "{said}");
    let said = error(&all, &recordings.paths[1]);
    assert!(said.contains("is one of the recordings"), "{said}");
    let said = crate::said(&FuseOutput::new(&recordings.output("out.txt")).unwrap_err());
    assert!(said.contains(".json.zst"), "{said}");
    let job = recordings.job();
    fs::write(&recordings.paths[0], "{\"traceEvents\": []}").unwrap();
    let output = FuseOutput::new(&recordings.output("out.json")).unwrap();
    let said = fuse(&job, &all, &output, &ReadOptions::default()).unwrap_err().to_string();
    assert!(said.contains("rank0_trace.json: changed after"), "{said}");
    assert!(!recordings.output("out.json").exists());
    let left: Vec<_> =
        fs::read_dir(recordings.place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn ranks_are_chosen_and_a_cut_off_recording_is_told() {
    let cut = launched_kernel(2);
    let cut =
        format!(r#"{{"traceEvents": [{}"#, &cut[..cut.find(r#"{"ph": "X", "cat": "Trace""#).unwrap() + 20]);
    let whole = format!(r#"{{"traceEvents": [{}]}}"#, launched_kernel(0));
    let texts = [("rank0.json", &*whole), ("rank1.json", &*whole), ("rank2.json", &*cut)];
    let recordings = Recordings::new(texts.map(|(name, text)| (name.to_owned(), text.as_bytes())));
    let options = FuseOptions { ranks: Members::from_ranges("0,2"), ..FuseOptions::default() };
    let output = recordings.output("out.json");
    let fused = recordings.try_fuse(&options, &output).unwrap();
    let ranks: Vec<_> = fused.recordings.iter().map(|recording| (recording.rank, recording.events)).collect();
    assert_eq!(ranks, [(0, 4), (2, 4)]);
    let kinds: Vec<_> = fused.diagnostics.iter().map(|of| (of.kind(), of.rank())).collect();
    assert_eq!(kinds[0], ("truncated", Some(2)));
}

#[test]
fn two_recordings_of_a_rank_have_ids_of_their_own() {
    let event = |start: i64| {
        format!(
            r#"{{"traceEvents": [{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {start}, "dur": 1,
                "args": {{"correlation": 3}}}}]}}"#
        )
    };
    let [early, late] = [event(10), event(500)];
    let texts = [("a/rank0.json", &*early), ("b/rank0.json", &*late), ("a/rank1.json", &*early)];
    let recordings = Recordings::new(texts.map(|(name, text)| (name.to_owned(), text.as_bytes())));
    let fused = recordings.fused(&FuseOptions::default(), "out.json");
    let of = |event: &Value| {
        [&event["args"]["rank"], &event["pid"], &event["args"]["correlation"]].map(|id| id.as_i64().unwrap())
    };
    assert_eq!(fused.events.iter().map(of).collect::<Vec<_>>(), [[0, 0, 3], [0, 20, 203], [1, 10, 103]]);
}

/// An event with ids as recorders write them.
#[derive(Clone, Debug)]
struct Written {
    pid: String,
    id: String,
    correlation: String,
    duration: u32,
}

fn ids() -> impl Strategy<Value = String> {
    let number = prop_oneof![0_u64..20, 0_u64..1_000_000, Just(u64::MAX), any::<u64>()];
    (number, 0_u32..4).prop_map(|(number, form)| match form {
        0 => format!("\"{number}\""),
        1 => format!("\"x{number}\""),
        _ => number.to_string(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn ids_of_ranks_differ_and_every_event_is_there_once(
        ranks in proptest::collection::vec(
            proptest::collection::vec((ids(), ids(), ids(), 0_u32..1_000_000), 1..6), 1..4),
    ) {
        let event = |(pid, id, correlation, duration): &(String, String, String, u32)| Written {
            pid: pid.clone(), id: id.clone(), correlation: correlation.clone(), duration: *duration,
        };
        let ranks: Vec<Vec<Written>> = ranks.iter().map(|events| events.iter().map(event).collect()).collect();
        let text = |(rank, events): (usize, &Vec<Written>)| {
            let events = events.iter().enumerate().map(|(index, Written { pid, id, correlation, duration })| format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "{rank}.{index}", "pid": {pid}, "tid": 1, "ts": {index}, "id": {id},
                    "dur": {}.{:03}, "args": {{"correlation": {correlation}}}}}"#,
                duration / 1000, duration % 1000,
            ));
            events.collect::<Vec<_>>().join(",")
        };
        let recordings = Recordings::of_events(&ranks.iter().enumerate().map(text).collect::<Vec<_>>());
        let fused = recordings.fused(&FuseOptions::default(), "out.json");
        prop_assert_eq!(fused.events.len(), ranks.iter().map(Vec::len).sum::<usize>());
        let mut of_ranks: BTreeMap<(&str, String), BTreeSet<usize>> = BTreeMap::new();
        for (rank, events) in ranks.iter().enumerate() {
            for (index, written) in events.iter().enumerate() {
                let name = format!("{rank}.{index}");
                let [event] = fused.named(&name)[..] else { panic!("{name}") };
                let duration = (event["dur"].as_f64().unwrap() * 1e3).round();
                prop_assert_eq!(duration, f64::from(written.duration));
                prop_assert_eq!(event["args"]["rank"].as_u64(), Some(rank as u64));
                prop_assert_eq!(event["args"]["correlation_raw"].to_string(), written.correlation.clone());
                let found = [("pid", &event["pid"]), ("id", &event["id"]), ("id", &event["args"]["correlation"])];
                for (kind, id) in found {
                    of_ranks.entry((kind, id.to_string().replace('"', ""))).or_default().insert(rank);
                }
            }
        }
        prop_assert!(of_ranks.values().all(|ranks| ranks.len() == 1), "{of_ranks:?}");
    }
}
