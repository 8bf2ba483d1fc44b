//! The analysis of a profile, which its sheets are made from.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gpu_timeline::{Activity, Breakdown, DeviceEvent, IntervalSet, SortFew, Spread, Summary};
use hlo_cost::{HloModule, InstructionRef};
use iterations::{
    DetectOptions, Division, Iterations, MeasuredIterations, Part, Selected, Window, WindowError,
};
use operator_sheets::{DevicePart, Figures, Iterated, MissingPeak, Roof};
use perf_models::{Architecture, Device, architecture_of_device};
use sheets::Scope;
use trace_ingest::xplane::{Plane, PlaneKind, Profile};
use trace_ingest::{EventId, Picoseconds, Trace};
use trace2tree::{TraceTree, TreeOptions};

use crate::collectives::CollectiveAnalysis;
use crate::device_events::{self, GpuEvent, gpu_planes};
use crate::executions::{self, Call, Execution};
use crate::operators::{self, Operator, Program};
use crate::options::JaxOptions;
use crate::programs::{DecodedPrograms, ProgramError};
use crate::tpu::{TpuAnalysis, TpuProfile, core_activities};

/// A profile with its compiled programs and the work of its GPUs. All sheets are made from it.
pub struct JaxAnalysis {
    profile: Profile,
    options: JaxOptions,
    programs: DecodedPrograms,
    gpus: Vec<Gpu>,
    device_events: Vec<GpuEvent>,
    operators: Vec<Operator>,
    executions: Vec<Execution>,
    calls: Vec<Call>,
    pub(crate) roofs: OnceLock<Vec<Roof>>,
    tpu: OnceLock<Option<TpuAnalysis>>,
    pub(crate) collectives: OnceLock<CollectiveAnalysis>,
    /// As asked for, else that of the device that the profile describes.
    architecture: Option<Architecture>,
    /// `None` in a report of the core.
    iterations: Option<MeasuredIterations>,
    /// What each plane of several did in each part of the recording.
    device_parts: Vec<DevicePart>,
    /// Whether the profile is a window of a recording.
    is_window: bool,
    /// Where a window of time ends.
    window_end: Option<Picoseconds>,
    /// Sums of events without a place in time, which no window has.
    sums_left_out: usize,
}

/// A GPU with events.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// Id of its plane plus 1: the process id of trace viewers.
    pub pid: i64,
    /// Position of its plane in [`Profile::planes`].
    pub plane: usize,
    /// Its time by kind of activity, in picoseconds.
    pub breakdown: Breakdown,
}

impl JaxAnalysis {
    /// Assigns the events of the GPUs to instructions and executions. A program is decoded when one of its
    /// instructions ran.
    pub fn new(profile: Profile, options: JaxOptions) -> Self {
        Self::with_iterations(profile, options, None)
    }

    /// The same of a window of the profile, and what was chosen.
    ///
    /// # Errors
    /// When the profile has no such window.
    pub fn from_window(
        profile: Profile,
        options: JaxOptions,
        window: &Window,
    ) -> Result<(Self, Selected), WindowError> {
        let whole = Self::with_iterations(profile, options.clone(), None);
        let (mut profile, whole) = (whole.profile, whole.iterations);
        let tree = take_tree(&mut profile);
        let found = whole.as_ref().map(|whole| whole.detected().clone());
        let found = found.unwrap_or_else(|| Iterations::detect(&tree, &DetectOptions::default()));
        let selected = window.select(&tree, found)?;
        profile.trace = tree.into_trace();
        let lines = profile.planes.iter().flat_map(|plane| &plane.lines);
        let sums_left_out = lines.map(|line| line.aggregated.len()).sum();
        profile.retain(|event| selected.events.contains(event));
        let mut analysis = Self::with_iterations(profile, options, Some(selected.iterations.clone()));
        if let (Some(_), Some(whole)) = (&selected.steps, whole) {
            analysis.iterations = analysis.iterations.map(|own| own.with_steps_of(&whole));
        }
        let window_end = matches!(window, Window::Microseconds(_)).then_some(Picoseconds(selected.time.end));
        Ok((JaxAnalysis { is_window: true, window_end, sums_left_out, ..analysis }, selected))
    }

