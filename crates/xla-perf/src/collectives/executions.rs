//! Executions of collectives: which kernels of several devices are one exchange, with its bandwidth, skew and exposed
//! time.

use std::collections::BTreeMap;

use trace_ingest::Picoseconds;

use super::operation::{CollectiveOperation, Devices, ExchangeGroups};

/// A kernel that executes a collective on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CollectiveKernel {
    /// Index of the collective among those of the analysis.
    pub(super) operation: usize,
    /// Number of the node that recorded it.
    pub(super) node: u32,
    /// Number of the device in its node.
    pub(super) device: u32,
    /// Start, on the clock of the node.
    pub(super) start: Picoseconds,
    pub(super) duration: Picoseconds,
    /// Part of the duration in which the device computed nothing.
    pub(super) exposed: Picoseconds,
}

impl CollectiveKernel {
    /// End; saturates.
    fn end(&self) -> Picoseconds {
        self.start + self.duration
    }

    /// Number of the device among those of all nodes.
    fn rank(&self, devices_per_node: u32) -> u64 {
        u64::from(self.node) * u64::from(devices_per_node) + u64::from(self.device)
    }
}

/// One execution of a collective: the kernels that took part, at most one a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// Index of the collective.
    pub(super) operation: usize,
    /// Number of the execution, from 0.
    pub(super) index: usize,
    /// Positions of its kernels, by node and device.
    pub(super) kernels: Vec<usize>,
}

/// Puts kernels together to executions, by collective and then in order of time.
///
/// The executions of a collective on a device are counted in order of start. Where all devices of a node have
/// the same number, the kernels with one number belong together. Where a device lacks some, because the profile
/// starts or ends in the midst of them, numbers mean different executions on different devices. Kernels of a node
/// then belong together when they run at a common time, since no device leaves a collective before the last one
/// has entered it. Nodes have clocks of their own, so executions of several nodes are matched by number.
pub(super) fn slices(kernels: &[CollectiveKernel]) -> Vec<Slice> {
    let mut by_operation: BTreeMap<usize, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for (position, kernel) in kernels.iter().enumerate() {
        by_operation.entry(kernel.operation).or_default().entry(kernel.node).or_default().push(position);
    }
    let mut slices = Vec::new();
    for (operation, nodes) in by_operation {
        let mut together: Vec<Vec<usize>> = Vec::new();
        for positions in nodes.into_values() {
            for (index, members) in executions_on_node(kernels, positions).into_iter().enumerate() {
                match together.get_mut(index) {
                    Some(slice) => slice.extend(members),
                    None => together.push(members),
                }
            }
        }
        slices.extend(together.into_iter().enumerate().map(|(index, mut members)| {
            members.sort_by_key(|&position| (kernels[position].node, kernels[position].device));
            Slice { operation, index, kernels: members }
        }));
    }
    slices
}

/// The executions of one collective on one node.
fn executions_on_node(kernels: &[CollectiveKernel], mut positions: Vec<usize>) -> Vec<Vec<usize>> {
    positions.sort_by_key(|&position| (kernels[position].start, kernels[position].device, position));
    let mut by_device: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &position in &positions {
        by_device.entry(kernels[position].device).or_default().push(position);
    }
    let mut counts = by_device.values().map(Vec::len);
    let executions = counts.next().unwrap_or(0);
    if counts.all(|count| count == executions) {
        let device_lists: Vec<&Vec<usize>> = by_device.values().collect();
        return (0..executions).map(|index| device_lists.iter().map(|own| own[index]).collect()).collect();
    }
    by_time(kernels, &positions)
}

/// Kernels in order of start, cut where one starts after another has ended or a device comes again.
fn by_time(kernels: &[CollectiveKernel], positions: &[usize]) -> Vec<Vec<usize>> {
    let mut slices: Vec<Vec<usize>> = Vec::new();
    let mut earliest_end = Picoseconds(i64::MIN);
    for &position in positions {
        let kernel = &kernels[position];
        let again = |slice: &Vec<usize>| slice.iter().any(|&other| kernels[other].device == kernel.device);
        match slices.last_mut() {
            Some(slice) if kernel.start < earliest_end && !again(slice) => {
                slice.push(position);
                earliest_end = earliest_end.min(kernel.end());
            }
            _ => {
                slices.push(vec![position]);
                earliest_end = kernel.end();
            }
        }
    }
    slices
}

/// Rates of an execution. Times are those of the kernel that ran the shortest in its group: it entered last, so
/// it did not wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    /// Algorithmic bandwidth in GiB/s: [`CollectiveKind::algorithmic_bytes`](perf_models::CollectiveKind::algorithmic_bytes)
    /// over time.
    pub algorithmic: f64,
    /// The same times [`CollectiveKind::bus_factor`](perf_models::CollectiveKind::bus_factor), in GiB/s.
    pub bus: f64,
    /// Bus bandwidth as nccl-tests counts it, in GB/s: the message's bytes over time, times the same factor.
    pub message_bus: f64,
}

