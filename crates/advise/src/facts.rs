//! What rules look at: plain facts about a recording, whoever recorded it.

use gpu_timeline::{Breakdown, DeviceEvent, HostActivity, Interval, Wait, exposed_times};
use hashbrown::HashMap;
use perf_models::{Category, ComputeSpec, CopyDirection, DataPath, GroupLink, Precision};
use sheets::numbers::{bytes, counted, decimal};

use crate::product::{Product, Tile};

/// What is known of a recording. All times are in its unit, from its origin; all indices are positions in the lists below.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Units of time in a microsecond.
    pub units_per_us: i64,
    /// The device that they are about, such as `GPU 2`, where the recording has others that they are not about.
    pub device: Option<String>,
    /// What wrote the program, which decides what can be done.
    pub program: Program,
    /// Where its report shows what findings rest on.
    pub sheets: EvidenceSheets,
    /// Names of kernels, operators and calls.
    pub names: Vec<String>,
    /// Device events, by start.
    pub works: Vec<Work>,
    /// What collectives exchange.
    pub messages: Vec<Message>,
    /// Operators' calls that device events belong to.
    pub calls: Vec<Call>,
    /// Calls of one operator with the same arguments.
    pub operators: Vec<Operator>,
    /// Stretches of time in which nothing ran on a device, by start: the events are those of [`Facts::works`], and what late
    /// launches waited for are [`Facts::holds`], where that is known.
    pub idle: Vec<Wait<u32>>,
    /// Stretches in which devices may have worked without a record, by start.
    pub unrecorded: Vec<Interval>,
    /// Stretches in which a thread that launches was held, by start.
    pub holds: Vec<Hold>,
    /// Whether the program replays graphs of captured work.
    pub replays_graphs: bool,
    /// Launches that held the host because the device's queue was full, by start.
    pub full_queue: Vec<Interval>,
    /// Where the time of the devices went; parts add up to the window.
    pub breakdown: Breakdown,
    /// What the device can do at most, where that is known.
    pub machine: Option<Machine>,
    /// The program's steps, by start.
    pub steps: Vec<Step>,
    /// What a better recording would add.
    pub gaps: Vec<RecordingGap>,
}

/// A sheet, and a column of it that tells rows apart.
pub type SheetColumn = (&'static str, &'static str);

/// Where a report shows what findings rest on; `None` where it has no such sheet.
#[derive(Clone, Copy, Debug, Default)]
pub struct EvidenceSheets {
    /// Kinds of time of the window: `exposed_comm_time`, `exposed_memcpy_time`, `idle_time`.
    pub timeline: Option<SheetColumn>,
    /// Operators by name.
    pub operators: Option<SheetColumn>,
    /// Waits of the device by cause: `host_wait`.
    pub idle_causes: Option<SheetColumn>,
    /// The same by the name of the call that was waited for.
    pub waited_for: Option<SheetColumn>,
    /// Iterations by number, from 0.
    pub iterations: Option<SheetColumn>,
}

/// What a program is written with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Program {
    /// PyTorch.
    #[default]
    PyTorch,
    /// JAX or another framework that compiles with XLA.
    Xla,
    /// CUDA or HIP directly, or a framework that the recording does not name.
    Native,
}

/// A step of the program.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// When the host launched its work.
    pub launched: Interval,
    /// How long it took the device, waits for its work included; `None` where the recording lacks work of it.
    pub duration: Option<i64>,
    /// Whether it is among the first, and slower than those after them.
    pub is_warm_up: bool,
}

/// A device event.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// When and where it ran, and what the device did.
    pub event: DeviceEvent,
    /// Its name.
    pub name: u32,
    /// End of the call that launched it, if that is recorded.
    pub launched: Option<i64>,
    /// The call that it belongs to, if that is recorded.
    pub call: Option<u32>,
    /// Time of the window that is charged to it: each moment is charged to one event, by [`Work::charged`].
    pub exposed: i64,
    /// How it is known in the recording.
    pub uid: u32,
    /// What it copies, of copies.
    pub copy: Option<Copied>,
    /// The place in [`Facts::messages`] of what it exchanges, of collectives whose size and link are known.
    pub message: Option<u32>,
}

/// What collectives of one kind and size exchange over a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The collective as the library calls it.
    pub name: String,
    /// Bytes as the library counts them.
    pub bytes: f64,
    /// Bytes that have to cross the link of a device.
    pub bus_bytes: f64,
    /// Devices of the group.
    pub devices: usize,
    /// What they have between them.
    pub link: GroupLink,
}

impl Facts {
    /// The step that launches something at this time.
    pub(crate) fn step_at(&self, launch: i64) -> Option<usize> {
        let before = self.steps.partition_point(|step| step.launched.start <= launch);
        before.checked_sub(1).filter(|&step| launch < self.steps[step].launched.end)
    }
}

impl Message {
    /// What the collective usually takes in µs: its start, and the data at the usual rate.
    #[must_use]
    pub fn usual_us(&self) -> f64 {
        self.start_us() + self.data_us()
    }

