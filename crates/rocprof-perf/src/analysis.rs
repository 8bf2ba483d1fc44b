//! The analysis of a profile, which its sheets are made from.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gpu_timeline::{Activity, Interval, IntervalSet, Summary};
use hashbrown::HashMap;
use iterations::{DetectOptions, Iterations, MeasuredIterations, Selected, Window, WindowError};
use operator_sheets::Iterated;
use perf_models::{Category, CommunicationPatterns, kernel_class, tracelens_rocprof_category};
use sheets::Scope;
use trace_ingest::rocprof::{Dispatch, KernelNames, MemoryCopy, Profile, SourceFormat};
use trace_ingest::{Category as EventCategory, Nanoseconds, PerString, Trace};
use trace2tree::{TraceTree, TreeOptions};

use crate::conventions::{KernelCategories, Processes, TimeUnits};
use crate::options::{PftraceOptions, RocprofOptions};
use crate::pftrace::gpu_kernels::GpuKernels;
use crate::pftrace::hip_launches::HipLaunches;

/// A profile of `rocprofv3` with the names and categories of its kernels. All sheets are made from it.
pub struct RocprofAnalysis {
    profile: Profile,
    options: RocprofOptions,
    names: Vec<String>,
    name_of_kernel: Vec<u32>,
    communication: CommunicationPatterns,
    /// By kernel; found when first asked for, because code objects hold many kernels that never run.
    classes: Vec<OnceLock<Category>>,
    groups: OnceLock<KernelGroups>,
    gpu_kernels: OnceLock<GpuKernels>,
    hip_launches: OnceLock<HipLaunches>,
    iterations: OnceLock<MeasuredIterations>,
    /// Whether the profile is a window of a recording.
    is_window: bool,
    /// Time in which GPUs may have worked without a record.
    unrecorded: IntervalSet,
    /// By the number of a GPU, how long the window in nanoseconds is that it shares with others.
    shared_windows: BTreeMap<i64, i64>,
}

impl RocprofAnalysis {
    /// Names the kernels.
    pub fn new(profile: Profile, options: RocprofOptions) -> Self {
        let (names, name_of_kernel) = kernel_names(&profile, &options);
        let classes = vec![OnceLock::new(); profile.kernels.len()];
        RocprofAnalysis {
            profile,
            options,
            names,
            name_of_kernel,
            communication: CommunicationPatterns::default(),
            classes,
            groups: OnceLock::new(),
            gpu_kernels: OnceLock::new(),
            hip_launches: OnceLock::new(),
            iterations: OnceLock::new(),
            is_window: false,
            unrecorded: IntervalSet::EMPTY,
            shared_windows: BTreeMap::new(),
        }
    }

    /// Says when GPUs may have worked without a record, in nanoseconds: that is no idle time.
    pub fn know_unrecorded(&mut self, unrecorded: IntervalSet) {
        self.unrecorded = unrecorded;
    }

    /// Says which GPUs, by their numbers, share a window with others of their process, and how many nanoseconds that is.
    pub fn know_shared_windows(&mut self, windows: impl IntoIterator<Item = (i64, i64)>) {
        self.shared_windows = windows.into_iter().collect();
    }

    pub(crate) fn shared_window(&self, gpu: i64) -> Option<i64> {
        self.shared_windows.get(&gpu).copied()
    }

    pub(crate) fn unrecorded(&self) -> &IntervalSet {
        &self.unrecorded
    }

