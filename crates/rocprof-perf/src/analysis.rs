//! The analysis of a profile, which its sheets are made from.

use std::sync::OnceLock;

use gpu_timeline::{Activity, Interval, Summary};
use hashbrown::HashMap;
use iterations::{DetectOptions, Iterations, MeasuredIterations};
use operator_sheets::Iterated;
use perf_models::{RocprofKernel, tracelens_rocprof_kernel};
use trace_ingest::rocprof::{Dispatch, MemoryCopy, Profile};
use trace_ingest::{Category, Nanoseconds, PerString};
use trace2tree::{TraceTree, TreeOptions};

use crate::options::{PftraceOptions, RocprofOptions};
use crate::pftrace::gpu_kernels::GpuKernels;
use crate::pftrace::hip_launches::HipLaunches;
use crate::tracelens;

/// A profile of `rocprofv3` with the names and categories of its kernels. All sheets are made from it.
pub struct RocprofAnalysis {
    profile: Profile,
    options: RocprofOptions,
    names: Vec<String>,
    name_of_kernel: Vec<u32>,
    /// By name; found when first asked for, because code objects hold many kernels that never run.
    categories: Vec<OnceLock<RocprofKernel>>,
    groups: OnceLock<KernelGroups>,
    gpu_kernels: OnceLock<GpuKernels>,
    hip_launches: OnceLock<HipLaunches>,
    iterations: OnceLock<MeasuredIterations>,
}

impl RocprofAnalysis {
    /// Names the kernels.
    pub fn new(profile: Profile, options: RocprofOptions) -> Self {
        let (names, name_of_kernel) = kernel_names(&profile, &options);
        let categories = names.iter().map(|_| OnceLock::new()).collect();
        RocprofAnalysis {
            profile,
            options,
            names,
            name_of_kernel,
            categories,
            groups: OnceLock::new(),
            gpu_kernels: OnceLock::new(),
            hip_launches: OnceLock::new(),
            iterations: OnceLock::new(),
        }
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

    /// What a kernel of this name does; `name` is a position in [`names`](Self::names).
    pub fn category(&self, name: u32) -> RocprofKernel {
        let text = &self.names[name as usize];
        *self.categories[name as usize].get_or_init(|| match self.options.parity {
            true => tracelens_rocprof_kernel(text),
            false => RocprofKernel::from_name(text),
        })
    }

    /// The kernels that count: all, but those of the first process alone for the figures of TraceLens.
    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatch> + Clone {
        self.profile.dispatches.iter().filter(|dispatch| self.counts(dispatch.process))
    }

    /// The memory copies that count, as for [`dispatches`](Self::dispatches).
    pub fn copies(&self) -> impl Iterator<Item = &MemoryCopy> + Clone {
        self.profile.copies.iter().filter(|copy| self.counts(copy.process))
    }

    /// The durations of the kernels by name. Computed once.
    pub(crate) fn groups(&self) -> &KernelGroups {
        self.groups.get_or_init(|| KernelGroups::new(self))
    }

    /// A time in nanoseconds as columns in µs have it.
    pub(crate) fn us(&self, nanoseconds: f64) -> f64 {
        if self.options.parity { nanoseconds } else { nanoseconds / 1e3 }
    }

    /// A time in nanoseconds as columns in ms have it.
    pub(crate) fn ms(&self, nanoseconds: f64) -> f64 {
        if self.options.parity { nanoseconds / 1e3 } else { nanoseconds / 1e6 }
    }

    /// The kernels of each GPU, for the tables known from Perfetto traces. Computed once.
    pub(crate) fn gpu_kernels(&self, options: &PftraceOptions) -> &GpuKernels {
        self.gpu_kernels.get_or_init(|| GpuKernels::new(&self.profile, options))
    }

    /// The HIP calls with what they launched, for the tables known from Perfetto traces. Computed once.
    pub(crate) fn hip_launches(&self, options: &PftraceOptions) -> &HipLaunches {
        self.hip_launches.get_or_init(|| HipLaunches::new(&self.profile, options, self.options.parity))
    }

    fn counts(&self, process: u32) -> bool {
        !self.options.parity || tracelens::reads_process(&self.profile, process)
    }
}

impl Iterated for RocprofAnalysis {
    /// Found on the profile as a trace, its GPUs together. Computed once.
    fn iterations(&self) -> Option<&MeasuredIterations> {
        if self.options.parity {
            return None;
        }
        Some(self.iterations.get_or_init(|| {
            let tree = TraceTree::build(self.profile.to_trace(), &TreeOptions::default());
            let (trace, events) = (tree.trace(), tree.trace().events());
            let mut communicates = PerString::new(trace.strings(), |name| {
                RocprofKernel::from_name(name) == RocprofKernel::Communication
            });
            let device_events = events.ids().filter_map(|event| match events.category(event) {
                Category::GPU_MEMCPY => Some((event, Activity::Memcpy)),
                category if !category.is_device() => None,
                _ if *communicates.get(events.name(event)) => Some((event, Activity::Communication)),
                _ => Some((event, Activity::Computation)),
            });
            let device_events: Vec<_> = device_events.collect();
            let detected = Iterations::detect(&tree, &DetectOptions::default());
            MeasuredIterations::new(&tree, detected, &device_events)
        }))
    }

