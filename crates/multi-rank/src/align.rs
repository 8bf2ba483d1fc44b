//! Pairs the collectives of two ranks that do not number them, by the time at which they end.
//!
//! A collective that exchanges data among all members ends on all of them together, up to a constant difference of their
//! clocks. The difference that most pairs of like collectives share is that of the clocks; the pairs that have it are the
//! same collective.

use gpu_timeline::{SortFew, upper_median};
use hashbrown::HashMap;

/// The end of a collective on a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// In nanoseconds.
    pub(crate) time: i64,
    /// What the ranks of one collective have in common: its kind, element type and sizes.
    pub(crate) signature: u64,
}

/// How far apart two like collectives may stand among those of their ranks to be thought the same.
const REACH: usize = 64;

/// Widths of the windows that the difference of clocks is looked for in, in nanoseconds.
pub(crate) const WIDTHS: [i64; 4] = [5_000, 20_000, 100_000, 500_000];

/// Share of the collectives of the shorter list that have to agree on the difference, and that have to be paired.
const SUPPORT: f64 = 0.8;
const PAIRED: f64 = 0.9;

/// A difference of clocks that this share of the most agree on may be the true one.
const RIVAL: f64 = 0.9;

/// So many of those are tried.
const TRIED: usize = 16;

/// The true one leaves fewer collectives of the common time without a partner than any other, by more than this and by
/// more than chance has it.
const LEAD: f64 = 4.0;

/// How the collectives of a rank stand to those of the reference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alignment {
    /// For each collective of the rank the index of the reference's, where there is one.
    pub(crate) pairs: Vec<Option<usize>>,
    /// Clock of the rank less clock of the reference, in nanoseconds.
    pub(crate) offset: i64,
    /// Median distance of the agreeing pairs from it.
    pub(crate) deviation: i64,
    /// Whether too few collectives agree or are paired, or another offset explains as many: the pairs are a guess.
    pub(crate) doubt: Option<Doubt>,
}

/// Why pairs are a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Too few collectives share a difference of clocks.
    NoCommonOffset,
    /// Too few collectives have a partner.
    FewPairs,
    /// Two differences of clocks explain the recording.
    TwoOffsets,
    /// They are of several groups that nothing tells.
    SeveralStreams,
}

/// Pairs the collectives of a rank with those of a reference. `near` is the offset that the clocks are known to have, which
/// decides between several.
pub(crate) fn align(reference: &[End], rank: &[End], near: Option<i64>) -> Alignment {
    let shorter = reference.len().min(rank.len());
    let nothing = |doubt| Alignment { pairs: vec![None; rank.len()], offset: 0, deviation: 0, doubt };
    if shorter == 0 {
        return nothing(None);
    }
    let (reference_order, rank_order) = (by_time(reference), by_time(rank));
    let differences = differences(&by_signature(reference), &by_signature(rank));
    let mut agreed = Vec::new();
    for width in WIDTHS {
        let found = densest(&differences, width, near);
        if found.first().is_some_and(|found| found.count as f64 >= SUPPORT * shorter as f64) {
            agreed = found;
            break;
        }
    }
    if agreed.is_empty() {
        return nothing(Some(Doubt::NoCommonOffset));
    }
    let spacing =
        upper_median(reference_order.windows(2).map(|two| reference[two[1]].time - reference[two[0]].time));
    let paired = |agreed: &Agreed| {
        let tolerance =
            (10 * agreed.deviation).max(20_000).min(spacing.map_or(i64::MAX, |spacing| spacing / 2).max(1));
        let pairs = merge(reference, &reference_order, rank, &rank_order, agreed.offset, tolerance);
        let overlap = overlap(reference, rank, agreed.offset);
        let count = pairs.iter().flatten().count();
        (overlap.0 + overlap.1 - (2 * count).min(overlap.0 + overlap.1), count, overlap, pairs, *agreed)
    };
    let mut tried: Vec<_> = agreed.iter().map(paired).collect();
    tried.sort_few_by_key(|(alone, ..)| *alone);
    let second = tried.get(1).map(|(alone, ..)| *alone);
    let (alone, count, overlap, pairs, agreed) = tried.swap_remove(0);
    let doubt = if second.is_some_and(|second| (second - alone) as f64 <= LEAD + (alone as f64).sqrt()) {
        Some(Doubt::TwoOffsets)
    } else if (count as f64) < PAIRED * overlap.0.min(overlap.1) as f64 {
        Some(Doubt::FewPairs)
    } else {
        None
    };
    Alignment { pairs, offset: agreed.offset, deviation: agreed.deviation, doubt }
}

