//! Which call set off what ran on a GPU.

use std::cmp::Reverse;

use hashbrown::HashMap;
use trace_ingest::rocprof::{Domain, Profile};

/// The call behind each kernel and copy, as a position in [`Profile::calls`].
pub(in crate::rocprof) struct Callers {
    /// Of each dispatch.
    pub(in crate::rocprof) dispatches: Vec<Option<u32>>,
    /// Of each copy.
    pub(in crate::rocprof) copies: Vec<Option<u32>>,
}

impl Callers {
    /// Joins by process and correlation id: processes number their calls independently of each other. An id of 0 says
    /// that there is none, and a marker sets nothing off. Of several calls with one id, as a call and those that it
    /// makes in turn may have, a HIP call goes before those of other libraries, and then the one that began last.
    pub(in crate::rocprof) fn of(profile: &Profile) -> Self {
        let mut calls: HashMap<(u32, u64), u32> = HashMap::new();
        let linked = |process: u32, correlation: Option<u64>| {
            correlation.filter(|&correlation| correlation != 0).map(|correlation| (process, correlation))
        };
        let rank = |call: u32| {
            let call = &profile.calls[call as usize];
            (call.domain, Reverse(call.start), call.end)
        };
        for (position, call) in (0_u32..).zip(&profile.calls) {
            if call.domain == Domain::Marker {
                continue;
            }
            let Some(key) = linked(call.process, call.correlation) else { continue };
            let known = calls.entry(key).or_insert(position);
            if rank(position) < rank(*known) {
                *known = position;
            }
        }
        let caller =
            |process, correlation| linked(process, correlation).and_then(|key| calls.get(&key).copied());
        let dispatches = profile.dispatches.iter().map(|it| caller(it.process, it.correlation)).collect();
        let copies = profile.copies.iter().map(|it| caller(it.process, it.correlation)).collect();
        Callers { dispatches, copies }
    }
}
