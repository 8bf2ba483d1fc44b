//! One small run of a program on two GPUs, written as `rocprofv3` writes it: as CSV files and as a rocpd database.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, params};
use trace_ingest::rocprof::{KernelNames, Profile};

pub(crate) const KERNEL_HEADER: &str = "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,\
    Correlation_Id,Start_Timestamp,End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,\
    Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z";
pub(crate) const CALL_HEADER: &str =
    "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp";

/// Number, symbol, formatted name.
pub(crate) const KERNELS: [(i64, &str, &str); 3] = [
    (1, "_Z3addPf.kd", "add(float*)"),
    (2, "attn_fwd.kd", "attn_fwd"),
    (3, "_ZN2at12_GLOBAL__N_17softmaxIfEEvPf.kd", "void at::(anonymous namespace)::softmax<float>(float*)"),
];
/// Number, kernel, agent, start, end, stream, correlation.
pub(crate) const DISPATCHES: [(i64, i64, i64, i64, i64, i64, i64); 4] = [
    (1, 1, 1, 1_000, 1_500, 0, 11),
    (2, 2, 1, 1_400, 2_400, 3, 12),
    (3, 3, 2, 2_000, 2_050, 0, 13),
    (4, 1, 2, 3_000, 3_700, 0, 14),
];
/// Category, function or text, thread, correlation, start, end.
pub(crate) const CALLS: [(&str, &str, i64, i64, i64, i64); 7] = [
    ("HIP_RUNTIME_API", "hipLaunchKernel", 70, 11, 900, 950),
    ("HIP_RUNTIME_API", "hipLaunchKernel", 70, 12, 960, 990),
    ("HIP_RUNTIME_API", "hipMemcpyAsync", 71, 15, 4_000, 4_100),
    ("HSA_CORE_API", "hsa_queue_create", 70, 21, 100, 200),
    ("MARKER_CORE_RANGE_API", "step 1", 70, 31, 890, 4_200),
    ("RCCL_API", "ncclAllReduce", 71, 41, 1_950, 1_990),
    ("MARKER_CORE_RANGE_API", "checkpoint", 70, 32, 2_500, 2_500),
];
type Copied = (&'static str, i64, i64, i64, i64, i64, i64, i64);
/// Name, source, destination, bytes, stream, correlation, start, end.
pub(crate) const COPIES: [Copied; 2] = [
    ("MEMORY_COPY_HOST_TO_DEVICE", 0, 1, 4_096, 0, 15, 4_120, 4_300),
    ("MEMORY_COPY_DEVICE_TO_DEVICE", 1, 2, 65_536, 3, 16, 5_000, 5_600),
];
/// Counter, dispatch, values of its instances.
pub(crate) const COUNTERS: [(&str, i64, &[f64]); 3] =
    [("SQ_WAVES", 1, &[3.0, 5.0]), ("SQ_WAVES", 2, &[64.0]), ("GRBM_GUI_ACTIVE", 1, &[0.5])];

pub(crate) fn write(directory: &Path, name: &str, header: &str, rows: &[String]) {
    fs::write(directory.join(name), format!("{header}\n{}\n", rows.join("\n"))).unwrap();
}

pub(crate) fn kernel_rows() -> Vec<String> {
    DISPATCHES
        .iter()
        .map(|(id, kernel, agent, start, end, stream, correlation)| {
            let name = KERNELS[*kernel as usize - 1].2;
            format!(
                "\"KERNEL_DISPATCH\",\"Agent {agent}\",5,{stream},70,{id},{kernel},\"{name}\",{correlation},\
                 {start},{end},512,16,32,4,96,256,1,1,1024,{id},1"
            )
        })
        .collect()
}

/// Writes the run as the files `<prefix>_*.csv`.
pub(crate) fn write_csv(directory: &Path, prefix: &str) {
    let file = |kind: &str| format!("{prefix}_{kind}.csv");
    let agents = [
        "0,0,\"CPU\",0,0,0,0,\"AMD EPYC\",\"AMD\",\"AMD EPYC 9575F\"",
        "1,1,\"GPU\",304,8,64,64,\"gfx942\",\"AMD\",\"AMD Instinct MI300X\"",
        "2,2,\"GPU\",304,8,64,64,\"gfx942\",\"AMD\",\"AMD Instinct MI300X\"",
    ];
    let header = "Node_Id,Logical_Node_Id,Agent_Type,Cu_Count,Num_Xcc,Lds_Size_In_Kb,Wave_Front_Size,Name,\
        Vendor_Name,Product_Name";
    write(directory, &file("agent_info"), header, &agents.map(str::to_string));
    write(directory, &file("kernel_trace"), KERNEL_HEADER, &kernel_rows());
    for (kind, prefix) in
        [("hip_api", "HIP"), ("hsa_api", "HSA"), ("marker_api", "MARKER"), ("rccl_api", "RCCL")]
    {
        let rows: Vec<String> = CALLS
            .iter()
            .filter(|call| call.0.starts_with(prefix))
            .map(|(domain, name, thread, correlation, start, end)| {
                format!("\"{domain}\",\"{name}\",42,{thread},{correlation},{start},{end}")
            })
            .collect();
        write(directory, &file(&format!("{kind}_trace")), CALL_HEADER, &rows);
    }
    let copies = COPIES.map(|(name, source, destination, _, stream, correlation, start, end)| {
        format!(
            "\"MEMORY_COPY\",\"{name}\",{stream},\"Agent {source}\",\"Agent {destination}\",{correlation},{start},{end}"
        )
    });
    let header = "Kind,Direction,Stream_Id,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,\
        End_Timestamp";
    write(directory, &file("memory_copy_trace"), header, &copies);
    let allocations = [
        "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 1\",8192,0x00007f0000001000,51,300,350",
        "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_FREE\",\"\",0,0x00007f0000001000,52,6000,6010",
    ];
    let header =
        "Kind,Operation,Agent_Id,Allocation_Size,Address,Correlation_Id,Start_Timestamp,End_Timestamp";
    write(directory, &file("memory_allocation_trace"), header, &allocations.map(str::to_string));
    let scratch = "\"SCRATCH_MEMORY\",\"SCRATCH_MEMORY_ALLOC\",\"Agent 1\",5,70,0,980,995".to_string();
    let header = "Kind,Operation,Agent_Id,Queue_Id,Thread_Id,Alloc_Flags,Start_Timestamp,End_Timestamp";
    write(directory, &file("scratch_memory_trace"), header, &[scratch]);
    let counters = COUNTERS.map(|(counter, dispatch, values)| {
        let (id, kernel, agent, start, end, _, correlation) = DISPATCHES[dispatch as usize - 1];
        let name = KERNELS[kernel as usize - 1].2;
        let value: f64 = values.iter().sum();
        format!(
            "{correlation},{id},\"Agent {agent}\",5,42,70,1024,{kernel},\"{name}\",256,512,16,32,4,96,\"{counter}\",\
             {value},{start},{end}"
        )
    });
    write(directory, &file("counter_collection"), COUNTER_HEADER, &counters);
    let statistics = "\"add(float*)\",2,1200,600.0,50.0,500,700,1.0".to_string();
    let header = "Name,Calls,TotalDurationNs,AverageNs,Percentage,MinNs,MaxNs,StdDev";
    write(directory, &file("kernel_stats"), header, &[statistics]);
}

pub(crate) const COUNTER_HEADER: &str = "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,\
    Kernel_Id,Kernel_Name,Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,\
    Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp";

/// Tables of a run with their columns, without the id of the run.
fn tables() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("tables.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(": ").unwrap())
}

/// How the tables of a run are named.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Naming {
    /// With the id of the run behind, and views of the plain names.
    Views,
    /// With the id of the run behind, and nothing else.
    Suffixed,
    Plain,
}

