//! A Kineto trace as PyTorch's profiler writes it to Perfetto files: the same run as JSON and in each form of packets.
//!
//! The run is made from a JSON document. Device work is cut where the next of its row starts, as the recorder does, and
//! what a launch of a graph runs becomes nodes, each waiting for the one before. All files list the events in one order,
//! so that an event has the same place in each of them.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};

use super::protobuf::Message;

#[cfg(test)]
mod tests;

/// How packets say what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Device work is slices, too.
    Slices,
    /// Device work has events of its own, numbered by the correlation ids of their launches.
    StagesByCorrelation,
    /// Device work has events of its own with numbers of their own; slices have categories.
    Stages,
}

impl Form {
    pub(super) const ALL: [Form; 3] = [Form::Slices, Form::StagesByCorrelation, Form::Stages];

    /// What its file is called. Packets of slices are not compressed on their own.
    pub(super) fn file_name(self) -> &'static str {
        match self {
            Form::Slices => "run.k1.pftrace.gz",
            Form::StagesByCorrelation => "run.k2.pftrace",
            Form::Stages => "run.k3.pftrace",
        }
    }
}

/// The writer of all packets.
const SEQUENCE: u64 = 1;
/// Its state begins anew; a packet needs what it named.
const CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

const REALTIME_CLOCK: u64 = 1;
const BOOT_CLOCK: u64 = 6;

/// Process of the recorder's own work.
const OVERHEAD_PROCESS: u64 = 0x7fff_ffff;

/// Slices in the order of their groups.
const GROUPS: [&[&str]; 5] = [
    &["cpu_op", "user_annotation", "python_function"],
    &["cuda_runtime"],
    &["cuda_driver"],
    &["overhead"],
    &["cuda_sync"],
];

/// Device work with the name of its stage.
const STAGES: [(&str, &str); 4] = [
    ("kernel", "Kernel"),
    ("gpu_memcpy", "Memcpy"),
    ("gpu_memset", "Memset"),
    ("gpu_user_annotation", "Annotation"),
];

/// Numbers of interned data: of the stages, and of the first lane.
const FIRST_STAGE: u64 = 1;
const FIRST_LANE: u64 = 100;

/// Arguments of device work that a stage has in fields of its own, or not at all.
const NOT_EXTRA: [&str; 13] = [
    "device",
    "stream",
    "grid",
    "block",
    "registers per thread",
    "shared memory",
    "context",
    "queued",
    "External id",
    "blocks per SM",
    "warps per SM",
    "est. achieved occupancy %",
    "memory bandwidth (GB/s)",
];

/// Half of the bits of a graph node's number; the graph's number is above.
const NODE_BITS: u32 = 32;

/// A run that can be written in every form.
pub(super) struct Run {
    document: Map<String, Value>,
    base: u64,
    /// Groups of slices, then device work, as events of the trace-event format.
    slices: Vec<Vec<Value>>,
    stages: Vec<Value>,
    /// Positions of stages by their correlation id.
    launched: HashMap<u64, Vec<usize>>,
    /// By position of a stage, those of the stages that it waits for.
    waits: HashMap<usize, Vec<usize>>,
    /// Everything else.
    others: Vec<Value>,
}

fn text<'e>(event: &'e Value, key: &str) -> &'e str {
    event[key].as_str().unwrap_or_default()
}

/// Nanoseconds; text of sixteen digits is exact as a double.
fn nanoseconds(event: &Value, key: &str) -> i64 {
    (event[key].as_f64().unwrap_or(0.0) * 1000.0).round() as i64
}

fn set_microseconds(event: &mut Value, key: &str, nanoseconds: i64) {
    event[key] = json!(nanoseconds as f64 / 1000.0);
}

/// Fractions to three decimals, which times have. What serde_json makes of longer ones depends on how it was built, which
/// other packages have a say in.
fn round_fractions(value: &mut Value) {
    match value {
        Value::Number(number) if number.as_i64().is_none() && number.as_u64().is_none() => {
            *value = json!(number.as_f64().map(|number| (number * 1000.0).round() / 1000.0));
        }
        Value::Array(elements) => elements.iter_mut().for_each(round_fractions),
        Value::Object(entries) => entries.values_mut().for_each(round_fractions),
        _ => {}
    }
}

fn end(event: &Value) -> i64 {
    nanoseconds(event, "ts") + nanoseconds(event, "dur")
}

/// The label that the recorder makes of the number of a process or thread.
fn label(number: &Value) -> u64 {
    number.as_i64().unwrap_or(0) as u64 & 0x7fff_ffff
}

