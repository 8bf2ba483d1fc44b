//! Memory copies by size and direction.

use trace_ingest::rocprof::CopyDirection;

use super::fixture::{Fixture, integers, table, texts};
use crate::rocprof::{PftraceOmission, PftraceOptions};

const SHEET: &str = "memory_copy_by_copy_bytes";

#[test]
fn copies_of_one_size_and_direction_are_one_row() {
    let mut fixture = Fixture::new();
    let (host, gpu, other) = (fixture.agent("0"), fixture.agent("Agent 2"), fixture.agent("37946"));
    fixture.recorded.profile.agents[other as usize].logical_node_id = Some(3);
    use CopyDirection::{DeviceToDevice, DeviceToHost, HostToDevice, HostToHost, Other};
    for (direction, bytes, source, destination) in [
        (HostToDevice, Some(20_138), Some(host), Some(gpu)),
        (HostToDevice, Some(20_138), None, Some(gpu)),
        (HostToDevice, Some(20_138), Some(host), Some(other)),
        (DeviceToHost, Some(4_096), Some(gpu), Some(host)),
        (DeviceToDevice, Some(4_096), Some(gpu), Some(other)),
        (DeviceToDevice, Some(4_096), Some(gpu), None),
        (HostToHost, Some(100_000), Some(host), Some(host)),
        (Other, Some(100_000), None, None),
        (HostToDevice, None, Some(host), Some(gpu)),
    ] {
        let copy = fixture.copy(direction, bytes, 0, 10);
        (copy.source, copy.destination) = (source, destination);
    }
    let analysis = fixture.analysis(PftraceOptions::default());
    let frame = table(&analysis, SHEET);
    let rows: Vec<(i64, String, i64)> = integers(&frame, "copy_bytes")
        .into_iter()
        .zip(texts(&frame, "direction"))
        .zip(integers(&frame, "count"))
        .map(|((bytes, direction), count)| (bytes, direction, count))
        .collect();
    let row = |bytes, direction: &str, count| (bytes, direction.to_owned(), count);
    assert_eq!(
        rows,
        [
            row(4_096, "d2d (GPU 2 -> GPU 3)", 1),
            row(4_096, "d2d (GPU 2 -> GPU ?)", 1),
            row(4_096, "d2h (GPU 2)", 1),
            row(20_138, "h2d (GPU 2)", 2),
            row(20_138, "h2d (GPU 3)", 1),
            row(100_000, "other", 2),
        ]
    );
    assert_eq!(PftraceOmission::of(&analysis), [PftraceOmission::CopiesWithoutSize { count: 1 }]);
}
