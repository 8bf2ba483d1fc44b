//! Use of memory by the allocators of devices and host, from their allocations.

use std::collections::BTreeMap;

use sheets::ColumnKind::{Number, Text};
use sheets::Unit::Mebibytes;
use sheets::names;
use sheets::{Chart, ChartShape, Column, Sheet};
use trace_ingest::Picoseconds;
use trace_ingest::xplane::Profile;

use crate::JaxAnalysis;
use crate::sheet::sheet;

/// An allocation or its end, as the allocator recorded it.
#[derive(Clone, Debug, Default, PartialEq)]
struct MemoryEvent {
    /// Name of the allocator, such as `GPU_0_bfc`.
    allocator: String,
    time: Picoseconds,
    /// Whether memory was given, not taken back.
    is_allocation: bool,
    /// Bytes that the program asked for.
    requested: u64,
    /// Bytes that the allocator gave or took back.
    bytes: u64,
    /// Bytes in use afterwards.
    allocated: u64,
    /// Bytes left.
    available: u64,
    /// Most bytes in use since the allocator began.
    peak: u64,
    /// Share of the free memory that is not in its largest piece, 0 to 1.
    fragmentation: Option<f64>,
}

/// What an allocator did during a profile.
#[derive(Clone, Debug, PartialEq)]
struct AllocatorUse {
    allocator: String,
    allocations: usize,
    /// Ends of allocations.
    deallocations: usize,
    /// Bytes that all allocations gave.
    allocated_in_all: u64,
    /// Bytes of the largest allocation.
    largest: u64,
    /// Bytes in use after the first event and after the last.
    first_and_last: (u64, u64),
    /// Most bytes in use at any time of the profile, and when.
    peak: (u64, Picoseconds),
    /// Most bytes in use since the allocator began, which may be before the profile.
    lifetime_peak: u64,
    /// Bytes that the allocator can give in all: in use and left, by the last event.
    capacity: u64,
    /// Largest fragmentation.
    fragmentation: Option<f64>,
    /// Bytes that allocations gave more than was asked for.
    rounding: u64,
}

/// Events by allocator, each in order of time.
fn by_allocator(events: &[MemoryEvent]) -> BTreeMap<&str, Vec<&MemoryEvent>> {
    let mut allocators: BTreeMap<&str, Vec<&MemoryEvent>> = BTreeMap::new();
    for event in events {
        allocators.entry(&event.allocator).or_default().push(event);
    }
    for events in allocators.values_mut() {
        events.sort_by_key(|event| event.time);
    }
    allocators
}

/// What each allocator did, by name.
fn allocator_use(events: &[MemoryEvent]) -> Vec<AllocatorUse> {
    let summarize_allocator = |(allocator, events): (&str, Vec<&MemoryEvent>)| {
        let given = || events.iter().filter(|event| event.is_allocation);
        let (first, last) = (events.first()?, events.last()?);
        let sum = |figure: fn(&MemoryEvent) -> u64| {
            given().fold(0_u64, |sum, event| sum.saturating_add(figure(event)))
        };
        // Of several times with as much in use, the first.
        let peak = events.iter().rev().max_by_key(|event| event.allocated)?;
        Some(AllocatorUse {
            allocator: allocator.to_owned(),
            allocations: given().count(),
            deallocations: events.len() - given().count(),
            allocated_in_all: sum(|event| event.bytes),
            largest: given().map(|event| event.bytes).max().unwrap_or(0),
            first_and_last: (first.allocated, last.allocated),
            peak: (peak.allocated, peak.time),
            lifetime_peak: events.iter().map(|event| event.peak).max().unwrap_or(0),
            capacity: last.allocated.saturating_add(last.available),
            fragmentation: events.iter().filter_map(|event| event.fragmentation).reduce(f64::max),
            rounding: sum(|event| event.bytes.saturating_sub(event.requested)),
        })
    };
    by_allocator(events).into_iter().filter_map(summarize_allocator).collect()
}

/// Memory in use in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemoryPoint {
    /// First event of the stretch.
    time: Picoseconds,
    /// Bytes in use after its last event.
    allocated: u64,
    /// Most bytes in use in it.
    most: u64,
    events: usize,
}

