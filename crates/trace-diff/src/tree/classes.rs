//! What occurs again and again, such as the layers of a model: statistics over its occurrences tell a difference from noise.

use std::borrow::Borrow;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use trace_ingest::EventId;
use trace2tree::TraceTree;

use super::TreeDiff;
use super::align::{A, B};
use super::outline::{Level, NONE, Outline};

/// A difference below this share of the mean of A is noise, however steady both runs are.
const LEAST_SHARE: f64 = 0.01;

/// A difference below so many standard errors is noise.
const LEAST_ERRORS: f64 = 2.0;

/// Matched operators or modules that contain the same program and have the same shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedWork {
    /// The first of them in A and in B.
    pub first: [EventId; 2],
    /// The kernel time of each in A and in B, in [`TreeDiff::time_unit`]: the sum of the durations of its device events.
    pub times: [Summary; 2],
    /// By how many standard errors the means differ (Welch, *Biometrika* 34, 1947); `None` where neither run varies.
    pub welch_t: Option<f64>,
}

impl RepeatedWork {
    /// How much longer B takes for all of them.
    #[must_use]
    pub fn delta(&self) -> i64 {
        self.times[B].sum.saturating_sub(self.times[A].sum)
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
        let mut classes: HashMap<[u64; 4], Vec<[u32; 2]>> = HashMap::new();
        let outline = &self.outlines[A];
        for node in 0..outline.len() as u32 {
            let mate = self.alignment.mate[A][node as usize];
            if mate == NONE || !outline.kind(node).is_program() || self.is_all_of_its_caller([node, mate]) {
                continue;
            }
            let of_b = &self.outlines[B];
            let key = [
                outline.key(node, Level::Structure),
                outline.key(node, Level::Own),
                of_b.key(mate, Level::Structure),
                of_b.key(mate, Level::Own),
            ];
            classes.entry(key).or_default().push([node, mate]);
        }
        let mut found: Vec<RepeatedWork> = classes
            .into_values()
            .filter(|nodes| nodes.len() > 1)
            .filter_map(|nodes| {
                let of = |side: usize| {
                    let times: Vec<i64> = nodes.iter().map(|nodes| time(side, nodes[side])).collect();
                    Some((self.outlines[side].event[nodes[0][side] as usize]?, Summary::from_values(&times)?))
                };
                let (a, b) = (of(A)?, of(B)?);
                let times = [a.1, b.1];
                Some(RepeatedWork { first: [a.0, b.0], times, welch_t: welch_t(&times) })
            })
            .collect();
        found.sort_by_key(|work| (std::cmp::Reverse(work.delta().saturating_abs()), work.first));
        found
    }

    /// Whether two matched nodes are all that the nodes above them contain, which are matched, too.
    fn is_all_of_its_caller(&self, nodes: [u32; 2]) -> bool {
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
