//! Kernels one by one, by name, by category, by arguments, and by kind per GPU on average: the sheets that TraceLens
//! writes of JAX profiles.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::{Activity, SortFew, Spread, Summary};
use hashbrown::HashMap;
use operator_sheets::duration_statistics;
use perf_models::XlaKernel;
use sheets::ColumnKind::{Count, Identifier, Number, Text, Whole};
use sheets::Unit::{Bytes, Microseconds, Milliseconds};
use sheets::columns::{CUMULATIVE, SHARE_OF_KERNEL_TIME};
use sheets::names;
use sheets::{Chart, ChartShape, Column, Field, Layout, Nested, Role, Sheet, percent, shares};

use super::kernel_rows::{Arguments, Entry, KernelRow, gpu_kernels, kernel_list};
use crate::IndexMap;
use crate::analysis::JaxAnalysis;
use crate::device_events::GpuEvent;
use crate::library_kernels;
use crate::operators::{Operator, Record, number_tuples, text_list, text_tuple};
use crate::options::WorkRule;
use crate::programs::innermost;
use crate::sheet::gpu_sheet;

const KERNEL: Column = Column::new("name", Text, "Kernel.");
const KERNEL_CATEGORY: Column = Column::new(
    "op category",
    Text,
    "Category by instruction and kernel name: GEMM, FA BWD, FA FWD, FA V3 (attention), Conv, TE (Transformer Engine helpers), Communication rccl/nccl, or Uncategorized Events/XLA for all others.",
);
const UID: Column =
    Column::new("UID", Identifier, "Index of the kernel among the profiler's trace viewer events.");
pub(super) const EX_UID: Column = Column::new("ex_UID", Identifier, "UID of the first kernel of the row.");
pub(super) const INPUT_DIMS: Column = Column::nested(
    "Input Dims",
    "Shapes of the instruction's non-scalar operands (for a tuple, of its first array); empty if the profile does not embed the instruction.",
).with_role(Role::Detail);
pub(super) const INPUT_TYPE: Column =
    Column::nested("Input type", "Element types of these operands.").with_role(Role::Detail);
pub(super) const INPUT_STRIDES: Column = Column::nested(
    "Input Strides",
    "Strides of the operands in Input Dims, in elements, from the HLO layout; always () with --parity tracelens.",
);
const CONCRETE_INPUTS: Column = Column::nested(
    "Concrete Inputs",
    "Always (): HLO has no non-tensor arguments. With --parity tracelens, for Transformer Engine attention, the shape of the operand after query, key and value.",
);
const DIRECT_MS: Column =
    Column::new("total_direct_kernel_time_ms", Number(Milliseconds), "Sum of the row's kernel durations.")
        .with_role(Role::Headline);
const MS_PER_GPU: Column = Column::new(
    "time ms per gpu",
    Number(Milliseconds),
    "Sum of the row's kernel durations divided by the number of GPUs that ran any kernel of the sheet.",
)
.per("gpu");
const COUNT: Column = Column::new("Count", Count, "Kernels.");
const SUMMARY_NAME: Column = Column::new(
    "name",
    Text,
    "Kernel; in xla_summary without digits, so that instances of a fusion share a row.",
);

