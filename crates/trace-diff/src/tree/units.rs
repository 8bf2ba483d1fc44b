//! Units of difference: every device event of both runs in exactly one of them.

use gpu_timeline::{Interval, SortFew, busy_time};
use hashbrown::HashMap;

use super::align::{A, Alignment, B, Confidence, Relation};
use super::outline::{Level, NONE, NodeKind, Outline};
use super::replays::without_operator;

/// What sets the two sides of a unit apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitStatus {
    /// The same kernels.
    SameKernels,
    /// The same program, which runs other kernels, or more or fewer of them.
    ChangedKernels,
    /// Another program in the same place.
    ChangedStructure,
    /// The same program in another place.
    Moved,
    /// Only the first run has it.
    OnlyA,
    /// Only the second run has it.
    OnlyB,
}

impl UnitStatus {
    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            UnitStatus::SameKernels => "same-kernels",
            UnitStatus::ChangedKernels => "changed-kernels",
            UnitStatus::ChangedStructure => "changed-structure",
            UnitStatus::Moved => "moved",
            UnitStatus::OnlyA => "only-A",
            UnitStatus::OnlyB => "only-B",
        }
    }
}

/// Device events of both runs that are one piece of work: those of a matched operator, of a few operators that stand
/// between two matched ones, or of something that one run alone has. Nodes are those of the outlines.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// The topmost nodes of either side that the unit is named after: one where a match is, several in a gap, none
    /// where the other run alone has it.
    pub(crate) heads: [Vec<u32>; 2],
    pub(crate) status: UnitStatus,
    /// How sure the match of the heads is; `None` of what is not matched.
    pub(crate) confidence: Option<Confidence>,
    /// The device events of either side, in order of their start.
    pub(crate) events: [Vec<u32>; 2],
    /// Time in which at least one of them ran, in the unit of the run's trace.
    pub(crate) busy: [i64; 2],
}

/// What a unit is found by: the matched operator on both sides, or where its nodes are left without a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    Matched([u32; 2]),
    Gap(u32),
    /// Of a thread that the other run has not, or of a wrapper whose contents are matched: this node of this side.
    Alone(usize, u32),
    /// Replayed on both sides, or without any operator: below these two.
    Replays([u32; 2]),
}

/// Where each node of a run stands.
struct Places {
    /// The nearest matched operator or module at or above a node, else the topmost matched node below its thread.
    matched: Vec<u32>,
    /// Of nodes that are not matched, the topmost one of those that belong together at or above it.
    left: Vec<u32>,
}

impl Places {
    fn new(side: usize, outline: &Outline, alignment: &Alignment) -> Self {
        let count = outline.len();
        let mut places = Places { matched: vec![NONE; count], left: vec![NONE; count] };
        for node in 0..count {
            let above = outline.parent[node] as usize;
            let kind = outline.kind[node];
            if matches!(kind, NodeKind::Root | NodeKind::Thread | NodeKind::Stream) {
                continue;
            }
            // What is matched by the order of kernels alone has nothing matched above it.
            let is_matched =
                alignment.mate[side][node] != NONE && alignment.relation[side][node] != Relation::Replayed;
            places.matched[node] = match places.matched[above] {
                _ if is_matched && kind.is_program() => node as u32,
                NONE if is_matched => node as u32,
                above => above,
            };
            if !is_matched {
                let is_head = alignment.gap[side][node] != NONE || places.left[above] == NONE;
                places.left[node] = if is_head { node as u32 } else { places.left[above] };
            }
        }
        places
    }
}

/// All units, in order of their first event in the first run, then of those that the second run alone has.
pub(crate) fn units(sides: [&Outline; 2], alignment: &Alignment) -> Vec<Unit> {
    let finder = Finder {
        sides,
        alignment,
        places: [A, B].map(|side| Places::new(side, sides[side], alignment)),
        without_operator: sides.map(without_operator),
    };
    let mut index: HashMap<Place, usize> = HashMap::new();
    let mut units: Vec<(Place, Unit)> = Vec::new();
    for side in [A, B] {
        let mut events: Vec<u32> = sides[side].device_nodes().collect();
        events.sort_by_key(|&event| (sides[side].start[event as usize], event));
        for event in events {
            let place = finder.place(side, event);
            let at = *index.entry(place).or_insert_with(|| {
                let empty = Unit {
                    heads: [Vec::new(), Vec::new()],
                    status: UnitStatus::SameKernels,
                    confidence: None,
                    events: [Vec::new(), Vec::new()],
                    busy: [0, 0],
                };
                units.push((place, empty));
                units.len() - 1
            });
            let unit = &mut units[at].1;
            unit.events[side].push(event);
            if let Some(head) = finder.head(side, event, place)
                && unit.heads[side].last() != Some(&head)
            {
                unit.heads[side].push(head);
            }
        }
    }
    let mut scratch = Vec::new();
    let finished = units.into_iter().map(|(place, mut unit)| {
        finder.finish(place, &mut unit, &mut scratch);
        unit
    });
    finished.collect()
}

