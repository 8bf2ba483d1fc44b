//! The collectives of a job one by one, and what TraceLens sums up of them.

use std::collections::BTreeMap;

use gpu_timeline::SortFew;
use hashbrown::{HashMap, HashSet};
use perf_models::CollectiveKind;

use crate::clocks::Clocks;
use crate::conventions::{
    BandwidthRule, Conventions, LabelRule, MetadataRule, RankColumns, ShareRule, SynchronisingRule, TieRule,
};
use crate::error::Error;
use crate::exchange::Entry;
use crate::job::{Group, Job};
use crate::matching::Lane;
use crate::members::Members;
use crate::options::JobOptions;
use crate::reduction::Times;
use crate::tables::CollectiveRow;

/// The collectives of a job one by one.
#[derive(Debug, Default)]
pub(crate) struct Collectives {
    /// Kernels by rank and in the order of the file.
    pub(crate) kernels: Vec<Kernel>,
    /// Collectives that synchronise their members and whose members exchange equal parts.
    pub(crate) synchronising: Vec<Synchronising>,
    /// Those whose members exchange unequal parts, most data first.
    pub(crate) uneven: Vec<Uneven>,
    /// What ranks sent each other in those, by source and destination.
    pub(crate) sent: Vec<Sent>,
    pub(crate) stragglers: Vec<Straggler>,
    /// Columns of ranks beside the synchronising ones: of each collective the ranks that none before it had. None where
    /// there are too many ranks.
    pub(crate) rank_columns: Vec<(u32, RankColumn)>,
    /// Ranks of the uneven ones in the order in which they come. None where there are too many.
    pub(crate) uneven_ranks: Vec<u32>,
}

/// A column of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankColumn {
    Start,
    Duration,
    Wait,
}

/// A kernel of a collective.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) recording: usize,
    pub(crate) group: usize,
    pub(crate) row: CollectiveRow,
    /// What it is called, and its number in the group; `None` where no other rank has it.
    pub(crate) id: Option<(String, i64)>,
    pub(crate) in_bytes: Option<i64>,
    pub(crate) out_bytes: Option<i64>,
}

/// A rank in a collective. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) rank: u32,
    pub(crate) start: i64,
    pub(crate) duration: i64,
    /// Time until the last rank entered.
    pub(crate) wait: i64,
    /// Index among [`Collectives::kernels`].
    pub(crate) kernel: usize,
}

/// A collective that its members leave together.
#[derive(Debug)]
pub(crate) struct Synchronising {
    pub(crate) id: String,
    pub(crate) members: Vec<Member>,
    pub(crate) latency: i64,
    pub(crate) start_skew: i64,
    pub(crate) end_skew: i64,
    pub(crate) earliest: Option<u32>,
    pub(crate) bytes: Option<i64>,
    /// In GiB/s.
    pub(crate) algorithm_bandwidth: Option<f64>,
    /// In GiB/s.
    pub(crate) bus_bandwidth: Option<f64>,
}

impl Synchronising {
    pub(crate) fn mean_wait(&self) -> f64 {
        self.members.iter().map(|member| member.wait).sum::<i64>() as f64 / self.members.len() as f64
    }
}

/// A collective whose members send parts of different sizes.
#[derive(Debug)]
pub(crate) struct Uneven {
    pub(crate) id: String,
    pub(crate) members: Vec<Member>,
    pub(crate) earliest_start: i64,
    pub(crate) latest_end: i64,
    pub(crate) start_skew: i64,
    pub(crate) end_skew: i64,
}

/// What a rank sent another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) source: u32,
    pub(crate) destination: u32,
    pub(crate) bytes: i64,
    pub(crate) count: i64,
}

/// How often a rank was waited for. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Straggler {
    pub(crate) rank: u32,
    pub(crate) waiting: i64,
    pub(crate) last: u64,
    pub(crate) first: u64,
    /// Collectives that the share of `last` is of.
    pub(crate) of: u64,
    pub(crate) collectives: u64,
    pub(crate) duration: i64,
}

