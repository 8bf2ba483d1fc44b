//! Device time by operator and arguments.

use gpu_timeline::{SortFew, Spread, Summary};
use operator_sheets::{KernelList, ListedKernel, OpCategory};
use sheets::columns::{self, overlap};
use sheets::names;
use sheets::{Column, Field, Figure, Role, Sheet, shares_of};
use trace_ingest::EventId;

use crate::analysis::Analysis;
use crate::call_groups::{
    CallGroup, CallName, CallTable, CountedCall, GroupRow, call_stack_fields, kernel_fields, key_fields,
    overlap_fields, overlapping_names,
};
use crate::call_overlap::OverlapFigures;
use crate::call_stack::module_call_stack;
use crate::launchers::LauncherPart;
use crate::notice::Notice;

impl CountedCall for LauncherPart {
    const BY_MODULE: bool = true;

    fn operator(&self) -> EventId {
        self.event
    }

    fn name(&self, analysis: &Analysis) -> CallName {
        CallName { operator: analysis.trace().events().name(self.event), device_event: None }
    }

    fn category(&self) -> &OpCategory {
        &self.category
    }

    fn device_events<'a>(&'a self, analysis: &'a Analysis) -> &'a [EventId] {
        analysis.launchers.kernels_of_part(self)
    }
}

struct Row<'a> {
    group: CallGroup<'a, LauncherPart>,
    direct: Times,
    subtree: Times,
    /// Start of the first of these calls, counted from the first call of the sheet.
    first_start: i64,
    kernels: KernelList,
    overlaps: OverlapFigures,
}

/// Times of the calls of a row.
struct Times {
    sum: i64,
    us: Spread,
}

impl GroupRow for Row<'_> {
    type Call = LauncherPart;

    fn group(&self) -> &CallGroup<'_, LauncherPart> {
        &self.group
    }

    fn kernels(&self) -> &KernelList {
        &self.kernels
    }
}

/// One row per operator and arguments.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let rows = |analysis| rows(analysis, false);
    Sheet::with_context(
        names::OPS_ALL,
        "Device time by operator, thread and arguments: one row per distinct call signature, most direct time first.",
        fields(false),
        rows,
    ).with_sums_showing(&[Figure::OpsAll, Figure::AllOfTheDevice])
    .known_as(names::OPS_UNIQUE_ARGS)
}

/// The same, with calls distinguished by what ran beside them.
pub(crate) fn sheet_with_overlap<'a>() -> Sheet<'a, Analysis> {
    Sheet::with_context(
        "ops_all_kl_overlap",
        "ops_all split by concurrent kernels on other streams; only if overlap is requested.",
        fields(true),
        |analysis: &Analysis| analysis.options().include_overlap_info.then(|| rows(analysis, true))?,
    )
    .with_sums_showing(&[Figure::OpsAll])
    .known_as(names::OPS_UNIQUE_ARGS_KL_OVERLAP)
}

