//! Sheets of the use of memory.

use trace_ingest::xplane::Profile;

use super::memory::{MemoryEvent, allocator_use, timeline};
use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::JaxAnalysis;
use tree_perf::{ChartShape, Sheet, SheetChart};

const ALLOCATOR: Column = Column::new(
    "allocator",
    ColumnKind::Text,
    "Allocator, such as GPU_0_bfc of the first GPU; the device where the profiler names none.",
);

/// One row per allocator.
pub(crate) const ALLOCATORS: Sheet<JaxAnalysis> = Sheet {
    name: "memory_allocators",
    current_name: "memory_allocators",
    description: "Use of memory by allocator, from its allocations and their ends during the profile.",
    columns: &[
        ALLOCATOR,
        Column::new("allocations", ColumnKind::Count, "Allocations."),
        Column::new("deallocations", ColumnKind::Count, "Ends of allocations."),
        Column::new(
            "peak (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Most memory in use during the profile in MiB.",
        ),
        Column::new(
            "peak_time_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "When that was first, in ms since the first event of the profile.",
        ),
        Column::new(
            "lifetime_peak (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Most memory in use since the allocator began, before the profile included, in MiB.",
        ),
        Column::new(
            "capacity (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Memory in use and left in MiB, after the last event.",
        ),
        Column::new(
            "first_in_use (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Memory in use after the first event in MiB.",
        ),
        Column::new(
            "last_in_use (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Memory in use after the last event in MiB: more than at first may be a leak.",
        ),
        Column::new(
            "allocated_in_all (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Sum of all allocations in MiB.",
        ),
        Column::new(
            "largest_allocation (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Largest allocation in MiB.",
        ),
        Column::new(
            "rounding (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "What allocations gave more than was asked for, summed, in MiB.",
        ),
        Column::new(
            "max_fragmentation (%)",
            ColumnKind::Number(Unit::Percent),
            "Largest share of the free memory that is not in its largest piece, in percent.",
        ),
    ],
    chart: Some(SheetChart {
        title: "Peak of memory by allocator",
        categories: "allocator",
        values: "peak (MiB)",
        axis: "memory in use (MiB)",
        shape: ChartShape::Bars(16),
    }),
    build: |analysis| {
        let rows = allocator_use(&memory_events(analysis.profile()));
        if rows.is_empty() {
            return Ok(None);
        }
        let mut frame = FrameBuilder::default();
        frame.text("allocator", rows.iter().map(|row| Some(&row.allocator)));
        frame.integer("allocations", rows.iter().map(|row| Some(row.allocations as i64)));
        frame.integer("deallocations", rows.iter().map(|row| Some(row.deallocations as i64)));
        frame.float("peak (MiB)", rows.iter().map(|row| mib(row.peak.0)));
        frame.float("peak_time_ms", rows.iter().map(|row| Some(analysis.ms(row.peak.1))));
        frame.float("lifetime_peak (MiB)", rows.iter().map(|row| mib(row.lifetime_peak)));
        frame.float("capacity (MiB)", rows.iter().map(|row| mib(row.capacity)));
        frame.float("first_in_use (MiB)", rows.iter().map(|row| mib(row.first_and_last.0)));
        frame.float("last_in_use (MiB)", rows.iter().map(|row| mib(row.first_and_last.1)));
        frame.float("allocated_in_all (MiB)", rows.iter().map(|row| mib(row.allocated_in_all)));
        frame.float("largest_allocation (MiB)", rows.iter().map(|row| mib(row.largest)));
        frame.float("rounding (MiB)", rows.iter().map(|row| mib(row.rounding)));
        frame.float(
            "max_fragmentation (%)",
            rows.iter().map(|row| row.fragmentation.map(|share| share * 100.0)),
        );
        frame.finish().map(Some)
    },
};

/// Stretches of the timeline: as many as a chart can show.
const STRETCHES: u32 = 1_000;

/// One row per allocator and stretch of time.
pub(crate) const TIMELINE: Sheet<JaxAnalysis> = Sheet {
    name: "memory_timeline",
    current_name: "memory_timeline",
    description: "Memory in use over time by allocator: a row for each thousandth of the time from the first allocation to the last in which the allocator did something.",
    columns: &[
        ALLOCATOR,
        Column::new(
            "time_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "First event of the stretch in ms since the first event of the profile.",
        ),
        Column::new(
            "in_use (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Memory in use after the last event of the stretch in MiB.",
        ),
        Column::new(
            "max_in_use (MiB)",
            ColumnKind::Number(Unit::Mebibytes),
            "Most memory in use in the stretch in MiB.",
        ),
        Column::new("events", ColumnKind::Count, "Allocations and ends of allocations in the stretch."),
    ],
    chart: None,
    build: |analysis| {
        let timeline = timeline(&memory_events(analysis.profile()), STRETCHES);
        let rows =
            || timeline.iter().flat_map(|(name, points)| points.iter().map(move |point| (name, point)));
        if timeline.is_empty() {
            return Ok(None);
        }
        let mut frame = FrameBuilder::default();
        frame.text("allocator", rows().map(|(name, _)| Some(name)));
        frame.float("time_ms", rows().map(|(_, point)| Some(analysis.ms(point.time))));
        frame.float("in_use (MiB)", rows().map(|(_, point)| mib(point.allocated)));
        frame.float("max_in_use (MiB)", rows().map(|(_, point)| mib(point.most)));
        frame.integer("events", rows().map(|(_, point)| Some(point.events as i64)));
        frame.finish().map(Some)
    },
};

fn mib(bytes: u64) -> Option<f64> {
    Some(bytes as f64 / f64::from(1 << 20))
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
        let mut memory = MemoryEvent {
            allocator: String::new(),
            time: events.start(event),
            is_allocation,
            requested: 0,
            bytes: 0,
            allocated: 0,
            available: 0,
            peak: 0,
            fragmentation: None,
        };
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
