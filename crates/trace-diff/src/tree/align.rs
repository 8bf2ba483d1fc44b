//! Which node of one run is which of the other.
//!
//! Lists of children are aligned from the runs downwards, by names, shapes and contents ([`Level`]). What then is left is looked for elsewhere in the same list, inside wrappers that one run alone has, and among nodes with
//! like contents. Pairs with equal subtrees are closed at once.

use hashbrown::{HashMap, HashSet};

use super::outline::{Level, NONE, NodeKind, Outline};
use super::sequences::Sequences;

/// How sure it is that two nodes are the same work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// Only like each other.
    Possible,
    /// The same work, unless several nodes around them are as like.
    Likely,
    /// The same work: nothing else in either run could be it.
    Certain,
}

impl Confidence {
    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Confidence::Possible => "possible",
            Confidence::Likely => "likely",
            Confidence::Certain => "certain",
        }
    }
}

/// What two matched nodes have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Everything below them, kernel names included.
    Identical,
    /// The program below them, or their name, at the same place.
    Aligned,
    /// The program below them, at another place.
    Moved,
    /// Most of what is below them, under another name.
    Replaced,
    /// The order of kernels around them; one of them was replayed from a captured graph, or has no operator.
    Replayed,
}

impl Relation {
    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Relation::Identical => "identical",
            Relation::Aligned => "aligned",
            Relation::Moved => "moved",
            Relation::Replaced => "replaced",
            Relation::Replayed => "replayed",
        }
    }
}

/// The side of a run: of the two, the first.
pub(crate) const A: usize = 0;
/// The second.
pub(crate) const B: usize = 1;

/// Matches of the nodes of two outlines.
#[derive(Debug)]
pub(crate) struct Alignment {
    /// Of each node on either side the matched one on the other, or [`NONE`].
    pub(crate) mate: [Vec<u32>; 2],
    /// Of each matched node, on either side, what the two have in common.
    pub(crate) relation: [Vec<Relation>; 2],
    /// Of each matched node, on either side, how sure that is.
    pub(crate) confidence: [Vec<Confidence>; 2],
    /// Of each node without a match between matched ones, the number of the gap that it is in.
    pub(crate) gap: [Vec<u32>; 2],
}

impl Alignment {
    /// The matched node on the other side.
    pub(crate) fn mate(&self, side: usize, node: u32) -> Option<u32> {
        Some(self.mate[side][node as usize]).filter(|&mate| mate != NONE)
    }

    pub(super) fn pair(&mut self, [a, b]: [u32; 2], relation: Relation, confidence: Confidence) {
        for (side, node, mate) in [(A, a, b), (B, b, a)] {
            self.mate[side][node as usize] = mate;
            self.relation[side][node as usize] = relation;
            self.confidence[side][node as usize] = confidence;
        }
    }
}

/// Rounds in which wrappers of one run are replaced by what they contain. The modules around an operator of a language
/// model are six deep.
const UNWRAPPING_ROUNDS: usize = 8;

/// Nodes of a subtree that are looked at to tell what it contains. Large subtrees show what they are by their beginning,
/// and without a bound deep trees would cost the square of their depth.
const LOOKED_AT: u32 = 128;

/// How far a node is looked for in a gap, from where its neighbour's match is.
const LOOK_AHEAD: usize = 8;

/// Shares of like contents above which nodes of different names are taken for the same: surely enough to come before
/// unwrapping, and at all.
const MUCH_ALIKE: f64 = 0.8;
const ALIKE: f64 = 0.5;

/// What is left of two lists between two matches.
struct Gap {
    nodes: [Vec<u32>; 2],
    /// Whether wrappers were replaced by their contents here.
    unwrapped: bool,
}

impl Gap {
    fn is_open(&self) -> bool {
        self.nodes.iter().all(|nodes| !nodes.is_empty())
    }
}

/// A match found in a list.
#[derive(Clone, Copy)]
struct Found {
    nodes: [u32; 2],
    relation: Relation,
    level: Level,
    unwrapped: bool,
}

