//! The time of Tenstorrent operations as a stacked bar, or one per device.

use metal_perf::{MetalReport, OpCategory, StackedGroup, stacked};
use report_writers::DrawError;
use report_writers::stacked_time::{Arrangement, StackedBar, StackedSegment, StackedTime};

use crate::numbers::{counted, decimal};

/// In the order of [`OpCategory`].
const CATEGORIES: [OpCategory; 6] = [
    OpCategory::Compute,
    OpCategory::Ccl,
    OpCategory::Tm,
    OpCategory::Dm,
    OpCategory::Host,
    OpCategory::Other,
];

pub(crate) fn svg(report: &MetalReport, title: &str, arrangement: Arrangement) -> Result<String, DrawError> {
    let groups = stacked(report);
    let mut devices: Vec<Option<u32>> = groups.iter().map(|group| group.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let bars = devices.into_iter().map(|device| StackedBar {
        name: device.map_or(String::new(), |device| format!("Dev {device}")),
        segments: groups.iter().filter(|group| group.device == device).map(segment).collect(),
    });
    // A sum of nothing is −0.
    let total = groups.iter().map(|group| group.time_us).sum::<f64>() + 0.0;
    let picture = StackedTime {
        title: format!("{title}: device time {} μs", decimal(total, 1)),
        categories: CATEGORIES.map(|category| category.as_str().to_owned()).to_vec(),
        bars: bars.collect(),
        arrangement,
        footnote: format!("{}, {}", report.chip.name, counted(report.ops.len(), "row", "rows")),
    };
    picture.to_svg()
}

fn segment(group: &StackedGroup) -> StackedSegment {
    let category = group.category.unwrap_or(OpCategory::Other);
    let mut details = vec![counted(group.count, "operation", "operations")];
    if let Some(spread) = &group.flops {
        let by_time = spread.weighted_mean.map_or(String::new(), |mean| format!(", by time {mean:.1} %"));
        details.push(format!("FLOPs {:.1} % to {:.1} %{by_time}", spread.min, spread.max));
    }
    StackedSegment { name: group.name.clone(), category: category as usize, time_us: group.time_us, details }
}