impl Bandwidth {
    /// The rates of a collective in a group of `size` devices that took this time; `None` without time.
    #[must_use]
    pub fn new(operation: &CollectiveOperation, size: usize, time: Picoseconds) -> Option<Self> {
        if time.0 <= 0 || size == 0 {
            return None;
        }
        let seconds = time.0 as f64 / 1e12;
        let factor = operation.kind.bus_factor(size);
        let bytes = operation.kind.algorithmic_bytes(operation.data_bytes(size), size);
        let algorithmic = bytes / (1_u64 << 30) as f64 / seconds;
        let message_bus = operation.message_bytes() as f64 / 1e9 / seconds * factor;
        Some(Self { algorithmic, bus: algorithmic * factor, message_bus })
    }

    /// The mean of rates; `None` of none.
    pub(crate) fn mean(rates: &[Self]) -> Option<Self> {
        let count = rates.len() as f64;
        let mean = |rate: fn(&Self) -> f64| rates.iter().map(rate).sum::<f64>() / count;
        (!rates.is_empty()).then(|| Self {
            algorithmic: mean(|rate| rate.algorithmic),
            bus: mean(|rate| rate.bus),
            message_bus: mean(|rate| rate.message_bus),
        })
    }
}

/// A group of devices in an execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupMeasurement {
    /// Index among the groups of the collective.
    pub group: usize,
    /// Devices of the group that the profile shows in this execution.
    pub present: usize,
    /// Device that ran the shortest.
    pub fastest: u64,
    /// Its time.
    pub time: Picoseconds,
    /// Rates by that time; `None` where it is 0.
    pub bandwidth: Option<Bandwidth>,
}

/// An execution of a collective, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceMeasurement {
    /// Index of the collective.
    pub operation: usize,
    /// Number of the execution, from 0.
    pub index: usize,
    /// Devices that took part, by their numbers among all nodes.
    pub ranks: Vec<u64>,
    /// Devices of the collective's groups that the profile shows elsewhere but not in this execution.
    pub missing: usize,
    /// Earliest start, on the clock of its node.
    pub start: Picoseconds,
    /// Shortest duration.
    pub min_duration: Picoseconds,
    /// Longest duration.
    pub max_duration: Picoseconds,
    /// Sum of the durations.
    pub total_duration: Picoseconds,
    /// Sum over the devices of the time in which the device computed nothing.
    pub exposed: Picoseconds,
    /// Latest start less earliest start of devices of a node, the largest of the nodes; `None` where no node
    /// shows two devices.
    pub start_skew: Option<Picoseconds>,
    /// The same of the ends.
    pub end_skew: Option<Picoseconds>,
    /// The groups with at least one device present.
    pub groups: Vec<GroupMeasurement>,
    /// Mean of the groups' rates.
    pub bandwidth: Option<Bandwidth>,
}

/// Measures executions. `operations[slice.operation]` is what a slice executes.
pub(super) fn measure(
    slices: &[Slice],
    kernels: &[CollectiveKernel],
    operations: &[CollectiveOperation],
    devices: &Devices,
) -> Vec<SliceMeasurement> {
    let groups: Vec<Vec<Vec<u64>>> = operations
        .iter()
        .map(|operation| operation.groups.as_ref().map_or_else(Vec::new, |groups| groups.resolve(devices)))
        .collect();
    slices
        .iter()
        .map(|slice| {
            let members: Vec<&CollectiveKernel> = slice.kernels.iter().map(|&at| &kernels[at]).collect();
            measure_slice(slice, &members, &operations[slice.operation], &groups[slice.operation], devices)
        })
        .collect()
}

