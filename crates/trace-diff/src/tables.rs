//! A comparison as sheets.

use sheets::{Chart, ChartShape, Column, ColumnKind, Field, Role, Sheet, Unit, Verdict, columns};

use crate::compare::{Comparison, Figures, Joined, Status, percent, speedup};
use crate::repeated::repeated_sheet;
use crate::rules::{MODELLED, RULES, Rule, Subject};
use crate::waterfall::{Step, waterfall};

/// Name of the sheet with the steps from the time of A to that of B.
pub const TIME_CHANGE: &str = "time_change";

/// A row of a sheet: one of a table, or the sums over all.
struct Line {
    keys: Vec<Option<String>>,
    status: &'static str,
    figures: [Figures; 2],
    matched: &'static str,
    /// Sum of the changes of this row and all above it, in µs.
    running_us: f64,
}

impl Line {
    fn delta_us(&self) -> f64 {
        self.figures[1].time_us - self.figures[0].time_us
    }
}

/// The rows of a table, and the sums as the last of them where sums mean something.
fn lines(table: &Joined, is_cut_differently: bool) -> Vec<Line> {
    let mut running_us = 0.0;
    let rows = table.rows.iter().map(|row| {
        running_us += row.delta_us();
        let matched = if let Status::Both(matched) = row.status { matched.as_str() } else { "" };
        let (keys, status) = (row.keys.clone(), row.status.as_str());
        Line { keys, status, figures: row.figures, matched, running_us }
    });
    let mut lines: Vec<Line> = rows.collect();
    if is_summed(table.subject) && !is_cut_differently {
        let keys = vec![Some("(total)".to_owned())];
        let (figures, running_us) = (table.totals, table.gap_us());
        lines.push(Line { keys, status: "total", figures, matched: "", running_us });
    }
    lines
}

/// Whether the rows of a table are parts that add up. Those of a timeline are a whole and parts that contain each other.
fn is_summed(subject: Subject) -> bool {
    subject != Subject::Timeline
}

/// What the rows of a sheet share.
struct Shared {
    names: [String; 2],
    /// What the header of times says that they are divided by, and that of calls.
    per: [&'static str; 2],
    keys: Vec<String>,
    gap_us: f64,
    whole_us: f64,
    /// Whether any row has such figures: calls, means, deviations, least, largest, and the two rates.
    has: [bool; 7],
}

impl Shared {
    fn new(comparison: &Comparison, table: &Joined) -> Self {
        let any = |has: &dyn Fn(&Figures) -> bool| table.rows.iter().flat_map(|row| &row.figures).any(has);
        Shared {
            names: comparison.names.clone(),
            per: match comparison.steps {
                Some(_) => ["_per_step"; 2],
                None if comparison.is_cut_differently => ["_per_call", ""],
                None => [""; 2],
            },
            keys: table.keys.clone(),
            gap_us: table.gap_us(),
            whole_us: comparison.whole_us(),
            has: [
                any(&|figures| figures.calls.is_some()),
                any(&|figures| figures.mean_us.is_some()),
                any(&|figures| figures.std_us.is_some()),
                any(&|figures| figures.min_us.is_some()),
                any(&|figures| figures.max_us.is_some()),
                any(&|figures| figures.rates[0].is_some()),
                any(&|figures| figures.rates[1].is_some()),
            ],
        }
    }
}

/// The sheets of a comparison; with a suffix for its names where a report has several comparisons.
#[must_use]
pub fn comparison_sheets<'a>(comparison: &Comparison, suffix: &str) -> Vec<Sheet<'a, Comparison>> {
    let mut sheets = vec![time_change_sheet(suffix), repeated(suffix)];
    sheets.extend(comparison.tables.iter().map(|table| joined_sheet(&table.sheet, table.rule, suffix)));
    sheets
}

/// The sheets that a comparison may have, those of operators by their parameters as one; with a suffix for its names.
#[must_use]
pub fn all_comparison_sheets(suffix: &str) -> Vec<Sheet<'static, Comparison>> {
    let rule_sheets = RULES.iter().map(|rule| joined_sheet(rule.title(), rule, suffix));
    let model_sheet = joined_sheet("GEMM", &MODELLED, suffix);
    [time_change_sheet(suffix), repeated(suffix)]
        .into_iter()
        .chain(rule_sheets)
        .chain([model_sheet])
        .collect()
}

fn repeated<'a>(suffix: &str) -> Sheet<'a, Comparison> {
    repeated_sheet(suffix, |comparison: &Comparison| &comparison.repeated)
}