fn fields<'a>(with_overlap: bool) -> Vec<Field<CallTable<'a>, Row<'a>>> {
    let mut fields = key_fields(
        columns::OP_NAME,
        columns::NUM_KERNELS.described(
            "Number of kernels that one call launched itself; present if calls are grouped by this number.",
        ),
    );
    fields.extend([
        columns::OPERATION_COUNT
            .described("Number of calls with these arguments that launched device work.")
            .field(|row: &Row<'_>| row.group.calls.len().into()),
        Column::microseconds(
            "first_occurrence_time",
            "Start of the first of these calls in µs, relative to the sheet's first call; on request.",
        )
        .with_role(Role::Detail)
        .field_in(|table: &CallTable<'_>, row: &Row<'_>| table.analysis.us(row.first_start).into())
        .when(|table: &CallTable<'_>| table.analysis.options().include_first_occurrence_time),
    ]);
    let direct = columns::DIRECT_US.fields(|row: &Row<'_>| &row.direct.us);
    let subtree = columns::SUBTREE_US.fields(|row: &Row<'_>| &row.subtree.us);
    fields.extend(direct.into_iter().zip(subtree).flat_map(|(direct, subtree)| [direct, subtree]));
    fields.extend([
        columns::DIRECT_US_SUM.field_in(|table: &CallTable<'_>, row: &Row<'_>| table.analysis.us(row.direct.sum).into()),
        columns::SUBTREE_US_SUM.field_in(|table: &CallTable<'_>, row: &Row<'_>| table.analysis.us(row.subtree.sum).into()),
        columns::EX_UID.described("Index of the first of these calls in the file's event list; it identifies the call in the call tree.")
        .field_in(|table: &CallTable<'_>, row: &Row<'_>| {
            table.analysis.trace().events().uid(row.group.first()).into()
        }),
        columns::CALL_STACK
            .field_in(|table: &CallTable<'_>, row: &Row<'_>| {
                module_call_stack(table.analysis.tree(), row.group.first()).into()
            })
            .when(CallTable::by_module),
    ]);
    fields.extend(kernel_fields(
        columns::KERNEL_DETAILS.described("Kernels of a call by position, with count, total, mean, median, population standard deviation, minimum and maximum over calls in µs; calls with a different number of kernels than the first do not count."),
        columns::KERNEL_DETAILS_SHORT.described("Name (cut to 64 characters), stream and mean duration (rounded to 0.01 µs) of each kernel of kernel_details_summary."),
        |row: &Row<'_>| &row.kernels,
    ));
    if with_overlap {
        fields.insert(1, overlapping_names());
        fields.extend(overlap_fields(overlap::DETAILS, overlap::SHARE, |row: &Row<'_>| &row.overlaps));
    }
    fields.extend(call_stack_fields());
    // Shares are of all rows, also when only the first are shown.
    let all = |table: &CallTable<'_>, _: &[&Row<'_>]| table.kernel_time;
    fields.extend(shares_of(columns::PERCENTAGE, columns::CUMULATIVE, all, |row: &Row<'_>| row.direct.sum));
    fields
}

fn rows<'a>(analysis: &'a Analysis, with_overlap: bool) -> Option<(CallTable<'a>, Vec<Row<'a>>)> {
    if analysis.is_gpu_only() || analysis.launchers.is_empty() {
        return None;
    }
    let events = analysis.trace().events();
    let mut table = CallTable::new(analysis, with_overlap);
    let mut groups = table.group(analysis.launchers.all_parts());
    if !with_overlap {
        analysis.derived.calls_outside_lists.get_or_init(|| calls_outside_lists(analysis, &groups));
    }
    let direct =
        |group: &CallGroup<'_, LauncherPart>| group.calls.iter().map(|call| call.direct_time).sum::<i64>();
    groups.sort_few_by_key(|group| (std::cmp::Reverse(direct(group)), events.uid(group.first())));
    table.kernel_time = groups.iter().map(direct).sum();
    let start = |group: &CallGroup<'_, LauncherPart>| {
        group.calls.iter().map(|call| events.start(call.event)).min().unwrap_or(0)
    };
    let first_start = groups.iter().map(start).min().unwrap_or(0);
    groups.truncate(analysis.options().topk_ops.unwrap_or(usize::MAX));
    let row = |group: CallGroup<'a, LauncherPart>| Row {
        direct: times(analysis, &group, |call| call.direct_time),
        subtree: times(analysis, &group, |call| call.subtree_time),
        first_start: start(&group) - first_start,
        kernels: group.kernels(analysis),
        overlaps: overlaps(analysis, &group),
        group,
    };
    Some((table, groups.into_iter().map(row).collect()))
}

fn times(analysis: &Analysis, group: &CallGroup<'_, LauncherPart>, time: fn(&LauncherPart) -> i64) -> Times {
    let times: Vec<i64> = group.calls.iter().map(|call| time(call)).collect();
    let unit = analysis.trace().time_unit().per_microsecond() as f64;
    Times {
        sum: times.iter().sum(),
        us: Summary::from_values(&times).map_or_else(Spread::default, |all| all.spread(unit)),
    }
}

fn overlaps(analysis: &Analysis, group: &CallGroup<'_, LauncherPart>) -> OverlapFigures {
    let lists = group.overlaps().map(|overlap| &overlap.kernels[..]);
    // Shares are rounded to hundredths, so their statistics are exact on integers.
    let hundredths: Vec<i64> = group
        .overlaps()
        .filter_map(|overlap| overlap.share)
        .map(|share| (share * 100.0).round() as i64)
        .collect();
    OverlapFigures {
        kernels: KernelList::summarise(analysis.trace(), lists, ListedKernel::clone),
        share: Summary::from_values(&hundredths).map_or_else(Spread::default, |all| all.spread(100.0)),
    }
}

/// The calls that the lists of kernels leave out, if there are any.
pub(crate) fn calls_outside_kernel_lists(analysis: &Analysis) -> Option<Notice> {
    if analysis.is_gpu_only() || analysis.options().group_by_num_kernels {
        return None;
    }
    // Counted by whoever has the groups at hand first.
    let calls = *analysis.derived.calls_outside_lists.get_or_init(|| {
        calls_outside_lists(analysis, &CallTable::new(analysis, false).group(analysis.launchers.all_parts()))
    });
    (calls > 0).then(|| Notice::CallsOutsideKernelLists { calls, of: analysis.launchers.all_parts().len() })
}

/// Calls with a different number of kernels than the first of their group.
fn calls_outside_lists(analysis: &Analysis, groups: &[CallGroup<'_, LauncherPart>]) -> usize {
    let kernels = |call: &LauncherPart| analysis.launchers.kernels_of_part(call).len();
    let outside = |group: &CallGroup<'_, LauncherPart>| {
        let listed = kernels(group.calls[0]);
        group.calls.iter().filter(|call| kernels(call) != listed).count()
    };
    groups.iter().map(outside).sum()
}
