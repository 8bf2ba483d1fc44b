//! Where the time of each device went, and what its gaps were spent on.

use std::cmp::Reverse;

use sheets::{Column, Field, Role, Sheet};

use crate::analysis::Analysis;
use crate::gap_causes::{Gap, GapParts, TimeBudget};

const DEVICE: Column = Column::identifier("device", "Index of the device.").with_role(Role::Name);

const PARTS: [Column; 6] = [
    Column::milliseconds(
        "Sync (ms)",
        "Idle: the launching thread (the one that launched the work that ended the gap) was blocked in a synchronizing call, for this device or another.",
    ),
    Column::milliseconds(
        "Other Calls (ms)",
        "Idle: the launching thread was in another runtime or driver call.",
    ),
    Column::milliseconds("Launch (ms)", "Idle: the launching thread was in the launching call."),
    Column::milliseconds(
        "Host (ms)",
        "Idle: the launching thread was outside runtime calls: program, framework or data loading.",
    ),
    Column::milliseconds(
        "Queued (ms)",
        "Idle: work was launched but had not started, waiting for its queue, a dependency or a copy engine.",
    ),
    Column::milliseconds("Unknown (ms)", "Idle: the launch of the work that ended the gap was not recorded."),
];

fn part_fields<'a, R: 'static>(of: fn(&R) -> GapParts) -> impl Iterator<Item = Field<&'a Analysis, R>> {
    PARTS.into_iter().enumerate().map(move |(at, column)| {
        column.field_in(move |analysis: &&Analysis, row: &R| analysis.ms(of(row).named()[at].1).into())
    })
}

/// Whether budgets are told, and there are launches that say what the host did.
fn is_told(analysis: &Analysis) -> bool {
    analysis.options().conventions.is_full() && analysis.coverage().linked_events > 0
}

/// The budget of each device for the whole window and for each iteration.
pub(super) fn sheet<'a>() -> Sheet<'a, Analysis> {
    type F<'a> = Field<&'a Analysis, TimeBudget>;
    fn time<'a>(column: Column, of: fn(&TimeBudget) -> i64) -> F<'a> {
        column.field_in(move |analysis: &&Analysis, row: &TimeBudget| analysis.ms(of(row)).into())
    }
    let first = [
        Column::text("range", "Name of the iterations, or of the ranges of --iteration; empty for the full window, from the device's first work to its last.")
            .with_role(Role::Name)
            .field(|row: &TimeBudget| row.range.as_deref().into()),
        Column::identifier("index", "Number of the iteration, from 0.")
            .with_role(Role::Name)
            .field(|row: &TimeBudget| row.index.into()),
        DEVICE.field(|row: &TimeBudget| row.device.into()),
        Column::text("bounds", "What Wall (ms) spans. step: the duration in iterations. device work: from first start to last end. host: the time on the host; its device work may lie outside, so Wall (ms) is not the duration in iterations.")
            .field(|row: &TimeBudget| {
                match (row.is_step, row.is_host_time) {
                    (true, _) => "step",
                    (false, true) => "host",
                    (false, false) => "device work",
                }
                .into()
            }),
        time(Column::milliseconds("Wall (ms)", "Duration: for an iteration that of the sheet iterations, or with --budget host or projected, its time on the host or the span of its device work. The parts add up to it.")
            .with_role(Role::Headline), |row| row.time.length()),
        time(Column::milliseconds("Compute (ms)", "Time with computation."), |row| row.computation),
        time(Column::milliseconds("Exposed Communication (ms)", "Communication time without computation."), |row| row.exposed_communication),
        time(Column::milliseconds("Exposed Copies (ms)", "Copy time without computation or communication."), |row| row.exposed_copies),
    ];
    let fields: Vec<F<'a>> = first.into_iter().chain(part_fields(|row: &TimeBudget| row.idle)).collect();
    Sheet::with_context(
        "time_budget",
        "Where each device's time went, for the full window and each iteration: its work, and host activity while it was idle.",
        fields,
        |analysis: &'a Analysis| {
            let budgets = if is_told(analysis) { analysis.time_budgets() } else { Vec::new() };
            (!budgets.is_empty()).then_some((analysis, budgets))
        },
    )
}

/// Gaps of a device of a length.
struct Lengths {
    device: i64,
    length: &'static str,
    count: usize,
    parts: GapParts,
    loading: i64,
    profiler: i64,
}

