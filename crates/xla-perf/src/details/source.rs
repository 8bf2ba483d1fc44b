//! Device time by where the instructions come from: the line of the source, the name scope of the framework, and
//! whether they compute values again.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::SortFew;
use hlo_cost::{OpMetadata, StackFrameIndex};
use sheets::ColumnKind::{Number, Text};
use sheets::Unit::{Milliseconds, Percent};
use sheets::columns::{CUMULATIVE, SHARE_OF_KERNEL_TIME};
use sheets::{Chart, ChartShape, Column, Field, Role, Sheet, percent, shares};
use trace_ingest::Picoseconds;

use crate::JaxAnalysis;
use crate::operators::stated_source;
use crate::sheet::{sheet, unless_empty};

/// Frames of a call stack that are shown, the innermost ones.
const MOST_FRAMES: usize = 12;

/// Where an instruction comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Origin {
    /// Path of the framework's operation, such as `jit(f)/jit(main)/dot_general`; empty where the program does not say.
    op_name: String,
    /// Source file and line; empty where the program does not say.
    source: String,
    /// Function that the line is in; empty where the program does not say.
    function: String,
    /// Functions with file and line, from the inside out; empty where the program does not say.
    stack: Vec<String>,
}

impl Origin {
    /// The origin that an instruction's metadata states: its file and line, or else those of its innermost frame.
    fn new(metadata: &OpMetadata, frames: Option<&StackFrameIndex>) -> Self {
        let stack = frames.map_or_else(Vec::new, |frames| stack(frames, metadata.stack_frame));
        let innermost = stack.first();
        let source = match stated_source(metadata) {
            none if none.is_empty() => innermost.map_or(none, Frame::source),
            stated => stated,
        };
        let texts = stack.iter().map(|frame| match frame.function {
            "" => frame.source(),
            function => format!("{function} ({})", frame.source()),
        });
        Self {
            op_name: metadata.op_name.clone(),
            source,
            function: innermost.map_or_else(String::new, |frame| frame.function.to_owned()),
            stack: texts.collect(),
        }
    }
}

/// A frame of a call stack.
struct Frame<'a> {
    file: &'a str,
    function: &'a str,
    line: i32,
}

impl Frame<'_> {
    fn source(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The frames from the inside out. Numbers count from 1; 0 and numbers that the tables lack end the stack.
fn stack(frames: &StackFrameIndex, innermost: i32) -> Vec<Frame<'_>> {
    fn at<T>(table: &[T], number: i32) -> Option<&T> {
        table.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }
    let text = |table, number| at::<String>(table, number).map_or("", String::as_str);
    let mut found = Vec::new();
    let mut number = innermost;
    // Frames of a damaged file may call each other in a ring.
    while found.len() < MOST_FRAMES {
        let Some(frame) = at(&frames.stack_frames, number) else { break };
        if let Some(location) = at(&frames.file_locations, frame.file_location_id) {
            found.push(Frame {
                file: text(&frames.file_names, location.file_name_id),
                function: text(&frames.function_names, location.function_name_id),
                line: location.line,
            });
        }
        if frame.parent_frame_id == number {
            break;
        }
        number = frame.parent_frame_id;
    }
    found
}

/// The origins of the operators of an analysis, by position; `None` for those whose instruction the profile lacks.
fn origins(analysis: &JaxAnalysis) -> Vec<Option<Origin>> {
    let mut origins: Vec<Option<Origin>> = vec![None; analysis.operators().len()];
    let mut seen = vec![false; origins.len()];
    for event in analysis.device_events() {
        if std::mem::replace(&mut seen[event.operator], true) {
            continue;
        }
        let Some(instruction) = analysis.instruction(event.event) else { continue };
        origins[event.operator] =
            Some(Origin::new(&instruction.metadata, instruction.module().stack_frames()));
    }
    origins
}

/// Device time of what a row stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DeviceTime {
    instructions: usize,
    /// Their executions.
    calls: usize,
    kernels: usize,
    /// Sum over the executions of the time in which a kernel ran.
    time: Picoseconds,
}

impl DeviceTime {
    fn add(&mut self, other: &DeviceTime) {
        self.instructions += other.instructions;
        self.calls += other.calls;
        self.kernels += other.kernels;
        self.time += other.time;
    }
}

/// Device time by operator, by position; those that the keywords leave out have none.
fn device_times(analysis: &JaxAnalysis) -> Vec<DeviceTime> {
    let mut times = vec![DeviceTime::default(); analysis.operators().len()];
    for call in analysis.calls().iter().filter(|call| analysis.keeps(call.operator)) {
        let time = &mut times[call.operator];
        time.add(&DeviceTime { instructions: 0, calls: 1, kernels: call.kernels.len(), time: call.time });
        time.instructions = 1;
    }
    times
}

