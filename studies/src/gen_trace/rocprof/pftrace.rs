//! `--output-format pftrace`: Perfetto packets in protobuf. Field numbers are those of Perfetto's public descriptors.

use std::collections::HashMap;
use std::io::{self, Write};

use super::run::{Domain, Run};
use crate::gen_trace::protobuf::Message;

/// The tool writes one sequence of packets.
const SEQUENCE: u64 = 1;

/// Clock of the sequence's own, of which packets give the time since the packet before.
const INCREMENTAL_CLOCK: u64 = 64;
const BOOT_CLOCK: u64 = 6;

/// Tracks of the process, of threads and of queues.
const PROCESS_TRACK: u64 = 1;
const FIRST_THREAD_TRACK: u64 = 1_000;
const FIRST_QUEUE_TRACK: u64 = 100_000;
const FIRST_COPY_TRACK: u64 = 200_000;

pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut writer =
        PacketWriter { out, clock: run.init, names: [HashMap::new(), HashMap::new(), HashMap::new()] };
    writer.begin(run.init)?;
    writer.tracks(run)?;
    for domain in Domain::ALL {
        for call in run.calls.iter().filter(|call| call.domain == domain) {
            let arguments = [
                ("tid", Value::Integer(call.thread)),
                ("kind", Value::Text(domain.kind())),
                ("corr_id", Value::Integer(call.correlation)),
            ];
            writer.slice(&Slice {
                track: FIRST_THREAD_TRACK + call.thread,
                category: domain.list(),
                name: &call.name,
                correlation: call.correlation,
                span: (call.start, call.end),
                arguments: &arguments,
            })?;
        }
    }
    for dispatch in &run.dispatches {
        let symbol = dispatch.symbol;
        let agent = format!("Agent {}", run.agents[dispatch.agent].node);
        let arguments = [
            ("tid", Value::Integer(dispatch.thread)),
            ("kind", Value::Text("KERNEL_DISPATCH")),
            ("corr_id", Value::Integer(dispatch.correlation)),
            ("agent", Value::Text(&agent)),
            ("queue", Value::Integer(dispatch.queue)),
            ("stream_ID", Value::Integer(dispatch.stream)),
            ("kernel_id", Value::Integer(symbol.id)),
            ("grid_size", Value::Integer(dispatch.grid.iter().product())),
            ("workgroup_size", Value::Integer(symbol.workgroup.iter().product())),
            ("VGPR_Count", Value::Integer(symbol.vgprs)),
            ("Accum_VGPR_Count", Value::Integer(symbol.accum_vgprs)),
            ("SGPR_Count", Value::Integer(symbol.sgprs)),
            ("LDS_Block_Size", Value::Integer(symbol.lds)),
            ("Scratch_Size", Value::Integer(symbol.scratch)),
        ];
        writer.slice(&Slice {
            track: FIRST_QUEUE_TRACK + dispatch.queue,
            category: "kernel_dispatch",
            name: &symbol.in_perfetto(),
            correlation: dispatch.correlation,
            span: (dispatch.start, dispatch.end),
            arguments: &arguments,
        })?;
    }
    for copy in &run.copies {
        let arguments = [
            ("tid", Value::Integer(copy.thread)),
            ("kind", Value::Text("MEMORY_COPY")),
            ("corr_id", Value::Integer(copy.correlation)),
            ("copy_bytes", Value::Integer(copy.bytes)),
            ("src_agent", Value::Integer(run.agents[copy.source].node)),
            ("dst_agent", Value::Integer(run.agents[copy.destination].node)),
            ("stream_ID", Value::Integer(copy.stream)),
        ];
        writer.slice(&Slice {
            track: FIRST_COPY_TRACK + copy.destination as u64,
            category: "memory_copy",
            name: copy.direction.name(),
            correlation: copy.correlation,
            span: (copy.start, copy.end),
            arguments: &arguments,
        })?;
    }
    Ok(())
}

/// A slice of a track.
struct Slice<'a> {
    track: u64,
    category: &'static str,
    name: &'a str,
    correlation: u64,
    span: (u64, u64),
    arguments: &'a [(&'static str, Value<'a>)],
}

/// Value of an annotation.
enum Value<'a> {
    Integer(u64),
    Text(&'a str),
}

struct PacketWriter<'o> {
    out: &'o mut dyn Write,
    /// Where the incremental clock stands.
    clock: u64,
    /// Numbers of what was named before: categories, names of events, names of annotations.
    names: [HashMap<String, u64>; 3],
}

