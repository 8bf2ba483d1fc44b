//! The operators that device time is charged to in the unified table: every device event once.
//!
//! A walk from the roots takes the outermost operator that a model knows, or the operator that launched
//! device work itself where no model is in sight. An operator that was inserted to stand for a part of a modelled
//! one is taken beside it, when a model knows it too. What the walk leaves over becomes a row per device event.

use operator_sheets::OpCategory;
use trace_ingest::{Category, EventId, StringId};
use trace2tree::{EventSet, TraceTree};

use crate::IndexMap;
use crate::analysis::Analysis;
use crate::derived::{ChargedOperator, FiguresFrom};

#[cfg(test)]
mod tests;

/// All charged operators, in the order of the walk.
pub(crate) fn charged_operators(analysis: &Analysis) -> Vec<ChargedOperator> {
    let mut walk = Walk::new(analysis);
    let tree = analysis.tree();
    // Python frames at the top first, then operators that no frame leads to.
    let is_frame = |root: &EventId| tree.trace().events().category(*root) == Category::PYTHON_FUNCTION;
    let frames = tree.roots().iter().copied().filter(is_frame);
    for root in frames.chain(tree.operator_roots().iter().copied()) {
        walk.visit(root);
    }
    walk.leftovers();
    let conventions = &analysis.options().conventions;
    if conventions.includes_communication() {
        walk.communication();
    }
    if conventions.divides_by_kernel() {
        walk.divide_by_category();
    }
    walk.rows
}

struct Walk<'a> {
    analysis: &'a Analysis,
    tree: &'a TraceTree,
    /// Operators that a model claims, of those with device work below them.
    modelled: EventSet,
    /// Operators with a modelled operator below them, seen through operators and frames.
    modelled_below: EventSet,
    /// Operators and frames with a call below them that launched device work, seen through calls and
    /// frames: the work is their own.
    launches_itself: EventSet,
    /// Host events with a modelled operator below them that was inserted.
    modelled_part_below: EventSet,
    execute: Option<StringId>,
    visited: EventSet,
    charged: EventSet,
    rows: Vec<ChargedOperator>,
}

