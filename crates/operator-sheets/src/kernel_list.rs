//! Lists of kernels in a cell: what a group of calls launched, call after call.

use std::borrow::Cow;

use gpu_timeline::{SortFew, Summary};
use sheets::Nested;
use trace_ingest::{EventId, StringId, Trace};

/// Longest kernel name in a shortened list, in characters.
const NAME_LENGTH: usize = 64;

type Record = Vec<(Cow<'static, str>, Nested)>;

/// A kernel of one call's list.
#[derive(Clone, Copy)]
pub struct ListedKernel {
    /// Name.
    pub name: StringId,
    /// Stream it ran on.
    pub stream: Option<i64>,
    /// Part of the call's own run time that ran beside it; only in lists of overlapping kernels.
    pub overlap_share: Option<f64>,
    /// In time units.
    pub duration: i64,
}

impl ListedKernel {
    /// A device event of a trace.
    pub fn new(trace: &Trace, event: EventId) -> Self {
        let events = trace.events();
        ListedKernel {
            name: events.name(event),
            stream: events.stream(event),
            overlap_share: None,
            duration: events.duration(event),
        }
    }
}

/// The lists of a group of calls, put together position by position.
pub struct KernelList {
    positions: Vec<(ListedKernel, Option<Summary>)>,
    /// Place of each position in the calls' lists.
    places: Vec<usize>,
}

impl KernelList {
    /// Puts the lists of kernels of calls together.
    pub fn from_events<'l>(trace: &Trace, calls: impl Iterator<Item = &'l [EventId]> + Clone) -> Self {
        Self::summarise(trace, calls, |&kernel| ListedKernel::new(trace, kernel))
    }

    /// Puts lists together. The first list that is not empty gives the positions; lists of another length
    /// are other work and do not count.
    pub fn summarise<'l, Item: 'l>(
        trace: &Trace,
        lists: impl Iterator<Item = &'l [Item]> + Clone,
        listed: impl Fn(&Item) -> ListedKernel,
    ) -> Self {
        let template = lists.clone().find(|list| !list.is_empty()).unwrap_or_default();
        let alike = lists.filter(|list| list.len() == template.len());
        let mut durations = vec![Vec::with_capacity(alike.clone().count()); template.len()];
        for list in alike {
            for (kernel, durations) in list.iter().zip(&mut durations) {
                durations.push(listed(kernel).duration);
            }
        }
        let summaries: Vec<Option<Summary>> =
            durations.iter().map(|durations| Summary::from_values(durations)).collect();
        let mut places: Vec<usize> = (0..template.len()).collect();
        let template: Vec<ListedKernel> = template.iter().map(listed).collect();
        places.sort_few_by_key(|&place| {
            (summaries[place].map_or(0, |summary| summary.sum), trace.text(template[place].name))
        });
        let positions = places.iter().map(|&place| (template[place], summaries[place])).collect();
        KernelList { positions, places }
    }

    /// A call's kernels in the order of the list; those of a call of another length as they are.
    pub fn in_order(&self, kernels: &[EventId]) -> Vec<EventId> {
        match kernels.len() == self.places.len() {
            true => self.places.iter().map(|&place| kernels[place]).collect(),
            false => kernels.to_vec(),
        }
    }

    /// The list with statistics over calls, times in µs.
    pub fn details(&self, trace: &Trace) -> Nested {
        self.records(trace, usize::MAX, |record, kernel, summary| {
            if let Some(share) = kernel.overlap_share {
                record.push(("overlap_pct".into(), Nested::Number(share)));
            }
            match summary {
                Some(summary) => record.extend(duration_statistics(trace, summary)),
                None => record.extend([
                    ("count".into(), Nested::Whole(0)),
                    ("total_duration_us".into(), Nested::Number(0.0)),
                ]),
            }
        })
    }

    /// The list with shortened names and means in µs only; `None` when it is empty.
    pub fn shortened(&self, trace: &Trace) -> Option<Nested> {
        let us = |time: f64| time / trace.time_unit().per_microsecond() as f64;
        (!self.positions.is_empty()).then(|| {
            self.records(trace, NAME_LENGTH, |record, _, summary| {
                let mean = round2(summary.map_or(0.0, |summary| us(summary.mean)));
                record.push(("mean_duration_us".into(), Nested::Number(mean)));
            })
        })
    }

    fn records(
        &self,
        trace: &Trace,
        name_length: usize,
        statistics: impl Fn(&mut Record, &ListedKernel, Option<&Summary>),
    ) -> Nested {
        let record = |(kernel, summary): &(ListedKernel, Option<Summary>)| {
            let name = trace.text(kernel.name);
            let name = match name.char_indices().nth(name_length) {
                Some((cut, _)) => format!("{}...", &name[..cut]),
                None => name.to_owned(),
            };
            let mut record: Record = Vec::with_capacity(9);
            record.push(("name".into(), Nested::Text(name)));
            record.push(("stream".into(), kernel.stream.map_or(Nested::None, Nested::Whole)));
            statistics(&mut record, kernel, summary.as_ref());
            Nested::Record(record)
        };
        Nested::List(self.positions.iter().map(record).collect())
    }
}

/// Count, sum and spread of durations as the entries of a kernel, in µs.
pub fn duration_statistics(trace: &Trace, durations: &Summary) -> [(Cow<'static, str>, Nested); 7] {
    let us = |time: f64| Nested::Number(time / trace.time_unit().per_microsecond() as f64);
    [
        ("count", Nested::Whole(durations.count as i64)),
        ("total_duration_us", us(durations.sum as f64)),
        ("mean_duration_us", us(durations.mean)),
        ("median_duration_us", us(durations.median)),
        ("std_dev_duration_us", us(durations.population_std)),
        ("min_duration_us", us(durations.min as f64)),
        ("max_duration_us", us(durations.max as f64)),
    ]
    .map(|(key, value)| (key.into(), value))
}

/// Rounds to two decimals, halves to the even neighbour.
pub fn round2(value: f64) -> f64 {
    (value * 100.0).round_ties_even() / 100.0
}
