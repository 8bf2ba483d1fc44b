//! The device events of a trace, as the sheets need them.

use gpu_timeline::{Activity, DeviceEvent, Interval};
use hashbrown::HashSet;
use perf_models::{CommunicationPatterns, MemoryKernel, rocm_memory_kernel};
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
        // Names repeat thousands of times: classify each once per category.
        let mut known: [Vec<Option<Activity>>; 3] =
            std::array::from_fn(|_| vec![None; trace.strings().len()]);
        let activity = ids
            .iter()
            .map(|&id| {
                let (category, name) = (events.category(id), events.name(id));
                let kind = match category {
                    Category::GPU_MEMCPY => 0,
                    Category::GPU_MEMSET => 1,
                    _ => 2,
                };
                *known[kind][name.index()]
                    .get_or_insert_with(|| activity(category, trace.text(name), communication))
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

    pub(crate) fn timeline_event(&self, trace: &Trace, position: usize) -> DeviceEvent {
        let Interval { start, end } = interval(trace, self.ids[position]);
        DeviceEvent::new(start, end, self.activity[position])
    }
}

/// When an event ran.
pub(crate) fn interval(trace: &Trace, event: EventId) -> Interval {
    Interval::between(trace.events().start(event), trace.events().end(event))
}

/// First match: a recorded copy is a copy whatever its name; a *kernel* that older ROCm releases used for copying is a
/// copy, one for filling is computation; then communication by name; then computation.
fn activity(category: Category, name: &str, communication: &CommunicationPatterns) -> Activity {
    let memory_kernel = match category {
        Category::GPU_MEMCPY => return Activity::Memcpy,
        Category::GPU_MEMSET => None,
        _ => rocm_memory_kernel(name),
    };
    match memory_kernel {
        Some(MemoryKernel::Copy) => Activity::Memcpy,
        None if communication.is_communication(name) => Activity::Communication,
        Some(MemoryKernel::Fill) | None => Activity::Computation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_classified_by_category_then_name() {
        let widened = CommunicationPatterns::default().with_pattern("ROCCLR");
        for (category, name, expected, of_widened) in [
            (Category::KERNEL, "ncclDevKernel_AllReduce", Activity::Communication, Activity::Communication),
            (Category::GPU_MEMSET, "ncclMemset", Activity::Communication, Activity::Communication),
            (Category::KERNEL, "__amd_rocclr_copyBuffer", Activity::Memcpy, Activity::Memcpy),
            (Category::KERNEL, "__amd_rocclr_fillBuffer", Activity::Computation, Activity::Computation),
            (Category::KERNEL, "__amd_rocclr_other", Activity::Computation, Activity::Communication),
            (Category::GPU_MEMSET, "__amd_rocclr_copyBuffer", Activity::Computation, Activity::Communication),
            (Category::GPU_MEMSET, "Memset (Device)", Activity::Computation, Activity::Computation),
            (Category::GPU_MEMCPY, "nccl", Activity::Memcpy, Activity::Memcpy),
            (Category::GPU_MEMCPY, "", Activity::Memcpy, Activity::Memcpy),
            (Category::KERNEL, "", Activity::Computation, Activity::Computation),
        ] {
            let activities = [&CommunicationPatterns::default(), &widened]
                .map(|patterns| activity(category, name, patterns));
            assert_eq!(activities, [expected, of_widened], "{category:?} {name:?}");
        }
    }
}
