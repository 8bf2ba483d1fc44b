use proptest::prelude::*;

use super::*;
use crate::hand_made::{Line, THEIRS, conventions, names, report, table};

fn on(device: u32, name: &'static str, duration: f64) -> Line {
    Line { device: Some(device), duration: Some(duration), ..Line::op(name) }
}

fn merged(lines: &[Line], options: &MetalOptions) -> (Vec<MergedRow>, Vec<MetalNotice>) {
    let rows: Vec<u32> = (0..lines.len() as u32).collect();
    let mut notices = Vec::new();
    (merge(&table(lines), &rows, options, &mut notices), notices)
}

fn theirs() -> MetalOptions {
    MetalOptions { conventions: THEIRS, ..MetalOptions::default() }
}

#[test]
fn the_slowest_device_stands_for_a_call_and_collectives_take_the_mean() {
    let products = [93591.0, 93758.0, 94250.0, 94167.0, 93053.0, 93885.0, 93881.0, 92929.0];
    let scatters = [200_216.0, 193_804.0, 194_712.0, 175_099.0, 210_178.0, 206_078.0, 192_134.0, 193_600.0];
    let mut lines: Vec<Line> = Vec::new();
    for (call, name, times) in
        [(0, "MatmulDeviceOperation", products), (1, "ReduceScatterMinimalAsyncDeviceOperation", scatters)]
    {
        let op = |(device, time): (usize, f64)| Line { call: Some(call), ..on(device as u32, name, time) };
        lines.extend(times.into_iter().enumerate().map(op));
    }
    for options in [theirs(), MetalOptions::default()] {
        let report = report(&lines, options);
        let rows: Vec<_> = report.ops.iter().map(|op| (op.id, op.device, op.device_time_us)).collect();
        assert_eq!(rows, [(4, Some(2), Some(94.25)), (10, Some(0), Some(195.727_625))]);
        assert_eq!(report.ops[0].merged_rows, [0, 1, 3, 4, 5, 6, 7]);
    }
    for (collective_time, expected) in [(CollectiveTime::Min, 175.099), (CollectiveTime::Max, 210.178)] {
        let report = report(&lines, MetalOptions { collective_time, ..MetalOptions::default() });
        assert_eq!(report.ops[1].device_time_us, Some(expected));
    }
}

#[test]
fn an_operation_that_one_device_lacks_does_not_disturb_the_others() {
    for has_calls in [true, false] {
        let line = |device, name, call| Line { call: has_calls.then_some(call), ..on(device, name, 1.0) };
        let lines = [
            line(0, "A", 1),
            line(0, "B", 2),
            line(0, "C", 3),
            line(1, "X", 0),
            line(1, "A", 1),
            line(1, "B", 2),
            line(1, "C", 3),
        ];
        assert_eq!(names(&report(&lines, theirs())), "A B C X A B C");
        let ours = report(&lines, MetalOptions::default());
        assert_eq!(names(&ours), "A B C X");
        assert_eq!(ours.ops.iter().map(|op| op.merged_rows.len()).collect::<Vec<_>>(), [1, 1, 1, 0]);
        let incomplete =
            MetalNotice::IncompleteCalls { calls: 1, first: "X".to_owned(), id: 5, lacking: vec![0] };
        assert!(ours.notices.contains(&incomplete), "{:?}", ours.notices);
        assert_eq!(ours.notices.contains(&MetalNotice::AlignedByName { rows: 7 }), !has_calls);
    }
}

#[test]
fn replays_of_a_trace_and_repeated_calls_are_told_apart() {
    let line = |device, replay| Line { call: Some(4), trace: Some(1), replay, ..on(device, "A", 1.0) };
    // Device 1 lacks the first replay.
    let lines = [line(0, Some(1)), line(0, Some(2)), line(1, Some(2))];
    let (rows, _) = merged(&lines, &MetalOptions::default());
    assert_eq!(
        rows.iter().map(|row| (row.row, row.others.clone())).collect::<Vec<_>>(),
        [(0, vec![]), (1, vec![2])]
    );
    let repeated = [line(0, None), line(0, None), line(1, None), line(1, None)];
    let (rows, _) = merged(&repeated, &MetalOptions::default());
    assert_eq!(
        rows.iter().map(|row| (row.row, row.others.clone())).collect::<Vec<_>>(),
        [(0, vec![2]), (1, vec![3])]
    );
}