/// Memory in use over time, by allocator: the time from the first event of any to the last is cut into `stretches` of
/// one length, and those without an event are left out.
fn timeline(events: &[MemoryEvent], stretches: u32) -> Vec<(String, Vec<MemoryPoint>)> {
    let times = || events.iter().map(|event| event.time.0);
    let (Some(first), Some(last)) = (times().min(), times().max()) else { return Vec::new() };
    let stretches = i64::from(stretches.max(1));
    let length = (last.saturating_sub(first) / stretches).saturating_add(1);
    let points = |(allocator, events): (&str, Vec<&MemoryEvent>)| {
        let stretch = |event: &MemoryEvent| event.time.0.saturating_sub(first) / length;
        let points = events.chunk_by(|a, b| stretch(a) == stretch(b)).filter_map(|events| {
            Some(MemoryPoint {
                time: events.first()?.time,
                allocated: events.last()?.allocated,
                most: events.iter().map(|event| event.allocated).max()?,
                events: events.len(),
            })
        });
        (allocator.to_owned(), points.collect())
    };
    by_allocator(events).into_iter().map(points).collect()
}

const ALLOCATOR: Column = Column::new(
    "allocator",
    Text,
    "Allocator, such as GPU_0_bfc for the first GPU; the device if not recorded.",
);
const PEAK: Column =
    Column::new("peak (MiB)", Number(Mebibytes), "Peak memory in use during the profile.").per("moment");

pub(super) fn allocators_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    sheet(
        "memory_allocators",
        "Memory use by allocator, from allocations and frees during the profile.",
        [
            ALLOCATOR.field(|row: &AllocatorUse| row.allocator.as_str().into()),
            Column::count("allocations", "Allocations.").field(|row: &AllocatorUse| row.allocations.into()),
            Column::count("deallocations", "Number of frees.")
                .field(|row: &AllocatorUse| row.deallocations.into()),
            PEAK.field(|row: &AllocatorUse| mib(row.peak.0).into()),
            Column::milliseconds(
                "peak_time_ms",
                "Time the peak was first reached, relative to the profile's first event.",
            )
            .field(|row: &AllocatorUse| row.peak.1.to_milliseconds().into()),
            Column::new(
                "lifetime_peak (MiB)",
                Number(Mebibytes),
                "Peak memory in use since the allocator was created, including before the profile.",
            )
            .per("moment")
            .field(|row: &AllocatorUse| mib(row.lifetime_peak).into()),
            Column::new(
                "capacity (MiB)",
                Number(Mebibytes),
                "Memory in use plus free memory, after the last event.",
            )
            .field(|row: &AllocatorUse| mib(row.capacity).into()),
            Column::new("first_in_use (MiB)", Number(Mebibytes), "Memory in use after the first event.")
                .field(|row: &AllocatorUse| mib(row.first_and_last.0).into()),
            Column::new(
                "last_in_use (MiB)",
                Number(Mebibytes),
                "Memory in use after the last event: growth over first_in_use may be a leak.",
            )
            .field(|row: &AllocatorUse| mib(row.first_and_last.1).into()),
            Column::new("allocated_in_all (MiB)", Number(Mebibytes), "Total bytes of all allocations.")
                .field(|row: &AllocatorUse| mib(row.allocated_in_all).into()),
            Column::new("largest_allocation (MiB)", Number(Mebibytes), "Largest single allocation.")
                .per("allocation")
                .field(|row: &AllocatorUse| mib(row.largest).into()),
            Column::new("rounding (MiB)", Number(Mebibytes), "Sum of allocated minus requested memory.")
                .field(|row: &AllocatorUse| mib(row.rounding).into()),
            Column::percent(
                "max_fragmentation (%)",
                "Maximum fragmentation: share of free memory outside its largest block.",
            )
            .per("moment")
            .field(|row: &AllocatorUse| row.fragmentation.map(|share| share * 100.0).into()),
        ],
        |analysis| allocator_use(&memory_events(analysis.profile())),
    )
    .with_chart(Chart::new(
        "Peak memory by allocator",
        ALLOCATOR.name,
        PEAK.name,
        "memory in use (MiB)",
        ChartShape::Bars(16),
    ))
}

const TIME: Column = Column::milliseconds(
    "time_ms",
    "Time of the interval's first event, relative to the profile's first event.",
)
.distinguishing();

/// Stretches of the timeline: as many as a chart can show.
const STRETCHES: u32 = 1_000;

