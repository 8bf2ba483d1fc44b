//! Executions summed up by collective, by kind, and by the size of the buffers.

use std::collections::BTreeMap;

use gpu_timeline::SortFew;
use perf_models::CollectiveKind;
use trace_ingest::Picoseconds;

use super::executions::{Bandwidth, SliceMeasurement};
use super::operation::CollectiveOperation;

/// All executions of a collective.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationSummary {
    /// Index of the collective.
    pub operation: usize,
    /// Executions.
    pub slices: usize,
    /// Executions in which a device is missing that the profiles show elsewhere.
    pub incomplete: usize,
    /// Kernels of all devices.
    pub kernels: usize,
    /// Groups of all executions that have rates.
    pub measurements: usize,
    /// Shortest durations of the executions, in order.
    pub min_durations: Vec<Picoseconds>,
    /// Sum of the durations of all kernels.
    pub total_duration: Picoseconds,
    /// Part of it that kernels ran longer than the fastest of their execution: waiting for the last device.
    pub waited: Picoseconds,
    /// Part of it in which the device computed nothing.
    pub exposed: Picoseconds,
    /// Differences of the starts of the executions that have one.
    pub start_skews: Vec<Picoseconds>,
    /// The same of the ends.
    pub end_skews: Vec<Picoseconds>,
    /// Mean of the executions' rates.
    pub bandwidth: Option<Bandwidth>,
    /// Least and largest algorithmic bandwidth of a group, in GiB/s.
    pub algorithmic_range: Option<(f64, f64)>,
}

/// The executions by collective, in the order of the collectives; those that never ran are left out.
pub(super) fn by_operation(slices: &[SliceMeasurement]) -> Vec<OperationSummary> {
    let mut slices_by_operation: BTreeMap<usize, Vec<&SliceMeasurement>> = BTreeMap::new();
    for slice in slices {
        slices_by_operation.entry(slice.operation).or_default().push(slice);
    }
    slices_by_operation.into_iter().map(|(operation, slices)| summarize(operation, &slices)).collect()
}

fn summarize(operation: usize, slices: &[&SliceMeasurement]) -> OperationSummary {
    let sum = |figure: fn(&SliceMeasurement) -> Picoseconds| slices.iter().map(|slice| figure(slice)).sum();
    let rates: Vec<Bandwidth> = slices.iter().filter_map(|slice| slice.bandwidth).collect();
    let group_rates: Vec<f64> = slices
        .iter()
        .flat_map(|slice| slice.groups.iter())
        .filter_map(|group| group.bandwidth.map(|rates| rates.algorithmic))
        .collect();
    OperationSummary {
        operation,
        slices: slices.len(),
        incomplete: slices.iter().filter(|slice| slice.missing > 0).count(),
        kernels: slices.iter().map(|slice| slice.ranks.len()).sum(),
        measurements: group_rates.len(),
        min_durations: slices.iter().map(|slice| slice.min_duration).collect(),
        total_duration: sum(|slice| slice.total_duration),
        waited: sum(|slice| {
            let fastest = slice.min_duration.0.saturating_mul(slice.ranks.len() as i64);
            slice.total_duration - Picoseconds(fastest)
        }),
        exposed: sum(|slice| slice.exposed),
        start_skews: slices.iter().filter_map(|slice| slice.start_skew).collect(),
        end_skews: slices.iter().filter_map(|slice| slice.end_skew).collect(),
        bandwidth: Bandwidth::mean(&rates),
        algorithmic_range: group_rates
            .iter()
            .copied()
            .map(|rate| (rate, rate))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
    }
}