fn measure_slice(
    slice: &Slice,
    members: &[&CollectiveKernel],
    operation: &CollectiveOperation,
    groups: &[Vec<u64>],
    devices: &Devices,
) -> SliceMeasurement {
    let ranks: Vec<u64> = members.iter().map(|kernel| kernel.rank(devices.per_node)).collect();
    let mut measured = Vec::new();
    let mut missing = 0;
    for (group, expected) in groups.iter().enumerate() {
        let present: Vec<usize> = (0..members.len()).filter(|&at| expected.contains(&ranks[at])).collect();
        if !matches!(operation.groups, Some(ExchangeGroups::Pairs(_))) {
            let shown = expected.iter().filter(|rank| devices.shown.binary_search(rank).is_ok()).count();
            missing += shown.saturating_sub(present.len());
        }
        let Some(&fastest) = present.iter().min_by_key(|&&at| members[at].duration) else { continue };
        let time = members[fastest].duration;
        let bandwidth = Bandwidth::new(operation, expected.len(), time);
        measured.push(GroupMeasurement {
            group,
            present: present.len(),
            fastest: ranks[fastest],
            time,
            bandwidth,
        });
    }
    let rates: Vec<Bandwidth> = measured.iter().filter_map(|group| group.bandwidth).collect();
    let sum =
        |figure: fn(&CollectiveKernel) -> Picoseconds| members.iter().map(|kernel| figure(kernel)).sum();
    SliceMeasurement {
        operation: slice.operation,
        index: slice.index,
        ranks,
        missing,
        start: members.iter().map(|kernel| kernel.start).min().unwrap_or_default(),
        min_duration: members.iter().map(|kernel| kernel.duration).min().unwrap_or_default(),
        max_duration: members.iter().map(|kernel| kernel.duration).max().unwrap_or_default(),
        total_duration: sum(|kernel| kernel.duration),
        exposed: sum(|kernel| kernel.exposed),
        start_skew: skew(members, |kernel| kernel.start),
        end_skew: skew(members, CollectiveKernel::end),
        groups: measured,
        bandwidth: Bandwidth::mean(&rates),
    }
}

