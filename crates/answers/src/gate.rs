//! Recordings as a gate keeps them: the times of steps and of the work in them, and what makes them comparable.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::Hasher as _;
use std::io::Read as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

use gpu_timeline::{Activity, Breakdown, DeviceEvent, SortFew};
use hashbrown::{HashMap, HashSet};
use inference_phase::Step;
use iterations::{Division, Iteration, Mark, Part, Program};
use perf_gate::{
    MOST_BASELINE_BYTES, MOST_STEPS, MOST_UNITS, Recording, Rest, Setup, Steps, Unit, Workload, is_baseline,
    read_baseline,
};
use trace_doctor::{Diagnosis, Severity};
use trace_ingest::{
    ArgumentId, EventId, IngestError, ReadOptions, RecordingKind, Sequence, StringId, Trace,
    is_standard_input, read_path,
};
use trace2tree::{EventSet, TraceTree, TreeOptions, module_class, module_name};
use tree_perf::{Analysis, AnalysisOptions};
use twox_hash::XxHash64;

use crate::error::Error;
use crate::host_alone::no_gpu_events;
use crate::report::{lost_events, title};
use crate::trace::{named_devices, versions};

/// Reads recordings for a gate.
#[derive(Clone, Debug, Default)]
pub struct GateReader {
    /// Whether units of work tell the `nn.Module` that they ran in; reads Python frames.
    pub modules: bool,
    /// How trees are built: what finds the launch of a device event, and whether recorded ends are kept.
    pub tree: TreeOptions,
}

impl GateReader {
    /// What a gate keeps of a recording, or of those that a baseline file keeps.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or has no device work.
    pub fn read(&self, path: &Path, reading: &ReadOptions<'_>) -> Result<Vec<Recording>, Error> {
        if is_standard_input(path) {
            return Err(Error::NeedsFile { path: path.to_path_buf() });
        }
        if is_baseline_file(path) {
            return kept_recordings(path);
        }
        let trace = read_path(path, &ReadOptions { skip_python_frames: !self.modules, ..*reading })?;
        let has_device_work = |trace: &Trace| {
            let events = trace.events();
            events.ids().any(|event| events.category(event).is_device())
        };
        if !has_device_work(&trace) {
            return Err(no_gpu_events(path, &trace));
        }
        // The hash is taken beside the analysis, most of which is done by one thread.
        let (hash, mut recording) = std::thread::scope(|scope| {
            let hash = scope.spawn(|| hash_of(path));
            let recording = self.recording(trace, reading.thread_count());
            (hash.join().unwrap_or_else(|panic| resume_unwind(panic)), recording)
        });
        recording.file = title(path);
        recording.hash = format!("{:016x}", hash.map_err(|source| unreadable(path, source))?);
        recording.host = recording.host.or_else(|| host(&recording.file));
        Ok(vec![recording])
    }

    /// What a gate keeps of a trace, without the name and the hash of a file.
    #[must_use]
    pub fn recording(&self, trace: Trace, threads: usize) -> Recording {
        let options = AnalysisOptions {
            link_by: self.tree.link_by,
            keep_overruns: self.tree.keep_overruns,
            group_by_parent_module: self.modules,
            ..AnalysisOptions::default()
        };
        let tree_options = TreeOptions { threads, ..options.tree_options() };
        let tree = TraceTree::build(trace, &tree_options);
        let diagnosis = Diagnosis::new(&tree);
        recording(&Analysis::from_tree(tree, options), Some(&diagnosis), self.modules)
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    IngestError::Io { path: path.to_path_buf(), source }.into()
}

/// Whether a file says that it is a baseline.
#[must_use]
pub fn is_baseline_file(path: &Path) -> bool {
    /// Bytes by which a baseline file is recognised.
    const START: u64 = 256;
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START).read_to_end(&mut start));
    read.is_ok() && is_baseline(&start)
}

/// The recordings of a baseline file.
fn kept_recordings(path: &Path) -> Result<Vec<Recording>, Error> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BASELINE_BYTES + 1).read_to_end(&mut text));
    read.map_err(|source| unreadable(path, source))?;
    if text.len() as u64 > MOST_BASELINE_BYTES {
        return Err(Error::LargeBaseline { path: path.to_path_buf(), most: MOST_BASELINE_BYTES });
    }
    read_baseline(&text).map_err(|error| Error::Baseline { path: path.to_path_buf(), error })
}