/// The search for an alignment.
pub(super) struct Aligner<'o> {
    sides: [&'o Outline; 2],
    alignment: Alignment,
    /// Matched nodes whose children are to be aligned.
    work: Vec<[u32; 2]>,
    sequences: Sequences,
    gaps: u32,
    /// Topmost nodes without a match below each list that was aligned, with the matched node above.
    left: [Vec<(u32, u32)>; 2],
}

impl<'o> Aligner<'o> {
    pub(super) fn new(sides: [&'o Outline; 2]) -> Self {
        let lengths = sides.map(Outline::len);
        Aligner {
            sides,
            alignment: Alignment {
                mate: lengths.map(|length| vec![NONE; length]),
                relation: lengths.map(|length| vec![Relation::Aligned; length]),
                confidence: lengths.map(|length| vec![Confidence::Possible; length]),
                gap: lengths.map(|length| vec![NONE; length]),
            },
            work: Vec::new(),
            sequences: Sequences::default(),
            gaps: 0,
            left: [Vec::new(), Vec::new()],
        }
    }

    /// The alignment, and what later searches for sequences can use again.
    pub(super) fn run(mut self) -> (Alignment, Sequences) {
        self.pair([0, 0], Relation::Aligned, Confidence::Certain);
        self.drain();
        self.match_across_lists();
        self.drain();
        (self.alignment, self.sequences)
    }

    fn drain(&mut self) {
        while let Some(nodes) = self.work.pop() {
            self.align_children(nodes);
        }
    }

    /// Matches two nodes, and where their subtrees are equal all below them, too.
    fn pair(&mut self, [a, b]: [u32; 2], relation: Relation, confidence: Confidence) {
        let [outline_a, outline_b] = self.sides;
        let is_equal = outline_a.exact(a) == outline_b.exact(b) && outline_a.size(a) == outline_b.size(b);
        if !is_equal {
            self.alignment.pair([a, b], relation, confidence);
            self.work.push([a, b]);
            return;
        }
        for (a, b) in outline_a.subtree(a).zip(outline_b.subtree(b)) {
            self.alignment.pair([a, b], Relation::Identical, confidence);
        }
        if relation == Relation::Moved {
            self.alignment.pair([a, b], relation, confidence);
        }
    }

    fn align_children(&mut self, [a, b]: [u32; 2]) {
        let lists = [self.sides[A].children(a), self.sides[B].children(b)];
        let above = self.alignment.confidence[A][a as usize];
        if a == 0 {
            return self.align_lanes(lists);
        }
        let mut found = Vec::new();
        let mut gaps = vec![Gap { nodes: lists.map(<[u32]>::to_vec), unwrapped: false }];
        for round in 0..=UNWRAPPING_ROUNDS {
            gaps = self.match_by_keys(gaps, &mut found);
            if !gaps.iter().any(Gap::is_open) {
                break;
            }
            self.match_alike(&mut gaps, MUCH_ALIKE, &mut found);
            if round == UNWRAPPING_ROUNDS || !self.unwrap(&mut gaps, false) {
                self.match_alike(&mut gaps, ALIKE, &mut found);
                if round == UNWRAPPING_ROUNDS || !self.unwrap(&mut gaps, true) {
                    break;
                }
            }
        }
        self.keep_left([a, b], &gaps);
        self.settle(lists, found, &gaps, above);
    }

    /// Aligns what is in the gaps by name and contents; returns the gaps that are left.
    fn match_by_keys(&mut self, gaps: Vec<Gap>, found: &mut Vec<Found>) -> Vec<Gap> {
        let mut left = Vec::with_capacity(gaps.len());
        for gap in gaps {
            if gap.is_open() {
                self.match_gap(gap, &mut left, found);
            } else {
                left.push(gap);
            }
        }
        for level in [Level::Inputs, Level::Structure] {
            self.match_moved(&mut left, level, found);
        }
        left
    }

    fn match_gap(&mut self, gap: Gap, left: &mut Vec<Gap>, found: &mut Vec<Found>) {
        let [outline_a, outline_b] = self.sides;
        let [keys_a, keys_b] = [A, B]
            .map(|side| gap.nodes[side].iter().map(|&node| self.sides[side].keys(node)).collect::<Vec<_>>());
        let common = self.sequences.common(&keys_a, &keys_b);
        let unwrapped = gap.unwrapped;
        let mut from = [0, 0];
        let ends = gap.nodes.each_ref().map(Vec::len);
        for at in common.iter().map(|&(a, b)| [a, b]).chain([ends]) {
            let nodes = [A, B].map(|side| gap.nodes[side][from[side]..at[side]].to_vec());
            if nodes.iter().any(|nodes| !nodes.is_empty()) {
                left.push(Gap { nodes, unwrapped });
            }
            if let (Some(&a), Some(&b)) = (gap.nodes[A].get(at[A]), gap.nodes[B].get(at[B]))
                && let Some(level) = outline_a.level(a, outline_b, b)
            {
                found.push(Found { nodes: [a, b], relation: Relation::Aligned, level, unwrapped });
            }
            from = at.map(|at| at + 1);
        }
    }

    fn keys(&self, side: usize, nodes: &[u32], level: Level) -> Vec<u64> {
        nodes.iter().map(|&node| self.sides[side].key(node, level)).collect()
    }

    /// Matches what is left in different gaps of the list: each key that is left as often on both sides, and by structure
    /// only what is left once.
    fn match_moved(&mut self, gaps: &mut [Gap], level: Level, found: &mut Vec<Found>) {
        if gaps.len() < 2 {
            return;
        }
        let mut by_key: HashMap<u64, [Vec<u32>; 2]> = HashMap::new();
        for side in [A, B] {
            for &node in gaps.iter().flat_map(|gap| &gap.nodes[side]) {
                if self.sides[side].kind(node).is_program() {
                    by_key.entry(self.sides[side].key(node, level)).or_default()[side].push(node);
                }
            }
        }
        by_key.retain(|_, [a, b]| a.len() == b.len() && (level == Level::Inputs || a.len() == 1));
        if by_key.is_empty() {
            return;
        }
        let unwrapped = gaps.iter().any(|gap| gap.unwrapped);
        for gap in gaps.iter_mut() {
            for side in [A, B] {
                let outline = self.sides[side];
                gap.nodes[side].retain(|&node| {
                    !outline.kind(node).is_program() || !by_key.contains_key(&outline.key(node, level))
                });
            }
        }
        let mut moved: Vec<[u32; 2]> =
            by_key.values().flat_map(|[a, b]| a.iter().zip(b).map(|(&a, &b)| [a, b])).collect();
        moved.sort_unstable();
        found.extend(moved.into_iter().map(|nodes| Found {
            nodes,
            relation: Relation::Moved,
            level,
            unwrapped,
        }));
    }

    /// Matches nodes of one gap with like contents, in order. Calls and device events that are left after that in equal
    /// numbers are matched in order, too.
    fn match_alike(&mut self, gaps: &mut Vec<Gap>, threshold: f64, found: &mut Vec<Found>) {
        let mut left = Vec::with_capacity(gaps.len());
        for gap in gaps.drain(..) {
            if gap.is_open() {
                self.match_alike_in(gap, threshold, &mut left, found);
            } else {
                left.push(gap);
            }
        }
        *gaps = left;
    }

    fn match_alike_in(&mut self, gap: Gap, threshold: f64, left: &mut Vec<Gap>, found: &mut Vec<Found>) {
        let is_first_pass = threshold >= MUCH_ALIKE;
        let contents = [A, B].map(|side| {
            gap.nodes[side].iter().map(|&node| Contents::new(self.sides[side], node)).collect::<Vec<_>>()
        });
        let unwrapped = gap.unwrapped;
        let mut rest = Gap { nodes: [Vec::new(), Vec::new()], unwrapped };
        let mut next = 0;
        for (content_a, &a) in contents[A].iter().zip(&gap.nodes[A]) {
            let within = next..contents[B].len().min(next + LOOK_AHEAD);
            let mut best: Option<(f64, usize)> = None;
            for at in within {
                let content_b = &contents[B][at];
                let is_candidate = content_a.group == content_b.group
                    && (!is_first_pass
                        || content_a.group == Group::Program
                            && !content_a.is_within(content_b)
                            && !content_b.is_within(content_a));
                if !is_candidate {
                    continue;
                }
                let likeness = content_a.likeness(content_b);
                if likeness >= threshold && best.is_none_or(|(most, _)| likeness > most) {
                    best = Some((likeness, at));
                }
            }
            let Some((likeness, at)) = best else {
                rest.nodes[A].push(a);
                continue;
            };
            rest.nodes[B].extend_from_slice(&gap.nodes[B][next..at]);
            self.match_in_order(&mut rest, is_first_pass, found);
            left.push(std::mem::replace(&mut rest, Gap { nodes: [Vec::new(), Vec::new()], unwrapped }));
            let level = if likeness >= MUCH_ALIKE { Level::Own } else { Level::Label };
            found.push(Found {
                nodes: [a, gap.nodes[B][at]],
                relation: Relation::Replaced,
                level,
                unwrapped,
            });
            next = at + 1;
        }
        rest.nodes[B].extend_from_slice(&gap.nodes[B][next..]);
        self.match_in_order(&mut rest, is_first_pass, found);
        left.push(rest);
    }

    /// Matches calls with calls and device events with device events where both sides of a gap have as many.
    fn match_in_order(&mut self, gap: &mut Gap, is_first_pass: bool, found: &mut Vec<Found>) {
        if is_first_pass || !gap.is_open() {
            return;
        }
        for group in [Group::Call, Group::Device] {
            let group_nodes = [A, B].map(|side| {
                let outline = self.sides[side];
                let nodes = gap.nodes[side].iter().copied();
                nodes.filter(|&node| Group::of(outline.kind(node)) == group).collect::<Vec<_>>()
            });
            if group_nodes[A].len() != group_nodes[B].len() {
                continue;
            }
            for side in [A, B] {
                let outline = self.sides[side];
                gap.nodes[side].retain(|&node| Group::of(outline.kind(node)) != group);
            }
            let (relation, level, unwrapped) = (Relation::Replaced, Level::Label, gap.unwrapped);
            let pairs = group_nodes[A].iter().zip(&group_nodes[B]);
            found.extend(pairs.map(|(&a, &b)| Found { nodes: [a, b], relation, level, unwrapped }));
        }
    }

    /// Puts in place of a node the operators and modules that it calls, where these are more like what is left on the
    /// other side: those that contain a name which is left there, or (`mutual`) which is somewhere below what is left
    /// there. Says whether there were any.
    fn unwrap(&self, gaps: &mut [Gap], mutual: bool) -> bool {
        let mut any = false;
        for gap in gaps.iter_mut().filter(|gap| gap.is_open()) {
            let names = [A, B].map(|side| self.names(side, &gap.nodes[side], mutual));
            for side in [A, B] {
                let (outline, names) = (self.sides[side], &names[1 - side]);
                let label = |&node: &u32| outline.key(node, Level::Label);
                let is_wrapper = |node: &u32| {
                    outline.kind(*node).is_program()
                        && !names.contains(&label(node))
                        && self.looked_at(side, *node).any(|below| names.contains(&label(&below)))
                };
                if !gap.nodes[side].iter().any(is_wrapper) {
                    continue;
                }
                let nodes = std::mem::take(&mut gap.nodes[side]);
                for node in nodes {
                    match is_wrapper(&node) {
                        true => {
                            let calls = outline.children(node).iter().copied();
                            gap.nodes[side].extend(calls.filter(|&child| outline.kind(child).is_program()));
                        }
                        false => gap.nodes[side].push(node),
                    }
                }
                (gap.unwrapped, any) = (true, true);
            }
        }
        any
    }

    /// Names of the operators and modules among the nodes, and below them if these are asked for.
    fn names(&self, side: usize, nodes: &[u32], and_below: bool) -> HashSet<u64> {
        let outline = self.sides[side];
        let below = nodes.iter().filter(|_| and_below).flat_map(|&node| self.looked_at(side, node));
        let named = nodes.iter().copied().filter(|&node| outline.kind(node).is_program()).chain(below);
        named.map(|node| outline.key(node, Level::Label)).collect()
    }

    /// The operators and modules below a node, of a large subtree the first.
    fn looked_at(&self, side: usize, node: u32) -> impl Iterator<Item = u32> + use<'o> {
        let outline = self.sides[side];
        looked_at(outline, node).filter(|&below| outline.kind(below).is_program())
    }

