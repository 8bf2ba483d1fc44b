//! The tables of `nsys stats`: its names of tables and columns, in nanoseconds and megabytes of 1e6 bytes.

use std::cmp::Reverse;

use gpu_timeline::{SortFew, Summary};
use sheets::ColumnKind::{Number, Whole};
use sheets::Unit::{Megabytes, MegabytesPerSecond, Nanoseconds, One, Percent};
use sheets::{Column, Field, Sheet};

use super::{RangeKernels, RangeSum, range_kernels, range_sums};
use crate::analysis::NsysAnalysis;
use crate::ranges::DeviceWork;
use crate::rows::{self, CopyKind, LaunchedKernel, Shape, Sum};

const TIME_SHARE: Column = Column::new("Time (%)", Number(Percent), "Share of the total of all rows.");
const TOTAL: Column = Column::new("Total Time (ns)", Whole(Nanoseconds), "Sum of durations.");
const NAME: Column = Column::text("Name", "Name.");
const OPERATION: Column = Column::text("Operation", "Copy direction, or fill.");
const PID: Column = Column::identifier("PID", "Process.");
const TID: Column = Column::identifier("TID", "Thread.");
const STYLE: Column = Column::text("Style", "PushPop or StartEnd.");

/// The tables, in order; one without rows is left out.
#[must_use]
pub fn nsys_stats_sheets<'a, 't: 'a>() -> Vec<Sheet<'a, NsysAnalysis<'t>>> {
    let sheets = [
        nvtx_sum(),
        osrt_sum(),
        cuda_api_sum(),
        kern_sum(),
        kern_gb_sum(),
        mem_time_sum(),
        mem_size_sum(),
        kern_exec_sum(),
        nvtx_kern_sum(),
        nvtx_gpu_proj_sum(),
        gpu_trace(),
    ];
    sheets.into_iter().map(Sheet::keeping_names).collect()
}

/// The same of durations, by their usual names.
fn times<R>(
    one: &'static str,
    of: impl Fn(&R) -> Option<&Summary> + Copy + Send + Sync + 'static,
) -> [Field<(), R>; 5] {
    statistics(["Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"], one, of)
}

/// Average, median, least, most and deviation of what `one` says.
fn statistics<R>(
    names: [&'static str; 5],
    one: &'static str,
    of: impl Fn(&R) -> Option<&Summary> + Copy + Send + Sync + 'static,
) -> [Field<(), R>; 5] {
    let number = |name, description, value: fn(&Summary) -> f64| {
        Column::new(name, Number(Nanoseconds), description)
            .per(one)
            .field(move |row: &R| of(row).map(value).into())
    };
    let whole = |name, description, value: fn(&Summary) -> i64| {
        Column::new(name, Whole(Nanoseconds), description)
            .per(one)
            .field(move |row: &R| of(row).map(value).into())
    };
    let [average, median, least, most, deviation] = names;
    [
        number(average, "Mean in ns.", |values| values.mean),
        number(median, "Median in ns.", |values| values.median),
        whole(least, "Minimum in ns.", |values| values.min),
        whole(most, "Maximum in ns.", |values| values.max),
        number(deviation, "Sample standard deviation in ns; 0 for one value.", |values| {
            values.sample_std.unwrap_or(0.0)
        }),
    ]
}

/// Share, total, count and statistics of rows with a key; `one` is what a row has several of.
fn sum_fields<K>(count: &'static str, one: &'static str) -> impl Iterator<Item = Field<(), Sum<K>>> {
    let first = [
        TIME_SHARE.field(|row: &Sum<K>| (row.share * 100.0).into()),
        TOTAL.field(|row: &Sum<K>| row.values.sum.into()),
        Column::count(count, "Number of instances.").field(|row: &Sum<K>| row.values.count.into()),
    ];
    first.into_iter().chain(times(one, |row: &Sum<K>| Some(&row.values)))
}

fn by_name<'a, 't: 'a>(
    name: &'static str,
    description: &'static str,
    [count, one]: [&'static str; 2],
    rows: impl Fn(&'a NsysAnalysis<'t>) -> Vec<Sum<&'a str>> + Send + Sync + 'a,
) -> Sheet<'a, NsysAnalysis<'t>> {
    let named = |sum: Sum<&'a str>| Sum { key: sum.key.to_owned(), values: sum.values, share: sum.share };
    let fields =
        sum_fields::<String>(count, one).chain([NAME.field(|row: &Sum<String>| row.key.as_str().into())]);
    Sheet::new(name, description, fields, move |analysis| rows(analysis).into_iter().map(named).collect())
}

fn kern_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    by_name("cuda_gpu_kern_sum", "Kernels by name.", ["Instances", "kernel"], |analysis| {
        let kernels = analysis.kernels();
        rows::sums(
            kernels.map(|work| (analysis.trace().name(work.event), analysis.duration(work.event))),
            |&name| name,
        )
    })
}