/// Hash of the bytes of a file, or of all files of a directory in the order of their names.
fn hash_of(path: &Path) -> std::io::Result<u64> {
    let mut files = vec![path.to_path_buf()];
    if path.is_dir() {
        files = std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
        files.retain(|file: &PathBuf| file.is_file());
        files.sort_few();
    }
    let mut hasher = XxHash64::with_seed(0);
    let mut buffer = vec![0; 1 << 20];
    for file in files {
        let mut file = File::open(file)?;
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => hasher.write(&buffer[..read]),
            }
        }
    }
    Ok(hasher.finish())
}

/// Hash of the host in a name that PyTorch's profiler gives a trace, `HOST_PID.TIME.pt.trace.json`.
fn host(file: &str) -> Option<String> {
    let (process, _) = file.split_once(".pt.trace.json")?;
    let (host, numbers) = process.rsplit_once('_')?;
    let is_number = numbers.starts_with(|c: char| c.is_ascii_digit())
        && numbers.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_number.then(|| format!("{:016x}", XxHash64::oneshot(0, host.as_bytes())))
}

/// The moment of the first event, in nanoseconds since 1970, where it is one of the wall clock.
fn recorded_at(trace: &Trace) -> Option<i64> {
    /// 2015 and 2101.
    const PLAUSIBLE_TIMES: std::ops::Range<i128> =
        1_420_070_400 * 1_000_000_000..4_133_980_800 * 1_000_000_000;
    let origin = i128::from(trace.origin()) * 1000 / i128::from(trace.time_unit().per_microsecond());
    let time = origin + i128::from(trace.facts().base_time_nanoseconds.unwrap_or(0));
    if PLAUSIBLE_TIMES.contains(&time) { i64::try_from(time).ok() } else { None }
}

/// What a unit of work is known by, as long as names are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct UnitKey {
    operator: Option<(StringId, Option<ArgumentId>, Option<ArgumentId>)>,
    module: Option<u32>,
    kernel: StringId,
}

/// A part of the time of a step, in the order in which concurrent ones count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StepPart {
    part: Part,
    /// Computation before communication before copies, as in [`Breakdown`].
    activity: Activity,
    /// Place of the unit among those that are kept; behind them all others.
    unit: u32,
}

/// A device event that counts, with the part of its step's time that it belongs to.
type Work = (EventId, StepPart);

