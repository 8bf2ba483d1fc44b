//! Which captured call each device event of a replay comes from.

use std::collections::VecDeque;
use std::fmt;

use hashbrown::{HashMap, HashSet};

#[cfg(test)]
mod tests;

/// What a call puts into a graph, or a device event of a replay did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    Kernel,
    Copy,
    Fill,
}

/// A call of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dispatch {
    pub(super) work: Work,
    /// Number of the kernel's name, where the recorder wrote it.
    pub(super) kernel: Option<u32>,
}

/// A device event of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replayed {
    pub(super) work: Work,
    /// Whether it is recorded as a kernel, also where its name says that it copies or fills.
    pub(super) is_kernel: bool,
    pub(super) name: u32,
    pub(super) stream: Option<i64>,
    /// Node of the graph, where the recorder wrote it.
    pub(super) node: Option<i64>,
}

/// How the device events of a replay were paired with the calls of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pairing {
    /// One stream: the first with the first, and so on.
    InOrder,
    /// One stream, fewer device events than calls: each with the next call of its name.
    Skipping,
    /// One stream in another order than the calls': among those of one name, the first with the first.
    ByName,
    /// Several streams: each call with a stream whose next device event has its name.
    ByStream,
    /// Several streams and no names: by the numbers of the graph's nodes, which are given out in the order of the
    /// calls.
    ByNode,
}

impl fmt::Display for Pairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pairing::InOrder => "in order",
            Pairing::Skipping => "in order, with calls left over",
            Pairing::ByName => "by name",
            Pairing::ByStream => "by stream",
            Pairing::ByNode => "by graph node",
        })
    }
}

/// Why the device events of a replay are not those of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mismatch {
    /// There are more device events than calls, or fewer and no names to tell which calls are left over.
    Counts,
    /// Their names differ.
    Names,
    /// They ran on several streams, and the recorder did not write which kernels the calls were for.
    Unnamed,
}

/// Pairs of a capture and a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    pub(super) pairing: Pairing,
    /// `(call, device event)`, each device event once and each call at most once.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Pairs that no name speaks for.
    pub(super) unverified: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Agreement {
    Yes,
    /// Nothing speaks for it and nothing against it.
    Possible,
    No,
}

impl Dispatch {
    fn agrees(self, replayed: &Replayed) -> Agreement {
        let is_same_work = self.work == replayed.work;
        match self.kernel {
            Some(kernel) if kernel == replayed.name => Agreement::Yes,
            Some(_) => Agreement::No,
            None if self.work == Work::Kernel && is_same_work => Agreement::Possible,
            None if is_same_work => Agreement::Yes,
            // A runtime may copy or fill with a kernel of any name.
            None if self.work != Work::Kernel && replayed.is_kernel => Agreement::Possible,
            None => Agreement::No,
        }
    }

    fn certainly_agrees(self, replayed: &Replayed) -> bool {
        self.agrees(replayed) == Agreement::Yes
    }
}

/// Pairs the calls of a capture, in order, with the device events of a replay by start.
pub(super) fn align(dispatches: &[Dispatch], replayed: &[Replayed]) -> Result<Alignment, Mismatch> {
    if replayed.len() > dispatches.len() {
        return Err(Mismatch::Counts);
    }
    let mut streams: Vec<Option<i64>> =
        replayed.iter().filter(|event| event.is_kernel).map(|event| event.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    if streams.len() > 1 {
        let unnamed = |dispatch: &Dispatch| dispatch.work == Work::Kernel && dispatch.kernel.is_none();
        return match dispatches.iter().any(unnamed) {
            true => by_node(dispatches, replayed),
            false => by_stream(dispatches, replayed),
        };
    }
    match replayed.len() == dispatches.len() {
        true => in_order(dispatches, replayed.iter().enumerate(), Pairing::InOrder)
            .or_else(|_| by_name(dispatches, replayed)),
        false => skipping(dispatches, replayed),
    }
}

fn in_order<'r>(
    dispatches: &[Dispatch],
    replayed: impl Iterator<Item = (usize, &'r Replayed)>,
    pairing: Pairing,
) -> Result<Alignment, Mismatch> {
    let mut alignment = Alignment { pairing, pairs: Vec::with_capacity(dispatches.len()), unverified: 0 };
    for ((call, dispatch), (event, replayed)) in dispatches.iter().enumerate().zip(replayed) {
        match dispatch.agrees(replayed) {
            Agreement::Yes => {}
            Agreement::Possible => alignment.unverified += 1,
            Agreement::No => return Err(Mismatch::Names),
        }
        alignment.pairs.push((call, event));
    }
    Ok(alignment)
}

fn skipping(dispatches: &[Dispatch], replayed: &[Replayed]) -> Result<Alignment, Mismatch> {
    let mut calls = dispatches.iter().enumerate();
    let mut pairs = Vec::with_capacity(replayed.len());
    for (event, replayed) in replayed.iter().enumerate() {
        match calls.find(|(_, dispatch)| dispatch.certainly_agrees(replayed)) {
            Some((call, _)) => pairs.push((call, event)),
            None => return Err(Mismatch::Counts),
        }
    }
    Ok(Alignment { pairing: Pairing::Skipping, pairs, unverified: 0 })
}

/// What calls and device events that belong together have in common.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Named(u32),
    Unnamed(Work),
}

