//! The parts of the file around the events of the program: what was recorded, and the rows' names.

use std::io;

use super::flavour::{Flavour, Stream, Thread};
use super::json::EventWriter;
use super::segment::{MULTIPROCESSORS, Span};
use super::step::{WORLD_SIZE, ranks};

/// Events that the end of the document takes: three per process and per device, two per thread and
/// per stream, and the four around the recording itself.
pub(super) fn footer_events(streams: &[Stream]) -> u64 {
    3 * (1 + WORLD_SIZE) + 2 * (2 + streams.len() as u64) + 4
}

/// What times of events count from, in nanoseconds since 1970.
pub(super) const BASE_TIME: u64 = 1_767_189_312_000_000_000;

/// What the profiler was asked to record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recorder {
    pub(super) shapes: bool,
    pub(super) memory: bool,
    pub(super) stacks: bool,
}

impl Recorder {
    pub(super) const ALL: Recorder = Recorder { shapes: true, memory: true, stacks: true };
}

/// Everything before the first event.
pub(super) fn write_header(
    writer: &mut EventWriter<'_>,
    flavour: Flavour,
    trace_id: u64,
    recorder: Recorder,
) {
    writer.text("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n");
    for device in 0..WORLD_SIZE {
        writer.text(if device == 0 { "    {\n" } else { ",\n    {\n" });
        writer.text(&device_properties(flavour, device));
        writer.text("    }");
    }
    writer.text("\n  ],\n");
    writer.text(match flavour {
        Flavour::Cuda => {
            "  \"cupti_version\": 26,\n  \"cuda_runtime_version\": 12060,\n  \"cuda_driver_version\": 12080,\n"
        }
        Flavour::Rocm => {
            "  \"roctracer_version\": 4.1,\n  \"hip_runtime_version\": 70051831,\n  \
             \"hip_driver_version\": 70051831,\n"
        }
    });
    let (rank, ranks) = (flavour.rank(), ranks());
    writer.text(&format!(
        "  \"distributedInfo\": {{\n    \"backend\": \"nccl\",\n    \"rank\": {rank},\n    \
         \"world_size\": {WORLD_SIZE},\n    \"pg_count\": 1,\n    \"pg_config\": [\n      \
         {{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \
         \"pg_size\": {WORLD_SIZE}, \"ranks\": {ranks}}}\n    ],\n    \"nccl_version\": \"2.26.2\"\n  }},\n"
    ));
    let [shapes, memory, stacks] = [recorder.shapes, recorder.memory, recorder.stacks].map(u8::from);
    // The name that the generator had when the traces in testdata were made, whose bytes stay.
    writer.text(&format!(
        "  \"record_shapes\": {shapes},\n  \"profile_memory\": {memory},\n  \"with_stack\": {stacks},\n  \
         \"with_modules\": {stacks},\n  \
         \"metadata\": {{\"generator\": \"cargo xtask gen-trace\", \"synthetic\": \"true\"}},\n  \
         \"trace_id\": \"{trace_id:032X}\",\n  \"displayTimeUnit\": \"ms\",\n  \
         \"baseTimeNanoseconds\": {BASE_TIME},\n  \"traceEvents\": [\n"
    ));
}

fn device_properties(flavour: Flavour, device: u64) -> String {
    match flavour {
        Flavour::Cuda => format!(
            "      \"id\": {device}, \"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": 84942979072,\n      \
             \"computeMajor\": 9, \"computeMinor\": 0,\n      \
             \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      \
             \"regsPerBlock\": 65536, \"warpSize\": 32,\n      \
             \"sharedMemPerBlock\": 49152, \"numSms\": {MULTIPROCESSORS},\n      \
             \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 232448, \
             \"sharedMemPerMultiprocessor\": 233472\n"
        ),
        Flavour::Rocm => format!(
            "      \"id\": {device}, \"name\": \"AMD Instinct MI300X\", \"totalGlobalMem\": 206141652992,\n      \
             \"computeMajor\": 9, \"computeMinor\": 4,\n      \
             \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n      \
             \"regsPerBlock\": 65536, \"warpSize\": 64,\n      \
             \"sharedMemPerBlock\": 65536, \"numSms\": 304,\n      \
             \"maxSharedMemoryPerMultiProcessor\": 65536\n"
        ),
    }
}

