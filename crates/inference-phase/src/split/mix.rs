//! The mix of step shapes of a server that never is in a steady state, and windows that together stand for it.
//!
//! Agents send growing prefixes, pause, and come in changing numbers, so no window looks like all others. What a recording
//! of them has is a distribution of step shapes; windows stand for it as far as theirs is near.

use std::collections::BTreeMap;
use std::ops::Range;

use super::steps::StepWork;

/// The shape of a step: what its time depends on, each in octaves. Steps whose numbers differ by less than a factor of
/// two mostly share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepShape {
    /// Octave of the requests.
    pub requests: u32,
    /// Octave of the new tokens.
    pub new_tokens: u32,
    /// Octave of the tokens whose keys and values were there before the step: context − new. `None` where the step does
    /// not say.
    pub cached_tokens: Option<u32>,
}

impl StepShape {
    /// The shape of a step; `None` where the trace does not say what it runs.
    #[must_use]
    pub fn new(work: &StepWork) -> Option<StepShape> {
        let cached = |statistics: &perf_models::StepStatistics| {
            let [context, generation] = [statistics.context, statistics.generation]
                .map(|tokens| tokens.keys.saturating_sub(tokens.queries).max(0));
            octave(context.saturating_add(generation))
        };
        (work.batch_size > 0).then(|| StepShape {
            requests: octave(work.requests()),
            new_tokens: octave(work.batch_size),
            cached_tokens: work.statistics.as_ref().map(cached),
        })
    }
}

/// 0 of nothing, else one more than the whole part of the binary logarithm.
fn octave(count: i64) -> u32 {
    count.max(0).checked_ilog2().map_or(0, |logarithm| logarithm + 1)
}

/// How far a mix of shapes is from that of all steps: the total variation distance, half the sum over all shapes of the
/// differences of their shares (Levin, Peres: Markov Chains and Mixing Times, proposition 4.2). It is the share of steps
/// that would have to be of another shape: 0 for the same mix, 1 where no shape is in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixDistance {
    /// Of the window alone.
    pub alone: f64,
    /// Of the window together with those chosen before it.
    pub together: f64,
}

/// A window of neighbouring steps.
#[derive(Clone, Debug, PartialEq)]
pub struct MixWindow {
    /// Positions among the steps.
    pub steps: Range<usize>,
    /// From all steps.
    pub distance: MixDistance,
}

/// Chooses up to `most` windows of `length` steps that do not overlap: each time the one that brings the mix of all chosen
/// ones nearest to that of all steps, the earliest of equals, until none brings it nearer. So each window lowers the
/// distance of all together. One window of all where there are no more steps than `length`.
#[must_use]
pub fn mix_windows<S: Ord>(shapes: &[S], length: usize, most: usize) -> Vec<MixWindow> {
    let length = length.clamp(1, shapes.len().max(1));
    let mut mix = Mix::new(shapes);
    let mut windows: Vec<MixWindow> = Vec::new();
    let mut free: Vec<Range<usize>> = std::iter::once(0..shapes.len()).collect();
    while windows.len() < most {
        let candidates = free.iter().filter(|gap| gap.len() >= length);
        let best = candidates.filter_map(|gap| mix.nearest(gap.clone(), length)).min();
        let Some((difference, start)) = best else { break };
        let together = mix.distance(difference, mix.chosen + length);
        if windows.last().is_some_and(|last| together >= last.distance.together) {
            break;
        }
        let window = start..start + length;
        let alone = distance(&shapes[window.clone()], shapes);
        windows.push(MixWindow { steps: window.clone(), distance: MixDistance { alone, together } });
        mix.choose(window.clone());
        let gap = free.iter().position(|gap| gap.contains(&start));
        if let Some(gap) = gap.map(|gap| free.swap_remove(gap)) {
            free.extend([gap.start..window.start, window.end..gap.end]);
        }
    }
    windows
}

/// How far two mixes are from each other; 0 where one has no steps.
#[must_use]
pub fn distance<S: Ord>(one: &[S], other: &[S]) -> f64 {
    let mut shares: BTreeMap<&S, [u64; 2]> = BTreeMap::new();
    one.iter().for_each(|shape| shares.entry(shape).or_default()[0] += 1);
    other.iter().for_each(|shape| shares.entry(shape).or_default()[1] += 1);
    let [all_of_one, all_of_other] = [one.len() as u128, other.len() as u128];
    let difference =
        |[a, b]: &[u64; 2]| (u128::from(*a) * all_of_other).abs_diff(u128::from(*b) * all_of_one);
    let sum: u128 = shares.values().map(difference).sum();
    if sum == 0 { 0.0 } else { sum as f64 / (2 * all_of_one * all_of_other) as f64 }
}

/// The shapes of all steps and of the chosen ones.
struct Mix {
    /// Place of the shape of each step in the counts.
    shape_of: Vec<usize>,
    /// Steps of each shape, of all and of the chosen ones.
    counts: Vec<[i64; 2]>,
    chosen: usize,
}

impl Mix {
    fn new<S: Ord>(shapes: &[S]) -> Mix {
        let mut places: BTreeMap<&S, usize> = BTreeMap::new();
        let mut counts: Vec<[i64; 2]> = Vec::new();
        let shape_of = shapes.iter().map(|shape| {
            let place = *places.entry(shape).or_insert_with(|| {
                counts.push([0; 2]);
                counts.len() - 1
            });
            counts[place][0] += 1;
            place
        });
        Mix { shape_of: shape_of.collect(), counts, chosen: 0 }
    }