    /// Whether the data take longer than the start: the link decides then.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.data_us() >= self.start_us()
    }

    /// Bus bandwidth in GB/s where it took so many µs.
    #[must_use]
    pub fn bus_gb_per_s(&self, us: f64) -> f64 {
        self.bus_bytes / us / 1e3
    }

    /// How a mean time in µs compares with the usual one.
    #[must_use]
    pub fn pace(&self, mean_us: f64) -> Pace {
        /// A collective is slow from three times its usual duration on, and usual up to 1.5 times: sizes and systems differ.
        const SLOW_FROM: f64 = 3.0;
        const USUAL_TO: f64 = 1.5;
        match mean_us / self.usual_us() {
            _ if !self.is_large() => Pace::Unclear,
            times if times >= SLOW_FROM => Pace::Slow,
            times if times <= USUAL_TO => Pace::Usual,
            _ => Pace::Unclear,
        }
    }

    /// The bus bandwidth of so many collectives by their mean and their least time in µs, beside that of the link and the
    /// usual one.
    #[must_use]
    pub fn bandwidth_in_words(&self, count: usize, mean_us: f64, least_us: f64) -> String {
        let rate = |us| decimal(self.bus_gb_per_s(us), 1);
        format!(
            "{} of {} over {} devices: bus bandwidth {} GB/s on average, {} at best; {} has {} GB/s, and libraries usually \
             reach {} at this size",
            counted(count, "collective", "collectives"),
            bytes(self.bytes as i64),
            self.devices,
            rate(mean_us),
            rate(least_us),
            self.link.name,
            decimal(self.link.gb_per_s, 1),
            rate(self.usual_us()),
        )
    }

    fn data_us(&self) -> f64 {
        self.bus_bytes / (self.link.usual_gb_per_s * 1e3)
    }

    /// What small messages take on devices of one host: a start, and a hop to each of the others.
    fn start_us(&self) -> f64 {
        const START_US: f64 = 10.0;
        const HOP_US: f64 = 2.0;
        START_US + HOP_US * (self.devices - 1) as f64
    }
}

/// How the mean time of collectives compares with the usual time of libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Much longer: a rank is late or the link is slow.
    Slow,
    /// As usual.
    Usual,
    /// Between the two, or messages so small that latency dominates.
    Unclear,
}

/// What a copy moves.
#[derive(Clone, Copy, Debug)]
pub struct Copied {
    /// From where to where.
    pub direction: CopyDirection,
    /// Bytes, where they are recorded.
    pub bytes: Option<u64>,
    /// Whether the host's side is memory that can be paged out, so that the copy holds the host.
    pub pageable: bool,
}

/// A call of an operator with the device events that it accounts for.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Which operator with which arguments.
    pub operator: u32,
    /// Time in which at least one of its device events ran.
    pub time: i64,
    /// Bytes that it moves; `None` where no model knows them.
    pub bytes: Option<f64>,
    /// Its work held against the device; `None` where a model or the architecture does not know it.
    pub least: Option<LeastTime>,
    /// The tile of a matrix product, where the name of its kernel tells it and the inner extent is not cut.
    pub tile: Option<Tile>,
    /// How it is known in the recording.
    pub uid: u32,
    /// Name of the module around it, if that is recorded.
    pub module: Option<u32>,
    /// Whether it repeats what was computed before.
    pub recomputed: bool,
}

/// What the work of a call takes at the peaks of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeastTime {
    /// Arithmetic in µs.
    pub compute_us: f64,
    /// The same at the most that was measured of the device, where that is published.
    pub measured_compute_us: Option<f64>,
    /// Data in µs.
    pub memory_us: f64,
    /// Which way the data take.
    pub path: DataPath,
    /// Floating-point operations.
    pub flops: f64,
    /// Unit and precision of the arithmetic, where the model knows it.
    pub spec: Option<ComputeSpec>,
    /// Of attention, how near to the speed of a product its kernels come.
    pub attention: Option<AttentionSpeed>,
    /// Share of the arithmetic that the best tiles leave to the result, where that is known; at most 1.
    pub quantisation: Option<f64>,
}

/// What decides how much of the speed of a matrix product attention reaches, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttentionSpeed {
    /// Elements of a head.
    pub head_dim: Option<f64>,
    /// Keys that a query sees on average.
    pub keys: Option<f64>,
    /// Whether it is the gradient.
    pub is_backward: bool,
}

/// An operator with arguments.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Its name.
    pub name: u32,
    /// Kind of work as reports name it.
    pub category: String,
    /// The same, where it is one of those that are known.
    pub kind: Option<Category>,
    /// Shapes and types of the inputs for people; empty where they are not recorded.
    pub arguments: String,
    /// The tensors of the inputs; empty where they are not recorded.
    pub inputs: Vec<Input>,
    /// The matrix product that it is, where it is one.
    pub product: Option<Product>,
    /// What it changes besides values, of operators that compute nothing.
    pub change: Option<DataChange>,
    /// Why its work is not known; `None` where a model knows it.
    pub unknown: Option<&'static str>,
}

