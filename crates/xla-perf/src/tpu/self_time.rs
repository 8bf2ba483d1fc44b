//! Time of operations without that of the operations inside them.

use super::profile::PicoSpan;

/// Length of each span minus those of its direct children, in picoseconds. A span's parent is the smallest one that
/// includes it whole; a span that sticks out of the one before it is no child of it. Spans may be in any order.
#[must_use]
pub fn self_times(spans: &[PicoSpan]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    // Of equal spans the earlier in the list is the outer one.
    order.sort_by_key(|&index| (spans[index].start_ps, std::cmp::Reverse(spans[index].duration_ps)));
    let mut own: Vec<u64> = spans.iter().map(|span| span.duration_ps).collect();
    let mut open: Vec<usize> = Vec::new();
    for index in order {
        while open.last().is_some_and(|&parent| !spans[parent].includes(spans[index])) {
            open.pop();
        }
        if let Some(&parent) = open.last() {
            own[parent] = own[parent].saturating_sub(spans[index].duration_ps);
        }
        open.push(index);
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(spans: &[(i64, u64)]) -> Vec<u64> {
        let spans: Vec<PicoSpan> =
            spans.iter().map(|&(start, length)| PicoSpan::new(start, length)).collect();
        self_times(&spans)
    }

    #[test]
    fn only_direct_children_are_taken_off() {
        // while [0, 100) around fusion [10, 60) around copy [20, 30), and add [70, 80)
        assert_eq!(own(&[(0, 100), (10, 50), (20, 10), (70, 10)]), [40, 40, 10, 10]);
    }

    #[test]
    fn order_of_the_list_does_not_matter_and_neighbours_are_no_children() {
        assert_eq!(own(&[(70, 10), (20, 10), (0, 70)]), [10, 10, 60]);
        assert_eq!(own(&[(0, 10), (10, 10)]), [10, 10]);
    }

    #[test]
    fn a_span_that_sticks_out_is_no_child() {
        assert_eq!(own(&[(0, 10), (5, 10)]), [10, 10]);
    }

    #[test]
    fn of_equal_spans_the_first_is_the_parent() {
        assert_eq!(own(&[(0, 10), (0, 10)]), [0, 10]);
        assert!(own(&[]).is_empty());
    }

    #[test]
    fn children_that_overlap_each_other_take_no_more_than_there_is() {
        // [2, 9) sticks out of [1, 8), so both hang under [0, 10)
        assert_eq!(own(&[(0, 10), (1, 7), (2, 7)]), [0, 7, 7]);
    }
}