const SOURCE: Column = Column::new("source", Text, "Source file and line.");
const TOTAL_MS: Column = Column::new(
    "total_time_ms",
    Number(Milliseconds),
    "Time with a kernel of the instruction running, summed over executions.",
)
.with_role(Role::Headline);

/// Instructions, executions, kernels and time of what a row stands for.
fn time_fields<'a, R>(
    instructions: &'static str,
    total: Column,
    time: impl Fn(&R) -> &DeviceTime + Copy + Send + Sync + 'static,
) -> [Field<&'a JaxAnalysis, R>; 4] {
    [
        Column::count("instructions", instructions).field(move |row| time(row).instructions.into()),
        Column::count("executions", "Number of executions on all GPUs.")
            .field(move |row| time(row).calls.into()),
        Column::count("kernels", "Number of kernels, copies and fills.")
            .field(move |row| time(row).kernels.into()),
        total.field_in(move |_, row| time(row).time.to_milliseconds().into()),
    ]
}

/// Instructions from one line of the source.
struct SourceLine<'a> {
    origin: Origin,
    time: DeviceTime,
    /// Instruction with the most time.
    top: &'a str,
}

/// One row per line of the source.
pub(super) fn source_lines_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let mut fields = vec![
        SOURCE.field(|row: &SourceLine<'_>| unless_empty(&row.origin.source)),
        Column::text("function", "Function containing the line; empty if not recorded.")
            .field(|row: &SourceLine<'_>| unless_empty(&row.origin.function)),
        Column::text(
            "call_stack",
            "Call stack with file and line, innermost first, of the instruction with the most time.",
        )
        .with_role(Role::Provenance)
        .field(|row: &SourceLine<'_>| {
            let stack = &row.origin.stack;
            (!stack.is_empty()).then(|| stack.join(" < ")).into()
        }),
        Column::text("top_instruction", "Instruction with the most time.")
            .with_role(Role::Detail)
            .field(|row: &SourceLine<'_>| row.top.into()),
    ];
    fields.extend(time_fields("Number of instructions.", TOTAL_MS, |row: &SourceLine<'_>| &row.time));
    fields.extend(shares(SHARE_OF_KERNEL_TIME, CUMULATIVE, |row: &SourceLine<'_>| row.time.time.0));
    sheet(
        "source_lines",
        "Device time by source line of the instructions, most time first; instructions without a recorded \
         source share one row.",
        fields,
        source_lines,
    )
    .with_chart(Chart::new(
        "Device time by source line",
        SOURCE.name,
        TOTAL_MS.name,
        "device time (ms)",
        ChartShape::Bars(15),
    ))
}

fn source_lines(analysis: &JaxAnalysis) -> Vec<SourceLine<'_>> {
    let (origins, times) = (origins(analysis), device_times(analysis));
    let none = Origin::default();
    let origin = |operator: usize| origins[operator].as_ref().unwrap_or(&none);
    let mut lines: BTreeMap<(&str, &str), (DeviceTime, usize)> = BTreeMap::new();
    for (operator, time) in times.iter().enumerate().filter(|(_, time)| time.calls > 0) {
        let Origin { source, function, .. } = origin(operator);
        let (sum, top) = lines.entry((source, function)).or_insert((DeviceTime::default(), operator));
        sum.add(time);
        if time.time > times[*top].time {
            *top = operator;
        }
    }
    // A table with one row for everything says nothing.
    if lines.keys().all(|(source, _)| source.is_empty()) {
        return Vec::new();
    }
    let row = |(time, top): (DeviceTime, usize)| SourceLine {
        origin: origin(top).clone(),
        time,
        top: &analysis.operators()[top].name,
    };
    let mut rows: Vec<SourceLine<'_>> = lines.into_values().map(row).collect();
    rows.sort_few_by_key(|row| Reverse(row.time.time));
    rows
}

/// A name scope with those inside it.
struct Scope {
    path: String,
    depth: usize,
    time: DeviceTime,
    /// Time without the scopes inside.
    own: Picoseconds,
    percent: Option<f64>,
}

/// One row per name scope.
pub(super) fn name_scopes_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let mut fields = vec![
        Column::text("scope", "Scope path, excluding its last part, the operation name.")
            .field(|row: &Scope| row.path.as_str().into()),
        Column::count("depth", "Number of path components.").field(|row: &Scope| row.depth.into()),
    ];
    let total = TOTAL_MS
        .described(
            "Kernel time of the instructions, overlaps counted once, summed over executions, including \
             nested scopes.",
        )
        .overlapping();
    fields.extend(time_fields("Number of instructions, including nested scopes.", total, |row: &Scope| {
        &row.time
    }));
    fields.extend([
        Column::milliseconds("own_time_ms", "total_time_ms minus nested scopes.")
            .field(|row: &Scope| row.own.to_milliseconds().into()),
        Column::percent(
            "percent",
            "Share of all device time; a nested scope also counts toward its parents.",
        )
        .field(|row: &Scope| row.percent.into()),
    ]);
    sheet(
        "name_scopes",
        "Device time by name scope of the framework, including nested scopes, most time first: functions under jit, transformations such as transpose(jvp()), and names given by jax.named_scope and modules.",
        fields,
        scopes,
    )
}

fn scopes(analysis: &JaxAnalysis) -> Vec<Scope> {
    let times = device_times(analysis);
    let whole: Picoseconds = times.iter().map(|time| time.time).sum();
    let mut scopes: BTreeMap<String, (usize, DeviceTime, Picoseconds)> = BTreeMap::new();
    for (origin, time) in origins(analysis).iter().zip(&times).filter(|(_, time)| time.calls > 0) {
        let Some(origin) = origin else { continue };
        let paths = enclosing(&origin.op_name);
        for (position, path) in paths.iter().enumerate() {
            let scope = scopes.entry((*path).to_owned());
            let (_, sum, own) = scope.or_insert((position + 1, DeviceTime::default(), Picoseconds(0)));
            sum.add(time);
            if position + 1 == paths.len() {
                *own += time.time;
            }
        }
    }
    let row =
        |(path, (depth, time, own))| Scope { path, depth, time, own, percent: percent(time.time.0, whole.0) };
    let mut rows: Vec<Scope> = scopes.into_iter().map(row).collect();
    rows.sort_few_by_key(|row| Reverse(row.time.time));
    rows
}

/// The scopes around an operation, from the outside in: `a/b/c` is in `a` and `a/b`. A slash in parentheses does not
/// part scopes.
fn enclosing(op_name: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, c) in op_name.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => found.push(&op_name[..at]),
            _ => {}
        }
    }
    found
}

