//! Directories of CSV files, as profiles.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::rocprof_run::{CALL_HEADER, COUNTER_HEADER, KERNEL_HEADER, kernel_rows, write, write_csv};
use crate::said;
use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;
use trace_ingest::rocprof::{AgentKind, CopyDirection, Domain, KernelNames, Profile, SourceFormat};
use trace_ingest::{IngestError, ReadOptions, RecordFault, Warning};

fn read(path: &Path) -> Result<Profile, IngestError> {
    trace_ingest::rocprof::read_profile(path, &ReadOptions::default())
}

fn truncated(profile: &Profile) -> Vec<String> {
    let name = |kernel: u32| profile.kernel_name(kernel, KernelNames::Truncated).into_owned();
    profile.dispatches.iter().map(|dispatch| name(dispatch.kernel)).collect()
}

fn with_file(name: &str, header: &str, rows: &[&str]) -> TempDir {
    let directory = TempDir::new().unwrap();
    write(directory.path(), name, header, &rows.iter().map(|row| row.to_string()).collect::<Vec<_>>());
    directory
}

#[test]
fn every_file_of_a_process_is_read() {
    let directory = TempDir::new().unwrap();
    write_csv(directory.path(), "42");
    let profile = read(directory.path()).unwrap();
    assert_eq!(profile.source, SourceFormat::Csv);
    assert_eq!(profile.warnings, []);
    assert_eq!(profile.processes.len(), 1);
    let process = &profile.processes[0];
    assert_eq!((process.pid, process.init, process.fini), (Some(42), None, None));
    assert_eq!(truncated(&profile), ["add", "attn_fwd.kd", "softmax", "add"]);
    let agents: Vec<_> =
        profile.agents.iter().map(|agent| (agent.label.as_str(), agent.kind, agent.ordinal)).collect();
    assert_eq!(
        agents,
        [
            ("Agent 0", AgentKind::Cpu, Some(0)),
            ("Agent 1", AgentKind::Gpu, Some(0)),
            ("Agent 2", AgentKind::Gpu, Some(1))
        ]
    );
    assert_eq!(profile.agents[1].compute_units, Some(304));
    assert_eq!(profile.agents[1].product_name.as_deref(), Some("AMD Instinct MI300X"));
    let first = profile.dispatches[0];
    let launch = profile.launches[first.launch as usize];
    assert_eq!((launch.grid, launch.workgroup, launch.products_only), ([1024, 1, 1], [256, 1, 1], false));
    assert_eq!((launch.private_segment, launch.group_segment), (16, 512));
    assert_eq!((launch.vgprs, launch.accum_vgprs, launch.sgprs), (32, 4, 96));
    assert_eq!((first.correlation, first.thread, first.queue, first.agent), (Some(11), 70, 5, Some(1)));
    let copy = profile.copies[0];
    assert_eq!((copy.bytes, copy.direction), (None, CopyDirection::HostToDevice));
    assert_eq!((copy.source, copy.destination), (Some(0), Some(1)));
    assert_eq!(profile.calls.len(), super::rocprof_run::CALLS.len());
    let marker = profile.calls.iter().find(|call| call.domain == Domain::Marker).unwrap();
    assert_eq!(profile.text(marker.name), "step 1");
    assert_eq!((profile.allocations.len(), profile.scratch.len()), (2, 1));
    assert_eq!(profile.allocations[0].address, 0x7f00_0000_1000);
    assert_eq!(profile.allocations[1].agent, None);
    assert_eq!(
        profile.dispatches.len(),
        super::rocprof_run::DISPATCHES.len(),
        "counters belong to known dispatches"
    );
    let counters: Vec<_> = profile.counter_values.iter().map(|value| (value.dispatch, value.value)).collect();
    assert_eq!(counters, [(0, 8.0), (1, 64.0), (0, 0.5)]);
}

