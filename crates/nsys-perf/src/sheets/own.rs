//! The sheets in our names and units.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{SortFew, Summary};
use operator_sheets::durations::{TOTAL, durations, ms, us};
use sheets::ColumnKind::{Number, Whole};
use sheets::Unit::{Bytes, GigabytesPerSecond};
use sheets::{Column, Field, Nested, Role, Sheet};
use trace_ingest::Category;

use super::{RangeKernels, RangeSum, range_kernels, range_sums};
use crate::analysis::NsysAnalysis;
use crate::rows::{self, Bandwidth, Coverage, LaunchedKernel, OverheadSum, Shape, Sum, Synchronizations};

const SHARE: Column =
    Column::percent("Time (%)", "Share of the total time of all rows.").with_role(Role::Headline);
const NAME: Column = Column::text("name", "Name.").with_role(Role::Name);
const DEVICE: Column = Column::identifier("device", "Index of the GPU.").with_role(Role::Name);
const PROCESS: Column = Column::identifier("PID", "Process.").with_role(Role::Name);
const THREAD: Column = Column::identifier("TID", "Thread.").with_role(Role::Name);
const COUNT: Column = Column::count("Count", "Number of instances.");
const KERNEL: Column = Column::text("kernel", "Kernel.").with_role(Role::Name);
const STYLE: Column = Column::text(
    "style",
    "PushPop: pushed and popped by the same thread, so ranges nest. StartEnd: started and ended, possibly by different threads.",
)
.with_role(Role::Detail);
const RANGE: Column = Column::text(
    "range",
    "Range as domain:text, without PyTorch's call numbers. The default domain has no name.",
)
.with_role(Role::Name);

/// The sheets, in order; one without rows is left out.
#[must_use]
pub fn nsys_sheets<'a, 't: 'a>() -> Vec<Sheet<'a, NsysAnalysis<'t>>> {
    vec![
        nvtx_ranges(),
        nvtx_tree(),
        nvtx_kernels(),
        kernel_launch_shapes(),
        api_summary("api_summary", "CUDA runtime and driver calls by name, most time first.", rows::calls),
        api_kernel_latency(),
        launch_coverage(),
        memory("memory_copy_bandwidth", "Copies by GPU, direction and memory kinds.", Category::GPU_MEMCPY),
        memory("memory_fills", "Memory fills by GPU and memory kind.", Category::GPU_MEMSET),
        sync_summary(),
        overheads(),
        api_summary(
            "os_runtime_summary",
            "Operating system calls by name, most time first; needs --os_calls.",
            rows::system_calls,
        ),
    ]
}

fn time<R>(column: Column, of: impl Fn(&R) -> Option<i64> + Send + Sync + 'static) -> Field<(), R> {
    column.field(move |row| of(row).map(ms).into())
}

fn api_summary<'a, 't: 'a>(
    name: &'static str,
    description: &'static str,
    rows: fn(&'a NsysAnalysis<'t>) -> Vec<Sum<&'a str>>,
) -> Sheet<'a, NsysAnalysis<'t>> {
    let fields = [
        NAME.field(|row: &Sum<&str>| row.key.into()),
        COUNT.field(|row: &Sum<&str>| row.values.count.into()),
    ];
    let share = [SHARE.field(|row: &Sum<&str>| (row.share * 100.0).into())];
    let fields = fields.into_iter().chain(durations("call", |row: &Sum<&str>| &row.values)).chain(share);
    Sheet::new(name, description, fields, rows)
}