fn cuda_api_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    by_name("cuda_api_sum", "CUDA runtime and driver calls by name.", ["Num Calls", "call"], rows::calls)
}

fn osrt_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    by_name("osrt_sum", "Operating system calls by name.", ["Num Calls", "call"], rows::system_calls)
}

fn kern_gb_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    type Row = Sum<(String, Shape)>;
    // As NVIDIA prints them: each number in four columns.
    let extents = |[x, y, z]: [u32; 3]| format!("{x:>4} {y:>4} {z:>4}");
    let fields = sum_fields::<(String, Shape)>("Instances", "kernel").chain([
        Column::text("GridXYZ", "Blocks per dimension.").field(move |row: &Row| extents(row.key.1.0).into()),
        Column::text("BlockXYZ", "Threads per block, by dimension.")
            .field(move |row: &Row| extents(row.key.1.1).into()),
        NAME.field(|row: &Row| row.key.0.as_str().into()),
    ]);
    Sheet::new("cuda_gpu_kern_gb_sum", "Kernels by name, grid and block.", fields, |analysis| {
        let shapes = rows::launch_shapes(analysis).into_iter();
        shapes
            .map(|sum| Sum { key: (sum.key.0.to_owned(), sum.key.1), values: sum.values, share: sum.share })
            .collect()
    })
}

fn mem_time_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    let fields = sum_fields::<String>("Count", "operation")
        .chain([OPERATION.field(|row: &Sum<String>| row.key.as_str().into())]);
    Sheet::new("cuda_gpu_mem_time_sum", "Copies and fills by operation.", fields, |analysis| {
        rows::memory_operations(analysis, |work| Some(analysis.duration(work.event)))
    })
}

fn mem_size_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    const fn size(name: &'static str, description: &'static str) -> Column {
        Column::new(name, Number(Megabytes), description)
    }
    fn megabytes(
        column: Column,
        value: impl Fn(&Summary) -> f64 + Send + Sync + 'static,
    ) -> Field<(), Sum<String>> {
        column.field(move |row: &Sum<String>| (value(&row.values) / 1e6).into())
    }
    let fields = [
        megabytes(size("Total (MB)", "Total size in MB (10⁶ bytes)."), |values| values.sum as f64),
        Column::count("Count", "Number of instances.").field(|row: &Sum<String>| row.values.count.into()),
        megabytes(size("Avg (MB)", "Mean size in MB.").per("operation"), |values| values.mean),
        megabytes(size("Med (MB)", "Median size in MB.").per("operation"), |values| values.median),
        megabytes(size("Min (MB)", "Smallest size in MB.").per("operation"), |values| values.min as f64),
        megabytes(size("Max (MB)", "Largest size in MB.").per("operation"), |values| values.max as f64),
        megabytes(
            size("StdDev (MB)", "Sample standard deviation in MB; 0 for one value.").per("operation"),
            |values| values.sample_std.unwrap_or(0.0),
        ),
        OPERATION.field(|row: &Sum<String>| row.key.as_str().into()),
    ];
    Sheet::new("cuda_gpu_mem_size_sum", "Bytes of copies and fills by operation.", fields, |analysis| {
        rows::memory_operations(analysis, |work| rows::bytes(analysis, work))
    })
}