/// Positions in order of time.
fn by_time(ends: &[End]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by_key(|&at| ends[at].time);
    order
}

/// Times by signature, each list ascending.
fn by_signature(ends: &[End]) -> HashMap<u64, Vec<i64>> {
    let mut times: HashMap<u64, Vec<i64>> = HashMap::new();
    for end in ends {
        times.entry(end.signature).or_default().push(end.time);
    }
    times.values_mut().for_each(|times| times.sort_unstable());
    times
}

/// All differences of near like collectives, ascending.
fn differences(reference: &HashMap<u64, Vec<i64>>, rank: &HashMap<u64, Vec<i64>>) -> Vec<i64> {
    let mut differences = Vec::new();
    for (signature, own) in rank {
        let Some(others) = reference.get(signature) else { continue };
        for (at, time) in own.iter().enumerate() {
            let near = at.saturating_sub(REACH)..(at + REACH + 1).min(others.len());
            differences.extend(others.get(near).unwrap_or_default().iter().map(|other| time - other));
        }
    }
    differences.sort_unstable();
    differences
}

/// A difference that many pairs share.
#[derive(Clone, Copy)]
struct Agreed {
    offset: i64,
    deviation: i64,
    count: usize,
}

/// The windows of this width with the most differences, and those with nearly as many that lie apart from them; with
/// a known offset the one of them that is nearest to it.
fn densest(differences: &[i64], width: i64, near: Option<i64>) -> Vec<Agreed> {
    let mut first = 0;
    let mut windows: Vec<(usize, usize)> = Vec::new();
    for last in 0..differences.len() {
        while differences[last] - differences[first] > width {
            first += 1;
        }
        windows.push((first, last + 1));
    }
    let Some(most) = windows.iter().map(|(from, to)| to - from).max() else { return Vec::new() };
    windows.retain(|(from, to)| (to - from) as f64 >= RIVAL * most as f64);
    let middle = |&(from, to): &(usize, usize)| differences[from + (to - from) / 2];
    match near {
        Some(known) => windows.sort_few_by_key(|window| ((middle(window) - known).abs(), window.0)),
        None => windows.sort_few_by_key(|window| (std::cmp::Reverse(window.1 - window.0), window.0)),
    }
    let mut agreed: Vec<Agreed> = Vec::new();
    for window in windows {
        let offset = middle(&window);
        if agreed.iter().all(|other| (other.offset - offset).abs() > 2 * width) {
            let (from, to) = window;
            let deviation =
                upper_median(differences[from..to].iter().map(|difference| (difference - offset).abs()));
            agreed.push(Agreed { offset, deviation: deviation.unwrap_or(0), count: to - from });
        }
        if agreed.len() == if near.is_some() { 1 } else { TRIED } {
            break;
        }
    }
    agreed
}

/// Pairs in order of time, each collective once.
fn merge(
    reference: &[End],
    reference_order: &[usize],
    rank: &[End],
    rank_order: &[usize],
    offset: i64,
    tolerance: i64,
) -> Vec<Option<usize>> {
    let mut pairs = vec![None; rank.len()];
    let (mut at, mut other) = (0, 0);
    // Distance of a pair of like collectives that may be one.
    let distance = |at: usize, other: usize| {
        let (own, its) = (rank.get(*rank_order.get(at)?)?, reference.get(*reference_order.get(other)?)?);
        let distance = own.time - offset - its.time;
        (own.signature == its.signature && distance.abs() <= tolerance).then_some(distance.abs())
    };
    while at < rank_order.len() && other < reference_order.len() {
        let (position, partner) = (rank_order[at], reference_order[other]);
        let ahead = rank[position].time - offset - reference[partner].time;
        match distance(at, other) {
            Some(own) if distance(at, other + 1).is_some_and(|next| next < own) => other += 1,
            Some(own) if distance(at + 1, other).is_some_and(|next| next < own) => at += 1,
            Some(_) => {
                pairs[position] = Some(partner);
                at += 1;
                other += 1;
            }
            None if ahead > 0 => other += 1,
            None => at += 1,
        }
    }
    pairs
}