struct Finder<'o> {
    sides: [&'o Outline; 2],
    alignment: &'o Alignment,
    places: [Places; 2],
    without_operator: [Vec<bool>; 2],
}

impl Finder<'_> {
    /// The unit of a device event.
    fn place(&self, side: usize, event: u32) -> Place {
        let other = 1 - side;
        let ordered = |own: u32, others: u32| if side == A { [own, others] } else { [others, own] };
        let Some(mate) = self.alignment.mate(side, event) else { return self.own_place(side, event) };
        if self.alignment.relation[side][event as usize] != Relation::Replayed {
            // What is matched in step from the top has matched operators above, too.
            let own = self.places[side].matched[event as usize];
            let others = self.places[other].matched[mate as usize];
            if self.alignment.mate(side, own) == Some(others) {
                return Place::Matched(ordered(own, others));
            }
        }
        match [(side, event), (other, mate)].map(|(side, event)| self.without_operator[side][event as usize])
        {
            [false, true] => self.own_place(side, event),
            [true, false] => self.own_place(other, mate),
            _ => {
                let label = |side: usize, node: u32| match self.places[side].left[node as usize] {
                    NONE => self.places[side].matched[node as usize],
                    left => left,
                };
                Place::Replays(ordered(label(side, event), label(other, mate)))
            }
        }
    }

    /// Where an event stands by its own run.
    fn own_place(&self, side: usize, event: u32) -> Place {
        let places = &self.places[side];
        let (matched, left) = (places.matched[event as usize], places.left[event as usize]);
        let is_operator = matched != NONE && self.sides[side].kind(matched) == NodeKind::Operator;
        if is_operator && let Some(mate) = self.alignment.mate(side, matched) {
            return Place::Matched(if side == A { [matched, mate] } else { [mate, matched] });
        }
        match self.alignment.gap[side].get(left as usize) {
            Some(&gap) if gap != NONE => Place::Gap(gap),
            _ => Place::Alone(side, left),
        }
    }

    /// What a unit is named after on the side of one of its events.
    fn head(&self, side: usize, event: u32, place: Place) -> Option<u32> {
        let node = match place {
            Place::Matched(nodes) | Place::Replays(nodes) => nodes[side],
            // Events of the other run that were replayed from a graph are in the gap, and are not what it is named after.
            Place::Alone(sole_side, node) => {
                if side == sole_side {
                    node
                } else {
                    NONE
                }
            }
            Place::Gap(gap) => {
                let left = self.places[side].left[event as usize];
                let is_here = self.alignment.gap[side].get(left as usize) == Some(&gap);
                if is_here { left } else { NONE }
            }
        };
        Some(node).filter(|&node| node != NONE)
    }

    fn finish(&self, place: Place, unit: &mut Unit, scratch: &mut Vec<Interval>) {
        for side in [A, B] {
            if let Place::Matched(nodes) = place
                && unit.heads[side].is_empty()
                && nodes[side] != NONE
            {
                unit.heads[side].push(nodes[side]);
            }
            let outline = self.sides[side];
            let spans = unit.events[side].iter().map(|&event| {
                let (start, duration) = (outline.start[event as usize], outline.duration[event as usize]);
                Interval::between(start, start.saturating_add(duration))
            });
            unit.busy[side] = busy_time(spans, scratch);
        }
        if let Place::Matched([head, _]) = place {
            unit.confidence = self.alignment.confidence[A].get(head as usize).copied();
        }
        unit.status = match (place, &unit.events) {
            (Place::Gap(_) | Place::Alone(..), [_, events_b]) if events_b.is_empty() => UnitStatus::OnlyA,
            (Place::Gap(_) | Place::Alone(..), [events_a, _]) if events_a.is_empty() => UnitStatus::OnlyB,
            (Place::Gap(_) | Place::Alone(..), _) => UnitStatus::ChangedStructure,
            (Place::Matched([head, _]), _) => match self.alignment.relation[A][head as usize] {
                Relation::Moved => UnitStatus::Moved,
                Relation::Replaced if self.sides[A].kind(head).is_program() => UnitStatus::ChangedStructure,
                _ if self.has_other_program(unit) => UnitStatus::ChangedStructure,
                _ => self.by_kernels(unit),
            },
            (Place::Replays(_), _) => self.by_kernels(unit),
        };
    }

    /// Whether an operator below the matched ones is in one run only.
    fn has_other_program(&self, unit: &Unit) -> bool {
        [A, B].into_iter().any(|side| {
            unit.events[side].iter().any(|&event| {
                let left = self.places[side].left[event as usize];
                left != NONE && self.sides[side].kind(left).is_program()
            })
        })
    }

    fn by_kernels(&self, unit: &Unit) -> UnitStatus {
        let names = [A, B].map(|side| {
            let mut names: Vec<u64> =
                unit.events[side].iter().map(|&event| self.sides[side].key(event, Level::Inputs)).collect();
            names.sort_few();
            names
        });
        if names[A] == names[B] { UnitStatus::SameKernels } else { UnitStatus::ChangedKernels }
    }
}
