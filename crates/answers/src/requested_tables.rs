//! Tables of a trace that are made when somebody asks for them: no report has room for them.

use gpu_timeline::SortFew;
use indexmap::IndexMap;
use sheets::{Cell, Column, Role, Table, TableColumn, TableError};
use trace_ingest::EventId;
use tree_perf::Analysis;

use crate::report::{Analysed, Report};
use crate::why::{bare_module, outermost};

/// Device time by module, and device events one by one.
pub const REQUESTED_TABLES: [&str; 2] = ["modules", "device_timeline"];

/// The table of this name; `None` where it is none of [`REQUESTED_TABLES`], or the recording is no trace.
#[must_use]
pub fn requested_table(report: &Report, name: &str) -> Option<Result<Table, TableError>> {
    let Analysed::Trace(analysis, _) = &report.analysis else { return None };
    match REQUESTED_TABLES.iter().position(|known| *known == name)? {
        0 => Some(modules(analysis)),
        _ => Some(device_timeline(analysis)),
    }
}

/// A column, and what fills it.
type Filled<'f, R> = (Column, &'f dyn Fn(&R) -> Cell<'static>);

fn table<R>(name: &str, rows: &[R], columns: Vec<Filled<'_, R>>) -> Result<Table, TableError> {
    let columns = columns.into_iter().map(|(column, cell)| TableColumn::new(column, rows.iter().map(cell)));
    Table::new(name, columns.collect())
}

/// Modules by their classes, the most device time first.
fn modules(analysis: &Analysis) -> Result<Table, TableError> {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let mut calls_by_name: IndexMap<&str, Vec<EventId>> = IndexMap::new();
    for name in tree.node_names() {
        let calls = tree.find_by_name_id(name);
        if calls.first().is_some_and(|&call| tree.is_module(call)) {
            calls_by_name.entry(bare_module(trace.text(name))).or_default().extend(calls);
        }
    }
    let times = tree.device_times();
    let row = |(name, calls): (&str, Vec<EventId>)| {
        let calls = outermost(analysis, calls);
        let us: f64 = calls.iter().map(|&call| times.microseconds(call)).sum();
        (name.to_owned(), calls.len(), us)
    };
    let mut rows: Vec<(String, usize, f64)> = calls_by_name.into_iter().map(row).collect();
    rows.sort_few_by(|a, b| b.2.total_cmp(&a.2));
    table(
        REQUESTED_TABLES[0],
        &rows,
        vec![
            (Column::text("name", "Class of the module."), &|row: &(String, usize, f64)| {
                row.0.clone().into()
            }),
            (Column::count("calls", "Calls outside of another call of the same class."), &|row| row.1.into()),
            (
                Column::microseconds(
                    "device_us",
                    "Sum of the durations of the device events launched in it.",
                ),
                &|row| row.2.into(),
            ),
        ],
    )
}

/// Kernels, copies and fills by start.
fn device_timeline(analysis: &Analysis) -> Result<Table, TableError> {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let events = trace.events();
    let mut rows: Vec<EventId> = analysis.device_events().collect();
    rows.sort_by_key(|&event| (events.start(event), event));
    let us = |time: i64| Cell::from(trace.to_microseconds(time));
    let delay = |event: EventId| {
        let launch = tree.launch(event)?;
        Some(trace.to_microseconds(events.start(event) - events.start(launch)))
    };
    table(
        REQUESTED_TABLES[1],
        &rows,
        vec![
            (Column::identifier("uid", "Index in the file's event list."), &|&row| {
                i64::from(events.uid(row)).into()
            }),
            (Column::text("name", "Name of the event."), &|&row| trace.name(row).to_owned().into()),
            (
                Column::text("kind", "Category of the event, as named by the profiler.")
                    .with_role(Role::Detail),
                &|&row| trace.category_name(events.category(row)).to_owned().into(),
            ),
            (Column::identifier("stream", "Stream, queue or engine.").with_role(Role::Detail), &|&row| {
                events.stream(row).into()
            }),
            (
                Column::microseconds("start_us", "Start, relative to the first event of the recording."),
                &|&row| us(events.start(row)),
            ),
            (Column::microseconds("duration_us", "Duration."), &|&row| us(events.duration(row))),
            (Column::text("operator", "Operator that launched it.").with_role(Role::Detail), &|&row| {
                tree.operator(row).map(|operator| trace.name(operator).to_owned()).into()
            }),
            (
                Column::microseconds(
                    "launch_delay_us",
                    "From the start of the call that launched it to its start.",
                ),
                &|&row| delay(row).into(),
            ),
        ],
    )
}
