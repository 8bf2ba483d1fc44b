//! Which entries of a recording a fused trace has.

use std::ops::{ControlFlow, Range};

use hashbrown::{HashMap, HashSet};
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
    /// Collective kernels, their launches, and the host operators that issue them.
    Communication,
}

/// Moments of a recording that are chosen, and what was launched in them.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// In nanoseconds on the clock of the recording.
    stretches: Vec<Range<i64>>,
    /// Ids of all launches, each with whether it is in the stretches.
    launches: HashMap<i64, bool>,
    /// The same of the program's ranges, by external id.
    ranges: HashMap<i64, bool>,
}

impl Moments {
    pub(crate) fn new(stretches: Vec<Range<i64>>) -> Self {
        Moments { stretches, ..Moments::default() }
    }

    fn contain(&self, time: Option<i64>) -> bool {
        time.is_none_or(|time| self.stretches.iter().any(|stretch| stretch.contains(&time)))
    }

    /// Whether an entry begins in them or, where something runs on the device, its launch.
    fn have(&self, entry: &RawEntry<'_>) -> bool {
        let launch = match (entry.flow, entry.category()) {
            (Some((FlowKind::Launch, _, id)), _) => self.launches.get(&id),
            (_, Some(Category::GPU_USER_ANNOTATION)) => {
                entry.external_id().and_then(|id| self.ranges.get(&id))
            }
            (_, Some(category)) if category.is_device() => {
                entry.correlation().and_then(|id| self.launches.get(&id))
            }
            _ => None,
        };
        launch.copied().unwrap_or_else(|| self.contain(entry.time))
    }

    fn note(&mut self, entry: &RawEntry<'_>) {
        let is_in = self.contain(entry.time);
        match entry.category() {
            Some(category) if category.is_launch_api() => {
                self.launches.extend(entry.correlation().map(|id| (id, is_in)));
            }
            Some(Category::USER_ANNOTATION) => {
                self.ranges.extend(entry.external_id().map(|id| (id, is_in)));
            }
            _ => {}
        }
    }
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
    /// Where only some are chosen.
    moments: Option<Moments>,
}

impl<'a> Choice<'a> {
    pub(crate) fn new(
        events: FusedEvents,
        python_frames: bool,
        communication: &'a CommunicationPatterns,
        moments: Option<Moments>,
    ) -> Self {
        let (correlations, external_ids) = (HashSet::new(), HashSet::new());
        Choice { events, python_frames, communication, correlations, external_ids, moments }
    }

    /// Whether the entry is in the fused trace. Entries of phase `M` are not asked for.
    pub(crate) fn has(&self, entry: &RawEntry<'_>) -> bool {
        let category = entry.category();
        match category {
            Some(Category::TRACE) => return false,
            Some(Category::PYTHON_FUNCTION) if !self.python_frames => return false,
            _ => {}
        }
        if self.moments.as_ref().is_some_and(|moments| !moments.have(entry)) {
            return false;
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
            call if call.is_launch_api() => is_of(&self.correlations, entry.correlation()),
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
        self.events == FusedEvents::Communication || self.moments.is_some()
    }
}

/// Takes note of the kernels that communicate, and of when what was launched.
impl EntryVisitor for Choice<'_> {
    fn fact(&mut self, _: &'static str, _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()> {
        if let Some(moments) = &mut self.moments {
            moments.note(&entry);
        }
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