/// All collectives of a kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KindSummary {
    /// Kind.
    pub kind: CollectiveKind,
    /// Collectives that ran.
    pub operations: usize,
    /// Their executions.
    pub slices: usize,
    /// Groups of all executions that have rates.
    pub measurements: usize,
    /// Algorithmic bandwidths of the collectives, in GiB/s.
    pub algorithmic: Option<Distribution>,
    /// Bus bandwidths, in GiB/s.
    pub bus: Option<Distribution>,
    /// Bus bandwidths as nccl-tests counts them, in GB/s.
    pub message_bus: Option<Distribution>,
    /// Mean of the collectives' data, in MiB, of those whose size is known.
    pub mean_data: Option<f64>,
    /// Sum of the durations of all kernels.
    pub total_duration: Picoseconds,
    /// Part of it in which the device computed nothing.
    pub exposed: Picoseconds,
}

/// Collectives by kind, the largest mean algorithmic bandwidth first; those without one last, in the order of the
/// kinds. `devices` is the number that the program runs on.
pub(super) fn by_kind(
    summaries: &[OperationSummary],
    operations: &[CollectiveOperation],
    devices: usize,
) -> Vec<KindSummary> {
    let mut kinds: Vec<KindSummary> = CollectiveKind::ALL
        .into_iter()
        .filter_map(|kind| {
            let kind_summaries: Vec<&OperationSummary> =
                summaries.iter().filter(|summary| operations[summary.operation].kind == kind).collect();
            (!kind_summaries.is_empty()).then(|| summarize_kind(kind, &kind_summaries, operations, devices))
        })
        .collect();
    let mean = |kind: &KindSummary| kind.algorithmic.map_or(f64::NEG_INFINITY, |rates| rates.mean);
    kinds.sort_few_by(|a, b| mean(b).total_cmp(&mean(a)));
    kinds
}

fn summarize_kind(
    kind: CollectiveKind,
    kind_summaries: &[&OperationSummary],
    operations: &[CollectiveOperation],
    devices: usize,
) -> KindSummary {
    let distribution = |rate: fn(&Bandwidth) -> f64| {
        let rates: Vec<f64> =
            kind_summaries.iter().filter_map(|summary| summary.bandwidth.as_ref()).map(rate).collect();
        Distribution::new(rates)
    };
    let data: Vec<u64> = kind_summaries
        .iter()
        .filter_map(|summary| {
            let operation = &operations[summary.operation];
            Some(operation.data_bytes(operation.groups.as_ref()?.group_size(devices)?))
        })
        .collect();
    let mib = |bytes: &u64| *bytes as f64 / f64::from(1 << 20);
    KindSummary {
        kind,
        operations: kind_summaries.len(),
        slices: kind_summaries.iter().map(|summary| summary.slices).sum(),
        measurements: kind_summaries.iter().map(|summary| summary.measurements).sum(),
        algorithmic: distribution(|rate| rate.algorithmic),
        bus: distribution(|rate| rate.bus),
        message_bus: distribution(|rate| rate.message_bus),
        mean_data: (!data.is_empty()).then(|| data.iter().map(mib).sum::<f64>() / data.len() as f64),
        total_duration: kind_summaries.iter().map(|summary| summary.total_duration).sum(),
        exposed: kind_summaries.iter().map(|summary| summary.exposed).sum(),
    }
}

/// How figures are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Middle figure.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Standard deviation of the whole population.
    pub std: f64,
    /// A quarter of the figures lies below; linear between neighbours, as the median.
    pub p25: f64,
    /// Three quarters lie below.
    pub p75: f64,
}

