//! Which entries of two sequences belong together.

/// Edits after which the best alignment so far is kept and the search begins anew behind it. Bounds time and memory
/// where sequences have little in common.
const MOST_EDITS: usize = 512;

/// Aligns two sequences: equal entries in the same order, as many as possible (E. W. Myers, "An O(ND) difference
/// algorithm and its variations", Algorithmica 1, 1986; shortest edit script). Each position occurs once, ascending on
/// both sides; what the left has alone comes before what the right has alone.
pub(crate) fn align<T: PartialEq>(left: &[T], right: &[T]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut matches = Vec::new();
    let (mut x, mut y) = (0, 0);
    while x < left.len() && y < right.len() {
        let start = (x, y);
        (x, y) = search(&left[x..], &right[y..], start, &mut matches);
    }
    let mut pairs = Vec::with_capacity(left.len().max(right.len()));
    let (mut i, mut j) = (0, 0);
    for (x, y) in matches.into_iter().chain([(left.len(), right.len())]) {
        pairs.extend((i..x).map(|i| (Some(i), None)));
        pairs.extend((j..y).map(|j| (None, Some(j))));
        if x < left.len() {
            pairs.push((Some(x), Some(y)));
        }
        (i, j) = (x + 1, y + 1);
    }
    pairs
}

/// Searches the shortest edit script of at most [`MOST_EDITS`] edits from the start of both slices; adds the matches
/// on its way, shifted by `start`, and returns where it ends.
fn search<T: PartialEq>(
    left: &[T],
    right: &[T],
    start: (usize, usize),
    matches: &mut Vec<(usize, usize)>,
) -> (usize, usize) {
    let (n, m) = (left.len() as isize, right.len() as isize);
    let most = MOST_EDITS.min(left.len() + right.len()) as isize;
    let offset = most + 1;
    let mut furthest = vec![0_isize; (2 * offset + 1) as usize];
    let mut trace: Vec<Vec<isize>> = Vec::new();
    let mut end = None;
    // The furthest point inside both slices, with its edits.
    let mut best = (0, 0, 0);
    'edits: for d in 0..=most {
        trace.push(furthest[(offset - d) as usize..=(offset + d) as usize].to_vec());
        for k in (-d..=d).step_by(2) {
            let at = |k: isize| furthest[(offset + k) as usize];
            let mut x = if k == -d || (k != d && at(k - 1) < at(k + 1)) { at(k + 1) } else { at(k - 1) + 1 };
            let mut y = x - k;
            while x < n && y < m && left[x as usize] == right[y as usize] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[(offset + k) as usize] = x;
            if x >= n && y >= m {
                end = Some((d, x, y));
                break 'edits;
            }
            if x <= n && y <= m && x + y > best.1 + best.2 {
                best = (d, x, y);
            }
        }
    }
    let (edits, end_x, end_y) = end.unwrap_or(best);
    // Back along the path: at each edit, the diagonal that it came from.
    let first = matches.len();
    let (mut x, mut y) = (end_x, end_y);
    for d in (0..=edits).rev() {
        let before = &trace[d as usize];
        let at = |k: isize| before.get((k + d) as usize).copied().unwrap_or(0);
        let k = x - y;
        let (from_x, from_y) = if d == 0 {
            (0, 0)
        } else {
            let from = if k == -d || (k != d && at(k - 1) < at(k + 1)) { k + 1 } else { k - 1 };
            (at(from), at(from) - from)
        };
        while x > from_x && y > from_y {
            (x, y) = (x - 1, y - 1);
            matches.push((start.0 + x as usize, start.1 + y as usize));
        }
        (x, y) = (from_x, from_y);
    }
    matches[first..].reverse();
    (start.0 + end_x as usize, start.1 + end_y as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matched(left: &str, right: &str) -> String {
        let left: Vec<char> = left.chars().collect();
        let right: Vec<char> = right.chars().collect();
        let pairs = align(&left, &right);
        pairs.into_iter().filter_map(|(i, j)| j.and(i)).map(|i| left[i]).collect()
    }

    #[test]
    fn longest_common_subsequence_is_matched() {
        for (left, right, expected) in [
            ("", "", ""),
            ("abc", "abc", "abc"),
            ("abc", "", ""),
            ("", "abc", ""),
            ("abc", "xabc", "abc"),
            ("xabc", "abc", "abc"),
            ("abcd", "abxd", "abd"),
            ("abc", "def", ""),
            ("aab", "ab", "ab"),
        ] {
            assert_eq!(matched(left, right), expected, "{left} {right}");
        }
        assert_eq!(matched("abcabba", "cbabac").len(), 4);
    }

    #[test]
    fn sequences_with_nothing_in_common_end_in_time() {
        let left: Vec<u32> = (0..3000).collect();
        let right: Vec<u32> = (5000..8000).collect();
        let pairs = align(&left, &right);
        assert_eq!(pairs.len(), 6000);
        assert!(pairs.iter().all(|pair| pair.0.is_none() || pair.1.is_none()));
    }

    proptest! {
        #[test]
        fn every_position_occurs_once_in_order_and_matches_are_equal(
            left in prop::collection::vec(0_u8..4, 0..40),
            right in prop::collection::vec(0_u8..4, 0..40),
        ) {
            let pairs = align(&left, &right);
            prop_assert_eq!(
                pairs.iter().filter_map(|pair| pair.0).collect::<Vec<_>>(),
                (0..left.len()).collect::<Vec<_>>()
            );
            prop_assert_eq!(
                pairs.iter().filter_map(|pair| pair.1).collect::<Vec<_>>(),
                (0..right.len()).collect::<Vec<_>>()
            );
            let mut count = 0;
            for (i, j) in pairs {
                if let (Some(i), Some(j)) = (i, j) {
                    prop_assert_eq!(left[i], right[j]);
                    count += 1;
                }
            }
            prop_assert_eq!(count, longest_common(&left, &right));
        }
    }

    /// By the textbook's table.
    fn longest_common(left: &[u8], right: &[u8]) -> usize {
        let mut row = vec![0; right.len() + 1];
        for l in left {
            let mut diagonal = 0;
            for (j, r) in right.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if l == r { diagonal + 1 } else { above.max(row[j]) };
                diagonal = above;
            }
        }
        row[right.len()]
    }
}
