//! How long another run takes for the work of this one, where the two were compared.

use std::collections::HashMap;

use sheets::{Column, ColumnKind, Field, Layout, Role, Unit};
use trace_ingest::{EventId, Trace};

/// A piece of work that this run and another one have both, or that this run alone has.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedWork {
    /// Its number.
    pub number: usize,
    /// What the runs call it.
    pub name: String,
    /// The device events of this run. None is in another piece of work.
    pub events: Vec<EventId>,
    /// Time in µs in which a device event of it ran, in this run and in the other.
    pub busy_us: [f64; 2],
    /// Whether the other run has device events of it.
    pub is_in_other: bool,
}

/// What another run takes for the work of this one.
pub(crate) struct OtherRun {
    work: Vec<SharedWork>,
    /// Of each device event the place of its work.
    work_by_event: HashMap<EventId, usize>,
    /// Of each work the durations of its device events, summed up.
    kernel_time: Vec<i64>,
}

impl OtherRun {
    pub(crate) fn new(trace: &Trace, work: Vec<SharedWork>) -> Self {
        let events = work.iter().enumerate();
        let work_by_event = events.flat_map(|(at, work)| work.events.iter().map(move |&event| (event, at)));
        let work_by_event = work_by_event.collect();
        let kernel_time = work.iter().map(|work| work.events.iter().map(|&event| weight(trace, event)).sum());
        OtherRun { work_by_event, kernel_time: kernel_time.collect(), work }
    }
}

/// What work that several rows share is divided by.
fn weight(trace: &Trace, event: EventId) -> i64 {
    trace.events().duration(event).max(0)
}

/// What another run takes for the device events of a row.
#[derive(Default)]
pub(crate) struct OtherTimes<'a> {
    /// The work that the events are of, in order of its numbers.
    work: Vec<&'a SharedWork>,
    /// Times in this run and in the other, as much of each piece of work as its events in the row are of its own.
    shares_us: [f64; 2],
    /// Kernel time of the row in µs.
    row_us: f64,
}

impl<'a> OtherTimes<'a> {
    /// Of the device events of a row, and its kernel time; nothing where there is no other run.
    pub(crate) fn new(
        other: Option<&'a OtherRun>,
        trace: &Trace,
        events: impl Iterator<Item = EventId>,
        row_us: f64,
    ) -> Self {
        let Some(other) = other else { return OtherTimes::default() };
        let mut weights: HashMap<usize, (i64, usize)> = HashMap::new();
        for event in events {
            if let Some(&work) = other.work_by_event.get(&event) {
                let (time, count) = weights.entry(work).or_default();
                (*time, *count) = (*time + weight(trace, event), *count + 1);
            }
        }
        let mut places: Vec<usize> = weights.keys().copied().collect();
        places.sort_unstable_by_key(|&place| other.work[place].number);
        let mut times = OtherTimes { row_us, ..OtherTimes::default() };
        for place in places {
            let (work, (time, count)) = (&other.work[place], weights[&place]);
            let share = match other.kernel_time[place] {
                // Work without any time is divided by the number of its events.
                0 => count as f64 / work.events.len() as f64,
                whole => time as f64 / whole as f64,
            };
            for (sum, busy) in times.shares_us.iter_mut().zip(work.busy_us) {
                *sum += share * busy;
            }
            times.work.push(work);
        }
        times
    }

    fn total_us(&self, run: usize) -> f64 {
        self.work.iter().map(|work| work.busy_us[run]).sum()
    }

    fn when_matched<T>(&self, value: T) -> Option<T> {
        (!self.work.is_empty()).then_some(value)
    }

    fn joined(&self, text: impl Fn(&SharedWork) -> String) -> Option<String> {
        self.when_matched(self.work.iter().map(|work| text(work)).collect::<Vec<_>>().join("; "))
    }

    fn count_in_other(&self) -> usize {
        self.work.iter().filter(|work| work.is_in_other).count()
    }
}