    /// Notes what stays without a match below two nodes, and in which gaps.
    fn keep_left(&mut self, above: [u32; 2], gaps: &[Gap]) {
        for gap in gaps {
            // A replayed graph is no operator of its own: its kernels are matched one by one.
            let is_one = [A, B].into_iter().all(|side| {
                let nodes = &gap.nodes[side];
                let replays = |&node: &u32| self.sides[side].kind(node) == NodeKind::GraphLaunch;
                nodes.len() <= LOOK_AHEAD && !nodes.iter().any(replays)
            });
            for side in [A, B] {
                for &node in &gap.nodes[side] {
                    self.alignment.gap[side][node as usize] = self.gaps;
                    self.left[side].push((node, above[side]));
                    self.gaps += u32::from(!is_one);
                }
            }
            self.gaps += 1;
        }
    }

    /// Decides how sure the matches of two lists are, and takes them.
    fn settle(&mut self, lists: [&[u32]; 2], found: Vec<Found>, gaps: &[Gap], above: Confidence) {
        let [outline_a, outline_b] = self.sides;
        let is_whole = |found: &Found| found.level == Level::Inputs && found.relation == Relation::Aligned;
        // Inputs of all that has no partner with the same ones at its place.
        let mut odd: HashSet<u64> = HashSet::new();
        // Names that some node on either side shares which has no partner at all.
        let mut left: HashSet<u64> = HashSet::new();
        for side in [A, B] {
            for &node in gaps.iter().flat_map(|gap| &gap.nodes[side]) {
                odd.insert(self.sides[side].key(node, Level::Inputs));
                left.insert(self.sides[side].key(node, Level::Label));
            }
            let unequal = found.iter().filter(|found| !is_whole(found));
            odd.extend(unequal.map(|found| self.sides[side].key(found.nodes[side], Level::Inputs)));
        }
        let mut structures: HashMap<u64, [u32; 2]> = HashMap::new();
        if found.iter().any(|found| found.level == Level::Structure) {
            for side in [A, B] {
                for &node in lists[side] {
                    structures.entry(self.sides[side].key(node, Level::Structure)).or_default()[side] += 1;
                }
            }
        }
        for &Found { nodes: [a, b], .. } in &found {
            self.alignment.mate[A][a as usize] = b;
            self.alignment.mate[B][b as usize] = a;
        }
        for &Found { nodes: [a, b], relation, level, unwrapped } in &found {
            let is_only = || {
                structures.get(&outline_a.key(a, Level::Structure)) == Some(&[1, 1])
                    && self.is_in_place(lists, [a, b])
            };
            let confidence = match (relation, level) {
                (Relation::Aligned, Level::Inputs) if !odd.contains(&outline_b.key(b, level)) => {
                    Confidence::Certain
                }
                (Relation::Aligned, Level::Structure) if is_only() => Confidence::Certain,
                (Relation::Aligned, Level::Inputs | Level::Structure) => Confidence::Likely,
                (Relation::Aligned, _) if !left.contains(&outline_a.key(a, Level::Label)) => {
                    Confidence::Likely
                }
                (Relation::Moved, Level::Inputs) | (Relation::Replaced, Level::Own) => Confidence::Likely,
                _ => Confidence::Possible,
            };
            let bound = if unwrapped { above.min(Confidence::Likely) } else { above };
            self.pair([a, b], relation, confidence.min(bound));
        }
    }

