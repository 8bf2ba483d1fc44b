//! What the XLA profiler recorded of tensor cores, read out of a profile.

use std::collections::BTreeMap;

use gpu_timeline::{Activity, SortFew};
use hashbrown::HashMap;
use trace_ingest::xplane::proto::{MemoryBreakdown, MemoryEntry};
use trace_ingest::xplane::{KindId, Line, Plane, PlaneKind, Profile, StatValue};
use trace_ingest::{EventId, Picoseconds};

use super::category::{WorkClass, may_have_inner_ops, work_class};
use super::profile::{
    AccessKind, AggregatedExecutions, HostOp, MemoryAccess, MemorySpace, MissingPeaks, ModuleRun,
    OpExecution, Peaks, PicoSpan, TpuCore, TpuOp, TpuProfile, TpuStep,
};
use crate::IndexMap;

impl TpuProfile {
    /// What a profile recorded of tensor cores; `None` when it has no plane of one.
    #[must_use]
    pub fn new(profile: &Profile) -> Option<Self> {
        let mut planes: Vec<(u32, &Plane)> = profile
            .planes
            .iter()
            .filter_map(|plane| match plane.kind {
                PlaneKind::Tpu { ordinal } => Some((ordinal, plane)),
                _ => None,
            })
            .collect();
        planes.sort_few_by_key(|(ordinal, _)| *ordinal);
        let first = planes.first()?.1;
        let mut reader = Reader { profile, ops: IndexMap::default() };
        let cores: Vec<TpuCore> =
            planes.iter().map(|&(ordinal, plane)| reader.core(ordinal, plane)).collect();
        let host = || profile.planes.iter().filter(|plane| plane.kind == PlaneKind::HostCpu);
        let sampled = |name: &str| host().find_map(|plane| plane.stat(name)?.as_f64());
        let peaks = planes.iter().map(|(_, plane)| Peaks::from_figures(|name| plane.stat(name)?.as_f64()));
        let is_sparse = |plane: &&Plane| matches!(plane.kind, PlaneKind::SparseCore { .. });
        let has_events = |plane: &&Plane| plane.lines.iter().any(|line| !line.events.is_empty());
        let sparse = profile.planes.iter().filter(is_sparse).filter(has_events);
        Some(TpuProfile {
            device_type: first
                .stat("device_type_string")
                .and_then(StatValue::as_str)
                .unwrap_or_default()
                .to_string(),
            peaks: peaks.reduce(Result::or).unwrap_or(Err(MissingPeaks::default())),
            mxu_utilization: sampled("matrix_unit_utilization_percent"),
            hbm_utilization: sampled("hbm_utilization_percent"),
            programs: program_names(profile, &cores),
            cores,
            ops: reader.ops.into_values().collect(),
            host_threads: host().flat_map(|plane| &plane.lines).map(|line| host_ops(profile, line)).collect(),
            sparse_cores: sparse.map(|plane| plane.name.clone()).collect(),
            is_window: false,
        })
    }
}

/// What the tensor cores did during each operation that runs no other inside, by the clock of the profile: collectives
/// communicate, copies and transfers from and to the host copy, all else computes. With the position of the core's plane.
pub(crate) fn core_activities(profile: &Profile) -> Vec<(usize, EventId, Activity)> {
    let events = profile.trace.events();
    let mut known: HashMap<Option<KindId>, (Activity, bool)> = HashMap::new();
    let mut activities = Vec::new();
    let planes = profile.planes.iter().enumerate();
    let cores = planes.filter(|(_, plane)| matches!(plane.kind, PlaneKind::Tpu { .. }));
    let lines = cores.flat_map(|(plane, core)| core.lines.iter().map(move |line| (plane, line)));
    for (plane, line) in lines.filter(|(_, line)| line.name == OPERATIONS) {
        for (at, &event) in line.events.iter().enumerate() {
            let kind = profile.kind_id(event);
            let (activity, may_have_inner) = *known.entry(kind).or_insert_with(|| {
                let category = kind.and_then(|kind| profile.kind_stat(kind, "hlo_category"));
                let category = category.as_ref().and_then(StatValue::as_str).unwrap_or_default();
                let activity = match work_class(category, &profile.metadata(event).name) {
                    WorkClass::Compute => Activity::Computation,
                    WorkClass::Collective => Activity::Communication,
                    WorkClass::Copy | WorkClass::HostOffload | WorkClass::Feed | WorkClass::Idle => {
                        Activity::Memcpy
                    }
                };
                (activity, may_have_inner_ops(category))
            });
            // Events are by start, those around others first.
            let next = line.events.get(at + 1).filter(|_| may_have_inner);
            if next.is_none_or(|&next| events.start(next) >= events.end(event)) {
                activities.push((plane, event, activity));
            }
        }
    }
    activities
}

