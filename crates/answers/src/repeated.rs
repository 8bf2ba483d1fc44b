//! Repeated parts of a recording, for comparison with another one.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use iterations::{Division, MeasuredIterations, Part};
use perf_models::bare_kernel_name;
use trace_diff::Repeated;
use trace_ingest::{Category, EventId};
use trace2tree::TraceTree;

use crate::numbers::counted;

/// Groups of a level that are compared: those with the most time.
const MOST_GROUPS: usize = 3;

/// The parts that the recorded program repeats, at levels that are sure.
pub(crate) fn repeated(tree: &TraceTree, found: &MeasuredIterations) -> Vec<Repeated> {
    let trace = tree.trace();
    let mut parts = Vec::new();
    for (level, measured) in
        found.levels().filter(|(level, measured)| level.is_sure() && measured.has_device_work())
    {
        let groups = measured.groups.iter().filter(|group| group.durations.count > 1).take(MOST_GROUPS);
        let groups: Vec<_> = groups.collect();
        let division = Division::new(tree, &level.iterations);
        let place_of = |event| {
            let Some(Part::Iteration(index)) = division.part_of(event) else { return None };
            groups.iter().position(|group| group.representative == index)
        };
        let mut work: HashMap<usize, Vec<EventId>> = HashMap::new();
        for event in trace.events().ids().filter(|&event| trace.events().category(event).is_device()) {
            if let Some(place) = place_of(event) {
                work.entry(place).or_default().push(event);
            }
        }
        for (place, group) in groups.iter().enumerate() {
            let Some(events) = work.get(&place) else { continue };
            let mut operators: HashSet<EventId> = HashSet::new();
            let mut calls: BTreeMap<String, f64> = BTreeMap::new();
            let mut first: Option<EventId> = None;
            for &event in events {
                let call = tree.operator(event).unwrap_or(event);
                if !operators.insert(call) {
                    continue;
                }
                *calls.entry(bare_kernel_name(trace.name(call))).or_default() += 1.0;
                let start = |event: EventId| trace.events().start(event);
                first =
                    Some(first.map_or(call, |first| if start(call) < start(first) { call } else { first }));
            }
            let Some(first) = first else { continue };
            let of = match trace.events().category(first) == Category::CPU_OP {
                true => counted(operators.len(), "operator", "operators"),
                false => counted(operators.len(), "kernel", "kernels"),
            };
            parts.push(Repeated {
                name: format!("{} of {of} from {}", level.kind.as_str(), bare_kernel_name(trace.name(first))),
                kind: level.kind.as_str(),
                count: group.iterations.len(),
                median_us: group.durations.median / trace.time_unit().per_microsecond() as f64,
                calls: calls.into_iter().collect(),
            });
        }
    }
    parts
}