/// The sheets of kernels, in order.
pub(super) fn kernel_sheets<'a>() -> [Sheet<'a, JaxAnalysis>; 8] {
    [
        gpu_sheet(
            "kernel_launchers",
            "Individual kernels, by UID; only those that match a keyword if filtered by keywords.",
            kernel_fields(),
            gpu_kernels,
        ),
        gpu_sheet(
            names::KERNEL_LAUNCHERS_SUMMARY,
            "Kernels by name, most time first.",
            name_fields(),
            |analysis| sums_by(gpu_kernels(analysis), |row| row.name.into()),
        )
        .with_chart(Chart::new(
            "Kernel time by kernel",
            SUMMARY_NAME.name,
            DIRECT_MS.name,
            "kernel time (ms)",
            ChartShape::Bars(15),
        )),
        gpu_sheet(
            names::KERNEL_LAUNCHERS_SUMMARY_BY_CATEGORY,
            "Kernels by category, most time first.",
            category_fields(),
            |analysis| sums_by(gpu_kernels(analysis), |row| row.category.as_str().into()),
        )
        .with_chart(Chart::new(
            "Kernel time by category",
            KERNEL_CATEGORY.name,
            DIRECT_MS.name,
            "kernel time (ms)",
            ChartShape::Bars(8),
        )),
        gpu_sheet(
            names::KERNEL_LAUNCHERS_UNIQUE_ARGS,
            "Kernels by name, category and arguments of their instruction, most time first.",
            group_fields(),
            kernel_groups,
        ),
        gpu_sheet(
            "df_xla_perf",
            "Kernels of kernel_launchers that are not from a library: category Uncategorized Events/XLA.",
            kernel_fields().chain([input_bytes_field()]),
            generated_kernels,
        ),
        gpu_sheet(
            "xla_summary",
            "Kernels of df_xla_perf by name without digits, most time first.",
            name_fields(),
            |analysis| sums_by(generated_kernels(analysis), |row| without_digits(row.name).into()),
        ),
        gpu_sheet(
            "gpu_events_categorized_mean",
            "Compute kernels by kind, per GPU on average. The kind comes from the kernel's name, or else from the name of its instruction, so library kernels of a convolution count as GEMM.",
            kind_fields(
                Column::new("name", Text, "Kernel category; Uncategorized Events if none."),
                "time ms as a share of computation_time of all GPUs; the rows add up to over 100% if kernels overlap.",
            ),
            sums_by_kind,
        ),
        gpu_sheet(
            "xla_grouped",
            "Uncategorized Events of gpu_events_categorized_mean, by name without digits.",
            kind_fields(
                Column::new(
                    "short_name_grouped",
                    Text,
                    "Kernel name without digits; if it has none, without trailing underscores.",
                ),
                "time ms as a share of its sum over all rows.",
            ),
            sums_by_short_name,
        ),
    ]
}

/// Those that XLA generated.
fn generated_kernels(analysis: &JaxAnalysis) -> Vec<KernelRow<'_>> {
    let mut rows = gpu_kernels(analysis);
    rows.retain(|row| row.category == XlaKernel::Uncategorized);
    rows
}