/// Name of a core's line of operations.
const OPERATIONS: &str = "XLA Ops";

/// Names of programs: of the modules that the profile embeds, and else of what ran.
fn program_names(profile: &Profile, cores: &[TpuCore]) -> BTreeMap<u64, String> {
    let runs = cores.iter().flat_map(|core| &core.runs).filter_map(|run| {
        let (name, number) = run.module.rsplit_once('(')?;
        Some((number.strip_suffix(')')?.parse().ok()?, name.to_string()))
    });
    let mut names: BTreeMap<u64, String> = runs.collect();
    let embedded = profile.programs.ids();
    names.extend(embedded.filter_map(|id| Some((id, profile.programs.name(id)?.to_string()))));
    names
}

struct Reader<'p> {
    profile: &'p Profile,
    ops: IndexMap<KindId, TpuOp>,
}

impl Reader<'_> {
    fn core(&mut self, ordinal: u32, plane: &Plane) -> TpuCore {
        let mut core = TpuCore { ordinal, ..TpuCore::default() };
        for line in &plane.lines {
            match line.name.as_str() {
                OPERATIONS => self.operations(line, &mut core),
                "XLA Modules" => core.runs.extend(line.events.iter().map(|&event| self.run(event))),
                "Steps" => core.steps.extend(line.events.iter().map(|&event| self.step(event))),
                _ => {}
            }
        }
        core
    }

    fn operations(&mut self, line: &Line, core: &mut TpuCore) {
        for &event in &line.events {
            let Some(kind) = self.profile.kind_id(event) else { continue };
            let op = self.op(kind);
            let (mut dma_stall, mut group) = (Picoseconds(0), None);
            for (name, value) in self.profile.event_stats(event) {
                match name {
                    "dma_stall_duration_ps" => dma_stall = picoseconds(&value).unwrap_or_default(),
                    "group_id" => group = value.as_i64(),
                    _ => {}
                }
            }
            core.executions.push(OpExecution {
                op,
                span: self.device_span(event),
                recorded: recorded_span(self.profile, event),
                dma_stall,
                group,
            });
        }
        for sum in &line.aggregated {
            let duration = sum.duration.max(Picoseconds(0));
            let figure = |wanted: &str| {
                let stats = self.profile.aggregated_stats(sum);
                stats.filter(|(name, _)| *name == wanted).last().and_then(|(_, value)| picoseconds(&value))
            };
            let self_time = figure("self_duration_ps").unwrap_or(duration);
            let dma_stall = figure("dma_stall_duration_ps").unwrap_or_default();
            core.aggregated.push(AggregatedExecutions {
                op: self.op(sum.kind),
                occurrences: sum.occurrences.max(0).unsigned_abs(),
                duration,
                self_time,
                dma_stall,
            });
        }
    }

    fn device_span(&self, event: EventId) -> PicoSpan {
        match self.profile.device_clock(event) {
            Some((offset, duration)) => PicoSpan::new(offset, duration.max(Picoseconds(0))),
            None => recorded_span(self.profile, event),
        }
    }

    fn run(&self, event: EventId) -> ModuleRun {
        ModuleRun {
            module: self.profile.metadata(event).label().to_string(),
            run_id: self.profile.xla(event).and_then(|call| call.run_id),
            span: recorded_span(self.profile, event),
        }
    }

    fn step(&self, event: EventId) -> TpuStep {
        let stat = |name: &str| self.profile.stat(event, name);
        let named = stat("step_name").and_then(|value| value.as_str().map(str::to_string));
        let name = named.unwrap_or_else(|| self.profile.metadata(event).label().to_string());
        TpuStep {
            name,
            group: stat("group_id").and_then(|value| value.as_i64()),
            span: self.device_span(event),
        }
    }

    fn op(&mut self, kind: KindId) -> usize {
        let entry = self.ops.entry(kind);
        let place = entry.index();
        entry.or_insert_with(|| describe_op(self.profile, kind));
        place
    }
}