fn by_name(dispatches: &[Dispatch], replayed: &[Replayed]) -> Result<Alignment, Mismatch> {
    let mut waiting: HashMap<Key, VecDeque<usize>> = HashMap::new();
    let mut unverified = 0;
    // Copies and fills have no name among the calls, unless a kernel of that name does them.
    let named: HashSet<u32> = dispatches.iter().filter_map(|dispatch| dispatch.kernel).collect();
    for (event, replayed) in replayed.iter().enumerate() {
        let key = match named.contains(&replayed.name) {
            true => Key::Named(replayed.name),
            false => Key::Unnamed(replayed.work),
        };
        waiting.entry(key).or_default().push_back(event);
    }
    let mut pairs = Vec::with_capacity(dispatches.len());
    for (call, dispatch) in dispatches.iter().enumerate() {
        let key = dispatch.kernel.map_or(Key::Unnamed(dispatch.work), Key::Named);
        let event = waiting.get_mut(&key).and_then(VecDeque::pop_front).ok_or(Mismatch::Names)?;
        unverified += usize::from(key == Key::Unnamed(Work::Kernel));
        pairs.push((call, event));
    }
    Ok(Alignment { pairing: Pairing::ByName, pairs, unverified })
}

/// Choosing between streams, this many calls are looked ahead: where more than that follow alike, either will do.
const LOOK_AHEAD: usize = 256;

fn by_stream(dispatches: &[Dispatch], replayed: &[Replayed]) -> Result<Alignment, Mismatch> {
    let mut queues: Vec<VecDeque<usize>> = Vec::new();
    let mut queue_of: HashMap<Option<i64>, usize> = HashMap::new();
    for (event, device_event) in replayed.iter().enumerate() {
        let queue = *queue_of.entry(device_event.stream).or_insert_with(|| {
            queues.push(VecDeque::new());
            queues.len() - 1
        });
        queues[queue].push_back(event);
    }
    let mut pairs = Vec::with_capacity(replayed.len());
    for (call, dispatch) in dispatches.iter().enumerate() {
        let is_next = |queue: &VecDeque<usize>| {
            queue.front().is_some_and(|&event| dispatch.certainly_agrees(&replayed[event]))
        };
        let mut candidates = (0..queues.len()).filter(|&queue| is_next(&queues[queue]));
        let Some(first) = candidates.next() else { continue };
        let others: Vec<usize> = candidates.collect();
        let run = |queue: usize| {
            let calls = dispatches[call..].iter().zip(&queues[queue]).take(LOOK_AHEAD);
            calls.take_while(|(dispatch, event)| dispatch.certainly_agrees(&replayed[**event])).count()
        };
        let chosen = match others.is_empty() {
            true => first,
            false => {
                let mut longest = (run(first), first);
                for other in others {
                    let run = run(other);
                    if run > longest.0 {
                        longest = (run, other);
                    }
                }
                longest.1
            }
        };
        pairs.extend(queues[chosen].pop_front().map(|event| (call, event)));
    }
    match pairs.len() == replayed.len() {
        true => Ok(Alignment { pairing: Pairing::ByStream, pairs, unverified: 0 }),
        false => Err(Mismatch::Names),
    }
}

/// Nodes are numbered when they are captured, so their numbers are in the order of the calls. On one stream they run
/// in that order too; where they do not, the numbers mean something else.
fn by_node(dispatches: &[Dispatch], replayed: &[Replayed]) -> Result<Alignment, Mismatch> {
    if replayed.len() != dispatches.len() {
        return Err(Mismatch::Unnamed);
    }
    let mut last: HashMap<Option<i64>, i64> = HashMap::new();
    let mut order = Vec::with_capacity(replayed.len());
    for (event, device_event) in replayed.iter().enumerate() {
        let node = device_event.node.ok_or(Mismatch::Unnamed)?;
        if last.insert(device_event.stream, node).is_some_and(|before| before >= node) {
            return Err(Mismatch::Unnamed);
        }
        order.push((node, event));
    }
    order.sort_unstable();
    if order.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(Mismatch::Unnamed);
    }
    let in_node_order = order.into_iter().map(|(_, event)| (event, &replayed[event]));
    in_order(dispatches, in_node_order, Pairing::ByNode)
}
