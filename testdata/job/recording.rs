//! What the profiler of a rank writes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::fault::FaultKind;
use super::simulation::{Coming, Launched, Player};
use super::{Job, Numbered, TrueClock};
use crate::json::{EventWriter, Layout};

pub(super) const FIRST_STEP: u32 = 10;

/// Nanoseconds of the recordings' clocks at the start of the job, and of 1970 at their 0.
const START: i64 = 3_545_056_405_000_000;
const BASE: i64 = 1_763_644_255_595_000_000;

/// First number of a collective of a group that is recorded.
const FIRST_NUMBER: u32 = 100;

/// The recording of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The file.
    pub text: Vec<u8>,
    /// By collective of the rank the place of its kernel among those of collectives in the file; `None` of those that
    /// were not recorded.
    pub ordinals: Vec<Option<u32>>,
}

impl Job {
    /// Writes the recording of a rank.
    pub fn recording(&self, rank: u32) -> io::Result<Recording> {
        let mut text = Vec::new();
        let exchanges = self.ends[rank as usize].len();
        let fault = |kind| self.plan.fault(kind, rank);
        let mut dropped = BTreeSet::new();
        let mut random = self.plan.random([2, u64::from(rank), 0]);
        let to_drop = fault(FaultKind::Dropped).unwrap_or(0).clamp(0, exchanges as i64) as usize;
        while dropped.len() < to_drop {
            dropped.insert(random.between(0, exchanges as u64) as u32);
        }
        let fewer = fault(FaultKind::FewerSteps).unwrap_or(0);
        let mut writer = EventWriter::new(&mut text, Layout::Lines);
        self.write_header(rank, &mut writer);
        let mut recorder = Recorder {
            job: self,
            rank,
            clock: self.truth.clocks[self.plan.host(rank) as usize],
            device_offset: random.between(0, 1_001) as i64 - 500,
            writer,
            first_exchange: fault(FaultKind::WindowShift).map_or(0, |shift| shift.max(0) as u32),
            begun: i64::MAX,
            steps: i64::from(self.plan.steps) - fewer,
            described: fault(FaultKind::NoMetadata).is_none(),
            dropped,
            ordinals: vec![None; exchanges],
            kernels: 0,
            correlation: 0,
            error: Ok(()),
        };
        if recorder.first_exchange == 0 {
            recorder.begun = i64::MIN;
        }
        Player::new(self, rank).play(&self.ends[rank as usize], Some(&mut recorder));
        let Recorder { mut writer, ordinals, error, .. } = recorder;
        error?;
        writer.text("\n  ],\n  \"traceName\": \"generated.json\"\n}\n");
        writer.flush()?;
        if let Some(percent) = fault(FaultKind::CutOff) {
            text.truncate(text.len() * percent.clamp(0, 100) as usize / 100);
        }
        Ok(Recording { text, ordinals })
    }

    /// By how much the base of a recording's times differs from that of others.
    fn base(rank: u32) -> i64 {
        i64::from(rank) * 1_234_567
    }

    fn write_header(&self, rank: u32, writer: &mut EventWriter<'_>) {
        let plan = &self.plan;
        writer.text("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n");
        for device in 0..plan.ranks_per_host {
            let comma = if device > 0 { ",\n" } else { "" };
            writer.text(&format!(
                "{comma}    {{\"id\": {device}, \"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": 84942979072, \
                 \"computeMajor\": 9, \"computeMinor\": 0, \"numSms\": 132}}"
            ));
        }
        let other_job = plan.fault(FaultKind::OtherJob, rank).unwrap_or(0);
        let mut groups = String::new();
        for (index, group) in self.groups.of_all_dimensions(rank).enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let (name, description) = (&group.name, group.dimension.description());
            let _ = write!(
                groups,
                "{comma}{{\"pg_name\": \"{name}\", \"pg_desc\": \"{description}\", \"backend_config\": \"cuda:nccl\", \
                 \"pg_size\": {}, \"ranks\": {:?}}}",
                group.members.len(),
                group.members
            );
        }
        let count = self.groups.of_all_dimensions(rank).count();
        writer.text(&format!(
            "\n  ],\n  \"cuda_runtime_version\": 12060,\n  \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {rank}, \
             \"world_size\": {}, \"pg_count\": {count}, \"pg_config\": [{groups}], \"nccl_version\": \"2.26.2\"}},\n",
            i64::from(plan.ranks) + other_job,
        ));
        writer.text(&format!(
            "  \"record_shapes\": 1,\n  \"trace_id\": \"{:032X}\",\n  \"displayTimeUnit\": \"ms\",\n  \
             \"baseTimeNanoseconds\": {},\n  \"traceEvents\": [\n",
            plan.random([3, u64::from(rank), 0]).next(),
            BASE + Self::base(rank),
        ));
    }
}

