//! How kernels were launched: blocks, threads and memory.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::Summary;

use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::JaxAnalysis;
use tree_perf::Sheet;

/// What the profiler's text `kernel_details` says of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelGeometry {
    /// Blocks (work groups) per dimension.
    pub grid: [u32; 3],
    /// Threads (work items) of a block per dimension.
    pub block: [u32; 3],
    /// Registers of a thread.
    pub registers: Option<u64>,
    /// Memory that a block shares (LDS on AMD GPUs), in bytes.
    pub group_memory: Option<u64>,
    /// Memory of a thread of its own (scratch), in bytes.
    pub private_memory: Option<u64>,
    /// Occupancy that the launch allows in percent; `None` where the profiler did not compute it.
    pub occupancy: Option<u64>,
}

/// More registers than a thread of any GPU has: such a figure was never set, which old ROCm profilers left so.
const MOST_REGISTERS: u64 = 1024;

impl KernelGeometry {
    /// Reads a text such as `regs:32 static_shared:0 dynamic_shared:1024 grid:219,40,1 block:256,1,1 occ_pct:50` or
    /// ` grid:1280,1,1 block:256,1,1 private_mem:0 group_mem:0 occ_pct:0`; `None` without a grid and a block.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let value = |key: &str| {
            text.split_whitespace()
                .find_map(|part| part.split_once(':').filter(|(name, _)| *name == key))
                .map(|(_, value)| value)
        };
        let number = |key: &str| {
            value(key)?.parse::<f64>().ok().filter(|value| *value >= 0.0).map(|value| value as u64)
        };
        let registers = number("regs");
        let is_set = registers.is_none_or(|registers| registers <= MOST_REGISTERS);
        let shared = number("static_shared")
            .zip(number("dynamic_shared"))
            .map(|(fixed, more)| fixed.saturating_add(more));
        Some(Self {
            grid: extents(value("grid")?)?,
            block: extents(value("block")?)?,
            registers: registers.filter(|_| is_set),
            group_memory: number("group_mem").or(shared.filter(|_| is_set)),
            private_memory: number("private_mem"),
            occupancy: number("occ_pct").filter(|&percent| percent > 0),
        })
    }

    /// Blocks of the launch.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        product(self.grid)
    }

    /// Threads of a block.
    #[must_use]
    pub fn threads_per_block(&self) -> u64 {
        product(self.block)
    }
}

fn product(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |product, &extent| u64::from(extent).saturating_mul(product))
}

