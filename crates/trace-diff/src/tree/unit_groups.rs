//! Like units of difference summed up: the same operator with the same shapes in the same module.

use std::borrow::Borrow;

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use trace_ingest::{EventId, Sequence};
use trace2tree::{TraceTree, module_class, module_name};

use super::TreeDiff;
use super::align::{A, B, Confidence};
use super::labels::LabelId;
use super::units::{Unit, UnitStatus};

/// Names of heads and of kernels that a group shows; a number stands for the others.
const SHOWN_NAMES: usize = 8;

/// Modules of a path that are shown, the innermost ones.
const SHOWN_MODULES: usize = 8;

/// Units that are named alike, stand in modules of the same names, have the same shapes and differ in the same way. Pairs
/// are of A and of B; a side that has nothing of the group has empty texts and lists.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitGroup {
    /// The operators, as each run calls them.
    pub names: [String; 2],
    /// The modules around them in A, else in B, the outermost first, the innermost eight; empty without modules.
    pub modules: Vec<String>,
    /// The line of the program that called the first operator, in A, else in B; empty without Python frames.
    pub call_site: String,
    /// Shapes and types of the first operator.
    pub inputs: [String; 2],
    /// What sets the sides apart.
    pub status: UnitStatus,
    /// How sure the least sure match of the operators is; `None` where nothing is matched.
    pub confidence: Option<Confidence>,
    /// Units in the group.
    pub count: usize,
    /// Device events.
    pub events: [usize; 2],
    /// Names of the kernels of the group, in order of their first run.
    pub kernels: [Vec<String>; 2],
    /// Time in which a device event of a unit ran, summed over the units, in [`TreeDiff::time_unit`].
    pub busy: [i64; 2],
    /// The first operator.
    pub first: [Option<EventId>; 2],
}

impl UnitGroup {
    /// The modules around them in one text.
    #[must_use]
    pub fn module(&self) -> String {
        self.modules.join(".")
    }

    /// How much longer B takes.
    #[must_use]
    pub fn delta(&self) -> i64 {
        self.busy[B].saturating_sub(self.busy[A])
    }
}

impl<T: Borrow<TraceTree>> TreeDiff<T> {
    /// The units of difference in groups, the largest difference first. Every device event of both runs is in exactly one
    /// unit, so that the groups have all the work of both.
    #[must_use]
    pub fn unit_groups(&self) -> Vec<UnitGroup> {
        type Key = ([Vec<LabelId>; 2], [u64; 2], Vec<String>, UnitStatus);
        let mut index: HashMap<Key, usize> = HashMap::new();
        let mut groups: Vec<UnitGroup> = Vec::new();
        for unit in &self.units {
            let labels = [A, B].map(|side| {
                let heads = unit.heads[side].iter();
                heads.map(|&head| self.outlines[side].label[head as usize]).collect()
            });
            let inputs = [A, B].map(|side| {
                unit.heads[side].first().map_or(0, |&head| self.outlines[side].inputs[head as usize])
            });
            let key = (labels, inputs, self.modules(unit), unit.status);
            let at = match index.get(&key) {
                Some(&at) => at,
                None => {
                    groups.push(self.group(unit, &key.2));
                    index.insert(key, groups.len() - 1);
                    groups.len() - 1
                }
            };
            self.add(unit, &mut groups[at]);
        }
        groups.sort_few_by_key(|group| (std::cmp::Reverse(group.delta().saturating_abs()), group.first));
        groups
    }

    fn group(&self, unit: &Unit, modules: &[String]) -> UnitGroup {
        UnitGroup {
            names: self.head_names(unit),
            modules: modules.to_vec(),
            call_site: self.call_site(unit).unwrap_or_default().to_owned(),
            inputs: [A, B].map(|side| self.inputs(side, unit)),
            status: unit.status,
            confidence: unit.confidence,
            count: 0,
            events: [0, 0],
            kernels: [Vec::new(), Vec::new()],
            busy: [0, 0],
            first: [A, B].map(|side| unit.heads[side].first().and_then(|&head| self.event(side, head))),
        }
    }

    /// What a unit is called in A and in B.
    pub(super) fn head_names(&self, unit: &Unit) -> [String; 2] {
        [A, B].map(|side| {
            let heads = &unit.heads[side];
            let mut names: Vec<&str> =
                heads.iter().take(SHOWN_NAMES).map(|&head| self.name(side, head)).collect();
            let others = format!("{} more", heads.len().saturating_sub(SHOWN_NAMES));
            names.extend((heads.len() > SHOWN_NAMES).then_some(&*others));
            names.join(" + ")
        })
    }

    fn add(&self, unit: &Unit, group: &mut UnitGroup) {
        group.count += 1;
        group.confidence = group.confidence.min(unit.confidence);
        for side in [A, B] {
            group.events[side] += unit.events[side].len();
            group.busy[side] = group.busy[side].saturating_add(unit.busy[side]);
            for &event in &unit.events[side] {
                if group.kernels[side].len() == SHOWN_NAMES {
                    break;
                }
                let name = self.name(side, event);
                if !group.kernels[side].iter().any(|known| known == name) {
                    group.kernels[side].push(name.to_owned());
                }
            }
        }
    }

    /// The first operator of a unit in A, else in B, with the tree that it is in.
    fn first(&self, unit: &Unit) -> Option<(&TraceTree, EventId)> {
        let (side, head) = [A, B].into_iter().find_map(|side| Some((side, *unit.heads[side].first()?)))?;
        Some((self.trees()[side], self.event(side, head)?))
    }

    fn call_site(&self, unit: &Unit) -> Option<&str> {
        let (tree, event) = self.first(unit)?;
        tree.call_site(event).map(|frame| tree.trace().name(frame))
    }

    /// The modules around a unit.
    fn modules(&self, unit: &Unit) -> Vec<String> {
        let Some((tree, event)) = self.first(unit) else { return Vec::new() };
        let modules = std::iter::successors(tree.parent_module(event), |&module| tree.parent_module(module));
        let mut names: Vec<String> = modules
            .take(SHOWN_MODULES)
            .map(|module| module_name(module_class(tree.trace().name(module))).to_owned())
            .collect();
        names.reverse();
        names
    }

    fn inputs(&self, side: usize, unit: &Unit) -> String {
        let trace = self.trees()[side].trace();
        let event = unit.heads[side].first().and_then(|&head| self.event(side, head));
        let signature = event.and_then(|event| trace.events().signature(event));
        let Some(signature) = signature.map(|id| trace.signatures().get(id)) else { return String::new() };
        let parts = [signature.dims, signature.types].into_iter().flatten();
        let texts = parts.map(|id| trace.signatures().argument(id).display(Sequence::Tuple).to_string());
        texts.collect::<Vec<_>>().join(" ")
    }
}