/// Writes the events of a rank as they happen.
pub(super) struct Recorder<'j, 'w> {
    job: &'j Job,
    rank: u32,
    clock: TrueClock,
    /// How far the times of the device are off, in nanoseconds.
    device_offset: i64,
    writer: EventWriter<'w>,
    /// The recording begins with this collective.
    first_exchange: u32,
    /// When it began; events from before are not in it.
    begun: i64,
    /// Steps until it ends.
    steps: i64,
    described: bool,
    dropped: BTreeSet<u32>,
    ordinals: Vec<Option<u32>>,
    kernels: u32,
    correlation: u64,
    error: io::Result<()>,
}

impl Recorder<'_, '_> {
    fn process(&self) -> u64 {
        u64::from(4_700 + self.device())
    }

    fn device(&self) -> u32 {
        self.rank % self.job.plan.ranks_per_host.max(1)
    }

    fn is_recorded(&self, start: i64) -> bool {
        start >= self.begun && self.steps > 0
    }

    /// Starts an event from one true time to another.
    fn complete(&mut self, (category, name): (&str, &str), row: (u64, u64), (start, end): (i64, i64)) {
        let origin = START - Job::base(self.rank);
        let [start, end] = [start, end].map(|time| origin + self.clock.at(time));
        let event =
            self.writer.begin().text_field("ph", "X").text_field("cat", category).text_field("name", name);
        event.count("pid", row.0).count("tid", row.1).line();
        event.time("ts", start.max(0) as u64).time("dur", (end - start).max(0) as u64).begin_args();
    }

    fn end(&mut self) {
        let ended = self.writer.end_args().end();
        self.error = std::mem::replace(&mut self.error, Ok(())).and(ended);
    }

    fn host_event(&mut self, what: (&str, &str), span: (i64, i64)) {
        let process = self.process();
        self.complete(what, (process, process), span);
    }

    fn device_event(&mut self, what: (&str, &str), kernel: &Launched<'_>, external_id: u64) {
        let device = u64::from(self.device());
        let span = (kernel.start + self.device_offset, kernel.end + self.device_offset);
        self.complete(what, (device, kernel.stream), span);
        self.writer.count("External id", external_id).count("device", device).count("context", 1);
        self.writer.count("stream", kernel.stream).count("correlation", external_id);
    }

    pub(super) fn host(&mut self, category: &str, name: &str, start: i64, end: i64) {
        if !self.is_recorded(start) {
            return;
        }
        self.correlation += 1;
        let id = self.correlation;
        self.host_event((category, name), (start, end));
        self.writer.count(if category == "cuda_runtime" { "correlation" } else { "External id" }, id);
        self.end();
    }

    pub(super) fn step_ended(&mut self, step: u32) {
        if i64::from(step) + 1 >= self.steps {
            self.steps = 0;
        }
    }

    /// The operator and its launch.
    fn launch(&mut self, kernel: &Launched<'_>, call: &str) -> u64 {
        self.correlation += 1;
        let id = self.correlation;
        self.host_event(("cpu_op", kernel.operator), (kernel.begun, kernel.launched + 500));
        self.writer.count("External id", id);
        self.end();
        self.runtime_call(kernel, call, id);
        id
    }