/// `219,40,1`.
fn extents(text: &str) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = text.split(',').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// One row per kernel and way to launch it.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "kernel_launch_geometry",
    current_name: "kernel_launch_geometry",
    description: "How kernels were launched, by kernel and geometry, the most time first; kernels whose geometry was not recorded are left out.",
    columns: &[
        Column::new("name", ColumnKind::Text, "Kernel."),
        Column::new("grid", ColumnKind::Nested, "Blocks (work groups) per dimension."),
        Column::new("block", ColumnKind::Nested, "Threads (work items) of a block per dimension."),
        Column::new("blocks", ColumnKind::Count, "Blocks of a launch."),
        Column::new("threads_per_block", ColumnKind::Count, "Threads of a block."),
        Column::new(
            "blocks_per_core",
            ColumnKind::Number(Unit::One),
            "Blocks of a launch over the compute units (multiprocessors) of the GPU: below 1, some have nothing to do.",
        ),
        Column::new(
            "registers",
            ColumnKind::Count,
            "Registers of a thread; empty where the profiler did not set it.",
        ),
        Column::new(
            "group_memory_bytes",
            ColumnKind::Count,
            "Memory that a block shares (LDS) in bytes; empty where the profiler did not set it.",
        ),
        Column::new(
            "private_memory_bytes",
            ColumnKind::Count,
            "Memory of each thread of its own (scratch) in bytes: more than 0 says that registers were spilled or arrays indexed.",
        ),
        Column::new(
            "occupancy (%)",
            ColumnKind::Number(Unit::Percent),
            "Occupancy in percent that the launch allows; empty where the profiler did not compute it.",
        ),
        Column::new("count", ColumnKind::Count, "Launches on all GPUs."),
        Column::new("total_time_ms", ColumnKind::Number(Unit::Milliseconds), "Sum of their durations in ms."),
        Column::new("mean_time_us", ColumnKind::Number(Unit::Microseconds), "Mean duration in µs."),
        Column::new("min_time_us", ColumnKind::Number(Unit::Microseconds), "Shortest duration in µs."),
        Column::new("max_time_us", ColumnKind::Number(Unit::Microseconds), "Longest duration in µs."),
    ],
    chart: None,
    build: |analysis| {
        let (profile, events) = (analysis.profile(), analysis.trace().events());
        let mut groups: BTreeMap<(&str, KernelGeometry, Option<u64>), Vec<i64>> = BTreeMap::new();
        let cores: Vec<Option<u64>> = analysis
            .gpus()
            .iter()
            .map(|gpu| profile.planes[gpu.plane].stat("core_count").and_then(|value| value.as_u64()))
            .collect();
        for kernel in analysis.device_events() {
            let Some(details) = profile.stat(kernel.event, "kernel_details") else { continue };
            let Some(geometry) = details.as_str().and_then(KernelGeometry::parse) else { continue };
            let cores = cores.get(kernel.gpu).copied().flatten();
            let key = (analysis.trace().name(kernel.event), geometry, cores);
            groups.entry(key).or_default().push(events.duration(kernel.event));
        }
        if groups.is_empty() {
            return Ok(None);
        }
        let mut rows: Vec<_> =
            groups.into_iter().filter_map(|(key, durations)| Some((key, Summary::of(&durations)?))).collect();
        rows.sort_by_key(|(_, summary)| Reverse(summary.sum));
        let us = |time: f64| Some(time / analysis.trace().time_unit().per_microsecond() as f64);
        let count = |number: Option<u64>| number.and_then(|number| i64::try_from(number).ok());
        let literal = |extents: [u32; 3]| Some(format!("({}, {}, {})", extents[0], extents[1], extents[2]));

        let mut frame = FrameBuilder::default();
        frame.text("name", rows.iter().map(|((name, ..), _)| Some(name)));
        frame.text("grid", rows.iter().map(|((_, geometry, _), _)| literal(geometry.grid)));
        frame.text("block", rows.iter().map(|((_, geometry, _), _)| literal(geometry.block)));
        frame.integer("blocks", rows.iter().map(|((_, geometry, _), _)| count(Some(geometry.blocks()))));
        frame.integer(
            "threads_per_block",
            rows.iter().map(|((_, geometry, _), _)| count(Some(geometry.threads_per_block()))),
        );
        frame.float(
            "blocks_per_core",
            rows.iter().map(|((_, geometry, cores), _)| {
                cores.filter(|&cores| cores > 0).map(|cores| geometry.blocks() as f64 / cores as f64)
            }),
        );
        frame.integer("registers", rows.iter().map(|((_, geometry, _), _)| count(geometry.registers)));
        frame.integer(
            "group_memory_bytes",
            rows.iter().map(|((_, geometry, _), _)| count(geometry.group_memory)),
        );
        frame.integer(
            "private_memory_bytes",
            rows.iter().map(|((_, geometry, _), _)| count(geometry.private_memory)),
        );
        frame.float(
            "occupancy (%)",
            rows.iter().map(|((_, geometry, _), _)| geometry.occupancy.map(|percent| percent as f64)),
        );
        frame.integer("count", rows.iter().map(|(_, summary)| Some(summary.count as i64)));
        frame.float("total_time_ms", rows.iter().map(|(_, summary)| Some(analysis.ms(summary.sum))));
        frame.float("mean_time_us", rows.iter().map(|(_, summary)| us(summary.mean)));
        frame.float("min_time_us", rows.iter().map(|(_, summary)| us(summary.min as f64)));
        frame.float("max_time_us", rows.iter().map(|(_, summary)| us(summary.max as f64)));
        frame.finish().map(Some)
    },
};

#[cfg(test)]
mod tests {
    use super::KernelGeometry;

    #[test]
    fn both_forms_of_the_text_are_read() {
        let nvidia = "regs:32 static_shared:16 dynamic_shared:1024 grid:219,40,1 block:256,1,1 occ_pct:50";
        let geometry = KernelGeometry::parse(nvidia).unwrap();
        assert_eq!((geometry.blocks(), geometry.threads_per_block()), (8760, 256));
        assert_eq!(
            (geometry.registers, geometry.group_memory, geometry.occupancy),
            (Some(32), Some(1040), Some(50))
        );
        let amd = " grid:1280,1,1 block:256,2,1 private_mem:8 group_mem:64 occ_pct:0";
        let geometry = KernelGeometry::parse(amd).unwrap();
        assert_eq!((geometry.grid, geometry.block), ([1280, 1, 1], [256, 2, 1]));
        assert_eq!(
            (geometry.group_memory, geometry.private_memory, geometry.occupancy),
            (Some(64), Some(8), None)
        );
    }

    #[test]
    fn figures_that_were_never_set_are_left_out() {
        let text =
            "regs:2191487992 static_shared:32462 dynamic_shared:0 grid:219,40,1 block:256,1,1 occ_pct:0";
        let geometry = KernelGeometry::parse(text).unwrap();
        assert_eq!((geometry.registers, geometry.group_memory), (None, None));
        for text in
            ["", "grid:1,1,1", "grid:1,1 block:1,1,1", "grid:a,1,1 block:1,1,1", "grid:1,1,-1 block:1,1,1"]
        {
            assert_eq!(KernelGeometry::parse(text), None, "{text}");
        }
    }
}
