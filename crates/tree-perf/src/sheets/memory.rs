//! Memory of the devices: its peak, who holds it then, how it changes, and what steps leave behind.

use std::cmp::Reverse;

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use sheets::ColumnKind::{Number, Whole};
use sheets::Unit::{Bytes, Mebibytes};
use sheets::names::{MEMORY_BLOCKS, MEMORY_OWNERS, MEMORY_STEPS, MEMORY_SUMMARY, MEMORY_TIMELINE};
use sheets::{Cell, Chart, ChartShape, Column, Field, Figure, Role, Sheet};
use trace_ingest::{MemoryDevice, StringId};
use trace2tree::module_name;

use crate::analysis::Analysis;
use crate::memory::{Block, Bucket, DeviceMemory, Failure, Growth, MemoryUse, StepMemory};

/// What a sheet of memory is made from.
type Context<'a> = (&'a Analysis, &'a MemoryUse);

const DEVICE: Column =
    Column::text("device", "Kind and index of the device, as named by PyTorch; CPU is the host.");

fn bytes(name: &'static str, description: &'static str) -> Column {
    Column::new(name, Whole(Bytes), description)
}

/// The sheets' rows of all devices; without any, there is no sheet.
fn rows<'a, R>(
    analysis: &'a Analysis,
    device_rows: impl Fn(&'a MemoryUse, &'a DeviceMemory) -> Vec<R>,
) -> Option<(Context<'a>, Vec<R>)> {
    let memory = analysis.memory()?;
    let rows: Vec<R> = memory.devices.iter().flat_map(|device| device_rows(memory, device)).collect();
    (!rows.is_empty()).then_some(((analysis, memory), rows))
}

fn text<'r>((analysis, _): &'r Context<'_>, name: Option<StringId>) -> Cell<'r> {
    name.map(|name| analysis.trace().text(name)).into()
}

/// The name of a module without what marks its frame.
fn module<'r>((analysis, _): &'r Context<'_>, name: Option<StringId>) -> Cell<'r> {
    name.map(|name| module_name(analysis.trace().text(name))).into()
}

fn step_name<'r>((analysis, memory): &'r Context<'_>, time: i64) -> Cell<'r> {
    memory.step_at(time).map(|step| analysis.trace().text(step.name)).into()
}

const OUTERMOST_OPERATOR: Column =
    Column::text("outermost operator", "Outermost enclosing operator; empty if none.")
        .with_role(Role::Detail);

