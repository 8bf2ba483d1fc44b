//! What occurs again and again, such as the layers of a model: statistics over its occurrences tell a difference from noise.

use std::borrow::Borrow;

use gpu_timeline::{SortFew, Summary};
use hashbrown::{HashMap, HashSet};
use trace_ingest::EventId;
use trace2tree::{TraceTree, module_class};

use super::TreeDiff;
use super::align::{A, B};
use super::outline::{Level, NONE, Outline};

/// A difference below this share of the mean of A is noise, however steady both runs are.
const LEAST_SHARE: f64 = 0.01;

/// Levels of repeated work around an operator that are looked through.
const ENCLOSING: usize = 16;

/// A difference below so many standard errors is noise.
const LEAST_ERRORS: f64 = 2.0;

/// Operators or modules that contain the same program and have the same shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedWork {
    /// The first of them in A and in B.
    pub first: [EventId; 2],
    /// The kernel time of each in A and in B, in [`TreeDiff::time_unit`]: the sum of the durations of its device events. Of those
    /// that are matched one by one; of recordings that are cut differently, of all.
    pub times: [Summary; 2],
    /// How much longer B takes for all of them; of recordings that are cut differently, how much longer it would for as many as
    /// A has, by the medians.
    pub delta: i64,
    /// The place in the list of [`TreeDiff::repeated_work`] of the smallest work that each of them stands in, such as the
    /// layer around an operator.
    pub within: Option<usize>,
    /// By how many standard errors the means differ (Welch, *Biometrika* 34, 1947); `None` where neither run varies.
    pub welch_t: Option<f64>,
}

impl RepeatedWork {
    fn new(first: [EventId; 2], times: [Summary; 2], is_cut_differently: bool) -> Self {
        let delta = match is_cut_differently {
            true => ((times[B].median - times[A].median) * times[A].count as f64) as i64,
            false => times[B].sum.saturating_sub(times[A].sum),
        };
        let welch_t = welch_t(&times);
        RepeatedWork { first, times, delta, within: None, welch_t }
    }

    /// Whether the difference is less than two standard errors or than one percent.
    #[must_use]
    pub fn is_noise(&self) -> bool {
        let difference = (self.times[B].mean - self.times[A].mean).abs();
        difference < LEAST_SHARE * self.times[A].mean
            || self.welch_t.is_some_and(|errors| errors.abs() < LEAST_ERRORS)
    }
}

impl<T: Borrow<TraceTree>> TreeDiff<T> {
    /// All work that both runs have at least twice, the largest difference first. Modules contain operators, so their
    /// differences contain those of these; of a module or operator that calls just one other only the outer one is here.
    #[must_use]
    pub fn repeated_work(&self) -> Vec<RepeatedWork> {
        let before = self.outlines.each_ref().map(Outline::device_time_before);
        let time = |side: usize, node: u32| {
            let subtree = self.outlines[side].subtree(node);
            before[side][subtree.end as usize] - before[side][subtree.start as usize]
        };
        let mut found: Vec<(RepeatedWork, Vec<u32>)> = self
            .like_work()
            .into_iter()
            .filter(|nodes| nodes.iter().all(|nodes| nodes.len() > 1))
            .filter_map(|nodes| {
                let of = |side: usize| {
                    let times: Vec<i64> = nodes[side].iter().map(|&node| time(side, node)).collect();
                    Some((self.outlines[side].event[nodes[side][0] as usize]?, Summary::from_values(&times)?))
                };
                let (a, b) = (of(A)?, of(B)?);
                let work = RepeatedWork::new([a.0, b.0], [a.1, b.1], self.is_cut_differently);
                let [nodes, _] = nodes;
                Some((work, nodes))
            })
            .collect();
        found.sort_few_by_key(|(work, _)| (std::cmp::Reverse(work.delta.saturating_abs()), work.first));
        let within = self.enclosing_work(found.iter().map(|(_, nodes)| nodes.as_slice()));
        let places = found.into_iter().zip(within);
        places.map(|((work, _), within)| RepeatedWork { within, ..work }).collect()
    }

