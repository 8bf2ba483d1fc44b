//! Events of a trace as columns, and where the time of its devices went.

use std::collections::BTreeMap;

use gpu_timeline::{Breakdown, DeviceEvent};
use iterations::{DetectOptions, Iterations, Window};
use polars_arrow::array::{Array, Float64Array, Int64Array};
use pyo3::prelude::*;
use sheets::{Column, TableColumn};
use trace_ingest::{EventId, EventTable, Trace};
use tree_perf::Analysis;

use crate::boundary::{refused, refused_by, refused_with, unknown};
use crate::table::{Table, dictionary};

/// A column of events.
struct EventColumn {
    column: Column,
    cells: fn(&Analysis) -> PyResult<Box<dyn Array>>,
}

/// The columns that there are.
const EVENT_COLUMNS: [EventColumn; 13] = [
    EventColumn {
        column: Column::identifier("uid", "Index of the event in the file's event list."),
        cells: |analysis| whole(analysis, |events, event| Some(events.uid(event).into())),
    },
    EventColumn {
        column: Column::text("name", "Name of the event."),
        cells: |analysis| {
            let trace = analysis.trace();
            texts(analysis, |events, event| events.name(event), |name| Some(trace.text(name).to_owned()))
        },
    },
    EventColumn {
        column: Column::text("category", "Category of the event, as named by the profiler."),
        cells: |analysis| {
            let name = |category| analysis.trace().category_name(category).to_owned();
            texts(analysis, |events, event| events.category(event), |category| Some(name(category)))
        },
    },
    EventColumn {
        column: Column::microseconds("start_us", "Start, relative to the first event."),
        cells: |analysis| times(analysis.trace(), EventTable::start),
    },
    EventColumn {
        column: Column::microseconds("duration_us", "Duration of the event; 0 for an instant."),
        cells: |analysis| times(analysis.trace(), EventTable::duration),
    },
    EventColumn {
        column: Column::text("process", "Process or device, by its recorded number or name."),
        cells: |analysis| {
            let trace = analysis.trace();
            let text = |id| trace.row_text(id).map(Into::into);
            texts(analysis, |events, event| trace.tracks().get(events.track(event)).pid, text)
        },
    },
    EventColumn {
        column: Column::text("thread", "Thread or stream, by its recorded number or name."),
        cells: |analysis| {
            let trace = analysis.trace();
            let text = |id| trace.row_text(id).map(Into::into);
            texts(analysis, |events, event| trace.tracks().get(events.track(event)).tid, text)
        },
    },
    EventColumn {
        column: Column::identifier("device", "Device the event ran on; empty for host work."),
        cells: |analysis| whole(analysis, |events, event| events.device(event)),
    },
    EventColumn {
        column: Column::identifier("stream", "Stream the event ran on."),
        cells: |analysis| whole(analysis, |events, event| events.stream(event)),
    },
    EventColumn {
        column: Column::identifier("correlation", "ID shared by a launch and its device events."),
        cells: |analysis| whole(analysis, |events, event| events.correlation(event)),
    },
    EventColumn {
        column: Column::identifier(
            "external_id",
            "ID shared by an operator, its calls and its device events.",
        ),
        cells: |analysis| whole(analysis, |events, event| events.external_id(event)),
    },
    EventColumn {
        column: Column::identifier(
            "parent",
            "Index of the enclosing event; for a device event, index of its launch.",
        ),
        cells: |analysis| {
            let parent = |event| analysis.tree().parent(event);
            whole(analysis, |events, event| parent(event).map(|parent| events.uid(parent).into()))
        },
    },
    EventColumn {
        column: Column::identifier("sequence_number", "ID shared by an operator and its backward operator."),
        cells: |analysis| whole(analysis, |events, event| events.sequence_number(event)),
    },
];

fn whole(
    analysis: &Analysis,
    value: impl Fn(&EventTable, EventId) -> Option<i64>,
) -> PyResult<Box<dyn Array>> {
    let events = analysis.trace().events();
    Ok(events.ids().map(|event| value(events, event)).collect::<Int64Array>().boxed())
}

fn times(trace: &Trace, time: fn(&EventTable, EventId) -> i64) -> PyResult<Box<dyn Array>> {
    let events = trace.events();
    let us = events.ids().map(|event| trace.to_microseconds(time(events, event)));
    Ok(Float64Array::from_vec(us.collect()).boxed())
}

fn texts<K: Copy + Eq + std::hash::Hash>(
    analysis: &Analysis,
    key: impl Fn(&EventTable, EventId) -> K,
    text: impl Fn(K) -> Option<String>,
) -> PyResult<Box<dyn Array>> {
    let events = analysis.trace().events();
    dictionary(events.ids().map(|event| key(events, event)), text)
}