impl Distribution {
    /// The distribution of figures; `None` of none.
    #[must_use]
    pub fn new(mut figures: Vec<f64>) -> Option<Self> {
        figures.sort_few_by(f64::total_cmp);
        let (&min, &max) = (figures.first()?, figures.last()?);
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        let variance = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / count;
        let quantile = |share: f64| {
            let place = share * (count - 1.0);
            let below = figures[place as usize];
            let above = figures.get(place as usize + 1).copied().unwrap_or(below);
            below + (above - below) * place.fract()
        };
        Some(Self {
            mean,
            median: quantile(0.5),
            min,
            max,
            std: variance.sqrt(),
            p25: quantile(0.25),
            p75: quantile(0.75),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BufferedCollective {
    /// Index of the collective.
    pub(super) operation: usize,
    pub(super) kind: CollectiveKind,
    /// Shortest duration of any execution on any device.
    pub(super) latency: Picoseconds,
    /// Bytes of the buffer that the collective fills on a device.
    pub(super) bytes: u64,
    /// Bytes exchanged over the latency, in GB/s; `None` without time. The buffer of a reduce-scatter holds the shard of
    /// a device, so it counts as often as the group has devices.
    pub(super) bandwidth: Option<f64>,
    /// Sum over the executions of the shortest duration.
    pub(super) time: Picoseconds,
}

/// The collectives that ran, with their buffers, by kind and then in their order. Those without tensors are left out.
pub(super) fn buffered(
    summaries: &[OperationSummary],
    operations: &[CollectiveOperation],
    devices: usize,
) -> Vec<BufferedCollective> {
    let mut found: Vec<BufferedCollective> = summaries
        .iter()
        .filter_map(|summary| {
            let operation = &operations[summary.operation];
            let latency = summary.min_durations.iter().copied().min()?;
            let bytes = Some(operation.output_bytes()).filter(|&bytes| bytes > 0)?;
            let parts = match operation.kind {
                CollectiveKind::ReduceScatter => operation.groups.as_ref()?.group_size(devices)?,
                _ => 1,
            };
            let bandwidth = (latency.0 > 0).then(|| bytes as f64 * parts as f64 * 1e3 / latency.0 as f64);
            let time = summary.min_durations.iter().copied().sum();
            Some(BufferedCollective {
                operation: summary.operation,
                kind: operation.kind,
                latency,
                bytes,
                bandwidth,
                time,
            })
        })
        .collect();
    found.sort_few_by_key(|collective| (collective.kind, collective.operation));
    found
}

/// All collectives of a kind with buffers of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BufferSize {
    pub(super) kind: CollectiveKind,
    /// Bytes of the buffer.
    pub(super) bytes: u64,
    /// Collectives.
    pub(super) count: usize,
    pub(super) time: Picoseconds,
    /// Their bandwidths in GB/s.
    pub(super) bandwidth: Option<Distribution>,
}

/// Collectives by kind and size, the smallest first.
pub(super) fn by_size(collectives: &[BufferedCollective]) -> Vec<BufferSize> {
    let mut sizes: BTreeMap<(CollectiveKind, u64), Vec<&BufferedCollective>> = BTreeMap::new();
    for collective in collectives {
        sizes.entry((collective.kind, collective.bytes)).or_default().push(collective);
    }
    let sizes = sizes.into_iter().map(|((kind, bytes), members)| BufferSize {
        kind,
        bytes,
        count: members.len(),
        time: members.iter().map(|member| member.time).sum(),
        bandwidth: Distribution::new(members.iter().filter_map(|member| member.bandwidth).collect()),
    });
    sizes.collect()
}

/// Lower ends of the ranges of bandwidth, in GB/s; the last one has no upper end.
const BANDWIDTH_RANGES: [f64; 6] = [0.0, 50.0, 100.0, 200.0, 300.0, 400.0];

/// Collectives of a kind in a range of bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BandwidthRange {
    pub(super) kind: CollectiveKind,
    /// Index in [`BANDWIDTH_RANGES`].
    pub(super) range: usize,
    /// Collectives.
    pub(super) count: usize,
    pub(super) time: Picoseconds,
}

impl BandwidthRange {
    /// `0-50`, and `≥400` for the last.
    pub(super) fn text(&self) -> String {
        let lower = BANDWIDTH_RANGES[self.range];
        match BANDWIDTH_RANGES.get(self.range + 1) {
            Some(upper) => format!("{lower}-{upper}"),
            None => format!("≥{lower}"),
        }
    }
}

/// Collectives by kind and range of bandwidth; ranges that nothing lies in are left out, as are collectives without
/// a bandwidth. A range contains its lower end.
pub(super) fn by_range(collectives: &[BufferedCollective]) -> Vec<BandwidthRange> {
    let mut ranges: BTreeMap<(CollectiveKind, usize), (usize, Picoseconds)> = BTreeMap::new();
    for collective in collectives {
        let Some(bandwidth) = collective.bandwidth else { continue };
        let range = BANDWIDTH_RANGES.iter().rposition(|&lower| bandwidth >= lower).unwrap_or(0);
        let (count, time) = ranges.entry((collective.kind, range)).or_default();
        *count += 1;
        *time += collective.time;
    }
    let ranges =
        ranges.into_iter().map(|((kind, range), (count, time))| BandwidthRange { kind, range, count, time });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::super::executions::GroupMeasurement;
    use super::super::operation::ExchangeGroups;
    use super::*;
    use hlo_cost::{ArrayShape, ElementType, ReplicaGroups};

    fn operation(kind: CollectiveKind, bytes: u64) -> CollectiveOperation {
        let tensor =
            ArrayShape { element_type: ElementType::U8, dimensions: vec![bytes], ..ArrayShape::default() };
        CollectiveOperation {
            name: kind.name().to_owned(),
            kind,
            inputs: vec![tensor.clone()],
            outputs: vec![tensor],
            groups: Some(ExchangeGroups::Replicas(ReplicaGroups::Everyone)),
            channel: None,
        }
    }

    fn slice(operation: usize, index: usize, rate: Option<f64>, durations: [i64; 2]) -> SliceMeasurement {
        let durations = durations.map(Picoseconds);
        let bandwidth = rate.map(|rate| Bandwidth { algorithmic: rate, bus: rate, message_bus: rate });
        let group = GroupMeasurement { group: 0, present: 2, fastest: 0, time: durations[0], bandwidth };
        SliceMeasurement {
            operation,
            index,
            ranks: vec![0, 1],
            missing: index % 2,
            start: Picoseconds(0),
            min_duration: durations[0],
            max_duration: durations[1],
            total_duration: durations[0] + durations[1],
            exposed: durations[0],
            start_skew: Some(durations[1] - durations[0]),
            end_skew: None,
            groups: vec![group],
            bandwidth,
        }
    }

    #[test]
    fn executions_are_summed_up_by_collective() {
        let slices = [
            slice(1, 0, Some(10.0), [100, 150]),
            slice(1, 1, Some(30.0), [200, 200]),
            slice(3, 0, None, [5, 6]),
        ];
        let summaries = by_operation(&slices);
        let first = &summaries[0];
        assert_eq!((first.operation, first.slices, first.incomplete, first.kernels), (1, 2, 1, 4));
        assert_eq!((first.total_duration.0, first.exposed.0, first.waited.0), (650, 300, 50));
        assert_eq!(
            (first.min_durations.as_slice(), first.start_skews.as_slice()),
            (&[100, 200].map(Picoseconds)[..], &[50, 0].map(Picoseconds)[..])
        );
        assert_eq!(first.bandwidth.map(|rates| rates.algorithmic), Some(20.0));
        assert_eq!(first.algorithmic_range, Some((10.0, 30.0)));
        assert_eq!((summaries[1].operation, summaries[1].bandwidth, summaries[1].measurements), (3, None, 0));
    }

    #[test]
    fn kinds_are_ordered_by_bandwidth_and_those_without_come_last() {
        let operations = [
            operation(CollectiveKind::AllGather, 4 << 20),
            operation(CollectiveKind::AllReduce, 1 << 20),
            operation(CollectiveKind::AllReduce, 3 << 20),
        ];
        let slices = [
            slice(0, 0, None, [0, 1]),
            slice(1, 0, Some(10.0), [100, 150]),
            slice(2, 0, Some(20.0), [100, 100]),
            slice(2, 2, Some(40.0), [100, 100]),
        ];
        let kinds = by_kind(&by_operation(&slices), &operations, 2);
        let names: Vec<&str> = kinds.iter().map(|kind| kind.kind.name()).collect();
        assert_eq!(names, ["all-reduce", "all-gather"]);
        let reduce = &kinds[0];
        assert_eq!((reduce.operations, reduce.slices, reduce.measurements), (2, 3, 3));
        // 10 and the mean of 20 and 40: a collective counts once however often it ran.
        let rates = reduce.algorithmic.unwrap();
        assert_eq!(
            (rates.mean, rates.median, rates.std, rates.p25, rates.p75),
            (20.0, 20.0, 10.0, 15.0, 25.0)
        );
        assert_eq!(reduce.mean_data, Some(2.0));
        // The data of a gather is the shard of one of the two devices.
        assert_eq!((kinds[1].algorithmic, kinds[1].mean_data), (None, Some(2.0)));
    }

    #[test]
    fn quartiles_are_linear_between_neighbours() {
        let rates = Distribution::new(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((rates.p25, rates.median, rates.p75, rates.min, rates.max), (1.75, 2.5, 3.25, 1.0, 4.0));
        let one = Distribution::new(vec![7.0]).unwrap();
        assert_eq!((one.p25, one.p75, one.std), (7.0, 7.0, 0.0));
        assert_eq!(Distribution::new(Vec::new()), None);
    }

    fn buffer_of(kind: CollectiveKind, bytes: u64) -> CollectiveOperation {
        CollectiveOperation { inputs: Vec::new(), ..operation(kind, bytes) }
    }

    fn summary(operation: usize, min_durations: &[i64]) -> OperationSummary {
        OperationSummary {
            operation,
            slices: min_durations.len(),
            incomplete: 0,
            kernels: 0,
            measurements: 0,
            min_durations: min_durations.iter().copied().map(Picoseconds).collect(),
            total_duration: Picoseconds(0),
            waited: Picoseconds(0),
            exposed: Picoseconds(0),
            start_skews: Vec::new(),
            end_skews: Vec::new(),
            bandwidth: None,
            algorithmic_range: None,
        }
    }

    #[test]
    fn buffers_by_collective_size_and_range() {
        let operations = [
            buffer_of(CollectiveKind::ReduceScatter, 1_000_000),
            buffer_of(CollectiveKind::AllReduce, 4_000_000),
            buffer_of(CollectiveKind::AllReduce, 4_000_000),
            buffer_of(CollectiveKind::AllReduce, 0),
        ];
        // 20 µs and 25 µs; 8 µs; 40 µs.
        let summaries = [
            summary(0, &[25_000_000, 20_000_000]),
            summary(1, &[8_000_000]),
            summary(2, &[40_000_000]),
            summary(3, &[1_000_000]),
        ];
        let found = buffered(&summaries, &operations, 4);
        let figures: Vec<_> =
            found.iter().map(|c| (c.operation, c.latency.0, c.bandwidth, c.time.0)).collect();
        assert_eq!(
            figures,
            [
                (1, 8_000_000, Some(500.0), 8_000_000),
                (2, 40_000_000, Some(100.0), 40_000_000),
                // 4 shards of 1 MB in 20 µs.
                (0, 20_000_000, Some(200.0), 45_000_000),
            ]
        );
        let sizes = by_size(&found);
        assert_eq!(
            (sizes.len(), sizes[0].bytes, sizes[0].count, sizes[0].time.0),
            (2, 4_000_000, 2, 48_000_000)
        );
        assert_eq!(sizes[0].bandwidth.map(|rates| (rates.mean, rates.std)), Some((300.0, 200.0)));
        let ranges: Vec<_> = by_range(&found).iter().map(|r| (r.kind, r.text(), r.count, r.time.0)).collect();
        assert_eq!(
            ranges,
            [
                (CollectiveKind::AllReduce, "100-200".to_owned(), 1, 40_000_000),
                (CollectiveKind::AllReduce, "≥400".to_owned(), 1, 8_000_000),
                (CollectiveKind::ReduceScatter, "200-300".to_owned(), 1, 45_000_000),
            ]
        );
    }
}