/// Columns of what another run takes: in our layout parts of the work that it shares with other rows, so that the column
/// adds up; in that of the reference tool all of it, with the ratio the other way round.
pub(crate) fn other_run_fields<C, R>(
    times: impl for<'r> Fn(&'r R) -> &'r OtherTimes<'r> + Copy + Send + Sync + 'static,
) -> Vec<Field<C, R>> {
    let number = |name, description| Column::new(name, ColumnKind::Number(Unit::One), description);
    let ours = [
        number("speedup", "Time of the row's work here divided by its time in the other run (B): above 1, \
            the other run is faster.")
            .with_role(Role::Headline)
            .field(move |row: &R| {
                let [here, other] = times(row).shares_us;
                (other > 0.0).then(|| here / other).into()
            }),
        Column::microseconds(
            "delta_us",
            "Extra time of the other run (B) for the row's work: above 0, B is slower. Work shared by several rows is split by their kernel time, so this column plus the work found only in B (see diff_units) adds up to the total difference.",
        )
        .with_role(Role::Headline)
        .field(move |row: &R| {
            let [here, other] = times(row).shares_us;
            times(row).when_matched(other - here).into()
        }),
        Column::count("units_in_b", "Number of the row's difference units that the other run (B) also has.")
            .field(move |row: &R| times(row).when_matched(times(row).count_in_other()).into()),
        Column::text("units", "IDs of the row's difference units, as in diff_stats.")
            .with_role(Role::Provenance)
            .field(move |row: &R| times(row).joined(|work| work.number.to_string()).into()),
        Column::text("unit_names", "Names of these units.")
            .with_role(Role::Provenance)
            .field(move |row: &R| times(row).joined(|work| work.name.clone()).into()),
        Column::microseconds("unit_time_a_us", "Time of these units here (A), counting only the row's share.")
            .field(move |row: &R| times(row).when_matched(times(row).shares_us[0]).into()),
        Column::microseconds("unit_time_b_us", "Time of these units in the other run (B), counting only the row's share.")
            .field(move |row: &R| times(row).when_matched(times(row).shares_us[1]).into()),
    ];
    let reference_fields = [
        number(
            "speedup (trace2/trace1)",
            "Time of the row's work in trace 2 divided by its time in trace 1: below 1, trace 2 is faster.",
        )
        .field(move |row: &R| {
            let (one, two) = (times(row).total_us(0), times(row).total_us(1));
            (one > 0.0).then(|| two / one).into()
        }),
        Column::microseconds(
            "delta_us (trace2 - trace1)",
            "Time of the row's work in trace 2 minus the row's kernel time.",
        )
        .field(move |row: &R| times(row).when_matched(times(row).total_us(1) - times(row).row_us).into()),
        Column::count("lca_count_trace2", "Number of the row's difference units that trace 2 also has.")
            .field(move |row: &R| times(row).when_matched(times(row).count_in_other()).into()),
        Column::text("lca_id", "IDs of the row's difference units.")
            .field(move |row: &R| times(row).joined(|work| work.number.to_string()).into()),
        Column::text("lca_name", "Names of these units.")
            .field(move |row: &R| times(row).joined(|work| work.name.clone()).into()),
        Column::microseconds(
            "lca_total_kernel_time_trace1_us",
            "Time of these units in trace 1, in full in each row with any of their work.",
        )
        .field(move |row: &R| times(row).when_matched(times(row).total_us(0)).into()),
        Column::microseconds(
            "lca_total_kernel_time_trace2_us",
            "Time of these units in trace 2, in full in each row with any of their work.",
        )
        .field(move |row: &R| times(row).when_matched(times(row).total_us(1)).into()),
    ];
    let ours = ours.into_iter().map(|field| field.only_in(Layout::Roles));
    let reference_fields = reference_fields.into_iter().map(|field| field.only_in(Layout::Listed));
    ours.chain(reference_fields).collect()
}
