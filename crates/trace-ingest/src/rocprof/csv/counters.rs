//! Values of hardware counters: a row for each dispatch and counter.
//!
//! Counters of one run belong to the dispatches of its kernel trace. As the hardware counts few things at a time, programs
//! are run again for more of them: such a pass is another process at another time, so that nothing of it is on the
//! timeline of the trace, and its values join to the trace's dispatches.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use super::records::{DISPATCH, DispatchColumns, DispatchRow, END, KERNEL, PROCESS, Records, START};
use super::table::{Fault, Row, Table};
use crate::error::IngestError;
use crate::rocprof::profile::{Counter, Profile};
use crate::string_table::StringId;
use crate::warning::Warning;

/// What tells a dispatch of one process from the others, as far as the files have it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Number(u64),
    Correlation(u64),
    /// Correlation of a dispatch without a number. All kernels of a graph have the correlation of its launch, so a
    /// row that has a number must not find another dispatch by the correlation.
    CorrelationWithoutNumber(u64),
}

/// The processes of which dispatches were read.
#[derive(Default)]
pub(super) struct Recorded(Vec<Recording>);

struct Recording {
    process: u32,
    /// The file that its dispatches stand in.
    file: String,
    /// Whether that is a kernel trace.
    is_trace: bool,
    /// First start and last end, in ns.
    span: (i64, i64),
    agents: BTreeSet<u32>,
}