impl Run {
    /// The run that a JSON document records.
    ///
    /// # Errors
    /// When the text is no trace.
    pub(super) fn new(document: &[u8]) -> Result<Run, Box<dyn std::error::Error>> {
        let mut document: Map<String, Value> = serde_json::from_slice(document)?;
        let events = document.remove("traceEvents").unwrap_or_default();
        let Value::Array(events) = events else { return Err("traceEvents is not a list".into()) };
        let base = document.get("baseTimeNanoseconds").and_then(Value::as_u64).unwrap_or(0);
        let mut run = Run {
            document,
            base,
            slices: vec![Vec::new(); GROUPS.len()],
            stages: Vec::new(),
            launched: HashMap::new(),
            waits: HashMap::new(),
            others: Vec::new(),
        };
        for mut event in events {
            round_fractions(&mut event);
            let category = text(&event, "cat");
            let group = GROUPS.iter().position(|group| group.contains(&category));
            let is_stage = STAGES.iter().any(|(stage_name, _)| *stage_name == category);
            match (text(&event, "ph"), group) {
                ("X", Some(group)) => run.slices[group].push(event),
                ("X", None) if is_stage => run.stages.push(event),
                _ => run.others.push(event),
            }
        }
        for (at, event) in run.stages.iter().enumerate() {
            if let Some(correlation) = event["args"]["correlation"].as_u64() {
                run.launched.entry(correlation).or_default().push(at);
            }
        }
        run.cut_device_work();
        run.replay_graphs();
        Ok(run)
    }

    /// Cuts device work where the next of its row starts.
    fn cut_device_work(&mut self) {
        let mut rows: BTreeMap<(i64, i64), Vec<usize>> = BTreeMap::new();
        for (at, event) in self.stages.iter().enumerate() {
            if text(event, "cat") != "gpu_user_annotation" {
                let number = |key: &str| event[key].as_i64().unwrap_or(0);
                rows.entry((number("pid"), number("tid"))).or_default().push(at);
            }
        }
        for row in rows.values_mut() {
            row.sort_by_key(|&at| nanoseconds(&self.stages[at], "ts"));
            for pair in row.windows(2) {
                let next = nanoseconds(&self.stages[pair[1]], "ts");
                let event = &mut self.stages[pair[0]];
                let start = nanoseconds(event, "ts");
                if end(event) > next {
                    set_microseconds(event, "dur", next - start);
                }
            }
        }
    }

    /// Makes nodes of what launches of graphs run, where the document does not have them.
    fn replay_graphs(&mut self) {
        let replays: Vec<Vec<usize>> = (self.slices.iter().flatten())
            .filter(|call| text(call, "name").contains("GraphLaunch"))
            .filter_map(|call| self.launched.get(&call["args"]["correlation"].as_u64()?).cloned())
            .collect();
        let mut arrow: u64 = 1 << 40;
        for mut nodes in replays {
            nodes.sort_by_key(|&at| nanoseconds(&self.stages[at], "ts"));
            // Graphs of one number of kernels are one graph.
            let graph = nodes.len() as u64;
            for (number, &at) in nodes.iter().enumerate() {
                self.stages[at]["args"]["graph node id"] = json!(graph << NODE_BITS | (number as u64 + 1));
            }
            for pair in nodes.windows(2) {
                let (before, after) = (&self.stages[pair[0]], &self.stages[pair[1]]);
                let place = |event: &Value, phase: &str, time: i64| {
                    json!({"ph": phase, "id": arrow, "cat": "ac2g", "name": "ac2g", "pid": event["pid"],
                           "tid": event["tid"], "ts": time as f64 / 1000.0, "bp": "e"})
                };
                let start = place(before, "s", end(before));
                let finish = place(after, "f", nanoseconds(after, "ts"));
                self.others.extend([start, finish]);
                self.waits.entry(pair[1]).or_default().push(pair[0]);
                arrow += 1;
            }
        }
    }

    /// Writes it as JSON.
    pub(super) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let events: Vec<&Value> =
            self.slices.iter().flatten().chain(&self.stages).chain(&self.others).collect();
        let mut document = self.document.clone();
        document.insert("traceEvents".to_owned(), json!(events));
        serde_json::to_writer(&mut *out, &document)?;
        out.write_all(b"\n")
    }

    /// Writes it as packets.
    pub(super) fn write(&self, form: Form, out: &mut dyn Write) -> io::Result<()> {
        let packets = Packets { run: self, form, bytes: Vec::new(), names: Names::default() }.finish();
        if form == Form::Slices {
            return out.write_all(&packets);
        }
        let mut zip = GzBuilder::new().mtime(0).operating_system(0xff).write(out, Compression::fast());
        zip.write_all(&packets)?;
        zip.finish().map(drop)
    }

    /// The numbers of device work by which launches and others refer to it.
    fn event_id(&self, form: Form, at: usize) -> Option<u64> {
        match form {
            Form::Slices => None,
            Form::StagesByCorrelation => self.stages[at]["args"]["correlation"].as_u64(),
            Form::Stages => Some(at as u64 + 1),
        }
    }
}

