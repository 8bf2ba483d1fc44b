//! Device time by operator, and by kind of work.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::SortFew;
use operator_sheets::per_iteration;
use sheets::columns::{
    CALL_STACK, CUMULATIVE, DIRECT_MS, HOST_US, IS_RECOMPUTE, OP_CATEGORY, OP_NAME, PARENT_MODULE, PERCENTAGE,
};
use sheets::names::{OPS_SUMMARY, OPS_SUMMARY_BY_CATEGORY};
use sheets::{Chart, ChartShape, Column, Excerpt, Field, Figure, Layout, Nested, Sheet, shares};
use trace_ingest::EventId;

use crate::analysis::Analysis;
use crate::call_stack::{module_call_stack, parent_module};
use crate::derived::HostOperator;
use crate::derived::UnlinkedEvent;
use crate::launchers::{Launcher, LauncherPart};
use crate::options::ReportLayout;
use crate::sheets::host_ops::{HOST_CUMULATIVE, HOST_SHARE, HOST_TOTAL_US};

/// What calls of one row have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    /// Name of the operator, or its category.
    name: &'a str,
    /// Where rows are distinguished by it.
    module: Option<&'a str>,
    is_recompute: bool,
}

/// What distinguishes rows of one name.
const TOLD_BY: &[&str] = &[PARENT_MODULE.name, IS_RECOMPUTE.name];

const COUNT: Column = Column::count("Count", "");

const SUBTREE_MS: Column = Column::milliseconds(
    "total_subtree_kernel_time_ms",
    "Device time of all kernels below the operator; nested calls count again, so the sheet's sum exceeds the device's busy time. Omitted from the inference report in the TraceLens layout.",
).showing(&[Figure::SumsOfDeviceTime]);

type Row<'a> = (Key<'a>, Totals<'a>);

struct Totals<'a> {
    /// The call that starts first.
    first: EventId,
    calls: i64,
    direct: i64,
    subtree: i64,
    categories: BTreeSet<&'a str>,
}

