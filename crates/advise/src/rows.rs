//! Rows of calls that run as one kernel each and follow each other on a queue: what could be one kernel.

use crate::rule::Inspection;

/// A gap in µs up to which kernels follow each other.
const LONGEST_GAP_US: f64 = 50.0;

/// A call that ran as one kernel.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) call: u32,
    pub(crate) work: u32,
}

/// The rows of two calls and more.
pub(crate) fn rows(look: &Inspection<'_>) -> Vec<Vec<Link>> {
    let gap = look.facts.units(LONGEST_GAP_US);
    let mut rows = Vec::new();
    for stream in &look.streams {
        let mut row: Vec<Link> = Vec::new();
        let mut end = i64::MIN;
        for &work in stream {
            let of_work = look.work(work);
            let is_alone = |call: &u32| look.kernels(*call).is_some_and(|kernels| kernels.len() == 1);
            let link = of_work.call.filter(is_alone).map(|call| Link { call, work });
            if of_work.start > end.saturating_add(gap) || link.is_none() {
                rows.extend(Some(std::mem::take(&mut row)).filter(|row| row.len() > 1));
            }
            row.extend(link);
            end = of_work.end;
        }
        rows.extend(Some(row).filter(|row| row.len() > 1));
    }
    rows
}