    /// Whether the neighbours of two nodes on one side at least are matched with each other, or there are none.
    fn is_in_place(&self, lists: [&[u32]; 2], nodes: [u32; 2]) -> bool {
        // Children are in pre-order, so lists ascend.
        let [Ok(a), Ok(b)] = [A, B].map(|side| lists[side].binary_search(&nodes[side])) else { return false };
        let are_matched = |a: Option<&u32>, b: Option<&u32>| match (a, b) {
            (Some(&a), Some(&b)) => self.alignment.mate(A, a) == Some(b),
            (None, None) => true,
            _ => false,
        };
        let before = |side: usize, at: usize| at.checked_sub(1).and_then(|at| lists[side].get(at));
        are_matched(before(A, a), before(B, b)) || are_matched(lists[A].get(a + 1), lists[B].get(b + 1))
    }

    /// Matches threads with threads and streams with streams, by the programs that run on them.
    fn align_lanes(&mut self, lists: [&[u32]; 2]) {
        for kind in [NodeKind::Thread, NodeKind::Stream] {
            let lanes = [A, B].map(|side| {
                let lanes = lists[side].iter().copied();
                lanes.filter(|&lane| self.sides[side].kind(lane) == kind).collect::<Vec<_>>()
            });
            let level = if kind == NodeKind::Thread { Level::Structure } else { Level::Inputs };
            let keys = [A, B].map(|side| {
                let lanes = lanes[side].iter();
                lanes.map(|&lane| self.keys(side, self.sides[side].children(lane), level)).collect::<Vec<_>>()
            });
            for Alike { places: [a, b], is_sure } in most_alike(keys) {
                let confidence = if is_sure { Confidence::Certain } else { Confidence::Likely };
                self.pair([lanes[A][a], lanes[B][b]], Relation::Aligned, confidence);
            }
        }
    }

