//! Runs of compiled programs on devices that launch nothing themselves, such as the tensor cores of TPUs: what an XPlane
//! profile has of them instead of launches by the host.

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use trace_ingest::{Category, EventId, RowId, StringId, Trace};

/// Categories that XPlane profiles have for events of such devices.
const MODULE: &str = "xla_module";
const OPERATION: &str = "xla_op";
const STEP: &str = "xla_step";
const ALL: [&str; 5] = [MODULE, OPERATION, STEP, "xla_async_op", "device_note"];

/// A run of a program, or a step that the recorder marked on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) event: EventId,
    pub(crate) name: StringId,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

impl Run {
    pub(crate) fn duration(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }
}

#[derive(Clone, Debug, Default)]
struct DeviceSpans {
    /// Runs of programs by start.
    runs: Vec<Run>,
    steps: Vec<Run>,
}

/// What an event of such a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Module,
    Operation,
    Step,
    Other,
}

/// The runs of a recording by device.
///
/// A program that works on several devices runs once on each, at times that differ. The runs that are as many from the
/// first of their program are one: its time is that on the device that ran longest ([`DeviceRuns::runs`]).
#[derive(Clone, Debug)]
pub(crate) struct DeviceRuns {
    kinds: HashMap<Category, Kind>,
    devices: HashMap<RowId, DeviceSpans>,
    busiest: RowId,
    /// Start on the busiest device of each run and step, by its name and number.
    starts: HashMap<(StringId, usize), i64>,
    /// Name of each run and step, and its number among those of this name on its device.
    numbers: HashMap<EventId, (StringId, usize)>,
}

impl DeviceRuns {
    /// Those of a trace; `None` where it has none.
    pub(crate) fn new(trace: &Trace) -> Option<DeviceRuns> {
        trace.strings().find(MODULE)?;
        let events = trace.events();
        let mut kinds: HashMap<Category, Option<Kind>> = HashMap::new();
        let mut devices: HashMap<RowId, DeviceSpans> = HashMap::new();
        for event in events.ids() {
            let category = events.category(event);
            let kind = *kinds.entry(category).or_insert_with(|| {
                Some(match trace.category_name(category) {
                    MODULE => Kind::Module,
                    OPERATION => Kind::Operation,
                    STEP => Kind::Step,
                    name if ALL.contains(&name) => Kind::Other,
                    _ => return None,
                })
            });
            let Some(kind @ (Kind::Module | Kind::Step)) = kind else { continue };
            let run =
                Run { event, name: events.name(event), start: events.start(event), end: events.end(event) };
            let device = devices.entry(trace.tracks().get(events.track(event)).pid).or_default();
            if kind == Kind::Module { device.runs.push(run) } else { device.steps.push(run) }
        }
        for device in devices.values_mut() {
            device.runs.sort_few_by_key(|run| (run.start, run.end, run.event));
            device.steps.sort_by_key(|step| (step.start, step.end, step.event));
        }
        let time = |device: &DeviceSpans| device.runs.iter().map(Run::duration).fold(0, i64::saturating_add);
        let busiest = devices.iter().max_by_key(|(pid, device)| (time(device), std::cmp::Reverse(**pid)));
        let busiest = *busiest?.0;
        let (mut starts, mut numbers) = (HashMap::new(), HashMap::new());
        for (pid, device) in &devices {
            for line in [&device.runs, &device.steps] {
                let mut counts: HashMap<StringId, usize> = HashMap::new();
                for run in line {
                    let count = counts.entry(run.name).or_default();
                    numbers.insert(run.event, (run.name, *count));
                    if *pid == busiest {
                        starts.insert((run.name, *count), run.start);
                    }
                    *count += 1;
                }
            }
        }
        let kinds = kinds.into_iter().filter_map(|(category, kind)| Some((category, kind?))).collect();
        Some(DeviceRuns { kinds, devices, busiest, starts, numbers })
    }