impl Recorded {
    /// Adds what a file recorded of a process.
    pub(super) fn add(&mut self, profile: &Profile, process: u32, file: String, is_trace: bool) {
        let is_traced = |of: &Recording| of.process == process && of.is_trace && !is_trace;
        if self.0.iter().any(is_traced) {
            return;
        }
        self.0.retain(|of| of.process != process);
        let own = || profile.dispatches.iter().rev().take_while(|dispatch| dispatch.process == process);
        let span = own().map(|dispatch| (dispatch.start.0, dispatch.end.0)).reduce(union);
        let agents = own().filter_map(|dispatch| dispatch.agent).collect();
        self.0.extend(span.map(|span| Recording { process, file, is_trace, span, agents }));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn union(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// A dispatch that rows of counters are of.
struct Counted {
    number: Option<u64>,
    correlation: Option<u64>,
    kernel: StringId,
    agent: StringId,
    span: Option<(i64, i64)>,
    /// What makes a dispatch of it, unless the process has recorded it otherwise.
    row: Option<DispatchRow>,
}

/// The rows of a file.
#[derive(Default)]
struct Counts {
    dispatches: Vec<Counted>,
    /// Dispatch, counter and value of each row.
    values: Vec<(usize, u32, f64)>,
    pid: Option<i64>,
}

impl Counts {
    fn span(&self) -> Option<(i64, i64)> {
        self.dispatches.iter().filter_map(|dispatch| dispatch.span).reduce(union)
    }

    /// Whether these are of another run of the program than a process: of another time, or, where that is not known, of
    /// another number.
    fn is_other_run(&self, profile: &Profile, recorded: &Recording) -> bool {
        let pid = profile.processes[recorded.process as usize].pid;
        let is_same = pid.zip(self.pid).map(|(recorded, own)| recorded == own);
        match self.span() {
            _ if is_same == Some(true) => false,
            Some((start, end)) => end < recorded.span.0 || recorded.span.1 < start,
            None => is_same == Some(false),
        }
    }
}

/// Which run a file of counters is of.
enum Run<'r> {
    /// That of a process.
    Of(u32),
    /// One of its own, a pass over what another process did; `None` where several could be that.
    Pass(Option<&'r Recording>),
}

impl Records<'_> {
    /// Reads a file of counters; returns whether it is of another run than all that was recorded. Dispatches that their
    /// process has not recorded otherwise are made from its rows.
    pub(super) fn counters(
        &mut self,
        table: &mut Table<'_>,
        recorded: &Recorded,
    ) -> Result<bool, IngestError> {
        let counts = self.counts(table)?;
        let process = match self.run_of(&counts, recorded) {
            Run::Of(process) => process,
            Run::Pass(of) => {
                let joined = of.map(|of| joined(&counts.dispatches, &self.builder.profile, of.process));
                let joined = joined.unwrap_or_else(|| vec![None; counts.dispatches.len()]);
                let count = joined.iter().flatten().count() as u64;
                // Where no trace was recorded, counters of another program are all that there is of it.
                if count > 0 || of.is_none_or(|of| of.is_trace) {
                    let trace = match of {
                        Some(of) => of.file.clone(),
                        None => format!("the {} recordings in this folder", recorded.0.len()),
                    };
                    self.builder.profile.warnings.push(Warning::CounterPass {
                        file: table.name.clone(),
                        trace,
                        joined: count,
                        dispatches: counts.dispatches.len() as u64,
                    });
                    self.add_values(&counts.values, &joined);
                    return Ok(true);
                }
                self.process
            }
        };
        let known = self.known_dispatches(process);
        self.note_process(process, counts.pid);
        let mut made = Vec::with_capacity(counts.dispatches.len());
        for counted in counts.dispatches {
            let sought = sought(counted.number, counted.correlation);
            let known = sought.into_iter().flatten().find_map(|key| known.get(&key).copied());
            let make = |row: DispatchRow| self.add_dispatch(process, row);
            made.push(known.or_else(|| counted.row.map(make)));
        }
        self.add_values(&counts.values, &made);
        Ok(false)
    }

    /// Reads the rows of a file.
    fn counts(&mut self, table: &mut Table<'_>) -> Result<Counts, IngestError> {
        let [counter, value] = table.required([&["counter_name", "counter"], &["counter_value", "value"]])?;
        let [kernel, start, end] = [KERNEL, START, END].map(|names| table.column(names));
        let columns = DispatchColumns::new(table, kernel, start, end);
        if !columns.number.is_present() && !columns.correlation().is_present() {
            table.required([DISPATCH])?;
        }
        let process = table.column(PROCESS);
        let known = self.known_dispatches(self.process);
        let mut counts = Counts::default();
        let mut seen: HashMap<Key, usize> = HashMap::new();
        table.rows(|row| {
            let sum = row.float(value)?;
            let pid = row.integer(process)?;
            let (number, correlation) = (row.unsigned(columns.number)?, row.unsigned(columns.correlation())?);
            let sought = sought(number, correlation);
            if sought == [None, None] {
                return Err(Fault("Dispatch_Id and Correlation_Id are empty".to_string()));
            }
            let found = sought.iter().flatten().find_map(|key| seen.get(key).copied());
            let dispatch = match found {
                Some(dispatch) => dispatch,
                None => {
                    let is_known = sought.iter().flatten().any(|key| known.contains_key(key));
                    let counted = self.counted(row, &columns, (number, correlation), is_known)?;
                    counts.dispatches.push(counted);
                    for key in keys(number, correlation) {
                        seen.entry(key).or_insert(counts.dispatches.len() - 1);
                    }
                    counts.dispatches.len() - 1
                }
            };
            counts.pid = counts.pid.or(pid);
            let name = self.builder.intern_bytes(row.bytes(counter));
            let name = self.builder.profile.text(name).to_string();
            let counter =
                self.builder.counter(&name, || Counter { name: name.clone(), ..Counter::default() });
            counts.values.push((dispatch, counter, sum));
            Ok(())
        })?;
        Ok(counts)
    }

    fn counted(
        &mut self,
        row: &Row<'_>,
        columns: &DispatchColumns,
        (number, correlation): (Option<u64>, Option<u64>),
        is_known: bool,
    ) -> Result<Counted, Fault> {
        let is_described = columns.describe(row);
        if !is_described && !is_known {
            let reason = "the dispatch is in no other file and has no Kernel_Name or times here";
            return Err(Fault(reason.to_string()));
        }
        let described = if is_described { self.dispatch_row(row, columns).map(Some) } else { Ok(None) };
        // What is wrong with the description of a dispatch that is known matters to nobody.
        let described = if is_known { described.unwrap_or(None) } else { described? };
        Ok(Counted {
            number,
            correlation,
            kernel: described.as_ref().map_or(StringId::EMPTY, |row| row.kernel),
            agent: described.as_ref().map_or(StringId::EMPTY, |row| row.agent),
            span: described.as_ref().map(|row| (row.place.start, row.place.end)),
            row: described,
        })
    }

    /// Which run the rows of a file are of.
    fn run_of<'r>(&self, counts: &Counts, recorded: &'r Recorded) -> Run<'r> {
        let profile = &self.builder.profile;
        let recorded = recorded.0.as_slice();
        let is_other = |recorded: &&Recording| counts.is_other_run(profile, recorded);
        if let Some(own) = recorded.iter().find(|recorded| recorded.process == self.process) {
            return if is_other(&own) { Run::Pass(Some(own)) } else { Run::Of(self.process) };
        }
        if let Some(same) = recorded.iter().find(|recorded| !is_other(recorded)) {
            let pid = profile.processes[same.process as usize].pid;
            let is_same = pid.is_some() && pid == counts.pid;
            // Another process of a job that was recorded at the same time.
            return Run::Of(if is_same { same.process } else { self.process });
        }
        match recorded {
            [] => Run::Of(self.process),
            [only] => Run::Pass(Some(only)),
            several => {
                let agents: BTreeSet<&str> =
                    counts.dispatches.iter().map(|counted| profile.text(counted.agent)).collect();
                let mut on_agents = several.iter().filter(|recorded| {
                    let labels =
                        recorded.agents.iter().map(|&agent| profile.agents[agent as usize].label.as_str());
                    labels.collect::<BTreeSet<_>>() == agents
                });
                Run::Pass(on_agents.next().filter(|_| on_agents.next().is_none()))
            }
        }
    }

