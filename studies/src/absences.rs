//! What was not recorded, and why devices wait: planted into generated runs of several recorders, and held against what
//! `tracelens report` says.
//!
//! A run is a training loop that keeps its device busy: the host launches ahead, a step waits for nothing. A *cause* makes
//! the device wait for a known time; an *absence* takes records out of a run that did not wait. A cause is found if the
//! first finding about idle time names it with its length; an absence if nothing claims more idle time than there was.

use std::error::Error;
use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use testdata::random::Random;

use crate::{Outcome, StudyResult, build_program};

/// Which cases, and who is asked about them.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Runs to make
    #[arg(long, default_value = "300")]
    cases: NonZeroU64,
    /// Seed of runs and amounts: the same seed gives the same recordings
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder to keep the recordings in
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Program whose `report` is judged [default: builds the release binary]
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Share of right answers that each kind of case has to reach.
const LEAST_RIGHT: f64 = 0.97;
/// Idle time that no finding may claim beyond what there was, and that nothing is said of, as a share of the window.
const TOLERANCE: f64 = 0.01;
/// How far the length of a cause may be from the truth, as a share of it.
const LENGTH_TOLERANCE: f64 = 0.25;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Recorder {
    KinetoCuda,
    KinetoRocm,
    Nsys,
    Rocprof,
}

const RECORDERS: [Recorder; 4] =
    [Recorder::KinetoCuda, Recorder::KinetoRocm, Recorder::Nsys, Recorder::Rocprof];

impl Recorder {
    fn name(self) -> &'static str {
        match self {
            Recorder::KinetoCuda => "Kineto, CUDA",
            Recorder::KinetoRocm => "Kineto, ROCm",
            Recorder::Nsys => "Nsight Systems",
            Recorder::Rocprof => "rocprofv3",
        }
    }

    /// The vendor's name of a runtime call.
    fn call(self, name: &str) -> String {
        let prefix = match self {
            Recorder::KinetoCuda | Recorder::Nsys => "cuda",
            Recorder::KinetoRocm | Recorder::Rocprof => "hip",
        };
        format!("{prefix}{name}")
    }

    /// Whether it records what the program marks.
    fn has_ranges(self) -> bool {
        self != Recorder::Rocprof
    }
}

/// What is done to a run.
#[derive(Clone, Copy, PartialEq)]
enum Plant {
    Clean,
    /// Replays of graphs lose their device events, in percent.
    ReplaysLost(u64),
    BuffersLost,
    TwoCycles,
    Overruns,
    Zeros,
    FirstUse,
    Loader,
    Sync,
    Allocations,
    HostAway,
    OtherProcess,
}

const PLANTS: [(Plant, &str); 15] = [
    (Plant::Clean, "nothing"),
    (Plant::ReplaysLost(10), "10% of the graph replays lost"),
    (Plant::ReplaysLost(50), "50% of the graph replays lost"),
    (Plant::ReplaysLost(90), "90% of the graph replays lost"),
    (Plant::ReplaysLost(100), "100% of the graph replays lost"),
    (Plant::BuffersLost, "a buffer of device events lost"),
    (Plant::TwoCycles, "two cycles of the profiler"),
    (Plant::Overruns, "ends too late"),
    (Plant::Zeros, "times of 0"),
    (Plant::FirstUse, "first use of a library"),
    (Plant::Loader, "late loader"),
    (Plant::Sync, "the host waits for the device"),
    (Plant::Allocations, "memory is allocated and freed"),
    (Plant::HostAway, "the host does something that is not recorded"),
    (Plant::OtherProcess, "another process on the device"),
];

impl Plant {
    /// The rule that has to name it.
    fn rule(self) -> Option<&'static str> {
        match self {
            Plant::FirstUse => Some("IDLE-INIT"),
            Plant::Loader => Some("IDLE-DATA"),
            Plant::Sync => Some("IDLE-SYNC"),
            Plant::Allocations => Some("IDLE-ALLOC"),
            Plant::HostAway => Some("IDLE-HOST"),
            _ => None,
        }
    }

    fn is_of(self, recorder: Recorder) -> bool {
        match self {
            Plant::Loader | Plant::TwoCycles => recorder.has_ranges(),
            _ => true,
        }
    }

    /// Whether a report must say that the recording lacks something.
    fn is_loss(self) -> bool {
        matches!(self, Plant::ReplaysLost(_) | Plant::BuffersLost | Plant::Overruns | Plant::Zeros)
    }
}

