//! `memory_copy_bandwidth` and `memory_allocations`.

use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{Allocation, CopyDirection, MemoryCopy, Profile};

use super::{assert_rows, copy, profile, table};

const COPIES: &str = "direction | source | destination | size | Count | Bytes | Total Time (ms) | \
    Union Time (ms) | Bandwidth (GB/s) | Min Bandwidth (GB/s) | Max Bandwidth (GB/s) | \
    Union Bandwidth (GB/s)";

#[test]
fn bandwidth_is_by_direction_agents_and_size() {
    let mut profile = profile();
    let mut add = |direction, span, bytes, destination| {
        let copied = copy(&mut profile, direction, span, bytes);
        profile.copies.push(MemoryCopy { destination, ..copied });
    };
    // Two that overlap by half, one without a duration, one of another size, one to the other GPU.
    add(CopyDirection::HostToDevice, (0, 1_000), Some(8_000), Some(1));
    add(CopyDirection::HostToDevice, (500, 1_500), Some(32_000), Some(1));
    add(CopyDirection::HostToDevice, (9_000, 9_000), Some(4_096), Some(1));
    add(CopyDirection::HostToDevice, (2_000, 2_100), Some(100), Some(1));
    add(CopyDirection::HostToDevice, (2_000, 3_000), Some(2 << 20), Some(2));
    add(CopyDirection::Other, (0, 10), Some(20), None);
    assert_rows(
        &table(profile, "memory_copy_bandwidth").unwrap(),
        COPIES,
        &[
            "host to device | CPU 0 | GPU 0 | < 4 KiB | 1 | 100 | 0.0001 | 0.0001 | 1 | 1 | 1 | 1",
            &format!(
                "host to device | CPU 0 | GPU 0 | 4 KiB - 64 KiB | 3 | 44096 | 0.002 | 0.0015 | 22.048 | \
                 8 | 32 | {}",
                44_096.0 / 1_500.0
            ),
            "host to device | CPU 0 | GPU 1 | 1 MiB - 16 MiB | 1 | 2097152 | 0.001 | 0.001 | 2097.152 | \
             2097.152 | 2097.152 | 2097.152",
            "MEMORY_COPY_NONE | CPU 0 | - | < 4 KiB | 1 | 20 | 0.00001 | 0.00001 | 2 | 2 | 2 | 2",
        ],
    );
}

#[test]
fn copies_without_sizes_have_times_only() {
    let mut profile = profile();
    for span in [(0, 1_000), (3_000, 6_000)] {
        let copied = copy(&mut profile, CopyDirection::HostToDevice, span, None);
        profile.copies.push(copied);
    }
    let table = table(profile, "memory_copy_bandwidth").unwrap();
    let row = "host to device | CPU 0 | GPU 0 | - | 2 | - | 0.004 | 0.004 | - | - | - | -";
    assert_rows(&table, COPIES, &[row]);
    assert_rows(&table, "Mean Time (µs) | Min Time (µs) | Max Time (µs)", &["2 | 1 | 3"]);
}

#[test]
fn copies_without_durations_have_no_bandwidth() {
    let mut profile = profile();
    let copied = copy(&mut profile, CopyDirection::HostToDevice, (5, 5), Some(64));
    profile.copies.push(copied);
    let row = "host to device | CPU 0 | GPU 0 | < 4 KiB | 1 | 64 | 0 | 0 | - | - | - | -";
    assert_rows(&table(profile, "memory_copy_bandwidth").unwrap(), COPIES, &[row]);
}

const ALLOCATIONS: &str =
    "agent | operation | Count | Bytes | Unknown Addresses | Peak Live Bytes | Live Bytes at End";
const ALLOCATE: &str = "MEMORY_ALLOCATION_ALLOCATE";
const FREE: &str = "MEMORY_ALLOCATION_FREE";

/// Start, name, process, agent, address and size.
type Record = (i64, &'static str, u32, Option<u32>, u64, u64);

fn with(records: &[Record]) -> Profile {
    let mut profile = profile();
    for &(start, name, process, agent, address, bytes) in records {
        let name = profile.strings.intern(name);
        let end = start + 1_000;
        profile.allocations.push(Allocation {
            start: Nanoseconds(start),
            end: Nanoseconds(end),
            correlation: None,
            address,
            bytes,
            process,
            agent,
            name,
        });
    }
    profile
}

#[test]
fn memory_is_live_from_allocation_to_end_in_time_order() {
    // Out of order in the file; 100 + 50 are live at once, the 30 of the other GPU are never freed.
    let profile = with(&[
        (30, FREE, 0, None, 0xA, 0),
        (10, ALLOCATE, 0, Some(1), 0xA, 100),
        (20, ALLOCATE, 0, Some(1), 0xB, 50),
        (40, ALLOCATE, 0, Some(1), 0xC, 80),
        (50, FREE, 0, None, 0xB, 0),
        (60, FREE, 0, None, 0xC, 0),
        (15, ALLOCATE, 0, Some(2), 0xD, 30),
    ]);
    assert_rows(
        &table(profile, "memory_allocations").unwrap(),
        ALLOCATIONS,
        &[
            &format!("GPU 0 | {ALLOCATE} | 3 | 230 | 0 | 150 | 0"),
            &format!("GPU 0 | {FREE} | 3 | 230 | 0 | 150 | 0"),
            &format!("GPU 1 | {ALLOCATE} | 1 | 30 | 0 | 30 | 30"),
        ],
    );
}

#[test]
fn processes_do_not_share_addresses() {
    let profile = with(&[(10, ALLOCATE, 0, Some(1), 0xA, 100), (20, FREE, 1, None, 0xA, 0)]);
    assert_rows(
        &table(profile, "memory_allocations").unwrap(),
        ALLOCATIONS,
        &[
            &format!("- | {FREE} | 1 | 0 | 1 | - | -"),
            &format!("GPU 0 | {ALLOCATE} | 1 | 100 | 0 | 100 | 100"),
        ],
    );
}

#[test]
fn memory_at_an_address_that_is_taken_replaces_what_was_there() {
    let profile = with(&[(10, ALLOCATE, 0, Some(1), 0xA, 100), (20, ALLOCATE, 0, Some(1), 0xA, 30)]);
    let row = &format!("GPU 0 | {ALLOCATE} | 2 | 130 | 0 | 100 | 30");
    assert_rows(&table(profile, "memory_allocations").unwrap(), ALLOCATIONS, &[row]);
}

#[test]
fn null_pointers_are_no_memory() {
    let profile = with(&[(10, ALLOCATE, 0, Some(1), 0, 100), (20, FREE, 0, None, 0, 0)]);
    let table = table(profile, "memory_allocations").unwrap();
    assert_rows(
        &table,
        ALLOCATIONS,
        &[&format!("- | {FREE} | 1 | 0 | 0 | - | -"), &format!("GPU 0 | {ALLOCATE} | 1 | 100 | 0 | - | -")],
    );
    assert_rows(&table, "Total Time (ms)", &["0.001", "0.001"]);
}
