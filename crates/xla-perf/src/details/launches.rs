//! How kernels and copies were launched: the time until they started, blocks and threads, and what copies moved.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::Summary;
use sheets::{Column, ColumnKind, Field, Nested, Sheet, Unit};

use crate::JaxAnalysis;
use crate::report::sheet;

const fn us(name: &'static str, description: &'static str) -> Column {
    Column::new(name, ColumnKind::Number(Unit::Microseconds), description)
}

/// The value of a key in a profiler's text of parts such as `size:655360`.
fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.split_whitespace()
        .find_map(|part| part.split_once(':').filter(|(name, _)| *name == key))
        .map(|(_, value)| value)
}

/// Launches of a kernel by a kind of call, times in µs.
struct Launches<'a> {
    kernel: &'a str,
    launch: &'a str,
    count: usize,
    /// Sum of the latencies, in picoseconds.
    total: i64,
    latency: gpu_timeline::Spread,
    call: gpu_timeline::Spread,
    queued: gpu_timeline::Spread,
}

/// One row per kernel and kind of call that launches it.
pub(super) fn latency_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    sheet(
        "launch_latency",
        "Time from the host's launch to the start on the GPU, by kernel and launching call, the largest sum first; what no call is known to have launched is left out.",
        [
            Column::new("name", ColumnKind::Text, "Kernel, copy or fill.")
                .field(|row: &Launches<'_>| row.kernel.into()),
            Column::new(
                "launched_by",
                ColumnKind::Text,
                "The host's call with the same correlation id; some profilers give it the kernel's name.",
            )
            .field(|row: &Launches<'_>| row.launch.into()),
            Column::new("count", ColumnKind::Count, "Launches.").field(|row: &Launches<'_>| row.count.into()),
            us(
                "latency_mean_us",
                "Start on the GPU less start of the call in µs, mean: the time to launch and to wait for earlier work of the stream.",
            )
            .field(|row: &Launches<'_>| row.latency.mean.into()),
            us("latency_median_us", "The same, median.").field(|row: &Launches<'_>| row.latency.median.into()),
            us("latency_min_us", "The same, least: about what a launch costs when the GPU is free.")
                .field(|row: &Launches<'_>| row.latency.min.into()),
            us("latency_max_us", "The same, largest.").field(|row: &Launches<'_>| row.latency.max.into()),
            us(
                "latency_std_us",
                "Standard deviation (of a sample, n − 1) of the same; empty for one launch.",
            )
            .field(|row: &Launches<'_>| row.latency.std.into()),
            us("call_mean_us", "Duration of the call in µs, mean.").field(|row: &Launches<'_>| row.call.mean.into()),
            us(
                "queued_mean_us",
                "Start on the GPU less end of the call in µs, mean; negative where the GPU began before the call returned.",
            )
            .field(|row: &Launches<'_>| row.queued.mean.into()),
        ],
        launches,
    )
}

fn launches(analysis: &JaxAnalysis) -> Vec<Launches<'_>> {
    let events = analysis.trace().events();
    let mut groups: BTreeMap<(&str, &str), [Vec<i64>; 3]> = BTreeMap::new();
    for kernel in analysis.device_events() {
        let Some(launch) = kernel.launch else { continue };
        let names = (analysis.trace().name(kernel.event), analysis.trace().name(launch));
        let [latency, call, queued] = groups.entry(names).or_default();
        let start = events.start(kernel.event);
        latency.push(start.saturating_sub(events.start(launch)));
        call.push(events.duration(launch));
        queued.push(start.saturating_sub(events.end(launch)));
    }
    let row = |((kernel, launch), times): ((_, _), [Vec<i64>; 3])| {
        let sums = times.map(|times| Summary::of(&times));
        let [latency, call, queued] = sums.map(|times| analysis.spread_us(times));
        let Summary { count, sum, .. } = sums[0]?;
        Some(Launches { kernel, launch, count, total: sum, latency, call, queued })
    };
    let mut rows: Vec<Launches<'_>> = groups.into_iter().filter_map(row).collect();
    rows.sort_by_key(|row| Reverse(row.total));
    rows
}

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
        let value = |key: &str| value_of(text, key);
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

/// Launches of a kernel with one geometry.
struct GeometryRow<'a> {
    name: &'a str,
    geometry: KernelGeometry,
    /// Compute units of the GPU.
    cores: Option<u64>,
    times: Summary,
}

/// One row per kernel and way to launch it.
pub(super) fn geometry_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let count = |name, description| Column::new(name, ColumnKind::Count, description);
    let mut fields = vec![
        Column::new("name", ColumnKind::Text, "Kernel.").field(|row: &GeometryRow<'_>| row.name.into()),
        Column::new("grid", ColumnKind::Nested, "Blocks (work groups) per dimension.")
            .field(|row: &GeometryRow<'_>| nested(row.geometry.grid).into()),
        Column::new("block", ColumnKind::Nested, "Threads (work items) of a block per dimension.")
            .field(|row: &GeometryRow<'_>| nested(row.geometry.block).into()),
        count("blocks", "Blocks of a launch.").field(|row: &GeometryRow<'_>| row.geometry.blocks().into()),
        count("threads_per_block", "Threads of a block.").field(|row: &GeometryRow<'_>| row.geometry.threads_per_block().into()),
        Column::new(
            "blocks_per_core",
            ColumnKind::Number(Unit::One),
            "Blocks of a launch over the compute units (multiprocessors) of the GPU: below 1, some have nothing to do.",
        )
        .field(|row: &GeometryRow<'_>| {
            let cores = row.cores.filter(|&cores| cores > 0);
            cores.map(|cores| row.geometry.blocks() as f64 / cores as f64).into()
        }),
        count("registers", "Registers of a thread; empty where the profiler did not set it.")
            .field(|row: &GeometryRow<'_>| row.geometry.registers.into()),
        Column::new(
            "group_memory_bytes",
            ColumnKind::Whole(Unit::Bytes),
            "Memory that a block shares (LDS) in bytes; empty where the profiler did not set it.",
        )
        .field(|row: &GeometryRow<'_>| row.geometry.group_memory.into()),
        Column::new(
            "private_memory_bytes",
            ColumnKind::Whole(Unit::Bytes),
            "Memory of each thread of its own (scratch) in bytes: more than 0 says that registers were spilled or arrays indexed.",
        )
        .field(|row: &GeometryRow<'_>| row.geometry.private_memory.into()),
        Column::new(
            "occupancy (%)",
            ColumnKind::Number(Unit::Percent),
            "Occupancy in percent that the launch allows; empty where the profiler did not compute it.",
        )
        .field(|row: &GeometryRow<'_>| row.geometry.occupancy.into()),
        count("count", "Launches on all GPUs.").field(|row: &GeometryRow<'_>| row.times.count.into()),
        Column::new("total_time_ms", ColumnKind::Number(Unit::Milliseconds), "Sum of their durations in ms.")
            .field_in(|analysis: &&JaxAnalysis, row: &GeometryRow<'_>| analysis.ms(row.times.sum).into()),
    ];
    fields.extend(range_fields(|row: &GeometryRow<'_>| row.times));
    sheet(
        "kernel_launch_geometry",
        "How kernels were launched, by kernel and geometry, the most time first; kernels whose geometry was not recorded are left out.",
        fields,
        geometries,
    )
}

/// Mean, shortest and longest duration.
fn range_fields<'a, R>(
    times: impl Fn(&R) -> Summary + Copy + Send + Sync + 'static,
) -> [Field<&'a JaxAnalysis, R>; 3] {
    let spread = move |analysis: &JaxAnalysis, row: &R| analysis.spread_us(Some(times(row)));
    [
        us("mean_time_us", "Mean duration in µs.")
            .field_in(move |analysis: &&JaxAnalysis, row: &R| spread(analysis, row).mean.into()),
        us("min_time_us", "Shortest duration in µs.")
            .field_in(move |analysis: &&JaxAnalysis, row: &R| spread(analysis, row).min.into()),
        us("max_time_us", "Longest duration in µs.")
            .field_in(move |analysis: &&JaxAnalysis, row: &R| spread(analysis, row).max.into()),
    ]
}

fn nested(extents: [u32; 3]) -> Nested {
    Nested::Tuple(extents.map(|extent| Nested::Whole(extent.into())).into())
}

fn geometries(analysis: &JaxAnalysis) -> Vec<GeometryRow<'_>> {
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
    let row = |((name, geometry, cores), times): ((_, _, _), Vec<i64>)| {
        Some(GeometryRow { name, geometry, cores, times: Summary::of(&times)? })
    };
    let mut rows: Vec<GeometryRow<'_>> = groups.into_iter().filter_map(row).collect();
    rows.sort_by_key(|row| Reverse(row.times.sum));
    rows
}

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
        let value = |key: &str| value_of(text, key);
        Some(Self {
            bytes: value("size")?.parse().ok()?,
            kind: value("kind").filter(|kind| *kind != "Unknown").map(str::to_owned),
            destination: value("dest").and_then(|number| number.parse().ok()),
            is_async: value("async").map(|flag| flag != "0"),
        })
    }
}

/// Copies of one kind and size on a GPU.
struct CopyRow<'a> {
    pid: i64,
    name: &'a str,
    details: CopyDetails,
    times: Summary,
}

impl CopyRow<'_> {
    /// GB/s of so many bytes in a time; `None` without time.
    fn bandwidth(&self, analysis: &JaxAnalysis, copies: usize, time: i64) -> Option<f64> {
        let bytes = self.details.bytes as f64 * copies as f64;
        // Bytes per µs are MB/s.
        (time > 0).then(|| bytes / analysis.us(time) / 1e3)
    }
}

/// One row per GPU and kind of copy.
pub(super) fn copies_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let mut fields = vec![
        Column::new(
            "gpu_pid",
            ColumnKind::Identifier,
            "The GPU that shows the copy: the id of its plane plus 1, which is the process id of trace viewers.",
        )
        .field(|row: &CopyRow<'_>| row.pid.into()),
        Column::new("name", ColumnKind::Text, "Name of the copy, which says from where to where.")
            .field(|row: &CopyRow<'_>| row.name.into()),
        Column::new("kind", ColumnKind::Text, "Kinds of memory; empty where the profiler does not say.")
            .field(|row: &CopyRow<'_>| row.details.kind.as_ref().into()),
        Column::new(
            "destination",
            ColumnKind::Identifier,
            "Number that the profiler gives to the destination.",
        )
        .field(|row: &CopyRow<'_>| row.details.destination.into()),
        Column::new("async", ColumnKind::Text, "True where the host went on meanwhile.")
            .field(|row: &CopyRow<'_>| row.details.is_async.map(|flag| if flag { "True" } else { "False" }).into()),
        Column::new("size_bytes", ColumnKind::Whole(Unit::Bytes), "Bytes of a copy.")
            .field(|row: &CopyRow<'_>| row.details.bytes.into()),
        Column::new("count", ColumnKind::Count, "Number of copies.").field(|row: &CopyRow<'_>| row.times.count.into()),
        us("total_time_us", "Sum of their durations in µs.")
            .field_in(|analysis: &&JaxAnalysis, row: &CopyRow<'_>| analysis.us(row.times.sum).into()),
    ];
    fields.extend(range_fields(|row: &CopyRow<'_>| row.times));
    let rate =
        |name, description| Column::new(name, ColumnKind::Number(Unit::GigabytesPerSecond), description);
    fields.extend([
        rate("bandwidth (GB/s)", "Bytes of all copies over the sum of their durations, in GB/s (10⁹ bytes).")
            .field_in(|analysis: &&JaxAnalysis, row: &CopyRow<'_>| {
                row.bandwidth(analysis, row.times.count, row.times.sum).into()
            }),
        rate("max_bandwidth (GB/s)", "Bytes over the shortest duration, in GB/s.").field_in(
            |analysis: &&JaxAnalysis, row: &CopyRow<'_>| row.bandwidth(analysis, 1, row.times.min).into(),
        ),
    ]);
    sheet(
        "copy_bandwidth",
        "Copies with a recorded size by GPU, name, kind and size, the most time first.",
        fields,
        copies,
    )
}

fn copies(analysis: &JaxAnalysis) -> Vec<CopyRow<'_>> {
    let (profile, events) = (analysis.profile(), analysis.trace().events());
    let mut groups: BTreeMap<(i64, &str, CopyDetails), Vec<i64>> = BTreeMap::new();
    for copy in analysis.device_events() {
        let Some(details) = profile.stat(copy.event, "memcpy_details") else { continue };
        let Some(details) = details.as_str().and_then(CopyDetails::parse) else { continue };
        let key = (copy.pid, analysis.trace().name(copy.event), details);
        groups.entry(key).or_default().push(events.duration(copy.event));
    }
    let row = |((pid, name, details), times): ((_, _, _), Vec<i64>)| {
        Some(CopyRow { pid, name, details, times: Summary::of(&times)? })
    };
    let mut rows: Vec<CopyRow<'_>> = groups.into_iter().filter_map(row).collect();
    rows.sort_by_key(|row| Reverse(row.times.sum));
    rows
}

#[cfg(test)]
mod tests {
    use super::{CopyDetails, KernelGeometry};

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
