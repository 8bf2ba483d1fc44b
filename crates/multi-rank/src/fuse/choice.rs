//! Which entries of a recording a fused trace has.

use std::ops::ControlFlow;

use hashbrown::HashSet;
use perf_models::CommunicationPatterns;
use trace_ingest::{Category, EntryVisitor, FlowKind, RawEntry};

/// Which events a fused trace has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FusedEvents {
    /// All.
    #[default]
    All,
    /// What devices did: kernels, copies, fills, ranges of the program on the device, synchronisation.
    Device,
    /// Kernels that communicate, what launched them, and the host's collectives.
    Communication,
}

/// Chooses entries of one recording.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) events: FusedEvents,
    pub(crate) python_frames: bool,
    pub(crate) communication: &'a CommunicationPatterns,
    /// Ids of the kernels that communicate, for [`FusedEvents::Communication`].
    correlations: HashSet<i64>,
    external_ids: HashSet<i64>,
}

impl<'a> Choice<'a> {
    pub(crate) fn new(
        events: FusedEvents,
        python_frames: bool,
        communication: &'a CommunicationPatterns,
    ) -> Self {
        let (correlations, external_ids) = (HashSet::new(), HashSet::new());
        Choice { events, python_frames, communication, correlations, external_ids }
    }

    /// Whether the entry is in the fused trace. Entries of phase `M` are not asked for.
    pub(crate) fn has(&self, entry: &RawEntry<'_>) -> bool {
        let category = entry.category();
        match category {
            Some(Category::TRACE) => return false,
            Some(Category::PYTHON_FUNCTION) if !self.python_frames => return false,
            _ => {}
        }
        match self.events {
            FusedEvents::All => true,
            FusedEvents::Device => {
                entry.category_text() == b"cuda_sync"
                    || category.is_some_and(|category| {
                        category.is_device() || category == Category::GPU_USER_ANNOTATION
                    })
            }
            FusedEvents::Communication => self.has_communication(entry, category),
        }
    }

    fn has_communication(&self, entry: &RawEntry<'_>, category: Option<Category>) -> bool {
        if let Some((kind, _, id)) = entry.flow {
            return kind == FlowKind::Launch && self.correlations.contains(&id);
        }
        let is_of = |ids: &HashSet<i64>, id: Option<i64>| id.is_some_and(|id| ids.contains(&id));
        let Some(category) = category else { return false };
        match category {
            Category::KERNEL => self.communication.is_communication(&entry.name()),
            Category::CUDA_RUNTIME | Category::CUDA_DRIVER => is_of(&self.correlations, entry.correlation()),
            Category::CPU_OP => {
                entry.names_collective()
                    || is_of(&self.external_ids, entry.external_id())
                    || entry.name().starts_with("c10d::")
            }
            Category::USER_ANNOTATION | Category::GPU_USER_ANNOTATION => {
                let name = entry.name();
                self.communication.is_communication(&name) && !self.communication.is_guess(&name)
            }
            _ => false,
        }
    }

    /// Whether the recording has to be gone through before anything can be chosen: what belongs to a kernel stands
    /// before it.
    pub(crate) fn looks_ahead(&self) -> bool {
        self.events == FusedEvents::Communication
    }
}

/// Takes note of the kernels that communicate.
impl EntryVisitor for Choice<'_> {
    fn fact(&mut self, _: &'static str, _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()> {
        let ids = [entry.correlation(), entry.external_id()];
        if entry.category() == Some(Category::KERNEL)
            && ids != [None, None]
            && self.communication.is_communication(&entry.name())
        {
            self.correlations.extend(ids[0]);
            self.external_ids.extend(ids[1]);
        }
        ControlFlow::Continue(())
    }
}