#[test]
fn a_named_file_brings_those_with_its_prefix_and_no_others() {
    let directory = TempDir::new().unwrap();
    write_csv(directory.path(), "42");
    write_csv(directory.path(), "43");
    let whole = read(directory.path()).unwrap();
    assert_eq!(whole.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [Some(42), Some(43)]);
    assert_eq!(whole.agents.len(), 3, "processes of one machine share its agents");
    assert_eq!(whole.dispatches.len(), 8);
    assert_eq!(whole.dispatches[4].process, 1);
    for name in ["43_kernel_trace.csv", "43_hip_api_trace.csv", "43_agent_info.csv", "43_kernel_stats.csv"] {
        let one = read(&directory.path().join(name)).unwrap();
        assert_eq!((one.processes.len(), one.dispatches.len()), (1, 4), "{name}");
    }
}

#[test]
fn files_beside_the_named_one_are_read_where_they_may_be() {
    let directory = TempDir::new().unwrap();
    write_csv(directory.path(), "42");
    let beside =
        |path: &Path| !path.ends_with("42_kernel_trace.csv") && !path.ends_with("42_hip_api_trace.csv");
    let options = ReadOptions { beside: Some(&beside), ..ReadOptions::default() };
    let read = |name| trace_ingest::rocprof::read_profile(&directory.path().join(name), &options).unwrap();
    // The named one is read whatever is said of it.
    let kernels = read("42_kernel_trace.csv");
    let all = self::read(directory.path()).unwrap();
    assert_eq!(kernels.dispatches.len(), 4);
    assert!(!kernels.calls.is_empty() && kernels.calls.len() < all.calls.len());
    assert!(read("42_agent_info.csv").dispatches.len() < 4);
}

#[test]
fn directories_of_machines_are_looked_into() {
    let directory = TempDir::new().unwrap();
    for host in ["node-a", "node-b"] {
        fs::create_dir(directory.path().join(host)).unwrap();
        write_csv(&directory.path().join(host), "42");
    }
    let profile = read(directory.path()).unwrap();
    let hosts: Vec<_> = profile.processes.iter().map(|process| process.hostname.as_deref()).collect();
    assert_eq!(hosts, [Some("node-a"), Some("node-b")]);
    let labels: Vec<&str> = profile.agents.iter().map(|agent| agent.label.as_str()).collect();
    assert_eq!(
        labels,
        ["Agent 0", "Agent 1", "Agent 2", "Agent 0 (node-b)", "Agent 1 (node-b)", "Agent 2 (node-b)"]
    );
    assert_eq!(profile.dispatches[4].agent, Some(4));
}

#[test]
fn a_file_of_any_name_is_known_by_its_header() {
    let directory = with_file("renamed.txt", KERNEL_HEADER, &[&kernel_rows()[0]]);
    let profile = read(&directory.path().join("renamed.txt")).unwrap();
    assert_eq!(truncated(&profile), ["add"]);
}