fn recording(analysis: &Analysis, diagnosis: Option<&Diagnosis>, modules: bool) -> Recording {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let found = analysis.iterations();
    let mut steps = Steps::default();
    // By kept step, how much longer its wait is than its device's idle time.
    let mut waits: Vec<i64> = Vec::new();
    let division = match found.steps() {
        Some((level, measured)) => {
            steps.kind = level.kind.as_str().to_owned();
            steps.evidence = level.evidence.as_str().to_owned();
            steps.recorded = level.iterations.len();
            let is_whole = |(index, iteration): &(usize, &Iteration)| {
                let figures = &measured.iterations[*index];
                iteration.whole && figures.mark != Some(Mark::Partial) && figures.device_events > 0
            };
            let whole = level.iterations.iter().enumerate().filter(is_whole);
            steps.index = whole.map(|(index, _)| index).take(MOST_STEPS).collect();
            waits = steps.index.iter().map(|&index| measured.iterations[index].wait_beyond_idle()).collect();
            Some(Division::new(tree, &level.iterations))
        }
        // The recording is the only step.
        None => {
            steps.kind = "whole recording".to_owned();
            steps.recorded = 1;
            steps.index = vec![0];
            None
        }
    };
    let mut units = Units::new(analysis, modules);
    let counts = |event: EventId| analysis.options().include_unlinked_kernels || tree.contains(event);
    let work = analysis.activities().filter(|&(event, _)| counts(event));
    let mut work: Vec<Work> = work
        .map(|(event, activity)| {
            let part = match &division {
                Some(division) => division.part_of(event).unwrap_or(Part::Before),
                None => Part::Iteration(0),
            };
            (event, StepPart { part, activity, unit: units.of(event) })
        })
        .collect();
    let place: HashMap<usize, usize> =
        steps.index.iter().enumerate().map(|(place, &index)| (index, place)).collect();
    let place_of = |part: Part| match part {
        Part::Iteration(index) => place.get(&index).copied(),
        _ => None,
    };
    let kept = units.keep_largest(&mut work, |part| place_of(part).is_some(), trace);
    let count = steps.index.len();
    let mut made = Recording {
        setup: setup(analysis, diagnosis, modules),
        recorded_at: recorded_at(trace),
        host: trace
            .facts()
            .trace_name
            .as_deref()
            .map(|name| name.rsplit('/').next().unwrap_or(name))
            .and_then(host),
        rest: Rest { units: units.keys.len() - kept.len(), own_time: vec![0; count] },
        exposed_communication: vec![0; count],
        idle: vec![0; count],
        kernels: vec![0; count],
        ..Recording::default()
    };
    let mut own_times = vec![vec![0; count]; kept.len()];
    let mut kernel_times = own_times.clone();
    let ns = |time: i64| time * 1000 / trace.time_unit().per_microsecond();
    let events = trace.events();
    for (event, StepPart { part, unit, .. }) in &work {
        let Some(at) = place_of(*part) else { continue };
        made.kernels[at] = made.kernels[at].saturating_add(1);
        if let Some(times) = kernel_times.get_mut(*unit as usize) {
            times[at] += ns(events.duration(*event));
        }
    }
    let timeline = work.iter().map(|&(event, part)| {
        (DeviceEvent::new(events.start(event), events.end(event), part.activity), part)
    });
    for (StepPart { part, activity, unit }, breakdown) in
        Breakdown::by_part(timeline, None, analysis.unrecorded())
    {
        let Some(at) = place_of(part) else { continue };
        made.idle[at] += ns(breakdown.idle);
        let busy = match (activity, own_times.get_mut(unit as usize)) {
            (Activity::Communication, _) => {
                // What runs beside the computation of another step is hidden, as everywhere.
                let hidden = breakdown.busy - breakdown.exposed_communication;
                made.exposed_communication[at] += ns(breakdown.exposed_communication);
                made.rest.own_time[at] += ns(hidden);
                continue;
            }
            (_, Some(times)) => times,
            (_, None) => &mut made.rest.own_time,
        };
        busy[at] += ns(breakdown.busy);
    }
    for (idle, wait) in made.idle.iter_mut().zip(waits) {
        *idle = (*idle + ns(wait)).max(0);
    }
    let duration = |at: usize| -> i64 {
        let parts = made.idle[at] + made.exposed_communication[at] + made.rest.own_time[at];
        parts + own_times.iter().map(|times| times[at]).sum::<i64>()
    };
    steps.duration = (0..count).map(duration).collect();
    made.steps = steps;
    // The first step often does more, so it tells nothing of the others.
    let usual = made.counted_steps(1);
    let is_usual = |part: Part| place_of(part).is_some_and(|place| usual.contains(&place));
    let calls = units.calls(&work, kept.len(), is_usual, usual.len());
    for (((key, kernel_time), own_time), calls) in
        kept.into_iter().zip(kernel_times).zip(own_times).zip(calls)
    {
        let own_time = (own_time != kernel_time).then_some(own_time);
        made.units.push(Unit { calls, kernel_time, own_time, ..units.named(key) });
    }
    made.workload = units.workload(&work, is_usual, usual.len());
    serving(analysis, &mut made.workload);
    made
}

/// The units of work of a trace.
struct Units<'a> {
    analysis: &'a Analysis,
    modules: Option<Modules<'a>>,
    by_key: HashMap<UnitKey, u32>,
    keys: Vec<UnitKey>,
}

/// Modules by their names without the numbers of instances.
#[derive(Default)]
struct Modules<'a> {
    by_name: HashMap<&'a str, u32>,
    names: Vec<&'a str>,
}

impl<'a> Units<'a> {
    fn new(analysis: &'a Analysis, modules: bool) -> Self {
        let modules = modules.then(Modules::default);
        Units { analysis, modules, by_key: HashMap::new(), keys: Vec::new() }
    }

