//! Device events of replayed graphs, and those without operators, matched by the order of kernels on their streams: in the
//! other run operators may have launched the same kernels one by one.

use hashbrown::HashMap;

use super::align::{A, Alignment, Alike, B, Confidence, Relation, most_alike};
use super::outline::{Level, NodeKind, Outline};
use super::sequences::Sequences;

/// Matches the device events that are left, where at least one of the two has no operator of its own.
pub(super) fn align(sides: [&Outline; 2], alignment: &mut Alignment, sequences: &mut Sequences) {
    let without_operator = sides.map(without_operator);
    for bare in [A, B] {
        let candidates = [A, B].map(|side| {
            let left = sides[side].device_nodes().filter(|&node| alignment.mate(side, node).is_none());
            let mut left: Vec<u32> =
                left.filter(|&node| side != bare || without_operator[side][node as usize]).collect();
            left.sort_by_key(|&node| (sides[side].start[node as usize], node));
            left
        });
        if candidates.iter().any(Vec::is_empty) {
            continue;
        }
        let streams = [A, B].map(|side| by_stream(sides[side], &candidates[side]));
        let keys = [A, B].map(|side| {
            let key = |&node: &u32| sides[side].key(node, Level::Inputs);
            streams[side].iter().map(|nodes| nodes.iter().map(key).collect()).collect::<Vec<Vec<u64>>>()
        });
        for Alike { places, .. } in most_alike(keys) {
            let nodes = [A, B].map(|side| &*streams[side][places[side]]);
            align_streams(sides, nodes, alignment, sequences);
        }
    }
}

/// Whether a node is below a call that replays a graph, or has no operator above it.
pub(super) fn without_operator(outline: &Outline) -> Vec<bool> {
    let mut without: Vec<bool> = Vec::with_capacity(outline.len());
    for node in 0..outline.len() as u32 {
        let above = without.get(outline.parent[node as usize] as usize).copied().unwrap_or(true);
        without.push(match outline.kind(node) {
            NodeKind::GraphLaunch => true,
            // Operators that were captured and are known give their kernels back to the program.
            NodeKind::Operator => false,
            _ => above,
        });
    }
    without
}

fn by_stream(outline: &Outline, nodes: &[u32]) -> Vec<Vec<u32>> {
    let mut place: HashMap<u32, usize> = HashMap::new();
    let mut streams: Vec<Vec<u32>> = Vec::new();
    for &node in nodes {
        let at = *place.entry(outline.track[node as usize]).or_insert_with(|| {
            streams.push(Vec::new());
            streams.len() - 1
        });
        streams[at].push(node);
    }
    streams
}

fn align_streams(
    sides: [&Outline; 2],
    nodes: [&[u32]; 2],
    alignment: &mut Alignment,
    sequences: &mut Sequences,
) {
    let [keys_a, keys_b] =
        [A, B].map(|side| nodes[side].iter().map(|&node| sides[side].keys(node)).collect::<Vec<_>>());
    for (a, b) in sequences.common(&keys_a, &keys_b) {
        let (a, b) = (nodes[A][a], nodes[B][b]);
        let is_same = sides[A].level(a, sides[B], b) == Some(Level::Inputs);
        let confidence = if is_same { Confidence::Likely } else { Confidence::Possible };
        alignment.pair([a, b], Relation::Replayed, confidence);
    }
}
