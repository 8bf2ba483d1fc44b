//! The device events of a trace, as the sheets need them.

use gpu_timeline::{Activity, CommunicationPatterns, DeviceEventKind, Interval, TimelineEvent};
use hashbrown::HashSet;
use trace_ingest::{Category, EventId, StringId, Trace};
use trace2tree::TraceTree;

/// Columns over the device events, in file order.
pub(crate) struct DeviceEvents {
    pub(crate) ids: Vec<EventId>,
    pub(crate) activity: Vec<Activity>,
    /// Whether a launch was found.
    pub(crate) linked: Vec<bool>,
    /// Names of communication among those of device events.
    communication: HashSet<StringId>,
}

impl DeviceEvents {
    pub(crate) fn collect(tree: &TraceTree, communication: &CommunicationPatterns) -> Self {
        let (trace, events) = (tree.trace(), tree.trace().events());
        let ids: Vec<EventId> = events.ids().filter(|&id| events.category(id).is_device()).collect();
        // Names repeat thousands of times: classify each once per kind.
        let mut known: [Vec<Option<Activity>>; 3] =
            std::array::from_fn(|_| vec![None; trace.strings().len()]);
        let activity = ids
            .iter()
            .map(|&id| {
                let kind = kind_of(events.category(id));
                let name = events.name(id);
                *known[kind as usize][name.index()]
                    .get_or_insert_with(|| communication.classify(kind, trace.text(name)))
            })
            .collect();
        let linked = ids.iter().map(|&id| tree.contains(id)).collect();
        let names: HashSet<StringId> = ids.iter().map(|&id| events.name(id)).collect();
        let is_communication = |name: &StringId| communication.is_communication(trace.text(*name));
        let communication = names.into_iter().filter(is_communication).collect();
        DeviceEvents { ids, activity, linked, communication }
    }

    /// Whether device events of this name communicate, whatever their kind.
    pub(crate) fn is_communication(&self, name: StringId) -> bool {
        self.communication.contains(&name)
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn timeline_event(&self, trace: &Trace, position: usize) -> TimelineEvent {
        let event = self.ids[position];
        TimelineEvent {
            start: trace.events().start(event),
            end: trace.events().end(event),
            activity: self.activity[position],
        }
    }
}

/// When an event ran.
pub(crate) fn interval(trace: &Trace, event: EventId) -> Interval {
    Interval::new(trace.events().start(event), trace.events().end(event))
}

fn kind_of(category: Category) -> DeviceEventKind {
    match category {
        Category::GPU_MEMCPY => DeviceEventKind::Memcpy,
        Category::GPU_MEMSET => DeviceEventKind::Memset,
        _ => DeviceEventKind::Kernel,
    }
}
