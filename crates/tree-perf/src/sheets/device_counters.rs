//! Counters of the devices that the recorder sampled: power, clocks, utilization.

use std::collections::BTreeMap;

use gpu_timeline::{Activity, HeldSamples, Interval, IntervalSet};
use sheets::ColumnKind::Number;
use sheets::Unit::{Joules, One, Watts};
use sheets::{Column, Field, Role, Sheet, percent};
use trace_ingest::{Category, CounterSample, Phase, StringId};

use super::idle_causes::DEVICE;
use super::series::{self, Part};
use crate::analysis::Analysis;
use crate::device::interval;
use crate::memory::marked_steps;

/// A counter of a device.
struct Series {
    device: i64,
    counter: StringId,
    values: HeldSamples,
    /// Time in which a value is known.
    known: IntervalSet,
}

/// The counters of all devices, and what they are held against.
struct Counters {
    /// From the first start of an event to the last end.
    window: Interval,
    series: Vec<Series>,
    /// When each device did what.
    work: BTreeMap<i64, Work>,
}

/// When a device worked.
#[derive(Default)]
struct Work {
    busy: IntervalSet,
    /// When it did nothing else, by activity.
    alone: [IntervalSet; KINDS.len()],
}

const KINDS: [Activity; 3] = [Activity::Computation, Activity::Communication, Activity::Memcpy];

/// In shorter stretches than this many intervals between samples a mean says more about what is around them.
const SHORTEST_STRETCH: i64 = 5;

/// A clock below this share of the highest seen is throttled.
const THROTTLED: f64 = 0.9;

/// `None` where nothing was sampled, or the report is of the core alone.
fn counters(analysis: &Analysis) -> Option<Counters> {
    let trace = analysis.trace();
    if trace.counters().is_empty() || !analysis.options().conventions.is_full() {
        return None;
    }
    let events = trace.events();
    let spans = events
        .ids()
        .filter(|&event| events.phase(event) == Phase::Complete && events.category(event) != Category::TRACE);
    let window = spans.map(|event| interval(trace, event)).reduce(Interval::hull)?;
    let mut samples: BTreeMap<(i64, StringId), Vec<&CounterSample>> = BTreeMap::new();
    for sample in trace.counters() {
        samples.entry((sample.device, sample.counter)).or_default().push(sample);
    }
    let series = samples.into_iter().map(|((device, counter), samples)| {
        let values = HeldSamples::new(samples.iter().map(|sample| (sample.time, sample.value)), window);
        let known = values.known();
        Series { device, counter, values, known }
    });
    let series: Vec<Series> = series.collect();
    let work = series.iter().map(|series| series.device);
    let mut work: BTreeMap<i64, Work> = work.map(|device| (device, Work::default())).collect();
    for (device, work) in &mut work {
        let device_intervals = |activity: Option<Activity>| -> IntervalSet {
            let events = analysis
                .activities()
                .filter(|&(event, kind)| {
                    events.device(event) == Some(*device) && activity.is_none_or(|activity| activity == kind)
                })
                .map(|(event, _)| interval(trace, event));
            events.collect()
        };
        work.busy = device_intervals(None);
        let each = KINDS.map(|activity| device_intervals(Some(activity)));
        work.alone = std::array::from_fn(|kind| {
            let others = (0..KINDS.len()).filter(|&other| other != kind);
            others.fold(each[kind].clone(), |alone, other| alone.subtract(&each[other]))
        });
    }
    Some(Counters { window, series, work })
}

type Context<'a> = (&'a Analysis, Counters);

/// Index of a series in its counters.
type Row = usize;

fn name<'r>(analysis: &'r Analysis, series: &Series) -> &'r str {
    analysis.trace().text(series.counter)
}

/// What stands in brackets at the end of the name, where counters have their unit.
fn unit(name: &str) -> Option<&str> {
    name.strip_suffix(')').and_then(|name| name.rsplit_once('(')).map(|(_, unit)| unit)
}

fn seconds(analysis: &Analysis, time: f64) -> f64 {
    time / (analysis.trace().time_unit().per_microsecond() as f64 * 1e6)
}

/// A column filled from a series.
fn of<'a>(
    column: Column,
    value: impl Fn(&Analysis, &Counters, &Series) -> Option<f64> + Send + Sync + 'static,
) -> Field<Context<'a>, Row> {
    column.field_in(move |(analysis, counters): &Context<'_>, &row: &Row| {
        value(analysis, counters, &counters.series[row]).into()
    })
}

