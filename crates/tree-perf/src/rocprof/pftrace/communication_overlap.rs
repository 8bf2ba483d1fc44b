//! How much of a GPU's communication runs beside computation.

use gpu_timeline::{Interval, IntervalSet};

/// Communication of a GPU, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommunicationOverlap {
    /// While something is computed.
    pub(super) overlapped: i64,
    /// While nothing is.
    pub(super) exposed: i64,
}

impl CommunicationOverlap {
    /// Length of time: every instant counts once, however many kernels run then.
    pub(super) fn of_time(communication: &[Interval], compute: &[Interval]) -> Self {
        let union = |spans: &[Interval]| spans.iter().copied().collect::<IntervalSet>();
        let (communication, compute) = (union(communication), union(compute));
        let overlapped = communication.intersect(&compute).total_length();
        CommunicationOverlap { overlapped, exposed: communication.total_length() - overlapped }
    }

    /// The rule of the reference tool: shared time of each collective with each computing kernel, from the first
    /// that ends behind the collective's start to the first that outlasts the collective. Both lists are sorted by
    /// start. Kernels that run at once count several times, so that the rest may be negative.
    pub(super) fn of_pairs(communication: &[Interval], compute: &[Interval]) -> Self {
        let mut first = 0;
        let mut overlapped = 0;
        for &collective in communication {
            while compute.get(first).is_some_and(|kernel| kernel.end <= collective.start) {
                first += 1;
            }
            for &kernel in compute[first..].iter().take_while(|kernel| kernel.start < collective.end) {
                overlapped += collective.shared_time(kernel);
                if kernel.end > collective.end {
                    break;
                }
            }
        }
        let all: i64 = communication.iter().map(|span| span.length()).sum();
        CommunicationOverlap { overlapped, exposed: all - overlapped }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans(spans: &[(i64, i64)]) -> Vec<Interval> {
        spans.iter().map(|&(start, end)| Interval::new(start, end)).collect()
    }

    #[test]
    fn computation_that_overlaps_itself_counts_once_in_time_and_twice_in_pairs() {
        let (communication, compute) = (spans(&[(60, 140)]), spans(&[(0, 100), (50, 150)]));
        let of = |overlapped, exposed| CommunicationOverlap { overlapped, exposed };
        // 60..100 and 60..140: 40 + 80.
        assert_eq!(CommunicationOverlap::of_pairs(&communication, &compute), of(120, -40));
        assert_eq!(CommunicationOverlap::of_time(&communication, &compute), of(80, 0));
    }

    #[test]
    fn a_kernel_that_outlasts_the_collective_hides_later_ones_from_pairs() {
        let (communication, compute) = (spans(&[(10, 50)]), spans(&[(0, 20), (15, 115), (30, 40)]));
        // 10..20 and 15..50; 30..40 begins behind the kernel that outlasts the collective.
        assert_eq!(CommunicationOverlap::of_pairs(&communication, &compute).overlapped, 45);
        assert_eq!(CommunicationOverlap::of_time(&communication, &compute).overlapped, 40);
    }

    #[test]
    fn collectives_at_once_are_exposed_once() {
        let overlap = CommunicationOverlap::of_time(&spans(&[(0, 10), (5, 15)]), &spans(&[(12, 20)]));
        assert_eq!(overlap, CommunicationOverlap { overlapped: 3, exposed: 12 });
        assert_eq!(CommunicationOverlap::of_time(&[], &spans(&[(0, 1)])).exposed, 0);
    }

    fn sorted_spans() -> impl Strategy<Value = Vec<Interval>> {
        let span = (0..60_i64, 1..30_i64).prop_map(|(start, length)| Interval::new(start, start + length));
        prop::collection::vec(span, 0..12).prop_map(|mut spans| {
            spans.sort_by_key(|span| (span.start, span.length()));
            spans
        })
    }

    proptest! {
        #[test]
        fn time_agrees_with_a_count_of_instants(communication in sorted_spans(), compute in sorted_spans()) {
            let at = |spans: &[Interval], instant| spans.iter().any(|s| s.start <= instant && instant < s.end);
            let count = |is: &dyn Fn(i64) -> bool| (0..100).filter(|&instant| is(instant)).count() as i64;
            let overlap = CommunicationOverlap::of_time(&communication, &compute);
            let both = |instant| at(&communication, instant) && at(&compute, instant);
            let alone = |instant| at(&communication, instant) && !at(&compute, instant);
            prop_assert_eq!(overlap.overlapped, count(&both));
            prop_assert_eq!(overlap.exposed, count(&alone));
        }

        #[test]
        fn both_rules_agree_where_no_kernels_run_at_once(
            communication in sorted_spans(), compute in sorted_spans()
        ) {
            let apart = |spans: Vec<Interval>| spans.into_iter().collect::<IntervalSet>().as_slice().to_vec();
            let (communication, compute) = (apart(communication), apart(compute));
            prop_assert_eq!(
                CommunicationOverlap::of_pairs(&communication, &compute),
                CommunicationOverlap::of_time(&communication, &compute)
            );
        }
    }
}
