//! A profile made ready for its sheets.

use std::sync::OnceLock;

use hashbrown::HashMap;
use trace_ingest::rocprof::{Dispatch, MemoryCopy, Profile, SourceFormat};

use super::category::KernelCategory;
use super::kernel_groups::KernelGroups;
use super::notice::RocprofNotice;
use super::options::RocprofOptions;
use super::pftrace::PftraceRecords;

/// A profile of `rocprofv3` with the names and categories of its kernels: what all sheets are made from.
pub struct RocprofAnalysis {
    profile: Profile,
    options: RocprofOptions,
    names: Vec<String>,
    name_of_kernel: Vec<u32>,
    /// By name; found when first asked for, because code objects hold many kernels that never run.
    categories: Vec<OnceLock<KernelCategory>>,
    groups: OnceLock<KernelGroups>,
    pftrace_records: PftraceRecords,
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
            pftrace_records: PftraceRecords::default(),
        }
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What was asked for.
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
    pub fn category(&self, name: u32) -> KernelCategory {
        let text = &self.names[name as usize];
        *self.categories[name as usize].get_or_init(|| match self.options.parity {
            true => KernelCategory::of_reference(text),
            false => KernelCategory::of_name(text),
        })
    }

    /// The kernels that count: all, but those of the first process alone for the figures of the reference.
    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatch> + Clone {
        self.profile.dispatches.iter().filter(|dispatch| self.counts(dispatch.process))
    }

    /// The memory copies that count, as for [`dispatches`](Self::dispatches).
    pub fn copies(&self) -> impl Iterator<Item = &MemoryCopy> + Clone {
        self.profile.copies.iter().filter(|copy| self.counts(copy.process))
    }

    /// What the sheets leave out or assume, so that nothing goes missing silently.
    pub fn notices(&self) -> Vec<RocprofNotice> {
        RocprofNotice::of(self)
    }

    /// The durations of the kernels by name. Computed once.
    pub(crate) fn groups(&self) -> &KernelGroups {
        self.groups.get_or_init(|| KernelGroups::of(self))
    }

    /// A time in nanoseconds as columns in µs have it; that in nanoseconds for the figures of the reference.
    pub(crate) fn us(&self, nanoseconds: f64) -> f64 {
        if self.options.parity { nanoseconds } else { nanoseconds / 1e3 }
    }

    /// A time in nanoseconds as columns in ms have it; that in µs for the figures of the reference.
    pub(crate) fn ms(&self, nanoseconds: f64) -> f64 {
        if self.options.parity { nanoseconds / 1e3 } else { nanoseconds / 1e6 }
    }

    /// What the tables that are known from Perfetto traces are made from.
    pub(super) fn pftrace_records(&self) -> &PftraceRecords {
        &self.pftrace_records
    }

    /// The reference reads one format, and of that one process.
    fn counts(&self, process: u32) -> bool {
        process == 0 || !self.options.parity || self.profile.source != SourceFormat::Json
    }
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