impl Collectives {
    /// The collectives of a job one by one; nothing where they are too many for that.
    pub(crate) fn new(
        details: Option<&[Vec<Entry>]>,
        job: &Job,
        lanes: &[Lane],
        clocks: &Clocks,
        options: &JobOptions,
    ) -> Result<Self, Error> {
        let Some(details) = details else { return Ok(Collectives::default()) };
        let conventions = &options.conventions;
        let ids = ids(job, lanes, conventions.labels);
        let mut build = Build { job, clocks, conventions, ids, collectives: Collectives::default() };
        let places = build.add_kernels(details)?;
        let mut in_order: Vec<&Vec<Entry>> =
            details.iter().filter(|entries| places.contains_key(&place(entries))).collect();
        in_order.sort_few_by_key(|entries| places.get(&place(entries)));
        for entries in in_order {
            build.add(entries, &places);
        }
        let mut collectives = build.collectives;
        collectives.uneven.sort_few_by(|a, b| {
            let data = |uneven: &Uneven| {
                uneven
                    .members
                    .iter()
                    .filter_map(|member| collectives.kernels[member.kernel].in_bytes)
                    .sum::<i64>()
            };
            data(b).cmp(&data(a))
        });
        collectives.stragglers = stragglers(job, conventions, &collectives);
        if options.all2allv_heatmap {
            collectives.sent = sent(job, conventions.metadata, &collectives);
        }
        if conventions.rank_columns == RankColumns::Always || job.present().len() <= options.wide_ranks {
            collectives.rank_columns = rank_columns(&collectives.synchronising);
            collectives.uneven_ranks =
                in_order_of_appearance(collectives.uneven.iter().flat_map(|uneven| &uneven.members));
        }
        Ok(collectives)
    }
}

fn in_order_of_appearance<'m>(members: impl Iterator<Item = &'m Member>) -> Vec<u32> {
    let mut seen = HashSet::new();
    members.map(|member| member.rank).filter(|&rank| seen.insert(rank)).collect()
}

fn rank_columns(collectives: &[Synchronising]) -> Vec<(u32, RankColumn)> {
    let mut seen = HashSet::new();
    let mut columns = Vec::new();
    for collective in collectives {
        let new = collective.members.iter().map(|member| member.rank).filter(|&rank| seen.insert(rank));
        let new: Vec<u32> = new.collect();
        columns
            .extend(new.iter().flat_map(|&rank| [(rank, RankColumn::Start), (rank, RankColumn::Duration)]));
        columns.extend(new.into_iter().map(|rank| (rank, RankColumn::Wait)));
    }
    columns
}

/// The kernel that stands for a collective: the first of the first rank.
fn place(entries: &[Entry]) -> (u32, u32) {
    entries.first().map_or((u32::MAX, u32::MAX), |entry| (entry.recording, entry.row))
}

/// What the collectives of a lane are called, before their number.
fn ids(job: &Job, lanes: &[Lane], labels: LabelRule) -> Vec<String> {
    let name =
        |group: &Group| group.name.as_deref().filter(|name| *name != "Unknown_Group").map(str::to_owned);
    if labels == LabelRule::GroupName && job.groups.iter().all(|group| name(group).is_none()) {
        let streams = |recording: usize| {
            let rows = job.recordings[recording].collectives().unwrap_or_default();
            let mut streams: Vec<Option<i64>> = rows.iter().map(|row| row.stream).collect();
            streams.sort_unstable();
            streams.dedup();
            streams.len()
        };
        if (0..job.recordings.len()).all(|recording| streams(recording) <= 1) {
            return vec![String::new(); lanes.len()];
        }
    }
    let mut groups_of_name: HashMap<Option<String>, usize> = HashMap::new();
    for group in &job.groups {
        *groups_of_name.entry(name(group)).or_default() += 1;
    }
    let id = |lane: &Lane| {
        let group = &job.groups[lane.group];
        let own = name(group);
        let is_shared =
            groups_of_name.get(&own).is_some_and(|&groups| groups > 1) && labels == LabelRule::Unique;
        let own = own.unwrap_or_else(|| "Unknown_Group".to_owned());
        let members = if is_shared { format!("[{}]", group.members) } else { String::new() };
        let pair = lane.pair.map_or_else(String::new, |(a, b)| format!("_p2p_{a}_{b}"));
        format!("{own}{members}{pair}_")
    };
    lanes.iter().map(id).collect()
}

struct Build<'a> {
    job: &'a Job,
    clocks: &'a Clocks,
    conventions: &'a Conventions,
    /// By lane.
    ids: Vec<String>,
    collectives: Collectives,
}