impl PacketWriter<'_> {
    fn packet(&mut self, content: &Message) -> io::Result<()> {
        let mut framed = Message::default();
        framed.message(1, content);
        self.out.write_all(framed.as_bytes())
    }

    /// The packet that starts the sequence: its clock, and what packets take for granted.
    fn begin(&mut self, init: u64) -> io::Result<()> {
        let mut snapshot = Message::default();
        let mut boot = Message::default();
        boot.number(1, BOOT_CLOCK).number(2, init);
        let mut incremental = Message::default();
        incremental.number(1, INCREMENTAL_CLOCK).number(2, init).number(3, 1);
        snapshot.message(1, &boot).message(1, &incremental).number(2, BOOT_CLOCK);
        let mut defaults = Message::default();
        defaults.number(58, INCREMENTAL_CLOCK);
        let mut packet = Message::default();
        packet.number(8, init).number(58, BOOT_CLOCK).number(10, SEQUENCE);
        packet.number(13, 1).message(6, &snapshot).message(59, &defaults);
        self.packet(&packet)
    }

    fn tracks(&mut self, run: &Run) -> io::Result<()> {
        let mut process = Message::default();
        process.number(1, run.process).text(6, &run.command.join(" "));
        let mut track = Message::default();
        track.number(1, PROCESS_TRACK).message(3, &process);
        self.track(&track)?;
        let mut threads: Vec<u64> = run.calls.iter().map(|call| call.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        for (position, thread) in threads.into_iter().enumerate() {
            let mut described = Message::default();
            described.number(1, run.process).number(2, thread);
            described.text(5, &format!("THREAD {position} ({thread})"));
            let mut track = Message::default();
            track.number(1, FIRST_THREAD_TRACK + thread).number(5, PROCESS_TRACK).message(4, &described);
            self.track(&track)?;
        }
        let mut queues: Vec<(u64, usize)> =
            run.dispatches.iter().map(|dispatch| (dispatch.queue, dispatch.agent)).collect();
        queues.sort_unstable();
        queues.dedup();
        for (position, (queue, agent)) in queues.into_iter().enumerate() {
            let name = format!("COMPUTE AGENT [{agent}] QUEUE [{position}] (GPU)");
            self.named_track(FIRST_QUEUE_TRACK + queue, &name)?;
        }
        for agent in &run.agents {
            let name = format!(
                "COPY to AGENT [{}] THREAD [0] ({})",
                agent.node,
                if agent.is_gpu { "GPU" } else { "CPU" }
            );
            self.named_track(FIRST_COPY_TRACK + agent.node, &name)?;
        }
        Ok(())
    }

    fn named_track(&mut self, track: u64, name: &str) -> io::Result<()> {
        let mut descriptor = Message::default();
        descriptor.number(1, track).text(2, name).number(5, PROCESS_TRACK);
        self.track(&descriptor)
    }

    fn track(&mut self, descriptor: &Message) -> io::Result<()> {
        let mut packet = Message::default();
        packet.number(10, SEQUENCE).message(60, descriptor);
        self.packet(&packet)
    }

    /// Two packets: where the slice begins, with everything about it, and where it ends.
    fn slice(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        let (start, end) = slice.span;
        let mut interned = Message::default();
        let mut event = Message::default();
        event.number(9, 1).number(11, slice.track);
        let category = self.intern(&mut interned, Interned::Category, slice.category);
        let name = self.intern(&mut interned, Interned::Event, slice.name);
        event.number(3, category).number(10, name);
        let times = [("begin_ns", start), ("end_ns", end), ("delta_ns", end - start)];
        let times = times.map(|(key, value)| (key, Value::Integer(value)));
        for (key, value) in times.iter().chain(slice.arguments) {
            let mut annotation = Message::default();
            annotation.number(1, self.intern(&mut interned, Interned::Annotation, key));
            match value {
                Value::Integer(value) => annotation.number(3, *value),
                Value::Text(text) => annotation.text(6, text),
            };
            event.message(4, &annotation);
        }
        event.fixed(47, slice.correlation);
        self.at(start, Some(&interned), &event)?;
        let mut event = Message::default();
        event.number(9, 2).number(11, slice.track);
        self.at(end, None, &event)
    }

    /// A packet with an event. A time before the clock's is given by the clock of the machine.
    fn at(&mut self, time: u64, interned: Option<&Message>, event: &Message) -> io::Result<()> {
        let mut packet = Message::default();
        match time.checked_sub(self.clock) {
            Some(since) => {
                self.clock = time;
                packet.number(8, since);
            }
            None => {
                packet.number(8, time).number(58, BOOT_CLOCK);
            }
        }
        packet.number(10, SEQUENCE).number(13, 2);
        if let Some(interned) = interned.filter(|interned| !interned.as_bytes().is_empty()) {
            packet.message(12, interned);
        }
        packet.message(11, event);
        self.packet(&packet)
    }

    /// Number of a text, which `interned` tells the reader where it is new.
    fn intern(&mut self, interned: &mut Message, table: Interned, text: &str) -> u64 {
        let names = &mut self.names[table as usize];
        if let Some(&id) = names.get(text) {
            return id;
        }
        let id = names.len() as u64 + 1;
        names.insert(text.to_owned(), id);
        let mut entry = Message::default();
        entry.number(1, id).text(2, text);
        interned.message(table as u64 + 1, &entry);
        id
    }
}

/// Tables of texts, in the order of their fields in `InternedData`.
#[derive(Clone, Copy)]
enum Interned {
    Category,
    Event,
    Annotation,
}
