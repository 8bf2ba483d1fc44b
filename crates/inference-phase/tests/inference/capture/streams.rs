//! Replays on several streams.

use std::collections::BTreeMap;

use inference_phase::capture::{CaptureLibrary, merge};
use proptest::prelude::*;
use trace_ingest::ReadOptions;
use trace2tree::TraceTree;

use crate::capture::trace::{Call, Recording, assert_conserved, device_events, has_shapes};

/// Time of device events by rows of the first operand of their operator.
fn time_by_rows(tree: &TraceTree) -> BTreeMap<String, i64> {
    let mut times = BTreeMap::new();
    for event in device_events(tree) {
        let operator = tree.operator(event).unwrap();
        let dims = tree.trace().argument(operator, |signature| signature.dims).unwrap();
        let shape = dims.display(trace_ingest::Sequence::List).to_string();
        *times.entry(shape).or_insert(0) += tree.trace().events().duration(event);
    }
    times
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Streams have kernels of their own; however they interleave, every shape has exactly the time of the
    /// kernels that were captured with it.
    #[test]
    fn every_shape_has_the_time_of_its_kernels(
        launches in prop::collection::vec((0i64..3, 0i64..3, 1i64..9), 1..24),
        orders in prop::collection::vec(prop::collection::vec(0usize..3, 40), 1..4),
    ) {
        let names: Vec<String> = launches.iter().map(|(stream, kernel, _)| format!("k{stream}{kernel}")).collect();
        let calls: Vec<Call<'_>> = launches
            .iter()
            .zip(&names)
            .map(|((stream, _, rows), name)| ("aten::mm", 100 * stream + rows, Some(name.as_str())))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let mut recording = Recording::default();
        recording.capture(&calls, true);
        recording.annotate("capture_32_FULL", (0, 10_000));
        recording.write(&folder.path().join("capture.json"));

        let mut replay = Recording::default();
        let mut expected: BTreeMap<String, i64> = BTreeMap::new();
        for order in &orders {
            let mut queues = [const { Vec::new() }; 3];
            for (at, launch) in launches.iter().enumerate().rev() {
                queues[launch.0 as usize].push(at);
            }
            let turns = order.iter().copied().chain([0, 1, 2].repeat(launches.len()));
            let order: Vec<usize> = turns.filter_map(|stream| queues[stream].pop()).collect();
            let events: Vec<(&str, i64, i64)> =
                order.iter().map(|&at| (names[at].as_str(), launches[at].0, 3 + at as i64)).collect();
            for &at in &order {
                let rows = 100 * launches[at].0 + launches[at].2;
                *expected.entry(format!("[[{rows}, 8], [8, 16]]")).or_default() += (3 + at as i64) * 1000;
            }
            replay.step("step[DECODE bs=32]", &[&events]);
        }
        let before = replay.tree();
        let mut tree = before.clone();
        let mut library = CaptureLibrary::open(folder.path(), &ReadOptions::default()).unwrap();
        let report = merge(&mut tree, &mut library, &ReadOptions::default());
        prop_assert_eq!(report.merged(), orders.len());
        prop_assert_eq!(report.merged_device_events(), launches.len() * orders.len());
        assert_conserved(&before, &tree);
        prop_assert!(device_events(&tree).into_iter().all(|event| has_shapes(&tree, event)));
        prop_assert_eq!(time_by_rows(&tree), expected);
    }
}