    /// What is known of the operator that launched a device event.
    fn operator(&self, event: EventId) -> Option<(StringId, Option<ArgumentId>, Option<ArgumentId>)> {
        let (tree, trace) = (self.analysis.tree(), self.analysis.trace());
        let operator = tree.operator(event)?;
        let signature = trace.events().signature(operator).map(|id| trace.signatures().get(id));
        let signature = signature.unwrap_or_default();
        Some((trace.events().name(operator), signature.dims, signature.types))
    }

    /// The unit of a device event.
    fn of(&mut self, event: EventId) -> u32 {
        let (tree, trace) = (self.analysis.tree(), self.analysis.trace());
        let operator = self.operator(event);
        let module = self.modules.as_mut().and_then(|modules| {
            let name = module_class(trace.name(tree.parent_module(event)?));
            let next = u32::try_from(modules.names.len()).unwrap_or(u32::MAX);
            Some(*modules.by_name.entry(name).or_insert_with(|| {
                modules.names.push(name);
                next
            }))
        });
        let key = UnitKey { operator, module, kernel: trace.events().name(event) };
        let next = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        *self.by_key.entry(key).or_insert_with(|| {
            self.keys.push(key);
            next
        })
    }

    /// Numbers the units with the most time in the steps that count from 0, in the order of their time, and gives all
    /// others the number behind.
    fn keep_largest(&self, work: &mut [Work], counts: impl Fn(Part) -> bool, trace: &Trace) -> Vec<UnitKey> {
        let mut times = vec![0_i64; self.keys.len()];
        for (event, StepPart { part, unit, .. }) in work.iter() {
            if counts(*part) {
                let time = &mut times[*unit as usize];
                *time = time.saturating_add(trace.events().duration(*event));
            }
        }
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_few_by_key(|&unit| (std::cmp::Reverse(times[unit]), unit));
        order.truncate(MOST_UNITS);
        let behind = u32::try_from(order.len()).unwrap_or(u32::MAX);
        let mut numbers = vec![behind; self.keys.len()];
        for (number, &unit) in (0..).zip(&order) {
            numbers[unit] = number;
        }
        work.iter_mut().for_each(|(_, part)| part.unit = numbers[part.unit as usize]);
        order.into_iter().map(|unit| self.keys[unit]).collect()
    }

    /// A unit with the names that its key stands for.
    fn named(&self, key: UnitKey) -> Unit {
        let trace = self.analysis.trace();
        let (op, dims, types) = self.operator_text(key.operator);
        let modules = self.modules.as_ref();
        let module = key.module.and_then(|at| modules?.names.get(at as usize).copied());
        Unit {
            op,
            dims,
            types,
            module: module_name(module.unwrap_or_default()).to_owned(),
            kernel: trace.text(key.kernel).to_owned(),
            ..Unit::default()
        }
    }

    fn operator_text(
        &self,
        operator: Option<(StringId, Option<ArgumentId>, Option<ArgumentId>)>,
    ) -> (String, String, String) {
        let trace = self.analysis.trace();
        let Some((name, dims, types)) = operator else { return Default::default() };
        let text = |argument: Option<ArgumentId>| {
            let argument =
                argument.map(|id| trace.signatures().argument(id).display(Sequence::Tuple).to_string());
            shortened(argument.unwrap_or_default())
        };
        (trace.text(name).to_owned(), text(dims), text(types))
    }

    /// Calls of the operator of each kept unit, per step.
    fn calls(&self, work: &[Work], kept: usize, counts: impl Fn(Part) -> bool, steps: usize) -> Vec<f64> {
        let tree = self.analysis.tree();
        let mut seen: HashSet<(u32, EventId)> = HashSet::new();
        let mut calls = vec![0_u64; kept];
        for &(event, StepPart { part, unit, .. }) in work {
            if counts(part)
                && let Some(calls) = calls.get_mut(unit as usize)
                && seen.insert((unit, tree.operator(event).unwrap_or(event)))
            {
                *calls += 1;
            }
        }
        calls.into_iter().map(|calls| calls as f64 / steps.max(1) as f64).collect()
    }