/// All events in the order of the file, with these columns; with all where none are named.
pub(crate) fn events(analysis: &Analysis, wanted: Option<Vec<String>>) -> PyResult<Table> {
    let find = |name: &String| {
        EVENT_COLUMNS.iter().find(|known| known.column.name == name).ok_or_else(|| {
            let known: Vec<&str> = EVENT_COLUMNS.iter().map(|known| known.column.name).collect();
            let known = format!("they have {}", known.join(", "));
            unknown(format_args!("events have no column {name:?}"), Some(&known))
        })
    };
    let columns: Vec<&EventColumn> = match &wanted {
        None => EVENT_COLUMNS.iter().collect(),
        Some(names) => names.iter().map(find).collect::<PyResult<_>>()?,
    };
    let described = columns.iter().map(|column| TableColumn::new(column.column, [])).collect();
    let sheet = sheets::Table::new("events", described).map_err(refused)?;
    let arrays = columns.iter().map(|column| (column.cells)(analysis)).collect::<PyResult<_>>()?;
    Table::from_arrays(&sheet, arrays)
}

/// What part of a recording is meant.
#[derive(FromPyObject)]
pub(crate) enum AskedWindow {
    /// A step.
    Step(usize),
    /// A stretch of time in µs after the first event.
    Microseconds(f64, f64),
    /// The steady steps, by the word `steady`.
    Named(String),
}

impl AskedWindow {
    fn window(self) -> PyResult<Window> {
        match self {
            AskedWindow::Step(step) => Ok(Window::Iterations(step..step.saturating_add(1))),
            AskedWindow::Microseconds(start, end) if start < end => Ok(Window::Microseconds(start..end)),
            AskedWindow::Microseconds(start, end) => {
                Err(refused(format!("a window from {start} to {end} µs is empty")))
            }
            AskedWindow::Named(name) if name == "steady" => Ok(Window::Steady),
            AskedWindow::Named(name) => Err(refused_with(
                format_args!("{name:?} is not a window"),
                "pass a step, (start, end) in µs, or \"steady\"",
            )),
        }
    }
}

/// Where the time of each device went, from its first event in the window to the end of its last.
pub(crate) fn breakdown(analysis: &Analysis, asked: Option<AskedWindow>) -> PyResult<Table> {
    let (trace, tree) = (analysis.trace(), analysis.tree());
    let events = trace.events();
    let selected = asked.map(|asked| {
        let found = Iterations::detect(tree, &DetectOptions::default());
        asked.window()?.select(tree, found).map_err(|error| refused_by(&error))
    });
    let selected = selected.transpose()?;
    let is_inside = |event| selected.as_ref().is_none_or(|selected| selected.events.contains(event));
    let mut devices: BTreeMap<Option<i64>, Vec<DeviceEvent>> = BTreeMap::new();
    for (event, activity) in analysis.counted_activities().filter(|&(event, _)| is_inside(event)) {
        let device_event = DeviceEvent::new(events.start(event), events.end(event), activity);
        devices.entry(events.device(event)).or_default().push(device_event);
    }
    let rows: Vec<(Option<i64>, Breakdown)> = devices
        .into_iter()
        .filter_map(|(device, events)| Some((device, Breakdown::from_events(events, None)?)))
        .collect();
    let time = |name, description, time: fn(&Breakdown) -> i64| {
        let cells = rows.iter().map(|(_, row)| trace.to_microseconds(time(row)).into());
        TableColumn::new(Column::microseconds(name, description), cells)
    };
    let columns = vec![
        TableColumn::new(
            Column::identifier("device", "Device, by its recorded number."),
            rows.iter().map(|&(device, _)| device.into()),
        ),
        time("total_us", "From first start to last end, in µs.", |row| row.total),
        time("computation_us", "Time with computation, in µs.", |row| row.computation),
        time("exposed_communication_us", "Time with communication but no computation, in µs.", |row| {
            row.exposed_communication
        }),
        time(
            "exposed_memcpy_us",
            "Time with copies but neither computation nor communication, in µs.",
            |row| row.exposed_memcpy,
        ),
        time("idle_us", "Time without any event, in µs.", |row| row.idle),
        time("busy_us", "Time with at least one event, in µs.", |row| row.busy),
        time("communication_us", "Time with communication, hidden or exposed, in µs.", |row| {
            row.total_communication
        }),
        time("memcpy_us", "Time with copies, hidden or exposed, in µs.", |row| row.total_memcpy),
    ];
    Table::from_sheet(&sheets::Table::new("breakdown", columns).map_err(refused)?)
}