    /// The nodes of A and of B that are like work: those that are matched, in step; of recordings that are cut differently all
    /// of either run that are like the matched ones.
    fn like_work(&self) -> Vec<[Vec<u32>; 2]> {
        let key = |side: usize, node: u32| {
            let outline = &self.outlines[side];
            [outline.key(node, Level::Structure), outline.key(node, Level::Own)]
        };
        let mut matched: HashMap<[[u64; 2]; 2], [Vec<u32>; 2]> = HashMap::new();
        let outline = &self.outlines[A];
        for node in 0..outline.len() as u32 {
            let mate = self.alignment.mate[A][node as usize];
            if mate == NONE || !outline.kind(node).is_program() || self.fills_caller([node, mate]) {
                continue;
            }
            let [nodes_a, nodes_b] = matched.entry([key(A, node), key(B, mate)]).or_default();
            nodes_a.push(node);
            nodes_b.push(mate);
        }
        if !self.is_cut_differently {
            return matched.into_values().collect();
        }
        let all = [A, B].map(|side| {
            let outline = &self.outlines[side];
            let mut all: HashMap<[u64; 2], Vec<u32>> = HashMap::new();
            for node in (0..outline.len() as u32).filter(|&node| outline.kind(node).is_program()) {
                all.entry(key(side, node)).or_default().push(node);
            }
            all
        });
        // Each is like what most of it is matched with.
        let mut pairs: Vec<([[u64; 2]; 2], usize)> =
            matched.into_iter().map(|(keys, [nodes, _])| (keys, nodes.len())).collect();
        pairs.sort_few_by_key(|&(keys, count)| (std::cmp::Reverse(count), keys));
        let mut taken = [HashSet::new(), HashSet::new()];
        pairs.retain(|([nodes_a, nodes_b], _)| {
            let is_free = !taken[A].contains(nodes_a) && !taken[B].contains(nodes_b);
            is_free && taken[A].insert(*nodes_a) && taken[B].insert(*nodes_b)
        });
        pairs.into_iter().map(|(keys, _)| [A, B].map(|side| all[side][&keys[side]].clone())).collect()
    }

    /// What repeated work is called in A and in B, without the numbers of modules.
    #[must_use]
    pub fn names_of_work(&self, work: &RepeatedWork) -> [&str; 2] {
        let trees = self.trees();
        [A, B].map(|side| module_class(trees[side].trace().name(work.first[side])))
    }

    /// Of each list of nodes of A the place of that list whose nodes stand around all of them, the nearest.
    fn enclosing_work<'n>(
        &self,
        works: impl ExactSizeIterator<Item = &'n [u32]> + Clone,
    ) -> Vec<Option<usize>> {
        let outline = &self.outlines[A];
        let mut work_of = vec![NONE; outline.len()];
        for (work, nodes) in works.clone().enumerate() {
            for &node in nodes {
                work_of[node as usize] = work as u32;
            }
        }
        // Nodes are in pre-order, so what is around a node is known before.
        let mut around = vec![NONE; outline.len()];
        for node in 1..outline.len() {
            let above = outline.parent[node] as usize;
            around[node] = if work_of[above] == NONE { around[above] } else { above as u32 };
        }
        let all_around = |node: u32| {
            let next = |node: u32| Some(around[node as usize]).filter(|&around| around != NONE);
            std::iter::successors(next(node), move |&node| next(node))
                .take(ENCLOSING)
                .map(|node| work_of[node as usize])
        };
        let enclosing = works.enumerate().map(|(work, nodes)| {
            let (&first, others) = nodes.split_first()?;
            // An operator may call itself.
            let candidates = all_around(first).filter(|&around| around != work as u32);
            let mut candidates: Vec<u32> = candidates.collect();
            for &node in others {
                let found: Vec<u32> = all_around(node).collect();
                candidates.retain(|candidate| found.contains(candidate));
                if candidates.is_empty() {
                    break;
                }
            }
            candidates.first().map(|&work| work as usize)
        });
        enclosing.collect()
    }

    /// Whether two matched nodes are all that the nodes above them contain, which are matched, too.
    fn fills_caller(&self, nodes: [u32; 2]) -> bool {
        let above = [A, B].map(|side| self.outlines[side].parent[nodes[side] as usize]);
        self.alignment.mate(A, above[A]) == Some(above[B])
            && [A, B].into_iter().all(|side| {
                self.outlines[side].kind(above[side]).is_program()
                    && self.outlines[side].children(above[side]).len() == 1
            })
    }
}

fn welch_t([a, b]: &[Summary; 2]) -> Option<f64> {
    let variance_of_mean = |of: &Summary| Some(of.sample_std?.powi(2) / of.count as f64);
    let error = (variance_of_mean(a)? + variance_of_mean(b)?).sqrt();
    (error > 0.0).then(|| (b.mean - a.mean) / error)
}
