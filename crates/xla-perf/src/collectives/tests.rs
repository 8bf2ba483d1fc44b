//! Collectives of profiles as a whole.

use perf_models::CollectiveKind;
use trace_ingest::Picoseconds;

use super::sheets::profile_collective_sheets;
use super::{CollectiveAnalysis, collective_sheets};
use crate::JaxAnalysis;
use crate::fixture::{Recorded, analysis, assert_described, gpu, integers, kernel, table, texts};

const GATHER: &str = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
const REDUCE: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

/// Two executions of the program that start at these times; a gather that the fusion half hides, then an all-reduce.
fn kernels(starts: &[i64], gather: i64) -> Vec<Recorded> {
    let execution = |&start: &i64| {
        let id = start as u64 * 10;
        [
            kernel(GATHER, "all-gather-start", start, gather, id),
            kernel("fusion_kernel", "fusion.remat", start + gather / 2, gather, id + 1),
            kernel(REDUCE, "all-reduce.1", start + 20_000, 2_000, id + 2),
        ]
    };
    starts.iter().flat_map(execution).collect()
}

/// Two GPUs; the second one's profile starts after the first execution.
fn node(clock: i64, gathers: [i64; 2]) -> JaxAnalysis {
    let second = [clock + 100_500];
    let planes =
        vec![gpu(0, kernels(&[clock, clock + 100_000], gathers[0])), gpu(1, kernels(&second, gathers[1]))];
    analysis(planes, 2)
}

#[test]
fn groups_over_two_nodes_are_measured_by_their_fastest_device() {
    let (first, second) = (node(0, [4_000, 8_000]), node(5_000_000, [5_000, 2_000]));
    let collectives = CollectiveAnalysis::from_profiles(&[&first, &second], 2);
    assert_eq!((collectives.devices.total, collectives.devices.shown.len()), (4, 4));
    let gather = collectives.operations.iter().position(|of| of.kind == CollectiveKind::AllGather).unwrap();
    let operation = &collectives.operations[gather];
    assert_eq!(operation.groups.as_ref().map(ToString::to_string).as_deref(), Some("[2,2]<=[2,2]T(1,0)"));
    assert_eq!(
        (operation.input_bytes(), operation.output_bytes(), operation.channel),
        (1 << 20, 1 << 21, Some(2))
    );
    let slices: Vec<_> = collectives.slices.iter().filter(|slice| slice.operation == gather).collect();
    assert_eq!(slices.len(), 2);
    // The second device of each node lacks the first execution.
    assert_eq!((slices[0].ranks.as_slice(), slices[0].missing), (&[0, 2][..], 2));
    assert_eq!((slices[1].ranks.as_slice(), slices[1].missing), (&[0, 1, 2, 3][..], 0));
    let numbered: Vec<(u32, usize)> = collectives
        .kernels
        .iter()
        .filter(|kernel| kernel.operation == gather)
        .map(|kernel| (kernel.node, kernel.execution))
        .collect();
    assert_eq!(numbered, [(0, 0), (0, 1), (0, 1), (1, 0), (1, 1), (1, 1)]);
    let nodes = [&first, &second];
    assert!(collectives.kernels.iter().all(|kernel| {
        let event = &nodes[kernel.node as usize].device_events()[kernel.device_event];
        event.activity == gpu_timeline::Activity::Communication
    }));
    // Groups {0,2} and {1,3}: 4 µs of 4 and 5, 2 µs of 8 and 2.
    let fastest: Vec<(u64, i64)> =
        slices[1].groups.iter().map(|group| (group.fastest, group.time.0)).collect();
    assert_eq!(fastest, [(0, 4_000_000), (3, 2_000_000)]);
    let rate = |seconds: f64| 2.0 / 1024.0 / seconds;
    let expected = (rate(4e-6) + rate(2e-6)) / 2.0;
    assert!((slices[1].bandwidth.unwrap().algorithmic - expected).abs() < 1e-6);
    // Starts differ by 500 ns on each node, whatever the clocks of the two.
    assert_eq!(slices[1].start_skew, Some(Picoseconds(500_000)));
    // The fusion hides the later half of each gather.
    assert_eq!(slices[1].exposed.0, (4_000 + 8_000 + 5_000 + 2_000) * 1_000 / 2);
}

#[test]
fn the_sheets_of_a_run_have_the_devices_of_all_nodes() {
    let (first, second) = (node(0, [4_000, 8_000]), node(5_000_000, [5_000, 2_000]));
    let run = CollectiveAnalysis::from_profiles(&[&first, &second], 2);
    let sheets = collective_sheets();
    let sheet = |name: &str| table(&sheets, &run, name);
    assert_eq!(integers(&sheet("collectives"), "num_kernels"), [6, 6]);
    let slices = sheet("collective_slices");
    assert_eq!(integers(&slices, "num_devices"), [2, 2, 4, 4]);
    // Of two equal all-reduces the first; of the gathers those of 4 µs, on the first node.
    assert_eq!(integers(&slices, "fastest_device"), [0, 0, 0, 0]);
    let empty = CollectiveAnalysis::from_profiles(&[], 2);
    assert!(collective_sheets().iter().all(|sheet| sheet.table(&empty).unwrap().is_none()));
}

#[test]
fn sheets_say_what_each_column_means() {
    let analysis = node(0, [4_000, 8_000]);
    let sheets = profile_collective_sheets();
    assert_described(&sheets, &analysis);
    let sheet = |name: &str| table(&sheets, &analysis, name);
    let collectives = sheet("collectives");
    assert_eq!(texts(&collectives, "collective_name"), ["all-gather-start", "all-reduce.1"]);
    assert_eq!(texts(&collectives, "outputs"), ["f32[524288]", "f32[262144]"]);
    // Devices of the other node are in the groups, and so in those of all devices.
    assert_eq!(integers(&collectives, "group_size"), [2, 4]);
    assert_eq!(integers(&collectives, "incomplete_slices"), [1, 1]);
    let types = sheet("collective_types");
    assert_eq!(integers(&types, "num_operations"), [1, 1]);
    let slices = sheet("collective_slices");
    assert_eq!(integers(&slices, "num_devices"), [1, 1, 2, 2]);
}

#[test]
fn a_profile_without_collectives_has_no_such_sheets() {
    let analysis = analysis(vec![gpu(0, vec![kernel("fusion_kernel", "fusion.remat", 0, 10, 1)])], 8);
    assert!(profile_collective_sheets().iter().all(|sheet| sheet.table(&analysis).unwrap().is_none()));
}
