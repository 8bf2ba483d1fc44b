//! A generated job in a folder of tables, and the answers of the shipped queries by plain Rust from the same tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use multi_rank::{JobFolder, RankTables, Source, StepRow, rank_tables};
use multi_rank_sql::{Engine, Options, Query, SHIPPED, answer};
use tempfile::TempDir;
use testdata::job::{Fault, FaultKind, Job, JobPlan, Parallelism};
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};

/// The tables of a job, on disk and as they were before.
pub(crate) struct Tables {
    /// By rank.
    ranks: Vec<RankTables>,
    pub(crate) folder: PathBuf,
    _place: TempDir,
}

impl Tables {
    pub(crate) fn new(plan: JobPlan) -> Self {
        let place = tempfile::tempdir().unwrap();
        // Characters that stand for others in patterns and in addresses.
        let folder = place.path().join("job [1]* 50%");
        let mut kept = JobFolder::open(&folder).unwrap();
        let truth = Job::new(plan).unwrap();
        let mut ranks = Vec::new();
        for file in truth.files() {
            let path = place.path().join(&file.name);
            fs::write(&path, &truth.recording(file.rank).unwrap().text).unwrap();
            let trace = read_path(&path, &ReadOptions::default()).unwrap();
            let tables = rank_tables(&Analysis::new(trace, AnalysisOptions::default()), &path);
            kept.add(&tables, Source::of(&path).unwrap()).unwrap();
            ranks.push(tables);
        }
        Tables { ranks, folder, _place: place }
    }
}

/// Eight ranks on two hosts; rank 5 is slow, the link of rank 2 in one step.
pub(crate) fn job() -> Tables {
    let fault = |kind, at, steps, amount| Fault { kind, at, steps, amount };
    let mut plan = JobPlan::new(8, Parallelism { tensor: 4, pipeline: 1, data: 2, expert: 1 }, 11);
    plan.steps = 6;
    plan.faults = vec![
        fault(FaultKind::SlowGemm, 5, 1..=4, 3_000),
        fault(FaultKind::SlowLink, 2, 3..=3, 9_000),
        fault(FaultKind::ClockOffset, 1, 0..=5, 2_750),
    ];
    Tables::new(plan)
}

/// The same job when nothing was wrong, without its last rank.
pub(crate) fn baseline() -> Tables {
    let mut plan = JobPlan::new(8, Parallelism { tensor: 4, pipeline: 1, data: 2, expert: 1 }, 12);
    plan.faults = vec![Fault { kind: FaultKind::MissingRank, at: 7, steps: 0..=3, amount: 0 }];
    Tables::new(plan)
}

pub(crate) fn options(job: &Tables, baseline: Option<&Tables>, engine: Engine) -> Options {
    Options {
        folder: job.folder.clone(),
        baseline: baseline.map(|baseline| baseline.folder.clone()),
        engine,
        partitions: NonZeroUsize::new(4).unwrap(),
        timeout: Duration::from_secs(300),
    }
}

/// The answer of each shipped query.
pub(crate) fn answers(options: &Options) -> BTreeMap<&'static str, String> {
    let of = |query| answer(&Query::from(query), options).unwrap_or_else(|error| panic!("{error}"));
    SHIPPED.iter().map(|query| (query.name, of(query))).collect()
}

/// The same without an engine.
pub(crate) fn expected(job: &Tables, baseline: &Tables) -> BTreeMap<&'static str, String> {
    let entries = entries(&job.ranks);
    BTreeMap::from([
        ("slowest-groups", slowest_groups(&job.ranks, &entries)),
        ("stragglers-by-host", stragglers_by_host(&job.ranks, &entries)),
        ("bandwidth-outliers", bandwidth_outliers(&job.ranks, &entries)),
        ("step-regression", step_regression(&job.ranks, &baseline.ranks)),
        ("waits-by-hour", waits_by_hour(&job.ranks, &entries)),
        ("ops-by-total-time", ops_by_total_time(&job.ranks)),
    ])
}

/// A rank in a numbered collective that its members leave together.
struct Entry {
    rank: usize,
    group: i64,
    sequence: i64,
    signature: Signature,
    step: Option<i64>,
    start: i64,
    duration: i64,
    wait: i64,
}

/// Name, element type, bytes given and got.
type Signature = (Option<String>, Option<String>, Option<i64>, Option<i64>);