impl<'a> Walk<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        let tree = analysis.tree();
        let count = tree.trace().events().len();
        let set = || EventSet::with_capacity(count);
        let execute = tree.trace().strings().find("execute");
        let mut walk = Walk {
            analysis,
            tree,
            modelled: set(),
            modelled_below: set(),
            launches_itself: set(),
            modelled_part_below: set(),
            execute,
            visited: set(),
            charged: set(),
            rows: Vec::new(),
        };
        // Children come after their parents in pre-order, so backwards every child is known in time.
        for &event in tree.host_events().iter().rev() {
            if tree.non_gpu_path(event) {
                continue;
            }
            let has_device_child = tree.children(event).iter().any(|&child| !tree.is_host(child));
            let is_call = tree.trace().events().category(event).is_launch_api();
            if has_device_child && !is_call {
                // Inserted above some of the device events of one launch.
                walk.launches_itself.insert(event);
            }
            let models = analysis.models();
            // Operators that were inserted to stand for the parts of another have the figures of its parts.
            let is_in_parts = walk.modelled_part_below.contains(event) && models.is_ours_alone(tree, event);
            let launched_alone =
                walk.launches_itself.contains(event) || !models.decides_by_kernels(tree, event);
            let may_have_model = launched_alone && !is_in_parts;
            if walk.is_operator(event) && may_have_model && models.has_model(tree, event) {
                walk.modelled.insert(event);
            }
            let Some(parent) = tree.parent(event) else { continue };
            let through = walk.is_operator(event) || walk.is_frame(event);
            let is_modelled = walk.is_modelled(event) && !models.models_backward_alone(tree, event);
            if through && (is_modelled || walk.modelled_below.contains(event)) {
                walk.modelled_below.insert(parent);
            }
            if walk.is_modelled_part(event) || walk.modelled_part_below.contains(event) {
                walk.modelled_part_below.insert(parent);
            }
            // An operator named execute only passes on what a compiled graph launched.
            let passes_on = is_call || walk.is_frame(event) || walk.is_execute(event);
            let launched = is_call && has_device_child;
            if launched || (passes_on && walk.launches_itself.contains(event)) {
                walk.launches_itself.insert(parent);
            }
        }
        walk
    }

    fn category(&self, event: EventId) -> Category {
        self.tree.trace().events().category(event)
    }

    fn is_operator(&self, event: EventId) -> bool {
        self.category(event) == Category::CPU_OP
    }

    fn is_frame(&self, event: EventId) -> bool {
        self.category(event) == Category::PYTHON_FUNCTION
    }

    fn is_modelled(&self, event: EventId) -> bool {
        self.modelled.contains(event)
    }

    fn is_modelled_part(&self, event: EventId) -> bool {
        self.tree.is_pseudo_operator(event) && self.is_modelled(event)
    }

    /// The nearest operator above that does not only pass its work on.
    fn operator_above(&self, event: EventId) -> Option<EventId> {
        let mut operator = self.tree.operator(event);
        while let Some(passing_on) = operator.filter(|&operator| self.is_execute(operator)) {
            operator = self.tree.operator(passing_on);
        }
        operator
    }

    fn is_execute(&self, event: EventId) -> bool {
        self.is_operator(event) && Some(self.tree.trace().events().name(event)) == self.execute
    }

    /// Walks down from `start`; iterative, because Python stacks may be of any depth.
    fn visit(&mut self, start: EventId) {
        let mut pending = vec![start];
        while let Some(event) = pending.pop() {
            if self.tree.non_gpu_path(event) || !self.visited.insert(event) {
                continue;
            }
            if !self.take(event) {
                pending.extend(
                    self.tree.children(event).iter().rev().filter(|&&child| self.tree.is_host(child)),
                );
            }
        }
    }

    /// Charges the event's device work to it, if it is the one to charge.
    fn take(&mut self, event: EventId) -> bool {
        if !self.is_operator(event) {
            return false;
        }
        if self.is_modelled(event) {
            self.charge_modelled(event);
            return true;
        }
        if self.modelled_below.contains(event) {
            return false;
        }
        if let Some(forward) = self.forward_of_sole_backward(event) {
            let device_events = self.tree.device_events_in_file_order(event);
            self.charge(event, device_events, FiguresFrom::BackwardOf(forward));
            return true;
        }
        // What an operator named execute passes on belongs to the operator above it, else to the call.
        if self.launches_itself.contains(event) && !self.is_execute(event) {
            let mut device_events = self.tree.device_events_in_file_order(event);
            device_events.retain(|&device_event| !self.is_communication(device_event));
            if !device_events.is_empty() {
                self.charge(event, device_events, FiguresFrom::Nowhere);
            }
            return true;
        }
        false
    }

    /// Charges a modelled operator with its device work, except for what modelled operators stand for that were
    /// inserted inside it; those are charged next.
    fn charge_modelled(&mut self, outermost: EventId) {
        let mut pending = vec![outermost];
        while let Some(event) = pending.pop() {
            let mut device_events = self.tree.device_events_in_file_order(event);
            let parts = self.outermost_modelled_parts(event);
            let mut part_events = EventSet::default();
            for &device_event in parts.iter().flat_map(|&part| self.tree.device_events(part)) {
                part_events.insert(device_event);
            }
            device_events.retain(|&device_event| !part_events.contains(device_event));
            if !device_events.is_empty() {
                self.charge(event, device_events, FiguresFrom::Own);
            }
            pending.extend(parts.into_iter().rev());
        }
    }

    /// The modelled operators that were inserted inside an operator, but not inside one another.
    fn outermost_modelled_parts(&self, event: EventId) -> Vec<EventId> {
        let mut parts = Vec::new();
        if !self.modelled_part_below.contains(event) {
            return parts;
        }
        let mut below = self.tree.host_subtree(event)[1..].iter().copied();
        while let Some(part) = below.find(|&below| self.is_modelled_part(below)) {
            parts.push(part);
            // In pre-order, what is inside the part comes right after it.
            let inside = self.tree.host_subtree(part).len() - 1;
            if inside > 0 {
                below.nth(inside - 1);
            }
        }
        parts
    }

    fn charge(&mut self, operator: EventId, device_events: Vec<EventId>, figures: FiguresFrom) {
        for &device_event in &device_events {
            self.charged.insert(device_event);
        }
        self.rows.push(ChargedOperator { operator, device_events, figures, is_leftover: false });
    }

    fn is_communication(&self, device_event: EventId) -> bool {
        self.analysis.device.is_communication(self.tree.trace().events().name(device_event))
    }

    /// The forward operator, when `event` is the only operator that does its backward: below the autograd node that links
    /// to the forward operator is one operator with device work of the node's name.
    fn forward_of_sole_backward(&self, event: EventId) -> Option<EventId> {
        let (node, forward) = self.analysis.models().modelled_forward(self.tree, event)?;
        let name_of_node = self.tree.trace().name(node);
        let wanted = name_of_node.split_once(": ").map(|(_, name)| name);
        let mut pending = vec![node];
        let mut found = 0;
        while let Some(above) = pending.pop() {
            for &child in self.tree.children(above) {
                if self.is_operator(child) && !self.tree.non_gpu_path(child) {
                    found += usize::from(wanted.is_none_or(|wanted| wanted == self.tree.trace().name(child)));
                    pending.push(child);
                }
            }
        }
        (found == 1).then_some(forward)
    }

    /// Charges every device event that the walk did not reach: communication excepted, to the nearest
    /// operator above it, else to the call that launched it.
    fn leftovers(&mut self) {
        let mut below_calls: Vec<(EventId, EventId)> = Vec::new();
        let mut below_operators = Vec::new();
        let mut linked: Vec<EventId> = self.tree.linked_device_events().to_vec();
        linked.sort_unstable();
        for event in linked {
            if self.charged.contains(event) || self.is_communication(event) {
                continue;
            }
            match (self.operator_above(event), self.tree.launch(event)) {
                (Some(operator), _) => below_operators.push((operator, event)),
                (None, Some(call)) => below_calls.push((call, event)),
                (None, None) => {}
            }
        }
        // Device events of one call stand together, calls in the order of their first device event.
        let mut rank = hashbrown::HashMap::new();
        for &(call, _) in &below_calls {
            let next = rank.len();
            rank.entry(call).or_insert(next);
        }
        below_calls.sort_by_key(|(call, _)| rank[call]);
        for (parent, event) in below_calls.into_iter().chain(below_operators) {
            self.rows.push(ChargedOperator {
                operator: parent,
                device_events: vec![event],
                figures: FiguresFrom::Nowhere,
                is_leftover: true,
            });
        }
    }

    /// Charges communication that no operator has been charged with to the operator or call that launched it.
    fn communication(&mut self) {
        let mut left_out: Vec<EventId> = self.tree.linked_device_events().to_vec();
        left_out.retain(|&event| self.is_communication(event) && !self.charged.contains(event));
        left_out.sort_unstable();
        let mut by_launcher: IndexMap<EventId, Vec<EventId>> = IndexMap::default();
        for event in left_out {
            if let Some(launcher) = self.tree.kernel_launcher(event) {
                by_launcher.entry(launcher).or_default().push(event);
            }
        }
        for (launcher, events) in by_launcher {
            self.charge(launcher, events, FiguresFrom::Nowhere);
        }
    }

    /// Gives operators without figures, which may stand for work of any kind, a row for each kind.
    fn divide_by_category(&mut self) {
        let (tree, models) = (self.tree, self.analysis.models());
        for row in std::mem::take(&mut self.rows) {
            if row.figures != FiguresFrom::Nowhere || row.device_events.len() < 2 {
                self.rows.push(row);
                continue;
            }
            let mut parts: IndexMap<OpCategory, Vec<EventId>> = IndexMap::default();
            for &event in &row.device_events {
                parts.entry(models.work(tree, row.operator, event)).or_default().push(event);
            }
            self.rows
                .extend(parts.into_values().map(|device_events| ChargedOperator { device_events, ..row }));
        }
    }
}