fn describe_op(profile: &Profile, kind: KindId) -> TpuOp {
    let metadata = profile.kind(kind);
    let mut op = TpuOp { name: metadata.label().to_string(), ..TpuOp::default() };
    if !metadata.display_name.is_empty() {
        op.expression.clone_from(&metadata.name);
    }
    for (name, value) in profile.kind_stats(kind) {
        let text = || value.as_str().unwrap_or_default().to_string();
        let number = || value.as_u64().unwrap_or(0);
        match name {
            "program_id" => op.program = value.as_id(),
            "symbol_id" => op.symbol = value.as_id(),
            "hlo_category" => op.category = text(),
            "tf_op" => op.framework = text(),
            "deduplicated_name" => op.deduplicated = text(),
            "source" => op.source = text(),
            "source_stack" => op.source_stack = text(),
            "shape_with_layout" => op.shape = text(),
            "flops" => op.flops = number(),
            "model_flops" => op.model_flops = number(),
            "bytes_accessed" => op.bytes = number(),
            "raw_bytes_accessed" => op.raw_bytes = value.as_u64(),
            "memory_access_breakdown" => op.memory = memory_breakdown(value.as_bytes().unwrap_or_default()),
            _ => {}
        }
    }
    op
}

/// A length of time that a stat has.
fn picoseconds(value: &StatValue<'_>) -> Option<Picoseconds> {
    value.as_u64().map(|time| Picoseconds(i64::try_from(time).unwrap_or(i64::MAX)))
}

/// Calls of framework operations on a thread: events whose name is one, and events that name one in a stat.
fn host_ops(profile: &Profile, line: &Line) -> Vec<HostOp> {
    let mut ops = Vec::new();
    for &event in &line.events {
        let name = profile.metadata(event).name.as_str();
        let span = recorded_span(profile, event);
        if parse_framework_op(name).is_some() {
            ops.push(HostOp { framework: name.to_string(), span });
        }
        let stat = profile.stat(event, "tf_op");
        if let Some(named) = stat.as_ref().and_then(StatValue::as_str).filter(|named| !named.is_empty()) {
            ops.push(HostOp { framework: named.to_string(), span });
        }
    }
    ops
}

/// When an event was recorded, since the origin of the profile's clock rather than of the trace.
fn recorded_span(profile: &Profile, event: EventId) -> PicoSpan {
    let events = profile.trace.events();
    let start = events.start(event).saturating_add(profile.trace.origin());
    PicoSpan::new(Picoseconds(start), Picoseconds(events.duration(event).max(0)))
}

/// Where an operation comes from and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FrameworkOp<'t> {
    /// Its name with the scopes around it, `jit(f)/jit(main)/add`.
    pub(super) name: &'t str,
    /// Its type; empty when the text does not say.
    pub(super) kind: &'t str,
}

/// Parses `<name>:<type>`. Without a type, the last part of the name without the number behind it is the type, which is
/// how JAX records its primitives. `None` when the text is of another form.
pub(super) fn parse_framework_op(text: &str) -> Option<FrameworkOp<'_>> {
    let Some((name, kind)) = text.split_once(':') else {
        let copies = ["MemcpyHToD", "MemcpyDToH", "MemcpyDToD", "MemcpyHToH"];
        let starts =
            |copy: &&&str| text.get(..copy.len()).is_some_and(|start| start.eq_ignore_ascii_case(copy));
        return copies.iter().find(starts).map(|kind| FrameworkOp { name: text, kind });
    };
    if name == "Iterator" {
        return Some(FrameworkOp { name: text, kind: "Dataset" });
    }
    if is_tensorflow_name(name) && is_tensorflow_type(kind) {
        return Some(FrameworkOp { name, kind });
    }
    let derived = if kind.is_empty() { type_of_name(name) } else { kind };
    if is_jax_type(derived) {
        let end = derived.find('[').unwrap_or(derived.len());
        return Some(FrameworkOp { name, kind: &derived[..end] });
    }
    kind.is_empty().then_some(FrameworkOp { name, kind: derived })
}