/// A span with a name; times in ns.
struct Span {
    name: String,
    start: u64,
    end: u64,
    correlation: u64,
}

/// What a recorder writes of a run.
#[derive(Default)]
struct Run {
    ranges: Vec<Span>,
    ops: Vec<Span>,
    calls: Vec<Span>,
    kernels: Vec<Span>,
    /// Of each kernel, as they were launched.
    dispatch_numbers: Vec<u64>,
}

/// Where the program is.
struct Player {
    run: Run,
    recorder: Recorder,
    random: Random,
    host: u64,
    device: u64,
    correlation: u64,
}

const START: u64 = 7_000_000_000_000;
const MICROSECOND: u64 = 1_000;
/// At most between two kernels that were launched ahead, in ns.
const USUAL_WAIT: u64 = 1_300;

impl Player {
    fn call(&mut self, name: &str, length: u64) -> u64 {
        self.correlation += 1;
        let (start, end) = (self.host, self.host + length);
        let name = self.recorder.call(name);
        self.run.calls.push(Span { name, start, end, correlation: self.correlation });
        self.host = end;
        start
    }

    /// A kernel of the last call, which began then.
    fn kernel(&mut self, name: &str, launched: u64, length: u64) {
        let start = self.device.max(launched + 4 * MICROSECOND) + self.random.between(900, USUAL_WAIT);
        let correlation = self.correlation;
        self.run.kernels.push(Span { name: name.to_owned(), start, end: start + length, correlation });
        self.device = start + length;
        self.run.dispatch_numbers.push(self.run.kernels.len() as u64);
    }

    /// How long the host has to be away for the device to wait that long.
    fn stall(&self, idle: u64) -> u64 {
        self.device.saturating_sub(self.host) + idle
    }

    fn op(&mut self, before_launch: impl FnOnce(&mut Self)) {
        let start = self.host;
        self.host += self.random.between(4, 8) * MICROSECOND;
        before_launch(self);
        let launched = self.call("LaunchKernel", 5 * MICROSECOND);
        let length = self.random.between(45, 75) * MICROSECOND;
        self.kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", launched, length);
        self.host += MICROSECOND;
        self.run.ops.push(Span { name: "aten::mm".to_owned(), start, end: self.host, correlation: 0 });
    }

    fn graph(&mut self, kernels: u64) {
        self.host += 6 * MICROSECOND;
        let launched = self.call("GraphLaunch", 12 * MICROSECOND);
        for _ in 0..kernels {
            let length = self.random.between(30, 60) * MICROSECOND;
            self.kernel("triton_poi_fused_add_mul_0", launched, length);
        }
    }

    fn range(&mut self, name: &str, start: u64) {
        self.run.ranges.push(Span { name: name.to_owned(), start, end: self.host, correlation: 0 });
    }

    fn wait_for_device(&mut self, call: &str) {
        let length = self.device.saturating_sub(self.host) + 6 * MICROSECOND;
        self.call(call, length);
    }
}