fn entries(ranks: &[RankTables]) -> Vec<Entry> {
    // By group and number, then rank.
    let mut collectives: BTreeMap<(i64, i64), BTreeMap<usize, Entry>> = BTreeMap::new();
    for (rank, tables) in ranks.iter().enumerate() {
        for row in &tables.collectives {
            let synchronises = ["allreduce", "allgather", "reducescatter", "alltoall"];
            let letters = row.name.as_deref().unwrap_or_default().replace('_', "");
            let (Some(sequence), 0) = (row.sequence, row.point_to_point) else { continue };
            if !synchronises.iter().any(|name| letters.contains(name)) {
                continue;
            }
            let group = tables.groups[row.group as usize].key;
            let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
            let entry = collectives.entry((group, sequence)).or_default().entry(rank).or_insert(Entry {
                rank,
                group,
                sequence,
                signature: (text(&row.name), text(&row.dtype), row.in_bytes, row.out_bytes),
                step: row.step,
                start: row.start_ns,
                duration: row.duration_ns,
                wait: 0,
            });
            let end = (entry.start + entry.duration).max(row.start_ns + row.duration_ns);
            entry.start = entry.start.min(row.start_ns);
            entry.duration = end - entry.start;
        }
    }
    collectives.retain(|_, members| members.len() > 1);
    let of_members = |members: BTreeMap<usize, Entry>| {
        let transfer = members.values().map(|entry| entry.duration).min().unwrap();
        members.into_values().map(move |entry| Entry { wait: entry.duration - transfer, ..entry })
    };
    collectives.into_values().flat_map(of_members).collect()
}

/// The entries of each collective.
fn by_collective(entries: &[Entry]) -> BTreeMap<(i64, i64), Vec<&Entry>> {
    let mut collectives: BTreeMap<(i64, i64), Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        collectives.entry((entry.group, entry.sequence)).or_default().push(entry);
    }
    collectives
}

fn slowest_groups(ranks: &[RankTables], entries: &[Entry]) -> String {
    #[derive(Default)]
    struct Group {
        name: Option<String>,
        description: Option<String>,
        members: Option<String>,
        ranks: BTreeSet<usize>,
        kernels: i64,
        time: i64,
    }
    let mut groups: BTreeMap<i64, Group> = BTreeMap::new();
    for (rank, tables) in ranks.iter().enumerate() {
        for row in &tables.collectives {
            let of = &tables.groups[row.group as usize];
            let group = groups.entry(of.key).or_default();
            group.name = of.name.as_deref().map(str::to_owned);
            group.description = of.description.as_deref().map(str::to_owned);
            group.members = of.members.as_deref().map(str::to_owned);
            group.ranks.insert(rank);
            group.kernels += 1;
            group.time += row.duration_ns;
        }
    }
    let mut groups: Vec<(i64, Group)> = groups.into_iter().collect();
    groups.sort_by_key(|(key, group)| (std::cmp::Reverse(group.time), *key));
    let row = |(key, group): &(i64, Group)| {
        let of = || entries.iter().filter(|entry| entry.group == *key);
        let numbered = of().count() > 0;
        let time: i64 = of().map(|entry| entry.duration).sum();
        let wait: i64 = of().map(|entry| entry.wait).sum();
        vec![
            cell(group.name.as_deref()),
            cell(group.description.as_deref()),
            quoted(cell(group.members.as_deref())),
            cell(Some(group.ranks.len())),
            cell(Some(group.kernels)),
            cell(Some(group.time)),
            cell(numbered.then_some(time)),
            cell(numbered.then_some(wait)),
            cell(numbered.then(|| percent(wait, time))),
        ]
    };
    csv(
        "group_name,description,members,ranks,kernels,time_ns,numbered_ns,wait_ns,wait_percent",
        groups.iter().map(row),
    )
}

fn stragglers_by_host(ranks: &[RankTables], entries: &[Entry]) -> String {
    #[derive(Clone, Default)]
    struct Rank {
        collectives: i64,
        last: i64,
        waited_for: i64,
        wait: i64,
    }
    let mut of_ranks = vec![Rank::default(); ranks.len()];
    for members in by_collective(entries).values() {
        let others: i64 = members.iter().map(|entry| entry.wait).sum();
        let last = members.iter().min_by_key(|entry| (entry.duration, entry.rank)).unwrap();
        of_ranks[last.rank].last += i64::from(others > 0);
        of_ranks[last.rank].waited_for += others;
        for entry in members {
            of_ranks[entry.rank].collectives += 1;
            of_ranks[entry.rank].wait += entry.wait;
        }
    }
    let mut hosts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (rank, tables) in ranks.iter().enumerate().filter(|&(rank, _)| of_ranks[rank].collectives > 0) {
        hosts.entry(cell(tables.rank.host.as_deref())).or_default().push(rank);
    }
    let sum =
        |of: &[usize], figure: fn(&Rank) -> i64| of.iter().map(|&rank| figure(&of_ranks[rank])).sum::<i64>();
    let mut hosts: Vec<(String, Vec<usize>)> = hosts.into_iter().collect();
    hosts.sort_by_key(|(_, of)| std::cmp::Reverse(sum(of, |rank| rank.waited_for)));
    let row = |(host, of): &(String, Vec<usize>)| {
        let (entries, last) = (sum(of, |rank| rank.collectives), sum(of, |rank| rank.last));
        vec![
            host.clone(),
            cell(Some(of.len())),
            cell(of.first()),
            cell(of.last()),
            cell(Some(entries)),
            cell(Some(last)),
            cell(Some(percent(last, entries))),
            cell(Some(sum(of, |rank| rank.waited_for))),
            cell(of.iter().map(|&rank| of_ranks[rank].waited_for).max()),
            cell(Some(sum(of, |rank| rank.wait))),
        ]
    };
    csv(
        "host,recordings,first_rank,last_rank,entries,entered_last,entered_last_percent,waited_for_ns,most_for_one_rank_ns,wait_ns",
        hosts.iter().map(row),
    )
}

