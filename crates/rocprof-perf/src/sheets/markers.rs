//! Ranges of the program (roctx), with the GPU work launched in them.

use std::cmp::Reverse;

use gpu_timeline::{Interval, IntervalSet, SortFew, Summary};
use hashbrown::HashMap;
use sheets::{Chart, ChartShape, Column, Role, Sheet};
use trace_ingest::StringId;
use trace_ingest::rocprof::{Call, Domain, Profile};

use super::calls::Callers;
use crate::analysis::{RocprofAnalysis, interval};
use operator_sheets::durations::{TOTAL, durations, ms};

struct Row<'a> {
    name: &'a str,
    durations: Summary,
    work: Work,
    method: &'static str,
}

pub(super) fn sheet<'a>() -> Sheet<'a, RocprofAnalysis> {
    let keys = [
        Column::text("name", "Text of the range or mark.").field(|row: &Row<'_>| row.name.into()),
        Column::count("Count", "Number of ranges or marks; marks have no duration.")
            .field(|row: &Row<'_>| row.durations.count.into()),
    ];
    let kernels = [
        Column::count("Kernels", "Number of kernels in the ranges, each counted once.").field(|row: &Row<'_>| row.work.kernels.into()),
        Column::milliseconds("Kernel Time (ms)", "Sum of these kernels' durations; if matched by time, only the parts within the ranges.").field(|row: &Row<'_>| {
            let lengths = row.work.spans.iter().map(|span| span.length());
            ms(lengths.fold(0_i64, i64::saturating_add)).into()
        }),
        Column::milliseconds("GPU Busy Time (ms)", "Time with any of these kernels running on any GPU, overlaps counted once.").field(|row: &Row<'_>| {
            ms(row.work.spans.iter().copied().collect::<IntervalSet>().total_length()).into()
        }),
        Column::text("kernels_by", "How kernels are matched to ranges: launch (the launching call lies in a range of the same process and thread) or time (the kernel ran during a range of the same process; used if the profile has no launching calls).").with_role(Role::Detail).field(|row: &Row<'_>| row.method.into()),
    ];
    Sheet::new(
        "marker_ranges",
        "The program's roctx ranges and marks by text, most time first. A kernel belongs to every range enclosing its launch, so nested ranges share kernels.",
        keys.into_iter().chain(durations("range", |row: &Row<'_>| &row.durations)).chain(kernels),
        |analysis: &RocprofAnalysis| rows(analysis.profile()),
    )
    .with_chart(Chart::new(
        "Marker ranges by time",
        "name",
        TOTAL.name,
        "time in the range (ms)",
        ChartShape::Bars(15),
    ))
}

fn rows(profile: &Profile) -> Vec<Row<'_>> {
    let markers: Vec<&Call> = profile.calls.iter().filter(|call| call.domain == Domain::Marker).collect();
    let mut durations: HashMap<StringId, Vec<i64>> = HashMap::new();
    for marker in &markers {
        durations.entry(marker.name).or_default().push(marker.duration().0);
    }
    let callers = Callers::new(profile).dispatches;
    let (mut work, method) = if callers.iter().any(Option::is_some) {
        (work_by_launch(profile, &markers, &callers), "launch")
    } else {
        (work_by_time(profile, &markers), "time")
    };
    let row = |(name, durations): (StringId, Vec<i64>)| {
        let work = work.remove(&name).unwrap_or_default();
        Some(Row {
            name: profile.strings.get(name),
            durations: Summary::from_values(&durations)?,
            work,
            method,
        })
    };
    let mut rows: Vec<Row<'_>> = durations.into_iter().filter_map(row).collect();
    rows.sort_few_by_key(|row| (Reverse(row.durations.sum), row.name));
    rows
}

/// What ran for the ranges of one text.
#[derive(Default)]
struct Work {
    kernels: i64,
    spans: Vec<Interval>,
}

struct Range {
    span: Interval,
    name: StringId,
}

struct Launch {
    call: Interval,
    dispatch: u32,
}

fn span(call: &Call) -> Interval {
    interval(call.start, call.end)
}

/// Kernels by the range that their call lies in, on its thread.
fn work_by_launch(profile: &Profile, markers: &[&Call], callers: &[Option<u32>]) -> HashMap<StringId, Work> {
    let mut threads: HashMap<(u32, i64), (Vec<Range>, Vec<Launch>)> = HashMap::new();
    for marker in markers {
        let range = Range { span: span(marker), name: marker.name };
        threads.entry((marker.process, marker.thread)).or_default().0.push(range);
    }
    for (dispatch, call) in (0_u32..).zip(callers) {
        let Some(call) = call else { continue };
        let call = &profile.calls[*call as usize];
        if let Some((_, launches)) = threads.get_mut(&(call.process, call.thread)) {
            launches.push(Launch { call: span(call), dispatch });
        }
    }
    let mut found: HashMap<StringId, Vec<u32>> = HashMap::new();
    for (ranges, launches) in threads.values_mut() {
        ranges.sort_by_key(|range| range.span.start);
        launches.sort_by_key(|launch| launch.call.start);
        let mut later = ranges.iter().peekable();
        let mut open: Vec<&Range> = Vec::new();
        for launch in launches.iter() {
            while let Some(range) = later.next_if(|range| range.span.start <= launch.call.start) {
                open.push(range);
            }
            open.retain(|range| range.span.end >= launch.call.start);
            for range in open.iter().filter(|range| range.span.end >= launch.call.end) {
                found.entry(range.name).or_default().push(launch.dispatch);
            }
        }
    }
    let work = |mut dispatches: Vec<u32>| {
        dispatches.sort_unstable();
        dispatches.dedup();
        let spans = dispatches.iter().map(|&dispatch| &profile.dispatches[dispatch as usize]);
        let spans = spans.map(|dispatch| interval(dispatch.start, dispatch.end)).collect();
        Work { kernels: dispatches.len() as i64, spans }
    };
    found.into_iter().map(|(name, dispatches)| (name, work(dispatches))).collect()
}

/// Kernels by the time that they share with ranges of their process.
fn work_by_time(profile: &Profile, markers: &[&Call]) -> HashMap<StringId, Work> {
    let mut kernels: HashMap<u32, Vec<Interval>> = HashMap::new();
    for dispatch in &profile.dispatches {
        kernels.entry(dispatch.process).or_default().push(interval(dispatch.start, dispatch.end));
    }
    for kernels in kernels.values_mut() {
        kernels.sort_by_key(|kernel| (kernel.start, kernel.end));
    }
    // Latest end of the kernels up to each: where it is before a range, none of them reaches into it.
    let latest: HashMap<u32, Vec<i64>> = kernels
        .iter()
        .map(|(&process, kernels)| {
            let mut latest = i64::MIN;
            let ends = kernels.iter().map(|kernel| {
                latest = latest.max(kernel.end);
                latest
            });
            (process, ends.collect())
        })
        .collect();
    let mut ranges: HashMap<(StringId, u32), Vec<Interval>> = HashMap::new();
    for marker in markers {
        ranges.entry((marker.name, marker.process)).or_default().push(span(marker));
    }
    let mut found: HashMap<StringId, Work> = HashMap::new();
    for ((name, process), ranges) in ranges {
        let (Some(kernels), Some(latest)) = (kernels.get(&process), latest.get(&process)) else { continue };
        let work = found.entry(name).or_default();
        // Kernels before this one are counted; a kernel may reach into several ranges.
        let mut counted = 0;
        for range in ranges.into_iter().collect::<IntervalSet>().iter() {
            let first = latest.partition_point(|&end| end <= range.start);
            let end = kernels.partition_point(|kernel| kernel.start < range.end);
            for (position, kernel) in kernels.iter().enumerate().take(end).skip(first) {
                let shared = kernel.intersection(range);
                if shared.is_empty() {
                    continue;
                }
                // In an earlier range all kernels that begin before its end were looked at.
                let is_new = position >= counted;
                work.kernels += i64::from(is_new);
                work.spans.push(shared);
            }
            counted = counted.max(end);
        }
    }
    found
}