/// Texts and other things that packets refer to by number.
#[derive(Default)]
struct Names {
    events: Numbers,
    categories: Numbers,
    kernels: Numbers,
    /// Rows of devices: number and label.
    lanes: Numbers,
}

/// Numbers from 1 on in the order of first use.
#[derive(Default)]
struct Numbers {
    known: HashMap<String, u64>,
    in_order: Vec<String>,
}

impl Numbers {
    fn of(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        self.in_order.push(text.to_owned());
        let number = self.in_order.len() as u64;
        self.known.insert(text.to_owned(), number);
        number
    }

    /// The entries of a field of interned data, from the number `first` on.
    fn write(&self, interned: &mut Message, field: u64, name_field: u64, first: u64) {
        for (number, text) in (first..).zip(&self.in_order) {
            let mut entry = message();
            entry.number(1, number).text(name_field, text);
            interned.message(field, &entry);
        }
    }
}

fn message() -> Message {
    Message::with_padded_lengths()
}

/// Number of the track of a thread, or of a process where the thread is missing.
fn track(process: u64, thread: Option<u64>) -> u64 {
    process << 32 | thread.map_or(0, |thread| thread + 1)
}

struct Packets<'r> {
    run: &'r Run,
    form: Form,
    bytes: Vec<u8>,
    names: Names,
}