    /// The analysis of a part of a profile: all sheets are of that part.
    ///
    /// # Errors
    /// When the profile has no such iterations, or nothing runs in the window.
    pub fn from_window(
        mut profile: Profile,
        options: RocprofOptions,
        window: &Window,
    ) -> Result<(Self, Selected), WindowError> {
        let recorded = tree(profile.to_trace());
        let found = Iterations::detect(&recorded, &DetectOptions::default());
        let whole = measured(&CommunicationPatterns::default(), &recorded, found);
        let (trace, selected) = window.cut_of(recorded, whole.detected().clone())?;
        let at = |time: i64| Nanoseconds(trace.origin().saturating_add(time));
        let time = at(selected.time.start)..at(selected.time.end);
        profile.retain(|event| selected.events.contains(event), &time);
        let mut analysis = Self::new(profile, options);
        let own = measured(&analysis.communication, &tree(trace), selected.iterations.clone());
        let is_of_steps = selected.steps.is_some();
        analysis.iterations = OnceLock::from(if is_of_steps { own.with_steps_of(&whole) } else { own });
        analysis.is_window = true;
        Ok((analysis, selected))
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The options of the analysis.
    pub fn options(&self) -> &RocprofOptions {
        &self.options
    }

    /// Names of kernels as the sheets show them, each once, in ascending order of their code points. Kernels that did
    /// not run are among them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Name of a kernel, as its position in [`names`](Self::names); `kernel` is a position in [`Profile::kernels`].
    pub fn name_of_kernel(&self, kernel: u32) -> u32 {
        self.name_of_kernel[kernel as usize]
    }

    /// What a kernel does, as its full name says, whichever name is shown; `kernel` is a position in
    /// [`Profile::kernels`].
    pub fn class(&self, kernel: u32) -> Category {
        *self.classes[kernel as usize].get_or_init(|| {
            let name = self.profile.kernel_name(kernel, KernelNames::Formatted);
            kernel_class(&name, &self.communication).map_or(Category::Other, |class| class.category)
        })
    }

    /// The category that the sheets show for a kernel: that of its [`class`](Self::class), or a [short](KernelCategories::Short) one.
    pub fn category(&self, kernel: u32) -> &'static str {
        match self.options.conventions.categories {
            KernelCategories::Short => {
                tracelens_rocprof_category(&self.names[self.name_of_kernel(kernel) as usize])
            }
            KernelCategories::Trace => self.class(kernel).as_str(),
        }
    }

    /// The kernels that count, see [`Processes`].
    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatch> + Clone {
        self.profile.dispatches.iter().filter(|dispatch| self.counts(dispatch.process))
    }

    /// The memory copies that count, as for [`dispatches`](Self::dispatches).
    pub fn copies(&self) -> impl Iterator<Item = &MemoryCopy> + Clone {
        self.profile.copies.iter().filter(|copy| self.counts(copy.process))
    }

    /// The durations of the kernels by name and category. Computed once.
    pub(crate) fn groups(&self) -> &KernelGroups {
        self.groups.get_or_init(|| KernelGroups::new(self))
    }

    /// A time in nanoseconds as columns in µs have it.
    pub(crate) fn us(&self, nanoseconds: f64) -> f64 {
        match self.options.conventions.units {
            TimeUnits::Header => nanoseconds / 1e3,
            TimeUnits::AThousandthBelow => nanoseconds,
        }
    }

    /// A time in nanoseconds as columns in ms have it.
    pub(crate) fn ms(&self, nanoseconds: f64) -> f64 {
        match self.options.conventions.units {
            TimeUnits::Header => nanoseconds / 1e6,
            TimeUnits::AThousandthBelow => nanoseconds / 1e3,
        }
    }

    /// The kernels of each GPU, for the tables known from Perfetto traces. Computed once.
    pub(crate) fn gpu_kernels(&self, options: &PftraceOptions) -> &GpuKernels {
        let class = |kernel| self.class(kernel);
        self.gpu_kernels.get_or_init(|| GpuKernels::new(&self.profile, &self.options, options, class))
    }

    /// The HIP calls with what they launched, for the tables known from Perfetto traces. Computed once.
    pub(crate) fn hip_launches(&self, options: &PftraceOptions) -> &HipLaunches {
        let rule = self.options.conventions.launches;
        let names = self.options.names_of_pftrace(self.profile.source);
        self.hip_launches.get_or_init(|| HipLaunches::new(&self.profile, options, names, rule))
    }

    /// Whether it is of a part of a profile.
    pub(crate) fn is_window(&self) -> bool {
        self.is_window
    }

    fn counts(&self, process: u32) -> bool {
        let first_alone = self.options.conventions.processes == Processes::First;
        !first_alone || process == 0 || self.profile.source != SourceFormat::Json
    }
}