    /// What the program did in a step.
    fn workload(&self, work: &[Work], counts: impl Fn(Part) -> bool, steps: usize) -> Workload {
        /// Operators with arguments that are kept one by one: more than a program has in practice.
        const MOST: usize = 4096;
        let (tree, trace) = (self.analysis.tree(), self.analysis.trace());
        let steps = steps.max(1) as f64;
        let mut seen = EventSet::with_capacity(trace.events().len());
        let mut in_steps = EventSet::with_capacity(trace.events().len());
        let mut by_key: HashMap<(Option<_>, Option<StringId>), u64> = HashMap::new();
        for &(event, _) in work.iter().filter(|(_, step_work)| counts(step_work.part)) {
            in_steps.insert(event);
            let operator = self.operator(event);
            let kernel = if operator.is_none() { Some(trace.events().name(event)) } else { None };
            if seen.insert(tree.operator(event).unwrap_or(event)) {
                *by_key.entry((operator, kernel)).or_default() += 1;
            }
        }
        let mut calls: Vec<(String, u64)> = by_key
            .into_iter()
            .map(|((operator, kernel), calls)| {
                let (name, dims, types) = self.operator_text(operator);
                let kernel = kernel.map_or("", |kernel| trace.text(kernel));
                let text = [&*name, &*dims, &*types, kernel].join("\n");
                (format!("{:016x}", XxHash64::oneshot(0, text.as_bytes())), calls)
            })
            .collect();
        calls.sort_few_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut kept: BTreeMap<String, f64> = BTreeMap::new();
        for (position, (key, calls)) in calls.into_iter().enumerate() {
            let key = if position < MOST { key } else { "others".to_owned() };
            *kept.entry(key).or_default() += calls as f64 / steps;
        }
        let mut flops = None;
        for work in self.analysis.charged_work() {
            if let Some(work_flops) = work.flops()
                && work.device_events.first().is_some_and(|&event| in_steps.contains(event))
            {
                *flops.get_or_insert(0.0) += work_flops / steps;
            }
        }
        Workload { calls: kept, flops, ..Workload::default() }
    }
}

/// A text of bounded length that still differs from others.
fn shortened(text: String) -> String {
    const LONGEST: usize = 300;
    if text.len() <= LONGEST {
        return text;
    }
    let end = (0..=LONGEST).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}… #{:016x}", &text[..end], XxHash64::oneshot(0, text.as_bytes()))
}

/// What an inference engine did, by the annotations of its steps.
fn serving(analysis: &Analysis, workload: &mut Workload) {
    if analysis.iterations().detected().program() != Program::LanguageModel {
        return;
    }
    let (mut prompt_tokens, mut tokens, mut requests, mut steps) = (0_i64, 0_i64, 0_i64, 0_u32);
    for load in Step::annotated(analysis.trace()).iter().map(|step| step.load) {
        if let (Some(context), Some(generation)) = (load.context_tokens, load.generation_tokens) {
            prompt_tokens = prompt_tokens.saturating_add(context);
            tokens = tokens.saturating_add(context).saturating_add(generation);
        }
        if let (Some(context), Some(generation)) = (load.context_requests, load.generation_requests) {
            requests = requests.saturating_add(context).saturating_add(generation);
            steps += 1;
        }
    }
    workload.prefill_percent = (tokens > 0).then(|| 100.0 * prompt_tokens as f64 / tokens as f64);
    workload.batch_size = (steps > 0).then(|| requests as f64 / f64::from(steps));
}