/// A recording and the time in ns that its device waited for the planted cause.
fn play(plant: Plant, recorder: Recorder, mut random: Random) -> (Run, u64) {
    let steps = random.between(8, 13);
    let ops = random.between(30, 50);
    let at = (random.between(2, steps - 1), random.between(4, ops - 2));
    let stall = random.between(3_000, 30_000) * MICROSECOND;
    let every = random.between(3, 6);
    let mut player =
        Player { run: Run::default(), recorder, random, host: START, device: START, correlation: 0 };
    let mut number = 10;
    for step in 0..steps {
        if plant == Plant::TwoCycles && step == at.0 {
            player.wait_for_device("DeviceSynchronize");
            player.host += stall * 10;
            number += 17;
        }
        let start = player.host;
        let loading = match (plant, step > 0) {
            (Plant::Loader, true) => player.stall(stall / 8),
            _ => 40 * MICROSECOND,
        };
        player.host += loading;
        player.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start);
        if let Plant::ReplaysLost(_) = plant {
            player.op(|_| ());
            (0..ops / 6).for_each(|_| player.graph(8));
        } else {
            for op in 0..ops {
                let is_here = (step, op) == at;
                match plant {
                    Plant::FirstUse if (step, op) == (0, at.1) => player.op(|player| {
                        let length = player.stall(stall);
                        player.call("FuncGetAttributes", length);
                    }),
                    Plant::Allocations if step > 0 && op == at.1 => player.op(|player| {
                        let end = player.host + player.stall(stall / 4);
                        while player.host < end {
                            player.call("Malloc", 300 * MICROSECOND);
                            player.call("Free", 400 * MICROSECOND);
                        }
                    }),
                    Plant::HostAway if is_here => player.op(|player| {
                        let length = player.stall(stall);
                        player.host += length;
                    }),
                    Plant::OtherProcess if is_here => {
                        player.device += stall;
                        player.op(|_| ());
                    }
                    Plant::Sync if op % every == 0 => {
                        player.op(|_| ());
                        player.wait_for_device("StreamSynchronize");
                        player.host += player.random.between(20, 60) * MICROSECOND;
                    }
                    _ => player.op(|_| ()),
                }
            }
        }
        let name = format!("ProfilerStep#{number}");
        player.range(&name, start);
        number += 1;
    }
    player.wait_for_device("DeviceSynchronize");
    let Player { mut run, mut random, .. } = player;
    let waits = run.kernels.windows(2).map(|pair| pair[1].start - pair[0].end);
    let idle = waits.filter(|&wait| wait > USUAL_WAIT).sum();
    lose(&mut run, plant, &mut random);
    (run, idle)
}

/// Takes records out of a run, or makes their times wrong.
fn lose(run: &mut Run, plant: Plant, random: &mut Random) {
    let kernels = run.kernels.len() as u64;
    match plant {
        Plant::ReplaysLost(percent) => {
            let mut loses =
                |call: &Span| call.name.ends_with("GraphLaunch") && random.between(0, 100) < percent;
            let is_lost: Vec<bool> = run.calls.iter().map(&mut loses).collect();
            let is_kept = |kernel: &Span| !is_lost[kernel.correlation as usize - 1];
            let mut kept = run.kernels.iter().map(is_kept);
            run.dispatch_numbers.retain(|_| kept.next().unwrap_or_default());
            run.kernels.retain(is_kept);
        }
        Plant::BuffersLost => {
            let first = random.between(kernels / 5, kernels / 2) as usize;
            let count = random.between(kernels / 12, kernels / 4) as usize;
            run.kernels.drain(first..first + count);
            run.dispatch_numbers.drain(first..first + count);
        }
        Plant::Overruns => {
            for _ in 0..random.between(1, 4) {
                let kernel = random.between(0, kernels - 10) as usize;
                run.kernels[kernel].end += random.between(1_000, 4_000) * MICROSECOND;
            }
        }
        Plant::Zeros => {
            for _ in 0..kernels / 30 + 1 {
                let kernel = random.between(0, kernels) as usize;
                (run.kernels[kernel].start, run.kernels[kernel].end) = (0, 0);
            }
        }
        _ => {}
    }
}

impl Run {
    /// Writes what the recorder writes, and says what to read.
    fn write(&self, recorder: Recorder, folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
        std::fs::create_dir_all(folder)?;
        match recorder {
            Recorder::KinetoCuda | Recorder::KinetoRocm => {
                let path = folder.join("trace.json");
                std::fs::write(&path, self.kineto(recorder).to_string())?;
                Ok(path)
            }
            Recorder::Nsys => {
                let path = folder.join("run.sqlite");
                self.nsys(&path)?;
                Ok(path)
            }
            Recorder::Rocprof => {
                std::fs::write(folder.join("1_kernel_trace.csv"), self.dispatches())?;
                std::fs::write(folder.join("1_hip_api_trace.csv"), self.hip_calls())?;
                std::fs::write(folder.join("1_agent_info.csv"), AGENTS)?;
                Ok(folder.to_owned())
            }
        }
    }

