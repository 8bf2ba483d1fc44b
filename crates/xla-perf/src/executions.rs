//! Executions of programs, and of instructions in them.
//!
//! A GPU profile has no event per execution of a program. The host's event around the launches is the surest sign;
//! without it a new execution begins where the program's first kernel comes again.

use std::hash::Hash;

use gpu_timeline::{Interval, SortFew, busy_time, upper_median};
use hashbrown::HashMap;
use trace_ingest::xplane::{PlaneKind, Profile};
use trace_ingest::{EventId, Picoseconds, StringId, TrackId};

use crate::device_events::GpuEvent;
use crate::operators::{Operator, Program};

/// One execution of a compiled program on one GPU.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Position of the GPU in [`crate::JaxAnalysis::gpus`].
    pub gpu: usize,
    /// The program.
    pub program: Program,
    /// Number among the executions of the program on the GPU, from 0.
    pub number: usize,
    /// Start of the first kernel.
    pub start: Picoseconds,
    /// End of the last kernel.
    pub end: Picoseconds,
    /// Time in which at least one kernel ran.
    pub busy: Picoseconds,
    /// Kernels.
    pub kernels: usize,
    /// Whether it took longer than the steady ones behind it: compilation of kernels, caches, clocks.
    pub is_warm_up: bool,
}

/// One execution of an instruction: the kernels that a program launched for it, next to each other.
#[derive(Clone, Debug)]
pub struct Call {
    /// Position of the instruction in [`crate::JaxAnalysis::operators`].
    pub operator: usize,
    /// Position of the program's execution in [`crate::JaxAnalysis::executions`]; `None` for what no program ran.
    pub execution: Option<usize>,
    /// Positions of its kernels in [`crate::JaxAnalysis::device_events`], in the order of their launches.
    pub kernels: Vec<usize>,
    /// Time in which at least one of them ran.
    pub time: Picoseconds,
}

/// The executions, and the calls by their first kernel's uid.
pub(crate) fn find(
    profile: &Profile,
    device_events: &[GpuEvent],
    operators: &[Operator],
) -> (Vec<Execution>, Vec<Call>) {
    let events = profile.trace.events();
    let launches = Launches { profile, device_events, operators };
    let (mut executions, mut calls) = (Vec::new(), Vec::new());
    let call = |operator, execution, kernels: Vec<usize>| {
        let time = launches.busy(&kernels);
        Call { operator, execution, kernels, time }
    };
    // Of one program on one GPU in the order of launches: correlation ids count up.
    let mut order: Vec<usize> = (0..device_events.len()).collect();
    let program = |at: usize| operators[device_events[at].operator].program;
    order.sort_by_key(|&at| {
        let event = device_events[at].event;
        let launched = events.correlation(event).unwrap_or(i64::MAX);
        (device_events[at].gpu, program(at), launched, events.start(event), at)
    });
    let host = HostExecutions::new(profile);
    for program_events in
        order.chunk_by(|&a, &b| (device_events[a].gpu, program(a)) == (device_events[b].gpu, program(b)))
    {
        let Some(program) = program_events.first().and_then(|&at| program(at)) else {
            calls.extend(program_events.iter().map(|&at| call(device_events[at].operator, None, vec![at])));
            continue;
        };
        let launched: Vec<Launched<(usize, StringId), EventId>> = program_events
            .iter()
            .map(|&at| Launched {
                kernel: launches.kernel(at),
                host: device_events[at].launch.and_then(|launch| host.around(launch)),
                once: operators[device_events[at].operator].runs_once,
            })
            .collect();
        let numbers = execution_numbers(&launched);
        let first = executions.len();
        let positions: Vec<usize> = (0..program_events.len()).collect();
        for execution_positions in positions.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
            let kernels: Vec<usize> =
                execution_positions.iter().map(|&position| program_events[position]).collect();
            let number = executions.len() - first;
            for run in launches.runs(&kernels) {
                calls.push(call(device_events[run[0]].operator, Some(executions.len()), run.to_vec()));
            }
            executions.push(launches.execution(&kernels, program, number));
        }
        let times: Vec<i64> =
            executions[first..].iter().map(|execution: &Execution| execution.busy.0).collect();
        let warm_up = warm_up_executions(&times);
        executions[first..].iter_mut().take(warm_up).for_each(|execution| execution.is_warm_up = true);
    }
    calls.sort_few_by_key(|call| call.kernels.iter().min().copied());
    (executions, calls)
}