fn setup(analysis: &Analysis, diagnosis: Option<&Diagnosis>, modules: bool) -> Setup {
    let trace = analysis.trace();
    let facts = trace.facts();
    let coverage = analysis.coverage();
    let (linked, unlinked) = (coverage.linked_time_us, coverage.unlinked_time_us);
    let options = [
        ("record_shapes", facts.record_shapes),
        ("with_stack", facts.with_stack),
        ("with_flops", facts.with_flops),
        ("with_modules", facts.with_modules),
        ("profile_memory", facts.profile_memory),
    ];
    let options = options.into_iter().filter_map(|(name, was)| Some((name.to_owned(), was?)));
    let findings = diagnosis.iter().flat_map(|diagnosis| &diagnosis.findings);
    let faults = findings.filter(|finding| finding.severity >= Severity::Warning);
    let distributed = facts.distributed.as_ref();
    let nccl = distributed.and_then(|distributed| distributed.nccl_version.clone());
    let nccl = nccl.map(|version| ("communication library", version));
    let versions = versions(facts).chain(nccl);
    Setup {
        recorder: facts.recorder.kind.unwrap_or(RecordingKind::Trace).to_string(),
        devices: named_devices(trace).1.into_iter().map(str::to_owned).collect(),
        rank: distributed.and_then(|distributed| distributed.rank),
        world_size: distributed.and_then(|distributed| distributed.world_size),
        options: options.collect(),
        versions: versions.map(|(name, version)| (name.to_owned(), version)).collect(),
        modules,
        truncated: lost_events(trace),
        // Where the recorder cannot know launches, none is missing.
        linked_percent: match analysis.knows_all_launches() {
            true if linked + unlinked > 0.0 => 100.0 * linked / (linked + unlinked),
            _ => 100.0,
        },
        faults: faults.map(|finding| format!("{} ({})", finding.text, finding.rule.id)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use iterations::Window;
    use perf_gate::{Decision, Gate, Thresholds};
    use testdata::random::Random;
    use testdata::step_noise::StepNoise;
    use trace_ingest::{Category, EventArguments, TraceBuilder, TrackId};

    use super::*;
    use crate::any_recording::AnyReporter;
    use crate::report::{Analysed, Reporter, Run};

    /// A trace in the making: operators one after the other, with their kernels at the same time on stream 7.
    struct Recorded {
        builder: TraceBuilder,
        host: TrackId,
        correlation: i64,
    }

    impl Recorded {
        fn new() -> Self {
            let mut builder = TraceBuilder::new();
            let host = builder.track(1, 1);
            Recorded { builder, host, correlation: 0 }
        }

        /// Launches a kernel, which runs from `start` for so many nanoseconds.
        fn launch(&mut self, operator: &str, kernel: &str, stream: i64, start: i64, length: i64) {
            self.correlation += 1;
            let arguments =
                || EventArguments { correlation: Some(self.correlation), ..EventArguments::default() };
            let on_device = || EventArguments { device: Some(0), stream: Some(stream), ..arguments() };
            let none = EventArguments::default();
            self.builder.event(Category::CPU_OP, operator, self.host, start, 10, none);
            self.builder.event(
                Category::CUDA_RUNTIME,
                "cudaLaunchKernel",
                self.host,
                start + 1,
                2,
                arguments(),
            );
            let track = self.builder.track(0, stream);
            self.builder.event(Category::KERNEL, kernel, track, start + 5, length, on_device());
        }

        fn step(&mut self, number: usize, start: i64, end: i64) {
            let (name, none) = (format!("ProfilerStep#{number}"), EventArguments::default());
            self.builder.event(Category::USER_ANNOTATION, &name, self.host, start, end - start, none);
        }

        fn recording(self) -> Recording {
            let recording = GateReader::default().recording(self.builder.finish(), 1);
            recording.check().unwrap();
            recording
        }
    }

    #[test]
    fn every_nanosecond_of_a_step_is_of_one_part() {
        let mut recorded = Recorded::new();
        for step in 0..4 {
            let at = 10_000 * step;
            recorded.launch("aten::mm", "gemm", 7, at, 3000);
            // Half hidden behind the product, and half behind nothing.
            recorded.launch("all_reduce", "ncclDevKernel_AllReduce", 9, at + 1500, 3000);
            // At the same time as the end of the collective, of which 500 ns are left for it.
            recorded.launch("aten::add", "add", 8, at + 4000, 1000);
            recorded.step(step as usize, at, at + 9_000);
        }
        let found = recorded.recording();
        // The wait before the first one is not in the recording.
        assert_eq!(
            (&*found.steps.kind, &*found.steps.index, found.steps.recorded),
            ("step", &[1, 2, 3][..], 4)
        );
        let unit = |name: &str| found.units.iter().find(|unit| unit.op == name).unwrap();
        assert_eq!((unit("aten::mm").kernel_time[1], unit("aten::mm").own_time()[1]), (3000, 3000));
        assert_eq!((unit("all_reduce").kernel_time[1], unit("all_reduce").own_time()[1]), (3000, 0));
        assert_eq!(found.exposed_communication[1], 1000);
        // The wait for a step is its own.
        assert_eq!((found.idle[0], found.steps.duration[0]), (5000, 10_000));
        assert_eq!((found.kernels[1], unit("aten::add").calls), (3, 1.0));
    }

    /// Length and exposed communication of steps by their numbers, in ms.
    type StepTimes = BTreeMap<usize, [f64; 2]>;

    fn ms(analysis: &Analysis, time: i64) -> f64 {
        analysis.trace().to_microseconds(time) / 1e3
    }

    /// Those of the sheet of iterations.
    fn of_iterations(analysis: &Analysis) -> StepTimes {
        let Some((level, measured)) = analysis.iterations().steps() else { return StepTimes::new() };
        let steps = level.iterations.iter().zip(&measured.iterations).zip(level.first..);
        let times = |((step, figures), index): ((&Iteration, &iterations::Figures), usize)| {
            let times = [figures.duration(step), figures.breakdown.exposed_communication];
            (index, times.map(|time| ms(analysis, time)))
        };
        steps.map(times).collect()
    }

    /// Holds the length of steps and their exposed communication in windows, budgets and the gate against those of the
    /// sheet of iterations; of how many steps.
    fn check_steps(path: &Path) -> usize {
        let report = |window| {
            let reporter = AnyReporter { window, ..AnyReporter::default() };
            let report = reporter.report(&[path.to_path_buf()], &mut Run::default()).ok()?;
            match report.analysis {
                Analysed::Trace(analysis, _) => Some(analysis),
                _ => None,
            }
        };
        let Some(analysis) = report(None) else { return 0 };
        let known = of_iterations(&analysis);
        let near = |found: f64, known: f64| (found - known).abs() <= 1e-5;
        let hold = |what: &str, index: usize, found: [f64; 2]| {
            let [length, exposed] = known[&index];
            let is_so = near(found[0], length) && (near(found[1], exposed) || found[1].is_nan());
            assert!(
                is_so,
                "{}, step {index}: {what} {found:?}, iterations {:?}",
                path.display(),
                known[&index]
            );
        };
        if known.is_empty() {
            return 0;
        }
        let found = recording(&analysis, None, false);
        let Steps { index, duration, .. } = &found.steps;
        for (place, &index) in index.iter().enumerate() {
            let of_gate = [duration[place], found.exposed_communication[place]];
            hold("gate", index, of_gate.map(|ns| ns as f64 / 1e6));
        }
        let budgets = analysis.time_budgets();
        let devices: BTreeSet<i64> = budgets.iter().map(|budget| budget.device).collect();
        for budget in budgets.iter().filter(|budget| budget.is_step) {
            // Of several devices each has its own.
            let exposed =
                if devices.len() == 1 { ms(&analysis, budget.exposed_communication) } else { f64::NAN };
            hold("budget", budget.index.unwrap(), [ms(&analysis, budget.time.length()), exposed]);
        }
        // Each window is another reading.
        let last = known.keys().next_back().copied().unwrap();
        let numbers = BTreeSet::from([1.min(last), last]);
        let windows = numbers.iter().map(|&step| Window::Iterations(step..step + 1));
        for window in windows.chain([Window::Steady]) {
            let Some(part) = report(Some(window.clone())) else { continue };
            for (index, times) in of_iterations(&part) {
                hold(&format!("{window:?}"), index, times);
            }
        }
        known.len()
    }

    /// All recordings below a folder.
    fn check_all(folder: &Path) -> usize {
        /// Larger files take a test minutes.
        const MOST: u64 = 1 << 20;
        let mut steps = 0;
        for path in testdata::entries(folder) {
            let metadata = path.metadata().unwrap();
            steps += match metadata.is_dir() {
                true => check_all(&path),
                false if metadata.len() > MOST => 0,
                false => check_steps(&path),
            };
        }
        steps
    }

    #[test]
    fn a_step_takes_as_long_wherever_it_is_told() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        let steps = check_all(&folder.join("generated")) + check_all(&folder.join("recorded"));
        assert!(steps > 100, "{steps} steps");
    }

    #[test]
    fn a_step_of_the_corpus_takes_as_long_wherever_it_is_told() {
        for kind in ["pytorch", "kineto", "inference", "field/recordings"] {
            if let Some(folder) = testdata::corpus(kind) {
                let steps = check_all(&folder);
                assert!(steps > 0, "{kind}: {steps} steps");
            }
        }
    }

    #[test]
    fn a_recording_without_steps_is_one_step() {
        let mut recorded = Recorded::new();
        recorded.launch("aten::mm", "gemm", 7, 0, 3000);
        let found = recorded.recording();
        assert_eq!((&*found.steps.kind, found.steps.duration), ("whole recording", vec![3000]));
    }

    #[test]
    fn units_beyond_the_most_that_are_kept_are_summed_up() {
        let mut recorded = Recorded::new();
        let units = MOST_UNITS as i64 + 20;
        for unit in 0..units {
            recorded.launch(&format!("op{unit}"), "k", 7, 20_000 * unit, 1000 + unit);
        }
        let found = recorded.recording();
        assert_eq!((found.units.len(), found.rest.units), (MOST_UNITS, 20));
        // Those with the least time.
        assert_eq!(found.rest.own_time, [(1000..1020).sum::<i64>()]);
        assert_eq!(found.workload.calls.len(), units as usize);
    }

    #[test]
    fn hosts_are_told_from_the_names_that_the_profiler_gives() {
        let of = |name: &str| host(name);
        assert_eq!(of("node-7_4242.1700000000000.pt.trace.json.gz"), of("node-7_17.1.pt.trace.json"));
        assert_ne!(of("node-7_4242.1.pt.trace.json"), of("node-8_4242.1.pt.trace.json"));
        assert_eq!([of("trace.json"), of("my_trace.pt.trace.json")], [None, None]);
    }

    /// A trace whose steps take these times, as three operators.
    fn noisy(times: &[f64]) -> Recording {
        let mut recorded = Recorded::new();
        let mut at = 0;
        for (step, time) in times.iter().enumerate() {
            let start = at;
            for (operator, us) in [("aten::mm", 500.0), ("aten::add", 200.0), ("aten::softmax", 300.0)] {
                let length = (1000.0 * us * time) as i64;
                recorded.launch(operator, operator, 7, at, length);
                at += length + 20;
            }
            recorded.step(step, start, at);
        }
        recorded.recording()
    }

    /// What the gate promises at its defaults with five recordings a side, in separate jobs that differ by 0.5%: at most
    /// 1% of the candidates that are no slower fail, and at least 95% of those that are slower by 3% do.
    #[test]
    fn three_percent_are_found_in_five_traces_a_side_and_nothing_is_found_in_no_change() {
        const DRAWS: u32 = 120;
        let mut random = Random::new(1);
        let noise = StepNoise::between_runs(0.005);
        let mut side = |slower: f64, name: String| -> Vec<Recording> {
            let mut recording = |at: usize| {
                let times: Vec<f64> = noise.run(&mut random).iter().map(|time| slower * time).collect();
                let hash = format!("{name} {at}");
                Recording { job: Some(hash.clone()), hash, ..noisy(&times) }
            };
            (0..5).map(&mut recording).collect()
        };
        let (mut false_failures, mut found) = (0_u32, 0_u32);
        for draw in 0..DRAWS {
            let baseline = side(1.0, format!("a{draw}"));
            for (slower, count) in [(1.0, &mut false_failures), (1.03, &mut found)] {
                let candidate = side(slower, format!("b{draw} {slower}"));
                let gate = Gate::new(baseline.clone(), candidate, &Thresholds::default(), &BTreeSet::new());
                *count += u32::from(gate.unwrap().metrics[0].decision == Decision::Fail);
            }
        }
        assert!(100 * false_failures <= DRAWS, "{false_failures} of {DRAWS}");
        assert!(100 * found >= 95 * DRAWS, "{found} of {DRAWS}");
    }
}
