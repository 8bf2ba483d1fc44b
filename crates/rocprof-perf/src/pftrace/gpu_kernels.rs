//! The kernels of a profile, GPU by GPU: their names as the tables show them, and their kinds.

use std::sync::LazyLock;

use gpu_timeline::Interval;
use perf_models::{Category, PftraceKernel};
use regex::Regex;
use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{Dispatch, KernelNames, Profile};

use crate::IndexSet;
use crate::conventions::KernelCategories;
use crate::options::{PftraceOptions, RocprofOptions};

/// GPUs in the order in which their first kernels stand in the file, which is how the tables number them.
pub(crate) struct GpuOrder {
    number_of_agent: Vec<Option<u32>>,
    count: u32,
}

impl GpuOrder {
    pub(crate) fn new(profile: &Profile) -> Self {
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
    pub(crate) fn number(&self, agent: Option<u32>) -> Option<u32> {
        self.number_of_agent[agent? as usize]
    }
}

#[derive(Clone, Copy)]
pub(crate) struct KernelRun {
    /// When it ran, in nanoseconds.
    pub(crate) span: Interval,
    /// Position of its name.
    pub(crate) name: u32,
    /// Position of its launch configuration in the profile.
    pub(crate) launch: u32,
    /// What it does.
    pub(crate) kind: KernelKind,
}

/// What a kernel does.
#[derive(Clone, Copy)]
pub(crate) struct KernelKind {
    /// Label of its row.
    pub(crate) category: &'static str,
    /// Whether it is a collective.
    pub(crate) communicates: bool,
    /// Whether it is of the kinds that libraries are for: collectives, copies and fills, matrix products, attention,
    /// convolutions.
    pub(crate) is_library_kind: bool,
}

impl KernelKind {
    fn from_class(class: Category) -> Self {
        let is_library_kind = matches!(
            class,
            Category::Communication
                | Category::CopyFill
                | Category::Gemm
                | Category::GroupedGemmForward
                | Category::GroupedGemmBackward
                | Category::SdpaForward
                | Category::SdpaBackward
                | Category::InferenceAttention
                | Category::ConvForward
                | Category::ConvBackward
        );
        let communicates = class == Category::Communication;
        KernelKind { category: class.as_str(), communicates, is_library_kind }
    }

    fn from_tracelens(name: &str) -> Self {
        let kind = PftraceKernel::from_name(name);
        let (communicates, is_library_kind) = (kind == PftraceKernel::Rccl, kind != PftraceKernel::Xla);
        KernelKind { category: kind.as_str(), communicates, is_library_kind }
    }
}

impl KernelRun {
    pub(crate) fn duration(&self) -> Nanoseconds {
        Nanoseconds(self.span.length())
    }
}

/// The kernels that count: of threads that were asked for, on a known agent, with a length.
pub(crate) struct GpuKernels {
    pub(crate) names: Vec<String>,
    /// The kernels of each GPU by start, then length, then name.
    pub(crate) gpus: Vec<Vec<KernelRun>>,
    /// Kernels left out because the file does not say where they ran.
    pub(crate) without_agent: usize,
}

impl GpuKernels {
    pub(crate) fn new(
        profile: &Profile,
        options: &RocprofOptions,
        tables: &PftraceOptions,
        class_of: impl Fn(u32) -> Category,
    ) -> Self {
        let order = GpuOrder::new(profile);
        let mut kinds = vec![None; profile.kernels.len()];
        let mut names = DisplayNames::new(profile, options.names_of_pftrace(profile.source));
        let mut gpus = vec![Vec::new(); order.count as usize];
        let mut without_agent = 0;
        let threads = tables.min_tid..=tables.max_tid;
        let counts =
            |dispatch: &&Dispatch| dispatch.duration() > Nanoseconds(0) && threads.contains(&dispatch.thread);
        for dispatch in profile.dispatches.iter().filter(counts) {
            let Some(gpu) = order.number(dispatch.agent) else {
                without_agent += 1;
                continue;
            };
            let span = Interval::between(dispatch.start.0, dispatch.end.0);
            let name = names.intern_kernel(dispatch.kernel);
            let kind = *kinds[dispatch.kernel as usize].get_or_insert_with(|| {
                match options.conventions.categories {
                    KernelCategories::Short => KernelKind::from_tracelens(names.text(name)),
                    KernelCategories::Trace => KernelKind::from_class(class_of(dispatch.kernel)),
                }
            });
            gpus[gpu as usize].push(KernelRun { span, name, launch: dispatch.launch, kind });
        }
        let names = names.into_texts();
        for kernels in &mut gpus {
            kernels.sort_by(|a, b| {
                let time = |run: &KernelRun| (run.span.start, run.duration());
                let name = |run: &KernelRun| &names[run.name as usize];
                time(a).cmp(&time(b)).then_with(|| name(a).cmp(name(b)))
            });
        }
        GpuKernels { names, gpus, without_agent }
    }