#[test]
fn the_same_calls_of_two_hosts_are_one() {
    let line = |file, device, time| Line { file, call: Some(3), ..on(device, "A", time) };
    let lines = [line(0, 0, 1.0), line(0, 1, 2.0), line(1, 2, 9.0), line(1, 3, 4.0)];
    let (rows, notices) = merged(&lines, &MetalOptions::default());
    assert_eq!(rows, [MergedRow { row: 2, others: vec![0, 1, 3], duration_ns: None }]);
    assert_eq!(notices, [MetalNotice::DevicesMerged { devices: 4, rows: 4, into: 1 }]);
}

#[test]
fn durations_that_cannot_be_right_do_not_count() {
    let invalid = Line { duration: None, ..on(0, "A", 0.0) };
    for options in [theirs(), MetalOptions::default()] {
        let (rows, _) = merged(&[invalid, on(1, "A", 3.0)], &options);
        assert_eq!(rows[0].row, 1);
        let gather = |line: Line| Line { name: "AllGather", ..line };
        let (rows, _) = merged(&[gather(invalid), gather(on(1, "A", 3.0))], &options);
        assert_eq!((rows[0].row, rows[0].duration_ns), (0, Some(Some(3.0))));
        let (rows, _) = merged(&[gather(invalid), gather(Line { device: Some(1), ..invalid })], &options);
        assert_eq!((rows[0].row, rows[0].duration_ns), (0, Some(None)));
    }
}

#[test]
fn rows_without_a_device_stay_where_they_are() {
    let nowhere = Line { device: None, ..Line::op("N") };
    let lines = [on(0, "A", 1.0), Line::host("add (torch)"), nowhere, on(1, "A", 2.0), on(0, "B", 1.0)];
    let (rows, notices) = merged(&lines, &MetalOptions::default());
    assert_eq!(rows.iter().map(|row| row.row).collect::<Vec<_>>(), [3, 1, 2, 4]);
    assert!(notices.contains(&MetalNotice::DeviceUnknown { rows: 1 }));
    let (_, notices) = merged(&[nowhere], &MetalOptions::default());
    assert_eq!(notices, [MetalNotice::NoDevices]);
}

#[test]
fn devices_are_kept_apart_on_request_each_without_its_first_gap() {
    let line = |device, name| Line { gap: Some(500.0), ..on(device, name, 1.0) };
    let lines = [line(0, "A"), line(1, "A"), line(0, "B"), line(1, "B")];
    let gaps = |are_theirs| {
        let options = MetalOptions {
            conventions: conventions(are_theirs),
            merge_devices: false,
            ..MetalOptions::default()
        };
        report(&lines, options).ops.iter().map(|op| op.gap_us).collect::<Vec<_>>()
    };
    assert_eq!(gaps(false), [None, None, Some(0.5), Some(0.5)]);
    assert_eq!(gaps(true), [None, Some(0.5), Some(0.5), Some(0.5)]);
}

proptest! {
    #[test]
    fn every_row_occurs_once_and_no_device_twice_in_a_row(
        picks in prop::collection::vec((0_u32..4, 0_usize..3, any::<bool>()), 0..60),
        are_theirs in any::<bool>(),
        numbered in any::<bool>(),
    ) {
        let name = |at: usize| ["A", "B", "AllGather"][at];
        let lines: Vec<Line> = picks
            .iter()
            .enumerate()
            .map(|(at, &(device, op, host))| if host {
                Line::host("h (torch)")
            } else {
                Line { call: numbered.then_some(at as i64 / 4), ..on(device, name(op), at as f64) }
            })
            .collect();
        let (rows, _) = merged(&lines, &MetalOptions { conventions: conventions(are_theirs), ..MetalOptions::default() });
        let mut all = Vec::new();
        for row in &rows {
            let members: Vec<u32> = std::iter::once(row.row).chain(row.others.iter().copied()).collect();
            let mut devices: Vec<_> = members.iter().map(|&row| lines[row as usize].device).collect();
            devices.sort_unstable();
            devices.dedup();
            prop_assert_eq!(devices.len(), members.len());
            prop_assert!(members.iter().all(|&member| lines[member as usize].name == lines[row.row as usize].name));
            all.extend(members);
        }
        all.sort_unstable();
        prop_assert_eq!(all, (0..lines.len() as u32).collect::<Vec<_>>());
    }
}
