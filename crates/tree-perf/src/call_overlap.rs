//! What ran beside a call on other streams, for tables.

use gpu_timeline::{GroupOverlap, Spread};
use operator_sheets::{KernelList, ListedKernel, round2};
use sheets::Nested;
use trace_ingest::{EventId, StringId};

use crate::analysis::{Analysis, OverlapIndex};
use crate::{IndexMap, IndexSet};

/// What ran beside one call.
#[derive(Default)]
pub(crate) struct CallOverlap {
    pub(crate) kernels: Vec<ListedKernel>,
    /// Hundredths of the call's run time.
    pub(crate) share: Option<f64>,
}

/// What ran beside a call's device events: the id of the list of names, and the kernels grouped by name.
pub(crate) fn call_overlap(
    analysis: &Analysis,
    device_events: &[EventId],
    name_lists: &mut NameLists,
) -> (Option<u32>, CallOverlap) {
    let (trace, overlaps) = (analysis.trace(), analysis.overlaps());
    let own = device_events.iter().filter_map(|&kernel| overlaps.position(kernel));
    let own: Vec<u32> = own.collect();
    let Some(group) = overlaps.overlaps.group_overlap(&overlaps.events, own.iter().copied(), &mut Vec::new())
    else {
        return (None, CallOverlap::default());
    };
    let kernels = by_name(analysis, overlaps, &group);
    let mut partners: Vec<EventId> =
        group.pairs.iter().map(|pair| overlaps.ids[pair.partner as usize]).collect();
    partners.sort_by_key(|&partner| (trace.events().start(partner), partner));
    let names: IndexSet<StringId> =
        partners.into_iter().map(|partner| trace.events().name(partner)).collect();
    let share = round2(group.share_of_runtime(group.overlapped));
    (Some(name_lists.intern(names.into_iter().collect())), CallOverlap { kernels, share: Some(share) })
}

fn by_name(analysis: &Analysis, overlaps: &OverlapIndex, group: &GroupOverlap) -> Vec<ListedKernel> {
    let trace = analysis.trace();
    let mut partners_by_name: IndexMap<StringId, Partners> = IndexMap::default();
    for pair in &group.pairs {
        let partner = overlaps.ids[pair.partner as usize];
        let name = trace.events().name(partner);
        let partners = partners_by_name.entry(name).or_insert_with(|| Partners {
            stream: trace.events().stream(partner),
            shares: Vec::new(),
            durations: Vec::new(),
        });
        partners.shares.push(round2(group.share_of_runtime(pair.shared)));
        partners.durations.push(trace.events().duration(partner));
    }
    // A duration in a list is the mean over the partners of that name, to 0.01 µs.
    let hundredth = trace.time_unit().per_microsecond() as f64 / 100.0;
    partners_by_name
        .into_iter()
        .map(|(name, Partners { stream, shares, durations })| {
            let mean = durations.iter().sum::<i64>() as f64 / durations.len() as f64;
            ListedKernel {
                name,
                stream,
                overlap_share: Some(round2(shares.iter().sum::<f64>() / shares.len() as f64)),
                duration: ((mean / hundredth).round_ties_even() * hundredth).round() as i64,
            }
        })
        .collect()
}

/// What ran beside the calls of a row.
pub(crate) struct OverlapFigures {
    /// The kernels, position by position.
    pub(crate) kernels: KernelList,
    /// Of the shares, to hundredths.
    pub(crate) share: Spread,
}

impl OverlapFigures {
    pub(crate) fn new<'c>(analysis: &Analysis, calls: impl Iterator<Item = &'c CallOverlap> + Clone) -> Self {
        let spread = Spread::from_values(calls.clone().map(|call| call.share));
        let rounded = |figure: Option<f64>| figure.map(round2);
        let share = Spread {
            mean: rounded(spread.mean),
            median: rounded(spread.median),
            // The spread of a single call is 0 here, as these columns have always had it.
            std: rounded(spread.std.or(spread.mean.map(|_| 0.0))),
            min: rounded(spread.min),
            max: rounded(spread.max),
        };
        let lists = calls.map(|call| &call.kernels[..]);
        OverlapFigures { kernels: KernelList::summarise(analysis.trace(), lists, ListedKernel::clone), share }
    }
}

/// Kernels of one name that ran beside a call.
struct Partners {
    /// Stream of the first.
    stream: Option<i64>,
    shares: Vec<f64>,
    durations: Vec<i64>,
}

/// Distinct lists of overlapping kernel names; the position of one is its id.
#[derive(Default)]
pub(crate) struct NameLists(IndexSet<Vec<StringId>>);

impl NameLists {
    fn intern(&mut self, names: Vec<StringId>) -> u32 {
        self.0.insert_full(names).0 as u32
    }

    pub(crate) fn names(&self, analysis: &Analysis, id: u32) -> Nested {
        let name = |&name: &StringId| Nested::Text(analysis.trace().text(name).to_owned());
        Nested::List(self.0[id as usize].iter().map(name).collect())
    }
}