    /// The kernels of all GPUs, one GPU after the other.
    pub(crate) fn all(&self) -> impl Iterator<Item = &KernelRun> {
        self.gpus.iter().flatten()
    }
}

/// Distinct names of those kernels of a profile that were asked for.
pub(crate) struct DisplayNames<'a> {
    profile: &'a Profile,
    names: KernelNames,
    /// Position of a kernel's name; `None` until it is asked for, because a profile lists every kernel that was
    /// loaded and few of them run.
    positions: Vec<Option<u32>>,
    texts: IndexSet<String>,
}

impl<'a> DisplayNames<'a> {
    pub(crate) fn new(profile: &'a Profile, names: KernelNames) -> Self {
        let positions = vec![None; profile.kernels.len()];
        DisplayNames { profile, names, positions, texts: IndexSet::default() }
    }

    /// Position of a kernel's name.
    pub(crate) fn intern_kernel(&mut self, kernel: u32) -> u32 {
        if let Some(position) = self.positions[kernel as usize] {
            return position;
        }
        let position = self.intern(&self.profile.kernel_name(kernel, self.names));
        self.positions[kernel as usize] = Some(position);
        position
    }

    /// Position of a text among the names.
    pub(crate) fn intern(&mut self, text: &str) -> u32 {
        let known = self.texts.get_index_of(text);
        known.unwrap_or_else(|| self.texts.insert_full(text.to_owned()).0) as u32
    }

    fn text(&self, position: u32) -> &str {
        &self.texts[position as usize]
    }

    /// The names by position.
    pub(crate) fn into_texts(self) -> Vec<String> {
        self.texts.into_iter().collect()
    }
}

/// Labels of rows, and the position of each name's label.
pub(crate) struct Labels {
    pub(crate) texts: Vec<String>,
    pub(crate) label_positions: Vec<u32>,
}

impl Labels {
    /// The names themselves, or, to merge those that differ in digits only, the names without digits.
    pub(crate) fn new(names: &[String], merge: bool) -> Self {
        if !merge {
            return Labels { texts: names.to_vec(), label_positions: (0..names.len() as u32).collect() };
        }
        let mut texts = IndexSet::default();
        let label_positions =
            names.iter().map(|name| texts.insert_full(without_digits(name)).0 as u32).collect();
        Labels { texts: texts.into_iter().collect(), label_positions }
    }
}

/// Decimal digits of any script go, as they do for TraceLens; fractions and superscripts stay.
fn without_digits(name: &str) -> String {
    static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\d+").ok());
    DIGITS.as_ref().map_or_else(|| name.to_owned(), |digits| digits.replace_all(name, "").into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_without_digits_put_names_together() {
        let names = ["fusion_12", "gemm", "fusion_3", "k\u{663}x²"].map(str::to_owned);
        let labels = Labels::new(&names, true);
        assert_eq!(labels.texts, ["fusion_", "gemm", "kx²"]);
        assert_eq!(labels.label_positions, [0, 1, 0, 2]);
        assert_eq!(Labels::new(&names, false).label_positions, [0, 1, 2, 3]);
    }
}