fn bandwidth_outliers(ranks: &[RankTables], entries: &[Entry]) -> String {
    struct Transfer<'a> {
        first: &'a Entry,
        step: Option<i64>,
        ranks: usize,
        time: i64,
        median: i64,
    }
    let mut alike: BTreeMap<(i64, &Signature), Vec<Transfer<'_>>> = BTreeMap::new();
    let collectives = by_collective(entries);
    for members in collectives.values() {
        let first = members[0];
        alike.entry((first.group, &first.signature)).or_default().push(Transfer {
            first,
            step: members.iter().filter_map(|entry| entry.step).min(),
            ranks: members.len(),
            time: members.iter().map(|entry| entry.duration).min().unwrap(),
            median: 0,
        });
    }
    let mut slow = Vec::new();
    for (_, mut transfers) in alike {
        transfers.sort_by_key(|transfer| (transfer.time, transfer.first.sequence));
        let median = transfers[(transfers.len() - 1) / 2].time;
        let is_slow = |transfer: &Transfer<'_>| median > 0 && transfer.time >= 2 * median;
        if transfers.len() >= 3 {
            slow.extend(
                transfers.into_iter().filter(is_slow).map(|transfer| Transfer { median, ..transfer }),
            );
        }
    }
    slow.sort_by(|a, b| {
        let share = |of: &Transfer<'_>| percent(of.time, of.median);
        let rest = |of: &Transfer<'_>| (-of.time, of.first.group, of.first.sequence);
        share(b).total_cmp(&share(a)).then(rest(a).cmp(&rest(b)))
    });
    let group =
        |key: i64| ranks.iter().flat_map(|tables| &tables.groups).find(|group| group.key == key).unwrap();
    let row = |transfer: &Transfer<'_>| {
        let Transfer { first, step, ranks, time, median } = *transfer;
        let (name, dtype, given, got) = &first.signature;
        vec![
            cell(group(first.group).name.as_deref()),
            cell(group(first.group).description.as_deref()),
            cell(name.as_deref()),
            cell(dtype.as_deref()),
            cell(*given),
            cell(*got),
            cell(Some(first.sequence)),
            cell(step),
            cell(Some(ranks)),
            cell(Some(time)),
            cell(Some(median)),
            cell(Some(percent(time, median))),
            cell(given.map(|given| given * 1000 / time)),
        ]
    };
    csv(
        "group_name,description,collective,dtype,in_bytes,out_bytes,sequence,step,ranks,transfer_ns,median_ns,percent_of_median,in_megabytes_per_second",
        slow.iter().map(row),
    )
}

fn step_regression(now: &[RankTables], before: &[RankTables]) -> String {
    /// Steps, and of their device time, computation, communication, copies and idle time the mean.
    type Means = (i64, [i64; 5]);
    fn means(ranks: &[RankTables]) -> BTreeMap<Option<i64>, Means> {
        let mut sums: BTreeMap<Option<i64>, Means> = BTreeMap::new();
        for tables in ranks {
            for step in tables.steps.iter().filter(|step| step.whole == 1) {
                let StepRow {
                    device_ns,
                    computation_ns,
                    exposed_communication_ns,
                    exposed_copies_ns,
                    idle_ns,
                    ..
                } = *step;
                let figures =
                    [device_ns, computation_ns, exposed_communication_ns, exposed_copies_ns, idle_ns];
                for key in [None, tables.rank.rank] {
                    let (steps, sums) = sums.entry(key).or_default();
                    *steps += 1;
                    sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
                }
            }
        }
        sums.into_iter().map(|(rank, (steps, sums))| (rank, (steps, sums.map(|sum| sum / steps)))).collect()
    }
    let (now, before) = (means(now), means(before));
    let ranks: BTreeSet<Option<i64>> = now.keys().chain(before.keys()).copied().collect();
    let row = |rank: Option<i64>| {
        let (a, b) = (now.get(&rank), before.get(&rank));
        let change = |figure: usize| Some(a?.1[figure] - b?.1[figure]);
        let mut cells = vec![
            cell(rank),
            cell(a.map(|of| of.0)),
            cell(b.map(|of| of.0)),
            cell(a.map(|of| of.1[0])),
            cell(b.map(|of| of.1[0])),
            cell(change(0)),
            cell(change(0).zip(b).map(|(change, of)| percent(change, of.1[0]))),
        ];
        cells.extend((1..5).map(|figure| cell(change(figure))));
        cells
    };
    csv(
        "rank,steps,baseline_steps,step_ns,baseline_step_ns,change_ns,change_percent,computation_change_ns,communication_change_ns,copies_change_ns,idle_change_ns",
        ranks.into_iter().map(row),
    )
}

