//! How alike the programs of two runs are.

use std::collections::BTreeMap;

/// Σ min(a, b) / Σ max(a, b) over all that two runs call, where a and b are the numbers of its calls in the one and in the
/// other (per step, where the runs have different numbers of steps): the Jaccard index of two multisets. 1 for equal
/// programs, 0 for programs that have nothing in common. `None` where neither calls anything. What occurs several times in
/// a list counts with the sum of its calls.
#[must_use]
pub fn likeness<K: Ord>(
    a: impl IntoIterator<Item = (K, f64)>,
    b: impl IntoIterator<Item = (K, f64)>,
) -> Option<f64> {
    let mut calls: BTreeMap<K, [f64; 2]> = BTreeMap::new();
    a.into_iter().for_each(|(what, count)| calls.entry(what).or_default()[0] += count);
    b.into_iter().for_each(|(what, count)| calls.entry(what).or_default()[1] += count);
    let sum = |of: fn(f64, f64) -> f64| calls.values().map(|[a, b]| of(*a, *b)).sum::<f64>();
    let either = sum(f64::max);
    (either > 0.0).then(|| sum(f64::min) / either)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn likeness_is_what_both_call_of_what_either_calls() {
        for (a, b, expected) in [
            (&[("mm", 2.0)][..], &[("mm", 2.0)][..], Some(1.0)),
            (&[("mm", 2.0)], &[("add", 2.0)], Some(0.0)),
            (&[("mm", 1.0), ("add", 4.0)], &[("add", 2.0), ("add", 1.0)], Some(3.0 / 5.0)),
            (&[("mm", 2.0)], &[], Some(0.0)),
            (&[], &[], None),
        ] {
            assert_eq!(likeness(a.iter().copied(), b.iter().copied()), expected, "{a:?} {b:?}");
        }
    }

    proptest! {
        #[test]
        fn likeness_is_a_share_that_does_not_know_an_order(
            a in prop::collection::vec((0_u8..5, 1_u8..9), 1..20),
            b in prop::collection::vec((0_u8..5, 1_u8..9), 1..20),
        ) {
            let of = |calls: &[(u8, u8)]| calls.iter().map(|&(what, count)| (what, f64::from(count))).collect::<Vec<_>>();
            let (a, b) = (of(&a), of(&b));
            let share = likeness(a.clone(), b.clone()).unwrap();
            prop_assert!((0.0..=1.0).contains(&share));
            prop_assert_eq!(likeness(b, a.clone()), Some(share));
            prop_assert_eq!(likeness(a.clone(), a), Some(1.0));
        }
    }
}
