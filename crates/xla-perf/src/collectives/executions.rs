//! Kernels of collectives put together: which kernels of several devices are one exchange.

use std::collections::BTreeMap;

/// A kernel that executes a collective on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveKernel {
    /// Index of the collective among those of the analysis.
    pub operation: usize,
    /// Number of the node that recorded it.
    pub node: u32,
    /// Number of the device in its node.
    pub device: u32,
    /// Start in ps, on the clock of the node.
    pub start: i64,
    /// Duration in ps.
    pub duration: i64,
    /// Part of the duration, in ps, in which the device computed nothing.
    pub exposed: i64,
}

impl CollectiveKernel {
    /// End in ps; saturates.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.start.saturating_add(self.duration)
    }

    /// Number of the device among those of all nodes.
    #[must_use]
    pub fn rank(&self, devices_per_node: u32) -> u64 {
        u64::from(self.node) * u64::from(devices_per_node) + u64::from(self.device)
    }
}

/// One execution of a collective: the kernels that took part, at most one a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Index of the collective.
    pub operation: usize,
    /// Number of the execution, from 0.
    pub index: usize,
    /// Positions of its kernels, by node and device.
    pub kernels: Vec<usize>,
}

/// Puts kernels together to executions, by collective and then in order of time.
///
/// The executions of a collective on a device are counted in order of start. Where all devices of a node have
/// the same number, the kernels with one number belong together. Where a device lacks some, because the profile
/// starts or ends in the midst of them, numbers mean different executions on different devices. Kernels of a node
/// then belong together when they run at a common time, since no device leaves a collective before the last one
/// has entered it. Nodes have clocks of their own, so executions of several nodes are matched by number.
#[must_use]
pub fn slices(kernels: &[CollectiveKernel]) -> Vec<Slice> {
    let mut by_operation: BTreeMap<usize, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for (position, kernel) in kernels.iter().enumerate() {
        by_operation.entry(kernel.operation).or_default().entry(kernel.node).or_default().push(position);
    }
    let mut slices = Vec::new();
    for (operation, nodes) in by_operation {
        let mut together: Vec<Vec<usize>> = Vec::new();
        for positions in nodes.into_values() {
            for (index, members) in of_node(kernels, positions).into_iter().enumerate() {
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
fn of_node(kernels: &[CollectiveKernel], mut positions: Vec<usize>) -> Vec<Vec<usize>> {
    positions.sort_by_key(|&position| (kernels[position].start, kernels[position].device, position));
    let mut of_device: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &position in &positions {
        of_device.entry(kernels[position].device).or_default().push(position);
    }
    let mut counts = of_device.values().map(Vec::len);
    let executions = counts.next().unwrap_or(0);
    if counts.all(|count| count == executions) {
        let of_devices: Vec<&Vec<usize>> = of_device.values().collect();
        return (0..executions).map(|index| of_devices.iter().map(|own| own[index]).collect()).collect();
    }
    by_time(kernels, &positions)
}

/// Kernels in order of start, cut where one starts after another has ended or a device comes again.
fn by_time(kernels: &[CollectiveKernel], positions: &[usize]) -> Vec<Vec<usize>> {
    let mut slices: Vec<Vec<usize>> = Vec::new();
    let mut earliest_end = i64::MIN;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(operation: usize, node: u32, device: u32, start: i64, duration: i64) -> CollectiveKernel {
        CollectiveKernel { operation, node, device, start, duration, exposed: duration }
    }

    fn starts(kernels: &[CollectiveKernel]) -> Vec<(usize, usize, Vec<i64>)> {
        let start = |slice: &Slice| slice.kernels.iter().map(|&position| kernels[position].start).collect();
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
}
