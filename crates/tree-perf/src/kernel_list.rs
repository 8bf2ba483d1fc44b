//! Lists of kernels in a cell: what a group of calls launched, call after call.

use std::fmt::Write;

use gpu_timeline::Summary;
use trace_ingest::{EventId, StringId, Trace, write_float, write_text};

/// Longest kernel name in a shortened list, in characters.
const NAME_LENGTH: usize = 64;

/// A kernel of one call's list.
#[derive(Clone, Copy)]
pub(crate) struct ListedKernel {
    pub(crate) name: StringId,
    pub(crate) stream: Option<i64>,
    /// Part of the call's own run time that ran beside it; only in lists of overlapping kernels.
    pub(crate) overlap_share: Option<f64>,
    /// In time units.
    pub(crate) duration: i64,
}

impl ListedKernel {
    pub(crate) fn of(trace: &Trace, event: EventId) -> Self {
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
pub(crate) struct KernelList {
    positions: Vec<(ListedKernel, Option<Summary>)>,
    /// Place of each position in the calls' lists.
    places: Vec<usize>,
}

impl KernelList {
    /// Puts the lists of kernels of calls together.
    pub(crate) fn of_events<'l>(trace: &Trace, calls: impl Iterator<Item = &'l [EventId]> + Clone) -> Self {
        Self::summarise(trace, calls, |&kernel| ListedKernel::of(trace, kernel))
    }

    /// Puts lists together. The first list that is not empty gives the positions; lists of another length
    /// are other work and do not count.
    pub(crate) fn summarise<'l, Item: 'l>(
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
            durations.iter().map(|durations| Summary::of(durations)).collect();
        let mut places: Vec<usize> = (0..template.len()).collect();
        let template: Vec<ListedKernel> = template.iter().map(listed).collect();
        places.sort_by_key(|&place| {
            (summaries[place].map_or(0, |summary| summary.sum), trace.text(template[place].name))
        });
        let positions = places.iter().map(|&place| (template[place], summaries[place])).collect();
        KernelList { positions, places }
    }

    /// A call's kernels in the order of the list; those of a call of another length as they are.
    pub(crate) fn in_order(&self, kernels: &[EventId]) -> Vec<EventId> {
        match kernels.len() == self.places.len() {
            true => self.places.iter().map(|&place| kernels[place]).collect(),
            false => kernels.to_vec(),
        }
    }

    /// The list with statistics, as a Python literal.
    pub(crate) fn details(&self, trace: &Trace) -> String {
        let us = |time: f64| time / trace.time_unit().per_microsecond() as f64;
        self.literal(trace, usize::MAX, |out, kernel, summary| {
            if let Some(share) = kernel.overlap_share {
                out.write_str("'overlap_pct': ")?;
                write_float(out, share)?;
                out.write_str(", ")?;
            }
            let Some(summary) = summary else { return write!(out, "'count': 0, 'total_duration_us': 0.0") };
            write!(out, "'count': {}", summary.count)?;
            for (key, value) in [
                ("total_duration_us", summary.sum as f64),
                ("mean_duration_us", summary.mean),
                ("median_duration_us", summary.median),
                ("std_dev_duration_us", summary.population_std),
                ("min_duration_us", summary.min as f64),
                ("max_duration_us", summary.max as f64),
            ] {
                write!(out, ", '{key}': ")?;
                write_float(out, us(value))?;
            }
            Ok(())
        })
    }

    /// The list with shortened names and means only; `None` when it is empty.
    pub(crate) fn shortened(&self, trace: &Trace) -> Option<String> {
        let us = |time: f64| time / trace.time_unit().per_microsecond() as f64;
        let list = self.literal(trace, NAME_LENGTH, |out, _, summary| {
            out.write_str("'mean_duration_us': ")?;
            write_float(out, round2(summary.map_or(0.0, |summary| us(summary.mean))))
        });
        (!self.positions.is_empty()).then_some(list)
    }

    fn literal(
        &self,
        trace: &Trace,
        name_length: usize,
        mut statistics: impl FnMut(&mut String, &ListedKernel, Option<&Summary>) -> std::fmt::Result,
    ) -> String {
        let mut out = String::from("[");
        for (position, (kernel, summary)) in self.positions.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = (|| {
                out.write_str(if position > 0 { ", {'name': " } else { "{'name': " })?;
                let name = trace.text(kernel.name);
                match name.char_indices().nth(name_length) {
                    Some((cut, _)) => write_text(&mut out, &format!("{}...", &name[..cut]))?,
                    None => write_text(&mut out, name)?,
                }
                match kernel.stream {
                    Some(stream) => write!(out, ", 'stream': {stream}, ")?,
                    None => out.write_str(", 'stream': None, ")?,
                }
                statistics(&mut out, kernel, summary.as_ref())?;
                out.write_str("}")
            })();
        }
        out.push(']');
        out
    }
}

/// Rounds to two decimals, halves to the even neighbour.
pub(crate) fn round2(value: f64) -> f64 {
    (value * 100.0).round_ties_even() / 100.0
}