    /// Matches operators and modules that are left in different lists: an operator may be called one level higher or lower,
    /// or on another thread.
    fn match_across_lists(&mut self) {
        let left = std::mem::take(&mut self.left);
        for level in [Level::Inputs, Level::Structure] {
            for is_above in [false, true] {
                let mut by_key: HashMap<(u32, u64), [Vec<u32>; 2]> = HashMap::new();
                for side in [A, B] {
                    for &(node, matched) in &left[side] {
                        let is_left = self.alignment.mate(side, node).is_none();
                        if is_left && self.sides[side].kind(node).is_program() {
                            for anchor in self.anchors(side, matched, is_above) {
                                let key = (anchor, self.sides[side].key(node, level));
                                by_key.entry(key).or_default()[side].push(node);
                            }
                        }
                    }
                }
                by_key.retain(|_, [a, b]| a.len() == b.len() && (level == Level::Inputs || a.len() == 1));
                let pairs = by_key.iter().flat_map(|(&(anchor, _), [a, b])| {
                    a.iter().zip(b).map(move |(&node_a, &node_b)| ([node_a, node_b], anchor, a.len()))
                });
                let mut pairs: Vec<_> = pairs.collect();
                pairs.sort_unstable();
                for ([a, b], anchor, count) in pairs {
                    if self.alignment.mate(A, a).is_none() && self.alignment.mate(B, b).is_none() {
                        let is_likely = level == Level::Inputs && count == 1;
                        let confidence = if is_likely { Confidence::Likely } else { Confidence::Possible };
                        let bound = self.alignment.confidence[A][anchor as usize];
                        self.pair([a, b], Relation::Moved, confidence.min(bound));
                    }
                }
            }
        }
    }