    fn kineto(&self, recorder: Recorder) -> Value {
        let span = |span: &Span, category: &str, row: (u64, u64), arguments: Value| {
            let [start, length] = [span.start, span.end - span.start].map(|time| time as f64 / 1e3);
            json!({"ph": "X", "cat": category, "name": span.name, "pid": row.0, "tid": row.1, "ts": start, "dur": length,
                   "args": arguments})
        };
        let (host, device) = ((400, 400), (0, 7));
        let ranges = self.ranges.iter().map(|range| span(range, "user_annotation", host, json!({})));
        let shapes =
            json!({"Input Dims": [[512, 512], [512, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]});
        let ops = self.ops.iter().map(|op| span(op, "cpu_op", host, shapes.clone()));
        let calls = self
            .calls
            .iter()
            .map(|call| span(call, "cuda_runtime", host, json!({"correlation": call.correlation})));
        let kernels = self.kernels.iter().map(|kernel| {
            span(
                kernel,
                "kernel",
                device,
                json!({"correlation": kernel.correlation, "device": 0, "stream": 7}),
            )
        });
        let events: Vec<Value> = ranges.chain(ops).chain(calls).chain(kernels).collect();
        let (version, name) = match recorder {
            Recorder::KinetoRocm => ("hip_runtime_version", "AMD Instinct MI300X"),
            _ => ("cuda_runtime_version", "NVIDIA H100 80GB HBM3"),
        };
        json!({"schemaVersion": 1, version: 12_060, "deviceProperties": [{"id": 0, "name": name}],
               "record_shapes": 1, "traceEvents": events})
    }

    fn nsys(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        // A file of an earlier run.
        std::fs::remove_file(path).ok();
        let database = Connection::open(path)?;
        database.execute_batch(NSYS_TABLES)?;
        let process: i64 = 400 << 24 | 1 << 48;
        let mut names: Vec<&str> = self.calls.iter().chain(&self.kernels).map(|span| &*span.name).collect();
        names.sort_unstable();
        names.dedup();
        for (id, name) in names.iter().enumerate() {
            database.execute("INSERT INTO StringIds VALUES (?, ?)", params![id as i64, name])?;
        }
        let id = |name: &str| names.binary_search(&name).unwrap_or_default() as i64;
        let times = |span: &Span| [span.start, span.end].map(|time| time as i64);
        for call in &self.calls {
            let ([start, end], correlation) = (times(call), call.correlation as i64);
            database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)",
                params![start, end, process | 400, correlation, id(&call.name)],
            )?;
        }
        for kernel in &self.kernels {
            let ([start, end], correlation) = (times(kernel), kernel.correlation as i64);
            database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?, 1, 1, 1, 128, 1, 1)",
                params![start, end, correlation, process, id(&kernel.name), id(&kernel.name)],
            )?;
        }
        for range in &self.ranges {
            let [start, end] = times(range);
            database.execute(
                "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?)",
                params![start, end, range.name, process | 400],
            )?;
        }
        Ok(())
    }

    fn dispatches(&self) -> String {
        let mut text = DISPATCH_COLUMNS.to_owned();
        for (number, Span { name, start, end, correlation }) in
            self.dispatch_numbers.iter().zip(&self.kernels)
        {
            let _ = writeln!(
                text,
                r#""KERNEL_DISPATCH","Agent 1",1,0,400,{number},1,"{name}",{correlation},{start},{end},0,0,8,0,32,256,1,1,4096,1,1"#
            );
        }
        text
    }

    fn hip_calls(&self) -> String {
        let mut text =
            "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
                .to_owned();
        for Span { name, start, end, correlation } in &self.calls {
            let _ = writeln!(text, r#""HIP_RUNTIME_API","{name}",400,400,{correlation},{start},{end}"#);
        }
        text
    }
}