/// `a/b/mul_3` is a `mul`.
fn type_of_name(name: &str) -> &str {
    let last = name.rsplit('/').next().unwrap_or(name);
    match last.rsplit_once('_') {
        Some((stem, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            stem
        }
        _ => last,
    }
}

fn is_tensorflow_name(name: &str) -> bool {
    let starts = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    let continues = |byte: u8| byte.is_ascii_alphanumeric() || b"_.\\/>-".contains(&byte);
    name.bytes().next().is_some_and(starts) && name.bytes().all(continues)
}

fn is_tensorflow_type(kind: &str) -> bool {
    let starts = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    kind.bytes().next().is_some_and(starts) && is_word(kind)
}

/// Lower-case letters, digits and `_`, then perhaps parameters in brackets.
fn is_jax_type(kind: &str) -> bool {
    let (word, parameters) = kind.split_at(kind.find('[').unwrap_or(kind.len()));
    let starts = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_lower = !word.bytes().any(|byte| byte.is_ascii_uppercase());
    let closes = parameters.is_empty() || parameters.ends_with(']');
    word.bytes().next().is_some_and(starts) && is_word(word) && is_lower && closes
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The entries of a message; those from the place on where it is damaged are missing.
fn memory_breakdown(message: &[u8]) -> Vec<MemoryAccess> {
    let access = |entry: MemoryEntry| MemoryAccess {
        space: MemorySpace::from_number(entry.space),
        kind: match entry.kind {
            1 => AccessKind::Read,
            2 => AccessKind::Write,
            _ => AccessKind::Unknown,
        },
        bytes: entry.bytes,
    };
    MemoryBreakdown::from_damaged(message).entries.into_iter().map(access).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types_are_told_apart() {
        for (text, expected) in [
            ("jit(f)/jit(main)/add:", Some(("jit(f)/jit(main)/add", "add"))),
            ("jit(f)/jit(main)/dot_general_3:", Some(("jit(f)/jit(main)/dot_general_3", "dot_general"))),
            (
                "jit(f)/transpose[permutation=(1, 0)]:",
                Some(("jit(f)/transpose[permutation=(1, 0)]", "transpose")),
            ),
            ("model/dense/MatMul:MatMul", Some(("model/dense/MatMul", "MatMul"))),
            ("model/dense/MatMul_1:", Some(("model/dense/MatMul_1", "MatMul"))),
            ("Iterator::Batch", Some(("Iterator::Batch", "Dataset"))),
            ("memcpyhtod", Some(("memcpyhtod", "MemcpyHToD"))),
            ("dummy", None),
            ("PjitFunction(f)", None),
            ("$file.py:12 f", None),
            ("a:b:c", None),
            ("", None),
        ] {
            let parsed = parse_framework_op(text).map(|op| (op.name, op.kind));
            assert_eq!(parsed, expected, "{text}");
        }
    }

    #[test]
    fn entries_are_read_and_written_bytes_of_a_memory() {
        // {{1: 1, 2: 1, 3: 5368709120}, {1: 2, 2: 3, 3: 7}}
        let message = [0x0a, 10, 8, 1, 16, 1, 24, 0x80, 0x80, 0x80, 0x80, 0x14, 0x0a, 6, 8, 2, 16, 3, 24, 7];
        let read = MemoryAccess { space: MemorySpace::Hbm, kind: AccessKind::Read, bytes: 5_368_709_120 };
        let written = MemoryAccess { space: MemorySpace::Vmem, kind: AccessKind::Write, bytes: 7 };
        assert_eq!(memory_breakdown(&message), [read, written]);
        assert_eq!(memory_breakdown(&message[..14]), [read]);
        assert_eq!(memory_breakdown(&[]), []);
        assert_eq!(memory_breakdown(&[0x0b, 0xff]), []);
    }
}
