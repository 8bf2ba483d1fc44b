//! Stretches in which the engine runs at its full concurrency.

use std::ops::Range;

/// So many steps in a row at full concurrency begin a region, so many in a row below it end one.
const SETTLED: usize = 6;

/// How regions are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegionRule {
    /// Six steps in a row at full concurrency begin a region, six in a row below it end one. It reaches from the
    /// first to the last of its steps at full concurrency.
    #[default]
    InARow,
    /// What the reference tool does: steps at full concurrency need not follow each other to begin a region, stray
    /// steps are counted over the whole region and the sixth ends it, and the last step is in none.
    Reference,
}

/// The regions of steps with these numbers of requests; `window` is how many steps shall be cut out later.
///
/// A step is at full concurrency when its requests are at most a tenth (a fifth where there are fewer steps than
/// `window`) fewer than the largest number, one at least. Where that gives no region, the middle of the steps is
/// taken for one: there is no telling better what is warming up and running dry.
#[must_use]
pub fn steady_regions(requests: &[i64], window: usize, rule: RegionRule) -> Vec<Range<usize>> {
    let Some(&most) = requests.iter().max() else { return Vec::new() };
    let share = if requests.len() >= window { 0.1 } else { 0.2 };
    let tolerance = (share * most as f64).max(1.0);
    let is_full: Vec<bool> = requests.iter().map(|&count| (most - count) as f64 <= tolerance).collect();
    let regions = match rule {
        RegionRule::InARow => in_a_row(&is_full),
        RegionRule::Reference => counted(&is_full),
    };
    if regions.is_empty() { vec![middle(requests.len(), window)] } else { regions }
}

fn in_a_row(is_full: &[bool]) -> Vec<Range<usize>> {
    let mut regions = Vec::new();
    let mut open: Option<Range<usize>> = None;
    // Steps in a row that are not as those before them.
    let mut others = 0;
    for (step, &full) in is_full.iter().enumerate() {
        others = if full == open.is_some() { 0 } else { others + 1 };
        match &mut open {
            None if others == SETTLED => open = Some(step + 1 - SETTLED..step + 1),
            Some(region) if full => region.end = step + 1,
            Some(_) if others == SETTLED => regions.extend(open.take()),
            _ => continue,
        }
        others = 0;
    }
    regions.extend(open);
    regions
}

fn counted(is_full: &[bool]) -> Vec<Range<usize>> {
    let mut regions = Vec::new();
    let mut start = None;
    let mut count = 0;
    for (step, &full) in is_full.iter().enumerate() {
        match start {
            None if full => {
                count += 1;
                if count == SETTLED {
                    start = Some(step + 1 - SETTLED);
                }
            }
            Some(first) if !full => {
                count -= 1;
                if count == 0 {
                    regions.push(first..step);
                    start = None;
                }
            }
            _ => {}
        }
    }
    regions.extend(start.map(|first| first..is_full.len() - 1));
    regions
}

fn middle(steps: usize, window: usize) -> Range<usize> {
    let trimmed = window.saturating_sub(steps).max(8).min(steps);
    let start = trimmed / 2;
    start..(steps - trimmed / 2).max(start + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of a count, how often all runs are repeated, window, regions of the reference, regions in a row.
    type Case<'a> = (&'a [(usize, i64)], usize, usize, &'a [Range<usize>], &'a [Range<usize>]);

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn regions_of_known_courses() {
        let cases: &[Case<'_>] = &[
            (&[(4, 2), (30, 20)], 1, 32, &[4..33], &[4..34]),
            (&[(6, 2), (20, 20), (6, 2)], 1, 16, &[6..31], &[6..26]),
            (&[(6, 20)], 1, 8, &[0..5], &[0..6]),
            (&[(5, 20)], 1, 8, &[2..3], &[2..3]),
            (&[(1, 20), (1, 2)], 5, 12, &[4..6], &[4..6]),
            (
                &[(10, 1), (10, 100), (5, 95), (12, 50), (10, 100)],
                1,
                16,
                &[10..30, 37..46],
                &[10..25, 37..47],
            ),
            (&[(6, 20), (5, 2), (1, 20), (5, 2), (1, 20)], 1, 16, &[0..12], &[0..18]),
            (&[(20, 0)], 1, 8, &[0..19], &[0..20]),
            (&[], 1, 8, &[], &[]),
        ];
        for &(runs, times, window, reference, in_a_row) in cases {
            let once: Vec<i64> = runs.iter().flat_map(|&(count, requests)| vec![requests; count]).collect();
            let requests = once.repeat(times);
            let found = |rule| steady_regions(&requests, window, rule);
            assert_eq!(found(RegionRule::Reference), reference, "{runs:?}");
            assert_eq!(found(RegionRule::InARow), in_a_row, "{runs:?}");
        }
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn fewer_steps_than_the_window_are_measured_less_strictly() {
        let requests = [[100; 3], [85; 3]].concat().repeat(3);
        assert_eq!(steady_regions(&requests, 18, RegionRule::InARow), [4..14]);
        assert_eq!(steady_regions(&requests, 19, RegionRule::InARow), [0..18]);
    }
}
