//! Executions of programs, and of instructions in them.

use gpu_timeline::{Interval, busy_time};
use trace_ingest::xplane::Profile;
use trace_ingest::{EventId, StringId};

use super::device_events::DeviceEvent;
use super::host_executions::HostExecutions;
use super::operators::{Operator, Program};
use super::segmentation::{Launched, executions as segmented, warm_up_executions};

/// One execution of a compiled program on one GPU.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Position of the GPU in [`super::JaxAnalysis::gpus`].
    pub gpu: usize,
    /// The program.
    pub program: Program,
    /// Number among the executions of the program on the GPU, from 0.
    pub number: usize,
    /// Start of the first kernel, in picoseconds.
    pub start: i64,
    /// End of the last kernel.
    pub end: i64,
    /// Time in which at least one kernel ran, in picoseconds.
    pub busy: i64,
    /// Kernels.
    pub kernels: usize,
    /// Whether it took longer than the steady ones behind it: compilation of kernels, caches, clocks.
    pub is_warm_up: bool,
}

/// One execution of an instruction: the kernels that a program launched for it, next to each other.
#[derive(Clone, Debug)]
pub struct Call {
    /// Position of the instruction in [`super::JaxAnalysis::operators`].
    pub operator: usize,
    /// Position of the program's execution in [`super::JaxAnalysis::executions`]; `None` for what no program ran.
    pub execution: Option<usize>,
    /// Positions of its kernels in [`super::JaxAnalysis::device_events`], in the order of their launches.
    pub kernels: Vec<usize>,
    /// Time in which at least one of them ran, in picoseconds.
    pub time: i64,
}

/// The executions, and the calls by their first kernel's uid.
pub(super) fn find(
    profile: &Profile,
    device_events: &[DeviceEvent],
    operators: &[Operator],
) -> (Vec<Execution>, Vec<Call>) {
    let events = profile.trace.events();
    let (mut executions, mut calls) = (Vec::new(), Vec::new());
    let call = |operator, execution, kernels: Vec<usize>| {
        let time = union(profile, device_events, &kernels);
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
    for of_program in
        order.chunk_by(|&a, &b| (device_events[a].gpu, program(a)) == (device_events[b].gpu, program(b)))
    {
        let Some(program) = of_program.first().and_then(|&at| program(at)) else {
            calls.extend(of_program.iter().map(|&at| call(device_events[at].operator, None, vec![at])));
            continue;
        };
        let launched: Vec<Launched<(usize, StringId), EventId>> = of_program
            .iter()
            .map(|&at| Launched {
                kernel: kernel(profile, &device_events[at]),
                host: device_events[at].launch.and_then(|launch| host.around(launch)),
                once: operators[device_events[at].operator].runs_once,
            })
            .collect();
        let numbers = segmented(&launched);
        let first = executions.len();
        let positions: Vec<usize> = (0..of_program.len()).collect();
        for of_execution in positions.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
            let kernels: Vec<usize> = of_execution.iter().map(|&position| of_program[position]).collect();
            let number = executions.len() - first;
            for run in runs(profile, device_events, operators, &kernels) {
                calls.push(call(device_events[run[0]].operator, Some(executions.len()), run.to_vec()));
            }
            executions.push(execution(profile, device_events, &kernels, program, number));
        }
        let times: Vec<i64> =
            executions[first..].iter().map(|execution: &Execution| execution.busy).collect();
        let warm_up = warm_up_executions(&times);
        executions[first..].iter_mut().take(warm_up).for_each(|execution| execution.is_warm_up = true);
    }
    calls.sort_by_key(|call| call.kernels.iter().min().copied());
    (executions, calls)
}

/// Tells kernels of one program apart.
fn kernel(profile: &Profile, event: &DeviceEvent) -> (usize, StringId) {
    (event.operator, profile.trace.events().name(event.event))
}

/// Kernels of one execution by instruction: those next to each other. In a loop the first kernel begins anew.
fn runs<'k>(
    profile: &Profile,
    device_events: &[DeviceEvent],
    operators: &[Operator],
    kernels: &'k [usize],
) -> Vec<&'k [usize]> {
    let mut runs = Vec::new();
    let mut start = 0;
    for at in 1..=kernels.len() {
        let ends = kernels.get(at).is_none_or(|&next| {
            let (first, next) = (&device_events[kernels[start]], &device_events[next]);
            let is_loop = !operators[first.operator].runs_once;
            let again = is_loop && kernel(profile, first) == kernel(profile, next);
            first.operator != next.operator || again
        });
        if ends {
            runs.push(&kernels[start..at]);
            start = at;
        }
    }
    runs
}

fn execution(
    profile: &Profile,
    device_events: &[DeviceEvent],
    kernels: &[usize],
    program: Program,
    number: usize,
) -> Execution {
    let events = profile.trace.events();
    let event = |&at: &usize| device_events[at].event;
    Execution {
        gpu: kernels.first().map_or(0, |&at| device_events[at].gpu),
        program,
        number,
        start: kernels.iter().map(|at| events.start(event(at))).min().unwrap_or_default(),
        end: kernels.iter().map(|at| events.end(event(at))).max().unwrap_or_default(),
        busy: union(profile, device_events, kernels),
        kernels: kernels.len(),
        is_warm_up: false,
    }
}

/// Time in which at least one of the events ran.
fn union(profile: &Profile, device_events: &[DeviceEvent], kernels: &[usize]) -> i64 {
    let events = profile.trace.events();
    let interval = |&at: &usize| {
        let event = device_events[at].event;
        Interval::new(events.start(event), events.end(event))
    };
    busy_time(kernels.iter().map(interval), &mut Vec::new())
}
