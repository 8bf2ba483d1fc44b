//! Copies and fills on GPUs, with what they moved.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::Summary;

use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::JaxAnalysis;
use tree_perf::Sheet;

/// What the profiler's text `memcpy_details` says of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyDetails {
    /// Bytes.
    pub bytes: u64,
    /// Kinds of memory, where the profiler says.
    pub kind: Option<String>,
    /// Number of the destination.
    pub destination: Option<u64>,
    /// Whether the host went on meanwhile.
    pub is_async: Option<bool>,
}

impl CopyDetails {
    /// Reads a text such as `kind:Unknown size:655360 dest:2 async:1`; `None` without a size.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| {
            text.split_whitespace()
                .find_map(|part| part.split_once(':').filter(|(name, _)| *name == key))
                .map(|(_, value)| value)
        };
        Some(Self {
            bytes: value("size")?.parse().ok()?,
            kind: value("kind").filter(|kind| *kind != "Unknown").map(str::to_owned),
            destination: value("dest").and_then(|number| number.parse().ok()),
            is_async: value("async").map(|flag| flag != "0"),
        })
    }
}

/// One row per GPU and kind of copy.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "copy_bandwidth",
    current_name: "copy_bandwidth",
    description: "Copies with a recorded size by GPU, name, kind and size, the most time first.",
    columns: &[
        Column::new(
            "gpu_pid",
            ColumnKind::Identifier,
            "The GPU that shows the copy: the id of its plane plus 1, which is the process id of trace viewers.",
        ),
        Column::new("name", ColumnKind::Text, "Name of the copy, which says from where to where."),
        Column::new("kind", ColumnKind::Text, "Kinds of memory; empty where the profiler does not say."),
        Column::new(
            "destination",
            ColumnKind::Identifier,
            "Number that the profiler gives to the destination.",
        ),
        Column::new("async", ColumnKind::Text, "True where the host went on meanwhile."),
        Column::new("size_bytes", ColumnKind::Count, "Bytes of a copy."),
        Column::new("count", ColumnKind::Count, "Number of copies."),
        Column::new("total_time_us", ColumnKind::Number(Unit::Microseconds), "Sum of their durations in µs."),
        Column::new("mean_time_us", ColumnKind::Number(Unit::Microseconds), "Mean duration in µs."),
        Column::new("min_time_us", ColumnKind::Number(Unit::Microseconds), "Shortest duration in µs."),
        Column::new("max_time_us", ColumnKind::Number(Unit::Microseconds), "Longest duration in µs."),
        Column::new(
            "bandwidth (GB/s)",
            ColumnKind::Number(Unit::One),
            "Bytes of all copies over the sum of their durations, in GB/s (10⁹ bytes).",
        ),
        Column::new(
            "max_bandwidth (GB/s)",
            ColumnKind::Number(Unit::One),
            "Bytes over the shortest duration, in GB/s.",
        ),
    ],
    chart: None,
    build: |analysis| {
        let (profile, events) = (analysis.profile(), analysis.trace().events());
        let mut groups: BTreeMap<(i64, &str, CopyDetails), Vec<i64>> = BTreeMap::new();
        for copy in analysis.device_events() {
            let Some(details) = profile.stat(copy.event, "memcpy_details") else { continue };
            let Some(details) = details.as_str().and_then(CopyDetails::parse) else { continue };
            let key = (copy.pid, analysis.trace().name(copy.event), details);
            groups.entry(key).or_default().push(events.duration(copy.event));
        }
        if groups.is_empty() {
            return Ok(None);
        }
        let mut rows: Vec<_> =
            groups.into_iter().filter_map(|(key, durations)| Some((key, Summary::of(&durations)?))).collect();
        rows.sort_by_key(|(_, summary)| Reverse(summary.sum));
        let us = |time: f64| time / analysis.trace().time_unit().per_microsecond() as f64;
        // Bytes per µs are MB/s.
        let bandwidth = |bytes: f64, time: f64| (time > 0.0).then(|| bytes / us(time) / 1e3);
        let number = |number: u64| i64::try_from(number).ok();

        let mut frame = FrameBuilder::default();
        frame.integer("gpu_pid", rows.iter().map(|((pid, ..), _)| Some(*pid)));
        frame.text("name", rows.iter().map(|((_, name, _), _)| Some(name)));
        frame.text("kind", rows.iter().map(|((.., details), _)| details.kind.as_ref()));
        frame.integer(
            "destination",
            rows.iter().map(|((.., details), _)| details.destination.and_then(number)),
        );
        let flag = |flag: bool| if flag { "True" } else { "False" };
        frame.text("async", rows.iter().map(|((.., details), _)| details.is_async.map(flag)));
        frame.integer("size_bytes", rows.iter().map(|((.., details), _)| number(details.bytes)));
        frame.integer("count", rows.iter().map(|(_, summary)| Some(summary.count as i64)));
        frame.float("total_time_us", rows.iter().map(|(_, summary)| Some(us(summary.sum as f64))));
        frame.float("mean_time_us", rows.iter().map(|(_, summary)| Some(us(summary.mean))));
        frame.float("min_time_us", rows.iter().map(|(_, summary)| Some(us(summary.min as f64))));
        frame.float("max_time_us", rows.iter().map(|(_, summary)| Some(us(summary.max as f64))));
        frame.float(
            "bandwidth (GB/s)",
            rows.iter().map(|((.., details), summary)| {
                bandwidth(details.bytes as f64 * summary.count as f64, summary.sum as f64)
            }),
        );
        frame.float(
            "max_bandwidth (GB/s)",
            rows.iter().map(|((.., details), summary)| bandwidth(details.bytes as f64, summary.min as f64)),
        );
        frame.finish().map(Some)
    },
};

#[cfg(test)]
mod tests {
    use super::CopyDetails;

    #[test]
    fn texts_of_profilers_are_read() {
        let details = CopyDetails::parse("kind:Unknown size:655360 dest:2 async:1").unwrap();
        assert_eq!(
            (details.bytes, details.kind, details.destination, details.is_async),
            (655_360, None, Some(2), Some(true))
        );
        let details = CopyDetails::parse("kind_src:pageable kind:H2D size:4 async:0").unwrap();
        assert_eq!((details.bytes, details.kind.as_deref(), details.is_async), (4, Some("H2D"), Some(false)));
        assert_eq!(CopyDetails::parse("dest:2 async:1"), None);
        assert_eq!(CopyDetails::parse("size:many"), None);
    }
}