/// One row per allocation that failed.
pub(crate) fn failures_sheet<'a>() -> Sheet<'a, Analysis> {
    type Row<'a> = &'a Failure;
    fn slack(failure: &Failure) -> Option<i64> {
        Some(failure.event.reserved?.saturating_sub(failure.event.allocated?))
    }
    let fields = [
        DEVICE.field_in(|_, row: &Row<'_>| row.event.device.to_string().into()),
        Column::milliseconds("time_ms", "Time of the failure, relative to the trace's first event.")
            .with_role(Role::Name)
            .field_in(|(analysis, _): &Context<'_>, row: &Row<'_>| analysis.ms(row.time).into()),
        bytes("requested_bytes", "Bytes requested.")
            .with_role(Role::Headline)
            .field_in(|_, row: &Row<'_>| row.event.bytes.into()),
        bytes("allocated_bytes", "Bytes allocated at the time of the failure; empty if not recorded.")
            .field_in(|_, row: &Row<'_>| row.event.allocated.into()),
        bytes("reserved_bytes", "Bytes of device memory that the allocator held at the time of the failure; empty if not recorded.")
            .field_in(|_, row: &Row<'_>| row.event.reserved.into()),
        bytes(
            "slack_bytes",
            "Bytes reserved but not allocated: cached or fragmented. If they exceed the request, memory was fragmented.",
        )
        .field_in(|_, row: &Row<'_>| slack(row).into()),
        Column::text("operator", "Innermost enclosing operator that does more than allocate; empty if none.")
            .field_in(|context: &Context<'_>, row: &Row<'_>| text(context, row.owner.operator)),
        OUTERMOST_OPERATOR
            .field_in(|context: &Context<'_>, row: &Row<'_>| {
                text(context, row.owner.outermost.map(|outermost| outermost.name))
            }),
        Column::text("module", "Innermost enclosing nn.Module; empty if none.")
            .field_in(|context: &Context<'_>, row: &Row<'_>| module(context, row.owner.module))
            .when(|(_, memory)| memory.has_modules),
        Column::text("step", "Enclosing marked step; empty if none.")
            .with_role(Role::Detail)
            .field_in(|context: &Context<'_>, row: &Row<'_>| step_name(context, row.time)),
    ];
    Sheet::with_context(
        "memory_failures",
        "Out-of-memory allocation failures in time order: requested size, available memory and requester. Only if there are any.",
        fields,
        |analysis: &Analysis| {
            let memory = analysis.memory()?;
            let rows: Vec<&Failure> = memory.failures.iter().collect();
            (!rows.is_empty()).then_some(((analysis, memory), rows))
        },
    )
}

pub(crate) fn summary_sheet<'a>() -> Sheet<'a, Analysis> {
    type Row<'a> = &'a DeviceMemory;
    fn of<'a>(column: Column, value: fn(&DeviceMemory) -> i64) -> Field<Context<'a>, Row<'a>> {
        column.field(move |row: &Row<'_>| value(row).into())
    }
    fn reserved_field<'a>(
        column: Column,
        value: fn(&DeviceMemory) -> Option<i64>,
    ) -> Field<Context<'a>, Row<'a>> {
        column.field(move |row: &Row<'_>| value(row).into())
    }
    let peak = |row: &DeviceMemory| row.states[row.peak].allocated;
    let fields = [
        DEVICE.field_in(|_, row: &Row<'_>| row.device.to_string().into()),
        of(
            bytes("peak_bytes", "Peak bytes allocated, as counted by the allocator.")
                .with_role(Role::Headline)
                .per("moment"),
            peak,
        ),
        reserved_field(
            bytes(
                "reserved_peak_bytes",
                "Peak bytes of device memory held by the allocator; empty for the CPU.",
            )
            .per("moment"),
            DeviceMemory::reserved_peak,
        ),
        reserved_field(
            bytes(
                "slack_at_peak_bytes",
                "Bytes reserved but not allocated at the peak: cached or fragmented; empty for the CPU.",
            ),
            |row| Some(row.states[row.peak].reserved? - row.states[row.peak].allocated),
        ),
        of(
            bytes(
                "attributed_bytes",
                "Bytes live at the peak and allocated during the recording; memory_owners lists their owners.",
            ),
            DeviceMemory::attributed,
        ),
        of(
            bytes(
                "unattributed_bytes",
                "Rest of the peak: bytes allocated before the recording began, such as weights and optimizer state.",
            ),
            |row| row.states[row.peak].allocated - row.attributed(),
        ),
        of(bytes("base_bytes", "Bytes allocated before the first event."), |row| row.base),
        of(bytes("end_bytes", "Bytes allocated after the last event."), |row| {
            row.states.last().map_or(row.base, |state| state.allocated)
        }),
        of(Column::count("events", "Number of recorded allocations and deallocations."), |row| {
            row.states.len() as i64
        }),
        of(Column::count("allocations", "Number of recorded allocations."), |row| {
            row.states.iter().filter(|state| state.change > 0).count() as i64
        }),
        of(bytes("churn_bytes", "Sum of the sizes of all allocations."), DeviceMemory::churn),
        of(
            Column::count(
                "growths",
                "Number of times the allocator reserved more memory, which takes driver calls that may wait for the device.",
            ),
            |row| row.growths.count as i64,
        ),
        of(bytes("growth_bytes", "Total bytes by which the reserved memory grew."), |row| row.growths.bytes),
        of(
            Column::count(
                "driver_calls",
                "Number of cudaMalloc, hipMalloc and similar calls that preceded a growth of reserved memory: those since the previous allocator event on the same thread.",
            ),
            |row| row.growths.calls as i64,
        ),
        of(Column::count("out_of_memory", "Number of out-of-memory allocation failures."), |row| {
            row.failures as i64
        }),
    ];
    let time_fields = [
        Column::milliseconds("driver_time_ms", "Total duration of the driver calls.")
            .field_in(|(analysis, _): &Context<'_>, row: &Row<'_>| analysis.ms(row.growths.time).into()),
        Column::milliseconds("peak_time_ms", "Time the peak was first reached, relative to the trace's first event.")
            .field_in(|(analysis, _): &Context<'_>, row: &Row<'_>| analysis.ms(row.states[row.peak].time).into()),
        Column::text("peak_step", "Marked step at the time of the peak; empty if none.")
            .with_role(Role::Detail)
            .field_in(|context: &Context<'_>, row: &Row<'_>| step_name(context, row.states[row.peak].time)),
        Column::text("leak", "grows: from the third step on, every step ends with more live memory than the previous one, by at least 1 MiB and 0.1% of the peak in total. steady: otherwise. Empty with fewer than four marked steps.")
            .with_role(Role::Detail)
            .field(|row: &Row<'_>| match row.growth {
                Growth::Unknown => Cell::Missing,
                Growth::Steady => "steady".into(),
                Growth::Leak { .. } => "grows".into(),
            }),
        bytes("leak_bytes", "Growth in bytes from the third step on, if memory grew in each step.")
            .with_role(Role::Detail)
            .field(|row: &Row<'_>| match row.growth {
                Growth::Leak { bytes, .. } => bytes.into(),
                Growth::Unknown | Growth::Steady => Cell::Missing,
            }),
        Column::text("leak_owner", "Operator that allocated most of the memory that the growing steps leave behind.")
            .with_role(Role::Detail)
            .field_in(|context: &Context<'_>, row: &Row<'_>| match row.growth {
                Growth::Leak { owner, .. } => text(context, owner),
                Growth::Unknown | Growth::Steady => Cell::Missing,
            }),
    ];
    Sheet::with_context(
        MEMORY_SUMMARY,
        "Memory of a device during the recording, as counted by PyTorch's allocator; needs recorded allocations (profile_memory).",
        fields.into_iter().chain(time_fields),
        |analysis| rows(analysis, |_, device| vec![device]),
    ).showing(&[Figure::MemorySummary])
}

/// What blocks are counted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum OwnerKind {
    Operator,
    Outermost,
    Module,
}

impl OwnerKind {
    const ALL: [OwnerKind; 3] = [OwnerKind::Operator, OwnerKind::Outermost, OwnerKind::Module];

    fn name(self) -> &'static str {
        match self {
            OwnerKind::Operator => "operator",
            OwnerKind::Outermost => OUTERMOST_OPERATOR.name,
            OwnerKind::Module => "module",
        }
    }

    fn of(self, block: &Block) -> Option<StringId> {
        match self {
            OwnerKind::Operator => block.owner.operator,
            OwnerKind::Outermost => block.owner.outermost.map(|outermost| outermost.name),
            OwnerKind::Module => block.owner.module,
        }
    }
}

/// The blocks of a device that one owner asked for.
struct OwnerRow {
    device: MemoryDevice,
    kind: OwnerKind,
    owner: Option<StringId>,
    at_peak: i64,
    blocks: usize,
    peak: i64,
    churn: i64,
    allocations: usize,
    longest: i64,
}

/// One row per device and owner, by operators, by outermost operators, and by modules.
pub(crate) fn owners_sheet<'a>() -> Sheet<'a, Analysis> {
    let names = [
        DEVICE.field_in(|_, row: &OwnerRow| row.device.to_string().into()),
        Column::text("by", "operator: the innermost operator that encloses the allocation and does more than allocate (not aten::empty and the like). outermost operator: the top-level one. module: the innermost nn.Module. Each kind covers all blocks.")
            .field_in(|_, row: &OwnerRow| row.kind.name().into()),
        Column::text("owner", "Name of the owner; (none) for blocks allocated outside any owner.")
            .field_in(|context: &Context<'_>, row: &OwnerRow| match (row.owner, row.kind) {
                (None, _) => "(none)".into(),
                (owner, OwnerKind::Module) => module(context, owner),
                (owner, _) => text(context, owner),
            }),
    ];
    let figures = [
        bytes("bytes_at_peak", "Bytes of the owner's blocks that are live at the device's peak. They add up to attributed_bytes of memory_summary for each kind of owner.")
            .with_role(Role::Headline)
            .field_in(|_, row: &OwnerRow| row.at_peak.into()),
        Column::percent("percent of peak", "Share of all memory allocated at the peak.")
            .with_role(Role::Headline)
            .field_in(|_, row: &OwnerRow| sheets::percent(row.at_peak, row.peak).into()),
        Column::count("blocks_at_peak", "Number of blocks live at the peak.").field_in(|_, row: &OwnerRow| row.blocks.into()),
        bytes("churn_bytes", "Sum of the sizes of all the owner's allocations.").field_in(|_, row: &OwnerRow| row.churn.into()),
        Column::count("allocations", "Number of allocations.").field_in(|_, row: &OwnerRow| row.allocations.into()),
        Column::milliseconds("longest_lifetime_ms", "Longest time from an allocation to its deallocation, or to the device's last event if never freed.")
            .per("allocation")
            .field_in(|(analysis, _): &Context<'_>, row: &OwnerRow| analysis.ms(row.longest).into()),
    ];
    Sheet::with_context(
        MEMORY_OWNERS,
        "Who allocated a device's memory during the recording, by operator, by outermost operator and by module, most bytes at the peak first; needs recorded allocations. Modules need Python frames.",
        names.into_iter().chain(figures),
        |analysis| rows(analysis, owner_rows),
    ).showing(&[Figure::MemoryOwners])
}

fn owner_rows(memory: &MemoryUse, device: &DeviceMemory) -> Vec<OwnerRow> {
    let peak = device.states[device.peak].allocated;
    let last = device.states.last().map_or(0, |state| state.time);
    let mut all = Vec::new();
    let kinds = OwnerKind::ALL.into_iter().filter(|&kind| kind != OwnerKind::Module || memory.has_modules);
    for kind in kinds {
        let mut owners: HashMap<Option<StringId>, OwnerRow> = HashMap::new();
        for block in &device.blocks {
            let Some(from) = block.from else { continue };
            let owner = kind.of(block);
            let row = owners.entry(owner).or_insert(OwnerRow {
                device: device.device,
                kind,
                owner,
                at_peak: 0,
                blocks: 0,
                peak,
                churn: 0,
                allocations: 0,
                longest: 0,
            });
            if block.is_live(device.peak) {
                row.at_peak = row.at_peak.saturating_add(block.bytes);
                row.blocks += 1;
            }
            row.churn = row.churn.saturating_add(block.bytes);
            row.allocations += 1;
            let end = block.until.map_or(last, |until| device.states[until].time);
            row.longest = row.longest.max(end - device.states[from].time);
        }
        let mut rows: Vec<OwnerRow> = owners.into_values().collect();
        rows.sort_few_by_key(|row| (Reverse(row.at_peak), Reverse(row.churn), row.owner));
        all.extend(rows);
    }
    all
}

/// Rows of the largest blocks.
const MOST_BLOCKS: usize = 200;

/// One row per block that is live at the peak.
pub(crate) fn blocks_sheet<'a>() -> Sheet<'a, Analysis> {
    type Row<'a> = (&'a DeviceMemory, &'a Block);
    fn allocated_at((device, block): &Row<'_>) -> Option<i64> {
        block.from.map(|from| device.states[from].time)
    }
    let fields = [
        DEVICE.field_in(|_, row: &Row<'_>| row.0.device.to_string().into()),
        bytes("bytes", "Size of the block.")
            .with_role(Role::Headline)
            .field_in(|_, row: &Row<'_>| row.1.bytes.into()),
        Column::text("operator", "Innermost operator that encloses the allocation and does more than allocate; empty if none.")
            .field_in(|context: &Context<'_>, row: &Row<'_>| text(context, row.1.owner.operator)),
        Column::text("module", "Innermost enclosing nn.Module; empty if none.").showing(&[Figure::ModulesOfMemory])
            .field_in(|context: &Context<'_>, row: &Row<'_>| module(context, row.1.owner.module))
            .when(|(_, memory)| memory.has_modules),
        Column::milliseconds("allocated_ms", "Time of allocation, relative to the trace's first event; empty if before the recording.")
            .distinguishing()
            .field_in(|(analysis, _): &Context<'_>, row: &Row<'_>| {
                allocated_at(row).map(|time| analysis.ms(time)).into()
            }),
        Column::text("step", "Marked step at the time of allocation; empty if none.")
            .with_role(Role::Detail)
            .field_in(|context: &Context<'_>, row: &Row<'_>| {
                allocated_at(row).map_or(Cell::Missing, |time| step_name(context, time))
            }),
        Column::text("class", "within operator: freed before the end of the outermost allocating operator. within step: freed in the same marked step. held: freed later. to the end: not freed during the recording. from before: allocated before the recording and freed during it.")
            .with_role(Role::Detail)
            .field_in(|(_, memory): &Context<'_>, row: &Row<'_>| memory.lifetime(row.0, row.1).name().into()),
    ];
    Sheet::with_context(
        MEMORY_BLOCKS,
        "Blocks live at a device's memory peak: per device, the 200 largest blocks whose allocation or deallocation was recorded; needs recorded allocations.",
        fields,
        |analysis| {
            rows(analysis, |_, device| {
                let mut blocks: Vec<&Block> =
                    device.blocks.iter().filter(|block| block.is_live(device.peak)).collect();
                blocks.sort_few_by_key(|block| (Reverse(block.bytes), block.from));
                blocks.into_iter().take(MOST_BLOCKS).map(|block| (device, block)).collect()
            })
        },
    ).showing(&[Figure::MemoryBlocks])
}

/// Rows of a device's timeline.
const MOST_BUCKETS: usize = 2000;

const TIME: Column =
    Column::milliseconds("t_ms", "Start of the interval, relative to the trace's first event.");
const MOST_ALLOCATED: Column =
    Column::new("allocated_max_mib", Number(Mebibytes), "Maximum allocated memory in the interval.")
        .per("moment");
const RESERVED: Column = Column::new(
    "reserved_max_mib",
    Number(Mebibytes),
    "Maximum memory reserved by the allocator in the interval; empty for the CPU.",
)
.per("moment");
const STEP_BORDER: Column = Column::new(
    "step_border_mib",
    Number(Mebibytes),
    "Step-start marker for the chart: reserved (else allocated) memory of the first interval that begins in the step; empty elsewhere.",
)
.per("moment");

fn mebibytes(size: i64) -> f64 {
    size as f64 / f64::from(1 << 20)
}

/// One row per part of the time.
pub(crate) fn timeline_sheet<'a>() -> Sheet<'a, Analysis> {
    /// A part, and whether it is the first of a step.
    struct Row {
        device: MemoryDevice,
        bucket: Bucket,
        begins_step: bool,
    }
    let fields = [
        DEVICE.field_in(|_, row: &Row| row.device.to_string().into()),
        TIME.with_role(Role::Name)
            .field_in(|(analysis, _): &Context<'_>, row: &Row| analysis.ms(row.bucket.start).into()),
        Column::new("allocated_min_mib", Number(Mebibytes), "Minimum allocated memory in the interval.")
            .per("moment")
            .field_in(|_, row: &Row| mebibytes(row.bucket.min).into()),
        MOST_ALLOCATED.field_in(|_, row: &Row| mebibytes(row.bucket.max).into()),
        RESERVED.field_in(|_, row: &Row| row.bucket.reserved.map(mebibytes).into()),
        Column::text("step", "Marked step at the start of the interval; empty if none.")
            .with_role(Role::Detail)
            .field_in(|context: &Context<'_>, row: &Row| step_name(context, row.bucket.start)),
        STEP_BORDER.with_role(Role::Detail).field_in(|_, row: &Row| {
            let height = row.bucket.reserved.unwrap_or(row.bucket.max);
            row.begins_step.then(|| mebibytes(height)).into()
        }),
    ];
    Sheet::with_context(
        MEMORY_TIMELINE,
        "Memory of a device over time, from its first allocation or deallocation to its last, in at most 2,000 equal intervals; needs recorded allocations.",
        fields,
        |analysis| {
            rows(analysis, |memory, device| {
                let mut last_step = None;
                let row = |bucket: Bucket| {
                    let step = memory.step_at(bucket.start).map(|step| step.start);
                    let begins_step = step.is_some() && step != last_step;
                    last_step = step.or(last_step);
                    Row { device: device.device, bucket, begins_step }
                };
                device.timeline(MOST_BUCKETS).into_iter().map(row).collect()
            })
        },
    ).showing(&[Figure::MemoryTimeline])
    .with_chart(Chart::new(
        "Memory over time",
        DEVICE.name,
        MOST_ALLOCATED.name,
        "memory (MiB)",
        ChartShape::Lines {
            x: TIME.name,
            x_axis: "time (ms)",
            also: &[RESERVED.name],
            borders: Some(STEP_BORDER.name),
        },
    ))
}

/// One row per device and step.
pub(crate) fn steps_sheet<'a>() -> Sheet<'a, Analysis> {
    struct Row {
        device: MemoryDevice,
        step: usize,
        memory: StepMemory,
    }
    let names = [
        DEVICE.field_in(|_, row: &Row| row.device.to_string().into()),
        Column::text("step", "Step marked by the program.").field_in(
            |(analysis, memory): &Context<'_>, row: &Row| {
                analysis.trace().text(memory.steps[row.step].name).into()
            },
        ),
    ];
    let figures = [
        bytes(
            "growth_bytes",
            "Change in live bytes from the end of the previous step to the end of this \
            one; for the first step, from its start.",
        )
        .with_role(Role::Headline)
        .field_in(|_, row: &Row| row.memory.growth.into()),
        bytes("peak_bytes", "Peak bytes allocated during the step.")
            .per("moment")
            .field_in(|_, row: &Row| row.memory.peak.into()),
        bytes("end_bytes", "Bytes allocated at the end of the step.")
            .field_in(|_, row: &Row| row.memory.allocated.into()),
        bytes(
            "survivors_bytes",
            "Bytes allocated in the step that are live at the end of the next step; empty for the last step.",
        )
        .showing(&[Figure::Survivors])
        .field_in(|_, row: &Row| row.memory.survivors.into()),
        Column::text("largest_survivor", "Operator that allocated most of the bytes that survive the step.")
            .showing(&[Figure::Survivors])
            .with_role(Role::Detail)
            .field_in(|context: &Context<'_>, row: &Row| text(context, row.memory.survivor)),
        Column::count("allocations", "Number of allocations in the step.")
            .field_in(|_, row: &Row| row.memory.allocations.into()),
        bytes("churn_bytes", "Sum of the sizes of these allocations.")
            .field_in(|_, row: &Row| row.memory.churn.into()),
        Column::milliseconds("start_ms", "Start, relative to the trace's first event.").field_in(
            |(analysis, memory): &Context<'_>, row: &Row| analysis.ms(memory.steps[row.step].start).into(),
        ),
        Column::milliseconds("end_ms", "End, relative to the trace's first event.").field_in(
            |(analysis, memory): &Context<'_>, row: &Row| analysis.ms(memory.steps[row.step].end).into(),
        ),
    ];
    Sheet::with_context(
        MEMORY_STEPS,
        "Effect of each marked step (prof.step()) on a device's memory, in order; needs recorded allocations and marked steps.",
        names.into_iter().chain(figures),
        |analysis| {
            rows(analysis, |memory, device| {
                let row = |(step, memory)| Row { device: device.device, step, memory };
                device.in_steps(&memory.steps).into_iter().enumerate().map(row).collect()
            })
        },
    ).showing(&[Figure::MemorySteps])
}
