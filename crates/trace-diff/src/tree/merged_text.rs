//! Both trees as one, as text.

use std::borrow::Borrow;
use std::io::{self, Write};

use sheets::escaped;
use trace2tree::TraceTree;

use super::TreeDiff;
use super::align::{A, B};
use super::outline::{NONE, Outline};

/// Levels that are indented. What is deeper stands below the last of them: in a tree of a million levels the indentation
/// alone would be a million times a million characters.
const INDENTED: usize = 200;

/// A node of the merged tree.
#[derive(Clone, Copy)]
enum Merged {
    Both([u32; 2]),
    Only(usize, u32),
}

impl<T: Borrow<TraceTree>> TreeDiff<T> {
    /// Writes both trees as one, a node a line: its name, or `combined: A | B` where the names differ; `>> trace1:` what A
    /// alone has, `<< trace2:` what B alone has. Behind it stands the kernel time of the node and all below it, in A and in
    /// B. Matched nodes stand where they are in A.
    pub fn write_merged_tree(&self, out: &mut dyn Write) -> io::Result<()> {
        let before = self.outlines.each_ref().map(Outline::device_time_before);
        // Of each level above the node whether its ancestor there is the last one.
        let mut last: Vec<bool> = Vec::new();
        let mut open: Vec<(usize, bool, Merged)> = Vec::new();
        self.push_children(Merged::Both([0, 0]), 0, &mut open);
        while let Some((depth, is_last, node)) = open.pop() {
            let shown = depth.min(INDENTED);
            last.truncate(shown);
            for &is_last in last.iter().skip(1) {
                out.write_all(if is_last { b"    " } else { "│   ".as_bytes() })?;
            }
            if shown > 0 {
                out.write_all(if is_last { "└── " } else { "├── " }.as_bytes())?;
            }
            self.write_node(node, &before, out)?;
            last.push(is_last);
            self.push_children(node, depth + 1, &mut open);
        }
        Ok(())
    }

    fn write_node(&self, node: Merged, before: &[Vec<i64>; 2], out: &mut dyn Write) -> io::Result<()> {
        let time = |side: usize, node: u32| {
            let subtree = self.outlines[side].subtree(node);
            let time = before[side][subtree.end as usize] - before[side][subtree.start as usize];
            self.time_unit().to_microseconds(time)
        };
        match node {
            Merged::Both([a, b]) => {
                let [name_a, name_b] = [(A, a), (B, b)].map(|(side, node)| escaped(self.name(side, node)));
                match name_a == name_b {
                    true => write!(out, "{name_a}")?,
                    false => write!(out, "combined: {name_a} | {name_b}")?,
                }
                writeln!(out, "  ({:.3} | {:.3} µs)", time(A, a), time(B, b))
            }
            Merged::Only(side, node) => {
                let mark = [">> trace1", "<< trace2"][side];
                writeln!(out, "{mark}: {}  ({:.3} µs)", escaped(self.name(side, node)), time(side, node))
            }
        }
    }

    /// The children of a node, the first on top: those of A in their order, and what B alone has behind the match that it
    /// follows there.
    fn push_children(&self, node: Merged, depth: usize, open: &mut Vec<(usize, bool, Merged)>) {
        let merged_with_mate = |node: u32| match self.alignment.mate(A, node) {
            Some(mate) => Merged::Both([node, mate]),
            None => Merged::Only(A, node),
        };
        let is_left = |node: &u32| self.alignment.mate[B][*node as usize] == NONE;
        let mut children: Vec<Merged> = Vec::new();
        match node {
            Merged::Only(A, node) => {
                children.extend(self.outlines[A].children(node).iter().map(|&node| merged_with_mate(node)))
            }
            Merged::Only(_, node) => {
                let left = self.outlines[B].children(node).iter().copied().filter(is_left);
                children.extend(left.map(|node| Merged::Only(B, node)));
            }
            Merged::Both([a, b]) => {
                let mut children_b = self.outlines[B].children(b).iter().copied().peekable();
                for &child in self.outlines[A].children(a) {
                    let mate = self
                        .alignment
                        .mate(A, child)
                        .filter(|&mate| self.outlines[B].parent[mate as usize] == b);
                    while let (Some(mate), Some(next)) =
                        (mate, children_b.next_if(|&next| Some(next) <= mate))
                    {
                        if next < mate && is_left(&next) {
                            children.push(Merged::Only(B, next));
                        }
                    }
                    children.push(merged_with_mate(child));
                }
                children.extend(children_b.filter(is_left).map(|node| Merged::Only(B, node)));
            }
        }
        let count = children.len();
        let numbered = children.into_iter().enumerate().rev();
        open.extend(numbered.map(|(place, child)| (depth, place + 1 == count, child)));
    }
}
