//! What the device and the host of a rank waited for, as tables: lengths of queues, rates of copies, the critical path.

use std::collections::BTreeMap;

use critical_path::{PathGroup, PathPart, Recorded, Scope};
use gpu_timeline::{ConcurrentRate, QueueLength};
use tree_perf::Analysis;

use crate::map::{Clock, count};
use crate::tables::{CopyRateRow, PathRow, QueueRow, WaitTables};

/// What was waited for, for [`RankTables::waits`](crate::RankTables::waits).
#[must_use]
pub fn waits(analysis: &Analysis) -> WaitTables {
    let (trace, clock) = (analysis.trace(), Clock(analysis.trace()));
    let queues = analysis.queues();
    let queues = queues.iter().flat_map(|stream| queue_rows(stream.stream, &stream.queue, clock));
    let per_microsecond = trace.time_unit().per_microsecond() as f64;
    let copies = analysis.copies();
    let copy_rates =
        copies.iter().flat_map(|kind| rate_rows(&kind.name(trace), &kind.rate, per_microsecond, clock));
    let recorded = Recorded::new(analysis.tree(), &Scope::Whole, &analysis.options().communication);
    let path = PathGroup::of(recorded.wall_path().into_iter().map(PathPart::from), trace);
    let path = path.into_iter().map(|group| PathRow {
        class: Some(group.class.as_str().into()),
        name: Some(group.name.as_str().into()).filter(|_| !group.name.is_empty()),
        time_ns: clock.ns(group.time),
        count: count(group.parts),
        longest_ns: clock.ns(group.longest),
    });
    WaitTables { queues: queues.collect(), copy_rates: copy_rates.collect(), critical_path: path.collect() }
}

fn queue_rows(stream: Option<i64>, queue: &QueueLength, clock: Clock<'_>) -> Vec<QueueRow> {
    let mut rows: BTreeMap<u64, QueueRow> = BTreeMap::new();
    for (length, &time) in queue.times().iter().enumerate().filter(|&(_, &time)| time > 0) {
        // Of full queues lengths are not told apart.
        let from = floor_of_range(length.min(QueueLength::FULL) as u64);
        let row = rows.entry(from).or_insert_with(|| QueueRow {
            stream,
            from_length: from.cast_signed(),
            ..QueueRow::default()
        });
        row.max_length = count(length);
        row.time_ns += clock.ns(time);
        row.length_ns += count(length).saturating_mul(clock.ns(time));
    }
    rows.into_values().collect()
}

fn rate_rows(name: &str, rate: &ConcurrentRate, per_microsecond: f64, clock: Clock<'_>) -> Vec<CopyRateRow> {
    let mut rows: BTreeMap<u64, (CopyRateRow, f64)> = BTreeMap::new();
    for &(rate, time) in rate.stretches() {
        // Bytes per microsecond are 10^6 bytes per second.
        let mb_per_s = rate * per_microsecond;
        let from = floor_of_range(mb_per_s as u64);
        let (row, bytes) = rows.entry(from).or_insert_with(|| {
            let from_mb_per_s = from.cast_signed();
            (CopyRateRow { name: Some(name.into()), from_mb_per_s, ..CopyRateRow::default() }, 0.0)
        });
        row.max_mb_per_s = mb_per_s as i64;
        row.time_ns += clock.ns(time);
        *bytes += rate * time as f64;
    }
    rows.into_values().map(|(row, bytes)| CopyRateRow { bytes: bytes.round() as i64, ..row }).collect()
}

/// The power of two where the range of a figure begins; 0 for 0.
fn floor_of_range(figure: u64) -> u64 {
    figure.checked_ilog2().map_or(0, |exponent| 1 << exponent)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use gpu_timeline::Interval;
    use trace_ingest::{ReadOptions, read_path};
    use tree_perf::AnalysisOptions;

    use super::*;

    const US: i64 = 1000;

    #[test]
    fn queues_keep_their_integral() {
        let trace = trace_ingest::Trace::default();
        let clock = Clock(&trace);
        // Length 1 for 10 µs, 3 for 20 µs, 2 for 10 µs, 1 for 10 µs.
        let queue = QueueLength::from_events([(0, 30), (10, 40), (10, 50)].map(|(a, b)| (a * US, b * US)));
        let rows = queue_rows(Some(7), &queue, clock);
        let figures: Vec<_> = rows
            .iter()
            .map(|row| (row.from_length, row.max_length, row.time_ns / US, row.length_ns / US))
            .collect();
        assert_eq!(figures, [(1, 1, 20, 20), (2, 3, 30, 80)]);
        assert!(rows.iter().all(|row| row.stream == Some(7)));
        let many = QueueLength::from_events((0..1500).map(|at| (0, at + 1)));
        let last = queue_rows(None, &many, clock).pop().unwrap();
        assert_eq!((last.from_length, last.max_length, last.time_ns), (1024, 1500, 477));
    }

    #[test]
    fn rates_keep_their_bytes() {
        let trace = trace_ingest::Trace::default();
        // 1,000 MB/s for 5 µs, 3,000 for 5 µs, 2,000 for 5 µs.
        let copies = [(0, 10, 10_000), (5, 15, 20_000)];
        let rate = ConcurrentRate::from_transfers(
            copies.map(|(start, end, bytes)| (Interval::between(start * US, end * US), bytes)),
        );
        let rows: Vec<_> = rate_rows("HtoD", &rate, 1000.0, Clock(&trace))
            .into_iter()
            .map(|row| (row.from_mb_per_s, row.max_mb_per_s, row.time_ns / US, row.bytes))
            .collect();
        assert_eq!(rows, [(512, 1000, 5, 5_000), (1024, 2000, 5, 10_000), (2048, 3000, 5, 15_000)]);
    }

    #[test]
    fn tables_add_up_to_what_the_recording_says() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated");
        for name in ["cuda_training_step.json.gz", "rocm_training_step.json.gz", "cuda_serving.json.gz"] {
            let trace = read_path(&path.join(name), &ReadOptions::default()).unwrap();
            let analysis = Analysis::new(trace, AnalysisOptions::default());
            let tables = waits(&analysis);
            let clock = Clock(analysis.trace());
            for queue in analysis.queues() {
                let rows = || tables.queues.iter().filter(|row| row.stream == queue.stream);
                let time: i64 = rows().map(|row| row.time_ns).sum();
                assert_eq!(time, clock.ns(queue.queue.time()), "{name}: {:?}", queue.stream);
                assert_eq!(rows().map(|row| row.max_length).max().unwrap_or(0), count(queue.queue.max()));
            }
            let copies = analysis.copies();
            let bytes = |sum: i64, row: &CopyRateRow| sum + row.bytes;
            let (sum, expected) =
                (tables.copy_rates.iter().fold(0, bytes), copies.iter().map(|kind| kind.bytes).sum::<i64>());
            assert!((sum - expected).abs() <= count(tables.copy_rates.len()), "{name}: {sum} of {expected}");
            let recorded =
                Recorded::new(analysis.tree(), &Scope::Whole, &analysis.options().communication).time();
            let path: i64 = tables.critical_path.iter().map(|row| row.time_ns).sum();
            assert_eq!(path, clock.ns(recorded.end - recorded.start), "{name}");
        }
    }
}