    /// With these iterations, or those that are found.
    fn with_iterations(mut profile: Profile, options: JaxOptions, known: Option<Iterations>) -> Self {
        let programs = DecodedPrograms::new(&profile);
        let mut device_events = device_events::collect(&profile, &options);
        let gpus = gpus(&profile, &mut device_events);
        let operators = operators::assign(&profile, &programs, &options, &mut device_events);
        let (executions, calls) = executions::find(&profile, &device_events, &operators);
        let given = options.architecture.as_ref().or_else(|| recognised_architecture(&profile));
        let architecture = given.map(|architecture| architecture.with_basis(options.peak_basis()));
        let (iterations, device_parts) = match options.conventions.scope {
            Scope::Full => {
                let (iterations, parts) = measured_iterations(&mut profile, &gpus, &mut device_events, known);
                (Some(iterations), parts)
            }
            Scope::Core => (None, Vec::new()),
        };
        JaxAnalysis {
            profile,
            options,
            programs,
            gpus,
            device_events,
            operators,
            executions,
            calls,
            roofs: OnceLock::new(),
            tpu: OnceLock::new(),
            collectives: OnceLock::new(),
            architecture,
            iterations,
            device_parts,
            is_window: false,
            window_end: None,
            sums_left_out: 0,
        }
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The events of the profile.
    pub fn trace(&self) -> &Trace {
        &self.profile.trace
    }

    /// The options of the analysis.
    pub fn options(&self) -> &JaxOptions {
        &self.options
    }

    /// The module of a program; `None` when the profile embeds none, or one that cannot be decoded.
    pub fn module(&self, program_id: u64) -> Option<&HloModule> {
        self.programs.module(&self.profile, program_id)?.ok()
    }

    /// Why a program that the profile embeds cannot be decoded; `None` for all others.
    pub(crate) fn program_error(&self, program_id: u64) -> Option<&ProgramError> {
        self.programs.module(&self.profile, program_id)?.err()
    }

    /// The instruction that an event ran, with its module, by program id and name.
    pub fn instruction(&self, event: EventId) -> Option<InstructionRef<'_>> {
        self.programs.instruction(&self.profile, event)
    }

    /// The architecture from the options, or else that of the device that the profile describes.
    pub fn architecture(&self) -> Option<&Architecture> {
        self.architecture.as_ref()
    }

    /// The GPUs with events, by process id.
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus
    }

    /// Kernels, copies and fills on GPUs, by uid.
    pub fn device_events(&self) -> &[GpuEvent] {
        &self.device_events
    }

    /// The operators that they were launched for, by first event.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// Executions of programs on GPUs.
    pub fn executions(&self) -> &[Execution] {
        &self.executions
    }

    /// Executions of instructions, by their first event's uid. Every device event is part of one.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The work of a call held against its time; `None` where there are no FLOPs.
    pub fn figures(&self, call: &Call) -> Option<Figures> {
        let operator = &self.operators()[call.operator];
        let work = &operator.work.as_ref()?.forward;
        Figures::new(
            work,
            operator.spec(),
            call.time.to_microseconds(),
            self.architecture(),
            MissingPeak::NoRoofline,
        )
    }

    /// Whether devices of the profile are TPUs.
    pub fn has_tpus(&self) -> bool {
        self.profile.planes.iter().any(|plane| matches!(plane.kind, PlaneKind::Tpu { .. }))
    }

    /// The sums of the tensor cores; `None` when no device of the profile is a TPU. Computed once.
    pub fn tpu(&self) -> Option<&TpuAnalysis> {
        let read = || {
            let profile = TpuProfile::new(&self.profile)?;
            Some(TpuAnalysis::new(if self.is_window {
                profile.into_window(self.window_end)
            } else {
                profile
            }))
        };
        self.tpu.get_or_init(read).as_ref()
    }

    /// Sums of events without a place in time, which the window leaves out.
    pub(crate) fn sums_left_out(&self) -> usize {
        self.sums_left_out
    }

    /// Name of a program's module, if the profile has it.
    pub fn program_name(&self, program: &Program) -> Option<&str> {
        let named = || program.module.map(|name| self.trace().text(name));
        program.id.and_then(|id| self.profile.programs.name(id)).or_else(named)
    }

    /// Name of the module of an operator's program, if the profile has it.
    pub(crate) fn module_name(&self, operator: &Operator) -> Option<&str> {
        self.program_name(&operator.program?)
    }

    /// Whether an operator matches the keyword filters.
    pub(crate) fn keeps(&self, operator: usize) -> bool {
        let keywords = &self.options.kernel_metadata_keyword_filters;
        let record = self.operators[operator].record.as_ref();
        keywords.is_empty() || record.is_some_and(|record| record.has_keyword(keywords))
    }

    /// A time of the trace in µs.
    pub(crate) fn us(&self, time: i64) -> f64 {
        self.trace().to_microseconds(time)
    }

    /// A time of the trace in ms.
    pub(crate) fn ms(&self, time: i64) -> f64 {
        self.trace().time_unit().to_milliseconds(time)
    }

    /// Statistics of times in µs.
    pub(crate) fn spread_us(&self, times: Option<Summary>) -> Spread {
        let unit = self.trace().time_unit().per_microsecond() as f64;
        times.map_or_else(Spread::default, |times| times.spread(unit))
    }
}

impl Iterated for JaxAnalysis {
    fn iterations(&self) -> Option<&MeasuredIterations> {
        self.iterations.as_ref()
    }

    fn ms(&self, time: f64) -> f64 {
        self.trace().time_unit().to_milliseconds(1) * time
    }

    fn device_parts(&self) -> &[DevicePart] {
        &self.device_parts
    }

    fn device_name(&self, plane: usize) -> &str {
        self.profile.planes.get(plane).map_or("", |plane| &plane.name)
    }

