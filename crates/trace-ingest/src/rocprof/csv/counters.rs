//! Values of hardware counters: a row for each dispatch and counter.

use hashbrown::HashMap;

use super::records::{
    AGENT, CORRELATION, Configuration, DISPATCH, END, KERNEL, PROCESS, Records, START, THREAD,
};
use super::table::{Column, Fault, Table};
use crate::error::IngestError;
use crate::rocprof::profile::{AgentKind, Counter, CounterValue, Dispatch};

/// What tells a dispatch of one process from the others, as far as the files have it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Number(u64),
    Correlation(u64),
    /// Correlation of a dispatch without a number. All kernels of a graph have the correlation of its launch, so a
    /// row that has a number must not find another dispatch by the correlation.
    CorrelationWithoutNumber(u64),
}

/// Columns of a dispatch. A file without them has values of dispatches that another file describes.
struct DispatchColumns {
    kernel: Column,
    kernel_id: Column,
    start: Column,
    end: Column,
    agent: Column,
    queue: Column,
    stream: Column,
    thread: Column,
    configuration: Configuration,
}

impl Records<'_> {
    /// Reads a file of counters. Dispatches that the process has not recorded otherwise are made from its rows.
    pub(super) fn counters(&mut self, table: &mut Table) -> Result<(), IngestError> {
        let [counter, value] = table.required([&["counter_name", "counter"], &["counter_value", "value"]])?;
        let (number, correlation) = (table.column(DISPATCH), table.column(CORRELATION));
        if !number.is_present() && !correlation.is_present() {
            table.required([DISPATCH])?;
        }
        let process = table.column(PROCESS);
        let columns = DispatchColumns {
            kernel: table.column(KERNEL),
            kernel_id: table.column(&["kernel_id"]),
            start: table.column(START),
            end: table.column(END),
            agent: table.column(AGENT),
            queue: table.column(&["queue_id", "queue"]),
            stream: table.column(&["stream_id", "stream"]),
            thread: table.column(THREAD),
            configuration: Configuration::of(table),
        };
        let mut dispatches = self.known_dispatches();
        let mut values: HashMap<(u32, u32), usize> = HashMap::new();
        table.rows(|row| {
            let sum = row.float(value)?;
            self.note_process(row.integer(process)?);
            let (number, correlation) = (row.unsigned(number)?, row.unsigned(correlation)?);
            let sought = match (number, correlation) {
                (Some(number), correlation) => {
                    [Some(Key::Number(number)), correlation.map(Key::CorrelationWithoutNumber)]
                }
                (None, Some(correlation)) => [Some(Key::Correlation(correlation)), None],
                (None, None) => return Err(Fault("Dispatch_Id and Correlation_Id are empty".to_string())),
            };
            let known = sought.iter().flatten().find_map(|key| dispatches.get(key).copied());
            let dispatch = match known {
                Some(dispatch) => dispatch,
                None => {
                    let dispatch = self.dispatch_of(row, &columns, number, correlation)?;
                    for key in keys(number, correlation) {
                        dispatches.entry(key).or_insert(dispatch);
                    }
                    dispatch
                }
            };
            let name = self.intern(row.bytes(counter));
            let name = self.builder.profile.text(name).to_string();
            let counter =
                self.builder.counter(&name, || Counter { name: name.clone(), ..Counter::default() });
            let all = &mut self.builder.profile.counter_values;
            match values.get(&(dispatch, counter)) {
                Some(&known) => all[known].value += sum,
                None => {
                    values.insert((dispatch, counter), all.len());
                    all.push(CounterValue { dispatch, counter, value: sum });
                }
            }
            Ok(())
        })
    }

    fn known_dispatches(&self) -> HashMap<Key, u32> {
        let mut known = HashMap::new();
        for (position, dispatch) in (0..).zip(&self.builder.profile.dispatches) {
            if dispatch.process != self.process {
                continue;
            }
            let number = (dispatch.dispatch_id != 0).then_some(dispatch.dispatch_id);
            for key in keys(number, dispatch.correlation) {
                known.entry(key).or_insert(position);
            }
        }
        known
    }

    fn dispatch_of(
        &mut self,
        row: &super::table::Row<'_>,
        columns: &DispatchColumns,
        number: Option<u64>,
        correlation: Option<u64>,
    ) -> Result<u32, Fault> {
        let name = row.bytes(columns.kernel);
        if name.is_empty() || !columns.start.is_present() || !columns.end.is_present() {
            return Err(Fault(
                "the dispatch is in no other file and has no Kernel_Name or times here".to_string(),
            ));
        }
        let (start, end) = (row.time(columns.start)?, row.time(columns.end)?);
        let (queue, stream) = (row.unsigned(columns.queue)?, row.unsigned(columns.stream)?);
        let (thread, kernel_id) = (row.integer(columns.thread)?, row.unsigned(columns.kernel_id)?);
        let launch = columns.configuration.read(row)?;
        let (start, end) = self.builder.span(start, end);
        let dispatch = Dispatch {
            start,
            end,
            correlation,
            dispatch_id: number.unwrap_or(0),
            thread: thread.unwrap_or(0),
            queue: queue.unwrap_or(0),
            stream: stream.unwrap_or(0),
            process: self.process,
            agent: self.agent(row.bytes(columns.agent), AgentKind::Gpu),
            kernel: self.kernel(kernel_id, name),
            launch: self.builder.launch(launch),
        };
        let dispatches = &mut self.builder.profile.dispatches;
        dispatches.push(dispatch);
        Ok(dispatches.len() as u32 - 1)
    }
}

/// The keys under which a dispatch is found.
fn keys(number: Option<u64>, correlation: Option<u64>) -> impl Iterator<Item = Key> {
    let unnumbered = if number.is_none() { correlation } else { None };
    [
        number.map(Key::Number),
        correlation.map(Key::Correlation),
        unnumbered.map(Key::CorrelationWithoutNumber),
    ]
    .into_iter()
    .flatten()
}