    /// The matched node above what is left, and with `and_above` the matched one above that, as nodes of the first run.
    fn anchors(&self, side: usize, matched: u32, and_above: bool) -> impl Iterator<Item = u32> {
        let outline = self.sides[side];
        let first_run = |node: u32| match side {
            A => Some(node),
            _ => self.alignment.mate(B, node),
        };
        let above = outline.parent.get(matched as usize).copied().filter(|&above| and_above && above != NONE);
        [Some(matched), above].map(|node| node.and_then(first_run)).into_iter().flatten()
    }
}

/// Nodes below a node, of a large subtree the first.
fn looked_at(outline: &Outline, node: u32) -> impl Iterator<Item = u32> + use<> {
    let range = outline.subtree(node);
    range.start + 1..range.end.min(range.start + LOOKED_AT)
}

/// What nodes are matched with by their contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Program,
    Call,
    Device,
    Lane,
}

impl Group {
    fn of(kind: NodeKind) -> Self {
        match kind {
            NodeKind::Module | NodeKind::Operator => Group::Program,
            NodeKind::Call | NodeKind::GraphLaunch => Group::Call,
            NodeKind::Device => Group::Device,
            NodeKind::Root | NodeKind::Thread | NodeKind::Stream => Group::Lane,
        }
    }
}