/// A process or thread number as metadata events give it.
fn write_metadata(
    writer: &mut EventWriter<'_>,
    name: &str,
    (process, thread): (u64, u64),
    time: u64,
    value: Value<'_>,
) -> io::Result<()> {
    writer.begin().text_field("name", name).text_field("ph", "M").time("ts", time);
    writer.count("pid", process).count("tid", thread).begin_args();
    match value {
        Value::Name(text) => writer.text_field("name", text),
        Value::Labels(text) => writer.text_field("labels", text),
        Value::SortIndex(index) => writer.count("sort_index", index),
    };
    writer.end_args().end()
}

enum Value<'v> {
    Name(&'v str),
    Labels(&'v str),
    SortIndex(u64),
}

/// The rows' names, the recording's own events, and everything after the last event.
pub(super) fn write_footer(
    writer: &mut EventWriter<'_>,
    flavour: Flavour,
    streams: &[Stream],
    recording: Span,
) -> io::Result<()> {
    let time = recording.start;
    let process = flavour.process();
    let name_process = |writer: &mut EventWriter<'_>, number: u64, label: &str, sort_index: u64| {
        let row = (number, 0);
        write_metadata(writer, "process_name", row, time, Value::Name("python"))?;
        write_metadata(writer, "process_labels", row, time, Value::Labels(label))?;
        write_metadata(writer, "process_sort_index", row, time, Value::SortIndex(sort_index))
    };
    name_process(writer, process, "CPU", process)?;
    for device in 0..WORLD_SIZE {
        name_process(writer, device, &format!("GPU {device}"), 5_000_000 + device)?;
    }
    let mut name_row = |row: (u64, u64), name: String| {
        write_metadata(writer, "thread_name", row, time, Value::Name(&name))?;
        write_metadata(writer, "thread_sort_index", row, time, Value::SortIndex(row.1))
    };
    for (thread, name) in [(Thread::Main, "python"), (Thread::Autograd, "pt_autograd_0")] {
        let number = flavour.thread(thread);
        name_row((process, number), format!("thread {number} ({name})"))?;
    }
    for &stream in streams {
        let number = flavour.stream(stream);
        // The recorder writes the trailing blank.
        name_row((flavour.rank(), number), format!("stream {number} "))?;
    }
    write_recording(writer, recording)?;
    writer.text("\n  ],\n  \"traceName\": \"synthetic.json\"\n}\n");
    writer.flush()
}

/// What the profiler records of itself. Processes and threads are texts here.
fn write_recording(writer: &mut EventWriter<'_>, recording: Span) -> io::Result<()> {
    let event = writer.begin().text_field("ph", "X").text_field("cat", "Trace");
    event.time("ts", recording.start).time("dur", recording.end - recording.start).line();
    event.text_field("pid", "Spans").text_field("tid", "PyTorch Profiler").line();
    event.text_field("name", "PyTorch Profiler (0)").begin_args().count("Op count", 0).end_args().end()?;

    let event = writer.begin().text_field("name", "process_sort_index").text_field("ph", "M");
    event.time("ts", recording.start).line().text_field("pid", "Spans").count("tid", 0);
    event.begin_args().count("sort_index", 536_870_912).end_args().end()?;

    let marks = [
        ("Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler", recording.start),
        ("Record Window End", "", "", recording.end),
    ];
    for (name, process, thread, time) in marks {
        let event = writer.begin().text_field("name", name).text_field("ph", "i").text_field("s", "g").line();
        event.text_field("pid", process).text_field("tid", thread).time("ts", time).end()?;
    }
    Ok(())
}