fn value(name: &'static str, description: &'static str) -> Column {
    Column::new(name, Number(One), description).per("moment")
}

/// Its mean while the device did only one thing.
fn alone<'a>(column: Column, kind: usize) -> Field<Context<'a>, Row> {
    of(column, move |_, counters, series| {
        let shortest = series.values.interval()?.saturating_mul(SHORTEST_STRETCH);
        let stretches = counters.work.get(&series.device)?.alone[kind].iter();
        series.values.mean_within(&stretches.filter(|stretch| stretch.length() >= shortest).collect())
    })
}

/// One row per device and counter.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let names = [
        DEVICE.field_in(|(_, counters): &Context<'_>, &row: &Row| counters.series[row].device.into()),
        Column::text("counter", "Counter, as named by the profiler.").field_in(
            |(analysis, counters): &Context<'_>, &row: &Row| name(analysis, &counters.series[row]).into(),
        ),
        Column::text("unit", "Unit, from the brackets at the end of the name; empty if none.")
            .with_role(Role::Detail)
            .field_in(|(analysis, counters): &Context<'_>, &row: &Row| {
                unit(name(analysis, &counters.series[row])).into()
            }),
        Column::count("samples", "Number of samples.")
            .field_in(|(_, counters): &Context<'_>, &row: &Row| counters.series[row].values.samples().into()),
    ];
    let figures = [
        of(
            value("mean", "Mean over the time with a known value, in the counter's unit. A value holds until the next sample, but for at most twice the median interval.")
                .with_role(Role::Headline),
            |_, _, series| series.values.mean(),
        ),
        of(value("min", "Smallest value, in the counter's unit."), |_, _, series| series.values.min()),
        of(value("max", "Largest value, in the counter's unit."), |_, _, series| series.values.max()),
        of(
            value("p95", "95th percentile over the time with a known value, in the counter's unit."),
            |_, _, series| series.values.quantile(0.95),
        ),
        of(
            value("mean_while_busy", "Mean over the device's busy time, in the counter's unit."),
            |_, counters, series| series.values.mean_within(&counters.work.get(&series.device)?.busy),
        ),
        of(
            value("mean_while_idle", "Mean over the device's idle time, in the counter's unit."),
            |_, counters, series| {
                let idle = series.known.subtract(&counters.work.get(&series.device)?.busy);
                series.values.mean_within(&idle)
            },
        ),
        alone(value("mean_in_computation", "Mean over stretches of at least five sample intervals in \
            which the device only computed, in the counter's unit; empty if there are none."), 0),
        alone(value("mean_in_communication", "Mean over stretches of at least five sample intervals in \
            which the device only communicated, in the counter's unit; empty if there are none."), 1),
        alone(value("mean_in_copy", "Mean over stretches of at least five sample intervals in which the \
            device only copied, in the counter's unit; empty if there are none."), 2),
        of(
            Column::new("energy_j", Number(Joules), "For counters in W: energy, the sum of value × time."),
            |analysis, _, series| {
                (unit(name(analysis, series)) == Some("W"))
                    .then(|| seconds(analysis, series.values.integral()))
            },
        ),
        of(
            Column::percent("throttled_pct", "For SM Clock: share of busy time (with a known clock) spent below 0.9 × the highest clock seen."),
            |analysis, counters, series| {
                if !name(analysis, series).starts_with("SM Clock") {
                    return None;
                }
                let busy = &counters.work.get(&series.device)?.busy;
                let highest = series.values.max()?;
                let throttled = series.values.time_within(busy, |clock| clock < THROTTLED * highest);
                percent(throttled, series.values.time_within(busy, |_| true))
            },
        ),
        of(
            Column::microseconds("interval_us", "Median time between samples.").per("sample"),
            |analysis, _, series| series.values.interval().map(|interval| analysis.us(interval)),
        ),
        of(
            Column::percent("coverage_pct", "Time with a known value as a share of the time from first start to last end of all events."),
            |_, counters, series| percent(series.known.total_length(), counters.window.length()),
        ),
    ];
    Sheet::with_context(
        "device_counters",
        "Sampled device counters, such as power and clocks, weighted by time; omitted if the trace has none. Samples are about a millisecond apart, too coarse for individual kernels.",
        names.into_iter().chain(figures),
        |analysis| {
            let counters = counters(analysis)?;
            let rows = (0..counters.series.len()).collect();
            Some(((analysis, counters), rows))
        },
    )
}