/// The kernels of a profile, by position.
struct Launches<'p> {
    profile: &'p Profile,
    device_events: &'p [GpuEvent],
    operators: &'p [Operator],
}

impl Launches<'_> {
    /// Identifies a kernel of a program.
    fn kernel(&self, at: usize) -> (usize, StringId) {
        let event = &self.device_events[at];
        (event.operator, self.profile.trace.events().name(event.event))
    }

    /// Kernels of one execution by instruction: those next to each other. In a loop the first kernel begins anew.
    fn runs<'k>(&self, kernels: &'k [usize]) -> Vec<&'k [usize]> {
        let mut runs = Vec::new();
        let mut start = 0;
        for at in 1..=kernels.len() {
            let ends = kernels.get(at).is_none_or(|&next| {
                let (first, next) = (self.kernel(kernels[start]), self.kernel(next));
                let is_loop = !self.operators[first.0].runs_once;
                first.0 != next.0 || is_loop && first == next
            });
            if ends {
                runs.push(&kernels[start..at]);
                start = at;
            }
        }
        runs
    }

    fn execution(&self, kernels: &[usize], program: Program, number: usize) -> Execution {
        let spans = || kernels.iter().map(|&at| self.span(at));
        Execution {
            gpu: kernels.first().map_or(0, |&at| self.device_events[at].gpu),
            program,
            number,
            start: Picoseconds(spans().map(|span| span.start).min().unwrap_or_default()),
            end: Picoseconds(spans().map(|span| span.end).max().unwrap_or_default()),
            busy: self.busy(kernels),
            kernels: kernels.len(),
            is_warm_up: false,
        }
    }

    /// Time in which at least one of the events ran.
    fn busy(&self, kernels: &[usize]) -> Picoseconds {
        Picoseconds(busy_time(kernels.iter().map(|&at| self.span(at)), &mut Vec::new()))
    }

    fn span(&self, at: usize) -> Interval {
        let (events, event) = (self.profile.trace.events(), self.device_events[at].event);
        Interval::between(events.start(event), events.end(event))
    }
}

/// How XLA names the host's work on one execution of a program on a GPU, behind the name of the module.
const EXECUTION_SUFFIX: &str = ":XLA GPU module";

/// Finds the host's execution around a launch.
struct HostExecutions<'p> {
    profile: &'p Profile,
    /// Executions of a thread by start. They do not overlap.
    by_track: HashMap<TrackId, Vec<EventId>>,
}

impl<'p> HostExecutions<'p> {
    fn new(profile: &'p Profile) -> Self {
        let hosts = profile.planes.iter().filter(|plane| plane.kind == PlaneKind::HostCpu);
        let mut by_track = HashMap::new();
        for line in hosts.flat_map(|plane| &plane.lines) {
            let is_execution = |event: &EventId| profile.trace.name(*event).ends_with(EXECUTION_SUFFIX);
            let executions: Vec<EventId> = line.events.iter().copied().filter(is_execution).collect();
            if !executions.is_empty() {
                by_track.insert(line.track, executions);
            }
        }
        HostExecutions { profile, by_track }
    }

    /// The execution on the launch's thread that the launch lies in.
    fn around(&self, launch: EventId) -> Option<EventId> {
        let events = self.profile.trace.events();
        let executions = self.by_track.get(&events.track(launch))?;
        let start = events.start(launch);
        let behind = executions.partition_point(|&execution| events.start(execution) <= start);
        let around = *executions.get(behind.checked_sub(1)?)?;
        (events.end(around) > start).then_some(around)
    }
}

