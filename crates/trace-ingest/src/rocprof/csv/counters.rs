//! Values of hardware counters: a row for each dispatch and counter.

use hashbrown::HashMap;

use super::records::{DISPATCH, DispatchColumns, END, KERNEL, PROCESS, Records, START};
use super::table::{Fault, Table};
use crate::error::IngestError;
use crate::rocprof::profile::Counter;

/// What tells a dispatch of one process from the others, as far as the files have it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Number(u64),
    Correlation(u64),
    /// Correlation of a dispatch without a number. All kernels of a graph have the correlation of its launch, so a
    /// row that has a number must not find another dispatch by the correlation.
    CorrelationWithoutNumber(u64),
}

impl Records<'_> {
    /// Reads a file of counters. Dispatches that the process has not recorded otherwise are made from its rows.
    pub(super) fn counters(&mut self, table: &mut Table<'_>) -> Result<(), IngestError> {
        let [counter, value] = table.required([&["counter_name", "counter"], &["counter_value", "value"]])?;
        let [kernel, start, end] = [KERNEL, START, END].map(|names| table.column(names));
        let columns = DispatchColumns::new(table, kernel, start, end);
        if !columns.number.is_present() && !columns.correlation().is_present() {
            table.required([DISPATCH])?;
        }
        let process = table.column(PROCESS);
        let mut dispatches = self.known_dispatches();
        table.rows(|row| {
            let sum = row.float(value)?;
            self.note_process(row.integer(process)?);
            let (number, correlation) = (row.unsigned(columns.number)?, row.unsigned(columns.correlation())?);
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
                None if !columns.describe(row) => {
                    return Err(Fault(
                        "the dispatch is in no other file and has no Kernel_Name or times here".to_string(),
                    ));
                }
                None => {
                    let dispatch = self.dispatch(row, &columns)?;
                    for key in keys(number, correlation) {
                        dispatches.entry(key).or_insert(dispatch);
                    }
                    dispatch
                }
            };
            let name = self.builder.intern_bytes(row.bytes(counter));
            let name = self.builder.profile.text(name).to_string();
            let counter =
                self.builder.counter(&name, || Counter { name: name.clone(), ..Counter::default() });
            self.builder.add_counter_value(dispatch, counter, sum);
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