/// Adds the run as one of the process `pid` to a database.
pub(crate) fn write_rocpd(database: &Connection, run: &str, pid: i64, host: &str, naming: Naming) {
    let suffix = if naming == Naming::Plain { String::new() } else { format!("_{}", run.replace('-', "_")) };
    for (table, columns) in tables() {
        let name = format!("rocpd_{table}{suffix}");
        database.execute_batch(&format!("CREATE TABLE IF NOT EXISTS \"{name}\" ({columns})")).unwrap();
        if naming == Naming::Views {
            database
                .execute_batch(&format!(
                    "CREATE VIEW IF NOT EXISTS rocpd_{table} AS SELECT * FROM \"{name}\""
                ))
                .unwrap();
        }
    }
    let insert = |table: &str, values: &[&dyn rusqlite::ToSql]| {
        let marks = vec!["?"; values.len()].join(",");
        database.execute(&format!("INSERT INTO \"rocpd_{table}{suffix}\" VALUES ({marks})"), values).unwrap();
    };
    let mut strings: Vec<String> = Vec::new();
    let mut string = |text: &str| {
        let known = strings.iter().position(|known| known == text);
        known.map_or_else(
            || {
                strings.push(text.to_string());
                insert("string", params![strings.len() as i64, run, text]);
                strings.len() as i64
            },
            |known| known as i64 + 1,
        )
    };
    insert("info_node", params![1, run, host]);
    insert("info_process", params![pid, run, 1, pid, 50, 7_000]);
    for thread in [70, 71] {
        insert("info_thread", params![thread, run, 1, pid, thread]);
    }
    for (id, kind, index, name) in
        [(0, "CPU", 0, "AMD EPYC"), (1, "GPU", 0, "gfx942"), (2, "GPU", 1, "gfx942")]
    {
        let hardware = if kind == "GPU" {
            r#"{"cu_count":304,"num_xcc":8,"lds_size_in_kb":64,"wave_front_size":64,"hive_id":17332996360099338395,
                "mem_banks":[{"width":8192,"mem_clk_max":2600,"size_in_bytes":206141652992}]}"#
        } else {
            "{}"
        };
        let product = if kind == "GPU" { "AMD Instinct MI300X" } else { "AMD EPYC 9575F" };
        insert("info_agent", params![id, run, 1, pid, kind, id, id, index, name, product, hardware]);
    }
    for (id, symbol, formatted) in KERNELS {
        insert("info_kernel_symbol", params![id, run, 1, pid, symbol, formatted, 32, 4, 96, "{}"]);
    }
    let mut events = 0;
    let mut event = |category: i64, stack: i64, data: &str| {
        events += 1;
        insert("event", params![events, run, category, stack, 0, 0, data]);
        events
    };
    let mut event_of_dispatch = Vec::new();
    for (id, kernel, agent, start, end, stream, correlation) in DISPATCHES {
        let event = event(string("KERNEL_DISPATCH"), correlation, "{}");
        event_of_dispatch.push(event);
        let row = params![
            id, run, 1, pid, 70, agent, kernel, id, 5, stream, start, end, 16, 512, 256, 1, 1, 1024, id, 1,
            event
        ];
        insert("kernel_dispatch", row);
    }
    for (id, (name, source, destination, bytes, stream, correlation, start, end)) in (1..).zip(COPIES) {
        let event = event(string("MEMORY_COPY"), correlation, "{}");
        let name = string(name);
        let row = params![id, run, 1, pid, 0, start, end, name, destination, source, bytes, stream, event];
        insert("memory_copy", row);
    }
    for (category, name, thread, correlation, start, end) in CALLS {
        let is_marker = category.starts_with("MARKER");
        let data = if is_marker { format!("{{\"message\": \"{name}\"}}") } else { "{}".to_string() };
        let category = string(category);
        let event = event(category, correlation, &data);
        if start == end {
            insert("track", params![correlation, run, 1, pid, thread, category]);
            insert("sample", params![correlation, run, correlation, start, event]);
        } else {
            let name = string(if is_marker { "roctxThreadRangeA" } else { name });
            insert("region", params![correlation, run, 1, pid, thread, start, end, name, event]);
        }
    }
    for (id, agent, kind, level, start, end, bytes, correlation) in [
        (1, Some(1), "ALLOC", "REAL", 300, 350, 8_192, 51),
        (2, None, "FREE", "REAL", 6_000, 6_010, 0, 52),
        (3, Some(1), "ALLOC", "SCRATCH", 980, 995, 0, 0),
    ] {
        let event = event(string("MEMORY_ALLOCATION"), correlation, "{}");
        let address = 0x7f00_0000_1000_i64;
        let row = params![id, run, pid, 70, agent, kind, level, start, end, address, bytes, 5, event];
        insert("memory_allocate", row);
    }
    for (id, name) in [(900, "SQ_WAVES"), (901, "GRBM_GUI_ACTIVE"), (902, "NEVER_READ")] {
        insert("info_pmc", params![id, run, 1, name, "what it counts", "SQ", ""]);
    }
    let mut id = 0;
    for (counter, dispatch, values) in COUNTERS {
        let counter = if counter == "SQ_WAVES" { 900 } else { 901 };
        for value in values {
            id += 1;
            insert("pmc_event", params![id, run, event_of_dispatch[dispatch as usize - 1], counter, value]);
        }
    }
}