fn nvtx_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    type Row = Sum<(String, &'static str)>;
    let fields = sum_fields::<(String, &'static str)>("Instances", "range").chain([
        STYLE.field(|row: &Row| row.key.1.into()),
        Column::text("Range", "Range as domain:text, without PyTorch's call numbers.")
            .field(|row: &Row| row.key.0.as_str().into()),
    ]);
    Sheet::new("nvtx_sum", "NVTX ranges.", fields, |analysis| {
        let sums = range_sums(analysis);
        let all: i128 = sums.iter().map(|sum| i128::from(sum.host.sum)).sum();
        let share = |time: i64| if all > 0 { time as f64 / all as f64 } else { 0.0 };
        sums.into_iter()
            .map(|sum| Sum {
                share: share(sum.host.sum),
                values: sum.host,
                key: (sum.label.clone(), sum.style()),
            })
            .collect()
    })
}

fn nvtx_gpu_proj_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    let first = [
        Column::text("Range", "Range as domain:text.").field(|row: &RangeSum| row.label.as_str().into()),
        STYLE.field(|row: &RangeSum| row.style().into()),
        Column::new(
            "Total Proj Time (ns)",
            Whole(Nanoseconds),
            "Sum over ranges of the time from the first start to the last end of the range's GPU work.",
        )
        .field(|row: &RangeSum| row.projected.map(|projected| projected.sum).into()),
        Column::new("Total Range Time (ns)", Whole(Nanoseconds), "Host time of ranges with GPU work.")
            .field(|row: &RangeSum| row.host_with_work.into()),
        Column::count("Range Instances", "Number of ranges with GPU work.")
            .field(|row: &RangeSum| row.with_work().into()),
    ];
    let times = ["Proj Avg (ns)", "Proj Med (ns)", "Proj Min (ns)", "Proj Max (ns)", "Proj StdDev (ns)"];
    let last = [
        Column::count("Total GPU Ops", "Number of GPU operations launched in these ranges.")
            .field(|row: &RangeSum| row.operations.into()),
        Column::new("Avg GPU Ops", Number(One), "Mean number of GPU operations per range.")
            .per("range")
            .field(|row: &RangeSum| row.mean(row.operations).into()),
        Column::new("Avg Range Lvl", Number(One), "Mean nesting level.")
            .per("range")
            .field(|row: &RangeSum| row.mean(row.levels).into()),
        Column::new("Avg Num Child", Number(One), "Mean number of directly nested ranges.")
            .per("range")
            .field(|row: &RangeSum| row.mean(row.children).into()),
    ];
    let fields = first
        .into_iter()
        .chain(statistics(times, "range", |row: &RangeSum| row.projected.as_ref()))
        .chain(last);
    Sheet::new("nvtx_gpu_proj_sum", "NVTX ranges projected onto the device.", fields, |analysis| {
        let mut sums = range_sums(analysis);
        sums.retain(|sum| sum.projected.is_some());
        sums.sort_few_by_cached_key(|sum| {
            (Reverse(sum.projected.map(|projected| projected.sum)), sum.label.clone(), sum.is_start_end)
        });
        sums
    })
}