impl Packets<'_> {
    fn packet(&mut self, packet: &Message) {
        let mut framed = message();
        framed.message(1, packet);
        self.bytes.extend_from_slice(framed.as_bytes());
    }

    /// All packets.
    fn finish(mut self) -> Vec<u8> {
        // What packets say names texts that have to stand before them.
        let slices: Vec<Vec<u8>> = (self.run.slices.iter())
            .chain((self.form == Form::Slices).then_some(&self.run.stages))
            .map(|group| self.group(group))
            .collect();
        let stages = if self.form == Form::Slices { Vec::new() } else { self.stages() };
        if self.form == Form::Stages {
            self.clock();
        }
        self.tracks();
        self.interned();
        for packets in slices.iter().chain([&stages]) {
            self.bytes.extend_from_slice(packets);
        }
        self.bytes
    }

    fn clock(&mut self) {
        let mut snapshot = message();
        for clock in [BOOT_CLOCK, REALTIME_CLOCK] {
            let mut shown = message();
            shown.number(1, clock).number(2, self.run.base);
            snapshot.message(1, &shown);
        }
        let mut packet = message();
        packet.number(8, self.run.base).number(10, SEQUENCE).message(6, &snapshot);
        self.packet(&packet);
    }

    /// Process and thread of a slice; of the recorder's own work, one of its own.
    fn place(event: &Value) -> (u64, u64) {
        match text(event, "cat") {
            "overhead" => (OVERHEAD_PROCESS, 0),
            _ => (label(&event["pid"]), label(&event["tid"])),
        }
    }

    fn tracks(&mut self) {
        let mut process_names: BTreeMap<u64, String> = BTreeMap::new();
        let mut thread_names: BTreeMap<(u64, u64), String> = BTreeMap::new();
        for event in &self.run.others {
            let (pid, tid) = (label(&event["pid"]), label(&event["tid"]));
            let name = text(&event["args"], "name").to_owned();
            match text(event, "name") {
                "process_name" => drop(process_names.insert(pid, name)),
                "thread_name" => drop(thread_names.insert((pid, tid), name)),
                _ => {}
            }
        }
        let device_slices = self.run.stages.iter().filter(|_| self.form == Form::Slices);
        for event in &mut device_slices.clone() {
            let (device, stream) = (label(&event["pid"]), label(&event["tid"]));
            process_names.insert(device, format!("GPU {device}"));
            thread_names.insert((device, stream), format!("stream {stream}"));
        }
        let mut threads: Vec<(u64, u64)> =
            self.run.slices.iter().flatten().chain(device_slices).map(Self::place).collect();
        threads.sort_unstable();
        threads.dedup();
        let mut processes: Vec<u64> = threads.iter().map(|&(process, _)| process).collect();
        processes.dedup();
        for process in processes {
            let overhead = (process == OVERHEAD_PROCESS).then_some("Overhead");
            let name = overhead.or(process_names.get(&process).map(|name| &**name)).unwrap_or("python");
            let mut described = message();
            described.number(1, process).text(6, name);
            let mut descriptor = message();
            descriptor.number(1, track(process, None)).message(3, &described);
            self.describe(&descriptor);
        }
        for (process, thread) in threads {
            let name = match thread_names.get(&(process, thread)) {
                Some(name) => name.clone(),
                None => format!("thread {thread}"),
            };
            let mut described = message();
            described.number(1, process).number(2, thread).text(5, &name);
            let mut descriptor = message();
            descriptor.number(1, track(process, Some(thread))).number(5, track(process, None));
            descriptor.message(4, &described);
            self.describe(&descriptor);
        }
    }

    fn describe(&mut self, descriptor: &Message) {
        let mut packet = message();
        packet.message(60, descriptor);
        self.packet(&packet);
    }

    fn interned(&mut self) {
        let mut interned = message();
        self.names.events.write(&mut interned, 2, 2, 1);
        self.names.categories.write(&mut interned, 1, 2, 1);
        let mut stages = Numbers::default();
        for (_, stage) in STAGES {
            stages.of(stage);
        }
        if self.form != Form::Slices {
            stages.write(&mut interned, 24, 2, FIRST_STAGE);
            self.names.lanes.write(&mut interned, 24, 2, FIRST_LANE);
            self.names.kernels.write(&mut interned, 1000, 3, 1);
            let mut arguments = Numbers::default();
            for argument in ["registers_per_thread", "shared_mem_dynamic", "thread_count"] {
                arguments.of(argument);
            }
            arguments.write(&mut interned, 1001, 2, 1);
        }
        let mut packet = message();
        packet.number(10, SEQUENCE).number(13, CLEARED).message(12, &interned);
        self.packet(&packet);
    }

    /// A packet at a time of the trace.
    fn at(&self, bytes: &mut Vec<u8>, time: i64, needs_state: bool, (field, content): (u64, &Message)) {
        let mut packet = message();
        packet.number(8, self.run.base.saturating_add_signed(time)).number(10, SEQUENCE);
        if needs_state {
            packet.number(13, NEEDS_STATE);
        }
        packet.message(field, content);
        let mut framed = message();
        framed.message(1, &packet);
        bytes.extend_from_slice(framed.as_bytes());
    }

    /// Begins of slices, then their ends; one that does not finish has none.
    fn group(&mut self, slices: &[Value]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for slice in slices {
            let event = self.begin(slice);
            self.at(&mut bytes, nanoseconds(slice, "ts"), true, (11, &event));
        }
        for slice in slices.iter().filter(|slice| slice["args"]["finished"] != json!(false)) {
            let (process, thread) = Self::place(slice);
            let mut event = message();
            event.number(9, 2).number(11, track(process, Some(thread)));
            self.at(&mut bytes, end(slice), false, (11, &event));
        }
        bytes
    }

    fn begin(&mut self, slice: &Value) -> Message {
        let (process, thread) = Self::place(slice);
        let category = text(slice, "cat");
        let mut event = message();
        event.number(9, 1).number(11, track(process, Some(thread)));
        event.number(10, self.names.events.of(text(slice, "name")));
        let is_call = matches!(category, "cuda_runtime" | "cuda_driver");
        let is_stage = STAGES.iter().any(|(stage_name, _)| *stage_name == category);
        if self.form == Form::Stages && !matches!(category, "overhead" | "cuda_sync") {
            event.number(3, self.names.categories.of(category));
        }
        if let Some(correlation) = slice["args"]["correlation"].as_u64().filter(|_| is_call || is_stage) {
            self.link(&mut event, correlation);
        }
        let arguments = slice["args"].as_object().into_iter().flatten();
        // Only operators have the number; without categories it is by this that they are known.
        let has_external_id =
            category == "cpu_op" || category == "user_annotation" && self.form == Form::Stages;
        for (name, value) in arguments.filter(|(name, _)| *name != "External id" || has_external_id) {
            event.message(4, &annotation(Some(name), value));
        }
        if is_stage && category == "gpu_memcpy" {
            event.message(4, &annotation(Some("copy kind"), &json!("HtoD")));
        }
        event
    }

    /// Ties a call to the device work that it launched.
    fn link(&self, event: &mut Message, correlation: u64) {
        // Of a graph only what waits for nothing.
        let is_root = |at: &usize| self.form != Form::Stages || !self.run.waits.contains_key(at);
        let call_launches = self.run.launched.get(&correlation).into_iter().flatten().copied();
        let mut launched: Vec<u64> = call_launches
            .filter(is_root)
            .filter_map(|at| match self.form {
                Form::Slices => Some(correlation),
                _ => self.run.event_id(self.form, at),
            })
            .collect();
        launched.dedup();
        if launched.is_empty() {
            return;
        }
        if self.form == Form::Slices {
            event.fixed(47, correlation);
            return;
        }
        let mut correlated = message();
        for id in launched {
            correlated.number(1, id);
        }
        event.message(3000, &correlated);
    }

    fn stages(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (at, work) in self.run.stages.iter().enumerate() {
            let event = self.stage(at, work);
            self.at(&mut bytes, nanoseconds(work, "ts"), true, (53, &event));
        }
        bytes
    }

    fn stage(&mut self, at: usize, work: &Value) -> Message {
        let category = text(work, "cat");
        let arguments = &work["args"];
        let mut event = message();
        if let Some(id) = self.run.event_id(self.form, at) {
            event.number(1, id);
        }
        event.number(2, nanoseconds(work, "dur") as u64).number(11, label(&work["pid"]));
        let stream = arguments["stream"].as_u64().unwrap_or(label(&work["tid"]));
        let lane = self.names.lanes.of(&format!("[{:>8}] stream {stream}", label(&work["tid"])));
        event.number(13, FIRST_LANE + lane - 1);
        let stage = STAGES.iter().position(|(stage_name, _)| *stage_name == category).unwrap_or(0);
        event.number(14, FIRST_STAGE + stage as u64).number(5, 1);
        match category {
            "kernel" => drop(event.number(19, self.names.kernels.of(text(work, "name")))),
            "gpu_user_annotation" => drop(event.number(20, self.names.events.of(text(work, "name")))),
            _ => {}
        }
        if self.form == Form::Stages {
            for &before in self.run.waits.get(&at).into_iter().flatten() {
                event.number(18, before as u64 + 1);
            }
        }
        if arguments["grid"].is_array() {
            let extents = |key: &str| {
                let mut extents = message();
                for (field, extent) in (1..).zip(arguments[key].as_array().into_iter().flatten()) {
                    extents.number(field, extent.as_u64().unwrap_or(1));
                }
                extents
            };
            let mut launch = message();
            launch.message(1, &extents("grid")).message(2, &extents("block"));
            for (number, key) in [(1, "registers per thread"), (2, "shared memory")] {
                if let Some(value) = arguments[key].as_u64() {
                    let mut argument = message();
                    argument.number(1, number).number(4, value);
                    launch.message(3, &argument);
                }
            }
            event.message(21, &launch);
        }
        let mut extra = |name: &str, value: &str| {
            let mut data = message();
            data.text(1, name).text(2, value);
            event.message(6, &data);
        };
        extra("stream id", &stream.to_string());
        for (name, value) in arguments.as_object().into_iter().flatten() {
            match (name.as_str(), value) {
                (name, _) if NOT_EXTRA.contains(&name) => {}
                ("graph node id", Value::Number(node)) => {
                    let node = node.as_u64().unwrap_or(0);
                    extra("graph id", &(node >> NODE_BITS).to_string());
                    extra("graph node id", &(node & ((1 << NODE_BITS) - 1)).to_string());
                }
                (name, Value::String(text)) => extra(name, text),
                (name, value) => extra(name, &value.to_string()),
            }
        }
        event
    }
}

/// An annotation; elements of lists have no name. What is empty has no value at all.
fn annotation(name: Option<&str>, value: &Value) -> Message {
    let mut annotation = message();
    if let Some(name) = name {
        annotation.text(10, name);
    }
    match value {
        Value::Null => drop(annotation.text(6, "null")),
        Value::Bool(value) => drop(annotation.number(2, u64::from(*value))),
        Value::String(text) => drop(annotation.text(6, text)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => drop(annotation.number(4, value as u64)),
            // What has no sign and is too large for one arrives as a negative number.
            (None, Some(value)) => drop(annotation.number(4, value)),
            (None, None) => drop(annotation.double(5, number.as_f64().unwrap_or(0.0))),
        },
        Value::Array(elements) => {
            for element in elements {
                annotation.message(12, &self::annotation(None, element));
            }
        }
        Value::Object(entries) => {
            for (name, value) in entries {
                annotation.message(11, &self::annotation(Some(name), value));
            }
        }
    }
    annotation
}