fn waits_by_hour(ranks: &[RankTables], entries: &[Entry]) -> String {
    let mut hours: BTreeMap<i64, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let at = ranks[entry.rank].rank.base_time_ns + entry.start;
        hours.entry(at / 3_600_000_000_000).or_default().push(entry);
    }
    let row = |(hour, of): (i64, Vec<&Entry>)| {
        let recordings: BTreeSet<usize> = of.iter().map(|entry| entry.rank).collect();
        let time: i64 = of.iter().map(|entry| entry.duration).sum();
        let wait: i64 = of.iter().map(|entry| entry.wait).sum();
        vec![
            hour_text(hour),
            cell(Some(recordings.len())),
            cell(Some(of.len())),
            cell(Some(time)),
            cell(Some(wait)),
            cell(Some(percent(wait, time))),
            cell(of.iter().map(|entry| entry.wait).max()),
        ]
    };
    csv("hour,recordings,entries,time_ns,wait_ns,wait_percent,longest_wait_ns", hours.into_iter().map(row))
}

/// An hour since 1970 as date and time: days by the rule for leap years, counted from a March.
fn hour_text(hour: i64) -> String {
    let (days, hour) = (hour / 24, hour % 24);
    let (mut year, mut day) = (1970, days);
    let length = |year: i64| 365 + i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    while day >= length(year) {
        day -= length(year);
        year += 1;
    }
    let months = [31, length(year) - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= months[month] {
        day -= months[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}T{hour:02}:00:00", month + 1, day + 1)
}

fn ops_by_total_time(ranks: &[RankTables]) -> String {
    #[derive(Default)]
    struct Op {
        recordings: i64,
        sums: [i64; 4],
        least: i64,
        most: i64,
    }
    let mut ops: BTreeMap<(String, String), Op> = BTreeMap::new();
    for tables in ranks {
        let mut of_rank: BTreeMap<(String, String), [i64; 4]> = BTreeMap::new();
        for row in &tables.ops {
            let sums = of_rank.entry((cell(row.name.as_deref()), cell(row.category.as_deref()))).or_default();
            let figures = [row.calls, row.kernels, row.device_ns, row.host_ns];
            sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
        }
        for (name, sums) in of_rank {
            let (op, device) = (ops.entry(name).or_default(), sums[2]);
            op.least = if op.recordings == 0 { device } else { op.least.min(device) };
            op.most = op.most.max(device);
            op.recordings += 1;
            op.sums.iter_mut().zip(sums).for_each(|(sum, figure)| *sum += figure);
        }
    }
    let all: i64 = ops.values().map(|op| op.sums[2]).sum();
    let mut ops: Vec<_> = ops.into_iter().collect();
    ops.sort_by_key(|(_, op)| std::cmp::Reverse(op.sums[2]));
    let row = |((name, category), op): &((String, String), Op)| {
        let [calls, kernels, device, host] = op.sums;
        vec![
            quoted(name.clone()),
            category.clone(),
            cell(Some(op.recordings)),
            cell(Some(calls)),
            cell(Some(kernels)),
            cell(Some(device)),
            cell(Some(percent(device, all))),
            cell(Some(op.least)),
            cell(Some(op.most)),
            cell(Some(host)),
        ]
    };
    csv(
        "name,category,recordings,calls,kernels,device_ns,percent,least_of_a_recording_ns,most_of_a_recording_ns,host_ns",
        ops.iter().map(row),
    )
}

fn cell<T: Display>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| match value.to_string() {
        // Shares are written as numbers with a point.
        whole if std::any::type_name::<T>() == "f64" && !whole.contains('.') => format!("{whole}.0"),
        text => text,
    })
}

fn quoted(text: String) -> String {
    if text.contains(',') { format!("\"{text}\"") } else { text }
}

/// Hundredths, rounded.
fn percent(part: i64, of: i64) -> f64 {
    (100.0 * part as f64 / of as f64 * 100.0).round() / 100.0
}

fn csv(header: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    rows.fold(format!("{header}\n"), |text, row| format!("{text}{}\n", row.join(",")))
}