/// Latest less earliest instant of a node's devices, the largest of the nodes with two devices or more.
fn skew(members: &[&CollectiveKernel], instant: fn(&CollectiveKernel) -> Picoseconds) -> Option<Picoseconds> {
    // Members are sorted by node.
    members
        .chunk_by(|a, b| a.node == b.node)
        .filter(|node| node.len() > 1)
        .filter_map(|node| {
            let instants = node.iter().map(|kernel| instant(kernel));
            Some(instants.clone().max()? - instants.min()?)
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hlo_cost::{ArrayShape, ElementType};
    use perf_models::CollectiveKind;

    fn kernel(operation: usize, node: u32, device: u32, start: i64, duration: i64) -> CollectiveKernel {
        let (start, duration) = (Picoseconds(start), Picoseconds(duration));
        CollectiveKernel { operation, node, device, start, duration, exposed: duration }
    }

    fn starts(kernels: &[CollectiveKernel]) -> Vec<(usize, usize, Vec<i64>)> {
        let start = |slice: &Slice| slice.kernels.iter().map(|&position| kernels[position].start.0).collect();
        slices(kernels).iter().map(|slice| (slice.operation, slice.index, start(slice))).collect()
    }

    #[test]
    fn executions_are_counted_per_device_and_node() {
        let kernels = [
            kernel(0, 0, 0, 10, 5),
            kernel(0, 0, 1, 12, 3),
            // The clock of the other node is far ahead.
            kernel(0, 1, 0, 9_000, 5),
            kernel(0, 1, 1, 9_001, 4),
            kernel(1, 0, 0, 20, 5),
            kernel(0, 0, 1, 32, 3),
            kernel(0, 0, 0, 30, 5),
            kernel(0, 1, 0, 9_100, 5),
            kernel(0, 1, 1, 9_101, 4),
        ];
        let expected =
            vec![(0, 0, vec![10, 12, 9_000, 9_001]), (0, 1, vec![30, 32, 9_100, 9_101]), (1, 0, vec![20])];
        assert_eq!(starts(&kernels), expected);
        assert_eq!(kernels[3].rank(2), 3);
    }

    #[test]
    fn kernels_of_a_device_that_missed_the_first_are_matched_by_time() {
        let kernels = [
            kernel(0, 0, 0, 10, 5),
            kernel(0, 0, 0, 30, 5),
            kernel(0, 0, 0, 50, 5),
            kernel(0, 0, 1, 32, 3),
            kernel(0, 0, 1, 52, 3),
        ];
        assert_eq!(starts(&kernels), [(0, 0, vec![10]), (0, 1, vec![30, 32]), (0, 2, vec![50, 52])]);
    }

    #[test]
    fn a_device_that_comes_again_starts_the_next_execution() {
        let kernels = [kernel(0, 0, 0, 10, 30), kernel(0, 0, 0, 12, 30), kernel(0, 0, 1, 14, 28)];
        assert_eq!(starts(&kernels), [(0, 0, vec![10]), (0, 1, vec![12, 14])]);
    }

    #[test]
    fn no_kernels_are_no_executions() {
        assert_eq!(slices(&[]), []);
    }

    fn gather(shard_bytes: u64, size: u64, groups: &str) -> CollectiveOperation {
        let tensor = |bytes| ArrayShape {
            element_type: ElementType::S8,
            dimensions: vec![bytes],
            ..ArrayShape::default()
        };
        CollectiveOperation {
            name: "all-gather-start.1".to_owned(),
            kind: CollectiveKind::AllGather,
            inputs: vec![tensor(shard_bytes)],
            outputs: vec![tensor(shard_bytes * size)],
            groups: Some(ExchangeGroups::Replicas(groups.parse().unwrap())),
            channel: None,
        }
    }

    fn run(node: u32, device: u32, start: i64, duration: i64) -> CollectiveKernel {
        let exposed = Picoseconds(duration / 2);
        let (start, duration) = (Picoseconds(start), Picoseconds(duration));
        CollectiveKernel { operation: 0, node, device, start, duration, exposed }
    }

    fn two_nodes() -> Devices {
        Devices { per_node: 2, total: 4, shown: vec![0, 1, 2, 3] }
    }

    #[test]
    fn the_fastest_device_of_a_group_gives_its_rates() {
        // 1,572,864 bytes a device in a group of 8, 412.785 µs on the fastest.
        let operation = gather(1_572_864, 8, "{}");
        let kernels: Vec<CollectiveKernel> = (0..8)
            .map(|device| run(0, device, 0, if device == 3 { 412_785_000 } else { 500_000_000 }))
            .collect();
        let devices = Devices { per_node: 8, total: 8, shown: (0..8).collect() };
        let measured = measure(&slices(&kernels), &kernels, &[operation], &devices);
        let group = measured[0].groups[0];
        assert_eq!((group.fastest, group.time.0, group.present), (3, 412_785_000, 8));
        let rates = group.bandwidth.unwrap();
        assert!((rates.algorithmic - 49.681_583_633_1).abs() < 1e-9, "{rates:?}");
        assert!((rates.bus - 43.471_385_679_0).abs() < 1e-9, "{rates:?}");
        // 8 · 1,572,864 B in 412.785 µs are 30.4829 GB/s, of which 7/8 cross the bus.
        assert!((rates.message_bus - 30.482_968_6 * 0.875).abs() < 1e-3, "{rates:?}");
    }

    #[test]
    fn groups_across_nodes_are_measured_each_and_averaged() {
        // Transposed: devices 0 and 2 are a group, 1 and 3 the other.
        let groups = "[2,2]<=[2,2]T(1,0)";
        let kernels = [
            run(0, 0, 100, 4_000_000),
            run(0, 1, 350, 1_000_000),
            run(1, 0, 70_000, 2_000_000),
            run(1, 1, 70_050, 8_000_000),
        ];
        let measured = measure(&slices(&kernels), &kernels, &[gather(1 << 20, 2, groups)], &two_nodes());
        let slice = &measured[0];
        let fastest: Vec<(u64, i64)> =
            slice.groups.iter().map(|group| (group.fastest, group.time.0)).collect();
        assert_eq!(fastest, [(2, 2_000_000), (1, 1_000_000)]);
        // 2 MiB in 2 µs and in 1 µs.
        let rate = |time: f64| 2.0 / 1024.0 / time;
        let expected = (rate(2e-6) + rate(1e-6)) / 2.0;
        assert!((slice.bandwidth.unwrap().algorithmic - expected).abs() < 1e-6);
        assert_eq!((slice.min_duration.0, slice.max_duration.0, slice.missing), (1_000_000, 8_000_000, 0));
        assert_eq!(
            (slice.start_skew, slice.end_skew),
            (Some(Picoseconds(250)), Some(Picoseconds(6_000_050)))
        );
        assert_eq!((slice.total_duration.0, slice.exposed.0), (15_000_000, 7_500_000));
    }

    #[test]
    fn a_device_without_the_first_execution_is_missed_in_it_alone() {
        let kernels = [run(0, 0, 0, 500), run(0, 0, 1_000, 500), run(0, 1, 1_100, 400)];
        let devices = Devices { per_node: 2, total: 2, shown: vec![0, 1] };
        let operation = gather(64, 2, "{}");
        let measured = measure(&slices(&kernels), &kernels, &[operation], &devices);
        let figures: Vec<_> =
            measured.iter().map(|slice| (slice.ranks.clone(), slice.missing, slice.start_skew)).collect();
        assert_eq!(figures, [(vec![0], 1, None), (vec![0, 1], 0, Some(Picoseconds(100)))]);
    }

    #[test]
    fn devices_outside_of_every_group_and_empty_times_have_no_rate() {
        let elsewhere = "{{6,7}}";
        let kernels = [run(0, 0, 0, 500)];
        let measured = measure(&slices(&kernels), &kernels, &[gather(64, 2, elsewhere)], &two_nodes());
        assert_eq!((measured[0].groups.len(), measured[0].bandwidth), (0, None));
        assert_eq!(measured[0].min_duration, Picoseconds(500));
        assert_eq!(Bandwidth::new(&gather(64, 2, "{}"), 2, Picoseconds(0)), None);
    }
}