/// What an operator that computes nothing does to its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataChange {
    /// It brings them into another order.
    Order,
    /// It brings them into another type.
    Type,
    /// It copies them.
    Copy,
    /// It makes them larger, with zeros.
    Padding,
}

/// A tensor that goes into an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its shape.
    pub shape: Vec<u64>,
    /// Bytes of an element.
    pub element_bytes: f64,
}

impl Input {
    /// Number of elements.
    #[must_use]
    pub fn elements(&self) -> f64 {
        self.shape.iter().map(|&extent| extent as f64).product()
    }

    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.elements() * self.element_bytes
    }
}

/// A stretch in which a thread that launches work was held.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// By what: a data loader, a copy, the device, an allocation or a first use.
    pub kind: HostActivity,
    /// When.
    pub time: Interval,
    /// Name of the call.
    pub name: u32,
    /// How it is known in the recording.
    pub uid: u32,
}

/// What a device can do at most, as far as rules need it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Bandwidth of its memory in bytes a microsecond.
    pub bytes_per_us: f64,
    /// Arithmetic of its matrix units in operations a microsecond, by precision.
    pub matrix_flops_per_us: Vec<(Precision, f64)>,
    /// Compute units, where they are known.
    pub units: Option<u64>,
    /// Whether its peaks are those of the data sheet, which no kernel reaches.
    pub is_nominal: bool,
}

impl Machine {
    /// Arithmetic of its matrix units at a precision, in operations a microsecond.
    #[must_use]
    pub fn matrix(&self, precision: Precision) -> Option<f64> {
        self.matrix_flops_per_us.iter().find(|known| known.0 == precision).map(|known| known.1)
    }
}

/// What a recording lacks, and what that keeps from being said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordingGap {
    /// The file ends before its data do.
    CutOff,
    /// Shapes of operators' inputs.
    Shapes,
    /// Python's frames.
    Stacks,
    /// The device is not known, so that nothing is held against its peaks.
    Device,
    /// The launches of more than a twentieth of the device time.
    Launches,
    /// These, of work that was launched before the recording began.
    EarlierLaunches,
    /// Operators.
    Operators,
}

impl Facts {
    /// A time in µs.
    #[must_use]
    pub fn us(&self, time: i64) -> f64 {
        time as f64 / self.units_per_us as f64
    }

    /// A time in the recording's unit.
    #[must_use]
    pub fn units(&self, us: f64) -> i64 {
        (us * self.units_per_us as f64).round() as i64
    }

    /// Length of the window in the recording's unit.
    #[must_use]
    pub fn window(&self) -> i64 {
        self.breakdown.total
    }

    /// A name.
    #[must_use]
    pub fn name(&self, name: u32) -> &str {
        &self.names[name as usize]
    }

    /// By hold: whether the host waited for the device in it, after which the two are in step. A call that returned before half
    /// of the copy was done that it launched waited for nobody, nor did one during which the device had nothing to do.
    pub(crate) fn waited_for_device(&self) -> Vec<bool> {
        let copies = self.works.iter().filter(|work| work.copy.is_some());
        let copies: HashMap<i64, Interval> =
            copies.filter_map(|work| Some((work.event.launch?, work.event.span))).collect();
        let was_idle = |time: Interval| {
            let idle = self.idle[..self.idle.partition_point(|idle| idle.span.start <= time.start)].last();
            idle.is_some_and(|idle| time.end <= idle.span.end)
        };
        let waited = |hold: &Hold| match hold.kind {
            HostActivity::Sync => !was_idle(hold.time),
            HostActivity::Copy => {
                let returned_early = |copy: &&Interval| 2 * copy.shared_time(hold.time) < copy.length();
                copies.get(&hold.time.start).filter(returned_early).is_none() && !was_idle(hold.time)
            }
            _ => false,
        };
        self.holds.iter().map(waited).collect()
    }

    /// How long a wait was one for its launch: what its work then took longer than usual to begin has another reason.
    pub(crate) fn wait_for_launch(&self, idle: &Wait<u32>) -> i64 {
        /// From which time on, from the end of the call to its begin, work waits for something else than its launch, in µs.
        const QUEUED_US: f64 = 300.0;
        let (all, launched) = (idle.span, self.works[idle.event as usize].launched);
        match launched.map(|launched| launched.clamp(all.start, all.end)) {
            Some(launched) if all.end - launched > self.units(QUEUED_US) => launched - all.start,
            _ => all.length(),
        }
    }

    /// The operator of a call.
    #[must_use]
    pub fn operator(&self, call: u32) -> &Operator {
        &self.operators[self.calls[call as usize].operator as usize]
    }
}

impl Work {
    /// The device events, by start, with the time of the window that is charged to each.
    #[must_use]
    pub fn charged(mut works: Vec<Work>) -> Vec<Work> {
        let exposed = exposed_times(works.iter().map(|work| work.event));
        works.iter_mut().zip(exposed).for_each(|(work, exposed)| work.exposed = exposed);
        works
    }

    /// How long it ran.
    #[must_use]
    pub fn duration(&self) -> i64 {
        self.event.span.length()
    }
}
