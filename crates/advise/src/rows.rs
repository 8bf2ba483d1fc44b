//! Rows of calls that follow each other on a queue: what could be one kernel.

use gpu_timeline::Activity;
use perf_models::CopyDirection;

use crate::rule::Inspection;

/// A gap in µs up to which calls follow each other.
const LONGEST_GAP_US: f64 = 50.0;

/// The rows of two calls and more. The device events of a call in a row follow each other, too, such as a product and what
/// clears its workspace; none of them leaves the device.
pub(crate) fn rows(look: &Inspection<'_>) -> Vec<Vec<u32>> {
    let gap = look.facts.units(LONGEST_GAP_US);
    let stays = |&work: &u32| {
        let work = look.work(work);
        let is_within = |copy: &crate::Copied| copy.direction == CopyDirection::WithinDevice;
        work.event.activity != Activity::Communication && work.copy.as_ref().is_none_or(is_within)
    };
    let mut rows = Vec::new();
    for stream in &look.streams {
        let mut row: Vec<u32> = Vec::new();
        let mut end = i64::MIN;
        let call_of = |work: u32| look.work(work).call;
        for works in stream.chunk_by(|&a, &b| call_of(a).is_some() && call_of(a) == call_of(b)) {
            let is_whole = |&call: &u32| look.works_of[call as usize] == works && works.iter().all(stays);
            let call = call_of(works[0]).filter(is_whole);
            if look.work(works[0]).event.span.start > end.saturating_add(gap) || call.is_none() {
                rows.extend(Some(std::mem::take(&mut row)).filter(|row| row.len() > 1));
            }
            row.extend(call);
            end = look.work(works[works.len() - 1]).event.span.end;
        }
        rows.extend(Some(row).filter(|row| row.len() > 1));
    }
    rows
}
