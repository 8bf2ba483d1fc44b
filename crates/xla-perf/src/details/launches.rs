//! How kernels and copies were launched: the time until they started, blocks and threads, and what copies moved.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{SortFew, Spread, Summary, summaries};
use sheets::ColumnKind::{Number, Whole};
use sheets::Unit::{Bytes, GigabytesPerSecond, One};
use sheets::{Column, Field, Nested, Role, Sheet};

use crate::JaxAnalysis;
use crate::device_events::GpuEvent;
use crate::sheet::sheet;

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
    latency: Spread,
    call: Spread,
    queued: Spread,
}

const LATENCY_MEAN_US: Column = Column::microseconds("latency_mean_us", "Mean time from the start of the call to the start on the GPU: launching, and waiting for earlier work on the stream.").per("launch");

/// One row per kernel and kind of call that launches it.
pub(super) fn latency_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    sheet(
        "launch_latency",
        "Time from the host's launch to the start on the GPU, by kernel and launching call, largest sum \
         first; work without a known call is omitted.",
        [
            Column::text("name", "Kernel, copy or fill.").field(|row: &Launches<'_>| row.kernel.into()),
            Column::text("launched_by", "Host call with the same correlation ID; some profilers name it after the kernel.").with_role(Role::Detail).field(|row: &Launches<'_>| row.launch.into()),
            Column::count("count", "Launches.").field(|row: &Launches<'_>| row.count.into()),
            LATENCY_MEAN_US.field(|row: &Launches<'_>| row.latency.mean.into()),
            Column::microseconds("latency_median_us", "Median launch latency.").spread_of(LATENCY_MEAN_US.name).per("launch").field(|row: &Launches<'_>| row.latency.median.into()),
            Column::microseconds("latency_min_us", "Minimum launch latency: about the cost of a launch on an idle GPU.").spread_of(LATENCY_MEAN_US.name).per("launch").field(|row: &Launches<'_>| row.latency.min.into()),
            Column::microseconds("latency_max_us", "Maximum launch latency.").spread_of(LATENCY_MEAN_US.name).per("launch").field(|row: &Launches<'_>| row.latency.max.into()),
            Column::microseconds("latency_std_us", "Sample standard deviation (n − 1) of launch latency; empty for one launch.").spread_of(LATENCY_MEAN_US.name).per("launch").field(|row: &Launches<'_>| row.latency.std.into()),
            Column::microseconds("call_mean_us", "Mean duration of the call.").per("launch").field(|row: &Launches<'_>| row.call.mean.into()),
            Column::microseconds("queued_mean_us", "Mean time from the end of the call to the start on the GPU; negative if the GPU began before the call returned.").per("launch").field(|row: &Launches<'_>| row.queued.mean.into()),
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
        let sums = times.map(|times| Summary::from_values(&times));
        let [latency, call, queued] = sums.map(|times| analysis.spread_us(times));
        let Summary { count, sum, .. } = sums[0]?;
        Some(Launches { kernel, launch, count, total: sum, latency, call, queued })
    };
    let mut rows: Vec<Launches<'_>> = groups.into_iter().filter_map(row).collect();
    rows.sort_few_by_key(|row| Reverse(row.total));
    rows
}

/// A launch, from the profiler's text `kernel_details`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct KernelGeometry {
    /// Blocks (work groups) per dimension.
    grid: [u32; 3],
    /// Threads (work items) of a block per dimension.
    block: [u32; 3],
    /// Registers of a thread.
    registers: Option<u64>,
    /// Memory that a block shares (LDS on AMD GPUs), in bytes.
    group_memory: Option<u64>,
    /// Memory of a thread of its own (scratch), in bytes.
    private_memory: Option<u64>,
    /// Occupancy that the launch allows in percent; `None` where the profiler did not compute it.
    occupancy: Option<u64>,
}

/// More registers than a thread of any GPU has: such a figure was never set, which old ROCm profilers left so.
const MOST_REGISTERS: u64 = 1024;

impl KernelGeometry {
    /// Reads a text such as `regs:32 static_shared:0 dynamic_shared:1024 grid:219,40,1 block:256,1,1 occ_pct:50` or
    /// ` grid:1280,1,1 block:256,1,1 private_mem:0 group_mem:0 occ_pct:0`; `None` without a grid and a block.
    fn parse(text: &str) -> Option<Self> {
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
    fn blocks(&self) -> u64 {
        product(self.grid)
    }

    fn threads_per_block(&self) -> u64 {
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
    let mut fields = vec![
        Column::text("name", "Kernel.").field(|row: &GeometryRow<'_>| row.name.into()),
        Column::nested("grid", "Blocks (work groups) per dimension.")
            .with_role(Role::Name)
            .field(|row: &GeometryRow<'_>| nested(row.geometry.grid).into()),
        Column::nested("block", "Threads (work items) per block, by dimension.")
            .with_role(Role::Name)
            .field(|row: &GeometryRow<'_>| nested(row.geometry.block).into()),
        Column::count("blocks", "Blocks per launch.")
            .per("launch")
            .field(|row: &GeometryRow<'_>| row.geometry.blocks().into()),
        Column::count("threads_per_block", "Block size.")
            .per("block")
            .field(|row: &GeometryRow<'_>| row.geometry.threads_per_block().into()),
        Column::new(
            "blocks_per_core",
            Number(One),
            "Blocks per launch / compute units (multiprocessors) of the GPU; below 1, some units are unused.",
        )
        .per("core")
        .field(|row: &GeometryRow<'_>| {
            let cores = row.cores.filter(|&cores| cores > 0);
            cores.map(|cores| row.geometry.blocks() as f64 / cores as f64).into()
        }),
        Column::count("registers", "Registers per thread; empty if the profiler did not set it.")
            .per("thread")
            .field(|row: &GeometryRow<'_>| row.geometry.registers.into()),
        Column::new(
            "group_memory_bytes",
            Whole(Bytes),
            "Shared memory (LDS) per block; empty if the profiler did not set it.",
        )
        .per("block")
        .field(|row: &GeometryRow<'_>| row.geometry.group_memory.into()),
        Column::new(
            "private_memory_bytes",
            Whole(Bytes),
            "Private memory (scratch) per thread; above 0 if registers spill or local arrays are indexed dynamically.",
        )
        .per("thread")
        .field(|row: &GeometryRow<'_>| row.geometry.private_memory.into()),
        Column::percent(
            "occupancy (%)",
            "Theoretical occupancy of the launch; empty if the profiler did not compute it.",
        )
        .field(|row: &GeometryRow<'_>| row.geometry.occupancy.into()),
        Column::count("count", "Number of launches on all GPUs.")
            .field(|row: &GeometryRow<'_>| row.times.count.into()),
        Column::milliseconds("total_time_ms", "Sum of durations.")
            .with_role(Role::Headline)
            .field_in(|analysis: &&JaxAnalysis, row: &GeometryRow<'_>| analysis.ms(row.times.sum).into()),
    ];
    fields.extend(range_fields("launch", |row: &GeometryRow<'_>| row.times));
    sheet(
        "kernel_launch_geometry",
        "Launch geometry by kernel, most time first; kernels without recorded geometry are omitted.",
        fields,
        geometries,
    )
}

/// Mean, shortest and longest duration of what `one` says.
fn range_fields<'a, R>(
    one: &'static str,
    times: impl Fn(&R) -> Summary + Copy + Send + Sync + 'static,
) -> [Field<&'a JaxAnalysis, R>; 3] {
    const MEAN: Column = Column::microseconds("mean_time_us", "Mean duration.");
    let field = |column: Column, figure: fn(&Spread) -> Option<f64>| {
        column.per(one).field_in(move |analysis: &&JaxAnalysis, row| {
            figure(&analysis.spread_us(Some(times(row)))).into()
        })
    };
    let spread = |name, description| Column::microseconds(name, description).spread_of(MEAN.name);
    [
        field(MEAN, |times| times.mean),
        field(spread("min_time_us", "Shortest duration."), |times| times.min),
        field(spread("max_time_us", "Longest duration."), |times| times.max),
    ]
}

fn nested(extents: [u32; 3]) -> Nested {
    Nested::Tuple(extents.map(|extent| Nested::Whole(extent.into())).into())
}

fn geometries(analysis: &JaxAnalysis) -> Vec<GeometryRow<'_>> {
    let profile = analysis.profile();
    let cores: Vec<Option<u64>> = analysis
        .gpus()
        .iter()
        .map(|gpu| profile.planes[gpu.plane].stat("core_count").and_then(|value| value.as_u64()))
        .collect();
    let durations = described(analysis, "kernel_details", KernelGeometry::parse);
    let durations = durations.map(|(kernel, name, geometry, duration)| {
        ((name, geometry, cores.get(kernel.gpu).copied().flatten()), duration)
    });
    let row = |((name, geometry, cores), times)| GeometryRow { name, geometry, cores, times };
    summaries(durations).into_iter().map(row).collect()
}

/// The device events that the profiler describes in a text of this name, each with its own name, what the text says,
/// and its duration.
fn described<'a, D>(
    analysis: &'a JaxAnalysis,
    text: &'static str,
    parse: fn(&str) -> Option<D>,
) -> impl Iterator<Item = (&'a GpuEvent, &'a str, D, i64)> {
    let (profile, trace) = (analysis.profile(), analysis.trace());
    analysis.device_events().iter().filter_map(move |of| {
        let details = parse(profile.stat(of.event, text)?.as_str()?)?;
        Some((of, trace.name(of.event), details, trace.events().duration(of.event)))
    })
}

/// A copy, from the profiler's text `memcpy_details`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct CopyDetails {
    bytes: u64,
    /// Kinds of memory, where the profiler says.
    kind: Option<String>,
    destination: Option<u64>,
    /// Whether the host went on meanwhile.
    is_async: Option<bool>,
}

impl CopyDetails {
    /// Reads a text such as `kind:Unknown size:655360 dest:2 async:1`; `None` without a size.
    fn parse(text: &str) -> Option<Self> {
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

const BANDWIDTH: Column = Column::new(
    "bandwidth (GB/s)",
    Number(GigabytesPerSecond),
    "Bytes of all copies / sum of their durations (10⁹ bytes).",
);

/// One row per GPU and kind of copy.
pub(super) fn copies_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let mut fields = vec![
        Column::identifier(
            "gpu_pid",
            "GPU that recorded the copy: its plane id plus 1, the process id in trace viewers.",
        )
        .with_role(Role::Name)
        .field(|row: &CopyRow<'_>| row.pid.into()),
        Column::text("name", "Name of the copy, including its direction.")
            .field(|row: &CopyRow<'_>| row.name.into()),
        Column::text("kind", "Memory kinds of source and destination; empty if not recorded.")
            .field(|row: &CopyRow<'_>| row.details.kind.as_ref().into()),
        Column::identifier("destination", "Destination, as numbered by the profiler.")
            .with_role(Role::Name)
            .field(|row: &CopyRow<'_>| row.details.destination.into()),
        Column::text("async", "True if the host did not block.").with_role(Role::Detail).field(
            |row: &CopyRow<'_>| row.details.is_async.map(|flag| if flag { "True" } else { "False" }).into(),
        ),
        Column::new("size_bytes", Whole(Bytes), "Copy size.")
            .per("copy")
            .field(|row: &CopyRow<'_>| row.details.bytes.into()),
        Column::count("count", "Number of copies.").field(|row: &CopyRow<'_>| row.times.count.into()),
        Column::microseconds("total_time_us", "Sum of durations.")
            .with_role(Role::Headline)
            .field_in(|analysis: &&JaxAnalysis, row: &CopyRow<'_>| analysis.us(row.times.sum).into()),
    ];
    fields.extend(range_fields("copy", |row: &CopyRow<'_>| row.times));
    fields.extend([
        BANDWIDTH.field_in(|analysis: &&JaxAnalysis, row: &CopyRow<'_>| {
            row.bandwidth(analysis, row.times.count, row.times.sum).into()
        }),
        Column::new("max_bandwidth (GB/s)", Number(GigabytesPerSecond), "Bytes / shortest duration.")
            .spread_of(BANDWIDTH.name)
            .per("copy")
            .field_in(|analysis: &&JaxAnalysis, row: &CopyRow<'_>| {
                row.bandwidth(analysis, 1, row.times.min).into()
            }),
    ]);
    sheet(
        "copy_bandwidth",
        "Copies with a recorded size by GPU, name, kind and size, most time first.",
        fields,
        copies,
    )
}

fn copies(analysis: &JaxAnalysis) -> Vec<CopyRow<'_>> {
    let durations = described(analysis, "memcpy_details", CopyDetails::parse);
    let durations = durations.map(|(copy, name, details, duration)| ((copy.pid, name, details), duration));
    let row = |((pid, name, details), times)| CopyRow { pid, name, details, times };
    summaries(durations).into_iter().map(row).collect()
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