/// Number of GPUs that ran these kernels.
fn gpu_count(rows: &[KernelRow<'_>]) -> usize {
    rows.iter().map(|row| row.event.gpu).collect::<BTreeSet<_>>().len()
}

fn kernel_fields<'a>() -> impl Iterator<Item = Field<&'a JaxAnalysis, KernelRow<'a>>> {
    let before = [
        KERNEL.field(|row: &KernelRow<'_>| row.name.into()),
        UID.field(|row: &KernelRow<'_>| row.uid.into()),
        KERNEL_CATEGORY.field(|row: &KernelRow<'_>| row.category.as_str().into()),
        Column::microseconds("total_direct_kernel_time", "Duration of the kernel in µs.")
            .with_role(Role::Headline)
            .field_in(|analysis: &&JaxAnalysis, row: &KernelRow<'_>| analysis.us(row.time).into()),
        Column::microseconds(
            "total_subtree_kernel_time",
            "Same as the direct kernel time: kernels have no children.",
        )
        .only_in(Layout::Listed)
        .field_in(|analysis: &&JaxAnalysis, row: &KernelRow<'_>| analysis.us(row.time).into()),
        Column::count("direct_kernel_count", "Always 1.")
            .with_role(Role::Detail)
            .field(|_: &KernelRow<'_>| 1.into()),
        Column::identifier("pid", "GPU: its plane id plus 1.")
            .field(|row: &KernelRow<'_>| row.event.pid.into()),
        Column::identifier("tid", "Stream of the GPU.").field(|row: &KernelRow<'_>| row.event.stream.into()),
    ];
    let after = [
        Column::nested("kernel_details", "Kernel with its duration in µs and HLO details of its instruction: custom call target, shapes of operands and result, operation and source; NA if missing. With --parity tracelens, without result and operation.").field_in(|analysis: &&JaxAnalysis, row: &KernelRow<'_>| {
            let duration = ("dur".into(), Nested::Number(analysis.us(row.time)));
            kernel_list(row.name, [duration].into_iter().chain(instruction(analysis, row.operator))).into()
        }),
        Column::microseconds("GPU_kernel_launch_latency", "Time from the start of the launching host call to the start of the kernel, in µs; empty if the launch is not recorded.").field_in(|analysis: &&JaxAnalysis, row: &KernelRow<'_>| {
            let start = |event| analysis.trace().events().start(event);
            row.event.launch.map(|launch| analysis.us(start(row.event.event) - start(launch))).into()
        }),
    ];
    before.into_iter().chain(argument_fields(|row: &KernelRow<'a>| row.operator)).chain(after)
}

fn input_bytes_field<'a>() -> Field<&'a JaxAnalysis, KernelRow<'a>> {
    Column::new(
        "total_input_bytes",
        Whole(Bytes),
        "Bytes of the instruction's array operands; empty if the profile does not embed it.",
    )
    .field(|row: &KernelRow<'_>| {
        row.operator.record.as_ref().map(|record| record.operand_bytes as i64).into()
    })
}

/// `None` where the profile does not embed the instruction.
fn arguments(operator: &Operator, rule: WorkRule) -> Option<Arguments<'_>> {
    let record = operator.record.as_ref()?;
    Some(match rule {
        WorkRule::Instruction => {
            Arguments { dims: &record.dims, types: &record.types, strides: &record.strides, concrete: &[] }
        }
        WorkRule::LibraryKernel => library_kernels::arguments(record),
    })
}

fn argument_fields<'a, R>(
    operator: impl Fn(&R) -> &Operator + Copy + Send + Sync + 'static,
) -> [Field<&'a JaxAnalysis, R>; 4] {
    let field = |column: Column, cell: fn(Arguments<'_>) -> Nested| {
        column.distinguishing().field_in(move |analysis: &&JaxAnalysis, row| {
            arguments(operator(row), analysis.options().conventions.work).map(cell).into()
        })
    };
    [
        field(INPUT_DIMS, |arguments| number_tuples(arguments.dims)),
        field(INPUT_TYPE, |arguments| text_tuple(arguments.types)),
        field(INPUT_STRIDES, |arguments| number_tuples(arguments.strides)),
        field(CONCRETE_INPUTS, |arguments| number_tuples(arguments.concrete)),
    ]
}

/// What a list of kernels says of their instruction.
fn instruction(analysis: &JaxAnalysis, operator: &Operator) -> [Entry; 4] {
    let text = |text: Option<String>| Nested::Text(text.unwrap_or_else(|| "NA".to_owned()));
    let record = operator.record.as_ref();
    let target = record.map(|record| record.custom_call_target.as_str()).filter(|target| !target.is_empty());
    let known = record.filter(|_| analysis.options().conventions.work == WorkRule::Instruction);
    [
        ("custom_call_target".into(), text(target.map(|target| format!("custom_call_target=\"{target}\"")))),
        ("operands".into(), record.map_or_else(|| text(None), |record| text_list(&record.operands))),
        ("outputs".into(), text(known.map(|record| record.output.clone()))),
        ("metadata".into(), text(known.and_then(Record::metadata))),
    ]
}

/// Kernels of one name in the same category for instructions with the same arguments.
struct KernelGroup<'a> {
    first: KernelRow<'a>,
    durations: Summary,
    /// The same in µs.
    spread: Spread,
}

/// The groups, most time first.
fn kernel_groups(analysis: &JaxAnalysis) -> Vec<KernelGroup<'_>> {
    let rule = analysis.options().conventions.work;
    let mut groups: IndexMap<_, (KernelRow<'_>, Vec<i64>)> = IndexMap::default();
    for row in gpu_kernels(analysis) {
        let key = (row.name, row.category, arguments(row.operator, rule));
        groups.entry(key).or_insert_with(|| (row, Vec::new())).1.push(row.time);
    }
    let group = |(first, times): (_, Vec<i64>)| {
        let durations = Summary::from_values(&times)?;
        Some(KernelGroup { first, durations, spread: analysis.spread_us(Some(durations)) })
    };
    let mut groups: Vec<KernelGroup<'_>> = groups.into_values().filter_map(group).collect();
    // The order of their first uids decides between equal times.
    groups.sort_few_by_key(|group| Reverse(group.durations.sum));
    groups
}

macro_rules! pair {
    ($statistic:literal, $what:literal) => {
        [
            Column::new(
                concat!("total_direct_kernel_time_", $statistic),
                Number(Microseconds),
                concat!($what, " of durations in µs."),
            ),
            Column::new(
                concat!("total_subtree_kernel_time_", $statistic),
                Number(Microseconds),
                "Same as the direct kernel time: kernels have no children.",
            )
            .only_in(Layout::Listed),
        ]
    };
}

type Statistic = fn(&Spread) -> Option<f64>;

/// The statistics of both times, which are the same, in pairs.
const PAIRS: [([Column; 2], Statistic); 5] = [
    (pair!("mean", "Mean"), |times| times.mean),
    (pair!("median", "Median"), |times| times.median),
    (pair!("std", "Sample standard deviation (n − 1; empty for one kernel)"), |times| times.std),
    (pair!("min", "Smallest"), |times| times.min),
    (pair!("max", "Largest"), |times| times.max),
];
const SUMS: [Column; 2] = pair!("sum", "Sum");
const MEAN: &str = PAIRS[0].0[0].name;

fn group_fields<'a>() -> Vec<Field<&'a JaxAnalysis, KernelGroup<'a>>> {
    let mut fields = vec![
        KERNEL.field(|row: &KernelGroup<'_>| row.first.name.into()),
        KERNEL_CATEGORY.field(|row: &KernelGroup<'_>| row.first.category.as_str().into()),
    ];
    fields.extend(argument_fields(|row: &KernelGroup<'a>| row.first.operator));
    fields.push(
        Column::count("operation_count", "Kernels.")
            .field(|row: &KernelGroup<'_>| row.durations.count.into()),
    );
    for (columns, figure) in PAIRS {
        let pair = columns.map(|column| {
            let column = if column.name == MEAN { column } else { column.spread_of(MEAN) };
            column.per("kernel").field(move |row: &KernelGroup<'_>| figure(&row.spread).into())
        });
        fields.extend(pair);
    }
    fields.extend(SUMS.map(|column| {
        column
            .field_in(|analysis: &&JaxAnalysis, row: &KernelGroup<'_>| analysis.us(row.durations.sum).into())
    }));
    fields.extend([
        EX_UID.field(|row: &KernelGroup<'_>| row.first.uid.into()),
        Column::nested("kernel_details_summary", "kernel_details of the first kernel with count, total, mean, median, population standard deviation, minimum and maximum over the row's kernels in µs.").field_in(|analysis: &&JaxAnalysis, row: &KernelGroup<'_>| {
            let instruction = instruction(analysis, row.first.operator).into_iter();
            let statistics = duration_statistics(analysis.trace(), &row.durations);
            kernel_list(row.first.name, instruction.chain(statistics)).into()
        }),
    ]);
    fields.extend(shares(SHARE_OF_KERNEL_TIME, CUMULATIVE, |row: &KernelGroup<'_>| row.durations.sum));
    fields
}

/// Kernels of a name or a category.
struct KernelSum<'a> {
    name: Cow<'a, str>,
    time: i64,
    count: usize,
    categories: BTreeSet<&'static str>,
    /// GPUs that ran any kernel of the sheet.
    gpus: usize,
}

/// Kernels by name, or by what else is made of a kernel, most time first.
fn sums_by<'a>(rows: Vec<KernelRow<'a>>, name: fn(&KernelRow<'a>) -> Cow<'a, str>) -> Vec<KernelSum<'a>> {
    let gpus = gpu_count(&rows);
    let mut sums: HashMap<Cow<'_, str>, (i64, usize, BTreeSet<&str>)> = HashMap::new();
    for row in rows {
        let (time, count, categories) = sums.entry(name(&row)).or_default();
        *time += row.time;
        *count += 1;
        categories.insert(row.category.as_str());
    }
    let sum = |(name, (time, count, categories))| KernelSum { name, time, count, categories, gpus };
    let mut sums: Vec<KernelSum<'_>> = sums.into_iter().map(sum).collect();
    sums.sort_few_by(|a, b| b.time.cmp(&a.time).then_with(|| a.name.cmp(&b.name)));
    sums
}

fn name_fields<'a>() -> impl Iterator<Item = Field<&'a JaxAnalysis, KernelSum<'a>>> {
    let time = |column: Column| {
        column
            .only_in(Layout::Listed)
            .field_in(|analysis: &&JaxAnalysis, row: &KernelSum<'_>| analysis.us(row.time).into())
    };
    let fields = [
        SUMMARY_NAME.field(|row: &KernelSum<'_>| row.name.as_ref().into()),
        time(Column::microseconds("total_direct_kernel_time_sum", "Sum of durations in µs.")),
        time(Column::microseconds(
            "total_subtree_kernel_time_sum",
            "Same as the direct kernel time: kernels have no children.",
        )),
        DIRECT_MS.field_in(|analysis: &&JaxAnalysis, row: &KernelSum<'_>| analysis.ms(row.time).into()),
        DIRECT_MS
            .named("total_subtree_kernel_time_ms")
            .described("Same as the direct kernel time: kernels have no children.")
            .only_in(Layout::Listed)
            .field_in(|analysis: &&JaxAnalysis, row: &KernelSum<'_>| analysis.ms(row.time).into()),
        COUNT.field(|row: &KernelSum<'_>| row.count.into()),
        Column::names("Categories", "Categories of these kernels, in alphabetical order.")
            .field(|row: &KernelSum<'_>| text_list(&row.categories).into()),
    ];
    fields.into_iter().chain(share_fields())
}

fn category_fields<'a>() -> impl Iterator<Item = Field<&'a JaxAnalysis, KernelSum<'a>>> {
    let fields = [
        KERNEL_CATEGORY.field(|row: &KernelSum<'_>| row.name.as_ref().into()),
        COUNT.field(|row: &KernelSum<'_>| row.count.into()),
        DIRECT_MS.field_in(|analysis: &&JaxAnalysis, row: &KernelSum<'_>| analysis.ms(row.time).into()),
    ];
    fields.into_iter().chain(share_fields())
}

/// The shares of the time, and the time per GPU.
fn share_fields<'a>() -> impl Iterator<Item = Field<&'a JaxAnalysis, KernelSum<'a>>> {
    let shares = shares(SHARE_OF_KERNEL_TIME, CUMULATIVE, |row: &KernelSum<'_>| row.time);
    let per_gpu = MS_PER_GPU.field_in(|analysis: &&JaxAnalysis, row: &KernelSum<'_>| {
        (analysis.ms(row.time) / row.gpus as f64).into()
    });
    shares.into_iter().chain([per_gpu])
}

/// Kernels that compute, of a kind or of a name.
struct KindSum {
    name: String,
    count: usize,
    time: i64,
    percent: Option<f64>,
}

fn kind_fields<'a>(name: Column, share: &'static str) -> [Field<&'a JaxAnalysis, KindSum>; 5] {
    [
        name.field(|row: &KindSum| row.name.as_str().into()),
        Column::count("count", "Number of kernels on all GPUs.").field(|row: &KindSum| row.count.into()),
        Column::milliseconds("time ms", "Sum of these kernels' durations.")
            .with_role(Role::Headline)
            .field_in(|analysis: &&JaxAnalysis, row: &KindSum| analysis.ms(row.time).into()),
        Column::milliseconds(
            "time ms per gpu",
            "time ms / number of GPUs with events, including GPUs with only copies.",
        )
        .per("gpu")
        .field_in(|analysis: &&JaxAnalysis, row: &KindSum| {
            (analysis.ms(row.time) / analysis.gpus().len() as f64).into()
        }),
        Column::percent("percent", share).with_role(Role::Headline).field(|row: &KindSum| row.percent.into()),
    ]
}

/// The kernels that compute: name, category by their own name first, and time.
fn computation(analysis: &JaxAnalysis) -> impl Iterator<Item = (&str, XlaKernel, i64)> {
    let trace = analysis.trace();
    let computes =
        |event: &&GpuEvent| event.activity == Activity::Computation && analysis.keeps(event.operator);
    analysis.device_events().iter().filter(computes).map(move |event| {
        let name = trace.name(event.event);
        let call = analysis.profile().xla(event.event);
        let hlo_op = call.and_then(|call| call.hlo_op).map(|id| innermost(trace.text(id)));
        (name, XlaKernel::by_own_name(name, hlo_op), trace.events().duration(event.event))
    })
}

fn sums_by_kind(analysis: &JaxAnalysis) -> Vec<KindSum> {
    // What TraceLens calls kernels of no kind here; the row is always there.
    const OTHERS: &str = "Uncategorized Events";
    let mut sums: BTreeMap<String, (usize, i64)> = BTreeMap::from([(OTHERS.to_owned(), (0, 0))]);
    for (_, category, time) in computation(analysis) {
        let kind = if category == XlaKernel::Uncategorized { OTHERS } else { category.as_str() };
        add(&mut sums, kind.to_owned(), time);
    }
    kind_sums(sums, analysis.gpus().iter().map(|gpu| gpu.breakdown.computation).sum())
}

fn sums_by_short_name(analysis: &JaxAnalysis) -> Vec<KindSum> {
    let mut sums: BTreeMap<String, (usize, i64)> = BTreeMap::new();
    for (name, category, time) in computation(analysis) {
        if category == XlaKernel::Uncategorized {
            add(&mut sums, short_name(name), time);
        }
    }
    let whole = sums.values().map(|sum| sum.1).sum();
    kind_sums(sums, whole)
}

fn add(sums: &mut BTreeMap<String, (usize, i64)>, name: String, time: i64) {
    let sum = sums.entry(name).or_default();
    *sum = (sum.0 + 1, sum.1 + time);
}

/// The rows, most time first.
fn kind_sums(sums: BTreeMap<String, (usize, i64)>, whole: i64) -> Vec<KindSum> {
    let sum = |(name, (count, time))| KindSum { name, count, time, percent: percent(time, whole) };
    let mut sums: Vec<KindSum> = sums.into_iter().map(sum).collect();
    sums.sort_few_by_key(|sum| Reverse(sum.time));
    sums
}

fn without_digits(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn short_name(name: &str) -> String {
    let without_digits = without_digits(name);
    // Underscores at the very end of the name go; those that only a number kept from it stay.
    let ends = name.len() - name.trim_end_matches('_').len();
    without_digits[..without_digits.len() - ends].to_owned()
}

#[cfg(test)]
mod tests {
    use super::short_name;

    #[test]
    fn short_names_have_no_digits() {
        for (name, expected) in [
            ("input_transpose_fusion_1", "input_transpose_fusion_"),
            ("Im3d2Col", "ImdCol"),
            ("loop_add_fusion__", "loop_add_fusion"),
            ("a_1_", "a_"),
            ("42", ""),
        ] {
            assert_eq!(short_name(name), expected, "{name}");
        }
    }
}