/// One row per allocator and stretch of time.
pub(super) fn timeline_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    sheet(
        names::MEMORY_TIMELINE,
        "Memory in use over time by allocator, in 1,000 equal intervals from the first to the last allocation or free; \
         intervals without activity are omitted.",
        [
            ALLOCATOR.field(|row: &(String, MemoryPoint)| row.0.as_str().into()),
            TIME.field(|row: &(String, MemoryPoint)| row.1.time.to_milliseconds().into()),
            Column::new(
                "in_use (MiB)",
                Number(Mebibytes),
                "Memory in use after the last event of the interval.",
            )
            .field(|row: &(String, MemoryPoint)| mib(row.1.allocated).into()),
            Column::new("max_in_use (MiB)", Number(Mebibytes), "Peak memory in use in the interval.")
                .per("moment")
                .field(|row: &(String, MemoryPoint)| mib(row.1.most).into()),
            Column::count("events", "Number of allocations and frees in the interval.")
                .field(|row: &(String, MemoryPoint)| row.1.events.into()),
        ],
        |analysis| {
            let timeline = timeline(&memory_events(analysis.profile()), STRETCHES).into_iter();
            timeline
                .flat_map(|(name, points)| points.into_iter().map(move |point| (name.clone(), point)))
                .collect()
        },
    )
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The allocations of a profile and their ends.
fn memory_events(profile: &Profile) -> Vec<MemoryEvent> {
    let events = profile.trace.events();
    let mut found = Vec::new();
    for &event in profile.planes.iter().flat_map(|plane| &plane.lines).flat_map(|line| &line.events) {
        let is_allocation = match profile.trace.name(event) {
            "MemoryAllocation" => true,
            "MemoryDeallocation" => false,
            _ => continue,
        };
        let mut memory =
            MemoryEvent { time: Picoseconds(events.start(event)), is_allocation, ..MemoryEvent::default() };
        for (name, value) in profile.event_stats(event) {
            let bytes = || value.as_u64().unwrap_or(0);
            match name {
                "allocator_name" => memory.allocator = value.as_str().unwrap_or_default().to_owned(),
                "requested_bytes" => memory.requested = bytes(),
                "allocation_bytes" => memory.bytes = bytes(),
                "bytes_allocated" => memory.allocated = bytes(),
                "bytes_available" => memory.available = bytes(),
                "peak_bytes_in_use" => memory.peak = bytes(),
                // TPUs name no allocator.
                "index_on_host" | "device_ordinal" if memory.allocator.is_empty() => {
                    memory.allocator = format!("device {}", bytes());
                }
                "fragmentation" => memory.fragmentation = value.as_f64(),
                _ => {}
            }
        }
        found.push(memory);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(allocator: &str, time: i64, is_allocation: bool, bytes: u64, allocated: u64) -> MemoryEvent {
        MemoryEvent {
            allocator: allocator.to_owned(),
            time: Picoseconds(time),
            is_allocation,
            requested: bytes - 1,
            bytes,
            allocated,
            available: 1_000 - allocated,
            peak: 900,
            fragmentation: Some(allocated as f64 / 1_000.0),
        }
    }

    fn events() -> Vec<MemoryEvent> {
        vec![
            // Threads record on their own: not in order.
            event("GPU_0_bfc", 300, false, 100, 200),
            event("GPU_0_bfc", 100, true, 100, 100),
            event("GPU_0_bfc", 200, true, 200, 300),
            event("GPU_1_bfc", 150, true, 50, 50),
            event("GPU_0_bfc", 1_100, true, 100, 300),
        ]
    }

    #[test]
    fn each_allocator_has_its_peak_and_when_it_came_first() {
        let uses = allocator_use(&events());
        assert_eq!(uses.len(), 2);
        let gpu0 = &uses[0];
        assert_eq!((gpu0.allocations, gpu0.deallocations), (3, 1));
        assert_eq!((gpu0.allocated_in_all, gpu0.largest, gpu0.rounding), (400, 200, 3));
        assert_eq!(
            (gpu0.first_and_last, gpu0.peak, gpu0.lifetime_peak),
            ((100, 300), (300, Picoseconds(200)), 900)
        );
        assert_eq!((gpu0.capacity, gpu0.fragmentation), (1_000, Some(0.3)));
        assert_eq!((uses[1].allocator.as_str(), uses[1].deallocations), ("GPU_1_bfc", 0));
    }

    #[test]
    fn the_timeline_keeps_the_peak_of_each_stretch() {
        // 1000 ps in 2 stretches of 501 ps.
        let timeline = timeline(&events(), 2);
        let point =
            |time, allocated, most, events| MemoryPoint { time: Picoseconds(time), allocated, most, events };
        assert_eq!(
            timeline[0],
            ("GPU_0_bfc".to_owned(), vec![point(100, 200, 300, 3), point(1_100, 300, 300, 1)])
        );
        assert_eq!(timeline[1].1, [point(150, 50, 50, 1)]);
        assert_eq!(super::timeline(&[], 2), []);
    }
}
