//! A profile made ready for its sheets, and what that is asked to do.

use std::sync::OnceLock;

use gpu_timeline::{Breakdown, Spread, Summary};
use hlo_cost::{HloModule, InstructionRef};
use operator_sheets::Roof;
use perf_models::CommunicationPatterns;
use perf_models::{Architecture, Device, architecture_of_device};
use trace_ingest::xplane::{Plane, PlaneKind, Profile};
use trace_ingest::{EventId, Trace};

use crate::collectives::CollectiveAnalysis;
use crate::device_events::{self, DeviceEvent, gpu_planes};
use crate::executions::{self, Call, Execution};
use crate::findings::JaxNotice;
use crate::operators::{self, Operator, Program};
use crate::programs::{DecodedPrograms, ProgramError};
use crate::rooflines::roofs;
use crate::tpu::{TpuAnalysis, TpuProfile};

/// Whose figures a report has where the reference tool is known to be wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JaxFigures {
    /// The right ones: work of an instruction from its HLO, held against the time of all its kernels.
    #[default]
    Correct,
    /// Those of the reference tool, for comparison: work by its formulas, credited to every kernel.
    Reference,
}

/// How kernels that only copy or fill memory count, such as `__amd_rocclr_copyBuffer`, which some ROCm releases
/// record as kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyKernels {
    /// As kernels, as they were recorded.
    #[default]
    Computation,
    /// As copies and fills.
    Memcpy,
}

/// Options of an analysis and of the sheets made from it. The defaults are those of the report.
#[derive(Clone, Debug)]
pub struct JaxOptions {
    /// Architecture that the figures are held against; the device that the profile names where none is given.
    pub architecture: Option<Architecture>,
    /// Keep only kernels whose instruction was made from an operation or a source file with one of these texts;
    /// all kernels when empty.
    pub keyword_filters: Vec<String>,
    /// Whose figures.
    pub figures: JaxFigures,
    /// How copying kernels count.
    pub copy_kernels: CopyKernels,
    /// Which kernels communicate.
    pub communication: CommunicationPatterns,
    /// GPUs of one host, from which ranks follow in profiles of several hosts.
    pub gpus_per_node: u32,
}

impl Default for JaxOptions {
    fn default() -> Self {
        JaxOptions {
            architecture: None,
            keyword_filters: Vec::new(),
            figures: JaxFigures::default(),
            copy_kernels: CopyKernels::default(),
            communication: CommunicationPatterns::default(),
            gpus_per_node: 8,
        }
    }
}

/// A profile with its compiled programs and what ran on its GPUs: what all sheets are made from.
pub struct JaxAnalysis {
    profile: Profile,
    options: JaxOptions,
    programs: DecodedPrograms,
    gpus: Vec<Gpu>,
    device_events: Vec<DeviceEvent>,
    operators: Vec<Operator>,
    executions: Vec<Execution>,
    calls: Vec<Call>,
    roofs: OnceLock<Vec<Roof>>,
    tpu: OnceLock<Option<TpuAnalysis>>,
    collectives: OnceLock<CollectiveAnalysis>,
    /// Architecture of the device that the profile describes.
    recognised: Option<&'static Architecture>,
}

/// A GPU on which something ran.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// Id of its plane plus 1: the process id of trace viewers.
    pub pid: i64,
    /// Position of its plane in [`Profile::planes`].
    pub plane: usize,
    /// Where its time went, in picoseconds.
    pub breakdown: Breakdown,
}

impl JaxAnalysis {
    /// Finds what ran on the GPUs, for which instruction, in which execution. Programs are decoded when something
    /// of them ran.
    pub fn new(profile: Profile, options: JaxOptions) -> Self {
        let programs = DecodedPrograms::new(&profile);
        let mut device_events = device_events::collect(&profile, &options);
        let gpus = gpus(&profile, &mut device_events);
        let operators = operators::assign(&profile, &programs, &options, &mut device_events);
        let (executions, calls) = executions::find(&profile, &device_events, &operators);
        let recognised = recognised_architecture(&profile);
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
            recognised,
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

    /// What was asked for.
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

    /// The instruction that an event ran, with its module: that which its program id and name say.
    pub fn instruction(&self, event: EventId) -> Option<InstructionRef<'_>> {
        self.programs.instruction(&self.profile, self.profile.xla(event)?)
    }

    /// What the device can do at most: as asked for, else by the device that the profile describes.
    pub fn architecture(&self) -> Option<&Architecture> {
        self.options.architecture.as_ref().or(self.recognised)
    }