/// Whether an instruction computes a value again that was computed before and thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rematerialization {
    /// In the backward pass, because `jax.checkpoint` says so.
    Framework,
    /// Because the compiler saves memory that way.
    Compiler,
    /// No: the first computation in a region that may be computed again.
    Checkpointed,
    /// No.
    None,
}

impl Rematerialization {
    const ALL: [Self; 4] = [Self::Framework, Self::Compiler, Self::Checkpointed, Self::None];

    /// By the framework's path and the instruction's name. JAX puts what it computes again into
    /// `rematted_computation`, and the region is a `checkpoint` or, in old releases, a `remat`; the compiler adds
    /// `.remat` to the names of its copies.
    fn new(op_name: &str, instruction: &str) -> Self {
        let is_copy =
            |part: &str| part.starts_with("remat") && part[5..].bytes().all(|byte| byte.is_ascii_digit());
        if op_name.contains("rematted_computation") {
            Self::Framework
        } else if instruction.split('.').skip(1).any(is_copy) {
            Self::Compiler
        } else if op_name.contains("checkpoint") || op_name.contains("remat") {
            Self::Checkpointed
        } else {
            Self::None
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Framework => "recomputed by jax.checkpoint",
            Self::Compiler => "recomputed by the compiler",
            Self::Checkpointed => "first computation in a checkpointed region",
            Self::None => "other",
        }
    }
}

/// Instructions of a kind.
struct KindTime {
    kind: Rematerialization,
    time: DeviceTime,
    percent: Option<f64>,
}

pub(super) fn rematerialization_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let kind = Column::new(
        "kind",
        Text,
        "Recomputed by jax.checkpoint (op_name has rematted_computation), recomputed by the compiler (a .remat copy of the instruction), first computation in a recomputable region (op_name has checkpoint or remat), or other.",
    );
    let share = Column::new("percent", Number(Percent), "Share of the device time of all rows.");
    let mut fields = vec![kind.field(|row: &KindTime| row.kind.name().into())];
    fields.extend(time_fields("Instructions.", TOTAL_MS, |row: &KindTime| &row.time));
    fields.push(share.field(|row: &KindTime| row.percent.into()));
    sheet(
        "rematerialization",
        "Share of device time that recomputes values to save memory; omitted if no work is recomputed and none is in a checkpointed region.",
        fields,
        rematerialized,
    )
}