/// What reports are made of, as text, without what a format cannot tell.
pub(crate) fn told(profile: &Profile) -> Vec<String> {
    let agent = |agent: Option<u32>| agent.map(|agent| profile.agents[agent as usize].label.clone());
    let mut lines = Vec::new();
    for dispatch in &profile.dispatches {
        let launch = profile.launches[dispatch.launch as usize];
        lines.push(format!(
            "dispatch {} {}..{} {:?} thread {} queue {} stream {} {:?} {} = {} {launch:?}",
            dispatch.dispatch_id,
            dispatch.start.0,
            dispatch.end.0,
            dispatch.correlation,
            dispatch.thread,
            dispatch.queue,
            dispatch.stream,
            agent(dispatch.agent),
            profile.kernel_name(dispatch.kernel, KernelNames::Truncated),
            profile.kernel_name(dispatch.kernel, KernelNames::Formatted),
        ));
    }
    for copy in &profile.copies {
        lines.push(format!(
            "copy {} {:?} {}..{} {:?} stream {} {:?} -> {:?}",
            profile.text(copy.name),
            copy.direction,
            copy.start.0,
            copy.end.0,
            copy.correlation,
            copy.stream,
            agent(copy.source),
            agent(copy.destination),
        ));
    }
    for call in &profile.calls {
        lines.push(format!(
            "call {} {:?} {} {}..{} {:?} thread {}",
            profile.text(call.kind),
            call.domain,
            profile.text(call.name),
            call.start.0,
            call.end.0,
            call.correlation,
            call.thread,
        ));
    }
    for allocation in &profile.allocations {
        lines.push(format!(
            "allocation {} {} at {:x} {}..{} {:?} {:?}",
            profile.text(allocation.name),
            allocation.bytes,
            allocation.address,
            allocation.start.0,
            allocation.end.0,
            allocation.correlation,
            agent(allocation.agent),
        ));
    }
    for event in &profile.scratch {
        let name = profile.text(event.name);
        lines.push(format!(
            "scratch {name} {}..{} queue {} {:?}",
            event.start.0,
            event.end.0,
            event.queue,
            agent(event.agent)
        ));
    }
    for value in &profile.counter_values {
        let counter = &profile.counters[value.counter as usize].name;
        let dispatch = profile.dispatches[value.dispatch as usize].dispatch_id;
        lines.push(format!("counter {counter} of {dispatch} = {}", value.value));
    }
    lines.sort();
    lines
}