/// What the gaps were spent on, by device and by how long they are.
pub(super) fn causes_sheet<'a>() -> Sheet<'a, Analysis> {
    let ms = |column: Column, of: fn(&Lengths) -> i64| {
        column.field_in(move |analysis: &&Analysis, row: &Lengths| analysis.ms(of(row)).into())
    };
    let first = [
        DEVICE.field(|row: &Lengths| row.device.into()),
        Column::text("length", "Range of gap lengths.")
            .with_role(Role::Name)
            .field(|row: &Lengths| row.length.into()),
        Column::count("Count", "Number of gaps.").field(|row: &Lengths| row.count.into()),
        ms(
            Column::milliseconds("Idle (ms)", "Sum of the gaps. The parts add up to it.")
                .with_role(Role::Headline),
            |row| row.parts.total(),
        ),
    ];
    let last = [
        ms(
            Column::milliseconds(
                "Loading (ms)",
                "Gap time with modules or functions being loaded or compiled on the launching thread; included in the other columns.",
            ),
            |row| row.loading,
        ),
        ms(
            Column::milliseconds(
                "Profiler (ms)",
                "Gap time with profiler activity in the launching process; included in the other columns.",
            ),
            |row| row.profiler,
        ),
    ];
    let fields: Vec<Field<&'a Analysis, Lengths>> =
        first.into_iter().chain(part_fields(|row: &Lengths| row.parts)).chain(last).collect();
    Sheet::with_context(
        "gpu_gap_causes",
        "Causes of the gaps in each device's work, by gap length.",
        fields,
        |analysis: &'a Analysis| {
            let rows = if is_told(analysis) { lengths(analysis) } else { Vec::new() };
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
}

fn lengths(analysis: &Analysis) -> Vec<Lengths> {
    const BOUNDS_US: [(&str, f64); 4] = [
        ("< 10 µs", 10.0),
        ("10 to 100 µs", 100.0),
        ("100 µs to 1 ms", 1000.0),
        ("1 ms or more", f64::INFINITY),
    ];
    let gaps = analysis.gaps();
    let mut rows = Vec::new();
    for device_gaps in gaps.chunk_by(|a, b| a.device == b.device) {
        let row = |length: &'static str, gaps: &[&Gap]| Lengths {
            device: device_gaps[0].device,
            length,
            count: gaps.len(),
            parts: gaps.iter().map(|gap| gap.parts).sum(),
            loading: gaps.iter().map(|gap| gap.loading).sum(),
            profiler: gaps.iter().map(|gap| gap.profiler).sum(),
        };
        let mut least = 0.0;
        for (length, bound) in BOUNDS_US {
            let is_meant = |gap: &&Gap| (least..bound).contains(&analysis.us(gap.time.length()));
            let meant: Vec<&Gap> = device_gaps.iter().filter(is_meant).collect();
            rows.extend((!meant.is_empty()).then(|| row(length, &meant)));
            least = bound;
        }
        rows.push(row("all", &device_gaps.iter().collect::<Vec<_>>()));
    }
    rows
}

/// The gaps one by one, the longest of each device first.
pub(super) fn gaps_sheet<'a>() -> Sheet<'a, Analysis> {
    let name_of = |analysis: &&'a Analysis, event: Option<trace_ingest::EventId>| {
        event.map(|event| analysis.trace().name(event))
    };
    let first = [
        DEVICE.field(|row: &Gap| row.device.into()),
        Column::microseconds("Start (µs)", "Start, relative to the recording's start.")
            .field_in(|analysis: &&Analysis, row: &Gap| analysis.us(row.time.start).into()),
        Column::milliseconds("Duration (ms)", "Length of the gap; the parts add up to it.")
            .with_role(Role::Headline)
            .field_in(|analysis: &&Analysis, row: &Gap| analysis.ms(row.time.length()).into()),
        Column::text("cause", "Main cause: the largest part.").field(|row: &Gap| row.parts.cause().into()),
        Column::text("next op", "Work that ended the gap.")
            .field_in(move |analysis: &&'a Analysis, row: &Gap| name_of(analysis, row.next).into()),
        Column::text("next call", "Call that launched that work.")
            .field_in(move |analysis: &&'a Analysis, row: &Gap| name_of(analysis, row.call).into()),
        Column::text("operator", "Operator or range enclosing that call.").field_in(
            |analysis: &&'a Analysis, row: &Gap| {
                let above = row.call.and_then(|call| analysis.tree().parent(call));
                above.map(|event| analysis.trace().name(event)).into()
            },
        ),
    ];
    let fields: Vec<Field<&'a Analysis, Gap>> =
        first.into_iter().chain(part_fields(|row: &Gap| row.parts)).collect();
    Sheet::with_context(
        "gpu_gaps",
        "Gaps of 10 µs (--min_gap_us) or more in each device's work, longest first, with the concurrent host activity; needs --waits.",
        fields,
        |analysis: &'a Analysis| {
            let waits = analysis.options().waits && is_told(analysis);
            let mut gaps = if waits { analysis.gaps() } else { Vec::new() };
            gaps.retain(|gap| analysis.us(gap.time.length()) >= analysis.options().min_gap_us);
            gaps.sort_by_key(|gap| (gap.device, Reverse(gap.time.length()), gap.time.start));
            (!gaps.is_empty()).then_some((analysis, gaps))
        },
    )
}