/// What is in a subtree, whatever the name of its topmost node.
struct Contents {
    group: Group,
    label: u64,
    /// Names of operators and modules; of device events what they do and what they are called; the shapes of the node.
    /// Ascending.
    keys: Vec<u64>,
}

impl Contents {
    fn new(outline: &Outline, node: u32) -> Self {
        let mut keys = Vec::new();
        let mut push = |below: u32| match Group::of(outline.kind(below)) {
            Group::Program => keys.push(outline.key(below, Level::Label)),
            Group::Device => {
                keys.extend([Level::Inputs, Level::Structure].map(|level| outline.key(below, level)))
            }
            Group::Call | Group::Lane => {}
        };
        let group = Group::of(outline.kind(node));
        if group == Group::Device {
            push(node);
        }
        looked_at(outline, node).for_each(push);
        keys.extend(Some(outline.inputs[node as usize]).filter(|&inputs| inputs != 0));
        keys.sort_unstable();
        Contents { group, label: outline.key(node, Level::Label), keys }
    }

    fn is_within(&self, other: &Self) -> bool {
        other.keys.binary_search(&self.label).is_ok()
    }

    fn likeness(&self, other: &Self) -> f64 {
        dice(&self.keys, &other.keys)
    }
}

/// Sørensen–Dice coefficient of two sorted lists; 0 if both are empty.
fn dice(a: &[u64], b: &[u64]) -> f64 {
    let (mut at_a, mut at_b, mut common) = (0, 0, 0_usize);
    while let (Some(item_a), Some(item_b)) = (a.get(at_a), b.get(at_b)) {
        at_a += usize::from(item_a <= item_b);
        at_b += usize::from(item_b <= item_a);
        common += usize::from(item_a == item_b);
    }
    match a.len() + b.len() {
        0 => 0.0,
        all => 2.0 * common as f64 / all as f64,
    }
}

/// Two lanes that are most like each other.
pub(super) struct Alike {
    pub(super) places: [usize; 2],
    /// Whether no other lane is nearly as like either.
    pub(super) is_sure: bool,
}

/// Most pairs of lanes that are compared. Programs have tens of threads and streams; where there are more, lanes are paired
/// in order.
const COMPARED_LANES: usize = 4096;

/// Pairs lanes by the keys on them, the most alike first, and the rest in order.
pub(super) fn most_alike(mut keys: [Vec<Vec<u64>>; 2]) -> Vec<Alike> {
    keys.iter_mut().flatten().for_each(|keys| keys.sort_unstable());
    let [a, b] = &keys;
    let mut likeness: Vec<(f64, usize, usize)> = Vec::new();
    if a.len() * b.len() <= COMPARED_LANES {
        for (place_a, keys_a) in a.iter().enumerate() {
            likeness.extend(
                b.iter().enumerate().map(|(place_b, keys_b)| (dice(keys_a, keys_b), place_a, place_b)),
            );
        }
    }
    likeness.sort_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
    let mut taken = [vec![false; a.len()], vec![false; b.len()]];
    let mut pairs = Vec::new();
    for &(alike, place_a, place_b) in &likeness {
        if alike == 0.0 || taken[A][place_a] || taken[B][place_b] {
            continue;
        }
        (taken[A][place_a], taken[B][place_b]) = (true, true);
        let is_rival =
            |&(other, a, b): &(f64, usize, usize)| (a == place_a) != (b == place_b) && other > alike / 2.0;
        pairs.push(Alike { places: [place_a, place_b], is_sure: !likeness.iter().any(is_rival) });
    }
    let [rest_a, rest_b] =
        taken.map(|taken| (0..taken.len()).filter(|&place| !taken[place]).collect::<Vec<_>>());
    let are_only = a.len() == 1 && b.len() == 1;
    pairs.extend(rest_a.into_iter().zip(rest_b).map(|(a, b)| Alike { places: [a, b], is_sure: are_only }));
    pairs
}
