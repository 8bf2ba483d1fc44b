//! How alike two runs are.

use std::borrow::Borrow;

use trace2tree::TraceTree;

use super::TreeDiff;
use super::align::{A, B};
use super::outline::{Level, NodeKind};

/// How many operators and device events two runs have in common. Operators are those that lead to device work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Likeness {
    /// Operators of A and of B.
    pub operators: [usize; 2],
    /// Those that are matched with one of the same name, shapes and types.
    pub like_operators: usize,
    /// Kernels, copies and fills of A and of B.
    pub device_events: [usize; 2],
    /// Those that are matched with one of the same name.
    pub like_device_events: usize,
}

impl Likeness {
    /// Share of the operators of both runs that have an equal one in the other, in percent; `None` without operators.
    #[must_use]
    pub fn operators_percent(&self) -> Option<f64> {
        share(self.like_operators, self.operators)
    }

    /// The same of kernels, copies and fills, by their names.
    #[must_use]
    pub fn device_events_percent(&self) -> Option<f64> {
        share(self.like_device_events, self.device_events)
    }
}

/// Twice what two runs have in common by what they have (Sørensen and Dice), in percent.
fn share(common: usize, of: [usize; 2]) -> Option<f64> {
    let all = of[A] + of[B];
    (all > 0).then(|| 200.0 * common as f64 / all as f64)
}

impl<T: Borrow<TraceTree>> TreeDiff<T> {
    /// How alike the runs are.
    #[must_use]
    pub fn likeness(&self) -> Likeness {
        let count = |kind: NodeKind| {
            self.outlines.each_ref().map(|outline| outline.kind.iter().filter(|&&of| of == kind).count())
        };
        let [outline_a, outline_b] = &self.outlines;
        let like = |kind: NodeKind| {
            let nodes = (0..outline_a.len() as u32).filter(|&node| outline_a.kind(node) == kind);
            let mates = nodes.filter_map(|node| Some((node, self.alignment.mate(A, node)?)));
            mates.filter(|&(a, b)| outline_a.key(a, Level::Own) == outline_b.key(b, Level::Own)).count()
        };
        Likeness {
            operators: count(NodeKind::Operator),
            like_operators: like(NodeKind::Operator),
            device_events: count(NodeKind::Device),
            like_device_events: like(NodeKind::Device),
        }
    }
}