/// A kernel of a program, as far as it matters where executions begin. `Kernel` identifies a kernel of a program.
#[derive(Clone, Copy, Debug)]
struct Launched<Kernel, Host> {
    kernel: Kernel,
    /// The host's execution that the launch lies in, where the profile has it.
    host: Option<Host>,
    /// Whether the program runs it once per execution: the instruction is in no loop. A loop's first kernel comes
    /// again without a new execution.
    once: bool,
}

/// Number of the execution that each kernel of one program on one device belongs to, from 0. The kernels are in the
/// order in which they were launched.
fn execution_numbers<Kernel: Copy + Eq + Hash, Host: Copy + Eq>(
    launched: &[Launched<Kernel, Host>],
) -> Vec<usize> {
    let first = launched.iter().position(|launched| launched.once);
    let marker = first.map(|at| launched[at].kernel);
    // A program of one kernel: each is an execution.
    let is_single = launched.iter().all(|other| Some(other.kernel) == marker);
    let mut numbers = Vec::with_capacity(launched.len());
    let (mut number, mut other_since) = (0, false);
    for (at, current) in launched.iter().enumerate() {
        let previous = at.checked_sub(1).map(|before| &launched[before]);
        let begins = match (previous, current.host) {
            (None, _) => false,
            (Some(Launched { host: Some(before), .. }), Some(host)) => *before != host,
            _ => marker == Some(current.kernel) && first != Some(at) && (other_since || is_single),
        };
        if begins {
            number += 1;
        }
        other_since = marker != Some(current.kernel) && (other_since || !begins);
        numbers.push(number);
    }
    numbers
}

/// How much longer than the steady ones an execution is that counts as warming up.
const WARM_UP: f64 = 1.1;

/// Number of executions at the start that took longer than the rest: caches, clocks and allocators that had not
/// settled. `times` are the busy times in order. Fewer than three executions tell nothing.
fn warm_up_executions(times: &[i64]) -> usize {
    if times.len() < 3 {
        return 0;
    }
    // Of the later half, so that a long warm-up does not hide itself.
    let steady = upper_median(times[times.len() / 2..].iter().copied()).unwrap_or(0);
    let limit = steady as f64 * WARM_UP;
    let warm_up = times.iter().take_while(|&&time| time as f64 > limit).count();
    // Times that fall from beginning to end have no steady part.
    if warm_up * 2 >= times.len() { 0 } else { warm_up }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kernels: &str) -> Vec<usize> {
        let launched: Vec<Launched<char, u32>> = kernels
            .chars()
            .map(|kernel| Launched { kernel, host: None, once: kernel.is_uppercase() })
            .collect();
        execution_numbers(&launched)
    }

    #[test]
    fn the_first_kernel_begins_an_execution() {
        // Lower case: inside a loop.
        for (kernels, expected) in [
            ("ABCABC", vec![0, 0, 0, 1, 1, 1]),
            ("AABAAB", vec![0, 0, 0, 1, 1, 1]),
            ("AAA", vec![0, 1, 2]),
            ("AbcbcDAbcD", vec![0, 0, 0, 0, 0, 0, 1, 1, 1, 1]),
            ("bcbc", vec![0, 0, 0, 0]),
            ("", vec![]),
        ] {
            assert_eq!(of(kernels), expected, "{kernels}");
        }
    }

    #[test]
    fn the_hosts_execution_is_surer_than_repetition() {
        let launched =
            [(1, Some(7)), (2, Some(7)), (1, Some(7)), (2, Some(8)), (1, Some(8)), (2, None), (1, None)]
                .map(|(kernel, host)| Launched { kernel, host, once: true });
        assert_eq!(execution_numbers(&launched), [0, 0, 0, 1, 1, 1, 2]);
    }

    #[test]
    fn slow_executions_at_the_start_are_warm_up() {
        for (times, expected) in [
            (&[240, 150, 151, 149, 150][..], 1),
            (&[400, 240, 150, 151, 149, 150], 2),
            (&[150, 151, 240, 149, 150], 0),
            (&[500, 400, 300, 200], 0),
            (&[240, 150], 0),
            (&[0, 0, 0], 0),
        ] {
            assert_eq!(warm_up_executions(times), expected, "{times:?}");
        }
    }
}
