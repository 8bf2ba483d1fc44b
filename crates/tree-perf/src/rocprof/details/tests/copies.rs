//! `memory_copy_bandwidth`.

use trace_ingest::rocprof::{CopyDirection, MemoryCopy};

use super::{assert_rows, copy, profile, table};

const COLUMNS: [&str; 12] = [
    "direction",
    "source",
    "destination",
    "size",
    "Count",
    "Bytes",
    "Total Time (ms)",
    "Union Time (ms)",
    "Bandwidth (GB/s)",
    "Min Bandwidth (GB/s)",
    "Max Bandwidth (GB/s)",
    "Union Bandwidth (GB/s)",
];

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
        &COLUMNS,
        &[
            &[
                "host to device",
                "CPU 0",
                "GPU 0",
                "< 4 KiB",
                "1",
                "100",
                "0.0001",
                "0.0001",
                "1",
                "1",
                "1",
                "1",
            ],
            &[
                "host to device",
                "CPU 0",
                "GPU 0",
                "4 KiB - 64 KiB",
                "3",
                "44096",
                "0.002",
                "0.0015",
                "22.048",
                "8",
                "32",
                format!("{}", 44_096.0 / 1_500.0).as_str(),
            ],
            &[
                "host to device",
                "CPU 0",
                "GPU 1",
                "1 MiB - 16 MiB",
                "1",
                "2097152",
                "0.001",
                "0.001",
                "2097.152",
                "2097.152",
                "2097.152",
                "2097.152",
            ],
            &[
                "MEMORY_COPY_NONE",
                "CPU 0",
                "-",
                "< 4 KiB",
                "1",
                "20",
                "0.00001",
                "0.00001",
                "2",
                "2",
                "2",
                "2",
            ],
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
    let row: &[&str] =
        &["host to device", "CPU 0", "GPU 0", "-", "2", "-", "0.004", "0.004", "-", "-", "-", "-"];
    assert_rows(&table, &COLUMNS, &[row]);
    assert_rows(&table, &["Mean Time (µs)", "Min Time (µs)", "Max Time (µs)"], &[&["2", "1", "3"]]);
}

#[test]
fn copies_without_durations_have_no_bandwidth() {
    let mut profile = profile();
    let copied = copy(&mut profile, CopyDirection::HostToDevice, (5, 5), Some(64));
    profile.copies.push(copied);
    let row: &[&str] =
        &["host to device", "CPU 0", "GPU 0", "< 4 KiB", "1", "64", "0", "0", "-", "-", "-", "-"];
    assert_rows(&table(profile, "memory_copy_bandwidth").unwrap(), &COLUMNS, &[row]);
}