    /// Difference of the shares of a shape, as a part of 1 / (all steps × chosen steps).
    fn difference(&self, [all, chosen]: [i64; 2], steps: usize) -> u128 {
        let [all, chosen] = [all, chosen].map(|count| u128::from(count.unsigned_abs()));
        (all * steps as u128).abs_diff(chosen * self.shape_of.len() as u128)
    }

    fn distance(&self, difference: u128, steps: usize) -> f64 {
        difference as f64 / (2 * self.shape_of.len() as u128 * steps as u128) as f64
    }

    fn choose(&mut self, steps: Range<usize>) {
        self.chosen += steps.len();
        steps.for_each(|step| self.counts[self.shape_of[step]][1] += 1);
    }

    /// The window in a gap that with the chosen steps differs least from all, and where it begins. Each window differs by
    /// two steps from the one before it, so all of them take one pass.
    fn nearest(&self, gap: Range<usize>, length: usize) -> Option<(u128, usize)> {
        let steps = self.chosen + length;
        let mut counts = self.counts.clone();
        self.shape_of[gap.start..gap.start + length].iter().for_each(|&shape| counts[shape][1] += 1);
        let mut difference: u128 = counts.iter().map(|&counts| self.difference(counts, steps)).sum();
        let mut best = (difference, gap.start);
        for start in gap.start + 1..=gap.end - length {
            for (step, change) in [(start - 1, -1), (start + length - 1, 1)] {
                let counts = &mut counts[self.shape_of[step]];
                difference -= self.difference(*counts, steps);
                counts[1] += change;
                difference += self.difference(*counts, steps);
            }
            best = best.min((difference, start));
        }
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use perf_models::IterationAnnotation;

    #[test]
    fn shapes_are_octaves_of_requests_new_and_cached_tokens() {
        let shape = |text: &str| StepShape::new(&StepWork::from(&IterationAnnotation::parse(text).unwrap()));
        let found =
            shape("execute_131_context_1(sq128sk1128sqsq16384sqsk144384)_generation_3(sq3sk603sqsq3sqsk603)");
        // 4 requests, 131 new tokens, 1000 and 600 cached ones.
        assert_eq!(found, Some(StepShape { requests: 3, new_tokens: 8, cached_tokens: Some(11) }));
        let found = shape("execute_context_0(0)_generation_3(3)");
        assert_eq!(found, Some(StepShape { requests: 2, new_tokens: 2, cached_tokens: None }));
        assert_eq!(StepShape::new(&StepWork::UNKNOWN), None);
        assert_eq!([-3, 0, 1, 2, 3, 4, i64::MAX].map(octave), [0, 0, 1, 2, 2, 3, 63]);
    }

    #[test]
    fn windows_are_added_while_they_bring_the_mix_nearer() {
        // Half of one shape, a quarter of two others each.
        let shapes = b"aaaaaaaabbbbcccc";
        let windows = mix_windows(shapes, 4, 9);
        let found: Vec<(Range<usize>, f64, f64)> = windows
            .into_iter()
            .map(|window| (window.steps, window.distance.alone, window.distance.together))
            .collect();
        assert_eq!(found[0], (5..9, 0.25, 0.25));
        assert_eq!(found[1], (10..14, 0.5, 0.125));
        // All that is left is of one shape; no window of two others fits between the chosen ones.
        assert_eq!((found[2].0.clone(), found.len()), (0..4, 3));
        assert_eq!(mix_windows(shapes, 4, 1).len(), 1);
        assert_eq!(mix_windows(shapes, 99, 3)[0].steps, 0..16);
        assert!(mix_windows::<u8>(&[], 4, 3).is_empty());
    }

    proptest! {
        #[test]
        fn distance_is_that_of_two_distributions(
            one in prop::collection::vec(0..6u8, 1..30),
            two in prop::collection::vec(0..6u8, 1..30),
            three in prop::collection::vec(0..6u8, 1..30),
            times in 1..4usize,
        ) {
            let between = distance(&one, &two);
            prop_assert!((0.0..=1.0).contains(&between));
            prop_assert_eq!(between, distance(&two, &one));
            prop_assert_eq!(distance(&one, &one.repeat(times)), 0.0);
            prop_assert!(between <= distance(&one, &three) + distance(&three, &two) + 1e-12);
        }

        #[test]
        fn windows_lower_the_distance_of_all_together(
            shapes in prop::collection::vec(0..5u8, 0..60),
            length in 1..12usize,
            most in 0..8usize,
        ) {
            let windows = mix_windows(&shapes, length, most);
            prop_assert!(windows.len() <= most && (windows.is_empty() == (shapes.is_empty() || most == 0)));
            let (mut chosen, mut before) = (Vec::new(), f64::INFINITY);
            for MixWindow { steps, distance: MixDistance { alone, together } } in windows {
                prop_assert_eq!(steps.len(), length.min(shapes.len()));
                prop_assert!(chosen.iter().all(|step| !steps.contains(step)));
                chosen.extend(steps.clone());
                let of = |steps: &[usize]| steps.iter().map(|&step| shapes[step]).collect::<Vec<_>>();
                prop_assert!((alone - distance(&shapes[steps], &shapes)).abs() < 1e-12);
                prop_assert!((together - distance(&of(&chosen), &shapes)).abs() < 1e-12);
                prop_assert!(together < before);
                before = together;
            }
        }

        #[test]
        fn as_many_windows_as_there_are_steps_have_the_mix_of_all(shapes in prop::collection::vec(0..5u8, 1..40)) {
            let whole = mix_windows(&shapes, shapes.len(), 1);
            prop_assert_eq!(whole[0].distance, MixDistance { alone: 0.0, together: 0.0 });
        }
    }
}