    fn runtime_call(&mut self, kernel: &Launched<'_>, call: &str, id: u64) {
        self.host_event(("cuda_runtime", call), (kernel.launch, kernel.launched));
        self.writer.count("External id", id).count("cbid", 211).count("correlation", id);
        self.end();
    }

    pub(super) fn kernel(&mut self, kernel: &Launched<'_>) {
        if self.is_recorded(kernel.begun) {
            let id = self.launch(kernel, "cudaLaunchKernel");
            self.device_event(("kernel", kernel.name), kernel, id);
            self.writer.triple("grid", [132, 1, 1]).triple("block", [384, 1, 1]);
            self.end();
        }
    }

    pub(super) fn copy(&mut self, kernel: &Launched<'_>) {
        if self.is_recorded(kernel.begun) {
            let id = self.launch(kernel, "cudaMemcpyAsync");
            self.device_event(("gpu_memcpy", kernel.name), kernel, id);
            self.writer.count("bytes", 3 << 20);
            self.end();
        }
    }

    /// A collective; `transfers` counts the rank's sends and receives with this one.
    pub(super) fn collective(
        &mut self,
        kernel: &Launched<'_>,
        coming: &Coming,
        exchange: u32,
        transfers: u32,
    ) {
        if exchange >= self.first_exchange {
            self.begun = self.begun.min(kernel.begun);
        }
        if !self.is_recorded(kernel.begun) {
            return;
        }
        let description = self.description(coming);
        let number =
            FIRST_NUMBER + if coming.meeting.pair.is_some() { transfers } else { coming.meeting.number };
        let numbered = self.job.plan.numbered;
        self.correlation += 1;
        let outer = self.correlation;
        self.host_event(("cpu_op", kernel.operator), (kernel.begun, kernel.launched + 1_500));
        self.writer.count("External id", outer);
        self.end();
        self.correlation += 1;
        let id = self.correlation;
        self.host_event(("cpu_op", "record_param_comms"), (kernel.begun + 2_000, kernel.launched + 1_000));
        self.writer.count("External id", id);
        if self.described {
            self.writer.raw_fields(&description);
            if numbered != Numbered::Nowhere {
                self.writer.count("Seq", u64::from(number));
            }
        }
        self.end();
        self.runtime_call(kernel, "cudaLaunchKernelExC", id);
        if self.dropped.contains(&exchange) {
            return;
        }
        self.ordinals[exchange as usize] = Some(self.kernels);
        self.kernels += 1;
        self.device_event(("kernel", kernel.name), kernel, id);
        self.writer.triple("grid", [24, 1, 1]).triple("block", [544, 1, 1]);
        if self.described {
            self.writer.raw_fields(&description);
            if numbered == Numbered::Kernel {
                self.writer.count("Seq", u64::from(number));
            }
        }
        self.end();
    }

    /// The fields that PyTorch gives the call and the kernel.
    fn description(&self, coming: &Coming) -> String {
        let Coming { meeting, exchange, receives, .. } = coming;
        let group = &self.job.groups.all[meeting.group as usize];
        let (mut inputs, mut outputs) = (exchange.elements, exchange.elements);
        let (mut in_split, mut out_split) = (Vec::new(), Vec::new());
        if exchange.name == "all_to_allv" {
            let members = group.members.iter().map(|&member| u64::from(member));
            let part = |source: u64, destination: u64| {
                let what =
                    [4 + u64::from(meeting.group), u64::from(meeting.number), source << 32 | destination];
                let usual = exchange.elements as u64 / group.members.len() as u64;
                self.job.plan.random(what).about(usual) as i64
            };
            let own = u64::from(self.rank);
            in_split = members.clone().map(|other| part(own, other)).collect();
            out_split = members.map(|other| part(other, own)).collect();
            (inputs, outputs) = (in_split.iter().sum(), out_split.iter().sum());
        }
        let mut text = format!(
            "\"Collective name\": \"{}\", \"In msg nelems\": {inputs}, \"Out msg nelems\": {outputs}, \"Group size\": {}, \
             \"dtype\": \"{}\", \"In split size\": \"{}\", \"Out split size\": \"{}\", \"Process Group Name\": \"{}\", \
             \"Process Group Description\": \"{}\", \"Process Group Ranks\": \"{}\"",
            exchange.name,
            group.members.len(),
            exchange.dtype,
            list(&in_split),
            list(&out_split),
            group.name,
            group.dimension.description(),
            list(&group.members),
        );
        if let Some((source, destination)) = meeting.pair {
            let (key, other) = if *receives { ("Src Rank", source) } else { ("Dst Rank", destination) };
            // Within the group.
            let place = group.members.iter().position(|&member| member == other).unwrap_or(0);
            let _ = write!(text, ", \"{key}\": {place}");
        }
        text
    }
}

