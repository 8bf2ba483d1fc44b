//! The kernels of a profile, GPU by GPU.

use gpu_timeline::Interval;
use trace_ingest::rocprof::{Dispatch, Profile};

use super::display_names::DisplayNames;
use super::kernel_class::KernelClass;
use super::options::PftraceOptions;

/// GPUs in the order in which their first kernels stand in the file, which is how the tables number them.
pub(super) struct GpuOrder {
    number_of_agent: Vec<Option<u32>>,
    count: u32,
}

impl GpuOrder {
    pub(super) fn of(profile: &Profile) -> Self {
        let mut order = GpuOrder { number_of_agent: vec![None; profile.agents.len()], count: 0 };
        for agent in profile.dispatches.iter().filter_map(|dispatch| dispatch.agent) {
            let number = &mut order.number_of_agent[agent as usize];
            if number.is_none() {
                *number = Some(order.count);
                order.count += 1;
            }
        }
        order
    }

    /// Number of the GPU that an agent is; `None` when no kernel ran on it.
    pub(super) fn number(&self, agent: Option<u32>) -> Option<u32> {
        self.number_of_agent[agent? as usize]
    }
}

/// A kernel that ran.
#[derive(Clone, Copy)]
pub(super) struct KernelRun {
    /// When, in nanoseconds.
    pub(super) span: Interval,
    /// Position of its name.
    pub(super) name: u32,
    /// Position of its launch configuration in the profile.
    pub(super) launch: u32,
}

impl KernelRun {
    pub(super) fn duration(&self) -> i64 {
        self.span.length()
    }
}

/// The kernels that count: of threads that were asked for, on a known agent, with a length.
pub(super) struct GpuKernels {
    /// Distinct names.
    pub(super) names: Vec<String>,
    /// Class of each.
    classes: Vec<KernelClass>,
    /// The kernels of each GPU by start, then length, then name.
    pub(super) gpus: Vec<Vec<KernelRun>>,
    /// Kernels left out because the file does not say where they ran.
    pub(super) without_agent: usize,
}

impl GpuKernels {
    pub(super) fn of(profile: &Profile, options: &PftraceOptions) -> Self {
        let order = GpuOrder::of(profile);
        let mut names = DisplayNames::new(profile, options.names_of(profile.source));
        let mut gpus = vec![Vec::new(); order.count as usize];
        let mut without_agent = 0;
        let threads = options.min_tid..=options.max_tid;
        let counts = |dispatch: &&Dispatch| dispatch.duration() > 0 && threads.contains(&dispatch.thread);
        for dispatch in profile.dispatches.iter().filter(counts) {
            let Some(gpu) = order.number(dispatch.agent) else {
                without_agent += 1;
                continue;
            };
            let span = Interval::new(dispatch.start, dispatch.end);
            let name = names.of_kernel(dispatch.kernel);
            gpus[gpu as usize].push(KernelRun { span, name, launch: dispatch.launch });
        }
        let names = names.into_texts();
        for kernels in &mut gpus {
            kernels.sort_by(|a, b| {
                let time = |run: &KernelRun| (run.span.start, run.duration());
                let name = |run: &KernelRun| &names[run.name as usize];
                time(a).cmp(&time(b)).then_with(|| name(a).cmp(name(b)))
            });
        }
        let classes = names.iter().map(|name| KernelClass::of(name)).collect();
        GpuKernels { names, classes, gpus, without_agent }
    }

    pub(super) fn class(&self, run: &KernelRun) -> KernelClass {
        self.classes[run.name as usize]
    }

    /// Whether a kernel is a collective.
    pub(super) fn communicates(&self, run: &KernelRun) -> bool {
        self.class(run) == KernelClass::Rccl
    }

    /// The kernels of all GPUs, one GPU after the other.
    pub(super) fn all(&self) -> impl Iterator<Item = &KernelRun> {
        self.gpus.iter().flatten()
    }
}