fn measured(
    communication: &CommunicationPatterns,
    tree: &TraceTree,
    detected: Iterations,
) -> MeasuredIterations {
    let (trace, events) = (tree.trace(), tree.trace().events());
    let mut communicates = PerString::new(trace.strings(), |name| communication.is_communication(name));
    let device_events = events.ids().filter_map(|event| match events.category(event) {
        EventCategory::GPU_MEMCPY => Some((event, Activity::Memcpy)),
        category if !category.is_device() => None,
        _ if *communicates.get(events.name(event)) => Some((event, Activity::Communication)),
        _ => Some((event, Activity::Computation)),
    });
    let device_events: Vec<_> = device_events.collect();
    MeasuredIterations::new(tree, detected, &device_events, &IntervalSet::EMPTY)
}

impl Iterated for RocprofAnalysis {
    /// Found on the profile as a trace, its GPUs together. Computed once.
    fn iterations(&self) -> Option<&MeasuredIterations> {
        if self.options.conventions.scope == Scope::Core {
            return None;
        }
        Some(self.iterations.get_or_init(|| {
            let tree = tree(self.profile.to_trace());
            measured(&self.communication, &tree, Iterations::detect(&tree, &DetectOptions::default()))
        }))
    }

    fn ms(&self, time: f64) -> f64 {
        time / 1e6
    }

    fn iterations_of_window(&self) -> Option<usize> {
        self.iterations().filter(|_| self.is_window)?.several_whole_steps()
    }
}

fn tree(trace: Trace) -> TraceTree {
    TraceTree::build(trace, &TreeOptions::default())
}

/// A span as the timeline takes it, in nanoseconds.
pub(crate) fn interval(start: Nanoseconds, end: Nanoseconds) -> Interval {
    Interval::between(start.0, end.0)
}

/// The distinct names in order, and the position among them of each kernel's.
fn kernel_names(profile: &Profile, options: &RocprofOptions) -> (Vec<String>, Vec<u32>) {
    let mut found: HashMap<String, u32> = HashMap::new();
    let first_seen: Vec<u32> = (0..profile.kernels.len() as u32)
        .map(|kernel| {
            let name = profile.kernel_name(kernel, options.kernel_names.unwrap_or_default());
            let next = found.len() as u32;
            *found.entry_ref(name.as_ref()).or_insert(next)
        })
        .collect();
    let mut names: Vec<(String, u32)> = found.into_iter().collect();
    names.sort_unstable();
    let mut places = vec![0; names.len()];
    for (place, &(_, seen)) in names.iter().enumerate() {
        places[seen as usize] = place as u32;
    }
    let names = names.into_iter().map(|(name, _)| name).collect();
    (names, first_seen.into_iter().map(|seen| places[seen as usize]).collect())
}

/// The durations of kernels by name and category, in nanoseconds.
pub(crate) struct KernelGroups {
    /// Those that ran, in the order of the names.
    pub(crate) rows: Vec<KernelGroup>,
    /// Sum of all durations.
    pub(crate) total: i64,
}

/// The kernels with one name that do the same.
#[derive(Clone, Copy)]
pub(crate) struct KernelGroup {
    /// Position of the name.
    pub(crate) name: u32,
    /// As the sheets show it.
    pub(crate) category: &'static str,
    pub(crate) durations: Summary,
}

impl KernelGroups {
    fn new(analysis: &RocprofAnalysis) -> Self {
        let mut by_kernel = vec![Vec::new(); analysis.profile.kernels.len()];
        for dispatch in analysis.dispatches() {
            by_kernel[dispatch.kernel as usize].push(dispatch.duration().0);
        }
        let mut groups: BTreeMap<(u32, &'static str), Vec<i64>> = BTreeMap::new();
        for (kernel, durations) in (0..).zip(by_kernel).filter(|(_, durations)| !durations.is_empty()) {
            let group = (analysis.name_of_kernel(kernel), analysis.category(kernel));
            groups.entry(group).or_default().extend(durations);
        }
        let group = |((name, category), durations): ((u32, &'static str), Vec<i64>)| {
            Some(KernelGroup { name, category, durations: Summary::from_values(&durations)? })
        };
        let rows: Vec<KernelGroup> = groups.into_iter().filter_map(group).collect();
        let total = rows.iter().fold(0_i64, |sum, row| sum.saturating_add(row.durations.sum));
        KernelGroups { rows, total }
    }
}
