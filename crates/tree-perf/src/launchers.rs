//! The operators that launched device work, with what they launched.

use gpu_timeline::busy_time;
use perf_models::CommunicationPatterns;
use trace_ingest::EventId;
use trace2tree::TraceTree;

use crate::device::interval;
use crate::models::Models;
use operator_sheets::OpCategory;

/// One operator call that launched device work itself; a runtime call where no operator did. The base of
/// the operator sheets.
pub(crate) struct Launcher {
    pub(crate) event: EventId,
    pub(crate) category: OpCategory,
    /// Time in which at least one of its own device events ran; communication is left out.
    pub(crate) direct_time: i64,
    /// The same over everything below it, communication included.
    pub(crate) subtree_time: i64,
    kernels: std::ops::Range<u32>,
}

/// An operator call that launched device work itself; a runtime call where no operator did.
#[derive(Clone, Copy, Debug)]
pub struct LauncherRow<'a> {
    /// The operator or call.
    pub event: EventId,
    /// Kind of work.
    pub category: &'a OpCategory,
    /// Time in which at least one of its own device events ran, in the trace's unit; communication is left out.
    pub direct_time: i64,
    /// What it launched itself, by start; communication is left out.
    pub kernels: &'a [EventId],
}

/// All launchers, by their start.
pub(crate) struct Launchers {
    launchers: Vec<Launcher>,
    /// Positions of the launchers, by their event.
    by_event: Vec<u32>,
    /// Device events of the launchers, each launcher's by their start.
    kernels: Vec<EventId>,
}

impl Launchers {
    pub(crate) fn find(tree: &TraceTree, communication: &CommunicationPatterns, models: &Models) -> Self {
        let trace = tree.trace();
        let found = tree.kernel_launchers(|name| !communication.is_communication(name));
        let mut all = Launchers {
            launchers: Vec::with_capacity(found.len()),
            by_event: (0..found.len() as u32).collect(),
            kernels: Vec::new(),
        };
        let mut scratch = Vec::new();
        for (event, kernels) in found.iter() {
            let first = all.kernels.len();
            all.kernels.extend_from_slice(kernels);
            all.kernels[first..].sort_by_key(|&kernel| trace.events().start(kernel));
            let kernels = &all.kernels[first..];
            let below = tree.device_events(event);
            let mut busy = |of: &[EventId]| busy_time(of.iter().map(|&id| interval(trace, id)), &mut scratch);
            let first_kernel = kernels.first().copied();
            let direct_time = busy(kernels);
            let only_own = below.len() == 1 && below == kernels;
            all.launchers.push(Launcher {
                event,
                category: models.category(tree, event, first_kernel),
                direct_time,
                subtree_time: if only_own { direct_time } else { busy(below) },
                kernels: first as u32..all.kernels.len() as u32,
            });
        }
        all.by_event.sort_unstable_by_key(|&position| all.launchers[position as usize].event);
        all
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Launcher> + Clone {
        self.launchers.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.launchers.is_empty()
    }

    /// What a launcher launched itself, by start; communication is left out.
    pub(crate) fn kernels(&self, launcher: &Launcher) -> &[EventId] {
        &self.kernels[launcher.kernels.start as usize..launcher.kernels.end as usize]
    }

    /// The launcher that is this event.
    pub(crate) fn of_event(&self, event: EventId) -> Option<&Launcher> {
        let launcher = |position: u32| &self.launchers[position as usize];
        let at = self.by_event.binary_search_by_key(&event, |&position| launcher(position).event).ok()?;
        Some(launcher(self.by_event[at]))
    }
}