impl Build<'_> {
    /// Adds all kernels; by recording and row the index of each.
    fn add_kernels(&mut self, details: &[Vec<Entry>]) -> Result<HashMap<(u32, u32), usize>, Error> {
        let mut numbers: HashMap<(u32, u32), (u32, i64)> = HashMap::new();
        // The numbers of what only some ranks have go on after the others.
        let mut next: BTreeMap<u32, i64> = BTreeMap::new();
        for entries in details {
            let number = next.entry(entries[0].lane).or_default();
            for entry in entries {
                numbers.insert((entry.recording, entry.row), (entry.lane, *number));
            }
            *number += 1;
        }
        let mut places = HashMap::new();
        for recording in 0..self.job.recordings.len() {
            let of = &self.job.recordings[recording];
            let mut rows: Vec<(u32, CollectiveRow)> = (0..).zip(of.collectives()?).collect();
            rows.sort_few_by_key(|(_, row)| row.ordinal);
            for (position, mut row) in rows {
                let number = numbers.get(&(recording as u32, position));
                let id = number.map(|&(lane, index)| (format!("{}{index}", self.ids[lane as usize]), index));
                let metadata = self.conventions.metadata;
                if metadata == MetadataRule::Recorded && row.described_by.as_deref() == Some("kernel name") {
                    row.name = None;
                }
                places.insert((recording as u32, position), self.collectives.kernels.len());
                let known = metadata == MetadataRule::Deduced
                    || (row.in_elements.is_some() && row.dtype.as_deref().is_some_and(is_usual_type));
                self.collectives.kernels.push(Kernel {
                    recording,
                    group: of.group_of[row.group as usize],
                    in_bytes: row.in_bytes.filter(|_| known),
                    out_bytes: row.out_bytes.filter(|_| known),
                    id,
                    row,
                });
            }
        }
        Ok(places)
    }

    fn add(&mut self, entries: &[Entry], places: &HashMap<(u32, u32), usize>) {
        let times = Times::new(entries, self.job, self.clocks);
        let members: Vec<Member> = entries
            .iter()
            .zip(&times.spans)
            .zip(times.waits())
            .filter_map(|((entry, &(start, _)), wait)| {
                Some(Member {
                    rank: self.job.recordings[entry.recording as usize].rank,
                    start,
                    duration: entry.end - entry.start,
                    wait,
                    kernel: *places.get(&(entry.recording, entry.row))?,
                })
            })
            .collect();
        let Some(first) = members.first().map(|member| &self.collectives.kernels[member.kernel]) else {
            return;
        };
        let Some((id, _)) = first.id.clone() else { return };
        let name = first.row.name.as_deref();
        let kind = name.map_or(CollectiveKind::Other, CollectiveKind::from_name);
        let is_uneven = name == Some("all_to_allv");
        let conventions = self.conventions;
        let synchronises = match conventions.synchronising {
            SynchronisingRule::Listed => {
                name.is_some_and(is_listed_as_synchronising) || self.ids.iter().all(String::is_empty)
            }
            SynchronisingRule::Kind => {
                !matches!(kind, CollectiveKind::Other | CollectiveKind::CollectivePermute)
            }
        };
        if is_uneven {
            let (earliest_start, latest_end) = (times.earliest_start, times.latest_end);
            let (start_skew, end_skew) = (times.start_skew(), times.end_skew());
            self.collectives.uneven.push(Uneven {
                id,
                members,
                earliest_start,
                latest_end,
                start_skew,
                end_skew,
            });
        } else if synchronises {
            let group = &self.job.groups[first.group];
            let bytes = if kind == CollectiveKind::AllGather { first.out_bytes } else { first.in_bytes };
            let bytes = bytes.filter(|_| kind != CollectiveKind::Other);
            let is_whole = conventions.bandwidth == BandwidthRule::Any
                || group.expected().is_none_or(|expected| expected == members.len());
            let algorithm_bandwidth = bytes.filter(|_| times.latency > 0 && is_whole).map(|bytes| {
                let gibibytes = bytes as f64 / (1024.0 * 1024.0) / 1024.0;
                gibibytes / (us(times.latency) / 1e6)
            });
            let size = group.size.and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
            let bus_bandwidth =
                algorithm_bandwidth.zip(size).map(|(rate, size)| rate * kind.bus_factor(size));
            let earliest =
                members.iter().max_by_key(|member| (member.wait, member.rank)).map(|member| member.rank);
            let is_tied = |rank: &u32| {
                let wait = members.iter().find(|member| member.rank == *rank).map(|member| member.wait);
                members.iter().filter(|member| Some(member.wait) == wait).count() > 1
            };
            self.collectives.synchronising.push(Synchronising {
                id,
                latency: times.latency,
                start_skew: times.start_skew(),
                end_skew: times.end_skew(),
                earliest: earliest.filter(|rank| conventions.ties == TieRule::ByOrder || !is_tied(rank)),
                bytes,
                algorithm_bandwidth,
                bus_bandwidth,
                members,
            });
        }
    }
}

pub(crate) fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}

/// The element types of [`MetadataRule::Recorded`].
fn is_usual_type(dtype: &str) -> bool {
    ["Float", "Int", "Long", "BFloat16", "Bool", "Byte", "Double", "Half", "Short"].contains(&dtype)
}

