//! Device work whose launch is not recorded.

use hashbrown::{HashMap, HashSet};
use perf_models::{Category, convolution_category, kernel_class};
use trace_ingest::{Category as EventCategory, EventId, PerString};

use crate::analysis::Analysis;
use crate::derived::UnlinkedEvent;
use crate::options::links_all_work;

impl Analysis {
    /// The device events whose launch is not recorded, in file order.
    pub fn unlinked_events(&self) -> &[UnlinkedEvent] {
        self.derived.unlinked.get_or_init(|| self.find_unlinked_events())
    }

    fn find_unlinked_events(&self) -> Vec<UnlinkedEvent> {
        let (trace, events) = (self.trace(), self.trace().events());
        let queue = |event: EventId| (events.device(event), events.stream(event));
        let mut first_launched: HashMap<_, i64> = HashMap::new();
        if !self.device.linked.contains(&false) {
            return Vec::new();
        }
        let all = || self.device.ids.iter().copied().zip(self.device.linked.iter().copied());
        for (event, _) in all().filter(|&(_, linked)| linked) {
            let first = first_launched.entry(queue(event)).or_insert(i64::MAX);
            *first = (*first).min(events.start(event));
        }
        let id = |event: EventId| events.correlation(event).filter(|&id| id > 0);
        let first_call = self.tree().first_call_id();
        let unlinked_ids: HashSet<i64> =
            all().filter(|&(_, linked)| !linked).filter_map(|(event, _)| id(event)).collect();
        // Several calls may have one correlation, so that none of them is the launch.
        let called: HashSet<i64> = self
            .tree()
            .host_events()
            .iter()
            .filter_map(|&event| id(event))
            .filter(|id| unlinked_ids.contains(id))
            .collect();
        let is_earlier_call =
            |event: EventId| id(event).zip(first_call).is_some_and(|(id, first)| id < first);
        let mut class_of_kernel = PerString::new(trace.strings(), |name| self.class_of_kernel(name));
        let unlinked = all().filter(|&(_, linked)| !linked).map(|(event, _)| UnlinkedEvent {
            event,
            class: match events.category(event) {
                EventCategory::GPU_MEMCPY => Category::CopyFill,
                _ => self
                    .class_of_convolution(event)
                    .unwrap_or_else(|| *class_of_kernel.get(events.name(event))),
            },
            is_from_before: id(event).is_none_or(|id| !called.contains(&id))
                && (is_earlier_call(event)
                    || first_launched.get(&queue(event)).is_some_and(|&first| events.start(event) < first)),
        });
        unlinked.collect()
    }

    fn class_of_kernel(&self, name: &str) -> Category {
        kernel_class(name, &self.options().communication).map_or(Category::Other, |class| class.category)
    }

    /// What XLA calls a convolution is, by the operation of the framework.
    fn class_of_convolution(&self, event: EventId) -> Option<Category> {
        let op = self.trace().events().arguments().framework_op.get(event.index())?;
        convolution_category(self.trace().text(op))
    }

    /// What a device event does, as its name or the operation of the framework says.
    pub fn class(&self, event: EventId) -> Category {
        match self.trace().events().category(event) {
            EventCategory::GPU_MEMCPY => Category::CopyFill,
            _ => self
                .class_of_convolution(event)
                .unwrap_or_else(|| self.class_of_kernel(self.trace().name(event))),
        }
    }

    /// Whether the recorder knows the launches of all device work, so that one without is missing.
    pub fn knows_all_launches(&self) -> bool {
        links_all_work(self.trace().facts())
    }
}