/// A list as PyTorch writes it: no more than 30 items.
fn list<T: ToString>(items: &[T]) -> String {
    let mut texts: Vec<String> = items.iter().take(30).map(T::to_string).collect();
    if items.len() > 30 {
        texts.push("...".to_owned());
    }
    format!("[{}]", texts.join(", "))
}

impl Job {
    /// Writes what happened as one JSON object: groups, clocks of hosts, causes, lateness by rank and step, and the
    /// kernels of each collective as rank and place in the rank's file, by the ordinals of its recording.
    pub fn write_truth(&self, ordinals: &[Vec<Option<u32>>], out: &mut dyn Write) -> io::Result<()> {
        let truth = self.truth();
        let lines = |items: Vec<String>| items.join(",\n    ");
        let collectives = truth.collectives.iter().map(|collective| {
            let members: Vec<String> = collective
                .members
                .iter()
                .map(|&(rank, exchange)| {
                    let of_rank = ordinals.get(rank as usize).and_then(|of| of.get(exchange as usize));
                    let ordinal =
                        of_rank.copied().flatten().map_or("null".to_owned(), |ordinal| ordinal.to_string());
                    format!("[{rank}, {ordinal}]")
                })
                .collect();
            format!(
                "{{\"group\": {}, \"synchronising\": {}, \"kernels\": [{}]}}",
                collective.group,
                collective.synchronising,
                members.join(", ")
            )
        });
        let groups = truth.groups.iter().map(|group| {
            let (name, dimension, members) = (&group.name, group.dimension.description(), &group.members);
            format!("{{\"name\": \"{name}\", \"description\": \"{dimension}\", \"ranks\": {members:?}}}")
        });
        let clocks = truth.clocks.iter().map(|clock| {
            let (at, by) = clock.jump.unwrap_or((0, 0));
            let (offset, drift) = (clock.offset, clock.drift);
            format!("{{\"offset_ns\": {offset}, \"drift_ns_per_s\": {drift}, \"jump_at_ns\": {at}, \"jump_ns\": {by}}}")
        });
        let causes = truth.causes.iter().map(|fault| {
            let last = (*fault.steps.end()).min(self.plan().steps.saturating_sub(1));
            let (name, rank, first, amount) = (fault.kind.name(), fault.at, fault.steps.start(), fault.amount);
            format!("{{\"kind\": \"{name}\", \"rank\": {rank}, \"steps\": [{first}, {last}], \"us_per_step\": {amount}}}")
        });
        let lateness = truth.lateness.iter().map(|of_rank| format!("{of_rank:?}"));
        writeln!(
            out,
            "{{\n  \"ranks\": {},\n  \"seed\": {},\n  \"groups\": [\n    {}\n  ],\n  \"hosts\": [\n    {}\n  ],\n  \
             \"causes\": [\n    {}\n  ],\n  \"step_ns\": {:?},\n  \"lateness_ns\": [\n    {}\n  ],\n  \
             \"collectives\": [\n    {}\n  ]\n}}",
            self.plan().ranks,
            self.plan().seed,
            lines(groups.collect()),
            lines(clocks.collect()),
            lines(causes.collect()),
            truth.steps,
            lines(lateness.collect()),
            lines(collectives.collect()),
        )
    }
}