fn kernel_launch_shapes<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    type Row<'a> = Sum<(&'a str, Shape)>;
    let extents =
        |[x, y, z]: [u32; 3]| Nested::Tuple([x, y, z].map(|extent| Nested::Whole(extent.into())).to_vec());
    let fields = [
        KERNEL.field(|row: &Row<'_>| row.key.0.into()),
        Column::nested("grid", "Blocks per dimension.")
            .with_role(Role::Name)
            .field(move |row: &Row<'_>| extents(row.key.1.0).into()),
        Column::nested("block", "Threads per block, by dimension.")
            .with_role(Role::Name)
            .field(move |row: &Row<'_>| extents(row.key.1.1).into()),
        COUNT.field(|row: &Row<'_>| row.values.count.into()),
    ];
    let share = [SHARE.field(|row: &Row<'_>| (row.share * 100.0).into())];
    let fields = fields.into_iter().chain(durations("kernel", |row: &Row<'_>| &row.values)).chain(share);
    Sheet::new(
        "kernel_launch_shapes",
        "Kernels by name and launch configuration, most time first.",
        fields,
        rows::launch_shapes,
    )
}

fn memory<'a, 't: 'a>(
    name: &'static str,
    description: &'static str,
    category: Category,
) -> Sheet<'a, NsysAnalysis<'t>> {
    type Row<'a> = Bandwidth<'a>;
    let rate = |bytes: i64, time: i64| (time > 0).then(|| bytes as f64 / time as f64);
    let fields = [
        DEVICE.field(|row: &Row<'_>| row.device.into()),
        Column::text("direction", "Source to destination; for fills, the filled memory.")
            .with_role(Role::Name)
            .field(|row: &Row<'_>| row.kind.map_or(row.name, |kind| kind.direction).into()),
        Column::text("source", "Source memory kind.")
            .with_role(Role::Name)
            .field(|row: &Row<'_>| row.kind.map(|kind| kind.source).into()),
        Column::text("destination", "Destination memory kind.")
            .with_role(Role::Name)
            .field(|row: &Row<'_>| row.kind.map(|kind| kind.destination).into()),
        COUNT.field(|row: &Row<'_>| row.durations.count.into()),
        Column::new("Bytes", Whole(Bytes), "Total bytes.").field(|row: &Row<'_>| row.bytes.into()),
        Column::new(
            "Bandwidth (GB/s)",
            Number(GigabytesPerSecond),
            "Bytes / summed durations, in GB/s (10⁹ bytes).",
        )
        .with_role(Role::Headline)
        .field(move |row: &Row<'_>| rate(row.bytes, row.durations.sum).into()),
        Column::new(
            "Union Bandwidth (GB/s)",
            Number(GigabytesPerSecond),
            "Bytes / Union Time, in GB/s (10⁹ bytes).",
        )
        .field(move |row: &Row<'_>| rate(row.bytes, row.union).into()),
        time(
            Column::milliseconds(
                "Union Time (ms)",
                "Time with at least one of these copies or fills running.",
            ),
            |row: &Row<'_>| Some(row.union),
        ),
    ];
    let fields = fields.into_iter().chain(durations("operation", |row: &Row<'_>| &row.durations));
    Sheet::new(name, description, fields, move |analysis| rows::bandwidths(analysis, category))
}

fn nvtx_ranges<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    let fields = [
        RANGE.field(|row: &RangeSum| row.label.as_str().into()),
        STYLE.field(|row: &RangeSum| row.style().into()),
        COUNT.field(|row: &RangeSum| row.host.count.into()),
    ];
    let device_fields = [
        Column::count("Instances with GPU Work", "Number of ranges with GPU work launched by their thread.")
            .field(|row: &RangeSum| row.with_work().into()),
        Column::count(
            "GPU Ops",
            "Number of kernels, copies and fills launched in these ranges, including nested ranges.",
        )
        .field(|row: &RangeSum| row.operations.into()),
        time(
            Column::milliseconds(
                "Projected Time (ms)",
                "Sum over ranges of the time from the first start to the last end of the range's GPU work.",
            ),
            |row: &RangeSum| row.projected.map(|projected| projected.sum),
        ),
        time(
            Column::milliseconds(
                "GPU Op Time (ms)",
                "Sum of durations of the ranges' GPU work. Work in nested ranges counts toward each of them.",
            ),
            |row: &RangeSum| Some(row.operation_time),
        ),
        time(
            Column::milliseconds(
                "Own GPU Op Time (ms)",
                "GPU Op Time (ms), excluding work of nested ranges; the rows add up to all device work launched in ranges.",
            ),
            |row: &RangeSum| Some(row.own_operation_time),
        ),
        Column::new(
            "Mean Level",
            Number(sheets::Unit::One),
            "Mean nesting level within the thread, over ranges with device work.",
        )
        .per("range")
        .field(|row: &RangeSum| row.mean(row.levels).into()),
        Column::new(
            "Mean Children",
            Number(sheets::Unit::One),
            "Mean number of directly nested ranges, over ranges with device work.",
        )
        .per("range")
        .field(|row: &RangeSum| row.mean(row.children).into()),
    ];
    let fields =
        fields.into_iter().chain(durations("range", |row: &RangeSum| &row.host)).chain(device_fields);
    Sheet::new(
        "nvtx_ranges",
        "NVTX ranges by domain and text, most host time first, with the device work launched in them by their threads.",
        fields,
        range_sums,
    )
}

fn nvtx_kernels<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    type Row<'a> = RangeKernels<'a>;
    let fields = [
        RANGE.field(|row: &Row<'_>| row.label.as_str().into()),
        STYLE.field(|row: &Row<'_>| if row.is_start_end { "StartEnd" } else { "PushPop" }.into()),
        PROCESS.field(|row: &Row<'_>| row.thread.0.into()),
        THREAD.field(|row: &Row<'_>| row.thread.1.into()),
        KERNEL.field(|row: &Row<'_>| row.kernel.into()),
        Column::count("Ranges", "Number of ranges in which the kernel was launched.")
            .field(|row: &Row<'_>| row.ranges.into()),
        COUNT.overlapping().field(|row: &Row<'_>| row.durations.count.into()),
        time(
            Column::milliseconds(
                "Own Time (ms)",
                "Time of kernels whose innermost range is this one, so each kernel counts once.",
            ),
            |row: &Row<'_>| Some(row.own_time),
        ),
    ];
    let fields = fields.into_iter().chain(durations("kernel", |row: &Row<'_>| &row.durations));
    Sheet::new(
        "nvtx_kernels",
        "Kernels by launching range, most time first. A kernel in nested ranges has a row for each range.",
        fields,
        range_kernels,
    )
}

/// Ranges with one path of names. Times are ns.
#[derive(Default)]
struct PathSum {
    path: String,
    level: usize,
    count: u64,
    host: i64,
    own_host: i64,
    operations: u64,
    operation_time: i64,
    own_operation_time: i64,
    projected: i64,
}

fn nvtx_tree<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    let fields = [
        Column::text("path", "Nested ranges, outermost first, separated by ` / `.")
            .with_role(Role::Name)
            .field(|row: &PathSum| row.path.as_str().into()),
        Column::count("level", "Number of enclosing ranges.").field(|row: &PathSum| row.level.into()),
        COUNT.field(|row: &PathSum| row.count.into()),
        time(Column::milliseconds("Host Time (ms)", "Sum of durations on the host."), |row: &PathSum| {
            Some(row.host)
        }),
        time(
            Column::milliseconds("Own Host Time (ms)", "Host Time (ms), excluding directly nested ranges."),
            |row: &PathSum| Some(row.own_host),
        ),
        Column::count("GPU Ops", "Number of kernels, copies and fills launched inside the range.")
            .field(|row: &PathSum| row.operations.into()),
        time(
            Column::milliseconds("GPU Op Time (ms)", "Sum of the GPU operations' durations.")
                .with_role(Role::Headline),
            |row: &PathSum| Some(row.operation_time),
        ),
        time(
            Column::milliseconds(
                "Own GPU Op Time (ms)",
                "GPU Op Time (ms), excluding work of nested ranges.",
            ),
            |row: &PathSum| Some(row.own_operation_time),
        ),
        time(
            Column::milliseconds(
                "Projected Time (ms)",
                "Sum over ranges of the time from the first start to the last end of the range's GPU work.",
            ),
            |row: &PathSum| Some(row.projected),
        ),
    ];
    Sheet::new("nvtx_tree", "NVTX ranges by path, most device time first.", fields, path_sums)
}

fn path_sums(analysis: &NsysAnalysis<'_>) -> Vec<PathSum> {
    let ranges = analysis.ranges();
    let options = analysis.options();
    // Paths as numbers: that of the parent and what the range is called.
    let mut numbers: BTreeMap<(Option<u32>, String), u32> = BTreeMap::new();
    let mut sums: Vec<PathSum> = Vec::new();
    let mut path_of: Vec<u32> = Vec::with_capacity(ranges.instances.len());
    for (instance, position) in ranges.instances.iter().zip(0..) {
        let parent = instance.parent.map(|parent| path_of[parent as usize]);
        let level = parent.map_or(0, |parent| sums[parent as usize].level + 1);
        let host = analysis.duration(instance.event);
        if level >= usize::from(options.nvtx_depth) {
            // Too deep for a row: part of the range around it.
            path_of.extend(parent);
            continue;
        }
        let path = *numbers.entry((parent, ranges.label(analysis.trace(), position))).or_insert_with_key(
            |(_, label)| {
                let path = match parent {
                    Some(parent) => format!("{} / {label}", sums[parent as usize].path),
                    None => label.clone(),
                };
                sums.push(PathSum { path, level, ..PathSum::default() });
                sums.len() as u32 - 1
            },
        );
        path_of.push(path);
        if let Some(parent) = parent {
            sums[parent as usize].own_host -= host;
        }
        let sum = &mut sums[path as usize];
        sum.count += 1;
        sum.host += host;
        sum.own_host += host;
        sum.operations += u64::from(instance.operations);
        sum.operation_time += instance.operation_time;
        sum.projected += instance.projected();
    }
    for (instance, &path) in ranges.instances.iter().zip(&path_of) {
        sums[path as usize].own_operation_time += instance.own_operation_time;
    }
    sums.sort_few_by(|a, b| (Reverse(a.operation_time), &a.path).cmp(&(Reverse(b.operation_time), &b.path)));
    if sums.len() > options.most_paths {
        let rest = sums.split_off(options.most_paths);
        let mut all = PathSum { path: format!("… {} more", rest.len()), ..PathSum::default() };
        for sum in rest {
            all.count += sum.count;
            all.own_host += sum.own_host;
            all.own_operation_time += sum.own_operation_time;
        }
        sums.push(all);
    }
    sums
}

fn api_kernel_latency<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    type Row<'a> = LaunchedKernel<'a>;
    fn median<'a>(
        column: Column,
        of: impl for<'r> Fn(&'r LaunchedKernel<'a>) -> Option<&'r Summary> + Send + Sync + 'static,
    ) -> Field<(), LaunchedKernel<'a>> {
        column.field(move |row: &LaunchedKernel<'a>| of(row).map(|values| us(values.median)).into())
    }
    let fields = [
        Column::text("call", "Launching call.").with_role(Role::Name).field(|row: &Row<'_>| row.call.into()),
        KERNEL.field(|row: &Row<'_>| row.kernel.into()),
        PROCESS.field(|row: &Row<'_>| row.thread.0.into()),
        THREAD.field(|row: &Row<'_>| row.thread.1.into()),
        DEVICE.field(|row: &Row<'_>| row.device.into()),
        COUNT.field(|row: &Row<'_>| row.kernels.count.into()),
        TOTAL
            .described("Sum of the times from the start of the call to the end of the call or of the kernel, whichever is later.")
            .field(|row: &Row<'_>| row.total.map(|total| ms(total.sum)).into()),
        Column::count("Queued", "Number of kernels that started after their call ended.").field(|row: &Row<'_>| row.queued.map_or(0, |queued| queued.count).into()),
        median(Column::microseconds("Median Call (µs)", "Median duration of the call.").per("call"), |row| row.calls.as_ref()),
        median(Column::microseconds("Median Queue (µs)", "Median time from the end of the call to the start of the kernel, over kernels that started after their call ended.").per("kernel"), |row| row.queued.as_ref()),
        median(Column::microseconds("Median Kernel (µs)", "Median duration of the kernel.").per("kernel"), |row| Some(&row.kernels)),
        Column::microseconds("Max Call (µs)", "Longest call.").per("call").field(|row: &Row<'_>| {
            row.calls.map(|calls| us(calls.max as f64)).into()
        }),
        Column::microseconds("Max Queue (µs)", "Longest queue time.").per("kernel").field(|row: &Row<'_>| {
            row.queued.map(|queued| us(queued.max as f64)).into()
        }),
    ];
    Sheet::new(
        "api_kernel_latency",
        "Kernels with their launching calls, by thread, GPU, call and kernel; excludes kernels without a recorded call (see launch_coverage).",
        fields,
        rows::launched_kernels,
    )
}

fn launch_coverage<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    let fields = [
        DEVICE.field(|row: &Coverage| row.device.into()),
        Column::text("kind", "kernel, memcpy or memset.")
            .with_role(Role::Name)
            .field(|row: &Coverage| row.kind.into()),
        COUNT.field(|row: &Coverage| row.count.into()),
        Column::count("With Call", "Number of events with a recorded call.")
            .field(|row: &Coverage| row.with_call.into()),
        Column::count(
            "Without Call",
            "Number of events without a recorded call: the recording began after the call, or was truncated.",
        )
        .field(|row: &Coverage| (row.count - row.with_call).into()),
        Column::count("Started after Call", "Number of events that started after their call ended.")
            .field(|row: &Coverage| row.after_call.into()),
        Column::count("Started before Call's End", "Number of events that started during their call.")
            .field(|row: &Coverage| (row.with_call - row.after_call).into()),
    ];
    Sheet::new(
        "launch_coverage",
        "Device work by GPU and kind, with and without a recorded launch.",
        fields,
        rows::coverage,
    )
}

fn sync_summary<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    type Row<'a> = Synchronizations<'a>;
    let fields = [
        Column::text("call", "Call.").with_role(Role::Name).field(|row: &Row<'_>| row.call.into()),
        Column::text("sync_type", "Object that the call waits for; empty for copies.")
            .with_role(Role::Name)
            .field(|row: &Row<'_>| row.kind.into()),
        COUNT.field(|row: &Row<'_>| row.count.into()),
        time(
            Column::milliseconds("Call Time (ms)", "Sum of the calls' durations.").with_role(Role::Headline),
            |row: &Row<'_>| Some(row.call_time),
        ),
        time(
            Column::milliseconds("Sync Time (ms)", "Sum of the synchronization durations within the calls."),
            |row: &Row<'_>| Some(row.sync_time),
        ),
        Column::text("finding", "Problem that the row indicates, if any.")
            .with_role(Role::Detail)
            .field(|row: &Row<'_>| row.finding.map(rows::SyncFinding::as_str).into()),
    ];
    Sheet::new(
        "sync_summary",
        "Calls that synchronize the host or streams with the device, by call and kind, and copies that block the host.",
        fields,
        rows::synchronizations,
    )
}

fn overheads<'a, 't: 'a>() -> Sheet<'a, NsysAnalysis<'t>> {
    let table = |row: &OverheadSum<'_>| match row.is_recorder_work {
        true => "PROFILER_OVERHEAD",
        false => "CUPTI_ACTIVITY_KIND_OVERHEAD",
    };
    let fields = [
        Column::text(
            "table",
            "Table of the export: CUPTI_ACTIVITY_KIND_OVERHEAD (driver work) or PROFILER_OVERHEAD (profiler work).",
        )
        .with_role(Role::Name)
        .field(move |row: &OverheadSum<'_>| table(row).into()),
        Column::text("type", "Kind of work.")
            .with_role(Role::Name)
            .field(|row: &OverheadSum<'_>| row.kind.into()),
        NAME.field(|row: &OverheadSum<'_>| row.name.into()),
        COUNT.field(|row: &OverheadSum<'_>| row.durations.count.into()),
    ];
    let fields = fields.into_iter().chain(durations("event", |row: &OverheadSum<'_>| &row.durations));
    Sheet::new(
        "overheads",
        "Driver work inside calls, such as loading modules or waiting for queue space, and profiler overhead.",
        fields,
        rows::overheads,
    )
}