/// How many collectives each of the two has in the time of both.
fn overlap(reference: &[End], rank: &[End], offset: i64) -> (usize, usize) {
    let span = |ends: &[End], offset: i64| {
        let times = || ends.iter().map(|end| end.time - offset);
        (times().min().unwrap_or(0), times().max().unwrap_or(0))
    };
    let (own, its) = (span(rank, offset), span(reference, 0));
    let (from, to) = (own.0.max(its.0), own.1.min(its.1));
    let within = |ends: &[End], offset: i64| {
        ends.iter().filter(|end| (from..=to).contains(&(end.time - offset))).count()
    };
    (within(rank, offset), within(reference, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random; the same for the same seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) as i64) % bound
        }
    }

    /// A reference of so many collectives, and a rank that has them at another clock, with jitter and gaps; for each of
    /// the rank's the index of the true partner.
    fn ranks(seed: u64, jitter: i64, dropped: usize, varied: bool) -> (Vec<End>, Vec<End>, Vec<usize>) {
        let mut random = Random(seed);
        let mut time = 0;
        let reference: Vec<End> = (0..400)
            .map(|index| {
                time += 300_000 + random.below(2_700_000);
                End { time, signature: if varied { index % 7 } else { 0 } }
            })
            .collect();
        let offset = random.below(10_000_000) - 5_000_000;
        let first = random.below(8) as usize;
        let mut truth: Vec<usize> = (first..reference.len()).collect();
        for _ in 0..dropped {
            truth.remove(random.below(truth.len() as i64) as usize);
        }
        let end = |&index: &usize| {
            let End { time, signature } = reference[index];
            End { time: time + offset + random.below(2 * jitter + 1) - jitter, signature }
        };
        let rank = truth.iter().map(end).collect();
        (reference, rank, truth)
    }

    #[test]
    fn no_pair_is_wrong_at_50_us_of_jitter() {
        for seed in 0..40 {
            for (jitter, dropped, varied) in [
                (3_000, 0, true),
                (3_000, 20, false),
                (50_000, 1, false),
                (50_000, 20, true),
                (50_000, 20, false),
            ] {
                let (reference, rank, truth) = ranks(seed, jitter, dropped, varied);
                let alignment = align(&reference, &rank, None);
                assert_eq!(alignment.doubt, None, "seed {seed}, jitter {jitter}, {dropped} dropped");
                let paired =
                    alignment.pairs.iter().zip(&truth).filter_map(|(pair, truth)| Some((*pair)? == *truth));
                let right: Vec<bool> = paired.collect();
                assert!(right.iter().all(|&right| right), "seed {seed}, jitter {jitter}, {dropped} dropped");
                assert!(right.len() as f64 > 0.95 * truth.len() as f64);
            }
        }
    }

    #[test]
    fn jitter_above_the_spacing_is_told() {
        for seed in 0..5 {
            let (reference, rank, _) = ranks(seed, 2_000_000, 0, false);
            assert!(align(&reference, &rank, None).doubt.is_some());
        }
    }

    #[test]
    fn an_even_beat_explains_any_shift_and_is_told_unless_the_clock_is_the_same() {
        let beat = |from: i64| -> Vec<End> {
            (from..from + 100).map(|index| End { time: index * 1_000_000, signature: 0 }).collect()
        };
        assert_eq!(align(&beat(0), &beat(3), None).doubt, Some(Doubt::TwoOffsets));
        let same = align(&beat(0), &beat(3), Some(0));
        assert_eq!((same.doubt, same.offset), (None, 0));
        assert_eq!(same.pairs[..2], [Some(3), Some(4)]);
    }

    #[test]
    fn without_collectives_nothing_is_paired() {
        let one = [End { time: 0, signature: 0 }];
        assert_eq!(align(&[], &one, None).pairs, [None]);
        assert_eq!(align(&one, &[], None).pairs, []);
    }
}