fn joined_sheet<'a>(name: &str, rule: &'static Rule, suffix: &str) -> Sheet<'a, Comparison> {
    let description = match rule.subject {
        Subject::Model => {
            "Operators of a family by their model parameters in both reports, largest change first; every family has such a sheet."
        }
        Subject::Timeline => "Rows of this sheet in both reports, joined by key, largest change first.",
        _ => "Rows of this sheet in both reports, joined by key, largest change first; sums in the last row.",
    };
    let sheet = name.to_owned();
    Sheet::with_context(
        format!("{name}{suffix}"),
        description,
        fields(rule),
        move |comparison: &'a Comparison| {
            let table = comparison.tables.iter().find(|table| table.sheet == sheet)?;
            Some((Shared::new(comparison, table), lines(table, comparison.is_cut_differently)))
        },
    )
}

const STATUS: Column =
    Column::text("status", "both (in both runs), gone (only in A, the first run) or new (only in B).")
        .with_role(Role::Headline);
const TIME: Column = Column::microseconds(
    "time_us…",
    "Time in the run named in the header, A first; named time_us_per_step if divided by the run's steps, time_us_per_call if the recordings cover different amounts of work.",
)
.with_role(Role::Headline);
const DELTA: Column = Column::microseconds("delta_us", "Time in B minus time in A: above 0, B takes longer.")
    .with_role(Role::Headline)
    .judged(Verdict::LessIsBetter);
const SPEEDUP: Column = Column::new(
    "speedup",
    ColumnKind::Number(Unit::One),
    "Time in A / time in B: above 1, B is faster; empty if either run lacks the row.",
)
.with_role(Role::Headline)
.judged(Verdict::AboveOneIsBetter);
const DELTA_PERCENT: Column =
    Column::percent("delta_percent", "delta_us as a share of the time in A; empty for new work.")
        .with_role(Role::Headline)
        .judged(Verdict::LessIsBetter);
const PERCENT_OF_SPAN: Column = Column::percent(
    "percent_of_span",
    "delta_us as a share of A's total_time in the timeline; without a timeline, of A's time in all operators.",
)
.with_role(Role::Headline)
.judged(Verdict::LessIsBetter);
const SHARE: Column = Column::percent(
    "share_of_gap",
    "delta_us as a share of the sum over all rows, in percent; may be below 0 or above 100.",
);
const CUMULATIVE: Column = Column::percent("cumulative_share", "Running sum of share_of_gap, in percent.");
const CALLS: Column = Column::new(
    "calls…",
    ColumnKind::Number(Unit::One),
    "Number of calls in the run named in the header; named calls_per_step if divided by the run's steps.",
);
const MEAN: Column = Column::microseconds("mean_us…", "Mean time per call.").per("call");
const STD: Column = Column::microseconds(
    "std_us…",
    "Sample standard deviation (n − 1) of the time per call, pooled over report rows with this key.",
)
.spread_of(MEAN.name)
.per("call");
const MIN: Column =
    Column::microseconds("min_us…", "Shortest time of a call.").spread_of(MEAN.name).per("call");
const MAX: Column =
    Column::microseconds("max_us…", "Longest time of a call.").spread_of(MEAN.name).per("call");
const TFLOPS: Column = Column::new(
    "TFLOPS/s_mean…",
    ColumnKind::Number(Unit::TeraflopsPerSecond),
    "Mean over calls of the achieved rate in TFLOP/s.",
)
.per("call");
const TERABYTES: Column = Column::new(
    "TB/s_mean…",
    ColumnKind::Number(Unit::TerabytesPerSecond),
    "Mean over calls of the achieved bandwidth in TB/s (10¹² bytes).",
)
.per("call");
const MATCH: Column = Column::text(
    "match",
    "Empty if the keys are equal; otherwise, why the rows match: operators that do the same work under different names, or keys that differ only in strides.",
)
.with_role(Role::Detail);

const KEY: &str = "Key of the row, as in A; rows with equal keys are joined.";