    /// The runs of programs on the device that ran longest, by start.
    pub(crate) fn runs(&self) -> &[Run] {
        self.devices.get(&self.busiest).map_or(&[], |device| &device.runs)
    }

    /// The steps that the recorder marked on that device, or on the one with the most where it has none.
    pub(crate) fn steps(&self) -> &[Run] {
        let of = |pid: &RowId| self.devices.get(pid).map_or(&[][..], |device| &device.steps);
        let all = self.devices.keys().max_by_key(|pid| (of(pid).len(), std::cmp::Reverse(**pid)));
        let own = of(&self.busiest);
        if own.is_empty() { all.map_or(&[], of) } else { own }
    }

    /// Whether events of a category are those of such devices.
    pub(crate) fn has(&self, category: Category) -> bool {
        self.kinds.contains_key(&category)
    }

    /// Whether events of a category are operations.
    pub(crate) fn is_operation(&self, category: Category) -> bool {
        self.kinds.get(&category) == Some(&Kind::Operation)
    }

    /// The run that an event of a device began in, and when this run began on the device that ran longest. Runs and steps
    /// are events of themselves.
    pub(crate) fn launch(&self, trace: &Trace, event: EventId) -> Option<(EventId, i64)> {
        let events = trace.events();
        let of = |event, start| {
            let twin = self.numbers.get(&event).and_then(|name| self.starts.get(name));
            Some((event, twin.copied().unwrap_or(start)))
        };
        let time = events.start(event);
        if self.numbers.contains_key(&event) {
            return of(event, time);
        }
        let device = self.devices.get(&trace.tracks().get(events.track(event)).pid)?;
        let after = device.runs.partition_point(|run| run.start <= time);
        let run = device.runs[..after].last().filter(|run| time < run.end)?;
        of(run.event, run.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_ingest::{EventArguments, TraceBuilder};

    /// Two runs of a program on each of two devices, the second device late by more than a run; an operation in each.
    fn recorded() -> (Trace, Vec<EventId>) {
        let mut builder = TraceBuilder::new();
        let [module, operation] = [MODULE, OPERATION].map(|name| builder.category(name));
        let mut operations = Vec::new();
        for (device, late) in [(3, 0), (4, 150)] {
            let [runs, line] = [2, 3].map(|line| builder.track(device, line));
            for start in [100, 200] {
                let start = start + late;
                let length = if device == 3 { 100 } else { 90 };
                builder.event(module, "jit_step(2)", runs, start, length, EventArguments::default());
                let own = builder.event(operation, "fusion", line, start + 10, 20, EventArguments::default());
                operations.push(own);
            }
        }
        (builder.finish(), operations)
    }

    #[test]
    fn a_run_is_one_on_all_devices_whenever_it_runs() {
        let (trace, operations) = recorded();
        let runs = DeviceRuns::new(&trace).unwrap();
        assert_eq!(runs.runs().iter().map(|run| run.start).collect::<Vec<_>>(), [0, 100]);
        let starts = operations.iter().map(|&event| runs.launch(&trace, event).unwrap().1);
        assert_eq!(starts.collect::<Vec<_>>(), [0, 100, 0, 100]);
        let [category, other] = [trace.events().category(operations[0]), Category::KERNEL];
        assert!(runs.is_operation(category) && runs.has(category) && !runs.has(other));
    }

    #[test]
    fn what_runs_between_two_runs_is_of_none() {
        let mut builder = TraceBuilder::new();
        let [module, operation] = [MODULE, OPERATION].map(|name| builder.category(name));
        let (runs, line) = (builder.track(3, 2), builder.track(3, 3));
        builder.event(module, "f", runs, 100, 50, EventArguments::default());
        let outside = builder.event(operation, "copy", line, 160, 5, EventArguments::default());
        builder.event(module, "f", runs, 200, 50, EventArguments::default());
        let trace = builder.finish();
        assert_eq!(DeviceRuns::new(&trace).unwrap().launch(&trace, outside), None);
        assert!(DeviceRuns::new(&TraceBuilder::new().finish()).is_none());
    }
}