#[test]
fn compressed_files_are_read_and_damage_in_them_is_told() {
    let directory = TempDir::new().unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let rows: String = (0..5000).map(|row| format!("{}\n", kernel_rows()[row % 4])).collect();
    packed.write_all(format!("{KERNEL_HEADER}\n{rows}").as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let path = directory.path().join("7_kernel_trace.csv.gz");
    fs::write(&path, &packed).unwrap();
    for path in [path.as_path(), directory.path()] {
        let profile = read(path).unwrap();
        assert_eq!((profile.dispatches.len(), profile.warnings.len()), (5000, 0));
    }
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let profile = read(&path).unwrap();
    assert!(!profile.dispatches.is_empty() && profile.dispatches.len() < 5000);
    assert!(
        profile.warnings.iter().any(|warning| matches!(warning, Warning::DamagedCompression { .. })),
        "{:?}",
        profile.warnings
    );
}

#[test]
fn headers_of_other_releases_are_understood() {
    // Oldest release: no stream, thread, dispatch; segments instead of registers; agents as numbers.
    let header = "Kind,Agent_Id,Queue_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,\
        Private_Segment_Size,Group_Segment_Size,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,\
        Grid_Size_Y,Grid_Size_Z";
    let row = "KERNEL_DISPATCH,4,1,9,\"k(int)\",3,10,20,8,1024,64,2,1,128,4,1";
    let profile = read(with_file("1_kernel_trace.csv", header, &[row]).path()).unwrap();
    let dispatch = profile.dispatches[0];
    assert_eq!((dispatch.dispatch_id, dispatch.stream, dispatch.thread), (0, 0, 0));
    assert_eq!(profile.agents[0].label, "Agent 4");
    assert_eq!(profile.agents[0].kind, AgentKind::Gpu);
    let launch = profile.launches[dispatch.launch as usize];
    assert_eq!((launch.private_segment, launch.group_segment, launch.grid), (8, 1024, [128, 4, 1]));

    let bare = read(with_file("1_kernel_trace.csv", "\u{feff}KERNEL, start , End-Time", &["k(),5,9"]).path())
        .unwrap();
    let dispatch = bare.dispatches[0];
    assert_eq!((dispatch.start.0, dispatch.end.0, dispatch.agent), (5, 9, None));
    assert_eq!(bare.launches[0].grid, [1, 1, 1]);
    assert_eq!(truncated(&bare), ["k"]);
}

#[test]
fn agents_are_found_by_every_kind_of_index() {
    // GPU 0 is hidden: the machine calls the other 5, the program 1.
    let agents = ["0,0,CPU,0,cpu", "5,1,GPU,0,gfx942"];
    for text in ["Agent 1", "Agent 5", "GPU 0", "1", "5"] {
        let directory =
            with_file("1_kernel_trace.csv", "Agent_Id,Kernel_Name,Start,End", &[&format!("{text},k(),1,2")]);
        write(
            directory.path(),
            "1_agent_info.csv",
            "Node_Id,Logical_Node_Id,Agent_Type,Logical_Node_Type_Id,Name",
            &agents.map(str::to_string),
        );
        let profile = read(directory.path()).unwrap();
        let agent = &profile.agents[profile.dispatches[0].agent.unwrap() as usize];
        assert_eq!((agent.node_id, agent.name.as_deref()), (Some(5), Some("gfx942")), "{text}");
        assert_eq!(profile.warnings, []);
    }
    let directory = with_file("1_kernel_trace.csv", "Agent_Id,Kernel_Name,Start,End", &["Agent 9,k(),1,2"]);
    write(directory.path(), "1_agent_info.csv", "Node_Id,Agent_Type", &["0,CPU".to_string()]);
    assert_eq!(
        read(directory.path()).unwrap().warnings,
        [Warning::Records { fault: RecordFault::UnknownAgent, count: 1 }]
    );
}

#[test]
fn names_that_were_truncated_at_capture_stay() {
    let header = "Kernel_Name,Start_Timestamp,End_Timestamp";
    let short =
        read(with_file("1_kernel_trace.csv", header, &["add,1,2", "attn_fwd.kd,2,3"]).path()).unwrap();
    assert_eq!(truncated(&short), ["add", "attn_fwd.kd"]);
    let long =
        read(with_file("1_kernel_trace.csv", header, &["add(float*),1,2", "attn_fwd,2,3"]).path()).unwrap();
    assert_eq!(truncated(&long), ["add", "attn_fwd.kd"]);
}

#[test]
fn counters_alone_make_the_dispatches() {
    let row = |counter: &str, value: &str, id: u32| {
        format!(
            "{id},{id},\"Agent 4\",1,77,70,1024,2,\"k(int)\",256,512,0,8,0,16,{counter},{value},{id}00,{id}50"
        )
    };
    let rows =
        [row("SQ_WAVES", "4", 1), row("SQ_BUSY", "1.5", 1), row("SQ_WAVES", "6", 2), row("SQ_WAVES", "1", 2)];
    let directory = TempDir::new().unwrap();
    write(directory.path(), "run_counter_collection.csv", COUNTER_HEADER, &rows);
    let profile = read(directory.path()).unwrap();
    assert_eq!(profile.processes[0].pid, Some(77));
    assert_eq!(profile.dispatches.len(), 2);
    assert_eq!((profile.dispatches[1].start.0, profile.dispatches[1].end.0), (200, 250));
    let launch = profile.launches[0];
    assert!(launch.products_only);
    assert_eq!((launch.grid, launch.workgroup), ([1024, 1, 1], [256, 1, 1]));
    let values: Vec<_> = profile.counter_values.iter().map(|v| (v.dispatch, v.counter, v.value)).collect();
    assert_eq!(values, [(0, 0, 4.0), (0, 1, 1.5), (1, 0, 7.0)]);
}

const TRACE_HEADER: &str =
    "Agent_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp";

/// Writes a trace of these kernels, from a time on: each with its number.
fn trace(directory: &Path, prefix: &str, from: i64, agent: u32, kernels: &[(u32, &str)]) {
    let row = |(at, (id, name)): (i64, &(u32, &str))| {
        let start = from + 100 * at;
        format!("Agent {agent},9,{id},2,{name},{id},{start},{}", start + 50)
    };
    let rows: Vec<String> = (0..).zip(kernels).map(row).collect();
    write(directory, &format!("{prefix}_kernel_trace.csv"), TRACE_HEADER, &rows);
}

/// Writes a file of one counter over these kernels; the value is the number of the dispatch.
fn pass(directory: &Path, prefix: &str, (pid, from): (u32, i64), counter: &str, kernels: &[(u32, &str)]) {
    let row = |(at, (id, name)): (i64, &(u32, &str))| {
        let start = from + 100 * at;
        format!(
            "{id},{id},\"Agent 1\",1,{pid},{pid},64,2,\"{name}\",64,0,0,8,0,16,{counter},{id},{start},{}",
            start + 60
        )
    };
    let rows: Vec<String> = (0..).zip(kernels).map(row).collect();
    write(directory, &format!("{prefix}_counter_collection.csv"), COUNTER_HEADER, &rows);
}

/// Starts of the dispatches; dispatch, counter and value of each counter; the passes with what was joined of them.
type Read = (Vec<i64>, Vec<(u32, String, f64)>, Vec<(String, String, u64, u64)>);

fn with_passes(directory: &Path) -> Read {
    let profile = read(directory).unwrap();
    assert!(profile.dispatches.iter().all(|dispatch| (dispatch.process as usize) < profile.processes.len()));
    let values = profile.counter_values.iter().map(|value| {
        let name = profile.counters[value.counter as usize].name.clone();
        (value.dispatch, name, value.value)
    });
    let passes = profile.warnings.iter().map(|warning| match warning {
        Warning::CounterPass { file, trace, joined, dispatches } => {
            (file.clone(), trace.clone(), *joined, *dispatches)
        }
        other => panic!("{other}"),
    });
    (profile.dispatches.iter().map(|d| d.start.0).collect(), values.collect(), passes.collect())
}

const KERNELS: [(u32, &str); 4] = [(4, "a"), (5, "b"), (6, "a"), (7, "c")];

#[test]
fn counters_of_other_runs_join_to_the_trace_by_number_and_add_nothing_to_its_timeline() {
    let directory = TempDir::new().unwrap();
    let folder = directory.path();
    trace(folder, "run", 1_000, 1, &KERNELS);
    pass(folder, "run_a", (7, 90_000), "A", &[(2, "a"), (4, "a"), (5, "b")]);
    pass(folder, "run_b", (8, 170_000), "B", &[(4, "a"), (7, "c")]);
    // What the host did in a pass is of that run, too.
    write(folder, "run_b_hip_api_trace.csv", CALL_HEADER, &["HIP,hipFree,8,8,1,170000,170100".to_string()]);
    let (starts, values, passes) = with_passes(folder);
    assert_eq!(starts, [1_000, 1_100, 1_200, 1_300]);
    let value = |dispatch, counter: &str, value| (dispatch, counter.to_string(), value);
    assert_eq!(values, [value(0, "A", 4.0), value(1, "A", 5.0), value(0, "B", 4.0), value(3, "B", 7.0)]);
    let told = |name: &str, joined, of| {
        (format!("{name}_counter_collection.csv"), "run_kernel_trace.csv".to_string(), joined, of)
    };
    assert_eq!(passes, [told("run_a", 2, 3), told("run_b", 2, 2)]);
    let profile = read(folder).unwrap();
    assert_eq!((profile.processes.len(), profile.calls.len()), (1, 0));

    // A file of the trace's own prefix may be of another run as well.
    pass(folder, "run", (9, 250_000), "C", &KERNELS);
    let (starts, values, passes) = with_passes(folder);
    assert_eq!((starts.len(), passes.len()), (4, 3));
    assert_eq!(values[..4].iter().map(|value| value.2).collect::<Vec<_>>(), [4.0, 5.0, 6.0, 7.0]);
    // What several passes count is taken once.
    pass(folder, "run_b", (8, 170_000), "C", &KERNELS);
    let counted = with_passes(folder).1;
    assert_eq!(counted.iter().filter(|value| value.1 == "C").map(|value| value.2).sum::<f64>(), 22.0);
}

#[test]
fn counters_whose_numbers_name_other_kernels_join_kernel_by_kernel() {
    let directory = TempDir::new().unwrap();
    trace(directory.path(), "run", 1_000, 1, &KERNELS);
    // One number on; the kernel `b` ran twice.
    let shifted = [(5, "a"), (6, "b"), (7, "a"), (8, "c"), (9, "b")];
    pass(directory.path(), "pmc", (7, 90_000), "A", &shifted);
    let (starts, values, passes) = with_passes(directory.path());
    assert_eq!(starts.len(), 4);
    let values: Vec<_> = values.iter().map(|(dispatch, _, value)| (*dispatch, *value)).collect();
    assert_eq!(values, [(0, 5.0), (2, 7.0), (3, 8.0)]);
    assert_eq!((passes[0].2, passes[0].3), (3, 5));
}

#[test]
fn counters_that_could_be_of_several_processes_are_joined_to_none() {
    let directory = TempDir::new().unwrap();
    let folder = directory.path();
    trace(folder, "41", 1_000, 1, &KERNELS);
    trace(folder, "42", 1_000, 1, &KERNELS);
    pass(folder, "pmc", (7, 90_000), "A", &KERNELS);
    let (starts, values, passes) = with_passes(folder);
    assert_eq!((starts.len(), values.len()), (8, 0));
    assert_eq!((&passes[0].1[..], passes[0].2), ("the 2 recordings in this folder", 0));
    // The GPU tells which.
    trace(folder, "42", 1_000, 2, &KERNELS);
    let (_, values, passes) = with_passes(folder);
    assert_eq!((values.len(), &passes[0].1[..]), (4, "41_kernel_trace.csv"));
}

#[test]
fn counters_of_one_time_are_of_processes_of_one_job() {
    let directory = TempDir::new().unwrap();
    let folder = directory.path();
    trace(folder, "41", 1_000, 1, &KERNELS);
    pass(folder, "42", (42, 1_010), "A", &KERNELS);
    let (starts, values, passes) = with_passes(folder);
    assert_eq!((starts.len(), values.len(), passes.len()), (8, 4, 0));
    // The same process under another prefix has these dispatches already.
    pass(folder, "41_more", (41, 1_010), "B", &KERNELS);
    let (starts, values, _) = with_passes(folder);
    assert_eq!((starts.len(), values.len()), (8, 8));
    assert_eq!(read(folder).unwrap().processes.len(), 2);
}

#[test]
fn of_passes_without_a_trace_the_first_is_the_timeline() {
    let directory = TempDir::new().unwrap();
    let folder = directory.path();
    pass(folder, "a", (7, 1_000), "A", &KERNELS);
    pass(folder, "b", (8, 90_000), "B", &KERNELS);
    pass(folder, "c", (9, 170_000), "C", &[(1, "of another program")]);
    let (starts, values, passes) = with_passes(folder);
    assert_eq!(starts, [1_000, 1_100, 1_200, 1_300, 170_000]);
    assert_eq!((values.len(), passes.len()), (9, 1));
}

#[test]
fn corpus_counter_passes_beside_a_recorded_trace_are_not_on_its_timeline() {
    let Some(folder) = testdata::corpus("field/recordings/rocprofv3-llm-decode") else { return };
    let (starts, values, passes) = with_passes(&folder);
    assert_eq!(starts.len(), 144);
    // 20 dispatches have a number of the trace: one counter in a pass, ten in the other.
    assert_eq!(values.len(), 20 + 200);
    let joined: Vec<_> = passes.iter().map(|(_, trace, joined, of)| (&trace[..], *joined, *of)).collect();
    assert_eq!(joined, [("decode_kernel_trace.csv", 20, 34), ("decode_kernel_trace.csv", 20, 34)]);
}

#[test]
fn counters_of_kernels_of_one_graph_stay_apart() {
    // All kernels of a graph share the number of the call that launched it.
    let row = |id: u32, value: u32| {
        format!("5,{id},\"Agent 4\",1,77,70,64,2,\"k(int)\",64,0,0,8,0,16,SQ_WAVES,{value},{id}00,{id}50")
    };
    let directory = TempDir::new().unwrap();
    write(
        directory.path(),
        "1_counter_collection.csv",
        COUNTER_HEADER,
        &[row(1, 10), row(2, 20), row(3, 30)],
    );
    let values = |profile: Profile| {
        profile.counter_values.iter().map(|value| (value.dispatch, value.value)).collect::<Vec<_>>()
    };
    assert_eq!(values(read(directory.path()).unwrap()), [(0, 10.0), (1, 20.0), (2, 30.0)]);
    // A kernel trace without numbers of dispatches joins by that number, as far as it goes.
    let header = "Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp";
    write(directory.path(), "1_kernel_trace.csv", header, &["k(int),5,100,150".to_string()]);
    let joined = read(directory.path()).unwrap();
    assert_eq!(joined.dispatches.len(), 1);
    assert_eq!(values(joined), [(0, 60.0)]);
}

#[test]
fn missing_columns_are_named_with_the_header() {
    for (name, header, columns) in [
        ("1_kernel_trace.csv", "Kind,Kernel_Name,Begin", "missing columns Start_Timestamp, End_Timestamp"),
        ("1_hip_api_trace.csv", "Domain,Start_Timestamp,End_Timestamp", "missing columns Function"),
        ("1_memory_copy_trace.csv", "Kind,Start_Timestamp,End_Timestamp", "missing columns Direction"),
        (
            "1_counter_collection.csv",
            "Dispatch_Id,Kernel_Name",
            "missing columns Counter_Name, Counter_Value",
        ),
        ("1_counter_collection.csv", "Counter_Name,Counter_Value", "missing columns Dispatch_Id"),
    ] {
        let directory = with_file(name, header, &[]);
        let error = read(directory.path()).unwrap_err();
        assert!(matches!(&error, IngestError::NotRocprof { .. }));
        let text = error.to_string();
        assert!(text.contains(name), "{text}");
        assert!(text.contains(columns), "{text}");
        assert!(text.contains(&header.replace(',', ", ")), "{text}");
    }
}

#[test]
fn a_bad_file_beside_good_ones_is_left_out_and_told() {
    let directory = TempDir::new().unwrap();
    write_csv(directory.path(), "42");
    let bad = "42_hsa_api_trace.csv";
    fs::write(directory.path().join(bad), "Domain,Start_Timestamp,End_Timestamp\n").unwrap();
    fs::write(directory.path().join("42_rccl_api_trace.csv"), "").unwrap();
    let profile = read(directory.path()).unwrap();
    let [Warning::UnreadFile { name, detail }] = &profile.warnings[..] else {
        panic!("{:?}", profile.warnings)
    };
    assert_eq!(name, bad);
    assert!(detail.contains("missing columns Function"), "{detail}");
    assert_eq!(profile.calls.len(), super::rocprof_run::CALLS.len() - 2);
    assert!(read(&directory.path().join(bad)).is_err(), "the file that was named has to be right");
}

#[test]
fn rows_that_cannot_be_read_are_counted() {
    let header = "Kernel_Name,Start_Timestamp,End_Timestamp,Grid_Size_X";
    let rows = [
        "k(),10,20,1",
        "k(),ten,20,1",
        "k(),10,20",
        "k(),10,,1",
        "k(),30,25,1",
        "k(),1,2,99999999999",
        "k(),5,6,",
    ];
    let profile = read(with_file("1_kernel_trace.csv", header, &rows).path()).unwrap();
    let spans: Vec<_> =
        profile.dispatches.iter().map(|dispatch| (dispatch.start.0, dispatch.end.0)).collect();
    assert_eq!(spans, [(10, 20), (30, 30), (5, 6)]);
    assert_eq!(
        profile.warnings,
        [
            Warning::MalformedRecords {
                list: "1_kernel_trace.csv".to_string(),
                count: 4,
                detail: "line 3: Start_Timestamp is \"ten\"".to_string()
            },
            Warning::Records { fault: RecordFault::NegativeDuration, count: 1 }
        ]
    );
}

#[test]
fn invalid_utf8_is_replaced_and_counted() {
    let directory = TempDir::new().unwrap();
    let text = [b"Kernel_Name,Start_Timestamp,End_Timestamp\n\"k\xff(int)\",1,2\n".as_slice()].concat();
    fs::write(directory.path().join("1_kernel_trace.csv"), text).unwrap();
    let profile = read(directory.path()).unwrap();
    assert_eq!(truncated(&profile), ["k\u{fffd}"]);
    assert_eq!(profile.warnings, [Warning::InvalidUtf8 { count: 1 }]);
}

#[test]
fn quoted_names_may_hold_commas_quotes_and_line_breaks() {
    let row = "\"HIP_RUNTIME_API\",\"a \"\"b\"\", c\nd\",1,2,3,4,5";
    let profile = read(with_file("1_hip_api_trace.csv", CALL_HEADER, &[row]).path()).unwrap();
    assert_eq!(profile.text(profile.calls[0].name), "a \"b\", c\nd");
    assert_eq!(profile.processes[0].pid, Some(1));
}

#[test]
fn a_directory_without_traces_is_refused_with_what_was_looked_for() {
    let directory = TempDir::new().unwrap();
    for name in ["notes.csv", "1_agent_info.csv", "1_kernel_stats.csv"] {
        fs::write(directory.path().join(name), "a,b\n1,2\n").unwrap();
    }
    let error = said(&read(directory.path()).unwrap_err());
    assert!(error.contains("is a directory") && error.contains("*_kernel_trace.csv"), "{error}");
    let profile = directory.path().join("908_results.json");
    fs::write(&profile, "{}").unwrap();
    let error = said(&read(directory.path()).unwrap_err());
    assert!(error.ends_with(&format!("pass a recording inside it: {}", profile.display())), "{error}");
    let statistics = with_file("1_kernel_stats.csv", "Name,Calls,TotalDurationNs", &["k,1,2"]);
    let error = read(&statistics.path().join("1_kernel_stats.csv")).unwrap_err().to_string();
    assert!(error.contains("a table without execution records"), "{error}");
}