fn fields(rule: &'static Rule) -> Vec<Field<Shared, Line>> {
    let mut fields = Vec::new();
    for key in rule.key_names() {
        let position = move |shared: &Shared| shared.keys.iter().position(|known| known == key);
        let value = Column::text(key, KEY).field_in(move |shared: &Shared, line: &Line| {
            position(shared).and_then(|position| line.keys.get(position)?.as_deref()).into()
        });
        fields.push(value.when(move |shared| position(shared).is_some()));
    }
    if rule.subject == Subject::Model {
        let parameters = |shared: &Shared| shared.keys.get(1..).unwrap_or_default().to_vec();
        fields.push(Field::each(Column::text("param: …", KEY), parameters, |_, line: &Line, position| {
            line.keys.get(position + 1).and_then(Option::as_deref).into()
        }));
    }
    let span_share = |shared: &Shared, line: &Line| percent(line.delta_us(), shared.whole_us);
    fields.extend([
        STATUS.field(|line: &Line| line.status.into()),
        run_columns(TIME, "time_us", Some(0), |figures| Some(figures.time_us)),
        DELTA.field(|line: &Line| line.delta_us().into()),
        SPEEDUP.field(|line: &Line| speedup(&line.figures).into()),
        DELTA_PERCENT.field(|line: &Line| percent(line.delta_us(), line.figures[0].time_us).into()),
        PERCENT_OF_SPAN.field_in(move |shared, line| span_share(shared, line).into()),
        SHARE.field_in(|shared: &Shared, line: &Line| percent(line.delta_us(), shared.gap_us).into()),
    ]);
    if is_summed(rule.subject) {
        let share = |shared: &Shared, line: &Line| percent(line.running_us, shared.gap_us);
        fields.push(CUMULATIVE.field_in(move |shared, line| share(shared, line).into()));
    }
    let optional: [(Column, &'static str, Figure); 7] = [
        (CALLS, "calls", |figures| figures.calls),
        (MEAN, "mean_us", |figures| figures.mean_us),
        (STD, "std_us", |figures| figures.std_us),
        (MIN, "min_us", |figures| figures.min_us),
        (MAX, "max_us", |figures| figures.max_us),
        (TFLOPS, columns::TFLOPS_PER_S.mean.name, |figures| figures.rates[0]),
        (TERABYTES, columns::TB_PER_S.mean.name, |figures| figures.rates[1]),
    ];
    fields.extend(optional.into_iter().enumerate().map(|(position, (column, name, figure))| {
        run_columns(column, name, (position == 0).then_some(1), figure)
            .when(move |shared| shared.has[position])
    }));
    fields.push(MATCH.field(|line: &Line| Some(line.matched).filter(|text| !text.is_empty()).into()));
    fields
}

/// A figure of a run that a report may lack.
type Figure = fn(&Figures) -> Option<f64>;

/// A figure of both runs, a column each, and which of [`Shared::per`] it may be divided by.
fn run_columns(
    column: Column,
    name: &'static str,
    divided: Option<usize>,
    figure: Figure,
) -> Field<Shared, Line> {
    let names = move |shared: &Shared| {
        let per = divided.map_or("", |divided| shared.per[divided]);
        shared.names.iter().map(|run| format!("{name}{per}: {run}")).collect()
    };
    Field::each(column, names, move |_, line: &Line, side| {
        // A run without the row has no figures there, which is no zero.
        let lacks = (line.status == Status::New.as_str() && side == 0)
            || (line.status == Status::Gone.as_str() && side == 1);
        line.figures.get(side).filter(|_| !lacks).and_then(figure).into()
    })
}

/// The steps from the time of A to that of B.
fn time_change_sheet<'a>(suffix: &str) -> Sheet<'a, Comparison> {
    const PART: Column = Column::text("part", "A complete run, or a part of its time that differs.");
    const WHOLE: Column =
        Column::milliseconds("whole_ms", "Time of a run, per step if both step counts are known.");
    const CHANGE: Column = Column::milliseconds(
        "delta_ms",
        "Time in B minus time in A in the part; the parts add up to the total difference.",
    )
    .with_role(Role::Headline)
    .judged(Verdict::LessIsBetter);
    const BASE: Column =
        Column::milliseconds("base_ms", "Lower end of the bar in the chart.").with_role(Role::Detail);
    const RISE: Column = Column::milliseconds("slower_ms", "delta_ms if above 0.").with_role(Role::Detail);
    const FALL: Column = Column::milliseconds("faster_ms", "−delta_ms if below 0.").with_role(Role::Detail);
    let ms = |us: f64| us / 1e3;
    let fields = [
        PART.field(|step: &Step| step.name.as_str().into()),
        WHOLE.with_role(Role::Headline).field(move |step: &Step| step.whole_us.map(ms).into()),
        CHANGE.field(move |step: &Step| step.delta_us.map(ms).into()),
        BASE.field(move |step: &Step| step.base_us.map(ms).into()),
        RISE.field(move |step: &Step| step.delta_us.filter(|&delta| delta > 0.0).map(ms).into()),
        FALL.field(move |step: &Step| {
            step.delta_us.filter(|&delta| delta < 0.0).map(|delta| -ms(delta)).into()
        }),
    ];
    let shape = ChartShape::Waterfall { base: BASE.name, rise: RISE.name, fall: FALL.name };
    Sheet::new(
        format!("{TIME_CHANGE}{suffix}"),
        "Change in time from A to B, part by part: computation by category, exposed communication and copies, and idle time.",
        fields,
        waterfall,
    )
    .with_chart(Chart::new("Change in time from A to B", PART.name, WHOLE.name, "time (ms)", shape))
}