    fn iterations_of_window(&self) -> Option<usize> {
        self.iterations.as_ref().filter(|_| self.is_window)?.several_whole_steps()
    }
}

/// The tree of the profile's trace, which is taken out of the profile.
fn take_tree(profile: &mut Profile) -> TraceTree {
    TraceTree::build(std::mem::take(&mut profile.trace), &TreeOptions::default())
}

/// The iterations of a profile, by what its GPUs and tensor cores did, several of them as one; and what each of several
/// did in each part of the recording. Tells each event of a GPU its part.
fn measured_iterations(
    profile: &mut Profile,
    gpus: &[Gpu],
    device_events: &mut [GpuEvent],
    known: Option<Iterations>,
) -> (MeasuredIterations, Vec<DevicePart>) {
    let gpu_activities = device_events
        .iter()
        .filter_map(|event| Some((gpus.get(event.gpu)?.plane, event.event, event.activity)));
    let activities: Vec<_> = gpu_activities.chain(core_activities(profile)).collect();
    let tree = take_tree(profile);
    let detected = known.unwrap_or_else(|| Iterations::detect(&tree, &DetectOptions::default()));
    let device_activities: Vec<_> =
        activities.iter().map(|&(_, event, activity)| (event, activity)).collect();
    let measured = MeasuredIterations::new(&tree, detected, &device_activities, &IntervalSet::EMPTY);
    let division = measured.steps().map(|(steps, _)| Division::new(&tree, &steps.iterations));
    let parts =
        division.as_ref().map_or_else(Vec::new, |division| device_parts(&tree, division, &activities));
    for event in device_events {
        event.part = division.as_ref().and_then(|division| division.part_of(event.event));
    }
    profile.trace = tree.into_trace();
    (measured, parts)
}

/// The parts of each plane of several, by part and plane.
fn device_parts(
    tree: &TraceTree,
    division: &Division,
    activities: &[(usize, EventId, Activity)],
) -> Vec<DevicePart> {
    let mut planes: BTreeMap<usize, Vec<(EventId, Activity, Part)>> = BTreeMap::new();
    let events = tree.trace().events();
    for &(plane, event, activity) in activities {
        let part = division.part_of(event).unwrap_or(Part::Before);
        planes.entry(plane).or_default().push((event, activity, part));
    }
    if planes.len() < 2 {
        return Vec::new();
    }
    let mut parts = Vec::new();
    for (device, plane_events) in planes {
        let plane_events = plane_events.into_iter().map(|(event, activity, part)| {
            (DeviceEvent::new(events.start(event), events.end(event), activity), part)
        });
        let plane_events = Breakdown::by_part(plane_events, None, &IntervalSet::EMPTY).into_iter();
        parts.extend(plane_events.map(|(part, breakdown)| DevicePart { device, part, breakdown }));
    }
    parts.sort_few_by_key(|of| (of.part, of.device));
    parts
}

/// The GPUs with events, by process id; tells each event its GPU.
fn gpus(profile: &Profile, device_events: &mut [GpuEvent]) -> Vec<Gpu> {
    let mut pids: Vec<i64> = device_events.iter().map(|event| event.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    for event in device_events.iter_mut() {
        event.gpu = pids.partition_point(|&pid| pid < event.pid);
    }
    let gpu = |(position, &pid): (usize, &i64)| {
        let gpu_events = device_events.iter().filter(|event| event.gpu == position);
        let breakdown =
            Breakdown::from_events(gpu_events.map(|event| event.device_event(&profile.trace)), None)?;
        let is_plane = |plane: &Plane| matches!(plane.kind, PlaneKind::Gpu { .. }) && plane.id + 1 == pid;
        let plane = profile.planes.iter().position(is_plane)?;
        Some(Gpu { pid, plane, breakdown })
    };
    pids.iter().enumerate().filter_map(gpu).collect()
}

/// The bundled architecture of the first device that the profile describes.
fn recognised_architecture(profile: &Profile) -> Option<&'static Architecture> {
    let gpu_architecture = |plane: &Plane| {
        let number = |name: &str| plane.stat(name).and_then(|value| value.as_u64());
        let small = |name: &str| number(name).and_then(|value| u32::try_from(value).ok());
        architecture_of_device(&Device {
            name: plane.stat("gpu_device_name").and_then(|name| name.as_str()).unwrap_or_default(),
            memory_bytes: number("memory_size"),
            multiprocessors: small("core_count"),
            compute_capability: small("compute_cap_major").zip(small("compute_cap_minor")),
        })
    };
    let tpu_architecture = |plane: &Plane| {
        let name = plane.stat("device_type_string")?.as_str()?.to_owned();
        perf_models::architecture(&name)
    };
    let tpus = profile.planes.iter().filter(|plane| matches!(plane.kind, PlaneKind::Tpu { .. }));
    gpu_planes(profile).find_map(gpu_architecture).or_else(|| tpus.filter_map(tpu_architecture).next())
}