    fn ms(&self, time: f64) -> f64 {
        time / 1e6
    }
}

/// A span as the timeline takes it, in nanoseconds.
pub(crate) fn interval(start: Nanoseconds, end: Nanoseconds) -> Interval {
    Interval::new(start.0, end.0)
}

/// The distinct names in order, and the position among them of each kernel's.
fn kernel_names(profile: &Profile, options: &RocprofOptions) -> (Vec<String>, Vec<u32>) {
    let mut found: HashMap<String, u32> = HashMap::new();
    let first_seen: Vec<u32> = (0..profile.kernels.len() as u32)
        .map(|kernel| {
            let name = profile.kernel_name(kernel, options.kernel_names);
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

/// The durations of kernels by name, in nanoseconds.
pub(crate) struct KernelGroups {
    /// One per name that ran, in the order of the names.
    pub(crate) rows: Vec<KernelGroup>,
    /// Sum of all durations.
    pub(crate) total: i64,
}

/// The kernels with one name.
#[derive(Clone, Copy)]
pub(crate) struct KernelGroup {
    /// Position of the name.
    pub(crate) name: u32,
    /// Of their durations.
    pub(crate) durations: Summary,
}

impl KernelGroups {
    fn new(analysis: &RocprofAnalysis) -> Self {
        // By counting, into one list: where the durations of each name begin, then where the next one goes.
        let mut next = vec![0_usize; analysis.names().len() + 1];
        let named = || {
            let name = |kernel| analysis.name_of_kernel(kernel) as usize;
            analysis.dispatches().map(move |dispatch| (name(dispatch.kernel), dispatch.duration().0))
        };
        for (name, _) in named() {
            next[name + 1] += 1;
        }
        for name in 1..next.len() {
            next[name] += next[name - 1];
        }
        let begins = next.clone();
        let mut durations = vec![0_i64; begins[begins.len() - 1]];
        for (name, duration) in named() {
            durations[next[name]] = duration;
            next[name] += 1;
        }
        let group = |(name, ends): (usize, &[usize])| {
            let durations = Summary::from_values(&durations[ends[0]..ends[1]])?;
            Some(KernelGroup { name: name as u32, durations })
        };
        let rows: Vec<KernelGroup> = begins.windows(2).enumerate().filter_map(group).collect();
        let total = rows.iter().fold(0_i64, |sum, row| sum.saturating_add(row.durations.sum));
        KernelGroups { rows, total }
    }
}