    /// Adds values of counters to dispatches. What several passes count is taken from the first.
    fn add_values(&mut self, values: &[(usize, u32, f64)], dispatches: &[Option<u32>]) {
        let before = self.builder.profile.counter_values.len();
        for &(dispatch, counter, value) in values {
            let Some(dispatch) = dispatches.get(dispatch).copied().flatten() else { continue };
            if !self.builder.has_counter_value(dispatch, counter, before) {
                self.builder.add_counter_value(dispatch, counter, value);
            }
        }
    }

    fn known_dispatches(&self, process: u32) -> HashMap<Key, u32> {
        let mut known = HashMap::new();
        for (position, dispatch) in (0..).zip(&self.builder.profile.dispatches) {
            if dispatch.process != process {
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

/// The keys under which a dispatch is looked for.
fn sought(number: Option<u64>, correlation: Option<u64>) -> [Option<Key>; 2] {
    match number {
        Some(number) => [Some(Key::Number(number)), correlation.map(Key::CorrelationWithoutNumber)],
        None => [correlation.map(Key::Correlation), None],
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

/// The dispatches of a process that those of a pass repeat: the ones with their numbers, where these name the same
/// kernels throughout, otherwise those of kernels of which both have as many, in their order.
fn joined(pass: &[Counted], profile: &Profile, process: u32) -> Vec<Option<u32>> {
    let kernel = |position: u32| {
        let kernel = profile.dispatches[position as usize].kernel;
        profile.kernels[kernel as usize].formatted.unwrap_or(StringId::EMPTY)
    };
    let mut traced: Vec<u32> = (0..profile.dispatches.len() as u32)
        .filter(|&position| profile.dispatches[position as usize].process == process)
        .collect();
    let numbers: HashMap<u64, u32> = traced
        .iter()
        .map(|&position| (profile.dispatches[position as usize].dispatch_id, position))
        .filter(|&(number, _)| number != 0)
        .collect();
    let by_number: Vec<Option<u32>> =
        pass.iter().map(|counted| numbers.get(&counted.number?).copied()).collect();
    let mut pairs = pass.iter().zip(&by_number).filter_map(|(counted, traced)| Some((counted, (*traced)?)));
    let is_same = |(counted, traced): (&Counted, u32)| counted.kernel == kernel(traced);
    if by_number.iter().any(Option::is_some) && pairs.all(is_same) {
        return by_number;
    }

    traced.sort_by_key(|&position| {
        let dispatch = &profile.dispatches[position as usize];
        (dispatch.start, dispatch.dispatch_id)
    });
    let mut in_order: Vec<usize> = (0..pass.len()).collect();
    in_order.sort_by_key(|&at| (pass[at].span, pass[at].number));
    let mut positions_by_kernel: HashMap<StringId, (Vec<usize>, Vec<u32>)> = HashMap::new();
    for at in in_order {
        positions_by_kernel.entry(pass[at].kernel).or_default().0.push(at);
    }
    for position in traced {
        if let Some((_, traced)) = positions_by_kernel.get_mut(&kernel(position)) {
            traced.push(position);
        }
    }
    let mut joined = vec![None; pass.len()];
    for (repeated, traced) in
        positions_by_kernel.into_values().filter(|(pass, traced)| pass.len() == traced.len())
    {
        for (at, position) in repeated.into_iter().zip(traced) {
            joined[at] = Some(position);
        }
    }
    joined
}