const HEIGHT: Column = Column::percent(
    "percent of max",
    "Maximum in the interval as a share of the counter's maximum, so that counters of different units can share a chart.",
);

/// One row per device, counter and part of the time.
pub(crate) fn timeline_sheet<'a>() -> Sheet<'a, Analysis> {
    let figures = [
        value("min", "Smallest value in the interval, in the counter's unit.")
            .field_in(|_, part: &Part| part.min.into()),
        value("max", "Largest value in the interval, in the counter's unit.")
            .field_in(|_, part: &Part| part.max.into()),
        HEIGHT.field_in(|_, part: &Part| percent_of_highest(part).into()),
    ];
    Sheet::with_context(
        "device_counter_timeline",
        "Device counters over time, each in at most 2,000 equal intervals; omits intervals without a known value. Only if the trace has counters.",
        series::names("Device and counter.").into_iter().chain(figures),
        |analysis: &'a Analysis| {
            let counters = counters(analysis)?;
            let parts = |series: &Series| {
                let title = format!("device {}: {}", series.device, name(analysis, series));
                series::parts(&title, &series.values)
            };
            let rows: Vec<Part> = counters.series.iter().flat_map(parts).collect();
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
    .with_chart(series::chart("Counters over time", &HEIGHT, "share of the counter's largest value (%)"))
}

fn percent_of_highest(part: &Part) -> Option<f64> {
    (part.highest > 0.0).then(|| part.max / part.highest * 100.0)
}

/// Steps with fewer samples of the power have no energy.
const FEWEST_SAMPLES: usize = 20;

/// One row per device and marked step.
pub(crate) fn energy_sheet<'a>() -> Sheet<'a, Analysis> {
    struct Energy {
        device: i64,
        counter: StringId,
        step: StringId,
        samples: usize,
        time: i64,
        /// In the counter's unit times the trace's unit of time.
        integral: f64,
        mean: Option<f64>,
    }
    let fields = [
        DEVICE.field_in(|_, row: &Energy| row.device.into()),
        Column::text("counter", "Power counter.")
            .field_in(|analysis: &&Analysis, row: &Energy| analysis.trace().text(row.counter).into()),
        Column::text("step", "Step marked by the program.")
            .field_in(|analysis: &&Analysis, row: &Energy| analysis.trace().text(row.step).into()),
        Column::new(
            "energy_j",
            Number(Joules),
            "Energy: sum of power × time while the step ran on the host.",
        )
        .with_role(Role::Headline)
        .field_in(|analysis: &&Analysis, row: &Energy| seconds(analysis, row.integral).into()),
        Column::new("mean_w", Number(Watts), "Mean power.")
            .per("moment")
            .field_in(|_, row: &Energy| row.mean.into()),
        Column::milliseconds(
            "known_ms",
            "Part of the step's time for which power is known; energy_j covers only this part.",
        )
        .field_in(|analysis: &&Analysis, row: &Energy| analysis.ms(row.time).into()),
        Column::count("samples", "Number of samples in the step.")
            .field_in(|_, row: &Energy| row.samples.into()),
    ];
    Sheet::with_context(
        "device_energy",
        "Device energy per step marked by the program, for steps with at least 20 power samples; omitted if there are none.",
        fields,
        |analysis: &'a Analysis| {
            let counters = counters(analysis)?;
            let steps = marked_steps(analysis.trace());
            let mut rows = Vec::new();
            for series in counters.series.iter().filter(|series| unit(name(analysis, series)) == Some("W")) {
                let mut times: Vec<i64> = analysis
                    .trace()
                    .counters()
                    .iter()
                    .filter(|sample| (sample.device, sample.counter) == (series.device, series.counter))
                    .map(|sample| sample.time)
                    .collect();
                times.sort_unstable();
                for step in &steps {
                    let before = |time: i64| times.partition_point(|&sample| sample < time);
                    let samples = before(step.end).saturating_sub(before(step.start));
                    if samples < FEWEST_SAMPLES {
                        continue;
                    }
                    let time = IntervalSet::from(Interval::between(step.start, step.end));
                    let mean = series.values.mean_within(&time);
                    let known = series.values.time_within(&time, |_| true);
                    rows.push(Energy {
                        device: series.device,
                        counter: series.counter,
                        step: step.name,
                        samples,
                        time: known,
                        integral: mean.unwrap_or(0.0) * known as f64,
                        mean,
                    });
                }
            }
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
}
