//! `memory_allocations`.

use trace_ingest::rocprof::{Allocation, Profile};

use super::{assert_rows, profile, table};

const COLUMNS: [&str; 7] =
    ["agent", "operation", "Count", "Bytes", "Unknown Addresses", "Peak Live Bytes", "Live Bytes at End"];
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
            start,
            end,
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
        &COLUMNS,
        &[
            &["GPU 0", ALLOCATE, "3", "230", "0", "150", "0"],
            &["GPU 0", FREE, "3", "230", "0", "150", "0"],
            &["GPU 1", ALLOCATE, "1", "30", "0", "30", "30"],
        ],
    );
}

#[test]
fn processes_do_not_share_addresses() {
    let profile = with(&[(10, ALLOCATE, 0, Some(1), 0xA, 100), (20, FREE, 1, None, 0xA, 0)]);
    assert_rows(
        &table(profile, "memory_allocations").unwrap(),
        &COLUMNS,
        &[&["-", FREE, "1", "0", "1", "-", "-"], &["GPU 0", ALLOCATE, "1", "100", "0", "100", "100"]],
    );
}

#[test]
fn memory_at_an_address_that_is_taken_replaces_what_was_there() {
    let profile = with(&[(10, ALLOCATE, 0, Some(1), 0xA, 100), (20, ALLOCATE, 0, Some(1), 0xA, 30)]);
    let row: &[&str] = &["GPU 0", ALLOCATE, "2", "130", "0", "100", "30"];
    assert_rows(&table(profile, "memory_allocations").unwrap(), &COLUMNS, &[row]);
}

#[test]
fn null_pointers_are_no_memory() {
    let profile = with(&[(10, ALLOCATE, 0, Some(1), 0, 100), (20, FREE, 0, None, 0, 0)]);
    let table = table(profile, "memory_allocations").unwrap();
    assert_rows(
        &table,
        &COLUMNS,
        &[&["-", FREE, "1", "0", "0", "-", "-"], &["GPU 0", ALLOCATE, "1", "100", "0", "-", "-"]],
    );
    assert_rows(&table, &["Total Time (ms)"], &[&["0.001"], &["0.001"]]);
}
