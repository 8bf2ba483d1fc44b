//! `nn.Module`s: which module an event ran in, and how long the device worked for each.

use trace_ingest::{Category, EventId};

use crate::busy_time::busy_time;
use crate::names::module_class;
use crate::row::some;
use crate::tree::TraceTree;

/// Device time of one `nn.Module`. Times are in the trace's time unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleTime {
    /// The module's Python frame.
    pub module: EventId,
    /// The module that called it; `None` for the one asked about.
    pub parent: Option<EventId>,
    /// How many modules of the answer enclose it.
    pub depth: usize,
    /// Device events below the module.
    pub device_events: usize,
    /// Time in which at least one of them ran; 0 when there are none.
    pub gpu_time: i64,
    /// Time in which at least one device event ran that no module called by this one launched. `None` when
    /// it calls no module, or when all its device events are theirs.
    pub own_gpu_time: Option<i64>,
}

impl TraceTree {
    /// Whether the event is the Python frame of an `nn.Module` call.
    pub fn is_module(&self, event: EventId) -> bool {
        let events = self.trace.events();
        events.category(event) == Category::PYTHON_FUNCTION && self.names.is_module(events.name(event))
    }

    /// The nearest `nn.Module` above an event. Always `None` in a tree without Python frames.
    #[inline]
    pub fn parent_module(&self, event: EventId) -> Option<EventId> {
        some(self.layout().module[event.index()])
    }

    /// Names of the modules above an event ([`module_class`]), outermost first; `root` alone when there is
    /// none.
    pub fn module_stack(&self, event: EventId) -> Vec<&str> {
        let modules = std::iter::successors(self.parent_module(event), |&module| self.parent_module(module));
        let mut stack: Vec<&str> = modules.map(|module| module_class(self.trace.name(module))).collect();
        if stack.is_empty() {
            stack.push("root");
        }
        stack.reverse();
        stack
    }

    /// The nearest `nn.Module`s below an event, in pre-order.
    pub fn child_modules(&self, event: EventId) -> Vec<EventId> {
        let mut below = self.host_subtree(event).get(1..).unwrap_or_default();
        let mut found = Vec::new();
        while let Some((&next, rest)) = below.split_first() {
            below = match self.is_module(next) {
                true => {
                    found.push(next);
                    &below[self.host_subtree(next).len()..]
                }
                false => rest,
            };
        }
        found
    }

    /// Device time of a module (or of any host event) and of all modules below it, in pre-order.
    pub fn module_times(&self, module: EventId) -> Vec<ModuleTime> {
        let events = self.trace.events();
        let mut times = Vec::new();
        let mut stack = vec![(module, None, 0)];
        while let Some((module, parent, depth)) = stack.pop() {
            let children = self.child_modules(module);
            let device = self.device_events(module);
            // The device events of a child are a run of the module's own; what lies between is the rest.
            let mut rest: Vec<EventId> = Vec::new();
            let mut from = 0;
            for &child in &children {
                if let Some(&first) = self.device_events(child).first() {
                    let start =
                        from + device[from..].iter().position(|&event| event == first).unwrap_or_default();
                    rest.extend(&device[from..start]);
                    from = start + self.device_events(child).len();
                }
            }
            rest.extend(&device[from..]);
            let has_rest = !children.is_empty() && !rest.is_empty();
            times.push(ModuleTime {
                module,
                parent,
                depth,
                device_events: device.len(),
                gpu_time: busy_time(events, device.iter().copied()),
                own_gpu_time: has_rest.then(|| busy_time(events, rest)),
            });
            stack.extend(children.into_iter().rev().map(|child| (child, Some(module), depth + 1)));
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Planted};
    use crate::{TraceTree, TreeOptions};

    #[test]
    fn instance_numbers_are_removed_from_module_names() {
        for (name, module) in [
            ("nn.Module: Linear_3", "nn.Module: Linear"),
            ("nn.Module: Linear", "nn.Module: Linear"),
            ("nn.Module: Conv2d_1x1_12", "nn.Module: Conv2d_1x1"),
            ("nn.Module: Linear_", "nn.Module: Linear_"),
            ("nn.Module: Conv2", "nn.Module: Conv2"),
        ] {
            assert_eq!(module_class(name), module);
        }
    }

    /// A model that launches one kernel itself, one in a layer, and has a layer without device work.
    fn model() -> (TraceTree, [EventId; 5]) {
        let mut fixture = Fixture::new();
        let model = fixture.python("nn.Module: Model_0", (0.0, 100.0));
        let layer = fixture.python("nn.Module: Linear_0", (10.0, 20.0));
        let op = fixture.op("aten::linear", (11.0, 10.0));
        fixture.launch("cudaLaunchKernel", (12.0, 5.0), 1);
        fixture.python("forward", (40.0, 20.0));
        let dropout = fixture.python("nn.Module: Dropout_0", (41.0, 5.0));
        fixture.launch("cudaLaunchKernel", (70.0, 5.0), 2);
        let kernel = fixture.kernel("a", (200.0, 10.0), 1);
        fixture.kernel("b", (205.0, 10.0), 2);
        (fixture.tree(), [model, layer, op, dropout, kernel])
    }

    #[test]
    fn the_module_stack_excludes_the_module_itself() {
        let (tree, [model, layer, op, _, kernel]) = model();
        assert_eq!(tree.module_stack(op), ["nn.Module: Model", "nn.Module: Linear"]);
        assert_eq!(tree.module_stack(kernel), ["nn.Module: Model", "nn.Module: Linear"]);
        assert_eq!(tree.module_stack(layer), ["nn.Module: Model"]);
        assert_eq!(tree.module_stack(model), ["root"]);
    }

    #[test]
    fn child_and_parent_modules_skip_other_frames() {
        let (tree, [model, layer, op, dropout, _]) = model();
        assert_eq!(tree.child_modules(model), [layer, dropout]);
        assert_eq!(tree.child_modules(op), []);
        assert_eq!((tree.parent_module(dropout), tree.parent_module(model)), (Some(model), None));
    }

    #[test]
    fn module_times_tell_own_time_and_give_zero_without_device_work() {
        let (tree, [model, layer, _, dropout, _]) = model();
        let time = |module, parent, depth, device_events, gpu_time, own_gpu_time| ModuleTime {
            module,
            parent,
            depth,
            device_events,
            gpu_time,
            own_gpu_time,
        };
        assert_eq!(
            tree.module_times(model),
            [
                time(model, None, 0, 2, 15_000, Some(10_000)),
                time(layer, Some(model), 1, 1, 10_000, None),
                time(dropout, Some(model), 1, 0, 0, None),
            ]
        );
    }

    #[test]
    fn without_python_frames_there_are_no_modules() {
        let (tree, [model, _, op, ..]) = model();
        let tree = TraceTree::build(tree.into_trace(), &TreeOptions::default());
        assert_eq!((tree.parent_module(op), tree.module_stack(op)), (None, vec!["root"]));
        assert_eq!(tree.child_modules(model), []);
    }
}