/// The names of [`SynchronisingRule::Listed`].
fn is_listed_as_synchronising(name: &str) -> bool {
    [
        "allreduce",
        "allreduce_coalesced",
        "reducescatter",
        "_reduce_scatter_base",
        "reduce_scatter_tensor_coalesced",
        "allgather",
        "all_gather",
        "_allgather_base",
        "all_gather_into_tensor_coalesced",
        "allgather_into_tensor_coalesced",
        "all_to_all",
    ]
    .contains(&name)
}

/// By rank how often it was waited for, the one that waited least first.
fn stragglers(job: &Job, conventions: &Conventions, collectives: &Collectives) -> Vec<Straggler> {
    let mut durations: BTreeMap<u32, i64> = BTreeMap::new();
    for kernel in &collectives.kernels {
        *durations.entry(job.recordings[kernel.recording].rank).or_default() += kernel.row.duration_ns;
    }
    let all = collectives.synchronising.len() as u64;
    let ties_count = conventions.ties == TieRule::ByOrder;
    // In the order in which ranks first take part, which may decide between equals.
    let mut order: Vec<u32> = Vec::new();
    let mut by_rank: BTreeMap<u32, Straggler> = BTreeMap::new();
    for collective in &collectives.synchronising {
        for member in &collective.members {
            if !by_rank.contains_key(&member.rank) {
                order.push(member.rank);
            }
            let straggler = by_rank.entry(member.rank).or_insert(Straggler {
                rank: member.rank,
                waiting: 0,
                last: 0,
                first: 0,
                of: all,
                collectives: 0,
                duration: durations.get(&member.rank).copied().unwrap_or(0),
            });
            straggler.waiting += member.wait;
            straggler.collectives += 1;
        }
    }
    let places: HashMap<u32, usize> = order.iter().copied().zip(0..).collect();
    for collective in &collectives.synchronising {
        let last = collective.members.iter().min_by_key(|member| (member.wait, places.get(&member.rank)));
        let is_tied = last.is_some_and(|last| {
            collective.members.iter().filter(|member| member.wait == last.wait).count() > 1
        });
        if let Some(last) = last.filter(|_| ties_count || !is_tied) {
            by_rank.entry(last.rank).and_modify(|straggler| straggler.last += 1);
        }
        if let Some(first) = collective.earliest.filter(|_| ties_count || collective.members.len() > 1) {
            by_rank.entry(first).and_modify(|straggler| straggler.first += 1);
        }
    }
    let mut stragglers: Vec<Straggler> = order.iter().filter_map(|rank| by_rank.get(rank).copied()).collect();
    if conventions.shares == ShareRule::Rank {
        for straggler in &mut stragglers {
            straggler.of = straggler.collectives;
        }
    }
    stragglers.sort_few_by_key(|straggler| straggler.waiting);
    stragglers
}

/// What ranks sent each other in exchanges of unequal parts.
fn sent(job: &Job, metadata: MetadataRule, collectives: &Collectives) -> Vec<Sent> {
    let mut pairs: BTreeMap<(u32, u32), (i64, i64)> = BTreeMap::new();
    let uneven =
        collectives.kernels.iter().filter(|kernel| kernel.row.name.as_deref() == Some("all_to_allv"));
    for kernel in uneven {
        let group = &job.groups[kernel.group];
        let parts = kernel.row.in_split.as_deref().and_then(parts);
        let (Some(parts), Some(bytes), Some(elements)) = (parts, kernel.in_bytes, kernel.row.in_elements)
        else {
            continue;
        };
        if group.size != i64::try_from(parts.len()).ok()
            || elements == 0 && parts.iter().any(|&part| part > 0)
        {
            continue;
        }
        let size = bytes.checked_div(elements).unwrap_or(0);
        let rank = job.recordings[kernel.recording].rank;
        for (destination, part) in destinations(&group.members, parts.len(), metadata).zip(parts) {
            let sum = pairs.entry((rank, destination)).or_default();
            *sum = (sum.0 + part * size, sum.1 + 1);
        }
    }
    pairs
        .into_iter()
        .map(|((source, destination), (bytes, count))| Sent { source, destination, bytes, count })
        .collect()
}

/// The ranks that the parts go to: the members of the group, or from 0 on where these are not known.
fn destinations(
    members: &Members,
    parts: usize,
    metadata: MetadataRule,
) -> Box<dyn Iterator<Item = u32> + '_> {
    let are_known = metadata == MetadataRule::Deduced && members.len() == parts;
    if are_known { Box::new(members.iter()) } else { Box::new(0..parts as u32) }
}

/// Sizes of parts as recorders write them; `None` where the list is cut.
fn parts(text: &str) -> Option<Vec<i64>> {
    let list = text.trim();
    let list = list.strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
    list.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}