const AGENTS: &str = "\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Name\",\"Product_Name\"\n\
     0,0,\"CPU\",\"AMD EPYC\",\"AMD EPYC\"\n1,1,\"GPU\",\"gfx942\",\"AMD Instinct MI300X\"\n";

const DISPATCH_COLUMNS: &str = "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\
     \"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_Size\",\"Scratch_Size\",\
     \"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_X\",\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\
     \"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n";

const NSYS_TABLES: &str = "
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER,
    gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3');
";

/// What the program says of the idle time of a recording; in ns.
struct Answer {
    /// Findings about it: the rule, and the time.
    claims: Vec<(String, f64)>,
    idle: f64,
    window: f64,
    trusts: bool,
}

fn ask(binary: &Path, recording: &Path) -> Result<Answer, Box<dyn Error>> {
    let output = Command::new(binary).args(["report", "--json"]).arg(recording).output()?;
    let shown = recording.display();
    if !output.status.success() {
        return Err(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let claims = list(&document["findings"]).into_iter().filter_map(|finding| {
        let rule = finding["rule"].as_str().filter(|rule| rule.starts_with("IDLE-"))?;
        Some((rule.to_owned(), finding["us"]["mid"].as_f64()? * 1e3))
    });
    let time = |kind: &str| {
        let table = list(&document["tables"]).into_iter().find(|table| table["name"] == "gpu_timeline");
        let table = table.ok_or_else(|| format!("{shown}: no gpu_timeline"))?;
        let columns = list(&table["columns"]);
        let at = |name: &str| columns.iter().position(|column| column["name"] == name);
        let (kinds, times) = (at("type"), at("time ms"));
        let row = list(&table["rows"]).into_iter().find(|row| kinds.is_some_and(|at| row[at] == kind));
        let time = row.zip(times).and_then(|(row, at)| row[at].as_f64());
        Ok::<f64, Box<dyn Error>>(time.unwrap_or_default() * 1e6)
    };
    Ok(Answer {
        claims: claims.collect(),
        idle: time("idle_time")?,
        window: time("total_time")?,
        trusts: document["trust"]["verdict"] == "full",
    })
}

/// What is wrong with an answer.
fn fault(plant: Plant, idle: u64, clean_idle: f64, answer: &Answer) -> Option<String> {
    let Answer { claims, idle: shown, window, trusts } = answer;
    match (plant.is_loss(), trusts) {
        (true, true) => return Some("says nothing of the loss".to_owned()),
        (false, false) => return Some("doubts a sound recording".to_owned()),
        _ => {}
    }
    if let Some(rule) = plant.rule() {
        let most = claims.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let off = |time: f64| (time - idle as f64).abs() / idle as f64;
        return match most {
            Some((found, time)) if found == rule && off(*time) <= LENGTH_TOLERANCE => None,
            found => Some(format!("{found:?} instead of {rule} with {idle} ns")),
        };
    }
    let claimed: f64 = claims.iter().map(|(_, time)| time).sum();
    if claimed > clean_idle + TOLERANCE * window {
        return Some(format!("claims {claims:?} where {clean_idle:.0} ns were idle"));
    }
    // The device does wait for another process: only a cause on the host would be wrong.
    let is_too_long = *shown > clean_idle + TOLERANCE * window && plant != Plant::OtherProcess;
    is_too_long.then(|| format!("{shown:.0} of {window:.0} ns are idle, in truth {clean_idle:.0}"))
}

/// Makes the runs, asks about each, and says how many answers are right.
pub(crate) fn run(arguments: &Arguments, root: &Path) -> StudyResult {
    let passing = tempfile::tempdir()?;
    let folder = arguments.keep.as_deref().unwrap_or(passing.path());
    let binary = arguments.binary.clone().map_or_else(|| build_program(root, "release"), Ok)?;
    let mut right = vec![[(0_u64, 0_u64); RECORDERS.len()]; PLANTS.len()];
    for number in 0..arguments.cases.get() {
        let kind = (number % PLANTS.len() as u64) as usize;
        let plant = PLANTS[kind].0;
        for (at, recorder) in RECORDERS.into_iter().enumerate().filter(|(_, recorder)| plant.is_of(*recorder))
        {
            let seed = arguments.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number;
            let (recorded, idle) = play(plant, recorder, Random::new(seed));
            let clean_idle = recorded.kernels.len() as f64 * USUAL_WAIT as f64;
            let place = folder.join(format!("{number:03}_{at}"));
            let answer = ask(&binary, &recorded.write(recorder, &place)?)?;
            let fault = fault(plant, idle, clean_idle, &answer);
            let (count, of) = &mut right[kind][at];
            *count += u64::from(fault.is_none());
            *of += 1;
            if let Some(fault) = fault {
                eprintln!("case {number}, {}, {}: {fault}", recorder.name(), PLANTS[kind].1);
            }
            if arguments.keep.is_none() {
                std::fs::remove_dir_all(&place)?;
            }
        }
    }
    println!("| planted | {} |", RECORDERS.map(Recorder::name).join(" | "));
    println!("| --- |{}", " ---: |".repeat(RECORDERS.len()));
    let mut is_good = true;
    for ((_, name), row) in PLANTS.iter().zip(&right) {
        let cells = row.map(|(count, of)| match of {
            0 => "not recorded".to_owned(),
            _ => format!("{count}/{of} ({:.0}%)", count as f64 / of as f64 * 100.0),
        });
        println!("| {name} | {} |", cells.join(" | "));
        let (count, of) = row.iter().fold((0, 0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
        is_good &= count as f64 >= LEAST_RIGHT * of as f64;
    }
    Ok(if is_good { Outcome::Good } else { Outcome::Bad })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_make_the_device_wait_and_absences_take_records() {
        for (plant, name) in PLANTS {
            let (run, idle) = play(plant, Recorder::KinetoCuda, Random::new(7));
            let (again, _) = play(plant, Recorder::KinetoCuda, Random::new(7));
            assert_eq!(run.kineto(Recorder::KinetoCuda), again.kineto(Recorder::KinetoCuda), "{name}");
            assert_eq!(run.kernels.len(), run.dispatch_numbers.len(), "{name}");
            let waits = plant.rule().is_some() || matches!(plant, Plant::OtherProcess | Plant::TwoCycles);
            assert_eq!(idle > 1_000 * MICROSECOND, waits, "{name}: {idle}");
            let last = run.dispatch_numbers.last().copied().unwrap_or_default();
            let has_gaps = (run.kernels.len() as u64) < last;
            assert_eq!(
                has_gaps,
                plant == Plant::BuffersLost || matches!(plant, Plant::ReplaysLost(_)),
                "{name}"
            );
        }
    }

    #[test]
    fn wrong_answers_are_told_from_right_ones() {
        let answer = |rule: &str, time: f64, idle: f64, trusts: bool| Answer {
            claims: vec![(rule.to_owned(), time)],
            idle,
            window: 1e6,
            trusts,
        };
        let is_right = |plant, answer: Answer| fault(plant, 100_000, 2_000.0, &answer).is_none();
        assert!(is_right(Plant::Loader, answer("IDLE-DATA", 9e4, 1e5, true)));
        assert!(!is_right(Plant::Loader, answer("IDLE-HOST", 9e4, 1e5, true)));
        assert!(!is_right(Plant::Loader, answer("IDLE-DATA", 5e4, 1e5, true)));
        assert!(is_right(Plant::BuffersLost, answer("IDLE-HOST", 1e3, 1e3, false)));
        assert!(!is_right(Plant::BuffersLost, answer("IDLE-HOST", 1e3, 1e3, true)));
        assert!(!is_right(Plant::BuffersLost, answer("IDLE-HOST", 9e4, 1e3, false)));
        assert!(!is_right(Plant::Zeros, answer("IDLE-HOST", 0.0, 1e5, false)));
        assert!(is_right(Plant::OtherProcess, answer("IDLE-HOST", 0.0, 1e5, true)));
        assert!(!is_right(Plant::Clean, answer("IDLE-HOST", 0.0, 0.0, false)));
    }
}
