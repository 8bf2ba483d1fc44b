//! Collectives by the size of their buffers: which sizes take the time, and how fast they are exchanged.

use std::collections::BTreeMap;

use super::kind::CollectiveKind;
use super::operation::CollectiveOperation;
use super::summary::{Distribution, OperationSummary};

/// A collective with its buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferedCollective {
    /// Index of the collective.
    pub operation: usize,
    /// Kind.
    pub kind: CollectiveKind,
    /// Shortest duration of any execution on any device, in ps.
    pub latency: i64,
    /// Bytes of the buffer that the collective fills on a device.
    pub bytes: u64,
    /// Bytes exchanged over the latency, in GB/s; `None` without time. The buffer of a reduce-scatter holds the shard of a device, so it
    /// counts as often as the group has devices.
    pub bandwidth: Option<f64>,
    /// Sum over the executions of the shortest duration, in ps.
    pub time: i64,
}

/// The collectives that ran, with their buffers, by kind and then in their order. Those without tensors are left out.
#[must_use]
pub fn buffered(
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
            let bandwidth = (latency > 0).then(|| bytes as f64 * parts as f64 * 1e3 / latency as f64);
            let time = summary.min_durations.iter().fold(0_i64, |sum, &time| sum.saturating_add(time));
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
    found.sort_by_key(|collective| (collective.kind, collective.operation));
    found
}

/// All collectives of a kind with buffers of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferSize {
    /// Kind.
    pub kind: CollectiveKind,
    /// Bytes of the buffer.
    pub bytes: u64,
    /// Collectives.
    pub count: usize,
    /// Sum of their times, in ps.
    pub time: i64,
    /// Their bandwidths in GB/s.
    pub bandwidth: Option<Distribution>,
}

/// Collectives by kind and size, the smallest first.
#[must_use]
pub fn by_size(collectives: &[BufferedCollective]) -> Vec<BufferSize> {
    let mut sizes: BTreeMap<(CollectiveKind, u64), Vec<&BufferedCollective>> = BTreeMap::new();
    for collective in collectives {
        sizes.entry((collective.kind, collective.bytes)).or_default().push(collective);
    }
    let sizes = sizes.into_iter().map(|((kind, bytes), members)| BufferSize {
        kind,
        bytes,
        count: members.len(),
        time: members.iter().fold(0_i64, |sum, member| sum.saturating_add(member.time)),
        bandwidth: Distribution::of(members.iter().filter_map(|member| member.bandwidth).collect()),
    });
    sizes.collect()
}

/// Lower ends of the ranges of bandwidth, in GB/s; the last one has no upper end.
pub const BANDWIDTH_RANGES: [f64; 6] = [0.0, 50.0, 100.0, 200.0, 300.0, 400.0];

/// Collectives of a kind in a range of bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandwidthRange {
    /// Kind.
    pub kind: CollectiveKind,
    /// Index in [`BANDWIDTH_RANGES`].
    pub range: usize,
    /// Collectives.
    pub count: usize,
    /// Sum of their times, in ps.
    pub time: i64,
}

impl BandwidthRange {
    /// `0-50`, and `≥400` for the last.
    #[must_use]
    pub fn text(&self) -> String {
        let lower = BANDWIDTH_RANGES[self.range];
        match BANDWIDTH_RANGES.get(self.range + 1) {
            Some(upper) => format!("{lower}-{upper}"),
            None => format!("≥{lower}"),
        }
    }
}

/// Collectives by kind and range of bandwidth; ranges that nothing lies in are left out, as are collectives without
/// a bandwidth. A range contains its lower end.
#[must_use]
pub fn by_range(collectives: &[BufferedCollective]) -> Vec<BandwidthRange> {
    let mut ranges: BTreeMap<(CollectiveKind, usize), (usize, i64)> = BTreeMap::new();
    for collective in collectives {
        let Some(bandwidth) = collective.bandwidth else { continue };
        let range = BANDWIDTH_RANGES.iter().rposition(|&lower| bandwidth >= lower).unwrap_or(0);
        let (count, time) = ranges.entry((collective.kind, range)).or_default();
        *count += 1;
        *time = time.saturating_add(collective.time);
    }
    let ranges =
        ranges.into_iter().map(|((kind, range), (count, time))| BandwidthRange { kind, range, count, time });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use perf_models::hlo::{ArrayShape, ElementType};

    use super::super::groups::ExchangeGroups;
    use super::*;

    fn operation(kind: CollectiveKind, bytes: u64) -> CollectiveOperation {
        CollectiveOperation {
            name: kind.name().to_owned(),
            kind,
            inputs: Vec::new(),
            outputs: vec![ArrayShape {
                element_type: ElementType::U8,
                dimensions: vec![bytes],
                ..ArrayShape::default()
            }],
            split_dimension: None,
            groups: ExchangeGroups::parse("{}"),
            channel: None,
        }
    }

    fn summary(operation: usize, min_durations: &[i64]) -> OperationSummary {
        OperationSummary {
            operation,
            slices: min_durations.len(),
            incomplete: 0,
            kernels: 0,
            measurements: 0,
            min_durations: min_durations.to_vec(),
            total_duration: 0,
            waited: 0,
            exposed: 0,
            start_skews: Vec::new(),
            end_skews: Vec::new(),
            bandwidth: None,
            algorithmic_range: None,
        }
    }

    #[test]
    fn buffers_by_collective_size_and_range() {
        let operations = [
            operation(CollectiveKind::ReduceScatter, 1_000_000),
            operation(CollectiveKind::AllReduce, 4_000_000),
            operation(CollectiveKind::AllReduce, 4_000_000),
            operation(CollectiveKind::AllReduce, 0),
        ];
        // 20 µs and 25 µs; 8 µs; 40 µs.
        let summaries = [
            summary(0, &[25_000_000, 20_000_000]),
            summary(1, &[8_000_000]),
            summary(2, &[40_000_000]),
            summary(3, &[1_000_000]),
        ];
        let found = buffered(&summaries, &operations, 4);
        let figures: Vec<_> = found.iter().map(|c| (c.operation, c.latency, c.bandwidth, c.time)).collect();
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
            (sizes.len(), sizes[0].bytes, sizes[0].count, sizes[0].time),
            (2, 4_000_000, 2, 48_000_000)
        );
        assert_eq!(sizes[0].bandwidth.map(|rates| (rates.mean, rates.std)), Some((300.0, 200.0)));
        let ranges: Vec<_> = by_range(&found).iter().map(|r| (r.kind, r.text(), r.count, r.time)).collect();
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