fn nvtx_kern_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    type Row<'a> = RangeKernels<'a>;
    let first = [
        Column::text("NVTX Range", "Range as domain:text.").field(|row: &Row<'_>| row.label.as_str().into()),
        STYLE.field(|row: &Row<'_>| if row.is_start_end { "StartEnd" } else { "PushPop" }.into()),
        PID.field(|row: &Row<'_>| row.thread.0.into()),
        TID.field(|row: &Row<'_>| row.thread.1.into()),
        Column::count("NVTX Inst", "Number of ranges with this kernel.")
            .field(|row: &Row<'_>| row.ranges.into()),
        Column::count("Kern Inst", "Number of kernels.").field(|row: &Row<'_>| row.durations.count.into()),
        TOTAL.field(|row: &Row<'_>| row.durations.sum.into()),
    ];
    let last = Column::text("Kernel Name", "Kernel.").field(|row: &Row<'_>| row.kernel.into());
    let fields = first.into_iter().chain(times("kernel", |row: &Row<'_>| Some(&row.durations))).chain([last]);
    Sheet::new("nvtx_kern_sum", "Kernels by the NVTX ranges that enclose their calls.", fields, range_kernels)
}

fn kern_exec_sum<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    type Row<'a> = LaunchedKernel<'a>;
    let first = [
        PID.field(|row: &Row<'_>| row.thread.0.into()),
        TID.field(|row: &Row<'_>| row.thread.1.into()),
        Column::identifier("DevId", "Index of the GPU.").field(|row: &Row<'_>| row.device.into()),
        Column::count("Count", "Number of kernels.").field(|row: &Row<'_>| row.kernels.count.into()),
        Column::count("QCount", "Number of kernels that started after their call ended.")
            .field(|row: &Row<'_>| row.queued.map_or(0, |queued| queued.count).into()),
    ];
    const T: [&str; 5] = ["TAvg (ns)", "TMed (ns)", "TMin (ns)", "TMax (ns)", "TStdDev (ns)"];
    const A: [&str; 5] = ["AAvg (ns)", "AMed (ns)", "AMin (ns)", "AMax (ns)", "AStdDev (ns)"];
    const Q: [&str; 5] = ["QAvg (ns)", "QMed (ns)", "QMin (ns)", "QMax (ns)", "QStdDev (ns)"];
    const K: [&str; 5] = ["KAvg (ns)", "KMed (ns)", "KMin (ns)", "KMax (ns)", "KStdDev (ns)"];
    let last = [
        Column::text("API Name", "Call.").field(|row: &Row<'_>| row.call.into()),
        Column::text("Kernel Name", "Kernel.").field(|row: &Row<'_>| row.kernel.into()),
    ];
    let fields = first
        .into_iter()
        .chain(statistics(T, "launch", |row: &Row<'_>| row.total.as_ref()))
        .chain(statistics(A, "call", |row: &Row<'_>| row.calls.as_ref()))
        .chain(statistics(Q, "kernel", |row: &Row<'_>| row.queued.as_ref()))
        .chain(statistics(K, "kernel", |row: &Row<'_>| Some(&row.kernels)))
        .chain(last);
    Sheet::new(
        "cuda_kern_exec_sum",
        "Kernels with their launching calls; excludes kernels without a recorded call. T: from the start of the call to the later of the two ends, A: duration of the call, Q: from the end of the call to the start of the kernel, if that is later, K: duration of the kernel.",
        fields,
        rows::launched_kernels,
    )
}

/// A kernel, copy or fill.
struct Traced<'a> {
    name: String,
    source: Option<&'a str>,
    destination: Option<&'a str>,
    device: String,
    context: Option<u32>,
    green_context: Option<u32>,
    start: i64,
    duration: i64,
    stream: Option<i64>,
    correlation: Option<i64>,
    bytes: Option<i64>,
    shape: Option<Shape>,
    registers: Option<u32>,
    static_memory: Option<u32>,
    dynamic_memory: Option<u32>,
}

fn gpu_trace<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    const fn grid(name: &'static str) -> Column {
        Column::count(name, "Blocks of the grid in this dimension.")
    }
    fn block(name: &'static str) -> Column {
        Column::count(name, "Threads of a block in this dimension.").per("block")
    }
    fn extent<'a>(
        column: Column,
        of: impl Fn(&Shape) -> u32 + Send + Sync + 'static,
    ) -> Field<(), Traced<'a>> {
        column.field(move |row: &Traced<'a>| row.shape.as_ref().map(&of).into())
    }
    let fields = [
        Column::new("Start (ns)", Whole(Nanoseconds), "Start in ns, as recorded.")
            .field(|row: &Traced<'_>| row.start.into()),
        Column::new("Duration (ns)", Whole(Nanoseconds), "Duration in ns.")
            .field(|row: &Traced<'_>| row.duration.into()),
        Column::identifier("CorrId", "ID shared with the launching call.")
            .field(|row: &Traced<'_>| row.correlation.into()),
        extent(grid("GrdX"), |(grid, _)| grid[0]),
        extent(grid("GrdY"), |(grid, _)| grid[1]),
        extent(grid("GrdZ"), |(grid, _)| grid[2]),
        extent(block("BlkX"), |(_, block)| block[0]),
        extent(block("BlkY"), |(_, block)| block[1]),
        extent(block("BlkZ"), |(_, block)| block[2]),
        Column::count("Reg/Trd", "Registers per thread.")
            .per("thread")
            .field(|row: &Traced<'_>| row.registers.into()),
        Column::new("StcSMem (MB)", Number(Megabytes), "Static shared memory per block, in MB (10⁶ bytes).")
            .per("block")
            .field(|row: &Traced<'_>| row.static_memory.map(|bytes| f64::from(bytes) / 1e6).into()),
        Column::new("DymSMem (MB)", Number(Megabytes), "Dynamic shared memory per block, in MB (10⁶ bytes).")
            .per("block")
            .field(|row: &Traced<'_>| row.dynamic_memory.map(|bytes| f64::from(bytes) / 1e6).into()),
        Column::new("Bytes (MB)", Number(Megabytes), "Size in MB (10⁶ bytes).")
            .field(|row: &Traced<'_>| row.bytes.map(|bytes| bytes as f64 / 1e6).into()),
        Column::new("Throughput (MB/s)", Number(MegabytesPerSecond), "Size / duration (10⁶ bytes).").field(
            |row: &Traced<'_>| {
                row.bytes
                    .filter(|_| row.duration > 0)
                    .map(|bytes| bytes as f64 * 1e3 / row.duration as f64)
                    .into()
            },
        ),
        Column::text("SrcMemKd", "Source memory kind; for a fill, that of the destination.")
            .field(|row: &Traced<'_>| row.source.into()),
        Column::text("DstMemKd", "Destination memory kind.").field(|row: &Traced<'_>| row.destination.into()),
        Column::text("Device", "GPU name, if recorded, and index.")
            .field(|row: &Traced<'_>| row.device.as_str().into()),
        Column::identifier("Ctx", "CUDA context.")
            .field(|row: &Traced<'_>| row.context.map(i64::from).into()),
        Column::identifier("GreenCtx", "Green context: a context limited to some of the SMs.")
            .field(|row: &Traced<'_>| row.green_context.map(i64::from).into()),
        Column::identifier("Strm", "Stream.").field(|row: &Traced<'_>| row.stream.into()),
        NAME.field(|row: &Traced<'_>| row.name.as_str().into()),
    ];
    Sheet::new("cuda_gpu_trace", "All device work in order of start time.", fields, traced)
}

/// All device work, where it is asked for.
fn traced<'a>(analysis: &'a NsysAnalysis<'_>) -> Vec<Traced<'a>> {
    if !analysis.options().gpu_trace {
        return Vec::new();
    }
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let mut works: Vec<DeviceWork> = analysis.device_work().to_vec();
    works.sort_by_key(|work| (events.start(work.event), work.event));
    let row = |work: DeviceWork| {
        let geometry = events.arguments().geometry.get(work.event.index());
        let name = trace.name(work.event);
        let kind = CopyKind::of(name);
        let cuda = events.arguments().cuda.get(work.event.index()).unwrap_or_default();
        let is_kernel = events.category(work.event) == trace_ingest::Category::KERNEL;
        Traced {
            name: if is_kernel { name.to_owned() } else { rows::operation(analysis, work) },
            source: kind.map(|kind| kind.source).or_else(|| CopyKind::filled_memory(name)),
            destination: kind.map(|kind| kind.destination),
            start: analysis.recorded_time(events.start(work.event)),
            duration: analysis.duration(work.event),
            stream: events.stream(work.event),
            correlation: events.correlation(work.event),
            bytes: rows::bytes(analysis, work),
            shape: geometry.map(|geometry| (geometry.grid, geometry.block)),
            registers: geometry.and_then(|geometry| geometry.registers_per_thread),
            static_memory: cuda.static_shared_memory,
            dynamic_memory: geometry
                .and_then(|geometry| geometry.shared_memory)
                .zip(cuda.static_shared_memory)
                .map(|(all, fixed)| all.saturating_sub(fixed)),
            device: device_name(analysis, work.device),
            context: cuda.context,
            green_context: cuda.green_context,
        }
    };
    works.into_iter().map(row).collect()
}

/// What a GPU is called: its name and its index, as the recorder shows it.
fn device_name(analysis: &NsysAnalysis<'_>, index: i64) -> String {
    let devices = &analysis.trace().facts().devices;
    let name =
        devices.iter().find(|device| device.id == Some(index)).and_then(|device| device.name.as_deref());
    name.map_or_else(|| index.to_string(), |name| format!("{name} ({index})"))
}