/// One row per operator name.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let [name, module, is_recompute] = key_fields(OP_NAME);
    let is_for = |layout| move |analysis: &&Analysis| analysis.options().layout == layout;
    let fields = [
        name,
        module,
        is_recompute,
        Column::microseconds(
            "total_direct_kernel_time_sum",
            "Device time in µs of kernels launched by the operator itself: union of their spans per call, summed over calls.",
        ).showing(&[Figure::SumsOfDeviceTime]).only_in(Layout::Listed)
        .field_in(|analysis: &&Analysis, (_, totals): &Row<'_>| analysis.us(totals.direct).into()),
        Column::microseconds(
            "total_subtree_kernel_time_sum",
            "Device time in µs of all kernels below the operator; nested calls count again, so the sheet's sum exceeds the device's busy time.",
        ).showing(&[Figure::SumsOfDeviceTime]).only_in(Layout::Listed)
        .field_in(|analysis: &&Analysis, (_, totals): &Row<'_>| analysis.us(totals.subtree).into()),
        Column::count(
            "total_subtree_kernel_time_count",
            "Number of calls in total_subtree_kernel_time_sum; in the inference report only.",
        ).showing(&[Figure::SumsOfDeviceTime])
        .field(|(_, totals): &Row<'_>| totals.calls.into())
        .when(is_for(ReportLayout::Inference)),
        DIRECT_MS.field_in(|analysis: &&Analysis, (_, totals): &Row<'_>| analysis.ms(totals.direct).into()),
        SUBTREE_MS
        .only_in(Layout::Listed)
        .field_in(|analysis: &&Analysis, (_, totals): &Row<'_>| analysis.ms(totals.subtree).into())
        .when(is_for(ReportLayout::Standard)),
        SUBTREE_MS
            .only_in(Layout::Roles)
            .field_in(|analysis: &&Analysis, (_, totals): &Row<'_>| analysis.ms(totals.subtree).into()),
        per_iteration(&[Figure::SumsOfDeviceTime], |(_, totals): &Row<'_>| totals.direct as f64),
        COUNT.described("Number of calls of the operator that launched device work.")
            .field(|(_, totals): &Row<'_>| totals.calls.into()),
        categories(),
        call_stack(),
    ];
    Sheet::with_context(
        OPS_SUMMARY,
        "Device time by operator: one row per operator name, most direct time first. Without device work, host time.",
        fields.into_iter().chain(shares(PERCENTAGE, CUMULATIVE, |(_, totals): &Row<'_>| totals.direct)),
        by_operator,
    ).with_sums_showing(&[Figure::OpsSummary])
    .with_chart(
        Chart::new(
            "Operators by kernel time",
            OP_NAME.name,
            DIRECT_MS.name,
            "kernel time (ms)",
            ChartShape::Bars(15),
        )
        .told_by(TOLD_BY),
    )
    .with_excerpt(excerpt(10, "operator", OP_NAME))
    .or(sheet_of_host())
}

/// The same of a recording without device work, with the time of the host.
fn sheet_of_host<'a>() -> Sheet<'a, Analysis> {
    let [name, module, is_recompute] = key_fields(OP_NAME);
    let [time, total, share, cumulative] = host_fields();
    let calls = COUNT
        .described("Number of calls of the operator.")
        .field(|(_, totals): &Row<'_>| totals.calls.into());
    let fields =
        [name, module, is_recompute, time, total, calls, categories(), call_stack(), share, cumulative];
    Sheet::with_context("host time by operator", "", fields, |analysis: &Analysis| {
        on_host(analysis, |operator| analysis.trace().name(operator.operator))
    })
}

pub(crate) fn sheet_by_category<'a>() -> Sheet<'a, Analysis> {
    let [category, module, is_recompute] = key_fields(OP_CATEGORY);
    let fields = [
        category,
        module,
        is_recompute,
        COUNT
            .described("Number of operator calls that launched device work of the category; a call with work of several categories counts in each.")
            .field(|(_, totals): &Row<'_>| totals.calls.into()),
        call_stack(),
        DIRECT_MS.field_in(|analysis: &&Analysis, (_, totals): &Row<'_>| analysis.ms(totals.direct).into()),
        per_iteration(&[Figure::SumsOfDeviceTime], |(_, totals): &Row<'_>| totals.direct as f64),
    ];
    Sheet::with_context(
        OPS_SUMMARY_BY_CATEGORY,
        "Device time by category, most time first. An operator with a model has one category; work of all others (compiled functions, graph launches, bare launches) is split by kernel name. Without device work, host time by operator name.",
        fields.into_iter().chain(shares(PERCENTAGE, CUMULATIVE, |(_, totals): &Row<'_>| totals.direct)),
        by_category,
    ).with_sums_showing(&[Figure::OpsSummary])
    .with_chart(Chart::new(
        "Kernel time by category",
        OP_CATEGORY.name,
        DIRECT_MS.name,
        "kernel time (ms)",
        ChartShape::Bars(20),
    ).told_by(TOLD_BY))
    .with_excerpt(excerpt(6, "category", OP_CATEGORY))
    .or(sheet_of_host_by_category())
}

/// The same of a recording without device work, with the time of the host.
fn sheet_of_host_by_category<'a>() -> Sheet<'a, Analysis> {
    let [category, module, is_recompute] = key_fields(OP_CATEGORY);
    let [time, total, share, cumulative] = host_fields();
    let calls = COUNT
        .described("Number of calls of operators of the category.")
        .field(|(_, totals): &Row<'_>| totals.calls.into());
    let fields = [category, module, is_recompute, calls, call_stack(), time, total, share, cumulative];
    Sheet::with_context("host time by kind of work", "", fields, |analysis: &Analysis| {
        on_host(analysis, |operator| operator.category.as_str())
    })
    .with_excerpt(Excerpt::new(
        6,
        [
            ("category", OP_CATEGORY),
            ("module", PARENT_MODULE),
            ("calls", COUNT),
            ("host self µs", HOST_US),
            ("% of host self time", HOST_SHARE),
        ],
    ))
}

/// Time of the host in operators and with all inside them, and shares of the former.
fn host_fields<'a>() -> [Field<&'a Analysis, Row<'a>>; 4] {
    let [share, cumulative] = shares(HOST_SHARE, HOST_CUMULATIVE, |(_, totals): &Row<'_>| totals.direct);
    [
        HOST_US.field_in(|analysis: &&Analysis, (_, totals): &Row<'_>| analysis.us(totals.direct).into()),
        HOST_TOTAL_US
            .field_in(|analysis: &&Analysis, (_, totals): &Row<'_>| analysis.us(totals.subtree).into()),
        share,
        cumulative,
    ]
}

/// Rows of one name are distinguished by their module where there is one.
fn excerpt(rows: usize, header: &'static str, name: Column) -> Excerpt {
    let module = ("module", PARENT_MODULE);
    Excerpt::new(
        rows,
        [
            (header, name),
            module,
            ("calls", COUNT),
            ("kernel ms", DIRECT_MS),
            ("% of device time", PERCENTAGE),
        ],
    )
}

fn key_fields<'a>(name: Column) -> [Field<&'a Analysis, Row<'a>>; 3] {
    [
        name.field(|(key, _): &Row<'_>| key.name.into()),
        PARENT_MODULE
            .field(|(key, _): &Row<'_>| key.module.into())
            .when(|analysis: &&Analysis| analysis.options().group_by_parent_module),
        IS_RECOMPUTE
            .field(|(key, _): &Row<'_>| key.is_recompute.into())
            .when(|analysis: &&Analysis| analysis.options().detect_recompute),
    ]
}

fn categories<'a>() -> Field<&'a Analysis, Row<'a>> {
    Column::names("Categories", "Categories of the operator's calls.").field(|(_, totals): &Row<'_>| {
        Nested::List(totals.categories.iter().map(|&name| Nested::Text(name.to_owned())).collect()).into()
    })
}

fn call_stack<'a>() -> Field<&'a Analysis, Row<'a>> {
    CALL_STACK
        .named("call_stack_first")
        .field_in(|analysis: &&Analysis, (_, totals): &Row<'_>| {
            module_call_stack(analysis.tree(), totals.first).into()
        })
        .when(|analysis: &&Analysis| analysis.options().group_by_parent_module)
}

/// A call, or its work of one kind.
struct Call<'a, Categories> {
    name: &'a str,
    event: EventId,
    direct: i64,
    subtree: i64,
    categories: Categories,
}

/// The calls by their names.
fn by_operator(analysis: &Analysis) -> Option<(&Analysis, Vec<Row<'_>>)> {
    let call = |launcher: &'_ Launcher| Call {
        name: analysis.trace().name(launcher.event),
        event: launcher.event,
        direct: launcher.direct_time,
        subtree: launcher.subtree_time,
        categories: analysis.launchers.parts(launcher).iter().map(|part| part.category.as_str()),
    };
    if analysis.is_gpu_only() || analysis.launchers.is_empty() {
        return None;
    }
    let mut rows = Rows::new(analysis);
    analysis.launchers.iter().for_each(|launcher| rows.add(call(launcher)));
    for unlinked in rows.unlinked() {
        rows.add_unlinked(unlinked.operator(), *unlinked);
    }
    Some((analysis, rows.sorted()))
}

/// The work of the calls by its kind.
fn by_category<'a>(analysis: &'a Analysis) -> Option<(&'a Analysis, Vec<Row<'a>>)> {
    let call = |part: &'a LauncherPart| Call {
        name: part.category.as_str(),
        event: part.event,
        direct: part.direct_time,
        subtree: part.subtree_time,
        categories: [part.category.as_str()],
    };
    if analysis.is_gpu_only() && !analysis.options().conventions.counts_unlinked() {
        return None;
    }
    let mut rows = Rows::new(analysis);
    analysis.launchers.all_parts().for_each(|part| rows.add(call(part)));
    for unlinked in rows.unlinked() {
        rows.add_unlinked(unlinked.class.as_str(), *unlinked);
    }
    (!rows.groups.is_empty()).then(|| (analysis, rows.sorted()))
}

/// The calls that the host ran, by the names that `name` gives them.
fn on_host<'a>(
    analysis: &'a Analysis,
    name: impl Fn(&'a HostOperator) -> &'a str,
) -> Option<(&'a Analysis, Vec<Row<'a>>)> {
    let call = |operator: &'a HostOperator| Call {
        name: name(operator),
        event: operator.operator,
        direct: operator.self_time,
        subtree: analysis.trace().events().duration(operator.operator),
        categories: [operator.category.as_str()],
    };
    analysis.is_host_only().then(|| {
        let mut rows = Rows::new(analysis);
        analysis.host_operators().iter().for_each(|operator| rows.add(call(operator)));
        (analysis, rows.sorted())
    })
}

/// Collects the rows of a table.
struct Rows<'a> {
    analysis: &'a Analysis,
    groups: BTreeMap<Key<'a>, Totals<'a>>,
}

impl<'a> Rows<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        Rows { analysis, groups: BTreeMap::new() }
    }

    fn add(&mut self, call: Call<'a, impl IntoIterator<Item = &'a str>>) {
        let analysis = self.analysis;
        let module = || parent_module(analysis.tree(), call.event);
        let key = Key {
            name: call.name,
            module: analysis.options().group_by_parent_module.then(module),
            is_recompute: analysis.is_recompute(call.event),
        };
        let totals = self.groups.entry(key).or_insert_with(|| Totals {
            first: call.event,
            calls: 0,
            direct: 0,
            subtree: 0,
            categories: BTreeSet::new(),
        });
        totals.calls += 1;
        totals.direct += call.direct;
        totals.subtree += call.subtree;
        totals.categories.extend(call.categories);
    }

    /// The work of no operator that the tables have, too.
    fn unlinked(&self) -> &'a [UnlinkedEvent] {
        match self.analysis.options().conventions.counts_unlinked() {
            true => self.analysis.unlinked_events(),
            false => &[],
        }
    }

    fn add_unlinked(&mut self, name: &'static str, unlinked: UnlinkedEvent) {
        let time = self.analysis.trace().events().duration(unlinked.event);
        let categories = [unlinked.class.as_str()];
        self.add(Call { name, event: unlinked.event, direct: time, subtree: time, categories });
    }

    /// Most direct time first.
    fn sorted(self) -> Vec<Row<'a>> {
        let mut rows: Vec<Row<'a>> = self.groups.into_iter().collect();
        // Stable: rows of equal time stay in the order of their keys.
        rows.sort_few_by_key(|(_, totals)| Reverse(totals.direct));
        rows
    }
}
