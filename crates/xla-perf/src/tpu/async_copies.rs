//! Asynchronous operations: from their start to their end, and how much of that the core waited.

use std::collections::HashMap;

use gpu_timeline::{Interval, IntervalSet};

use super::analysis::TpuAnalysis;
use super::category::{self, WorkClass, work_class};
use super::peaks::giga_to_gibi;
use super::profile::{Execution, PicoSpan, TpuCore, TpuOp, TpuProfile};
use super::rates::ratio;

/// Which memories an asynchronous operation moves data between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the host's memory to the device.
    HostToDevice,
    /// From the device to the host's memory.
    DeviceToHost,
    /// Within the host's memory.
    HostToHost,
    /// Within the device.
    DeviceToDevice,
    /// Among devices.
    Collective,
    /// Something else that runs on its own, such as a call on another thread of the device.
    Other,
}

impl Direction {
    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Direction::HostToDevice => "host to device",
            Direction::DeviceToHost => "device to host",
            Direction::HostToHost => "host to host",
            Direction::DeviceToDevice => "device to device",
            Direction::Collective => "among devices",
            Direction::Other => "other",
        }
    }

    /// Whether it is a copy from or to the host's memory.
    #[must_use]
    pub const fn is_host_offload(self) -> bool {
        matches!(self, Direction::HostToDevice | Direction::DeviceToHost)
    }
}

/// One asynchronous operation in flight, by the clock of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer<'a> {
    /// Number of the device.
    pub core: u32,
    /// The operation that starts it.
    pub start: &'a TpuOp,
    /// The operation that waits for its end.
    pub done: &'a TpuOp,
    /// Between which memories.
    pub direction: Direction,
    /// Bytes moved; of the operation that starts it.
    pub bytes: u64,
    /// From the start of the one to the end of the other.
    pub span: PicoSpan,
    /// Time in which the core did nothing but start it or wait for its end, in picoseconds.
    pub exposed_ps: u64,
    /// Time in flight in which the core computed, in picoseconds.
    pub hidden_ps: u64,
    /// Time in flight that the core spent otherwise: other transfers, collectives, or nothing; in picoseconds.
    pub other_ps: u64,
}

impl Transfer<'_> {
    /// Bytes over the time in flight, in GiB/s; 0 without time.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        giga_to_gibi(ratio(self.bytes as f64 * 1e3, self.span.duration_ps as f64))
    }
}

/// Every start with its end, in order of the starts on each core. An end belongs to the latest start of the operation
/// that it names; starts without an end are in the second value.
#[must_use]
pub fn transfers<'a>(analysis: &'a TpuAnalysis) -> (Vec<Transfer<'a>>, u64) {
    let profile = &analysis.profile;
    let starts = start_of_done(profile);
    let (mut found, mut unfinished) = (Vec::new(), 0);
    if starts.is_empty() {
        return (found, unfinished);
    }
    for (core, own) in profile.cores.iter().zip(&analysis.own_times) {
        let compute = compute_time(profile, core, own);
        let mut order: Vec<&Execution> = core.executions.iter().collect();
        order.sort_by_key(|execution| execution.span.start_ps);
        // By program and name, because the copies of a description are several operations.
        let mut open: HashMap<(u64, &str), Execution> = HashMap::new();
        for execution in order {
            let op = &profile.ops[execution.op];
            let Some(key) = op.key() else { continue };
            if let Some(started) = starts.get(&key).and_then(|name| open.remove(&(key.0, *name))) {
                found.push(transfer(profile, core.ordinal, &started, execution, &compute));
            }
            if op.category.ends_with("-start") || matches!(op.category.as_str(), "send" | "recv") {
                unfinished += u64::from(open.insert(key, *execution).is_some());
            }
        }
        unfinished += open.len() as u64;
    }
    found.sort_by_key(|transfer| (transfer.core, transfer.span.start_ps));
    (found, unfinished)
}

fn transfer<'a>(
    profile: &'a TpuProfile,
    core: u32,
    start: &Execution,
    done: &Execution,
    compute: &Coverage,
) -> Transfer<'a> {
    let (start_op, done_op) = (&profile.ops[start.op], &profile.ops[done.op]);
    let begin = start.span.start_ps;
    let end = done.span.end_ps().max(begin);
    let span = PicoSpan::new(begin, end.abs_diff(begin));
    let hidden_ps = compute.between(begin, end).unsigned_abs();
    let exposed_ps = start.span.duration_ps.saturating_add(done.span.duration_ps).min(span.duration_ps);
    Transfer {
        core,
        start: start_op,
        done: done_op,
        direction: direction(start_op),
        bytes: start_op.raw_bytes.unwrap_or(start_op.bytes),
        span,
        exposed_ps,
        hidden_ps,
        other_ps: span.duration_ps.saturating_sub(exposed_ps).saturating_sub(hidden_ps),
    }
}

/// Times in which operations without others inside computed.
fn compute_time(profile: &TpuProfile, core: &TpuCore, own: &[u64]) -> Coverage {
    let computes = |execution: &Execution| {
        let op = &profile.ops[execution.op];
        let is_flying = ["-start", "-done"].iter().any(|end| op.category.ends_with(end));
        work_class(&op.category, &op.expression) == WorkClass::Compute && !is_flying
    };
    let leaves = core.executions.iter().zip(own);
    let leaves = leaves.filter(|(execution, own)| **own == execution.span.duration_ps && computes(execution));
    let spans = leaves.map(|(execution, _)| Interval::new(execution.span.start_ps, execution.span.end_ps()));
    Coverage::new(&spans.collect())
}

/// How much of any span is covered by a set of intervals, in the time of a binary search.
struct Coverage {
    /// Start and end of each interval, and the length of all before it.
    intervals: Vec<(i64, i64, i64)>,
}

