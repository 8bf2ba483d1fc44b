//! The regions of the steady state as TraceLens finds them.

use std::ops::Range;

/// Steps at full concurrency begin a region as soon as there are `settled` of them, stray ones among others too, and as
/// many steps below it end one.
pub(crate) fn counted_regions(is_full: &[bool], settled: usize) -> Vec<Range<usize>> {
    let mut regions = Vec::new();
    let mut start = None;
    let mut count = 0;
    for (step, &full) in is_full.iter().enumerate() {
        match start {
            None if full => {
                count += 1;
                if count == settled {
                    start = Some(step + 1 - settled);
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
