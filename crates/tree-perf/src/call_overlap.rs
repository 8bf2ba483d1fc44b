//! What ran beside a call on other streams, for tables.

use gpu_timeline::GroupOverlap;
use hashbrown::HashMap;
use trace_ingest::{EventId, StringId, write_text};

use crate::analysis::{Analysis, OverlapIndex};
use crate::frame::FrameBuilder;
use gpu_timeline::Spread;
use operator_sheets::AGGREGATES;
use operator_sheets::{KernelList, ListedKernel, round2};

/// What ran beside one call.
#[derive(Default)]
pub(crate) struct CallOverlap {
    pub(crate) kernels: Vec<ListedKernel>,
    /// Hundredths of the call's run time.
    pub(crate) share: Option<f64>,
}

/// What ran beside a call's device events: the id of the list of names, and the kernels grouped by name.
pub(crate) fn overlap_of(
    analysis: &Analysis,
    overlaps: &OverlapIndex,
    device_events: &[EventId],
    name_lists: &mut NameLists,
) -> (Option<u32>, CallOverlap) {
    let trace = analysis.trace();
    let own = device_events.iter().filter_map(|&kernel| overlaps.position(kernel));
    let own: Vec<u32> = own.collect();
    let Some(group) = overlaps.overlaps.of_group(&overlaps.events, own.iter().copied(), &mut Vec::new())
    else {
        return (None, CallOverlap::default());
    };
    let kernels = by_name(analysis, overlaps, &group);
    let mut partners: Vec<EventId> =
        group.pairs.iter().map(|pair| overlaps.ids[pair.partner as usize]).collect();
    partners.sort_by_key(|&partner| (trace.events().start(partner), partner));
    let mut names: Vec<StringId> = Vec::new();
    for partner in partners {
        let name = trace.events().name(partner);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let share = round2(group.share_of_runtime(group.overlapped));
    (Some(name_lists.intern(names)), CallOverlap { kernels, share: Some(share) })
}

fn by_name(analysis: &Analysis, overlaps: &OverlapIndex, group: &GroupOverlap) -> Vec<ListedKernel> {
    let trace = analysis.trace();
    let mut order: Vec<StringId> = Vec::new();
    let mut found: HashMap<StringId, Partners> = HashMap::new();
    for pair in &group.pairs {
        let partner = overlaps.ids[pair.partner as usize];
        let name = trace.events().name(partner);
        let partners = found.entry(name).or_insert_with(|| {
            order.push(name);
            Partners { stream: trace.events().stream(partner), shares: Vec::new(), durations: Vec::new() }
        });
        partners.shares.push(round2(group.share_of_runtime(pair.shared)));
        partners.durations.push(trace.events().duration(partner));
    }
    // A duration in a list is the mean over the partners of that name, to 0.01 µs.
    let hundredth = trace.time_unit().per_microsecond() as f64 / 100.0;
    order
        .into_iter()
        .map(|name| {
            let Partners { stream, shares, durations } = &found[&name];
            let mean = durations.iter().sum::<i64>() as f64 / durations.len() as f64;
            ListedKernel {
                name,
                stream: *stream,
                overlap_share: Some(round2(shares.iter().sum::<f64>() / shares.len() as f64)),
                duration: ((mean / hundredth).round_ties_even() * hundredth).round() as i64,
            }
        })
        .collect()
}

/// Appends the columns of overlap of groups of calls: the lists of kernels, then statistics of the shares to
/// hundredths. The spread of a single call is 0 here, as these columns have always had it.
pub(crate) fn append_overlap(
    frame: &mut FrameBuilder,
    analysis: &Analysis,
    details: &str,
    groups: &[Vec<&CallOverlap>],
) {
    let list = |calls: &Vec<&CallOverlap>| {
        KernelList::summarise(
            analysis.trace(),
            calls.iter().map(|overlap| &overlap.kernels[..]),
            ListedKernel::clone,
        )
    };
    let lists: Vec<KernelList> = groups.iter().map(list).collect();
    frame.text(details, lists.iter().map(|list| Some(list.details(analysis.trace()).to_string())));
    frame.text(
        "trunc_overlapping_kernels_details",
        lists.iter().map(|list| list.shortened(analysis.trace()).map(|list| list.to_string())),
    );
    let spread = |calls: &Vec<&CallOverlap>| {
        let spread = Spread::of(calls.iter().map(|overlap| overlap.share));
        Spread { std: spread.std.or(spread.mean.map(|_| 0.0)), ..spread }
    };
    let spreads: Vec<Spread> = groups.iter().map(spread).collect();
    for aggregate in AGGREGATES {
        let values = spreads.iter().map(|spread| spread.get(aggregate).map(round2));
        frame.float(&format!("overlap_pct_{aggregate}"), values);
    }
}

/// Kernels of one name that ran beside a call.
struct Partners {
    /// Stream of the first.
    stream: Option<i64>,
    shares: Vec<f64>,
    durations: Vec<i64>,
}

/// Distinct lists of overlapping kernel names.
#[derive(Default)]
pub(crate) struct NameLists {
    ids: HashMap<Vec<StringId>, u32>,
    lists: Vec<Vec<StringId>>,
}

impl NameLists {
    fn intern(&mut self, names: Vec<StringId>) -> u32 {
        if let Some(&id) = self.ids.get(&names) {
            return id;
        }
        let id = self.lists.len() as u32;
        self.lists.push(names.clone());
        self.ids.insert(names, id);
        id
    }

    /// The list as a Python literal.
    pub(crate) fn literal(&self, analysis: &Analysis, id: u32) -> String {
        let mut out = String::from("[");
        for (position, &name) in self.lists[id as usize].iter().enumerate() {
            if position > 0 {
                out.push_str(", ");
            }
            // Writing to a String cannot fail.
            let _ = write_text(&mut out, analysis.trace().text(name));
        }
        out.push(']');
        out
    }
}