impl Coverage {
    fn new(set: &IntervalSet) -> Self {
        let mut before = 0;
        let intervals = set.iter().map(|interval| {
            let entry = (interval.start, interval.end, before);
            before += interval.length();
            entry
        });
        Coverage { intervals: intervals.collect() }
    }

    /// Covered time before a moment.
    fn until(&self, time: i64) -> i64 {
        let next = self.intervals.partition_point(|interval| interval.0 < time);
        let Some(&(start, end, before)) = next.checked_sub(1).and_then(|last| self.intervals.get(last))
        else {
            return 0;
        };
        before + time.min(end) - start
    }

    fn between(&self, begin: i64, end: i64) -> i64 {
        self.until(end) - self.until(begin)
    }
}

/// The name of the start that each end waits for: the operand that is one, or else the end's own name with `start` for
/// `done`.
fn start_of_done(profile: &TpuProfile) -> HashMap<(u64, &str), &str> {
    let names = OpNames(profile.ops.iter().filter_map(|op| op.key().map(|key| (key, op))).collect());
    let mut starts = HashMap::new();
    for (&(program, name), op) in &names.0 {
        if !op.category.ends_with("-done") {
            continue;
        }
        let mut operands = operands(&op.expression).filter_map(|operand| names.known(program, operand));
        let by_name = || names.known(program, &name.replace("-done", "-start").replace("_done", "_start"));
        if let Some(start) = operands.next().or_else(by_name).filter(|start| *start != name) {
            starts.insert((program, name), start);
        }
    }
    starts
}

/// Operations by program and name.
struct OpNames<'a>(HashMap<(u64, &'a str), &'a TpuOp>);

impl<'a> OpNames<'a> {
    fn known(&self, program: u64, name: &str) -> Option<&'a str> {
        self.0.get(&(program, name)).map(|op| op.name.as_str())
    }
}

/// Names of instructions behind the equals sign of an instruction's text.
fn operands(expression: &str) -> impl Iterator<Item = &str> {
    let right = expression.split_once(" = ").map_or("", |sides| sides.1);
    right.split('%').skip(1).map(|rest| {
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// A start's result has the destination first and the source second.
fn direction(start: &TpuOp) -> Direction {
    if category::is_collective(&start.category) {
        return Direction::Collective;
    }
    if start.category != "copy-start" {
        return Direction::Other;
    }
    let shape = start.expression.split_once(" = ").map_or(start.shape.as_str(), |sides| sides.1);
    let mut parts = tuple_parts(shape);
    let mut in_host = || parts.next().is_some_and(category::touches_host_memory);
    match (in_host(), in_host()) {
        (false, true) => Direction::HostToDevice,
        (true, false) => Direction::DeviceToHost,
        (true, true) => Direction::HostToHost,
        (false, false) => Direction::DeviceToDevice,
    }
}

/// The elements of the tuple that a text begins with; the text itself when it begins with none.
fn tuple_parts(text: &str) -> impl Iterator<Item = &str> {
    let inner = text.strip_prefix('(').unwrap_or(text);
    let (mut depth, mut from, mut parts) = (0_i32, 0, Vec::new());
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth < 0 || depth == 0 && byte == b',' {
            parts.push(&inner[from..at]);
            from = at + 1;
        }
        if depth < 0 {
            return parts.into_iter();
        }
    }
    parts.push(&inner[from..]);
    parts.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(expression: &str) -> TpuOp {
        TpuOp { category: "copy-start".into(), expression: expression.into(), ..TpuOp::default() }
    }

    #[test]
    fn the_first_element_of_a_start_is_where_the_data_goes() {
        for (expression, expected) in [
            (
                "%c = (f32[5]{0:T(8,128)}, f32[5]{0:T(8,128)S(5)}, u32[]{:S(2)}) copy-start(f32[5] %p)",
                Direction::HostToDevice,
            ),
            (
                "%c = (f32[5]{0:T(8,128)S(5)}, f32[5]{0:T(8,128)}, u32[]{:S(2)}) copy-start(f32[5] %p)",
                Direction::DeviceToHost,
            ),
            ("%c = (f32[5]{0:S(5)}, f32[5]{0:S(5)}, u32[]) copy-start(%p)", Direction::HostToHost),
            (
                "%c = (f32[5]{0:S(1)}, f32[5]{0}, u32[]{:S(2)}) copy-start(f32[5]{0} %p)",
                Direction::DeviceToDevice,
            ),
            ("", Direction::DeviceToDevice),
        ] {
            assert_eq!(direction(&start(expression)), expected, "{expression}");
        }
        let gather = TpuOp { category: "all-gather-start".into(), ..TpuOp::default() };
        assert_eq!(direction(&gather), Direction::Collective);
    }

    #[test]
    fn coverage_counts_parts_of_intervals() {
        let coverage = Coverage::new(&[Interval::new(0, 10), Interval::new(20, 30)].into_iter().collect());
        for (begin, end, covered) in
            [(-5, 0, 0), (-5, 5, 5), (5, 25, 10), (10, 20, 0), (12, 99, 10), (0, 30, 20)]
        {
            assert_eq!(coverage.between(begin, end), covered, "{begin}..{end}");
        }
        assert_eq!(Coverage::new(&IntervalSet::default()).between(0, 9), 0);
    }

    #[test]
    fn operands_are_the_names_behind_the_equals_sign() {
        let text =
            "%copy-done.4 = f32[5]{0} copy-done((f32[5]{0}, u32[]) %copy-start.4), metadata={op=\"%x\"}";
        assert_eq!(operands(text).collect::<Vec<_>>(), ["copy-start.4", "x"]);
        assert_eq!(operands("%lonely").count(), 0);
    }
}