fn rematerialized(analysis: &JaxAnalysis) -> Vec<KindTime> {
    let mut kinds = Rematerialization::ALL.map(|kind| (kind, DeviceTime::default()));
    let (origins, times) = (origins(analysis), device_times(analysis));
    for ((origin, time), operator) in origins.iter().zip(&times).zip(analysis.operators()) {
        let op_name = origin.as_ref().map_or("", |origin| origin.op_name.as_str());
        let of = Rematerialization::new(op_name, &operator.name);
        kinds.iter_mut().filter(|(kind, _)| *kind == of).for_each(|(_, sum)| sum.add(time));
    }
    let found = || kinds.into_iter().filter(|(_, time)| time.calls > 0);
    if found().all(|(kind, _)| kind == Rematerialization::None) {
        return Vec::new();
    }
    let whole: Picoseconds = found().map(|(_, time)| time.time).sum();
    found().map(|(kind, time)| KindTime { kind, time, percent: percent(time.time.0, whole.0) }).collect()
}

#[cfg(test)]
mod tests {
    use hlo_cost::{FileLocation, StackFrame};

    use super::*;

    fn frames() -> StackFrameIndex {
        let location = |file_name_id, function_name_id, line| FileLocation {
            file_name_id,
            function_name_id,
            line,
            column: 1,
        };
        let frame = |file_location_id, parent_frame_id| StackFrame { file_location_id, parent_frame_id };
        StackFrameIndex {
            file_names: vec!["train.py".into(), "layers.py".into()],
            function_names: vec!["main".into(), "attend".into()],
            file_locations: vec![location(1, 1, 10), location(2, 2, 20), location(9, 0, 30)],
            stack_frames: vec![frame(1, 0), frame(2, 1), frame(3, 4), frame(7, 3)],
        }
    }

    #[test]
    fn the_stack_stands_in_for_a_missing_source() {
        let metadata = |file: &str, line, stack_frame| OpMetadata {
            source_file: file.to_owned(),
            source_line: line,
            stack_frame,
            ..OpMetadata::default()
        };
        let origin = Origin::new(&metadata("", 0, 2), Some(&frames()));
        assert_eq!((origin.source.as_str(), origin.function.as_str()), ("layers.py:20", "attend"));
        assert_eq!(origin.stack, ["attend (layers.py:20)", "main (train.py:10)"]);
        assert_eq!(Origin::new(&metadata("a.py", 3, 2), Some(&frames())).source, "a.py:3");
        assert_eq!(Origin::new(&metadata("a.py", 0, 0), None).source, "a.py");
        assert_eq!(Origin::new(&metadata("", 0, 77), Some(&frames())), Origin::default());
    }

    #[test]
    fn frames_that_call_each_other_in_a_ring_end() {
        let frames = frames();
        let stack = stack(&frames, 3);
        assert_eq!(stack.len(), MOST_FRAMES);
        assert_eq!((stack[0].file, stack[0].function), ("", ""));
        let own_parent = StackFrameIndex {
            stack_frames: vec![StackFrame { file_location_id: 0, parent_frame_id: 1 }],
            ..StackFrameIndex::default()
        };
        assert_eq!(super::stack(&own_parent, 1).len(), 0);
    }

    #[test]
    fn scopes_are_the_beginnings_of_the_path() {
        assert_eq!(enclosing("jit(f)/jit(main)/dot_general"), ["jit(f)", "jit(f)/jit(main)"]);
        assert_eq!(enclosing("transpose(jvp(a/b))/mul"), ["transpose(jvp(a/b))"]);
        assert!(enclosing("add").is_empty() && enclosing("").is_empty());
    }

    #[test]
    fn paths_and_names_tell_what_is_computed_again() {
        use Rematerialization::{Checkpointed, Compiler, Framework, None};
        let cases = [
            ("jit(f)/transpose(jvp(checkpoint))/rematted_computation/dot_general", "dot.3", Framework),
            ("jit(f)/jvp(checkpoint)/dot_general", "dot.1", Checkpointed),
            ("jit(f)/remat(core)/dot_general", "dot.1", Checkpointed),
            ("jit(f)/dot_general", "fusion.12.remat2", Compiler),
            ("jit(f)/dot_general", "fusion.remat.1", Compiler),
            ("jit(f)/dot_general", "fusion.12", None),
            ("", "remat", None),
        ];
        for (op_name, instruction, kind) in cases {
            assert_eq!(Rematerialization::new(op_name, instruction), kind, "{op_name} {instruction}");
        }
    }
}