    /// The GPUs on which something ran, by process id.
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus
    }

    /// What ran on GPUs, in the order of the uids.
    pub fn device_events(&self) -> &[DeviceEvent] {
        &self.device_events
    }

    /// What it was launched for, in the order of the first events.
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

    /// The peaks of the architecture with the instructions that are held against each, that with the most kernel
    /// time first. Empty without an architecture or where no instruction has FLOPs, bytes and time. Computed once.
    pub fn roofs(&self) -> &[Roof] {
        self.roofs.get_or_init(|| roofs(self))
    }

    /// Whether devices of the profile are TPUs.
    pub fn has_tpus(&self) -> bool {
        self.profile.planes.iter().any(|plane| matches!(plane.kind, PlaneKind::Tpu { .. }))
    }

    /// What was recorded of tensor cores, summed up; `None` when no device of the profile is a TPU. Computed once.
    pub fn tpu(&self) -> Option<&TpuAnalysis> {
        self.tpu.get_or_init(|| TpuProfile::new(&self.profile).map(TpuAnalysis::new)).as_ref()
    }

    /// The collectives of this profile alone, as those of one node. Computed once.
    pub fn collectives(&self) -> &CollectiveAnalysis {
        self.collectives
            .get_or_init(|| CollectiveAnalysis::from_profiles(&[self], self.options.gpus_per_node))
    }

    /// What the sheets leave out or assume, so that nothing goes missing silently.
    pub fn notices(&self) -> Vec<JaxNotice> {
        JaxNotice::all(self)
    }

    /// Name of a program's module, as far as the profile says.
    pub fn program_name(&self, program: &Program) -> Option<&str> {
        let named = || program.module.map(|name| self.trace().text(name));
        program.id.and_then(|id| self.profile.programs.name(id)).or_else(named)
    }

    /// Whether the keywords that were asked for keep what an instruction does.
    pub(crate) fn keeps(&self, operator: usize) -> bool {
        let keywords = &self.options.keyword_filters;
        let record = self.operators[operator].record.as_ref();
        keywords.is_empty() || record.is_some_and(|record| record.has_keyword(keywords))
    }

    /// A time in µs.
    pub(crate) fn us(&self, time: i64) -> f64 {
        self.trace().to_microseconds(time)
    }

    /// Statistics of times in µs.
    pub(crate) fn spread_us(&self, times: Option<Summary>) -> Spread {
        let unit = self.trace().time_unit().per_microsecond() as f64;
        times.map_or_else(Spread::default, |times| times.spread(unit))
    }

    /// A time in ms.
    pub(crate) fn ms(&self, time: i64) -> f64 {
        time as f64 / (self.trace().time_unit().per_microsecond() * 1000) as f64
    }
}

/// The GPUs with events, by process id; tells each event its GPU.
fn gpus(profile: &Profile, device_events: &mut [DeviceEvent]) -> Vec<Gpu> {
    let mut pids: Vec<i64> = device_events.iter().map(|event| event.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    for event in device_events.iter_mut() {
        event.gpu = pids.partition_point(|&pid| pid < event.pid);
    }
    let gpu = |(position, &pid): (usize, &i64)| {
        let of_gpu = device_events.iter().filter(|event| event.gpu == position);
        let breakdown = Breakdown::of(of_gpu.map(|event| event.timeline_event(profile)), None)?;
        let is_plane = |plane: &Plane| matches!(plane.kind, PlaneKind::Gpu { .. }) && plane.id + 1 == pid;
        let plane = profile.planes.iter().position(is_plane)?;
        Some(Gpu { pid, plane, breakdown })
    };
    pids.iter().enumerate().filter_map(gpu).collect()
}

/// The bundled architecture of the first device that the profile describes.
fn recognised_architecture(profile: &Profile) -> Option<&'static Architecture> {
    let of_gpu = |plane: &Plane| {
        let number = |name: &str| plane.stat(name).and_then(|value| value.as_u64());
        let small = |name: &str| number(name).and_then(|value| u32::try_from(value).ok());
        architecture_of_device(&Device {
            name: plane.stat("gpu_device_name").and_then(|name| name.as_str()).unwrap_or_default(),
            memory_bytes: number("memory_size"),
            multiprocessors: small("core_count"),
            compute_capability: small("compute_cap_major").zip(small("compute_cap_minor")),
        })
    };
    let of_tpu = |plane: &Plane| {
        let name = plane.stat("device_type_string")?.as_str()?.to_owned();
        perf_models::architecture(&name)
    };
    let tpus = profile.planes.iter().filter(|plane| matches!(plane.kind, PlaneKind::Tpu { .. }));
    gpu_planes(profile).find_map(of_gpu).or_else(|| tpus.filter_map(of_tpu).next())
}
